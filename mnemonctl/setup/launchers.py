"""The two small programs that hosts run, `bin/mnemond-hook` and `bin/mnemond-mcp` in the data directory.

A host's settings name their paths and nothing else, so an upgrade changes the programs and never the settings: Codex
forgets that a hook was trusted when its command changes. They run without the site packages and without a shell, by
the interpreter that this environment was made from, which is still there when the environment has gone.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Literal

from mnemonctl.launcher import hook, mcp
from mnemonctl.setup.own_file import OwnFile

Kind = Literal["hook", "mcp"]

MODE = 0o700
"""Nobody else has a use for them."""

LONGEST_SHEBANG = 120
"""Bytes of a first line that every kernel reads: Linux took 127 until 5.1."""

_MODULES: dict[Kind, ModuleType] = {"hook": hook, "mcp": mcp}
_ISOLATED = "-IS"
_START = "from mnemonctl.fast import main; main()"


def path(directory: Path, kind: Kind) -> Path:
    """Where the program for a data directory stands."""
    return directory / "bin" / f"mnemond-{kind}"


def files(directory: Path) -> list[OwnFile]:
    """Both programs."""
    return [OwnFile(path(directory, kind), text(directory, kind), MODE) for kind in _MODULES]


def text(directory: Path, kind: Kind) -> str:
    """The program: an interpreter, the module, and what it is called with."""
    source = Path(str(_MODULES[kind].__file__)).read_text("utf-8")
    called = f"run({os.fsencode(directory)!r}, {tuple(map(os.fsencode, start_command(directory)))!r})"
    return f"{first_lines(interpreter())}{source}\n\n{called}\n"


def interpreter() -> str:
    """The absolute path of the interpreter that this environment was made from."""
    base: str = getattr(sys, "_base_executable", "") or sys.executable
    return os.path.realpath(base)


def first_lines(program: str) -> str:
    """What makes a Python file run by `program`: a shebang, or where that has no room for its path, a shell's exec in
    what Python takes for a string."""
    line = f"#!{program} {_ISOLATED}\n"
    if len(os.fsencode(line)) <= LONGEST_SHEBANG and not any(char.isspace() for char in program):
        return line
    return f"#!/bin/sh\n'''exec' {shlex.quote(program)} {_ISOLATED} \"$0\" \"$@\"\n' '''\n"


def start_command(directory: Path) -> Sequence[str]:
    """What starts a daemon: this environment's own client, wherever it is run."""
    return (sys.executable, "-I", "-c", _START, "daemon", "start", "--data-dir", str(directory))
