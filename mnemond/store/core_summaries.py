"""The table `core_summaries`: versions of what is known of each user. Versions are added and taken back, each with the
operation that did it, so the table is its own audit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import msgspec

from mnemond.model.core import BY_HAND, RULES, CoreLine, CoreScore, CoreSummary, ExpireCore, PutCore, ids_of, joined
from mnemond.store.connection import Connection
from mnemond.store.rows import Mapper
from mnemond.text.similarity import normalised, overlap, token_set

MAX_VERSIONS: Final = 100
"""Versions kept of one user, the newest: with every ten memories those of the last thousand."""

MAX_USERS: Final = 1_000
"""Users of a store that have a core summary, each some 10 KB of memory: the current ones are kept there."""

SAME: Final = 0.6
"""Share of the words of the shorter of two texts that are in the other, from which a line goes with a purged memory."""

ROWS: Final = Mapper(CoreSummary, nullable=("scores",))
_PUT: Final = Mapper(PutCore)
_json: Final = msgspec.json.Encoder()
_lines: Final = msgspec.json.Decoder(tuple[CoreLine, ...])
_scores: Final = msgspec.json.Decoder(tuple[CoreScore, ...])

read_lines = _lines.decode
read_scores = _scores.decode
"""Decode stored lines and scores. Raise msgspec.MsgspecError."""


# Reading.


def current(connection: Connection, entity_ids: Collection[str] | None = None) -> dict[str, CoreSummary]:
    """Return the version that counts of each user, or of these, by the id of the user's row."""
    sql = (
        f"SELECT {ROWS.select} FROM core_summaries AS c WHERE expired_at IS NULL AND version ="  # noqa: S608 - constants
        " (SELECT max(version) FROM core_summaries WHERE entity_id = c.entity_id AND expired_at IS NULL)"
    )
    if entity_ids is None:
        rows = connection.rows(f"{sql} ORDER BY id DESC LIMIT ?", (MAX_USERS,))
    else:
        rows = [row for each in entity_ids for row in connection.rows(f"{sql} AND entity_id = ?", (each,))]
    return {it.entity_id: it for row in rows if (it := readable(row)) is not None}


def versions(connection: Connection, entity_id: str, limit: int) -> list[CoreSummary]:
    """Return the versions of a user, the newest first, also those that were taken back."""
    rows = connection.rows(
        f"SELECT {ROWS.select} FROM core_summaries WHERE entity_id = ? ORDER BY version DESC LIMIT ?",  # noqa: S608
        (entity_id, limit),
    )
    return [it for row in rows if (it := readable(row)) is not None]


def version(connection: Connection, entity_id: str, number: int) -> CoreSummary | None:
    """Return a version of a user, also one that was taken back."""
    row = connection.row(
        f"SELECT {ROWS.select} FROM core_summaries WHERE entity_id = ? AND version = ?",  # noqa: S608 - constants
        (entity_id, number),
    )
    return None if row is None else readable(row)


def readable(row: Sequence[Any]) -> CoreSummary | None:
    """Return a version; None for one that cannot be read, which verification finds. One that another program wrote has
    no lines: its text stands in their place."""
    try:
        return ROWS.read(row)
    except msgspec.MsgspecError:
        return None


def last_number(connection: Connection) -> int:
    """Return the number of the last memory of a store, 0 without any."""
    return connection.count("SELECT coalesce(max(number), 0) FROM insights")


def count_new(connection: Connection, seen: Mapping[str | None, int]) -> dict[str | None, int]:
    """Count the active memories of each user (None: without a user id) behind the one with the number that is given
    for it, which a core summary may rest on. Reads the memories once: for a thread of the store."""
    named = _encoded({user: upto for user, upto in seen.items() if user is not None})
    rows = connection.rows(
        "SELECT i.user_id, count(*) FROM insights AS i LEFT JOIN json_each(?1) AS seen ON seen.key = i.user_id"
        " WHERE i.number > coalesce(seen.value, iif(i.user_id IS NULL, ?2, 0)) AND i.status = 'active'"
        " AND i.memory_type = 'memory' AND i.quarantined = 0 AND i.session_id IS NULL AND i.agent_id IS NULL"
        " GROUP BY i.user_id",
        (named, seen.get(None, 0)),
    )
    return {user: count for user, count in rows if user in seen}


def boosted(connection: Connection) -> dict[str, int]:
    """Return how many links of each memory pairing boosted, for memories with any."""
    return dict(
        connection.rows(
            "SELECT i.id, count(*) FROM insights AS i JOIN edge_rows AS e ON e.source = i.number"
            " WHERE i.boost_days > 0 AND i.status = 'active' AND e.boost_days > 0 GROUP BY i.number"
        )
    )


# Writing.


def apply(connection: Connection, change: PutCore | ExpireCore, op_id: str, now: str) -> None:
    """Add a version, and drop the oldest beyond MAX_VERSIONS; or take one back."""
    if isinstance(change, ExpireCore):
        connection.run(
            "UPDATE core_summaries SET expired_op = ?, expired_at = ? WHERE id = ? AND expired_at IS NULL",
            (op_id, now, change.id),
        )
        return
    connection.run(
        f"INSERT INTO core_summaries({_PUT.select}, node_ids, op_id, created_at, version)"  # noqa: S608 - names only
        f" SELECT {_PUT.places(3)}, coalesce(max(version), 0) + 1 FROM core_summaries WHERE entity_id = ?",
        (*_PUT.values(change), _encoded(ids_of(change.lines)), op_id, now, change.entity_id),
    )
    connection.run(
        "DELETE FROM core_summaries WHERE entity_id = ?1 AND version <="
        " (SELECT max(version) FROM core_summaries WHERE entity_id = ?1) - ?2",
        (change.entity_id, MAX_VERSIONS),
    )


def considered(connection: Connection, entity_id: str, upto: int) -> None:
    """Note that the current version of a user holds for the memories up to a number as well."""
    connection.run(
        "UPDATE core_summaries SET upto = ?2 WHERE entity_id = ?1 AND expired_at IS NULL AND version ="
        " (SELECT max(version) FROM core_summaries WHERE entity_id = ?1 AND expired_at IS NULL)",
        (entity_id, upto),
    )


def _encoded(value: object) -> str:
    return _json.encode(value).decode()


# Purging.


def purge(connection: Connection, insight_id: str, contents: Sequence[str]) -> None:
    """Remove a memory from every version: the lines that rest on it, that share their words with one of its texts, and
    those without a source, which may have its words in any form. Where a model wrote, the lines that are left take the
    place of its text."""
    texts = [(normalised(each), token_set(each)) for each in contents]
    for row in connection.rows(f"SELECT {ROWS.select} FROM core_summaries ORDER BY id"):  # noqa: S608 - constants
        it = readable(row)
        if it is None:
            connection.run("DELETE FROM core_summaries WHERE id = ?", (row[ROWS.columns.index("id")],))
            continue
        kept = tuple(line for line in it.lines if not _is_of(line, insight_id, texts))
        scores = tuple(score for score in it.scores if score.id != insight_id)
        untouched = (len(kept), len(scores)) == (len(it.lines), len(it.scores)) and bool(it.lines)
        if untouched and not any(_says(each, texts) for each in it.text.split("\n")):
            continue
        connection.run(
            "UPDATE core_summaries SET text = ?, node_ids = ?, lines = ?, scores = ?, generator = ? WHERE id = ?",
            (joined(kept), _encoded(ids_of(kept)), _encoded(kept), _encoded(scores),
             BY_HAND if it.generator == BY_HAND else RULES, it.id),
        )  # fmt: skip
    connection.run(
        "DELETE FROM core_summaries WHERE lines = '[]'"
        " AND entity_id IN (SELECT id FROM entities WHERE entity_type <> 'user')"
    )  # of another program, about a thing that no memory may name any more


def _is_of(line: CoreLine, insight_id: str, texts: Sequence[tuple[str, frozenset[str]]]) -> bool:
    return not line.sources or any(source.id == insight_id for source in line.sources) or _says(line.text, texts)


def _says(said: str, texts: Sequence[tuple[str, frozenset[str]]]) -> bool:
    """Return True if a line says what one of these texts (normalised, and its words) says, as far as words show it."""
    plain, words = normalised(said), token_set(said)
    for text, others in texts:
        shared = overlap(words, others)
        if (text and text in plain) or (shared.shared > 1 and max(shared.of_old, shared.of_new) >= SAME):
            return True
    return False
