"""While an index is built nothing is collected, and what was built is looked at no more."""

from __future__ import annotations

import gc
from collections.abc import Collection, Iterator
from pathlib import Path
from weakref import ref

import pytest

from mnemond.index.edges import EdgeArrays
from mnemond.store import edges, gc_tuning
from mnemond.store.connection import Connection
from mnemond.store.gc_tuning import MIN_FROZEN_ROWS, freeze_after_long_gc, freeze_built_index, gc_paused
from tests.store.factories import engine_at, open_at, remember


@pytest.fixture(autouse=True)
def _thawed() -> Iterator[None]:
    """What tests/conftest.py froze is collected in these tests alone: afterwards no test pays for it."""
    hearing = list(gc.callbacks)
    gc.unfreeze()
    yield
    gc.unfreeze()
    gc.callbacks[:] = hearing
    gc.freeze()


def test_collections_wait_until_the_last_block_has_ended() -> None:
    with gc_paused():
        with pytest.raises(ZeroDivisionError), gc_paused():
            1 / 0  # noqa: B018
        assert not gc.isenabled()
    assert gc.isenabled()


def test_few_rows_are_looked_at_and_many_are_not() -> None:
    freeze_built_index(MIN_FROZEN_ROWS - 1)
    assert gc.get_freeze_count() == 0
    freeze_built_index(MIN_FROZEN_ROWS)
    assert gc.get_freeze_count() > 0


def test_a_store_is_opened_without_collections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(number) for number in range(1, 20)])
    engine.close()
    monkeypatch.setattr(gc_tuning, "MIN_FROZEN_ROWS", 10)
    enabled: list[bool] = []

    def looked(connection: Connection, without: Collection[int]) -> EdgeArrays:
        enabled.append(gc.isenabled())
        return load_arrays(connection, without)

    load_arrays = edges.load_arrays
    monkeypatch.setattr(edges, "load_arrays", looked)
    index = open_at(tmp_path / "a.db").index
    assert (enabled, gc.isenabled()) == ([False], True)
    assert index.snapshot.rows == 19
    assert gc.get_freeze_count() > 0


def test_what_a_long_collection_has_looked_at_is_left_out_of_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    freeze_after_long_gc()
    lasting_for = [[number] for number in range(1_000)]
    monkeypatch.setattr(gc_tuning, "LONG_S", 3_600.0)
    gc.collect()
    assert gc.get_freeze_count() < len(lasting_for)  # 3.12 leaves out some hundred of its own
    monkeypatch.setattr(gc_tuning, "LONG_S", 0.0)
    gc.collect(1)
    assert gc.get_freeze_count() < len(lasting_for)
    gc.collect()
    assert gc.get_freeze_count() > len(lasting_for)
    assert len(gc.get_objects()) < len(lasting_for)


def test_cycles_that_come_later_are_found_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    freeze_after_long_gc()
    monkeypatch.setattr(gc_tuning, "LONG_S", 0.0)
    gc.collect()

    class Knot:
        def __init__(self) -> None:
            self.self = self

    tied = ref(Knot())
    assert tied() is not None
    gc.collect()
    assert tied() is None


@pytest.mark.check_all
def test_a_growing_heap_is_looked_at_about_once() -> None:
    """What was there is looked at about once in all; else five times, as each collection looks at everything."""
    freeze_after_long_gc()
    looked_at: list[int] = []

    def counted(phase: str, info: dict[str, int]) -> None:
        if info["generation"] == 2 and phase == "start":
            looked_at.append(len(gc.get_objects()))

    gc.callbacks.append(counted)
    grown: list[list[object]] = []
    for _ in range(1_500_000):
        grown.append([])  # noqa: PERF401 - one by one, as memories come
    gc.callbacks.clear()
    gc.unfreeze()
    whole = len(gc.get_objects())
    assert looked_at
    assert sum(looked_at) < 2.5 * whole
