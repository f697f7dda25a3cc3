"""One change to a JSON text that leaves every other byte where it is.

`appended` and `removed` undo each other: what is taken out is what was put in, its comma included. Comments stay where
they are, and what is put in is laid out like its neighbours.
"""

from __future__ import annotations

import json
import re
from typing import Final, Literal, TypeAlias

import msgspec

# JSON that remembers where in the text each part stands, so that a file can be changed without being written anew.
#
# RFC 8259, strictly; comments and trailing commas only where a host's own reader allows them. No library that is well
# kept does this for Python: those there are write the whole document anew, or bring a JavaScript engine.


DEEPEST: Final = 64
"""Objects and arrays inside one another; settings have half a dozen."""

Key: TypeAlias = str | int
Pointer: TypeAlias = tuple[Key, ...]
"""Keys and indices from the root to a value."""

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_COMMENT: Final = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORDS: Final = {"true": True, "false": False, "null": None}
_WORD: Final = re.compile("true|false|null")


class Dialect(msgspec.Struct, frozen=True):
    """What a host's reader allows beyond RFC 8259."""

    comments: bool = False
    trailing_commas: bool = False


STRICT: Final = Dialect()


class JsonProblem(Exception):  # noqa: N818 - an outcome, named as one
    """What is wrong with a text, and in which line (from 1)."""

    def __init__(self, text: str, at: int, message: str) -> None:
        self.line = text.count("\n", 0, at) + 1
        self.message = message
        super().__init__(f"line {self.line}: {message}")


class Node(msgspec.Struct):
    """A value and its place. `items` are the members of an object or the elements of an array; `value` is that of
    anything else."""

    kind: Literal["object", "array", "scalar"]
    start: int
    end: int
    value: object = None
    items: list[Item] = []

    def plain(self) -> object:
        """The value as `json.loads` gives it; of two members of one name the last counts."""
        if self.kind == "object":
            return {item.key: item.node.plain() for item in self.items}
        return [item.node.plain() for item in self.items] if self.kind == "array" else self.value


class Item(msgspec.Struct):
    """A member of an object, from its name on, or an element of an array, with its index as the key."""

    key: Key
    start: int
    node: Node

    @property
    def end(self) -> int:
        """Where the value ends."""
        return self.node.end


def parse(text: str, dialect: Dialect = STRICT) -> Node:
    """The document. Raises JsonProblem."""
    reader = _Reader(text, dialect)
    at = reader.skip(0)
    if at == len(text):
        raise JsonProblem(text, at, "the file is empty; JSON needs at least {}")
    root = reader.value(at, DEEPEST)
    rest = reader.skip(root.end)
    if rest != len(text):
        raise JsonProblem(text, rest, f"something follows the end of the document: {_shown(text, rest)}")
    return root


def skip(text: str, at: int, dialect: Dialect) -> int:
    """Where the next thing that is neither white space nor a comment begins."""
    return _Reader(text, dialect).skip(at)


def find(text: str, root: Node, pointer: Pointer) -> Node | None:
    """The value there, if there is one. Raises JsonProblem for a name that stands twice on the way, since hosts do not
    agree which one counts."""
    node = root
    for key in pointer:
        found = [item for item in node.items if item.key == key and node.kind == _container_json_text(key)]
        if len(found) > 1:
            lines = " and ".join(str(text.count("\n", 0, item.start) + 1) for item in found[:2])
            raise JsonProblem(text, found[0].start, f'the name "{key}" stands twice, in lines {lines}')
        if not found:
            return None
        node = found[0].node
    return node


def _container_json_text(key: Key) -> Literal["object", "array"]:
    return "object" if isinstance(key, str) else "array"


def _shown(text: str, at: int) -> str:
    return repr(text[at : at + 20]) if at < len(text) else "the end of the file"


class _Reader:
    """Recursive descent over one text."""

    def __init__(self, text: str, dialect: Dialect) -> None:
        self._text = text
        self._dialect = dialect

    def skip(self, at: int) -> int:
        """Over white space and, where they are allowed, comments."""
        while True:
            matched = _SPACE.match(self._text, at)
            at = at if matched is None else matched.end()
            comment = _COMMENT.match(self._text, at) if self._dialect.comments else None
            if comment is None:
                return at
            at = comment.end()

    def value(self, at: int, room: int) -> Node:
        char = self._text[at : at + 1]
        if char and char in "{[":
            if not room:
                raise JsonProblem(self._text, at, f"more than {DEEPEST} objects and arrays inside one another")
            return self._container(at, room)
        return self._scalar(at)

    def _scalar(self, at: int) -> Node:
        for pattern in (_STRING, _NUMBER, _WORD):
            matched = pattern.match(self._text, at)
            if matched is not None:
                said = matched[0]
                value = _WORDS[said] if pattern is _WORD else _number(said) if pattern is _NUMBER else json.loads(said)
                return Node("scalar", at, matched.end(), value)
        raise JsonProblem(self._text, at, f"a value was expected, not {_shown(self._text, at)}")

    def _container(self, at: int, room: int) -> Node:
        is_object = self._text[at] == "{"
        closing = "}" if is_object else "]"
        items: list[Item] = []
        inside = self.skip(at + 1)
        while self._text[inside : inside + 1] != closing:
            item = self._member(inside, room) if is_object else self._element(inside, room, len(items))
            items.append(item)
            inside = self.skip(item.end)
            if self._text[inside : inside + 1] == closing:
                break
            if self._text[inside : inside + 1] != ",":
                message = f'"," or "{closing}" was expected, not {_shown(self._text, inside)}'
                raise JsonProblem(self._text, inside, message)
            comma, inside = inside, self.skip(inside + 1)
            if self._text[inside : inside + 1] == closing and not self._dialect.trailing_commas:
                raise JsonProblem(self._text, comma, f'a comma stands before "{closing}"')
        return Node("object" if is_object else "array", at, inside + 1, None, items)

    def _member(self, at: int, room: int) -> Item:
        name = _STRING.match(self._text, at)
        if name is None:
            raise JsonProblem(self._text, at, f"a name in quotes was expected, not {_shown(self._text, at)}")
        colon = self.skip(name.end())
        if self._text[colon : colon + 1] != ":":
            raise JsonProblem(self._text, colon, f'":" was expected, not {_shown(self._text, colon)}')
        return Item(json.loads(name[0]), at, self.value(self.skip(colon + 1), room - 1))

    def _element(self, at: int, room: int, index: int) -> Item:
        return Item(index, at, self.value(at, room - 1))


def _number(said: str) -> float | int:
    """Long digits are kept as a float: Python refuses to read whole numbers of thousands of digits."""
    return int(said) if len(said) < 300 and said.lstrip("-").isdigit() else float(said)


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
