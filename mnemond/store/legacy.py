"""Stores of mnemon, the tool that came before: moved to their place, converted, and kept as they were.

mnemon kept one database, `mnemon.db` in the data directory, and later one for each store where mnemond has them. Its
three tables `insights`, `edges` and `oplog` have fewer columns, and its vectors were of float64 once. A new file is
made beside the old one; one rename then makes it the store, so that whatever ends the process leaves the old one or the
new one, whole. The old file becomes `mnemon.db.bak-VERSION`. Blocking; for the start, or a worker thread.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from mnemond.errors import BUSY, STORAGE, MnemonError
from mnemond.store import verified_copy
from mnemond.store.connection import BusyError, Connection, SqliteError
from mnemond.store.durable import flush_directory, make_directory
from mnemond.store.legacy_rows import copy_rows
from mnemond.store.migrate import migrate

FILE: Final = "mnemon.db"
MOVING: Final = "data.moving"
"""What becomes the directory `data` once everything in it is there."""

_TABLES: Final = {"insights", "edges", "oplog"}


def is_legacy(path: Path) -> bool:
    """Whether a database is mnemon's and not yet ours. Raises SqliteError for what is no database."""
    connection = Connection(path, read_only=True)
    try:
        if connection.pragma("application_id"):
            return False
        tables = {row[0] for row in connection.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")}
        columns = {row[1] for row in connection.rows("PRAGMA table_info(insights)")}
        return tables >= _TABLES and {"id", "content", "created_at"} <= columns
    finally:
        connection.close()


def adopt(path: Path, now_us: int) -> None:
    """Make a store of mnemon's, which lies where ours do, one of ours. Raises MnemonError, SqliteError, OSError."""
    draft = path.with_name(f".{path.name}.part")
    with _held(path) as (source, version):
        _convert(source, draft, now_us)
        _keep(source, path, path.with_name(f"{path.name}.bak-{version}"))
        os.replace(draft, path)
        flush_directory(path.parent)


def move(data_dir: Path, now_us: int, warn: Callable[[str], None]) -> bool:
    """Move the one store that mnemon had to data/default, if there are no stores yet; whether that was done.

    Raises MnemonError: BUSY while mnemon has it open, STORAGE for one that is damaged. The daemon must not start then:
    it would make a new store, and the old one could not be moved any more.
    """
    old, data, moving = data_dir / FILE, data_dir / "data", data_dir / MOVING
    shutil.rmtree(moving, ignore_errors=True)  # of a process that ended too early; the old store is whole
    if not old.is_file() or old.is_symlink():
        return False
    if data.exists():
        if _is_kept(old, data / "default"):
            _remove(old)  # that, too, was left to do
        else:
            warn(f"{old} is a store of mnemon's that is not used: there are stores in {data} already")
        return False
    try:
        if not is_legacy(old):
            warn(f"{old} is not a store of mnemon's; it is left alone")
            return False
        _move(old, moving, data, now_us)
    except BusyError as error:
        raise MnemonError(
            BUSY, f"{old} is in use by another program: {error}", hint="close that program, then start again"
        ) from error
    except (SqliteError, OSError) as error:
        raise MnemonError(
            STORAGE, f"{old} cannot be moved to {data / 'default'}: {error}",
            hint="it is as it was; move it away to begin with an empty store",
        ) from error  # fmt: skip
    return True


def _move(old: Path, moving: Path, data: Path, now_us: int) -> None:
    make_directory(moving)
    make_directory(moving / "default")
    with _held(old) as (source, version):
        _convert(source, moving / "default" / FILE, now_us)
        _keep(source, old, moving / "default" / f"{FILE}.bak-{version}")
        flush_directory(moving / "default")
        flush_directory(moving)
        os.rename(moving, data)
        flush_directory(data.parent)
        _remove(old)
        flush_directory(data.parent)


@contextmanager
def _held(path: Path) -> Iterator[tuple[Connection, int]]:
    """A connection that nobody else has beside it, and the version of its schema. Its log is in the database by then.

    Raises BusyError when somebody has the database open.
    """
    connection = Connection(path)
    try:
        connection.run("PRAGMA locking_mode = EXCLUSIVE")
        connection.checkpoint(truncate=True)
        connection.run("PRAGMA journal_mode = DELETE")  # takes the lock that nobody else can have, and it stays
        yield connection, int(connection.pragma("user_version") or 0)
    finally:
        connection.close()


def _convert(source: Connection, target: Path, now_us: int) -> None:
    """Make a store of ours with what is in one of mnemon's; it is on the disk and read through when this returns."""
    _remove(target)
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    connection = Connection(target)
    try:
        migrate(connection, target)
        connection.run("BEGIN IMMEDIATE")
        copied = copy_rows(source, connection, now_us)
        connection.run("COMMIT")
        connection.checkpoint(truncate=True)
        connection.run("PRAGMA journal_mode = DELETE")  # one file, until it is opened as a store
    finally:
        connection.close()
    facts = verified_copy.verify(target)
    if (facts.memories, facts.retired) != copied:
        raise MnemonError(STORAGE, f"{target} does not hold what was put into it", hint="the old store is as it was")


def _remove(path: Path) -> None:
    """Remove a name of a database and what lies beside it; the database itself comes last."""
    for part in ("-journal", "-shm", "-wal", ""):
        path.with_name(path.name + part).unlink(missing_ok=True)


def _keep(source: Connection, old: Path, kept: Path) -> None:
    """Give the old file a second name, by which it stays; where a file can have one only, copy it."""
    kept.unlink(missing_ok=True)
    try:
        os.link(old, kept)
    except OSError:
        source.backup_to(kept)
    kept.chmod(0o600)


def _is_kept(old: Path, store: Path) -> bool:
    """Whether the old file is the one that is kept beside the new: only its first name is left to be removed."""
    return any(os.path.samefile(old, kept) for kept in store.glob(f"{FILE}.bak-*"))
