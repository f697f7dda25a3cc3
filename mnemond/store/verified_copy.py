"""A copy of a store's database that is known to be good before it bears its name.

Copying goes through SQLite's online backup, from a read transaction of a connection of its own: what it sees does not
move while the writer goes on, and neither waits for the other. Blocking; for a worker thread.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from mnemond.errors import STORAGE, UNSUPPORTED, MnemonError
from mnemond.store import schema
from mnemond.store.connection import Connection, SqliteError
from mnemond.store.files import flush_directory
from mnemond.store.schema import APPLICATION_ID, current_version

Pause = Callable[[], None]
"""Called between two steps; raises to end the work there."""


class Facts(msgspec.Struct, frozen=True):
    """What a copy holds: bytes, memories in recall and out of it, the schema's version, and the SHA-256 of the file."""

    bytes: int
    memories: int
    retired: int
    schema_version: int
    sha256: str


def go_on() -> None:
    """A Pause that never ends anything."""


def make(source: Path, target: Path, pause: Pause = go_on) -> Facts:
    """Copy the database at `source` into `target` (0600), which appears whole, verified and on the disk, or not at all.

    Raises MnemonError(STORAGE) for a database that is damaged, SqliteError, OSError.
    """
    draft = _draft_of(target)
    _discard(draft)
    os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    try:
        counted = _copy(source, draft, pause)
        facts = verify(draft, pause)
        _refuse_other(target, facts, counted)
        os.replace(draft, target)
    except BaseException:
        _discard(draft)
        raise
    flush_directory(target.parent)
    return facts


def verify(path: Path, pause: Pause = go_on, expected: str | None = None) -> Facts:
    """What a copy that nobody writes to holds. Every page is read.

    Raises MnemonError: STORAGE when it is damaged, or not what was `expected` (a SHA-256); UNSUPPORTED for a file of a
    newer mnemond, or of somebody else.
    """
    digest = _digest(path, pause)
    if expected is not None and digest != expected:
        raise _bad(path, "its checksum is not the one that was noted when it was made")
    try:
        connection = Connection(path, read_only=True)
        try:
            version = _version(connection, path)
            pause()
            if (found := connection.rows("PRAGMA integrity_check(3)")) != [("ok",)]:
                raise _bad(path, "; ".join(str(row[0]) for row in found))
            pause()
            if wrong := schema.broken(connection):
                raise _bad(path, "; ".join(wrong))
            pause()
            if loose := connection.rows("PRAGMA foreign_key_check"):
                raise _bad(path, f"{len(loose)} rows refer to rows that are not there")
            memories, retired = _count(connection)
        finally:
            connection.close()
    except SqliteError as error:
        raise _bad(path, str(error)) from error
    return Facts(path.stat().st_size, memories, retired, version, digest)


def _copy(source: Path, draft: Path, pause: Pause) -> tuple[int, int]:
    """Copy one state of the database; its memories in recall and out of it."""
    connection = Connection(source, read_only=True)
    try:
        connection.run("BEGIN")
        counted = _count(connection)  # the state is that of the first look
        connection.backup_to(draft, pause)
        return counted
    finally:
        connection.close()


def _count(connection: Connection) -> tuple[int, int]:
    row = connection.row("SELECT count(*) FILTER (WHERE deleted_at IS NULL), count(deleted_at) FROM insights")
    assert row is not None, "an aggregate has a row"  # noqa: S101
    return int(row[0]), int(row[1])


def _version(connection: Connection, path: Path) -> int:
    version = int(connection.pragma("user_version") or 0)
    if connection.pragma("application_id") != APPLICATION_ID:
        raise MnemonError(UNSUPPORTED, f"{path} is not a store of mnemond's", hint="choose another file")
    if version > current_version():
        raise MnemonError(
            UNSUPPORTED,
            f"{path} has schema version {version}; this mnemond knows versions up to {current_version()}",
            hint="a newer mnemond wrote it: upgrade this one",
        )
    return version


def _digest(path: Path, pause: Pause) -> str:
    """SHA-256 of a file. Closing it drops SQLite's locks on it, so it must be one that nobody writes to."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while part := file.read(1 << 20):
            digest.update(part)
            pause()
    return digest.hexdigest()


def _refuse_other(target: Path, facts: Facts, counted: tuple[int, int]) -> None:
    if (facts.memories, facts.retired) != counted:
        raise _bad(
            target, f"it holds {facts.memories} + {facts.retired} memories instead of {counted[0]} + {counted[1]}"
        )


def _draft_of(target: Path) -> Path:
    return target.with_name(f".{target.name}.part")


def _discard(draft: Path) -> None:
    for path in (draft, draft.with_name(f"{draft.name}-journal")):
        path.unlink(missing_ok=True)


def _bad(path: Path, why: str) -> MnemonError:
    return MnemonError(
        STORAGE, f"{path} is damaged: {why}", hint="do not rely on it: `mnemonctl backup list` shows others",
        outcome="rejected",
    )  # fmt: skip
