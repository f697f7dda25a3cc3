"""What an English sentence says that is worth remembering, told about its speaker and with its dates."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from mnemond.extract import unfit
from mnemond.extract.absolute_dates import with_dates
from mnemond.extract.antecedents import resolved
from mnemond.extract.coordination import statements, without_request
from mnemond.extract.fact import Intent
from mnemond.extract.families import (
    BY_AGENT,
    BY_USER,
    DECISION,
    ENVIRONMENT,
    EVENT,
    IDENTITY,
    PREFERENCE,
    PROBLEM,
    PROBLEM_TOLD,
    RULE,
    Family,
)
from mnemond.extract.finding import Finding, Judged, Scene, finding
from mnemond.extract.first_person import about, possessive
from mnemond.extract.importance import is_hedged
from mnemond.extract.speaker import says_name, stated_name
from mnemond.text.causal_cues import causal_cue
from mnemond.text.contrast import numbers
from mnemond.text.cue_words import CORRECTION, found, reading
from mnemond.text.dates import DateMention, dates
from mnemond.text.entities import extract
from mnemond.text.entity_shapes import is_ordinary
from mnemond.text.similarity import token_set
from mnemond.text.substance import substance

LEAST_SUBSTANCE: Final = 0.45
"""What a sentence must come to by the table of spec 6.8."""

LEAST_CAUSE: Final = 5
"""Words of a cause that is told without naming anything."""

TOLD: Final[tuple[str, Intent, str, float]] = ("told", "fact", "fact", 0.85)
"""What is to be remembered because somebody says so."""

_DIRECT: Final = frozenset({RULE.name, IDENTITY.name, PREFERENCE.name, DECISION.name})
"""Families that look like requests and are none."""

_CAPITAL: Final = re.compile(r"(?<!\A)\b[A-Z][\w&-]+|\A[A-Z][\w&-]+")
_SPAN: Final = re.compile(r"`[^`]+`")
_CHOICE: Final = re.compile(r"(?:use|prefer) ", re.IGNORECASE)
_FILLER: Final = re.compile(r",? (?:you know|i mean|i guess|kind of|kinda|sort of)(?=[,. ]|\Z),?", re.IGNORECASE)
_LETS: Final = re.compile(r"let's (?=\w)", re.IGNORECASE)
_ADDRESSED: Final = re.compile(
    r"(?:i want you to|you(?: must| should| may| can)?) (?=(?:always|never)\b)", re.IGNORECASE
)
_FOR_AGENT: Final = re.compile(
    r"(?:i\b|i'|you\b|your\b|if\b|when\b|let\b|here\b|to \w+|now\b|next\b|this\b|that\b|these\b|there\b|once\b|since"
    r" you\b|should\b|feel\b|both\b|all\b|everything\b)",
    re.IGNORECASE,
)
_EXPLAINED: Final = re.compile(r"\b(?:because|since|so that|due to|in order to)\b", re.IGNORECASE)
_TURNED: Final = re.compile(r"(?:it )?turn(?:s|ed) out(?: that)?,? ", re.IGNORECASE)
_AGREED: Final = re.compile(r"(?:it was|it is|it's) (?:decided|agreed) that ", re.IGNORECASE)


def findings(text: str, scene: Scene) -> Judged:
    """What `text`, one sentence of at most `families.LONGEST` characters, says; else why nothing is kept of it."""
    sentence = " ".join(text.replace("’", "'").split())
    lead = unfit.stripped(sentence)
    if unfit.is_question(lead):
        return "question"
    bare, called = unfit.told(lead)
    bare = unfit.stripped(bare)
    if unfit.is_courtesy(bare):
        return "greeting"
    if unfit.is_short(bare):
        return "substance"
    if scene.by_agent:
        return "progress" if scene.itemised and "root cause" not in bare else _agents(bare, scene)
    corrects = scene.corrected or found(CORRECTION, reading(sentence))
    reasons: list[str] = []
    kept: list[Finding] = []
    for part in statements(bare, lambda piece: says_name(piece) or _family(piece, scene) is not None, unfit.is_request):
        judged = _judged(without_request(part, lambda head: _family(head, scene) is not None), scene, called=called)
        if isinstance(judged, str):
            reasons.append(judged)
        else:
            kept.append(_corrected(judged, corrects))
    return kept or reasons[0]


def _corrected(kept: Finding, corrects: bool) -> Finding:
    """A choice of one thing "rather than" another corrects nobody."""
    return msgspec.structs.replace(kept, corrects=corrects and kept.family not in _DIRECT)


def _family(part: str, scene: Scene) -> Family | None:
    """The first that fits; one that wants something named gives way where nothing is."""
    fitting = [each for each in (BY_AGENT if scene.by_agent else BY_USER) if each.pattern.match(part)]
    found = next((each for each in fitting if not each.referring or refers(part)), None)
    if found is not None:
        return found
    if not scene.by_agent and EVENT.pattern.match(part) and _dated(part, scene):
        return EVENT
    return next(iter(fitting), None)


def _dated(part: str, scene: Scene) -> bool:
    return any(each.explicit for each in dates(part, scene.said_us))


def _judged(part: str, scene: Scene, *, called: bool) -> Finding | str:
    if says_name(part):
        return _named(part, scene)
    if unfit.points_elsewhere(part):
        return "unclear reference"
    whole = resolved(part, None) or resolved(part, scene.named_last())
    if whole is None or unfit.lacks_object(whole):
        return "unclear reference"
    family = _family(whole, scene)
    if family is None:
        return _told(whole, scene) if called else ("request" if unfit.is_request(whole) else "nothing lasting")
    if scene.itemised and family.name not in _DIRECT:
        return "itemised"
    reason = _objection(whole, family, called=called)
    return reason or _as_told(whole, family, scene)


def _objection(part: str, family: Family, *, called: bool = False) -> str | None:
    """Why a statement of `family` is not kept all the same. `called`: it is to be remembered, somebody says."""
    if unfit.is_of_the_moment(part) and family is not IDENTITY:
        return "of the moment"
    if family.name not in _DIRECT and unfit.is_request(part):
        return "request"
    if is_hedged(part) and family not in (IDENTITY, ENVIRONMENT, PREFERENCE):
        return "uncertain"
    if _CHOICE.match(part) and not _names_tool(part):
        return "request"
    if family.referring and not (called or family is EVENT or refers(part) or _is_long(part, family)):
        return "names nothing"
    return None


def _is_long(part: str, family: Family) -> bool:
    """Whether a cause is told in so many words that it names what it is about."""
    return family.name == PROBLEM.name and len(token_set(part)) >= LEAST_CAUSE


def _told(part: str, scene: Scene) -> Finding | str:
    """What somebody wants remembered, of whatever kind."""
    if unfit.is_request(part) or unfit.is_of_the_moment(part):
        return "request"
    if not refers(part) and not is_substantial(part):
        return "names nothing"
    name, intent, category, confidence = TOLD
    content, _ = _contents(part, scene)
    return Finding(content, name, intent, category, confidence)


def _named(part: str, scene: Scene) -> Finding:
    name = stated_name(part) or part
    subject = possessive("User" if scene.name == name else scene.name)
    return Finding(
        f"{subject} name is {name}", IDENTITY.name, IDENTITY.intent, IDENTITY.category, 0.95, relation="named"
    )


def _as_told(part: str, family: Family, scene: Scene) -> Finding | str:
    content, mentions = _contents(part, scene)
    if not (family.referring or is_substantial(content)):
        return "substance"
    past = any(each.explicit for each in mentions)
    return finding(family, content, dated=past)


def _contents(part: str, scene: Scene) -> tuple[str, tuple[DateMention, ...]]:
    plain = _LETS.sub("We will ", _AGREED.sub("", _ADDRESSED.sub("", part)))
    plain = _TURNED.sub("", plain, count=1)
    plain = _FILLER.sub("", plain)
    told, mentions = with_dates(about(scene.name, plain), scene.said_us)
    told = told.strip().rstrip("!.")
    return told[:1].upper() + told[1:], mentions


def is_substantial(content: str) -> bool:
    """Whether it says enough by itself (spec 6.8)."""
    weight = substance(content, has_reference=refers(content), causal=causal_cue(content) is not None)
    return weight.score >= LEAST_SUBSTANCE


def refers(part: str) -> bool:
    """Whether it names anything: a thing, somebody, a number, code."""
    if _SPAN.search(part) or numbers(part) or extract(part):
        return True
    return any(not is_ordinary(word) for word in _CAPITAL.findall(part))


def _names_tool(part: str) -> bool:
    return any(each.kind == "tool" and "/" not in each.name for each in extract(_SPAN.sub(" ", part)))


# ---------------------------------------------------------------- what an agent says


def _agents(part: str, scene: Scene) -> Judged:
    """Of an agent's words only what shapes later work: causes found, limits, decisions with their reason."""
    if unfit.points_elsewhere(part) or resolved(part, None) is None:
        return "unclear reference"
    family = _family(part, scene)
    if family is None or (_FOR_AGENT.match(part) and family is not PROBLEM_TOLD):
        return "progress"
    if (
        family is PROBLEM_TOLD
        and _FOR_AGENT.match(part)
        and not _TURNED.match(part)
        and "root cause" not in part.lower()
    ):
        return "progress"
    if family is DECISION and not _EXPLAINED.search(part):
        return "progress"
    reason = _objection(part, family)
    if reason is not None:
        return reason
    judged = _as_told(part, family, scene)
    return judged if isinstance(judged, str) else [judged]
