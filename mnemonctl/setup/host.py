"""What one agent program needs in order to know mnemond."""

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

from mnemonctl.setup import files
from mnemonctl.setup.entries import Ours, Wanted
from mnemonctl.setup.files import OwnFile
from mnemond.cli.output import one_line
from mnemond.errors import UNAVAILABLE, MnemonError

HOOK_TIMEOUT_S: Final = 3
"""Seconds after which a host gives up a hook. Ours ends by itself within a quarter of a second; Codex allows a hook at
the end of a session no more than three."""


class SetupEnvironment(msgspec.Struct, frozen=True):
    """Where things are: this user's home and environment, and the data directory."""

    home: Path
    environ: Mapping[str, str]
    directory: Path

    @classmethod
    def of_user(cls, directory: Path, environ: Mapping[str, str]) -> SetupEnvironment:
        """This user's home and environment."""
        return cls(Path(environ.get("HOME") or os.path.expanduser("~")), environ, directory)

    @property
    def ours(self) -> Ours:
        """The programs that hosts run for this data directory."""
        return Ours(files.path(self.directory, "hook"), files.path(self.directory, "mcp"))

    def config(self, variable: str, usual: str) -> Path:
        """The directory that a variable names, else one in the home directory."""
        named = self.environ.get(variable, "")
        return Path(os.path.abspath(named)) if named else self.home / usual

    def program(self, name: str) -> str | None:
        """The absolute path of a host's own program, if it is installed."""
        found = shutil.which(name, path=self.environ.get("PATH", ""))
        return None if found is None else os.path.abspath(found)


class Settings(msgspec.Struct, frozen=True):
    """What is wanted in one file of a host."""

    path: Path
    wanted: Wanted


class Registration(Protocol):
    """What a host does by its own program."""

    def files(self) -> list[OwnFile]:
        """What of ours the program points to."""
        ...

    def is_known(self) -> bool:
        """Whether the host's settings name ours; the program is not asked. Raises MnemonError."""
        ...

    def rewritten(self) -> list[Path]:
        """Settings that the program writes when it does this."""
        ...

    def commands(self) -> list[list[str]]:
        """What it has to be told, as things stand; nothing when all is in order. Raises MnemonError for settings that
        should not be touched by it."""
        ...

    def undo(self) -> list[list[str]]:
        """What takes that back, as things stand."""
        ...


class Host(Protocol):
    """One program. Looking changes nothing."""

    name: str
    title: str

    def found(self) -> str | None:
        """By what it is known to be installed here, in words; None when it is not."""
        ...

    def settings(self) -> list[Settings]:
        """Files in which our entries are to stand."""
        ...

    def registration(self) -> Registration | None:
        """What its own program does, if there is such a thing."""
        ...

    def remarks(self) -> list[str]:
        """What the user has to do or know after it was set up. May ask the host's program."""
        ...

    def untrusted(self) -> list[str]:
        """Hooks of ours that the host does not run before its user approves them. Asks the host's program."""
        ...

    def duplicates(self) -> list[str]:
        """What would run our hooks a second time, in words."""
        ...

    def switched_off(self) -> list[str]:
        """Settings of the host that keep our hooks from running."""
        ...


class OfSettingsAlone:
    """A host that is set up by its settings and nothing else, of which no trap is known."""

    def registration(self) -> Registration | None:
        """None."""
        return None

    def remarks(self) -> list[str]:
        """Nothing."""
        return []

    def untrusted(self) -> list[str]:
        """It asks nobody."""
        return []

    def duplicates(self) -> list[str]:
        """Nothing known."""
        return []

    def switched_off(self) -> list[str]:
        """Nothing known."""
        return []


def first_of(*reasons: str | None) -> str | None:
    """The first that is one."""
    return next((reason for reason in reasons if reason is not None), None)


def said_by_directory(path: Path) -> str | None:
    """That there is such a directory."""
    return f"{path} is there" if path.is_dir() else None


def said_by_program(program: str | None) -> str | None:
    """That there is such a program."""
    return None if program is None else f"{program} is installed"


# Running a host's own program.


COMMAND_S: Final = 60.0
"""Seconds it may take: they are large programs, and a machine may be busy."""

ANSWER_S: Final = 15.0
"""Seconds for one answer of a program that stays."""

LEAVE_S: Final = 2.0
"""Seconds it may then take to leave."""

SHOWN: Final = 300
"""Characters that are shown of what it had to say."""


def run(command: Sequence[str], environ: Mapping[str, str], said: bytes | None = None) -> str:
    """What it wrote on standard output, given `said` (else nothing) on standard input. Raises MnemonError(UNAVAILABLE)
    with its last words."""
    shown = shlex.join(command)
    try:
        done = subprocess.run(  # noqa: S603 - a program of the user, by its absolute path, with fixed words
            command, input=said or b"", capture_output=True, timeout=COMMAND_S, check=False, env=dict(environ)
        )
    except subprocess.TimeoutExpired:
        raise MnemonError(UNAVAILABLE, f"{shown} took longer than {COMMAND_S:g} s") from None
    except OSError as error:
        raise MnemonError(UNAVAILABLE, f"{shown} cannot be run: {error.strerror}") from None
    if done.returncode:
        words = " ".join((done.stderr or done.stdout).decode("utf-8", "replace").split())
        raise MnemonError(UNAVAILABLE, f"{shown} failed ({done.returncode}): {one_line(words[-SHOWN:])}")
    return done.stdout.decode("utf-8", "replace")


def converse(command: Sequence[str], environ: Mapping[str, str], said: bytes, wanted: int) -> dict[str, Any]:
    """The answer with id `wanted` of a program that speaks JSON, a message a line, and goes on until it is closed.

    Raises MnemonError(UNAVAILABLE) when it does not come.
    """
    shown = shlex.join(command)
    try:
        process = subprocess.Popen(  # noqa: S603 - see `run`
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=dict(environ)
        )
    except OSError as error:
        raise MnemonError(UNAVAILABLE, f"{shown} cannot be run: {error.strerror}") from None
    late = threading.Timer(ANSWER_S, process.kill)
    late.start()
    with process:
        try:
            answer = _answer(process, said, wanted)
            with contextlib.suppress(BrokenPipeError):
                _close(process)  # it may leave by itself
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(LEAVE_S)
        finally:
            late.cancel()
            process.kill()
    if answer is None:
        raise MnemonError(UNAVAILABLE, f"{shown} did not answer")
    return answer


def _answer(process: subprocess.Popen[bytes], said: bytes, wanted: int) -> dict[str, Any] | None:
    if process.stdin is None or process.stdout is None:
        return None
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(said)
        process.stdin.flush()
    return next((found for found in map(_message, process.stdout) if found.get("id") == wanted), None)


def _close(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        process.stdin.close()


def _message(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
