"""The daemon's log: JSON lines in `log/mnemond.log` and on standard error, or lines for the journal of systemd.

Memory text never enters a log.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
import structlog
from structlog.typing import EventDict, FilteringBoundLogger

from mnemond.config.settings import LEVELS, Level, LogSettings

NAME: Final = "mnemond.log"
FOLDER: Final = "log"

PRIORITIES: Final[dict[Level, int]] = {"debug": 7, "info": 6, "warning": 4, "error": 3}
"""The levels of syslog(3), which sd-daemon(3) reads at the beginning of a line."""

_STDOUT: Final = 1
_STDERR: Final = 2

_PRINTED_APART: Final = frozenset({"event", "level", "timestamp"})
"""Fields that a line for the journal does not list: the journal has them, or they are at its beginning."""

Sink = Callable[[EventDict, Level], None]
"""Writes one entry: its fields, among them `event`, `level` and `timestamp` (UTC, ISO 8601). For any thread; must not
raise."""


class Logs:
    """A logger, and the sinks of its entries: at first standard error."""

    def __init__(self, level: Level | None = None) -> None:
        """`level` overrides that of the configuration."""
        self._override = level
        self._min_level = LEVELS[level or "info"]
        self._sinks: Sequence[Sink] = (to_stderr,)
        self.logger: FilteringBoundLogger = structlog.wrap_logger(
            _Target(self._write),
            processors=[
                self._filter,
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                lambda _logger, _method, entry: ((entry,), {}),  # unrendered: each sink has its own form
            ],
            wrapper_class=structlog.make_filtering_bound_logger(min(LEVELS.values())),
        )

    def configure(self, level: Level) -> None:
        """Set the minimum level, unless another was given for this process."""
        self._min_level = LEVELS[self._override or level]

    def write_to(self, *sinks: Sink) -> None:
        """Replace the sinks."""
        self._sinks = sinks

    def _write(self, entry: EventDict) -> None:
        for sink in self._sinks:
            sink(entry, _level(entry["level"]))

    def _filter(self, _logger: object, method: str, entry: EventDict) -> EventDict:
        if LEVELS[_level(method)] < self._min_level:
            raise structlog.DropEvent
        return entry


class _Target:
    """The logger that structlog wraps."""

    def __init__(self, write: Callable[[EventDict], None]) -> None:
        self.debug = self.info = self.warning = self.error = self.critical = write


def _level(method: str) -> Level:
    """Return the level of a logger's method; `critical` counts as an error."""
    return method if method in LEVELS else "error"


def open_log(logs: Logs, data_dir: Path, settings: LogSettings, environ: Mapping[str, str]) -> LogFile | None:
    """Direct the log to the journal, or to its file and standard error; return the file, if there is one.

    Call it while the instance lock is held: only one daemon may rotate the file.
    """
    logs.configure(settings.level)
    if is_journal(environ, _STDERR):
        logs.write_to(_to_journal)
        return None
    try:
        file = LogFile(data_dir, settings.max_bytes, settings.older_files)
    except OSError as error:
        logs.logger.warning("no log file", reason=os.strerror(error.errno or 0))
        return None

    def to_file(entry: EventDict, _level: Level) -> None:
        file.write(json_line(entry))

    if file.is_stream(_STDERR):
        logs.write_to(to_file)
    else:
        logs.write_to(to_file, to_stderr)
    return file


def json_line(entry: EventDict) -> bytes:
    """Format an entry as a JSON object and a line break."""
    return msgspec.json.encode(entry, enc_hook=repr) + b"\n"


def to_stderr(entry: EventDict, _level: Level) -> None:
    """Write an entry as a JSON line to standard error, if there is one."""
    write_stderr(json_line(entry))


def write_stderr(line: bytes) -> None:
    """Write a line past the buffer of standard error, and drop what cannot be written.

    A closed pipe or a full disk must not end the daemon. The interpreter writes the rest of the buffer as it ends, and
    would exit with an error if it could not.
    """
    if sys.stderr is not None:
        raw = getattr(sys.stderr.buffer, "raw", sys.stderr.buffer)  # with -u there is no buffer between
        left = memoryview(line)
        with contextlib.suppress(OSError, ValueError):
            while left and (written := raw.write(left)):  # None if the stream was made non-blocking and is full
                left = left[written:]


def trace_of(error: BaseException) -> list[str]:
    """Return file, line and function of every frame, and the error's type.

    Not its message, which may quote what a client sent.
    """
    frames = traceback.extract_tb(error.__traceback__)
    return [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in frames] + [type(error).__name__]


# The journal of systemd


def is_journal(environ: Mapping[str, str], descriptor: int) -> bool:
    """Return True if a descriptor leads to the journal: $JOURNAL_STREAM holds its "device:inode" (systemd.exec(5)).

    A program started by a service inherits the variable, but not always the stream.
    """
    try:
        found = os.fstat(descriptor)
    except OSError:
        return False
    return environ.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"


def journal_line(entry: Mapping[str, object], level: Level) -> bytes:
    """Format an entry as a line: `<6>ready pid=7 data_dir="/home/ada/.mnemon"`.

    Plain ASCII, so that nothing in it can control a terminal.
    """
    fields = [f"{name}={_encoded(value)}" for name, value in entry.items() if name not in _PRINTED_APART]
    event = _encoded(str(entry.get("event", "")))[1:-1]
    return f"<{PRIORITIES[level]}>{' '.join([event, *fields])}\n".encode()


def _encoded(value: object) -> str:
    return json.dumps(value, default=repr).replace("\x7f", "\\u007f")  # the one control that JSON leaves


def _to_journal(entry: EventDict, level: Level) -> None:
    write_stderr(journal_line(entry, level))


# The file


class LogFile:
    """`log/mnemond.log` in a data directory; `mnemond.log.1` is the newest rotated file. For any thread.

    A line that cannot be written is dropped: a full disk must not end the daemon.
    """

    def __init__(self, data_dir: Path, max_bytes: int, older_files: int) -> None:
        """Open it. Raises OSError, for a symbolic link too."""
        self._folder = data_dir / FOLDER
        self._lock = threading.Lock()
        self._max_bytes, self._older_files = max_bytes, older_files
        self._descriptor = self._open()

    def set_limits(self, max_bytes: int, older_files: int) -> None:
        """Set the size at which the file is rotated, and the number of rotated files."""
        with self._lock:
            self._max_bytes, self._older_files = max_bytes, older_files

    def is_stream(self, descriptor: int) -> bool:
        """Return True if `descriptor` leads to this file."""
        try:
            return os.path.sameopenfile(descriptor, self._descriptor)
        except OSError:
            return False

    def write(self, line: bytes) -> None:
        """Append a line, after rotating a full file or reopening a missing one."""
        with self._lock:
            with contextlib.suppress(OSError):
                if not self._is_in_place():
                    self._replace_descriptor()
                elif (size := os.fstat(self._descriptor).st_size) > 0 and size + len(line) > self._max_bytes:
                    self._rotate()
            with contextlib.suppress(OSError):
                os.write(self._descriptor, line)

    def close(self) -> None:
        """Close the descriptor."""
        with self._lock:
            os.close(self._descriptor)

    def _is_in_place(self) -> bool:
        try:
            return os.path.samestat(os.lstat(self._folder / NAME), os.fstat(self._descriptor))
        except OSError:
            return False

    def _rotate(self) -> None:
        """Rename every file to the next number and start an empty one. If that fails half-way nothing is lost: lines
        still go to the open file, wherever it is now."""
        with self._opened_folder() as folder:
            for number in sorted(_numbers(folder), reverse=True):
                if number >= self._older_files:
                    os.unlink(f"{NAME}.{number}", dir_fd=folder)
                else:
                    os.rename(f"{NAME}.{number}", f"{NAME}.{number + 1}", src_dir_fd=folder, dst_dir_fd=folder)
            if self._older_files:
                os.rename(NAME, f"{NAME}.1", src_dir_fd=folder, dst_dir_fd=folder)
            else:
                os.unlink(NAME, dir_fd=folder)
        self._replace_descriptor()

    def _replace_descriptor(self) -> None:
        """Open the file anew; redirect standard output and standard error, too, if they lead to the old one."""
        descriptor = self._open()
        for stream in (_STDOUT, _STDERR):
            if self.is_stream(stream):
                os.dup2(descriptor, stream)
        os.close(self._descriptor)
        self._descriptor = descriptor

    def _open(self) -> int:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        with self._opened_folder() as folder:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(NAME, flags, 0o600, dir_fd=folder)
        os.fchmod(descriptor, 0o600)
        return descriptor

    @contextlib.contextmanager
    def _opened_folder(self) -> Iterator[int]:
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            yield folder
        finally:
            os.close(folder)


def _numbers(folder: int) -> list[int]:
    """Return the numbers of the rotated files."""
    endings = [name.removeprefix(f"{NAME}.") for name in os.listdir(folder) if name.startswith(f"{NAME}.")]
    return [int(ending) for ending in endings if ending.isascii() and ending.isdecimal() and ending[0] != "0"]
