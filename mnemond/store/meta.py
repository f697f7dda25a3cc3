"""The `meta` table: facts about the store itself."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Final, TypeVar

import msgspec

from mnemond.model.changes import JobRecord
from mnemond.store.connection import Connection

T = TypeVar("T")


class EmbedderRecord(msgspec.Struct, frozen=True):
    """The embedder of a store's vectors; vectors of another fingerprint cannot be compared with them.

    `unrelated` and `paraphrase` are median cosines measured on this store, None before that was done.
    """

    name: str
    dimension: int
    fingerprint: str
    unrelated: float | None = None
    paraphrase: float | None = None


def made_by(record: EmbedderRecord | None) -> str:
    """Return the fingerprint of an embedder as an index has it, "" without an embedder."""
    return "" if record is None else record.fingerprint


def read_embedder(connection: Connection) -> EmbedderRecord | None:
    """Return the store's embedder, None if none was recorded, or its record is damaged: it is chosen anew then."""
    return read_record(connection, "embedder", EmbedderRecord)


def write_embedder(connection: Connection, record: EmbedderRecord) -> None:
    note(connection, [("embedder", msgspec.json.encode(record).decode())])


def read_record(connection: Connection, key: str, kind: type[T]) -> T | None:
    """Decode a row of the table; None if it does not exist or cannot be decoded: one row must not keep a store from
    being opened, and a full verification names it."""
    text = connection.value("SELECT value FROM meta WHERE key = ?", (key,))
    try:
        return None if text is None else msgspec.json.decode(text, type=kind)
    except msgspec.MsgspecError:
        return None


def note(connection: Connection, facts: Iterable[tuple[str, str]]) -> None:
    """Set rows of the table: (key, value)."""
    for key, value in facts:
        connection.run(
            "INSERT INTO meta(key, value) VALUES(?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value",
            (key, value),
        )


STORE_KEY: Final = "store"
"""Row with the id of the store."""


class StoreRecord(msgspec.Struct, frozen=True):
    """By `id`, sixteen hexadecimal digits, files outside of a store say that they are of it. A copy and a restored
    backup keep it."""

    id: str


def store_id(connection: Connection, fresh: str) -> str:
    """Return the id of the store, which is `fresh` if it has none yet."""
    found = read_record(connection, STORE_KEY, StoreRecord)
    if found is None:
        found = StoreRecord(fresh)
        note(connection, [(STORE_KEY, msgspec.json.encode(found).decode())])
    return found.id


RULES_OFF_KEY: Final = "rules_off"
"""Row with the switch of all rules of a store; "1" when they are off."""

ENTITIES_READ_KEY: Final = "entities_read"
"""Row that says for which memories names were noted: the version of the rules, and the number of the last one."""


def are_rules_off(connection: Connection) -> bool:
    """Return True if the rules of a store are switched off."""
    return bool(connection.value("SELECT value FROM meta WHERE key = ?", (RULES_OFF_KEY,)) == "1")


LINKS_KEY: Final = "links"
"""Row that says which memories were read for links."""


class LinksRecord(msgspec.Struct, frozen=True):
    """Memories with a number up to `after` were read for links."""

    after: int


def links_fact(after: int) -> tuple[str, str]:
    """Return the row that records which memories were read for links."""
    return LINKS_KEY, msgspec.json.encode(LinksRecord(after)).decode()


# The last run of each background job.


JOB_PREFIX: Final = "job:"
_AFTER_JOBS: Final = "job;"
"""Greater than every key that begins with JOB_PREFIX."""


def job_fact(name: str, record: JobRecord) -> tuple[str, str]:
    """Return the row that records the last run of a job."""
    return JOB_PREFIX + name, msgspec.json.encode(record).decode()


def read_jobs(connection: Connection) -> dict[str, JobRecord]:
    """Return the last run of each job that ever ran, by name. A job with a damaged record counts as never run."""
    rows = connection.rows("SELECT key, value FROM meta WHERE key >= ? AND key < ?", (JOB_PREFIX, _AFTER_JOBS))
    found = {}
    for key, value in rows:
        with suppress(msgspec.MsgspecError):
            found[key.removeprefix(JOB_PREFIX)] = msgspec.json.decode(value, type=JobRecord)
    return found
