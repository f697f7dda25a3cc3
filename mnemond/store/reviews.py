"""The `pending_reviews` table: pairs of memories that wait for a decision.

A review counts while both its memories are active. One that lost a memory otherwise stays in the table, so that an undo
which brings the memory back brings the question back as well.
"""

from __future__ import annotations

from typing import Final

import msgspec

from mnemond.model.changes import ChangeSet
from mnemond.model.memory import DAY_US, format_us
from mnemond.model.reviews import (
    BY_EXPIRY,
    EXPIRES_DAYS,
    CloseReview,
    HeldText,
    OpenReview,
    ReopenReview,
    Resolution,
    Review,
)
from mnemond.store.connection import Connection, Value

MAX_PENDING: Final = 200
"""Reviews that wait at once: a longer list is not read. The oldest then ends as if it had expired."""

MAX_LINKS: Final = 20
"""Links that are proposed at once. The oldest proposal then ends, as nothing is in doubt without an answer."""

MAX_NAMES: Final = 50
"""Pairs of names that are asked about at once, beside the pairs of memories."""

MAX_DECIDED: Final = 1_000
"""Decided reviews that are kept: a look for an earlier one of a pair reads all of them."""

KEPT_DAYS: Final = 90
"""Days for which decided reviews are kept, to be shown and to be reopened by an undo."""

MAX_REFUSED: Final = 5_000
"""Pairs that were left apart by a decision and so are not proposed to be merged again; kept longer than KEPT_DAYS."""


class Settled(msgspec.Struct, frozen=True):
    """The decision as stored. `op_id` names the operation that carried it out; of a review that waits again the undo
    that took it back, which may be undone itself."""

    resolution: Resolution
    by: str
    op_id: str = ""


_asked = msgspec.json.Decoder(OpenReview)
_settled = msgspec.json.Decoder(Settled)
_encoder = msgspec.json.Encoder()

read_payload = msgspec.json.Decoder(OpenReview | HeldText).decode
read_settled = _settled.decode
"""Decode a stored payload, of a pair or a text, and a resolution. Raise msgspec.MsgspecError."""

_PAIRS: Final = "kind <> 'order'"
"""`store.held_texts` has the other rows."""

_COLUMNS: Final = "id, payload, created_at, resolved_at, resolution"

_BOTH_ACTIVE: Final = (
    "CASE WHEN json_valid(payload) THEN (SELECT count(*) FROM insights WHERE status = 'active' AND id IN"
    " (json_extract(payload, '$.older'), json_extract(payload, '$.newer'))) ELSE 0 END = 2"
)
_BOTH_KNOWN: Final = (
    "CASE WHEN json_valid(payload) THEN (SELECT count(*) FROM entities WHERE id IN"
    " (json_extract(payload, '$.older'), json_extract(payload, '$.newer'))) ELSE 0 END = 2"
)
_PENDING: Final = f"resolved_at IS NULL AND CASE kind WHEN 'names' THEN {_BOTH_KNOWN} ELSE {_BOTH_ACTIVE} END"
_IN_DOUBT: Final = f"kind NOT IN ('link', 'names') AND {_PENDING}"

_REFUSED: Final = (
    "(kind = 'merge' AND CASE WHEN json_valid(resolution) THEN json_extract(resolution, '$.resolution') = 'COEXIST'"
    f" AND json_extract(resolution, '$.by') <> '{BY_EXPIRY}' ELSE 0 END)"
)
"""A person or a model left the two apart; one that ended because nothing answered is no refusal."""


def apply(connection: Connection, change_set: ChangeSet) -> None:
    """Open, close and reopen the reviews of a write, in its transaction."""
    for each in change_set.reviews:
        match each:
            case OpenReview():
                _open(connection, each, change_set.now)
            case CloseReview():
                settled = Settled(each.resolution, each.by, change_set.op_id)
                connection.run(
                    "UPDATE pending_reviews SET resolved_at = ?, resolution = ? WHERE id = ? AND resolved_at IS NULL",
                    (change_set.now, _encoder.encode(settled).decode(), each.id),
                )
            case ReopenReview():
                connection.run(
                    "UPDATE pending_reviews SET resolved_at = NULL, resolution = json_set(resolution, '$.op_id', ?)"
                    " WHERE id = ?",
                    (change_set.op_id, each.id),
                )


def undoing(connection: Connection, op_id: str) -> list[CloseReview | ReopenReview]:
    """Return the changes that take an operation back: what it closed waits again, what it, an undo itself, reopened is
    decided again. A text that is gone stays decided."""
    rows = connection.rows(
        "SELECT id, resolved_at, resolution FROM pending_reviews WHERE (content IS NOT NULL OR kind <> 'order') AND"
        " CASE WHEN json_valid(resolution) THEN json_extract(resolution, '$.op_id') END = ?",
        (op_id,),
    )
    closed = ((number, resolved_at, _settled.decode(resolution)) for number, resolved_at, resolution in rows)
    return [
        CloseReview(number, settled.resolution, settled.by) if resolved_at is None else ReopenReview(number)
        for number, resolved_at, settled in closed
    ]


def _open(connection: Connection, asked: OpenReview, now: str) -> None:
    """Add a review unless there is or was one of this pair; a proposed link does not count for other questions. End the
    oldest beyond MAX_PENDING, MAX_LINKS or MAX_NAMES, and forget decided ones beyond MAX_DECIDED, and refused merges
    beyond MAX_REFUSED."""
    is_link = asked.kind == "link"
    if connection.row(
        "SELECT 1 FROM pending_reviews WHERE instr(payload, ?) AND instr(payload, ?) AND (? OR kind <> 'link')",
        (asked.older, asked.newer, is_link),
    ):
        return
    connection.run(
        "INSERT INTO pending_reviews(kind, payload, created_at) VALUES(?, ?, ?)",
        (asked.kind, _encoder.encode(asked).decode(), now),
    )
    newest = "SELECT id FROM pending_reviews WHERE {} ORDER BY id DESC LIMIT -1 OFFSET ?"
    alike, most_waiting = _ALIKE.get(asked.kind, ("kind NOT IN ('link', 'names', 'order')", MAX_PENDING))
    _end(connection, f"id IN ({newest.format(f'resolved_at IS NULL AND {alike}')})", (most_waiting,), now)
    for which, most in ((f"NOT {_REFUSED}", MAX_DECIDED), (_REFUSED, MAX_REFUSED)):
        beyond = newest.format(f"resolved_at IS NOT NULL AND {which}")
        connection.run(f"DELETE FROM pending_reviews WHERE id IN ({beyond})", (most,))  # noqa: S608 - constants


_ALIKE: Final = {"link": ("kind = 'link'", MAX_LINKS), "names": ("kind = 'names'", MAX_NAMES)}
"""Reviews that count together, and how many of them wait at most, by their kind."""


def _end(connection: Connection, which: str, values: tuple[Value, ...], now: str) -> int:
    """End pending reviews with the safe answer; return their number."""
    return connection.run(
        f"UPDATE pending_reviews SET resolved_at = ?, resolution = ? WHERE resolved_at IS NULL AND {_PAIRS}"  # noqa: S608 - constants
        f" AND {which}",
        (now, settled_json("COEXIST", BY_EXPIRY), *values),
    )


def settled_json(resolution: Resolution, by: str) -> str:
    """Encode a decision that no operation carried out."""
    return _encoder.encode(Settled(resolution, by)).decode()


def expire(connection: Connection, now_us: int) -> int:
    """End reviews older than EXPIRES_DAYS, forget decided ones older than KEPT_DAYS; return how many ended."""
    connection.run(
        f"DELETE FROM pending_reviews WHERE resolved_at < ? AND NOT {_REFUSED}",  # noqa: S608 - constants
        (format_us(now_us - KEPT_DAYS * DAY_US),),
    )
    before = format_us(now_us - EXPIRES_DAYS * DAY_US)
    return _end(connection, "created_at < ?", (before,), format_us(now_us))


def count_expired(connection: Connection, now_us: int) -> int:
    return connection.count(
        f"SELECT count(*) FROM pending_reviews WHERE resolved_at IS NULL AND {_PAIRS} AND created_at < ?",  # noqa: S608
        (format_us(now_us - EXPIRES_DAYS * DAY_US),),
    )


def count_pending(connection: Connection) -> int:
    """Count the reviews that wait, of which both memories are active and in doubt: no proposed links."""
    return connection.count(f"SELECT count(*) FROM pending_reviews WHERE {_IN_DOUBT}")  # noqa: S608 - constants


def count_names(connection: Connection) -> int:
    """Count the pairs of names that wait."""
    return connection.count(f"SELECT count(*) FROM pending_reviews WHERE kind = 'names' AND {_PENDING}")  # noqa: S608


def pending_names(connection: Connection) -> list[Review]:
    """Return the reviews about names that wait, the oldest first."""
    return _read(connection, f"kind = 'names' AND {_PENDING} ORDER BY id", ())


def pending(connection: Connection, limit: int | None, *, resolved: bool = False) -> list[Review]:
    """Return reviews that wait, the oldest first; with `resolved` decided ones, the last decided first. None: all."""
    which = "resolved_at IS NOT NULL ORDER BY resolved_at DESC, id DESC" if resolved else f"{_PENDING} ORDER BY id"
    return _read(connection, f"{which} LIMIT ?", (-1 if limit is None else limit,))


def asked_pairs(connection: Connection) -> dict[tuple[str, str], int | None]:
    """Return the pairs that were asked about, by their ids in order: the number of a review that waits, None for one
    that was decided."""
    found: dict[tuple[str, str], int | None] = {}
    for review in _read(connection, "1 ORDER BY id", ()):
        one, other = sorted((review.asked.older, review.asked.newer))
        found[one, other] = review.id if review.resolved_at is None else None
    return found


def read(connection: Connection, number: int) -> Review | None:
    """Return a review, pending or not."""
    return next(iter(_read(connection, "id = ?", (number,))), None)


def _read(connection: Connection, which: str, values: tuple[Value, ...]) -> list[Review]:
    """Return the reviews that can be read; one that cannot be is found by verification."""
    rows = connection.rows(f"SELECT {_COLUMNS} FROM pending_reviews WHERE {_PAIRS} AND {which}", values)  # noqa: S608
    found = []
    for number, payload, created_at, resolved_at, resolution in rows:
        try:
            settled = None if resolution is None else _settled.decode(resolution)
            review = Review(id=number, asked=_asked.decode(payload), created_at=created_at, resolved_at=resolved_at)
        except msgspec.MsgspecError:
            continue
        if settled is not None and resolved_at is not None:
            review = msgspec.structs.replace(review, resolution=settled.resolution, by=settled.by)
        found.append(review)
    return found
