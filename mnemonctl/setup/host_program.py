"""Running a host's own program."""

from __future__ import annotations

import contextlib
import json
import shlex
import subprocess
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

from mnemond.commands.terminal import one_line
from mnemond.errors import UNAVAILABLE, MnemonError

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
