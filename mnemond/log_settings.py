"""The settings of the log, and its levels."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

Level = Literal["debug", "info", "warning", "error"]
LEVELS: Final[dict[Level, int]] = {"debug": 10, "info": 20, "warning": 30, "error": 40}
"""By weight, as Python's `logging` has them."""


class Log(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the daemon writes down of its own doings. Memory text never enters a log. Where the daemon runs as a service
    of systemd the journal keeps it; everywhere else it is `log/mnemond.log` in the data directory."""

    level: Annotated[Level, Meta(description="The least important lines that are kept.")] = "info"
    max_bytes: Annotated[
        int, Meta(ge=4096, le=1 << 30, description="Size of the file from which on a new one is begun.")
    ] = 4 << 20
    """Chosen: some 20,000 lines, weeks of a healthy daemon."""
    older_files: Annotated[
        int, Meta(ge=0, le=100, description="Earlier files that are kept: `mnemond.log.1` is the newest of them.")
    ] = 4
    """As logrotate keeps them on Debian (`rotate 4` in /etc/logrotate.conf)."""
