"""What somebody wants noted about a link: checked, without secrets, as the text that is stored."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping
from typing import Literal, NamedTuple

import msgspec

from mnemond.errors import FieldProblem
from mnemond.model.edge import MAX_METADATA
from mnemond.text.secrets import redact

MADE_BY = ("host", "user")
"""Who may say that a link was made by them (spec 8): an agent's host, or a person."""

MAX_TOLD = 5
"""Bad entries that are told; more would say the same."""

LARGEST_INT = 2**63 - 1
"""JSON readers and SQLite agree on integers up to here."""

_json = msgspec.json.Encoder()


class Noted(NamedTuple):
    """The text of a JSON object, and the kinds of secrets that were taken out of it."""

    text: str
    redacted: tuple[str, ...]


def metadata_problems(
    metadata: Mapping[str, object] | None, sub_type: str | None, created_by: str | None
) -> list[FieldProblem]:
    """Everything wrong with the metadata of a link. Of what is too large nothing else is looked at."""
    if too_large := _size_problems(_json.encode(metadata or {})):
        return too_large
    found: list[FieldProblem] = []
    for key, value in (metadata or {}).items():
        if not _is_plain(value):
            sentence = f"metadata.{key[:40]!a} must be a text, a number, true, false, null or a list of these"
            found.append(FieldProblem("metadata", sentence))
    found = found[:MAX_TOLD]
    given = dict(metadata or {})
    if sub_type is not None and given.get("sub_type", sub_type) != sub_type:
        found.append(FieldProblem("sub_type", "sub_type and metadata.sub_type differ; give one of them"))
    maker = given.get("created_by", created_by)
    if maker is not None and maker not in MADE_BY:
        found.append(FieldProblem("metadata", "metadata.created_by says who makes the link; it must be host or user"))
    elif created_by is not None and maker != created_by:
        found.append(FieldProblem("created_by", "created_by and metadata.created_by differ; give one of them"))
    return found


def maker_of(metadata: Mapping[str, object] | None, created_by: str | None) -> Literal["host", "user"]:
    """Who makes a link whose metadata have no problems: a person, unless it is said to be the host."""
    return "host" if "host" in (created_by, (metadata or {}).get("created_by")) else "user"


def noted(
    metadata: Mapping[str, object] | None, sub_type: str | None, created_by: str, *, allow_secret: bool
) -> tuple[Noted, list[FieldProblem]]:
    """Metadata without problems as they are stored, every text in NFC and without secrets; and what is wrong then:
    the mark of a secret may be longer than the secret."""
    kinds: dict[str, None] = {}
    wanted = dict(metadata or {})
    if sub_type is not None:
        wanted["sub_type"] = sub_type
    clean = dict(_clean(key, value, kinds, allow_secret=allow_secret) for key, value in wanted.items())
    encoded = _json.encode(clean | {"created_by": created_by})
    return Noted(encoded.decode(), tuple(sorted(kinds))), _size_problems(encoded)


def _size_problems(encoded: bytes) -> list[FieldProblem]:
    if len(encoded) <= MAX_METADATA:
        return []
    sentence = f"metadata is {len(encoded):,} bytes of JSON; the limit is {MAX_METADATA:,}"
    return [FieldProblem("metadata", sentence)]


def _is_plain(value: object) -> bool:
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
        if not isinstance(each, str):
            return each
        text = unicodedata.normalize("NFC", each)
        return text if allow_secret else _value(name, text, kinds)

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
