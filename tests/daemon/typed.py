"""Transcripts: lines typed at a real terminal, through a shell, with what must be read there.

A transcript is text. A line that begins with "$ " is typed; what follows, up to the next such line, is what is shown.
Ids differ from run to run: the n-th one in the transcript stands for the n-th one in reality, also where it is typed.
Their first eight characters are compared.
"""

from __future__ import annotations

import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from fcntl import ioctl
from pathlib import Path

COLUMNS = 120
TIMEOUT_S = 60

_ID = re.compile(r"\b[0-9a-f]{8}(?:(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})?\b")

_VARIABLE = (
    (re.compile(r"\b(?:\d{4}-\d{2}-\d{2}|DATE) \d{2}:\d{2}:\d{2}\b"), "MOMENT"),
    (re.compile(r"\b\d{4}-\d{2}-\d{2}\b"), "DATE"),
    (re.compile(r"^took .*$", re.MULTILINE), "TOOK"),
    (re.compile(r"\bpid \d+, up \d+ s\b"), "PID"),
    (re.compile(r"  file +\S+ \([\d.,]+ [KM]iB\)"), "FILE"),
    (re.compile(r"\b\d{8}T\d{6}\.\d{6}Z-"), "NAME-"),
    (re.compile(r"\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z"), "TIME"),
    (re.compile(r"\b[\d.,]+ [KM]iB\b"), "SIZE"),
)
"""What may differ besides ids."""


class Terminal:
    """A person's shell whose commands talk to the daemon of one data directory. It is in `place`, by default in a
    directory of no project."""

    place: str | Path = "/"

    def __init__(self, data_dir: Path, **variables: str) -> None:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("MNEMON_")}
        path = f"{Path(sys.executable).parent}{os.pathsep}{kept['PATH']}"
        self._environment = {
            **kept, "PATH": path, "MNEMON_DATA_DIR": str(data_dir), "NO_COLOR": "1", "LC_ALL": "C.UTF-8", **variables
        }  # fmt: skip

    def type(self, line: str) -> str:
        """What is shown when `line` is typed: standard output and error of a terminal."""
        shown, terminal = pty.openpty()
        try:
            ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
            process = subprocess.Popen(
                ["/bin/sh", "-c", line], stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal,
                env=self._environment,
                cwd=self.place,
            )  # fmt: skip
            os.close(terminal)
            text = b"".join(_until_hung_up(shown)).decode().replace("\r\n", "\n")
            process.wait(TIMEOUT_S)
        finally:
            os.close(shown)
        return text


def _until_hung_up(descriptor: int) -> Iterator[bytes]:
    while True:
        try:
            part = os.read(descriptor, 65_536)
        except OSError:  # EIO: nobody holds the other end any more
            return
        if not part:
            return
        yield part


def steps(transcript: str) -> list[tuple[str, str]]:
    """(typed, shown) for each line that is typed."""
    found: list[tuple[str, str]] = []
    for line in transcript.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append((line[2:].rstrip("\n"), ""))
        elif found:
            found[-1] = (found[-1][0], found[-1][1] + line)
    return found


def play(transcript: str, terminal: Terminal) -> None:
    """Type a transcript and compare what is shown. AssertionError at the first line that reads differently."""
    real: dict[str, str] = {}
    for typed, expected in steps(transcript):
        line = _ID.sub(lambda match: real.get(match[0][:8], match[0]), typed)
        shown = terminal.type(line)
        for written, found in zip(_ID.findall(expected), _ID.findall(shown), strict=False):
            real.setdefault(written[:8], found)
        wanted = _settled(_ID.sub(lambda match: real.get(match[0][:8], match[0]), expected))
        if _settled(shown) != wanted:
            raise AssertionError(f"$ {line}\nshould read\n{wanted}\nbut reads\n{_settled(shown)}")


def _settled(text: str) -> str:
    text = _ID.sub(lambda match: match[0][:8], text)
    for pattern, name in _VARIABLE:
        text = pattern.sub(name, text)
    return text.rstrip("\n")


def quoted(*words: str) -> str:
    """A `mnemonctl` line with these arguments."""
    return shlex.join(["mnemonctl", *words])
