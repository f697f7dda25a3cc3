"""Judgements on the text of a memory by rules alone: advice about its wording, and whether it is worth keeping.

Neither blocks a write. Secrets are not searched for here; they have rules and consequences of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import msgspec

from mnemond.model.outcomes import QualityDetail, Refusal, Substance
from mnemond.text.cues import Reading, reading
from mnemond.text.frame_lists import lists as frame_lists
from mnemond.text.resources import fill, on_first_use, read, regex
from mnemond.text.tokens import latin_words, tokens

# ---------------------------------------------------------------- warnings

MAX_PER_CODE: Final = 3
"""Warnings of one code; more would say the same again."""

MAX_WARNINGS: Final = 20
"""Warnings of one memory."""

MAX_MATCH: Final = 80
"""Characters of the text that a warning quotes."""

MAX_TEXT: Final = 20_000
"""Characters searched: more than a memory may have."""

MAX_TRIED: Final = 200
"""Matches of one pattern that are looked at: enough for any prose, a bound for a hostile text."""

_EXCUSE: Final = 40
"""Characters before a match that may excuse it."""


class QualityPattern(msgspec.Struct, frozen=True):
    """A pattern of warnings; data/quality.toml describes the fields."""

    code: str
    label: str
    needles: tuple[str, ...]
    regex: re.Pattern[str]
    unless_after: re.Pattern[str] | None
    words: frozenset[str]
    sign: str

    def may_be_in(self, lowered: str, words: frozenset[str] | None) -> bool:
        """Return False if the pattern cannot match. `words` are the `latin_words` of the text, None if it is not
        ASCII."""
        if words is not None and (self.sign not in lowered or (self.words and self.words.isdisjoint(words))):
            return False
        return any(needle in lowered for needle in self.needles)


def quality_warnings(text: str) -> tuple[QualityDetail, ...]:
    """Warnings in the order of the text, at most `MAX_WARNINGS`, `MAX_PER_CODE` of a code."""
    searched, lists = text[:MAX_TEXT], _lists()
    lowered = searched.lower()
    words = latin_words(searched) if searched.isascii() else None
    patterns = lists.wordless if words is not None and lists.words.isdisjoint(words) else lists.patterns
    warnings = [
        warning for pattern in patterns if pattern.may_be_in(lowered, words) for warning in _warnings(pattern, searched)
    ]
    if not warnings:
        return ()
    return tuple(sorted(warnings, key=lambda warning: (warning.offset, warning.code))[:MAX_WARNINGS])


def _warnings(pattern: QualityPattern, text: str) -> Iterator[QualityDetail]:
    found = 0
    for tried, match in enumerate(pattern.regex.finditer(text)):
        if found == MAX_PER_CODE or tried == MAX_TRIED:
            return
        start = match.start()
        if pattern.code == "symbol_line" and not _is_line_reference(match):
            continue
        if pattern.unless_after is not None and pattern.unless_after.search(text, max(0, start - _EXCUSE), start):
            continue
        found += 1
        yield QualityDetail(pattern.code, pattern.label, match[0][:MAX_MATCH], start)


_LONGER_NUMBER: Final = regex(r"[A-Za-z0-9_]")
_TAGGED: Final = regex(r"[.-]?[A-Za-z0-9_]|[@/%]")
_LETTERS: Final = regex(r"[A-Za-z]+")


def _is_line_reference(match: re.Match[str]) -> bool:
    """Return True if `match`, of a name or path, a colon and a number, is a place in code. Bounded time.

    A file extension makes it one. Otherwise hosts, paths of images, known services, versions and settings are none, nor
    is a bare word before one digit, or before four, which are a port.
    """
    lists = _lists().line_reference
    name, _, rest = match[0].partition(":")
    number = rest.partition(":")[0]
    suffix = name.rpartition(".")[2].lower()
    after = match.string[match.end() : match.end() + 2]
    if "." in name and suffix in lists.code_suffixes and "://" not in match[0]:
        return _LONGER_NUMBER.match(after) is None
    if _TAGGED.match(after) or "/" in name or "\\" in name or ("." in name and suffix in lists.host_suffixes):
        return False
    plain = name.removesuffix("()")
    if plain.lower() in lists.not_code:
        return False
    is_humped = plain[1:] != plain[1:].lower() and not plain.isupper()  # as in parseConfig or HttpServer
    if name.endswith("()") or "." in plain or "_" in plain.strip("_") or is_humped:
        return True
    # A capital opens a heading or names something else ("Score:12", "Matthew:15").
    return 2 <= len(number) <= 3 and plain.islower() and _LETTERS.fullmatch(plain) is not None


# ---------------------------------------------------------------- substance

MIN_CONFIDENCE: Final = 0.7
"""Confidence in a discard, 1 - score, from which on a text is discarded."""

# Hundredths, so that sums are exact.
BASE, CAUSAL, PREFERRED, REPAIR, REFERENCE, LONG = 50, 25, 20, 20, 15, 10
GREETING, SHORT, QUESTION = 50, 25, 20

LONG_TOKENS, SHORT_TOKENS, GREETING_TOKENS = 8, 3, 4
"""Content tokens from which on a text is long, below which it is short, and up to which it can be a mere greeting."""

GREETING_PAIRS: Final = 10
"""`GREETING_TOKENS` of a text that is not all ASCII: pairs of characters overlap, two or more to a word."""

_STATEMENT: Final = regex(r"[.!…;]\s|[。！；]|[^?？\s][^\S\n]*\n")


def substance(text: str, *, has_reference: bool, causal: bool, min_confidence: float = MIN_CONFIDENCE) -> Substance:
    """Score `text` by the cues it has; discard it if 1 - score reaches `min_confidence` (0…1).

    `has_reference`: it names an entity, a number or a date. `causal`: it has a causal cue.
    """
    read = reading(text)
    points = BASE + _gains(read, has_reference=has_reference, causal=causal) - _losses(text, read)
    score = max(0, min(100, points)) / 100
    if round(1 - score, 9) < min_confidence:
        return Substance(score, "keep")
    return Substance(score, "discard", _refusal(text, read))


def _refusal(text: str, read: Reading) -> Refusal:
    if _is_courtesy(read):
        return "courtesy"
    if only_questions(text):
        return "question"
    return "short" if len(read.words) < SHORT_TOKENS else "weak"


def only_questions(text: str) -> bool:
    """Return True if `text` ends in a question mark, and no sentence before ends otherwise."""
    end = text.rstrip().rstrip("\"'”’)）」』").rstrip()
    return end.endswith(("?", "？")) and _STATEMENT.search(end) is None


def courtesy_tokens() -> frozenset[str]:
    """The tokens of greetings, thanks and assent."""
    return _lists().courtesies


def _gains(read: Reading, *, has_reference: bool, causal: bool) -> int:
    return (
        CAUSAL * (causal or read.has("decision"))
        + PREFERRED * read.has("preference")
        + REPAIR * (read.has("error") or read.has("fix") or read.has("works"))
        + REFERENCE * (has_reference or (len(read.words) < SHORT_TOKENS and _is_about_user(read)))
        + LONG * (len(read.words) >= LONG_TOKENS)
    )


def _is_about_user(read: Reading) -> bool:
    """Return True of a whole statement about the user, however short: "User is vegetarian"."""
    subject, _, said = read.plain.strip().removeprefix("the ").partition(" ")
    verb, _, value = said.partition(" ")
    known = frame_lists()
    return known.pronouns.get(subject) == "user" and verb in known.relations and bool(value.strip())


def _losses(text: str, read: Reading) -> int:
    short = len(read.words) < SHORT_TOKENS
    return GREETING * _is_courtesy(read) + SHORT * short + QUESTION * only_questions(text)


def _is_courtesy(read: Reading) -> bool:
    most = GREETING_TOKENS if read.plain.isascii() else GREETING_PAIRS
    return len(read.words) <= most and read.words <= courtesy_tokens()


# ---------------------------------------------------------------- lists


class _LineReference(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    code_suffixes: frozenset[str]
    host_suffixes: frozenset[str]
    not_code: frozenset[str]


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    code: str
    needles: tuple[str, ...]
    alternatives: tuple[str, ...]
    words: frozenset[str] = frozenset()
    sign: str = ""
    unless_after: str = ""


class _QualityFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """data/quality.toml"""

    courtesies: tuple[str, ...]
    line_reference: _LineReference
    labels: dict[str, str]
    parts: dict[str, str]
    pattern: tuple[_Row, ...]


class _Lists(msgspec.Struct, frozen=True):
    """`wordless` are the patterns without words: the only ones that match an ASCII text without any of `words`."""

    courtesies: frozenset[str]
    line_reference: _LineReference
    patterns: tuple[QualityPattern, ...]
    wordless: tuple[QualityPattern, ...]
    words: frozenset[str]


@on_first_use
def _lists() -> _Lists:
    file = read("quality", _QualityFile)
    parts: dict[str, str] = {}
    for name, part in file.parts.items():
        parts[name] = fill(part, parts)
    patterns = tuple(
        QualityPattern(
            code=row.code,
            label=file.labels[row.code],
            needles=row.needles,
            regex=regex(fill("|".join(row.alternatives), parts), re.IGNORECASE),
            unless_after=regex(rf"(?:{fill(row.unless_after, parts)})\Z", re.IGNORECASE) if row.unless_after else None,
            words=row.words,
            sign=row.sign,
        )
        for row in file.pattern
    )
    return _Lists(
        courtesies=frozenset(token for word in file.courtesies for token in tokens(word)),
        line_reference=file.line_reference,
        patterns=patterns,
        wordless=tuple(pattern for pattern in patterns if not pattern.words),
        words=frozenset[str]().union(*(pattern.words for pattern in patterns)),
    )
