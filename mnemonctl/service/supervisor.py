"""What supervises the daemon of a data directory: systemd, launchd, or nobody."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from mnemonctl.service.unit_file import UnitFile
from mnemond.commands.terminal import one_line
from mnemond.errors import UNAVAILABLE, MnemonError

COMMAND_S = 100.0
"""Seconds that a command of the supervisor may take: a start waits until the daemon is ready, for TimeoutStartSec."""

SHOWN = 300
"""Characters that are shown of what it had to say."""


class Supervisor(Protocol):
    """What both can do."""

    name: str
    unit: str

    def files(self, *, sandbox: bool = False) -> list[UnitFile]:
        """What makes the daemon of this data directory a service. Raises MnemonError for a path that cannot be named
        in them."""
        ...

    def installed(self) -> bool:
        """Whether there is a service for this data directory."""
        ...

    def missing(self) -> MnemonError | None:
        """Why there is nobody to ask for anything, or None."""
        ...

    def active(self) -> bool:
        """Whether a daemon that it started runs."""
        ...

    def commands(self) -> list[list[str]]:
        """What `enable` runs."""
        ...

    def enable(self) -> None:
        """Take up the files; start the daemon, now and at every login. Raises MnemonError(UNAVAILABLE)."""
        ...

    def start(self) -> None:
        """Start the daemon unless it runs; returns when it is ready. Raises MnemonError(UNAVAILABLE)."""
        ...

    def stop(self) -> None:
        """Stop the daemon and close its socket; what is not there is stopped."""
        ...

    def disable(self) -> None:
        """Stop it for good, as far as that can be done while nobody can be asked."""
        ...

    def forget(self) -> None:
        """After its files are gone."""
        ...


def unit_name(directory: Path, home: Path) -> str:
    """`mnemond` for the usual data directory; each other has a name of its own, so that they can live side by side."""
    if directory == home / ".mnemon":
        return "mnemond"
    return f"mnemond-{hashlib.sha256(os.fsencode(directory)).hexdigest()[:8]}"


def program(directory: Path) -> list[str]:
    """The daemon's command line, as `mnemonctl.daemon.command` has it."""
    return [sys.executable, "-P", "-m", "mnemond", "--data-dir", str(directory)]


def run(command: Sequence[str]) -> str:
    """What it wrote on standard output. Raises MnemonError(UNAVAILABLE) with its last words."""
    try:
        done = subprocess.run(  # noqa: S603 - fixed programs; the only words of the user are paths and unit names
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=COMMAND_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MnemonError(UNAVAILABLE, f"{command[0]} cannot be run: {error}") from None
    if done.returncode:
        said = " ".join(done.stderr.decode("utf-8", "replace").split())
        raise MnemonError(UNAVAILABLE, f"{' '.join(command)} failed: {one_line(said[-SHOWN:]) or done.returncode}")
    return done.stdout.decode("utf-8", "replace")


def succeeds(command: Sequence[str]) -> bool:
    """Whether it can be run and leaves with 0."""
    try:
        run(command)
    except MnemonError:
        return False
    return True
