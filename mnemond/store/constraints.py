"""CHECK constraints, asked of the rows one by one: of a database that is open for reading only, SQLite's own
`integrity_check` looks at none of them."""

from __future__ import annotations

from collections.abc import Iterator

from mnemond.store.connection import Connection


def broken(connection: Connection) -> list[str]:
    """Tables with rows that break a CHECK of theirs, and how many. Raises SqliteError."""
    found = []
    for table, sql in connection.rows("SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND sql IS NOT NULL"):
        conditions = " AND ".join(f"coalesce({each}, TRUE)" for each in _conditions(sql))
        if conditions:
            row = connection.row(f'SELECT count(*) FROM "{table}" WHERE NOT ({conditions})')  # noqa: S608 - the schema's
            if row is not None and row[0]:
                found.append(f"{row[0]:,} rows of {table} break a constraint")
    return found


def _conditions(sql: str) -> Iterator[str]:
    """What stands between the brackets of each CHECK of a table."""
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
