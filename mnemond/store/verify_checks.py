"""Every invariant of a store as a check: of its files and pages, its rows, its schema, and its mirror in memory (the
snapshot of the index), by itself and compared with the rows it was made of."""

from __future__ import annotations

import os
import stat
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from mnemond.errors import MnemonError
from mnemond.index.bm25 import document_of
from mnemond.index.edges import INWARDS, OUTWARDS, EdgeArrays, degrees_of
from mnemond.index.snapshot import Snapshot
from mnemond.index.vectors import UNIT_TOLERANCE, normalise
from mnemond.model.memory import format_us
from mnemond.store import health, passages, stored_rows
from mnemond.store.checksums import faulty_pages
from mnemond.store.connection import FULL, NORMAL, Connection, Value, check_sqlite_version
from mnemond.store.health import HighWater, last_line
from mnemond.store.insights import VECTOR_FITS, content_hash
from mnemond.store.meta import EmbedderRecord
from mnemond.store.schema import APPLICATION_ID, VERSION, create
from mnemond.store.shared_log import read_cursor

Tier = Literal["tick", "fast", "full"]
"""Takes thousandths of a second, tenths, or seconds, for a store of 10,000."""

PAGE: Final = 500
"""Rows that a check reads between two pauses: about a millisecond of the interpreter."""

MAX_PLACES: Final = 3
"""Places that a problem names; the others are counted."""

DAMAGED: Final = (
    "mnemonctl doctor --salvage reads what can be read into a copy; or restore a backup (mnemonctl backup list)"
)
RELOAD: Final = "mnemonctl daemon restart reads everything again; please report it, with the daemon's log"
"""Next step if memory and database differ: the database is canonical."""
UNREADABLE: Final = (
    "mnemonctl doctor --salvage makes a copy of the store with all that can be read of them; or restore a backup"
    " (mnemonctl backup list)"
)
ACCEPT: Final = (
    "restore a backup (mnemonctl backup list); or go on with what is there: mnemonctl jobs run full_verify --yes"
)


class Problem(msgspec.Struct, frozen=True):
    """What is wrong, where, and what to do next. Never contains the text of a memory."""

    what: str
    where: str
    next: str


class Session(msgspec.Struct, frozen=True):
    """State of the connection that writes: pragmas by name, and True if its `data_version` changed since the last
    verification, which it does when another program commits."""

    pragmas: Mapping[str, int | str | None]
    others_wrote: bool


class Evidence(msgspec.Struct, frozen=True):
    """One state of a store: rows through a connection in a read transaction, and the mirror of the same moment.

    `mirror` and `session` are None if no daemon has the store open. `now_us`: the present time. `unreadable`: numbers
    of the rows that the mirror leaves out because they cannot be decoded.
    """

    path: Path
    connection: Connection
    now_us: int
    embedder: EmbedderRecord | None = None
    mirror: Snapshot | None = None
    session: Session | None = None
    unreadable: frozenset[int] = frozenset()


Steps: TypeAlias = Iterator[Problem | None]
"""Problems as they are found, and None wherever other work may run meanwhile."""

Needs = Literal["rows", "mirror", "session"]


class Check(msgspec.Struct, frozen=True):
    """One invariant. `summary`: a sentence that is true if it holds. `needs`: the part of the evidence it requires.
    `grave`: if it does not hold, the file is not what was written to it."""

    name: str
    tier: Tier
    summary: str
    needs: Needs
    grave: bool
    run: Callable[[Evidence], Steps]

    def is_possible(self, evidence: Evidence) -> bool:
        if self.needs == "mirror":
            return evidence.mirror is not None
        return self.needs == "rows" or evidence.session is not None


CHECKS: Final[list[Check]] = []
"""Every check, the fastest first."""

_REACH: Final[dict[Tier, int]] = {"tick": 0, "fast": 1, "full": 2}
_COVERED: Final = {"some_vectors": "mirror_vectors"}
"""Checks that are left out if the other one is run."""

Look = Callable[[Evidence], Steps]


def check(name: str, tier: Tier, summary: str, needs: Needs = "rows", *, grave: bool = False) -> Callable[[Look], Look]:
    def declare(run: Look) -> Look:
        CHECKS.append(Check(name, tier, summary, needs, grave, run))
        return run

    return declare


def of_tier(tier: Tier) -> tuple[Check, ...]:
    """Return the checks of a tier and of the faster ones."""
    found = [check for check in CHECKS if _REACH[check.tier] <= _REACH[tier]]
    names = {check.name for check in found}
    return tuple(check for check in found if _COVERED.get(check.name) not in names)


class Tally:
    """Places of one kind of problem: the first few, and their number."""

    def __init__(self, places: Iterable[object] = ()) -> None:
        self.count = 0
        self._first: list[str] = []
        for place in places:
            self.add(place)

    def add(self, place: object) -> None:
        self.count += 1
        if len(self._first) < MAX_PLACES:
            self._first.append(str(place)[:80])

    def problems(self, what: str, next_: str) -> Iterator[Problem]:
        """Yield one problem for all places, none if there is no place. `what` gets the number in front."""
        if self.count:
            more = f" and {self.count - MAX_PLACES:,} more" if self.count > MAX_PLACES else ""
            yield Problem(f"{self.count:,} {what}", ", ".join(self._first) + more, next_)


def pages_of(evidence: Evidence, columns: str, where: str, values: tuple[Value, ...] = ()) -> Iterator[list[Any]]:
    """Yield rows of `insights` by their numbers, a page at a time, the number last; those that cannot be decoded
    are left out. `where` may use ?3 and up."""
    where = f"number > ?1 AND ({where}) AND {_left_out(evidence)}"
    sql = f"SELECT {columns}, number FROM insights WHERE {where} ORDER BY number LIMIT ?2"  # noqa: S608 - constants
    last = -1 << 62
    while rows := evidence.connection.rows(sql, (last, PAGE, *values)):
        yield rows
        last = rows[-1][-1]


def _left_out(evidence: Evidence) -> str:
    """Condition of a row of `insights` that can be decoded."""
    return f"number NOT IN ({', '.join(map(str, sorted(evidence.unreadable)))})" if evidence.unreadable else "TRUE"


_USABLE: Final = f"coalesce(embedding_model IS ?3 AND ?4 > 0 AND {VECTOR_FITS.format('?4')}, FALSE)"
"""Condition of a row that has a vector which the mirror takes (`insights.load_active`)."""


def _mirror(evidence: Evidence) -> Snapshot:
    assert evidence.mirror is not None, "checks that need a mirror are run only if there is one"  # noqa: S101
    return evidence.mirror


def _embedder(evidence: Evidence) -> tuple[Value, Value]:
    record = evidence.embedder
    return (None, 0) if record is None else (record.name, record.dimension)


# Checks of the tier "tick".

MAX_LOG_BYTES: Final = 64 << 20
"""Bound of the write-ahead log."""


@check("files", "tick", "the store's files are private, and its log is short")
def _modes(evidence: Evidence) -> Steps:
    path = evidence.path
    yield from _owned(path.parent, 0o700)
    log = path.with_name(f"{path.name}-wal")
    others = (f"{path.name}-shm", health.HIGH_WATER_FILE, health.FAULTS_FILE)
    for file in (path, log, *map(path.with_name, others)):
        yield from _owned(file, PRIVATE_FILE)
    if log.exists() and (size := log.stat().st_size) > MAX_LOG_BYTES:
        what = f"the write-ahead log has {size >> 20:,} MiB; {MAX_LOG_BYTES >> 20} are the most"
        yield Problem(what, str(log), "mnemonctl jobs run checkpoint; another program may be reading the store")


PRIVATE_FILE: Final = 0o600


def _owned(path: Path, mode: int) -> Steps:
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    kind = "directory" if stat.S_ISDIR(found.st_mode) else "file"
    if stat.S_ISLNK(found.st_mode):
        yield Problem("a symbolic link is in the place of a file", str(path), "put the file itself there")
        return
    if mode == PRIVATE_FILE and not stat.S_ISREG(found.st_mode):
        yield Problem("something that is no file is in the place of one", str(path), "move it away")
        return
    if found.st_uid != os.geteuid():
        what = f"the {kind} belongs to user {found.st_uid}, not to user {os.geteuid()}"
        yield Problem(what, str(path), f"find out why; then: chown {os.geteuid()} on it")
    if extra := stat.S_IMODE(found.st_mode) & ~mode:
        what = f"others have rights to the {kind}: mode {stat.S_IMODE(found.st_mode):04o}, {extra:04o} too many"
        yield Problem(what, str(path), f"chmod {mode:o} on it")
    if kind == "file" and found.st_nlink > 1:
        what = f"the file has {found.st_nlink} names; through another one it can be changed or read"
        yield Problem(what, str(path), "find the others (find -samefile) and remove them")


@check("mirror_totals", "tick", "what memory keeps count of adds up", "mirror")
def _totals(evidence: Evidence) -> Steps:
    mirror = _mirror(evidence)
    parts, alive = mirror.parts, mirror.alive()
    counted = {
        "live": (mirror.live, int(np.count_nonzero(alive))),
        "embedded": (mirror.embedded, int(np.count_nonzero(mirror.dense.present[: mirror.rows][alive]))),
        "terms": (parts.corpus.total_length, int(mirror.lengths[alive].sum(dtype=np.int64))),
        "vectors": (mirror.rows, len(mirror.dense.matrix)),
        "columns": (mirror.rows, len(mirror.columns.importance)),
    }
    wrong = Tally(f"{name}: {kept:,} kept, {found:,} found" for name, (kept, found) in counted.items() if kept != found)
    yield from wrong.problems("totals of the mirror are wrong", RELOAD)


@check("sole_writer", "tick", "no other program has written", "session")
def _sole_writer(evidence: Evidence) -> Steps:
    if evidence.session is not None and evidence.session.others_wrote:
        what = "another program has written to the database while this daemon had it open; memory may be behind"
        yield Problem(what, str(evidence.path), "end that program, then: mnemonctl daemon restart")


# Checks of the tier "fast".

WANTED: Final[dict[str, int | str | None]] = {"journal_mode": "wal", "synchronous": FULL, "foreign_keys": 1}
"""Pragmas of the connection that writes: an acknowledged memory survives power loss. Those of a shared store are in its
log, so that its file need not be flushed before a checkpoint."""

_ENTRIES = "SELECT type, name, coalesce(sql, '') FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"


@check("schema", "fast", "version, tables and durability are as they should be")
def _schema(evidence: Evidence) -> Steps:
    connection, where = evidence.connection, str(evidence.path)
    try:
        check_sqlite_version()
    except MnemonError as error:
        yield Problem(error.message, where, error.hint or "")
    found = connection.pragma("application_id"), connection.pragma("user_version")
    if found != (APPLICATION_ID, VERSION):
        what = f"application and schema are {found}; this release writes {(APPLICATION_ID, VERSION)}"
        yield Problem(what, where, "export it with the mnemond that wrote it, then import that file")
        return
    odd = set(connection.rows(_ENTRIES)) ^ _expected_entries()
    if odd:
        names = ", ".join(sorted({f"{kind} {name}" for kind, name, _ in odd})[:3])
        yield Problem("tables, indexes or views are not those of this schema version", names, DAMAGED)
    may_be_late = read_cursor(connection) is not None
    for name, wanted in WANTED.items():
        value = wanted if evidence.session is None else evidence.session.pragmas.get(name)
        if value != wanted and not (may_be_late and (name, value) == ("synchronous", NORMAL)):
            what = f"the daemon's connection has {name} {value} instead of {wanted}"
            yield Problem(what, where, "mnemonctl daemon restart; an acknowledged write may be lost in a power cut")


@cache
def _expected_entries() -> frozenset[tuple[str, str, str]]:
    """The schema of a new database, made in memory."""
    connection = Connection(Path(":memory:"))
    try:
        create(connection)
        return frozenset(connection.rows(_ENTRIES))
    finally:
        connection.close()


_LINKS = """
WITH retired AS MATERIALIZED (SELECT number FROM insights WHERE deleted_at IS NOT NULL)
SELECT CASE kind WHEN 0 THEN 'temporal' WHEN 1 THEN 'semantic' WHEN 2 THEN 'causal' ELSE 'entity' END, count(*)
FROM edge_rows AS r
WHERE (kind = 2 OR source < target OR NOT EXISTS
    (SELECT 1 FROM edge_rows AS b WHERE b.source = r.target AND b.target = r.source AND b.kind = r.kind))
  AND source NOT IN retired AND target NOT IN retired
GROUP BY kind
"""
"""Two memories are linked once per type, causally once per direction (`index.edges.Adjacency`)."""


@check("counts", "fast", "memory has as many memories, vectors and links", "mirror")
def _counts(evidence: Evidence) -> Steps:
    mirror = _mirror(evidence)
    row = evidence.connection.row(
        f"SELECT count(*), coalesce(sum({_USABLE.replace('?3', '?1').replace('?4', '?2')}), 0)"  # noqa: S608
        f" FROM insights WHERE deleted_at IS NULL AND {_left_out(evidence)}",
        _embedder(evidence),
    )
    live, embedded = row or (0, 0)
    yield None
    without = "" if not evidence.unreadable else f" OR NOT {_left_out(evidence)}"
    links = dict(evidence.connection.rows(_LINKS.replace("deleted_at IS NOT NULL", f"deleted_at IS NOT NULL{without}")))
    pairs = {"memories": (mirror.live, live), "vectors": (mirror.embedded, embedded)}
    pairs |= {f"{kind} links": (count, links.get(kind, 0)) for kind, count in mirror.edge_counts().items()}
    wrong = Tally(
        f"{name}: {shown:,} in memory, {stored:,} in the database"
        for name, (shown, stored) in pairs.items()
        if shown != stored
    )
    yield from wrong.problems("counts differ between memory and database", RELOAD)


@check("vectors_there", "fast", "a memory has a vector in both or in none", "mirror")
def _vectors_exist(evidence: Evidence) -> Steps:
    mirror, wrong = _mirror(evidence), Tally()
    for rows in pages_of(evidence, f"id, {_USABLE}", "deleted_at IS NULL", _embedder(evidence)):
        for insight_id, stored, _ in rows:
            row = mirror.row_of(insight_id)
            if row is not None and mirror.has_vector(row) != bool(stored):
                wrong.add(f"{insight_id} ({'database' if stored else 'memory'} only)")
        yield None
    yield from wrong.problems("memories have a vector in one place only", RELOAD)


AHEAD_US: Final = 86_400_000_000
"""How far in the future a time may lie: a clock that is wrong by a time zone is no damage."""

_IMPOSSIBLE = """
SELECT id FROM insights
WHERE NOT coalesce(effective_importance BETWEEN 0 AND 1e300 AND importance BETWEEN 1 AND 5, FALSE)
UNION ALL
SELECT 'edge ' || source || ' - ' || target FROM edge_rows WHERE NOT coalesce(weight BETWEEN 0 AND 1, FALSE)
"""


@check("ranges", "fast", "importance and times are possible ones")
def _ranges(evidence: Evidence) -> Steps:
    """Effective importance may exceed 1. Times of creation may lie in the future, as callers give them. SQLite verifies
    no CHECK of a connection that only reads."""
    connection, ahead = evidence.connection, format_us(evidence.now_us + AHEAD_US)
    unusual = Tally(connection.column(_IMPOSSIBLE))
    yield from unusual.problems("memories or edges have an impossible importance or weight", DAMAGED)
    yield None
    early = Tally(connection.column("SELECT id FROM insights WHERE updated_at > ?", (ahead,)))
    clock = "look at the machine's clock; what was stored while it was wrong can be forgotten, or updated"
    yield from early.problems("memories were stored more than a day from now", clock)


@check("log", "fast", "the log has no gap")
def _log(evidence: Evidence) -> Steps:
    row = evidence.connection.row("SELECT count(*), coalesce(min(id), 0), coalesce(max(id), 0) FROM oplog")
    counter = evidence.connection.row("SELECT seq FROM sqlite_sequence WHERE name = 'oplog'")
    count, first, last = row or (0, 0, 0)
    gap = Tally()
    if count and count != last - first + 1:
        gap.add(f"{count:,} lines between {first:,} and {last:,}")
    if count and (counter is None or counter[0] != last):
        gap.add(f"the last line is {last:,}, the counter is {'missing' if counter is None else counter[0]}")
    yield from gap.problems("signs that lines of the log are missing", DAMAGED)


@check("high_water", "fast", "it reaches as far as it ever did")
def _high_water(evidence: Evidence) -> Steps:
    """An open store was compared when it was opened, and goes on writing meanwhile."""
    try:
        noted, known = HighWater(evidence.path).read(), health.read_faults(evidence.path)
    except OSError as error:
        yield Problem(f"what was noted beside the store cannot be read: {error.strerror}", str(evidence.path), DAMAGED)
        return
    found = last_line(evidence.connection)
    if known.behind is not None:
        yield Problem(known.behind, str(evidence.path), ACCEPT)
    elif evidence.session is None and noted is not None and found < noted:
        what = f"the log ends with line {found:,}, and line {noted:,} was acknowledged"
        yield Problem(what, str(evidence.path), ACCEPT)
    if evidence.session is None and known.wrong is not None:
        yield Problem(known.wrong, str(evidence.path), DAMAGED)


@check("vector_shapes", "fast", "vectors are as long as they should be")
def _vector_shapes(evidence: Evidence) -> Steps:
    odd = evidence.connection.column(
        "SELECT id FROM insights WHERE embedding IS NOT NULL"  # noqa: S608 - names only
        f" AND (embedding_model IS NULL OR ({VECTOR_FITS.format('embedding_dim')}) IS NOT TRUE)"
    )
    next_ = "mnemonctl embed --all makes them again"
    yield from Tally(odd).problems("vectors differ in length or model from their rows", next_)


BLOCK: Final = 2_000
"""Rows of vectors processed at once: half a million numbers of the built-in model, below a millisecond."""


@check("unit_vectors", "fast", "vectors in memory have length 1", "mirror")
def _unit_vectors(evidence: Evidence) -> Steps:
    mirror, dense = _mirror(evidence), _mirror(evidence).dense
    if dense.matrix.dtype != np.float32 or not dense.matrix.flags.c_contiguous:
        form = Tally([f"{dense.matrix.dtype}, {dense.matrix.shape}"])
        yield from form.problems("matrix of vectors is not one of float32 rows", RELOAD)
    wrong = Tally()
    for start in range(0, mirror.rows, BLOCK):
        block = dense.matrix[start : start + BLOCK]
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.sqrt(np.einsum("ij,ij->i", block, block))
        off = ~(np.abs(lengths - dense.present[start : start + len(block)]) <= 2 * UNIT_TOLERANCE)
        for row in np.flatnonzero(off).tolist():
            wrong.add(mirror.insight(start + row).id)
        yield None
    yield from wrong.problems("vectors in memory are not of length 1", RELOAD)


@check("mirror_ids", "fast", "memory has every live row and no other", "mirror")
def _ids(evidence: Evidence) -> Steps:
    mirror = _mirror(evidence)
    missing, seen = Tally(), np.zeros(mirror.rows, dtype=np.bool_)
    for rows in pages_of(evidence, "id", "deleted_at IS NULL"):
        for insight_id, _ in rows:
            row = mirror.row_of(insight_id)
            if row is None:
                missing.add(insight_id)
            else:
                seen[row] = True
        yield None
    yield from missing.problems("memories are in the database and not in memory", RELOAD)
    extra = Tally(mirror.insight(row).id for row in np.flatnonzero(mirror.alive() & ~seen).tolist())
    yield from extra.problems("memories are in memory and not in the database", RELOAD)


@check("mirror_passages", "fast", "memory has every exchange of a session that is in recall, and no other", "mirror")
def _passages(evidence: Evidence) -> Steps:
    mirror, connection = _mirror(evidence).parts.passages, evidence.connection
    waiting = set(mirror.waiting)
    rows = connection.rows("SELECT id, rowid FROM passages WHERE gone_op IS NULL")
    stored = {each for each, number in rows if number not in waiting or mirror.row_of(each) is not None}
    yield None
    lacking = [each for each in stored if mirror.row_of(each) is None]
    missing = Tally(each for each in lacking if passages.read(connection, each) is not None)
    yield from missing.problems("passages are in the database and not in memory", RELOAD)
    ids = (mirror.passage(row).id for row in range(mirror.rows))
    extra = Tally({each for each in ids if mirror.row_of(each) is not None} - stored)
    yield from extra.problems("passages are in memory and not in the database", RELOAD)


@check("mirror_importance", "fast", "effective importance is the stored one", "mirror")
def _importances(evidence: Evidence) -> Steps:
    mirror, wrong = _mirror(evidence), Tally()
    for rows in pages_of(evidence, "id, effective_importance", "deleted_at IS NULL"):
        for insight_id, stored, _ in rows:
            row = mirror.row_of(insight_id)
            if row is not None and mirror.insight(row).effective_importance != stored:
                wrong.add(insight_id)
        yield None
    yield from wrong.problems("memories have another effective importance in memory", RELOAD)


SAMPLED: Final = 100
"""The fast tier compares one vector in so many, another one each hour."""

HOUR_US: Final = 3_600_000_000


@check("some_vectors", "fast", "one vector in a hundred is the stored one", "mirror")
def _some_vectors(evidence: Evidence) -> Steps:
    yield from _compare_vectors(evidence, "number % ?5 = ?6", (SAMPLED, evidence.now_us // HOUR_US % SAMPLED))


def _compare_vectors(evidence: Evidence, which: str, values: tuple[Value, ...]) -> Steps:
    mirror, wrong = _mirror(evidence), Tally()
    where = f"deleted_at IS NULL AND {_USABLE} AND {which}"
    for rows in pages_of(evidence, "id, embedding", where, (*_embedder(evidence), *values)):
        for insight_id, blob, _ in rows:
            row = mirror.row_of(insight_id)
            shown = None if row is None else mirror.stored_vector(row)
            if shown is None or shown.tobytes() == blob:
                continue
            scaled = np.frombuffer(blob, "<f4").reshape(-1, shown.shape[-1]).copy()
            normalise(scaled)  # as loading does
            if not np.array_equal(scaled, shown.reshape(-1, shown.shape[-1])):
                wrong.add(insight_id)
        yield None
    yield from wrong.problems("vectors in memory are not the stored ones", RELOAD)


# Checks of the tier "full".

_DEAD = """
SELECT r.source || ' - ' || r.target FROM edge_rows AS r
  LEFT JOIN insights AS s ON s.number = r.source LEFT JOIN insights AS t ON t.number = r.target
WHERE s.deleted_at IS NOT NULL OR t.deleted_at IS NOT NULL OR r.source = r.target
"""
_ALONE = """
SELECT r.source || ' - ' || r.target FROM edge_rows AS r
WHERE r.kind <> 2 AND NOT EXISTS
  (SELECT 1 FROM edge_rows AS b WHERE b.source = r.target AND b.target = r.source AND b.kind = r.kind)
"""


@check("link_ends", "full", "links have two live ends, and lead back where they should")
def _ends(evidence: Evidence) -> Steps:
    dead = Tally(f"rows {row}" for row in evidence.connection.column(_DEAD))
    yield from dead.problems("edges end at memories that left recall, or where they begin", DAMAGED)
    yield None
    alone = Tally(f"rows {row}" for row in evidence.connection.column(_ALONE))
    yield from alone.problems("edges lead one way only, and should lead both ways", DAMAGED)


_SUCCESSORS = "SELECT id, superseded_by FROM insights WHERE superseded_by IS NOT NULL"
_LOST = """
SELECT i.id, 'superseded_by' FROM insights AS i LEFT JOIN insights AS o ON o.id = i.superseded_by
WHERE i.superseded_by IS NOT NULL AND o.id IS NULL
UNION ALL
SELECT i.id, 'paired_with' FROM insights AS i LEFT JOIN insights AS o ON o.id = i.paired_with
WHERE i.paired_with IS NOT NULL AND o.id IS NULL
"""


@check("references", "full", "whatever refers to a row finds it")
def _references(evidence: Evidence) -> Steps:
    lost = Tally(f"{table} row {row}" for table, row, *_ in evidence.connection.rows("PRAGMA foreign_key_check"))
    yield None
    for insight_id, column in evidence.connection.rows(_LOST):
        lost.add(f"{insight_id} ({column})")
    yield from lost.problems("rows refer to rows that do not exist", DAMAGED)
    yield None
    cycles = Tally(superseded_in_circles(evidence.connection))
    yield from cycles.problems("memories were superseded in a circle", DAMAGED)


def superseded_in_circles(connection: Connection) -> list[str]:
    """Return one member of each circle of successors, the smallest. Raises SqliteError."""
    successor: dict[str, str] = dict(connection.rows(_SUCCESSORS))
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


ROWS = 25
"""Memories whose words are counted between two pauses: about two milliseconds."""

POSTINGS = 1_000
"""Entries of lists that are read between two pauses."""


@check("words", "full", "memories are found by their words", "mirror")
def _postings(evidence: Evidence) -> Steps:
    """There is no full-text table (docs/decisions/0003): the postings in memory are verified instead."""
    mirror = _mirror(evidence)
    # Arrays: millions of objects would hold up all threads for a tenth of a second of garbage collection.
    rows_of: defaultdict[str, array[int]] = defaultdict(lambda: array("q"))
    counts_of: defaultdict[str, array[float]] = defaultdict(lambda: array("f"))
    wrong, lengths = Tally(), mirror.lengths
    live = np.flatnonzero(mirror.alive()).tolist()
    for start in range(0, len(live), ROWS):
        for row in live[start : start + ROWS]:
            insight = mirror.insight(row)
            document = document_of(insight)
            if int(lengths[row]) != document.length:
                wrong.add(f"{insight.id} (length)")
            for term, count in document.counts.items():
                rows_of[term].append(row)
                counts_of[term].append(count)
        yield None
    alive, read = mirror.alive(), 0
    for term, wanted in rows_of.items():
        rows, times = mirror.postings(term)
        kept = alive[rows]
        if not (np.array_equal(rows[kept], wanted) and np.array_equal(times[kept], counts_of[term])):
            wrong.add(f"a term of {len(wanted):,} memories")
        read += 1 + len(rows)
        if read >= POSTINGS:
            read = 0
            yield None
    yield from wrong.problems("memories or terms are indexed by other words than they have", RELOAD)


@check("content_hash", "full", "texts are the ones that were stored", grave=True)
def _hashes(evidence: Evidence) -> Steps:
    changed = Tally()
    for rows in pages_of(evidence, "id, content, content_hash", "content_hash IS NOT NULL"):
        for insight_id, content, stored, _ in rows:
            if content_hash(content) != stored:
                changed.add(insight_id)
        yield None
    yield from changed.problems("texts are not the ones that were stored", DAMAGED)


@check("rows", "full", "every row can be read as it is when it is used")
def _rows(evidence: Evidence) -> Steps:
    wrong = Tally()
    for found in stored_rows.bad_rows(evidence.connection):
        if found is None:
            yield None
        else:
            wrong.add(found)
    yield from wrong.problems("rows cannot be read; memories among them are kept out of recall", UNREADABLE)


_EDGES = """
SELECT r.source, r.target, r.kind, r.weight FROM edge_rows AS r
WHERE (r.source, r.target, r.kind) > (?, ?, ?) ORDER BY r.source, r.target, r.kind LIMIT ?
"""

NO_ROW = -1
"""Row of a memory that the mirror does not have."""

Keys = npt.NDArray[np.float64]
"""Edges, shape (edges, 4): source row, target row, type, weight; sorted."""


@check("mirror_links", "full", "links in memory are the stored ones", "mirror")
def _links(evidence: Evidence) -> Steps:
    mirror = _mirror(evidence)
    largest = evidence.connection.count("SELECT max(number) FROM insights")
    rows = np.full(largest + 1, NO_ROW, dtype=np.int64)
    for page in pages_of(evidence, "id", "deleted_at IS NULL"):
        for insight_id, number in page:
            if (row := mirror.row_of(insight_id)) is not None:
                rows[number] = row
        yield None
    parts: list[Keys] = [np.zeros((0, 4))]
    last: tuple[int, int, int] = (-1 << 62, 0, 0)
    while page := evidence.connection.rows(_EDGES, (*last, PAGE)):
        part = np.array(page, dtype=np.float64)
        part[:, :2] = rows[part[:, :2].astype(np.int64)]
        parts.append(part[(part[:, :2] != NO_ROW).all(axis=1)])
        last = page[-1][:3]
        yield None
    yield from _compare_links(mirror, _sorted(np.concatenate(parts)))


def _compare_links(mirror: Snapshot, stored: Keys) -> Steps:
    stored[:, 3] = stored[:, 3].astype(np.float32)
    shown: dict[int, list[Keys]] = {OUTWARDS: [np.zeros((0, 4))], INWARDS: [np.zeros((0, 4))]}
    live = np.flatnonzero(mirror.alive())
    for start in range(0, len(live), PAGE):
        some = live[start : start + PAGE]
        owners, fan = mirror.fan(some.tolist())
        ends = some[owners], fan["row"].astype(np.int64)
        for way, (source, target) in ((OUTWARDS, ends), (INWARDS, ends[::-1])):
            led = (fan["ways"] & way) != 0
            parts = (source[led], target[led], fan["type"][led], fan["weight"][led])
            shown[way].append(np.stack(parts, axis=1, dtype=np.float64))
        yield None
    wrong = Tally()
    for way, word in ((OUTWARDS, "where they begin"), (INWARDS, "where they end")):
        seen = _sorted(np.concatenate(shown[way]))
        if not np.array_equal(seen, stored):
            wrong.add(f"seen from {word}: {len(seen):,} in memory, {len(stored):,} in the database")
        yield None
    degrees = np.zeros(mirror.rows, dtype=np.int32)
    if len(stored):
        source, target, kind = stored[:, :3].astype(np.int64).T
        edges = EdgeArrays(source, target, kind.astype(np.uint8), stored[:, 3].astype(np.float32))
        degrees = degrees_of(edges, mirror.rows)
    if (off := np.count_nonzero(degrees[live] != mirror.columns.degree[live])) > 0:
        wrong.add(f"degree of {off:,} memories")
    yield from wrong.problems("views of the links differ between memory and database", RELOAD)


def _sorted(edges: Keys) -> Keys:
    return edges[np.lexsort((edges[:, 2], edges[:, 1], edges[:, 0]))]


@check("mirror_vectors", "full", "vectors in memory are the stored ones", "mirror")
def _vectors(evidence: Evidence) -> Steps:
    yield from _compare_vectors(evidence, "TRUE", ())


@check("checksums", "full", "every page is as it was written", grave=True)
def _checksums(evidence: Evidence) -> Steps:
    wrong = Tally()
    for number in faulty_pages(evidence.path):
        if number is None:
            yield None
        else:
            wrong.add(f"page {number:,}")
    yield from wrong.problems("pages of the file are not as they were written", DAMAGED)


MAX_FAULTS: Final = 10
"""Lines of SQLite's `integrity_check`."""


@check("pages", "full", "SQLite finds every page sound", grave=True)
def _pages(evidence: Evidence) -> Steps:
    found = evidence.connection.rows(f"PRAGMA integrity_check({MAX_FAULTS})")
    if found != [("ok",)]:
        yield Problem(f"SQLite finds {len(found):,} faults", "; ".join(str(row[0]) for row in found)[:400], DAMAGED)
