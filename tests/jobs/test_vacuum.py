"""A file is written anew where much of it is unused or its pages have no checksums, and else it is left alone."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from trio.testing import MockClock

from mnemond.errors import MnemonError
from mnemond.jobs import storage
from mnemond.jobs.job import Done
from mnemond.jobs.storage import Vacuum, kept_as
from mnemond.store import checksums, verified_copy
from mnemond.store.connection import Connection
from tests.jobs.factories import FILE, kept
from tests.store.factories import engine_at, remember
from tests.store.plain import has_checksums, make_plain

HELD = "bytes written anew"


def plain_store(directory: Path) -> Path:
    path = directory / FILE
    engine = engine_at(path)
    engine.commit([remember(number) for number in range(1, 20)])
    engine.close()
    make_plain(path)
    return path


async def test_a_store_without_checksums_gets_them_once(tmp_path: Path, mock_clock: MockClock) -> None:
    path = plain_store(tmp_path)
    async with kept(tmp_path, mock_clock, Vacuum()) as over:
        ((name, done),) = over.told
        assert (name, isinstance(done, Done) and done.detail) == ("vacuum", HELD)
        assert has_checksums(path)
        assert [each for each in checksums.faulty_pages(path) if each is not None] == []
        assert not has_checksums(kept_as(path))
        assert verified_copy.verify(kept_as(path)).memories == 19
        assert kept_as(path).stat().st_mode & 0o777 == 0o600
        await over.remember(50)
        await over.mirrored()
        assert await over.attendant.run("vacuum") == Done("nothing")
        assert (await over.records())["vacuum"].detail == HELD


async def test_what_is_unused_is_given_back(
    tmp_path: Path, mock_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "UNUSED_BYTES", 100_000)
    async with kept(tmp_path, mock_clock, Vacuum()) as over:
        assert over.told == [("vacuum", Done("nothing"))]
        await over.remember(1)
        await over.store.rewrite(_use_much)
        await over.store.rewrite(lambda it: it.script("DROP TABLE much"))
        before = await over.store.read(storage._measure)
        assert before.unused > 300_000
        assert (await over.attendant.run("vacuum", dry_run=True)).changed == before.bytes
        assert await over.attendant.run("vacuum") == Done("done", before.bytes, HELD)
        after = await over.store.read(storage._measure)
        assert after.unused == 0
        assert after.bytes <= before.bytes - before.unused + 4_096  # a page may be filled less than before
        assert not kept_as(over.path).exists()
        await over.mirrored()


async def test_it_waits_for_whoever_reads(tmp_path: Path, mock_clock: MockClock) -> None:
    path = plain_store(tmp_path)
    reader = Connection(path, read_only=True)
    try:
        reader.run("BEGIN")
        reader.rows("SELECT count(*) FROM insights")
        async with kept(tmp_path, mock_clock, Vacuum()) as over:
            await over.remember(50)
            assert (await over.attendant.run("vacuum")).outcome == "nothing"
            reader.close()
            assert (await over.attendant.run("vacuum")).outcome == "done"
            assert has_checksums(path)
    finally:
        reader.close()


async def test_nothing_is_begun_where_no_copy_can_be_made(tmp_path: Path, mock_clock: MockClock) -> None:
    path = plain_store(tmp_path)
    kept_as(path).mkdir()
    async with kept(tmp_path, mock_clock, Vacuum()) as over:
        ((_, refused),) = over.told
        assert isinstance(refused, MnemonError)
        assert "cannot be copied" in refused.message
        assert not has_checksums(path)
        shutil.rmtree(kept_as(path))


async def test_a_store_that_is_not_well_is_left_alone(tmp_path: Path, mock_clock: MockClock) -> None:
    async with kept(tmp_path, mock_clock, Vacuum()) as over:
        over.store._engine.health.fault = "something"
        assert (await over.attendant.run("vacuum")).detail.startswith("the store is not well")


def _use_much(connection: Connection) -> None:
    connection.script("CREATE TABLE much(x); INSERT INTO much VALUES(zeroblob(400000))")


def test_the_copy_is_one_that_purge_knows(tmp_path: Path) -> None:
    assert kept_as(tmp_path / FILE).match(f"{FILE}.bak*")  # `backups.holding` looks at those
