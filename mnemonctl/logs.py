"""`mnemonctl logs`: the end of the daemon's log, and what comes."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Generator, Iterable
from pathlib import Path

import msgspec

from mnemonctl import log_entry
from mnemonctl.files import log_path
from mnemonctl.log_entry import LogEntry
from mnemonctl.log_reader import LogReader
from mnemonctl.service.supervised import of_this_system
from mnemond.commands.logs import USUAL_LINES
from mnemond.commands.output import Output
from mnemond.errors import DATA_DIR, NOT_FOUND, MnemonError
from mnemond.log_settings import Level

POLL_S = 0.25
"""Seconds between two looks at a file that is followed: at once, for people."""

_PRIORITIES: dict[Level, str] = {"debug": "debug", "info": "info", "warning": "warning", "error": "err"}
"""What journalctl calls them."""


class Options(msgspec.Struct, frozen=True):
    """What was typed."""

    follow: bool = False
    lines: int = USUAL_LINES
    level: Level | None = None


def carry_out(directory: Path, options: Options, output: Output) -> int:
    """Print; the exit status. Ends with its reader. Raises MnemonError, KeyboardInterrupt."""
    supervisor = of_this_system(directory)
    if supervisor.name == "systemd" and supervisor.installed() and shutil.which("journalctl"):
        entries = in_journal(supervisor.unit, options)
    else:
        entries = in_file(directory, options)
    try:
        for entry in entries:
            line = output.json(entry.facts()) if output.form == "json" else entry.text(output.style)
            _print(line)
    except BrokenPipeError:
        pass
    except OSError as error:
        raise MnemonError(DATA_DIR, f"the log cannot be shown: {error.strerror}") from None
    return 0


def in_file(
    directory: Path, options: Options, rest: Callable[[float], None] = time.sleep
) -> Generator[LogEntry, None, None]:
    """Entries of the log file, for ever when they are followed. Raises MnemonError(NOT_FOUND), OSError."""

    def wanted(line: bytes) -> bool:
        return log_entry.of_file(line).weighs(options.level)

    with LogReader(directory) as reader:
        last = reader.last(options.lines, wanted)
        if not last and not options.follow and not log_path(directory).exists():
            message = f"there is no log: {log_path(directory)}"
            raise MnemonError(NOT_FOUND, message, hint="A daemon begins one: mnemonctl daemon start")
        yield from map(log_entry.of_file, last)
        while options.follow:
            yield from map(log_entry.of_file, filter(wanted, reader.more()))
            rest(POLL_S)


def in_journal(unit: str, options: Options) -> Generator[LogEntry, None, None]:
    """Entries of the journal. Raises MnemonError(NOT_FOUND) when it cannot be read.

    Not `--user --unit`, which looks only into the files of one user: a journal kept in memory has none.
    """
    command = ["journalctl", "--quiet", f"--user-unit={unit}.service", "--output=json", f"--lines={options.lines}"]
    if options.level is not None:
        command.append(f"--priority={_PRIORITIES[options.level]}")
    if options.follow:
        command.append("--follow")
    with subprocess.Popen(  # noqa: S603 - the only words of ours are a unit's name and numbers
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as reading:
        try:
            yield from map(log_entry.of_journal, _lines_of(reading))
        finally:
            reading.terminate()
        said = b"" if reading.stderr is None else reading.stderr.read()
    if reading.returncode > 0:
        raise MnemonError(NOT_FOUND, f"the journal cannot be read: {' '.join(said.decode('utf-8', 'replace').split())}")


def _lines_of(reading: subprocess.Popen[bytes]) -> Iterable[bytes]:
    return () if reading.stdout is None else reading.stdout


def _print(line: str) -> None:
    view = memoryview(line.encode("utf-8", "backslashreplace"))
    while view:
        view = view[os.write(1, view) :]
