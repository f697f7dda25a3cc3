"""The `passages` table: what was said in the sessions of agents, exchange by exchange, beside the memories.

A row is in recall unless `gone_op` names the operation that forgot it, so that the table is its own audit, which undo
reads. Vectors are made in the background, after the row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, assert_never

import msgspec
import numpy as np

from mnemond.errors import NOT_FOUND, MnemonError, rejected
from mnemond.index.passages import PieceVectors
from mnemond.model.changes import ChangeSet
from mnemond.model.memory import DAY_US, Scope, format_us
from mnemond.model.passages import DropPassage, EmbedPassage, KeepPassage, Passage, PassageChange, RestorePassage
from mnemond.store import sync_state
from mnemond.store.connection import Connection, Value
from mnemond.store.exchanges import withdraw, without_texts
from mnemond.store.insights import BAD_ROW, read_time, vector_blob
from mnemond.store.meta import EmbedderRecord, made_by
from mnemond.text.passages import without_sentences
from mnemond.text.similarity import repeats

_COLUMNS: Final = Passage.__struct_fields__
_NAMES: Final = ", ".join(_COLUMNS)
_EMBEDDING: Final = "iif(embedded_by IS ?1 AND length(embedding) > 0, embedding, NULL)"
"""Vectors of the embedder with the fingerprint ?1."""

_BYTES: Final = "octet_length(prompt) + octet_length(answer)"
_LOAD_BATCH: Final = 500

_TAKEN_BACK: Final = "gone_op IN (SELECT op_id FROM memory_operations WHERE undoes = passages.op_id)"
"""Condition of a passage that an undo of the operation that kept it took out of recall."""


# Reading.


def is_known(connection: Connection, key: str) -> bool:
    """Return True if there is a passage of this turn, in recall or forgotten; one whose import was taken back may come
    again."""
    sql = f"SELECT 1 FROM passages WHERE dedupe_key = ? AND NOT coalesce({_TAKEN_BACK}, 0)"  # noqa: S608 - constants
    return connection.row(sql, (key,)) is not None


def read(connection: Connection, passage_id: str) -> Passage | None:
    """Return a passage, in recall or not; None for one that is not there or cannot be read."""
    found = _rows(connection, None, "id = ?2", (passage_id,))
    return found[0][0] if found else None


class Turn(NamedTuple):
    """The passage of a turn. `live`: it is in recall."""

    id: str
    live: bool


def of_turn(connection: Connection, key: str) -> Turn | None:
    """Return which passage is that of a turn; None if there is none."""
    row = connection.row("SELECT id, gone_op IS NULL FROM passages WHERE dedupe_key = ?", (key,))
    return None if row is None else Turn(row[0], bool(row[1]))


def find(connection: Connection, prefix: str, limit: int, *, gone: bool) -> list[str]:
    """Return the ids that begin with `prefix`, sorted; with `gone` those of forgotten passages as well."""
    return connection.column(
        f"SELECT id FROM passages WHERE id >= ? AND id < ?{'' if gone else ' AND gone_op IS NULL'}"  # noqa: S608
        " ORDER BY id LIMIT ?",
        (prefix, prefix + "\U0010ffff", limit),
    )


def in_recall(connection: Connection) -> list[int]:
    """Return the numbers of the rows in recall, in the order in which they were said."""
    return connection.column("SELECT rowid FROM passages WHERE gone_op IS NULL ORDER BY said_at, id")


def load(
    connection: Connection, embedder: EmbedderRecord | None, numbers: Sequence[int] | None = None
) -> Iterator[tuple[Passage, PieceVectors | None]]:
    """Yield the passages in recall, of these rows alone if there are `numbers`, in the order in which they were said,
    with the vectors that `embedder` made. One that cannot be read is left out; a verification names it."""
    ids = in_recall(connection) if numbers is None else numbers
    for start in range(0, len(ids), _LOAD_BATCH):
        some = ids[start : start + _LOAD_BATCH]
        yield from _rows(connection, embedder, f"gone_op IS NULL AND rowid IN ({_marks(some)})", some)


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def loaded(
    connection: Connection, passage_id: str, embedder: EmbedderRecord | None
) -> tuple[Passage, PieceVectors | None] | None:
    """Return a passage that is in recall with its vectors, as `load` does."""
    return next(iter(_rows(connection, embedder, "id = ?2 AND gone_op IS NULL", (passage_id,))), None)


def _rows(
    connection: Connection, embedder: EmbedderRecord | None, which: str, values: Sequence[Value]
) -> list[tuple[Passage, PieceVectors | None]]:
    sql = f"SELECT {_NAMES}, {_EMBEDDING} FROM passages WHERE {which} ORDER BY said_at, id"  # noqa: S608 - constants
    try:
        rows = connection.rows(sql, (made_by(embedder), *values))
    except UnicodeDecodeError:  # of one of them
        if len(values) == 1:
            return []
        parts = (_rows(connection, embedder, "rowid = ?2", (each,)) for each in values)
        return [found for part in parts for found in part]
    return [found for row in rows if (found := _readable(row, embedder)) is not None]


def _readable(row: Sequence[Any], embedder: EmbedderRecord | None) -> tuple[Passage, PieceVectors | None] | None:
    passage = Passage(**dict(zip(_COLUMNS, row, strict=False)))
    with suppress(*BAD_ROW):
        read_time(passage.said_at)
        return passage, _vectors(row[len(_COLUMNS)], embedder)
    return None


def _vectors(blob: bytes | None, embedder: EmbedderRecord | None) -> PieceVectors | None:
    if blob is None or embedder is None or len(blob) % (4 * embedder.dimension):
        return None
    return np.frombuffer(blob, dtype="<f4").reshape(-1, embedder.dimension).astype(np.float32, copy=False)


def unembeddable(connection: Connection, embedder: EmbedderRecord | None) -> set[str]:
    """Return the ids of passages of which the embedder knows no word."""
    sql = "SELECT id FROM passages WHERE embedded_by = ? AND length(embedding) = 0"
    return set(connection.column(sql, (made_by(embedder),)))


class RecordedSession(NamedTuple):
    """A session of which exchanges are in recall: its project, the first and the last time, and their number."""

    conversation_id: str
    host: str
    project: str
    began: str
    ended: str
    exchanges: int


def sessions(connection: Connection, beginning: str, since: str) -> list[RecordedSession]:
    """Return the sessions whose ids begin like this and that went on at `since` (RFC 3339, "" for any time)."""
    rows = connection.rows(
        "SELECT conversation_id, min(host), min(project), min(said_at), max(said_at), count(*) FROM passages"
        " WHERE gone_op IS NULL AND conversation_id <> '' AND said_at >= ? AND substr(conversation_id, 1, ?) = ?"
        " GROUP BY conversation_id",
        (since, len(beginning), beginning),
    )
    return [RecordedSession(*row) for row in rows]


def of_sessions(connection: Connection, ids: Sequence[str], since: str, limit: int) -> list[Passage]:
    """Return the newest exchanges of sessions, the earliest first."""
    numbers = connection.column(
        "SELECT rowid FROM passages WHERE gone_op IS NULL AND kind = 'exchange' AND said_at >= ?"
        " AND conversation_id IN (SELECT value FROM json_each(?)) ORDER BY said_at DESC, id LIMIT ?",
        (since, msgspec.json.encode(ids).decode(), limit),
    )
    return _numbered(connection, numbers)


def of_conversation(
    connection: Connection, conversation_id: str, scope: Scope, limit: int, before: tuple[str, str] | None = None
) -> list[Passage]:
    """Return the newest exchanges of a conversation with one audience, the earliest first; a project makes no
    difference. `before`: the time and the id of an exchange; only earlier ones are returned."""
    if not conversation_id:
        return []
    numbers = connection.column(
        "SELECT rowid FROM passages WHERE gone_op IS NULL AND kind = 'exchange' AND conversation_id = ?"
        " AND (user_id, session_id, agent_id) = (?, ?, ?) AND (?5 IS NULL OR (said_at, id) < (?5, ?6))"
        " ORDER BY said_at DESC, id DESC LIMIT ?7",
        (
            conversation_id, scope.user_id or "", scope.session_id or "", scope.agent_id or "",
            *(before or (None, None)), limit,
        ),
    )  # fmt: skip
    return _numbered(connection, numbers)


def _numbered(connection: Connection, numbers: Sequence[int]) -> list[Passage]:
    return [passage for passage, _ in _rows(connection, None, f"rowid IN ({_marks(numbers)})", numbers)]


def count(connection: Connection) -> int:
    """Count the passages in recall."""
    return connection.count("SELECT count(*) FROM passages WHERE gone_op IS NULL")


# Writing.


def apply(connection: Connection, change_set: ChangeSet, embedder: EmbedderRecord | None) -> list[PassageChange]:
    """Apply the changes of a write to passages, in its transaction; return what the index has to be changed by. Raises
    MnemonError(NOT_FOUND), which refuses the write."""
    found: list[PassageChange] = []
    for change in change_set.passages:
        match change:
            case KeepPassage():
                if _insert(connection, change, change_set.op_id, embedder):
                    found.append(change)
                elif (kept := _kept_again(connection, change, change_set.op_id, embedder)) is not None:
                    found.append(kept)
            case DropPassage():
                _drop(connection, change, change_set.op_id)
                found.append(change)
            case RestorePassage():
                sql = "UPDATE passages SET gone_op = NULL, back_op = ? WHERE id = ? AND gone_op IS NOT NULL"
                if not connection.run(sql, (change_set.op_id, change.id)):
                    raise _not_found(change.id, "forgotten")
                if (back := loaded(connection, change.id, embedder)) is not None:
                    found.append(KeepPassage(back[0], "", back[1]))
            case EmbedPassage():
                if _embed(connection, change, embedder):
                    found.append(change)
            case _:
                assert_never(change)
    return found


def _insert(connection: Connection, change: KeepPassage, op_id: str, embedder: EmbedderRecord | None) -> bool:
    it = change.passage
    blob = None if embedder is None else vector_blob(change.vectors)
    added = connection.run(
        f"INSERT INTO passages({_NAMES}, dedupe_key, op_id, embedding, embedded_by)"
        f" VALUES({', '.join('?' * (len(_COLUMNS) + 4))}) ON CONFLICT DO NOTHING",
        (
            *(getattr(it, name) for name in _COLUMNS), change.key, op_id, blob,
            None if blob is None else made_by(embedder),
        ),
    )  # fmt: skip
    return bool(added)


def _kept_again(
    connection: Connection, change: KeepPassage, op_id: str, embedder: EmbedderRecord | None
) -> KeepPassage | None:
    """Bring back the passage of a turn whose import was taken back; return it as it is, None if there is none."""
    sql = f"UPDATE passages SET op_id = ?, gone_op = NULL, back_op = NULL WHERE dedupe_key = ? AND {_TAKEN_BACK}"  # noqa: S608
    if not connection.run(sql, (op_id, change.key)):
        return None
    back = loaded(connection, connection.value("SELECT id FROM passages WHERE dedupe_key = ?", (change.key,)), embedder)
    return None if back is None else KeepPassage(back[0], change.key, back[1])


def _drop(connection: Connection, change: DropPassage, op_id: str) -> None:
    if change.how != "expired":
        withdraw(connection, change.id)
    if change.how == "purged":
        key = connection.value("SELECT dedupe_key FROM passages WHERE id = ?", (change.id,))
        sync_state.purge_passage(connection, key)
    if change.how == "forgotten":
        sql = "UPDATE passages SET gone_op = ?, back_op = NULL WHERE id = ? AND gone_op IS NULL"
        if not connection.run(sql, (op_id, change.id)):
            raise _not_found(change.id, "known")
    elif not connection.run("DELETE FROM passages WHERE id = ?", (change.id,)) and change.how == "purged":
        raise _not_found(change.id, "known")


def _embed(connection: Connection, change: EmbedPassage, embedder: EmbedderRecord | None) -> bool:
    if embedder is None:
        return False
    it = read(connection, change.id)
    if it is None or it.text != change.text:
        return False
    blob = b"" if change.vectors is None else vector_blob(change.vectors)
    sql = "UPDATE passages SET embedding = ?, embedded_by = ? WHERE id = ? AND gone_op IS NULL"
    return bool(connection.run(sql, (blob, made_by(embedder), change.id)))


def _not_found(passage_id: str, wanted: str) -> MnemonError:
    sentence = f"no {wanted} passage {passage_id[:64]!a}; nothing was written"
    return rejected(NOT_FOUND, sentence, "`mnemonctl recall` shows the ids of those that it finds")


def drop_vectors(connection: Connection, rows: Sequence[Mapping[str, Value]]) -> None:
    """Drop the vectors of passages whose texts will be those of `rows`, where these are others."""
    connection.run_many(
        "UPDATE passages SET embedding = NULL, embedded_by = NULL WHERE id = ? AND (prompt, answer) <> (?, ?)",
        [(row["id"], row["prompt"], row["answer"]) for row in rows],
    )


# Undo.


def undoing(connection: Connection, op_id: str) -> tuple[list[PassageChange], int]:
    """Return the changes that take an operation back, and how many of its passages were changed by another since."""
    kept = connection.column(
        "SELECT id FROM passages WHERE (op_id = ?1 OR back_op = ?1) AND gone_op IS NULL ORDER BY said_at, id", (op_id,)
    )
    gone = connection.column("SELECT id FROM passages WHERE gone_op = ? ORDER BY said_at, id", (op_id,))
    since = connection.count(
        "SELECT count(*) FROM passages WHERE back_op = ?1 AND gone_op IS NOT NULL AND gone_op <> ?1", (op_id,)
    )
    return [*map(DropPassage, kept), *map(RestorePassage, gone)], since


# What must not stay.


def too_old(connection: Connection, now_us: int, keep_days: int, keep_bytes: int, limit: int) -> list[str]:
    """Return passages that were said, and imported, more than `keep_days` ago, and the oldest beyond `keep_bytes` of
    text, at most `limit`; 0 stands for no bound."""
    found: list[str] = []
    if keep_days:
        since = format_us(now_us - keep_days * DAY_US)
        sql = (
            "SELECT id FROM passages AS p WHERE said_at < ?1"
            " AND NOT EXISTS (SELECT 1 FROM imports WHERE op_id = p.op_id AND created_at >= ?1)"
            " ORDER BY said_at, id LIMIT ?2"
        )
        found = connection.column(sql, (since, limit))
    surplus = connection.count(f"SELECT coalesce(sum({_BYTES}), 0) FROM passages") - keep_bytes  # noqa: S608
    if keep_bytes and surplus > 0:
        rows = connection.rows(f"SELECT id, {_BYTES} FROM passages ORDER BY said_at, id LIMIT ?", (limit,))  # noqa: S608
        for passage_id, size in rows:
            if surplus <= 0:
                break
            surplus -= size
            found.append(passage_id)
    return list(dict.fromkeys(found))[:limit]


def purge_texts(connection: Connection, texts: Sequence[str], conversation: str | None) -> None:
    """Remove the texts that a purged memory has and had from every passage that repeats one; from those of the
    conversation that it came from the sentences that say the same in other words, too. A passage that changes loses its
    vectors, and one of which nothing is left goes."""
    if not texts:
        return

    def again(sentence: str) -> bool:
        return any(repeats(sentence, text) for text in texts)

    for number, of, key in connection.rows("SELECT rowid, conversation_id, dedupe_key FROM passages"):
        (said,) = connection.rows("SELECT prompt, answer FROM passages WHERE rowid = ?", (number,))  # texts are long
        left = tuple(without_texts(each, texts) for each in said)
        if conversation and of == conversation:
            left = tuple(without_sentences(each, again) for each in left)
        if not "".join(left).strip():
            connection.run("DELETE FROM passages WHERE rowid = ?", (number,))
            sync_state.purge_passage(connection, key)
        elif left != said:
            sync_state.purge_passage(connection, key, cut=True)
            connection.run(
                "UPDATE passages SET prompt = ?, answer = ?, embedding = NULL, embedded_by = NULL WHERE rowid = ?",
                (*left, number),
            )
