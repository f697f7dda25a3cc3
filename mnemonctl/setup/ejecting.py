"""Taking back what was done for one host: exactly, where nobody changed anything since; else just our entries."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mnemonctl.setup import host_file, host_program
from mnemonctl.setup.entries import Ours, Wanted, plain, standing, without
from mnemonctl.setup.host import Host
from mnemonctl.setup.host_file import HostFile, refused
from mnemonctl.setup.json_text import Dialect, JsonProblem
from mnemonctl.setup.manifest import FileRecord, HostRecord
from mnemonctl.setup.own_file import digest
from mnemonctl.setup.plan import diff_of
from mnemonctl.setup.report import CommandReport, FileReport, FileState, HostReport, HostState
from mnemond.errors import STORAGE, MnemonError

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
        host_file.remove_empty(made)
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
    file = host_file.read(path)
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
    if not dry_run and standing(host_file.read(path).text or "{}", wanted, ours):
        raise MnemonError(STORAGE, f"{path} still has entries of ours after they were taken out")
    return done


def _before(record: FileRecord, file: HostFile) -> bytes | None:
    """What the file was before us, if it is as we left it."""
    return _backed_up(record, file) if host_file.fingerprint(file) == record.after else None


def _is_bare(text: str, wanted: Wanted) -> bool:
    """Whether nothing is left but what the root of such a file needs."""
    document = plain(text, wanted.dialect)
    return isinstance(document, dict) and not set(document) - set(wanted.root)


def _holds(directory: str, path: str) -> bool:
    """Whether a file lies in a directory, at whatever depth."""
    return Path(directory) in Path(path).parents


def _backed_up(record: FileRecord, file: HostFile) -> bytes | None:
    """What the file was before us, if that is still known to the byte: by a copy that is called and lies as ours do."""
    if record.backup is None or not host_file.is_backup(Path(record.backup), file):
        return None
    try:
        content = host_file.read(Path(record.backup)).content
    except MnemonError:
        return None
    return content if content is not None and digest(content) == record.before else None


def _removed(file: HostFile, *, dry_run: bool) -> FileReport:
    if not dry_run:
        host_file.check_writable(file)
        host_file.remove(file)
    return FileReport(str(file.path), "removed")


def _written(
    file: HostFile, content: bytes, record: FileRecord | None, state: FileState, *, dry_run: bool
) -> FileReport:
    if dry_run:
        return FileReport(str(file.path), state, diff=diff_of(file.path, file.content or b"", content))
    host_file.write(file, content)
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
        host_program.run(command, environ)
    record.undo = []
    for rewritten in list(record.rewritten):
        _restore_rewritten(rewritten)
        record.rewritten.remove(rewritten)
    return [CommandReport(command, "ran") for command in commands], False


def _restore_rewritten(record: FileRecord) -> None:
    """A host's program may lay its settings out anew. If they say the same as before us, they are put back as they
    were, byte for byte; otherwise they stay as the program left them."""
    file = host_file.read(Path(record.path))
    before = _backed_up(record, file)
    if file.content is None or (before is None and record.before is not None):
        return
    if file.content == before or _says_the_same(file.path, before, file.content):
        if before is None:
            host_file.remove(file)
        elif file.content != before:
            host_file.write(file, before)
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
    host_file.remove_empty({parent for file in files for parent in file.path.parents if parent.is_relative_to(root)})
