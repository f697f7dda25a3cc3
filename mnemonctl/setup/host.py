"""A host: an agent program that setup can tell about mnemond, and how its own program is run."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from mnemonctl.setup import own_files
from mnemonctl.setup.entries import FileEntries, OurPrograms
from mnemonctl.setup.files import OwnFile
from mnemond.cli.output import one_line
from mnemond.errors import UNAVAILABLE, MnemonError

HOOK_TIMEOUT_S: Final = 3
"""Seconds after which a host gives up a hook. Ours ends by itself within a quarter of a second; Codex allows a hook at
the end of a session no more than three."""


class SetupEnvironment(msgspec.Struct, frozen=True):
    """This user's home and environment, and the data directory."""

    home: Path
    environ: Mapping[str, str]
    directory: Path

    @classmethod
    def of_user(cls, directory: Path, environ: Mapping[str, str]) -> SetupEnvironment:
        """Return it with the home directory of this user."""
        return cls(Path(environ.get("HOME") or os.path.expanduser("~")), environ, directory)

    @property
    def ours(self) -> OurPrograms:
        """The programs that hosts run for this data directory."""
        return OurPrograms(own_files.launcher(self.directory, "hook"), own_files.launcher(self.directory, "mcp"))

    def config(self, variable: str, default: str) -> Path:
        """Return the directory that a variable names, else one in the home directory."""
        named = self.environ.get(variable, "")
        return Path(os.path.abspath(named)) if named else self.home / default

    def program(self, name: str) -> str | None:
        """Return the absolute path of a host's program, or None."""
        found = shutil.which(name, path=self.environ.get("PATH", ""))
        return None if found is None else os.path.abspath(found)


class Settings(msgspec.Struct, frozen=True):
    """A file of a host, and our entries in it."""

    path: Path
    spec: FileEntries


class Registration(Protocol):
    """The part that a host does by its own program."""

    def files(self) -> list[OwnFile]:
        """Return files of ours that the program points to."""

    def is_known(self) -> bool:
        """Return True if the host's settings name ours; the program is not run. Raises MnemonError."""

    def rewritten(self) -> list[Path]:
        """Return the settings that the program writes."""

    def commands(self, *, ask: bool) -> list[list[str]]:
        """Return the commands that are needed; with `ask` the host's program says what it has, else its files do.

        Raises MnemonError for settings that it must not touch.
        """

    def undo(self, *, ask: bool) -> list[list[str]]:
        """Return the commands that take back what was registered."""

    def expected(self, path: Path, text: str | None, *, there: bool) -> str | None:
        """Return what one of `rewritten` will say, with or without our entries; its layout may differ."""


class Host(Protocol):
    """An agent program. None of these methods changes anything."""

    name: str
    title: str

    def found(self) -> str | None:
        """Return a sentence about where it is installed, or None."""

    def settings(self) -> list[Settings]:
        """Return the files that get our entries."""

    def registration(self) -> Registration | None:
        """Return what its own program does, or None."""

    def remarks(self) -> list[str]:
        """Return what the user has to do or know after the setup. May run the host's program."""

    def untrusted(self) -> list[str]:
        """Return hooks of ours that wait for the user's approval. Runs the host's program."""

    def duplicates(self) -> list[str]:
        """Return sentences about settings that would run our hooks a second time."""

    def switched_off(self) -> list[str]:
        """Return sentences about settings of the host that keep our hooks from running."""


def found_program(path: str | None) -> str | None:
    """Return a sentence about an installed program, or None."""
    return None if path is None else f"{path} is installed"


def found_directory(path: Path) -> str | None:
    """Return a sentence about a directory, or None if there is none."""
    return f"{path} is there" if path.is_dir() else None


# ------------------------------------------------------------------ running a host's program

COMMAND_S: Final = 60.0
"""Seconds it may take: they are large programs, and a machine may be busy."""

ANSWER_S: Final = 15.0
"""Seconds for one answer of a program that stays."""

LEAVE_S: Final = 2.0
"""Seconds it may then take to leave."""

SHOWN: Final = 300
"""Characters of its error output that are shown."""


def run(command: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return the standard output of a command. Raises MnemonError(UNAVAILABLE) if it fails."""
    shown = shlex.join(command)
    try:
        done = subprocess.run(  # noqa: S603 - a program of the user, by its absolute path, with fixed words
            command, input=b"", capture_output=True, timeout=COMMAND_S, check=False, env=dict(environ)
        )
    except subprocess.TimeoutExpired:
        raise MnemonError(UNAVAILABLE, f"{shown} took longer than {COMMAND_S:g} s") from None
    except OSError as error:
        raise MnemonError(UNAVAILABLE, f"{shown} cannot be run: {error.strerror}") from None
    if done.returncode:
        words = " ".join((done.stderr or done.stdout).decode("utf-8", "replace").split())
        raise MnemonError(UNAVAILABLE, f"{shown} failed ({done.returncode}): {one_line(words[-SHOWN:])}")
    return done.stdout.decode("utf-8", "replace")


def converse(command: Sequence[str], environ: Mapping[str, str], requests: bytes, wanted: int) -> dict[str, Any]:
    """Return the answer with id `wanted` of a program that speaks JSON, one message a line, until its input ends.

    Raises MnemonError(UNAVAILABLE) if it does not come.
    """
    shown = shlex.join(command)
    try:
        process = subprocess.Popen(  # noqa: S603 - see `run`
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=dict(environ)
        )
    except OSError as error:
        raise MnemonError(UNAVAILABLE, f"{shown} cannot be run: {error.strerror}") from None
    assert process.stdin is not None  # noqa: S101 - it is a pipe
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    timer = threading.Timer(ANSWER_S, process.kill)
    timer.start()
    with process:
        try:
            with contextlib.suppress(BrokenPipeError):  # it may leave by itself
                process.stdin.write(requests)
                process.stdin.flush()
            answer = next((each for each in map(_message, process.stdout) if each.get("id") == wanted), None)
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(LEAVE_S)
        finally:
            timer.cancel()
            process.kill()
    if answer is None:
        raise MnemonError(UNAVAILABLE, f"{shown} did not answer")
    return answer


def _message(line: bytes) -> dict[str, Any]:
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}
