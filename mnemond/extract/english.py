"""The parts of an English sentence: what it states that is worth remembering, about its speaker and with its dates, and
what of it is left out."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import msgspec

from mnemond.extract import findings as shared
from mnemond.extract.english_clauses import Lead, clauses, is_question, spelled, without_lead
from mnemond.extract.english_endings import no_longer
from mnemond.extract.english_grammar import Clause, grammar, parse, words_in
from mnemond.extract.english_reference import mentions, resolved
from mnemond.extract.english_statements import MOMENT, Statement, plain
from mnemond.extract.english_values import content_size, is_of_today
from mnemond.extract.facts import is_hedged, says_name, stated_name
from mnemond.extract.findings import (
    Family,
    Finding,
    Judged,
    Left,
    Scene,
    finding,
    identity,
    is_dated,
    is_substantial,
    names_tool,
    refers,
    requested,
    with_dates,
)
from mnemond.extract.first_person import ASSISTANT, about, possessive
from mnemond.text.contrast import numbers
from mnemond.text.cues import reading
from mnemond.text.dates import DateMention
from mnemond.text.quality import courtesy_tokens
from mnemond.text.resources import regex, words_of
from mnemond.text.similarity import token_set
from mnemond.text.tokens import tokens

MIN_CAUSE: Final = 5
"""Words of a cause that is kept without naming anything."""

_DIRECT: Final = frozenset({"rule", "identity", "preference", "decision"})
"""Names of families that look like requests and are none."""

_CHOICE: Final = regex(r"(?:use|prefer) ", re.IGNORECASE)
_FILLER: Final = regex(
    r",? (?:you know|i mean|i guess|kind of|kinda|sort of|lol|haha|by the way|btw)(?=[,. ]|\Z),?", re.IGNORECASE
)
_LETS: Final = regex(r"\Alet's (?=(?-i:[a-z]))", re.IGNORECASE)
_ADDRESSED: Final = regex(
    r"(?:i want you to|you(?: must| should| may| can)?) (?=(?:always|never)\b)|(?:can|could|would"
    r"|will) you (?:please )?|please ",
    re.IGNORECASE,
)
_FOR_USER: Final = regex(
    r"(?:i\b|i'|you\b|your\b|if\b|when\b|let\b|here\b|to \w+|now\b|next\b|this\b|that\b|these\b|there\b|once\b|since"
    r" you\b|should\b|feel\b|both\b|all\b|everything\b)",
    re.IGNORECASE,
)
_EXPLAINED: Final = regex(r"\b(?:because|since|so that|due to|in order to)\b", re.IGNORECASE)
_TURNED: Final = regex(r"(?:it )?turn(?:s|ed) out(?: that)?,? ", re.IGNORECASE)
_AGREED: Final = regex(r"(?:it was|it is|it's) (?:decided|agreed) that ", re.IGNORECASE)


# ---------------------------------------------------------------- a sentence


def findings(text: str, scene: Scene) -> Judged:
    """The findings of `text`, one sentence of at most `MAX_SENTENCE` characters, and the parts that are left out, in
    its order; the reason if there is one for all of it."""
    sentence = spelled(text)
    lead = without_lead(sentence)
    if set(tokens(lead.rest)) <= courtesy_tokens():
        return "greeting"
    if scene.by_agent:
        judged = _of_agent_sentence(lead, scene)
        return judged if isinstance(judged, str) else [judged]
    if _IMAGINED.match(lead.rest):
        return "hypothetical"
    found = [each for part in _parts(lead, sentence, scene) for each in part.judged]
    if not any(isinstance(each, Finding) for each in found):
        scene_reasons = {each.reason for each in found if isinstance(each, Left)}
        return next(iter(scene_reasons)) if len(scene_reasons) == 1 else found
    return [Left(lead.lead, "opening"), *found] if lead.lead else found


class _Part(NamedTuple):
    """A clause, and the finding or the reason."""

    text: str
    judged: list[Finding | Left]


def _parts(lead: Lead, sentence: str, scene: Scene) -> list[_Part]:
    parts: list[_Part] = []
    whole = _family(lead.rest, scene)
    is_cause = whole is not None and whole.name == "problem-fix"
    bits = [lead.rest] if is_cause else [each.text for each in clauses(lead.rest)]
    asked = _asked(bits, is_question(lead.rest))
    corrects = scene.corrected or reading(sentence).has("correction")
    before = ""
    for bit, question in zip(bits, asked, strict=True):
        for clause in _siblings(bit):
            judged = _judged(
                clause, scene, Aside(lead.lead, lead.reminded, corrects, question and clause == bit, before)
            )
            withdrawn = _WITHDRAWN.fullmatch(before)
            if withdrawn is not None and isinstance(judged, Finding):
                judged = msgspec.structs.replace(
                    judged, content=f"{judged.content}, not {withdrawn['what']}", corrects=True
                )
            _append(parts, clause, judged)
            scene.discourse.add(mentions(resolved(clause, scene.discourse) or clause))
            before = clause
    return parts


def _append(parts: list[_Part], clause: str, judged: Finding | Left) -> None:
    """Add a clause; what to do instead belongs to the rule before it: "don't use mocks, use a real file"."""
    last = parts[-1] if parts else None
    rule = last.judged[0] if last is not None else None
    if last is not None and isinstance(rule, Finding) and _DOES_IT.fullmatch(clause.strip(" .!,")):
        parts[-1] = _joined(last, rule, clause)
        return
    if (
        last is None or not isinstance(rule, Finding) or rule.family != "rule" or not _FORBIDS.match(last.text)
        or not isinstance(judged, Left) or judged.reason != "request" or not _INSTEAD.match(clause)
    ):  # fmt: skip
        parts.append(_Part(clause, [judged]))
        return
    parts[-1] = _joined(last, rule, clause)


def _joined(last: _Part, kept: Finding, clause: str) -> _Part:
    added = msgspec.structs.replace(kept, content=f"{kept.content}, {clause.strip(' .!,')}")
    return _Part(f"{last.text}, {clause}", [added])


class Aside(NamedTuple):
    """The circumstances of a clause: what leads up to its sentence; the speaker wants it to be remembered; its sentence
    corrects something; it is part of a question; the clause before it in its sentence; "he" or "she" is its subject."""

    lead: str
    reminded: bool
    corrects: bool
    question: bool
    before: str
    person: bool = False


def _asked(bits: list[str], whole: bool) -> list[bool]:
    """For each clause of a sentence, whether it is a question. A statement that is asked, without any word for it,
    is."""
    asked = [is_question(each.rstrip("?")) for each in bits]
    return [True] * len(bits) if whole and not any(asked) else asked


_ORDERED: Final = regex(r"(?:please )?(?:don't|do not) (?!.{0,80}\b(?:any ?more|any longer)\b)", re.IGNORECASE)
"""An order that is no rule."""
_FORBIDS: Final = regex(r"(?:please )?(?:don't|do not|never|no|stop|avoid)\b", re.IGNORECASE)
_INSTEAD: Final = regex(
    r"(?:please |just |rather |always )?(?:use|prefer|write|put|keep|go|stick|call|ask|pick|take|reply|answer|say"
    r"|make)\b",
    re.IGNORECASE,
)

_WITHDRAWN: Final = regex(
    r"(?:please )?(?:forget|ignore|scrap|scratch|disregard) (?:what (?:i|we) (?:said|told you|wrote|decided) about"
    r"|(?:the|my|our) (?:rule|note|thing|plan|decision) (?:about|with|on)) (?P<what>[\w./' -]{2,60})",
    re.IGNORECASE,
)
"""An order to forget what was said about something, before what holds instead."""

_TAG: Final = regex(r", (?:right|correct|isn't it|doesn't it|don't you|or not|is that so)\W*\Z", re.IGNORECASE)
_DOES_IT: Final = regex(
    r"(?!i\b|it\b|that\b)[\w .'-]{1,40} (?:does|do|did|takes over|took over|handles|is doing) (?:it|that|this"
    r"|so)(?: now| instead| these days)*",
    re.IGNORECASE,
)
"""The clause before is about what a person does: "Ana does it now"."""

_TRAIT: Final = regex(
    r"(?P<head>.{1,60}?(?:\b(?:am|is|are)|'[ms]|'re)(?: (?:also|both|a|an"
    r"|not))*) (?P<one>[^,]{3,80}?),? and (?:also )?(?P<two>[\w-]+(?: .{1,80})?)",
    re.IGNORECASE,
)
_AND_NOW: Final = regex(
    r"(?P<head>.{3,160}?),? and (?P<two>(?:now|then|also|still) (?P<verb>[a-z]+) .{2,160})", re.IGNORECASE
)


def _siblings(clause: str) -> list[str]:
    """A clause, or the statements that it joins under one subject: "vegetarian and allergic to peanuts"."""
    trait = _TRAIT.fullmatch(clause)
    lists = grammar()
    if trait is not None:
        ones, twos = words_in(trait["one"]), words_in(trait["two"])
        if ones and twos and ones[0].small in lists.traits and twos[0].small in lists.traits:
            return [f"{trait['head']} {trait['one']}", f"{trait['head']} {trait['two']}"]
    joined = _AND_NOW.fullmatch(clause)
    if joined is not None and (joined["verb"].lower() in lists.bases or joined["verb"].lower() in lists.singular):
        parsed = parse(joined["head"])
        if parsed is not None and parsed.subject:
            return [joined["head"], f"{parsed.subject} {joined['two']}"]
    return [clause]


def _judged(clause: str, scene: Scene, aside: Aside) -> Finding | Left:
    """The finding of a clause, or the clause with the reason why there is none."""
    if _TAG.search(clause) is not None:
        return Left(clause, "question")
    if _DOES_IT.fullmatch(clause.strip(" .!,")):
        return Left(clause, "unclear reference")
    if aside.question and _family(clause, scene) is not shared.english().rule:
        return Left(clause, "question")
    judged = _judge(clause.rstrip("?"), scene, aside)
    if isinstance(judged, str):
        return Left(clause, judged)
    # a choice of one thing "rather than" another corrects nothing
    corrects = aside.corrects and (judged.family not in _DIRECT or not reading(clause).has("correction"))
    return msgspec.structs.replace(judged, corrects=corrects)


def _judge(text: str, scene: Scene, aside: Aside) -> Finding | str:
    part = text.strip(" ,;:").strip()
    if set(tokens(part)) <= courtesy_tokens():
        return "greeting"
    if says_name(part):
        return _name_of_speaker(part, scene)
    if _POINTING.search(part):
        return "unclear reference"
    if _HEARD.match(part):
        return "uncertain"
    if _DOING.match(part):
        return MOMENT
    bare, tail = _without_tail(_STILL.sub("", part))
    if _SUPPOSED.match(bare) or _DEPENDENT.match(bare):
        family = _family(bare, scene)
        if family is not None and family.name == "rule":
            return _of_family(bare, family, scene, tail)
        return _conditioned(bare, scene, aside, tail)
    aside = aside._replace(person=_PERSON.match(bare) is not None)
    whole = resolved(bare, scene.discourse)
    if whole is None or _OBJECTLESS.match(whole):
        return "unclear reference"
    family = _family(whole, scene)
    if family is not None and family.name == "relation" and (said := parse(whole)) is not None and _opines(said):
        return _statement(whole, scene, aside, tail)
    if family is not None:
        reason = ("itemised" if scene.itemised and family.name not in _DIRECT else None) or _objection(
            whole, family, reminded=aside.reminded
        )
        found = reason or _of_family(whole, family, scene, tail)
        if not isinstance(found, str) or family.name == "rule" or reason in (MOMENT, "itemised"):
            return found
    return _statement(whole, scene, aside, tail)


def _statement(whole: str, scene: Scene, aside: Aside, tail: str) -> Finding | str:
    """A clause that fits no family: a plain statement, or what is to be remembered."""
    parsed = _parsed(whole, aside.before)
    if _ORDERED.match(whole) or (parsed is not None and "please" in parsed.lead.lower()):
        return "request"
    dated = is_dated(whole, scene)
    judged = plain(parsed, dated=dated, person=aside.person) if parsed is not None else "nothing lasting"
    opinion = parsed is not None and parsed.head not in ("i", "we", "you") and _opines(parsed)
    if parsed is not None and (opinion or isinstance(judged, str)):
        inner = _reported(parsed)
        if inner is not None:
            judged = plain(inner, dated=dated)
        elif opinion and (parsed.verb == "use" or content_size(parsed.rest) < MIN_SAID):
            judged = "nothing lasting"
    request = is_request(whole)
    if opinion and parsed is not None and parsed.verb in _CLAIMS:
        return "uncertain"
    if isinstance(judged, Statement):
        if is_hedged(whole):
            return "uncertain"
        if _is_of_the_moment(whole):
            return MOMENT
        if scene.itemised and judged.about == "thing":
            return "itemised"
        assert parsed is not None  # noqa: S101
        text = parsed.text
        if _OWNED.search(parsed.rest) is None:
            text = text.replace(f"{parsed.subject}'s ", f"{parsed.subject} is ", 1)
        return shared.plain(judged.sort, judged.about, _content(text, scene)[0] + tail, dated=dated)
    if aside.reminded and not request and not _is_of_the_moment(whole) and (refers(whole) or is_substantial(whole)):
        return requested(_content(whole, scene)[0] + tail)
    if aside.reminded and request:
        return "request"
    if request and _ORDER.match(whole) and _OFTEN.search(whole) and not _is_of_the_moment(whole):
        return finding(shared.english().rule, _content(whole, scene, "")[0] + tail)
    if (
        scene.ruled
        and not _is_of_the_moment(whole)
        and _FURTHER.match(aside.lead)
        and is_request(whole)
        and _ORDER.match(whole)
    ):
        return finding(shared.english().rule, _content(whole, scene, "")[0] + tail)
    return "request" if request and judged in ("nothing lasting", "names nothing") else judged


_OFTEN: Final = regex(
    r"\bevery (?:day|week|month|year|morning|evening|night|hour|quarter|time|other|second|\d+|(?:mon|tues|wednes"
    r"|thurs|fri|satur|sun)day)"
    r"|\b(?:once|twice) an? (?!row\b)|\b(?:daily|weekly|monthly)\b",
    re.IGNORECASE,
)
_FURTHER: Final = regex(r"(?:also|plus|besides|in addition|furthermore)\b", re.IGNORECASE)
_ORDER: Final = regex(r"(?!i\b|we\b|you\b|let\b|if\b|help\b|this\b|that\b)[a-z]+ (?!it\b|this\b|that\b)", re.IGNORECASE)


_REPORTS: Final = words_of("say tell mention confirm insist explain report announce decide write")
_OPINES: Final = words_of("say think believe claim argue")
"""Verbs of an opinion or a greeting. What is kept is what lasts of what is said."""
_CLAIMS: Final = words_of("believe claim argue")
_OWNED: Final = regex(r"\A[\w' -]{1,60}? (?:is|are|was|were|has|lives|runs|works)\b", re.IGNORECASE)
"""Behind "'s" that is no verb: "the API's owner is Ana"."""
_USED: Final = regex(r"(?:to )?(?:say|tell|think|believe|claim)\b", re.IGNORECASE)
MIN_SAID: Final = 2
"""Content words of what a person says, from which on it is more than a greeting."""
_THAT: Final = regex(r"(?:(?:me|us|him|her|them) )?(?:that )?(?P<inner>.+)", re.IGNORECASE)


def _opines(clause: Clause) -> bool:
    return clause.verb in _OPINES or (clause.verb == "use" and _USED.match(clause.rest) is not None)


def _reported(clause: Clause) -> Clause | None:
    """Return the reported clause of "the vet said our dog weighs 31 kg"; None if `clause` reports nothing."""
    if (
        clause.tense not in ("past", "present", "perfect")
        or clause.head in ("i", "you")
        or clause.verb not in _REPORTS | _OPINES
    ):
        return None
    found = _THAT.fullmatch(clause.rest)
    return parse(found["inner"]) if found is not None else None


_DOING: Final = regex(
    r"(?:my|our) (?:[\w-]+ ){1,3}(?:is|are) (?:doing|making|watching|sleeping|eating|cooking|playing|reading|writing"
    r"|talking|waiting|sitting|crying|calling|asking|coming)\b(?!.{0,80}\b(?:every|on \w+days|always|usually)\b)",
    re.IGNORECASE,
)
"""Something that a relative or colleague is doing at the moment."""
_HEARD: Final = regex(
    r"(?:i|we) (?:(?:have|just|once|also) |'ve )?(?:read|heard|learn(?:ed|t)|saw|seen) that\b", re.IGNORECASE
)
"""An opening of a sentence about something that its speaker read or heard."""
_STILL: Final = regex(
    r"\A(?:(?:but|and|still|also|please|just) )+"
    r"(?=(?:no|run|use|keep|write|ask|check|add|always|never|don't|put|give)\b)",
    re.IGNORECASE,
)
_DEPENDENT: Final = regex(
    r"(?:because|since(?! (?:\d|last\b|then\b|early\b|late\b|the (?:start|beginning|end|spring|summer|autumn|winter"
    r"|new)\b|spring|summer|autumn|winter|childhood|(?-i:[A-Z][a-z]+ (?:I|we|my|our|the|\d))))|as|although|though"
    r"|while|when|in case|so that)\b(?! of\b)",
    re.IGNORECASE,
)
_UNREAL: Final = regex(r"\b(?:would|could|might|were to|had|won|suppose|imagine)\b|'d\b", re.IGNORECASE)
_MAIN: Final = regex(r"(?:,\s+(?:then\s+)?|\s+(?=(?:we|they)\s))(?P<main>\S.+)")


def _conditioned(bare: str, scene: Scene, aside: Aside, tail: str) -> Finding | str:
    """A clause that depends on another one, with that: what holds whenever, or because, something is so."""
    reason = "hypothetical" if _SUPPOSED.match(bare) else "nothing lasting"
    found = _MAIN.search(bare)
    whole = resolved(bare, scene.discourse)
    if found is None or _UNREAL.search(bare) is not None or whole is None:
        return reason
    main = parse(found["main"])
    judged = plain(main, dated=is_dated(bare, scene)) if main is not None else reason
    if main is None or not isinstance(judged, Statement) or main.tense not in ("present", "passive", "modal"):
        return reason
    if judged.about == "i" or aside.question or main.modal == "past" or _OBJECTLESS.match(main.text):
        return reason
    return shared.plain(judged.sort, judged.about, _content(whole, scene)[0] + tail, dated=False)


_PERSON: Final = regex(r"(?:he|she)(?:'|\b)", re.IGNORECASE)
_INHERITS: Final = regex(r"(?:and |then |now |but )*(?P<verb>[a-z]+)\b", re.IGNORECASE)


def _parsed(whole: str, before: str) -> Clause | None:
    """The clause with its subject. One without, which begins with a verb of change in the past, has that of the clause
    before it in its sentence, or else is the speaker's: "switched to bouldering"."""
    parsed = parse(whole)
    if parsed is not None:
        return parsed
    found, lists = _INHERITS.match(whole), grammar()
    if (
        found is None
        or found["verb"].lower() not in lists.past
        or lists.past[found["verb"].lower()] not in lists.changes
    ):
        return None
    earlier = parse(before) if before else None
    subject = earlier.subject if earlier is not None and earlier.head not in lists.anyone else "I"
    return parse(f"{subject} {whole[found.start('verb') :]}")


def _family(part: str, scene: Scene) -> Family | None:
    """The first family that fits; one that must refer to something gives way if nothing is named."""
    language = shared.english()
    fitting = [each for each in language.families(by_agent=scene.by_agent) if each.pattern.match(part)]
    found = next((each for each in fitting if not each.referring or refers(part)), None)
    if found is not None:
        return found
    if not scene.by_agent and language.dated.pattern.match(part) and is_dated(part, scene):
        return language.dated
    return next(iter(fitting), None)


def _objection(part: str, family: Family, *, reminded: bool = False) -> str | None:
    """The reason why a statement of `family` is not kept all the same."""
    if _is_of_the_moment(part) and family.key != "identity":
        return MOMENT
    if family.name in ("event", "plan", "relation") and is_of_today(part, dated=True):
        return MOMENT
    if (family.name == "rule" and _ONCE.search(part)) or (family.name == "relation" and _ORDERED.match(part)):
        return "request"
    if family.name not in _DIRECT and is_request(part):
        return "request"
    if is_hedged(part) and family.key not in ("identity", "environment", "preference", "rule"):
        return "uncertain"
    if _CHOICE.match(part) and family.name == "decision" and not names_tool(part):
        return "request"
    # a cause in so many words names what it is about
    is_long = family.name == "problem-fix" and len(token_set(part)) >= MIN_CAUSE
    is_named = family.key == "event" or part.lower().startswith(("decision", "the decision"))
    if family.referring and not (reminded or is_named or refers(part) or is_long):
        return "names nothing"
    return None


_ONCE: Final = regex(
    r"\bthere\b(?! (?:is|are|was|were|must|should|can|will)\b)"
    r"|\bfor the [\w -]{1,30} (?:today|tomorrow|tonight|this week)\b",
    re.IGNORECASE,
)
"""An order of one place or one day."""


def _name_of_speaker(part: str, scene: Scene) -> Finding:
    name = stated_name(part) or part
    subject = possessive("User" if scene.name == name else scene.name)
    called = f", call the user {name}" if part.lower().startswith("call ") else ""
    return identity(f"{subject} name is {name}{called}", 0.95, "named")


def _of_family(part: str, family: Family, scene: Scene, tail: str = "") -> Finding | str:
    content, mentioned = _content(part, scene, "" if family.name == "rule" else ASSISTANT)
    if not (family.referring or family.name == "rule" or is_substantial(content)):
        return "substance"
    return finding(family, content + tail, dated=any(each.explicit for each in mentioned))


def _content(part: str, scene: Scene, addressed: str = ASSISTANT) -> tuple[str, tuple[DateMention, ...]]:
    part = no_longer(part)
    plain_text = _LETS.sub("We will ", _AGREED.sub("", _ADDRESSED.sub("", part)))
    plain_text = _FILLER.sub("", _TURNED.sub("", plain_text, count=1))
    content, mentioned = with_dates(about(scene.name, plain_text, addressed), scene.said_us)
    content = content.strip().rstrip("!.?,;")
    is_name = any(mark in content.partition(" ")[0] for mark in "/._`")
    return content if is_name else content[:1].upper() + content[1:], mentioned


_TAIL: Final = regex(r"\s?,\s?(?=not \S{1,60}\Z|not (?:\S{1,30} ){1,4}\S{1,30}\Z)", re.IGNORECASE)


def _without_tail(part: str) -> tuple[str, str]:
    """`part` and the contrast at its end: ", not 443"."""
    found = _TAIL.search(part)
    return (part, "") if found is None else (part[: found.start()], part[found.start() :].rstrip(" .!"))


# ---------------------------------------------------------------- an agent's sentence


def _of_agent_sentence(lead: Lead, scene: Scene) -> Finding | str:
    if is_question(lead.rest):
        return "question"
    if scene.itemised and "root cause" not in lead.rest:
        return "progress"
    return _of_agent(lead.rest, scene)


def _of_agent(part: str, scene: Scene) -> Finding | str:
    """Of an agent's words only what shapes later work: causes found, limits, decisions with their reason."""
    if _POINTING.search(part) or resolved(part, scene.nothing) is None:
        return "unclear reference"
    family = _family(part, scene)
    if family is None:
        return "progress"
    is_cause = family.key == "agent_problem" and (_TURNED.match(part) or "root cause" in part.lower())
    if _FOR_USER.match(part) and not is_cause:
        return "progress"
    if family.key == "decision" and not _EXPLAINED.search(part):
        return "progress"
    return _objection(part, family) or _of_family(part, family, scene)


# ---------------------------------------------------------------- rejection: requests, words of the moment

_REQUEST: Final = regex(
    r"(?:i|we)(?:'d| would) (?:like|love|appreciate)\b|i want (?:to|you|it|this|that|the|a|an)\b|i (?:need|have)"
    r" (?:you|to|a|an|the|it|this|that|some|help)\b"
    r"|we (?:need|have|ought) to\b|we should\b|you (?:should|can|could|may|might|must|need"
    r"|have)\b(?!.{0,12}\b(?:always|never)\b)"
    r"|i(?:'m| am) (?:trying|getting|seeing|looking|wondering|not sure|torn|stuck|confused|thinking|going to|about to"
    r"|curious|done|back|new|sure|afraid|happy|glad|sorry|ready|working on)\b"
    r"|i (?:think|guess|wonder|suppose|believe|assume|was wondering|just|tried|see|saw|get|got|ran|merged|pushed|meant"
    r"|mean|know|don't know|can't|cannot|don't think|hope|noticed|thought)\b"
    r"|(?:i'll|i will|we'll) (?!use|go with|stick|switch|not use|be (?:on|in|at|away|out|off)\b)\w+|let me\b|help me\b"
    r"|if (?:you|i|we|it|that|this"
    r"|the|there)\b|maybe\b|perhaps\b|not sure\b|feel free\b|sounds?\b|looks?\b|seems?\b"
    r"|what if\b|how about\b|instead\b|unless\b|until\b|once you\b|when you(?:'re| are)?\b|after you\b|as you\b"
    r"|thanks\b",
    re.IGNORECASE,
)
_UNREAL_OPENING: Final = (
    r"suppos(?:e|ing)\b|imagine\b|let's (?:say|assume|suppose|imagine|pretend)|what if\b|say (?:we|i|you)\b"
    r"|hypothetically|in theory|theoretically|in an ideal world|i wish\b|if only\b"
)
_SUPPOSED: Final = regex(
    rf"(?:(?:and|but|so|then|also|even) )*(?:{_UNREAL_OPENING}|if\b|assum(?:e|ing)\b|say the\b|unless\b|in case\b"
    r"|were (?:i|we)\b|had (?:i|we)\b|provided\b|as if\b|whether\b|ideally)",
    re.IGNORECASE,
)
_IMAGINED: Final = regex(
    rf"(?:{_UNREAL_OPENING}|for (?:the sake of (?:the )?argument|argument's sake)|just for fun\b)"
    r"(?! .{1,160}\bactually\b)",
    re.IGNORECASE,
)
"""An opening after which nothing of its sentence is said to be so."""
_STATES: Final = regex(
    r"\S+ (?:is|are|was|were|has|have|had|must|runs?|lives?|uses?|will|goes|go out|can|cannot)\b", re.IGNORECASE
)
_POINTING: Final = regex(
    r"\b(?:option|suggestion|variant|alternative) (?:[a-z]|\d+|one|two|three)\b|\b(?:see (?:above|below)|the above"
    r"|the following|as follows|as above|shown (?:above|below)|below is|listed below"
    r"|attached|this (?:function|test|file|class|method"
    r"|line|error|code|bug|issue|one|snippet|output|log|message|change|pr|commit|diff|branch|query|variable|approach"
    r"|thing|stuff|case|part|script|page)"
    r"|that (?:function|test|file|class|method|line|error|bug|one|approach|way|thing)|these (?:files|tests|lines"
    r"|errors|changes)|the (?:same|latter|former) (?:one|way)?|the same(?=\W*\Z))\b",
    re.IGNORECASE,
)
_OBJECTLESS: Final = regex(
    r"(?:i|we)(?:'ve|'m|'re|'d|'ll)? (?:[\w']+ ){1,4}?(?:it|them|him|her|this|these|those|this one)(?= (?:is|was|at|in"
    r"|on|to|into|for|with|because|from|about|over|an?|as|and"
    r"|but|so|since|when|if|almost|non-stop|back|again|up|out|every|by|under|last|yesterday|the)\b|[.,;!]|\Z)",
    re.IGNORECASE,
)
_MOMENT: Final = regex(
    r"\b(?:for now|right now|just now|at the moment|for the moment|for this (?:pr|commit|branch|task|file|test|one"
    r"|change|ticket|release|time)|this time|just this once|yet"
    r"|temporarily|so far|in progress|still (?:failing|broken|running)|(?:is|are) (?:failing|running now|broken)"
    r"|done(?=\W*\Z)"
    r"|in (?:an?|a few|\d+|five|ten|fifteen|twenty|thirty) (?:min|minutes?|hours?|secs?|seconds?)(?=[.,;!]|\Z)"
    r"|before you (?:finish|start|commit)|when you're done)\b",
    re.IGNORECASE,
)
_EACH_TIME: Final = regex(r"\b(?:always|never|whenever|every time|each time)\b", re.IGNORECASE)
"""Words of a standing rule: "always … before a commit" is no order of the moment."""
_EXCLAIMED: Final = regex(r"!{2,}|\b(?:wtf|damn|ugh|argh)\b", re.IGNORECASE)


def is_request(sentence: str) -> bool:
    """True for an order, and for an account of what its speaker is doing: nothing that lasts."""
    if _REQUEST.match(sentence) is not None:
        return True
    first = sentence.split(maxsplit=1)[0].lower().strip(",.:;!") if sentence.strip() else ""
    return first in shared.english().orders and _STATES.match(sentence) is None


def _is_of_the_moment(sentence: str) -> bool:
    """True if it holds for now, or for one task."""
    found = _MOMENT.search(sentence)
    if found is not None and found[0].lower().startswith(("before", "when")) and _EACH_TIME.search(sentence):
        found = _MOMENT.search(sentence, found.end())
    if found is not None and found[0].lower() == "so far" and numbers(sentence):
        found = _MOMENT.search(sentence, found.end())
    return found is not None or _EXCLAIMED.search(sentence) is not None
