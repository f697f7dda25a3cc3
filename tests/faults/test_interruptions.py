"""Interrupt writes of every kind at every moment: recall sees what the rows say, what was acknowledged is there, what
was rejected is not, and the next write goes through."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mnemond.model.changes import RetireInsight
from mnemond.store.operations import Write
from tests.faults.interruptions import FullHeap, Interrupt, Interruption, Struck, Surprise
from tests.faults.remembering import changing, forgetting, linking, remembering
from tests.store.factories import insight_id, vector_of

KINDS: dict[str, Callable[[int], list[Write]]] = {
    "remember": lambda at: [remembering(at, f"Note {at}: Redis and SQLite, because of {at % 7}", vector_of(at))],
    "several": lambda at: [
        remembering(at, f"Alice speaks of Kafka {at}", vector_of(at), source="alice", conversation_id="c"),
        linking(at + 1, at, at - 50),
        forgetting(at + 2, at - 50),
    ],
    "supersede": lambda at: [
        changing(at, RetireInsight(insight_id(at - 50), "superseded", insight_id(at - 100))),
    ],
    "purge": lambda at: [forgetting(at, at - 50, purge=True)],
}
"""Batches by number; each finds the memories with the numbers 50 and 100 before its own."""


@pytest.fixture
def struck(tmp_path: Path) -> Iterator[Struck]:
    store = Struck(tmp_path / "a.db")
    yield store
    store.close()


def moments(stride: int) -> Iterator[int]:
    """1 and every `stride`-th, in larger steps where there are very many: a purge writes a whole store anew, which
    grows with every attempt."""
    moment = 1
    while True:
        yield moment
        moment = max(moment + stride, moment * 21 // 20)


def sweep(struck: Struck, kind: str, interruption: Interruption, stride: int) -> int:
    """Interrupt moment after moment until none is left; how many there were."""
    for count, moment in enumerate(moments(stride)):
        at = 1_000 + 200 * count
        for back in (100, 50):
            struck.write([remembering(at - back, f"Redis, {at - back} times", vector_of(at - back))])
        fired = struck.write(KINDS[kind](at), interruption, moment)
        struck.check()
        if not fired:
            return count
    raise AssertionError("moments without end")


STRIDES: dict[type[Interruption], int] = {Interrupt: 50, FullHeap: 50, Surprise: 80}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("interruption", STRIDES)
def test_some_moments(struck: Struck, interruption: type[Interruption], kind: str) -> None:
    assert sweep(struck, kind, interruption(), STRIDES[interruption]) > 1
    assert struck.failed > 0
    assert (struck.defects == []) == (interruption is not Surprise)


@pytest.mark.deep
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("interruption", STRIDES)
def test_every_moment(struck: Struck, interruption: type[Interruption], kind: str) -> None:
    assert sweep(struck, kind, interruption(), 1) > 10
