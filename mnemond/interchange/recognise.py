"""What a file is, by its name and its content, and its memories."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

import msgspec

from mnemond.interchange import json_files, notes, sessions
from mnemond.interchange.items import Item, NotReadableError, UnknownKindError
from mnemond.interchange.json_stream import Open, streamed_document
from mnemond.interchange.sessions import Line
from mnemond.interchange.sqlite_files import MEMMAN, MNEMON
from mnemond.store.imports import OWN

T = TypeVar("T")

SERVER_MEMORY: Final = "server-memory"
CLAUDE_MD: Final = "claude-md"
CLAUDE_CODE: Final = "claude-code"
NOTES: Final = "notes"

KINDS: Final = (OWN, CLAUDE_CODE, CLAUDE_MD, NOTES, SERVER_MEMORY, *json_files.PARSERS, MNEMON, MEMMAN, *sessions.KINDS)
"""What can be imported."""

HEAD: Final = 4096
"""Bytes of a file by which an export of mnemond's is recognised."""

_MARKDOWN: Final = {CLAUDE_MD: notes.claude_md, CLAUDE_CODE: notes.claude_memory, NOTES: notes.note}


def is_own(head: bytes) -> bool:
    """Return True if a file that begins like this is an export of mnemond's."""
    return head.startswith(b'{"mnemond":')


def kind_of_note(path: str) -> str:
    """Return the kind of a markdown file by its path."""
    parts = path.split("/")
    if parts[-1] in ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md"):
        return CLAUDE_MD
    return CLAUDE_CODE if parts[-2:-1] == ["memory"] else NOTES


def items_of(path: str, content: bytes, kind: str | None) -> tuple[str, list[Line]]:
    """Return the kind of a file, and its memories and parts of conversations. `kind`: what it is said to be, None to
    recognise it.

    Raises NotReadableError for a file that is something else.
    """
    if path.endswith(".md"):
        kind = kind or kind_of_note(path)
        if kind not in _MARKDOWN:
            raise NotReadableError(f"it is markdown, which {kind} has not")
        return kind, list(_checked(_MARKDOWN[kind](path, _text(content))))
    document = _document(content)
    if kind == SERVER_MEMORY or (kind is None and document is None):
        lines = list(json_files.of_lines(content.split(b"\n")))
        if kind is None and not any(each.get("type") in ("entity", "relation") for each in lines):
            raise UnknownKindError
        return SERVER_MEMORY, list(_checked(json_files.server_memory(lines)))
    if isinstance(document, dict) and document.get("type") in ("entity", "relation") and kind is None:
        return SERVER_MEMORY, list(_checked(json_files.server_memory([document])))
    found = kind or json_files.kind_of(document)
    if found is None or found not in json_files.PARSERS:
        raise UnknownKindError
    return found, list(_checked(json_files.PARSERS[found](document)))


def is_server_memory(line: bytes) -> bool:
    """Return True if a file whose first line this is has entities and relations of server-memory, one a line."""
    try:
        found = msgspec.json.decode(line)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return False
    return isinstance(found, dict) and found.get("type") in ("entity", "relation")


def streamed_items(lines: Iterable[bytes]) -> Iterator[Item]:
    """Yield the memories of a file of server-memory as its lines are read. Raises NotReadableError."""
    return _checked(json_files.server_memory(json_files.of_lines(lines)))


def streamed(open_: Open, kind: str | None) -> tuple[str, Callable[[], Iterator[Line]]]:
    """Return the kind of a large JSON document, and a function that yields its memories, reading it anew.

    `kind`: what it is said to be, None to recognise it. Raises NotReadableError, OSError, and so does the function.
    """
    document = streamed_document(open_)
    found = kind or json_files.kind_of(document)
    if found is None or found not in json_files.STREAMED:
        raise UnknownKindError
    return found, lambda: _checked(json_files.PARSERS[found](document))


def _checked(items: Iterator[T]) -> Iterator[T]:
    try:
        yield from items
    except (AttributeError, TypeError, ValueError, LookupError) as error:
        raise NotReadableError(f"it has another form than was expected: {error}") from error


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise NotReadableError("it is no UTF-8") from None


def _document(content: bytes) -> object:
    """Return a JSON document; None for a file of several, one a line. Raises NotReadableError."""
    try:
        return msgspec.json.decode(content)
    except UnicodeDecodeError:
        raise NotReadableError("it is no UTF-8") from None
    except RecursionError:
        raise NotReadableError("it is nested too deeply") from None
    except msgspec.MsgspecError:
        if b"\n" in content.strip() and content.lstrip().startswith(b"{"):
            return None
        raise NotReadableError("it is no JSON, and no markdown") from None
