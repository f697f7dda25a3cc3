"""Frames of a text: of each clause, what it says of what, in a form in which two clauses can be compared.

A clause has a subject, a relation and segments of values ("The staging API | listens | on port 8080"), each word in one
spelling: attributes and environments by their group ("cap" is "limit", "prod" is "production"), numbers with their
dimension. Beside them stand what the clause denies, what it says is no longer so, and whether it announces a change,
adds to what is known, or only supposes. English, German and Chinese; the words are in data/frames.toml.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from mnemond.text.caches import text_cache
from mnemond.text.contrast import label_nouns
from mnemond.text.entity_shapes import kind_of
from mnemond.text.resources import on_first_use, read, regex, words_of
from mnemond.text.tokens import FUNCTION_WORDS, fold, index_term

MAX_TEXT: Final = 900
"""Characters of a text that are read: a note of some ten sentences."""

MAX_CLAUSES: Final = 14
"""Clauses of a text that are read, the first ones."""

MAX_ITEMS: Final = 60
"""Words of a clause that are read."""

CACHED_TEXTS: Final = 4_096
"""Texts whose frames are cached: the memories that a burst of writes is compared with, some 2 kilobytes each."""

BE, HAVE, USE, LOCATE, WORK, CALL, REPORT, PREFER, SCHEDULE, COST, CHANGE, OTHER = (
    "be", "have", "use", "locate", "work", "call", "report", "prefer", "schedule", "cost", "change", "other",
)  # fmt: skip
"""Relations; `OTHER` ones are compared by their verb."""

NUMBER, CLOCK, WEEKDAY, MONTH, DATE, VERSION = "number", "clock", "weekday", "month", "date", "version"
NAME, PLACE, TOOL, ORGANISATION, WORD, PRONOUN, IDENTIFIER = (
    "name", "place", "tool", "organisation", "word", "pronoun", "identifier",
)  # fmt: skip
"""Kinds of units; other kinds are those of `[kind]` in the list."""

AMOUNTS: Final = frozenset({NUMBER, CLOCK, DATE, VERSION})
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


class Segment(NamedTuple):
    """Units behind a preposition of one class (in, to, from, for, with, by, time, if), or directly behind the verb:
    ""."""

    role: str
    units: tuple[Unit, ...]


class Frame(msgspec.Struct, frozen=True):
    """What a clause says.

    `subject`: units before the verb; `segments`: those behind it. `relation`: one of the relations above, "" if there
    is no verb; `verb`: its key. `gone`: units of what it says is no longer so. `changes`: it announces a change, by a
    verb or by a word like "now". `supposed`, `past`, `additive`, `asks`: it states nothing that holds, looks back, adds
    to what is known, is a question. `whole`: the clause.
    """

    text: str
    subject: tuple[Unit, ...]
    relation: str
    verb: str
    segments: tuple[Segment, ...]
    gone: tuple[Unit, ...] = ()
    denies: bool = False
    changes: bool = False
    strong: bool = False
    supposed: bool = False
    past: bool = False
    additive: bool = False
    asks: bool = False
    indefinite: bool = False
    inherited: bool = False
    exchanged: bool = False
    verb_raw: str = ""
    definite: bool = False
    words: tuple[Unit, ...] = ()
    order: tuple[str, ...] = ()

    @property
    def units(self) -> tuple[Unit, ...]:
        """All units, in order."""
        return (*self.subject, *(unit for segment in self.segments for unit in segment.units))


# ---------------------------------------------------------------- lists


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
    """The lists, by folded word. `classes`: of words that are neither subject nor value; `phrases`: of the first word of
    a phrase of several, the others and the class, the longest first; `chinese`: class of a Chinese phrase; `single`:
    keys of attributes that have one value."""

    classes: dict[str, str]
    phrases: dict[str, tuple[tuple[tuple[str, ...], str], ...]]
    chinese: dict[str, str]
    relations: dict[str, str]
    attributes: dict[str, str]
    single: frozenset[str]
    several: frozenset[str]
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
        return self.apart.get(word) or (word if _HAN.search(word) else index_term(word)) or word


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
    chinese = dict.fromkeys((word for table in (attributes, kinds, units, apart, opposites, same) for word in table), "word")
    chinese |= dict.fromkeys((*words.several, *words.chinese_negative), "word")
    chinese |= {word: f"relation {name}" for name, each in file.chinese_relation.items() for word in each}
    for name, each in (
        ("filler", (*words.chinese_filler, *words.chinese_adverbs)), ("not", _CHINESE_NOT), ("preposition", _CHINESE_PREPOSITIONS),
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
        chinese={word: name for word, name in chinese.items() if _HAN.search(word)},
        relations=_by_word(file.relation),
        attributes=attributes,
        single=frozenset(),
        several=frozenset(index_term(fold(word)) or fold(word) for word in words.several),
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
_HAN: Final = regex("[\u3400-\u9fff]")

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
    "从": "from", "由": "by", "到": "to", "至": "to", "给": "for", "对": "for", "用于": "for", "作为": "for", "做": "for",
    "当": "if", "于": "in", "里": "in", "上": "in", "中": "in", "在": "in", "成": "to", "只有": "if", "除了": "if", "每": "time",
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
            "monday mondays mon montag montags montage 周一 星期一 礼拜一", "tuesday tuesdays tue tues dienstag dienstags 周二 星期二 礼拜二",
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
            "january jan januar 一月", "february feb februar 二月", "march märz 三月", "april apr 四月", "mai 五月", "june jun juni 六月",
            "july jul juli 七月", "august aug 八月", "september sep sept 九月", "october oct oktober 十月", "november nov 十一月",
            "december dec dezember 十二月",
        )
    )
    for form in forms.split()
}  # fmt: skip
_NUMERALS: Final = {
    form: str(number)
    for number, forms in enumerate(
        (
            "zero null 零", "one 一", "two zwei 两 二 兩", "three drei 三", "four vier 四", "five fünf 五", "six sechs 六",
            "seven sieben 七", "eight acht 八", "nine neun 九", "ten zehn 十", "eleven elf", "twelve zwölf",
        )
    )
    for form in forms.split()
} | {"twenty": "20", "thirty": "30", "fifteen": "15", "fifty": "50", "hundred": "100", "half": "0.5", "dozen": "12"}  # fmt: skip
_SECONDS: Final = {
    "ns": 1e-9, "µs": 1e-6, "us": 1e-6, "ms": 1e-3, "毫秒": 1e-3,
    **dict.fromkeys(words_of("s sec secs second seconds sekunde sekunden 秒 秒钟"), 1.0),
    **dict.fromkeys(words_of("min mins minute minutes minuten 分钟 分"), 60.0),
    **dict.fromkeys(words_of("h hr hrs hour hours stunde stunden 小时 个小时"), 3_600.0),
    **dict.fromkeys(words_of("d day days tag tage tagen 天 日"), 86_400.0),
    **dict.fromkeys(words_of("w week weeks woche wochen 周 星期"), 604_800.0),
}  # fmt: skip
"""Seconds of the units of time that have a fixed length."""

# ---------------------------------------------------------------- clauses

_END: Final = regex(r"([!?;。！？；\n]+|\.+(?=\s|$))")
def _beginning() -> Iterable[str]:
    """Verbs that begin a clause behind "and"."""
    known = lists()
    verbs = {word for word, name in known.relations.items() if name in (BE, LOCATE, WORK, CALL, USE)}
    return {word for word in verbs | {word for word, form in known.classes.items() if form in ("change", "end")} if word.isalpha()}


_CLAUSE: Final = regex(
    lambda: (
        rf"\s+(?:and|und)\s+(?=(?:\w+ly |now |jetzt |nun )?(?:{'|'.join(map(re.escape, sorted(_beginning())))})\b)|"
        r",?\s+(?:because|but|while|whereas|so that|weil|denn|aber|sondern|und zwar|since (?=i|we|it|they|he|she|the ))\s+"
    r"|,\s+(?:and|so|which|und|da|who|or)\s+|\s+[–—-]\s+|，|,\s+(?=(?:we|i|he|she|they|it|wir|ich|es|er|sie|not|nicht|now|jetzt)\b)"
    r"|\s+and\s+(?=(?:we|i|he|she|they|it|now|moved|joined|switched|is|are|was|will|has|have)\b)"
    r"|\s+und\s+(?=(?:wir|ich|er|sie|es|ist|wurde|jetzt|nun|nutzt|nutzen)\b)"
    r"|因为|由于|，?而是|所以|但是?(?=[\u3400-\u9fff])"
    ),
    re.IGNORECASE,
)
_TOKEN: Final = regex(
    lambda: (
        r"(?P<date>\d{4}-\d\d(?:-\d\d)?(?![\d-])|\d{1,2}\.\d{1,2}\.(?:\d{4}|\d\d)?(?!\d)|\d{1,2} ?月 ?\d{1,2} ?[日号號]?"
        r"|\d{1,2}/\d{1,2}(?:/\d{2,4})?(?![\d/]))"
        r"|(?P<clock>\d{1,2}:\d\d(?:\s?[ap]\.?m\b)?|\d{1,2}(?:\.\d\d)?\s?(?:am\b|pm\b|uhr\b|o'clock\b)"
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
_INTRO: Final = regex(
    r"(?:since|as of|after|starting|effective|from|following|due to|seit|ab|nach|wegen)\s[^,]{2,80},\s", re.IGNORECASE
)
"""A beginning that only dates what follows."""

_YEAR: Final = regex(r"(?:19|20)\d\d$")
_BUT: Final = regex(r"\bbut\b|\bsondern\b|而是", re.IGNORECASE)
_VERB: Final = regex(r"[a-z]{2,20}(?<![suiao])s|[a-z]{2,20}ed")
_GERMAN_ONLY: Final = words_of("an am um als ab des bis mit für von zu")
_DETERMINERS: Final = words_of(
    "the a an our my your their its his her this that each every der die das den dem des ein eine einen unser unsere mein",
    "meine jeder jede jedes no any some new kein keine",
)
_INDEFINITE: Final = words_of("a an another one some ein eine einen")
_GERMAN: Final = words_of(
    "der die das ist sind wir ich und nicht wurde wird auf mit für ein eine im zum zur von bei vom den dem unser unsere mein",
    "meine kein keine nutzt nutzen hat haben seit jetzt nun liegt läuft heißt",
)
_PAST: Final = regex(
    r"\b(?:yesterday|last (?:week|month|year|night|sprint|quarter)|ago|back then|at the time|originally|initially"
    r"|in (?:19|20)\d\d|gestern|letzte[nsr]? (?:woche|monat|jahr)|damals|ursprünglich|anfangs)\b"
    r"|昨天|上周|上个月|去年|当时|最初|原来",
    re.IGNORECASE,
)
_REPLACE: Final = words_of(
    "replaced replaces replacing superseded supersedes succeeds succeeded 取代 替代 代替 替换 ersetzt abgelöst"
)
_INSTEAD: Final = ("instead of", "rather than", "in place of", "statt", "anstatt", "anstelle", "anstelle von", "而不是")
_FAVOUR: Final = ("in favour of", "in favor of")
_TAKING: Final = frozenset(
    {"took over", "takes over", "taken over", "inherited", "übernommen", "übernimmt", "übernahm", "taking over"}
)
_NOUN_LIKE: Final = words_of(
    "went changes moves shifts upgrades raises switches cut bump raise increase decrease increases migrates rose updated"
)
"""Forms that are verbs of change only before a goal."""

_LEADING: Final = words_of("to from into by 到")
_NO_LONGER: Final = frozenset({"no longer", "nicht mehr", "不再", "已经不", "no more"})
_MEASURES: Final = "个個杯次天周月年台人名位份条條张張本件元块塊点點层層楼樓小分秒倍项項家轮輪"
"""Characters behind a Chinese numeral that counts."""

_SWITCHED: Final = {"on": "enabled", "off": "disabled", "an": "aktiviert", "aus": "deaktiviert"}
"""Last words of "is on", "ist aus"."""

_SINCE: Final = frozenset({"since", "as of", "starting", "effective", "ab", "seit", "自从", "von", "from today"})
_BARE_ENDS: Final = ("instead", "stattdessen", "statt dessen")
_NOT_TAIL: Final = regex(r"(?:and |und )?(?:not|nicht|不是|并非)\s*(?!\w*ing\b)", re.IGNORECASE)
_PASSIVE_BACK: Final = 4
"""Words between a form of "be" and its participle."""


class _Item(NamedTuple):
    """A word of a clause. `form`: its class: a cue, "not", "filler", "preposition", "relation", "unit"; `key`: of a
    preposition its role, of a relation its name."""

    form: str
    key: str
    raw: str
    unit: Unit


@text_cache(maxsize=CACHED_TEXTS)
def frames(text: str) -> tuple[Frame, ...]:
    """The frames of the clauses of a text, in order. Linear time."""
    found: list[Frame] = []
    for clause, first, asks in _clauses(text[:MAX_TEXT].replace("’", "'")):
        before = found[-1] if found and not first else None
        tail = _NOT_TAIL.match(clause)
        frame = _Clause(clause[tail.end() :] if tail and before else clause, before).frame(asks=asks)
        if frame is None:
            continue
        if before is not None and tail:
            if frame.relation in ("", before.relation):
                gone = (*before.gone, *(unit for unit in frame.units if unit not in before.units))
                found[-1] = msgspec.structs.replace(before, gone=gone, changes=True)
            continue
        if before is not None and before.denies and frame.inherited and not before.gone and _BUT.search(text):
            gone = tuple(unit for segment in before.segments for unit in segment.units)
            frame = msgspec.structs.replace(frame, gone=gone, changes=True)
            found.pop()
        found.append(frame)
        if len(found) == MAX_CLAUSES:
            break
    return tuple(found)


def _clauses(text: str) -> Iterator[tuple[str, bool, bool]]:
    """Yield each clause, if it begins a sentence, and if it asks."""
    parts = [*_END.split(text), ""]
    for sentence, end in zip(parts[::2], parts[1::2], strict=False):
        first = True
        for part in _CLAUSE.split(sentence):
            for clause in _at_commas(part) if part else ():
                if clause.strip():
                    yield clause.strip(), first, end[:1] in ("?", "？") and bool(end)
                    first = False


def _at_commas(text: str) -> Iterator[str]:
    """Yield the parts of a text between commas that have a verb each; the others belong to the part before them. What
    only dates the rest ("Since the move in May, …") is yielded with it."""
    clause = ""
    for part in text.split(", "):
        if clause and _has_verb(part) and _has_verb(clause):
            yield clause
            clause = part
        else:
            clause = f"{clause}, {part}" if clause else part
    yield clause


def _has_verb(text: str) -> bool:
    known = lists()
    return any(
        word in known.relations or known.classes.get(word) in ("change", "end")
        for word in fold(text).split()
        if word.isalpha()
    )


class _Clause:
    """Reads one clause. `before`: the frame of the clause before it in its sentence."""

    def __init__(self, text: str, before: Frame | None) -> None:
        self._text = text
        self._before = before
        self._lists = lists()
        self._inherited_gone: tuple[Unit, ...] = ()
        dated = _INTRO.match(text)
        self._announced = dated is not None and not _has_verb(dated[0])
        if dated is not None and self._announced:
            text = text[dated.end() :]
        tokens = [(found.lastgroup or "", found) for found in _TOKEN.finditer(text)][:MAX_ITEMS]
        words = [fold(found[0]) for _, found in tokens]
        self._german = not _GERMAN.isdisjoint(words)
        self._items = self._read(tokens, words)

    # ---- words

    def _read(self, tokens: list[tuple[str, re.Match[str]]], words: list[str]) -> list[_Item]:
        items: list[_Item] = []
        place = 0
        while place < len(tokens):
            group, found = tokens[place]
            phrase = self._phrase(words, place) if group == "word" else None
            if phrase is not None:
                size, form = phrase
                if form.startswith("word "):
                    word = form.removeprefix("word ")
                    items.append(self._word(word, word, first=False))
                    place += size
                    continue
                raw = " ".join(words[place : place + size])
                items.append(_Item(form, raw, raw, Unit(raw, WORD, raw)))
                place += size
                continue
            items.append(self._item(group, found, words[place], place == 0, words[place + 1 : place + 4]))
            place += 1
        if len(items) > 1 and items[-1].raw in _SWITCHED and items[-2].form in ("relation", "filler", "now", "not"):
            word = _SWITCHED[items[-1].raw]
            items[-1] = self._word(word, word, first=False)
        return _with_dimensions(items, self._lists)

    def _phrase(self, words: list[str], place: int) -> tuple[int, str] | None:
        for rest, form in self._lists.phrases.get(words[place], ()):
            if tuple(words[place + 1 : place + 1 + len(rest)]) == rest:
                return 1 + len(rest), form
        return None

    def _item(self, group: str, found: re.Match[str], word: str, first: bool, behind: list[str]) -> _Item:
        if group in ("number", "unit", "glued", "ordinal", "zh_number"):
            return self._number(found, word)
        if group in ("date", "clock", "version", "address", "float"):
            key = _clock(word) if group == "clock" else word.removeprefix("v") if group == VERSION else word
            unit = Unit(f"{group}:{key}", {"address": IDENTIFIER, "float": VERSION}.get(group, group), word)
            return _Item("unit", unit.key, word, unit)
        if group == "mark":
            if word == ":":
                return _Item("relation", BE, word, Unit(word, WORD, word))
            if word in ("->", "→"):
                return _Item("preposition", "to", word, Unit(word, WORD, word))
            return _Item("unit", word, word, Unit(word, "mark", word))
        if group == "zh":
            at = found.start()
            if word == "别" and at and _HAN.match(self._text[at - 1]) and self._text[at - 1] not in "请万就":
                return _Item("unit", word, word, Unit(word, WORD, word))
            return self._chinese(word)
        if group in ("han", "zh") and word in _NUMERALS and behind and behind[0][:1] in "号組组队線线室栋期":
            return _Item("unit", f"label:{word}", word, Unit(f"label:{word}", IDENTIFIER, word))
        if group == "han" and word in _NUMERALS and behind and behind[0][:1] in _MEASURES:
            unit = Unit(f"number:{_NUMERALS[word]}", NUMBER, word)
            return _Item("unit", unit.key, word, unit)
        if group == "han":
            return _Item("unit", word, word, Unit(word, WORD, word))
        return self._word(word, found[0], first, behind)

    def _number(self, found: re.Match[str], word: str) -> _Item:
        digits = (found["number"] or found["zh_number"]).replace(",", "").replace("_", "").replace("'", "")
        dimension = "money" if digits[0] in "$€£¥" else "share" if found["unit"] == "%" else ""
        amount = digits.lstrip("$€£¥")
        amount = amount.lstrip("0") or "0"
        glued = fold(found["glued"] or "")
        if glued:
            if (name := self._lists.units.get(glued)) is not None:
                unit = _amount(amount, glued, name)
                return _Item("unit", unit.key, word, unit)
            if glued in ("k", "m", "bn"):
                unit = Unit(f"number:{amount}{glued}", NUMBER, word, dimension)
                return _Item("unit", unit.key, word, unit)
            return _Item("unit", word, word, Unit(word, WORD, word))
        if found["ordinal"]:
            return _Item("unit", f"ordinal:{amount}", word, Unit(f"ordinal:{amount}", IDENTIFIER, word))
        unit = Unit(f"number:{amount}", NUMBER, word, dimension)
        return _Item("unit", unit.key, word, unit)

    def _chinese(self, word: str) -> _Item:
        form = self._lists.chinese[word]
        name, _, relation = form.partition(" ")
        unit = self._unit(word, word, first=False)
        if name == "relation":
            return _Item("relation", relation, word, unit)
        if name == "preposition":
            return _Item("preposition", _CHINESE_PREPOSITIONS[word], word, unit)
        return _Item("unit" if name == "word" else name, unit.key if name == "word" else word, word, unit)

    def _word(self, word: str, cased: str, first: bool, behind: Sequence[str] = ()) -> _Item:
        if len(cased) == 1 and cased.isupper() and cased != "I" and not first:
            return _Item("unit", f"label:{word}", word, Unit(f"label:{word}", IDENTIFIER, word))
        bare = word.removesuffix("'s")
        unit = self._unit(bare, cased, first)
        if cased[:1].isupper() and not first and not self._german and unit.kind in (NAME, PLACE, TOOL, ORGANISATION):
            if bare not in self._lists.classes or cased.isupper():
                return _Item("unit", unit.key, word, unit)
        if unit.kind in (WEEKDAY, MONTH, NUMBER, PRONOUN):
            return _Item("unit", unit.key, word, unit)
        form = self._lists.classes.get(word)
        if word == "too" and behind:
            form = "filler"
        if form == "change" and word in _NOUN_LIKE and _LEADING.isdisjoint(behind):
            form = None
        if form is not None and form != "filler":
            return _Item(form, word, word, unit)
        if (role := _PREPOSITIONS.get(word)) is not None and (self._german or word not in _GERMAN_ONLY):
            return _Item("preposition", role, word, unit)
        if unit.key in _HOLDING and word in _HOLDING_VERBS:
            return _Item("relation", OTHER, word, unit)
        if (relation := self._lists.relations.get(word)) is not None:
            return _Item("relation", relation, word, unit)
        return _Item("filler" if form == "filler" else "unit", unit.key, word, unit)

    def _unit(self, word: str, cased: str, first: bool) -> Unit:
        if word in PRONOUNS:
            return Unit(PRONOUNS[word], PRONOUN, word)
        if word in _DAYS:
            return Unit(f"day:{_DAYS[word]}", WEEKDAY, word)
        if word in _MONTHS and (word not in ("may", "mar", "mai") or cased[:1].isupper()):
            return Unit(f"month:{_MONTHS[word]}", MONTH, word)
        if word in _NUMERALS:
            return Unit(f"number:{_NUMERALS[word]}", NUMBER, word)
        return Unit(self._lists.key(word), self._kind(word, cased, first), word)

    def _kind(self, word: str, cased: str, first: bool) -> str:
        if (kind := self._lists.kinds.get(word)) is not None:
            return kind
        if _REGION.fullmatch(word):
            return PLACE
        if word in self._lists.attributes or word in self._lists.apart:
            return WORD
        of_name = kind_of(cased.removesuffix("'s"))
        if of_name in ("tool", "location", "organization"):
            return {"tool": TOOL, "location": PLACE}.get(of_name, ORGANISATION)
        capital = cased[:1].isupper() and not self._german
        return NAME if capital and (not first or word not in FUNCTION_WORDS) else WORD

    # ---- the frame

    def frame(self, *, asks: bool) -> Frame | None:
        """The frame; None of a clause that says nothing."""
        items = self._items
        forms = {item.form for item in items}
        gone, spent = self._gone()
        gone = gone or self._inherited_gone
        spent |= self._since()
        pivot = self._pivot()
        subject = self._units(items[:pivot] if pivot is not None else (), spent, 0)
        relation, verb, begin = self._relation(pivot)
        segments = self._segments(begin, spent, relation)
        if len(subject) > 1 and subject[0].kind == NUMBER and subject[1].raw.isascii() and not _YEAR.match(subject[0].raw):  # "two approvals are needed"
            subject, segments = subject[1:], (Segment("", subject[:1]), *segments)
        inherited = False
        if pivot is None and self._before is not None:
            subject, relation, verb = self._before.subject, self._before.relation, self._before.verb
            inherited = True
        elif not subject and self._before is not None and pivot is not None and items[pivot].form != "unit":
            subject = self._before.subject
        if not (subject or segments or gone):
            return None
        change_words = {item.raw for item in items if item.form in ("change", "end")}
        return _exchanged(
            Frame(
                text=self._text,
                subject=subject,
                relation=relation,
                verb=verb,
                segments=segments,
                gone=gone,
                denies=sum(item.form == "not" or item.raw in _NO_LONGER for item in items) % 2 == 1,
                changes=bool(change_words) or "now" in forms or self._announced or self._perfect(pivot),
                strong=bool(change_words),
                supposed="supposing" in forms,
                past=_PAST.search(self._text) is not None and not change_words and "now" not in forms,
                additive="additive" in forms,
                asks=asks,
                indefinite=bool(items) and items[0].raw in _INDEFINITE and items[0].raw != "one",
                inherited=inherited,
                verb_raw="" if pivot is None else items[pivot].raw,
                definite=pivot is not None and any(
                    word in _DEFINITE for word in _words_behind(self._text, items[pivot].raw)
                ),
                words=tuple(item.unit for item in items),
                order=tuple(
                    item.unit.key if item.form != "preposition" else f"…{item.key}"
                    for item in items
                    if item.form in ("unit", "relation", "preposition")
                ),
            ),
            self._lists,
        )

    def _since(self) -> frozenset[int]:
        """Places of the time behind a word like "since", which is part of the announcement."""
        found: set[int] = set()
        for place, item in enumerate(self._items):
            if item.raw not in _SINCE:
                continue
            for at in range(place + 1, min(place + 4, len(self._items))):
                after = self._items[at]
                if after.form == "unit" and after.unit.kind in (*TIMES, NUMBER) and not after.unit.dimension:
                    found.add(at)
                elif after.form not in ("filler", "preposition"):
                    break
        return frozenset(found)

    def _pivot(self) -> int | None:
        """The place of the verb between subject and values; None if none is known."""
        items = self._items
        last: int | None = None
        for place, item in enumerate(items):
            if item.form in ("change", "end") and item.raw not in _BARE_ENDS and place and _LATIN_OR_HAN(item.raw):
                return place if last is None else last
            if item.form != "relation":
                continue
            before = items[place - 1] if place else None
            if before is not None and (before.raw in _DETERMINERS or before.form == "preposition") and item.raw != ":":
                continue
            follows = items[place + 1] if place + 1 < len(items) else None
            if follows is not None and follows.form == "relation" and item.key not in (BE, HAVE) and item.raw.isascii():
                continue
            if place == 0 and item.key not in (BE, HAVE) and any(each.form == "relation" and each.key == BE for each in items[1:4]):
                continue
            if item.key == OTHER and not item.raw.isascii() and _HAN.search(item.raw):
                rest = items[place + 1 :]
                if any(each.form == "relation" and each.key != OTHER and _HAN.search(each.raw) for each in rest):
                    continue
            return place
        return last if last is not None else self._unknown_verb()

    def _perfect(self, pivot: int | None) -> bool:
        """True of "have disabled", "has been closed": what was done is so now."""
        items = self._items
        if self._german or pivot is None or items[pivot].raw not in ("have", "has", "'ve", "we've"):
            return False
        behind = [item for item in items[pivot + 1 : pivot + 4] if item.form not in ("filler", "not")]
        return any(item.form in ("unit", "relation") and item.raw.endswith("ed") for item in behind[:2])

    def _unknown_verb(self) -> int | None:
        """The place of an English word that looks like a verb behind its subject."""
        items = self._items
        if self._german:
            return None
        for place in range(1, len(items)):
            item = items[place]
            before = next(
                (each for each in items[place - 1 :: -1] if each.form not in ("not", "now", "additive", "filler")), item
            )
            if (
                item.form == "unit"
                and item.unit.kind == WORD
                and before.form == "unit"
                and (_VERB.fullmatch(item.raw) or before.unit.kind == PRONOUN)
                and before.raw not in _DETERMINERS
                and (before.unit.kind != NUMBER or (place > 1 and items[place - 2].form == "unit"))
            ):
                return place
        return None

    def _relation(self, pivot: int | None) -> tuple[str, str, int]:
        """Relation, key of the verb and the place behind it."""
        items = self._items
        if pivot is None:
            return "", "", 0
        item = items[pivot]
        if item.form == "unit":
            return OTHER, item.unit.key, pivot + 1
        if item.form in ("change", "end"):
            return CHANGE, item.raw, pivot + 1
        name, verb, begin = item.key, item.unit.key, pivot + 1
        late = [each.raw for each in items[begin:] if each.form in ("change", "end") and each.raw not in _BARE_ENDS]
        if self._german and name in (BE, HAVE) and late:
            return CHANGE, late[-1], begin
        if name in (BE, HAVE):
            for place in range(pivot + 1, min(pivot + 4, len(items))):
                after = items[place]
                if after.form in ("change", "end") and after.raw not in _BARE_ENDS:
                    return CHANGE, after.raw, pivot + 1
                if after.form == "relation" and after.key not in (BE, HAVE) and place + 1 < len(items):
                    return after.key, after.unit.key, place + 1
                if after.form == "relation" and after.key == BE:
                    begin = place + 1
                    continue
                if after.form not in ("filler", "now", "not", "additive"):
                    break
        return name, verb, begin

    def _units(self, items: Sequence[_Item], spent: frozenset[int], offset: int) -> tuple[Unit, ...]:
        return tuple(
            item.unit
            for place, item in enumerate(items, offset)
            if place not in spent and item.form in ("unit", "relation") and item.raw != ":"
        )

    def _segments(self, begin: int, spent: frozenset[int], relation: str) -> tuple[Segment, ...]:
        found: list[tuple[str, list[Unit]]] = [("", [])]
        for place in range(begin, len(self._items)):
            item = self._items[place]
            if item.form == "preposition" and item.key not in ("of", "than"):
                found.append(("in" if relation == WORK and item.key == "for" else item.key, []))
            elif place not in spent and item.form in ("unit", "relation") and item.key != BE:
                found[-1][1].append(item.unit)
        return tuple(Segment(role, tuple(units)) for role, units in found if units)

    def _gone(self) -> tuple[tuple[Unit, ...], frozenset[int]]:
        """Units of what is no longer so, and their places."""
        items = self._items
        for place, item in enumerate(items):
            if item.form == "end" and item.raw not in _BARE_ENDS:
                spent = self._ended(place, item)
            elif item.raw in ("no longer", "any more", "anymore", "any longer", "nicht mehr", "不再", "kein mehr"):
                spent = self._taken_back(place)
            else:
                continue
            if spent:
                return tuple(items[each].unit for each in spent), frozenset(spent)
        if any(item.form in ("change", "end", "now") for item in items):
            spent = self._origin()
            return tuple(items[each].unit for each in spent), frozenset(spent)
        return (), frozenset()

    def _ended(self, place: int, item: _Item) -> list[int]:
        passive = any(
            each.form == "relation" and each.key == BE or each.raw in ("been", "被", "being", "wurde", "worden")
            for each in self._items[max(0, place - _PASSIVE_BACK) : place]
        )
        if item.raw in _FAVOUR:
            return self._run_before(place)
        if item.raw in _INSTEAD:
            return self._run(place + 1)
        if item.raw in _REPLACE and not passive:
            return self._run(place + 1) or self._run_before(place)
        if passive:
            if not (found := self._before_verb(place)) and self._before is not None:
                self._inherited_gone = self._before.subject
            return found
        found = self._run(place + 1)
        return found if found or item.raw.isascii() and not self._german else self._run_before(place, verbs=True)

    def _taken_back(self, place: int) -> list[int]:
        after = self._run(place + 1)
        if after:
            return after
        start = next((at for at, item in enumerate(self._items) if item.form == "not"), place)
        return self._run(start + 1)

    def _run(self, start: int) -> list[int]:
        """Places of the units from `start` on, up to a boundary; the first preposition may lead to them."""
        found: list[int] = []
        for place in range(start, len(self._items)):
            item = self._items[place]
            if item.form == "unit" and item.unit.kind != PRONOUN:
                found.append(place)
            elif item.form == "preposition":
                vague = all(self._items[at].unit.key.startswith("@") for at in found)
                if item.key == "of" or (vague and item.key in ("in", "for", "from", "with")):
                    continue
                break
            elif item.form in ("change", "end", "now") and found:
                break
        return found

    def _run_before(self, end: int, *, verbs: bool = False) -> list[int]:
        """Places of the units before `end`; with `verbs`, those before verbs as well."""
        found: list[int] = []
        for place in range(end - 1, -1, -1):
            item = self._items[place]
            if item.form in ("relation", "change", "end") and not verbs:
                break
            if item.form == "unit" and item.unit.kind != PRONOUN:
                found.append(place)
        return found[::-1]

    def _before_verb(self, place: int) -> list[int]:
        return [at for at in range(place) if self._items[at].form == "unit" and self._items[at].unit.kind != PRONOUN]

    def _origin(self) -> list[int]:
        """Places of the units between "from" and "to"."""
        items = self._items
        for place, item in enumerate(items):
            if item.form == "preposition" and item.key == "from":
                end = next(
                    (
                        at
                        for at in range(place + 1, len(items))
                        if (items[at].form == "preposition" and items[at].key in ("to", "in"))
                        or items[at].form in ("change", "end")
                    ),
                    None,
                )
                if end is None and any(each.raw in _TAKING for each in items):
                    return self._run(place + 1)
                if end is not None:
                    return [at for at in range(place + 1, end) if items[at].form == "unit"]
        return []


def _LATIN_OR_HAN(raw: str) -> bool:  # noqa: N802
    return bool(raw)


def _with_dimensions(items: list[_Item], known: Lists) -> list[_Item]:
    """Join each number with the unit behind it."""
    joined: list[_Item] = []
    for item in items:
        before = joined[-1] if joined else None
        if before is not None and {before.unit.kind, item.unit.kind} in ({NUMBER, MONTH}, {IDENTIFIER, MONTH}):
            day, month = (before, item) if item.unit.kind == MONTH else (item, before)
            if day.unit.key.partition(":")[2].isdigit():
                key = f"date:{month.unit.key.partition(':')[2]}-{day.unit.key.partition(':')[2]}"
                joined[-1] = _Item("unit", key, f"{before.raw} {item.raw}", Unit(key, DATE, f"{before.raw} {item.raw}"))
                continue
        if before is not None and before.unit.kind == NUMBER and before.form == "unit" and not before.unit.dimension:
            name = known.units.get(item.raw)
            if name is not None:
                unit = _amount(before.unit.key.removeprefix("number:"), item.raw, name)
                joined[-1] = _Item("unit", unit.key, f"{before.raw} {item.raw}", unit)
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
    return re.sub(r"\s+", "", word)


_HOLDING: Final = ("@lead", "@owner", "@oncall")
"""Attributes whose verb has the holder before it: "Ana leads the team"."""

_DEFINITE: Final = words_of("the our my their your der die das unser unsere mein meine")


def _words_behind(text: str, verb: str) -> list[str]:
    """The two words behind a verb."""
    words = fold(text).split()
    at = words.index(verb) if verb in words else len(words)
    return words[at + 1 : at + 3]


_HOLDING_VERBS: Final = words_of(
    "leads led heads headed manages managed owns owned maintains maintained leitet leiteten betreut belongs gehört führt"
)
_HELD: Final = words_of("belongs gehört 归 归属")
"""Verbs that have the holder behind them."""


def _exchanged(frame: Frame, known: Lists) -> Frame:
    """Turn "Ana is the team lead" and "Ana leads the team" round: the role is the subject, the name its value."""
    names = [unit for unit in frame.subject if unit.kind in NAMES]
    if frame.verb in _HOLDING and frame.subject and frame.verb_raw not in _HELD:
        role = Unit(frame.verb, WORD, frame.verb_raw)
        rest = tuple(unit for segment in frame.segments for unit in segment.units)
        return msgspec.structs.replace(
            frame, relation=BE, subject=(role, *rest), segments=(Segment("", frame.subject),), exchanged=True
        )
    if frame.relation != BE or not frame.segments or frame.segments[0].role:
        return frame
    value = frame.segments[0]
    roles = [unit for unit in value.units if unit.key in known.single]
    valued = names or [unit for unit in frame.subject if unit.kind in known.kinds.values()]
    one_word = frame.definite and len(frame.subject) == 1 and frame.subject[0].kind != PRONOUN
    if (
        ((valued and len(valued) == len(frame.subject) and (roles or frame.definite)) or (one_word and roles))
        and value.units[0].kind not in NAMES
        and not (roles and any(unit.key in known.single for unit in frame.subject))
    ):
        rest = tuple(unit for segment in frame.segments[1:] for unit in segment.units)
        return msgspec.structs.replace(
            frame, subject=value.units + rest, segments=(Segment("", frame.subject),), exchanged=True
        )
    return frame
