"""Texts that show an expression from every side, worked out from its parse tree rather than drawn by chance."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import cycle, islice
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

_FEW = 600
"""Combinations of two parts that are all made."""

_CATEGORIES = {"DIGIT": "7", "SPACE": " ", "WORD": "w", "NOT_SPACE": "w", "NOT_WORD": " ", "NOT_DIGIT": "w"}
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)


def spellings(pattern: re.Pattern[str]) -> list[str]:
    """Texts among which every alternative and every optional part of `pattern` stands at least once.

    Every combination only where there are few: else as many texts as the longest list of alternatives has. What it
    looks for around a match is left out, so that some of them may not match. First come those with the alternatives
    that are ASCII, then those with all.
    """
    tree = _parser.parse(pattern.pattern, pattern.flags)
    return _Spelling(only_ascii=True).of_sequence(tree) + _Spelling(only_ascii=False).of_sequence(tree)


class _Spelling:
    """One walk through a parse tree, which remembers what its groups were spelled like."""

    def __init__(self, *, only_ascii: bool) -> None:
        self._only_ascii = only_ascii
        self._groups: dict[int, list[str]] = {}

    def of_sequence(self, items: Iterable[Any]) -> list[str]:
        made = [""]
        for kind, value in items:
            made = _joined(made, self._of(kind, value))
        return made

    def _of(self, kind: Any, value: Any) -> list[str]:
        if kind is op.LITERAL:
            return [chr(value)]
        if kind is op.IN:
            return self._chosen(_members(value))
        if kind is op.BRANCH:
            return self._chosen([text for branch in value[1] for text in self.of_sequence(branch)])
        if kind is op.SUBPATTERN:
            self._groups[value[0]] = self.of_sequence(value[-1])
            return self._groups[value[0]]
        if kind in _REPEATS:
            least, _, body = value
            return [text * max(1, least) for text in self.of_sequence(body)] + ([""] if least == 0 else [])
        if kind is op.GROUPREF:
            return self._groups[value]
        return ["w"] if kind in (op.ANY, op.NOT_LITERAL) else [""]

    def _chosen(self, texts: list[str]) -> list[str]:
        return [text for text in texts if text.isascii()] or texts if self._only_ascii else texts


def _joined(left: Sequence[str], right: Sequence[str]) -> list[str]:
    if len(left) * len(right) <= _FEW:
        return [first + second for first in left for second in right]
    most = max(len(left), len(right))
    return [first + second for first, second in islice(zip(cycle(left), cycle(right), strict=False), most)]


def _members(members: Sequence[tuple[Any, Any]]) -> list[str]:
    """The characters of a set, of a range its first; for a set that leaves characters out, two of most."""
    if members[0][0] is op.NEGATE:
        return [" ", "w"]
    return [
        _CATEGORIES[str(value).removeprefix("CATEGORY_")]
        if kind is op.CATEGORY
        else chr(value[0] if kind is op.RANGE else value)
        for kind, value in members
    ]
