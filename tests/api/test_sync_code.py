"""Whose files are read: those of devices with the same code."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import msgspec
import pytest

from mnemond.api.types_changes import UndoParams, UpdateParams
from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.memory.sync.code import code_of, secret_of, signed, verified
from mnemond.memory.sync.groups import MemoryValue
from mnemond.memory.sync.records import decode, encode
from mnemond.model.sync import Record, stamp_of
from mnemond.store import history
from tests.api.factories import CALL, NOW_US
from tests.api.test_sync import SECRET, Machine, files_of, two
from tests.api.test_sync_held import as_person
from tests.interchange.test_export import remember

OTHER = secret_of("another")


async def two_codes(stack: AsyncExitStack, path: Path) -> tuple[Machine, Machine]:
    one, other = await two(stack, path)
    await other.has_secret(OTHER)
    return one, other


async def test_files_with_another_code_are_not_read_until_a_person_joins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_person(monkeypatch)
    async with AsyncExitStack() as stack:
        one, other = await two_codes(stack, tmp_path)
        shared = tmp_path / "shared"
        await remember(one.over, "Alice leads the payments team")
        await remember(other.over, "Bob prefers tabs in all projects")
        await one.sync(shared, monkeypatch)
        met = await other.sync(shared, monkeypatch, tty=True)
        assert (met.added, met.refused_found, met.strangers) == (0, 0, [files_of(shared)[0].parent.name])
        assert len((await one.sync(shared, monkeypatch)).strangers) == 1
        code = (await one.sync(shared, monkeypatch, tty=True, show_code=True)).code
        assert code == code_of(SECRET)
        for asked in ({"join": code}, {"show_code": True}):
            with pytest.raises(MnemonError, match="a person at a terminal") as caught:
                await other.sync(shared, monkeypatch, **asked)
            assert caught.value.kind is INVALID_PARAMS
        with pytest.raises(MnemonError, match="this is no code") as caught:
            await other.sync(shared, monkeypatch, tty=True, join="AAAA")
        assert caught.value.kind is INVALID_PARAMS
        joined = await other.sync(shared, monkeypatch, tty=True, join=code)
        assert (joined.added, joined.strangers, joined.remove) == (1, [], ["00000001.jsonl"])
        assert (await one.sync(shared, monkeypatch)).added == 1
        assert await one.texts() == await other.texts()
        assert (await other.sync(shared, monkeypatch, tty=True)).code is None


async def test_the_first_sync_shows_its_code_to_a_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    as_person(monkeypatch)
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        for each in (one, other):
            await each.has_secret(b"")
        shared = tmp_path / "shared"
        assert (await one.sync(shared, monkeypatch)).code is None
        assert (await one.sync(shared, monkeypatch, tty=True)).code is None, "it was made before"
        shown = (await other.sync(shared, monkeypatch, tty=True)).code
        assert shown is not None
        assert (await other.sync(shared, monkeypatch, tty=True, show_code=True)).code == shown
        assert (await one.sync(shared, monkeypatch, tty=True, show_code=True)).code != shown


async def test_a_file_in_the_directory_of_a_device_is_not_that_of_the_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        shared = tmp_path / "shared"
        key = await remember(one.over, "The ledger is kept in SQLite")
        await one.sync(shared, monkeypatch)
        await other.sync(shared, monkeypatch)
        (first,) = files_of(shared)
        purge = encode(Record(kind="memory", key=key, stamp=stamp_of(NOW_US, first.parent.name), state="purged"))
        (first.parent / "00000009.jsonl").write_bytes(purge + b"\n" + signed(purge, OTHER) + b"\n")
        met = await other.sync(shared, monkeypatch)
        assert (met.purged, met.strangers) == (0, [first.parent.name])
        assert await other.texts() == ["The ledger is kept in SQLite"]


async def test_a_text_that_was_replaced_is_in_the_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        shared = tmp_path / "shared"
        key = await remember(one.over, "The ledger is kept in SQLite")
        await one.sync(shared, monkeypatch)
        await other.sync(shared, monkeypatch)
        await other.over.changes.update(CALL, UpdateParams(id=key, content="The ledger is kept in Postgres"))
        await other.sync(shared, monkeypatch)
        line = next(each for each in files_of(shared) if "Postgres" in each.read_text()).read_bytes().splitlines()[-1]
        known = decode(verified(line, SECRET), NOW_US)
        it = known.value
        assert isinstance(it, MemoryValue)
        (stamp, value), later = it.groups["text"], stamp_of(NOW_US + 5_000_000, "e" * 16)
        text = (later, value | {"content": "The ledger is gone"})
        it = msgspec.structs.replace(it, groups=it.groups | {"text": text}, past=[*it.past, stamp])
        forged = msgspec.structs.replace(known, stamp=later, value=it)
        stranger = files_of(shared)[0].parent.parent / ("e" * 16)
        stranger.mkdir()
        (stranger / "00000001.jsonl").write_bytes(signed(encode(forged), SECRET) + b"\n")
        met = await other.sync(shared, monkeypatch)
        assert (met.changed, met.conflicts_found) == (1, 0), "it says that it knew of the text"
        assert await other.texts() == ["The ledger is gone"]
        warm = await other.over.warm()
        records = await warm.store.read(lambda it: history.of_memory(it, key, 10))
        assert "The ledger is kept in Postgres" in {each.before.insight.content for each in records if each.before}
        assert met.op_id is not None
        await other.over.history.undo(CALL, UndoParams(operation=met.op_id))
        assert await other.texts() == ["The ledger is kept in Postgres"]
