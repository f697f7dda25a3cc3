"""Relations that a memory states in so many words, with their times, for the graph of things and people.

A sentence is read from its subject: "Since March Ana works at Acme" is a start in March, "Ana worked at Acme from 2018
to 2020" a start and an end, "Ana left Acme" an end. Verbs are data (relations.toml). Where nothing is said plainly
nothing is read: questions, suppositions, pronouns as subjects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Final, NamedTuple

import msgspec

from mnemond.model.memory import format_us
from mnemond.model.relations import EXPLICIT, MAX_QUOTE, Granularity, Origin, PointKind
from mnemond.text.dates import DateMention, dates
from mnemond.text.entity_shapes import kind_of
from mnemond.text.resources import on_first_use, one_of, read, regex
from mnemond.text.statements import sentences

MAX_STATED: Final = 20
"""Statements of one memory that are kept, the first ones."""

MAX_SENTENCE: Final = 400
"""Characters of a sentence that is read."""


class Stated(NamedTuple):
    """A relation that a sentence states. `at` is RFC 3339. `names_target`: the target is a name and no text."""

    source: str
    type: str
    target: str
    kind: PointKind
    at: str
    granularity: Granularity
    quote: str
    names_target: bool
    source_kind: str = ""
    target_kind: str = ""
    strength: float = EXPLICIT
    origin: Origin = "rules"


class _Type(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    target: str
    present: tuple[str, ...]
    start: tuple[str, ...]
    past: tuple[str, ...]
    end: tuple[str, ...]
    base: tuple[str, ...]
    gerund: tuple[str, ...]
    source_kind: str = ""
    target_kind: str = ""


class _Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    adverbs: tuple[str, ...]
    nothing: tuple[str, ...]
    first: tuple[str, ...]
    supposing: tuple[str, ...]


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """data/relations.toml"""

    type: tuple[_Type, ...]
    words: _Words
    first_person: dict[str, str]


class _Verb(NamedTuple):
    type: _Type
    kind: str  # present, start, past, end


_file: Final = on_first_use(lambda: read("relations", _File))


@on_first_use
def _verbs() -> dict[str, _Verb]:
    """Every verb in small letters, also "used to", "stopped" and the first person."""
    found: dict[str, _Verb] = {}
    for each in _file().type:
        for kind in ("present", "start", "past", "end"):
            for phrase in getattr(each, kind):
                found.setdefault(phrase, _Verb(each, kind))
                found.setdefault(_first_person(phrase), _Verb(each, kind))
        for phrase in each.base:
            found[f"used to {phrase}"] = _Verb(each, "past")
            found[f"no longer {phrase}"] = _Verb(each, "end")
            if not phrase.startswith("be "):
                for negated in ("doesn't", "does not", "don't", "do not"):
                    found[f"{negated} {phrase}"] = _Verb(each, "denied")
        for phrase in each.gerund:
            found[f"stopped {phrase}"] = _Verb(each, "end")
            found[f"started {phrase}"] = _Verb(each, "start")
    return found


def _first_person(phrase: str) -> str:
    """ "works at" as "I" says it; what is no such form is no verb of its own and does no harm."""
    first, _, rest = phrase.partition(" ")
    plain = _file().first_person.get(first) or (first[:-1] if first.endswith("s") and len(first) > 3 else first)
    return f"{plain} {rest}".strip()


@on_first_use
def _sentence() -> re.Pattern[str]:
    adverbs = one_of(_file().words.adverbs)
    return re.compile(
        rf"\A(?:(?:the|our|der|die|das) )?(?P<source>[\w.&'+#/-]{{1,40}}(?: [\w.&'+#/-]{{1,40}}){{0,3}}?)"
        rf"(?: (?:{adverbs})){{0,2}} (?P<verb>{one_of(_verbs())}) (?P<rest>\S.{{0,200}})",
        re.IGNORECASE,
    )


_CAPITAL: Final = r"[^\W\d_a-z]"
_NAME: Final = regex(
    rf"(?:the )?(?P<target>`[^`]{{1,60}}`|{_CAPITAL}[\w.&'+#-]{{0,40}}"
    rf"(?: (?:(?:of|de|van|von|der|&) )?{_CAPITAL}[\w.&'+#-]{{0,40}}){{0,4}})"
)
_NO_PART: Final = (
    "and|but|because|as|since|for|with|to|in|on|at|by|from|instead|so|when|which|who|that|any|anymore|seit|und|mit"
)
_THING: Final = regex(
    rf"(?:the |an? |our )?(?P<target>`[^`]{{1,60}}`"
    rf"|{_CAPITAL}[\w.+#-]{{0,40}}(?: (?:{_CAPITAL}|\d)[\w.+#-]{{0,40}}){{0,3}}"
    rf"|[\w.+#/-]{{2,40}}(?: (?!(?:{_NO_PART})\b)[\w.+#/-]{{1,40}}){{0,2}})"
)
_TEXT: Final = regex(
    r"(?P<target>[\w`.+#/'& -]{2,80}?)(?=\s*(?:[,;:.!()]|\Z)|\s(?:because|since|when|so|but|although)\b)"
)
_BEHIND: Final = {"name": _NAME, "thing": _THING, "text": _TEXT}
_REPLACED: Final = regex(
    r"\A(?:(?:the|our) )?(?P<source>[\w.&'+#/-]{1,40}(?: [\w.&'+#/-]{1,40}){0,3}?)"
    r"(?: (?:has|have|recently|just|finally)){0,2}"
    r" (?:switched|migrated|moved|changed)(?: over)? from (?P<old>\S.{0,60}?) to (?P<new>\S.{0,100})",
    re.IGNORECASE,
)
_ANY_MORE: Final = regex(r"\s(?:any ?more|any longer|mehr)\b", re.IGNORECASE)
_SPAN: Final = regex(
    r"\b(?:from|between|von)\s(?P<first>(?:[A-Z][a-z]{2,8}\s)?\d{4}(?:-\d\d(?:-\d\d)?)?)\s?"
    r"(?:to|until|till|through|and|bis|–|-)\s?(?P<last>(?:[A-Z][a-z]{2,8}\s)?\d{4}(?:-\d\d(?:-\d\d)?)?)\b"
)
_SINCE: Final = regex(r"\b(?:since|as of|starting|beginning|from|seit|ab)\b", re.IGNORECASE)
_UNTIL: Final = regex(r"\b(?:until|till|up to|bis)\b", re.IGNORECASE)
_DANGLING: Final = regex(r"\s(?:in|on|at|since|until|from|as of|till|bis|seit|am|im)\s*\Z", re.IGNORECASE)
_LEADING: Final = regex(r"\A(?:(?:in|on|at|since|until|from|as of|until|seit|am|im)\b)?[\s,]*", re.IGNORECASE)


class _Times(NamedTuple):
    """The times of a sentence: since, until, and one that is neither."""

    since: DateMention | None = None
    until: DateMention | None = None
    other: DateMention | None = None


def statements_in(text: str, said_us: int) -> tuple[Stated, ...]:
    """Return the relations that a text states, at most `MAX_STATED`. `said_us`: when it was written (µs)."""
    found: list[Stated] = []
    for sentence in sentences(text):
        if len(sentence.text) <= MAX_SENTENCE and not _supposes(sentence.small):
            found += _read(sentence.text, said_us)
    return tuple(dict.fromkeys(found))[:MAX_STATED]


@on_first_use
def _supposing() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{one_of(_file().words.supposing)})\b")


def is_supposed(sentence: str) -> bool:
    """Return True if a sentence supposes something and states nothing."""
    return _supposes(sentence.lower())


@on_first_use
def first_persons() -> frozenset[str]:
    """Return the words by which a speaker names himself as a subject, in small letters."""
    return frozenset(_file().words.first)


@on_first_use
def target_shapes() -> dict[str, str]:
    """Return the types of relations that are read, each with the shape of its target: name, thing or text."""
    return {each.name: each.target for each in _file().type}


def _supposes(small: str) -> bool:
    return _supposing().search(small) is not None


def _read(sentence: str, said_us: int) -> Iterator[Stated]:
    bare, times = _times(sentence, said_us)
    replaced = _REPLACED.match(bare)
    if replaced is not None:
        for kind, part in (("end", replaced["old"]), ("start", replaced["new"])):
            yield from _stated(sentence, replaced["source"], _Verb(_uses(), kind), part, times, said_us)
        return
    found = _sentence().match(bare)
    if found is None:
        return
    verb = _verbs()[" ".join(found["verb"].lower().split())]
    rest = _ANY_MORE.sub("", found["rest"])
    if verb.kind == "denied":
        if rest == found["rest"]:
            return
        verb = _Verb(verb.type, "end")
    is_over = found["verb"].lower().startswith("used to")
    yield from _stated(sentence, found["source"], verb, rest, times, said_us, is_over=is_over)


@on_first_use
def _uses() -> _Type:
    return next(each for each in _file().type if each.name == "uses")


def _stated(
    sentence: str, source: str, verb: _Verb, rest: str, times: _Times, said_us: int, *, is_over: bool = False
) -> Iterator[Stated]:
    kind, source = verb.type, _bare(source)
    behind = _BEHIND[kind.target].match(rest)
    words, low = _file().words, source.lower()
    if behind is None or not low or low in words.nothing or low.split()[0] in words.nothing:
        return
    if low in words.first:
        if low in ("we", "wir") and kind.source_kind == "person":
            return
        source = "User"
    target = _bare(behind["target"])
    if not target or target.lower() == source.lower() or (kind.name == "lives_in" and kind_of(target) == "tool"):
        return
    for point, mention in _points(verb.kind, times, is_over=is_over):
        at, granularity = _moment(mention, said_us)
        yield Stated(
            source, kind.name, target, point, at, granularity, sentence[:MAX_QUOTE], kind.target == "name",
            kind.source_kind, kind.target_kind,
        )  # fmt: skip


def _points(kind: str, times: _Times, *, is_over: bool) -> Iterator[tuple[PointKind, DateMention | None]]:
    """Yield the points of a sentence. A past form without an end states nothing about when, unless `is_over`: "Ana used
    Vim yesterday" ends nothing."""
    if kind == "end":
        yield "end", times.until or times.other or times.since
    elif kind == "past":
        if times.since is not None and times.until is not None:
            yield "start", times.since
            yield "end", times.until
        elif times.until is not None or is_over:
            yield "until", times.until
    elif kind == "start":
        yield "start", times.since or times.other
    elif times.since is not None:
        yield "start", times.since
        if times.until is not None:
            yield "end", times.until
    else:
        yield "seen", None
        if times.until is not None:
            yield "end", times.until


def _times(sentence: str, said_us: int) -> tuple[str, _Times]:
    """Return a sentence without its dates, and what they say."""
    span = _SPAN.search(sentence)
    if span is not None:
        first, last = (_first(dates(f"in {span[each]}", said_us)) for each in ("first", "last"))
        if first is not None and last is not None and first.start < last.start:
            return _without(sentence, span[0]), _Times(first, last)
    since = until = other = None
    bare = sentence
    for mention in dates(sentence, said_us):
        if not mention.explicit or mention.text not in bare:
            continue
        before = bare[: bare.index(mention.text)]
        phrase = f"{before[-8:]} {mention.text}"
        if _UNTIL.search(phrase):
            until = until or mention
        elif _SINCE.search(phrase):
            since = since or mention
        else:
            other = other or mention
        bare = _without(bare, mention.text)
    return bare, _Times(since, until, other)


def _first(found: tuple[DateMention, ...]) -> DateMention | None:
    return found[0] if found else None


def _without(sentence: str, phrase: str) -> str:
    """Return a sentence without a phrase, and without a preposition that is left alone before it or at its start."""
    before, _, after = sentence.partition(phrase)
    before = _DANGLING.sub("", f" {before.rstrip()}").strip() if before.strip() else ""
    joined = f"{before} {after.lstrip(' ,')}".strip() if before else after.lstrip(" ,")
    return _LEADING.sub("", joined, count=1) if not before else joined


_GRANULARITIES: Final[tuple[tuple[int, Granularity], ...]] = (
    (1, "day"), (7, "week"), (31, "month"), (92, "quarter"),
)  # fmt: skip
"""Longest span in days of each."""


def _moment(mention: DateMention | None, said_us: int) -> tuple[str, Granularity]:
    """Return the begin of the days that are meant and how exact it is, or the time of the text."""
    return (format_us(said_us), "exact") if mention is None else begin_of(mention)


def begin_of(mention: DateMention) -> tuple[str, Granularity]:
    """Return the begin of the days that a date means (RFC 3339), and how exact it is."""
    first, last = date.fromisoformat(mention.start), date.fromisoformat(mention.end)
    days = (last - first + timedelta(days=1)).days
    name: Granularity = next((name for most, name in _GRANULARITIES if days <= most), "year")
    return f"{first.isoformat()}T00:00:00.000000Z", name


def _bare(name: str) -> str:
    bare = name.strip(' `.,;:!()"')
    return re.sub(r"\A(?:the|a|an|our|my) ", "", bare, flags=re.IGNORECASE)
