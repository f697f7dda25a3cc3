"""The power is cut at each operation of the file system: every image that the disk may hold then is opened by the
store, and nothing that was acknowledged is lost."""

from __future__ import annotations

import multiprocessing
import os
import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import get_args

import pytest

from mnemond.model.changes import AddInsight, AddRelations, Change
from tests.faults.aftermath import record, survive
from tests.faults.every_change import all_batches, kinds, steps
from tests.faults.power_cut import SECTOR, Disk, Image
from tests.faults.recording_vfs import Deleted, Opened, Operation, RecordingVfs, Synced, Truncated, Written

QUICK = 1_500
DEEP = 150_000
"""Images (reliability section 3)."""


@pytest.fixture(scope="module", autouse=True)
def vfs() -> Iterator[None]:
    registered = RecordingVfs()
    yield
    registered.unregister()


# ------------------------------------------------------------------ the model of a disk


def after(*operations: Operation) -> Disk:
    disk = Disk()
    for operation in operations:
        disk.follow(operation)
    return disk


def images_of(disk: Disk, torn: int = 200) -> list[Image]:
    return list(disk.images(random.Random(1), torn))


OLD, NEW = b"o" * (2 * SECTOR), b"n" * (2 * SECTOR)
SYNCED = (Opened("f"), Written("f", 0, OLD), Synced("f"))


def test_a_kill_keeps_what_was_written_and_a_power_cut_what_was_synced() -> None:
    written, synced, *_ = images_of(after(*SYNCED, Written("f", 0, NEW)))
    assert (written, synced) == ({"f": NEW}, {"f": OLD})
    written, synced, *_ = images_of(after(*SYNCED, Truncated("f", SECTOR)))
    assert (written, synced) == ({"f": OLD[:SECTOR]}, {"f": OLD})


def test_of_an_unsynced_write_any_sector_may_be_there() -> None:
    found = {image["f"] for image in images_of(after(*SYNCED, Written("f", 0, NEW)))}
    old, new = OLD[:SECTOR], NEW[:SECTOR]
    assert found == {old + old, old + new, new + old, new + new}


def test_a_later_write_may_reach_the_disk_without_an_earlier_one() -> None:
    disk = after(Opened("f"), Written("f", 0, b"1"), Opened("g"), Written("g", 0, b"2"))
    found = {tuple(sorted(image)) for image in images_of(disk)}
    assert {("g",), ("f",), ("f", "g"), ()} <= found
    holes = {image["f"] for image in images_of(after(*SYNCED, Written("f", 3 * SECTOR, b"3")))}
    assert OLD + bytes(SECTOR) + b"3" in holes


def test_a_deleted_file_may_come_back_until_the_directory_is_flushed() -> None:
    deleted = (*SYNCED, Deleted("f", flushed=False))
    assert {tuple(image) for image in images_of(after(*deleted))} == {("f",), ()}
    assert {tuple(image) for image in images_of(after(*SYNCED, Deleted("f", flushed=True)))} == {()}
    log = (Opened("f-wal"), Written("f-wal", 0, b"1"), Synced("f-wal"))
    assert {tuple(image) for image in images_of(after(*deleted, *log))} == {("f-wal",)}


# ------------------------------------------------------------------ the store


@pytest.fixture
def small_checkpoints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemond.store.engine.CHECKPOINT_FRAMES", 8)
    monkeypatch.setattr("mnemond.store.engine.TRUNCATE_FRAMES", 60)


def test_the_workload_has_every_kind_of_change() -> None:
    assert kinds(all_batches()) | {AddInsight, AddRelations} == set(get_args(Change))


def test_some_images_of_a_power_cut(tmp_path: Path, small_checkpoints: None) -> None:
    tape = record(tmp_path / "a.db", steps())
    found = survive(tmp_path, tape, QUICK, seed=1, indexes_once=True)
    assert found["images"] == found["newest"] + found["older"] >= QUICK
    assert min(found["newest"], found["older"], found["used"]) > 0


@pytest.mark.deep
def test_many_images_of_a_power_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints come early, seldom and never; each part in a process of its own."""
    workers = len(os.sched_getaffinity(0))
    frames = [(4, 30), (8, 60), (16, 1_000), (1_000, 16_000)]
    found: Counter[str] = Counter()
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        parts = []
        for seed, (due, truncated) in enumerate(frames):
            monkeypatch.setattr("mnemond.store.engine.CHECKPOINT_FRAMES", due)
            monkeypatch.setattr("mnemond.store.engine.TRUNCATE_FRAMES", truncated)
            home = tmp_path / str(seed)
            home.mkdir()
            tape = record(home / "a.db", steps())
            parts.append(pool.submit(survive, home, tape, DEEP // len(frames), seed, indexes_once=True))
        for part in parts:
            found += part.result()
    print(dict(found))
    assert found["images"] >= DEEP


@pytest.mark.deep
def test_every_index_is_built_anew(tmp_path: Path, small_checkpoints: None) -> None:
    tape = record(tmp_path / "a.db", steps())
    assert survive(tmp_path, tape, 5_000, seed=5, indexes_once=False)["images"] >= 5_000
