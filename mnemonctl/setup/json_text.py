"""JSON that remembers where in the text each part stands, so that a file can be changed without being written anew.

RFC 8259, strictly; comments and trailing commas only where a host's own reader allows them. No library that is well
kept does this for Python: those there are write the whole document anew, or bring a JavaScript engine.
"""

from __future__ import annotations

import json
import re
from typing import Final, Literal, TypeAlias

import msgspec

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
        found = [item for item in node.items if item.key == key and node.kind == _container(key)]
        if len(found) > 1:
            lines = " and ".join(str(text.count("\n", 0, item.start) + 1) for item in found[:2])
            raise JsonProblem(text, found[0].start, f'the name "{key}" stands twice, in lines {lines}')
        if not found:
            return None
        node = found[0].node
    return node


def _container(key: Key) -> Literal["object", "array"]:
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
