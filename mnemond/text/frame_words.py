"""Words of a clause by what they do in it: cues of change, negation, relations, prepositions, amounts, names.

English, German and Chinese; the lists are in data/frames.toml. What a word is compared by is its group ("cap" is
"limit", "prod" is "production") or its stem; numbers have the dimension of the unit behind them.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import msgspec

from mnemond.text.caches import text_cache
from mnemond.text.entity_shapes import kind_of
from mnemond.text.resources import on_first_use, read, regex, words_of
from mnemond.text.tokens import FUNCTION_WORDS, fold, index_term

CACHED_WORDS: Final = 16_384
"""Words whose reading is cached: some 5 MB."""

MAX_CACHED: Final = 64
"""Characters of a word that is looked up; a longer one is none of the lists."""

MAX_ITEMS: Final = 60
"""Words of a clause that are read."""

BE, HAVE, USE, LOCATE, WORK, CALL, REPORT, PREFER, SCHEDULE, COST, CHANGE, OTHER = (
    "be", "have", "use", "locate", "work", "call", "report", "prefer", "schedule", "cost", "change", "other",
)  # fmt: skip
"""Relations; `OTHER` ones are compared by their verb."""

NUMBER, CLOCK, WEEKDAY, MONTH, DATE, VERSION = "number", "clock", "weekday", "month", "date", "version"

NAME, PLACE, TOOL, ORGANISATION, WORD, PRONOUN, IDENTIFIER, ADDRESS = (
    "name", "place", "tool", "organisation", "word", "pronoun", "identifier", "address",
)  # fmt: skip
"""Kinds of units; other kinds are those of `[kind]` in the list."""

AMOUNTS: Final = frozenset({NUMBER, CLOCK, DATE, VERSION, ADDRESS})
"""Kinds of quantities: of another one, said of the same thing, the newer holds."""

TIMES: Final = frozenset({CLOCK, WEEKDAY, MONTH, DATE})

NAMES: Final = frozenset({NAME, PLACE, TOOL, ORGANISATION})


class Unit(NamedTuple):
    """A word of a clause. `key`: what it is compared by; `raw`: the folded word; `dimension`: of a number, "" if
    unknown."""

    key: str
    kind: str
    raw: str
    dimension: str = ""


class _Cues(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    now: tuple[str, ...]
    change: tuple[str, ...]
    end: tuple[str, ...]
    chinese_now: tuple[str, ...]
    chinese_change: tuple[str, ...]
    chinese_end: tuple[str, ...]


class _Single(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    attributes: frozenset[str]
    nouns: frozenset[str]


class _Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    filler: frozenset[str]
    chinese_filler: str
    chinese_adverbs: tuple[str, ...]
    additive: frozenset[str]
    chinese_additive: tuple[str, ...]
    supposing: frozenset[str]
    chinese_supposing: tuple[str, ...]
    negation: frozenset[str]
    several: frozenset[str]
    many: frozenset[str]
    negative: frozenset[str]
    chinese_negative: tuple[str, ...]
    weak: frozenset[str]
    opposite: tuple[str, ...]
    apart: tuple[str, ...]


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """data/frames.toml"""

    relation: dict[str, tuple[str, ...] | str]
    chinese_relation: dict[str, tuple[str, ...]]
    attribute: dict[str, tuple[str, ...] | str]
    single: _Single
    cue: _Cues
    lists: _Words
    phrase: dict[str, str]
    lists_of: dict[str, tuple[str, ...]]
    kind: dict[str, tuple[str, ...] | str]
    unit: dict[str, tuple[str, ...] | str]


class Lists(msgspec.Struct, frozen=True):
    """The lists, by folded word. `classes`: of words that are neither subject nor value; `phrases`: of the
    first word of a phrase of several, the others and the class, the longest first; `chinese`: class of a
    Chinese phrase; `single`:
    keys of attributes that have one value."""

    classes: dict[str, str]
    phrases: dict[str, tuple[tuple[tuple[str, ...], str], ...]]
    chinese: dict[str, str]
    relations: dict[str, str]
    attributes: dict[str, str]
    single: frozenset[str]
    several: frozenset[str]
    many: frozenset[str]
    negative: frozenset[str]
    weak: frozenset[str]
    opposites: dict[str, tuple[tuple[int, int], ...]]
    apart: dict[str, str]
    same: dict[str, str]
    kinds: dict[str, str]
    units: dict[str, str]

    def key(self, word: str) -> str:
        """What a folded word is compared by: its group, else its stem."""
        if name := self.attributes.get(word):
            return f"@{name}"
        word = self.same.get(word, word)
        return self.apart.get(word) or (word if HAN.search(word) else index_term(word)) or word


@on_first_use
def lists() -> Lists:
    """The lists of data/frames.toml."""
    file = read("frames", _File)
    words, cue = file.lists, file.cue
    attributes, kinds, units = (_by_word(each) for each in (file.attribute, file.kind, file.unit))
    apart = {word: group[0] for group in map(_folded, words.apart) for word in group}
    same = {word: group[0] for group in map(_folded, file.lists_of["same"]) for word in group}
    opposites: dict[str, list[tuple[int, int]]] = {}
    for number, pair in enumerate(words.opposite):
        for which, side in enumerate(pair.split("|")):
            for word in _folded(side):
                opposites.setdefault(word, []).append((number, which))
    of_class = {
        "not": words.negation, "end": cue.end, "change": cue.change, "now": cue.now, "additive": words.additive,
        "supposing": words.supposing, "filler": words.filler,
    }  # fmt: skip
    classes: dict[str, str] = {}
    phrases: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for name, each in of_class.items():
        for phrase in each:
            first, *rest = _folded(phrase)
            if rest:
                phrases.setdefault(first, []).append((tuple(rest), name))
            else:
                classes.setdefault(first, name)
    for word, of_it in file.phrase.items():
        for phrase in of_it.split(","):
            first, *rest = _folded(phrase)
            if rest:
                phrases.setdefault(first, []).append((tuple(rest), f"word {word}"))
    chinese = dict.fromkeys(
        (word for table in (attributes, kinds, units, apart, opposites, same) for word in table), "word"
    )
    chinese |= dict.fromkeys((*words.several, *words.chinese_negative), "word")
    chinese |= {word: f"relation {name}" for name, each in file.chinese_relation.items() for word in each}
    for name, each in (
        ("filler", (*words.chinese_filler, *words.chinese_adverbs)), ("not", _CHINESE_NOT), ("preposition",
        _CHINESE_PREPOSITIONS),
        ("supposing", words.chinese_supposing), ("additive", words.chinese_additive), ("now", cue.chinese_now),
        ("change", cue.chinese_change), ("end", cue.chinese_end),
    ):  # fmt: skip
        chinese |= dict.fromkeys(each, name)
    chinese |= dict.fromkeys((word for table in (PRONOUNS, _DAYS, _MONTHS) for word in table), "word")
    for word in opposites:
        chinese[word] = "word"
    found = Lists(
        classes=classes,
        phrases={first: tuple(sorted(each, key=lambda one: -len(one[0]))) for first, each in phrases.items()},
        chinese={word: name for word, name in chinese.items() if HAN.search(word)},
        relations=_by_word(file.relation),
        attributes=attributes,
        single=frozenset(),
        several=frozenset(index_term(fold(word)) or fold(word) for word in words.several),
        many=frozenset(fold(word) for word in words.many),
        negative=frozenset(fold(word) for word in (*words.negative, *words.chinese_negative)),
        weak=frozenset(index_term(word) or word for word in words.weak),
        opposites={word: tuple(each) for word, each in opposites.items()},
        apart=apart,
        same=same,
        kinds=kinds,
        units=units,
    )
    single = {f"@{name}" for name in file.single.attributes} | {found.key(fold(each)) for each in file.single.nouns}
    return msgspec.structs.replace(found, single=frozenset(single))


def _folded(words: str) -> list[str]:
    return [fold(word) for word in words.split()]


def _by_word(groups: dict[str, tuple[str, ...] | str]) -> dict[str, str]:
    return {
        fold(word): name
        for name, words in groups.items()
        for word in (words.split() if isinstance(words, str) else words)
    }


_CHINESE_NOT: Final = "不没沒别未"

HAN: Final = regex("[\u3400-\u9fff]")

_PREPOSITIONS: Final = {
    word: role
    for role, words in {
        "in": "in at on inside within under near above below bei im an am auf unter neben",
        "to": "to into onto nach zu zum zur →",
        "from": "from aus off von vom out",
        "for": "for as für als toward towards regarding about",
        "with": "with via through using mit per über",
        "by": "by durch",
        "of": "of",
        "time": "since until till before after during between by-the seit bis ab während um every each jeden jede",
        "if": "if when whenever unless while except only wenn falls sobald sofern außer nur where once without ohne",
        "than": "than over against als",
    }.items()
    for word in words.split()
}

_CHINESE_PREPOSITIONS: Final = {
    "从": "from", "由": "by", "到": "to", "至": "to", "给": "for", "对": "for", "用于": "for",
    "作为": "for", "做": "for",
    "当": "if", "于": "in", "里": "in", "上": "in", "中": "in", "在": "in", "成": "to",
    "只有": "if", "除了": "if", "每": "time",
}  # fmt: skip

PRONOUNS: Final = {
    word: key
    for key, words in {
        "i": "i my me mine i'm i've myself ich mein meine meinem meinen meiner mir mich 我",
        "we": "we our us we're we've ours ourselves wir unser unsere unserem unseren unserer uns 我们 咱们 our",
        "you": "you your yours du dein deine 你 您",
        "he": "he his him er ihm ihn 他",
        "she": "she her hers 她",
        "they": "they their them theirs 他们 她们",
        "it": "it its it's 它",
        "user": "user user's nutzer nutzerin benutzer 用户",
    }.items()
    for word in words.split()
}

_DAYS: Final = {
    form: number
    for number, forms in enumerate(
        (
            "monday mondays mon montag montags montage 周一 星期一 礼拜一",
            "tuesday tuesdays tue tues dienstag dienstags 周二 星期二 礼拜二",
            "wednesday wednesdays wed mittwoch mittwochs 周三 星期三 礼拜三",
            "thursday thursdays thu thurs donnerstag donnerstags 周四 星期四 礼拜四",
            "friday fridays fri freitag freitags 周五 星期五 礼拜五",
            "saturday saturdays sat samstag samstags sonnabend 周六 星期六 礼拜六",
            "sunday sundays sun sonntag sonntags 周日 周天 星期日 星期天 礼拜天",
        )
    )
    for form in forms.split()
}  # fmt: skip

_MONTHS: Final = {
    form: number
    for number, forms in enumerate(
        (
            "january jan januar 一月", "february feb februar 二月", "march märz 三月", "april apr 四月",
            "may mai 五月", "june jun juni 六月",
            "july jul juli 七月", "august aug 八月", "september sep sept 九月", "october oct oktober 十月",
            "november nov 十一月",
            "december dec dezember 十二月",
        )
    )
    for form in forms.split()
}  # fmt: skip

_NUMERALS: Final = {
    form: str(number)
    for number, forms in enumerate(
        (
            "zero null 零", "one 一", "two zwei 两 二 兩", "three drei 三", "four vier 四",
            "five fünf 五", "six sechs 六",
            "seven sieben 七", "eight acht 八", "nine neun 九", "ten zehn 十", "eleven elf", "twelve zwölf",
        )
    )
    for form in forms.split()
} | {
    "twenty": "20", "thirty": "30", "fifteen": "15", "fifty": "50", "hundred": "100", "half": "0.5", "dozen": "12",
}  # fmt: skip

_SECONDS: Final = {
    "ns": 1e-9, "µs": 1e-6, "us": 1e-6, "ms": 1e-3, "毫秒": 1e-3,
    **dict.fromkeys(words_of("s sec secs second seconds sekunde sekunden 秒 秒钟"), 1.0),
    **dict.fromkeys(words_of("min mins minute minutes minuten 分钟 分"), 60.0),
    **dict.fromkeys(words_of("h hr hrs hour hours stunde stunden 小时 个小时"), 3_600.0),
    **dict.fromkeys(words_of("d day days tag tage tagen 天 日"), 86_400.0),
    **dict.fromkeys(words_of("w week weeks woche wochen 周 星期"), 604_800.0),
}  # fmt: skip
"""Seconds of the units of time that have a fixed length."""

_TOKEN: Final = regex(
    lambda: (
        r"(?P<date>\d{4}-\d\d(?:-\d\d)?(?![\d-])|\d{1,2}\.\d{1,2}\.(?:\d{4}|\d\d)?(?!\d)"
        r"|\d{1,2} ?月 ?\d{1,2} ?[日号號]?"
        r"|\d{1,2}/\d{1,2}(?:/\d{2,4})?(?![\d/]))"
        r"|(?P<clock>\d{1,2}:\d\d(?:\s?(?:[ap]\.?m|uhr)\b)?|\d{1,2}(?:\.\d\d)?\s?(?:am\b|pm\b|uhr\b|o'clock\b)"
        r"|(?:\d{1,2}|[一二两三四五六七八九十]{1,2}) ?点(?:半|\d{1,2}分?)?)"
        r"|(?P<address>\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?)"
        r"|(?P<version>v\d+(?:\.\w+)*(?![\w-])|\d+(?:\.\d+){2,}(?:-\w+)*(?!\w))"
        r"|(?P<float>\d+(?:\.\d+)?e[+-]?\d+)(?!\w)"
        r"|(?P<number>[$€£¥]?\d+(?:[.,_']\d+)*)(?:\s?(?P<unit>%|°c)|(?P<ordinal>st|nd|rd|th)(?!\w)"
        r"|(?P<glued>[a-zµ]{1,4}(?:/[a-z]{1,4})?)(?![\w-]))?(?![\w-])"
        rf"|(?P<zh>{'|'.join(map(re.escape, sorted(lists().chinese, key=len, reverse=True)))})"
        r"|(?P<zh_number>\d+)(?=[\u3400-\u9fff])"
        r"|(?P<han>[\u3040-\u30ff\u3400-\u9fff])"
        r"|(?P<word>[^\W_\u3040-\u30ff\u3400-\u9fff](?:[^\W\u3040-\u30ff\u3400-\u9fff]|['.+#@&/-](?=\w))*[+#]{0,2}|[~./@_-]+\w[\w./@-]*)"
        r"|(?P<mark>->|→|<-|[<>=!]=?|:(?=\s|$))"
    ),
    re.IGNORECASE,
)

_REGION: Final = regex(r"(?:eu|us|ap|sa|ca|me|af|cn|uk|asia|europe)-(?:[a-z]{4,9}(?:-?\d)?[a-z]?|\d)")

_GERMAN_ONLY: Final = words_of("an am um als ab des bis mit für von zu")

_GERMAN: Final = words_of(
    "der die das ist sind wir ich und nicht wurde wird auf mit für ein eine im zum zur von bei vom den dem "
    "unser unsere mein",
    "meine kein keine nutzt nutzen hat haben seit jetzt nun liegt läuft heißt",
)

_GERMAN_SIGN: Final = regex("(?<![^\\W\\d_])(?:[a-zäöü]{0,30}[äöüß]|am \\d|März)")
"""A word of small letters with an umlaut, or a date, which no English clause has."""

_NOUN_LIKE: Final = words_of(
    "went changes moves shifts upgrades raises switches cut bump raise increase decrease increases migrates "
    "rose updated"
)
"""Forms that are verbs of change only before a goal."""

_LEADING: Final = words_of("to from into by 到")

_MEASURES: Final = "个個杯次天周月年台人名位份条條张張本件元块塊点點层層楼樓小分秒倍项項家轮輪"
"""Characters behind a Chinese numeral that counts."""

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
    "leads led heads headed manages managed owns owned maintains maintained leitet leiteten betreut belongs "
    "gehört führt"
)


class Words(NamedTuple):
    """The words of a clause, and if it is German, where a capital is no sign of a name."""

    items: list[Item]
    german: bool


def words_in(text: str) -> Words:
    """Read the words of a clause, the first `MAX_ITEMS` of them. Linear time."""
    tokens = [(found.lastgroup or "", found) for found in _TOKEN.finditer(text)][:MAX_ITEMS]
    words = [fold(found[0]) for _, found in tokens]
    german = not _GERMAN.isdisjoint(words) or _GERMAN_SIGN.search(text) is not None
    return Words(_with_dimensions(_items(tokens, words, german=german)), german)


def _items(tokens: list[tuple[str, re.Match[str]]], words: list[str], *, german: bool) -> list[Item]:
    items: list[Item] = []
    place = 0
    while place < len(tokens):
        group, found = tokens[place]
        phrase = _phrase(words, place) if group == "word" else None
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
        items.append(_item(group, found, words[place], words[place + 1 : place + 4], first=place == 0, german=german))
        place += 1
    if items and items[-1].raw == "statt" and not _TAKES_PLACE.isdisjoint(words):
        items[-1] = items[-1]._replace(form="filler")
    if len(items) > 1 and items[-1].raw in _SWITCHED and items[-2].form in ("relation", "filler", "now", "not"):
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
        return _chinese(word)
    if group in ("han", "zh") and word in _NUMERALS and behind and behind[0][:1] in "号組组队線线室栋期":
        return Item("unit", f"label:{word}", word, Unit(f"label:{word}", IDENTIFIER, word))
    if group == "han" and word in _NUMERALS and behind and behind[0][:1] in _MEASURES:
        unit = Unit(f"number:{_NUMERALS[word]}", NUMBER, word)
        return Item("unit", unit.key, word, unit)
    if group == "han":
        return Item("unit", word, word, Unit(word, WORD, word))
    cased = found[0]
    if len(cased) > MAX_CACHED:
        return Item("unit", word, word, Unit(word, WORD, word))
    return _word(word, cased, first=first, german=german, last=not behind, leads=not _LEADING.isdisjoint(behind))


def _number(found: re.Match[str], word: str) -> Item:
    digits = (found["number"] or found["zh_number"]).replace(",", "").replace("_", "").replace("'", "")
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
        return Item("preposition", _CHINESE_PREPOSITIONS[word], word, unit)
    return Item("unit" if name == "word" else name, unit.key if name == "word" else word, word, unit)


@text_cache(maxsize=CACHED_WORDS)
def _word(
    word: str, cased: str, *, first: bool = False, german: bool = False, last: bool = False, leads: bool = False
) -> Item:
    """A word of letters. `last`, `leads`: it is the last one, a preposition of a goal or origin comes soon."""
    known = lists()
    if len(cased) == 1 and cased.isupper() and cased != "I" and not first:
        return Item("unit", f"label:{word}", word, Unit(f"label:{word}", IDENTIFIER, word))
    bare = word.removesuffix("'s")
    unit = _unit(bare, cased, first=first, german=german)
    named = cased[:1].isupper() and not first and not german and unit.kind in (NAME, PLACE, TOOL, ORGANISATION)
    if named and (bare not in known.classes or cased.isupper()):
        return Item("unit", unit.key, word, unit)
    if unit.kind in (WEEKDAY, MONTH, NUMBER, PRONOUN):
        return Item("unit", unit.key, word, unit)
    form = known.classes.get(word)
    if word == "too" and not last:
        form = "filler"
    if form == "change" and word in _NOUN_LIKE and not leads:
        form = None
    if form is not None and form != "filler":
        return Item(form, word, word, unit)
    if (role := _PREPOSITIONS.get(word)) is not None and (german or word not in _GERMAN_ONLY):
        return Item("preposition", role, word, unit)
    if unit.key in HOLDING and word in HOLDING_VERBS:
        return Item("relation", OTHER, word, unit)
    if (relation := known.relations.get(word)) is not None:
        return Item("relation", relation, word, unit)
    return Item("filler" if form == "filler" else "unit", unit.key, word, unit)


def _unit(word: str, cased: str, *, first: bool, german: bool) -> Unit:
    if word in PRONOUNS:
        return Unit(PRONOUNS[word], PRONOUN, word)
    if word in _DAYS:
        return Unit(f"day:{_DAYS[word]}", WEEKDAY, word)
    if word in _MONTHS and (word not in ("may", "mar", "mai") or cased[:1].isupper()):
        return Unit(f"month:{_MONTHS[word]}", MONTH, word)
    if word in _NUMERALS:
        return Unit(f"number:{_NUMERALS[word]}", NUMBER, word)
    return Unit(lists().key(word), _kind(word, cased, first=first, german=german), word)


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
