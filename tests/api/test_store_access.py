"""Opening stores: once, on demand, with the embedder their vectors were made with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trio

from mnemond.api.store_access import OpenStore, OpenStores
from mnemond.embed.embedder import Embedder
from mnemond.errors import NOT_FOUND, MnemonError
from mnemond.memory.embedding import wanted_by
from mnemond.store.registry import StoreRegistry
from mnemond.wire.deferred import Deferred, run_now
from tests.api.factories import ToyEmbedder, ToySupply

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
