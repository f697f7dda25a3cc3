"""The two programs that hosts run: `bin/mnemond-hook` and `bin/mnemond-mcp` in the data directory.

A host's settings name their paths and nothing else, so an upgrade changes the programs and never the settings: Codex
forgets that a hook was trusted when its command changes. They run without site packages and without a shell, by the
interpreter that this environment was made from, which is still there when the environment has gone.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Literal

from mnemonctl import fast
from mnemonctl.launcher import hook, mcp
from mnemonctl.setup.files import OwnFile

Kind = Literal["hook", "mcp"]

MODE = 0o700

MAX_SHEBANG = 120
"""Bytes of a first line that every kernel reads: Linux took 127 until 5.1."""

_MODULES: dict[Kind, ModuleType] = {"hook": hook, "mcp": mcp}
_ISOLATED = "-IS"
_START = "import sys; sys.path.insert(0, sys.argv.pop(1)); from mnemonctl.fast import main; main()"


def files(directory: Path) -> list[OwnFile]:
    """Return both programs for a data directory."""
    return [OwnFile(path(directory, kind), text(directory, kind), MODE) for kind in _MODULES]


def path(directory: Path, kind: Kind) -> Path:
    return directory / "bin" / f"mnemond-{kind}"


def text(directory: Path, kind: Kind) -> str:
    """Return the text of a program: an interpreter, the module, and a call with its arguments."""
    source = Path(str(_MODULES[kind].__file__)).read_text("utf-8")
    call = f"run({os.fsencode(directory)!r}, {tuple(map(os.fsencode, start_command(directory)))!r})"
    return f"{first_lines(interpreter())}{source}\n\n{call}\n"


def interpreter() -> str:
    """Return the absolute path of the interpreter that this environment was made from."""
    base: str = getattr(sys, "_base_executable", "") or sys.executable
    return os.path.realpath(base)


def first_lines(program: str) -> str:
    """Return a shebang for `program`; if its path does not fit, one for a shell and an exec inside a Python string."""
    line = f"#!{program} {_ISOLATED}\n"
    if len(os.fsencode(line)) <= MAX_SHEBANG and not any(char.isspace() for char in program):
        return line
    return f"#!/bin/sh\n'''exec' {shlex.quote(program)} {_ISOLATED} \"$0\" \"$@\"\n' '''\n"


def start_command(directory: Path) -> Sequence[str]:
    """Return the command line that starts a daemon: this environment's client, as `launcher/mnemonctl` runs it."""
    packages = str(Path(fast.__file__).parents[1])
    return (sys.executable, "-EPS", "-c", _START, packages, "daemon", "start", "--data-dir", str(directory))
