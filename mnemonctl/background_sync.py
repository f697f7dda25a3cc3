"""`mnemonctl sync … --every DURATION`: a sync again and again, until it is stopped; for a service of the user."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Final

import msgspec

from mnemonctl import daemon, fast, sync
from mnemond.api.types_daemon import CliRunResult
from mnemond.cli.grammar import Invocation
from mnemond.cli.output import duration, one_line
from mnemond.config.sections import seconds
from mnemond.errors import BUSY, MnemonError

FIRST_PAUSE_S: Final = 60.0
"""Seconds before a sync that failed is tried again, doubled each time."""

MAX_PAUSE_S: Final = 3_600.0
"""The longest pause after failures, unless the interval is longer."""

BUSY_PAUSE_S: Final = 15.0
"""Seconds before the next attempt while another sync runs."""

OLDER: Final = 75
"""Exit status once the daemon is of another release (EX_TEMPFAIL of sysexits.h): a service manager starts this anew."""

NICE: Final = 10
"""How much the process gives way to others."""


def run(invocation: Invocation, directory: Path, deadline: float, store: str) -> CliRunResult:
    """Sync until the process is stopped, or the daemon is of another release. Nothing in it counts as done by a person.
    Raises MnemonError only for keys that cannot be read at the start."""
    output = msgspec.structs.replace(invocation.output, tty=False, tty_err=False)
    invocation = msgspec.structs.replace(invocation, output=output)
    sync.check_keys(invocation)
    signal.signal(signal.SIGTERM, _leave)
    os.nice(NICE)
    every_s = seconds(str(invocation.options["every"]))

    def once() -> CliRunResult:
        daemon.start(directory, daemon.start_wait(os.environ))
        return sync.run(invocation, directory, deadline, store, background=True)

    return repeat(once, every_s, lambda: _is_older(directory), time.sleep)


def repeat(
    once: Callable[[], CliRunResult], every_s: float, is_older: Callable[[], bool], sleep: Callable[[float], None]
) -> CliRunResult:
    """Call `once` every so many seconds, after failures later and later, until `is_older`; print what is new."""
    failures, said = 0, ""
    while True:
        try:
            result = once()
            failures, pause_s = 0, every_s
            if result.stdout != said:
                said = result.stdout
                fast.write(1, said.encode("utf-8", "backslashreplace"))
        except MnemonError as error:
            if error.kind is BUSY:
                pause_s = min(BUSY_PAUSE_S, every_s)
            else:
                pause_s = min(FIRST_PAUSE_S * 2.0 ** min(failures, 20), max(every_s, MAX_PAUSE_S))
                failures += 1
                said = ""
                why = one_line(f"{error.message}; {error.hint}" if error.hint else error.message)
                fast.write(2, f"mnemonctl: {why}; again in {duration(pause_s)}\n".encode("utf-8", "backslashreplace"))
        if is_older():
            return CliRunResult(OLDER, False, "", "mnemonctl: the daemon is of another release; start this again\n")
        sleep(pause_s)


def _is_older(directory: Path) -> bool:
    """Return True if the daemon that answers is not of the release of this process, and not an older one."""
    try:
        running = daemon.probe(directory)
    except MnemonError:
        return False
    return running is not None and running.version != fast.VERSION and not running.outdated


def _leave(_signal: int, _frame: FrameType | None) -> None:
    """End as after an error, so that files that were begun are removed."""
    sys.exit(0)
