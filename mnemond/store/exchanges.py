"""The `exchanges` table: a queue of turns of conversations, until all of one that is worth remembering is a memory.

A row holds nothing that is a memory already. Its texts are deleted when its facts are known, and each fact in the
transaction that remembers it; so wherever a process ends, the row has exactly what is left to do. A settled row keeps
its key.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from mnemond.errors import NOT_FOUND, rejected
from mnemond.model.changes import (
    FIRST_PAUSE_S,
    KEPT_DAYS,
    MAX_PENDING,
    MAX_SETTLED,
    MAX_TRIES,
    ChangeSet,
    QueuedExchange,
    QueueExchange,
)
from mnemond.model.memory import format_us
from mnemond.store import meta
from mnemond.store.connection import Connection, Value
from mnemond.store.files import damaged
from mnemond.store.rows import TIME, Mapper
from mnemond.text.resources import regex
from mnemond.text.similarity import normalised

MAX_ERROR: Final = 300
"""Characters kept of the reason why an exchange could not be read."""

DROPPED_KEY: Final = "exchanges_let_go"
"""Key in `meta` of the number of exchanges that were dropped unread."""

NEVER_ENDED: Final = "every attempt to read it was interrupted"
MAX_PAUSE_US: Final = FIRST_PAUSE_S * 1_000_000 << MAX_TRIES
KEPT_US: Final = KEPT_DAYS * 86_400 * 1_000_000

MAX_PURGED: Final = 200
"""Memories purged while an exchange waits whose digests are kept; one that sees more is not read."""

MAX_FORMER: Final = 20
"""Texts of one memory, the newest, that are recognised in other spellings as well (case, marks and spaces)."""

_EMPTIED: Final = "prompt = '', reply = ''"
_SETTLED: Final = (
    "state = 'done', not_before = NULL, error = NULL, purged = '', conversation_id = NULL, project = NULL,"
    " user_id = NULL, session_id = NULL, agent_id = NULL"
)
_DONE: Final = f"{_SETTLED}, facts = NULL, {_EMPTIED}"


class PendingExchange(NamedTuple):
    """A row that is pending. `facts`: those still to be written (JSON), None before it was read; `written`: number of
    its facts that are settled; `tries`: attempts that were begun; `purged`: digests of the memories that were purged
    since it was queued."""

    number: int
    id: str
    exchange: QueuedExchange
    tries: int
    written: int
    facts: str | None
    purged: str = ""


_OF_EXCHANGE: Final[dict[str, Any]] = {
    "names": {"at_us": "said_at", "key": "dedupe_key"},
    "codecs": {"at_us": TIME},
    "nullable": ("conversation_id", "project", "user_id", "session_id", "agent_id"),
}
_QUEUED: Final = Mapper(QueuedExchange, **_OF_EXCHANGE)
_PENDING: Final = Mapper(PendingExchange, **_OF_EXCHANGE)
_QUEUE: Final = (
    f"INSERT INTO exchanges(id, queued_at, {_QUEUED.select}) VALUES({_QUEUED.places(2)})"
    " ON CONFLICT(dedupe_key) DO NOTHING"
)


class Backlog(NamedTuple):
    """Pending rows, and those set aside because they could not be read."""

    pending: int
    failed: int


# Queueing.


def is_known(connection: Connection, key: str) -> bool:
    """Return True if there is, or lately was, an exchange with this key."""
    return connection.row("SELECT 1 FROM exchanges WHERE dedupe_key = ?", (key,)) is not None


def apply_queue(connection: Connection, change_set: ChangeSet) -> None:
    """Apply the queue changes of a write, in its transaction. Raises MnemonError(NOT_FOUND), which refuses the write,
    for a fact that does not wait any more."""
    for change in change_set.queue:
        if isinstance(change, QueueExchange):
            enqueue(connection, change.id, change.exchange, change_set.now)
        elif not advance(connection, change.number, change.facts, change.left):
            raise rejected(NOT_FOUND, "this fact of an exchange does not wait any more; nothing was written")


def enqueue(connection: Connection, exchange_id: str, exchange: QueuedExchange, now: str) -> bool:
    """Append an exchange, and drop the oldest beyond MAX_PENDING; return False, appending none, if its key is known."""
    added = connection.run(_QUEUE, (exchange_id, now, *_QUEUED.values(exchange)))
    if added:
        if unread := _only_newest(connection, "state = 'pending'", MAX_PENDING):
            meta.note(connection, [(DROPPED_KEY, str(count_dropped(connection) + unread))])
        _only_newest(connection, "state = 'done'", MAX_SETTLED)
        _only_newest(connection, "state = 'failed'", MAX_SETTLED)
    return bool(added)


def withdraw_imported(connection: Connection, op_id: str) -> None:
    """Delete the exchanges that an import brought, read or not: it is taken back."""
    connection.run("DELETE FROM exchanges WHERE dedupe_key IN (SELECT source FROM imported WHERE op_id = ?)", (op_id,))


def count_dropped(connection: Connection) -> int:
    """Return how many exchanges were ever dropped unread, because too many came after them."""
    text = str(connection.value("SELECT value FROM meta WHERE key = ?", (DROPPED_KEY,)))
    return int(text) if text.isdecimal() else 0


def _only_newest(connection: Connection, which: str, most: int) -> int:
    return connection.run(
        f"DELETE FROM exchanges WHERE {which} AND number <="  # noqa: S608 - constants
        f" (SELECT number FROM exchanges WHERE {which} ORDER BY number DESC LIMIT 1 OFFSET ?)",
        (most,),
    )


# Reading: each step begins and ends in a transaction of its own.


def oldest(connection: Connection, limit: int, after: int = 0, now_us: int | None = None) -> list[PendingExchange]:
    """Return pending exchanges with a larger number than `after`, the oldest first; with `now_us` only those whose
    pause is over. A pause longer than any can be comes from a clock that was wrong, and counts as over."""
    when = "1"
    values: list[Value] = [limit, after]
    if now_us is not None:
        when = "(not_before IS NULL OR not_before <= ?3 OR not_before > ?4)"
        values += [format_us(now_us), format_us(now_us + MAX_PAUSE_US)]
    found = connection.rows(
        f"SELECT {_PENDING.select} FROM exchanges WHERE state = 'pending' AND number > ?2 AND {when}"  # noqa: S608 - constants
        " ORDER BY number LIMIT ?1",
        values,
    )
    return [_PENDING.read(row) for row in found]


def begin(connection: Connection, number: int) -> bool:
    """Count an attempt before it is made. After MAX_TRIES that never ended, set the exchange aside, return False."""
    tried = connection.run(
        "UPDATE exchanges SET tries = tries + 1 WHERE number = ? AND state = 'pending' AND tries < ?",
        (number, MAX_TRIES),
    )
    if not tried:
        _set_aside(connection, number, NEVER_ENDED)
    return bool(tried)


_AS_READ: Final = "number = ? AND state = 'pending' AND facts IS NULL AND prompt = ? AND reply = ? AND purged = ?"


def _as_read(waiting: PendingExchange) -> tuple[Value, ...]:
    return waiting.number, waiting.exchange.prompt, waiting.exchange.reply, waiting.purged


def is_as_read(connection: Connection, waiting: PendingExchange) -> bool:
    """Return False if the texts of an exchange are not those that were read, because something was purged meanwhile."""
    return connection.row(f"SELECT 1 FROM exchanges WHERE {_AS_READ}", _as_read(waiting)) is not None  # noqa: S608


def plan(connection: Connection, waiting: PendingExchange, facts: str) -> bool:
    """Replace the texts of an exchange that was read by its facts (JSON); attempts are counted anew. Return False,
    changing nothing, if its texts are not those that were read, because something was purged meanwhile."""
    return bool(
        connection.run(
            f"UPDATE exchanges SET facts = ?, tries = 1, error = NULL, {_EMPTIED} WHERE {_AS_READ}",  # noqa: S608
            (facts, *_as_read(waiting)),
        )
    )


def advance(connection: Connection, number: int, facts: str, left: str | None) -> bool:
    """Settle the first of its `facts`; `left` are those still to be written (both JSON), None if it is done. Return
    False, changing nothing, if `facts` are not those that still wait."""
    state = f"{_SETTLED}," if left is None else ""
    return bool(
        connection.run(
            f"UPDATE exchanges SET {state} written = written + 1, facts = ?"  # noqa: S608 - constants
            " WHERE number = ? AND facts = ? AND state = 'pending'",
            (left, number, facts),
        )
    )


def finish(connection: Connection, number: int) -> None:
    """Settle an exchange of which nothing is left to remember."""
    connection.run(
        f"UPDATE exchanges SET {_DONE} WHERE number = ? AND state = 'pending'",  # noqa: S608 - constants
        (number,),
    )


def withdraw(connection: Connection, exchange_id: str) -> None:
    """Settle an exchange by its id, whether it waits or was set aside, since its passage is gone. Its key stays."""
    connection.run(f"UPDATE exchanges SET {_DONE} WHERE id = ? AND state <> 'done'", (exchange_id,))  # noqa: S608


def fail(connection: Connection, number: int, why: str, now_us: int) -> None:
    """Note a failed attempt: the next one is made after a pause; after MAX_TRIES the exchange is set aside. `why` must
    not contain its text."""
    tries = connection.value("SELECT tries FROM exchanges WHERE number = ? AND state = 'pending'", (number,))
    if tries is None:
        return
    if tries >= MAX_TRIES:
        _set_aside(connection, number, why)
        return
    pause_us = FIRST_PAUSE_S * 1_000_000 << max(0, tries - 1)
    connection.run(
        "UPDATE exchanges SET error = ?, not_before = ? WHERE number = ?",
        (why[:MAX_ERROR], format_us(now_us + pause_us), number),
    )


def _set_aside(connection: Connection, number: int, why: str) -> None:
    connection.run(
        "UPDATE exchanges SET state = 'failed', error = ?, not_before = NULL WHERE number = ? AND state = 'pending'",
        (why[:MAX_ERROR], number),
    )


def revive(connection: Connection) -> int:
    """Make all that were set aside pending again, with no attempts; return their number."""
    return connection.run("UPDATE exchanges SET state = 'pending', tries = 0, not_before = NULL WHERE state = 'failed'")


def backlog(connection: Connection) -> Backlog:
    row = connection.row(
        "SELECT coalesce(sum(state = 'pending'), 0), coalesce(sum(state = 'failed'), 0) FROM exchanges"
        " WHERE state <> 'done'"
    )
    return Backlog(0, 0) if row is None else Backlog(*row)


def count_queued_before(connection: Connection, before_us: int) -> int:
    """Count the pending exchanges that were queued before a time (microseconds)."""
    return connection.count(
        "SELECT count(*) FROM exchanges WHERE state = 'pending' AND queued_at < ?", (format_us(before_us),)
    )


def last_error(connection: Connection) -> str | None:
    """Return the reason why the last exchange with a failed attempt could not be read, or None."""
    error: str | None = connection.value(
        "SELECT error FROM exchanges WHERE error IS NOT NULL ORDER BY number DESC LIMIT 1"
    )
    return error


def count_expired(connection: Connection, now_us: int) -> int:
    before = format_us(now_us - KEPT_US)
    return connection.count("SELECT count(*) FROM exchanges WHERE state <> 'pending' AND queued_at < ?", (before,))


def expire(connection: Connection, now_us: int) -> int:
    """Delete what was queued longer than KEPT_DAYS ago and is not pending; return the number."""
    before = format_us(now_us - KEPT_US)
    return connection.run("DELETE FROM exchanges WHERE state <> 'pending' AND queued_at < ?", (before,))


# Purging the texts of memories from the queue.


def digest(text: str) -> str:
    """Return a digest that recognises a text which must not be kept; texts that differ in case or spaces are equal."""
    return hashlib.blake2b(normalised(text).encode("utf-8", "replace"), digest_size=16).hexdigest()


def parse_digests(purged: str) -> frozenset[str]:
    """Parse the column `purged`: the digests of each memory separated by commas, with a space after each memory."""
    return frozenset(purged.replace(",", " ").split())


def purge(connection: Connection, texts: Sequence[str]) -> None:
    """Remove the texts that a memory has and had, newest first, from exchanges that wait or were set aside.

    An exchange that repeats one loses it, facts that repeat one are deleted, and of exchanges not read yet the digests
    are noted, so that reading one does not find it again in another spelling. Raises MnemonError(STORAGE) for a damaged
    row.
    """
    if not texts:
        return
    for (number,) in connection.rows("SELECT number FROM exchanges WHERE prompt <> '' OR reply <> ''"):
        (said,) = connection.rows("SELECT prompt, reply FROM exchanges WHERE number = ?", (number,))  # texts are long
        left = tuple(without_texts(each, texts) for each in said)
        if left != said:
            connection.run("UPDATE exchanges SET prompt = ?, reply = ? WHERE number = ?", (*left, number))
    own = list(dict.fromkeys(map(digest, texts[:MAX_FORMER])))
    for number, facts in connection.rows("SELECT number, facts FROM exchanges WHERE facts IS NOT NULL"):
        found = _facts(facts)
        kept = [each for each in found if _digest_of(each) not in own and not _repeats(_all_texts(each), texts)]
        if len(kept) < len(found):
            left_facts = msgspec.json.encode(kept).decode()
            connection.run("UPDATE exchanges SET facts = ? WHERE number = ?", (left_facts, number))
    re.purge()  # its cache keeps each text as a pattern
    waits = "state <> 'done' AND facts IS NULL"
    memories = "length(purged) - length(replace(purged, ' ', ''))"
    connection.run(f"UPDATE exchanges SET {_DONE} WHERE {waits} AND {memories} >= ?", (MAX_PURGED,))  # noqa: S608
    connection.run(f"UPDATE exchanges SET purged = purged || ? WHERE {waits}", (f"{','.join(own)} ",))  # noqa: S608


MAX_UNSPACED_WORD: Final = 4
"""Characters of the longest single word in a script without spaces between words; a longer text is a phrase."""

_UNSPACED: Final = "\u0e00-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Thai to Burmese, Khmer, Kana and Han; of Hangul only the single letters, since it has spaces."""

_SPACED: Final = "[0-9A-Za-z_\u00c0-\u058f\u10a0-\u10ff\u1c90-\u1cbf\u1e00-\u1fff\u2c00-\u2dff]"
"""Letters of scripts with word boundaries: Latin, Greek, Cyrillic, Armenian, Georgian. In others, other words of the
sentence may be attached."""

_STOP: Final = "[.!?。！？]"
_IN_UNSPACED: Final = regex(f"[{_UNSPACED}]")


def without_texts(said: str, texts: Sequence[str]) -> str:
    """Return what was said without the sentences that repeat one of these texts."""
    for text in texts:
        if text in said:
            said = _occurrences(text).sub("", said)
    return said


def _repeats(said: str, texts: Sequence[str]) -> bool:
    return any(text in said and _occurrences(text).search(said) is not None for text in texts)


def _occurrences(text: str) -> re.Pattern[str]:
    """Match a text, but not as a part of longer words. A single word ("Rust") is common, so it is matched only as a
    whole sentence; one with a digit may be a number or a name that nothing else has."""
    exact = re.escape(text)
    if text.isalpha() and (len(text) <= MAX_UNSPACED_WORD or _IN_UNSPACED.search(text) is None):
        return re.compile(rf"(?m)(?:^|(?<={_STOP}))[^\S\n]*{exact}(?:{_STOP}+|[^\S\n]*$)")
    before = f"(?<!{_SPACED})" if re.match(_SPACED, text[0]) else ""
    after = f"(?!{_SPACED})" if re.match(_SPACED, text[-1]) else ""
    return re.compile(before + exact + after)


def _facts(text: str) -> list[object]:
    try:
        return msgspec.json.decode(text, type=list[object])
    except msgspec.MsgspecError as error:
        raise damaged("an exchange that waits to be read", error) from error


def _digest_of(fact: object) -> str:
    content = fact.get("content") if isinstance(fact, dict) else None
    return digest(content) if isinstance(content, str) else ""


def _all_texts(value: object) -> str:
    if isinstance(value, dict):
        return "\n".join(map(_all_texts, value.values()))
    if isinstance(value, list):
        return "\n".join(map(_all_texts, value))
    return value if isinstance(value, str) else ""
