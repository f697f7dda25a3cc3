"""Many memories changed as many small writes, with everybody else's writes between them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import msgspec
import trio

from mnemond.index.snapshot import Snapshot
from mnemond.lifecycle.job import METHOD, Done, Work
from mnemond.model.changes import Change, ChangeSet, RetireInsight, SetImportance
from mnemond.model.outcomes import Maintained
from mnemond.store.proposal import View

Choose = Callable[[Snapshot, Sequence[str]], Sequence[Change]]
"""What becomes of some memories, by the store as it is when their turn comes."""


class Line(msgspec.Struct, frozen=True):
    """What the log says of a run: `operation`, once a slice, or (`once`) with the last alone."""

    operation: str
    once: bool = False


class _Slice(msgspec.Struct, frozen=True):
    ids: Sequence[str]
    last: bool
    before: int
    seconds: float


async def in_slices(work: Work, ids: Sequence[str], size: int, choose: Choose, line: Line) -> Done:
    """Change memories, at most `size` a write, one write after another; the last one notes the run.

    Raises MnemonError; what was written before is whole and stays.
    """
    changed = 0
    undoable = not line.once
    for start in range(0, max(1, len(ids)), size):
        part = _Slice(ids[start : start + size], start + size >= len(ids), changed, work.seconds())

        def decide(view: View, part: _Slice = part) -> ChangeSet:
            return _decided(work, part, choose(view.snapshot, part.ids), line)

        since = trio.current_time()
        outcome = cast("Maintained", await work.store.written(work.identity.proposal(METHOD, decide)))
        changed += outcome.changed
        if not part.last:
            await work.make_room(since)
    return work.done(changed, undoable=undoable)


def _decided(work: Work, part: _Slice, changes: Sequence[Change], line: Line) -> ChangeSet:
    many = sum(isinstance(change, RetireInsight | SetImportance) for change in changes)
    total = part.before + many
    told = total if line.once else many
    change_set = work.identity.change_set(
        METHOD,
        tuple(changes),
        Maintained(work.identity.op_id, many),
        operation=line.operation if part.last or not line.once else "",
        detail=f"{work.identity.triggered_by} memories={told}",
    )
    if not part.last:
        return change_set
    done = work.done(total, undoable=not line.once)
    return msgspec.structs.replace(change_set, facts=work.facts(done, part.seconds))
