"""Change one value of a JSON text and leave every other byte as it is.

`append_item` and `remove_item` undo each other: what is removed is what was added, its comma included. Comments stay,
and what is added is laid out like its neighbours. The reader is RFC 8259, strictly; comments and trailing commas only
where a host's own reader allows them. No maintained library for Python does this: those there are write the whole
document anew, or bring a JavaScript engine.
"""

from __future__ import annotations

import json
import re
from typing import Final, Literal, TypeAlias

import msgspec

from mnemonctl.setup.files import SettingsProblem

MAX_DEPTH: Final = 64
"""Nesting of objects and arrays; settings have half a dozen."""

Key: TypeAlias = str | int
Pointer: TypeAlias = tuple[Key, ...]
"""Keys and indices from the root to a value."""


class Dialect(msgspec.Struct, frozen=True):
    """Extensions of RFC 8259 that a host's reader allows."""

    comments: bool = False
    trailing_commas: bool = False


STRICT: Final = Dialect()


class JsonProblem(SettingsProblem):
    """Why a text cannot be read or changed, with the line (from 1)."""

    def __init__(self, text: str, at: int, message: str) -> None:
        self.line = text.count("\n", 0, at) + 1
        self.message = message
        super().__init__(f"line {self.line}: {message}")


# ------------------------------------------------------------------ changes


def append_item(text: str, pointer: Pointer, key: str | None, value: object, dialect: Dialect = STRICT) -> str:
    """Return `text` with `value` as the last item of the container at `pointer`; `key` is None in an array.

    Raises JsonProblem, LookupError if there is no such container.
    """
    root = parse(text, dialect)
    container = _get(text, root, pointer)
    layout = _Layout(text, root)
    indent = layout.child_indent(container)
    item = layout.render(value, indent)
    if key is not None:
        item = f"{json.dumps(key, ensure_ascii=False)}{layout.colon}{item}"
    if not container.items:
        return _fill_empty(text, container, item, layout, indent)
    last = container.items[-1]
    after = skip(text, last.end, dialect)
    trailing_comma = text[after] == ","
    rest = after + 1 if trailing_comma else last.end
    at = max(_end_of_comments(text, rest, container.end - 1), rest)
    follows_comment = at > rest and _LINE_COMMENT_LAST.search(text[rest:at]) is not None
    gap = layout.comma_gap if indent is None and not follows_comment else layout.newline + (indent or "")
    added = f"{gap}{item}{',' if trailing_comma else ''}"
    return f"{text[: last.end]}{'' if trailing_comma else ','}{text[last.end : at]}{added}{text[at:]}"


def replace_value(text: str, pointer: Pointer, value: object, dialect: Dialect = STRICT) -> str:
    """Return `text` with another value at `pointer`. Raises JsonProblem, LookupError."""
    root = parse(text, dialect)
    node = _get(text, root, pointer)
    layout = _Layout(text, root)
    new = layout.render(value, layout.indent_at(node.start) if layout.begins_line(node.start) else None)
    return f"{text[: node.start]}{new}{text[node.end :]}"


def remove_item(text: str, pointer: Pointer, dialect: Dialect = STRICT, empty: str | None = None) -> str:
    """Return `text` without the item at `pointer`, which is not the root. Raises JsonProblem, LookupError.

    A container that is left empty is written as `empty`; by default as brackets with the comments between them.
    """
    container = _get(text, parse(text, dialect), pointer[:-1])
    at = next(number for number, item in enumerate(container.items) if item.key == pointer[-1])
    if len(container.items) == 1:
        return _empty(text, container, empty, dialect)
    item = container.items[at]
    start, end = _space_before(text, item.start), item.end
    comma = skip(text, end, dialect)
    is_last = text[comma] != ","
    comments = text[container.items[at - 1].end if at else container.start + 1 : start]
    if _LINE_COMMENT_LAST.search(comments) and not _BREAK.match(text, end if is_last else comma + 1):
        start = item.start  # else what follows would become part of the comment
    if is_last:
        before = skip(text, container.items[at - 1].end, dialect)
        return _cut(text, [(before, before + 1), (start, end)])
    return _cut(text, [(start, end), (comma, comma + 1)])


def source_of(text: str, pointer: Pointer, dialect: Dialect = STRICT) -> str:
    """Return the value at `pointer` as it is written. Raises JsonProblem, LookupError."""
    node = _get(text, parse(text, dialect), pointer)
    return text[node.start : node.end]


def _get(text: str, root: Node, pointer: Pointer) -> Node:
    node = find(text, root, pointer)
    if node is None:
        raise LookupError(f"there is nothing at {pointer}")
    return node


def _fill_empty(text: str, container: Node, item: str, layout: _Layout, indent: str | None) -> str:
    """Add an item to an empty container, after the comments in it."""
    comments = _end_of_comments(text, container.start + 1, container.end - 1)
    kept = text[container.start + 1 : comments].rstrip(" \t\r\n") if comments > container.start + 1 else ""
    if indent is None and not _LINE_COMMENT_LAST.search(kept):
        content = f"{kept}{item}"
    else:
        own = layout.indent_at(container.start)
        content = f"{kept}{layout.newline}{indent or ''}{item}{layout.newline}{own}"
    return f"{text[: container.start + 1]}{content}{text[container.end - 1 :]}"


def _empty(text: str, container: Node, empty: str | None, dialect: Dialect) -> str:
    item = container.items[0]
    comments = f"{text[container.start + 1 : item.start]}{text[item.end : container.end - 1]}".strip(" \t\r\n,")
    if empty is None or comments not in empty:  # some were written since
        comma = skip(text, item.end, dialect)
        end = comma + 1 if text[comma] == "," else item.end
        start = _space_before(text, item.start)
        rest = text[end : container.end - 1]
        if not _LINE_COMMENT_LAST.search(text[container.start + 1 : start]):
            rest = rest if rest.strip() else ""
        elif not _BREAK.match(rest.lstrip(" \t")):
            start = item.start  # else the bracket would become part of the comment
        empty = f"{text[container.start : start]}{rest}{text[container.end - 1]}"
    return f"{text[: container.start]}{empty}{text[container.end :]}"


def _end_of_comments(text: str, start: int, end: int) -> int:
    """Return the end of the last comment in a range of comments and white space; `start` if there is none."""
    return start + len(text[start:end].rstrip(" \t\r\n"))


def _space_before(text: str, at: int) -> int:
    return len(text[:at].rstrip(" \t\r\n"))


def _cut(text: str, spans: list[tuple[int, int]]) -> str:
    for start, end in sorted(spans, reverse=True):
        text = text[:start] + text[end:]
    return text


# ------------------------------------------------------------------ layout

DEFAULT_INDENT: Final = "  "
_BREAK: Final = re.compile(r"\r\n|\n|\r")
_LINE_START: Final = re.compile(r'[ \t]*("(?:[^"\\]|\\.)*"[ \t]*:[ \t]*)?')
_LINE_COMMENT_LAST: Final = re.compile(r"//[^\r\n]*$")


class _Layout:
    """Line breaks and indentation of a text, and the spaces after its colons and commas."""

    def __init__(self, text: str, root: Node) -> None:
        self._text = text
        line_break = _BREAK.search(text)
        self.newline = line_break[0] if line_break else "\n"
        self._unit = self._indent_unit(root)
        members = [item.node.start - 1 for item in root.items if isinstance(item.key, str)]
        siblings = root.items[1:] or [item for first in root.items for item in first.node.items[1:]]
        self.colon = ":" if members and text[members[0]] == ":" else ": "
        self.comma_gap = "" if siblings and text[siblings[0].start - 1] == "," else " "

    def child_indent(self, container: Node) -> str | None:
        """Return the indentation of an item on a line of its own; None if items share a line."""
        if container.items:
            last = container.items[-1].start
            return self.indent_at(last) if _BREAK.search(self._text, _space_before(self._text, last), last) else None
        return self.indent_at(container.start) + self._unit if self.begins_line(container.start) else None

    def begins_line(self, at: int) -> bool:
        """Return True if a value, with its name if it has one, is the first thing on its line."""
        return _LINE_START.fullmatch(self._line(at)) is not None

    def indent_at(self, at: int) -> str:
        """Return the white space that the line of this place begins with."""
        line = self._line(at)
        return line[: len(line) - len(line.lstrip(" \t"))]

    def render(self, value: object, indent: str | None) -> str:
        """Return a value as it is written at an indentation; None: on one line."""
        if indent is None:
            return json.dumps(value, ensure_ascii=False, separators=("," + self.comma_gap, self.colon))
        lines = json.dumps(value, ensure_ascii=False, indent=self._unit, separators=(",", self.colon)).split("\n")
        return f"{self.newline}{indent}".join(lines)

    def _line(self, at: int) -> str:
        """Return the line of this place, up to it."""
        return self._text[max(self._text.rfind("\n", 0, at), self._text.rfind("\r", 0, at)) + 1 : at]

    def _indent_unit(self, root: Node) -> str:
        first = root.items[0].start if root.items else root.end
        if not root.items or not _BREAK.search(self._text, root.start, first):
            return DEFAULT_INDENT
        own, child = self.indent_at(root.start), self.indent_at(first)
        return child[len(own) :] if child.startswith(own) and len(child) > len(own) else DEFAULT_INDENT


# ------------------------------------------------------------------ reading with positions


class Node(msgspec.Struct):
    """A value and its place. `items` are members of an object or elements of an array; else there is `value`."""

    kind: Literal["object", "array", "scalar"]
    start: int
    end: int
    value: object = None
    items: list[Item] = []

    def plain(self) -> object:
        """Return the value as `json.loads` does; of two members of one name the last counts."""
        if self.kind == "object":
            return {item.key: item.node.plain() for item in self.items}
        return [item.node.plain() for item in self.items] if self.kind == "array" else self.value


class Item(msgspec.Struct):
    """A member of an object, beginning with its name, or an element of an array, whose key is its index."""

    key: Key
    start: int
    node: Node

    @property
    def end(self) -> int:
        return self.node.end


def parse(text: str, dialect: Dialect = STRICT) -> Node:
    """Return the document. Raises JsonProblem."""
    reader = _Reader(text, dialect)
    at = reader.skip(0)
    if at == len(text):
        raise JsonProblem(text, at, "the file is empty; JSON needs at least {}")
    root = reader.value(at, MAX_DEPTH)
    rest = reader.skip(root.end)
    if rest != len(text):
        raise JsonProblem(text, rest, f"something follows the end of the document: {reader.shown(rest)}")
    return root


def skip(text: str, at: int, dialect: Dialect) -> int:
    """Return the next place that is neither white space nor comment."""
    return _Reader(text, dialect).skip(at)


def find(text: str, root: Node, pointer: Pointer) -> Node | None:
    """Return the value at `pointer`, or None. Raises JsonProblem for a duplicate name: hosts read those differently."""
    node = root
    for key in pointer:
        kind = "object" if isinstance(key, str) else "array"
        items = [item for item in node.items if item.key == key and node.kind == kind]
        if len(items) > 1:
            lines = " and ".join(str(text.count("\n", 0, item.start) + 1) for item in items[:2])
            raise JsonProblem(text, items[0].start, f'the name "{key}" occurs twice, in lines {lines}')
        if not items:
            return None
        node = items[0].node
    return node


_SPACE: Final = re.compile(r"[ \t\r\n]*")
_COMMENT: Final = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORD: Final = re.compile("true|false|null")


class _Reader:
    def __init__(self, text: str, dialect: Dialect) -> None:
        self._text = text
        self._dialect = dialect

    def skip(self, at: int) -> int:
        while True:
            space = _SPACE.match(self._text, at)
            at = at if space is None else space.end()
            comment = _COMMENT.match(self._text, at) if self._dialect.comments else None
            if comment is None:
                return at
            at = comment.end()

    def value(self, at: int, depth_left: int) -> Node:
        char = self._text[at : at + 1]
        if not char or char not in "{[":
            return self._scalar(at)
        if not depth_left:
            raise JsonProblem(self._text, at, f"more than {MAX_DEPTH} objects and arrays inside one another")
        return self._container(at, depth_left)

    def shown(self, at: int) -> str:
        return repr(self._text[at : at + 20]) if at < len(self._text) else "the end of the file"

    def _scalar(self, at: int) -> Node:
        if (number := _NUMBER.match(self._text, at)) is not None:
            return Node("scalar", at, number.end(), _number(number[0]))
        for pattern in (_STRING, _WORD):
            if (found := pattern.match(self._text, at)) is not None:
                return Node("scalar", at, found.end(), json.loads(found[0]))
        raise JsonProblem(self._text, at, f"a value was expected, not {self.shown(at)}")

    def _container(self, at: int, depth_left: int) -> Node:
        is_object = self._text[at] == "{"
        closing = "}" if is_object else "]"
        items: list[Item] = []
        inside = self.skip(at + 1)
        while self._text[inside : inside + 1] != closing:
            if is_object:
                item = self._member(inside, depth_left)
            else:
                item = Item(len(items), inside, self.value(inside, depth_left - 1))
            items.append(item)
            inside = self.skip(item.end)
            if self._text[inside : inside + 1] == closing:
                break
            if self._text[inside : inside + 1] != ",":
                message = f'"," or "{closing}" was expected, not {self.shown(inside)}'
                raise JsonProblem(self._text, inside, message)
            comma, inside = inside, self.skip(inside + 1)
            if self._text[inside : inside + 1] == closing and not self._dialect.trailing_commas:
                raise JsonProblem(self._text, comma, f'there is a comma before "{closing}"')
        return Node("object" if is_object else "array", at, inside + 1, None, items)

    def _member(self, at: int, depth_left: int) -> Item:
        name = _STRING.match(self._text, at)
        if name is None:
            raise JsonProblem(self._text, at, f"a name in quotes was expected, not {self.shown(at)}")
        colon = self.skip(name.end())
        if self._text[colon : colon + 1] != ":":
            raise JsonProblem(self._text, colon, f'":" was expected, not {self.shown(colon)}')
        return Item(json.loads(name[0]), at, self.value(self.skip(colon + 1), depth_left - 1))


def _number(digits: str) -> float | int:
    """Return long integers as a float: Python refuses to read those of thousands of digits."""
    return int(digits) if len(digits) < 300 and digits.lstrip("-").isdigit() else float(digits)
