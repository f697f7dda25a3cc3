"""Families of statements, and findings, which are statements that can be read alone: for English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import msgspec

from mnemond.extract.discourse import Discourse
from mnemond.extract.facts import Classified, Intent
from mnemond.model.memory import parse_rfc3339
from mnemond.text.contrast import numbers
from mnemond.text.cues import causal_cue
from mnemond.text.date_rules import tense
from mnemond.text.dates import DateMention, dates
from mnemond.text.entities import extract
from mnemond.text.entity_shapes import is_ordinary
from mnemond.text.quality import substance
from mnemond.text.resources import fill, filled, on_first_use, read, regex

# ---------------------------------------------------------------- families of statements


class Family(msgspec.Struct, frozen=True):
    """A kind of statement; data/facts_english.toml describes the fields. `key` is the name of its table there."""

    key: str
    name: str
    intent: Intent
    category: str
    pattern: re.Pattern[str]
    confidence: float
    referring: bool
    by_agent: bool


class Language(msgspec.Struct, frozen=True):
    """The families of a language for sentences of a person and of an agent, in the order in which they are tried; the
    one that is tried last, on a person's sentence with a date; its parts of expressions and its lists of words."""

    by_user: tuple[Family, ...]
    by_agent: tuple[Family, ...]
    dated: Family
    parts: dict[str, str]
    orders: frozenset[str]
    unchanged_verbs: frozenset[str]
    past_verbs: frozenset[str]
    base_in_ed: frozenset[str]
    joined_verbs: frozenset[str]

    @property
    def rule(self) -> Family:
        """The family of standing instructions."""
        return next(each for each in self.by_user if each.name == "rule")

    def families(self, *, by_agent: bool) -> tuple[Family, ...]:
        return self.by_agent if by_agent else self.by_user


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    intent: Intent
    category: str
    confidence: float
    alternatives: tuple[str, ...]
    start: str = ""
    name: str = ""
    referring: bool = False
    by_agent: bool = False


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """data/facts_english.toml, data/facts_chinese.toml"""

    by_user: tuple[str, ...]
    by_agent: tuple[str, ...]
    dated: str
    parts: dict[str, str | tuple[str, ...]]
    family: dict[str, _Row]
    orders: frozenset[str] = frozenset()
    unchanged_verbs: frozenset[str] = frozenset()
    past_verbs: frozenset[str] = frozenset()
    base_in_ed: frozenset[str] = frozenset()
    joined_verbs: frozenset[str] = frozenset()


def _language(file: _File) -> Language:
    parts: dict[str, str] = {}
    for name, part in file.parts.items():
        parts[name] = fill(part if isinstance(part, str) else f"(?:{'|'.join(part)})", parts)
    families = {
        key: Family(
            key=key,
            name=row.name or key,
            intent=row.intent,
            category=row.category,
            pattern=regex(fill(f"{row.start}(?:{'|'.join(row.alternatives)})", parts), re.IGNORECASE),
            confidence=row.confidence,
            referring=row.referring,
            by_agent=row.by_agent,
        )
        for key, row in file.family.items()
    }
    return Language(
        by_user=tuple(families[key] for key in file.by_user),
        by_agent=tuple(families[key] for key in file.by_agent),
        dated=families[file.dated],
        parts=parts,
        orders=file.orders,
        unchanged_verbs=file.unchanged_verbs,
        past_verbs=file.past_verbs,
        base_in_ed=file.base_in_ed,
        joined_verbs=file.joined_verbs,
    )


@on_first_use
def english() -> Language:
    return _language(read("facts_english", _File))


@on_first_use
def chinese() -> Language:
    return _language(read("facts_chinese", _File))


def chinese_regex(pattern: str) -> re.Pattern[str]:
    """The regular expression of a `pattern` with the parts of data/facts_chinese.toml."""
    return filled(pattern, lambda: chinese().parts)


# ---------------------------------------------------------------- findings


class Scene(msgspec.Struct, frozen=True):
    """The speaker and the time of a sentence. `name` replaces "I"; `discourse`: what the conversation has mentioned
    before; `said_last` returns the sentences before, the last one first; `corrected`: the sentence before says that
    something is wrong; `ruled`: it states a rule; `itemised`: the sentence is in a list."""

    name: str
    by_agent: bool
    said_us: int
    discourse: Discourse
    said_last: Callable[[], Sequence[str]] = tuple
    corrected: bool = False
    ruled: bool = False
    itemised: bool = False

    @property
    def nothing(self) -> Discourse:
        """Nothing mentioned: for a sentence whose pronouns must explain themselves."""
        return Discourse()


class Finding(Classified, frozen=True, kw_only=True):
    """A statement of a family of patterns. `relation`: the only relation of its subject."""

    family: str
    decided: bool = False
    corrects: bool = False
    relation: str | None = None


class Left(NamedTuple):
    """A part of a sentence that is not kept, and the reason."""

    text: str
    reason: str


Judged = list[Finding | Left] | str
"""The findings of a sentence and the parts left out, in order, or the reason why nothing is kept of it."""


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


def identity(content: str, confidence: float, relation: str | None) -> Finding:
    """Who the speaker is."""
    return Finding(
        content=content, family="identity", intent="relationship", category="fact", confidence=confidence,
        relation=relation,
    )  # fmt: skip


_PERSONAL: Final = frozenset({"i", "person"})
_SORTS: Final[dict[str, tuple[str, Intent, str, float]]] = {
    "trait": ("identity", "relationship", "fact", 0.8),
    "state": ("relation", "fact", "fact", 0.75),
    "change": ("event", "event", "fact", 0.75),
    "plan": ("plan", "event", "context", 0.75),
}
"""Family, intent, category and confidence of each sort of plain statement."""


def plain(sort: str, subject: str, content: str, *, dated: bool) -> Finding:
    """`content` as a plain statement of a sort (trait, state, change, plan) about a kind of subject."""
    family, intent, category, confidence = _SORTS[sort]
    if sort == "trait" and subject not in _PERSONAL:
        intent = "fact"
    return Finding(
        content=content, family=family, intent="event" if dated and sort != "trait" else intent, category=category,
        confidence=confidence,
    )  # fmt: skip


def requested(content: str) -> Finding:
    """`content` of no family, kept because its speaker requests it: "remember that …"."""
    return Finding(content=content, family="told", intent="fact", category="fact", confidence=0.85)


MIN_SUBSTANCE: Final = 0.45
"""`quality.substance` of a sentence that is kept."""

_CAPITAL: Final = regex(r"(?<!\A)\b[A-Z][\w&-]+|\A[A-Z][\w&-]+")
_SPAN: Final = regex(r"`[^`]+`|\b[a-z]{1,30}(?:-[a-z0-9]{1,30}){0,4}-\d\w{0,20}\b|\b(?=\w{0,20}\d)[a-z]\w{1,30}\b")


def is_substantial(content: str) -> bool:
    """True if `content` means enough by itself."""
    weight = substance(content, has_reference=refers(content), causal=causal_cue(content) is not None)
    return weight.score >= MIN_SUBSTANCE


def refers(part: str) -> bool:
    """True if `part` names anything: a thing, a person, a number, code."""
    if _SPAN.search(part) or numbers(part) or extract(part):
        return True
    return any(not is_ordinary(word) for word in _CAPITAL.findall(part))


def names_tool(part: str) -> bool:
    """True if `part` names a tool, outside of code."""
    return any(each.kind == "tool" and "/" not in each.name for each in extract(_SPAN.sub(" ", part)))


# ---------------------------------------------------------------- dates

_ELSEWHEN: Final = (-4_011 * 86_400_000_000, 2_923 * 86_400_000_000)
"""Microseconds to other days: a phrase that means something else there is relative to the day it was said."""

_FAR: Final = 400 * 365 * 86_400_000_000


def is_dated(part: str, scene: Scene) -> bool:
    """True if `part` has an explicit date."""
    return any(each.explicit for each in dates(part, scene.said_us))


def with_dates(sentence: str, said_us: int) -> tuple[str, tuple[DateMention, ...]]:
    """`sentence`, said at `said_us` (microseconds since 1970), with the dates of its relative phrases in parentheses
    behind them; and every date in it. A phrase that gives no more than an idea ("recently") stays as it is."""
    found = dates(sentence, said_us)
    if not found:
        return sentence, ()
    shift = _ELSEWHEN[0] if said_us > -_FAR else _ELSEWHEN[1]
    others = {(each.text, each.start, each.end) for each in dates(sentence, said_us + shift)}
    noted, at = sentence, 0
    for each in found:
        place = noted.find(each.text, at)
        if place < 0:
            continue
        at = place + len(each.text)
        if _is_open(noted, place, each, said_us):
            continue
        if each.explicit and (each.text, each.start, each.end) not in others and not noted.startswith((" (", "（"), at):
            note = _note(each)
            noted = f"{noted[:at]}{note}{noted[at:]}"
            at += len(note)
    return noted, found


_AHEAD: Final = regex(
    r"\b(?:moved|postponed|rescheduled|pushed|brought|delayed|shifted|extended|due|until|by|deadline|is|are|need"
    r"|needs|getting|going|flying|expires?)\b"
    r"[^.;]{0,40}\Z",
    re.IGNORECASE,
)
_NO_YEAR: Final = regex(r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)", re.IGNORECASE)
_HAS_YEAR: Final = regex(r"\b\d{4}\b")


def _is_open(sentence: str, place: int, mention: DateMention, said_us: int) -> bool:
    """True if a day of a month without a year, taken for a past one, may as well be the next: "the deadline is 30
    June"."""
    text = mention.text
    if _NO_YEAR.search(text) is None or _HAS_YEAR.search(text) is not None:
        return False
    is_past = parse_rfc3339(f"{mention.end}T23:59:59Z") < said_us
    return is_past and (
        _AHEAD.search(sentence, max(0, place - 60), place) is not None or tense(sentence.lower(), 0, 0) != "past"
    )


def _note(mention: DateMention) -> str:
    days = mention.start if mention.start == mention.end else f"{mention.start} to {mention.end}"
    return f" ({days})" if mention.text.isascii() else f"（{days}）"
