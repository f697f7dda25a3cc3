"""The `exchanges` table: a queue of what was said, until all of it that is worth remembering is a memory.

A row holds nothing that is a memory already. Its texts go when its facts are known, and each fact in the transaction
that remembers it; so wherever a process ends, the row says exactly what is left to do. What is done keeps its key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, cast

import msgspec

from mnemond.errors import NOT_FOUND, MnemonError
from mnemond.model.changes import ChangeSet, QueueExchange
from mnemond.model.queued_exchange import KEPT_DAYS, MOST_PENDING, MOST_SETTLED, ExchangeKind, QueuedExchange
from mnemond.model.timestamp import format_us, parse_rfc3339
from mnemond.store.connection import Connection

LONGEST_ERROR: Final = 300
"""Characters kept of why an exchange could not be read."""

KEPT_US: Final = KEPT_DAYS * 86_400 * 1_000_000

_COLUMNS: Final = (
    "number, id, kind, tries, written, said_at, host, conversation_id, project, facts, prompt, reply, dedupe_key"
)
_EMPTIED: Final = "prompt = '', reply = ''"


class Waiting(NamedTuple):
    """A row that is pending. `facts`: what of it is still to be written, None before it was read; `written`: how many
    of its facts were settled before; `tries`: how often somebody began with it."""

    number: int
    id: str
    exchange: QueuedExchange
    tries: int
    written: int
    facts: str | None


class Backlog(NamedTuple):
    """How many wait, and how many were set aside because they could not be read."""

    pending: int
    failed: int


def is_known(connection: Connection, key: str) -> bool:
    """Whether there is, or lately was, an exchange with this key."""
    return connection.row("SELECT 1 FROM exchanges WHERE dedupe_key = ?", (key,)) is not None


def carry_out(connection: Connection, change_set: ChangeSet) -> None:
    """What a write wants of the queue, in its transaction. Raises MnemonError(NOT_FOUND), the write being refused, for
    a fact that does not wait any more."""
    for change in change_set.queue:
        if isinstance(change, QueueExchange):
            append(connection, change.id, change.exchange, change_set.now)
        elif not advance(connection, change.number, change.facts, change.left):
            raise MnemonError(
                NOT_FOUND, "this fact of an exchange does not wait any more; nothing was written", outcome="rejected"
            )


def append(connection: Connection, exchange_id: str, exchange: QueuedExchange, now: str) -> bool:
    """Put one at the end, and let go of the oldest of those that are too many; False, and nothing, where its key is
    known. Its texts are as they may be stored."""
    added = connection.run(
        "INSERT INTO exchanges(id, dedupe_key, kind, queued_at, said_at, host, conversation_id, project, prompt, reply)"
        " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(dedupe_key) DO NOTHING",
        (
            exchange_id, exchange.key, exchange.kind, now, format_us(exchange.at_us), exchange.host,
            exchange.conversation_id or None, exchange.project or None, exchange.prompt, exchange.reply,
        ),
    )  # fmt: skip
    if added:
        _only_newest(connection, "state = 'pending'", MOST_PENDING)
        _only_newest(connection, "state <> 'pending'", MOST_SETTLED)
    return bool(added)


def _only_newest(connection: Connection, which: str, most: int) -> int:
    return connection.run(
        f"DELETE FROM exchanges WHERE {which} AND number <="  # noqa: S608 - conditions of ours
        f" (SELECT number FROM exchanges WHERE {which} ORDER BY number DESC LIMIT 1 OFFSET ?)",
        (most,),
    )


def oldest(connection: Connection, limit: int, now_us: int | None = None) -> list[Waiting]:
    """Pending ones, the oldest first; at `now_us` those alone that are not to be tried later, None for all."""
    when = "1" if now_us is None else "(not_before IS NULL OR not_before <= ?2)"
    values = (limit,) if now_us is None else (limit, format_us(now_us))
    found = connection.rows(
        f"SELECT {_COLUMNS} FROM exchanges WHERE state = 'pending' AND {when} ORDER BY number LIMIT ?1",  # noqa: S608
        values,
    )
    return [_waiting(row) for row in found]


def _waiting(row: Sequence[Any]) -> Waiting:
    number, id_, kind, tries, written, said_at, host, conversation, project, facts, prompt, reply, key = row
    exchange = QueuedExchange(
        host=host, at_us=parse_rfc3339(said_at), conversation_id=conversation or "", project=project or "",
        prompt=prompt, reply=reply, kind=cast("ExchangeKind", kind), key=key,
    )  # fmt: skip
    return Waiting(number, id_, exchange, tries, written, facts)


def begin(connection: Connection, number: int) -> None:
    """Somebody begins with it: counted before anything is done, so that one which ends the process is not tried for
    ever."""
    connection.run("UPDATE exchanges SET tries = tries + 1 WHERE number = ?", (number,))


def plan(connection: Connection, waiting: Waiting, facts: str) -> bool:
    """It was read: these are its facts (JSON). What it said goes; writing them is tried as often as reading was. False,
    and nothing, where it does not say any more what was read: something was purged meanwhile."""
    return bool(
        connection.run(
            f"UPDATE exchanges SET facts = ?, tries = 1, error = NULL, {_EMPTIED}"  # noqa: S608 - words of ours
            " WHERE number = ? AND state = 'pending' AND facts IS NULL AND prompt = ? AND reply = ?",
            (facts, waiting.number, waiting.exchange.prompt, waiting.exchange.reply),
        )
    )


def advance(connection: Connection, number: int, facts: str, left: str | None) -> bool:
    """The first of its `facts` is settled, and `left` are those still to be written (both JSON); None: there is none,
    it is done. False, and nothing, where `facts` is not what it still waits for."""
    state = "state = 'done', not_before = NULL, error = NULL," if left is None else ""
    return bool(
        connection.run(
            f"UPDATE exchanges SET {state} written = written + 1, facts = ?"  # noqa: S608 - words of ours
            " WHERE number = ? AND facts = ? AND state = 'pending'",
            (left, number, facts),
        )
    )


def finish(connection: Connection, number: int) -> None:
    """Nothing of it is worth remembering, or all of it is remembered."""
    connection.run(
        f"UPDATE exchanges SET state = 'done', facts = NULL, not_before = NULL, error = NULL, {_EMPTIED}"  # noqa: S608
        " WHERE number = ? AND state = 'pending'",
        (number,),
    )


def fail(connection: Connection, number: int, why: str, not_before_us: int | None) -> None:
    """It could not be read or written; tried again at a time (microseconds), or, None, set aside. `why` is no text of
    it."""
    connection.run(
        "UPDATE exchanges SET error = ?, not_before = ?, state = CASE WHEN ?2 IS NULL THEN 'failed' ELSE state END"
        " WHERE number = ?3 AND state = 'pending'",
        (why[:LONGEST_ERROR], None if not_before_us is None else format_us(not_before_us), number),
    )


def backlog(connection: Connection) -> Backlog:
    """What is left to do."""
    row = connection.row(
        "SELECT coalesce(sum(state = 'pending'), 0), coalesce(sum(state = 'failed'), 0) FROM exchanges"
        " WHERE state <> 'done'"
    )
    return Backlog(0, 0) if row is None else Backlog(*row)


def expire(connection: Connection, now_us: int) -> int:
    """Let go of what was queued longer than KEPT_DAYS ago and is not pending; how many."""
    before = format_us(now_us - KEPT_US)
    return connection.run("DELETE FROM exchanges WHERE state <> 'pending' AND queued_at < ?", (before,))


def purge(connection: Connection, text: str) -> None:
    """Take the text of a memory out of whatever waits or was set aside: an exchange that says it again is left without
    it, and facts that say it go."""
    for column in ("prompt", "reply"):
        connection.run(
            f"UPDATE exchanges SET {column} = replace({column}, ?1, '') WHERE instr({column}, ?1)",  # noqa: S608
            (text,),
        )
    rows = connection.rows("SELECT number, facts FROM exchanges WHERE facts IS NOT NULL")
    for number, facts in rows:
        kept = [each for each in _facts(facts) if text not in _texts(each)]
        if len(kept) < len(_facts(facts)):
            connection.run(
                "UPDATE exchanges SET facts = ? WHERE number = ?", (msgspec.json.encode(kept).decode(), number)
            )


def _facts(text: str) -> list[object]:
    return msgspec.json.decode(text, type=list[object])


def _texts(value: object) -> str:
    """Every text in a value, one after another."""
    if isinstance(value, dict):
        return "\n".join(map(_texts, value.values()))
    if isinstance(value, list):
        return "\n".join(map(_texts, value))
    return value if isinstance(value, str) else ""
