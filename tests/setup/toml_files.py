"""TOML as people and programs write it, as a list of pieces that can stand in any place: lines, or several at once."""

from __future__ import annotations

import tomllib
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

_VALUES = st.sampled_from([
    "1", "0x1", "nan", "-inf", "1e3", "-2.50", "true", '"x"', "'C:\\x'", '"\\u00e9 # no comment"', "[ 1,   2 ]",
    '[\n    "a",    # first\n  "b" ,\n]', '"""\n[mcp_servers.mnemond]\ncommand = 1\n"""', "'''x\n\n# y'''",
    '{ a = 1, b = "x" }', "1979-05-27T07:32:00Z", "[]", "{}", '["mcp_servers.mnemond"]', '"\u4f60 \u2028 x"',
])  # fmt: skip
_GAPS = st.sampled_from([" = ", "=", "  =\t"])
_COMMENTS = st.sampled_from(["", "", "", "   # keep", "# mcp_servers.mnemond.command", "\t#"])
_NOTES = st.sampled_from(["# a note", "#", "  # [mcp_servers.mnemond]", '# x = """', "", "", "   "])
_HEADERS = st.sampled_from(["tui", "profiles.fast", 'projects."/home/u/a b"', "a.b.c", "history"])


@st.composite
def pieces(draw: DrawFn, number: int) -> str:
    """A key with its value, or a line without meaning; `number` makes the key another one."""
    if draw(st.integers(0, 2)) == 0:
        return draw(_NOTES)
    name = draw(st.sampled_from(["k{}", '"k {}"', "k{}.deep", "'k{}'", "k{}.a.b"])).format(number)
    indent = draw(st.sampled_from(["", "", "  "]))
    return f"{indent}{name}{draw(_GAPS)}{draw(_VALUES)}{draw(_COMMENTS)}"


@st.composite
def _servers(draw: DrawFn) -> tuple[list[str], list[str]]:
    """Other MCP servers in one of the ways in which they are written: (pieces of the root, pieces below)."""
    return draw(st.sampled_from([
        ([], []), ([], []),
        ([], ["[mcp_servers.github]", 'command = "npx"  # mine', "# args", 'args = [ "-y",\n  "x" ]']),
        ([], ["[mcp_servers]", "# the others", "[mcp_servers.github]", 'command = "npx"']),
        ([], ["[mcp_servers]  # all", 'github = { command = "npx" }', "", "[mcp_servers.db]", 'command = "x"']),
        ([], ["[mcp_servers]"]),
        ([], ["[mcp_servers.a.env]", 'A = "1"', "[mcp_servers.a]", 'command = "x"', "[z]", "[mcp_servers.b]"]),
        (['mcp_servers.github.command = "npx"', "mcp_servers.github.args = []"], []),
        (['mcp_servers = { github = { command = "npx" } }  # one line'], []),
        (["mcp_servers = {}"], []),
        (['"mcp_servers"."git hub".command = "npx"'], []),
    ]))  # fmt: skip


@st.composite
def documents(draw: DrawFn) -> list[str]:
    """The pieces of a file that our server fits into."""
    root, below = draw(_servers())
    root = [*(draw(pieces(number)) for number in range(draw(st.integers(0, 3)))), *root]
    root += [draw(pieces(10 + number)) for number in range(draw(st.integers(0, 2)))]
    tables: list[list[str]] = [below]
    for at, header in enumerate(draw(st.lists(_HEADERS, max_size=3, unique=True))):
        lines = [draw(pieces(100 * (at + 1) + number)) for number in range(draw(st.integers(0, 2)))]
        opening = f"[{header}]{draw(_COMMENTS)}"
        tables.append([draw(_NOTES), opening, *lines] if draw(st.booleans()) else [opening, *lines])
    if draw(st.integers(0, 3)) == 0:
        tables.append(["[[rules]]", "a = 1", "", "[[rules]]", "a = 2"])
    return [*root, *(line for table in draw(st.permutations(tables)) for line in table)]


def joined(parts: list[str], newline: str, *, final: bool) -> str:
    """The text of these pieces; the last line may have no line break."""
    text = "".join(f"{part}\n" for part in parts).replace("\n", newline)
    return text if final or not parts else text.removesuffix(newline)


@st.composite
def contents(draw: DrawFn) -> bytes:
    """A file that our server fits into, with and without a byte order mark."""
    parts = draw(documents().filter(lambda each: is_toml("\n".join(each))))
    text = joined(parts, draw(st.sampled_from(["\n", "\n", "\r\n"])), final=draw(st.booleans()))
    return draw(st.sampled_from([b"", b"", b"\xef\xbb\xbf"])) + text.encode()


def is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


@st.composite
def edited(draw: Any, parts: list[str], ours: str) -> list[str]:
    """The pieces after a few edits of a person; each leaves a valid file, with our piece and without it."""
    for number in range(draw(st.integers(1, 5))):
        changed, at = list(parts), draw(st.integers(0, len(parts)))
        action = draw(st.sampled_from(["insert", "insert", "append", "table", "delete", "change", "move", "double"]))
        if action in ("insert", "append"):
            changed.insert(at if action == "insert" else len(changed), draw(pieces(1000 + number)))
        elif action == "table":
            changed[at:at] = [draw(_NOTES), f'[edited."{number}"]', draw(pieces(2000 + number))]
        elif at < len(parts) and parts[at] != ours:
            piece = changed.pop(at)
            if action == "change":
                changed.insert(at, f"{piece} # changed" if "#" not in piece else piece.replace("1", "2"))
            elif action == "move":
                changed.insert(draw(st.integers(0, len(changed))), piece)
            elif action == "double":
                changed[at:at] = [piece, f"# {number}"]
        texts = ("\n".join(each) for each in (changed, [part for part in changed if part != ours]))
        if all(map(is_toml, texts)):
            parts = changed
    return parts
