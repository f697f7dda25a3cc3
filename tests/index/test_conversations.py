"""Who stands beside whom in a conversation, however rows came and went."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnemond.index.snapshot import Snapshot
from mnemond.index.writer import Compaction, MemoryIndex
from mnemond.model.changes import AddInsight, RetireInsight
from mnemond.model.memory import Insight, Scope
from tests.examples import examples
from tests.index.worlds import DIMENSION, insight

OFTEN = Compaction(dead_rows=3, dead_share=0.3)


def beside(snapshot: Snapshot) -> dict[str, tuple[str | None, str | None]]:
    """Ids before and after each live memory."""
    rows = np.flatnonzero(snapshot.alive())
    ends = [snapshot.beside(rows, step).tolist() for step in (-1, 1)]

    def name(row: int) -> str | None:
        return None if row < 0 else snapshot.insight(row).id

    return {
        snapshot.insight(row).id: (name(before), name(after))
        for row, before, after in zip(rows.tolist(), *ends, strict=True)
    }


def expected(memories: list[Insight]) -> dict[str, tuple[str | None, str | None]]:
    """The same from the memories themselves, which are in the order they were stored."""
    found: dict[str, tuple[str | None, str | None]] = {}
    for each in memories:
        group = each.conversation_id or each.scope.session_id
        same = [m for m in memories if group and (m.conversation_id or m.scope.session_id) == group] or [each]
        same.sort(key=lambda m: m.created_at)
        at = same.index(each)
        found[each.id] = (same[at - 1].id if at else None, same[at + 1].id if at + 1 < len(same) else None)
    return found


MEMORIES = st.lists(
    st.tuples(st.integers(0, 6), st.sampled_from([None, "c1", "c2"]), st.sampled_from([None, "s1"])),
    min_size=1,
    max_size=14,
)


@examples(120)
@given(MEMORIES, st.lists(st.integers(0, 13), max_size=8), st.booleans())
def test_neighbours_are_those_of_the_order_in_time(
    drawn: list[tuple[int, str | None, str | None]], gone: list[int], compacting: bool
) -> None:
    index = MemoryIndex(DIMENSION, OFTEN if compacting else None)
    live: list[Insight] = []
    seen: list[tuple[Snapshot, dict[str, tuple[str | None, str | None]]]] = []
    for number, (at, conversation, session) in enumerate(drawn):
        it = insight(f"{number:06d}", at=at, conversation_id=conversation, scope=Scope(session_id=session))
        index.apply([AddInsight(it)])
        live.append(it)
        if number in gone:
            left = live.pop(number % len(live))
            index.apply([RetireInsight(left.id, "forgotten")])
        seen.append((index.snapshot, expected(live)))
        assert beside(index.snapshot) == expected(live)
    assert [beside(snapshot) for snapshot, _ in seen] == [truth for _, truth in seen]
    assert beside(MemoryIndex.build([(it, None) for it in live], [], DIMENSION).snapshot) == expected(live)
