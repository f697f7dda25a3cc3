"""The unit files that travel with the program."""

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

from mnemond.cli.output import one_line
from mnemond.errors import DATA_DIR, UNAVAILABLE, MnemonError


def template(name: str) -> str:
    """The text of one: from the installed package, or from the source tree that an editable installation points to."""
    packaged = resources.files(__package__) / "units" / name
    if packaged.is_file():
        return packaged.read_text("utf-8")
    return (Path(__file__).resolve().parents[2] / "systemd" / name).read_text("utf-8")


# A file of ours in somebody else's directory: it says so, and whether it is still as we wrote it.


State = Literal["missing", "same", "older", "edited", "foreign"]
"""How a file stands to the one that would be written: not there, equal, another of ours, ours but changed, not ours."""

_SIGNATURE = re.compile(r"^.*written by mnemonctl daemon install, sha256 ([0-9a-f]{64}).*\n", re.MULTILINE)
MODE = 0o644
"""As systemd and launchd expect: nothing in it is secret."""

LARGEST = 1 << 20
"""Bytes of an existing file that are looked at; a larger one is not ours."""


class UnitFile(msgspec.Struct, frozen=True):
    """What is to stand at `path`, with our signature in it."""

    path: Path
    text: str

    def state(self) -> State:
        """How the file that is there stands to this one. Raises MnemonError when it cannot be read."""
        try:
            if self.path.is_symlink() or (self.path.exists() and not self.path.is_file()):
                return "foreign"
            with self.path.open("rb") as there:
                found = there.read(LARGEST).decode("utf-8", "replace")
        except FileNotFoundError:
            return "missing"
        except OSError as error:
            raise _unusable(self.path, error) from None
        if found == self.text:
            return "same"
        signature = _SIGNATURE.search(found)
        if signature is None:
            return "foreign"
        return "older" if signature[1] == _digest(_SIGNATURE.sub("", found, count=1)) else "edited"

    def write(self) -> None:
        """Put it there, as a whole or not at all. Raises MnemonError."""
        fresh = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, MODE)
            try:
                os.fchmod(descriptor, MODE)
                os.write(descriptor, self.text.encode())
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            fresh.replace(self.path)
        except OSError as error:
            fresh.unlink(missing_ok=True)
            raise _unusable(self.path, error) from None

    def remove(self) -> None:
        """Take it away, and its directory if that was made for it alone. Raises MnemonError."""
        try:
            self.path.unlink(missing_ok=True)
            if self.path.parent.suffix == ".d" and self.path.parent.is_dir() and not os.listdir(self.path.parent):
                self.path.parent.rmdir()
        except OSError as error:
            raise _unusable(self.path, error) from None


def signed(path: Path, text: str, comment: tuple[str, str] = ("# ", ""), after_lines: int = 0) -> UnitFile:
    """`text` with our signature, a comment of its language, after that many lines."""
    lines = text.splitlines(keepends=True)
    before, after = comment
    lines.insert(after_lines, f"{before}written by mnemonctl daemon install, sha256 {_digest(text)}{after}\n")
    return UnitFile(path, "".join(lines))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _unusable(path: Path, error: OSError) -> MnemonError:
    return MnemonError(DATA_DIR, f"{path} cannot be used: {error.strerror}", hint="look at it and at its directory")


# What supervises the daemon of a data directory: systemd, launchd, or nobody.


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


# mnemond as a service of a user's systemd.


SYSTEMCTL = ("systemctl", "--user")
SANDBOX = "mnemond-sandbox.conf"
TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108 - what PrivateTmp hides, and a data directory must not be hidden


class Systemd:
    """The units of one data directory: a socket and a service of the same name."""

    name = "systemd"

    def __init__(self, directory: Path, environ: Mapping[str, str], home: Path) -> None:
        self.unit = unit_name(directory, home)
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
        command = " ".join(quoted(word).replace("$", "$$") for word in program(self._directory))
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
            run([*SYSTEMCTL, "show", "--property=Version"])
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
        return succeeds([*SYSTEMCTL, "is-active", "--quiet", self._both[1]])

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
        run(reload)
        run(enable)
        succeeds(reset)  # there may be nothing to reset
        self._run_start(start)

    def disable(self) -> None:
        """Stop both units and forget them; without a manager, only see to it that none starts them later."""
        succeeds([*SYSTEMCTL, "disable", "--now", *self._both])
        for wanted in ("default.target.wants", "sockets.target.wants"):
            for unit in self._both:
                link = self._units / wanted / unit
                with contextlib.suppress(OSError):
                    if link.is_symlink():
                        link.unlink()

    def forget(self) -> None:
        """After the files are gone."""
        succeeds([*SYSTEMCTL, "daemon-reload"])
        succeeds([*SYSTEMCTL, "reset-failed", *self._both])

    def stop(self) -> None:
        """Stop both units, so that others can be taken up."""
        succeeds([*SYSTEMCTL, "stop", *self._both])

    def start(self) -> None:
        """Start both unless they run. Raises MnemonError(UNAVAILABLE)."""
        succeeds([*SYSTEMCTL, "reset-failed", *self._both])
        self._run_start([*SYSTEMCTL, "start", *self._both])

    def installed(self) -> bool:
        """Whether there are units for this data directory."""
        return (self._units / self._both[1]).is_file()

    @property
    def _drop_in(self) -> Path:
        return self._units / f"{self._both[1]}.d" / SANDBOX

    def _run_start(self, command: list[str]) -> None:
        try:
            run(command)
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


# mnemond as an agent of launchd, on macOS. Written from its documentation: launchd.plist(5), launchctl(1).


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
        agent["ProgramArguments"] = program(self._directory)
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
            run(["launchctl", "print", self._domain])
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
        return succeeds(["launchctl", "print", self._service])

    def commands(self) -> list[list[str]]:
        """What `enable` runs."""
        return [["launchctl", "enable", self._service], ["launchctl", "bootstrap", self._domain, str(self._path)]]

    def enable(self) -> None:
        """Load the agent and start it. Raises MnemonError(UNAVAILABLE)."""
        enable, bootstrap = self.commands()
        run(enable)
        if not self.active():
            run(bootstrap)
        self.start()

    def start(self) -> None:
        """Start it unless it runs. Raises MnemonError(UNAVAILABLE)."""
        run(["launchctl", "kickstart", self._service])

    def stop(self) -> None:
        """Unload the agent."""
        succeeds(["launchctl", "bootout", self._service])

    def disable(self) -> None:
        """Unload it; without its file it does not come back."""
        self.stop()

    def forget(self) -> None:
        """Nothing is left."""


# Which supervisor looks after the daemon of a data directory, if one does.


def of_this_system(directory: Path) -> Supervisor:
    """The one that this kind of system has, whether or not it runs."""
    home = Path(os.path.expanduser("~"))  # stays "~" where nobody knows: then nothing is found there
    if sys.platform == "darwin":
        from mnemonctl.service.supervisors import Launchd

        return Launchd(directory, home)
    return Systemd(directory, os.environ, home)


def of(directory: Path) -> Supervisor | None:
    """The one that starts this daemon: a service is installed, and there is somebody to ask for it."""
    found = of_this_system(directory)
    return found if found.installed() and found.missing() is None else None
