"""What makes a memory grow stale or say little later: advice that is returned and never blocks (spec 6.7).

Secrets are not looked for here; they have rules and consequences of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from mnemond.text.line_references import is_line_reference
from mnemond.text.quality_patterns import PATTERNS, WORDLESS, WORDS, QualityPattern
from mnemond.text.tokens import latin_words

MOST_A_CODE = 3
"""Warnings of one kind; more would say the same again."""

MOST_WARNINGS = 20
"""Warnings of one memory."""

LONGEST_MATCH = 80
"""Characters of the text that a warning quotes."""

LONGEST_TEXT = 20_000
"""Characters looked at: more than a memory may have."""

MOST_TRIED = 200
"""Places one pattern may propose before it gives up: enough for any prose, a bound for a hostile text."""

_REFERENCE = "symbol_line"


class QualityWarning(msgspec.Struct, frozen=True):
    """One place of a text: a stable `code`, its `label` for people, the words `match` (cut) and their `offset`."""

    code: str
    label: str
    match: str
    offset: int


def quality_warnings(text: str) -> tuple[QualityWarning, ...]:
    """Warnings in the order of the text, at most 20, at most 3 of a code. `offset` counts characters of `text`."""
    looked_at = text[:LONGEST_TEXT]
    lowered = looked_at.lower()
    words = latin_words(looked_at) if looked_at.isascii() else None
    patterns = WORDLESS if words is not None and WORDS.isdisjoint(words) else PATTERNS
    warnings = [
        warning
        for pattern in patterns
        if pattern.may_be_in(lowered, words)
        for warning in _warnings(pattern, looked_at)
    ]
    if not warnings:
        return ()
    return tuple(sorted(warnings, key=lambda warning: (warning.offset, warning.code))[:MOST_WARNINGS])


def _warnings(pattern: QualityPattern, text: str) -> Iterator[QualityWarning]:
    found = 0
    for tried, match in enumerate(pattern.regex.finditer(text)):
        if found == MOST_A_CODE or tried == MOST_TRIED:
            return
        if pattern.code == _REFERENCE and not is_line_reference(match):
            continue
        if pattern.escape is not None and pattern.escape.search(text, max(0, match.start() - 40), match.start()):
            continue
        found += 1
        yield QualityWarning(pattern.code, pattern.label, match[0][:LONGEST_MATCH], match.start())
