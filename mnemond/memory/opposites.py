"""Clauses of two texts that cannot both hold: a denial, an antonym, or another value of one thing.

Conservative: the clauses must have the same subject and relation word for word, and a qualifier that only one of two
values has on either side keeps both. Events, lists and relations with several objects contradict nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

import msgspec

from mnemond.memory.merged_text import clauses
from mnemond.text.contrast import label_nouns
from mnemond.text.resources import on_first_use, read, regex
from mnemond.text.tokens import PAIRED_SCRIPTS, fold, index_term

MAX_PARTS: Final = 100
"""Parts of each text that are compared, the first ones: at most 10,000 comparisons of some microseconds."""

MAX_LENGTH: Final = 300
"""Characters of a clause that is compared; a longer one says more than one thing."""

MIN_SHARED: Final = 2
"""Content words that a statement and its denial must share."""

MIN_SHARED_CHINESE: Final = 4
"""Characters that a Chinese statement and its denial, or two with other values, must share."""


class _Lists(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """data/merging.toml"""

    verbs: frozenset[str]
    copulas: frozenset[str]
    adverbs: frozenset[str]
    negators: frozenset[str]
    contractions: frozenset[str]
    light: frozenset[str]
    limits: frozenset[str]
    articles: frozenset[str]
    antonyms: tuple[str, ...]
    antonym_prefixes: tuple[str, ...]
    chinese_antonyms: tuple[str, ...]
    roles: tuple[str, ...]
    sole: frozenset[str]
    choices: frozenset[str]
    titles: frozenset[str]
    relations: tuple[str, ...]
    weekdays: frozenset[str]
    months: frozenset[str]
    synonyms: tuple[str, ...]
    numbers: dict[str, int]
    units: dict[str, dict[str, int]]


@on_first_use
def _lists() -> _Lists:
    return read("merging", _Lists)


@on_first_use
def _negations() -> frozenset[str]:
    return _lists().negators | _lists().contractions


@on_first_use
def _relations() -> frozenset[tuple[str, ...]]:
    lists = _lists()
    return frozenset(
        tuple("is" if word in lists.copulas else word for word in each.split()) for each in lists.relations
    )


class Opposed(NamedTuple):
    """Two clauses that cannot both hold."""

    older: str
    newer: str


def opposed(older: str, newer: str) -> Opposed | None:
    """Return the first two clauses of the texts that contradict each other."""
    these, others = list(islice(_read(older), MAX_PARTS)), list(islice(_read(newer), MAX_PARTS))
    for one in these:
        for other in others:
            if _cannot_both_hold(one, other):
                return Opposed(one.clause, other.clause)
    return None


def is_value_word(word: str) -> bool:
    """Return True for a folded word that is a value by itself: a number, a weekday or a month."""
    lists = _lists()
    return word in lists.numbers or word in lists.weekdays or (word in lists.months and word != "may")


def is_adverb(word: str) -> bool:
    """Return True for a folded word that changes nothing of a statement: "about", "now"."""
    return word in _lists().adverbs


def synonym(stem: str) -> str:
    """Return the stem that stands for all those that mean the same."""
    return _synonyms().get(stem, stem)


@on_first_use
def _synonyms() -> dict[str, str]:
    groups = [[index_term(word) or word for word in each.split()] for each in _lists().synonyms]
    return {word: group[0] for group in groups for word in group}


class _Part(NamedTuple):
    """A part of a clause with one predicate: its words, as written and as stems; `han` is its text without spaces if it
    is Chinese."""

    raw: tuple[str, ...]
    stems: tuple[str, ...]
    content: tuple[str, ...]
    denied: bool
    limited: bool
    han: str


_SPLIT = regex(r",\s+|，|,(?=[^\d\s])|\s+(?:and|but|und|aber|sondern|while|whereas)\s+")
_HAN = regex(rf"[{PAIRED_SCRIPTS}]")
_EDGES = "\"'`‘’“”«»‹›()[]{}<>*_.,;:!?…。，、；：！？"
_ATTACHED = regex(r"(?<![\w.])(\d[\d.,]*)(ms|s|min|h|[kmgt]?b|%|am|pm)\b|(?<![\w.])(\d[\d.,]*)(%)", re.IGNORECASE)
_SWITCHED = regex(r"\b(is|are|turned|switched|set|ist|sind) (on|off|an|aus)(?=$|[\s.,;!])", re.IGNORECASE)
_STATE = "!"
"""Follows on and off where they are states and no prepositions."""
_STATES = frozenset(f"{word}{_STATE}" for word in ("on", "off", "an", "aus"))


class _Read(NamedTuple):
    """A part with the clause it is in, the value that it gives, and the names: of a holder, an object, the only one."""

    clause: str
    part: _Part
    said: _Said | None
    named: tuple[_Named | None, ...]


def _read(text: str) -> Iterator[_Read]:
    """Yield the parts of a text."""
    for clause in clauses(text):
        if len(clause) <= MAX_LENGTH:
            for part in _SPLIT.split(clause):
                if part.strip():
                    read_part = _part(part)
                    named = (_holder(read_part), _object(read_part), _sole(read_part))
                    yield _Read(clause, read_part, _said(read_part), named)


def _part(text: str) -> _Part:
    lists = _lists()
    han = "".join(fold(text).split()) if _HAN.search(text) else ""
    spaced = _ATTACHED.sub(r"\1\3 \2\4 ", text.replace("’", "'"))
    spaced = _SWITCHED.sub(lambda found: f"{found[1]} {found[2]}{_STATE}", spaced)
    raw = [word if word in _STATES else word.strip(_EDGES) for word in spaced.split()]
    raw = [word for word in raw if word]
    folded = [fold(word) for word in raw]
    denials = sum(word in _negations() for word in folded)
    last = len(raw) - 1
    kept = [
        (word, low)
        for at, (word, low) in enumerate(zip(raw, folded, strict=True))
        if _counts(low, lists) or (low == "a" and (at == last or word == "A"))  # "node a"
    ]
    stems = tuple(_stem(low) for _, low in kept)
    content = tuple(stem for stem in stems if stem not in _lists().light and stem not in lists.limits)
    limited = any(low in lists.limits for low in folded)
    return _Part(tuple(word for word, _ in kept), stems, content, denials % 2 == 1, limited, han)


def _counts(low: str, lists: _Lists) -> bool:
    return low not in lists.adverbs and low not in lists.articles and low not in _negations()


def _stem(low: str) -> str:
    """Return the stem of a word; a function word is its own, so that "on port 80" is not "in Frankfurt"."""
    base = low.removesuffix("'s").removesuffix("s'")
    if base in _lists().copulas:
        return "is"
    return index_term(base.removesuffix("in") if base.endswith("erin") else base) or base


def _cannot_both_hold(this: _Read, that: _Read) -> bool:
    one, other = this.part, that.part
    if one.han or other.han:
        return bool(one.han and other.han) and _opposed_chinese(one.han, other.han)
    if not one.stems or not other.stems:
        return False
    if one.denied != other.denied:
        return _denies(one, other) or _denies(other, one)
    return _has_antonym(one.content, other.content) or _has_other_value(this, that) or _has_other_name(this, that)


# Denials and antonyms.


def _denies(denial: _Part, said: _Part) -> bool:
    """Return True if `denial` denies what `said` says. One limited to a case ("not on mobile") does not."""
    if not denial.denied or not denial.content or not said.content or denial.content[0] != said.content[0]:
        return False
    shared = set(denial.content) & set(said.content)
    if len(shared) < MIN_SHARED:
        return _always_and_never(denial, said)
    more, less = set(denial.content) - shared, set(said.content) - shared
    return not more or (not less and not denial.limited)


def _always_and_never(denial: _Part, said: _Part) -> bool:
    return denial.content == said.content and len(denial.content) == 1 and len(denial.stems) > 1


def _has_antonym(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return True if a word is exchanged for its antonym behind the same words, and only one side says more."""
    gone, come = [word for word in one if word not in other], [word for word in other if word not in one]
    for was in gone:
        for now in come:
            if _are_antonyms(was, now):
                before, after = set(one[: one.index(was)]), set(other[: other.index(now)])
                alone = len(gone) == 1 or len(come) == 1
                return alone and before == after and len(before) + len(set(one) & set(other)) > 0
    return False


def _are_antonyms(one: str, other: str) -> bool:
    if (one, other) in _stemmed_antonyms():
        return True
    longer, shorter = (one, other) if len(one) > len(other) else (other, one)
    return len(shorter) > MIN_SHARED + 1 and any(longer == prefix + shorter for prefix in _lists().antonym_prefixes)


@on_first_use
def _stemmed_antonyms() -> frozenset[tuple[str, str]]:
    pairs = [tuple(map(_stem, each.split())) for each in _lists().antonyms]
    return frozenset((each[0], each[-1]) for each in (*pairs, *(pair[::-1] for pair in pairs)))


# Another value.


class _Value(NamedTuple):
    """A value behind a verb: `kind` says with which others it can be compared; `tail` are the words after it."""

    kind: str
    value: object
    tail: frozenset[str]


class _Said(NamedTuple):
    """The statement of a part: subject, verb with the words up to the value, and the value."""

    subject: frozenset[str]
    relation: tuple[str, ...]
    value: _Value


_DIGITS = regex(r"[vV]?\d[\d.,:_-]*")
_CLOCK = regex(r"\d{1,2}:\d\d")
_DATE = regex(r"\d{4}-\d\d(?:-\d\d)?|\d{1,2}\.\d{1,2}\.(?:\d{2,4})?")
_DAY = regex(r"\d{1,2}(?:st|nd|rd|th)?\.?")
_ORDINAL = regex(r"\d{1,2}(?:st|nd|rd|th)")


def _has_other_value(one: _Read, other: _Read) -> bool:
    said, its = one.said, other.said
    if said is None or its is None or said.subject != its.subject or said.relation != its.relation:
        return False
    if said.value.kind != its.value.kind or said.value.value == its.value.value:
        return False
    return _may_go_together(said.value.tail, its.value.tail)


def _may_go_together(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return False if each side has a qualifier of its own: "two seconds between services", "ten towards the bank"."""
    return one <= other or other <= one


def _said(part: _Part) -> _Said | None:
    at = _verb_at(part)
    if at is None:
        return None
    for place in range(at + 1, len(part.raw)):
        value = _value(part, place)
        if value is not None:
            if value.kind == "number" and part.stems[place - 1] in _stemmed_labels():
                return None
            subject = frozenset(stem for stem in part.stems[:at] if _is_content(stem))
            relation = tuple(part.stems[at:place])
            return _Said(subject, ("is",) if relation == _SET else relation, value)
    return None


_SET: Final = ("is", "to")
"""The words that remain of "is set to"."""


def _verb_at(part: _Part) -> int | None:
    verbs = _lists().verbs
    return next((at for at, word in enumerate(part.raw) if fold(word) in verbs and (at or len(part.raw) > 1)), None)


@on_first_use
def _stemmed_labels() -> frozenset[str]:
    return frozenset(map(_stem, label_nouns()))


def _is_content(stem: str) -> bool:
    return stem not in _FUNCTION and stem not in _lists().limits


_FUNCTION: Final = frozenset({"of", "this", "that", "all", "every", "each"})


def _value(part: _Part, at: int) -> _Value | None:
    """Return the value that begins with the word at a place, if one does."""
    lists, word = _lists(), fold(part.raw[at]).rstrip(".")
    following = fold(part.raw[at + 1]) if at + 1 < len(part.raw) else ""
    if word in lists.weekdays:
        return _Value("weekday", _stem(word)[:3], _tail(part, at + 1))
    if _CLOCK.fullmatch(word):
        return _Value("clock", word, _tail(part, at + 2 if following in lists.units["clock"] else at + 1))
    if _DATE.fullmatch(part.raw[at]) or _DATE.fullmatch(word):
        return _Value("date", word, _tail(part, at + 1))
    if (_DAY.fullmatch(word) and following in lists.months) or (word in lists.months and _DIGITS.fullmatch(following)):
        return _Value("date", frozenset({_day(word), _day(following)}), _tail(part, at + 2))
    if _ORDINAL.fullmatch(word) and not following:
        return _Value("day", word, frozenset())
    if word in lists.months and part.raw[at][:1].isupper() and word != "may":
        return _Value("date", word[:3], _tail(part, at + 1))
    number = _number(word)
    return None if number is None else _quantity(part, at, number, following)


def _day(word: str) -> str:
    return word[:3] if word.isalpha() else re.sub(r"\D", "", word)


def _number(word: str) -> float | str | None:
    if (spelled := _lists().numbers.get(word)) is not None:
        return float(spelled)
    if not _DIGITS.fullmatch(word):
        return None
    plain = word.lstrip("v").replace(",", "").replace("_", "").rstrip(".:-")
    try:
        return float(plain)
    except ValueError:
        return plain


def _quantity(part: _Part, at: int, number: float | str, following: str) -> _Value:
    lists = _lists()
    for kind, units in lists.units.items():
        for form in (following, following.removesuffix("s"), following.removesuffix("n"), following.removesuffix("en")):
            if form in units and form:
                amount = number * units[form] if isinstance(number, float) and kind != "clock" else (number, form)
                return _Value(kind, amount, _tail(part, at + 2))
    if not following or following in lists.limits or not following.isalpha():
        return _Value("number", number, _tail(part, at + 1))
    return _Value(f"number {_stem(following)}", number, _tail(part, at + 2))


def _tail(part: _Part, start: int) -> frozenset[str]:
    return frozenset(stem for stem in part.stems[start:] if _is_content(stem))


# Another name: of who has a role, where something is, or of the only one of its kind.


def _has_other_name(one: _Read, other: _Read) -> bool:
    for mine, its in zip(one.named, other.named, strict=True):
        if mine is not None and its is not None and mine.of == its.of and not mine.name & its.name:
            return _may_go_together(mine.tail, its.tail)
    return False


class _Named(NamedTuple):
    """The subject that is named, the words of the name, and the words after it."""

    of: object
    name: frozenset[str]
    tail: frozenset[str] = frozenset()


def _holder(part: _Part) -> _Named | None:
    """Return the role and its holder of "the lead of X is Ana" and "Ana is the lead of X"."""
    at = next((at for at, stem in enumerate(part.stems) if stem == "is"), None)
    if at is None or at == 0:
        return None
    left, right = frozenset(filter(_is_content, part.stems[:at])), frozenset(filter(_is_content, part.stems[at + 1 :]))
    if _is_role(part.raw[:at]):
        name = _name(part.raw[at + 1 :])
        return None if not name else _Named(left, name)
    if _is_role(part.raw[at + 1 :]) and _name(part.raw[:at]) and len(right) > 1:
        return _Named(right, _name(part.raw[:at]))
    return None


def _is_role(words: Sequence[str]) -> bool:
    roles = _lists().roles
    return any(fold(word).endswith(roles) for word in words)


def _object(part: _Part) -> _Named | None:
    """Return subject and relation, and the object, of a relation with one object: "lives in Oslo"."""
    low = tuple("is" if fold(word) in _lists().copulas else fold(word) for word in part.raw)
    for at in range(len(low)):
        for width in (3, 2, 1):
            if low[at : at + width] in _relations() and (name := _name(part.raw[at + width :])):
                tail = frozenset(filter(_is_content, part.stems[at + width :])) - name
                return _Named((frozenset(filter(_is_content, part.stems[:at])), low[at : at + width]), name, tail)
    return None


def _sole(part: _Part) -> _Named | None:
    """Return the subject and the value of "the default branch is main"."""
    at = next((at for at, stem in enumerate(part.stems) if stem == "is"), None)
    if at is None or not any(fold(word) in _lists().sole for word in part.raw[:at]):
        return None
    subject = frozenset(filter(_is_content, part.stems[:at]))
    if name := _name(part.raw[at + 1 :]):
        return _Named(subject, name)
    if len(part.raw) != at + 2:
        return None
    is_choice = not _lists().choices.isdisjoint(map(fold, part.raw[:at])) or any(map(str.isdigit, part.raw[at + 1]))
    return _Named(subject, frozenset({part.raw[at + 1]})) if is_choice else None


def _name(words: Sequence[str]) -> frozenset[str]:
    """Return the words of the name that a part begins with: those with a capital."""
    found: set[str] = set()
    for word in words:
        if not word[:1].isupper():
            break
        found.add(_stem(fold(word)))
    return frozenset(found - _lists().titles)


# Chinese: the same characters apart from a negator, an antonym, a number or the name in one place.

_ZH_NUMBER = r"(?:(?:周|週|星期)[一二三四五六日天]|\d[\d.,:]*|[一二两兩三四五六七八九十百千万萬]+)"
_ZH_VALUE = regex(
    r"(?P<head>.{2,60}?(?:是|为|為|到|于|於|在|每[天周週月年]?|至|有|最多|不超过|上限|下限|端口|保存|保留|缓存|监听"
    r"|每[天日周週月年].{1,4}|限|期|点|超时))"
    rf"(?P<value>{_ZH_NUMBER}(?:[:点點]{_ZH_NUMBER}?)?)(?P<unit>[a-z%]{{0,4}}[{PAIRED_SCRIPTS}]{{0,3}})(?P<tail>.*)"
)
_ZH_NAME = regex(
    r"(?P<head>.{0,60}?(?:负责人|組長|组长|经理|主管|老板|老闆|班主任|联系人|主持人|默认[^是为]{1,8}|首选[^是为]{1,8})[是为為叫]"
    r"|.{1,60}?(?:住在|位于|位於|部署在|就职于|任职于|供职于|汇报给|名叫|托管在))(?P<name>[^的，,]{1,20})"
    r"|(?P<by>.{1,60}?由)(?P<person>[^的，,]{1,12}?)(?P<role>负责|負責|主持|维护|維護|管理|值班)"
)
_ZH_NEGATOR = regex("不再|没有|沒有|不是|不|没|沒|别|別|未|禁止")
_ZH_ADVERB = regex("现在|現在|目前|已经|已經|也|还|還|仍")


def _opposed_chinese(one: str, other: str) -> bool:
    one, other = _ZH_ADVERB.sub("", one), _ZH_ADVERB.sub("", other)
    if one == other:
        return False
    return _denies_chinese(one, other) or _has_other_value_chinese(one, other) or _has_other_name_chinese(one, other)


def _denies_chinese(one: str, other: str) -> bool:
    for was, now in map(str.split, _lists().chinese_antonyms):
        for first, second in ((was, now), (now, was)):
            if first in one and second in other and one.replace(first, second, 1) == other:
                return True
    plain, its = _ZH_NEGATOR.sub("", one), _ZH_NEGATOR.sub("", other)
    negators = len(_ZH_NEGATOR.findall(one)) - len(_ZH_NEGATOR.findall(other))
    return negators % 2 == 1 and min(len(plain), len(its)) >= MIN_SHARED_CHINESE and plain == its


def _has_other_value_chinese(one: str, other: str) -> bool:
    mine, its = _ZH_VALUE.fullmatch(one), _ZH_VALUE.fullmatch(other)
    if mine is None or its is None or mine["head"] != its["head"] or mine["value"] == its["value"]:
        return False
    if mine["head"].endswith(("第", "号")):
        return False
    return mine["unit"] == its["unit"] and (mine["tail"] == its["tail"] or not mine["tail"] or not its["tail"])


def _has_other_name_chinese(one: str, other: str) -> bool:
    mine, its = _ZH_NAME.match(one), _ZH_NAME.match(other)
    if mine is None or its is None:
        return False
    if mine["by"]:
        return (mine["by"], mine["role"]) == (its["by"], its["role"]) and mine["person"] != its["person"]
    first, second = mine["name"] or "", its["name"] or ""
    return mine["head"] == its["head"] and not first.startswith(second) and not second.startswith(first)
