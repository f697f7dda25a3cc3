"""The `meta` table: facts about the store itself."""

from __future__ import annotations

import msgspec

from mnemond.errors import STORAGE, MnemonError
from mnemond.store.connection import Connection


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
        raise MnemonError(
            STORAGE,
            f"the store is damaged: its record of the embedder cannot be read ({type(error).__name__})",
            hint="keep a copy of the file as it is; then restore a backup",
            outcome="rejected",
        ) from error


def write_embedder(connection: Connection, record: EmbedderRecord) -> None:
    """Record the store's embedder."""
    connection.run(
        "INSERT INTO meta(key, value) VALUES('embedder', ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value",
        (msgspec.json.encode(record).decode(),),
    )
