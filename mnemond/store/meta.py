"""The `meta` table: facts about the store itself."""

from __future__ import annotations

import msgspec

from mnemond.store.connection import Connection
from mnemond.store.damage import damaged


class EmbedderRecord(msgspec.Struct, frozen=True):
    """The embedder a store's vectors were made with; vectors of another fingerprint cannot be compared with them."""

    name: str
    dimension: int
    fingerprint: str


def read_embedder(connection: Connection) -> EmbedderRecord | None:
    """The store's embedder, or None when none was ever recorded. Raises MnemonError(STORAGE) for a damaged record."""
    row = connection.row("SELECT value FROM meta WHERE key = 'embedder'")
    try:
        return None if row is None else msgspec.json.decode(row[0], type=EmbedderRecord)
    except msgspec.MsgspecError as error:
        raise damaged("its record of the embedder", error) from error


def write_embedder(connection: Connection, record: EmbedderRecord) -> None:
    """Record the store's embedder."""
    connection.run(
        "INSERT INTO meta(key, value) VALUES('embedder', ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value",
        (msgspec.json.encode(record).decode(),),
    )
