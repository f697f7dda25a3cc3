"""One line of the log, from a file or the journal, as people and programs read it."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import msgspec

from mnemond.commands.layout import Style
from mnemond.commands.terminal import one_line
from mnemond.log_settings import LEVELS, Level

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
