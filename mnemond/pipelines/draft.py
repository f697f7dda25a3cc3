"""A memory as a caller wants it stored, and everything that may be wrong with it, reported at once."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec

from mnemond.errors import FieldProblem
from mnemond.model.insight import CATEGORIES, ENTITY_MODES, Scope
from mnemond.pipelines.fields import choice_problems, time_problems
from mnemond.pipelines.plain_metadata import memory_problems
from mnemond.text.marks import LONGEST_RUN, long_run_at
from mnemond.text.secrets import redact

MAX_CONTENT = 8000
"""Characters (code points after NFC) of one memory (spec 8; bytes would cut Chinese at a third)."""
MOST_COMPOSED = 4
"""Code points that NFC makes one of at most, in any text people write (three for Hangul, a letter and three marks)."""
MAX_TAGS, MAX_TAG = 20, 100
MAX_ENTITIES, MAX_ENTITY = 50, 200
MAX_PROBLEMS = 20
"""Bad entries of one list that are told; more would say the same."""
REMEMBERED_NAMES, LONGEST_REMEMBERED = 1024, 64
"""Names that are known to be no secret, or one, and how many characters such a name has at most: the same few sources
and conversations name most memories."""
MIN_IMPORTANCE, MAX_IMPORTANCE = 1, 5
NAMES = ("source", "channel", "conversation_id", "session_id", "user_id", "agent_id", "op_id")
"""Fields that name something, which may be anything that can be stored."""
STORED_NAMES = NAMES[:-1]
"""Those that stand in the row as they come."""


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller wants remembered, as it came. `created_at` is RFC 3339 or None for now; `metadata` holds plain
    values (spec 4)."""

    content: str
    category: str = "general"
    importance: int = 3
    tags: Sequence[str] = ()
    entities: Sequence[str] = ()
    entity_mode: str = "merge"
    source: str = "user"
    channel: str = "manual"
    conversation_id: str | None = None
    scope: Scope = Scope()
    created_at: str | None = None
    metadata: Mapping[str, object] = {}
    no_diff: bool = False
    dry_run: bool = False
    allow_secret: bool = False


def problems_of(fields: dict[str, object], stored: Sequence[str] = STORED_NAMES) -> list[FieldProblem]:
    """Everything wrong with the given fields of a draft; fields that are absent are not judged.

    Takes a mapping, not a Draft, so that a request with one field of the wrong type still hears about all others.
    `stored` are the names that would be written: none of them may be a secret, unless `allow_secret` is among the
    fields and true.
    """
    found: list[FieldProblem] = []
    if "content" in fields:
        found += _content_problems(str(fields["content"]))
    if "category" in fields:
        found += choice_problems("category", str(fields["category"]), CATEGORIES)
    if "entity_mode" in fields:
        found += choice_problems("entity_mode", str(fields["entity_mode"]), ENTITY_MODES)
    if isinstance(importance := fields.get("importance"), int) and not MIN_IMPORTANCE <= importance <= MAX_IMPORTANCE:
        allowed = f"an integer from {MIN_IMPORTANCE} to {MAX_IMPORTANCE}"
        found.append(FieldProblem("importance", f"importance is {str(importance)[:20]}; it must be {allowed}"))
    found += _list_problems("tags", fields.get("tags"), MAX_TAGS, MAX_TAG)
    found += _list_problems("entities", fields.get("entities"), MAX_ENTITIES, MAX_ENTITY)
    if isinstance(metadata := fields.get("metadata"), Mapping):
        found += memory_problems(metadata)
    for name in NAMES:
        if "\0" in str(fields.get(name) or ""):
            found.append(FieldProblem(name, f"{name} contains a NUL character, which cannot be stored"))
    if fields.get("allow_secret") is not True:
        found += _secret_problems(fields, stored)
    if (created_at := fields.get("created_at")) is not None:
        found += time_problems("created_at", str(created_at))
    return found


def _secret_problems(fields: dict[str, object], stored: Sequence[str]) -> list[FieldProblem]:
    """A name is refused, not redacted: redacted ones of different people would be the same."""
    found = []
    for name in stored:
        if isinstance(value := fields.get(name), str) and (kind := _secret_in(value)):
            sentence = f"{name} looks like a secret ({kind}): give it another value"
            found.append(FieldProblem(name, f"{sentence}, or allow_secret (--allow-secret) to store it as it is"))
    return found


def _secret_in(name: str) -> str | None:
    """The kind of the first secret in a name, if there is one."""
    return _secret_remembered(name) if len(name) <= LONGEST_REMEMBERED else _first_kind(name)


@lru_cache(maxsize=REMEMBERED_NAMES)
def _secret_remembered(name: str) -> str | None:
    return _first_kind(name)


def _first_kind(name: str) -> str | None:
    kinds = redact(name).kinds  # finds also what hides between signs that do not show
    return kinds[0] if kinds else None


def forget_cached() -> None:
    """Let go of remembered names, so that nothing of a purged memory stays."""
    _secret_remembered.cache_clear()


def _content_problems(content: str) -> list[FieldProblem]:
    if len(content) > MOST_COMPOSED * MAX_CONTENT:  # looking at it more closely would take long, and change nothing
        message = f"content is {len(content):,} characters; the limit is {MAX_CONTENT:,}"
        return [FieldProblem("content", message)]
    if (at := long_run_at(content)) is not None:
        message = f"content has more than {LONGEST_RUN} combining marks in a row at position {at + 1:,}"
        return [FieldProblem("content", message)]
    length = len(unicodedata.normalize("NFC", content))
    if length > MAX_CONTENT:
        message = f"content is {length:,} characters; the limit is {MAX_CONTENT:,}"
        return [FieldProblem("content", message)]
    if not content.strip():
        return [FieldProblem("content", f"content is empty ({length} characters); it needs 1 to {MAX_CONTENT:,}")]
    if "\0" in content:
        position = content.index("\0") + 1
        return [FieldProblem("content", f"content has a NUL character at position {position:,}; remove it")]
    return []


def _list_problems(field: str, values: object, most: int, longest: int) -> list[FieldProblem]:
    if not isinstance(values, list | tuple):
        return []
    found = []
    distinct = len(set(values))
    if distinct > most:
        found.append(FieldProblem(field, f"{field} has {distinct} different entries; the limit is {most}"))
    for position, value in enumerate(values):
        name = f"{field}[{position}]"
        if len(found) >= MAX_PROBLEMS:
            break
        if len(value) > longest:
            found.append(FieldProblem(name, f"{name} is {len(value):,} characters; the limit is {longest}"))
        elif long_run_at(value) is not None:
            found.append(FieldProblem(name, f"{name} has more than {LONGEST_RUN} combining marks in a row"))
        elif not value.strip():
            found.append(FieldProblem(name, f"{name} is empty; it needs 1 to {longest} characters"))
        elif "\0" in value:
            found.append(FieldProblem(name, f"{name} contains a NUL character, which cannot be stored"))
    return found
