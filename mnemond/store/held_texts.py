"""Texts of conversations that give orders to a program, as rows of `pending_reviews`: each waits for a person.

None is a memory: no search reads this table. A row has its text while that waits, and for EXPIRES_DAYS after a
decision, so that an undo brings it back; one that expires loses it at once. A purge of a memory deletes all of these
rows, since any of them may have its words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from mnemond.model.memory import DAY_US, format_us
from mnemond.model.reviews import BY_EXPIRY, EXPIRES_DAYS, HeldReview, HeldText
from mnemond.store.connection import Connection, Value
from mnemond.store.reviews import read_settled, settled_json

MAX_HELD: Final = 20
"""Texts that wait at once. A further one is not kept: what waits is not pushed out by a page full of orders."""

MAX_AT_ONCE: Final = 3
"""Texts of one exchange that are kept."""

MAX_LENGTH: Final = 1_000
"""Characters of a text that is kept; a longer one is a page, of which no single fact could be confirmed."""

_WAITS: Final = "kind = 'order' AND resolved_at IS NULL AND content IS NOT NULL"
_COLUMNS: Final = "id, payload, content, created_at, resolved_at, resolution"

_payload: Final = msgspec.json.Decoder(HeldText)
_encoder: Final = msgspec.json.Encoder()


def hold(connection: Connection, texts: Sequence[HeldText], now: str) -> int:
    """Keep texts for a decision, as far as there is room; return how many. One that waits already, or was decided and
    is still known, is not kept again."""
    kept = 0
    for each in list(dict.fromkeys(texts))[:MAX_AT_ONCE]:
        if len(each.content) > MAX_LENGTH or count(connection) >= MAX_HELD:
            continue
        if connection.row("SELECT 1 FROM pending_reviews WHERE kind = 'order' AND content = ?", (each.content,)):
            continue
        payload = _encoder.encode(msgspec.structs.replace(each, content="")).decode()
        kept += connection.run(
            "INSERT INTO pending_reviews(kind, payload, content, created_at) VALUES('order', ?, ?, ?)",
            (payload, each.content, now),
        )
    return kept


def count(connection: Connection) -> int:
    """Count the texts that wait."""
    return connection.count(f"SELECT count(*) FROM pending_reviews WHERE {_WAITS}")  # noqa: S608 - constants


def listed(connection: Connection, limit: int | None, *, resolved: bool = False) -> list[HeldReview]:
    """Return the texts that wait, the oldest first; with `resolved` decided ones, the last decided first. None: all."""
    decided = "kind = 'order' AND resolved_at IS NOT NULL ORDER BY resolved_at DESC, id DESC"
    return _read(
        connection, f"{decided if resolved else f'{_WAITS} ORDER BY id'} LIMIT ?", (-1 if limit is None else limit,)
    )


def read(connection: Connection, number: int) -> HeldReview | None:
    """Return a text by its number, waiting or not."""
    return next(iter(_read(connection, "kind = 'order' AND id = ?", (number,))), None)


def count_expired(connection: Connection, now_us: int) -> int:
    return connection.count(
        "SELECT count(*) FROM pending_reviews WHERE kind = 'order' AND resolved_at IS NULL AND created_at < ?",
        (_limit(now_us),),
    )


def expire(connection: Connection, now_us: int) -> int:
    """Drop the texts that waited for EXPIRES_DAYS, and forget the text of decisions as old; return how many were
    dropped. Their rows still say so."""
    connection.run(
        "UPDATE pending_reviews SET content = NULL WHERE kind = 'order' AND resolved_at < ?", (_limit(now_us),)
    )
    return connection.run(
        "UPDATE pending_reviews SET content = NULL, resolved_at = ?, resolution = ?"
        " WHERE kind = 'order' AND resolved_at IS NULL AND created_at < ?",
        (format_us(now_us), settled_json("DROP", BY_EXPIRY), _limit(now_us)),
    )


def purge(connection: Connection) -> None:
    """Delete every text, waiting or decided."""
    connection.run("DELETE FROM pending_reviews WHERE kind = 'order'")


def _limit(now_us: int) -> str:
    return format_us(now_us - EXPIRES_DAYS * DAY_US)


def _read(connection: Connection, which: str, values: tuple[Value, ...]) -> list[HeldReview]:
    """Return the rows that can be read; one that cannot be is found by verification."""
    found = []
    for number, payload, content, created_at, resolved_at, resolution in connection.rows(
        f"SELECT {_COLUMNS} FROM pending_reviews WHERE {which}",  # noqa: S608 - constants
        values,
    ):
        try:
            held = msgspec.structs.replace(_payload.decode(payload), content=content or "")
            settled = None if resolution is None else read_settled(resolution)
        except msgspec.MsgspecError:
            continue
        review = HeldReview(id=number, held=held, created_at=created_at, resolved_at=resolved_at)
        if settled is not None and resolved_at is not None:
            review = msgspec.structs.replace(review, resolution=settled.resolution, by=settled.by)
        found.append(review)
    return found
