"""One memory of another program, as its parser hands it over, and what a parser raises."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from mnemond.model.memory import (
    CATEGORIES,
    MAX_CONTENT,
    MAX_METADATA,
    MAX_TAG,
    MAX_TAGS,
    Described,
    EdgeType,
    format_us,
    parse_rfc3339,
)


class NotReadableError(Exception):
    """A file is not what it seemed to be: a sentence."""


class UnknownKindError(NotReadableError):
    """A file is whole, but of no kind that can be imported."""

    def __init__(self) -> None:
        super().__init__("it is nothing that can be imported")


class ItemLink(msgspec.Struct, frozen=True, omit_defaults=True):
    """A link of a memory to import to one before it, which `other` names by its key. `outgoing`: it leads there; of a
    causal one the cause is where it begins."""

    other: str
    edge_type: EdgeType
    weight: Annotated[float, Meta(ge=0, le=1)] = 0.5
    reason: str = ""
    outgoing: bool = False


class Item(Described, frozen=True, gc=True, kw_only=True, omit_defaults=True, tag_field="line", tag="memory"):
    """A memory to import. `source`: its name there, by which it is known when it is imported again. `created_at`: RFC
    3339. `origin`: the `source` of the memory here; `metadata` holds plain values. `links`: to memories before it."""

    source: str
    origin: str
    created_at: str | None = None
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    user_id: str | None = None
    agent_id: str | None = None
    links: list[ItemLink] = msgspec.field(default_factory=list)

    def key(self, kind: str) -> str:
        """Return a hash of its name there and of its text: it does not reveal them."""
        parts = f"{kind}\0{self.source}\0{self.content}"
        return f"{kind}:{hashlib.blake2b(parts.encode('utf-8', 'replace'), digest_size=16).hexdigest()}"


def pieces(text: str) -> list[str]:
    """Return a text in parts of at most `MAX_CONTENT` characters, cut at paragraphs, else at lines, else anywhere."""
    text = text.strip()
    found: list[str] = []
    while len(text) > MAX_CONTENT:
        cut = max(text.rfind("\n\n", 1, MAX_CONTENT), 0) or max(text.rfind("\n", 1, MAX_CONTENT), 0) or MAX_CONTENT
        found.append(text[:cut].strip())
        text = text[cut:].strip()
    return [each for each in (*found, text) if each]


def moment(value: object) -> str | None:
    """Return a time as RFC 3339: of a text in that form or ISO 8601, or of a number of seconds or milliseconds since
    1970; None for anything else."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        seconds = value / 1000 if abs(value) > 1e11 else value
        try:
            return format_us(int(seconds * 1_000_000))
        except (ValueError, OverflowError):
            return None
    if not isinstance(value, str):
        return None
    for form in (value.strip(), f"{value.strip().replace(' ', 'T', 1)}Z"):
        try:
            return format_us(parse_rfc3339(form))
        except ValueError:
            continue
    try:
        found = datetime.fromisoformat(value.strip())
    except ValueError:
        return None
    found = found if found.tzinfo is not None else found.replace(tzinfo=UTC)
    return format_us(int(found.timestamp() * 1_000_000))


def labels(value: object) -> tuple[str, ...]:
    """Return tags: the texts of a list, or of one text with commas, at most as many and as long as a memory has."""
    given = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    tidy = (str(each).strip().lstrip("#").replace("\0", "")[:MAX_TAG] for each in given if isinstance(each, str))
    return tuple(dict.fromkeys(each for each in tidy if each))[:MAX_TAGS]


def category_of(value: object, known: Mapping[str, str]) -> str:
    """Return the category here of a type there; "general" unless it is known."""
    name = str(value or "").casefold()
    return known.get(name) or (name if name in CATEGORIES else "general")


def plain(value: object, names: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return the plain values of an object as metadata, under other `names` where these have one; without those that do
    not fit."""
    found: dict[str, Any] = {}
    if isinstance(value, Mapping):
        for name, each in value.items():
            if not isinstance(each, str | int | float | bool | list) or each in ("", []):
                continue
            if isinstance(each, list) and not all(isinstance(one, str | int | float | bool) for one in each):
                continue
            if isinstance(each, int) and abs(each) >= 1 << 63:
                continue
            larger = {**found, (names or {}).get(str(name), str(name))[:64]: each}
            if len(msgspec.json.encode(larger)) <= MAX_METADATA - 64:
                found = larger
    return {name: each for name, each in found.items() if name != "dates"}
