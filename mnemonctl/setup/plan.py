"""Changes that a host needs. Nothing here makes them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from mnemonctl.setup import record
from mnemonctl.setup.entries import OurPrograms, Scaffold
from mnemonctl.setup.environment import SetupEnvironment
from mnemonctl.setup.files import HostFile, OwnFile, SettingsProblem, check_writable, read_host_file, refused
from mnemonctl.setup.host import GENERIC, Host, Settings, all_hosts
from mnemond.errors import INVALID_PARAMS, MnemonError


class Selection(msgspec.Struct, frozen=True):
    """Hosts of a command, and whether the text for any other program is wanted; `note`: why there are no hosts."""

    hosts: list[Host]
    generic: bool = False
    note: str = ""


def select(environment: SetupEnvironment, targets: Sequence[str], *, eject: bool) -> Selection:
    """Return the hosts that are named, else those that are installed or, to eject, were set up. Raises MnemonError."""
    known = all_hosts(environment)
    names = ", ".join([*known, GENERIC])
    unknown = [name for name in targets if name not in known and name != GENERIC]
    if unknown:
        raise MnemonError(INVALID_PARAMS, f'there is no target "{unknown[0][:60]}"', hint=f"Choose from: {names}")
    if targets:
        return Selection([known[name] for name in known if name in targets], GENERIC in targets)
    recorded = record.read(environment.directory).hosts if eject else {}
    found = [host for host in known.values() if host.name in recorded or host.found() is not None]
    if not found and not eject:
        message = "none of the programs that mnemond knows is installed here"
        return Selection([], note=f"{message}; when one is, run setup again, or name it with --target: {names}")
    return Selection(found)


class Change(msgspec.Struct, frozen=True):
    """A file of a host as it is, and its new content."""

    file: HostFile
    content: bytes
    scaffold: Scaffold

    @property
    def path(self) -> Path:
        """Path as the host names it, which may be a link."""
        return self.file.path

    def diff(self) -> str:
        return diff_of(self.file, self.content)


class Plan(msgspec.Struct, frozen=True):
    """Files to change, files of ours to write, and commands of the host's program to run."""

    changes: list[Change]
    own: list[OwnFile]
    commands: list[list[str]]

    @property
    def is_empty(self) -> bool:
        """Return True if nothing can be done here: all is in order, or the rest is for the user to run."""
        return not (self.changes or self.own or (self.commands and self.can_run))

    @property
    def can_run(self) -> bool:
        """Return True if the host's program was found; otherwise commands name it without a path."""
        return all(Path(command[0]).is_absolute() for command in self.commands)


def plan_for(host: Host, ours: OurPrograms, *, ask: bool) -> Plan:
    """Return what is missing; only with `ask` is a program of the host run.

    Raises MnemonError for files that must not be changed.
    """
    changes = [change for each in host.settings() if (change := _change(each, ours)) is not None]
    for change in changes:
        check_writable(change.file)
    registration = host.registration()
    if registration is None:
        return Plan(changes, [], [])
    own = [file for file in registration.files() if not file.is_there()]
    return Plan(changes, own, registration.commands(ask=ask))


def _change(settings: Settings, ours: OurPrograms) -> Change | None:
    file = read_host_file(settings.path)
    text = file.text
    if text is None:
        new, scaffold = settings.spec.new_file()
        return Change(file, new.encode(), scaffold)
    try:
        new, scaffold = settings.spec.add(text, ours)
    except SettingsProblem as problem:
        raise refused(settings.path, str(problem)) from None
    return None if new == text else Change(file, file.encode(new), scaffold)


def entries_in(settings: Settings, ours: OurPrograms) -> list[str]:
    """Return JSON pointers to entries of ours in a file. Raises MnemonError."""
    text = read_host_file(settings.path).text
    try:
        return [] if text is None else settings.spec.find(text, ours)
    except SettingsProblem as problem:
        raise refused(settings.path, str(problem)) from None


def diff_of_own(file: OwnFile, *, there: bool = True) -> str:
    """Return the diff of a file of ours that is written, or removed."""
    return diff_of(read_host_file(file.path), file.text.encode() if there else b"")


def expected_diffs(host: Host, *, there: bool) -> dict[Path, str]:
    """Return diffs of the settings that the host's own program will rewrite, by path. It may lay them out anew."""
    registration = host.registration()
    found = {}
    for path in [] if registration is None else registration.rewritten():
        file = read_host_file(path)
        text = None if registration is None else registration.expected(path, file.text, there=there)
        found[path] = diff_of(file, file.encode(text or ""))
    return {path: diff for path, diff in found.items() if diff}


def diff_of(file: HostFile, content: bytes) -> str:
    """Return a unified diff to another content, as `diff -u` writes it."""
    old, new = (each.decode("utf-8", "replace").splitlines(keepends=True) for each in (file.content or b"", content))
    diff = difflib.unified_diff(old, new, str(file.path), str(file.path))
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in diff)
