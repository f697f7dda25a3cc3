"""What a store may be called. Checked at every entry point: a name becomes a directory."""

from __future__ import annotations

import re

from mnemond.errors import INVALID_PARAMS, FieldProblem, MnemonError

DEFAULT = "default"
_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def is_valid(name: str) -> bool:
    """Whether `name` matches the pattern of spec 15 (fullmatch: `$` would accept a trailing newline)."""
    return _PATTERN.fullmatch(name) is not None


def check(name: str) -> str:
    """The name itself. Raises MnemonError(INVALID_PARAMS)."""
    if not is_valid(name):
        message = (
            f"store is {name[:40]!a}; a store's name starts with a letter or digit and has at most 64 letters,"
            ' digits, "_" and "-"'
        )
        raise MnemonError(INVALID_PARAMS, message, problems=(FieldProblem("store", message),), outcome="rejected")
    return name
