"""What is known to be wrong with a store, kept beside its database so that it is known after a restart as well.

A database that is damaged is not written to, not even to say so.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from mnemond.store import durable, high_water

FILE: Final = "known.json"
"""In the directory of a store, 0600; there only while something is known."""

UNREADABLE: Final = "what was known to be wrong with the store cannot be read any more"


class Known(msgspec.Struct, frozen=True, omit_defaults=True):
    """`wrong`: the file is not what was written, and is not written until a look at all of it finds nothing. `behind`:
    what is missing of what was acknowledged, until the store is restored or somebody accepts it."""

    wrong: str | None = None
    behind: str | None = None


def read(path: Path) -> Known:
    """What is known of the store whose database is at `path`. Raises OSError."""
    try:
        return msgspec.json.decode(path.with_name(FILE).read_bytes(), type=Known)
    except FileNotFoundError:
        return Known()
    except msgspec.MsgspecError:
        return Known(wrong=UNREADABLE)


def write(path: Path, known: Known) -> None:
    """Keep it, over a power cut as well. Raises OSError."""
    if known == Known():
        path.with_name(FILE).unlink(missing_ok=True)
        durable.flush_directory(path.parent)
    else:
        durable.write(path.with_name(FILE), msgspec.json.encode(known) + b"\n")


def forget(path: Path) -> None:
    """The database at `path` is about to become another one. Raises OSError."""
    for file in (FILE, high_water.FILE):
        path.with_name(file).unlink(missing_ok=True)
