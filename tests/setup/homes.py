"""Homes of people who use agents, as directories; and what is in them, byte for byte."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import strategies as st

from mnemonctl.setup import command
from mnemonctl.setup.environment import SetupEnvironment
from mnemonctl.setup.json_edit import Dialect
from mnemond.cli.admin import SetupOptions
from mnemond.cli.grammar import Output
from tests.setup import toml_files
from tests.setup.json_files import OBJECTS, laid_out, written

PLUGIN = "mnemond@mnemond-local"
"""What Claude Code installs."""

FAKES = Path(__file__).parent / "fakes"
JSON = Output(form="json")

FILES = {
    "gemini": (".gemini/settings.json",),
    "cursor": (".cursor/hooks.json", ".cursor/mcp.json"),
    "codex": (".codex/hooks.json", ".codex/config.toml"),
    "copilot-cli": (".copilot/hooks/mnemond.json", ".copilot/mcp-config.json"),
}
"""Files that are edited, by target."""


def home_at(root: Path) -> SetupEnvironment:
    """An empty home with nothing on its PATH."""
    home = root / "home"
    (home / "bin").mkdir(parents=True)
    return SetupEnvironment(home, {"HOME": str(home), "PATH": str(home / "bin")}, home / ".mnemon")


def with_program(place: SetupEnvironment, name: str) -> None:
    """Put the fake of a host's program on the PATH."""
    source = (FAKES / f"{name}.py").read_text("utf-8")
    path = place.home / "bin" / name
    path.write_text(f"#!{sys.executable} -IS\n{source}", "utf-8")
    path.chmod(0o755)


def run(place: SetupEnvironment, **typed: Any) -> tuple[int, dict[str, Any]]:
    """`mnemonctl setup --json`: its exit status and what it printed, targets by name."""
    done = command.run(place, SetupOptions(**{"yes": True, **typed}), JSON, None)
    said = json.loads(done.stdout)
    said["targets"] = {each["target"]: each for each in said["targets"]}
    return done.exit_code, said


class Entry(msgspec.Struct, frozen=True):
    """A file, link or directory."""

    mode: int
    content: bytes


def everything(place: SetupEnvironment) -> dict[str, Entry]:
    """All that is in a home but the data directory and the programs."""
    found: dict[str, Entry] = {}
    for folder, names, files in os.walk(place.home):
        if Path(folder) == place.home:
            names[:] = [name for name in names if name not in (".mnemon", "bin")]
        for name in (*names, *files):
            path = Path(folder, name)
            status = path.lstat()
            content = (
                os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
            )
            found[str(path.relative_to(place.home))] = Entry(
                stat.S_IFMT(status.st_mode) | status.st_mode & 0o777, content
            )
    return found


def without_backups(found: dict[str, Entry]) -> dict[str, Entry]:
    return {name: entry for name, entry in found.items() if ".mnemond-bak-" not in name}


# ------------------------------------------------------------------ settings as people have them

_COMMANDS = st.sampled_from(
    ["/usr/bin/true", "npx other-memory hook", "mnemond-hook", "~/.mnemon/bin/mnemond-hook", "echo \u00e9"]
)
_HANDLERS = st.fixed_dictionaries(
    {"type": st.just("command"), "command": _COMMANDS},
    optional={"timeout": st.integers(1, 60), "name": st.text(max_size=4)},
)
_GROUPS = st.fixed_dictionaries(
    {"hooks": st.lists(_HANDLERS, max_size=2)}, optional={"matcher": st.sampled_from(["", "Bash"])}
)
_EVENTS = st.sampled_from(
    ["SessionStart", "Stop", "BeforeAgent", "UserPromptSubmit", "sessionStart", "PreToolUse", "stop"]
)
_HOOKS = st.dictionaries(_EVENTS, st.lists(_GROUPS | _HANDLERS, max_size=3), max_size=3)
_SERVER = st.fixed_dictionaries(
    {"command": st.sampled_from(["npx", "/bin/x"])}, optional={"args": st.lists(st.text(max_size=3), max_size=2)}
)
_SERVERS = st.dictionaries(st.sampled_from(["github", "mnemon", "db"]), _SERVER, max_size=2)


@st.composite
def documents(draw: Any, path: str) -> dict[str, Any]:
    """Settings that our entries fit into."""
    foreign = {key: value for key, value in draw(OBJECTS).items() if key not in ("hooks", "mcpServers", "version")}
    if draw(st.booleans()):
        foreign["hooks"] = draw(_HOOKS)
    if draw(st.booleans()):
        foreign["mcpServers"] = draw(_SERVERS)
    if "hooks" in path and draw(st.booleans()):
        foreign["version"] = 1
    names = draw(st.permutations(list(foreign)))
    return {name: foreign[name] for name in names}


@st.composite
def contents(draw: Any, path: str) -> bytes:
    """Such settings in one of their many spellings, with and without a byte order mark."""
    if path.endswith(".toml"):
        toml: bytes = draw(toml_files.contents())
        return toml
    is_cursor = ".cursor" in path
    dialect = Dialect(comments=is_cursor or ".gemini" in path, trailing_commas=is_cursor)
    document = draw(documents(path))
    newline = draw(st.sampled_from(["\n", "\r\n"]))
    text = draw(st.one_of(laid_out(document), written(document, dialect, newline)))
    content: bytes = text.encode("utf-8", "surrogatepass")
    return b"\xef\xbb\xbf" + content if draw(st.booleans()) else content
