"""mnemond as a service of a user's systemd."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from pathlib import Path

from mnemonctl.service import supervisor
from mnemonctl.service.templates import template
from mnemonctl.service.unit_file import UnitFile, signed
from mnemond.errors import DATA_DIR, UNAVAILABLE, MnemonError

SYSTEMCTL = ("systemctl", "--user")
SANDBOX = "mnemond-sandbox.conf"
TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - what PrivateTmp hides, and a data directory must not be hidden


class Systemd:
    """The units of one data directory: a socket and a service of the same name."""

    name = "systemd"

    def __init__(self, directory: Path, environ: Mapping[str, str], home: Path) -> None:
        self.unit = supervisor.unit_name(directory, home)
        self._directory = directory
        named = Path(environ.get("XDG_CONFIG_HOME") or "")
        self._units = (named if named.is_absolute() else home / ".config") / "systemd" / "user"
        self._both = (f"{self.unit}.socket", f"{self.unit}.service")

    def files(self, *, sandbox: bool = False) -> list[UnitFile]:
        """The two units, and the drop-in if it is wanted. Raises MnemonError for a path no unit can name."""
        path = str(self._directory)
        if not path.isprintable() or path != path.strip():
            message = f"the data directory {path!a} cannot be named in a unit of systemd"
            raise MnemonError(DATA_DIR, message, hint="choose one without control characters or blanks at its ends")
        socket, service = self._both
        listen = {"ListenStream": path.replace("%", "%%") + "/sock"}
        command = " ".join(quoted(word).replace("$", "$$") for word in supervisor.program(self._directory))
        serve = {"ExecStart": command, "Requires": socket, "After": socket}
        temporary = any(self._directory.is_relative_to(root) for root in TEMPORARY)
        writable = {"ReadWritePaths": quoted(path), "PrivateTmp": "no" if temporary else "yes"}
        found = [
            signed(self._units / socket, with_values(template("mnemond.socket"), listen)),
            signed(self._units / service, with_values(template("mnemond.service"), serve)),
        ]
        if sandbox or self._drop_in.exists():
            found.append(signed(self._drop_in, with_values(template(SANDBOX), writable)))
        return found

    def missing(self) -> MnemonError | None:
        """Why there is nobody to ask: no systemctl, or no manager for this user."""
        try:
            supervisor.run([*SYSTEMCTL, "show", "--property=Version"])
        except MnemonError as error:
            return MnemonError(
                UNAVAILABLE,
                f"no systemd looks after services of this user here ({error.message})",
                hint="Containers have none, and neither has a shell got with su or sudo: log in as the user. Without a"
                " service, mnemonctl daemon start runs the daemon until the machine stops.",
            )
        return None

    def active(self) -> bool:
        """Whether the service runs."""
        return supervisor.succeeds([*SYSTEMCTL, "is-active", "--quiet", self._both[1]])

    def commands(self) -> list[list[str]]:
        """What `enable` runs."""
        return [
            [*SYSTEMCTL, "daemon-reload"],
            [*SYSTEMCTL, "enable", *self._both],
            [*SYSTEMCTL, "reset-failed", *self._both],
            [*SYSTEMCTL, "start", *self._both],
        ]

    def enable(self) -> None:
        """Read the units anew, start them, now and at every login. Raises MnemonError(UNAVAILABLE)."""
        reload, enable, reset, start = self.commands()
        supervisor.run(reload)
        supervisor.run(enable)
        supervisor.succeeds(reset)  # there may be nothing to reset
        self._run_start(start)

    def disable(self) -> None:
        """Stop both units and forget them; without a manager, only see to it that none starts them later."""
        supervisor.succeeds([*SYSTEMCTL, "disable", "--now", *self._both])
        for wanted in ("default.target.wants", "sockets.target.wants"):
            for unit in self._both:
                link = self._units / wanted / unit
                with contextlib.suppress(OSError):
                    if link.is_symlink():
                        link.unlink()

    def forget(self) -> None:
        """After the files are gone."""
        supervisor.succeeds([*SYSTEMCTL, "daemon-reload"])
        supervisor.succeeds([*SYSTEMCTL, "reset-failed", *self._both])

    def stop(self) -> None:
        """Stop both units, so that others can be taken up."""
        supervisor.succeeds([*SYSTEMCTL, "stop", *self._both])

    def start(self) -> None:
        """Start both unless they run. Raises MnemonError(UNAVAILABLE)."""
        supervisor.succeeds([*SYSTEMCTL, "reset-failed", *self._both])
        self._run_start([*SYSTEMCTL, "start", *self._both])

    def installed(self) -> bool:
        """Whether there are units for this data directory."""
        return (self._units / self._both[1]).is_file()

    @property
    def _drop_in(self) -> Path:
        return self._units / f"{self._both[1]}.d" / SANDBOX

    def _run_start(self, command: list[str]) -> None:
        try:
            supervisor.run(command)
        except MnemonError as error:
            error.hint = f"Its last words: journalctl --user-unit {self._both[1]} --lines 20"
            raise


def quoted(word: str) -> str:
    """A word of a command line, or a path in a list of them (systemd.syntax(7), systemd.service(5))."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"' if re.search(r"[^\w@%+=:,./-]", escaped) else escaped


def with_values(text: str, values: Mapping[str, str]) -> str:
    """The unit with other values of these settings. Each must stand in it exactly once."""
    for name, value in values.items():
        found = re.findall(rf"^{name}=.*$", text, re.MULTILINE)
        if len(found) != 1:
            raise ValueError(f"{name} stands in the unit {len(found)} times")
        text = text.replace(f"\n{found[0]}\n", f"\n{name}={value}\n")
    return text
