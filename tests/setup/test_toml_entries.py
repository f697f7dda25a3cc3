"""Our line in a TOML file: put in, found, and taken out of whatever the file has become."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemonctl.setup.entries import OurPrograms
from mnemonctl.setup.files import SettingsProblem
from mnemonctl.setup.toml_entries import TomlServer
from tests.examples import few_or_many
from tests.setup.toml_files import documents, edited, is_toml, joined
from tests.tables import each_row

OURS = OurPrograms(Path("/bin/hook"), Path("/bin/mcp"))
SERVER = TomlServer("/bin/mcp")
LINE = 'mcp_servers.mnemond.command = "/bin/mcp"'


def removed(text: str) -> str:
    return SERVER.remove(text, OURS, None)


@pytest.mark.attack
@few_or_many(40, 2000)
@given(data=st.data(), parts=documents(), newline=st.sampled_from(["\n", "\r\n"]), final=st.booleans())
def test_any_edits_after_it_was_added_stay_to_the_byte(data: Any, parts: list[str], newline: str, final: bool) -> None:
    before = joined(parts, newline, final=final)
    if not is_toml(before):
        return
    text, _ = SERVER.add(before, OURS)
    assert tomllib.loads(text)["mcp_servers"]["mnemond"] == {"command": "/bin/mcp"}
    assert SERVER.add(text, OURS)[0] == text
    assert removed(text) == before
    lines, there = text.replace("\r\n", "\n").split("\n"), parts
    ours = next((line for line in lines if line in (LINE, LINE.removeprefix("mcp_servers."))), None)
    if ours is None:
        assert "mcp_servers = {" in text, "it is in a line of others"
        return
    ends = [0]
    for part in parts:
        ends.append(ends[-1] + part.count("\n") + 1)
    at = ends.index(lines.index(ours))
    after = data.draw(edited([*there[:at], ours, *there[at:]], ours))
    final = data.draw(st.booleans())
    theirs = [part for part in after if part != ours]
    assert removed(joined(after, newline, final=final)) == joined(theirs, newline, final=final)


TABLE = """\
model = "x"

# a note before
[mcp_servers.mnemond] # on the header
# a note inside
command = "/bin/mcp" # on the command
startup_timeout_sec = 20

[mcp_servers.mnemond.env]
WORDS = '''
a
'''

[tui]
a = 1
"""


def test_a_table_that_codex_made_of_it_goes_and_notes_stay() -> None:
    assert removed(TABLE) == (
        'model = "x"\n\n# a note before\n# on the header\n# a note inside\n# on the command\n'
        "# startup_timeout_sec = 20\n\n# [mcp_servers.mnemond.env]\n# WORDS = '''\n# a\n# '''\n\n[tui]\na = 1\n"
    )


@each_row(
    ("text", "left"),
    [
        ('mcp_servers.mnemond = { command = "/bin/mcp" } # my note\nx = 1\n', "# my note\nx = 1\n"),
        ('[mcp_servers]\nmnemond = { command = "/bin/mcp" }\nx = {}\n', "[mcp_servers]\nx = {}\n"),
        ('mcp_servers.mnemond = { command = "/bin/mcp", cwd = "/" }',
         '# mcp_servers.mnemond = { command = "/bin/mcp", cwd = "/" }'),
        ('mcp_servers = { a = {}, mnemond = { command = "/bin/mcp" }}\n', "mcp_servers = { a = {} }\n"),
        (f"{LINE}\n[[mcp_servers.mnemond.x]]\na = 1\n", "# [[mcp_servers.mnemond.x]]\n# a = 1\n"),
        ('[mcp_servers.mnemond]\r\ncommand = "/bin/mcp"\r\n', ""),
        (f'"""{LINE}"""'.join(["a = ", "\n"]), f'"""{LINE}"""'.join(["a = ", "\n"])),
        ('[mcp_servers.mnemond]\ncommand = "/other"\n', '[mcp_servers.mnemond]\ncommand = "/other"\n'),
        ("mcp_servers = 3\n", "mcp_servers = 3\n"),
        (f"[tui]\nx = 1\n{LINE}\n", "[tui]\nx = 1\n"),
        (f"[[a]]\n[[a]]\n{LINE}\n", "[[a]]\n[[a]]\n"),
        ('mnemond.command = "/bin/mcp"\nmnemond.x = 1', "# mnemond.x = 1"),
        ('x = { mnemond = { command = "/bin/mcp" } }', "x = {  }"),
        (f'[[a]]\n[b]\nx = """\n{LINE}\n"""\n{LINE}\n[[a]]\n', f'[[a]]\n[b]\nx = """\n{LINE}\n"""\n[[a]]\n'),
    ],
)  # fmt: skip
def test_it_is_found_however_it_is_written_and_what_others_added_becomes_a_comment(text: str, left: str) -> None:
    assert removed(text) == left
    assert (SERVER.find(text, OURS) == []) is (text == left)
    assert tomllib.loads(left) is not None


@each_row(
    ("text", "words"),
    [
        ("a = \n", "line 1"),
        ("a = 1\na = 2\n", "Cannot overwrite"),
        ("mcp_servers = 3\n", "not a table"),
        ("[[mcp_servers]]\n", "not a table"),
        ('[mcp_servers.mnemond]\nurl = "x"\n', "another MCP server"),
        ("a = " + "[" * 3000 + "]" * 3000, "nested"),
    ],
)
def test_a_file_that_does_not_fit_is_a_problem(text: str, words: str) -> None:
    with pytest.raises(SettingsProblem, match=words):
        SERVER.add(text, OURS)


INTERLEAVED = "[[a]]\nx = 1\n[b]\n[[a]]\nx = 2\n"


def test_a_text_that_tomlkit_would_lay_out_anew_gets_the_line_first() -> None:
    text, _ = SERVER.add(INTERLEAVED, OURS)
    assert text == f"{LINE}\n{INTERLEAVED}"
    assert removed(text) == INTERLEAVED
    assert removed(text.replace(LINE, f"{LINE} # mine")) == f"# mine\n{INTERLEAVED}"
    with pytest.raises(SettingsProblem, match="cannot be removed"):
        removed(f'[mcp_servers.mnemond]\ncommand = "/bin/mcp"\n{INTERLEAVED}')


def test_a_path_is_quoted_as_toml_wants_it() -> None:
    server = TomlServer('/a "b"\\c\x7f')
    text, _ = server.new_file()
    assert tomllib.loads(text)["mcp_servers"]["mnemond"]["command"] == server.program
    assert server.is_bare(server.remove(text, OurPrograms(Path("/h"), Path(server.program)), None))
