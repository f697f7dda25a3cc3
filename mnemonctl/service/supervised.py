"""Which supervisor looks after the daemon of a data directory, if one does."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from mnemonctl.service.supervisor import Supervisor
from mnemonctl.service.systemd import Systemd


def of_this_system(directory: Path) -> Supervisor:
    """The one that this kind of system has, whether or not it runs."""
    home = Path(os.path.expanduser("~"))  # stays "~" where nobody knows: then nothing is found there
    if sys.platform == "darwin":
        from mnemonctl.service.launchd import Launchd

        return Launchd(directory, home)
    return Systemd(directory, os.environ, home)


def of(directory: Path) -> Supervisor | None:
    """The one that starts this daemon: a service is installed, and there is somebody to ask for it."""
    found = of_this_system(directory)
    return found if found.installed() and found.missing() is None else None
