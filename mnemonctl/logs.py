"""`mnemonctl logs`: the end of the daemon's log, and what comes."""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
import subprocess
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, Self

import msgspec

from mnemonctl.files import log_path
from mnemonctl.service.supervisors import of_this_system
from mnemond.cli.admin import USUAL_LINES
from mnemond.cli.grammar import Output
from mnemond.cli.output import Style, one_line
from mnemond.config.settings import LEVELS, Level
from mnemond.errors import DATA_DIR, NOT_FOUND, MnemonError

# The daemon's log files, read while it writes and renames them.


LONGEST = 1 << 16
"""Bytes of one line that are kept; what is longer is none of ours."""

Wanted = Callable[[bytes], bool]


class LogReader:
    """Reads to the end, then whatever comes. Use it as a context, so that no file stays open."""

    def __init__(self, directory: Path) -> None:
        self._path = log_path(directory)
        self._file: BinaryIO | None = None
        self._rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def last(self, count: int, wanted: Wanted) -> list[bytes]:
        """The last `count` wanted lines, older files included; reading goes on behind them. Raises OSError."""
        newest, *older = self._paths() or [self._path]
        file = self._read_on(_opened(newest))
        found = [] if file is None else list(deque(filter(wanted, self._continue(file)), count))
        for path in older:
            if len(found) >= count or (earlier := _opened(path)) is None:
                break
            with earlier:
                found = [*deque(filter(wanted, _lines(earlier)), count - len(found)), *found]
        return found

    def more(self) -> Iterator[bytes]:
        """What was written since, in order, whichever files it is in by now. Raises OSError."""
        while True:
            following = self._following()  # looked for first: what is written after it was begun is not in ours
            if self._file is not None:
                yield from self._continue(self._file)
            if following is None:
                return
            if self._rest:
                yield self._rest
            self._read_on(following)

    def _continue(self, file: BinaryIO) -> Iterator[bytes]:
        """Whole lines up to the end; the beginning of one more is kept for the next time."""
        if file.tell() > os.fstat(file.fileno()).st_size:
            file.seek(0)  # somebody cut it back
            self._rest = b""
        while part := file.readline(LONGEST):
            self._rest = (self._rest + part)[:LONGEST]
            if self._rest.endswith(b"\n") or len(self._rest) == LONGEST:
                line, self._rest = self._rest, b""
                yield line.rstrip(b"\n")

    def _read_on(self, file: BinaryIO | None) -> BinaryIO | None:
        if self._file is not None:
            self._file.close()
        self._file, self._rest = file, b""
        return file

    def _following(self) -> BinaryIO | None:
        """The file begun after the one that is read; the oldest there is when that was removed. Files are told apart by
        what they are, not by their names, which change while we look."""
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
        """Newest first."""
        try:
            names = os.listdir(self._path.parent)
        except FileNotFoundError:
            return []
        endings = [name.removeprefix(f"{self._path.name}.") for name in names if name.startswith(f"{self._path.name}.")]
        numbers = sorted(int(ending) for ending in endings if ending.isascii() and ending.isdecimal())
        here = [self._path] if self._path.name in names else []
        return [*here, *(self._path.with_name(f"{self._path.name}.{number}") for number in numbers)]


def _lines(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline(LONGEST):
        yield line.rstrip(b"\n")


def _opened(path: Path) -> BinaryIO | None:
    try:
        return path.open("rb")
    except FileNotFoundError:
        return None


# One line of the log, from a file or the journal, as people and programs read it.


PRIORITIES: dict[str, Level] = {"7": "debug", "6": "info", "5": "info", "4": "warning"}
"""Of the journal; what is graver is an error."""

_LEVEL = 7
"""Cells of the column of levels."""


class LogEntry(msgspec.Struct, frozen=True):
    """`event` is what happened, `fields` the particulars. `timestamp` is UTC, ISO 8601; None where there is none."""

    timestamp: str | None
    level: Level
    event: str
    fields: dict[str, object] = {}

    def weighs(self, level: Level | None) -> bool:
        """Whether it is at least as important."""
        return level is None or LEVELS[self.level] >= LEVELS[level]

    def text(self, style: Style) -> str:
        """One harmless line."""
        when = one_line(self.timestamp or "")[:19].replace("T", " ")
        level = style.strong(f"{self.level:{_LEVEL}}") if LEVELS[self.level] >= LEVELS["warning"] else self.level
        fields = [f"{one_line(name)}={_shown(value)}" for name, value in self.fields.items()]
        padded = level if level != self.level else f"{level:{_LEVEL}}"
        return f"{when:19} {padded} {' '.join([one_line(self.event), *fields])}\n"

    def facts(self) -> dict[str, object]:
        """For programs: the fields beside the rest."""
        return {"timestamp": self.timestamp, "level": self.level, "event": self.event, **self.fields}


def of_file(line: bytes) -> LogEntry:
    """A line of the file. One that is no JSON came from the interpreter or a library: something went wrong."""
    try:
        found = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return LogEntry(None, "error", line.decode("utf-8", "replace"))
    fields: dict[str, Any] = found
    timestamp, level, event = (fields.pop(name, None) for name in ("timestamp", "level", "event"))
    return LogEntry(
        timestamp if isinstance(timestamp, str) else None, level if level in LEVELS else "error", str(event), fields
    )


def of_journal(line: bytes) -> LogEntry:
    """A line of `journalctl --output json`."""
    try:
        found = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = None
    entry: dict[str, Any] = found if isinstance(found, dict) else {"MESSAGE": line.decode("utf-8", "replace")}
    message = entry.get("MESSAGE", "")
    if isinstance(message, list):  # what is no text comes as a list of bytes
        message = bytes(byte for byte in message if isinstance(byte, int) and 0 <= byte < 256).decode(
            "utf-8", "replace"
        )
    return LogEntry(
        _moment(entry.get("__REALTIME_TIMESTAMP")), PRIORITIES.get(str(entry.get("PRIORITY")), "error"), str(message)
    )


def _moment(microseconds: object) -> str | None:
    try:
        moment = dt.datetime.fromtimestamp(int(str(microseconds)) / 1e6, dt.UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return moment.isoformat().replace("+00:00", "Z")


def _shown(value: object) -> str:
    if isinstance(value, str) and value and not set(value) & set(' "='):
        return one_line(value)
    return one_line(json.dumps(value, ensure_ascii=False))


POLL_S = 0.25
"""Seconds between two looks at a file that is followed: at once, for people."""

_PRIORITIES: dict[Level, str] = {"debug": "debug", "info": "info", "warning": "warning", "error": "err"}
"""What journalctl calls them."""


class Options(msgspec.Struct, frozen=True):
    """What was typed."""

    follow: bool = False
    lines: int = USUAL_LINES
    level: Level | None = None


def run(directory: Path, options: Options, output: Output) -> int:
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
        return of_file(line).weighs(options.level)

    with LogReader(directory) as reader:
        last = reader.last(options.lines, wanted)
        if not last and not options.follow and not log_path(directory).exists():
            message = f"there is no log: {log_path(directory)}"
            raise MnemonError(NOT_FOUND, message, hint="A daemon begins one: mnemonctl daemon start")
        yield from map(of_file, last)
        while options.follow:
            yield from map(of_file, filter(wanted, reader.more()))
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
            yield from map(of_journal, _lines_of(reading))
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
