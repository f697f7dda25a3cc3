"""The daemon's log: entries with a level, an event and fields, handed to wherever they are kept.

Memory text never enters a log.
"""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Callable, Sequence

import msgspec
import structlog

from mnemond.log_settings import LEVELS, Level

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
