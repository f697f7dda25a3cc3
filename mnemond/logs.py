"""Structured logs: one JSON object a line on standard error. Memory text never enters a log."""

from __future__ import annotations

import contextlib
import sys
import traceback
from typing import BinaryIO, Literal, cast

import msgspec
import structlog

Level = Literal["debug", "info", "warning", "error"]
LEVELS: dict[Level, int] = {"debug": 10, "info": 20, "warning": 30, "error": 40}


def _render(_logger: object, _method: str, event: structlog.typing.EventDict) -> bytes:
    return msgspec.json.encode(event, enc_hook=repr)


class _Output:
    """Standard error, where there is one. A line that cannot be written is dropped: whoever closed the pipe or filled
    the disk must not end the daemon with it, and there is nowhere left to say so."""

    def write(self, line: bytes) -> None:
        if sys.stderr is not None:
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.buffer.write(line)

    def flush(self) -> None:
        if sys.stderr is not None:
            with contextlib.suppress(OSError, ValueError):
                sys.stderr.buffer.flush()


def configure(level: Level) -> structlog.typing.FilteringBoundLogger:
    """The daemon's logger (JSON lines on standard error, UTC ISO times)."""
    logger: structlog.typing.FilteringBoundLogger = structlog.wrap_logger(
        structlog.BytesLogger(cast("BinaryIO", _Output())),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _render,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
    )
    return logger


def trace_of(error: BaseException) -> list[str]:
    """Where an error happened: file, line and function of every frame, and the error's type.

    Not its message, which may quote what a client sent.
    """
    frames = traceback.extract_tb(error.__traceback__)
    return [f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in frames] + [type(error).__name__]
