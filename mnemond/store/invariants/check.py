"""What a check is, what it looks at, and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec

from mnemond.index.snapshot import Snapshot
from mnemond.store.connection import Connection
from mnemond.store.meta import EmbedderRecord

Tier = Literal["tick", "fast", "full"]
"""Thousandths of a second, tenths, or seconds, for a store of 10,000."""

PAGE: Final = 500
"""Rows that a check looks at before it lets others go on: about a millisecond of the interpreter."""

SHOWN: Final = 3
"""Places that a problem names; how many there are it says as a number."""

DAMAGED: Final = (
    "mnemonctl doctor --salvage reads what can be read into a copy; or restore a backup (mnemonctl backup list)"
)
"""What to do where rows are not what they were."""

RELOAD: Final = "mnemonctl daemon restart reads everything anew; please report it, with the daemon's log"
"""What to do where memory and database differ: the database is the truth."""


class Problem(msgspec.Struct, frozen=True):
    """What is the matter, where, and what to do next. Never the text of a memory."""

    what: str
    where: str
    next: str


class Session(msgspec.Struct, frozen=True):
    """What the connection that writes says of itself: pragmas by name, and whether its `data_version` moved since
    somebody looked last, which it does when another program commits."""

    pragmas: Mapping[str, int | str | None]
    others_wrote: bool


class Evidence(msgspec.Struct, frozen=True):
    """One state of a store: rows through a connection in a read transaction, and the mirror of the same moment.

    `mirror` and `session` are None where no daemon has the store open. `now_us` is what time it is.
    """

    path: Path
    connection: Connection
    now_us: int
    embedder: EmbedderRecord | None = None
    mirror: Snapshot | None = None
    session: Session | None = None


Steps: TypeAlias = Iterator[Problem | None]
"""Problems as they are found, and None wherever others may go on meanwhile."""


class Check(msgspec.Struct, frozen=True):
    """One invariant. `id` is its name in the reliability notes; `needs` what it cannot do without; `grave`: where it
    does not hold the file is not what was written to it."""

    id: str
    name: str
    tier: Tier
    says: str
    look: Callable[[Evidence], Steps]
    needs: Literal["rows", "mirror", "session"] = "rows"
    grave: bool = False

    def possible(self, evidence: Evidence) -> bool:
        """Whether there is what it looks at."""
        if self.needs == "mirror":
            return evidence.mirror is not None
        return self.needs == "rows" or evidence.session is not None


class Tally:
    """Places of one kind of problem: the first few, and how many there are."""

    def __init__(self) -> None:
        self.count = 0
        self._first: list[str] = []

    def add(self, place: object) -> None:
        """One more."""
        self.count += 1
        if len(self._first) < SHOWN:
            self._first.append(str(place)[:80])

    def problems(self, what: str, next_: str) -> Iterator[Problem]:
        """One problem for all, none when there is no place. `what` gets the number in front."""
        if self.count:
            more = f" and {self.count - SHOWN:,} more" if self.count > SHOWN else ""
            yield Problem(f"{self.count:,} {what}", ", ".join(self._first) + more, next_)
