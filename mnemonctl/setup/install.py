"""Taking back what was done for one host: exactly, where nobody changed anything since; else just our entries."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mnemonctl.setup import files as files_module
from mnemonctl.setup import host as host_module
from mnemonctl.setup.entries import Made, Ours, Wanted, plain, standing, without
from mnemonctl.setup.files import HostFile, digest, refused
from mnemonctl.setup.host import Host
from mnemonctl.setup.json_edit import Dialect, JsonProblem
from mnemonctl.setup.plan import (
    Change,
    CommandReport,
    FileRecord,
    FileReport,
    FileState,
    HostRecord,
    HostReport,
    HostState,
    Plan,
    diff_of,
    entries,
    plan_of,
)
from mnemond.errors import STORAGE, MnemonError
from mnemond.wire.params import plural

LENIENT = Dialect(comments=True, trailing_commas=True)
"""For a file that was changed once and does not belong to the host's present configuration any more."""


def eject(host: Host, ours: Ours, record: HostRecord, environ: Mapping[str, str], *, dry_run: bool) -> HostReport:
    """Take everything of ours out of a host. `record` is brought up to date, also when it fails. Raises MnemonError."""
    commands, left = _unregister(host, record, environ, dry_run=dry_run)
    wanted = {str(each.path): each.wanted for each in host.settings()}
    paths = list(dict.fromkeys([*wanted, *(each.path for each in record.files)]))
    files = []
    made = [Path(directory) for each in record.files for directory in each.directories if _holds(directory, each.path)]
    for path in paths:
        entry = record.of(Path(path))
        done = _file(Path(path), wanted.get(path, Wanted(dialect=LENIENT)), ours, entry, dry_run=dry_run)
        files += [] if done is None else [done]
        if entry is not None and not dry_run:
            record.files.remove(entry)
    if not dry_run:
        files_module.remove_empty(made)
    if not dry_run and not left:
        _remove_own(host, ours.hook.parent.parent / "hosts")
    state: HostState = "planned" if dry_run else "prepared" if left else "removed"
    return HostReport(
        target=host.name,
        title=host.title,
        found=host.found(),
        state="absent" if not files and not commands else state,
        files=files,
        commands=commands,
        verified=[] if dry_run else [f"{each.path} has nothing of ours" for each in files if each.state != "removed"],
    )


def _file(path: Path, wanted: Wanted, ours: Ours, record: FileRecord | None, *, dry_run: bool) -> FileReport | None:
    """Restore or clean one file; None when there is nothing of ours in it, whatever the record says of it: it may have
    come with somebody else's data directory. Raises MnemonError."""
    file = files_module.read(path)
    if file.content is None:
        return None
    text = file.text or ""
    try:
        if (
            record is not None
            and standing(text or "{}", wanted, ours)
            and (content := _before(record, file)) is not None
        ):
            return _written(file, content, record, "restored", dry_run=dry_run)
        after = without(text, wanted, ours, None if record is None else record.made)
        alone = record is not None and record.before is None and _is_bare(after, wanted)
    except JsonProblem as problem:
        raise refused(path, str(problem)) from None
    if after == text:
        return None
    if alone:
        return _removed(file, dry_run=dry_run)
    done = _written(file, file.bytes_of(after), None, "cleaned", dry_run=dry_run)
    if not dry_run and standing(files_module.read(path).text or "{}", wanted, ours):
        raise MnemonError(STORAGE, f"{path} still has entries of ours after they were taken out")
    return done


def _before(record: FileRecord, file: HostFile) -> bytes | None:
    """What the file was before us, if it is as we left it."""
    return _backed_up(record, file) if files_module.fingerprint(file) == record.after else None


def _is_bare(text: str, wanted: Wanted) -> bool:
    """Whether nothing is left but what the root of such a file needs."""
    document = plain(text, wanted.dialect)
    return isinstance(document, dict) and not set(document) - set(wanted.root)


def _holds(directory: str, path: str) -> bool:
    """Whether a file lies in a directory, at whatever depth."""
    return Path(directory) in Path(path).parents


def _backed_up(record: FileRecord, file: HostFile) -> bytes | None:
    """What the file was before us, if that is still known to the byte: by a copy that is called and lies as ours do."""
    if record.backup is None or not files_module.is_backup(Path(record.backup), file):
        return None
    try:
        content = files_module.read(Path(record.backup)).content
    except MnemonError:
        return None
    return content if content is not None and digest(content) == record.before else None


def _removed(file: HostFile, *, dry_run: bool) -> FileReport:
    if not dry_run:
        files_module.check_writable(file)
        files_module.remove_host_file(file)
    return FileReport(str(file.path), "removed")


def _written(
    file: HostFile, content: bytes, record: FileRecord | None, state: FileState, *, dry_run: bool
) -> FileReport:
    if dry_run:
        return FileReport(str(file.path), state, diff=diff_of(file.path, file.content or b"", content))
    files_module.write(file, content)
    if record is not None and record.backup is not None:
        Path(record.backup).unlink(missing_ok=True)
    return FileReport(str(file.path), state)


# ------------------------------------------------------------------ the host's own program


def _unregister(
    host: Host, record: HostRecord, environ: Mapping[str, str], *, dry_run: bool
) -> tuple[list[CommandReport], bool]:
    """Let the host's program take back what it did; whether something is left for the user to run."""
    registration = host.registration()
    commands = [] if registration is None else registration.undo()
    if commands and not Path(commands[0][0]).is_absolute():
        return [CommandReport(command, "to run") for command in commands], True
    if dry_run:
        return [CommandReport(command, "planned") for command in commands], False
    for command in commands:
        host_module.run(command, environ)
    record.undo = []
    for rewritten in list(record.rewritten):
        _restore_rewritten(rewritten)
        record.rewritten.remove(rewritten)
    return [CommandReport(command, "ran") for command in commands], False


def _restore_rewritten(record: FileRecord) -> None:
    """A host's program may lay its settings out anew. If they say the same as before us, they are put back as they
    were, byte for byte; otherwise they stay as the program left them."""
    file = files_module.read(Path(record.path))
    before = _backed_up(record, file)
    if file.content is None or (before is None and record.before is not None):
        return
    if file.content == before or _says_the_same(file.path, before, file.content):
        if before is None:
            files_module.remove_host_file(file)
        elif file.content != before:
            files_module.write(file, before)
        if record.backup is not None:
            Path(record.backup).unlink(missing_ok=True)


def _says_the_same(path: Path, before: bytes | None, now: bytes) -> bool:
    """Whether both mean the same, apart from empty tables at the root that the program left behind. No file is like
    an empty one."""
    try:
        old, new = (_document(path, content) for content in (before or b"", now))
    except (ValueError, JsonProblem):
        return False
    left = {key for key, value in new.items() if value == {} and key not in old}
    return old == {key: value for key, value in new.items() if key not in left}


def _document(path: Path, content: bytes) -> dict[str, Any]:
    text = content.decode().strip() or ("" if path.suffix == ".toml" else "{}")
    document = tomllib.loads(text) if path.suffix == ".toml" else plain(text, LENIENT)
    return document if isinstance(document, dict) else {}


def _remove_own(host: Host, root: Path) -> None:
    """The files of ours that the host's program pointed to, and their directories as far as they are empty."""
    registration = host.registration()
    files = [] if registration is None else registration.files()
    for file in files:
        file.remove()
    files_module.remove_empty({parent for file in files for parent in file.path.parents if parent.is_relative_to(root)})


# Setting up one host: its files, then its own program, then a look at what is there now.


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
    saved = files_module.backup(change.file)
    try:
        directories = files_module.write(change.file, change.content)
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
    before, after = files_module.fingerprint(change.file), digest(change.content)
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
    before = [files_module.read(path) for path in registration.rewritten()]
    saved = [files_module.backup(file) for file in before]
    try:
        for command in commands:
            host_module.run(command, environ)
    finally:
        record.undo = registration.undo()
        for file, backup in zip(before, saved, strict=True):
            _note_rewritten(file, backup, record)
    return [CommandReport(command, "ran") for command in commands], False


def _note_rewritten(file: HostFile, backup: Path | None, record: HostRecord) -> None:
    """What a file was before the host's program changed it; of several times, the first."""
    now = files_module.read(file.path)
    known = any(each.path == str(file.path) for each in record.rewritten)
    if known or now.content == file.content:
        if backup is not None:
            backup.unlink(missing_ok=True)
        return
    saved = None if backup is None else str(backup)
    after = files_module.fingerprint(now) or ""
    record.rewritten.append(FileRecord(str(file.path), files_module.fingerprint(file), after, saved, Made(), []))
