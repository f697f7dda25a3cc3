"""What is noted of a target of sync beside its row: for whom this store's files there are encrypted (docs/sync.md)."""

from __future__ import annotations

from typing import Final

import msgspec

from mnemond.store import meta
from mnemond.store.connection import Connection

PREFIX: Final = "sync:"
"""Begin of a key in `meta`; the target follows."""


class TargetNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """`recipients`: the public keys for which the files of this store are encrypted, none if they are not. `plain`: a
    person said that they are not to be."""

    recipients: tuple[str, ...] = ()
    plain: bool = False


def read(connection: Connection, target: str) -> TargetNote:
    return meta.read_record(connection, PREFIX + target, TargetNote) or TargetNote()


def put(connection: Connection, target: str, it: TargetNote) -> None:
    meta.note(connection, [(PREFIX + target, msgspec.json.encode(it).decode())])
