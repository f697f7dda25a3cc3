"""What `mnemonctl setup` says: facts for programs, text for people."""

from __future__ import annotations

import shlex
from typing import Literal

import msgspec

from mnemond.commands.layout import Style, lines
from mnemond.commands.terminal import neutralise, one_line

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
