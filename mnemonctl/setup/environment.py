"""This user's environment for setup, and how a host's own program is run in it."""

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
from typing import Any, Final

import msgspec

from mnemonctl.setup import own_files
from mnemonctl.setup.entries import OurPrograms
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
