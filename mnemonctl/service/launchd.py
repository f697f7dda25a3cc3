"""mnemond as an agent of launchd, on macOS. Written from its documentation: launchd.plist(5), launchctl(1)."""

from __future__ import annotations

import os
import plistlib
from pathlib import Path
from typing import Any

from mnemonctl.service import supervisor
from mnemonctl.service.templates import template
from mnemonctl.service.unit_file import UnitFile, signed
from mnemond.errors import UNAVAILABLE, MnemonError

PREFIX = "dev.mnemon."
TEMPLATE = f"{PREFIX}mnemond.plist"
_BEFORE_SIGNATURE = 2
"""Lines at the beginning of a property list that nothing may precede: the XML declaration and the document type."""


class Launchd:
    """The agent of one data directory."""

    name = "launchd"

    def __init__(self, directory: Path, home: Path) -> None:
        self.unit = f"{PREFIX}{supervisor.unit_name(directory, home)}"
        self._directory = directory
        self._path = home / "Library" / "LaunchAgents" / f"{self.unit}.plist"
        self._domain = f"gui/{os.getuid()}"
        self._service = f"{self._domain}/{self.unit}"

    def files(self, *, sandbox: bool = False) -> list[UnitFile]:
        """The property list. launchd has no sandbox of this kind."""
        del sandbox
        agent: dict[str, Any] = plistlib.loads(template(TEMPLATE).encode())
        agent["Label"] = self.unit
        agent["ProgramArguments"] = supervisor.program(self._directory)
        agent["Sockets"]["rpc"]["SockPathName"] = str(self._directory / "sock")
        agent["StandardErrorPath"] = str(self._directory / "log" / "mnemond.log")
        text = plistlib.dumps(agent, sort_keys=False).decode()
        return [signed(self._path, text, ("<!-- ", " -->"), _BEFORE_SIGNATURE)]

    def installed(self) -> bool:
        """Whether there is an agent for this data directory."""
        return self._path.is_file()

    def missing(self) -> MnemonError | None:
        """Why there is nobody to ask: no launchctl, or nobody is logged in at the screen."""
        try:
            supervisor.run(["launchctl", "print", self._domain])
        except MnemonError as error:
            return MnemonError(
                UNAVAILABLE,
                f"no launchd looks after agents of this user here ({error.message})",
                hint="Log in at the screen. Without a service, mnemonctl daemon start runs the daemon until the machine"
                " stops.",
            )
        return None

    def active(self) -> bool:
        """Whether the agent is loaded."""
        return supervisor.succeeds(["launchctl", "print", self._service])

    def commands(self) -> list[list[str]]:
        """What `enable` runs."""
        return [["launchctl", "enable", self._service], ["launchctl", "bootstrap", self._domain, str(self._path)]]

    def enable(self) -> None:
        """Load the agent and start it. Raises MnemonError(UNAVAILABLE)."""
        enable, bootstrap = self.commands()
        supervisor.run(enable)
        if not self.active():
            supervisor.run(bootstrap)
        self.start()

    def start(self) -> None:
        """Start it unless it runs. Raises MnemonError(UNAVAILABLE)."""
        supervisor.run(["launchctl", "kickstart", self._service])

    def stop(self) -> None:
        """Unload the agent."""
        supervisor.succeeds(["launchctl", "bootout", self._service])

    def disable(self) -> None:
        """Unload it; without its file it does not come back."""
        self.stop()

    def forget(self) -> None:
        """Nothing is left."""
