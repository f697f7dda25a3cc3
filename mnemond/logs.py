"""The daemon's log: entries with a level, an event and fields, handed to wherever they are kept.

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
from structlog.typing import EventDict

from mnemond.config.settings import LEVELS, Level, LogSettings

# The log's file: private, never too large, and found again when somebody moved it away.


NAME: Final = "mnemond.log"
FOLDER: Final = "log"

_STANDARD_STREAMS: Final = (1, 2)


class LogFile:
    """`log/mnemond.log` in a data directory; `mnemond.log.1` is what it was before, and so on. For any thread.

    What cannot be written is lost: a full disk must not end the daemon, and there is nowhere left to say so.
    """

    def __init__(self, data_dir: Path, max_bytes: int, older_files: int) -> None:
        """Open it. Raises OSError, for a symbolic link too."""
        self._folder = data_dir / FOLDER
        self._turn = threading.Lock()
        self._max_bytes, self._older_files = max_bytes, older_files
        self._descriptor = self._open()

    def limit(self, max_bytes: int, older_files: int) -> None:
        """From now on begin a new file at another size, and keep another number of older ones."""
        with self._turn:
            self._max_bytes, self._older_files = max_bytes, older_files

    def is_stream(self, descriptor: int) -> bool:
        """Whether what is written to `descriptor` stands in this file."""
        try:
            return os.path.sameopenfile(descriptor, self._descriptor)
        except OSError:
            return False

    def write(self, line: bytes) -> None:
        """Append a line, in a file that has room for it if one can be had."""
        with self._turn:
            with contextlib.suppress(OSError):
                self._make_room(len(line))
            with contextlib.suppress(OSError):
                os.write(self._descriptor, line)

    def close(self) -> None:
        """Give the descriptor back."""
        with self._turn:
            os.close(self._descriptor)

    def _in_place(self) -> bool:
        """Whether readers still find the open file under its name."""
        try:
            return os.path.samestat(os.lstat(self._folder / NAME), os.fstat(self._descriptor))
        except OSError:
            return False

    def _make_room(self, length: int) -> None:
        if not self._in_place():
            self._take(self._open())
        elif (size := os.fstat(self._descriptor).st_size) > 0 and size + length > self._max_bytes:
            self._begin_anew()

    def _begin_anew(self) -> None:
        """Move every file on by one number and start an empty one. If that fails half-way nothing is lost: the open
        file is written on, wherever it is now."""
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
        self._take(self._open())

    def _take(self, descriptor: int) -> None:
        """Write there from now on; what the interpreter says when it dies too, if it went to the old file."""
        for stream in _STANDARD_STREAMS:
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
    """Of the older files that there are."""
    endings = [name.removeprefix(f"{NAME}.") for name in os.listdir(folder) if name.startswith(f"{NAME}.")]
    return [int(ending) for ending in endings if ending.isascii() and ending.isdecimal() and ending[0] != "0"]


Sink = Callable[[structlog.typing.EventDict, Level], None]
"""Takes one entry: its fields, among them `event`, `level` and `timestamp` (UTC, ISO 8601). For any thread; must not
raise."""


class Logs:
    """One logger, and what becomes of what it is told: JSON lines on standard error until somebody says otherwise."""

    def __init__(self, level: Level | None = None) -> None:
        """`level` goes before the one that the configuration names."""
        self._chosen = level
        self._least = LEVELS[level or "info"]
        self._sinks: Sequence[Sink] = (to_stderr,)
        self.logger: structlog.typing.FilteringBoundLogger = structlog.wrap_logger(
            _Fan(self),
            processors=[
                self._filter,
                structlog.processors.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                _whole,
            ],
            wrapper_class=structlog.make_filtering_bound_logger(min(LEVELS.values())),
        )

    def configure(self, level: Level) -> None:
        """Keep what is at least as important, unless another level was chosen for this process."""
        self._least = LEVELS[self._chosen or level]

    def write_to(self, *sinks: Sink) -> None:
        """Hand every entry to these from now on, and to nobody else."""
        self._sinks = sinks

    def deliver(self, entry: structlog.typing.EventDict) -> None:
        """Hand an entry to every sink."""
        for sink in self._sinks:
            sink(entry, _level(entry["level"]))

    def _filter(self, _logger: object, method: str, entry: structlog.typing.EventDict) -> structlog.typing.EventDict:
        if LEVELS[_level(method)] < self._least:
            raise structlog.DropEvent
        return entry


def _level(method: str) -> Level:
    """Of a logger's method; what is graver than any of ours is an error."""
    return method if method in LEVELS else "error"


class _Fan:
    """What structlog takes for a logger."""

    def __init__(self, logs: Logs) -> None:
        self.debug = self.info = self.warning = self.error = self.critical = logs.deliver


def _whole(_logger: object, _method: str, entry: structlog.typing.EventDict) -> tuple[tuple[object], dict[str, object]]:
    """The entry as it is: how it is written down is for each sink to say."""
    return (entry,), {}


def json_line(entry: structlog.typing.EventDict) -> bytes:
    """One JSON object and a line break."""
    return msgspec.json.encode(entry, enc_hook=repr) + b"\n"


def to_stderr(entry: structlog.typing.EventDict, _level: Level) -> None:
    """A JSON line on standard error, where there is one."""
    write_stderr(json_line(entry))


def write_stderr(line: bytes) -> None:
    """A line that cannot be written is dropped: whoever closed the pipe or filled the disk must not end the daemon with
    it, and there is nowhere left to say so. Past the buffer, which would keep it: the interpreter writes what is left
    there as it ends, and a daemon that could not would end as failed."""
    if sys.stderr is not None:
        raw = getattr(sys.stderr.buffer, "raw", sys.stderr.buffer)  # unbuffered by -u, there is nothing between
        left = memoryview(line)
        with contextlib.suppress(OSError, ValueError):
            while left and (written := raw.write(left)):  # none where somebody made it one that does not wait
                left = left[written:]


def trace_of(error: BaseException) -> list[str]:
    """Where an error happened: file, line and function of every frame, and the error's type.

    Not its message, which may quote what a client sent.
    """
    frames = traceback.extract_tb(error.__traceback__)
    return [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in frames] + [type(error).__name__]


# Lines as the journal of systemd reads them from standard error: a level in front, as sd-daemon(3) has it.


PRIORITIES: Final[dict[Level, int]] = {"debug": 7, "info": 6, "warning": 4, "error": 3}
"""Those of syslog(3)."""

_OWN_FIELDS: Final = frozenset({"event", "level", "timestamp"})
"""What the journal keeps by itself, or what stands first."""


def is_journal(environ: Mapping[str, str], descriptor: int) -> bool:
    """Whether what is written there goes to the journal: $JOURNAL_STREAM holds "device:inode" of it (systemd.exec(5)).
    A program started by a service inherits the variable, but not always the stream."""
    try:
        found = os.fstat(descriptor)
    except OSError:
        return False
    return environ.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}"


def line(entry: Mapping[str, object], level: Level) -> bytes:
    """One entry of the log on one line: `<6>ready pid=7 data_dir="/home/ada/.mnemon"`. Plain ASCII, so that nothing in
    it can drive a terminal."""
    fields = [f"{name}={_shown(value)}" for name, value in entry.items() if name not in _OWN_FIELDS]
    event = _shown(str(entry.get("event", "")))[1:-1]
    return f"<{PRIORITIES[level]}>{' '.join([event, *fields])}\n".encode()


def _shown(value: object) -> str:
    return json.dumps(value, default=repr).replace("\x7f", "\\u007f")  # the one control that JSON leaves


# Where the log goes: to the journal, or into a file of its own and to whoever started the daemon.


_STDERR: Final = 2


def settle(logs: Logs, data_dir: Path, settings: LogSettings, environ: Mapping[str, str]) -> LogFile | None:
    """Let the log go where it belongs; its file, unless the journal takes it or the file cannot be written.

    Call it while the instance lock is held: the file is one daemon's.
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


def _to_journal(entry: EventDict, level: Level) -> None:
    write_stderr(line(entry, level))
