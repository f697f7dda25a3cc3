"""The `exchanges` table: a queue of what was said, until all of it that is worth remembering is a memory.

A row holds nothing that is a memory already. Its texts go when its facts are known, and each fact in the transaction
that remembers it; so wherever a process ends, the row says exactly what is left to do. What is done keeps its key.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, cast

import msgspec

from mnemond.errors import NOT_FOUND, MnemonError
from mnemond.model.changes import (
    FIRST_PAUSE_S,
    KEPT_DAYS,
    MAX_PENDING,
    MAX_SETTLED,
    MAX_TRIES,
    ChangeSet,
    ExchangeKind,
    QueuedExchange,
    QueueExchange,
)
from mnemond.model.memory import format_us, parse_rfc3339
from mnemond.store import meta
from mnemond.store.connection import Connection, Value
from mnemond.store.files import damaged
from mnemond.text.similarity import normalised

LONGEST_ERROR: Final = 300
"""Characters kept of why an exchange could not be read."""

LET_GO: Final = "exchanges_let_go"
"""The key of the store's count of exchanges that nobody read."""

NEVER_ENDED: Final = "whoever read it never came to an end"
LONGEST_PAUSE_US: Final = FIRST_PAUSE_S * 1_000_000 << MAX_TRIES
KEPT_US: Final = KEPT_DAYS * 86_400 * 1_000_000

_COLUMNS: Final = (
    "number, id, kind, tries, written, said_at, host, conversation_id, project, facts, prompt, reply, dedupe_key,"
    " purged"
)
_EMPTIED: Final = "prompt = '', reply = ''"
_SETTLED: Final = "state = 'done', not_before = NULL, error = NULL, purged = '', conversation_id = NULL, project = NULL"
_DONE: Final = f"{_SETTLED}, facts = NULL, {_EMPTIED}"

MAX_PURGED: Final = 200
"""Memories that are known to have been purged while an exchange waited; one that saw more goes unread."""

MAX_FORMER: Final = 20
"""Texts of one memory, the newest, that are known in other words as well (other case, marks and spaces)."""


class Waiting(NamedTuple):
    """A row that is pending. `facts`: what of it is still to be written, None before it was read; `written`: how many
    of its facts were settled before; `tries`: how often somebody began with it; `purged`: digests of the memories that
    were purged since it was queued."""

    number: int
    id: str
    exchange: QueuedExchange
    tries: int
    written: int
    facts: str | None
    purged: str = ""


class Backlog(NamedTuple):
    """How many wait, and how many were set aside because they could not be read."""

    pending: int
    failed: int


def is_known(connection: Connection, key: str) -> bool:
    """Whether there is, or lately was, an exchange with this key."""
    return connection.row("SELECT 1 FROM exchanges WHERE dedupe_key = ?", (key,)) is not None


def run(connection: Connection, change_set: ChangeSet) -> None:
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
        if unread := _only_newest(connection, "state = 'pending'", MAX_PENDING):
            meta.note(connection, [(LET_GO, str(let_go(connection) + unread))])
        _only_newest(connection, "state = 'done'", MAX_SETTLED)
        _only_newest(connection, "state = 'failed'", MAX_SETTLED)
    return bool(added)


def let_go(connection: Connection) -> int:
    """How many were let go of unread, ever, because too many came after them."""
    row = connection.row("SELECT value FROM meta WHERE key = ?", (LET_GO,))
    return 0 if row is None or not str(row[0]).isdecimal() else int(row[0])


def _only_newest(connection: Connection, which: str, most: int) -> int:
    return connection.run(
        f"DELETE FROM exchanges WHERE {which} AND number <="  # noqa: S608 - conditions of ours
        f" (SELECT number FROM exchanges WHERE {which} ORDER BY number DESC LIMIT 1 OFFSET ?)",
        (most,),
    )


def oldest(connection: Connection, limit: int, after: int = 0, now_us: int | None = None) -> list[Waiting]:
    """Pending ones with a larger number than `after`, the oldest first; at `now_us` those alone that are not to be
    tried later, None for all. One that is to wait for longer than any pause was put off by a clock that was wrong."""
    when = "1"
    values: list[Value] = [limit, after]
    if now_us is not None:
        when = "(not_before IS NULL OR not_before <= ?3 OR not_before > ?4)"
        values += [format_us(now_us), format_us(now_us + LONGEST_PAUSE_US)]
    found = connection.rows(
        f"SELECT {_COLUMNS} FROM exchanges WHERE state = 'pending' AND number > ?2 AND {when}"  # noqa: S608 - ours
        " ORDER BY number LIMIT ?1",
        values,
    )
    return [_waiting(row) for row in found]


def _waiting(row: Sequence[Any]) -> Waiting:
    number, id_, kind, tries, written, said_at, host, conversation, project, facts, prompt, reply, key, purged = row
    exchange = QueuedExchange(
        host=host, at_us=parse_rfc3339(said_at), conversation_id=conversation or "", project=project or "",
        prompt=prompt, reply=reply, kind=cast("ExchangeKind", kind), key=key,
    )  # fmt: skip
    return Waiting(number, id_, exchange, tries, written, facts, purged)


def begin(connection: Connection, number: int) -> bool:
    """Somebody begins with it: counted before anything is done. One that was begun too often, and never ended, is set
    aside: False."""
    tried = connection.run(
        "UPDATE exchanges SET tries = tries + 1 WHERE number = ? AND state = 'pending' AND tries < ?",
        (number, MAX_TRIES),
    )
    if not tried:
        _set_aside(connection, number, NEVER_ENDED)
    return bool(tried)


def plan(connection: Connection, waiting: Waiting, facts: str) -> bool:
    """It was read: these are its facts (JSON). What it said goes; writing them is tried as often as reading was. False,
    and nothing, where it does not say any more what was read: something was purged meanwhile."""
    return bool(
        connection.run(
            f"UPDATE exchanges SET facts = ?, tries = 1, error = NULL, {_EMPTIED}"  # noqa: S608 - words of ours
            " WHERE number = ? AND state = 'pending' AND facts IS NULL AND prompt = ? AND reply = ? AND purged = ?",
            (facts, waiting.number, waiting.exchange.prompt, waiting.exchange.reply, waiting.purged),
        )
    )


def advance(connection: Connection, number: int, facts: str, left: str | None) -> bool:
    """The first of its `facts` is settled, and `left` are those still to be written (both JSON); None: there is none,
    it is done. False, and nothing, where `facts` is not what it still waits for."""
    state = f"{_SETTLED}," if left is None else ""
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
        f"UPDATE exchanges SET {_DONE} WHERE number = ? AND state = 'pending'",  # noqa: S608 - words of ours
        (number,),
    )


def fail(connection: Connection, number: int, why: str, now_us: int) -> None:
    """It could not be read or written this time: it is tried again after a pause, or, when it was tried often enough,
    set aside. `why` is no text of it."""
    row = connection.row("SELECT tries FROM exchanges WHERE number = ? AND state = 'pending'", (number,))
    if row is None:
        return
    if row[0] >= MAX_TRIES:
        _set_aside(connection, number, why)
        return
    pause_us = FIRST_PAUSE_S * 1_000_000 << max(0, row[0] - 1)
    connection.run(
        "UPDATE exchanges SET error = ?, not_before = ? WHERE number = ?",
        (why[:LONGEST_ERROR], format_us(now_us + pause_us), number),
    )


def _set_aside(connection: Connection, number: int, why: str) -> None:
    connection.run(
        "UPDATE exchanges SET state = 'failed', error = ?, not_before = NULL WHERE number = ? AND state = 'pending'",
        (why[:LONGEST_ERROR], number),
    )


def revive(connection: Connection) -> int:
    """What was set aside is pending again, and its tries are counted anew; how many."""
    return connection.run("UPDATE exchanges SET state = 'pending', tries = 0, not_before = NULL WHERE state = 'failed'")


def backlog(connection: Connection) -> Backlog:
    """What is left to do."""
    row = connection.row(
        "SELECT coalesce(sum(state = 'pending'), 0), coalesce(sum(state = 'failed'), 0) FROM exchanges"
        " WHERE state <> 'done'"
    )
    return Backlog(0, 0) if row is None else Backlog(*row)


def count_queued_before(connection: Connection, before_us: int) -> int:
    """How many are pending that were queued before a time (microseconds)."""
    row = connection.row(
        "SELECT count(*) FROM exchanges WHERE state = 'pending' AND queued_at < ?", (format_us(before_us),)
    )
    return 0 if row is None else int(row[0])


def last_error(connection: Connection) -> str | None:
    """Why the last one that could not be read could not, or None."""
    row = connection.row("SELECT error FROM exchanges WHERE error IS NOT NULL ORDER BY number DESC LIMIT 1")
    return None if row is None else str(row[0])


def count_expired(connection: Connection, now_us: int) -> int:
    """How many `expire` would let go of."""
    row = connection.row(
        "SELECT count(*) FROM exchanges WHERE state <> 'pending' AND queued_at < ?", (_before(now_us),)
    )
    return 0 if row is None else int(row[0])


def expire(connection: Connection, now_us: int) -> int:
    """Let go of what was queued longer than KEPT_DAYS ago and is not pending; how many."""
    return connection.run("DELETE FROM exchanges WHERE state <> 'pending' AND queued_at < ?", (_before(now_us),))


def _before(now_us: int) -> str:
    return format_us(now_us - KEPT_US)


def digest(text: str) -> str:
    """By which a text is known that must not be kept: the same for texts that differ in case and spaces alone."""
    return hashlib.blake2b(normalised(text).encode("utf-8", "replace"), digest_size=16).hexdigest()


def purge(connection: Connection, texts: Sequence[str]) -> None:
    """Take the texts that a memory has and had, newest first, out of whatever waits or was set aside: an exchange that
    says one again is left without it, facts that say one go, and what is still to be read is told not to find one anew,
    in whatever words it was said. Raises MnemonError(STORAGE) for a damaged row."""
    if not texts:
        return
    for (number,) in connection.rows("SELECT number FROM exchanges WHERE prompt <> '' OR reply <> ''"):
        _take_out(connection, number, texts)
    own = list(dict.fromkeys(map(digest, texts[:MAX_FORMER])))
    for number, facts in connection.rows("SELECT number, facts FROM exchanges WHERE facts IS NOT NULL"):
        found = _facts(facts)
        kept = [each for each in found if _digest_of(each) not in own and not _says(_texts(each), texts)]
        if len(kept) < len(found):
            left_facts = msgspec.json.encode(kept).decode()
            connection.run("UPDATE exchanges SET facts = ? WHERE number = ?", (left_facts, number))
    re.purge()  # whose cache keeps each text as a pattern
    waits = "state <> 'done' AND facts IS NULL"
    memories = "length(purged) - length(replace(purged, ' ', ''))"
    connection.run(f"UPDATE exchanges SET {_DONE} WHERE {waits} AND {memories} >= ?", (MAX_PURGED,))  # noqa: S608
    connection.run(f"UPDATE exchanges SET purged = purged || ? WHERE {waits}", (f"{','.join(own)} ",))  # noqa: S608


def _take_out(connection: Connection, number: int, texts: Sequence[str]) -> None:
    (told,) = connection.rows("SELECT prompt, reply FROM exchanges WHERE number = ?", (number,))
    left = tuple(_without(each, texts) for each in told)
    if left != told:
        connection.run("UPDATE exchanges SET prompt = ?, reply = ? WHERE number = ?", (*left, number))


def digests_of(purged: str) -> frozenset[str]:
    """What a row notes of purged memories: the digests of each with commas between them, and a space behind."""
    return frozenset(purged.replace(",", " ").split())


LONGEST_WORD: Final = 4
"""Characters that a word has in a script that puts no spaces between words; what has more says something."""

_UNSPACED: Final = "\u0e00-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
"""Thai to Burmese, Khmer, Kana and Han. Of Hangul only the single letters: it has spaces."""

_SPACED: Final = "[0-9A-Za-z_\u00c0-\u058f\u10a0-\u10ff\u1c90-\u1cbf\u1e00-\u1fff\u2c00-\u2dff]"
"""Letters whose words end where another sign comes: Latin, Greek, Cyrillic, Armenian, Georgian. Elsewhere, what belongs
to a sentence may be written to its words."""

_STOP: Final = "[.!?。！？]"
_IN_UNSPACED: Final = re.compile(f"[{_UNSPACED}]")


def _without(told: str, texts: Sequence[str]) -> str:
    for text in texts:
        if text in told:
            told = _where_said(text).sub("", told)
    return told


def _says(told: str, texts: Sequence[str]) -> bool:
    return any(text in told and _where_said(text).search(told) is not None for text in texts)


def _is_word(text: str) -> bool:
    """One that others use as well ("Rust"); with a digit it may be a number or a name that nobody else has."""
    return text.isalpha() and (len(text) <= LONGEST_WORD or _IN_UNSPACED.search(text) is None)


def _where_said(text: str) -> re.Pattern[str]:
    """Where a text stands as such, not as a piece of other words; of a single word, where it is a whole sentence."""
    exact = re.escape(text)
    if _is_word(text):
        return re.compile(rf"(?m)(?:^|(?<={_STOP}))[^\S\n]*{exact}(?:{_STOP}+|[^\S\n]*$)")
    before = f"(?<!{_SPACED})" if re.match(_SPACED, text[0]) else ""
    after = f"(?!{_SPACED})" if re.match(_SPACED, text[-1]) else ""
    return re.compile(before + exact + after)


def _digest_of(fact: object) -> str:
    content = fact.get("content") if isinstance(fact, dict) else None
    return digest(content) if isinstance(content, str) else ""


def _facts(text: str) -> list[object]:
    try:
        return msgspec.json.decode(text, type=list[object])
    except msgspec.MsgspecError as error:
        raise damaged("an exchange that waits to be read", error) from error


def _texts(value: object) -> str:
    """Every text in a value, one after another."""
    if isinstance(value, dict):
        return "\n".join(map(_texts, value.values()))
    if isinstance(value, list):
        return "\n".join(map(_texts, value))
    return value if isinstance(value, str) else ""
