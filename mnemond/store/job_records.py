"""The last run of every background job, in the `meta` table."""

from __future__ import annotations

from typing import Final

import msgspec

from mnemond.model.job_record import JobRecord
from mnemond.store.connection import Connection
from mnemond.store.damage import damaged

PREFIX: Final = "job:"
"""Before the name of the job."""

_AFTER: Final = "job;"
"""Behind every key that begins with PREFIX."""


def fact(name: str, record: JobRecord) -> tuple[str, str]:
    """The row of `meta` that says how a job ran last."""
    return PREFIX + name, msgspec.json.encode(record).decode()


def read_all(connection: Connection) -> dict[str, JobRecord]:
    """The last run of each job that ever ran, by its name. Raises MnemonError(STORAGE) for a damaged record."""
    rows = connection.rows("SELECT key, value FROM meta WHERE key >= ? AND key < ?", (PREFIX, _AFTER))
    try:
        return {key.removeprefix(PREFIX): msgspec.json.decode(value, type=JobRecord) for key, value in rows}
    except (msgspec.MsgspecError, TypeError, AttributeError) as error:
        raise damaged("its record of a background job", error) from error
