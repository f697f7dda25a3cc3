"""I5, I7, I8, I9: what the rows of a store say, each by itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from mnemond.model.timestamp import format_us
from mnemond.store.insertion import Value
from mnemond.store.insights import content_hash
from mnemond.store.invariants.check import DAMAGED, PAGE, Evidence, Steps, Tally

AHEAD_US: Final = 86_400_000_000
"""How far in the future a time may lie: a clock that is wrong by a time zone is no damage."""


def pages_of(evidence: Evidence, columns: str, where: str, values: tuple[Value, ...] = ()) -> Iterator[list[Any]]:
    """Rows of `insights` by their numbers, a page at a time, the number last. `where` may use ?3 and up."""
    sql = f"SELECT {columns}, number FROM insights WHERE number > ?1 AND ({where}) ORDER BY number LIMIT ?2"  # noqa: S608
    last = -1 << 62
    while rows := evidence.connection.rows(sql, (last, PAGE, *values)):
        yield rows
        last = rows[-1][-1]


_IMPOSSIBLE = """
SELECT id FROM insights
WHERE NOT coalesce(effective_importance BETWEEN 0 AND 1e300 AND importance BETWEEN 1 AND 5, FALSE)
UNION ALL
SELECT 'edge ' || source || ' - ' || target FROM edge_rows WHERE NOT coalesce(weight BETWEEN 0 AND 1, FALSE)
"""


def ranges(evidence: Evidence) -> Steps:
    """Effective importance is a number of at least 0 (it may exceed 1, 7.14), importance and weights are within their
    bounds, and nothing was stored in the future. What is noted of a day to come may say so: whoever remembers it gives
    that time. A connection that only reads has SQLite check no CHECK."""
    connection, ahead = evidence.connection, format_us(evidence.now_us + AHEAD_US)
    unusual, early = Tally(), Tally()
    for row in connection.rows(_IMPOSSIBLE):
        unusual.add(row[0])
    yield from unusual.problems("memories or edges have an importance or a weight that cannot be", DAMAGED)
    yield None
    for row in connection.rows("SELECT id FROM insights WHERE updated_at > ?", (ahead,)):
        early.add(row[0])
    clock = "look at the machine's clock; what was stored while it was wrong can be forgotten, or updated"
    yield from early.problems("memories were stored more than a day from now", clock)


def hashes(evidence: Evidence) -> Steps:
    """Every text is the one that was stored."""
    changed = Tally()
    for rows in pages_of(evidence, "id, content, content_hash", "content_hash IS NOT NULL"):
        for insight_id, content, stored, _ in rows:
            if content_hash(content) != stored:
                changed.add(insight_id)
        yield None
    yield from changed.problems("texts are not the ones that were stored", DAMAGED)


def log(evidence: Evidence) -> Steps:
    """The log has no gap, and ends where its counter stands: a store that went backwards has neither."""
    row = evidence.connection.row("SELECT count(*), coalesce(min(id), 0), coalesce(max(id), 0) FROM oplog")
    counter = evidence.connection.row("SELECT seq FROM sqlite_sequence WHERE name = 'oplog'")
    count, first, last = row or (0, 0, 0)
    gap = Tally()
    if count and count != last - first + 1:
        gap.add(f"{count:,} lines between {first:,} and {last:,}")
    if count and (counter is None or counter[0] != last):
        gap.add(f"the last line is {last:,}, the counter stands at {'nothing' if counter is None else counter[0]}")
    yield from gap.problems("signs that lines of the log are missing", DAMAGED)


def vector_shapes(evidence: Evidence) -> Steps:
    """A vector is as long as its row says, and the row names the model that made it."""
    odd = Tally()
    for row in evidence.connection.rows(
        "SELECT id FROM insights WHERE embedding IS NOT NULL"
        " AND (embedding_model IS NULL OR length(embedding) IS NOT 4 * embedding_dim)"
    ):
        odd.add(row[0])
    yield from odd.problems("vectors are not what their rows say", "mnemonctl embed --all makes them anew")
