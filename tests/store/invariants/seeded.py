"""A sound store with one thing broken: rows before the mirror is made of them, rows after it, or the mirror itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw

from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import AddEdge, AddInsight, Change, ChangeSet
from mnemond.model.memory import Edge, Insight, format_us
from mnemond.store import health
from mnemond.store.connection import Connection
from mnemond.store.health import KnownFaults
from mnemond.store.verify_checks import WANTED, Evidence, Session
from tests.store.factories import EMBEDDER, START_US, engine_at, insight_id, open_at, remember, vector_of

MEMORIES = 6
SOUND = Session(dict(WANTED), others_wrote=False)
Bend = Callable[[Snapshot], Snapshot]


def make(path: Path) -> None:
    """Memories 1 … 6; 1 and 2 are linked, and 1 causes 2; 6 has no vector."""
    engine = engine_at(path)
    now = format_us(START_US + 50)
    one, two = insight_id(1), insight_id(2)
    bare = Insight(id=insight_id(6), content="nobody embeds memory 6", created_at=now, updated_at=now)
    edges = [(one, two, "semantic", 0.7), (two, one, "semantic", 0.7), (one, two, "causal", 0.9)]
    batch = [
        *(remember(number) for number in range(1, MEMORIES)),
        _changes("bare", [AddInsight(bare, None)], now),
        _changes("links", [AddEdge(Edge(s, t, kind, weight)) for s, t, kind, weight in edges], now),  # type: ignore[arg-type]
    ]
    engine.commit(batch)
    engine.close()


def _changes(op_id: str, changes: Sequence[Change], now: str) -> ChangeSet:
    like = remember(1)
    return ChangeSet(
        op_id=op_id, client_op_id=False, method="remember", now=now, changes=tuple(changes), outcome=like.outcome,
        request_digest="d",
    )  # fmt: skip


def change(path: Path, *statements: str) -> None:
    """Run SQL behind everybody's back, with no constraint minded."""
    db = apsw.Connection(str(path))
    db.pragma("foreign_keys", False)
    db.pragma("ignore_check_constraints", True)
    for statement in statements:
        db.execute(statement, {"vector": vector_of(6).tobytes(), "twice": (2 * vector_of(3)).tobytes()})
    db.close()


def _miscount(path: Path, table: str) -> None:
    """Let a page say that more bytes of it are lost in small gaps than there are; nothing is read otherwise."""
    db = apsw.Connection(str(path))
    db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    size = db.pragma("page_size")
    root = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).get
    db.close()
    file = apsw.VFSFile("", str(path), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE, 0])
    file.xRead(100, 0)
    page = bytearray(file.xRead(size, (root - 1) * size))
    page[7] = 5
    file.xWrite(bytes(page), (root - 1) * size)  # with the checksum of what it says now
    file.xClose()


def flip_free_page(path: Path) -> int:
    """Flip a bit of a page that nothing is stored in and that nobody reads; its number."""
    change(path, "CREATE TABLE gone(x)", "INSERT INTO gone VALUES(zeroblob(40000))", "DROP TABLE gone")
    whole = bytearray(path.read_bytes())
    size, trunk = int.from_bytes(whole[16:18], "big"), int.from_bytes(whole[32:36], "big")
    at = (trunk - 1) * size + 8  # after the next trunk and the number of leaves: the first leaf (fileformat2, 1.5)
    leaf = int.from_bytes(whole[at : at + 4], "big")
    whole[(leaf - 1) * size + 1_000] ^= 4
    path.write_bytes(whole)
    return leaf


@contextmanager
def evidence(
    path: Path,
    *,
    before: Sequence[str] = (),
    after: Sequence[str] = (),
    bend: Bend = lambda snapshot: snapshot,
    session: Session = SOUND,
    flawed: str | None = None,
    flipped: bool = False,
    behind: str | None = None,
    now_us: int = START_US + 1_000,
) -> Iterator[Evidence]:
    """The store of `make`, broken so. `flawed`: a table on whose first page a byte is wrong; `flipped`: a bit of an
    unused page; `behind`: what is known to be missing."""
    make(path)
    health.write_faults(path, KnownFaults(behind=behind))
    change(path, *before)
    if flawed is not None:
        _miscount(path, flawed)
    if flipped:
        flip_free_page(path)
    opened = open_at(path)
    change(path, *after)
    for file in path.parent.iterdir():
        file.chmod(0o600)
    connection = Connection(path, read_only=True)
    try:
        connection.run("BEGIN")
        unreadable = frozenset(each.number for each in opened.unreadable)
        yield Evidence(path, connection, now_us, EMBEDDER, bend(opened.index.snapshot), session, unreadable)
    finally:
        connection.close()
        opened.connection.close()
