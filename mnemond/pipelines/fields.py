"""Rules that fields of several requests share, as sentences for whoever sent them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from mnemond.errors import FieldProblem
from mnemond.model.timestamp import parse_rfc3339

LONGEST_COMPARED = 64
"""Characters of a value that are compared with the choices: the comparison takes time with the square of them."""


def choice_problems(field: str, value: str, choices: Sequence[str]) -> list[FieldProblem]:
    """Nothing when `value` is one of `choices`, else what they are and which is nearest."""
    if value in choices:
        return []
    near = difflib.get_close_matches(value[:LONGEST_COMPARED].casefold(), choices, n=1)
    suggestion = f'; did you mean "{near[0]}"?' if near else ""
    message = f"{field} is {value[:40]!a}; it must be one of {', '.join(choices)}{suggestion}"
    return [FieldProblem(field, message)]


def time_problems(field: str, value: str) -> list[FieldProblem]:
    """Nothing when `value` is an RFC 3339 timestamp."""
    try:
        parse_rfc3339(value)
    except ValueError as error:
        return [FieldProblem(field, f"{field}: {error}")]
    return []
