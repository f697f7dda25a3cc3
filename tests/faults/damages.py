"""A store with a row of every kind; ways to damage it, each by a seed; and a reader that uses everything in it."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import apsw
import msgspec

from mnemond.model.answers import InsightDetail, insight_detail
from mnemond.model.changes import AddEdge, AddInsight, ChangeSet
from mnemond.model.memory import Edge, Insight, format_us
from mnemond.model.query import Filter
from mnemond.store import exchanges, history, insights, meta, operations, verified_copy
from mnemond.store.connection import Connection
from mnemond.store.embedder_switch import read_switch
from mnemond.store.stored_rows import bad_rows
from tests.faults.every_change import all_batches
from tests.store.factories import START_US, engine_at, forget, insight_id, remember, vector_of

PAGE: Final = 4096
MANY: Final = 60
NOW_US: Final = START_US + 100 * 86_400_000_000
"""After everything that was written."""


def build(path: Path) -> dict[str, str]:
    """Make the store; return the texts of its active memories by id."""
    engine = engine_at(path)
    for batch in all_batches():
        engine.commit(batch)
    engine.commit([_rich(number) for number in range(100, 100 + MANY)])
    engine.commit([_linking(number) for number in range(101, 100 + MANY, 3)])
    engine.commit([forget(number) for number in range(100, 110)])
    engine.close()
    path.chmod(0o600)
    db = apsw.Connection(str(path))
    rows = db.execute("SELECT id, content FROM insights WHERE status = 'active'").fetchall()
    texts = {str(row[0]): str(row[1]) for row in rows}
    db.close()
    return texts


def _rich(number: int) -> ChangeSet:
    now = format_us(START_US + number)
    insight = Insight(
        id=insight_id(number), content=f"memory number {number}: the release of München and 北京 is on day {number}",
        created_at=now, updated_at=now, tags=("ops", f"tag {number}"), entities=("Qdrant", f"Entity {number}"),
        keywords="release day", metadata=f'{{"place":"{number}"}}', expires_at="2099-01-01T00:00:00.000000Z",
        event_start=now, event_end=now, conversation_id=f"conversation {number % 7}",
    )  # fmt: skip
    return msgspec.structs.replace(
        remember(number, op_id=f"mine-{number}"),
        changes=(AddInsight(insight, vector_of(number), queries=("who?", "when?")),),
    )


def _linking(number: int) -> ChangeSet:
    one, two = insight_id(number), insight_id(100 + (number - 99) % MANY)
    edges = [
        Edge(one, two, "semantic", 0.5, '{"why":"both"}'),
        Edge(two, one, "semantic", 0.5),
        Edge(one, two, "causal", 0.9),
    ]
    return msgspec.structs.replace(
        remember(number, op_id=f"link-{number}"), op_id=f"link-{number}", changes=tuple(map(AddEdge, edges))
    )


# Damage.


class Damage(NamedTuple):
    """What was done, and the file it left."""

    what: str
    content: bytes


Strike = Callable[[random.Random, bytearray], None]


def _one_bit(chance: random.Random, whole: bytearray) -> None:
    whole[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)


def _some_bits(chance: random.Random, whole: bytearray) -> None:
    for _ in range(chance.randrange(2, 30)):
        _one_bit(chance, whole)


_JSON: Final = re.compile(rb'\["[^\]]{1,40}"\]|\{"[a-z_]{2,20}":"[^}]{1,40}"\}|20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z')


def _both_copies_of_a_field(chance: random.Random, whole: bytearray) -> None:
    """The row and its history, as a fault of memory leaves it that was written twice; once it made stores that nothing
    could open."""
    for _ in range(chance.randrange(1, 5)):
        text = chance.choice(_JSON.findall(bytes(whole)))
        at, bit = chance.choice([0, chance.randrange(len(text))]), 1 << chance.randrange(8)
        for found in re.finditer(re.escape(text), bytes(whole)):
            whole[found.start() + at] ^= bit


def _header(chance: random.Random, whole: bytearray) -> None:
    for _ in range(chance.randrange(1, 4)):
        whole[chance.randrange(100)] ^= 1 << chance.randrange(8)


def _first_page(chance: random.Random, whole: bytearray) -> None:
    """Where the tables are named: a wrong byte of its own header, or nothing left of it."""
    at = chance.choice([100, 103, 108, 110, None])
    if at is None:
        whole[:PAGE] = bytes(PAGE)
    else:
        whole[at] ^= chance.randrange(1, 256)


def _schema_page(chance: random.Random, whole: bytearray) -> None:
    """One of the pages with the definitions of tables; sometimes the first one as well."""
    pages = range(1, len(whole) // PAGE)
    page = chance.choice([each for each in pages if b"CREATE TABLE" in whole[each * PAGE : (each + 1) * PAGE]])
    whole[page * PAGE : (page + 1) * PAGE] = bytes(PAGE)
    if chance.randrange(2):
        whole[:PAGE] = bytes(PAGE)


def _empty_pages(chance: random.Random, whole: bytearray) -> None:
    for _ in range(chance.randrange(1, 4)):
        page = chance.randrange(1, len(whole) // PAGE)
        whole[page * PAGE : (page + 1) * PAGE] = bytes(PAGE)


def _noise(chance: random.Random, whole: bytearray) -> None:
    start = chance.randrange(len(whole) - 2 * PAGE)
    size = chance.randrange(16, 2 * PAGE)
    whole[start : start + size] = chance.randbytes(size)


def _cut_short(chance: random.Random, whole: bytearray) -> None:
    del whole[chance.randrange(len(whole) // 4, len(whole)) :]


def _swapped_pages(chance: random.Random, whole: bytearray) -> None:
    one, two = (page * PAGE for page in chance.sample(range(1, len(whole) // PAGE), 2))
    whole[one : one + PAGE], whole[two : two + PAGE] = whole[two : two + PAGE], whole[one : one + PAGE]


def _high_bits(chance: random.Random, whole: bytearray) -> None:
    """Texts that are no UTF-8 any more."""
    for _ in range(chance.randrange(1, 40)):
        whole[chance.randrange(PAGE, len(whole))] |= 0x80


def _no_store(chance: random.Random, whole: bytearray) -> None:
    whole[:] = chance.choice([b"", b"no database", bytes(PAGE), chance.randbytes(3 * PAGE), bytes(whole[:50])])


STRIKES: Final[tuple[Strike, ...]] = (
    _one_bit, _both_copies_of_a_field, _some_bits, _header, _empty_pages, _both_copies_of_a_field, _noise, _cut_short,
    _swapped_pages, _high_bits, _both_copies_of_a_field, _no_store, _first_page, _schema_page,
)  # fmt: skip


def damaged(whole: bytes, seed: int) -> Damage:
    """The same for the same seed."""
    strike, content = STRIKES[seed % len(STRIKES)], bytearray(whole)
    strike(random.Random(seed), content)
    return Damage(f"seed {seed}: {strike.__name__}", bytes(content))


BAD_VALUES: Final = (
    "'K'",
    "''",
    "CAST(x'ff' AS TEXT)",
    "'[1]'",
    "'2026-02-31T00:00:00.000000Z'",
    "'[\"a\"'",
    "'\\ud800'",
)
"""SQL of what a column of text may hold with a correct checksum."""


def rewrite(path: Path, seed: int) -> str:
    """Put bad values into rows of the store at `path`, with correct checksums; say what was done."""
    chance, db = random.Random(seed), apsw.Connection(str(path))
    db.pragma("foreign_keys", False)
    db.pragma("ignore_check_constraints", True)
    done = []
    tables = [
        name
        for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
    ]
    for _ in range(chance.randrange(1, 4)):
        table = chance.choice([*tables, "insights", "insights", "memory_operations"])
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})") if row[2] == "TEXT" and not row[5]]
        if not columns:
            continue
        sql = f"UPDATE {table} SET {chance.choice(columns)} = {chance.choice(BAD_VALUES)}"
        where = (
            f" WHERE rowid % {chance.randrange(2, 9)} = 1"
            if table in {"insights", "memory_operations", "oplog"}
            else ""
        )
        try:
            db.execute(sql + where)
        except apsw.Error:
            continue
        done.append(sql + where)
    db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    db.close()
    return f"seed {seed}: {'; '.join(done) or 'nothing'}"


# Use.


def use(path: Path) -> list[str]:
    """Read everything of a store as its readers do, then write, forget, purge and copy; return the active texts.

    Whatever it raises means that the store cannot be used.
    """
    engine = engine_at(path)
    try:
        found = [engine.index.snapshot.insight(row) for row in range(engine.index.snapshot.rows)]
        for insight in found:
            insight_detail(insight, InsightDetail)
        engine.read(_read_all)
        for write in (remember(9_001), forget(9_001), remember(9_002)):
            (result,) = engine.commit([write])
            if isinstance(result, Exception):
                raise result
        assert engine.health.degraded_reason is None, engine.health.degraded_reason
    finally:
        engine.close()
    verified_copy.make(path, path.with_name("copy-of-it.db"))
    path.with_name("copy-of-it.db").unlink()
    return [insight.content for insight in found]


def _read_all(connection: Connection) -> None:
    insights.retired(connection, Filter(all_sessions=True), 1_000, None)
    for memory_id in connection.column("SELECT DISTINCT memory_id FROM memory_operations"):
        history.of_memory(connection, memory_id, 1_000)
        history.contents_of(connection, memory_id)
        list(history.holders(connection, memory_id))
    for insight_id_ in connection.column("SELECT id FROM insights"):
        insights.read(connection, insight_id_)
        insights.chain(connection, insight_id_, 100)
    for outcome in connection.column("SELECT outcome FROM operations"):
        operations.decode_outcome(outcome)
    operations.newest_lines(connection, 5_000)
    exchanges.oldest(connection, 1_000)
    meta.read_jobs(connection)
    meta.read_embedder(connection)
    read_switch(connection)
    assert list(_found(connection)) == []


def _found(connection: Connection) -> Iterator[object]:
    return (each for each in bad_rows(connection) if each is not None)
