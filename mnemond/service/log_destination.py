"""Where the log goes: to the journal, or into a file of its own and to whoever started the daemon."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from structlog.typing import EventDict

from mnemond.log_settings import Level, Log
from mnemond.logs import Logs, json_line, to_stderr, write_stderr
from mnemond.service import journal
from mnemond.service.log_file import LogFile

_STDERR: Final = 2


def settle(logs: Logs, data_dir: Path, settings: Log, environ: Mapping[str, str]) -> LogFile | None:
    """Let the log go where it belongs; its file, unless the journal takes it or the file cannot be written.

    Call it while the instance lock is held: the file is one daemon's.
    """
    logs.configure(settings.level)
    if journal.is_journal(environ, _STDERR):
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
    write_stderr(journal.line(entry, level))
