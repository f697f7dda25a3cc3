"""What makes two similar texts contradict each other: negation, numbers, and words of change (spec 6.5).

A difference in any of them turns a near-duplicate into a conflict, so each function leaves out what looks like a
contrast without being one: "not only", 区别, the 256 of sha256.
"""

from __future__ import annotations

import re

from mnemond.text.calendar_dates import whole_dates
from mnemond.text.tokens import fold

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
"""What any of it starts with: a cheap test before the alternatives are tried."""

_POLARITY_ASCII = re.compile(rf"(?={_STARTS})(?:(?P<none>{_NOT_NEGATION})|{_SENTENCE}|(?P<negator>{_NEGATION}))")
_POLARITY = re.compile(
    rf"(?={_STARTS}|[^\x00-\x7f])(?:(?P<none>{_NOT_NEGATION}|{_NOT_NEGATION_CHINESE})|{_SENTENCE}"
    rf"|(?P<negator>{_NEGATION}|{_NEGATION_CHINESE}))"
)
_MAY_NEGATE = re.compile(r"no[tr ]|n't|nt\b|never|without|neither|no(?:body|where|\s)|[不没沒别別]")


def polarity(text: str) -> int:
    """0 or 1: the parity of the negators in `text` (spec 6.5).

    "no longer" and 没有 are one negator, and so is "neither … nor": a "nor" goes on with the negation of its sentence.
    To the list of the specification belong here nobody, nothing, nowhere, and "dont" as it is often typed.
    """
    folded = fold(text).replace("’", "'")
    if _MAY_NEGATE.search(folded) is None:
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
"""What may stand right behind a number and leaves it one: units, ordinals, and a plural or magnitude letter."""

_FILE = (
    r"\.(?:py|pyi|go|js|jsx|ts|tsx|rs|c|h|cc|cpp|hpp|java|kt|rb|php|cs|swift|sh|md|rst|txt|toml|ya?ml|json|jsonl|xml|html?"
    r"|css|sql|lock|log|cfg|conf|ini|csv|tar|gz|zip|png|jpe?g|pdf)\b"
)
_IDENTIFIER = re.compile(rf"://|{_FILE}|^[#@]|^[.~]{{0,2}}/|^(?=[0-9-]*[a-f])[0-9a-f-]{{7,}}$")
_NUMBER = re.compile(
    r"(?<![a-z0-9_#@./])(?<![a-z_]-)(?P<minus>-?)(?P<currency>[$€£¥]?)v?"
    r"(?P<digits>[0-9]{1,3}(?:[,_][0-9]{3})+(?![0-9])|[0-9]+)"
    r"(?P<rest>(?:\.[0-9]+){0,6}(?:(?<=[0-9])-?(?:rc|alpha|beta|pre|dev)[.-]?[0-9]{1,4})?|(?:[:/][0-9]+){1,4})"
    rf"(?P<unit>%|(?:{_UNIT})(?![a-z0-9_]))?(?![a-z0-9_]|[.:/][0-9])"
)
_PERCENT = re.compile(r"(?<=[0-9])\s?(?:%|percent\b|per\s+cent\b|pct\b)")
_DIGIT = re.compile("[0-9０-９]")
_EDGES = "()[]{}<>\"'`.,;:!?*。，；：！？、（）"


def numbers(text: str) -> frozenset[str]:
    """The numbers of `text` in one spelling (spec 6.5): integers, decimals, percent, versions, clock times, dates.

    1,000 is 1000, 10k is 10000, "50 percent" is 50%, v1.2.3 is 1.2.3, "May 8, 2023" is 2023-05-08; units are left out
    (100ms and 100 ms are alike). Zeros at the end of a decimal fall away beside a currency, unit or percent sign and
    below one; elsewhere only a fraction of nothing but zeros does, because 1.20 and 1.2 are different versions and to
    take a change for a repetition would lose it. Digits of names do not count: sha256, gpt-4, #12, file names, URLs,
    and hexadecimal ids.
    """
    if _DIGIT.search(text) is None:
        return frozenset()
    folded = _PERCENT.sub("%", fold(text))
    dates, rest = whole_dates(folded)
    found = {day.isoformat() for day in dates}
    for word in rest.split():
        word = word.strip(_EDGES)
        if _DIGIT.search(word) and _IDENTIFIER.search(word) is None:
            found.update(map(_normal, _NUMBER.finditer(word)))
    return frozenset(found)


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


# ---------------------------------------------------------------- change

_MOVED = "switch(?:e[sd]|ing)?|migrat(?:e[sd]?|ing)|mov(?:ed|ing)|chang(?:ed|ing)"
_WORD = r"\w[\w'/-]{0,40}(?:\.\w{1,20}){0,3}"
"""A word, with the dots of a file name or version but not the one that ends a sentence."""

_CHANGE = re.compile(
    r"\b(?:replac(?:e[sd]?|ing|ements?)|instead\s+of|no\s+longer|deprecat(?:e[sd]?|ing|ion)|rather\s+than"
    r"|now\s+us(?:es?|ing)"
    rf"|(?P<verb>{_MOVED})\s+(?:{_WORD}\s+){{0,4}}?(?P<way>from|to))\b"
    "|替[换換]|改用|不再|放[弃棄]|取消"
)


def change_cues(text: str) -> tuple[str, ...]:
    """Every change cue of `text` in order, folded, with single spaces (spec 6.5).

    "switched the database to" is given as "switched to", so that the same change told in other words looks alike.
    """
    cues = []
    for found in _CHANGE.finditer(fold(text)):
        verb, way = found["verb"], found["way"]
        cues.append(f"{verb} {way}" if verb else " ".join(found[0].split()))
    return tuple(cues)


def change_cue(text: str) -> str | None:
    """The first change cue of `text`, or None."""
    return next(iter(change_cues(text)), None)
