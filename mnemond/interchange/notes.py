"""Memories in markdown: Claude Code's memory folder, CLAUDE.md, basic-memory and Obsidian, and mnemond's own files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from mnemond.interchange import markdown
from mnemond.interchange.items import Item, category_of, labels, moment, pieces, plain

TYPES: Final = {
    "user": "preference", "feedback": "preference", "project": "context", "reference": "fact",
    "preference": "preference",
    "decision": "decision", "fact": "fact", "insight": "insight", "context": "context", "tech": "fact",
    "design": "decision", "requirement": "decision",
}  # fmt: skip
"""Categories by the types of Claude Code's memories and the usual ones of basic-memory's observations."""

INDEX: Final = "MEMORY.md"
"""The index of Claude Code's memory folder: it repeats the titles of the other files."""

_FIELD: Final = re.compile(r"^(\s*)([\w-]+):\s*(.*)$")
_BULLET: Final = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(.*)$")
_HEADING: Final = re.compile(r"^(#{1,6})\s+(.*?)\s*#*\s*$")
_OBSERVATION: Final = re.compile(r"^\s*-\s+\[([^\]\[()]{2,40})\]\s+(?!\()(.+)$")
_INLINE_TAG: Final = re.compile(r"(?:^|\s)#([\w/-]+)")
_any = msgspec.json.Decoder()


def front_matter(text: str) -> tuple[dict[str, Any], str]:
    """Return the fields of the front matter and the rest. The part of YAML that these programs write: values on one
    line, lists in brackets or of lines with "- ", one level of nested fields, JSON."""
    if not text.startswith("---\n"):
        return {}, text
    end = text.find("\n---", 3)
    if end < 0:
        return {}, text
    fields: dict[str, Any] = {}
    parent = ""
    for line in text[4:end].split("\n"):
        if parent and (item := re.match(r"^\s*-\s+(.*)$", line)):
            if not isinstance(fields.get(parent), list):
                fields[parent] = []
            fields[parent].append(_value(item[1]))
        elif found := _FIELD.match(line):
            indent, name, raw = found.groups()
            if indent and parent:
                nested = fields[parent] if isinstance(fields.get(parent), dict) else {}
                fields[parent] = nested | {name: _value(raw)}
            else:
                fields[name], parent = _value(raw), "" if raw else name
    rest = text[end + 4 :]
    return fields, rest.removeprefix("\n")


def _value(raw: str) -> Any:  # noqa: ANN401 - of a front matter
    raw = raw.strip()
    try:
        return _any.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        pass
    if raw.startswith("[") and raw.endswith("]"):
        return [each.strip().strip("'\"") for each in raw[1:-1].split(",") if each.strip()]
    return raw[1:-1] if len(raw) > 1 and raw[0] == raw[-1] == "'" else raw


def paragraphs(text: str) -> Iterator[tuple[str, str]]:
    """Yield (the headings above, joined by " / "; the text) of each bullet and each other paragraph. Code stays with
    the paragraph before it."""
    above: list[tuple[int, str]] = []
    waiting: list[str] = []
    in_code = False

    def flushed() -> Iterator[tuple[str, str]]:
        joined = "\n".join(waiting).strip()
        waiting.clear()
        if joined:
            yield " / ".join(title for _, title in above), joined

    for line in text.split("\n"):
        if line.lstrip().startswith("```"):
            in_code = not in_code
            waiting.append(line)
        elif in_code:
            waiting.append(line)
        elif heading := _HEADING.match(line):
            yield from flushed()
            level = len(heading[1])
            above = [each for each in above if each[0] < level] + [(level, heading[2])]
        elif not line.strip():
            yield from flushed()
        elif (bullet := _BULLET.match(line)) and not line.startswith(("  ", "\t")):
            yield from flushed()
            waiting.append(bullet[1])
        else:
            waiting.append(line.strip() if waiting else line)
    yield from flushed()


def claude_md(path: str, text: str) -> Iterator[Item]:
    """CLAUDE.md: each bullet and paragraph is a memory that names its file, which stays the truth."""
    _, body = front_matter(text)
    for heading, part in paragraphs(re.sub(r"<!--.*?-->", "", body, flags=re.DOTALL)):
        if not part.startswith("@"):  # an import of another file
            yield from _parts(
                part, path, "claude.md", category="preference", metadata=plain({"file": path, "heading": heading})
            )


def claude_memory(path: str, text: str) -> Iterator[Item]:
    """A file of `~/.claude/projects/…/memory`: front matter `name, description, metadata.type`, and a text."""
    if path.rsplit("/", 1)[-1] == INDEX:
        return
    fields, body = front_matter(text)
    metadata = fields.get("metadata")
    kind = (metadata.get("type") if isinstance(metadata, dict) else None) or fields.get("type")
    name = str(fields.get("name") or fields.get("description") or "")
    content = body.strip()
    yield from _parts(
        content, path, "claude-code", category=category_of(kind, TYPES), importance=4 if kind == "feedback" else 3,
        metadata=plain({"file": path, "name": name, "description": fields.get("description"), "type": kind}),
    )  # fmt: skip


def note(path: str, text: str) -> Iterator[Item]:
    """A note of Obsidian or basic-memory: each observation (`- [category] text #tag`) is a memory; a note without any
    is one, in parts if it is long. A file of mnemond's own is the memory that it was."""
    fields, body = front_matter(text)
    if fields.get("mnemond") == 1 and (own := markdown.content_of(body)) is not None:
        yield Item(
            source=f"{fields.get('permalink')}", content=own, origin=str(fields.get("source") or "user"),
            category=category_of(fields.get("category"), {}), importance=_importance(fields.get("importance")),
            tags=labels(fields.get("tags")), created_at=moment(fields.get("created")),
        )  # fmt: skip
        return
    title = str(fields.get("title") or path.rsplit("/", 1)[-1].removesuffix(".md"))
    tags = labels(fields.get("tags"))
    made = moment(fields.get("created") or fields.get("date"))
    common = {"created_at": made, "metadata": plain({"file": path, "title": title})}
    observed = [found for line in body.split("\n") if (found := _OBSERVATION.match(line))]
    for found in observed:
        content = found[2].strip()
        own_tags = labels([*tags, *_INLINE_TAG.findall(content)])
        yield from _parts(content, path, "note", category=category_of(found[1], TYPES), tags=own_tags, **common)
    if not observed and body.strip():
        inline = labels([*tags, *_INLINE_TAG.findall(body)])
        yield from _parts(body.strip(), path, "note", tags=inline, **common)


def _importance(value: object) -> int:
    return value if isinstance(value, int) and 1 <= value <= 5 else 3


def _parts(text: str, path: str, origin: str, **fields: Any) -> Iterator[Item]:  # noqa: ANN401 - fields of Item
    for piece in pieces(text):
        yield Item(source=path, content=piece, origin=origin, **fields)
