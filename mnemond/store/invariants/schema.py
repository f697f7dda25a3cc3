"""I1, and references that no table declares: the shape of the database."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from mnemond.errors import MnemonError
from mnemond.store.connection import FULL, Connection, check_sqlite_version
from mnemond.store.invariants.check import DAMAGED, Evidence, Problem, Steps, Tally
from mnemond.store.migrate import APPLICATION_ID, current_version, migrate

WANTED: Final[dict[str, int | str | None]] = {"journal_mode": "wal", "synchronous": FULL, "foreign_keys": 1}
"""Of the connection that writes: an acknowledged memory survives power loss."""

_ENTRIES = "SELECT type, name, coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"


def schema(evidence: Evidence) -> Steps:
    """The file is of this release, its tables are those of its migrations, and it is written durably."""
    connection, where = evidence.connection, str(evidence.path)
    try:
        check_sqlite_version()
    except MnemonError as error:
        yield Problem(error.message, where, error.hint or "")
    found = connection.pragma("application_id"), connection.pragma("user_version")
    if found != (APPLICATION_ID, current_version()):
        what = f"application and schema are {found}; this release writes {(APPLICATION_ID, current_version())}"
        yield Problem(what, where, "mnemonctl daemon restart brings an older file up to date")
        return
    odd = set(connection.rows(_ENTRIES)) ^ _expected()
    if odd:
        names = ", ".join(sorted({f"{kind} {name}" for kind, name, _ in odd})[:3])
        yield Problem("tables, indexes or views are not those of this schema version", names, DAMAGED)
    for name, wanted in WANTED.items():
        if evidence.session is not None and (value := evidence.session.pragmas.get(name)) != wanted:
            what = f"the daemon's connection has {name} {value} instead of {wanted}"
            yield Problem(what, where, "mnemonctl daemon restart; an acknowledged write may be lost in a power cut")


@cache
def _expected() -> frozenset[tuple[str, str, str]]:
    """What the migrations of this release make of an empty database, in memory."""
    connection = Connection(Path(":memory:"))
    try:
        migrate(connection, Path(":memory:"))
        return frozenset(connection.rows(_ENTRIES))
    finally:
        connection.close()


_SUCCESSORS = "SELECT id, superseded_by FROM insights WHERE superseded_by IS NOT NULL"
_LOST = """
SELECT i.id, 'superseded_by' FROM insights AS i LEFT JOIN insights AS o ON o.id = i.superseded_by
WHERE i.superseded_by IS NOT NULL AND o.id IS NULL
UNION ALL
SELECT i.id, 'paired_with' FROM insights AS i LEFT JOIN insights AS o ON o.id = i.paired_with
WHERE i.paired_with IS NOT NULL AND o.id IS NULL
"""


def references(evidence: Evidence) -> Steps:
    """Whatever refers to a row finds it, and nothing takes the place of itself by a detour."""
    lost = Tally()
    for table, row, *_ in evidence.connection.rows("PRAGMA foreign_key_check"):
        lost.add(f"{table} row {row}")
    yield None
    for insight_id, column in evidence.connection.rows(_LOST):
        lost.add(f"{insight_id} ({column})")
    yield from lost.problems("rows refer to rows that are not there", DAMAGED)
    yield None
    circles = Tally()
    for each in _in_circles(dict(evidence.connection.rows(_SUCCESSORS))):
        circles.add(each)
    yield from circles.problems("memories were superseded in a circle", DAMAGED)


def _in_circles(successor: dict[str, str]) -> list[str]:
    """One member of each circle, the smallest."""
    settled: set[str] = set()
    found: list[str] = []
    for start in successor:
        walk: dict[str, None] = {}
        at: str | None = start
        while at is not None and at not in settled and at not in walk:
            walk[at] = None
            at = successor.get(at)
        if at is not None and at in walk:
            members = list(walk)
            found.append(min(members[members.index(at) :]))
        settled.update(walk)
    return found
