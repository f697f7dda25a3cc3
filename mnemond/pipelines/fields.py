"""Rules that fields of several requests share, as sentences for whoever sent them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from mnemond.errors import FieldProblem
from mnemond.model.timestamp import parse_rfc3339
from mnemond.text.secrets import find_secrets

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


def op_id_problems(op_id: str) -> list[FieldProblem]:
    """Nothing when a write may be called so. The name is kept as long as the history is, so it is no place for a
    secret; it is refused, not redacted: redacted ones of different writes would be the same."""
    found = []
    if "\0" in op_id:
        found.append(FieldProblem("op_id", "op_id contains a NUL character, which cannot be stored"))
    if secrets := find_secrets(op_id):
        sentence = f"op_id looks like a secret ({secrets[0].kind}): give the write another name"
        found.append(FieldProblem("op_id", sentence))
    return found


def with_op_id(problems: Sequence[FieldProblem], op_id: str | None) -> list[FieldProblem]:
    """Problems of a write, and those of its name that are not among them."""
    more = [] if op_id is None else op_id_problems(op_id)
    return [*problems, *(each for each in more if each not in problems)]
