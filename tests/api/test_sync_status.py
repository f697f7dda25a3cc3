"""`sync status`: devices by name, when each last wrote, what was not read or published; looking changes nothing."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import pyrage
import pytest
import trio

from mnemonctl import sync
from mnemonctl.sync import Keys
from mnemond.api.sync_status import MAX_UNKNOWN
from mnemond.api.types_sync import SyncDeviceView, SyncFailedParams, SyncStatusParams, SyncStatusResult
from mnemond.cli.output import Style
from mnemond.cli.sync import SYNC
from mnemond.wire.params import StoreParams
from tests.api.factories import CALL
from tests.api.test_sync import Machine, two
from tests.interchange.test_export import remember

KEY = pyrage.x25519.Identity.generate()
SECRET = Keys((str(KEY.to_public()),), identities=[KEY])
NOON = "2026-11-28T12:00:00.000000Z"


@pytest.fixture(autouse=True)
def known_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sync, "_host", lambda: "host")
    monkeypatch.setattr(sync, "_now", lambda: NOON)


def by_name(found: SyncStatusResult) -> dict[str | None, SyncDeviceView]:
    (target,) = found.targets
    return {each.name: each for each in target.devices}


async def status(machine: Machine) -> SyncStatusResult:
    return await machine.syncs.status(CALL, SyncStatusParams())


async def test_what_could_not_be_read_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        shared = tmp_path / "shared"
        await remember(one.over, "The first of all")
        await one.sync(shared, monkeypatch, SECRET, name="laptop")
        await other.sync(shared, monkeypatch, Keys(SECRET.recipients))
        (unknown,) = (await status(other)).targets[0].devices
        assert (unknown.name, unknown.unread, unknown.encrypted, unknown.wrote_at) == (None, 1, True, None)
        assert by_name(await other.look(shared, monkeypatch, SECRET))["laptop"].unread == 1
        await other.sync(shared, monkeypatch, SECRET)
        assert by_name(await status(other))["laptop"].unread == 0
        await other.sync(shared, monkeypatch)
        assert by_name(await status(other))["laptop"].wrote_at == NOON, "it stays known without the key"
        assert (await status(other)).targets[0].recipients == 1


async def test_a_name_that_another_program_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        shared = tmp_path / "shared"
        await remember(one.over, "The first of all")
        await one.sync(shared, monkeypatch)
        (file,) = shared.rglob("device.json")
        good = json.loads(file.read_text())
        evil = "\x1b[2J\u202eevil\n  /srv: never" + "x" * 99
        for content, name, wrote_at in (
            ({**good, "name": evil, "wrote_at": "\x1b[2J"}, "2Jevil  srv never" + "x" * 23, None),
            ({**good, "mnemond_sync": 2}, None, None), ({**good, "name": 3}, None, None), ([], None, None),
            ({**good, "more": [{}] * 9}, "host", NOON), ({**good, "more": "x" * 9_000}, None, None),
        ):  # fmt: skip
            file.write_text(json.dumps(content))
            (seen,) = (await other.look(shared, monkeypatch)).targets[0].devices
            assert (seen.name, seen.wrote_at) == (name, wrote_at)
        file.unlink()
        file.symlink_to("/etc/hostname")
        (seen,) = (await other.look(shared, monkeypatch)).targets[0].devices
        assert (seen.name, seen.unread) == (None, 1)
        assert (await other.sync(shared, monkeypatch)).added == 1


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
async def test_a_look_into_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remote = tmp_path / "remote.git"
    await trio_run("init", remote)
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        await remember(one.over, "The first of all")
        await one.sync(remote, monkeypatch, name="laptop")
        head = await trio_run("rev-parse", remote)
        seen = await other.look(remote, monkeypatch)
        assert by_name(seen)["laptop"].unread == 1
        assert await trio_run("rev-parse", remote) == head
        assert list(other.over.path.rglob("*.jsonl")) == []


async def trio_run(what: str, remote: Path) -> bytes:
    words = {"init": ["init", "--quiet", "--bare", str(remote)], "rev-parse": ["-C", str(remote), "rev-parse", "main"]}
    found: subprocess.CompletedProcess[bytes] = await trio.run_process(["git", *words[what]], capture_stdout=True)
    return found.stdout


async def test_failures_are_told_until_a_sync_succeeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncExitStack() as stack:
        one, _ = await two(stack, tmp_path)
        shared = tmp_path / "shared"
        target = hashlib.sha256(str(shared).encode()).hexdigest()
        params = SyncFailedParams(target=target, label=str(shared), why="no network")
        typed = await one.syncs.failed(CALL, params)
        assert typed.count == 0, "a person sees the error, and it may be a mistake in the name"
        assert (await status(one)).targets == []
        in_background = msgspec.structs.replace(params, background=True)
        assert [(await one.syncs.failed(CALL, in_background)).count for _ in range(2)] == [1, 2]
        (found,) = (await status(one)).targets
        assert found.synced_at is None
        assert found.failed is not None
        assert (found.failed.why, found.failed.count) == ("no network", 2)
        assert SYNC.render is not None
        assert "fails since" in SYNC.render(await status(one), Style())
        told = (await one.over.daemon.status(CALL, StoreParams())).syncs
        assert [each.rpartition(": ")[2] for each in told] == ["no network"]
        assert told[0].startswith(f"{shared} fails since 20")
        await remember(one.over, "The first of all")
        await one.sync(shared, monkeypatch)
        assert (await status(one)).targets[0].failed is None
        assert (await one.over.daemon.status(CALL, StoreParams())).syncs == []
        assert (await one.syncs.failed(CALL, params)).count == 1, "it is known by now"
        one.over.clock.us += 8 * 86_400 * 1_000_000
        assert (await status(one)).targets[0].failed is None, "it was given up"
        assert (await one.over.daemon.status(CALL, StoreParams())).syncs == []
        for number in range(30):
            await one.syncs.failed(CALL, msgspec.structs.replace(in_background, target=f"{number:064x}"))
        assert len((await status(one)).targets) == 1 + MAX_UNKNOWN
