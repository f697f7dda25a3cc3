"""The `insights` table."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import Any, Final, NamedTuple, cast

import msgspec
import numpy as np

from mnemond.model.changes import AddInsight, CountUse, RetireInsight, TriggerCount, Vector
from mnemond.model.memory import STATUSES, Cue, Insight, Trigger, parse_rfc3339
from mnemond.model.query import Filter
from mnemond.store.connection import Connection, Insertion, Value
from mnemond.store.files import damaged
from mnemond.store.meta import EmbedderRecord
from mnemond.store.rows import Codec, Mapper

_names = msgspec.json.Decoder(tuple[str, ...])
read_object = msgspec.json.Decoder(dict[str, Any]).decode
_json = msgspec.json.Encoder()

ROWS: Final = Mapper(
    Insight,
    codecs={
        "keywords": Codec(
            lambda text: _json.encode(text.split()).decode(), lambda text: " ".join(_names.decode(text)) if text else ""
        )
    },
    nullable=("channel", "metadata"),
    computed={
        "cues": (
            "(SELECT json_group_array(json_object('text', text, 'source', source)) FROM"
            " (SELECT text, source FROM cues WHERE memory = insights.number ORDER BY ord))"
        ),
        "when": (
            "(SELECT json_group_array(json_object('pattern', pattern, 'enforce', enforce, 'state', state)) FROM"
            " (SELECT pattern, enforce, state FROM triggers WHERE memory = insights.number ORDER BY ord))"
        ),
    },
)
NONE: Final = "[]"
"""No cues, or no triggers."""
_VECTOR = ("embedding", "embedding_model", "embedding_dim")
_ADDED = Insertion(0, "insights", ("number", *ROWS.columns, "content_hash", *_VECTOR))
_CUES = Insertion(4, "cues", ("memory", "ord", "text", "source"))
_TRIGGERS = Insertion(4, "triggers", ("memory", "ord", "pattern", "enforce", "state"))
_QUERIES = Insertion(3, "hypothetical_queries", ("insight_id", "ord", "query"))
_LAST = "SELECT max(number) FROM insights"
_SET_ALL = ", ".join(f"{name} = ?" for name in (*ROWS.columns[1:], "content_hash", "deleted_at"))
_UPDATE = f"UPDATE insights SET {_SET_ALL}"  # noqa: S608 - names only
_SET_VECTOR = (
    f"UPDATE insights SET {', '.join(f'{name} = ?' for name in _VECTOR)}"  # noqa: S608 - names only
    " WHERE id = ? AND status = 'active'"
)
_LOAD_BATCH = 1000

MAX_COUNT: Final = (1 << 31) - 1
"""The largest number of uses: the index has 32 bits for it."""

BAD_ROW: Final = (msgspec.MsgspecError, TypeError, AttributeError, ValueError, OverflowError)
"""Raised by decoding a row that no mnemond wrote like this; ValueError also for text that is no UTF-8."""


def content_hash(content: str) -> str:
    """Return BLAKE2b-128 of the UTF-8 content, in hex: detects a damaged or changed text."""
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


VECTOR_FITS = "(length(embedding) = 4 * {0} OR (length(embedding) = 8 * {0} AND embedding_dim = {0}))"
"""Condition of an embedding of {0} dimensions: that of a text, or those of a text and of the text with its cues."""


def vector_blob(vector: Vector | None) -> bytes | None:
    """Return a vector as stored: little-endian float32; of shape (2, dimension) one row behind the other."""
    return None if vector is None else np.ascontiguousarray(vector, "<f4").tobytes()


# Writing.


def insert(connection: Connection, change: AddInsight, embedder: EmbedderRecord | None) -> None:
    """Insert one active insight with its vector. Raises ConstraintError when the id exists."""
    it = change.insight
    values = (*ROWS.values(it), content_hash(it.content), *_vector_values(change.vector, embedder))
    connection.numbers[it.id] = connection.add_numbered(_ADDED, _LAST, values)
    if change.queries:
        _add_queries(connection, it.id, change.queries)
    if it.cues:
        _add_cues(connection, connection.numbers[it.id], it.cues)
    if it.when:
        _add_triggers(connection, connection.numbers[it.id], it.when)


def replace_queries(connection: Connection, insight_id: str, queries: Sequence[str]) -> None:
    connection.run("DELETE FROM hypothetical_queries WHERE insight_id = ?", (insight_id,))
    _add_queries(connection, insight_id, queries)


def _add_queries(connection: Connection, insight_id: str, queries: Sequence[str]) -> None:
    connection.add(_QUERIES, [(insight_id, place, query) for place, query in enumerate(queries)])


def replace_cues(connection: Connection, insight_id: str, cues: Sequence[Cue]) -> None:
    """Give a row other cues. A vector staged for it is of the former ones, so it goes."""
    number = number_of(connection, insight_id)
    assert number is not None, "its row was written before"  # noqa: S101
    connection.run("DELETE FROM cues WHERE memory = ?", (number,))
    connection.run("DELETE FROM staged_vectors WHERE insight_id = ?", (insight_id,))
    _add_cues(connection, number, cues)


def _add_cues(connection: Connection, number: int, cues: Sequence[Cue]) -> None:
    connection.add(_CUES, [(number, place, cue.text, cue.source) for place, cue in enumerate(cues)])


def replace_triggers(connection: Connection, insight_id: str, triggers: Sequence[Trigger]) -> None:
    """Give a row other triggers."""
    number = number_of(connection, insight_id)
    assert number is not None, "its row was written before"  # noqa: S101
    connection.run("DELETE FROM triggers WHERE memory = ?", (number,))
    _add_triggers(connection, number, triggers)


def _add_triggers(connection: Connection, number: int, triggers: Sequence[Trigger]) -> None:
    connection.add(
        _TRIGGERS, [(number, place, each.pattern, each.enforce, each.state) for place, each in enumerate(triggers)]
    )


def update(connection: Connection, it: Insight) -> bool:
    """Give an active row a new value; return False if there is none."""
    values = (*ROWS.values(it)[1:], content_hash(it.content), None, it.id)
    return connection.run(f"{_UPDATE} WHERE id = ? AND status = 'active'", values) == 1


def restore(connection: Connection, it: Insight) -> bool:
    """Make a retired row active, with this value; return False if there is none."""
    values = (*ROWS.values(it)[1:], content_hash(it.content), None, it.id)
    return connection.run(f"{_UPDATE} WHERE id = ? AND status <> 'active'", values) == 1


def set_vector(connection: Connection, insight_id: str, vector: Vector | None, embedder: EmbedderRecord | None) -> bool:
    """Replace an active row's embedding; return False if there is none."""
    return connection.run(_SET_VECTOR, (*_vector_values(vector, embedder), insight_id)) == 1


def drop_cued_vector(connection: Connection, insight_id: str) -> None:
    """Keep of a row's embedding that of its text: its cues are others now."""
    connection.run(
        "UPDATE insights SET embedding = substr(embedding, 1, 4 * embedding_dim) WHERE id = ? AND embedding_dim > 0",
        (insight_id,),
    )


def set_unembeddable(connection: Connection, insight_id: str, embedder: EmbedderRecord | None) -> bool:
    """Note that the embedder knows no word of an active row, which keeps it from being embedded again."""
    values = (None, None if embedder is None else embedder.name, 0, insight_id)
    return connection.run(_SET_VECTOR, values) == 1


def set_importance(connection: Connection, insight_id: str, effective_importance: float) -> None:
    connection.run("UPDATE insights SET effective_importance = ? WHERE id = ?", (effective_importance, insight_id))


def retire(connection: Connection, change: RetireInsight, now: str) -> bool:
    """Take an active insight out of recall; return False if it was not active."""
    sql = (
        "UPDATE insights SET status = ?, deleted_at = ?, updated_at = ?, superseded_by = ?,"
        " invalid_at = coalesce(?, invalid_at) WHERE id = ? AND status = 'active'"
    )
    values = (change.status, now, now, change.successor, change.invalid_at, change.id)
    return connection.run(sql, values) == 1


def count_use(connection: Connection, change: CountUse) -> bool:
    """Note that an insight was recalled; return False if it is not active any more."""
    sql = "UPDATE insights SET access_count = access_count + ?, last_accessed_at = ? WHERE id = ? AND status = 'active'"
    return connection.run(sql, (change.times, change.at, change.id)) > 0


def purge(connection: Connection, insight_id: str) -> None:
    """Delete a row and the rows that refer to it alone. Its edges must be deleted before.

    Rows that it had superseded become superseded by its own successor, if it has one.
    """
    connection.run("DELETE FROM hypothetical_queries WHERE insight_id = ?", (insight_id,))
    for table in ("cues", "triggers", "trigger_counts"):
        connection.run(
            f"DELETE FROM {table} WHERE memory = (SELECT number FROM insights WHERE id = ?)",  # noqa: S608 - constants
            (insight_id,),
        )
    connection.run("DELETE FROM node_metrics WHERE insight_id = ?", (insight_id,))
    connection.run("DELETE FROM memory_entities WHERE memory_id = ?", (insight_id,))
    connection.run(
        "UPDATE insights SET superseded_by = (SELECT superseded_by FROM insights WHERE id = ?1)"
        " WHERE superseded_by = ?1",
        (insight_id,),
    )
    connection.run("UPDATE insights SET paired_with = NULL WHERE paired_with = ?", (insight_id,))
    connection.run("DELETE FROM insights WHERE id = ?", (insight_id,))
    connection.numbers.pop(insight_id, None)


# Reading. One row that cannot be decoded never keeps the others from being read: functions that return several insights
# leave it out, `load_active` names it, and `read` raises MnemonError(STORAGE) for it.


class Unreadable(NamedTuple):
    """A row that cannot be decoded: its number, its id, and the columns that are wrong."""

    number: int
    id: str
    columns: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.id[:64]} ({', '.join(self.columns)})"


SHOWN_ROWS: Final = 3
"""Rows that a sentence names; the others are counted."""


def named_rows(rows: Sequence[Unreadable]) -> str:
    """Return the first rows in words, and the number of the others."""
    more = f" and {len(rows) - SHOWN_ROWS:,} more" if len(rows) > SHOWN_ROWS else ""
    return ", ".join(map(str, rows[:SHOWN_ROWS])) + more


def read(connection: Connection, insight_id: str) -> Insight | None:
    try:
        row = connection.row(f"SELECT {ROWS.select} FROM insights WHERE id = ?", (insight_id,))  # noqa: S608 - names only
    except UnicodeDecodeError as error:
        raise damaged(f"the row of memory {insight_id!a}", error) from error
    return None if row is None else _checked(row)


def vector_of(connection: Connection, insight_id: str, embedder: EmbedderRecord | None) -> Vector | None:
    """Return the vector of a row in any state, if that embedder made it."""
    if embedder is None:
        return None
    sql = f"SELECT embedding FROM insights WHERE id = ?1 AND embedding_model = ?2 AND {VECTOR_FITS.format('?3')}"  # noqa: S608
    return _vector(connection.value(sql, (insight_id, embedder.name, embedder.dimension)), embedder.dimension)


def is_active(connection: Connection, insight_id: str) -> bool:
    return connection.row("SELECT 1 FROM insights WHERE id = ? AND status = 'active'", (insight_id,)) is not None


def ids_beginning(connection: Connection, prefix: str, limit: int) -> list[str]:
    """Return the ids in any state that begin with `prefix`, sorted, at most `limit`."""
    sql = "SELECT id FROM insights WHERE id >= ? AND id < ? ORDER BY id LIMIT ?"
    return connection.column(sql, (prefix, prefix + "\U0010ffff", limit))


def retired_before(connection: Connection, moment: str, limit: int) -> list[str]:
    """Return the ids of the rows retired before `moment` (RFC 3339), the longest ago first."""
    return connection.column(
        "SELECT id FROM insights WHERE deleted_at IS NOT NULL AND deleted_at < ? ORDER BY deleted_at, id LIMIT ?",
        (moment, limit),
    )


_VISIBLE_RETIRED = (
    "deleted_at IS NOT NULL AND ifnull(category = ?1, TRUE) AND ifnull(source = ?2, TRUE)"
    " AND ifnull(user_id = ?3, TRUE) AND ifnull(agent_id = ?4, TRUE)"
    " AND iif(?5 IS NULL, ?6 OR session_id IS NULL, ifnull(session_id = ?5, TRUE))"
)
"""The scope rule of `Filter`. A comparison with NULL, on either side, is NULL: no condition, or common to all."""


def retired(
    connection: Connection, wanted: Filter, limit: int, before: tuple[str, str] | None
) -> list[tuple[Insight, str]]:
    """Return the `limit` visible rows retired last, each with the time (RFC 3339), last first; with `before`, the time
    and id of one of them, those before it."""
    scope, after_all = wanted.scope, ("9999", "")
    rows = connection.rows(
        f"SELECT {ROWS.select}, deleted_at FROM insights WHERE {_VISIBLE_RETIRED}"  # noqa: S608 - names only
        " AND (deleted_at, id) < (?7, ?8) ORDER BY deleted_at DESC, id DESC LIMIT ?9",
        (wanted.category, wanted.source, scope.user_id, scope.agent_id, scope.session_id, int(wanted.all_sessions),
         *(before or after_all), limit),
    )  # fmt: skip
    return [(insight, row[ROWS.width]) for row in rows if (insight := _readable(row)) is not None]


def withdrawn(connection: Connection, limit: int) -> list[str]:
    """Return the texts of the `limit` memories that were forgotten or replaced last."""
    sql = (
        "SELECT content FROM insights WHERE deleted_at IS NOT NULL AND status IN ('forgotten', 'superseded')"
        " ORDER BY deleted_at DESC LIMIT ?"
    )
    return connection.column(sql, (limit,))


def retirements(connection: Connection) -> dict[str, str]:
    return dict(connection.rows("SELECT id, deleted_at FROM insights WHERE deleted_at IS NOT NULL"))


def load(
    connection: Connection, ids: Sequence[str], embedder: EmbedderRecord | None
) -> list[tuple[Insight, Vector | None]]:
    """Return the existing ones of these rows, in any state and no order, with their vectors as in `load_active`."""
    dimension, model = (0, None) if embedder is None else (embedder.dimension, embedder.name)
    rows = connection.rows(
        f"SELECT {ROWS.select}, iif(embedding_model IS ?1 AND {VECTOR_FITS.format('?3')}, embedding, NULL)"  # noqa: S608 - names
        " FROM insights WHERE id IN (SELECT value FROM json_each(?2))",
        (model, _json.encode(list(ids)).decode(), dimension),
    )
    found = ((_readable(row), row[ROWS.width]) for row in rows)
    return [(insight, _vector(blob, dimension)) for insight, blob in found if insight is not None]


def load_active(
    connection: Connection, dimension: int, model: str | None, unreadable: list[Unreadable]
) -> Iterator[tuple[Insight, Vector | None]]:
    """Yield every active insight with its vector, oldest insertion first; append the rows that cannot be decoded to
    `unreadable`.

    A vector of another dimension than `dimension` or another model than `model` counts as none: it has no cosine.
    """
    last = 0
    while True:
        try:
            rows = connection.rows(f"{_ACTIVE} LIMIT ?4", (model, last, dimension, _LOAD_BATCH))
        except UnicodeDecodeError:  # of one of them
            rows = _one_by_one(connection, model, dimension, last, unreadable)
        if not rows:
            return
        for row in rows:
            number = row[ROWS.width + 1]
            if (insight := _readable(row)) is not None:
                yield insight, _vector(row[ROWS.width], dimension)
            elif row[0] is not None:
                named = dict(zip(ROWS.columns, row, strict=False))
                unreadable.append(Unreadable(number, row[0], unusable_columns(named)))
        last = rows[-1][ROWS.width + 1]


_ACTIVE: Final = (
    f"SELECT {ROWS.select}, iif(embedding_model IS ?1 AND {VECTOR_FITS.format('?3')}, embedding, NULL), number"  # noqa: S608
    " FROM insights WHERE number > ?2 AND deleted_at IS NULL ORDER BY number"
)


def _one_by_one(
    connection: Connection, model: str | None, dimension: int, last: int, unreadable: list[Unreadable]
) -> list[tuple[Any, ...]]:
    """The rows of one batch, of which at least one has text that is no UTF-8. Such a row has None in every column but
    its number."""
    rows: list[tuple[Any, ...]] = []
    sql = "SELECT number FROM insights WHERE number > ? AND deleted_at IS NULL ORDER BY number LIMIT ?"
    for number in connection.column(sql, (last, _LOAD_BATCH)):
        try:
            rows += connection.rows(f"{_ACTIVE} LIMIT 1", (model, number - 1, dimension))
        except UnicodeDecodeError:
            rows.append((*[None] * (ROWS.width + 1), number))
            raw: bytes = connection.value("SELECT CAST(id AS BLOB) FROM insights WHERE number = ?", (number,))
            unreadable.append(Unreadable(number, raw.decode("utf-8", "backslashreplace"), ("text that is no UTF-8",)))
    return rows


def retired_at(connection: Connection, insight_id: str) -> str | None:
    """Return the time (RFC 3339) a row was retired; None if it was not, or does not exist."""
    retired: str | None = connection.value("SELECT deleted_at FROM insights WHERE id = ?", (insight_id,))
    return retired


def count_retired_before(connection: Connection, moment: str) -> int:
    """Count the rows retired before `moment` (RFC 3339)."""
    return connection.count("SELECT count(*) FROM insights WHERE deleted_at IS NOT NULL AND deleted_at < ?", (moment,))


def chain(connection: Connection, insight_id: str, limit: int) -> list[tuple[str, str]]:
    """Return the predecessors of a memory, itself, and its successors as (id, status), at most `limit` in each
    direction: what was replaced first comes first; of several that one memory replaced, the older."""
    before = _walk(connection, _PREDECESSORS, insight_id, limit)
    after = _walk(connection, _SUCCESSORS, insight_id, limit)
    itself = connection.rows("SELECT id, status FROM insights WHERE id = ?", (insight_id,))
    return [*reversed(before), *itself, *(each for each in after if each not in before)]


def predecessors(connection: Connection, insight_id: str, limit: int) -> list[str]:
    """Return the ids of at most `limit` memories that were replaced by this one, directly or not, of any status."""
    return [each for each, _ in _walk(connection, _PREDECESSORS, insight_id, limit)]


_PREDECESSORS = (
    "SELECT id, status FROM insights WHERE superseded_by = ? AND superseded_by IS NOT NULL ORDER BY created_at DESC, id"
)
_SUCCESSORS = "SELECT id, status FROM insights WHERE id = (SELECT superseded_by FROM insights WHERE id = ?)"


def _walk(connection: Connection, step: str, insight_id: str, limit: int) -> list[tuple[str, str]]:
    """Breadth first; a cycle, which only a damaged file has, ends where it began."""
    found: list[tuple[str, str]] = []
    seen, waiting = {insight_id}, [insight_id]
    for each in waiting:
        for near, status in connection.rows(step, (each,)):
            if near not in seen and len(found) < limit:
                seen.add(near)
                found.append((near, status))
                waiting.append(near)
    return found


def beginnings(connection: Connection, insight_ids: Collection[str], length: int) -> list[tuple[str, str]]:
    """Return (id, first `length` characters) of the rows of any status with these ids."""
    sql = "SELECT id, substr(content, 1, ?) FROM insights WHERE id IN (SELECT value FROM json_each(?))"
    return [(row[0], row[1]) for row in connection.rows(sql, (length, _json.encode(sorted(insight_ids)).decode()))]


def judgements(connection: Connection, insight_ids: Collection[str]) -> dict[str, tuple[int, int]]:
    """Return how often each of these memories, of any status, was judged (useful, misleading)."""
    sql = "SELECT id, useful, misled FROM insights WHERE id IN (SELECT value FROM json_each(?))"
    return {row[0]: (row[1], row[2]) for row in connection.rows(sql, (_json.encode(sorted(insight_ids)).decode(),))}


def of_conversations(connection: Connection, ids: Sequence[str]) -> list[tuple[str, str, str, str, str]]:
    """Return (conversation, id, category, content, time of its making) of the active memories of conversations, the
    earliest first."""
    sql = (
        "SELECT conversation_id, id, category, content, created_at FROM insights WHERE status = 'active'"
        " AND conversation_id IN (SELECT value FROM json_each(?)) ORDER BY created_at, id"
    )
    return [cast("tuple[str, str, str, str, str]", row) for row in connection.rows(sql, (_json.encode(ids).decode(),))]


def count_retired(connection: Connection) -> dict[str, int]:
    """Count the retired insights in each state, from an index alone: counting all of 10,000 rows takes 5 to 30 ms."""
    sql = "SELECT status, count(*) FROM insights WHERE deleted_at IS NOT NULL GROUP BY status ORDER BY status"
    return dict(connection.rows(sql))


def unembeddable(connection: Connection, embedder: EmbedderRecord | None) -> set[str]:
    """Return the ids of the rows of which this embedder knows no word."""
    sql = "SELECT id FROM insights WHERE embedding_dim = 0 AND embedding_model = ? AND deleted_at IS NULL"
    return set(connection.column(sql, (None if embedder is None else embedder.name,)))


def count_stale(connection: Connection, embedder: EmbedderRecord | None) -> int:
    """Count the active rows whose vector is of another model or dimension than the store's."""
    name, dimension = (None, 0) if embedder is None else (embedder.name, embedder.dimension)
    return connection.count(
        "SELECT count(*) FROM insights WHERE embedding IS NOT NULL AND deleted_at IS NULL"  # noqa: S608 - names only
        f" AND (embedding_model IS NOT ?1 OR NOT {VECTOR_FITS.format('?2')})",
        (name, dimension),
    )


def _vector_values(vector: Vector | None, embedder: EmbedderRecord | None) -> tuple[Value, ...]:
    if vector is None:
        return None, None, None
    return vector_blob(vector), None if embedder is None else embedder.name, vector.shape[-1]


def _vector(blob: bytes | None, dimension: int) -> Vector | None:
    if blob is None or len(blob) not in (4 * dimension, 8 * dimension) or dimension == 0:
        return None
    found = np.frombuffer(blob, "<f4")
    return found if len(found) == dimension else found.reshape(2, dimension)


def _checked(row: tuple[Any, ...]) -> Insight:
    try:
        return _decoded(row)
    except BAD_ROW as error:
        raise damaged(f"the row of memory {row[0]!a}", error) from error


def _readable(row: tuple[Any, ...]) -> Insight | None:
    """The insight of a row, None if it cannot be decoded."""
    try:
        return _decoded(row)
    except BAD_ROW:
        return None


def _decoded(row: tuple[Any, ...]) -> Insight:
    """The insight of a row. Raises one of BAD_ROW."""
    insight = ROWS.read(row)
    _verify(insight)
    return insight


_TIMES: Final = (
    "last_accessed_at", "valid_from", "invalid_at", "event_start", "event_end", "last_boosted_at",
    "last_corroborated_at", "expires_at",
)  # fmt: skip
"""Times that a memory may lack."""


def _verify(it: Insight) -> None:
    """Raise ValueError for values that would fail where they are used: decoding a row does not look into them."""
    read_time(it.created_at)
    read_time(it.updated_at)
    for text in (
        it.last_accessed_at, it.valid_from, it.invalid_at, it.event_start, it.event_end,
        it.last_boosted_at, it.last_corroborated_at, it.expires_at,
    ):  # fmt: skip
        if text is not None:
            read_time(text)
    if it.metadata != "{}":
        read_object(it.metadata)
    _count(it.access_count)
    _count(it.corroboration_count)
    _finite(it.boost_days)
    _status(it.status)


def read_time(text: str) -> None:
    """Raise ValueError or TypeError for a text that is no time as rows have it."""
    if text[-1:] == "Z":
        datetime.fromisoformat(text)  # a quarter of the time of the other way
    else:
        parse_rfc3339(text)


def _count(value: int) -> None:
    if not 0 <= value <= MAX_COUNT:
        raise ValueError


def _finite(value: float) -> None:
    if not (math.isfinite(value) and value >= 0):
        raise ValueError


def _status(value: str) -> None:
    if value not in STATUSES:
        raise ValueError


def optional(read: Callable[[Any], object]) -> Callable[[Any], object]:
    """Return a reader of a column that may be NULL."""
    return lambda value: None if value is None else read(value)


READERS: Final[dict[str, Callable[[Any], object]]] = {
    "created_at": read_time, "updated_at": read_time, "tags": _names.decode, "entities": _names.decode,
    "access_count": _count, "corroboration_count": _count, "boost_days": _finite, "status": _status,
    "keywords": lambda value: _names.decode(value) if value else None,
    "metadata": lambda value: read_object(value) if value else None,
    **dict.fromkeys((*_TIMES, "deleted_at"), optional(read_time)),
}  # fmt: skip
"""Reads a value of each column that is more than text, and raises one of BAD_ROW for one that cannot be used."""


UNKNOWN_TIME: Final = "1970-01-01T00:00:00.000000Z"
"""In the place of a time that cannot be read."""

DEFAULTS: Final[dict[str, Any]] = {
    "tags": "[]", "entities": "[]", "access_count": 0, "corroboration_count": 0, "boost_days": 0.0,
    "created_at": UNKNOWN_TIME, "updated_at": UNKNOWN_TIME,
    **dict.fromkeys(("keywords", "metadata", *_TIMES), None),
}  # fmt: skip
"""Values for columns that cannot be used. A row with another such column cannot be shown."""


def unusable_columns(
    named: Mapping[str, Any], readers: Mapping[str, Callable[[Any], object]] = READERS
) -> tuple[str, ...]:
    """Return the columns of a row whose values `readers`, those of a table, cannot use."""
    found = []
    for column, read_value in readers.items():
        if column in named:
            try:
                read_value(named[column])
            except (*BAD_ROW, LookupError):
                found.append(column)
    return tuple(found)


# What is enforced, and counts of triggers.


def enforced_triggers(connection: Connection) -> frozenset[tuple[str, str, str, str]]:
    """Return (id, trigger, ask or deny, text) of active memories. Empty for a store of a version without triggers."""
    if connection.row("SELECT 1 FROM sqlite_schema WHERE name = 'triggers'") is None:
        return frozenset()
    rows = connection.rows(
        "SELECT id, pattern, enforce, content FROM triggers JOIN insights ON number = memory"
        " WHERE enforce <> 'tell' AND status = 'active'"
    )
    return frozenset((row[0], row[1], row[2], row[3]) for row in rows)


def count_triggers(connection: Connection, counts: Sequence[TriggerCount]) -> None:
    """Add to the counts of triggers; those of memories that are gone are left out."""
    connection.run_many(
        "INSERT INTO trigger_counts(memory, pattern, matched, shown, followed)"
        " SELECT number, ?2, ?3, ?4, ?5 FROM insights WHERE id = ?1"
        " ON CONFLICT(memory, pattern) DO UPDATE SET matched = matched + excluded.matched,"
        " shown = shown + excluded.shown, followed = followed + excluded.followed",
        [(each.id, each.pattern, each.matched, each.shown, each.followed) for each in counts],
    )


def trigger_counts(connection: Connection) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Return (matched, shown, followed) by (id, trigger)."""
    rows = connection.rows(
        "SELECT id, pattern, matched, shown, followed FROM trigger_counts JOIN insights ON number = memory"
    )
    return {(row[0], row[1]): (row[2], row[3], row[4]) for row in rows}


# Numbers of memories, by which rows of other tables refer to them.
#
# Ids are random, so each row keyed by two of them would lie on a page of its own. A number is assigned once, in the
# order of writing, and stays (docs/decisions/0013). It is internal to the store: all other rooms use the id.


MAX_NUMBERS = 65_536
"""Numbers that a connection caches, about 10 MB; then it starts anew."""


def numbers_of(connection: Connection, ids: AbstractSet[str]) -> Mapping[str, int]:
    """Return the number of each of `ids`, perhaps with others; an id that no row has is left out."""
    known = connection.numbers
    missing: AbstractSet[str] = {each for each in ids if each not in known}  # `ids - known.keys()` walks all of `known`
    if missing:
        if len(known) + len(missing) > MAX_NUMBERS:
            known.clear()
            missing = ids
        known.update(
            connection.rows(
                "SELECT id, number FROM insights WHERE id IN (SELECT value FROM json_each(?))",
                (_json.encode(sorted(missing)).decode(),),
            )
        )
    return known


def written_after(connection: Connection, number: int | None, limit: int) -> list[tuple[int, str]]:
    """Return (number, id) of the oldest active memories with a greater number, in order; None: of the newest."""
    if number is None:
        rows = connection.rows(
            "SELECT number, id FROM insights WHERE status = 'active' ORDER BY number DESC LIMIT ?", (limit,)
        )
        return [(row[0], row[1]) for row in rows][::-1]
    rows = connection.rows(
        "SELECT number, id FROM insights WHERE number > ? AND status = 'active' ORDER BY number LIMIT ?",
        (number, limit),
    )
    return [(row[0], row[1]) for row in rows]


def number_of(connection: Connection, insight_id: str) -> int | None:
    known = connection.numbers.get(insight_id)
    return known if known is not None else numbers_of(connection, {insight_id}).get(insight_id)
