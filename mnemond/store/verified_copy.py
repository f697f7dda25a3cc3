"""Copies of a store's database that are verified before they get their name.

Copying uses SQLite's online backup, from a read transaction of a connection of its own: it sees one state while the
writer goes on, and neither waits for the other. Blocking; for a worker thread.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import msgspec

from mnemond import encryption
from mnemond.errors import STORAGE, MnemonError, rejected
from mnemond.store import checksums, stored_rows
from mnemond.store.connection import Connection, SqliteError
from mnemond.store.files import flush_directory
from mnemond.store.insights import SHOWN_ROWS
from mnemond.store.schema import check_violations, refuse_other

Pause = Callable[[], None]
"""Called between two steps; raises to end the work there."""


class Facts(msgspec.Struct, frozen=True, omit_defaults=True):
    """A copy: bytes, memories in recall and out of it, and the SHA-256 of the file. `unreadable`:
    rows that no reader can use, and the first of them in words; they are copied as they are. If the file is encrypted,
    all this is of its plaintext, and `encrypted_sha256` is that of the file."""

    bytes: int
    memories: int
    retired: int
    sha256: str
    unreadable: int = 0
    unreadable_rows: tuple[str, ...] = ()
    encrypted_sha256: str = ""


def no_pause() -> None:
    """A Pause that never ends anything."""


def make(source: Path, target: Path, pause: Pause = no_pause, recipients: Sequence[encryption.Recipient] = ()) -> Facts:
    """Copy the database at `source` into `target` (0600), which appears whole, verified and on the disk, or not at all;
    with `recipients` encrypted for them.

    Raises MnemonError(STORAGE) for a database that is damaged, SqliteError, OSError.
    """
    connection = Connection(source, read_only=True)
    try:
        return make_of_open(connection, target, pause, recipients)
    finally:
        connection.close()


def make_of_open(
    connection: Connection, target: Path, pause: Pause = no_pause, recipients: Sequence[encryption.Recipient] = ()
) -> Facts:
    """Copy the database of a connection, which is in no transaction, as `make` does: its file may be gone."""
    with _draft_of(target) as draft:
        if recipients:
            return _make_encrypted(connection, draft, target, pause, recipients)
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        connection.run("BEGIN")
        try:
            memories, retired = _count(connection)  # the first read fixes the state
            connection.backup_to(draft, pause)
        finally:
            connection.run("ROLLBACK")
        facts = verify(draft, pause)
        _refuse_other(target, facts, memories, retired)
        return facts


@contextmanager
def _draft_of(target: Path) -> Iterator[Path]:
    """Give the name of a draft, which takes the place of `target` at the end and is on the disk then; after an error
    there is neither."""
    draft = target.with_name(f".{target.name}.part")
    _discard(draft)
    try:
        yield draft
        os.replace(draft, target)
    except BaseException:
        _discard(draft)
        raise
    flush_directory(target.parent)


def _make_encrypted(
    connection: Connection, draft: Path, target: Path, pause: Pause, recipients: Sequence[encryption.Recipient]
) -> Facts:
    """Copy a database and encrypt the copy into `draft`. The plaintext is in a file without a name."""
    connection.run("BEGIN")
    try:
        memories, retired = _count(connection)  # the first read fixes the state
        with connection.unnamed_copy(draft, pause) as (copy, descriptor):
            found, unreadable = _examined(copy, target, pause)
            plain, sealed = _encrypt_file(descriptor, draft, pause, recipients)
            facts = Facts(
                os.fstat(descriptor).st_size, *found, plain, len(unreadable),
                tuple(unreadable[:SHOWN_ROWS]), sealed,
            )  # fmt: skip
    finally:
        connection.run("ROLLBACK")
    _refuse_other(target, facts, memories, retired)
    return facts


def _encrypt_file(
    descriptor: int, target: Path, pause: Pause, recipients: Sequence[encryption.Recipient]
) -> tuple[str, str]:
    """Encrypt an open file into a new one (0600), to the disk; return the SHA-256 of the plaintext and of the new file.
    Raises OSError, and MnemonError(STORAGE) if the new file is read differently than it was written."""
    plain, sealed = hashlib.sha256(), hashlib.sha256()

    def parts() -> Iterator[bytes]:
        at = 0
        while part := os.pread(descriptor, 1 << 16, at):
            plain.update(part)
            at += len(part)
            yield part
            pause()

    opened = os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with open(opened, "w+b") as file:

        def write(data: bytes) -> None:
            sealed.update(data)
            file.write(data)

        encryption.encrypt(parts(), write, recipients)
        file.flush()
        os.fsync(opened)
        file.seek(0)
        if hashlib.file_digest(file, "sha256").digest() != sealed.digest():
            raise _bad(target, "what was written to it is not what is read from it")
    return plain.hexdigest(), sealed.hexdigest()


def take(content: IO[bytes], target: Path, pause: Pause = no_pause, expected: str | None = None) -> Facts:
    """Make a database of the bytes of a copy, which appears as with `make`. Raises what `verify` does."""
    with _draft_of(target) as draft:
        opened = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with open(opened, "wb") as file:
            for part in encryption.parts_of(content):
                file.write(part)
                pause()
            file.flush()
            os.fsync(opened)
        return verify(draft, pause, expected)


def _examined(connection: Connection, path: Path, pause: Pause) -> tuple[tuple[int, int], list[str]]:
    """Read every page and row of a copy; return the memories in recall and out of it, and the rows that cannot be
    read. Raises MnemonError, SqliteError."""
    refuse_other(connection, path)
    pause()
    if (found := connection.rows("PRAGMA integrity_check(3)")) != [("ok",)]:
        raise _bad(path, "; ".join(str(row[0]) for row in found))
    pause()
    if wrong := check_violations(connection):
        raise _bad(path, "; ".join(wrong))
    pause()
    if dangling := connection.rows("PRAGMA foreign_key_check"):
        raise _bad(path, f"{len(dangling)} rows refer to rows that do not exist")
    return _count(connection), _unreadable(connection, pause)


def verify(path: Path, pause: Pause = no_pause, expected: str | None = None) -> Facts:
    """Return the facts of a copy that no connection writes to. Every page is read.

    Raises MnemonError: STORAGE when it is damaged, or its SHA-256 is not the `expected` one; UNSUPPORTED for a file of
    another version, or of another program.
    """
    sha256 = hashlib.sha256()
    with open(path, "rb") as file:  # closing it drops SQLite's locks on it, which a copy does not need
        while part := file.read(1 << 20):
            sha256.update(part)
            pause()
    digest = sha256.hexdigest()
    if expected is not None and digest != expected:
        raise _bad(path, "its checksum is not the one that was noted when it was made")
    try:
        connection = Connection(path, read_only=True)
        try:
            counted, unreadable = _examined(connection, path, pause)
        finally:
            connection.close()
    except SqliteError as error:
        raise _bad(path, checksums.reason(error)) from error
    shown = tuple(unreadable[:SHOWN_ROWS])
    return Facts(path.stat().st_size, *counted, digest, len(unreadable), shown)


def _unreadable(connection: Connection, pause: Pause) -> list[str]:
    found = []
    for row in stored_rows.bad_rows(connection):
        pause()
        if row is not None:
            found.append(str(row))
    return found


def _refuse_other(target: Path, facts: Facts, memories: int, retired: int) -> None:
    if (facts.memories, facts.retired) != (memories, retired):
        raise _bad(target, f"it holds {facts.memories} + {facts.retired} memories instead of {memories} + {retired}")


def _count(connection: Connection) -> tuple[int, int]:
    row = connection.row("SELECT count(*) FILTER (WHERE deleted_at IS NULL), count(deleted_at) FROM insights")
    assert row is not None, "an aggregate has a row"  # noqa: S101
    return int(row[0]), int(row[1])


def _discard(draft: Path) -> None:
    for path in (draft, draft.with_name(f"{draft.name}-journal")):
        path.unlink(missing_ok=True)


def _bad(path: Path, why: str) -> MnemonError:
    return rejected(STORAGE, f"{path} is damaged: {why}", "do not rely on it: `mnemonctl backup list` shows others")
