"""`mnemonctl logs`: show the end of the daemon's log, from its files or the journal, and follow it."""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
import subprocess
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Self

import msgspec

from mnemonctl import fast
from mnemonctl.files import log_path
from mnemonctl.service import platform_supervisor
from mnemond.cli.admin import LogsOptions
from mnemond.cli.grammar import Output
from mnemond.cli.output import Style, one_line
from mnemond.config.settings import LEVELS, Level
from mnemond.errors import DATA_DIR, NOT_FOUND, MnemonError

POLL_S = 0.25
"""Seconds between two looks at a file that is followed."""


def run(directory: Path, options: LogsOptions, output: Output) -> int:
    """Print entries until the log, or the reader of the output, ends; return the exit status.

    Raises MnemonError, KeyboardInterrupt, fast.OutputError.
    """
    supervisor = platform_supervisor(directory)
    if supervisor.name == "systemd" and supervisor.installed() and shutil.which("journalctl"):
        entries = in_journal(supervisor.unit, options)
    else:
        entries = in_file(directory, options)
    try:
        for entry in entries:
            line = output.json(entry.facts()) if output.form == "json" else entry.text(output.style)
            fast.write_part(line.encode("utf-8", "backslashreplace"))
    except BrokenPipeError:
        pass
    except OSError as error:
        raise MnemonError(DATA_DIR, f"the log cannot be shown: {error.strerror}") from None
    return 0


def in_file(
    directory: Path, options: LogsOptions, sleep: Callable[[float], None] = time.sleep
) -> Generator[LogEntry, None, None]:
    """Yield entries of the log files, without end if they are followed. Raises MnemonError(NOT_FOUND), OSError."""

    def wanted(line: bytes) -> bool:
        return of_file(line).is_at_least(options.level)

    with LogReader(directory) as reader:
        last = reader.last(options.lines, wanted)
        if not last and not options.follow and not log_path(directory).exists():
            message = f"there is no log: {log_path(directory)}"
            raise MnemonError(NOT_FOUND, message, hint="A daemon begins one: mnemonctl daemon start")
        yield from map(of_file, last)
        while options.follow:
            yield from map(of_file, filter(wanted, reader.more()))
            sleep(POLL_S)


def in_journal(unit: str, options: LogsOptions) -> Generator[LogEntry, None, None]:
    """Yield entries of the journal. Raises MnemonError(NOT_FOUND) if it cannot be read.

    Not `--user --unit`, which reads only the files of one user: a journal that is kept in memory has none.
    """
    command = ["journalctl", "--quiet", f"--user-unit={unit}.service", "--output=json", f"--lines={options.lines}"]
    if options.level is not None:
        command.append(f"--priority={'err' if options.level == 'error' else options.level}")
    if options.follow:
        command.append("--follow")
    with subprocess.Popen(  # noqa: S603 - the only words of ours are a unit's name and numbers
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        assert process.stderr is not None  # noqa: S101 - it is a pipe
        try:
            yield from map(of_journal, process.stdout)
        finally:
            process.terminate()
        reason = " ".join(process.stderr.read().decode("utf-8", "replace").split())
    if process.returncode > 0:
        raise MnemonError(NOT_FOUND, f"the journal cannot be read: {reason}")


# ------------------------------------------------------------------ one entry

PRIORITIES: dict[str, Level] = {"7": "debug", "6": "info", "5": "info", "4": "warning"}
"""Levels by priorities of the journal; a lower number is an error."""

_LEVEL_WIDTH = 7


class LogEntry(msgspec.Struct, frozen=True):
    """`timestamp` is UTC, ISO 8601, None if there is none; `fields` belong to the `event`."""

    timestamp: str | None
    level: Level
    event: str
    fields: dict[str, object] = {}

    def is_at_least(self, level: Level | None) -> bool:
        """Return True if its level is the same or graver."""
        return level is None or LEVELS[self.level] >= LEVELS[level]

    def text(self, style: Style) -> str:
        """Return it as one line for people, escaped."""
        when = one_line(self.timestamp or "")[:19].replace("T", " ")
        level = f"{self.level:{_LEVEL_WIDTH}}"
        if self.is_at_least("warning"):
            level = style.strong(level)
        fields = [f"{one_line(name)}={_value(value)}" for name, value in self.fields.items()]
        return f"{when:19} {level} {' '.join([one_line(self.event), *fields])}\n"

    def facts(self) -> dict[str, object]:
        """Return it for programs: the fields beside the rest."""
        return {"timestamp": self.timestamp, "level": self.level, "event": self.event, **self.fields}


def of_file(line: bytes) -> LogEntry:
    """Parse a line of the file. One that is no JSON object was written by the interpreter or a library: an error."""
    fields = _json_object(line)
    if fields is None:
        return LogEntry(None, "error", line.decode("utf-8", "replace"))
    timestamp, level, event = (fields.pop(name, None) for name in ("timestamp", "level", "event"))
    return LogEntry(
        timestamp if isinstance(timestamp, str) else None, level if level in LEVELS else "error", str(event), fields
    )


def of_journal(line: bytes) -> LogEntry:
    """Parse a line of `journalctl --output json`."""
    entry = _json_object(line)
    if entry is None:
        entry = {"MESSAGE": line.decode("utf-8", "replace")}
    message = entry.get("MESSAGE", "")
    if isinstance(message, list):  # a message that is no text comes as a list of bytes
        message = bytes(byte for byte in message if isinstance(byte, int) and 0 <= byte < 256)
        message = message.decode("utf-8", "replace")
    level = PRIORITIES.get(str(entry.get("PRIORITY")), "error")
    return LogEntry(_timestamp(entry.get("__REALTIME_TIMESTAMP")), level, str(message))


def _json_object(line: bytes) -> dict[str, Any] | None:
    try:
        found = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _timestamp(microseconds: object) -> str | None:
    try:
        moment = dt.datetime.fromtimestamp(int(str(microseconds)) / 1e6, dt.UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return moment.isoformat().replace("+00:00", "Z")


def _value(value: object) -> str:
    if isinstance(value, str) and value and not set(value) & set(' "='):
        return one_line(value)
    return one_line(json.dumps(value, ensure_ascii=False))


# ------------------------------------------------------------------ the files, which the daemon writes and renames

MAX_LINE = 1 << 16
"""Bytes of a line that are kept; the daemon writes no longer ones."""


class LogReader:
    """Reads the log to its end, then what is appended. Use it as a context manager, so that no file stays open."""

    def __init__(self, directory: Path) -> None:
        self._path = log_path(directory)
        self._file: BinaryIO | None = None
        self._rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def last(self, count: int, wanted: Callable[[bytes], bool]) -> list[bytes]:
        """Return the last `count` wanted lines, older files included. `more` continues after them. Raises OSError."""
        newest, *older = self._paths() or [self._path]
        self._switch_to(_opened(newest))
        found = list(deque(filter(wanted, self._new_lines()), count))
        for path in older:
            if len(found) >= count or (file := _opened(path)) is None:
                break
            with file:
                lines = (line.rstrip(b"\n") for line in iter(partial(file.readline, MAX_LINE), b""))
                found = [*deque(filter(wanted, lines), count - len(found)), *found]
        return found

    def more(self) -> Iterator[bytes]:
        """Yield the lines written since, in order, through the files that were begun meanwhile. Raises OSError."""
        while True:
            following = self._following()  # first: what is written after a new file was begun is not in this one
            yield from self._new_lines()
            if following is None:
                return
            if self._rest:
                yield self._rest
            self._switch_to(following)

    def _new_lines(self) -> Iterator[bytes]:
        """Yield complete lines up to the end; the beginning of one more is kept for the next time."""
        if self._file is None:
            return
        if self._file.tell() > os.fstat(self._file.fileno()).st_size:
            self._file.seek(0)  # it was truncated
            self._rest = b""
        while part := self._file.readline(MAX_LINE):
            self._rest = (self._rest + part)[:MAX_LINE]
            if self._rest.endswith(b"\n") or len(self._rest) == MAX_LINE:
                line, self._rest = self._rest, b""
                yield line.rstrip(b"\n")

    def _switch_to(self, file: BinaryIO | None) -> None:
        if self._file is not None:
            self._file.close()
        self._file, self._rest = file, b""

    def _following(self) -> BinaryIO | None:
        """Open the file begun after the current one, the oldest if the current one was removed; None if there is none.

        Compares files, not names: those change meanwhile.
        """
        candidate: BinaryIO | None = None
        for path in self._paths():
            if (file := _opened(path)) is None:
                continue
            if self._file is not None and os.path.sameopenfile(file.fileno(), self._file.fileno()):
                file.close()
                break
            if candidate is not None:
                candidate.close()
            candidate = file
        return candidate

    def _paths(self) -> list[Path]:
        """Return the paths of the log files, newest first."""
        try:
            names = os.listdir(self._path.parent)
        except FileNotFoundError:
            return []
        endings = [name.removeprefix(f"{self._path.name}.") for name in names if name.startswith(f"{self._path.name}.")]
        numbers = sorted(int(ending) for ending in endings if ending.isascii() and ending.isdecimal())
        newest = [self._path] if self._path.name in names else []
        return [*newest, *(self._path.with_name(f"{self._path.name}.{number}") for number in numbers)]


def _opened(path: Path) -> BinaryIO | None:
    try:
        return path.open("rb")
    except FileNotFoundError:
        return None
