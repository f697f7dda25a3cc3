"""Setting up one host: its files, then its own program, then a look at what is there now."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mnemonctl.setup import host_file, host_program
from mnemonctl.setup.entries import Made, Ours
from mnemonctl.setup.host import Host
from mnemonctl.setup.host_file import HostFile
from mnemonctl.setup.manifest import FileRecord, HostRecord
from mnemonctl.setup.own_file import digest
from mnemonctl.setup.plan import Change, Plan, entries, plan_of
from mnemonctl.setup.report import CommandReport, FileReport, FileState, HostReport
from mnemond.commands.layout import plural
from mnemond.errors import STORAGE, MnemonError


def apply(host: Host, plan: Plan, ours: Ours, record: HostRecord, environ: Mapping[str, str]) -> HostReport:
    """Do what is planned and look again. `record` is brought up to date, also when it fails. Raises MnemonError."""
    for own in plan.own:
        own.write()
    files = [_change(change, record) for change in plan.changes]
    ran, left = _register(host, plan, record, environ)
    again = plan_of(host, ours)
    if again.changes or again.own or (again.commands and not left):
        wrong = [str(change.path) for change in again.changes] + [str(own.path) for own in again.own]
        raise MnemonError(
            STORAGE, f"{host.title} is not as it should be after it was set up: {wrong or again.commands}"
        )
    return HostReport(
        target=host.name,
        title=host.title,
        found=host.found(),
        state="prepared" if left else "unchanged" if plan.is_empty else "installed",
        files=files,
        commands=ran,
        verified=verified(host, ours, left=left),
        next=host.remarks() if not plan.is_empty or left else [],
    )


def verified(host: Host, ours: Ours, *, left: bool) -> list[str]:
    """What stands in its files, read again. Raises MnemonError."""
    found = [(each.path, entries(each, ours)) for each in host.settings()]
    said = [f"{path} has {_counted(there)}" for path, there in found if there]
    registration = host.registration()
    if registration is not None and not left:
        said.append(f"{host.title} itself says that it has what it was told")
    return said


def _counted(pointers: list[str]) -> str:
    """Of JSON pointers to entries: how many, and where."""
    names = [pointer.split("/")[2] for pointer in pointers]
    return f"{plural(len(names), 'entry')} of ours: {', '.join(names)}"


def _change(change: Change, record: HostRecord) -> FileReport:
    """Write one file, with a backup, and note it."""
    saved = host_file.backup(change.file)
    try:
        directories = host_file.write(change.file, change.content)
    except MnemonError:
        if saved is not None:
            saved.unlink(missing_ok=True)
        raise
    old = record.of(change.path)
    if old is not None:
        record.files.remove(old)
    record.files.append(_noted(change, saved, directories, old))
    state: FileState = "created" if change.file.content is None else "changed"
    return FileReport(str(change.path), state, None if saved is None else str(saved))


def _noted(change: Change, saved: Path | None, directories: list[Path], old: FileRecord | None) -> FileRecord:
    """The record of a change. After an earlier one of ours that nobody changed since, what was before that counts."""
    before, after = host_file.fingerprint(change.file), digest(change.content)
    made = [str(path) for path in directories]
    if old is None:
        backup = None if saved is None else str(saved)
        return FileRecord(str(change.path), before, after, backup, change.made, made)
    joined = old.made.joined(change.made)
    directories_made = [*old.directories, *made]
    if old.after == before:
        return FileRecord(str(change.path), old.before, after, old.backup, joined, directories_made)
    return FileRecord(str(change.path), old.before, after, None, joined, directories_made)


def _register(
    host: Host, plan: Plan, record: HostRecord, environ: Mapping[str, str]
) -> tuple[list[CommandReport], bool]:
    """Run the host's program if it is there; whether something is left for the user to run."""
    registration, commands = host.registration(), plan.commands
    if registration is None or not commands:
        return [], False
    if not plan.can_run:
        return [CommandReport(command, "to run") for command in commands], True
    before = [host_file.read(path) for path in registration.rewritten()]
    saved = [host_file.backup(file) for file in before]
    try:
        for command in commands:
            host_program.run(command, environ)
    finally:
        record.undo = registration.undo()
        for file, backup in zip(before, saved, strict=True):
            _note_rewritten(file, backup, record)
    return [CommandReport(command, "ran") for command in commands], False


def _note_rewritten(file: HostFile, backup: Path | None, record: HostRecord) -> None:
    """What a file was before the host's program changed it; of several times, the first."""
    now = host_file.read(file.path)
    known = any(each.path == str(file.path) for each in record.rewritten)
    if known or now.content == file.content:
        if backup is not None:
            backup.unlink(missing_ok=True)
        return
    saved = None if backup is None else str(backup)
    after = host_file.fingerprint(now) or ""
    record.rewritten.append(FileRecord(str(file.path), host_file.fingerprint(file), after, saved, Made(), []))
