"""Words of a clause by what they do in it: cues of change, negation, relations, prepositions, amounts, names.

English, German and Chinese; the lists are in data/frames.toml. What a word is compared by is its group ("cap" is
"limit", "prod" is "production") or its stem; numbers have the dimension of the unit behind them.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import Final, NamedTuple

from mnemond.text.caches import text_cache
from mnemond.text.entity_shapes import kind_of
from mnemond.text.frame_lists import (
    BE,
    CADENCE,
    DATE,
    HAN,
    IDENTIFIER,
    MONTH,
    NAME,
    NAMES,
    NUMBER,
    ORGANISATION,
    OTHER,
    PLACE,
    PRONOUN,
    TOOL,
    VERSION,
    WEEKDAY,
    WORD,
    lists,
)
from mnemond.text.resources import one_of, regex, words_of
from mnemond.text.tokens import FUNCTION_WORDS, fold

CACHED_WORDS: Final = 16_384
"""Words whose reading is cached: some 5 MB."""

MAX_CACHED: Final = 64
"""Characters of a word that is looked up; a longer one is none of the lists."""

MAX_ITEMS: Final = 60
"""Words of a clause that are read."""


class Unit(NamedTuple):
    """A word of a clause. `key`: what it is compared by; `raw`: the folded word; `dimension`: of a number, "" if
    unknown."""

    key: str
    kind: str
    raw: str
    dimension: str = ""


_SECONDS: Final = {
    "ns": 1e-9, "µs": 1e-6, "us": 1e-6, "ms": 1e-3, "毫秒": 1e-3,
    **dict.fromkeys(words_of("s sec secs second seconds sekunde sekunden 秒 秒钟"), 1.0),
    **dict.fromkeys(words_of("min mins minute minutes minuten 分钟 分"), 60.0),
    **dict.fromkeys(words_of("h hr hrs hour hours stunde stunden 小时 个小时"), 3_600.0),
    **dict.fromkeys(words_of("d day days tag tage tagen 天 日"), 86_400.0),
    **dict.fromkeys(words_of("w week weeks woche wochen 周 星期"), 604_800.0),
}  # fmt: skip
"""Seconds of the units of time that have a fixed length."""

_INSIDE: Final = r"(?:[^\W\u3040-\u30ff\u3400-\u9fff]|['.+#@&/-](?=\w))*[+#]{0,2}"
_LETTERS: Final = rf"(?P<word>(?!v\d)[^\W\d_\u3040-\u30ff\u3400-\u9fff]{_INSIDE})"
_AMOUNTS: Final = (
    r"(?P<date>\d{4}-\d\d(?:-\d\d)?(?![\d-])|\d{1,2}\.\d{1,2}\.(?:\d{4}|\d\d)?(?!\d)|\d{1,2} ?月 ?\d{1,2} ?[日号號]?"
    r"|\d{1,2}/\d{1,2}(?:/\d{2,4})?(?![\d/]))"
    r"|(?P<clock>\d{1,2}:\d\d(?:\s?(?:[ap]\.?m|uhr)\b)?|\d{1,2}(?:\.\d\d)?\s?(?:am\b|pm\b|uhr\b|o'clock\b)"
    r"|(?:\d{1,2}|[一二两三四五六七八九十]{1,2}) ?点(?:半|\d{1,2}分?)?)"
    r"|(?P<address>\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?)"
    r"|(?P<version>v\d+(?:\.\w+)*(?![\w-])|\d+(?:\.\d+){2,}(?:-\w+)*(?!\w))"
    r"|(?P<float>\d+(?:\.\d+)?e[+-]?\d+)(?!\w)"
    r"|(?P<number>[$€£¥]?\d+(?:[.,_']\d+)*)(?:\s?(?P<unit>%|°c)|(?P<ordinal>st|nd|rd|th)(?!\w)"
    r"|(?P<glued>[a-zµ]{1,4}(?:/[a-z]{1,4})?)(?![\w-]))?(?![\w-])"
)
_OTHERS: Final = (
    rf"(?P<other>[^\W_\u3040-\u30ff\u3400-\u9fff]{_INSIDE}|[~./@_-]+\w[\w./@-]*)|(?P<mark>->|→|<-|[<>=!]=?|:(?=\s|$))"
)
_ASCII_TOKEN: Final = regex(f"{_LETTERS}|{_AMOUNTS}|{_OTHERS}", re.IGNORECASE | re.ASCII)
_TOKEN: Final = regex(
    lambda: (
        rf"{_LETTERS}|{_AMOUNTS}"
        rf"|(?P<zh>{one_of(lists().chinese)})"
        rf"|(?P<zh_number>\d+)(?=[\u3400-\u9fff])|(?P<han>[\u3040-\u30ff\u3400-\u9fff])|{_OTHERS}"
    ),
    re.IGNORECASE,
)
"""Words, amounts and marks of a clause. A clause of ASCII is read without the phrases of Chinese."""

_REGION: Final = regex(r"(?:eu|us|ap|sa|ca|me|af|cn|uk|asia|europe)-(?:[a-z]{4,9}(?:-?\d)?[a-z]?|\d)")

_GERMAN_ONLY: Final = words_of("an am um als ab des bis mit für von zu")

_GERMAN: Final = words_of(
    "der das ist sind wir ich und nicht wurde wird auf für ein eine zum zur den dem unser unsere mein meine kein keine",
    "nutzt nutzen haben seit jetzt nun liegt läuft heisst",
)

_PERHAPS_GERMAN: Final = words_of(
    "die hat des von vom im am an bei alle als nach wir ich bin aus mit um bis zu man sich auch"
)
"""Two of these are a sign of German; English has them as well."""

DETERMINERS: Final = words_of(
    "the a an our my your their its his her this that each every der die das den dem des ein eine einen unser unsere",
    "mein meine jeder jede jedes no any some new kein keine",
)

_GERMAN_SIGN: Final = regex("(?<![^\\W\\d_])(?:[a-zäöü]{0,30}[äöüß]|am \\d|März)")
"""A word of small letters with an umlaut, or a date, which no English clause has."""

_NOUN_LIKE: Final = words_of(
    "went changes moves shifts upgrades raises switches cut bump raise increase decrease increases migrates rose",
    "updated moving switching migrating changing increased decreased fell jumped climbed lower",
)
"""Forms that are verbs of change only before a goal."""

_USER_DOES: Final = tuple("喜偏希住在是想不要的用对有说使每最已现从把习常爱讨吃会叫更也还")
"""Characters behind 用户 where that is a person who does something."""

_PREFIXES: Final = words_of("ab an auf aus ein um vor zu nach los her hin heran")
"""Parts of a German verb at the end of a clause: "wickelt … ab"."""

_LEADING: Final = words_of("to from into by 到")

_MEASURES: Final = "个個杯次天周月年台人名位份条條张張本件元块塊点點层層楼樓小分秒倍项項家轮輪"
"""Characters behind a Chinese numeral that counts."""

_ONCE: Final = ("once", "einmal")
"""Words before "a day" or "im Monat" that make a rhythm of it."""

_EVERY: Final = words_of("every each jeden jede jedes jeder per pro 每")
_CADENCES: Final = {
    word: name
    for name, words in {
        "hourly": "hour stunde 小时", "daily": "day tag 天 日", "weekly": "week woche 周 星期",
        "monthly": "month monat 月 个月",
        "yearly": "year jahr 年", "quarterly": "quarter quartal 季度",
    }.items()
    for word in words.split()
}  # fmt: skip
"""Units of time behind "every", with the word for how often that is."""

_GET: Final = frozenset({"get", "gets", "got"})
_TAKES_PLACE: Final = words_of("findet finden fand fanden stattfinden")
"""Verbs of which "statt" at the end is a part, and no "instead"."""

_SWITCHED: Final = {"on": "enabled", "off": "disabled", "an": "aktiviert", "aus": "deaktiviert"}
"""Last words of "is on", "ist aus"."""


class Item(NamedTuple):
    """A word of a clause. `form`: its class: a cue, "not", "filler", "preposition", "relation", "unit"; `key`: of a
    preposition its role, of a relation its name."""

    form: str
    key: str
    raw: str
    unit: Unit


HOLDING: Final = ("@lead", "@owner", "@oncall")
"""Attributes whose verb has the holder before it: "Ana leads the team"."""

HOLDING_VERBS: Final = words_of(
    "leads led heads headed manages managed owns owned maintains maintained leitet leiteten betreut belongs",
    "gehört führt",
)


class Words(NamedTuple):
    """The words of a clause, and if it is German, where a capital is no sign of a name."""

    items: list[Item]
    german: bool


def words_in(text: str) -> Words:
    """Read the words of a clause, the first `MAX_ITEMS` of them. Linear time."""
    pattern = _ASCII_TOKEN if text.isascii() else _TOKEN
    tokens = [(found.lastgroup or "", found) for found in islice(pattern.finditer(text), MAX_ITEMS)]
    words = [fold(found[0]) for _, found in tokens]
    german = (
        not _GERMAN.isdisjoint(words)
        or len(_PERHAPS_GERMAN.intersection(words)) > 1
        or _GERMAN_SIGN.search(text) is not None
    )
    return Words(_with_dimensions(_items(tokens, words, german=german)), german)


def _items(tokens: list[tuple[str, re.Match[str]]], words: list[str], *, german: bool) -> list[Item]:
    items: list[Item] = []
    place = 0
    while place < len(tokens):
        group, found = tokens[place]
        phrase = _phrase(words, place) if group in ("word", "other") else None
        if phrase is not None:
            size, form = phrase
            if form.startswith("word "):
                word = form.removeprefix("word ")
                items.append(_word(word, word, german=german))
                place += size
                continue
            raw = " ".join(words[place : place + size])
            items.append(Item(form, raw, raw, Unit(raw, WORD, raw)))
            place += size
            continue
        items.append(_item(group, found, words[place], words[place + 1 : place + 8], first=place == 0, german=german))
        place += 1
    if items and items[-1].raw == "statt" and not _TAKES_PLACE.isdisjoint(words):
        items[-1] = items[-1]._replace(form="filler")
    for place in range(1, len(items)):
        item, before = items[place], items[place - 1].raw
        if item.form in ("change", "end") and before in DETERMINERS and item.raw.isalpha():  # "the move", "the left"
            items[place] = Item("unit", item.unit.key, item.raw, item.unit)
    for place in range(1, len(items) - 1):
        item, behind = items[place], items[place + 1]
        if item.raw in _GET and behind.form in ("unit", "relation") and behind.raw.endswith("ed"):  # "get published"
            items[place] = Item("relation", BE, item.raw, item.unit)
    for place, item in enumerate(items):
        if item.raw == "jan" and all(
            each.unit.kind != NUMBER for each in (*items[max(place - 1, 0) : place], *items[place + 1 : place + 2])
        ):
            items[place] = Item("unit", item.raw, item.raw, Unit(item.raw, NAME, item.raw))  # no month
    for place in range(len(items) - 1, 0, -1):
        if place >= len(items):
            continue  # two words were taken away at the end
        every, unit_of_time = items[place - 1], items[place]
        if every.raw in _EVERY and (name := _CADENCES.get(unit_of_time.raw)) is not None:
            raw = f"{every.raw} {unit_of_time.raw}"
            items[place - 1 : place + 1] = [Item("unit", name, raw, Unit(name, CADENCE, raw))]
        elif place > 1 and items[place - 2].raw in _ONCE and (name := _CADENCES.get(unit_of_time.raw)) is not None:
            raw = f"once a {unit_of_time.raw}"
            items[place - 2 : place + 1] = [Item("unit", name, raw, Unit(name, CADENCE, raw))]
    state = german and any(item.form == "relation" and item.key == BE for item in items)  # "ist im Winter an"
    if (
        len(items) > 1
        and items[-1].raw in _SWITCHED
        and (state or (not german and items[-2].form in ("relation", "filler", "now", "not")))
    ):
        word = _SWITCHED[items[-1].raw]
        items[-1] = _word(word, word, german=german)
    return items


def _phrase(words: list[str], place: int) -> tuple[int, str] | None:
    """The size of the phrase that begins at `place`, and its class."""
    for rest, form in lists().phrases.get(words[place], ()):
        if tuple(words[place + 1 : place + 1 + len(rest)]) == rest:
            return 1 + len(rest), form
    return None


def _item(group: str, found: re.Match[str], word: str, behind: list[str], *, first: bool, german: bool) -> Item:
    if group in ("number", "unit", "glued", "ordinal", "zh_number"):
        return _number(found, word)
    if group in ("date", "clock", "version", "address", "float"):
        key = _clock(word) if group == "clock" else word.removeprefix("v") if group == VERSION else word
        unit = Unit(f"{group}:{key}", VERSION if group == "float" else group, word)
        return Item("unit", unit.key, word, unit)
    if group == "mark":
        if word == ":":
            return Item("relation", BE, word, Unit(word, WORD, word))
        if word in ("->", "→"):
            return Item("preposition", "to", word, Unit(word, WORD, word))
        return Item("unit", word, word, Unit(word, "mark", word))
    if group == "zh":
        at = found.start()
        if word == "别" and at and HAN.match(found.string[at - 1]) and found.string[at - 1] not in "请万就":
            return Item("unit", word, word, Unit(word, WORD, word))
        if word == "用户" and not found.string[found.end() :].startswith(_USER_DOES):  # 用户数据 is no person
            return Item("unit", word, word, Unit(word, WORD, word))
        return _chinese(word)
    if group in ("han", "zh") and word in lists().numerals and behind and behind[0][:1] in "号組组队線线室栋期":
        return Item("unit", f"label:{word}", word, Unit(f"label:{word}", IDENTIFIER, word))
    if group == "han" and word in lists().numerals and behind and behind[0][:1] in _MEASURES:
        unit = Unit(f"number:{lists().numerals[word]}", NUMBER, word)
        return Item("unit", unit.key, word, unit)
    if group == "han":
        return Item("unit", word, word, Unit(word, WORD, word))
    cased = found[0]
    if len(cased) > MAX_CACHED:
        return Item("unit", word, word, Unit(word, WORD, word))
    return _word(word, cased, first=first, german=german, last=not behind, leads=not _LEADING.isdisjoint(behind))


def _number(found: re.Match[str], word: str) -> Item:
    digits = (found["number"] or found[0]).replace(",", "").replace("_", "").replace("'", "")
    dimension = "money" if digits[0] in "$€£¥" else "share" if found["unit"] == "%" else ""
    amount = digits.lstrip("$€£¥")
    amount = amount.lstrip("0") or "0"
    glued = fold(found["glued"] or "")
    if glued:
        if (name := lists().units.get(glued)) is not None:
            unit = _amount(amount, glued, name)
            return Item("unit", unit.key, word, unit)
        if glued in ("k", "m", "bn"):
            unit = Unit(f"number:{amount}{glued}", NUMBER, word, dimension)
            return Item("unit", unit.key, word, unit)
        return Item("unit", word, word, Unit(word, WORD, word))
    if found["ordinal"]:
        return Item("unit", f"ordinal:{amount}", word, Unit(f"ordinal:{amount}", IDENTIFIER, word))
    unit = Unit(f"number:{amount}", NUMBER, word, dimension)
    return Item("unit", unit.key, word, unit)


def _chinese(word: str) -> Item:
    form = lists().chinese[word]
    name, _, relation = form.partition(" ")
    unit = _unit(word, word, first=False, german=False)
    if name == "relation":
        return Item("relation", relation, word, unit)
    if name == "preposition":
        return Item("preposition", lists().prepositions[word], word, unit)
    if word in lists().denials:
        return Item("not", word, word, unit)
    return Item("unit" if name == "word" else name, unit.key if name == "word" else word, word, unit)


@text_cache(maxsize=CACHED_WORDS)
def _word(
    word: str, cased: str, *, first: bool = False, german: bool = False, last: bool = False, leads: bool = False
) -> Item:
    """A word of letters. `last`, `leads`: it is the last one, a preposition of a goal or origin comes soon."""
    known = lists()
    if len(cased) == 1 and not first and (cased.isupper() or (last and cased.isascii())) and cased not in "Ii":
        return Item("unit", f"label:{word}", word, Unit(f"label:{word}", IDENTIFIER, word))
    bare = word.removesuffix("'s")
    unit = _unit(bare, cased, first=first, german=german)
    named = cased[:1].isupper() and not first and not german and unit.kind in NAMES
    if named and (bare not in known.classes or cased.isupper()):
        return Item("unit", unit.key, word, unit)
    if unit.kind in (WEEKDAY, MONTH, NUMBER, PRONOUN):
        return Item("unit", unit.key, word, unit)
    form = known.classes.get(word)
    if word == "too" and not last:
        form = "filler"
    if form == "change" and word in _NOUN_LIKE and not leads:
        form = None
    if word == "dropped" and leads:  # "dropped to 5" changes, "dropped Jenkins" ends
        form = "change"
    if last and word in _PREFIXES:
        return Item("filler", word, word, unit)
    if form is not None and form != "filler":
        return Item(form, word, word, unit)
    if (role := known.prepositions.get(word)) is not None and (german or word not in _GERMAN_ONLY):
        return Item("preposition", role, word, unit)
    if unit.key in HOLDING and word in HOLDING_VERBS:
        return Item("relation", OTHER, word, unit)
    if (relation := known.relations.get(word)) is not None:
        return Item("relation", relation, word, unit)
    return Item("filler" if form == "filler" else "unit", unit.key, word, unit)


@text_cache(maxsize=CACHED_WORDS)
def _unit(word: str, cased: str, *, first: bool, german: bool) -> Unit:
    known = lists()
    if word in known.pronouns:
        return Unit(known.pronouns[word], PRONOUN, word)
    if word in known.weekdays:
        return Unit(f"day:{known.weekdays[word]}", WEEKDAY, word)
    if word in known.months and (word not in ("may", "mar", "mai") or cased[:1].isupper()):
        return Unit(f"month:{known.months[word]}", MONTH, word)
    if word in known.numerals:
        return Unit(f"number:{known.numerals[word]}", NUMBER, word)
    return Unit(known.key(word), _kind(word, cased, first=first, german=german), word)


def _kind(word: str, cased: str, *, first: bool, german: bool) -> str:
    known = lists()
    if (kind := known.kinds.get(word)) is not None:
        return kind
    if _REGION.fullmatch(word):
        return PLACE
    if word in known.attributes or word in known.apart:
        return WORD
    of_name = kind_of(cased.removesuffix("'s"))
    if of_name in ("tool", "location", "organization"):
        return {"tool": TOOL, "location": PLACE}.get(of_name, ORGANISATION)
    capital = cased[:1].isupper() and not german
    return NAME if capital and (not first or word not in FUNCTION_WORDS) else WORD


_ONE: Final = words_of("a an ein eine einen einer")
"""Articles before a unit of time, which is one then: "an hour"."""


_OFTEN: Final = words_of("once twice thrice times einmal zweimal dreimal mal")
"""Words before "a day" that tell how often."""


def _with_dimensions(items: list[Item]) -> list[Item]:
    """Join each number with the unit behind it."""
    known = lists()
    joined: list[Item] = []
    for item in items:
        before = joined[-1] if joined else None
        if before is not None and {before.unit.kind, item.unit.kind} in ({NUMBER, MONTH}, {IDENTIFIER, MONTH}):
            day, month = (before, item) if item.unit.kind == MONTH else (item, before)
            if day.unit.key.partition(":")[2].isdigit():
                key = f"date:{month.unit.key.partition(':')[2]}-{day.unit.key.partition(':')[2]}"
                joined[-1] = Item("unit", key, f"{before.raw} {item.raw}", Unit(key, DATE, f"{before.raw} {item.raw}"))
                continue
        often = len(joined) > 1 and (joined[-2].unit.kind == NUMBER or joined[-2].raw in _OFTEN)
        if before is not None and before.raw in _ONE and not often and known.units.get(item.raw) == "time":
            unit = _amount("1", item.raw, "time")
            joined[-1] = Item("unit", unit.key, f"{before.raw} {item.raw}", unit)
            continue
        if before is not None and before.unit.kind == NUMBER and before.form == "unit" and not before.unit.dimension:
            name = known.units.get(item.raw)
            if name is not None:
                unit = _amount(before.unit.key.removeprefix("number:"), item.raw, name)
                joined[-1] = Item("unit", unit.key, f"{before.raw} {item.raw}", unit)
                continue
        joined.append(item)
    return joined


def _amount(amount: str, raw: str, name: str) -> Unit:
    seconds = _SECONDS.get(raw)
    if seconds is not None:
        try:
            return Unit(f"number:{float(amount) * seconds:g}s", NUMBER, f"{amount} {raw}", name)
        except ValueError:
            pass
    return Unit(f"number:{amount}{raw if seconds is None and name == 'bytes' else ''}", NUMBER, f"{amount} {raw}", name)


def _clock(word: str) -> str:
    return re.sub(r"\s+|uhr", "", word)
