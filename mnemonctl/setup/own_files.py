"""Files that setup writes into the data directory: launchers for hosts, and texts for models.

The launchers `bin/mnemond-hook` and `bin/mnemond-mcp` are the two programs that hosts run. A host's settings name their
paths and nothing else, so an upgrade changes the programs and never the settings: Codex forgets that a hook was trusted
when its command changes. They run without site packages and without a shell, by the interpreter that this environment
was made from, which is still there when the environment has gone.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Final, Literal

import msgspec

from mnemonctl import fast
from mnemonctl.files import unusable
from mnemonctl.launcher import hook, mcp
from mnemonctl.setup.files import OwnFile, digest
from mnemond.config import prompt_texts
from mnemond.config.prompt_texts import FOLDER, NAMES, Name, edited

Kind = Literal["hook", "mcp"]

MODE = 0o700

MAX_SHEBANG = 120
"""Bytes of a first line that every kernel reads: Linux took 127 until 5.1."""

_MODULES: dict[Kind, ModuleType] = {"hook": hook, "mcp": mcp}
_ISOLATED = "-IS"
_START = "import sys; sys.path.insert(0, sys.argv.pop(1)); from mnemonctl import main; main()"


def launcher_files(directory: Path) -> list[OwnFile]:
    """Return both programs for a data directory."""
    return [OwnFile(launcher(directory, kind), launcher_text(directory, kind), MODE) for kind in _MODULES]


def launcher(directory: Path, kind: Kind) -> Path:
    return directory / "bin" / f"mnemond-{kind}"


def launcher_text(directory: Path, kind: Kind) -> str:
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


# ---------------------------------------------------------------- texts for models
#
# `guide.md` and `skill.md` in `prompt/`, the same for every store. They belong to the user once they are there: a file
# that was changed is kept, and this release's is written beside it as `.new`.


SKILL: Final[Name] = "skill.md"

State = Literal["created", "unchanged", "updated", "kept"]
"""kept: the user changed it, and ours is beside it as `.new`."""


class PromptFile(msgspec.Struct, frozen=True):
    """One of them, and what `install` does about it."""

    path: Path
    state: State

    @property
    def new(self) -> OwnFile:
        """Ours, beside a changed one."""
        return OwnFile(self.path.with_name(f"{self.path.name}.new"), prompt_texts.shipped(self.path.name))


def current(directory: Path, name: str) -> str:
    """Return the user's text if there is one, else ours. Raises MnemonError."""
    try:
        return edited(directory, name).decode("utf-8", "replace")
    except FileNotFoundError:
        return prompt_texts.shipped(name)
    except OSError as error:
        raise unusable(directory / FOLDER / name, error) from None


def planned(directory: Path, written: Mapping[str, str]) -> list[PromptFile]:
    """Return what `install` would do. `written`: SHA-256 of what was installed last, by name. Raises MnemonError."""
    return [PromptFile(directory / FOLDER / name, _state(directory, name, written.get(name))) for name in NAMES]


def _state(directory: Path, name: str, written: str | None) -> State:
    if not (directory / FOLDER / name).exists():
        return "created"
    there = digest(current(directory, name).encode())
    if there == digest(prompt_texts.shipped(name).encode()):
        return "unchanged"
    return "updated" if there == written else "kept"


def is_pending(directory: Path, written: Mapping[str, str]) -> bool:
    """Return True if `install` would write anything. Raises MnemonError."""
    return any(
        file.state in ("created", "updated") or (file.state == "kept" and not file.new.is_there())
        for file in planned(directory, written)
    )


def install(directory: Path, written: dict[str, str]) -> None:
    """Write both, without touching what the user changed, and note them in `written`. Raises MnemonError."""
    for file in planned(directory, written):
        own = OwnFile(file.path, prompt_texts.shipped(file.path.name))
        if file.state in ("created", "updated"):
            own.write()
        if file.state != "kept":
            file.new.remove()
            written[file.path.name] = digest(own.text.encode())
        elif not file.new.is_there():
            file.new.write()


def remove(directory: Path, written: Mapping[str, str]) -> list[Path]:
    """Remove those that the user did not change, and each `.new`; return the former. Raises MnemonError."""
    removed = []
    for file in planned(directory, written):
        file.new.remove()
        if file.state in ("unchanged", "updated"):
            OwnFile(file.path, "").remove()
            removed.append(file.path)
    with contextlib.suppress(OSError):
        (directory / FOLDER).rmdir()  # if it is empty
    return removed
