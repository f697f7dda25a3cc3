"""Our entries in a host's settings: put in, brought up to date, found again and taken out.

An entry is ours when it runs exactly one of our programs (`Ours`); nothing else is ever touched, moved or judged.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Literal

import msgspec

from mnemonctl.setup import json_edit
from mnemonctl.setup.files import read
from mnemonctl.setup.json_edit import STRICT, Dialect, Item, JsonProblem, Key, Node, Pointer, find, parse
from mnemond.errors import MnemonError

ALIAS: Final = "mnemond"
"""Our name among a host's MCP servers; Gemini CLI allows no underscore in one."""

HOOKS: Final = ("hooks",)
SERVERS: Final = ("mcpServers",)
_COMMANDS: Final = ("command", "bash")
"""Fields of a handler that name what it runs."""

_IN_GROUP: Final = 5
"""Steps to a handler in a group: hooks, event, group, hooks, handler."""

Shape = Literal["grouped", "flat"]
"""`hooks.Event[]` holds groups of handlers (`{"hooks": [handler]}`, as Claude Code has it), or the handlers."""


class Ours(msgspec.Struct, frozen=True):
    """The programs by which entries are known to be ours."""

    hook: Path
    mcp: Path

    def handler(self, value: object) -> bool:
        """Whether a handler runs our hook."""
        said = {value.get(field) for field in _COMMANDS} if isinstance(value, dict) else set()
        return bool(said & {str(self.hook), shlex.quote(str(self.hook))})

    def server(self, value: object) -> bool:
        """Whether an MCP server is ours."""
        return isinstance(value, dict) and value.get("command") == str(self.mcp)


class Wanted(msgspec.Struct, frozen=True):
    """What is to stand in one file: a handler for each event, a server, and what the root of the file needs."""

    hooks: dict[str, dict[str, object]] = {}
    shape: Shape = "grouped"
    server: dict[str, object] | None = None
    root: dict[str, object] = {}
    dialect: Dialect = STRICT

    def alone(self) -> str:
        """A file with nothing else in it."""
        document: dict[str, object] = dict(self.root)
        if self.hooks:
            document["hooks"] = {event: [self.element(event)] for event in self.hooks}
        if self.server is not None:
            document["mcpServers"] = {ALIAS: self.server}
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"

    def made_alone(self) -> Made:
        """What such a file has around our entries: everything."""
        pointers: list[Pointer] = [(key,) for key in self.root]
        if self.hooks:
            pointers += [HOOKS, *((*HOOKS, event) for event in self.hooks)]
        return Made([named(pointer) for pointer in [*pointers, *([SERVERS] if self.server is not None else [])]])

    def element(self, event: str) -> dict[str, object]:
        """What an event's array gets."""
        return {"hooks": [self.hooks[event]]} if self.shape == "grouped" else self.hooks[event]


class Made(msgspec.Struct):
    """What had to be made for our entries, and how empty containers were written: what taking out has to know.

    Keys are JSON pointers (RFC 6901).
    """

    containers: list[str] = []
    empties: dict[str, str] = {}

    def joined(self, later: Made) -> Made:
        """With what a later change made."""
        fresh = [each for each in later.containers if each not in self.containers]
        return Made([*self.containers, *fresh], {**later.empties, **self.empties})


def named(pointer: Pointer) -> str:
    """RFC 6901."""
    return "".join("/" + str(key).replace("~", "~0").replace("/", "~1") for key in pointer)


# ------------------------------------------------------------------ putting in


def installed(text: str, wanted: Wanted, ours: Ours) -> tuple[str, Made]:
    """The text with everything that is wanted, and nothing of ours that is not. Raises JsonProblem.

    A text in which all of it stands already comes back as it is.
    """
    made = Made()
    root = parse(text, wanted.dialect)
    if root.kind != "object":
        raise JsonProblem(text, root.start, "an object was expected")
    for key, value in wanted.root.items():
        text = _root_member(text, key, value, wanted.dialect, made)
    for event in wanted.hooks:
        text = _event(text, event, wanted, ours, made)
    while (stale := _stale(text, wanted, ours)) is not None:
        text = _taken_out(text, stale, wanted.dialect, None)
    if wanted.server is not None:
        text = _server(text, wanted, ours, made)
    return text, made


def _root_member(text: str, key: str, value: object, dialect: Dialect, made: Made) -> str:
    found = find(text, parse(text, dialect), (key,))
    if found is None:
        made.containers.append(named((key,)))
        return json_edit.appended(text, (), key, value, dialect)
    if found.plain() != value:
        raise JsonProblem(
            text, found.start, f'"{key}" is {json.dumps(found.plain())[:40]}; {json.dumps(value)} is needed'
        )
    return text


def _event(text: str, event: str, wanted: Wanted, ours: Ours, made: Made) -> str:
    text = _container(text, HOOKS, {}, wanted.dialect, made)
    text = _container(text, (*HOOKS, event), [], wanted.dialect, made)
    there = [pointer for pointer, _ in _handlers(text, parse(text, wanted.dialect), ours) if pointer[1] == event]
    for extra in reversed(there[1:]):
        text = _taken_out(text, extra, wanted.dialect, None)
    if not there:
        return _put(text, (*HOOKS, event), None, wanted.element(event), wanted.dialect, made)
    node = find(text, parse(text, wanted.dialect), there[0])
    if node is not None and node.plain() == wanted.hooks[event]:
        return text
    return json_edit.replaced(text, there[0], wanted.hooks[event], wanted.dialect)


def _server(text: str, wanted: Wanted, ours: Ours, made: Made) -> str:
    text = _container(text, SERVERS, {}, wanted.dialect, made)
    place = (*SERVERS, ALIAS)
    found = find(text, parse(text, wanted.dialect), place)
    if found is None:
        return _put(text, SERVERS, ALIAS, wanted.server, wanted.dialect, made)
    if not ours.server(found.plain()):
        raise JsonProblem(text, found.start, f'there is another MCP server called "{ALIAS}"; rename or remove it')
    return text if found.plain() == wanted.server else json_edit.replaced(text, place, wanted.server, wanted.dialect)


def _container(
    text: str, pointer: Pointer, empty: dict[str, object] | list[object], dialect: Dialect, made: Made
) -> str:
    """The text with a container there. Raises JsonProblem when something else stands in its place."""
    found = find(text, parse(text, dialect), pointer)
    kind = "object" if isinstance(empty, dict) else "array"
    if found is None:
        made.containers.append(named(pointer))
        return _put(text, pointer[:-1], str(pointer[-1]), empty, dialect, made)
    if found.kind != kind:
        raise JsonProblem(text, found.start, f"{named(pointer)} is not an {kind}")
    return text


def _put(text: str, pointer: Pointer, key: str | None, value: object, dialect: Dialect, made: Made) -> str:
    found = find(text, parse(text, dialect), pointer)
    if found is not None and not found.items and named(pointer) not in made.containers:
        made.empties[named(pointer)] = json_edit.inside(text, pointer, dialect)
    return json_edit.appended(text, pointer, key, value, dialect)


# ------------------------------------------------------------------ finding


def standing(text: str, wanted: Wanted, ours: Ours) -> list[str]:
    """JSON pointers of what is ours in a text. Raises JsonProblem."""
    root = parse(text, wanted.dialect)
    return [named(pointer) for pointer, _ in (*_handlers(text, root, ours), *_servers(text, root, ours))]


def _handlers(text: str, root: Node, ours: Ours) -> Iterator[tuple[Pointer, Node]]:
    hooks = find(text, root, HOOKS)
    for event in [] if hooks is None or hooks.kind != "object" else hooks.items:
        for element in event.node.items if event.node.kind == "array" else []:
            place: Pointer = (*HOOKS, event.key, element.key)
            if ours.handler(element.node.plain()):
                yield place, element.node
            for handler in _grouped(element):
                if ours.handler(handler.node.plain()):
                    yield (*place, "hooks", handler.key), handler.node


def _grouped(element: Item) -> list[Item]:
    inner = [item.node for item in element.node.items if item.key == "hooks" and element.node.kind == "object"]
    return inner[-1].items if inner and inner[-1].kind == "array" else []


def _servers(text: str, root: Node, ours: Ours) -> Iterator[tuple[Pointer, Node]]:
    found = find(text, root, (*SERVERS, ALIAS))
    if found is not None and ours.server(found.plain()):
        yield (*SERVERS, ALIAS), found


def _stale(text: str, wanted: Wanted, ours: Ours) -> Pointer | None:
    """A handler of ours for an event that is not wanted (any more)."""
    found = (place for place, _ in _handlers(text, parse(text, wanted.dialect), ours) if place[1] not in wanted.hooks)
    return next(found, None)


# ------------------------------------------------------------------ taking out


def without(text: str, wanted: Wanted, ours: Ours, made: Made | None) -> str:
    """The text without anything of ours. `made` is what was recorded when it was put in; without a record, what is
    empty once ours has gone goes as well. Raises JsonProblem."""
    while True:
        root = parse(text, wanted.dialect)
        place = next((pointer for pointer, _ in (*_handlers(text, root, ours), *_servers(text, root, ours))), None)
        if place is None:
            break
        text = _taken_out(text, place, wanted.dialect, made)
    for key in wanted.root:
        root = parse(text, wanted.dialect)
        if made is not None and named((key,)) in made.containers and find(text, root, (key,)) is not None:
            text = json_edit.removed(text, (key,), wanted.dialect, made.empties.get(""))
    return text


def _taken_out(text: str, place: Pointer, dialect: Dialect, made: Made | None) -> str:
    """Without the item there, and without what would be left empty around it and was made for it."""
    root = parse(text, dialect)
    if len(place) == _IN_GROUP and _is_alone(text, root, place):
        place = place[:3]  # the group: without a handler it means nothing
    while len(place) > 1 and _is_alone(text, root, place) and (made is None or named(place[:-1]) in made.containers):
        place = place[:-1]
    empty = None if made is None else made.empties.get(named(place[:-1]))
    return json_edit.removed(text, place, dialect, empty)


def _is_alone(text: str, root: Node, place: Pointer) -> bool:
    parent = find(text, root, place[:-1])
    return parent is not None and len(parent.items) == 1


def plain(text: str, dialect: Dialect) -> object:
    """The document as `json.loads` gives it. Raises JsonProblem."""
    return parse(text, dialect).plain()


def lookup(document: object, *path: Key) -> object:
    """What stands there, or None."""
    for key in path:
        document = document.get(key) if isinstance(document, dict) else None
    return document


# Looking something up in the settings of a host. What cannot be read says nothing here; `setup` refuses it.


def value(path: Path, dialect: Dialect, *where: str) -> object:
    """What stands there, or None."""
    try:
        text = read(path).text
        return None if text is None else lookup(plain(text, dialect), *where)
    except (MnemonError, JsonProblem):
        return None


def switches(path: Path, dialect: Dialect, off: Mapping[tuple[str, ...], object]) -> list[str]:
    """Those settings that have the value which switches hooks off, in words."""
    return [
        f"hooks are switched off in {path} ({'.'.join(where)} = {json.dumps(bad)})"
        for where, bad in off.items()
        if value(path, dialect, *where) is bad
    ]
