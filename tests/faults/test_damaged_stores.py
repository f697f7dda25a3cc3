"""Two hundred damaged stores: what salvage calls sound can be used, and each can be restored over and removed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from mnemond.errors import STORAGE, MnemonError
from mnemond.store.backups import BackupDirectory, BackupService
from mnemond.store.salvage import Salvaged, salvage
from mnemond.store.verify import verify_closed
from tests.faults.damages import NOW_US, Damage, build, damaged, rewrite, use
from tests.store.test_registry import registry_at

QUICK, DEEP = 10, 200


class Whole:
    """The store that is damaged, and what is in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.texts = build(path)
        self.content = path.read_bytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    return Whole(tmp_path_factory.mktemp("whole") / "mnemon.db")


def attempts(whole: Whole, directory: Path, many: int) -> Iterator[tuple[Damage, Path]]:
    """So many damaged stores, each in a directory of its own."""
    for seed in range(many):
        home = directory / f"old-{seed}"
        home.mkdir(mode=0o700)
        path = home / "mnemon.db"
        path.touch(0o600)
        if seed % 5 == 4:
            path.write_bytes(whole.content)
            what = rewrite(path, seed)
            for more in ("-wal", "-shm"):
                path.with_name(path.name + more).unlink(missing_ok=True)
            yield Damage(what, path.read_bytes()), path
        else:
            damage = damaged(whole.content, seed)
            path.write_bytes(damage.content)
            yield damage, path


def salvaged(path: Path) -> Salvaged | None:
    """None for a file of which nothing can be read; then that is said, and nothing is left behind."""
    home = path.parent.with_name(path.parent.name.replace("old", "new"))
    home.mkdir(mode=0o700)
    try:
        return salvage(path, home / "mnemon.db", NOW_US)
    except MnemonError as error:
        refused = error
    assert refused.kind is STORAGE
    assert list(home.iterdir()) == []
    return None


def is_called_sound(path: Path) -> bool:
    path.chmod(0o600)
    return not [problem for each in verify_closed(path, "full", NOW_US) for problem in each.problems]


def salvage_all(whole: Whole, directory: Path, many: int) -> tuple[int, int]:
    """Of so many damaged stores: how many were salvaged, and how many memories were kept."""
    done, kept = 0, 0
    for damage, path in attempts(whole, directory, many):
        found = salvaged(path)
        assert path.read_bytes() == damage.content, damage.what
        if found is None:
            continue
        assert found.problems == [], damage.what
        assert is_called_sound(found.path), damage.what
        try:
            texts = use(found.path)
        except Exception as error:
            raise AssertionError(f"called sound, and cannot be used: {damage.what}") from error
        assert found.is_whole or set(texts) <= {*whole.texts.values()} or "UPDATE" in damage.what, damage.what
        missing = set(whole.texts.values()) - set(texts)
        assert not (missing and found.is_whole), f"lost without a word: {damage.what}"
        done, kept = done + 1, kept + len(whole.texts) - len(missing)
    return done, kept


def test_what_salvage_calls_sound_can_be_used(whole: Whole, tmp_path: Path) -> None:
    done, kept = salvage_all(whole, tmp_path, QUICK)
    assert done >= QUICK * 0.8
    assert kept >= done * len(whole.texts) * 0.8


@pytest.mark.attack
@pytest.mark.deep
def test_of_two_hundred_none_is_called_sound_that_cannot_be_used(whole: Whole, tmp_path: Path) -> None:
    done, kept = salvage_all(whole, tmp_path, DEEP)
    print(f"{done} of {DEEP} salvaged, {kept / done / len(whole.texts):.1%} of their memories kept")
    assert done >= DEEP * 0.9
    assert kept >= done * len(whole.texts) * 0.9


async def restore_all(whole: Whole, directory: Path, many: int) -> int:
    """Restore over so many damaged stores, and remove every other one; how many were kept aside."""
    kept = 0
    for damage, path in attempts(whole, directory, many):
        home = path.parent.with_name(path.parent.name.replace("old", "data"))
        home.mkdir(mode=0o700)
        stores = registry_at(home)
        now_us = NOW_US

        def clock() -> int:
            nonlocal now_us
            now_us += 1_000_000
            return now_us

        keeping = BackupService(stores, BackupDirectory(home, keep=3), clock)
        (made, _) = BackupDirectory(home, keep=3).add("work", whole.path, "asked", clock())
        place = stores.path("work")
        place.parent.mkdir(parents=True, mode=0o700)
        place.write_bytes(damage.content)
        if place.stat().st_ino % 2:
            with suppress(MnemonError):
                await stores.open("work")
        aside: Path | None
        if len(damage.content) % 2:
            last, aside = await keeping.remove("work", purge=False)
            assert not place.parent.exists(), damage.what
            assert (last is None) != (aside is None), damage.what
        else:
            done = await keeping.restore(made, "work")
            aside, last = done.aside, done.before
            assert (last is None) != (aside is None), damage.what
            await stores.close()
        if aside is not None:
            assert (aside / "mnemon.db").is_file(), damage.what
            kept += 1
        await keeping.restore(made, "work")
        store = await stores.open("work")
        assert store.snapshot.live == len(whole.texts), damage.what
        assert store.degraded_reason is None, damage.what
        await stores.close()
        if aside is not None:
            assert (aside / "mnemon.db").read_bytes() == damage.content, damage.what
    return kept


async def test_every_damaged_store_is_restored_over_or_removed_and_kept(whole: Whole, tmp_path: Path) -> None:
    assert await restore_all(whole, tmp_path, QUICK // 2) > 0


@pytest.mark.attack
@pytest.mark.deep
async def test_two_hundred_damaged_stores_are_restored_over_or_removed_and_kept(whole: Whole, tmp_path: Path) -> None:
    assert await restore_all(whole, tmp_path, DEEP) > DEEP // 4
