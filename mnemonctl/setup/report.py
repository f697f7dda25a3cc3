"""Output of `mnemonctl setup`: its fields for programs, and its text for people."""

from __future__ import annotations

import shlex
from typing import Literal

import msgspec

from mnemond.cli.output import Style, lines, neutralise, one_line

FileState = Literal["created", "changed", "unchanged", "restored", "cleaned", "removed", "kept"]
"""restored: as it was before the setup, byte for byte; cleaned: ours is removed from a file that was changed since."""

CommandState = Literal["ran", "planned", "to run"]
Status = Literal["installed", "removed", "dry run", "unchanged", "cancelled", "failed"]
HostState = Literal["installed", "unchanged", "prepared", "planned", "removed", "absent", "failed"]
"""prepared: the rest is for the user to run."""


class FileReport(msgspec.Struct, frozen=True):
    """One file. A dry run has a `diff`."""

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
    """One host. `verified` was found when its files were read again; `next` is for the user to do or know."""

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
    """The whole command. `launchers` are the programs that hosts run, `own` our files in the data directory."""

    status: Status
    targets: list[HostReport]
    launchers: list[str] = []
    own: list[FileReport] = []
    text: str | None = None


def render(report: Report, style: Style) -> str:
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
    parts = [style.strong(f"{host.title}: {host.state}") + found]
    for file in host.files:
        parts.append(_file(file))
        if file.diff:
            parts.append(neutralise(file.diff).rstrip("\n"))
    parts += [f"  {each.state:<10}{one_line(shlex.join(each.command))}" for each in host.commands]
    parts += [f"  verified  {one_line(each)}" for each in host.verified]
    parts += [f"  next      {one_line(each)}" for each in host.next]
    if host.error is not None:
        parts.append(f"  FAILED    {one_line(host.error.message)}")
        parts += [f"            {one_line(host.error.hint)}"] if host.error.hint else []
    return parts


def _file(file: FileReport) -> str:
    saved = f" (as it was: {one_line(file.backup)})" if file.backup else ""
    return f"  {file.state:<10}{one_line(file.path)}{saved}"
