"""The `meta` table: facts about the store itself."""

from __future__ import annotations

import msgspec

from mnemond.store.connection import Connection


class EmbedderRecord(msgspec.Struct, frozen=True):
    """The embedder a store's vectors were made with; vectors of another fingerprint cannot be compared with them."""

    name: str
    dimension: int
    fingerprint: str


def read_embedder(connection: Connection) -> EmbedderRecord | None:
    """The store's embedder, or None when none was ever recorded."""
    row = connection.row("SELECT value FROM meta WHERE key = 'embedder'")
    return None if row is None else msgspec.json.decode(row[0], type=EmbedderRecord)


def write_embedder(connection: Connection, record: EmbedderRecord) -> None:
    """Record the store's embedder."""
    connection.run(
        "INSERT INTO meta(key, value) VALUES('embedder', ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value",
        (msgspec.json.encode(record).decode(),),
    )
