"""The union of records with what is known of their things, which is the same for all kinds (docs/sync.md)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from mnemond.memory.write import WriteContext
from mnemond.model.changes import Change, ChangeSet
from mnemond.model.outcomes import Maintained
from mnemond.model.passages import PassageChange
from mnemond.model.relations import KnowledgeChange
from mnemond.model.reviews import OpenReview
from mnemond.model.sync import OWNED, Kind, Known, Record, SyncedRow, is_later, later_stamp
from mnemond.store import history, sync_state
from mnemond.store.connection import Connection
from mnemond.store.operations import View

METHOD: Final = "sync"

MAX_NAMED: Final = 20
"""Memories that a report names; the others are counted."""


class Report(msgspec.Struct):
    """Changes by records here. `added`, `changed`, `retired` and `purged`: memories; `links`: links added or removed;
    `relations` and `names`: statements about relations, and decisions about names, added or taken back.
    `passages`: exchanges of sessions that came, went or came back; `too_old`: those that did not come for their age.
    `conflicts`: ids of memories whose other text was kept as a memory of its own, `conflicts_found` their number.
    `held`: ids of memories with rules that only a person at a terminal may take in."""

    added: int = 0
    changed: int = 0
    retired: int = 0
    purged: int = 0
    links: int = 0
    relations: int = 0
    names: int = 0
    passages: int = 0
    too_old: int = 0
    conflicts_found: int = 0
    conflicts: list[str] = []
    held: list[str] = []

    @property
    def undoable(self) -> bool:
        """Return True if it changed what an undo can bring back."""
        return bool(self.added or self.changed or self.retired or self.links)

    def add(self, other: Report) -> None:
        for name in self.__struct_fields__:
            both = getattr(self, name) + getattr(other, name)
            setattr(self, name, both if isinstance(both, int) else both[:MAX_NAMED])


class Union:
    """Unite records with what the store knows of their things, in one operation: call `record` for each, then `finish`.
    Exchanges that were said before `since` (RFC 3339) are too old for this store."""

    def __init__(self, view: View, identity: WriteContext, device: str, since: str = "") -> None:
        self.view = view
        self.connection = view.connection
        self.identity = identity
        self.device = device
        self.since = since
        self.report = Report()
        self._known: dict[tuple[Kind, str], Known[Any] | None] = {}
        self._before: dict[tuple[Kind, str], Known[Any] | None] = {}
        self._publish: set[tuple[Kind, str]] = set()

    def record(self, record: Record[Any]) -> None:
        """Take a record in."""
        self.take(record)

    def finish(self) -> ChangeSet:
        """Return what the records change here, and say so in the report."""
        raise NotImplementedError

    def load(self, known: Iterable[Known[Any]]) -> None:
        """Note what is known in the store."""
        for each in known:
            self._known[each.kind, each.key] = self._before[each.kind, each.key] = each

    def look(self, kind: Kind, key: str) -> Known[Any] | None:
        """Return what is known of a thing by now."""
        if (kind, key) not in self._known:
            self._known[kind, key] = self._before[kind, key] = sync_state.known_of(self.connection, kind, key)
        return self._known[kind, key]

    def is_new(self, kind: Kind, key: str) -> bool:
        """Return True if a thing was not looked at yet."""
        return (kind, key) not in self._known

    def before(self, kind: Kind, key: str) -> Known[Any] | None:
        """Return what was known of a thing that was looked at."""
        return self._before.get((kind, key))

    def all_of(self, kind: Kind) -> list[Known[Any]]:
        """Return what is known of the things of a kind that were looked at, in the order of their keys."""
        found = [each for (of, _), each in self._known.items() if of == kind and each is not None]
        return sorted(found, key=lambda each: each.key)

    def note(self, known: Known[Any], *, publish: bool = False) -> None:
        """Note what is known of a thing from now on."""
        self.look(known.kind, known.key)
        self._known[known.kind, known.key] = known
        if publish:
            self._publish.add((known.kind, known.key))

    def publish(self, kind: Kind, key: str) -> None:
        """Let the other devices have what is known of a thing from here."""
        self._publish.add((kind, key))

    def forget(self, kind: Kind, key: str) -> None:
        """Know nothing of a thing any more."""
        self.look(kind, key)
        self._known[kind, key] = None

    def take(self, record: Record[Any], *, is_kept: bool = True) -> bool:
        """Take a record in if it holds against what is known; return True then. One that names a stamp that is known
        here as that of a clock that was ahead is answered: no other device has what is known here. `is_kept`: the value
        is to be known as well. That the store has it is for the caller to say."""
        known = self.look(record.kind, record.key)
        is_renewed = known is not None and known.stamp in record.restamped
        if known is None or is_later(record, known):
            self._publish.discard((record.kind, record.key))
            former = record if record.kind == OWNED else known
            self.note(
                Known(
                    kind=record.kind, key=record.key, stamp=record.stamp, state=record.state,
                    value=record.value if is_kept else None, restamped=[] if former is None else former.restamped,
                    counted=None if known is None else known.counted,
                ),
                publish=is_renewed and record.kind == OWNED,
            )  # fmt: skip
            return True
        if is_renewed:
            self.publish(record.kind, record.key)
        return False

    def rows(self) -> tuple[SyncedRow, ...]:
        """Return what has to be written."""
        return tuple(
            SyncedRow(*thing, known, publish=thing in self._publish)
            for thing, known in sorted(self._known.items(), key=lambda it: it[0])
            if thing in self._publish or known != self._before[thing]
        )

    def change_set(
        self, changes: Sequence[Change] = (), *, operation: str | None = "", links: Sequence[SyncedRow] = (),
        reviews: Sequence[OpenReview] = (), knowledge: Sequence[KnowledgeChange] = (),
        passages: Sequence[PassageChange] = (), facts: tuple[tuple[str, str], ...] = (),
    ) -> ChangeSet:  # fmt: skip
        """Return the change, with what is known after it. `links`: rows of links that are to be made; the others are
        those of `ChangeSet`."""
        changed = len(changes) + len(knowledge) + len(passages)
        made = self.identity.change_set(
            METHOD, tuple(changes), Maintained(changed=changed, op_id=self.identity.op_id), operation=operation,
            reviews=tuple(reviews),
        )  # fmt: skip
        return msgspec.structs.replace(
            made, synced=(*self.rows(), *links), knowledge=tuple(knowledge), passages=tuple(passages), facts=facts
        )


def as_here(
    before: Known[Any] | None, kind: Kind, key: str, at_us: int, device: str, value: object | None
) -> Known[Any]:
    """Return what is known of a thing that was changed here at a time in microseconds; `value` None: it is gone."""
    return Known(
        kind=kind, key=key, stamp=later_stamp(before, at_us, device), state="gone" if value is None else "kept",
        value=value, restamped=[] if before is None else before.restamped, here=value is not None,
    )  # fmt: skip


def files_anew(connection: Connection) -> tuple[tuple[str, str], ...]:
    """Return the facts of a change after which the files of this device are written anew at the next sync."""
    it = sync_state.device(connection)
    if it is None:
        return ()
    anew = msgspec.structs.replace(it, purges=it.purges + 1)
    return ((sync_state.KEY, msgspec.json.encode(anew).decode()),)


def is_purged(connection: Connection, memory: str) -> bool:
    """Return True if a memory was purged, here or elsewhere."""
    known = sync_state.known_of(connection, "memory", memory)
    return (known is not None and known.state == "purged") or history.is_purged(connection, memory)
