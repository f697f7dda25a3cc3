"""A damaged row is an error in words; it does not end the writer's thread."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest
import trio

from mnemond.errors import INTERNAL, STORAGE, MnemonError
from mnemond.index.writer import MemoryIndex
from mnemond.model.outcomes import RememberResult
from tests.store.factories import engine_at, remember
from tests.store.test_registry import registry_at
from tests.store.test_writer import Collected, Defects, store_over


def damage(path: Path, sql: str) -> None:
    connection = apsw.Connection(str(path))
    connection.execute(sql)
    connection.close()


async def test_a_defect_in_a_query_does_not_end_the_writer(tmp_path: Path) -> None:
    defects = Defects()
    store, collected = store_over(engine_at(tmp_path / "a.db"), tmp_path / "a.db", defects), Collected()

    def broken(connection: object) -> None:
        raise ZeroDivisionError

    with trio.fail_after(30):
        with pytest.raises(MnemonError) as caught:
            await store.read(broken)
        assert caught.value.kind is INTERNAL
        assert [type(error) for _, error in defects.seen] == [ZeroDivisionError]
        store.submit(remember(1), collected)
        await collected.wait_for(1)
        assert isinstance(collected.results[0], RememberResult)
        await store.close()


async def test_a_defect_over_a_damaged_file_does_not_end_the_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, collected = store_over(engine_at(tmp_path / "a.db"), tmp_path / "a.db"), Collected()
    store.submit(remember(1), collected)
    await collected.wait_for(1)
    damage(tmp_path / "a.db", "UPDATE insights SET tags = 'not json'")

    def broken(self: MemoryIndex) -> object:
        raise ZeroDivisionError

    monkeypatch.setattr(MemoryIndex, "publish", broken)
    with trio.fail_after(30):
        store.submit(remember(2), collected)
        await collected.wait_for(2)
        assert isinstance(collected.results[1], MnemonError)
        assert store.degraded_reason is not None
        assert store.snapshot.live == 1
        await store.close()


@pytest.mark.parametrize("sql", ["UPDATE meta SET value = '{broken'", "UPDATE insights SET tags = 'not json'"])
async def test_a_damaged_row_is_an_error_in_words(tmp_path: Path, sql: str) -> None:
    registry = registry_at(tmp_path)
    path = registry.path("default")
    store = await registry.open("default")
    collected = Collected()
    store.submit(remember(1), collected)
    await collected.wait_for(1)
    await registry.close()
    damage(path, sql)
    with pytest.raises(MnemonError, match="the store is damaged") as caught:
        await registry_at(tmp_path).open("default")
    assert caught.value.kind is STORAGE
