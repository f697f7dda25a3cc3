"""Opening stores: once, on demand, with the embedder their vectors were made with."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio

from mnemond.api.store_access import OpenStore, OpenStores
from mnemond.config.reading import EmbeddingSettings
from mnemond.embed.embedder import Embedder
from mnemond.embed.registry import Embedders
from mnemond.errors import NOT_FOUND, STORAGE, MnemonError
from mnemond.memory.embedding import wanted_by
from mnemond.store.registry import ActiveName, StoreRegistry
from mnemond.wire.deferred import Deferred, run_now
from tests.api.factories import ToyEmbedder, ToySupply, bench

WARNINGS: list[str] = []


def registry_at(path: Path, embedder: Embedder | None) -> StoreRegistry:
    return StoreRegistry(
        path,
        choose_embedder=wanted_by(ToySupply(embedder)),
        now_us=lambda: 0,
        loop=trio.lowlevel.current_trio_token(),
        on_defect=_fail,
        warn=WARNINGS.append,
    )


def open_stores_of(stores: StoreRegistry, embedder: Embedder | None) -> OpenStores:
    return OpenStores(stores, ToySupply(embedder))


def _fail(where: str, error: BaseException) -> None:
    raise AssertionError(where) from error


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[StoreRegistry]:
    registry = registry_at(tmp_path, ToyEmbedder())
    yield registry
    assert await registry.close() == []


async def test_a_store_is_opened_once_however_many_ask(stores: StoreRegistry) -> None:
    open_stores = open_stores_of(stores, ToyEmbedder())
    seen: list[OpenStore] = []

    async def ask() -> None:
        seen.append(await open_stores.open("default"))

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(ask)
    assert len({id(warm.store) for warm in seen}) == 1
    warm = run_now(open_stores.use(None), lambda _: None)
    assert not isinstance(warm, Deferred)
    assert warm.store is seen[0].store


async def test_a_cold_store_is_opened_first(stores: StoreRegistry) -> None:
    open_stores = open_stores_of(stores, ToyEmbedder())
    assert (await open_stores.use("default")).store.name == "default"


async def test_a_cold_store_is_opened_in_a_task_for_a_handler(stores: StoreRegistry) -> None:
    open_stores = open_stores_of(stores, ToyEmbedder())
    async with trio.open_nursery() as nursery:
        result = run_now(open_stores.use("default"), nursery.start_soon)
        assert isinstance(result, Deferred)
        assert not result.settled
    assert result.result().store.name == "default"


class Slow(ToySupply):
    """Takes its time over the first embedder it is asked for."""

    def __init__(self, *embedders: Embedder) -> None:
        super().__init__(*embedders)
        self.asked, self.go_on = threading.Event(), threading.Event()

    def of_record(self, name: str, dimension: int, fingerprint: str) -> Embedder:
        if not self.asked.is_set():
            self.asked.set()
            assert self.go_on.wait(20)
        return super().of_record(name, dimension, fingerprint)


async def test_an_embedder_that_takes_long_keeps_no_other_store_waiting(stores: StoreRegistry) -> None:
    supply = Slow(ToyEmbedder())
    open_stores = OpenStores(stores, supply)
    await stores.create("work")
    opened: list[str] = []

    async def ask(name: str) -> None:
        opened.append((await open_stores.open(name)).store.name)

    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, "default")
            nursery.start_soon(ask, "default")
            await trio.to_thread.run_sync(supply.asked.wait)
            await ask("work")
            assert opened == ["work"]
            supply.go_on.set()
    assert opened == ["work", "default", "default"]


async def test_only_the_default_store_comes_into_being_by_itself(stores: StoreRegistry) -> None:
    open_stores = open_stores_of(stores, ToyEmbedder())
    with pytest.raises(MnemonError, match='no store named "work"') as caught:
        await open_stores.open("work")
    assert caught.value.kind is NOT_FOUND
    assert stores.names() == []
    assert await stores.create("work") is True
    assert await stores.create("work") is False
    assert (await open_stores.open("work")).store.name == "work"
    assert stores.names() == ["work"]


async def test_a_store_that_cannot_be_opened_says_why(stores: StoreRegistry, tmp_path: Path) -> None:
    (tmp_path / "data" / "broken").mkdir(parents=True)
    (tmp_path / "data" / "broken" / "mnemon.db").write_bytes(b"this is not a database" * 100)
    with pytest.raises(MnemonError, match="cannot be opened") as caught:
        await open_stores_of(stores, ToyEmbedder()).open("broken")
    assert caught.value.kind is STORAGE


async def test_an_embedder_of_another_build_is_not_used(tmp_path: Path) -> None:
    first = registry_at(tmp_path, ToyEmbedder())
    await open_stores_of(first, ToyEmbedder()).open("default")
    await first.close()
    again = registry_at(tmp_path, ToyEmbedder("toy-2"))
    warm = await open_stores_of(again, ToyEmbedder("toy-2")).open("default")
    assert warm.embedder is None
    assert warm.embed_error == "there is no such toy; look elsewhere"
    assert warm.lacks_embedder is True
    await again.close()


async def test_a_store_made_with_a_shipped_model_keeps_it(tmp_path: Path) -> None:
    from mnemond.embed.registry import DEFAULT, create

    shipped = create(DEFAULT)
    first = registry_at(tmp_path, shipped)
    await open_stores_of(first, shipped).open("default")
    await first.close()
    again = registry_at(tmp_path, ToyEmbedder())
    supply = Embedders(EmbeddingSettings(provider="none"), {}, lambda: 0.0)
    warm = await OpenStores(again, supply).open("default")
    assert warm.embedder is not None
    assert warm.embedder.name == DEFAULT
    await again.close()


async def test_an_embedder_that_is_not_to_be_had_leaves_keywords(tmp_path: Path) -> None:
    first = registry_at(tmp_path, ToyEmbedder())
    await open_stores_of(first, ToyEmbedder()).open("default")
    await first.close()
    again = registry_at(tmp_path, None)
    warm = await open_stores_of(again, None).open("default")
    assert warm.embedder is None
    assert warm.embed_error is not None
    assert "no such toy" in warm.embed_error
    await again.close()


async def test_a_store_made_without_an_embedder_stays_without(tmp_path: Path) -> None:
    first = registry_at(tmp_path, None)
    assert (await open_stores_of(first, None).open("default")).embed_error == "this store has no embedder"
    await first.close()


async def test_the_active_file_names_the_store(stores: StoreRegistry, tmp_path: Path) -> None:
    assert stores.active() == ("default", "default")
    (tmp_path / "active").write_text("\ufeffwork \n")
    assert stores.active() == ("work", "active-file")
    assert stores.resolve(None) == "work"
    assert WARNINGS == []
    (tmp_path / "active").write_text("../escape")
    assert stores.active() == ("default", "default")
    assert stores.active() == ("default", "default")
    assert WARNINGS.pop().endswith("active does not hold the name of a store; the store 'default' is used")
    assert WARNINGS == []  # said once
    (tmp_path / "active").unlink()
    (tmp_path / "active").mkdir()
    with pytest.raises(MnemonError, match="it is a directory, not a file"):
        stores.active()
    (tmp_path / "active").rmdir()
    assert stores.active() == ("default", "default")


def test_an_active_file_that_cannot_be_read_falls_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "active").write_text("work")
    warnings: list[str] = []

    def refuse(*_: object) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    assert ActiveName(tmp_path, warnings.append).resolve() == ("default", "default")
    monkeypatch.undo()
    assert "cannot be read (Permission denied)" in warnings[0]


async def test_long_texts_of_one_store_do_not_wait_for_the_endpoint_of_another(tmp_path: Path) -> None:
    for place in ("near", "far"):
        (tmp_path / place).mkdir()
    async with (
        bench(tmp_path / "near", ToyEmbedder()) as near,
        bench(tmp_path / "far", ToyEmbedder(inline=False)) as far,
    ):
        here, there = await near.warm(), await far.warm()
        assert here.threads is here.limiters.near
        assert there.threads is there.limiters.far
        assert here.limiters.near is not here.limiters.far
