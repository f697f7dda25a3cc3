"""Contrasts between similar texts: negation, numbers, and words of change.

A difference in any of them turns a near-duplicate into a conflict, so each function leaves out what looks like a
contrast without being one: "not only", 区别, the 256 of sha256. `labels` returns the numbers that contradict nothing
because they name the subject of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from mnemond.text.date_rules import number
from mnemond.text.dates import whole_dates
from mnemond.text.resources import on_first_use, read, regex, words_of
from mnemond.text.tokens import fold, latin_words

# ---------------------------------------------------------------- negation

_NOT_NEGATION = (
    r"\bnot\s+(?:only|just|merely|least)\b|\bno\s+(?:doubt|matter|wonder|worries|problem)\b|\bor\s+not\b"
    r"|\bwhy\s+not\b|\bnever\s+mind\b|\bwhy\s+(?:don|doesn|isn|can|couldn|won|didn)'t\b"
    r"|n't\s+(?:i|you|he|she|it|we|they|that|there)\s{0,3}\?"  # "isn't it?" asks for consent
)
_NOT_NEGATION_CHINESE = (
    "(?P<asked>[\u4e00-\u9fff])[不没沒](?P=asked)|[有要]没有|不[过過仅僅但光止只同断斷错錯管论論如妨久少愧禁由免料然]|不得了|不好意思|不客气|没想到|没[关關]系"
    "|[对對]不起|了不起|差不多|[沉淹出埋吞]没|没收|[特区區级級分性类類识識差个個告辨鉴鑒离離派国國各甄判][别別]|[别別][人的处處墅名称稱针針致扭样樣]"
)
_NEGATION = (
    r"\b(?:not|never|without|cannot|neither|nobody|nothing|nowhere)\b(?!-)"
    r"|(?<![\w-])no(?=\s+[a-z])"  # "No. 5", "No, we do" and "no-op" deny nothing
    r"|n't\b|\b(?:do|does|did|is|was|are|were|has|have|had|ca|wo|would|could|should)nt\b"
)
_NEGATION_CHINESE = "[不没沒别別]"
_SENTENCE = r"(?P<nor>\bnor\b)|(?P<end>[.!?;。！？；\n])"
_STARTS = r"\b[acdhinosw]|n't|[.!?;\n]"
"""The start of every match: a cheap test before the alternatives are tried."""

_POLARITY_ASCII = regex(rf"(?={_STARTS})(?:(?P<none>{_NOT_NEGATION})|{_SENTENCE}|(?P<negator>{_NEGATION}))")
_POLARITY = regex(
    rf"(?={_STARTS}|[^\x00-\x7f])(?:(?P<none>{_NOT_NEGATION}|{_NOT_NEGATION_CHINESE})|{_SENTENCE}"
    rf"|(?P<negator>{_NEGATION}|{_NEGATION_CHINESE}))"
)
_NEGATORS = words_of(
    "not no never without cannot neither nor nobody nothing nowhere t dont doesnt didnt isnt wasnt arent werent hasnt",
    "havent hadnt cant wont couldnt wouldnt shouldnt",
)
_NEGATORS_CHINESE = regex("[不没沒别別]")
"""Every negator has one of `_NEGATORS` or one of these characters."""


def polarity(text: str) -> int:
    """0 or 1: the parity of the negators in `text`.

    "no longer" and 没有 are one negator, and so is "neither … nor": a "nor" continues the negation of its sentence.
    """
    folded = fold(text).replace("’", "'")
    if _NEGATORS.isdisjoint(latin_words(text)) and (folded.isascii() or _NEGATORS_CHINESE.search(folded) is None):
        return 0
    count = in_sentence = 0
    for found in (_POLARITY_ASCII if folded.isascii() else _POLARITY).finditer(folded):
        kind = found.lastgroup
        if kind == "end":
            in_sentence = 0
        elif kind == "negator" or (kind == "nor" and not in_sentence):
            count += 1
            in_sentence += 1
    return count % 2


# ---------------------------------------------------------------- numbers

_UNIT = (
    r"[nuµμm]s|s|secs?|mins?|h|hrs?|d|days?|w|wks?|y|yrs?|k|[kmgtp]i?b|[mgtp]|bn?|px|x|st|nd|rd|th|am|pm|fps|[kmg]?hz"
    r"|usd|eur|[kcm]?m|mi|ft|k?g|lbs?|k?w|k?wh|v|mah|[rqt]ps|°?[cf]|c|f"
)
"""Letters that may follow a number directly: units, ordinals, and a plural or magnitude letter."""

_FILE = (
    r"\.(?:py|pyi|go|js|jsx|ts|tsx|rs|c|h|cc|cpp|hpp|java|kt|rb|php|cs|swift|sh|md|rst|txt|toml|ya?ml|json|jsonl|xml|html?"
    r"|css|sql|lock|log|cfg|conf|ini|csv|tar|gz|zip|png|jpe?g|pdf)\b"
)
_IDENTIFIER = regex(rf"://|{_FILE}|^[#@]|^[.~]{{0,2}}/|^(?=[0-9-]*[a-f])[0-9a-f-]{{7,}}$")
_NUMBER = regex(
    r"(?<![a-z0-9_#@./])(?<![a-z_]-)(?P<minus>-?)(?P<currency>[$€£¥]?)v?"
    r"(?P<digits>[0-9]{1,3}(?:[,_][0-9]{3})+(?![0-9])|[0-9]+)"
    r"(?P<rest>(?:\.[0-9]+){0,6}(?:(?<=[0-9])-?(?:rc|alpha|beta|pre|dev)[.-]?[0-9]{1,4})?|(?:[:/][0-9]+){1,4})"
    rf"(?P<unit>%|(?:{_UNIT})(?![a-z0-9_]))?(?![a-z0-9_]|[.:/][0-9])"
)
_PERCENT = regex(r"(?<=[0-9])\s?(?:%|percent\b|per\s+cent\b|pct\b)")
_PARTS_OF_PERCENT = ("%", "cent", "pct")
"""Every match of `_PERCENT` has one of these."""
_DIGIT = regex("[0-9０-９]")
_EDGES = "()[]{}<>\"'`.,;:!?*。，；：！？、（）"


def numbers(text: str) -> frozenset[str]:
    """The numbers of `text` in one spelling: integers, decimals, percent, versions, clock times, dates.

    1,000 is 1000, 10k is 10000, "50 percent" is 50%, v1.2.3 is 1.2.3, "May 8, 2023" is 2023-05-08; units are left out
    (100ms and 100 ms are alike). Zeros at the end of a decimal are dropped beside a currency, unit or percent sign and
    below one; elsewhere only a fraction of zeros alone is, because 1.20 and 1.2 are different versions, and a change
    that is taken for a repetition is lost. Digits of names do not count: sha256, gpt-4, #12, file names, URLs, and
    hexadecimal ids.
    """
    if _DIGIT.search(text) is None:
        return frozenset()
    folded = fold(text)
    if any(part in folded for part in _PARTS_OF_PERCENT):
        folded = _PERCENT.sub("%", folded)
    dates, rest = whole_dates(folded)
    found = {day.isoformat() for day in dates}
    for word in rest.split():
        if not word.isalpha() and _DIGIT.search(word):
            found.update(_numbers_of(word.strip(_EDGES)))
    return frozenset(found)


def _numbers_of(word: str) -> Iterable[str]:
    """The numbers of a word that has a digit, without the marks around it."""
    if word.isdigit() and word.isascii():
        return (word.lstrip("0") or "0",)
    return () if _IDENTIFIER.search(word) else map(_normal, _NUMBER.finditer(word))


def _normal(number: re.Match[str]) -> str:
    whole = number["digits"].replace(",", "").replace("_", "").lstrip("0") or "0"
    rest, unit = number["rest"].replace("-", ""), number["unit"] or ""
    sign = "%" if unit == "%" else ""
    whole = number["minus"] + whole
    if rest.count(".") != 1 or not rest[1:].isdigit():  # an integer, a version, a clock time, a fraction
        return (whole + "000" if unit == "k" and not rest else whole + rest) + sign
    is_amount = bool(number["currency"] or unit) or whole in ("0", "-0")
    fraction = rest.rstrip("0") if is_amount or not rest.strip(".0") else rest
    return whole + fraction.rstrip(".") + sign


# ---------------------------------------------------------------- labels


class _Nouns(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """data/contrast.toml"""

    label_nouns: frozenset[str]
    chinese_label_nouns: tuple[str, ...]


@on_first_use
def _nouns() -> _Nouns:
    return read("contrast", _Nouns)


def label_nouns() -> frozenset[str]:
    """English nouns that a number behind them turns into a name."""
    return _nouns().label_nouns


_COUNTERS = "阶段|季度|[章节節步条條次期页頁课課集卷回届屆轮輪天周週季部版号號项項题題例篇讲講册幕场場关關批代个個]"
_COUNTED = (
    r"\s?(?:%|percent\b|[个個次天月年分秒元块塊人条條]|小时|[$€£¥]"
    r"|(?:[nuµμm]s|s|secs?|seconds?|mins?|minutes?|h|hrs?|hours?|days?|weeks?|months?|years?|am|pm|[kmgt]i?b|usd|eur"
    r"|dollars?|euros?|people|times)(?![a-z0-9_]))"
)
"""Behind a number that gives the size of the noun before it: "meeting 30 min", 测试3次."""

_NAME = (
    r"[0-9]{1,9}(?:\.[0-9]{1,6}){0,3}"
    rf"(?![a-z0-9_]|[.:][0-9]|,[0-9]{{3}}|(?<=[0-9]{{4}})-[0-9]{{2}}|{_COUNTED})"
)
_LABEL = regex(
    lambda: (
        r"(?<![a-z0-9])(?<!\bevery )(?<!\beach )(?<!\bper )(?<!\ba )(?P<noun>[a-z]{1,12})"
        r"\.?[ _-]?(?P<numbered>(?:no\.?|number) )?(?P<marked>#)?"
        rf"(?P<names>{_NAME}(?P<more>(?: ?(?:,|&|and|to|-|–) ?#?{_NAME}){{0,9}}))"
        rf"|(?P<zh_noun>{'|'.join(_nouns().chinese_label_nouns)}) ?#?(?P<zh_name>{_NAME})"
        rf"|第 ?(?P<zh_nth>[0-9]{{1,9}}|[一二两兩三四五六七八九十]{{1,3}}) ?(?P<counter>{_COUNTERS})"
        r"|(?<![a-z0-9_.,:/-])(?P<nth>[0-9]{1,6})(?:st|nd|rd|th) (?P<noun_of_nth>[a-z]{1,12})"
        r"|(?<![0-9a-z_.月])(?P<zh_number>[0-9]{1,6}) ?(?P<hao>[号號])(?![召称稱])"
        r"|(?<![\w#&/])(?P<hash>#)(?P<bare>[0-9]{1,9})(?![\w.])"
    )
)
_NUMERAL = regex(r"[0-9.]+[0-9]|[0-9]")
_MAY_NAME = regex("[0-9０-９第]")


def labels(text: str) -> frozenset[str]:
    """The numbers that name something, each behind its noun: "sprint 12", "章 3", "# 12".

    "Sprint 12" and "sprint 13" are two sprints, while a limit of 100 and one of 200 are one limit. The noun, one of
    `label_nouns`, is right before the number or behind an ordinal ("the 3rd round"); a plural must have several numbers
    ("chapters 3 and 4"), because "replicas 3" counts them. A number with a unit, a clock time and a date are sizes:
    "meeting 30 min", "session 10:30".
    """
    if _MAY_NAME.search(text) is None:
        return frozenset()
    found: set[str] = set()
    for match in _LABEL.finditer(" ".join(fold(text).split())):
        noun = _noun(match)
        named = match["names"] or match["zh_name"] or match["nth"] or match["zh_number"] or match["bare"]
        numbers_of_it = _NUMERAL.findall(named) if named else [str(number(match["zh_nth"]))]
        found.update(f"{noun} {each.lstrip('0') or '0'}" for each in numbers_of_it if noun)
    return frozenset(found)


def _noun(match: re.Match[str]) -> str:
    """The noun of a match of `_LABEL`; "" if it is none that a number names."""
    word = match["noun"] or match["noun_of_nth"]
    if word is None:
        return match["zh_noun"] or match["counter"] or match["hao"] or match["hash"]
    forms = (word, word.removesuffix("s"), f"{word.removesuffix('ies')}y") if match["more"] else (word,)
    return next(
        (form for form in forms if form in label_nouns()), match["marked"] or (match["numbered"] and word) or ""
    )


# ---------------------------------------------------------------- change

_MOVED = "switch(?:e[sd]|ing)?|migrat(?:e[sd]?|ing)|mov(?:ed|ing)|chang(?:ed|ing)"
_WORD = r"\w[\w'/-]{0,40}(?:\.\w{1,20}){0,3}"
"""A word, with the dots of a file name or version but without the one that ends a sentence."""

_CHANGE = regex(
    r"\b(?:replac(?:e[sd]?|ing|ements?)|instead\s+of|no\s+longer|deprecat(?:e[sd]?|ing|ion)|rather\s+than"
    r"|now\s+us(?:es?|ing)"
    rf"|(?P<verb>{_MOVED})\s+(?:{_WORD}\s+){{0,4}}?(?P<way>from|to))\b"
    "|替[换換]|改用|不再|放[弃棄]|取消"
)


_CHANGE_WORDS = words_of(
    "replace replaces replaced replacing replacement replacements instead longer deprecate deprecates deprecated",
    "deprecating deprecation rather switch switches switched switching migrate migrates migrated migrating moved",
    "moving changed changing",
)
_NOW_WORDS = words_of("use uses using")
_CHANGE_CHARACTERS = regex("[替改不放取]")
"""Every change cue has one of `_CHANGE_WORDS`, one of `_NOW_WORDS` behind "now", or one of these characters."""


def change_cues(text: str) -> tuple[str, ...]:
    """Every change cue of `text` in order, folded, with single spaces.

    "switched the database to" is given as "switched to", so that the same change in other words is equal.
    """
    folded = fold(text)
    if not _may_have_change_cue(text, folded):
        return ()
    return tuple(
        f"{found['verb']} {found['way']}" if found["verb"] else " ".join(found[0].split())
        for found in _CHANGE.finditer(folded)
    )


def _may_have_change_cue(text: str, folded: str) -> bool:
    """Return False if `text` has none of the words that every change cue has one of."""
    words = latin_words(text)
    if not _CHANGE_WORDS.isdisjoint(words) or ("now" in words and not _NOW_WORDS.isdisjoint(words)):
        return True
    return not folded.isascii() and _CHANGE_CHARACTERS.search(folded) is not None
