"""link_received: link memories that came from other devices with those that are here.

Devices exchange texts and what was linked by hand (docs/sync.md). The links that follow from texts are made here, by
the builders of a new memory: first all but those of similar texts, then these once the memory has a vector, which is
made in the background. Each memory is one small write; what waits is noted with it, so an interrupted run goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

import msgspec
import trio

from mnemond.jobs.job import METHOD, Done, Job, Work
from mnemond.jobs.resolve import ModelDeps
from mnemond.memory.draft import new_memory, reanalyse
from mnemond.memory.edge_builders import Relinking, relinked
from mnemond.memory.write import WriteRules
from mnemond.model.changes import ChangeSet
from mnemond.model.memory import EdgeType
from mnemond.model.outcomes import Maintained
from mnemond.store import edges, sync_state
from mnemond.store.connection import Connection
from mnemond.store.operations import View

NAME: Final = "link_received"

INTERVAL_S: Final = 60.0
"""Seconds from one look to the next: a vector is there some seconds after its memory. A run without anything to do
reads one index."""

SIMILAR: Final[frozenset[EdgeType]] = frozenset({"semantic"})
"""Types of links that wait for the vector."""

_kinds = msgspec.json.Decoder(list[EdgeType])


class LinkReceived(Job):
    """Runs every minute, and after a sync. A run without anything new writes nothing."""

    name = NAME
    summary = "memories that came from other devices are linked with those that are here"
    first_s = INTERVAL_S
    interval_s = INTERVAL_S

    def __init__(self, means: ModelDeps) -> None:
        self._means = means

    async def run(self, work: Work) -> Done:
        """Make the links of memories that wait for them."""
        if work.dry_run:
            return work.done(await work.store.read(_count), "memories would be linked")
        waiting = await work.store.read(_waiting)
        rules = (await self._means.desk(work.store.name)).rules if waiting else None
        linked = 0
        for place, (insight_id, kinds) in enumerate(waiting):
            since = trio.current_time()
            if rules is not None and await _link(work, rules, insight_id, kinds, _behind(waiting, place)):
                linked += 1
                await work.make_room(since)
        done = work.done(linked, f"memories linked: {linked:,}" if linked else "")
        return await work.note(done) if linked else done


def _count(connection: Connection) -> int:
    return connection.count("SELECT count(*) FROM sync_rows WHERE kind = 'links'")


_Waiting = list[tuple[str, frozenset[EdgeType]]]


def _waiting(connection: Connection) -> _Waiting:
    """Return the memories that wait, each with the types of links to make, in the order in which they were written."""
    rows = connection.rows(
        "SELECT s.key, s.value FROM sync_rows AS s LEFT JOIN insights AS i ON i.id = s.key WHERE s.kind = 'links'"
        " ORDER BY i.created_at, s.key"
    )
    return [(key, frozenset(_kinds.decode(state))) for key, state in rows]


def _behind(waiting: _Waiting, place: int) -> list[str]:
    """Return the memories behind one that have none of the links which it gets now."""
    only_similar = waiting[place][1] == SIMILAR
    return [insight_id for insight_id, kinds in waiting[place + 1 :] if only_similar or kinds != SIMILAR]


async def _link(
    work: Work, rules: WriteRules, insight_id: str, kinds: frozenset[EdgeType], absent: Sequence[str]
) -> bool:
    """Make the links of a memory that can be made by now; return False if there are none."""
    snapshot = work.store.snapshot
    row = snapshot.row_of(insight_id)
    vector = None if row is None else snapshot.vector(row)
    if row is not None and vector is None and kinds == SIMILAR:
        return False

    def decide(view: View) -> ChangeSet:
        there = view.snapshot.row_of(insight_id)
        if there is None:
            return _changed(work, insight_id, frozenset(), ())
        it = view.snapshot.insight(there)
        what = Relinking(
            insight=it, newcomer=new_memory(it, reanalyse(it, view.snapshot, rules.config)),
            had=edges.touching(view.connection, it.id), kinds=kinds, absent=absent,
        )  # fmt: skip
        made = relinked(view.snapshot, view.similarity, what, rules.config.graph)
        later = SIMILAR & kinds if view.similarity is None else frozenset[EdgeType]()
        return _changed(work, it.id, later, made.changes)

    proposal = work.identity.proposal(METHOD, decide, vector, None if vector is None else snapshot.made_by)
    return cast("Maintained", await work.store.write(proposal)).changed > 0


def _changed(work: Work, insight_id: str, later: frozenset[EdgeType], changes: tuple[object, ...]) -> ChangeSet:
    made = work.identity.change_set(
        METHOD, changes, Maintained(changed=len(changes), op_id=work.identity.op_id), operation="",  # type: ignore[arg-type]
    )  # fmt: skip
    return msgspec.structs.replace(made, synced=(sync_state.links_row(insight_id, later),))
