"""Dates told from the day they were said, with the date itself beside them (spec 9)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

import msgspec

from mnemond.extract import patterns
from mnemond.extract.facts import Intent, is_hedged, says_name, stated_name
from mnemond.extract.patterns import (
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
from mnemond.text.contrast import numbers
from mnemond.text.cues import causal_cue, reading
from mnemond.text.dates import DateMention, dates
from mnemond.text.entities import extract
from mnemond.text.entity_shapes import is_ordinary
from mnemond.text.quality import substance
from mnemond.text.resources import regex, words_of
from mnemond.text.similarity import token_set

_ELSEWHEN: Final = (-4_011 * 86_400_000_000, 2_923 * 86_400_000_000)
"""Microseconds to other days: a phrase that means something else from there is told from the day it was said."""

_FAR: Final = 400 * 365 * 86_400_000_000


def with_dates(sentence: str, said_us: int) -> tuple[str, tuple[DateMention, ...]]:
    """`sentence`, said at `said_us` (microseconds since 1970), with what its relative dates mean in parentheses behind
    them; and every date in it. A phrase that gives no more than an idea ("recently") stays as it is."""
    found = dates(sentence, said_us)
    if not found:
        return sentence, ()
    shift = _ELSEWHEN[0] if said_us > -_FAR else _ELSEWHEN[1]
    others = {(each.text, each.start, each.end) for each in dates(sentence, said_us + shift)}
    told, at = sentence, 0
    for each in found:
        place = told.find(each.text, at)
        if place < 0:
            continue
        at = place + len(each.text)
        if each.explicit and (each.text, each.start, each.end) not in others and not told.startswith((" (", "（"), at):
            note = _note(each)
            told = f"{told[:at]}{note}{told[at:]}"
            at += len(note)
    return told, found


def _note(mention: DateMention) -> str:
    days = mention.start if mention.start == mention.end else f"{mention.start} to {mention.end}"
    return f" ({days})" if mention.text.isascii() else f"（{days}）"


# What "it" at the beginning of a sentence stands for: the last thing its group named, or nobody can tell (spec 9).


_EXPLETIVE: Final = regex(
    r"(?:it|that) (?:turn(?:s|ed) out|was (?:decided|agreed)|is (?:not allowed|forbidden|important|mandatory))\b",
    re.IGNORECASE,
)
_PRONOUN: Final = regex(
    r"(?P<word>it|its|this|that|these|those|they|their|he|she|his|her)(?P<is>['’]s)?\b", re.IGNORECASE
)
_VERB: Final = regex(
    r"\s+(?:is|was|has|had|will|can|must|may|uses?|runs?|lives?|needs?|requires?|depends?|listens?|costs?|supports?"
    r"|allows?|works?"
    r"|expires?|starts?|ends?|belongs?|only|also|always|never)\b",
    re.IGNORECASE,
)
_LASTING: Final = regex(
    r"(?:this|that) (?:project|repo|repository|codebase|team|company|year|app|machine|laptop|service|monorepo)\b",
    re.IGNORECASE,
)


def resolved(sentence: str, last: str | None) -> str | None:
    """`sentence` with its leading pronoun replaced by `last`, what its group named last; None where that is unclear.

    "This project" and "it turned out" need nothing; "they", "he" and "she" may be anybody.
    """
    found = _PRONOUN.match(sentence)
    if found is None or _EXPLETIVE.match(sentence) or _LASTING.match(sentence):
        return sentence
    word, rest = found["word"].lower(), sentence[found.end() :]
    if last is None or word not in ("it", "its", "this", "that"):
        return None
    if word == "its":
        return f"{last}'s{rest}"
    if found["is"]:
        return f"{last} is{rest}"
    return f"{last}{rest}" if _VERB.match(rest) else None


# Several statements in one sentence: taken apart where each says something about its speaker, and freed of what is
# asked for at the end.


_SEAM: Final = regex(
    r"\s*(?:[,;]\s*(?:(?:and|but|so)\s+)?(?:now\s+)?|\s(?:and|but|so)\s+(?:now\s+)?)(?=(?:i|my|we)(?:['’](?:m|ve|d|ll"
    r"|re))?\s+\w)",
    re.IGNORECASE,
)
_TAIL: Final = regex(
    r"\s*(?:[,;:.]|\s[–—-])\s*(?:(?:and|but|so|then|therefore)\s+)?(?=(?:please|just|can you|could you|would you|how"
    r"|what|which|why|where|don't|do not|let me|let's"
    r"|open|write|use|add|fix|make|create|give|show|tell|check|run|update|keep|put|try|help|i'm new|i can only|no"
    r" need)\b)",
    re.IGNORECASE,
)


def statements(sentence: str, says: Callable[[str], bool], is_idle: Callable[[str], bool]) -> list[str]:
    """The parts of `sentence` that say something alone, by `says`; what follows one and does not, stays with it, but
    for what `is_idle`: ", but I'm not sure"."""
    cuts = [0, *(found.end() for found in _SEAM.finditer(sentence)), len(sentence)]
    ends = [*(found.start() for found in _SEAM.finditer(sentence)), len(sentence)]
    pieces = [(start, end) for start, end in zip(cuts, ends, strict=False)]
    if len(pieces) < 2:
        return [sentence]
    kept: list[tuple[int, int]] = []
    for start, end in pieces:
        if says(sentence[start:end]) or not kept:
            kept.append((start, end))
        elif not is_idle(sentence[start:end]):
            kept[-1] = (kept[-1][0], end)
    return [sentence[start:end] for start, end in kept]


def without_request(sentence: str, says: Callable[[str], bool]) -> str:
    """`sentence` up to where it begins to ask for something, if it has said something by then."""
    for request in _TAIL.finditer(sentence):
        head = sentence[: request.start()].rstrip(" ,;:")
        if says(head):
            return head
    return sentence


# What a sentence comes to before it is weighed, and what it is read beside.


class Scene(msgspec.Struct, frozen=True):
    """Who speaks and when. `name` is what "I" becomes; `named_last` gives what the sentences before, of the same group,
    named last, None when they named nothing; `corrected`: the one before says that something is wrong; `itemised`: the
    sentence stands in a list."""

    name: str
    by_agent: bool
    said_us: int
    named_last: Callable[[], str | None]
    corrected: bool = False
    itemised: bool = False


class Finding(msgspec.Struct, frozen=True):
    """A statement told so that it can be understood alone. `relation`: all that it says about its subject."""

    content: str
    family: str
    intent: Intent
    category: str
    confidence: float
    decided: bool = False
    corrects: bool = False
    relation: str | None = None


Judged = list[Finding] | str
"""What a sentence says, or why nothing is kept of it."""


def finding(family: Family, content: str, *, corrects: bool = False, dated: bool = False) -> Finding:
    """`content` as a statement of `family`; a decision that names its day is an event as well."""
    decided = family.name == "decision"
    return Finding(
        content=content,
        family=family.name,
        intent="event" if decided and dated else family.intent,
        category=family.category,
        confidence=family.confidence,
        decided=decided,
        corrects=corrects,
    )


# English verbs as far as "I" becomes somebody's name: which are in the past, and the form with -s.


_IRREGULAR: Final = {
    "am": "is", "are": "is", "have": "has", "do": "does", "go": "goes", "were": "was", "don't": "doesn't",
    "haven't": "hasn't", "aren't": "isn't", "weren't": "wasn't",
}  # fmt: skip
_UNCHANGED: Final = words_of(
    "is was has does had did will would can could shall should may might must cannot can't won't wouldn't",
    "couldn't shouldn't didn't hadn't wasn't isn't doesn't hasn't mustn't used ought",
)
_PAST: Final = words_of(
    "became began bought broke brought built came caught chose drew drove fell felt found forgot gave got grew",
    "had heard held kept knew learnt led left lent lost made meant met moved paid put ran rode rose said sat",
    "saw sent set shook shot slept sold sought spent spoke spun stood stuck swore taught took thought threw",
    "told understood went woke won wore wrote ended grew hid cut quit split upset",
)
_BASE_IN_ED: Final = words_of(
    "need feed embed speed exceed proceed succeed seed bleed breed heed weed shed wed",
)
_VOWELS: Final = frozenset("aeiou")


def with_name(verb: str) -> str:
    """The form of a small-letter `verb` behind a name where `I` had this one: "prefer" → "prefers", "was" → "was"."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb in _UNCHANGED or verb in _PAST or (verb.endswith("ed") and verb not in _BASE_IN_ED):
        return verb
    if verb.endswith("y") and verb[-2:-1] not in _VOWELS:
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else f"{verb}s"


def is_present(verb: str) -> bool:
    """Whether `verb` behind "I" changes with the name, so that a second verb joined to it changes as well."""
    return with_name(verb) != verb


# Who "I" is: an English sentence in the first person told about its speaker (spec 9, "decontextualise").
#
# "We" stays: a team speaks of itself, and nobody knows its name.


_CODE: Final = regex(r"(`[^`\n]*`)")
_ADVERB: Final = (
    r"always|never|often|also|just|only|still|now|then|even|ever|once|soon|already|almost|rather|sometimes|mostly"
    r"|(?!reply|"
    r"rely|apply|supply|fly|comply|imply|multiply)[a-z]{2,16}ly"
)
_PERSON: Final = regex(
    rf"(?<![\w'’/.@-])(?:(?P<i>[Ii])(?:['’](?P<short>m|ve|d|ll|s))?(?P<adverbs>(?:\s+(?:{_ADVERB})\b)*)"
    r"(?:\s+(?P<verb>[a-z]+?n['’]t|[a-z]+)\b)?|(?P<object>me)|(?P<self>myself)|(?P<own>[Mm]y|mine)|(?P<my>Me"
    r"|Mine))(?![\w/@-]|\.\w)"
)
_SHORT: Final = {"m": "is", "ve": "has", "d": "would", "ll": "will", "s": "is"}
_HAD: Final = frozenset({"been", "had", "gone", "done", "seen", "made", "written", "chosen", "taken", "better"})
_JOINED: Final = words_of(
    "prefer like love hate dislike use work live want need write run keep avoid enjoy own speak study teach",
    "manage lead maintain think care follow stick rely deploy develop drink eat play read test review start",
    "finish commute have don't",
)
_AND: Final = regex(rf"(\b(?:and|but|or)(?:\s+(?:{_ADVERB}))?\s+)([a-z]+?n['’]t|[a-z]+)\b(?!\s*[,.]|\s+(?:is|are)\b)")
_YOU: Final = regex(r"(?<![\w'’])(?P<you>[Yy]ou)(?P<are>['’]re| are)?(?![\w'’])|(?<![\w'’])(?P<your>[Yy]our)(?![\w'’])")

ASSISTANT: Final = "the assistant"


def about(name: str, sentence: str, addressed: str = ASSISTANT) -> str:
    """`sentence` with its speaker called `name`, and whoever is spoken to `addressed`. Code in it stays as it is."""
    parts = _CODE.split(sentence)
    return "".join(part if at % 2 else _told_first_person(name, part, addressed) for at, part in enumerate(parts))


def possessive(name: str) -> str:
    """ "Ana's", "James'"."""
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def _told_first_person(name: str, part: str, addressed: str) -> str:
    present_from: list[int] = []

    def instead(found: re.Match[str]) -> str:
        if found["self"]:
            return "themselves"
        if found["object"] or found["my"] == "Me":
            return name
        if found["own"] or found["my"]:
            return possessive(name)
        return _subject(name, found, present_from)

    told = _PERSON.sub(instead, part)
    if present_from:
        told = _AND.sub(_agreeing, told)
    return _YOU.sub(lambda found: _other(addressed, found), told)


def _subject(name: str, found: re.Match[str], present_from: list[int]) -> str:
    verb = (found["verb"] or "").replace("’", "'")
    short = found["short"]
    if short:
        first = "had" if short == "d" and (verb in _HAD or verb.endswith("ed")) else _SHORT[short]
        return " ".join(filter(None, (name, first + (found["adverbs"] or ""), verb)))
    if not verb:
        return name + (found["adverbs"] or "")
    if is_present(verb):
        present_from.append(found.end())
    return f"{name}{found['adverbs'] or ''} {with_name(verb)}"


def _agreeing(found: re.Match[str]) -> str:
    """ "likes tea and hates coffee": verbs that can hardly be anything else."""
    verb = found[2].replace("’", "'")
    return found[1] + (with_name(verb) if verb in _JOINED else found[2])


def _other(addressed: str, found: re.Match[str]) -> str:
    if found["your"]:
        return _capital(possessive(addressed), found["your"])
    return _capital(addressed, found["you"]) + (" is" if found["are"] else "")


def _capital(words: str, like: str) -> str:
    return words[0].upper() + words[1:] if like[0].isupper() else words


# What an English sentence says that is worth remembering, told about its speaker and with its dates.


MIN_SUBSTANCE: Final = 0.45
"""What a sentence must come to by the table of spec 6.8."""

MIN_CAUSE: Final = 5
"""Words of a cause that is told without naming anything."""

TOLD: Final[tuple[str, Intent, str, float]] = ("told", "fact", "fact", 0.85)
"""What is to be remembered because somebody says so."""

_DIRECT: Final = frozenset({RULE.name, IDENTITY.name, PREFERENCE.name, DECISION.name})
"""Families that look like requests and are none."""

_CAPITAL: Final = regex(r"(?<!\A)\b[A-Z][\w&-]+|\A[A-Z][\w&-]+")
_SPAN: Final = regex(r"`[^`]+`")
_CHOICE: Final = regex(r"(?:use|prefer) ", re.IGNORECASE)
_FILLER: Final = regex(r",? (?:you know|i mean|i guess|kind of|kinda|sort of)(?=[,. ]|\Z),?", re.IGNORECASE)
_LETS: Final = regex(r"let's (?=\w)", re.IGNORECASE)
_ADDRESSED: Final = regex(r"(?:i want you to|you(?: must| should| may| can)?) (?=(?:always|never)\b)", re.IGNORECASE)
_FOR_AGENT: Final = regex(
    r"(?:i\b|i'|you\b|your\b|if\b|when\b|let\b|here\b|to \w+|now\b|next\b|this\b|that\b|these\b|there\b|once\b|since"
    r" you\b|should\b|feel\b|both\b|all\b|everything\b)",
    re.IGNORECASE,
)
_EXPLAINED: Final = regex(r"\b(?:because|since|so that|due to|in order to)\b", re.IGNORECASE)
_TURNED: Final = regex(r"(?:it )?turn(?:s|ed) out(?: that)?,? ", re.IGNORECASE)
_AGREED: Final = regex(r"(?:it was|it is|it's) (?:decided|agreed) that ", re.IGNORECASE)


def findings(text: str, scene: Scene) -> Judged:
    """What `text`, one sentence of at most `families.LONGEST` characters, says; else why nothing is kept of it."""
    sentence = " ".join(text.replace("’", "'").split())
    lead = patterns.stripped(sentence)
    if patterns.is_question(lead):
        return "question"
    bare, called = patterns.told(lead)
    bare = patterns.stripped(bare)
    if patterns.is_courtesy(bare):
        return "greeting"
    if patterns.is_short(bare):
        return "substance"
    if scene.by_agent:
        return "progress" if scene.itemised and "root cause" not in bare else _agents(bare, scene)
    corrects = scene.corrected or reading(sentence).has("correction")
    reasons: list[str] = []
    kept: list[Finding] = []
    for part in statements(
        bare, lambda piece: says_name(piece) or _family(piece, scene) is not None, patterns.is_request
    ):
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
    if patterns.points_elsewhere(part):
        return "unclear reference"
    whole = resolved(part, None) or resolved(part, scene.named_last())
    if whole is None or patterns.lacks_object(whole):
        return "unclear reference"
    family = _family(whole, scene)
    if family is None:
        return (
            _told_english_sentences(whole, scene)
            if called
            else ("request" if patterns.is_request(whole) else "nothing lasting")
        )
    if scene.itemised and family.name not in _DIRECT:
        return "itemised"
    reason = _objection(whole, family, called=called)
    return reason or _as_told(whole, family, scene)


def _objection(part: str, family: Family, *, called: bool = False) -> str | None:
    """Why a statement of `family` is not kept all the same. `called`: it is to be remembered, somebody says."""
    if patterns.is_of_the_moment(part) and family is not IDENTITY:
        return "of the moment"
    if family.name not in _DIRECT and patterns.is_request(part):
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
    return family.name == PROBLEM.name and len(token_set(part)) >= MIN_CAUSE


def _told_english_sentences(part: str, scene: Scene) -> Finding | str:
    """What somebody wants remembered, of whatever kind."""
    if patterns.is_request(part) or patterns.is_of_the_moment(part):
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
    return weight.score >= MIN_SUBSTANCE


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
    if patterns.points_elsewhere(part) or resolved(part, None) is None:
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
