"""Archives of several stores at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import trio
import trio.testing

from mnemond.api.store_access import OpenStore
from mnemond.api.types_memories import ForgetParams
from mnemond.index.snapshot import Snapshot
from mnemond.recall import archive
from mnemond.store.meta import EmbedderRecord
from mnemond.store.store import Store
from tests.api.factories import CALL, Bench, bench
from tests.api.test_filters import remember

PATIENCE = 5
"""Seconds until it is plain that somebody waits for ever."""


async def with_a_past(over: Bench, name: str) -> OpenStore:
    """A store with a memory and one that was forgotten."""
    await over.stores.create(name)
    gone = await remember(over, "tea at four", store=name)
    await remember(over, "tea at five", store=name)
    await over.changes.forget(CALL, ForgetParams(id=gone, store=name))
    return await over.warm(name)


async def test_who_asks_for_the_past_of_one_store_waits_for_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, go_on = archive._read, trio.Event()

    async def slow(store: Store, names: Sequence[str], embedder: EmbedderRecord | None) -> dict[str, archive.Row]:
        if store.name == "one":
            await go_on.wait()
        return await read(store, names, embedder)

    monkeypatch.setattr(archive, "_read", slow)
    found: list[Snapshot] = []

    async def ask(warm: OpenStore) -> None:
        found.append(await warm.archives.of(warm.store))

    async with bench(tmp_path) as over, trio.open_nursery() as nursery:
        one, two = await with_a_past(over, "one"), await with_a_past(over, "two")
        assert one.archives is two.archives
        nursery.start_soon(ask, one)
        nursery.start_soon(ask, one)
        await trio.testing.wait_all_tasks_blocked()
        with trio.move_on_after(PATIENCE):
            await ask(two)
        assert [past.live for past in found] == [2]
        go_on.set()
    assert [past.live for past in found] == [2, 2, 2]
    assert found[1] is found[2]
