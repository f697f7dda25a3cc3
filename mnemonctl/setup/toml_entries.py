"""Our server in the TOML settings of a host: one line is added, and that line is removed again; no other changes.

The line is a dotted key, `mcp_servers.mnemond.command = "…"`, not a table of its own: keys that are later appended to
the file stay in the table in which they would be without ours. Hosts may write the file anew, and then make a table of
it; each of these forms is recognized. tomlkit reads the text and says where each item is; the text is cut there.
Each result is read again by `tomllib`, which must find exactly the expected difference.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec
import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import AoT, InlineTable, Item, Key, Table
from tomlkit.toml_document import TOMLDocument

from mnemonctl.setup.entries import ALIAS, OurPrograms, Scaffold, lookup
from mnemonctl.setup.files import SettingsProblem

SERVERS: Final = "mcp_servers"
COMMAND: Final = "command"
_SERVER: Final = (SERVERS, ALIAS)

_MARK: Final = "\0"
"""Shows the ends of an item in a rendered document; no TOML text contains it."""

_BLANK_LINE: Final = re.compile(r"^[ \t]*\r?\n", re.MULTILINE)
_LINE: Final = re.compile(r"^.+", re.MULTILINE)

Path = tuple[str, ...]
Place = tuple[Path, Item]


class TomlServer(msgspec.Struct, frozen=True):
    """The entry of a TOML file: a server that is started by the command `program`."""

    program: str

    def new_file(self) -> tuple[str, Scaffold]:
        """Return the text of a file with nothing else in it."""
        return self._line(_SERVER, "\n"), Scaffold()

    def add(self, text: str, ours: OurPrograms) -> tuple[str, Scaffold]:
        """Return the text with the server; unchanged if it is there. Raises SettingsProblem."""
        plain = parse_toml(text)
        servers, server = plain.get(SERVERS, {}), lookup(plain, *_SERVER)
        if ours.is_server(server):
            return text, Scaffold()
        if not isinstance(servers, dict):
            raise SettingsProblem(f"{SERVERS} is not a table")
        if server is not None:
            raise SettingsProblem(f'there is another MCP server called "{ALIAS}"; rename or remove it')
        document = _document(text)
        tables = [] if document is None else [item for key, item in document.body if key and key.key == SERVERS]
        if document is not None and tables and isinstance(tables[0], InlineTable):
            entry = tomlkit.inline_table()
            entry[COMMAND] = self.program
            tables[0][ALIAS] = entry
            new = document.as_string()
        else:
            newline = "\r\n" if "\r\n" in text else "\n"
            place = 0
            path: Path = _SERVER
            if document is not None:
                header = next((each for each in tables if isinstance(each, Table) and _span(document, each)), None)
                place = _end_of_root(text, document) if header is None else _end_of_keys(document, header)
                path = _SERVER if header is None else _SERVER[1:]
            new = _with_line(text, place, self._line(path, newline), newline)
        plain.setdefault(SERVERS, {})[ALIAS] = {COMMAND: self.program}
        return _checked(new, plain), Scaffold()

    def find(self, text: str, ours: OurPrograms) -> list[str]:
        """Return JSON pointers to our server, wherever edits have brought it. Raises SettingsProblem."""
        return list(_pointers(parse_toml(text), ours, ""))

    def remove(self, text: str, ours: OurPrograms, scaffold: Scaffold | None) -> str:
        """Return the text without our server. Raises SettingsProblem.

        Comments stay. Keys that others gave to our server become comments: a server without a command keeps Codex from
        starting, and under another header they would belong to another table.
        """
        plain = parse_toml(text)
        if not any(_pointers(plain, ours, "")):
            return text
        document = _document(text)
        if document is None:
            return self._without_line(text, plain, ours)
        for key, item in document.body:
            if key is not None and isinstance(item, InlineTable) and ours.is_server(item.unwrap().get(ALIAS)):
                del item[ALIAS]
                document = tomlkit.parse(text := document.as_string())
        places = list(_places(document.body, ()))
        servers = {at for path, item in places if (at := _server_at(path, item, ours)) is not None}
        theirs = [(path, item, at) for path, item in places for at in servers if path[: len(at)] == at]
        written = [(span, *each) for each in theirs if (span := _span(document, each[1])) is not None]
        for (start, end), path, item, server in sorted(written, key=lambda each: each[0], reverse=True):
            if path == (*server, COMMAND) or (path == server and _names_command_only(item)):
                text = _without(text, start, end, _comment_of(item))
            else:
                text = text[:start] + _commented(text[start:end]) + text[end:]
        return _checked(text, plain, ours)

    def is_bare(self, text: str) -> bool:
        """Return True if nothing is left in a file that was made for the server."""
        return not text.strip()

    def _without_line(self, text: str, plain: dict[str, Any], ours: OurPrograms) -> str:
        """Remove the line that `add` wrote from a text that cannot be taken apart."""
        assignment = re.escape(self._line(_SERVER[1:], ""))
        line = re.compile(rf"^[ \t]*(?:{SERVERS}\.)?{assignment}[ \t]*(?:\r?\n|$|(#))", re.MULTILINE)
        for found in line.finditer(text):
            with suppress(SettingsProblem):  # this one is inside a text
                return _checked(_without(text, *found.span(), found[1] or ""), plain, ours)
        raise SettingsProblem(f"the MCP server {ALIAS} in it cannot be removed without changing more of it")

    def _line(self, path: Path, newline: str) -> str:
        return f"{'.'.join((*path, COMMAND))} = {tomlkit.item(self.program).as_string()}{newline}"


def parse_toml(text: str) -> dict[str, Any]:
    """Return the document as plain values. Raises SettingsProblem."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsProblem(str(error)) from None
    except RecursionError:
        raise SettingsProblem("its values are nested too deeply") from None


def _document(text: str) -> TOMLDocument | None:
    """Return the document, or None if tomlkit would change its layout: it does for interleaved arrays of tables."""
    try:
        document = tomlkit.parse(text)
    except (TOMLKitError, RecursionError):
        return None
    return document if document.as_string() == text else None


def _checked(text: str, expected: object, ours: OurPrograms | None = None) -> str:
    """Return the text if it means what is expected, apart from empty tables and, with `ours`, from our server."""
    if _pruned(parse_toml(text), None) != _pruned(expected, ours):
        raise SettingsProblem("it cannot be edited without changing more of it")
    return text


def _pruned(value: object, without: OurPrograms | None) -> object:
    if isinstance(value, list):
        return [_pruned(each, without) for each in value]
    if not isinstance(value, dict):
        return repr(value) if isinstance(value, float) else value  # nan is not equal to itself
    kept = {
        key: _pruned(each, without)
        for key, each in value.items()
        if not (without is not None and key == ALIAS and without.is_server(each))
    }
    return {key: each for key, each in kept.items() if each != {}}


def _pointers(value: object, ours: OurPrograms, pointer: str) -> Iterator[str]:
    """Yield the JSON pointers to tables `mnemond` that run our program."""
    if isinstance(value, list):
        for number, each in enumerate(value):
            yield from _pointers(each, ours, f"{pointer}/{number}")
    elif isinstance(value, dict):
        for key, each in value.items():
            if key == ALIAS and ours.is_server(each):
                yield f"{pointer}/{key}"
            else:
                yield from _pointers(each, ours, f"{pointer}/{key}")


def _server_at(path: Path, item: Item, ours: OurPrograms) -> Path | None:
    """Return the path of our server if this is its command, or the whole of it on one line."""
    if path[-2:] == (ALIAS, COMMAND) and ours.is_server({COMMAND: item.unwrap()}):
        return path[:-1]
    return path if path[-1] == ALIAS and isinstance(item, InlineTable) and ours.is_server(item.unwrap()) else None


# ------------------------------------------------------------------ where items are


def _places(body: Sequence[tuple[Key | None, Item]], path: Path) -> Iterator[Place]:
    """Yield every key with its item, headers of tables and what is in them as well, in the order of the text."""
    for key, item in body:
        if key is None:
            continue
        here = (*path, key.key)
        for each in item.body if isinstance(item, AoT) else [item]:
            yield here, each
            if isinstance(each, Table):
                yield from _places(each.value.body, here)


def _span(document: TOMLDocument, item: Item) -> tuple[int, int] | None:
    """Return (start, end) of the lines of a key and its value, or of the header of a table; None if it has none."""
    trivia = item.trivia
    before = trivia.indent, trivia.trail
    trivia.indent, trivia.trail = _MARK + trivia.indent, trivia.trail + _MARK
    try:
        pieces = document.as_string().split(_MARK)
    finally:
        trivia.indent, trivia.trail = before
    return (len(pieces[0]), len(pieces[0]) + len(pieces[1])) if len(pieces) > 1 else None


def _end_of_root(text: str, document: TOMLDocument) -> int:
    """Return the end of the keys before the first table; without any, of the comments that a blank line ends."""
    root = [(key, item) for key, item in document.body if key is not None and _is_key(key, item)]
    if root:
        return _end_of_last(document, root)
    spans = (_span(document, item) for _, item in _places(document.body, ()))
    first = next((span[0] for span in spans if span is not None), len(text))
    if first == len(text):
        return first
    blank_lines = list(_BLANK_LINE.finditer(text, 0, first))
    return blank_lines[-1].end() if blank_lines else 0


def _end_of_keys(document: TOMLDocument, table: Table) -> int:
    """Return the end of the keys of a table that has a header, before the tables inside it."""
    own = [(key, item) for key, item in table.value.body if key is not None and _is_key(key, item)]
    if own:
        return _end_of_last(document, own)
    span = _span(document, table)
    assert span is not None  # noqa: S101 - it has a header
    return span[1]


def _is_key(key: Key, item: Item) -> bool:
    return key.is_dotted() or not isinstance(item, Table | AoT)


def _end_of_last(document: TOMLDocument, keys: Sequence[tuple[Key | None, Item]]) -> int:
    *_, (_, last) = _places(keys[-1:], ())
    span = _span(document, last)
    assert span is not None  # noqa: S101 - a value is always written
    return span[1]


def _names_command_only(server: Item) -> bool:
    """Return True for the header of a table, whose keys are items of their own, and for `{ command = "…" }`."""
    return not isinstance(server, InlineTable) or set(server) == {COMMAND}


# ------------------------------------------------------------------ lines


def _with_line(text: str, place: int, line: str, newline: str) -> str:
    """Return the text with one more line. The last line of a text without a final line break gets none either."""
    if text[:place] and text[place - 1] != "\n":
        return text[:place] + newline + line.removesuffix(newline) + text[place:]
    return text[:place] + line + text[place:]


def _comment_of(item: Item) -> str:
    """Return the comment behind a value as a line of its own."""
    trivia = item.trivia
    return f"{trivia.indent}{trivia.comment}{trivia.trail}" if trivia.comment else ""


def _without(text: str, start: int, end: int, comment: str) -> str:
    """Return the text with `comment`, which may be empty, in the place of these lines."""
    if not comment and not text[start:end].endswith("\n"):  # the line before is the last one again
        start = len(text[:start].removesuffix("\n").removesuffix("\r"))
    return text[:start] + comment + text[end:]


def _commented(lines: str) -> str:
    return _LINE.sub(r"# \g<0>", lines)
