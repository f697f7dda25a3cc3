"""Migrations of a store's file to the current schema, and the refusal of newer files without changing a byte."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from mnemond.errors import STORAGE, UNSUPPORTED, MnemonError, rejected
from mnemond.store.checksums import RESERVED
from mnemond.store.connection import HAS_CHECKSUMS, Connection

APPLICATION_ID = 0x6D6E656D
"""`mnem` in ASCII; PRAGMA application_id of every store."""


@cache
def _migrations() -> Sequence[tuple[int, Traversable]]:
    found = [entry for entry in files("mnemond.store").joinpath("migrations").iterdir() if entry.name.endswith(".sql")]
    return sorted((int(entry.name.split("_")[0]), entry) for entry in found)


@cache
def _whole_schema() -> tuple[int, str]:
    """Return schema.sql, and the version that its line `PRAGMA user_version` gives a store."""
    sql = files("mnemond.store").joinpath("schema.sql").read_text("utf-8")
    return int(sql.partition("PRAGMA user_version = ")[2].partition(";")[0]), sql


def current_version() -> int:
    return _migrations()[-1][0]


def refuse_newer(path: Path) -> None:
    """Raise MnemonError(UNSUPPORTED) for a file that this release must not write to.

    The connection is read-only: a read-write open could already checkpoint the file's write-ahead log.
    """
    connection = Connection(path, read_only=True)
    try:
        version = int(connection.pragma("user_version") or 0)
        application = int(connection.pragma("application_id") or 0)
        holds_tables = connection.row("SELECT 1 FROM sqlite_schema LIMIT 1") is not None
        reserved = connection.reserved
    finally:
        connection.close()
    if version > current_version():
        raise MnemonError(
            UNSUPPORTED,
            f"{path} has schema version {version}; this mnemond knows versions up to {current_version()}",
            hint="a newer mnemond wrote it: upgrade this one; the file was not touched",
        )
    if reserved == RESERVED and not HAS_CHECKSUMS:
        raise MnemonError(
            UNSUPPORTED,
            f"the pages of {path} have checksums, which the installed apsw cannot write",
            hint="install apsw from a wheel: pip install --force-reinstall --only-binary apsw apsw",
        )
    if application != APPLICATION_ID and holds_tables:
        raise MnemonError(
            UNSUPPORTED,
            f"{path} is a SQLite database, but not one of mnemond's (application_id {application:#x})",
            hint="move the file away, or name another store; the file was not touched",
        )


def migrate(connection: Connection, path: Path, upto: int | None = None) -> list[int]:
    """Apply every migration the file lacks, or those up to a version, one transaction each; return the versions
    applied.

    An empty file gets schema.sql instead, in one transaction: the same tables, without the steps that led to them. A
    copy `<file>.bak-<version>` precedes the first change of a file that already has a schema. Raises SqliteError, and
    MnemonError(STORAGE) for a file with dangling references, which is not changed.
    """
    version = int(connection.pragma("user_version") or 0)
    missing = [(number, entry) for number, entry in _migrations() if version < number <= (upto or number)]
    if missing and version > 0:
        connection.backup_to(path.with_name(f"{path.name}.bak-{version}"))
    connection.set_pragma("foreign_keys", 0)  # a referenced table may be rebuilt; checked before COMMIT
    try:
        at_once, schema = _whole_schema()
        if version == 0 and at_once in dict(missing) and not connection.count("SELECT count(*) FROM sqlite_schema"):
            _apply(connection, at_once, schema)
            version = at_once
        for number, entry in missing:
            if number > version:
                _apply(connection, number, entry.read_text("utf-8"))
    finally:
        connection.set_pragma("foreign_keys", 1)
    return [number for number, _ in missing]


def _apply(connection: Connection, number: int, sql: str) -> None:
    connection.run("BEGIN IMMEDIATE")
    try:
        _refuse_dangling(connection)
        connection.script(sql)
        _refuse_dangling(connection)
        connection.set_pragma("application_id", APPLICATION_ID)
        connection.set_pragma("user_version", number)
        connection.run("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.run("ROLLBACK")
        raise


def _refuse_dangling(connection: Connection) -> None:
    if dangling := connection.rows("PRAGMA foreign_key_check"):
        raise rejected(
            STORAGE,
            f"the store is damaged: {len(dangling)} rows refer to rows that do not exist, one in {dangling[0][0]}",
            "the file is as it was: keep a copy of it, then restore a backup",
        )


def check_violations(connection: Connection) -> list[str]:
    """Return a sentence for each table with rows that violate a CHECK constraint. Raises SqliteError.

    SQLite's own `integrity_check` verifies no CHECK of a database that is open for reading only.
    """
    found = []
    for table, sql in connection.rows("SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND sql IS NOT NULL"):
        conditions = " AND ".join(f"coalesce({each}, TRUE)" for each in _conditions(sql))
        if conditions:
            sql = f'SELECT count(*) FROM "{table}" WHERE NOT ({conditions})'  # noqa: S608 - from the schema
            if count := connection.count(sql):
                found.append(f"{count:,} rows of {table} violate a constraint")
    return found


def _conditions(sql: str) -> Iterator[str]:
    at = sql.find("CHECK(")
    while at >= 0:
        start = at + len("CHECK(")
        end, depth, quoted = start, 1, False
        while depth:
            quoted ^= sql[end] == "'"
            depth += 0 if quoted else {"(": 1, ")": -1}.get(sql[end], 0)
            end += 1
        yield f"({sql[start : end - 1]})"
        at = sql.find("CHECK(", end)
