"""The `memory_operations` table: what every operation did to every memory, before and after, never trimmed; and which
operations changed other rows that undo brings back, of which each names what made it and what ended it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from mnemond.errors import MnemonError
from mnemond.model.changes import HistoryEntry
from mnemond.model.memory import Edge, Insight
from mnemond.store.connection import Connection, Insertion
from mnemond.store.files import damaged
from mnemond.store.rows import Mapper


class State(msgspec.Struct, frozen=True, omit_defaults=True):
    """A memory at one moment, with the edges that the operation changed."""

    insight: Insight
    edges: list[Edge] = []


class Entry(NamedTuple):
    """What one operation did to one memory; without one, that the method `operation_type` changed other rows."""

    operation_type: str
    memory_id: str = ""
    before: State | None = None
    after: State | None = None


class Record(HistoryEntry, frozen=True, kw_only=True):
    """One row of the history; `memory_id` "" for changes of other rows by the method `operation_type`."""

    memory_id: str
    before: State | None
    after: State | None


class OperationHeader(NamedTuple):
    """One operation, without its changes."""

    op_id: str
    triggered_by: str
    undoes: str | None


_STATES: Final = {"before": "before_state", "after": "after_state"}
_ROWS = Mapper(Record, names=_STATES)
_ENTRY = Mapper(Entry, names=_STATES)
_FIELDS = _ROWS.select
_MEMORY = _ROWS.columns.index("memory_id")
_ADDED = Insertion(5, "memory_operations", (*_ENTRY.columns, "triggered_by", "op_id", "created_at", "undoes"))
_MAX_ID = 1 << 62
_BATCH = 64
_json = msgspec.json.Encoder()
decode_state = msgspec.json.Decoder(State).decode


def _encoded(state: State | None) -> str | None:
    return None if state is None else _json.encode(state).decode()


def append(
    connection: Connection, entries: Sequence[Entry], op_id: str, by: str, now: str, undoes: str | None = None
) -> None:
    """Write rows of one operation, in the transaction of the changes they describe."""
    if entries:
        connection.add(_ADDED, [(*_ENTRY.values(each), by, op_id, now, undoes) for each in entries])


IMPORTED: Final = "IMPORT"
"""`operation_type` of the row that an import of an export adds to the history that it restores."""


# Reading. Functions that return records raise MnemonError(STORAGE) for a damaged row.


def of_operation(connection: Connection, op_id: str) -> list[Record]:
    rows = connection.rows(f"SELECT {_FIELDS} FROM memory_operations WHERE op_id = ? ORDER BY id", (op_id,))  # noqa: S608
    return [_record(row) for row in rows]


def of_memory(connection: Connection, insight_id: str, limit: int) -> list[Record]:
    """Return the rows of one memory, in order, at most the newest `limit`."""
    rows = connection.rows(
        f"SELECT {_FIELDS} FROM memory_operations WHERE memory_id = ? ORDER BY id DESC LIMIT ?",  # noqa: S608 - names
        (insight_id, limit),
    )
    return [_record(row) for row in reversed(rows)]


def _record(row: tuple[Any, ...]) -> Record:
    try:
        return _ROWS.read(row)
    except (msgspec.MsgspecError, TypeError) as error:
        raise damaged(f"the history of memory {row[_MEMORY]!a}", error) from error


def count_of(connection: Connection, insight_id: str) -> int:
    return connection.count("SELECT count(*) FROM memory_operations WHERE memory_id = ?", (insight_id,))


def is_purged(connection: Connection, insight_id: str) -> bool:
    """Return True for a memory of which only the fact that it was there is kept."""
    found = "SELECT 1 FROM memory_operations WHERE memory_id = ? AND after_state IS NULL LIMIT 1"
    return connection.row(found, (insight_id,)) is not None


def newest_first(connection: Connection) -> Iterator[OperationHeader]:
    """Yield every operation that changed a memory, each once, by its last row."""
    seen: set[str] = set()
    before = _MAX_ID
    while True:
        rows = connection.rows(
            "SELECT id, op_id, triggered_by, undoes FROM memory_operations WHERE id < ? ORDER BY id DESC LIMIT ?",
            (before, _BATCH),
        )
        if not rows:
            return
        for _, op_id, triggered_by, undoes in rows:
            if op_id not in seen:
                seen.add(op_id)
                yield OperationHeader(op_id, triggered_by, undoes)
        before = rows[-1][0]


def newest_of(connection: Connection, insight_id: str) -> str | None:
    """Return the op_id of the newest row of a memory, None if it has none."""
    sql = "SELECT op_id FROM memory_operations WHERE memory_id = ? ORDER BY id DESC LIMIT 1"
    newest: str | None = connection.value(sql, (insight_id,))
    return newest


_RETIRED_FOR = """
    SELECT memory_id, op_id FROM memory_operations
     WHERE id > ?2 AND operation_type IN ('SUPERSEDE', 'MERGE') AND memory_id IN (
       SELECT id FROM insights WHERE superseded_by = ?1 AND superseded_by IS NOT NULL AND status <> 'active')
     ORDER BY id DESC
"""


def retired_for(connection: Connection, insight_id: str, after: int) -> list[tuple[str, str]]:
    """Return the memories that one replaced in a row later than `after`, with the operation, newest first."""
    return [(row[0], row[1]) for row in connection.rows(_RETIRED_FOR, (insight_id, after))]


_TAKEN_BACK = """
    SELECT DISTINCT done.memory_id FROM memory_operations AS back
      JOIN memory_operations AS done ON done.op_id = back.undoes
     WHERE back.undoes IS NOT NULL AND substr(done.triggered_by, 1, length(?1)) = ?1
"""


def taken_back(connection: Connection, by: str) -> list[str]:
    """Return the memories with an undone operation whose trigger begins with `by`."""
    return [row[0] for row in connection.rows(_TAKEN_BACK, (by,))]


_UNDONE_BY = "SELECT DISTINCT op_id FROM memory_operations WHERE undoes = ? AND undoes IS NOT NULL"


def undone_by(connection: Connection, op_id: str) -> str | None:
    """Return the operation that undid this one and was not undone itself; None while it is in effect."""
    by: dict[str, list[str]] = {}
    waiting = [op_id]
    while waiting:  # not by recursion: an operation may be undone and redone a thousand times
        here = waiting.pop()
        by[here] = connection.column(_UNDONE_BY, (here,))
        waiting += by[here]
    undone: dict[str, str | None] = {}
    for here in reversed(by):  # each after those that undid it
        undone[here] = next((each for each in by[here] if undone[each] is None), None)
    return undone[op_id]


def operations_beginning(connection: Connection, prefix: str, limit: int) -> list[str]:
    """Return the op_id that is `prefix`, if there is one; else those that begin with it, sorted, at most `limit`."""
    if connection.row("SELECT 1 FROM memory_operations WHERE op_id = ?", (prefix,)) is not None:
        return [prefix]
    sql = "SELECT DISTINCT op_id FROM memory_operations WHERE op_id >= ? AND op_id < ? ORDER BY op_id LIMIT ?"
    return connection.column(sql, (prefix, prefix + "\U0010ffff", limit))


def memories_beginning(connection: Connection, prefix: str, limit: int) -> list[str]:
    """Return the ids of memories in any state, also purged ones, that begin with `prefix`, sorted, at most `limit`."""
    sql = (
        "SELECT DISTINCT memory_id FROM memory_operations WHERE memory_id >= ? AND memory_id < ?"
        " ORDER BY memory_id LIMIT ?"
    )
    return connection.column(sql, (prefix, prefix + "\U0010ffff", limit))


_FORMER_CONTENTS = """
    SELECT json_extract(after_state, '$.insight.content'), json_extract(before_state, '$.insight.content')
      FROM memory_operations WHERE memory_id = ? ORDER BY id DESC
"""


def contents_of(connection: Connection, insight_id: str) -> list[str]:
    """Return every known text that a memory has or had, each once, the newest first."""
    now = connection.rows("SELECT content FROM insights WHERE id = ?", (insight_id,))
    before = connection.rows(_FORMER_CONTENTS, (insight_id,))
    return list(dict.fromkeys(str(text) for row in (*now, *before) for text in row if text))


# Merges: which memories took over the text of another, by a merge with it or with one that had.


class Holder(NamedTuple):
    """A memory that had the text of another one from the row `first` on, until `last`; None: perhaps still."""

    id: str
    first: int
    last: int | None


_MERGES = """
    SELECT kept.id, kept.op_id, kept.memory_id FROM memory_operations AS gone
      JOIN memory_operations AS kept ON kept.op_id = gone.op_id AND kept.id < gone.id
     WHERE gone.memory_id = ?1 AND gone.operation_type = 'MERGE' AND kept.operation_type = 'MERGE'
       AND gone.id >= ?2 AND (?3 IS NULL OR gone.id <= ?3)
     ORDER BY kept.id
"""
"""A merge writes the row of the memory that stays, then that of the one that leaves; a purge keeps both rows."""

_LAST = """
    WITH RECURSIVE chain(op) AS (
      VALUES(?1) UNION
      SELECT op_id FROM memory_operations JOIN chain ON undoes = op WHERE undoes IS NOT NULL
    )
    SELECT max(id) FROM chain CROSS JOIN memory_operations ON op_id = op WHERE +memory_id = ?2
"""
"""Found by operation (`+` keeps the index of memory_id out): a memory that was merged often has many rows."""


def holders(connection: Connection, insight_id: str) -> Iterator[Holder]:
    """Yield each memory that took over the text of one, whatever happened to either since."""
    waiting, seen = [Holder(insight_id, 0, None)], set[str]()
    while waiting:
        here = waiting.pop(0)
        for first, op_id, kept in connection.rows(_MERGES, here):
            if op_id in seen:
                continue
            seen.add(op_id)
            undone = undone_by(connection, op_id) is not None
            last = connection.value(_LAST, (op_id, kept)) if undone else None
            holder = Holder(kept, first, last)
            waiting.append(holder)
            yield holder


def holder_of(connection: Connection, insight_id: str) -> str | None:
    """Return the last memory that took over the text of one and may still have it; None if there is none.

    It keeps the text whatever happens to the other memory: if that one is restored, both have it.
    """
    found = None
    for holder in holders(connection, insight_id):
        here = connection.row("SELECT 1 FROM insights WHERE id = ?", (holder.id,))
        found = holder.id if holder.last is None and here is not None else found
    return found


# Purging.


_HIDE_CONVERSATION = """
    UPDATE memory_operations SET triggered_by = 'conversation'
     WHERE op_id IN (SELECT op_id FROM memory_operations WHERE memory_id = ?)
       AND triggered_by <> 'user' AND substr(triggered_by, 1, 5) <> 'host:' AND substr(triggered_by, 1, 7) <> 'system:'
"""
"""The id of a conversation is a field of the memory that it led to."""


def purge(connection: Connection, insight_ids: Collection[str]) -> None:
    """Delete the states of memories; the rows stay.

    Rows of other memories contain edges that end at them, whose metadata may repeat their text: these are removed. The
    states of a row that cannot be decoded are deleted as a whole.
    """
    connection.run_many(
        "UPDATE memory_operations SET before_state = NULL, after_state = NULL WHERE memory_id = ?",
        [(each,) for each in insight_ids],
    )
    connection.run_many(_HIDE_CONVERSATION, [(each,) for each in insight_ids])
    named = next(iter(insight_ids)) if len(insight_ids) == 1 else '"edges":['
    with_edges = connection.rows(
        "SELECT id FROM memory_operations WHERE instr(before_state, ?1) OR instr(after_state, ?1)", (named,)
    )
    for (number,) in with_edges:
        for row in connection.rows(f"SELECT {_FIELDS} FROM memory_operations WHERE id = ?", (number,)):  # noqa: S608
            try:
                found = _record(row)
            except MnemonError:
                states: list[str | None] = [None, None]
            else:
                states = [_encoded(_without(state, insight_ids)) for state in (found.before, found.after)]
            connection.run(
                "UPDATE memory_operations SET before_state = ?, after_state = ? WHERE id = ?", (*states, number)
            )


def _without(state: State | None, insight_ids: Collection[str]) -> State | None:
    if state is None:
        return None
    gone = frozenset(insight_ids)
    kept = [edge for edge in state.edges if gone.isdisjoint((edge.source_id, edge.target_id))]
    return State(state.insight, kept)


def purge_undone_merges(connection: Connection, insight_id: str) -> None:
    """Delete the states of memories for the time that they had the text of one by a merge that was undone: they do not
    have it any more, and it is not expected there. The times of merge and undo stay."""
    for holder in list(holders(connection, insight_id)):
        if holder.last is not None:
            connection.run(
                "UPDATE memory_operations SET before_state = NULL, after_state = NULL"
                " WHERE memory_id = ? AND id BETWEEN ? AND ?",
                holder,
            )


# The entries of one operation, collected while it runs and written at its end.
#
# Every edge that an operation changed is stored with one of the memories it changed, as it was before and is after, so
# that the history alone is enough to undo the operation. Edges of a new or a removed memory need no entry of their own:
# what retires a memory records the edges it had.


class _Link(msgspec.Struct):
    before: Edge | None
    after: Edge | None
    owner: str | None


class Trail:
    """Changes of one operation to memories and edges. For one use."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._links: dict[tuple[str, str, str], _Link] = {}
        self._fresh: set[str] = set()

    def memory(self, kind: str, insight_id: str, before: Insight | None, after: Insight | None) -> None:
        """Record a changed memory; `kind` is the operation type of the history."""
        states = [None if it is None else State(it) for it in (before, after)]
        self._entries.append(Entry(kind, insight_id, *states))
        if kind == "CREATE":
            self._fresh.add(insight_id)

    def edge(self, before: Edge | None, after: Edge | None, owner: str | None = None) -> None:
        """Record a changed edge; `owner` is the memory in whose history it belongs, None: either of its two."""
        either = before or after
        assert either is not None, "an edge that never existed cannot change"  # noqa: S101
        known = self._links.setdefault(
            (either.source_id, either.target_id, either.edge_type), _Link(before, after, owner)
        )
        known.after, known.owner = after, owner or known.owner

    def purge(self, insight_id: str) -> None:
        """Remove the states and edges of a memory that is purged; its entry stays."""
        self._entries = [
            each._replace(before=None, after=None) if each.memory_id == insight_id else each for each in self._entries
        ]
        self._links = {key: link for key, link in self._links.items() if insight_id not in key[:2]}

    def entries(self, read: Callable[[str], Insight | None]) -> list[Entry]:
        """Return the rows of the history, in the order of the changes; `read`: a memory as it is now, in any state."""
        by_id = {each.memory_id: each for each in self._entries if each.after is not None}
        for (*ends, _), link in self._links.items():
            if link.before != link.after and (link.owner is not None or self._fresh.isdisjoint(ends)):
                owner = link.owner or next((end for end in ends if end in by_id), ends[0])
                if owner not in by_id:  # only an edge of it changed
                    it = read(owner)
                    self.memory("UPDATE", owner, it, it)
                    by_id[owner] = self._entries[-1]
                for state, edge in ((by_id[owner].before, link.before), (by_id[owner].after, link.after)):
                    if state is not None and edge is not None:
                        state.edges.append(edge)
        return self._entries
