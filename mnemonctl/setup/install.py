"""Set up one host, and take that back: exactly if nothing was changed since, else just our entries."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from mnemonctl.setup import environment, files
from mnemonctl.setup.entries import EntrySpec, FileEntries, OurPrograms, plain
from mnemonctl.setup.files import HostFile, SettingsProblem, digest, read_host_file, refused
from mnemonctl.setup.host import Host
from mnemonctl.setup.json_edit import Dialect
from mnemonctl.setup.plan import Change, Plan, diff_of, diff_of_own, entries_in, expected_diffs, plan_for
from mnemonctl.setup.record import FileRecord, HostRecord
from mnemonctl.setup.toml_entries import TomlServer
from mnemond.cli.output import Style, lines, neutralise, one_line
from mnemond.errors import STORAGE, MnemonError
from mnemond.wire.params import plural

# The report: its fields for programs, its text for people below.

FileState = Literal["created", "changed", "rewritten", "unchanged", "restored", "cleaned", "removed", "kept"]
"""rewritten: by the host's own program, which may lay it out anew; restored: as it was before the setup, byte for byte;
cleaned: ours is removed from a file that was changed since."""

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
    """The whole command. `launchers` are the programs that hosts run, `own` our files in the data directory and those
    for the user's shell, `sends` what the daemon sends to servers as it is configured, `notes` what to know beside."""

    status: Status
    targets: list[HostReport]
    launchers: list[str] = []
    own: list[FileReport] = []
    text: str | None = None
    sends: list[str] = []
    notes: list[str] = []


LENIENT = Dialect(comments=True, trailing_commas=True)
"""For a recorded file that does not belong to the host's present configuration any more."""


def apply(host: Host, plan: Plan, ours: OurPrograms, record: HostRecord, environ: Mapping[str, str]) -> HostReport:
    """Carry out a plan and verify it. `record` is updated, also if it fails. Raises MnemonError."""
    for own in plan.own:
        own.write()
    if plan.commands and plan.can_run:
        plan = msgspec.structs.replace(plan, commands=plan_for(host, ours, ask=True).commands)
    changed = [_write_change(change, record) for change in plan.changes]
    commands, left = _register(host, plan, record, environ)
    again = plan_for(host, ours, ask=not plan.is_empty)
    if again.changes or again.own or (again.commands and not left):
        wrong = [str(change.path) for change in again.changes] + [str(own.path) for own in again.own]
        message = f"{host.title} is not as it should be after it was set up: {wrong or again.commands}"
        raise MnemonError(STORAGE, message)
    return HostReport(
        target=host.name,
        title=host.title,
        found=host.found(),
        state="prepared" if left else "unchanged" if plan.is_empty else "installed",
        files=changed,
        commands=commands,
        verified=_verified(host, ours, left=left),
        next=host.remarks() if not plan.is_empty or left else [],
    )


def _verified(host: Host, ours: OurPrograms, *, left: bool) -> list[str]:
    found = [(each.path, [pointer.split("/")[2] for pointer in entries_in(each, ours)]) for each in host.settings()]
    verified = [
        f"{path} has {plural(len(names), 'entry')} of ours: {', '.join(names)}" for path, names in found if names
    ]
    if host.registration() is not None and not left:
        verified.append(f"{host.title} itself lists it")
    return verified


def _write_change(change: Change, record: HostRecord) -> FileReport:
    backup = files.back_up(change.file)
    try:
        directories = files.write_host_file(change.file, change.content)
    except MnemonError:
        if backup is not None:
            backup.unlink(missing_ok=True)
        raise
    saved = None if backup is None else str(backup)
    new = FileRecord(
        str(change.path), change.file.fingerprint, digest(change.content), saved, change.scaffold,
        [str(path) for path in directories],
    )  # fmt: skip
    old = record.file(change.path)
    if old is not None:  # what was before the first change counts, and is known if only setup changed it since
        new.backup = old.backup if old.after == new.before else None
        new.before = old.before
        new.scaffold = old.scaffold.joined(new.scaffold)
        new.directories = [*old.directories, *new.directories]
        record.files.remove(old)
    record.files.append(new)
    return FileReport(str(change.path), "created" if change.file.content is None else "changed", saved)


def _register(
    host: Host, plan: Plan, record: HostRecord, environ: Mapping[str, str]
) -> tuple[list[CommandReport], bool]:
    """Run the host's program if it is there; the second value is True if commands are left for the user to run."""
    registration, commands = host.registration(), plan.commands
    if registration is None or not commands:
        return [], False
    if not plan.can_run:
        return [CommandReport(command, "to run") for command in commands], True
    before = [read_host_file(path) for path in registration.rewritten()]
    backups = [files.back_up(file) for file in before]
    try:
        for command in commands:
            environment.run(command, environ)
    finally:
        record.undo = registration.undo(ask=True)
        for file, backup in zip(before, backups, strict=True):
            _record_rewritten(file, backup, record)
            files.restore_mode(file)
    return [CommandReport(command, "ran") for command in commands], False


def _record_rewritten(file: HostFile, backup: Path | None, record: HostRecord) -> None:
    """Record a file as it was before the host's program changed it for the first time."""
    now = read_host_file(file.path)
    known = any(each.path == str(file.path) for each in record.rewritten)
    if not known and now.content != file.content:
        saved = None if backup is None else str(backup)
        record.rewritten.append(FileRecord(str(file.path), file.fingerprint, now.fingerprint or "", saved))
    elif backup is not None:
        backup.unlink(missing_ok=True)


# ------------------------------------------------------------------ eject


def eject(
    host: Host, ours: OurPrograms, record: HostRecord, environ: Mapping[str, str], *, dry_run: bool
) -> HostReport:
    """Remove everything of ours from a host. `record` is updated, also if it fails. Raises MnemonError."""
    commands, left = _unregister(host, record, environ, dry_run=dry_run)
    specs = {str(each.path): each.spec for each in host.settings()}
    made = [
        Path(directory)
        for each in record.files
        for directory in each.directories
        if Path(directory) in Path(each.path).parents
    ]
    reports = []
    for path in dict.fromkeys([*specs, *(each.path for each in record.files)]):
        recorded = record.file(Path(path))
        former = TomlServer(str(ours.mcp)) if path.endswith(".toml") else EntrySpec(dialect=LENIENT)
        spec = specs.get(path, former)
        reports.append(_eject_file(Path(path), spec, ours, recorded, dry_run=dry_run))
        if recorded is not None and not dry_run:
            record.files.remove(recorded)
    if not dry_run:
        files.remove_empty(made)
        if not left:
            _remove_own(host, ours.hook.parent.parent / "hosts")
    changed = [each for each in reports if each is not None]
    if dry_run:
        changed += _removed_by_program(host, commands)
    state: HostState = "planned" if dry_run else "prepared" if left else "removed"
    return HostReport(
        target=host.name,
        title=host.title,
        found=host.found(),
        state=state if changed or commands else "absent",
        files=changed,
        commands=commands,
        verified=[] if dry_run else [f"{each.path} has nothing of ours" for each in changed if each.state != "removed"],
    )


def _removed_by_program(host: Host, commands: list[CommandReport]) -> list[FileReport]:
    """Report the settings that these commands will rewrite, and the files of ours to which they point."""
    registration = host.registration()
    own = [] if registration is None else [file for file in registration.files() if file.path.exists()]
    removed = [FileReport(str(file.path), "removed", diff=diff_of_own(file, there=False)) for file in own]
    rewritten = expected_diffs(host, there=False) if commands else {}
    return [FileReport(str(path), "rewritten", diff=diff) for path, diff in rewritten.items()] + removed


def _eject_file(
    path: Path, spec: FileEntries, ours: OurPrograms, record: FileRecord | None, *, dry_run: bool
) -> FileReport | None:
    """Restore or clean one file; None if it has nothing of ours. Raises MnemonError.

    A file without entries of ours is left alone even if it is recorded: the record may come from another home.
    """
    file = read_host_file(path)
    if file.content is None:
        return None
    text = file.text or ""
    try:
        if record is not None and spec.find(text, ours):
            before = _content_before(record, file) if file.fingerprint == record.after else None
            if before is not None:
                return _write_back(file, before, record, "restored", dry_run=dry_run)
        after = spec.remove(text, ours, None if record is None else record.scaffold)
        if after == text:
            return None
        if record is not None and record.before is None and spec.is_bare(after):
            if not dry_run:
                files.check_writable(file)
                files.remove_host_file(file)
            return FileReport(str(path), "removed", diff=diff_of(file, b"") if dry_run else None)
        report = _write_back(file, file.encode(after), None, "cleaned", dry_run=dry_run)
        if not dry_run and spec.find(read_host_file(path).text or "", ours):
            raise MnemonError(STORAGE, f"{path} still has entries of ours after they were removed")
    except SettingsProblem as problem:
        raise refused(path, str(problem)) from None
    return report


def _write_back(
    file: HostFile, content: bytes, record: FileRecord | None, state: FileState, *, dry_run: bool
) -> FileReport:
    if dry_run:
        return FileReport(str(file.path), state, diff=diff_of(file, content))
    files.write_host_file(file, content)
    if record is not None and record.backup is not None:
        Path(record.backup).unlink(missing_ok=True)
    return FileReport(str(file.path), state)


def _content_before(record: FileRecord, file: HostFile) -> bytes | None:
    """Return what the file was before the setup, from a backup that has the right name, place and hash; else None."""
    if record.backup is None or not files.is_backup(Path(record.backup), file):
        return None
    try:
        content = read_host_file(Path(record.backup)).content
    except MnemonError:
        return None
    return content if content is not None and digest(content) == record.before else None


def _unregister(
    host: Host, record: HostRecord, environ: Mapping[str, str], *, dry_run: bool
) -> tuple[list[CommandReport], bool]:
    """Run the commands that undo the registration; the second value is True if they are left for the user to run."""
    registration = host.registration()
    commands = [] if registration is None else registration.undo(ask=not dry_run)
    if commands and not Path(commands[0][0]).is_absolute():
        return [CommandReport(command, "to run") for command in commands], True
    if dry_run:
        return [CommandReport(command, "planned") for command in commands], False
    before = [] if registration is None else [read_host_file(path) for path in registration.rewritten()]
    for command in commands:
        environment.run(command, environ)
    for file in before:
        files.restore_mode(file)
    record.undo = []
    for rewritten in list(record.rewritten):
        _restore_rewritten(rewritten)
        record.rewritten.remove(rewritten)
    return [CommandReport(command, "ran") for command in commands], False


def _restore_rewritten(record: FileRecord) -> None:
    """Restore settings byte for byte if the host's program has only laid them out anew; else leave them."""
    file = read_host_file(Path(record.path))
    before = _content_before(record, file)
    if file.content is None or (before is None and record.before is not None):
        return
    if file.content == before or _is_equivalent(before, file.content):
        if before is None:
            files.remove_host_file(file)
        elif file.content != before:
            files.write_host_file(file, before)
        if record.backup is not None:
            Path(record.backup).unlink(missing_ok=True)


def _is_equivalent(before: bytes | None, now: bytes) -> bool:
    """Return True if both mean the same, apart from new empty tables at the root. No file equals an empty one."""
    try:
        old, new = (_document(content) for content in (before or b"", now))
    except (ValueError, SettingsProblem):
        return False
    return old == {key: value for key, value in new.items() if value != {} or key in old}


def _document(content: bytes) -> dict[str, Any]:
    document = plain(content.decode().strip() or "{}", LENIENT)
    return document if isinstance(document, dict) else {}


def _remove_own(host: Host, root: Path) -> None:
    """Remove files of ours that the host's program pointed to, and their empty directories."""
    registration = host.registration()
    own = [] if registration is None else registration.files()
    for file in own:
        file.remove()
    files.remove_empty({parent for file in own for parent in file.path.parents if parent.is_relative_to(root)})


# The report as text.


def render(report: Report, style: Style) -> str:
    parts: list[str | None] = []
    for host in report.targets:
        parts += _host_lines(host, style)
    parts += [line for each in report.own if each.state != "unchanged" for line in _file_lines(each)]
    if report.status == "unchanged":
        parts.append("everything is in order, nothing was changed")
    parts += [f"note: {one_line(each)}" for each in [*report.sends, *report.notes]]
    if report.text is not None:
        parts.append(report.text.rstrip("\n"))
    return lines(*parts)


def _host_lines(host: HostReport, style: Style) -> list[str]:
    found = f" ({one_line(host.found)})" if host.found else ""
    parts = [style.strong(f"{host.title}: {host.state}") + found]
    parts += [line for file in host.files for line in _file_lines(file)]
    parts += [f"  {each.state:<10}{one_line(shlex.join(each.command))}" for each in host.commands]
    parts += [f"  verified  {one_line(each)}" for each in host.verified]
    parts += [f"  next      {one_line(each)}" for each in host.next]
    if host.error is not None:
        parts.append(f"  FAILED    {one_line(host.error.message)}")
        parts += [f"            {one_line(host.error.hint)}"] if host.error.hint else []
    return parts


def _file_lines(file: FileReport) -> list[str]:
    saved = f" (as it was: {one_line(file.backup)})" if file.backup else ""
    line = f"  {file.state:<10}{one_line(file.path)}{saved}"
    return [line, neutralise(file.diff).rstrip("\n")] if file.diff else [line]
