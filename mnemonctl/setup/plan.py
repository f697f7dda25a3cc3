"""What has to be done for a host, found out by looking alone."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Literal

import msgspec

from mnemonctl.setup import files
from mnemonctl.setup.entries import Made, Ours, installed, standing
from mnemonctl.setup.files import HostFile, OwnFile, refused, unusable
from mnemonctl.setup.host import Host, Settings, SetupEnvironment
from mnemonctl.setup.hosts import simple
from mnemonctl.setup.hosts.claude_code import ClaudeCode
from mnemonctl.setup.hosts.codex import Codex
from mnemonctl.setup.hosts.simple import CopilotCli, Cursor, Gemini
from mnemonctl.setup.json_edit import JsonProblem
from mnemond.cli.output import Style, lines, neutralise, one_line
from mnemond.errors import CONFIG, INVALID_PARAMS, NOT_FOUND, MnemonError

# What `mnemonctl setup` says: facts for programs, text for people.


FileState = Literal["created", "changed", "unchanged", "restored", "cleaned", "removed", "kept"]
"""restored: as it was before us, byte for byte; cleaned: ours is out of it, and somebody had changed the rest."""

CommandState = Literal["ran", "planned", "to run"]
Status = Literal["installed", "removed", "dry run", "unchanged", "cancelled", "failed"]
HostState = Literal["installed", "unchanged", "prepared", "planned", "removed", "absent", "failed"]
"""prepared: what is left is for the user to run."""


class FileReport(msgspec.Struct, frozen=True):
    """One file, and what was done to it. `diff` is there for a dry run."""

    path: str
    state: FileState
    backup: str | None = None
    diff: str | None = None


class CommandReport(msgspec.Struct, frozen=True):
    """One command of a host's program."""

    command: list[str]
    state: CommandState


class Failure(msgspec.Struct, frozen=True):
    """Why a host could not be set up, and what to do."""

    message: str
    hint: str | None = None


class HostReport(msgspec.Struct, kw_only=True):
    """One host. `verified` was seen when its files were read again; `next` is what the user has to do or know."""

    target: str
    title: str
    found: str | None
    state: HostState
    files: list[FileReport] = []
    commands: list[CommandReport] = []
    verified: list[str] = []
    next: list[str] = []
    error: Failure | None = None


class Report(msgspec.Struct, kw_only=True):
    """Everything. `launchers` are the programs that hosts run, `own` what happened to our own files."""

    status: Status
    targets: list[HostReport]
    launchers: list[str] = []
    own: list[FileReport] = []
    text: str | None = None


def render(report: Report, style: Style) -> str:
    """For people."""
    parts: list[str | None] = []
    for host in report.targets:
        parts += _host(host, style)
    parts += [_file(each) for each in report.own if each.state != "unchanged"]
    if report.status == "unchanged":
        parts.append("everything is in order, nothing was changed")
    if report.text is not None:
        parts.append(report.text.rstrip("\n"))
    return lines(*parts)


def _host(host: HostReport, style: Style) -> list[str]:
    found = f" ({one_line(host.found)})" if host.found else ""
    said = [style.strong(f"{host.title}: {host.state}") + found]
    for file in host.files:
        said.append(_file(file))
        if file.diff:
            said.append(neutralise(file.diff).rstrip("\n"))
    said += [f"  {each.state:<10}{one_line(shlex.join(each.command))}" for each in host.commands]
    said += [f"  verified  {one_line(each)}" for each in host.verified]
    said += [f"  next      {one_line(each)}" for each in host.next]
    if host.error is not None:
        said.append(f"  FAILED    {one_line(host.error.message)}")
        said += [f"            {one_line(host.error.hint)}"] if host.error.hint else []
    return said


def _file(file: FileReport) -> str:
    saved = f" (as it was: {one_line(file.backup)})" if file.backup else ""
    return f"  {file.state:<10}{one_line(file.path)}{saved}"


# `setup.json` in the data directory: what was changed outside of it, so that it can be taken back exactly.


NAME: Final = "setup.json"
LARGEST: Final = 1 << 20
"""Bytes: a record has some hundred."""


class FileRecord(msgspec.Struct):
    """One file of a host. `before` and `after` are SHA-256 of what stood there; `backup` is a copy of what it was
    without us, null when nobody knows that any more; `directories` were made for it."""

    path: str
    before: str | None
    after: str
    backup: str | None = None
    made: Made = msgspec.field(default_factory=Made)
    directories: list[str] = []


class HostRecord(msgspec.Struct, kw_only=True):
    """What was done for one host: to files by us, and by its own program (`undo` takes that back) with the files that
    this rewrote."""

    files: list[FileRecord] = []
    undo: list[list[str]] = []
    rewritten: list[FileRecord] = []

    def of(self, path: Path) -> FileRecord | None:
        """The record of one file that we changed."""
        return next((each for each in self.files if each.path == str(path)), None)


class Manifest(msgspec.Struct, kw_only=True):
    """What was done, by the names of hosts, and SHA-256 of the prompts as they were installed."""

    version: int = 1
    hosts: dict[str, HostRecord] = {}
    prompts: dict[str, str] = {}


def read(directory: Path) -> Manifest:
    """The record in a data directory; an empty one when there is none. Raises MnemonError for one that is damaged."""
    path = directory / NAME
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST)
    except FileNotFoundError:
        return Manifest()
    except OSError as error:
        raise unusable(path, error) from None
    try:
        return msgspec.json.decode(content, type=Manifest)
    except msgspec.DecodeError as error:
        raise MnemonError(
            CONFIG, f"{path} cannot be read: {error}", hint="remove it; backups stand beside the files"
        ) from None


def write(directory: Path, manifest: Manifest) -> None:
    """Keep the record, without hosts of which nothing is left. Raises MnemonError."""
    kept = {name: host for name, host in manifest.hosts.items() if host.files or host.undo or host.rewritten}
    file = OwnFile(directory / NAME, "")
    if not kept and not manifest.prompts:
        file.remove()
        return
    said = msgspec.json.format(msgspec.json.encode(Manifest(hosts=kept, prompts=manifest.prompts)), indent=2).decode()
    file = OwnFile(directory / NAME, f"{said}\n")
    if not file.is_there():
        file.write()


# Which programs a command is about.


KINDS: Final[tuple[Callable[[SetupEnvironment], Host], ...]] = (ClaudeCode, Codex, Gemini, Cursor, CopilotCli)
"""Every program that can be set up, in the order reports have."""


class Chosen(msgspec.Struct, frozen=True):
    """Hosts, and whether the text for any other program is wanted."""

    hosts: list[Host]
    generic: bool = False

    @classmethod
    def by(cls, place: SetupEnvironment, targets: Sequence[str], *, eject: bool) -> Chosen:
        """Those that were named, else those that are here; those that were set up once, when it is to be taken back.

        Raises MnemonError.
        """
        known = hosts(place)
        names = ", ".join([*known, simple.NAME])
        odd = [name for name in targets if name not in known and name != simple.NAME]
        if odd:
            raise MnemonError(INVALID_PARAMS, f'there is no target "{odd[0][:60]}"', hint=f"Choose from: {names}")
        if targets:
            return cls([known[name] for name in known if name in targets], simple.NAME in targets)
        recorded = read(place.directory).hosts if eject else {}
        found = [each for each in known.values() if each.name in recorded or each.found() is not None]
        if not found and not eject:
            message = "none of the programs that mnemond knows is installed here"
            raise MnemonError(NOT_FOUND, message, hint=f"Name one with --target: {names}")
        return cls(found)


def hosts(place: SetupEnvironment) -> dict[str, Host]:
    """All of them, by name."""
    return {each.name: each for each in (kind(place) for kind in KINDS)}


class Change(msgspec.Struct, frozen=True):
    """One file of a host as it is and as it is to be; `made` is what was put around our entries."""

    file: HostFile
    content: bytes
    made: Made

    @property
    def path(self) -> Path:
        """As the host names it; links stay."""
        return self.file.path

    def diff(self) -> str:
        """Unified, empty when there is none."""
        return diff_of(self.path, self.file.content or b"", self.content)


class Plan(msgspec.Struct, frozen=True):
    """Files to change, files of ours to write, and commands of the host's program to run."""

    changes: list[Change]
    own: list[OwnFile]
    commands: list[list[str]]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do here: everything is in order, or what is left is for the user to run."""
        return not (self.changes or self.own or (self.commands and self.can_run))

    @property
    def can_run(self) -> bool:
        """Whether the host's program was found; else a command names it without its path."""
        return all(Path(command[0]).is_absolute() for command in self.commands)


def plan_of(host: Host, ours: Ours) -> Plan:
    """What is missing. Raises MnemonError for whatever should be left alone."""
    changes = [change for each in host.settings() if (change := change_of(each, ours)) is not None]
    for change in changes:
        files.check_writable(change.file)
    registration = host.registration()
    if registration is None:
        return Plan(changes, [], [])
    own = [file for file in registration.files() if not file.is_there()]
    return Plan(changes, own, registration.commands())


def change_of(settings: Settings, ours: Ours) -> Change | None:
    """The change to one file; None when nothing is missing in it. Raises MnemonError."""
    file = files.read(settings.path)
    text = file.text
    if text is None:
        return Change(file, settings.wanted.alone().encode(), settings.wanted.made_alone())
    try:
        after, made = installed(text, settings.wanted, ours)
    except JsonProblem as problem:
        raise refused(settings.path, str(problem)) from None
    return None if after == text else Change(file, file.bytes_of(after), made)


def entries(settings: Settings, ours: Ours) -> list[str]:
    """JSON pointers of what is ours in a file. Raises MnemonError."""
    text = files.read(settings.path).text
    try:
        return [] if text is None else standing(text, settings.wanted, ours)
    except JsonProblem as problem:
        raise refused(settings.path, str(problem)) from None


def diff_of(path: Path, before: bytes, after: bytes) -> str:
    """Unified, as `diff -u` writes it."""
    old, new = (content.decode("utf-8", "replace").splitlines(keepends=True) for content in (before, after))
    said = difflib.unified_diff(old, new, str(path), str(path))
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in said)
