"""Lines as the journal of systemd reads them from standard error: a level in front, as sd-daemon(3) has it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Final

from mnemond.log_settings import Level

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
