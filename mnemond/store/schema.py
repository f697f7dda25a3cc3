"""The schema of a store's file, and the refusal of other files without changing a byte."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Final

from mnemond.errors import UNSUPPORTED, MnemonError
from mnemond.store.checksums import RESERVED
from mnemond.store.connection import HAS_CHECKSUMS, Connection

APPLICATION_ID: Final = 0x6D6E6D64
"""`mnmd` in ASCII; PRAGMA application_id of every store."""

VERSION: Final = 1
"""PRAGMA user_version of every store with the tables of schema.sql."""

_DEVELOPMENT_ID: Final = 0x6D6E656D
"""`mnem` in ASCII: the application_id of stores that checkouts before version 1 of the schema wrote."""


def create(connection: Connection) -> None:
    """Give an empty file the tables of schema.sql, in one transaction; leave any other as it is. Raises SqliteError."""
    if connection.count("SELECT count(*) FROM sqlite_schema"):
        return
    connection.run("BEGIN IMMEDIATE")
    try:
        connection.script(files("mnemond.store").joinpath("schema.sql").read_text("utf-8"))
        connection.set_pragma("application_id", APPLICATION_ID)
        connection.set_pragma("user_version", VERSION)
        connection.run("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.run("ROLLBACK")
        raise


def refuse_other_file(path: Path) -> None:
    """Raise MnemonError(UNSUPPORTED) for a file that this release must not write to.

    The connection is read-only: a read-write open could already checkpoint the file's write-ahead log.
    """
    connection = Connection(path, read_only=True)
    try:
        refuse_other(connection, path)
        reserved = connection.reserved
    finally:
        connection.close()
    if reserved == RESERVED and not HAS_CHECKSUMS:
        raise MnemonError(
            UNSUPPORTED,
            f"the pages of {path} have checksums, which the installed apsw cannot write",
            hint="install apsw from a wheel: pip install --force-reinstall --only-binary apsw apsw",
        )


def refuse_other(connection: Connection, path: Path) -> None:
    """Raise MnemonError(UNSUPPORTED) for a database of a newer mnemond, of a checkout before version 1 of the schema,
    or of another program."""
    version, application = connection.pragma("user_version"), connection.pragma("application_id")
    refuse_development(int(application or 0), path)
    if application != APPLICATION_ID and connection.row("SELECT 1 FROM sqlite_schema LIMIT 1") is not None:
        raise MnemonError(
            UNSUPPORTED,
            f"{path} is a SQLite database, but not one of mnemond's (application_id {application:#x})",
            hint="move the file away, or name another store; a store of mnemon is converted when the daemon starts; the"
            " file was not touched",
        )
    if int(version or 0) > VERSION:
        raise MnemonError(
            UNSUPPORTED,
            f"{path} has schema version {version}; this mnemond knows versions up to {VERSION}",
            hint="a newer mnemond wrote it: upgrade this one; the file was not touched",
        )


def refuse_development(application: int, path: Path) -> None:
    """Raise MnemonError(UNSUPPORTED) for the application_id of a checkout before version 1 of the schema."""
    if application == _DEVELOPMENT_ID:
        raise MnemonError(
            UNSUPPORTED,
            f"{path} is a store of a development version of mnemond, which this one cannot read",
            hint="export it with the old code (mnemonctl export), then import that file with the new; the store was not"
            " touched",
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
