"""While an index is built nothing is collected, and what was built is looked at no more."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from mnemond.index.adjacency import EdgeArrays
from mnemond.store import edges, lasting
from mnemond.store.connection import Connection
from mnemond.store.lasting import MANY, leave_out, no_collections
from tests.store.factory import engine_at, open_at, remember


@pytest.fixture(autouse=True)
def _thawed() -> Iterator[None]:
    yield
    gc.unfreeze()


def test_collections_wait_until_the_last_block_has_ended() -> None:
    with no_collections():
        with pytest.raises(ZeroDivisionError), no_collections():
            1 / 0  # noqa: B018
        assert not gc.isenabled()
    assert gc.isenabled()


def test_few_rows_are_looked_at_and_many_are_not() -> None:
    leave_out(MANY - 1)
    assert gc.get_freeze_count() == 0
    leave_out(MANY)
    assert gc.get_freeze_count() > 0


def test_a_store_is_opened_without_collections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(number) for number in range(1, 20)])
    engine.close()
    monkeypatch.setattr(lasting, "MANY", 10)
    enabled: list[bool] = []

    def looked(connection: Connection) -> EdgeArrays:
        enabled.append(gc.isenabled())
        return load_arrays(connection)

    load_arrays = edges.load_arrays
    monkeypatch.setattr(edges, "load_arrays", looked)
    index = open_at(tmp_path / "a.db").index
    assert (enabled, gc.isenabled()) == ([False], True)
    assert index.snapshot.rows == 19
    assert gc.get_freeze_count() > 0
