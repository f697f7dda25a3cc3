"""The daemon of a data directory as a service of the user: systemd, or launchd on macOS."""

from __future__ import annotations

import contextlib
import hashlib
import os
import plistlib
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from mnemonctl.files import replace_file, unusable
from mnemond.cli.output import one_line
from mnemond.errors import DATA_DIR, UNAVAILABLE, MnemonError


def platform_supervisor(directory: Path) -> Supervisor:
    """Return the supervisor of this operating system, whether or not it runs."""
    home = Path(os.path.expanduser("~"))  # stays "~" if the home directory is unknown: then no service is found there
    return Launchd(directory, home) if sys.platform == "darwin" else Systemd(directory, os.environ, home)


def installed_supervisor(directory: Path) -> Supervisor | None:
    """Return the supervisor that starts this daemon; None if no service is installed or the supervisor does not run."""
    supervisor = platform_supervisor(directory)
    return supervisor if supervisor.installed() and supervisor.unavailable() is None else None


class Supervisor(Protocol):
    """Interface of systemd and launchd, for the daemon of one data directory."""

    name: str
    unit: str

    def files(self, *, sandbox: bool = False) -> list[UnitFile]:
        """Return the files that make it a service. Raises MnemonError for a path that cannot be named in them."""

    def installed(self) -> bool:
        """Return True if there is a service for this data directory."""

    def unavailable(self) -> MnemonError | None:
        """Return why the supervisor cannot be used, or None."""

    def active(self) -> bool:
        """Return True if it runs a daemon."""

    def commands(self) -> list[list[str]]:
        """Return the command lines that `enable` runs."""

    def enable(self) -> None:
        """Load the files; start the daemon now and at every login. Raises MnemonError(UNAVAILABLE)."""

    def start(self) -> None:
        """Start the daemon unless it runs, and wait until it is ready. Raises MnemonError(UNAVAILABLE)."""

    def stop(self) -> None:
        """Stop the daemon and close its socket, if they are there."""

    def disable(self) -> None:
        """Stop it and do not start it at login; as far as possible also if the supervisor does not run."""

    def after_removal(self) -> None:
        """Clean up after the files were removed."""


def unit_name(directory: Path, home: Path) -> str:
    """Return `mnemond` for the default data directory, and a name with a hash of its path for each other."""
    if directory == home / ".mnemon":
        return "mnemond"
    return f"mnemond-{hashlib.sha256(os.fsencode(directory)).hexdigest()[:8]}"


def daemon_command(directory: Path) -> list[str]:
    """Return the daemon's command line. -P: a directory called mnemond in the working directory is not the daemon."""
    return [sys.executable, "-P", "-m", "mnemond", "--data-dir", str(directory)]


COMMAND_S = 100.0
"""Seconds that a command of the supervisor may take: a start waits until the daemon is ready, for TimeoutStartSec."""

SHOWN = 300
"""Characters of its error output that are shown."""


def run(command: Sequence[str]) -> str:
    """Return the standard output of a command. Raises MnemonError(UNAVAILABLE) if it fails."""
    try:
        done = subprocess.run(  # noqa: S603 - fixed programs; the only words of the user are paths and unit names
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=COMMAND_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MnemonError(UNAVAILABLE, f"{command[0]} cannot be run: {error}") from None
    if done.returncode:
        words = " ".join(done.stderr.decode("utf-8", "replace").split())
        raise MnemonError(UNAVAILABLE, f"{' '.join(command)} failed: {one_line(words[-SHOWN:]) or done.returncode}")
    return done.stdout.decode("utf-8", "replace")


def succeeds(command: Sequence[str]) -> bool:
    """Return True if a command can be run and leaves with 0."""
    try:
        run(command)
    except MnemonError:
        return False
    return True


# ------------------------------------------------------------------ systemd

SYSTEMCTL = ("systemctl", "--user")
SANDBOX = "mnemond-sandbox.conf"
TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - what PrivateTmp hides, and a data directory must not be hidden


class Systemd:
    """The units of one data directory: a socket and a service of the same name."""

    name = "systemd"

    def __init__(self, directory: Path, environ: Mapping[str, str], home: Path) -> None:
        self.unit = unit_name(directory, home)
        self._directory = directory
        config = Path(environ.get("XDG_CONFIG_HOME") or "")
        self._folder = (config if config.is_absolute() else home / ".config") / "systemd" / "user"
        self._socket, self._service = self._units = (f"{self.unit}.socket", f"{self.unit}.service")
        self._drop_in = self._folder / f"{self._service}.d" / SANDBOX

    def files(self, *, sandbox: bool = False) -> list[UnitFile]:
        """The two units; the drop-in if it is asked for or installed."""
        path = str(self._directory)
        if not path.isprintable() or path != path.strip():
            message = f"the data directory {path!a} cannot be named in a unit of systemd"
            raise MnemonError(DATA_DIR, message, hint="choose one without control characters or blanks at its ends")
        listen = {"ListenStream": path.replace("%", "%%") + "/sock"}
        command = " ".join(quoted(word).replace("$", "$$") for word in daemon_command(self._directory))
        serve = {"ExecStart": command, "Requires": self._socket, "After": self._socket}
        temporary = any(self._directory.is_relative_to(root) for root in TEMPORARY)
        writable = {"ReadWritePaths": quoted(path), "PrivateTmp": "no" if temporary else "yes"}
        files = [
            signed(self._folder / self._socket, with_values(template("mnemond.socket"), listen)),
            signed(self._folder / self._service, with_values(template("mnemond.service"), serve)),
        ]
        if sandbox or self._drop_in.exists():
            files.append(signed(self._drop_in, with_values(template(SANDBOX), writable)))
        return files

    def installed(self) -> bool:
        return (self._folder / self._service).is_file()

    def unavailable(self) -> MnemonError | None:
        """No systemctl, or no manager for this user."""
        try:
            run([*SYSTEMCTL, "show", "--property=Version"])
        except MnemonError as error:
            return MnemonError(
                UNAVAILABLE,
                f"systemd does not run services of this user here ({error.message})",
                hint="Containers have none, and neither has a shell got with su or sudo: log in as the user. Without a"
                " service, mnemonctl daemon start runs the daemon until the machine stops.",
            )
        return None

    def active(self) -> bool:
        return succeeds([*SYSTEMCTL, "is-active", "--quiet", self._service])

    def commands(self) -> list[list[str]]:
        return [
            [*SYSTEMCTL, "daemon-reload"],
            [*SYSTEMCTL, "enable", *self._units],
            [*SYSTEMCTL, "reset-failed", *self._units],
            [*SYSTEMCTL, "start", *self._units],
        ]

    def enable(self) -> None:
        for command in self.commands()[:2]:
            run(command)
        self.start()

    def start(self) -> None:
        *_, reset, start = self.commands()
        succeeds(reset)  # there may be nothing to reset
        try:
            run(start)
        except MnemonError as error:
            error.hint = f"Its last words: journalctl --user-unit {self._service} --lines 20"
            raise

    def stop(self) -> None:
        succeeds([*SYSTEMCTL, "stop", *self._units])

    def disable(self) -> None:
        """Without a manager, remove the links by which one would start the units later."""
        succeeds([*SYSTEMCTL, "disable", "--now", *self._units])
        for wanted in ("default.target.wants", "sockets.target.wants"):
            for unit in self._units:
                link = self._folder / wanted / unit
                with contextlib.suppress(OSError):
                    if link.is_symlink():
                        link.unlink()

    def after_removal(self) -> None:
        succeeds([*SYSTEMCTL, "daemon-reload"])
        succeeds([*SYSTEMCTL, "reset-failed", *self._units])


def quoted(word: str) -> str:
    """Quote a word of a command line, or a path in a list of them (systemd.syntax(7), systemd.service(5))."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"' if re.search(r"[^\w@%+=:,./-]", escaped) else escaped


def with_values(text: str, values: Mapping[str, str]) -> str:
    """Return the unit with other values of these settings. Raises ValueError unless each occurs exactly once."""
    for name, value in values.items():
        lines = re.findall(rf"^{name}=.*$", text, re.MULTILINE)
        if len(lines) != 1:
            raise ValueError(f"{name} occurs {len(lines)} times in the unit")
        text = text.replace(f"\n{lines[0]}\n", f"\n{name}={value}\n")
    return text


# ------------------------------------------------------------------ launchd: launchd.plist(5), launchctl(1)

PREFIX = "dev.mnemon."
TEMPLATE = f"{PREFIX}mnemond.plist"
_BEFORE_SIGNATURE = 2
"""Lines at the beginning of a property list that nothing may precede: the XML declaration and the document type."""


class Launchd:
    """The agent of one data directory."""

    name = "launchd"

    def __init__(self, directory: Path, home: Path) -> None:
        self.unit = f"{PREFIX}{unit_name(directory, home)}"
        self._directory = directory
        self._path = home / "Library" / "LaunchAgents" / f"{self.unit}.plist"
        self._domain = f"gui/{os.getuid()}"
        self._service = f"{self._domain}/{self.unit}"

    def files(self, *, sandbox: bool = False) -> list[UnitFile]:
        """The property list. launchd has no sandbox of this kind."""
        del sandbox
        agent: dict[str, Any] = plistlib.loads(template(TEMPLATE).encode())
        agent["Label"] = self.unit
        agent["ProgramArguments"] = daemon_command(self._directory)
        agent["Sockets"]["rpc"]["SockPathName"] = str(self._directory / "sock")
        agent["StandardErrorPath"] = str(self._directory / "log" / "mnemond.log")
        text = plistlib.dumps(agent, sort_keys=False).decode()
        return [signed(self._path, text, ("<!-- ", " -->"), _BEFORE_SIGNATURE)]

    def installed(self) -> bool:
        return self._path.is_file()

    def unavailable(self) -> MnemonError | None:
        """No launchctl, or the user is not logged in at the screen."""
        try:
            run(["launchctl", "print", self._domain])
        except MnemonError as error:
            return MnemonError(
                UNAVAILABLE,
                f"launchd does not run agents of this user here ({error.message})",
                hint="Log in at the screen. Without a service, mnemonctl daemon start runs the daemon until the machine"
                " stops.",
            )
        return None

    def active(self) -> bool:
        return succeeds(["launchctl", "print", self._service])

    def commands(self) -> list[list[str]]:
        return [["launchctl", "enable", self._service], ["launchctl", "bootstrap", self._domain, str(self._path)]]

    def enable(self) -> None:
        enable, bootstrap = self.commands()
        run(enable)
        if not self.active():
            run(bootstrap)
        self.start()

    def start(self) -> None:
        run(["launchctl", "kickstart", self._service])

    def stop(self) -> None:
        succeeds(["launchctl", "bootout", self._service])

    def disable(self) -> None:
        """Unload it: without its file it is not loaded again."""
        self.stop()

    def after_removal(self) -> None:
        """Nothing is left."""


# ------------------------------------------------------------------ files of ours in a directory of the supervisor

State = Literal["missing", "same", "older", "edited", "foreign"]
"""The file at the path is not there, equal, an unchanged one of another version, changed since, not ours."""

_SIGNATURE = re.compile(r"^.*written by mnemonctl daemon install, sha256 ([0-9a-f]{64}).*\n", re.MULTILINE)
MODE = 0o644
"""As systemd and launchd expect: nothing in it is secret."""

MAX_BYTES = 1 << 20
"""Bytes of an existing file that are read; a larger one is not ours."""


class UnitFile(msgspec.Struct, frozen=True):
    """A file with our signature: a hash of the rest, by which a later change is seen."""

    path: Path
    text: str

    def state(self) -> State:
        """Compare with the file at the path. Raises MnemonError if that cannot be read."""
        try:
            if self.path.is_symlink() or (self.path.exists() and not self.path.is_file()):
                return "foreign"
            with self.path.open("rb") as file:
                there = file.read(MAX_BYTES).decode("utf-8", "replace")
        except FileNotFoundError:
            return "missing"
        except OSError as error:
            raise unusable(self.path, error) from None
        if there == self.text:
            return "same"
        signature = _SIGNATURE.search(there)
        if signature is None:
            return "foreign"
        return "older" if signature[1] == _digest(_SIGNATURE.sub("", there, count=1)) else "edited"

    def write(self) -> None:
        """Write it as a whole or not at all. Raises MnemonError."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unusable(self.path, error) from None
        replace_file(self.path, self.text.encode(), MODE)

    def remove(self) -> None:
        """Remove it, and a directory of drop-ins that is empty then. Raises MnemonError."""
        try:
            self.path.unlink(missing_ok=True)
            if self.path.parent.suffix == ".d" and self.path.parent.is_dir() and not os.listdir(self.path.parent):
                self.path.parent.rmdir()
        except OSError as error:
            raise unusable(self.path, error) from None


def signed(path: Path, text: str, comment: tuple[str, str] = ("# ", ""), after_lines: int = 0) -> UnitFile:
    """Return `text` with our signature as a comment (begin, end) after that many lines."""
    lines = text.splitlines(keepends=True)
    before, after = comment
    lines.insert(after_lines, f"{before}written by mnemonctl daemon install, sha256 {_digest(text)}{after}\n")
    return UnitFile(path, "".join(lines))


def template(name: str) -> str:
    """Read a unit file of the installed package, or of the source tree of an editable installation."""
    packaged = resources.files("mnemonctl") / "units" / name
    if packaged.is_file():
        return packaged.read_text("utf-8")
    return (Path(__file__).resolve().parents[1] / "systemd" / name).read_text("utf-8")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
