"""What somebody wants noted with a memory or a link: an object of plain values, checked, without secrets, as text."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping
from typing import Final

import msgspec

from mnemond.errors import FieldProblem
from mnemond.model.edge import MAX_METADATA
from mnemond.text.secrets import redact

FIELD: Final = "metadata"

MAX_TOLD: Final = 5
"""Bad entries that are told; more would say the same."""

LARGEST_INT: Final = 2**63 - 1
"""JSON readers and SQLite agree on integers up to here."""

RESERVED: Final = "dates"
"""Of a memory: the dates its text speaks of, which the store notes itself (spec 6.6)."""

_json = msgspec.json.Encoder()


def plain_problems(metadata: Mapping[str, object]) -> list[FieldProblem]:
    """What is wrong with an object that should hold plain values: texts, numbers, true, false, null and lists of these,
    in at most `MAX_METADATA` bytes (spec 4). Of what is too large nothing else is looked at."""
    if too_large := size_problems(metadata):
        return too_large
    return [
        FieldProblem(FIELD, f"metadata.{key[:40]!a} must be a text, a number, true, false, null or a list of these")
        for key, value in metadata.items()
        if not is_plain(value)
    ][:MAX_TOLD]


def memory_problems(metadata: Mapping[str, object]) -> list[FieldProblem]:
    """The same of what is noted with a memory, where one name is taken."""
    found = plain_problems(metadata)
    if RESERVED in metadata:
        sentence = f"metadata.{RESERVED} are the dates a text speaks of, which are noted unasked; use another name"
        found.append(FieldProblem(FIELD, sentence))
    return found


def size_problems(metadata: Mapping[str, object]) -> list[FieldProblem]:
    """What is wrong with an object that takes more than `MAX_METADATA` bytes of JSON."""
    size = len(_json.encode(metadata))
    if size <= MAX_METADATA:
        return []
    return [FieldProblem(FIELD, f"metadata is {size:,} bytes of JSON; the limit is {MAX_METADATA:,}")]


def without_secrets(metadata: Mapping[str, object], *, allow_secret: bool) -> tuple[dict[str, object], tuple[str, ...]]:
    """Plain values with every text in NFC and, unless `allow_secret`, without secrets; and the kinds of these."""
    kinds: dict[str, None] = {}
    clean = dict(_clean(key, value, kinds, allow_secret=allow_secret) for key, value in metadata.items())
    return clean, tuple(sorted(kinds))


def as_text(metadata: Mapping[str, object]) -> str:
    """The JSON that is stored."""
    return _json.encode(metadata).decode()


def is_plain(value: object) -> bool:
    """Whether somebody may note this with a memory. What is not plain the store noted itself."""
    return all(map(_is_scalar, value)) if isinstance(value, list) else _is_scalar(value)


def _is_scalar(value: object) -> bool:
    match value:
        case bool() | str() | None:
            return True
        case int():
            return abs(value) <= LARGEST_INT
        case float():
            return math.isfinite(value)
        case _:
            return False


def _clean(key: str, value: object, kinds: dict[str, None], *, allow_secret: bool) -> tuple[str, object]:
    key = unicodedata.normalize("NFC", key)
    name = key if allow_secret else _without_secrets(key, kinds)

    def cleaned(each: object) -> object:
        if isinstance(each, bool) or not isinstance(each, int | float | str):
            return each
        told = unicodedata.normalize("NFC", str(each))
        shown = told if allow_secret else _value(name, told, kinds)
        return shown if isinstance(each, str) or shown != told else each

    return name, [cleaned(each) for each in value] if isinstance(value, list) else cleaned(value)


def _value(name: str, text: str, kinds: dict[str, None]) -> str:
    """A value that was redacted beside its name: "password" tells what looks like any other word."""
    lead = f"{name}="
    found = redact(lead + text)
    if not found.text.startswith(lead):
        return _without_secrets(text, kinds)
    kinds.update(dict.fromkeys(found.kinds))
    return found.text[len(lead) :]


def _without_secrets(text: str, kinds: dict[str, None]) -> str:
    found = redact(text)
    kinds.update(dict.fromkeys(found.kinds))
    return found.text
