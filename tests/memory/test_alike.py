"""Which memories are alike: the same pairs as a comparison of all with all, in bounded steps."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.index.snapshot import Snapshot
from mnemond.index.writer import MemoryIndex
from mnemond.memory import alike
from mnemond.memory.alike import Found, Group, Limits
from mnemond.model.changes import Vector
from mnemond.model.memory import Insight
from mnemond.text.similarity import token_set
from tests.examples import examples
from tests.index.worlds import insight

LIMITS = Limits(0.92, 0.8)
WORDS = ("redis", "cache", "deploy", "friday", "berlin", "office", "index", "night", "queue", "berlin office")


def snapshot_of(texts: Iterable[str], vectors: Iterable[Vector | None] = ()) -> Snapshot:
    rows: list[tuple[Insight, Vector | None]] = [
        (insight(f"{at:08x}-0000-4000-8000-000000000000", text, at=at), None) for at, text in enumerate(texts)
    ]
    rows = [(it, vector) for (it, _), vector in zip(rows, [*vectors, *[None] * len(rows)], strict=False)]
    return MemoryIndex.build(rows, [], 4).snapshot


def compared(snapshot: Snapshot, limits: Limits = LIMITS) -> list[Found]:
    group, found = Group(snapshot, range(snapshot.rows), limits), list[Found]()
    for each in group.compared():
        if each is not None:
            found.append(each)
            group.keep(each.row)
    return found


def jaccard(one: str, other: str) -> float:
    mine, theirs = token_set(one), token_set(other)
    return len(mine & theirs) / len(mine | theirs) if mine & theirs else 0.0


ANGLES = st.lists(st.none() | st.floats(0, 3.2), min_size=12, max_size=12)


def turned(angle: float | None) -> Vector | None:
    return None if angle is None else np.array([np.cos(angle), np.sin(angle), 0, 0], dtype=np.float32)


@given(st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join), max_size=12), ANGLES)
@examples(200)
def test_every_pair_is_found_once_and_no_other(texts: list[str], angles: list[float | None]) -> None:
    vectors = [turned(angle) for angle in angles[: len(texts)]]
    snapshot = snapshot_of(texts, vectors)
    expected: set[tuple[int, int]] = set()
    for row, (text, vector) in enumerate(zip(texts, vectors, strict=True)):
        for before in range(row):
            theirs = vectors[before]
            cosine = 0.0 if vector is None or theirs is None else float(vector @ theirs)
            if cosine >= LIMITS.cosine or jaccard(text, texts[before]) >= LIMITS.jaccard:
                expected.add((row, before))
    found = compared(snapshot)
    assert [each.row for each in found] == list(range(len(texts)))
    assert {(each.row, other.row) for each in found for other in each.alike} == expected
    for each in found:
        for other in each.alike:
            assert other.jaccard == jaccard(texts[each.row], texts[other.row])
            assert (other.cosine is None) == (vectors[each.row] is None or vectors[other.row] is None)
        assert list(each.alike) == sorted(each.alike, key=lambda it: (-it.most, it.row))


def test_a_memory_is_compared_with_those_that_were_kept() -> None:
    snapshot = snapshot_of(["redis cache queue", "redis cache queue", "redis cache queue"])
    group = Group(snapshot, range(3), LIMITS)
    found = []
    for each in group.compared():
        if each is not None:
            found.append(tuple(other.row for other in each.alike))
            if each.row == 0:
                group.keep(0)
    assert found == [(), (0,), (0,)]


def test_a_block_is_compared_in_chunks_and_with_the_nearest(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = [turned(0.001 * at) for at in range(90)]
    snapshot = snapshot_of([f"word{at}" for at in range(90)], vectors)
    for name, value in (("BLOCK", 16), ("CHUNK", 8), ("MAX_NEAR", 4), ("MAX_COMPARED", 60)):
        monkeypatch.setattr(alike, name, value)
    found = compared(snapshot)
    assert [each.row for each in found] == list(range(30, 90))  # the older ones are only compared with
    last = found[-1]
    assert last.alike[0].row == 88
    assert len(last.alike) <= 4 * 12
