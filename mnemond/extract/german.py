"""Findings of a German sentence.

A sentence is read in clauses. A statement is a clause with a subject that can be named, a finite verb and a value; a
clause that depends on one, or continues it, stays with it. The others are left with a reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Literal, NamedTuple

import msgspec

from mnemond.extract.facts import UNKNOWN
from mnemond.extract.findings import Finding, Judged, Left, Scene, with_dates
from mnemond.text.resources import filled, on_first_use, read, regex

# ---------------------------------------------------------------- the language of a sentence


class _Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """data/facts_german.toml"""

    markers: frozenset[str]
    english: frozenset[str]
    verbs: dict[str, str]
    clause: dict[str, tuple[str, ...]]


@on_first_use
def _words() -> _Words:
    return read("facts_german", _Words)


@on_first_use
def _parts() -> dict[str, str]:
    """The lists of `[clause]` as parts of expressions, and `finite`, a finite verb: known, or with its ending."""
    parts = {name: f"(?:{'|'.join(each)})" for name, each in _words().clause.items()}
    return parts | {"finite": rf"(?!{parts['no_verb']}\b){parts['verb']}"}


def _listed(pattern: str, flags: int = 0) -> re.Pattern[str]:
    return filled(pattern, _parts, flags)


_WORD: Final = regex(r"[^\W_]+")
_UMLAUT: Final = regex("[äöüßÄÖÜ]")


def is_german(sentence: str) -> bool:
    """True if `sentence` has a word of German and not as many of English."""
    lists = _words()
    found = [each.lower() for each in _WORD.findall(sentence)]
    german = sum(each in lists.markers or _UMLAUT.search(each) is not None for each in found)
    return german > sum(each in lists.english for each in found)


# ---------------------------------------------------------------- kinds of clauses

_I: Final = re.IGNORECASE

_QUOTE: Final = regex('[„“«»]|"[^"]{8,}"')
_QUESTION: Final = _listed(r"{question}", _I)
_HYPOTHETICAL: Final = _listed(r"\b{hypothetical}\b", _I)
_SUPPOSED: Final = _listed(r"\b{supposed}\b", _I)
_UNSURE: Final = _listed(r"\b{unsure}\b", _I)
_TRANSIENT: Final = _listed(r"\b{transient}\b", _I)
_YESTERDAY: Final = _listed(r"\b{yesterday}\b", _I)
_RULE: Final = _listed(r"\b{rule}\b", _I)
_GENERAL: Final = _listed(r"\b{general}\b", _I)
_THIS: Final = regex(
    r"\b(?:nur|nicht)\b.{0,60}\b(?:den|die|das|dem|diese[nmrs]?)\b|\b(?:die|das|den|dem|diese\w?)\b.{0,60}\bnicht\b", _I
)
_HERE: Final = _listed(r"\b{here}\b", _I)
_IMPERATIVE: Final = _listed(
    r"{before_imperative}*{imperative}(?:e|le|re|n? sie)?\b(?! (?:ich|wir|er|es|uns (?:das|die))\b)", _I
)
_ADDRESSED: Final = _listed(r"{addressed}", _I)
_SHOULD: Final = _listed(r"\b{should}\b", _I)
_POINTING: Final = _listed(
    r"^{pointing}\b(?!(?: [a-zäöüß]{1,20}(?:e|en|er|es|em)){0,2} [\w-]{0,30}(?-i:[A-ZÄÖÜ\d]))", _I
)
_DEPENDENT: Final = _listed(r"^{dependent}\b", _I)
_APPOSED: Final = _listed(r"{apposed}")
_ARTICLE: Final = regex(r"(?:Der|Die|Das|Den|Dem)\b")
_APPOSITION: Final = regex(
    r"^((?:der|die|das|mein\w{0,2}"
    r"|unser\w{0,2}) (?:[a-zäöüß]{1,30} ){0,2}[A-ZÄÖÜ][\w-]{1,40}), ([^,]{2,40}), (?=[a-zäöüß])",
    _I,
)
_ASIDE: Final = regex(r",? übrigens(?=,|$)|(?<=\w) (?:übrigens|ja)(?= (?!oder\b))", _I)
_JOINING: Final = regex(r"^(?:und|aber|oder) ", _I)
_WHENEVER: Final = _listed(r"^{whenever}\b", _I)
_BEFORE: Final = _listed(r"^{before} ", _I)
_CONDITION: Final = _listed(r"^{condition}\b", _I)

_LEAD: Final = _listed(r"(?:{lead}(?:\s?[,.!:–—-]+\s*|\s+(?=dass\b)))+|{lead_word}\s+(?=\w)", _I)
_COLON: Final = regex(r"^[^:]{3,60}:\s+(?=[A-ZÄÖÜ])")
_CORRECTION: Final = _listed(r"\b{correction}\b", _I)
_SPLIT: Final = regex(
    r"\s*;\s+|,\s+(?!\d)|,\s+(?=\d+\s)(?!\d+ Uhr)|\s+[–—]\s+|\s+(?=(?:und|aber|oder) (?:ich|wir|mein\w{0,2}"
    r"|unser\w{0,2}|er|sie|es|der|die|das)\b)"
)
_AND: Final = regex(r"\s+und\s+")

# ---------------------------------------------------------------- statements

_FIRST: Final = _listed(r"^(?:{before_first}\s+)?{first}\b", _I)
_NOUN: Final = r"(?:[A-ZÄÖÜ][\w.&/+-]*|[\w-]*[\d_/.][\w./-]*|`[^`]+`|[a-z]\w*-\w[\w-]*)"
_SUBJECT: Final = _listed(
    rf"^(?:(?i:{{determiner}})\s+)*(?:[a-zäöü0-9]\w*\s+){{0,2}}?{_NOUN}(?:\s+(?:{_NOUN}|\([^()]*\)|{{within_subject}}"
    r"|\d\S*)){0,6},?\s+{finite}\b"
)
_INVERTED: Final = _listed(
    rf"^\S+(?:\s+\S+){{0,6}}?\s+{{finite}}\s+(?:wir|ich|uns|der|die|das|ein|eine|mein\w*|unser\w*|User|{_NOUN})\b"
)
_SPEAKER: Final = regex(r"\b(?:ich|wir|uns|mein\w{0,2}|unser\w{0,2}|mich|mir)\b", _I)
_NAMED: Final = regex(r"(?<!^)(?<=[\s(\"'`/@-])(?:[A-ZÄÖÜ]\w+|[A-Z]+)|\d|`|[\w-]+[_/]\w|://")
_VERB_ANYWHERE: Final = _listed(r"\s{finite}\b|^{verb}\b")
_VALUE_ADJECTIVE: Final = _listed(r"\b{value_adjective}\b", _I)
_MOOD: Final = _listed(r"\b{mood}\b", _I)
_CHANGED: Final = _listed(r"\b{changed}\b", _I)
_CHOICE: Final = _listed(r"\b{choice}\b", _I)
_LIKES: Final = _listed(r"\b{likes}\b", _I)
_CAUSE: Final = _listed(r"{cause}", _I)

MAX_REMARK: Final = 8
"""Words without a verb that continue the clause before."""

Kind = Literal["statement", "rule", "continues"]


class _Clause(NamedTuple):
    """A clause, its kind, or the reason why it is left."""

    text: str
    kind: Kind | None
    reason: str = ""


def findings(text: str, scene: Scene) -> Judged:
    """The findings of `text`, one sentence of at most `MAX_SENTENCE` characters, else the reason why there are none."""
    sentence = " ".join(text.split())
    reason = _rejection(sentence, by_agent=scene.by_agent)
    if reason is not None:
        return reason
    lead = _LEAD.match(sentence)
    body = _in_order(sentence[lead.end() :]) if lead else sentence
    left: list[Finding | Left] = []
    colon = _COLON.match(body)
    if colon is not None:
        left.append(Left(body[: colon.end()].strip(), "nothing lasting"))
        body = body[colon.end() :]
    clauses = [_judge(each) for each in _clauses(body)]
    found: list[Finding | Left] = [
        *left,
        *_collected(clauses, scene, corrects=scene.corrected or _CORRECTION.search(sentence) is not None),
    ]
    if any(isinstance(each, Finding) for each in found):
        return [Left(lead[0].strip(), "greeting"), *found] if lead else found
    reasons = [each.reason for each in found if isinstance(each, Left)]
    return next((each for each in reasons if each != "nothing lasting"), "nothing lasting")


_VERB_FIRST: Final = _listed(r"^(?P<verb>{finite}|hab) (?P<subject>ich|wir|er|sie|es)\b", _I)


def _in_order(body: str) -> str:
    """A sentence whose first word was left out, with its subject first again: "hab ich am Freitag frei"."""
    found = _VERB_FIRST.match(body)
    if found is None:
        return body
    return f"{found['subject'].capitalize()} {found['verb'].lower()}{body[found.end() :]}"


def _rejection(sentence: str, *, by_agent: bool) -> str | None:
    if _QUESTION.search(sentence) and not _RULE.search(sentence):
        return "question"
    if sentence.endswith("?"):
        return "question"
    if _QUOTE.search(sentence):
        return "quote"
    if _SAYING.search(sentence):
        return "uncertain"
    if _SUPPOSED.search(sentence) or _HYPOTHETICAL.search(_COMMA.split(sentence, 1)[0]):
        return "hypothetical"
    if _UNSURE.search(sentence):
        return "uncertain"
    if by_agent and _CAUSE.search(sentence) is None:
        return "progress"
    return None


_I_DO: Final = regex(r"\bich [a-zäöüß]|\b(?:[a-zäöüß]{2,20}e|bin|hab|mag|kann|muss|darf|will|soll|war|weiß) ich\b", _I)
_I_BEFORE: Final = regex(r"\bich\b", _I)
_SAYING: Final = regex(
    r"\b(?:sagte?|meinte?) (?:immer|oft|gern|früher)\b"
    r"|\b(?:mein|dein|unser|ihr|sein|der|die|das|ein)\w{0,2} [\w-]+ (?:behauptet"
    r"|glaubt|denkt|meint)\w{0,2}\b(?! an\b)",
    _I,
)
"""A saying or an opinion of another person."""
_WITHIN: Final = regex(r"(?:in|an|auf|mit|von|bei|für|aus|zu|nach|über|unter|vor) (?:dem|der|denen|den|die|das)\b", _I)
"""The beginning of a relative clause behind an order: "schreib einen Test, in dem der Nutzer 17 ist"."""
_SAYS: Final = regex(r"(?:sagt|meint|findet|glaubt|behauptet)\b")
_DUTY: Final = regex(r"\A(?:du (?:musst|sollst)|(?:musst|sollst) du) (?!nichts?\b)", _I)
"""Words before what is to be done, or is not any more."""
_COMMA: Final = regex(r"[,;]\s")


def _clauses(body: str) -> list[str]:
    found: list[str] = []
    whole = _APPOSITION.sub(r"\1 (\2) ", body.rstrip(" .!…"))
    for part in _SPLIT.split(whole):
        halves = _AND.split(part)
        rest = halves[0]
        for half in halves[1:]:
            continued = _I_BEFORE.search(rest) is not None and _FIRST.match(half) is not None
            if (_IMPERATIVE.match(half) and not half[:1].isupper() and not continued) or _SAYS.match(half):
                found.append(rest)
                rest = half
            else:
                rest = f"{rest} und {half}"
        found.append(rest)
    return [each.strip() for each in found if each.strip()]


def _judge(clause: str) -> _Clause:
    """The kind of one clause."""
    whole, clause = clause, _JOINING.sub("", clause)
    standing = _RULE.search(clause) is not None
    if _HYPOTHETICAL.search(clause) and not _RULE.search(clause):
        return _Clause(whole, None, "hypothetical")
    if _CONDITION.match(clause) or _BEFORE.match(clause):
        return _Clause(whole, "continues")
    if _IMPERATIVE.match(clause) or _SHOULD.search(clause) or clause.lower().startswith("bitte "):
        if standing or (
            _GENERAL.search(clause)
            and not _HERE.search(clause)
            and not _SHOULD.search(clause)
            and not _THIS.search(clause)
        ):
            return _Clause(whole, "rule")
        return _Clause(whole, None, "request")
    if _ADDRESSED.search(clause):
        return _Clause(whole, None, "request")
    if _QUESTION.match(clause):
        return _Clause(whole, None, "question")
    relative = _DEPENDENT.match(clause) is not None and not (clause[:1].isupper() and _ARTICLE.match(clause))
    if relative and clause.startswith("das ") and _MOOD.search(clause):
        return _Clause(whole, None, "nothing lasting")
    subject = _SUBJECT.match(clause)
    if (relative and (subject is None or subject.end() == len(clause))) or _APPOSED.match(clause):
        return _Clause(whole, "continues")
    return _stated(whole, clause, standing=standing)


def _stated(whole: str, clause: str, *, standing: bool) -> _Clause:
    """The kind of a clause that requests nothing; `clause` is `whole` without a word that joins it."""
    changed = any(each.search(clause) for each in (_CHOICE, _CORRECTION, _CHANGED))
    if _TRANSIENT.search(clause) or (_YESTERDAY.search(clause) and not changed):
        return _Clause(whole, None, "nothing lasting")
    verbal = any(each.search(clause) for each in (_VERB_ANYWHERE, _FIRST, _I_DO))
    speaker = verbal and (_SPEAKER.search(clause) is not None or _FIRST.match(clause) is not None)
    if _MOOD.search(clause) and not standing:
        return _Clause(whole, None, "nothing lasting")
    if _POINTING.match(clause) and not speaker:
        return _Clause(whole, None, "unclear reference")
    if speaker or _PRONOUN.match(clause) or _SUBJECT.match(clause) or _INVERTED.match(clause):
        return _Clause(whole, "statement")
    if standing:
        return _Clause(whole, "rule")
    if not verbal and changed and _SPEAKER.search(clause):  # "unser Treffen jetzt donnerstags statt mittwochs"
        return _Clause(whole, "statement")
    if len(clause.split()) <= MAX_REMARK and not verbal:
        return _Clause(whole, "continues")
    return _Clause(whole, "continues" if clause[:1].islower() else None, "nothing lasting")


def _collected(clauses: Iterable[_Clause], scene: Scene, *, corrects: bool) -> Iterable[Finding | Left]:
    """Findings of statements with the clauses that continue them; the other clauses are left."""
    group: list[_Clause] = []
    before: list[str] = []
    pending: list[str] = []
    ordered = False
    for clause in clauses:
        if ordered and _WITHIN.match(clause.text):
            yield Left(clause.text, "request")
            continue
        ordered = clause.reason == "request"
        if clause.kind == "continues":
            if group:
                group.append(clause)
            else:
                pending.append(clause.text)
            continue
        if group:
            yield from _fact(group, scene, before, corrects=corrects)
            before = [*(each.text for each in reversed(group)), *before]
        group = []
        if clause.reason == "request" and pending and _WHENEVER.match(pending[0]):
            group = [*(_Clause(each, "continues") for each in pending), _Clause(clause.text, "rule")]
        elif clause.kind == "statement" and pending and _CONDITION.match(pending[0]):
            yield Left(", ".join([*pending, clause.text]), "hypothetical")
        elif clause.kind is None:
            yield from (Left(each, "nothing lasting") for each in pending)
            yield Left(clause.text, clause.reason)
        else:
            group = [*(_Clause(each, "continues") for each in pending), clause]
        pending = []
    if group:
        yield from _fact(group, scene, before, corrects=corrects)
    yield from (Left(each, "nothing lasting") for each in pending)


def _fact(group: list[_Clause], scene: Scene, before: list[str], *, corrects: bool) -> Iterable[Finding | Left]:
    """The finding of the clauses of `group`; `before`: the clauses before it in its sentence, the last one first."""
    joined = ", ".join(each.text for each in group)
    is_rule = any(each.kind == "rule" for each in group)
    if not (
        is_rule
        or _NAMED.search(joined)
        or _VALUE_ADJECTIVE.search(joined)
        or _LIKES.search(joined)
        or _CORRECTION.search(joined)
    ):
        yield Left(joined, "names nothing")
        return
    resolved = joined if is_rule else _with_subject(_JOINING.sub("", joined), [*before, *scene.said_last()])
    if resolved is None:
        yield Left(joined, "unclear reference")
        return
    content = _DUTY.sub("", resolved) if is_rule else about(resolved, scene.name)
    content, _ = with_dates(content, scene.said_us)
    content = _ASIDE.sub("", _JOINING.sub("", content))
    content = content[:1].upper() + content[1:]
    decided = _CHOICE.search(content) is not None and not is_rule
    likes = is_rule or _LIKES.search(content) is not None
    yield Finding(
        content=content,
        family="rule" if is_rule else "preference" if likes else "decision" if decided else "statement",
        intent="preference" if likes else "fact",
        category="preference" if likes else "decision" if decided else "fact",
        confidence=0.85 if is_rule or likes else 0.75,
        decided=decided,
        corrects=corrects,
    )


# ---------------------------------------------------------------- pronouns

_PRONOUN: Final = regex(r"^(?P<p>[Ee]r|[Ss]ie|[Ee]s|[Dd]er)\s+(?=[a-zäöüß]{1,20}(?:t|en|ist|hat)\b)")
_LATE_PRONOUN: Final = regex(r"(?<=[a-zäöü] )(?P<p>er|sie|es)\b")
_HEISST: Final = regex(r"\b(?:heiß(?:t|en)|heisst|namens) ([A-ZÄÖÜ][\w-]+)")
_ANTECEDENT: Final = regex(
    r"(?<!\bin )(?<!\ban )(?<!\bauf )(?<!\bbei )(?<!\bmit )(?<!\bvon )(?<!\bzu )(?<!\baus )(?<!\bnach )"
    r"\b(?P<d>der|den|dem|des|die|das|eine?n?|einem|meine?n?|mein|unsere?n?|unser"
    r"|Meine?|Mein|Unsere?|Unser|Der|Die|Das)\s+(?:[a-zäöü]\w+\s+){0,2}?(?P<n>[A-ZÄÖÜ][\w-]+)"
)
_ARTICLE_OF: Final = {"er": "der", "sie": "die", "es": "das"}
_OF_GENDER: Final = {
    "er": frozenset({"der", "den", "dem", "einen", "meinen", "unseren", "ein", "mein", "unser"}),
    "sie": frozenset({"die", "eine", "meine", "unsere"}),
    "es": frozenset({"das", "ein", "mein", "unser"}),
}


def _with_subject(text: str, earlier: Iterable[str]) -> str | None:
    """`text` with the name or noun that its pronoun stands for; None if there is none."""
    found = _PRONOUN.match(text) or _LATE_PRONOUN.search(text)
    if found is None:
        return text
    pronoun = "er" if found["p"].lower() == "der" else found["p"].lower()
    before = text[: found.start()]
    for said in ([before] if before else []) + list(earlier):
        if (antecedent := _antecedent(said, pronoun)) is not None:
            return f"{before}{antecedent}{text[found.end('p') :]}"
    return None


def _antecedent(said: str, pronoun: str) -> str | None:
    named = _HEISST.findall(said)
    if named:
        return str(named[-1])
    nouns = [each["n"] for each in _ANTECEDENT.finditer(said) if each["d"].lower() in _OF_GENDER[pronoun]]
    return f"{_ARTICLE_OF[pronoun]} {nouns[-1]}" if nouns else None


# ---------------------------------------------------------------- first person

_ICH_VERB: Final = regex(r"\b[Ii]ch\s+(?P<v>[a-zäöüß]+)\b")
_VERB_ICH: Final = regex(r"\b(?P<v>[A-ZÄÖÜ]?[a-zäöüß]+)\s+ich\b")
_AND_VERB: Final = regex(r"(?<= und )(?P<v>[a-zäöüß]{3,}e|bin|hab|mag)\b(?=\s)")
_LAST_VERB: Final = regex(r"\b(?P<v>[a-zäöüß]{3,}e|bin|hab|mag)(?=,|$)")
_SUBORDINATE: Final = _listed(r"\b{subordinate}\s+ich\b")
_MY: Final = regex(r"\b[Mm]ein(?:e|en|em|er|es)?\b")
_ME: Final = regex(r"\b(?:mir|mich)\b")
_REFLEXIVE: Final = regex(r"(?<!mit )(?<!bei )(?<!für )(?<!von )(?<!zu )\b(?:mir|mich)\b")
_ICH: Final = regex(r"\b[Ii]ch\b")


def about(text: str, name: str = UNKNOWN) -> str:
    """`text` in the third person: "Ich wohne in Graz" is "User wohnt in Graz". "Wir" stays."""
    first = _FIRST.match(text)
    if first is not None and not _ICH.search(text):
        words = text.split(" ")
        at = 0 if words[0].lower() not in {"seit", "nur", "jetzt", "inzwischen", "mittlerweile"} else 1
        verb = words[at]
        words[at] = f"{verb} ich"
        text = " ".join(words) if at else f"ich {verb.lower()} {' '.join(words[1:])}"
    if _ICH.search(text):
        text = _REFLEXIVE.sub("sich", text)
        text = _AND_VERB.sub(lambda found: third(found["v"]), text)
        if _SUBORDINATE.search(text):
            text = _LAST_VERB.sub(lambda found: third(found["v"]), text)
        else:
            text = _VERB_ICH.sub(lambda found: f"{third(found['v'])} ich", text)
            text = _ICH_VERB.sub(lambda found: f"ich {third(found['v'])}", text)
        text = _ICH.sub(lambda _: name, text)
    text = _ME.sub(lambda _: name, text)
    possessive = f"{name}'" if name.endswith(("s", "x", "z", "ß")) else f"{name}s"
    return _MY.sub(lambda _: possessive, text)


def third(verb: str) -> str:
    """The third person singular of a verb in the first; another word stays as it is."""
    known = _words().verbs.get(verb.lower())
    if known is not None:
        return known.capitalize() if verb[:1].isupper() else known
    if not verb.endswith("e") or verb in {"gerne", "heute", "keine", "eine", "meine", "diese", "alle", "viele"}:
        return verb
    stem = verb[:-1]
    return f"{stem}et" if stem.endswith(("t", "d", "chn", "ffn", "gn", "tm")) else f"{stem}t"
