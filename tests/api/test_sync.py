"""Sync of whole stores through a directory: the client's files and the daemon's methods together."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
from trio.testing import MockClock

from mnemonctl import rpc, sync
from mnemonctl.sync import Keys, _Named
from mnemond.api import sync as api_sync
from mnemond.api.registry import METHODS
from mnemond.api.requests import submit
from mnemond.api.sync import IDLE_S, SyncHandlers
from mnemond.api.types_changes import UpdateParams
from mnemond.api.types_memories import ForgetParams
from mnemond.api.types_sync import (
    SyncFinishParams,
    SyncOpenParams,
    SyncSent,
    SyncStatusParams,
    SyncStatusResult,
    SyncUniteParams,
    SyncUniteResult,
)
from mnemond.errors import BUSY, INVALID_PARAMS, NOT_FOUND, TOO_LARGE, MnemonError
from mnemond.memory.entities import NameDecision, propose_names
from mnemond.memory.relations import RelationToAdd, propose_addition
from mnemond.memory.sync.code import secret_of, signed
from mnemond.store import relations, reviews, sync_state
from mnemond.store.sync_state import Device
from tests.api.factories import CALL, Bench, ToyEmbedder, bench, spooled
from tests.interchange.test_export import remember

TARGET = "0" * 64
NO_KEYS = Keys()
SECRET = secret_of("that of the tests")
SAID = ("Alice leads the payments team", "The gateway was moved to Frankfurt", "Bob prefers tabs in all projects")


class Machine:
    """A device: its handlers, and its client over a directory."""

    def __init__(self, over: Bench, number: int) -> None:
        self.over = over
        over.ids.made = number << 32  # or all devices would have one id
        self.syncs = SyncHandlers(over.path, over.stores, over.open_stores, over.identities)

    async def sync(
        self, path: Path, monkeypatch: pytest.MonkeyPatch, secret: Keys = NO_KEYS, **params: object
    ) -> SyncUniteResult:
        """Sync with a directory, or with a git repository."""
        named = self._named(path, monkeypatch, secret, params)
        if path.suffix == ".git":
            return await trio.to_thread.run_sync(sync._through_git, named, self.over.path, 60.0)
        return await trio.to_thread.run_sync(sync._through_directory, path, self.over.path, named, 60.0)

    async def look(self, path: Path, monkeypatch: pytest.MonkeyPatch, secret: Keys = NO_KEYS) -> SyncStatusResult:
        """Look into a directory, or a git repository."""
        named = self._named(path, monkeypatch, secret, {})
        if path.suffix == ".git":
            return await trio.to_thread.run_sync(sync._status_of_git, named, self.over.path, 60.0)
        return await trio.to_thread.run_sync(sync._status_of, path, self.over.path, named, 60.0)

    def _named(self, path: Path, monkeypatch: pytest.MonkeyPatch, secret: Keys, params: dict[str, object]) -> _Named:
        handlers: dict[str, Callable[[Any, Any], Awaitable[Any]]] = {
            f"sync.{name}": getattr(self.syncs, name) for name in ("open", "unite", "finish", "status")
        }

        def call(_directory: Path, method: str, params: Mapping[str, object], _into: Any, _deadline: float) -> Any:
            typed = msgspec.json.decode(json.dumps(params), type=METHODS[method].params)  # as `rpc` sends them
            return trio.from_thread.run(handlers[method], CALL, typed)

        monkeypatch.setattr(rpc, "call", call)
        return _Named(str(path), params, "default", secret)

    async def has_secret(self, secret: bytes) -> None:
        """Let the lines of this device be signed with a secret from its first sync on."""
        warm = await self.over.warm()
        device = Device(self.over.identities.nonce(), secret=secret.hex())
        await warm.store.rewrite(lambda it: sync_state.note_device(it, device))

    async def texts(self) -> list[str]:
        warm = await self.over.warm()
        sql = "SELECT content FROM insights WHERE status = 'active' ORDER BY content"
        found: list[str] = await warm.store.read(lambda connection: connection.column(sql))
        return found

    async def reviews(self) -> list[tuple[str, str]]:
        warm = await self.over.warm()
        found = await warm.store.read(lambda connection: reviews.pending(connection, 100))
        return [(each.asked.older, each.asked.newer) for each in found]


async def two(stack: AsyncExitStack, path: Path) -> tuple[Machine, Machine]:
    machines = []
    for number in (1, 2):
        (path / str(number)).mkdir()
        over = await stack.enter_async_context(bench(path / str(number), ToyEmbedder()))
        machines.append(Machine(over, number))
    (path / "shared").mkdir()
    for each in machines:
        await each.has_secret(SECRET)
    return machines[0], machines[1]


def files_of(path: Path) -> list[Path]:
    return sorted(path.rglob("*.jsonl"))


async def test_two_devices_through_a_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        shared = tmp_path / "shared"
        key = await remember(one.over, "The ledger is kept in SQLite", cues=("which database",), tags=("db",))
        assert (await one.sync(shared, monkeypatch)).lines == 1
        result = await other.sync(shared, monkeypatch)
        assert (result.added, result.publish) == (1, None)
        assert await other.texts() == ["The ledger is kept in SQLite"]
        assert (await other.sync(shared, monkeypatch)).added == 0
        status = await other.syncs.status(CALL, SyncStatusParams())
        (target,) = status.targets
        assert (target.label, target.waiting, [each.files for each in target.devices]) == (str(shared), 0, [1])
        await one.over.changes.update(CALL, UpdateParams(id=key, content="The ledger is kept in Postgres"))
        await other.over.changes.update(CALL, UpdateParams(id=key, content="The ledger is kept in DuckDB"))
        assert (await other.syncs.status(CALL, SyncStatusParams())).targets[0].waiting == 1
        await one.sync(shared, monkeypatch)
        met = await other.sync(shared, monkeypatch)
        assert (met.conflicts_found, met.conflicts) == (1, [key])
        await one.sync(shared, monkeypatch)
        texts = await one.texts()
        assert texts == await other.texts() == ["The ledger is kept in DuckDB", "The ledger is kept in Postgres"]
        assert await one.reviews() == await other.reviews()
        assert len(await one.reviews()) == 1


async def test_a_purge_travels_and_leaves_no_text_in_any_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        shared = tmp_path / "shared"
        gone = await remember(one.over, "The word zanzibar is here")
        await remember(one.over, "Another stays")
        await one.sync(shared, monkeypatch)
        await other.sync(shared, monkeypatch)
        await other.over.changes.update(CALL, UpdateParams(id=gone, content="The word zanzibar is still here"))
        await other.sync(shared, monkeypatch)
        await one.over.changes.forget(CALL, ForgetParams(id=gone, purge=True))
        assert (await one.sync(shared, monkeypatch)).remove == ["00000001.jsonl"]
        assert "zanzibar" in "".join(each.read_text() for each in files_of(shared)), (
            "the other device has a file with it"
        )
        result = await other.sync(shared, monkeypatch)
        assert (result.purged, result.remove) == (1, ["00000001.jsonl"])
        assert "zanzibar" not in "".join(each.read_text() for each in files_of(shared))
        assert await other.texts() == ["Another stays"]
        assert (await other.sync(shared, monkeypatch)).remove == []
        assert (await one.sync(shared, monkeypatch)).remove == []


async def test_files_that_were_lost_or_cut_are_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        shared = tmp_path / "shared"
        await remember(one.over, "The first of all")
        await one.sync(shared, monkeypatch)
        (first,) = files_of(shared)
        first.write_bytes(first.read_bytes()[:100])
        cut = await other.sync(shared, monkeypatch)
        assert (cut.added, cut.refused_found) == (0, 1)
        assert "it is no record" in cut.refused[0]
        assert (await one.sync(shared, monkeypatch)).remove == ["00000001.jsonl"]
        assert (await other.sync(shared, monkeypatch)).added == 1
        for each in files_of(shared):
            each.unlink()
        assert (await one.sync(shared, monkeypatch)).publish == "00000003.jsonl"


async def test_a_sync_that_ends_in_between_goes_on_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        shared = tmp_path / "shared"
        await remember(one.over, "The first of all")

        def stop(*_: Any, **_fields: Any) -> None:
            raise OSError(28, "No space left on device")

        for name in ("replace", "unlink"):
            with monkeypatch.context() as patch:
                patch.setattr(os, name, stop)
                with pytest.raises((MnemonError, OSError)):
                    await one.sync(shared, patch)
            one.syncs._end_of("default")
        await one.sync(shared, monkeypatch)
        device = (await one.syncs.status(CALL, SyncStatusParams())).device
        assert [each.parent.name for each in files_of(shared)] == [device] * len(files_of(shared))
        assert (await other.sync(shared, monkeypatch)).added == 1


async def test_a_copied_store_becomes_a_device_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shared = tmp_path / "shared"
    async with AsyncExitStack() as stack:
        one, _ = await two(stack, tmp_path)
        await remember(one.over, "Alice leads the payments team")
        await one.sync(shared, monkeypatch)
    shutil.copytree(tmp_path / "1", tmp_path / "3")
    async with bench(tmp_path / "1", ToyEmbedder()) as first, bench(tmp_path / "3", ToyEmbedder()) as copied:
        one, three = Machine(first, 1), Machine(copied, 3)
        first.ids.made += 1 << 20
        await remember(first, "The gateway was moved to Frankfurt")
        await remember(copied, "Bob prefers tabs in all projects")
        await one.sync(shared, monkeypatch)
        await three.sync(shared, monkeypatch)
        await one.sync(shared, monkeypatch)
        assert await one.texts() == await three.texts() == sorted(SAID)
        devices = {(await each.syncs.status(CALL, SyncStatusParams())).device for each in (one, three)}
        assert len(devices) == 2


async def test_a_rule_that_is_enforced_waits_for_a_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        shared = tmp_path / "shared"
        key = await remember(one.over, "Never push to main", when=("Bash:git push *",))
        warm = await one.over.warm()
        await warm.store.rewrite(lambda it: it.run("UPDATE triggers SET enforce = 'deny'"), rows=True)
        await one.sync(shared, monkeypatch)
        held = await other.sync(shared, monkeypatch)
        assert (held.held, held.added) == ([key], 0)
        monkeypatch.setattr("mnemond.api.requests.is_person", lambda _: True)
        assert (await other.sync(shared, monkeypatch)).added == 1


STAMP = b"0000000000000001-0011223344556677"
FAR = b"7fffffffffffffff-0011223344556677"
HOSTILE = {
    "it is no record": b'{"mnemond_sync":1,"kind":"memory"}',
    "it is of version 2": b'{"mnemond_sync":2,"kind":"memory","key":"a"}',
    "its key is no id": b'{"mnemond_sync":1,"kind":"memory","key":"../x","stamp":"%s","state":"purged"}' % STAMP,
    "it has not all groups": b'{"mnemond_sync":1,"kind":"memory","key":"a","stamp":"%s","value":{"groups":{}}}' % STAMP,
    "its state is none of its kind": b'{"mnemond_sync":1,"kind":"memory","key":"a","stamp":"%s"}' % STAMP,
    "a stamp of it is none": b'{"mnemond_sync":1,"kind":"memory","key":"a","stamp":"x","state":"purged"}',
    "more than a day ahead": b'{"mnemond_sync":1,"kind":"memory","key":"a","stamp":"%s","state":"purged"}' % FAR,
    "its key is no link": b'{"mnemond_sync":1,"kind":"edge","key":"a b","stamp":"%s","state":"gone"}' % STAMP,
}  # fmt: skip


@pytest.mark.parametrize("why", HOSTILE)
async def test_a_line_of_a_stranger_is_refused_and_the_others_are_taken(
    why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        shared = tmp_path / "shared"
        await remember(one.over, "The first of all")
        await one.sync(shared, monkeypatch)
        (first,) = files_of(shared)
        first.write_bytes(signed(HOSTILE[why], SECRET) + b"\n" + first.read_bytes())
        result = await other.sync(shared, monkeypatch)
        assert result.added == 1
        assert result.refused_found == 1
        assert why in result.refused[0]


async def test_a_file_without_records_is_not_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        shared = tmp_path / "shared"
        await remember(one.over, "The first of all")
        await one.sync(shared, monkeypatch)
        (first,) = files_of(shared)
        stranger = first.parent.parent / ("0" * 16)
        stranger.mkdir()
        (stranger / "00000001.jsonl").write_bytes(b"\n" * 5_000)
        result = await other.sync(shared, monkeypatch)
        assert result.added == 1
        assert result.refused_found == api_sync.MAX_REFUSED, "no more is held in memory"


async def test_lines_of_a_later_version_hide_nothing_and_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        shared = tmp_path / "shared"
        await remember(one.over, "The first of all")
        await one.sync(shared, monkeypatch)
        (first,) = files_of(shared)
        newer = [b'{"mnemond_sync":1,"kind":"dream","key":"%d"}' % each for each in range(2 * api_sync.MAX_REFUSED)]
        first.write_bytes(b"".join(signed(each, SECRET) + b"\n" for each in newer) + first.read_bytes())
        result = await other.sync(shared, monkeypatch)
        assert (result.added, result.refused_found) == (1, 1)
        assert "kind 'dream': update it" in result.refused[0]
        again = await other.sync(shared, monkeypatch)
        assert (again.added, again.refused_found) == (0, 1), "it is sent until all of it can be read"


async def test_relations_and_names_reach_the_other_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemond.api.requests.is_person", lambda _: True)
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        shared = tmp_path / "shared"
        await remember(one.over, "Robert Smith prefers tabs")
        await remember(one.over, "Bob Miller prefers tabs")
        warm = await one.over.warm()
        added = RelationToAdd(source="Bob Miller", type="works_at", target="Acme")
        await submit(warm, propose_addition(added, one.over.identities.own("default", "user")))
        joined = NameDecision(decision="merge", name="Robert Smith", other="Bob Miller")
        by = msgspec.structs.replace(one.over.identities.own("default", "user"), by_person=True)
        await submit(warm, propose_names(joined, by))
        assert (await one.sync(shared, monkeypatch)).lines == 4
        result = await other.sync(shared, monkeypatch)
        assert (result.added, result.relations, result.names) == (2, 1, 1)
        there = await other.over.warm()
        views = await there.store.read(lambda it: relations.views(it, relations.relationships(it)))
        assert [(each.source, each.type, each.target) for each in views] == [("Robert Smith", "works_at", "Acme")]


async def test_links_pipes_and_large_files_are_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        shared = tmp_path / "shared"
        await remember(one.over, "The first of all")
        await one.sync(shared, monkeypatch)
        (first,) = files_of(shared)
        folder = first.parent.parent
        outside = tmp_path / "outside"
        outside.mkdir()
        shutil.move(first, outside / "00000001.jsonl")
        (folder / ("a" * 16)).symlink_to(outside)
        (folder / ("b" * 16)).mkdir()
        (folder / ("b" * 16) / "00000001.jsonl").symlink_to(outside / "00000001.jsonl")
        os.mkfifo(folder / ("b" * 16) / "00000002.jsonl")
        shutil.copy(outside / "00000001.jsonl", folder / ("b" * 16) / "notes.jsonl")
        shutil.copy(outside / "00000001.jsonl", folder / ("b" * 16) / "00000003.jsonl")
        monkeypatch.setattr(sync, "MAX_FILE", 10)
        with trio.fail_after(60):
            assert (await other.sync(shared, monkeypatch)).added == 0
        (folder / "x").symlink_to(outside)
        shutil.rmtree(folder)
        folder.symlink_to(outside)
        with pytest.raises(MnemonError, match="cannot be used"):
            await other.sync(shared, monkeypatch)


async def test_one_sync_at_a_time_and_not_for_ever(
    tmp_path: Path, mock_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bench(tmp_path) as over:
        it = Machine(over, 1)
        await remember(over, "The first of all")
        begun = await it.syncs.open(CALL, SyncOpenParams(target=TARGET, label="here"))
        with pytest.raises(MnemonError, match="synced already") as caught:
            await it.syncs.open(CALL, SyncOpenParams(target=TARGET, label="here"))
        assert caught.value.kind is BUSY

        async def unite(name: str, content: str = "", *sent: SyncSent) -> SyncUniteResult:
            return await it.syncs.unite(
                CALL, SyncUniteParams(sync_id=name, spool=spooled(tmp_path, content), sent=sent)
            )

        for sent in ((), (SyncSent(0, 1),), (SyncSent(0, 2),)):
            with pytest.raises(MnemonError, match="2 bytes are there, and not those") as caught:
                await unite(begun.sync_id, "xy", *sent)
            assert caught.value.kind is INVALID_PARAMS
        assert (await unite(begun.sync_id)).lines == 1
        assert (await unite(begun.sync_id)).lines == 1, "a repeat"
        mock_clock.jump(2 * IDLE_S)
        file = {"device": "0" * 16, "name": "00000001.jsonl", "digest": TARGET}
        params = msgspec.convert({"target": TARGET, "label": "here", "files": [file]}, SyncOpenParams)
        again = await it.syncs.open(CALL, params)
        with pytest.raises(MnemonError, match="no such sync") as caught:
            await it.syncs.finish(CALL, SyncFinishParams(sync_id=begun.sync_id))
        assert caught.value.kind is NOT_FOUND
        monkeypatch.setattr(api_sync, "MAX_BYTES", 3)
        with pytest.raises(MnemonError, match="at most 3 are taken") as caught:
            await unite(again.sync_id, "four", SyncSent(0, 4))
        assert caught.value.kind is TOO_LARGE
        with pytest.raises(MnemonError, match="is not there"):
            await it.syncs.unite(CALL, SyncUniteParams(sync_id=again.sync_id, spool="12345678"))
        await unite(again.sync_id)
        async with over.stores.exclusive("default"):
            pass
        with pytest.raises(MnemonError, match="no such sync"):
            await it.syncs.finish(CALL, SyncFinishParams(sync_id=again.sync_id))
