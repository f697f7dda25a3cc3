"""Which stores are open, what a new one leaves on the disk, and closing them all."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import apsw
import pytest
import trio

from mnemond.errors import BUSY, NOT_FOUND, STORAGE, UNSUPPORTED, MnemonError
from mnemond.model.outcomes import RememberResult
from mnemond.store.connection import Connection
from mnemond.store.health import Ballast
from mnemond.store.meta import EmbedderRecord
from mnemond.store.registry import CancellableOpen, StoreRegistry
from mnemond.store.store import Store
from tests.store.factories import EMBEDDER, START_US, engine_at, remember, stored
from tests.store.test_checksums import flip, root_of


def registry_at(path: Path, wanted: EmbedderRecord | None = EMBEDDER) -> StoreRegistry:
    def defect(where: str, error: BaseException) -> None:
        raise AssertionError(where) from error

    return StoreRegistry(
        path,
        choose_embedder=lambda: wanted,
        now_us=lambda: START_US,
        loop=trio.lowlevel.current_trio_token(),
        on_defect=defect,
        warn=lambda sentence: None,
    )


async def write(registry: StoreRegistry, name: str, number: int) -> object:
    await registry.create(name)
    store = await registry.open(name)
    finished = trio.Event()
    results: list[object] = []

    def done(result: object) -> None:
        results.append(result)
        finished.set()

    store.submit(remember(number), done)
    await finished.wait()
    return results[0]


async def test_only_what_was_asked_for_is_open(tmp_path: Path) -> None:
    registry = registry_at(tmp_path)
    assert registry.names() == []
    for name in ("one", "two", "three"):
        await registry.create(name)
    await registry.close()
    again = registry_at(tmp_path)
    assert again.names() == ["one", "three", "two"]
    assert list(again._stores.values()) == []
    store = await again.open("two")
    assert list(again._stores.values()) == [store]
    assert again._stores["two"] is store
    assert "one" not in again._stores
    assert await again.close() == []
    assert list(again._stores.values()) == []


async def test_directories_are_flushed_into_their_parents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[str] = []
    fsync = os.fsync

    def noting(descriptor: int) -> None:
        flushed.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noting)
    registry = registry_at(tmp_path)
    await registry.create("work")
    assert flushed == [str(tmp_path), str(tmp_path / "data")]
    assert stat.S_IMODE((tmp_path / "data" / "work").stat().st_mode) == 0o700
    await registry.create("play")
    assert flushed[2:] == [str(tmp_path / "data")]
    await registry.close()


async def test_a_directory_that_cannot_be_made_is_an_error_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file stands where the directory should be")
    registry = registry_at(tmp_path)
    with pytest.raises(MnemonError, match="cannot be opened") as caught:
        await registry.open("default")
    assert (caught.value.kind, caught.value.outcome) == (STORAGE, "rejected")
    assert str(tmp_path / "data" / "default") in str(caught.value.hint)


async def test_a_name_that_is_none_opens_nothing(tmp_path: Path) -> None:
    registry = registry_at(tmp_path)
    with pytest.raises(MnemonError) as caught:
        await registry.create("../escape")
    assert caught.value.problems[0].field == "store"
    with pytest.raises(MnemonError) as missing:
        await registry.open("nowhere")
    assert missing.value.kind is NOT_FOUND
    assert os.listdir(tmp_path) == []


async def test_a_store_that_could_not_be_opened_is_tried_again(tmp_path: Path) -> None:
    registry = registry_at(tmp_path)
    path = registry.path("work")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"this is not a database" * 100)
    with pytest.raises(MnemonError):
        await registry.open("work")
    path.unlink()
    await write(registry, "work", 1)
    await registry.close()
    assert stored(path) == ["memory number 1"]


async def test_a_store_of_a_newer_release_is_refused_in_words(tmp_path: Path) -> None:
    registry = registry_at(tmp_path)
    await registry.create("work")
    await registry.close()
    newer = apsw.Connection(str(registry.path("work")))
    newer.pragma("user_version", 99)
    newer.close()
    with pytest.raises(MnemonError, match="schema version 99") as caught:
        await registry_at(tmp_path).open("work")
    assert caught.value.kind is UNSUPPORTED


async def test_a_store_made_without_an_embedder_takes_the_first_it_meets(tmp_path: Path) -> None:
    without = registry_at(tmp_path, None)
    assert (await without.open("default")).embedder is None
    await without.close()
    with_one = registry_at(tmp_path, EMBEDDER)
    assert (await with_one.open("default")).embedder == EMBEDDER
    await with_one.close()
    again = registry_at(tmp_path, EmbedderRecord("another", 4, "x"))
    assert (await again.open("default")).embedder == EMBEDDER
    await again.close()


async def test_every_store_is_closed_even_when_one_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = registry_at(tmp_path)
    for number, name in enumerate(("one", "two", "three")):
        await write(registry, name, number)
    checkpoint = Connection.checkpoint
    asked: list[bool] = []

    def fail_once(self: Connection, *, truncate: bool = False) -> tuple[int, int]:
        asked.append(truncate)
        if len(asked) == 1:
            raise apsw.IOError("the disk is gone")
        return checkpoint(self, truncate=truncate)

    monkeypatch.setattr(Connection, "checkpoint", fail_once)
    (failure,) = await registry.close()
    assert failure.kind is STORAGE
    assert "the disk is gone" in failure.message
    assert asked == [True, True, True]
    assert list(registry._stores.values()) == []
    monkeypatch.undo()
    for number, name in enumerate(("one", "two", "three")):
        assert stored(registry.path(name)) == [f"memory number {number}"]


async def test_those_who_wait_for_an_attempt_share_its_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = registry_at(tmp_path)
    attempts: list[str] = []

    def busy(name: str, path: Path, **_: object) -> object:
        attempts.append(name)
        raise apsw.BusyError("database is locked")

    monkeypatch.setattr(registry, "_open_blocking", busy)
    errors: list[MnemonError] = []

    async def ask() -> None:
        with pytest.raises(MnemonError) as caught:
            await registry.open("default")
        errors.append(caught.value)

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(ask)
    assert attempts == ["default"]
    assert [error.kind for error in errors] == [BUSY] * 5
    await ask()
    assert attempts == ["default"] * 2  # who asks later is not told of an old failure


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm"])
async def test_a_pipe_in_the_place_of_a_store_or_its_log_is_refused(tmp_path: Path, suffix: str) -> None:
    """A pipe as log let the store be opened, and every write fail; one as its index was called an error of the disk."""
    registry = registry_at(tmp_path)
    path = registry.path("default")
    path.parent.mkdir(parents=True)
    if suffix:
        engine_at(path).close()
    os.mkfifo(path.with_name(path.name + suffix))
    with trio.fail_after(30), pytest.raises(MnemonError, match=f"mnemon.db{suffix} is not a regular file"):
        await registry.open("default")


LISTS_DESCRIPTORS = os.path.islink("/dev/fd/0")


def open_descriptors(path: Path) -> list[str]:
    """Files of a directory that this process has open."""
    found = []
    for number in os.listdir("/dev/fd"):
        try:
            target = os.readlink(f"/dev/fd/{number}")
        except OSError:
            continue
        if target.startswith(str(path)):
            found.append(target)
    return found


async def nothing_is_left_open(registry: StoreRegistry, path: Path) -> None:
    """And the store can be opened."""
    assert registry.warm("default") is None
    assert open_descriptors(path) == []
    assert [each.name for each in threading.enumerate() if each.name == "writer-default"] == []
    store = await registry.open("default")
    assert isinstance(await store.write(remember(1)), RememberResult)
    await registry.close()


@pytest.mark.parametrize("moment", ["while it is opened", "when it is open"])
@pytest.mark.skipif(not LISTS_DESCRIPTORS, reason="the open files of a process cannot be listed here")
async def test_a_store_that_nobody_waits_for_any_more_is_closed_again(
    moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = registry_at(tmp_path)
    begun, go_on, ended = trio.Event(), threading.Event(), threading.Event()
    token, opening = trio.lowlevel.current_trio_token(), registry._open_blocking
    scope = trio.CancelScope()
    run = CancellableOpen.run

    def slow(name: str, path: Path, **kept: Any) -> Store:
        token.run_sync_soon(begun.set)
        assert go_on.wait(30)
        return opening(name, path, **kept)

    def watched(self: CancellableOpen, open_it: Callable[[], Store]) -> Store:
        try:
            return run(self, open_it)
        finally:
            ended.set()
            if moment == "when it is open":
                token.run_sync_soon(scope.cancel)  # before the thread's answer is taken

    monkeypatch.setattr(registry, "_open_blocking", slow)
    monkeypatch.setattr(CancellableOpen, "run", watched)
    with scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(registry.open, "default")
            await begun.wait()
            if moment == "while it is opened":
                nursery.cancel_scope.cancel()
            else:
                go_on.set()
    go_on.set()
    assert await trio.to_thread.run_sync(ended.wait, 30)
    monkeypatch.undo()
    await nothing_is_left_open(registry, tmp_path)


async def test_a_store_is_opened_with_the_room_that_the_ballast_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry, ballast = registry_at(tmp_path), Ballast(tmp_path)
    await registry.create("one")
    await registry.close()
    assert ballast.exists
    opening = registry._open

    def cramped(name: str, path: Path, **options: Any) -> Store:
        if ballast.exists:
            raise apsw.FullError
        return opening(name, path, **options)

    monkeypatch.setattr(os, "statvfs", lambda path: SimpleNamespace(f_bavail=0, f_frsize=4096))
    monkeypatch.setattr(registry, "_open", cramped)
    store = await registry.open("one")
    assert store.degraded_reason == "the disk is full"
    assert os.listdir(tmp_path) == ["data"]
    await registry.close()


async def test_a_store_that_is_damaged_says_what_to_do(tmp_path: Path) -> None:
    registry = registry_at(tmp_path)
    await registry.create("one")
    await registry.close()
    flip(registry.path("one"), (root_of(registry.path("one"), "insights") - 1) * 4096 + 700)
    with pytest.raises(MnemonError, match="a page of the file is not what was written to it") as caught:
        await registry.open("one")
    assert "doctor --salvage" in str(caught.value.hint)
    assert "--into OTHER" in str(caught.value.hint)
