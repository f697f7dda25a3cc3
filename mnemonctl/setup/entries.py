"""Our entries in a host's settings: add, update, find and remove them.

An entry is ours if it runs exactly one of our programs (`OurPrograms`); nothing else is touched or moved.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal, Protocol

import msgspec

from mnemonctl.setup import json_edit
from mnemonctl.setup.files import read_host_file
from mnemonctl.setup.json_edit import STRICT, Dialect, Item, JsonProblem, Key, Node, Pointer, find, parse
from mnemond.errors import MnemonError

ALIAS: Final = "mnemond"
"""Our name among a host's MCP servers; Gemini CLI allows no underscore in one."""

HOOKS: Final = ("hooks",)
SERVERS: Final = ("mcpServers",)
SERVER: Final = (*SERVERS, ALIAS)
_COMMANDS: Final = ("command", "bash")
"""Fields of a handler that name what it runs."""

_IN_GROUP: Final = 5
"""Length of the pointer to a handler in a group: hooks, event, group, hooks, handler."""


class OurPrograms(msgspec.Struct, frozen=True):
    """The programs by which entries are recognized as ours."""

    hook: Path
    mcp: Path

    def is_handler(self, value: object) -> bool:
        """Return True for a handler that runs our hook."""
        commands = {value.get(field) for field in _COMMANDS} if isinstance(value, dict) else set()
        return bool(commands & {str(self.hook), shlex.quote(str(self.hook))})

    def is_server(self, value: object) -> bool:
        return isinstance(value, dict) and value.get("command") == str(self.mcp)


class EntrySpec(msgspec.Struct, frozen=True):
    """The entries of one file: a handler for each event, a server, and members that the root of the file needs.

    `hooks.Event[]` holds handlers (flat), or groups of them: `{"hooks": [handler]}`.
    """

    hooks: dict[str, dict[str, object]] = {}
    shape: Literal["grouped", "flat"] = "grouped"
    server: dict[str, object] | None = None
    root: dict[str, object] = {}
    dialect: Dialect = STRICT

    def new_file(self) -> tuple[str, Scaffold]:
        """Return the text of a file with nothing else in it."""
        document: dict[str, object] = dict(self.root)
        containers: list[Pointer] = [(key,) for key in self.root]
        if self.hooks:
            document["hooks"] = {event: [self.element(event)] for event in self.hooks}
            containers += [HOOKS, *((*HOOKS, event) for event in self.hooks)]
        if self.server is not None:
            document["mcpServers"] = {ALIAS: self.server}
            containers.append(SERVERS)
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n", Scaffold(list(map(json_pointer, containers)))

    def element(self, event: str) -> dict[str, object]:
        return {"hooks": [self.hooks[event]]} if self.shape == "grouped" else self.hooks[event]

    def add(self, text: str, ours: OurPrograms) -> tuple[str, Scaffold]:
        """Return the text with all these entries, and no other entry of ours. Raises JsonProblem.

        A text that has all of them is returned unchanged.
        """
        root = parse(text, self.dialect)
        if root.kind != "object":
            raise JsonProblem(text, root.start, "an object was expected")
        change = _Addition(text, self, ours)
        for key, value in self.root.items():
            change.add_root_member(key, value)
        for event in self.hooks:
            change.add_handler(event)
        change.remove_stale_handlers()
        if self.server is not None:
            change.add_server(self.server)
        return change.text, change.scaffold

    def find(self, text: str, ours: OurPrograms) -> list[str]:
        """Return JSON pointers to all entries of ours in a text. Raises JsonProblem."""
        return [json_pointer(pointer) for pointer in _entries(text, self.dialect, ours)] if text else []

    def remove(self, text: str, ours: OurPrograms, scaffold: Scaffold | None) -> str:
        """Return the text without any entry of ours. Raises JsonProblem.

        `scaffold` was recorded when they were added; without it, containers that are left empty are removed as well.
        """
        while (pointer := next(_entries(text, self.dialect, ours), None)) is not None:
            text = _removed(text, pointer, self.dialect, scaffold)
        if scaffold is None:
            return text
        for key in self.root:
            if (
                json_pointer((key,)) in scaffold.containers
                and find(text, parse(text, self.dialect), (key,)) is not None
            ):
                text = json_edit.remove_item(text, (key,), self.dialect, scaffold.empties.get(""))
        return text

    def is_bare(self, text: str) -> bool:
        """Return True if nothing is left in a file but the members that the root needs, not even a comment."""
        try:
            document = parse(text).plain()
        except JsonProblem:
            return False
        return isinstance(document, dict) and not set(document) - set(self.root)


class FileEntries(Protocol):
    """Entries of ours in the text of one file; none of these methods reads or writes a file."""

    def new_file(self) -> tuple[str, Scaffold]: ...

    def add(self, text: str, ours: OurPrograms) -> tuple[str, Scaffold]: ...

    def find(self, text: str, ours: OurPrograms) -> list[str]: ...

    def remove(self, text: str, ours: OurPrograms, scaffold: Scaffold | None) -> str: ...

    def is_bare(self, text: str) -> bool: ...


class Scaffold(msgspec.Struct):
    """Containers that were made for our entries, and the text of those that were empty: needed to restore them.

    Keys are JSON pointers (RFC 6901).
    """

    containers: list[str] = []
    empties: dict[str, str] = {}

    def joined(self, later: Scaffold) -> Scaffold:
        fresh = [each for each in later.containers if each not in self.containers]
        return Scaffold([*self.containers, *fresh], {**later.empties, **self.empties})


def json_pointer(pointer: Pointer) -> str:
    """Return a pointer as RFC 6901 writes it."""
    return "".join("/" + str(key).replace("~", "~0").replace("/", "~1") for key in pointer)


# ------------------------------------------------------------------ add and update


class _Addition:
    """A text while entries are added to it."""

    def __init__(self, text: str, spec: EntrySpec, ours: OurPrograms) -> None:
        self.text = text
        self.scaffold = Scaffold()
        self._spec = spec
        self._ours = ours

    def add_root_member(self, key: str, value: object) -> None:
        node = self._find((key,))
        if node is None:
            self.scaffold.containers.append(json_pointer((key,)))
            self.text = json_edit.append_item(self.text, (), key, value, self._spec.dialect)
        elif node.plain() != value:
            message = f'"{key}" is {json.dumps(node.plain())[:40]}; {json.dumps(value)} is needed'
            raise JsonProblem(self.text, node.start, message)

    def add_handler(self, event: str) -> None:
        self._ensure_container(HOOKS, {})
        self._ensure_container((*HOOKS, event), [])
        pointers = [pointer for pointer in self._handlers() if pointer[1] == event]
        for duplicate in reversed(pointers[1:]):
            self._remove(duplicate)
        if not pointers:
            self._append((*HOOKS, event), None, self._spec.element(event))
        else:
            self._replace(pointers[0], self._spec.hooks[event])

    def remove_stale_handlers(self) -> None:
        """Remove handlers of ours for events that are not in the spec (any more)."""
        while (stale := next((at for at in self._handlers() if at[1] not in self._spec.hooks), None)) is not None:
            self._remove(stale)

    def add_server(self, server: dict[str, object]) -> None:
        self._ensure_container(SERVERS, {})
        node = self._find(SERVER)
        if node is None:
            self._append(SERVERS, ALIAS, server)
        elif self._ours.is_server(node.plain()):
            self._replace(SERVER, server)
        else:
            message = f'there is another MCP server called "{ALIAS}"; rename or remove it'
            raise JsonProblem(self.text, node.start, message)

    def _ensure_container(self, pointer: Pointer, empty: dict[str, object] | list[object]) -> None:
        node = self._find(pointer)
        kind = "object" if isinstance(empty, dict) else "array"
        if node is None:
            self.scaffold.containers.append(json_pointer(pointer))
            self._append(pointer[:-1], str(pointer[-1]), empty)
        elif node.kind != kind:
            raise JsonProblem(self.text, node.start, f"{json_pointer(pointer)} is not an {kind}")

    def _append(self, pointer: Pointer, key: str | None, value: object) -> None:
        name, node = json_pointer(pointer), self._find(pointer)
        if node is not None and not node.items and name not in self.scaffold.containers:
            self.scaffold.empties[name] = json_edit.source_of(self.text, pointer, self._spec.dialect)
        self.text = json_edit.append_item(self.text, pointer, key, value, self._spec.dialect)

    def _replace(self, pointer: Pointer, value: object) -> None:
        node = self._find(pointer)
        if node is None or node.plain() != value:
            self.text = json_edit.replace_value(self.text, pointer, value, self._spec.dialect)

    def _remove(self, pointer: Pointer) -> None:
        self.text = _removed(self.text, pointer, self._spec.dialect, None)

    def _find(self, pointer: Pointer) -> Node | None:
        return find(self.text, parse(self.text, self._spec.dialect), pointer)

    def _handlers(self) -> list[Pointer]:
        return list(_handlers(self.text, parse(self.text, self._spec.dialect), self._ours))


# ------------------------------------------------------------------ find


def _entries(text: str, dialect: Dialect, ours: OurPrograms) -> Iterator[Pointer]:
    root = parse(text, dialect)
    yield from _handlers(text, root, ours)
    server = find(text, root, SERVER)
    if server is not None and ours.is_server(server.plain()):
        yield SERVER


def _handlers(text: str, root: Node, ours: OurPrograms) -> Iterator[Pointer]:
    hooks = find(text, root, HOOKS)
    for event in [] if hooks is None or hooks.kind != "object" else hooks.items:
        for element in event.node.items if event.node.kind == "array" else []:
            pointer: Pointer = (*HOOKS, event.key, element.key)
            if ours.is_handler(element.node.plain()):
                yield pointer
            for handler in _grouped(element):
                if ours.is_handler(handler.node.plain()):
                    yield (*pointer, "hooks", handler.key)


def _grouped(element: Item) -> list[Item]:
    inner = [item.node for item in element.node.items if item.key == "hooks" and element.node.kind == "object"]
    return inner[-1].items if inner and inner[-1].kind == "array" else []


# ------------------------------------------------------------------ remove


def _removed(text: str, pointer: Pointer, dialect: Dialect, scaffold: Scaffold | None) -> str:
    """Return the text without an item, and without containers around it that were made for it and would be empty."""
    root = parse(text, dialect)
    if len(pointer) == _IN_GROUP and _is_alone(text, root, pointer):
        pointer = pointer[:3]  # a group without a handler means nothing
    while (
        len(pointer) > 1
        and _is_alone(text, root, pointer)
        and (scaffold is None or json_pointer(pointer[:-1]) in scaffold.containers)
    ):
        pointer = pointer[:-1]
    empty = None if scaffold is None else scaffold.empties.get(json_pointer(pointer[:-1]))
    return json_edit.remove_item(text, pointer, dialect, empty)


def _is_alone(text: str, root: Node, pointer: Pointer) -> bool:
    """Return True if nothing else is in the container, not even a comment."""
    parent = find(text, root, pointer[:-1])
    if parent is None or len(parent.items) != 1:
        return False
    item = parent.items[0]
    around = text[parent.start + 1 : item.start] + text[item.end : parent.end - 1]
    return not around.strip(" \t\r\n,")


# ------------------------------------------------------------------ look up other settings


def plain(text: str, dialect: Dialect) -> object:
    """Return the document as `json.loads` does. Raises JsonProblem."""
    return parse(text, dialect).plain()


def lookup(document: object, *path: Key) -> object:
    """Return the value at a path, or None."""
    for key in path:
        document = document.get(key) if isinstance(document, dict) else None
    return document


def value_in(path: Path, dialect: Dialect, *where: str) -> object:
    """Return a value of a file, or None. A file that cannot be read has none here; `setup` refuses it."""
    try:
        text = read_host_file(path).text
        return None if text is None else lookup(plain(text, dialect), *where)
    except (MnemonError, JsonProblem):
        return None
