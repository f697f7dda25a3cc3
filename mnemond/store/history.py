"""The `memory_operations` table: what every operation did to every memory, before and after, never trimmed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from mnemond.model.changes import ChangeSet
from mnemond.model.memory import Edge, Insight
from mnemond.store.connection import Connection, Insertion
from mnemond.store.files import damaged


class State(msgspec.Struct, frozen=True, omit_defaults=True):
    """A memory at one moment, with the edges that went with it."""

    insight: Insight
    edges: list[Edge] = []


_json = msgspec.json.Encoder()
_DONE = Insertion(
    5, "memory_operations",
    ("operation_type", "memory_id", "before_state", "after_state", "triggered_by", "op_id", "created_at", "undoes"),
)  # fmt: skip


class Entry(NamedTuple):
    """What became of one memory in one operation."""

    operation_type: str
    memory_id: str
    before: State | None
    after: State | None


def append(connection: Connection, change_set: ChangeSet, entries: Sequence[Entry]) -> None:
    """Write the rows of one operation, in the transaction of the changes they describe."""
    if entries:
        connection.add(_DONE, [_values(change_set, entry) for entry in entries])


def _values(change_set: ChangeSet, entry: Entry) -> tuple[str | None, ...]:
    return (
        entry.operation_type,
        entry.memory_id,
        None if entry.before is None else _json.encode(entry.before).decode(),
        None if entry.after is None else _json.encode(entry.after).decode(),
        change_set.triggered_by,
        change_set.op_id,
        change_set.now,
        change_set.undoes,
    )


class Record(msgspec.Struct, frozen=True):
    """One row of the history. `undoes`: the operation that its own one took back."""

    id: int
    operation_type: str
    memory_id: str
    before: State | None
    after: State | None
    triggered_by: str
    op_id: str
    created_at: str
    undoes: str | None = None


class Done(NamedTuple):
    """One operation, without what it did."""

    op_id: str
    triggered_by: str
    undoes: str | None


_FIELDS = "id, operation_type, memory_id, before_state, after_state, triggered_by, op_id, created_at, undoes"
_state = msgspec.json.Decoder(State)


def of_operation(connection: Connection, op_id: str) -> list[Record]:
    """What one operation did, in order. Raises MnemonError(STORAGE) for a damaged row."""
    rows = connection.rows(f"SELECT {_FIELDS} FROM memory_operations WHERE op_id = ? ORDER BY id", (op_id,))  # noqa: S608
    return [_record(row) for row in rows]


def of_memory(connection: Connection, insight_id: str, limit: int) -> list[Record]:
    """What was done to one memory, in order, at most the newest `limit`. Raises MnemonError(STORAGE) for a damaged
    row."""
    rows = connection.rows(
        f"SELECT {_FIELDS} FROM memory_operations WHERE memory_id = ? ORDER BY id DESC LIMIT ?",  # noqa: S608 - names
        (insight_id, limit),
    )
    return [_record(row) for row in reversed(rows)]


def count_of(connection: Connection, insight_id: str) -> int:
    """How many rows there are about one memory."""
    row = connection.row("SELECT count(*) FROM memory_operations WHERE memory_id = ?", (insight_id,))
    return 0 if row is None else int(row[0])


def names_since(connection: Connection, insight_id: str, moment: str, limit: int) -> list[tuple[str, str]]:
    """(op_id, created_at) of what was done to one memory from `moment` on, newest first, at most `limit`."""
    rows = connection.rows(
        "SELECT op_id, created_at FROM memory_operations WHERE memory_id = ? AND created_at >= ? ORDER BY id DESC"
        " LIMIT ?",
        (insight_id, moment, limit),
    )
    return [(row[0], row[1]) for row in rows]


def newest_first(connection: Connection) -> Iterator[Done]:
    """Every operation that changed a memory, each once, by its last row."""
    seen: set[str] = set()
    before = _AFTER_ALL
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
                yield Done(op_id, triggered_by, undoes)
        before = rows[-1][0]


_AFTER_ALL = 1 << 62
_BATCH = 64


def newest_of(connection: Connection, insight_id: str) -> str | None:
    """The op_id of the newest row about a memory, None when there is none."""
    row = connection.row(
        "SELECT op_id FROM memory_operations WHERE memory_id = ? ORDER BY id DESC LIMIT 1", (insight_id,)
    )
    return None if row is None else str(row[0])


_LEFT_PLACE = """
    SELECT memory_id, op_id FROM memory_operations
     WHERE id > ?2 AND operation_type IN ('SUPERSEDE', 'MERGE') AND memory_id IN (
       SELECT id FROM insights WHERE superseded_by = ?1 AND superseded_by IS NOT NULL AND status <> 'active')
     ORDER BY id DESC
"""


def left_place_to(connection: Connection, insight_id: str, after: int) -> list[tuple[str, str]]:
    """Memories that left recall for one in a row later than `after`, and by which operations, newest first."""
    return [(row[0], row[1]) for row in connection.rows(_LEFT_PLACE, (insight_id, after))]


_UNDONE_BY = "SELECT DISTINCT op_id FROM memory_operations WHERE undoes = ? AND undoes IS NOT NULL"


def taken_back_by(connection: Connection, op_id: str) -> str | None:
    """The operation that took this one back and was not taken back itself; None while it is in effect."""
    by: dict[str, list[str]] = {}
    waiting = [op_id]
    while waiting:  # not by recursion: somebody may take the same thing back and forth a thousand times
        here = waiting.pop()
        by[here] = [row[0] for row in connection.rows(_UNDONE_BY, (here,))]
        waiting += by[here]
    taken: dict[str, str | None] = {}
    for here in reversed(by):  # each after those that took it back
        taken[here] = next((each for each in by[here] if taken[each] is None), None)
    return taken[op_id]


def operations_beginning(connection: Connection, prefix: str, limit: int) -> list[str]:
    """The op_id that is `prefix`, if there is one; else those that begin with it, sorted, at most `limit`."""
    if connection.row("SELECT 1 FROM memory_operations WHERE op_id = ?", (prefix,)) is not None:
        return [prefix]
    rows = connection.rows(
        "SELECT DISTINCT op_id FROM memory_operations WHERE op_id >= ? AND op_id < ? ORDER BY op_id LIMIT ?",
        (prefix, prefix + "\U0010ffff", limit),
    )
    return [row[0] for row in rows]


def memories_beginning(connection: Connection, prefix: str, limit: int) -> list[str]:
    """Ids of memories in any state, purged ones included, that begin with `prefix`, sorted, at most `limit`."""
    rows = connection.rows(
        "SELECT DISTINCT memory_id FROM memory_operations WHERE memory_id >= ? AND memory_id < ?"
        " ORDER BY memory_id LIMIT ?",
        (prefix, prefix + "\U0010ffff", limit),
    )
    return [row[0] for row in rows]


_FORMER_CONTENTS = """
    SELECT json_extract(after_state, '$.insight.content'), json_extract(before_state, '$.insight.content')
      FROM memory_operations WHERE memory_id = ? ORDER BY id DESC
"""


def contents_of(connection: Connection, insight_id: str) -> list[str]:
    """Every text that a memory has or had, each once, the newest first; of what is kept of it."""
    now = connection.rows("SELECT content FROM insights WHERE id = ?", (insight_id,))
    before = connection.rows(_FORMER_CONTENTS, (insight_id,))
    return list(dict.fromkeys(str(text) for row in (*now, *before) for text in row if text))


_WITHOUT_CONVERSATION = """
    UPDATE memory_operations SET triggered_by = 'conversation'
     WHERE op_id IN (SELECT op_id FROM memory_operations WHERE memory_id = ?)
       AND triggered_by <> 'user' AND substr(triggered_by, 1, 5) <> 'host:' AND substr(triggered_by, 1, 7) <> 'system:'
"""
"""The id of a conversation is a field of the memory that it led to."""


def purge(connection: Connection, insight_ids: Collection[str]) -> None:
    """Wipe what the history holds of memories; that something was done to them stays.

    In the history of others they stand at the other end of an edge, whose metadata may repeat what they said. Raises
    MnemonError(STORAGE) for a damaged row.
    """
    connection.run_many(
        "UPDATE memory_operations SET before_state = NULL, after_state = NULL WHERE memory_id = ?",
        [(each,) for each in insight_ids],
    )
    connection.run_many(_WITHOUT_CONVERSATION, [(each,) for each in insight_ids])
    for number in _with_edges(connection, insight_ids):
        for row in connection.rows(f"SELECT {_FIELDS} FROM memory_operations WHERE id = ?", (number,)):  # noqa: S608
            found = _record(row)
            states = [_without(state, insight_ids) for state in (found.before, found.after)]
            connection.run(
                "UPDATE memory_operations SET before_state = ?, after_state = ? WHERE id = ?",
                (*(None if state is None else _json.encode(state).decode() for state in states), number),
            )


def _with_edges(connection: Connection, insight_ids: Collection[str]) -> list[int]:
    """Rows with edges in them: those that name the memory where it is one, else all."""
    named = next(iter(insight_ids)) if len(insight_ids) == 1 else '"edges":['
    rows = connection.rows(
        "SELECT id FROM memory_operations WHERE instr(before_state, ?1) OR instr(after_state, ?1)", (named,)
    )
    return [row[0] for row in rows]


def _without(state: State | None, insight_ids: Collection[str]) -> State | None:
    """A state without the edges that touch memories."""
    if state is None:
        return None
    gone = frozenset(insight_ids)
    kept = [edge for edge in state.edges if gone.isdisjoint((edge.source_id, edge.target_id))]
    return State(state.insight, kept)


def _record(row: tuple[Any, ...]) -> Record:
    try:
        before, after = (None if text is None else _state.decode(text) for text in row[3:5])
        return Record(row[0], row[1], row[2], before, after, *row[5:])
    except (msgspec.MsgspecError, TypeError) as error:
        raise damaged(f"the history of memory {row[2]!a}", error) from error


# Which memories took over what another said, by a merge with it or with one that had; read from the history.


class Holder(NamedTuple):
    """A memory that said what another one does, from a row of the history on, until another; None: it still may."""

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
"""A merge writes the row of the memory that stays, then that of the one that leaves; a purge leaves both there."""

_LAST = """
    WITH RECURSIVE chain(op) AS (
      VALUES(?1) UNION
      SELECT op_id FROM memory_operations JOIN chain ON undoes = op WHERE undoes IS NOT NULL
    )
    SELECT max(id) FROM chain CROSS JOIN memory_operations ON op_id = op WHERE +memory_id = ?2
"""
"""By operation: a memory that was merged often has many rows."""


def holders(connection: Connection, insight_id: str) -> Iterator[Holder]:
    """Each memory that took over what one says, whatever became of either since."""
    waiting, seen = [Holder(insight_id, 0, None)], set[str]()
    while waiting:
        here = waiting.pop(0)
        for first, op_id, kept in connection.rows(_MERGES, here):
            if op_id in seen:
                continue
            seen.add(op_id)
            last = None
            if taken_back_by(connection, op_id) is not None:
                (last,) = connection.row(_LAST, (op_id, kept)) or (None,)
            holder = Holder(kept, first, last)
            waiting.append(holder)
            yield holder


def kept_by(connection: Connection, insight_id: str) -> str | None:
    """The memory that took over what one says and may still say so, the last of them; None where there is none.

    It has that whatever became of the other since: restored beside it, that one says the same once more.
    """
    found = None
    for holder in holders(connection, insight_id):
        here = connection.row("SELECT 1 FROM insights WHERE id = ?", (holder.id,))
        found = holder.id if holder.last is None and here is not None else found
    return found


def wipe_taken_back(connection: Connection, insight_id: str) -> None:
    """Wipe what a memory says in the history of those that it was merged with, where that was taken back: they say it
    no more, and nobody expects it there. What stays is when they were merged and parted."""
    for holder in list(holders(connection, insight_id)):
        if holder.last is not None:
            connection.run(
                "UPDATE memory_operations SET before_state = NULL, after_state = NULL"
                " WHERE memory_id = ? AND id BETWEEN ? AND ?",
                holder,
            )


# What one operation did to memories and edges: gathered while it is carried out, written to the history at its end.
#
# Every edge that an operation changed stands beside one of the memories it changed, as it was before and as it is
# now, so that the history alone is enough to take the operation back. Edges that came or went with a memory's own
# first or last moment need no note: what retires a memory notes the edges it had.


Key = tuple[str, str, str]

Look = Callable[[str], Insight | None]
"""A memory as it is now, in whatever state."""


class _Memory(msgspec.Struct):
    kind: str
    id: str
    before: Insight | None
    after: Insight | None
    had: list[Edge] = []
    has: list[Edge] = []

    def entry(self) -> Entry:
        before = None if self.before is None else State(self.before, self.had)
        return Entry(self.kind, self.id, before, None if self.after is None else State(self.after, self.has))


class _Link(msgspec.Struct):
    before: Edge | None
    after: Edge | None
    owner: str | None


class Trail:
    """One operation's. For one use."""

    def __init__(self) -> None:
        self._memories: list[_Memory] = []
        self._links: dict[Key, _Link] = {}
        self._fresh: set[str] = set()

    def memory(self, kind: str, insight_id: str, before: Insight | None, after: Insight | None) -> None:
        """A memory was changed: `kind` as the history calls it (spec 4)."""
        self._memories.append(_Memory(kind, insight_id, before, after))
        if kind == "CREATE":
            self._fresh.add(insight_id)

    def edge(self, before: Edge | None, after: Edge | None, owner: str | None = None) -> None:
        """An edge was changed; `owner` is the memory in whose history it belongs, None: any of its two."""
        either = before or after
        assert either is not None, "an edge that never was cannot change"  # noqa: S101
        key = (either.source_id, either.target_id, either.edge_type)
        known = self._links.get(key)
        if known is None:
            self._links[key] = _Link(before, after, owner)
        else:
            known.after, known.owner = after, owner or known.owner

    def purge(self, insight_id: str) -> None:
        """Keep nothing of a memory that is removed, but that something was done to it."""
        for memory in self._memories:
            if memory.id == insight_id:
                memory.before = memory.after = None
        self._links = {key: link for key, link in self._links.items() if insight_id not in key[:2]}

    def entries(self, look: Look) -> list[Entry]:
        """The rows of the history, in the order of what happened."""
        by_id: dict[str, _Memory] = {}
        for memory in self._memories:
            if memory.after is not None:
                by_id[memory.id] = memory
        for link in self._links.values():
            if link.before != link.after:
                self._place(link, by_id, look)
        return [memory.entry() for memory in self._memories]

    def _place(self, link: _Link, by_id: dict[str, _Memory], look: Look) -> None:
        either = link.before or link.after
        assert either is not None, "it differs from before"  # noqa: S101
        ends = (either.source_id, either.target_id)
        if link.owner is None and not self._fresh.isdisjoint(ends):
            return
        owner = link.owner or next((end for end in ends if end in by_id), ends[0])
        memory = by_id.get(owner) or self._unchanged(owner, by_id, look)
        memory.had = memory.had if link.before is None else [*memory.had, link.before]
        memory.has = memory.has if link.after is None else [*memory.has, link.after]

    def _unchanged(self, insight_id: str, by_id: dict[str, _Memory], look: Look) -> _Memory:
        """A memory of which nothing but an edge changed."""
        it = look(insight_id)
        memory = by_id[insight_id] = _Memory("UPDATE", insight_id, it, it)
        self._memories.append(memory)
        return memory
