"""One change to a JSON text that leaves every other byte where it is.

`appended` and `removed` undo each other: what is taken out is what was put in, its comma included. Comments stay where
they are, and what is put in is laid out like its neighbours.
"""

from __future__ import annotations

import json
import re
from typing import Final

from mnemonctl.setup.json_text import STRICT, Dialect, Item, Node, Pointer, find, parse, skip

USUAL_INDENT: Final = "  "
_BREAK: Final = re.compile(r"\r\n|\n|\r")
_LINE_START: Final = re.compile(r'[ \t]*("(?:[^"\\]|\\.)*"[ \t]*:[ \t]*)?')
_LINE_COMMENT_LAST: Final = re.compile(r"//[^\r\n]*$")


def appended(text: str, pointer: Pointer, key: str | None, value: object, dialect: Dialect = STRICT) -> str:
    """`text` with `value` as the last item of the container at `pointer`; `key` is its name there, None in an array.

    Raises JsonProblem; the container has to be there.
    """
    container = _container(text, pointer, dialect)
    layout = _Layout(text, parse(text, dialect))
    depth_indent = layout.child_indent(container)
    inline = depth_indent is None
    said = layout.render(value, depth_indent)
    if key is not None:
        said = f"{json.dumps(key, ensure_ascii=False)}{layout.colon}{said}"
    if not container.items:
        return _into_empty(text, container, said, layout, depth_indent)
    last = container.items[-1]
    after = skip(text, last.end, dialect)
    trailing = text[after] == ","
    rest = after + 1 if trailing else last.end
    at = max(_end_of_comments(text, rest, container.end - 1), rest)
    follows_comment = at > rest and _LINE_COMMENT_LAST.search(text[rest:at]) is not None
    gap = layout.comma_gap if inline and not follows_comment else layout.newline + (depth_indent or "")
    put = f"{gap}{said}{',' if trailing else ''}"
    return f"{text[: last.end]}{'' if trailing else ','}{text[last.end : at]}{put}{text[at:]}"


def replaced(text: str, pointer: Pointer, value: object, dialect: Dialect = STRICT) -> str:
    """`text` with another value at `pointer`. Raises JsonProblem; there has to be one."""
    root = parse(text, dialect)
    node = _there(text, root, pointer)
    layout = _Layout(text, root)
    said = layout.render(value, layout.indent_at(node.start) if layout.begins_line(node.start) else None)
    return f"{text[: node.start]}{said}{text[node.end :]}"


def removed(text: str, pointer: Pointer, dialect: Dialect = STRICT, empty: str | None = None) -> str:
    """`text` without the item at `pointer` (not the root). `empty` is what then stands for a container that has nothing
    left; by default the brackets alone, with the comments in between. Raises JsonProblem; there has to be such an item.
    """
    container = _container(text, pointer[:-1], dialect)
    at = next(number for number, item in enumerate(container.items) if item.key == pointer[-1])
    if len(container.items) == 1:
        return _emptied(text, container, empty, dialect)
    item = container.items[at]
    start, end = _space_before(text, item.start), item.end
    comma = skip(text, end, dialect)
    if text[comma] != ",":
        before = skip(text, container.items[at - 1].end, dialect)
        return _cut(text, [(before, before + 1), (start, end)])
    comments = text[container.items[at - 1].end if at else container.start + 1 : start]
    if _LINE_COMMENT_LAST.search(comments) and not _BREAK.match(text, comma + 1):
        start = item.start  # or the comment would swallow what follows
    return _cut(text, [(start, end), (comma, comma + 1)])


def inside(text: str, pointer: Pointer, dialect: Dialect = STRICT) -> str:
    """The container at `pointer` as it is written, brackets included. Raises JsonProblem."""
    node = _container(text, pointer, dialect)
    return text[node.start : node.end]


def _container(text: str, pointer: Pointer, dialect: Dialect) -> Node:
    return _there(text, parse(text, dialect), pointer)


def _there(text: str, root: Node, pointer: Pointer) -> Node:
    node = find(text, root, pointer)
    if node is None:
        raise LookupError(f"there is nothing at {pointer}")
    return node


def _into_empty(text: str, container: Node, said: str, layout: _Layout, indent: str | None) -> str:
    """The comments in it stay, before what is put in."""
    comments = _end_of_comments(text, container.start + 1, container.end - 1)
    kept = text[container.start + 1 : comments].rstrip(" \t\r\n") if comments > container.start + 1 else ""
    if indent is None and not _LINE_COMMENT_LAST.search(kept):
        put = f"{kept}{said}"
    else:
        own = layout.indent_at(container.start)
        put = f"{kept}{layout.newline}{indent or ''}{said}{layout.newline}{own}"
    return f"{text[: container.start + 1]}{put}{text[container.end - 1 :]}"


def _emptied(text: str, container: Node, empty: str | None, dialect: Dialect) -> str:
    item = container.items[0]
    if empty is None:
        comma = skip(text, item.end, dialect)
        end = comma + 1 if text[comma] == "," else item.end
        start = _space_before(text, item.start)
        rest = text[end : container.end - 1]
        if not rest.strip() and not _LINE_COMMENT_LAST.search(text[container.start + 1 : start]):
            rest = ""
        empty = f"{text[container.start : start]}{rest}{text[container.end - 1]}"
    return f"{text[: container.start]}{empty}{text[container.end :]}"


def _end_of_comments(text: str, start: int, end: int) -> int:
    """Where the last comment between the two ends; `start` when there is none (only white space is left otherwise)."""
    return start + len(text[start:end].rstrip(" \t\r\n"))


def _space_before(text: str, at: int) -> int:
    return len(text[:at].rstrip(" \t\r\n"))


def _cut(text: str, spans: list[tuple[int, int]]) -> str:
    for start, end in sorted(spans, reverse=True):
        text = text[:start] + text[end:]
    return text


class _Layout:
    """How a text is laid out: its line break, its indentation, the space after its colons and commas."""

    def __init__(self, text: str, root: Node) -> None:
        self._text = text
        found = _BREAK.search(text)
        self.newline = found[0] if found else "\n"
        self.unit = self._unit(root)
        self.colon = ":" if _spaceless(text, root, ":") else ": "
        self.comma_gap = "" if _spaceless(text, root, ",") else " "

    def child_indent(self, container: Node) -> str | None:
        """What stands before an item of it in a line of its own; None where items share a line."""
        if container.items:
            gap = self._text[_space_before(self._text, container.items[-1].start) : container.items[-1].start]
            return self.indent_at(container.items[-1].start) if _BREAK.search(gap) else None
        return self.indent_at(container.start) + self.unit if self.begins_line(container.start) else None

    def begins_line(self, at: int) -> bool:
        """Whether a value, with its name if it has one, is the first thing in its line."""
        return _LINE_START.fullmatch(self._line(at)) is not None

    def indent_at(self, at: int) -> str:
        """The white space that the line of this place begins with."""
        said = self._line(at)
        return said[: len(said) - len(said.lstrip(" \t"))]

    def _line(self, at: int) -> str:
        """The line of this place, up to it."""
        return self._text[max(self._text.rfind("\n", 0, at), self._text.rfind("\r", 0, at)) + 1 : at]

    def render(self, value: object, indent: str | None) -> str:
        """A value as it is written at an indentation; None: in one line."""
        if indent is None:
            return json.dumps(value, ensure_ascii=False, separators=("," + self.comma_gap, self.colon))
        lines = json.dumps(value, ensure_ascii=False, indent=self.unit, separators=(",", self.colon)).split("\n")
        return f"{self.newline}{indent}".join(lines)

    def _unit(self, root: Node) -> str:
        first = root.items[0].start if root.items else root.end
        if not root.items or not _BREAK.search(self._text, root.start, first):
            return USUAL_INDENT
        own, child = self.indent_at(root.start), self.indent_at(first)
        return child[len(own) :] if child.startswith(own) and len(child) > len(own) else USUAL_INDENT


def _spaceless(text: str, root: Node, sign: str) -> bool:
    """Whether the first colon or comma of the document has something directly behind it."""
    if sign == ":":
        places = [item.node.start - 1 for item in root.items if isinstance(item.key, str)]
    else:
        places = [item.start - 1 for item in _siblings(root)]
    return bool(places) and text[places[0]] == sign


def _siblings(root: Node) -> list[Item]:
    return root.items[1:] or [item for first in root.items for item in first.node.items[1:]]
