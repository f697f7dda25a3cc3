"""What has to be done for a host, found out by looking alone."""

from __future__ import annotations

import difflib
from pathlib import Path

import msgspec

from mnemonctl.setup import host_file
from mnemonctl.setup.entries import Made, Ours, installed, standing
from mnemonctl.setup.host import Host, Settings
from mnemonctl.setup.host_file import HostFile, refused
from mnemonctl.setup.json_text import JsonProblem
from mnemonctl.setup.own_file import OwnFile


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
        host_file.check_writable(change.file)
    registration = host.registration()
    if registration is None:
        return Plan(changes, [], [])
    own = [file for file in registration.files() if not file.is_there()]
    return Plan(changes, own, registration.commands())


def change_of(settings: Settings, ours: Ours) -> Change | None:
    """The change to one file; None when nothing is missing in it. Raises MnemonError."""
    file = host_file.read(settings.path)
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
    text = host_file.read(settings.path).text
    try:
        return [] if text is None else standing(text, settings.wanted, ours)
    except JsonProblem as problem:
        raise refused(settings.path, str(problem)) from None


def diff_of(path: Path, before: bytes, after: bytes) -> str:
    """Unified, as `diff -u` writes it."""
    old, new = (content.decode("utf-8", "replace").splitlines(keepends=True) for content in (before, after))
    said = difflib.unified_diff(old, new, str(path), str(path))
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in said)
