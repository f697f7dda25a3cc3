"""Backups: verified before they have a name, named by us, few enough, private, and nothing of them follows a path."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from mnemond.errors import AMBIGUOUS, NOT_FOUND, STORAGE, UNSUPPORTED, MnemonError
from mnemond.model.answers import Backup
from mnemond.store import backups, verified_copy
from mnemond.store.backups import BackupDirectory, Kind, copies_holding, remove_leftovers
from mnemond.store.connection import Connection
from mnemond.store.engine import Engine
from mnemond.store.verified_copy import verify
from tests.store.factories import START_US, engine_at, forget, insight_id, remember, stored
from tests.store.invariants.seeded import change

SECOND = 1_000_000


class World:
    """A store "shop" in a data directory, and the shelf of that directory."""

    def __init__(self, path: Path, keep: int = 3) -> None:
        self.path = path / "data" / "shop" / "mnemon.db"
        self.path.parent.mkdir(parents=True)
        self.shelf = BackupDirectory(path, keep)
        self.engine: Engine = engine_at(self.path)
        self.at_us = START_US

    def remember(self, *numbers: int) -> None:
        self.engine.commit([remember(number) for number in numbers])

    def back_up(self, kind: Kind = "asked", store: str = "shop") -> tuple[Backup, list[str]]:
        self.at_us += SECOND
        return self.shelf.add(store, self.path, kind, self.at_us)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_backup_is_one_private_file_that_says_what_it_holds(world: World, tmp_path: Path) -> None:
    world.remember(1, 2, 3)
    world.engine.commit([forget(2)])
    made, dropped = world.back_up()
    assert (made.name, dropped) == ("20260202T024001.000000Z-asked", [])
    assert made.created_at == "2026-02-02T02:40:01.000000Z"
    assert (made.memories, made.retired, made.bytes) == (2, 1, made.file.stat().st_size)
    assert sorted(path.name for path in made.file.parent.iterdir()) == [f"{made.name}.db", f"{made.name}.json"]
    for path in (made.file, made.file.with_suffix(".json")):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for folder in (made.file.parent, tmp_path / "backups"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert world.shelf.of("shop") == [made]
    assert verify(made.file, expected=made.sha256) == backups._noted(made.file)
    world.engine.close()
    assert stored(made.file) == ["memory number 1", "memory number 3"]


def test_what_still_stands_in_the_log_is_in_it(world: World) -> None:
    world.remember(*range(50))
    assert world.path.with_name("mnemon.db-wal").stat().st_size > 0
    made, _ = world.back_up()
    assert made.memories == 50


def test_the_oldest_of_each_kind_make_room(world: World) -> None:
    asked = [world.back_up()[0].name for _ in range(3)]
    replaced = world.back_up("replaced")[0].name
    newest, dropped = world.back_up()
    assert dropped == asked[:1]
    assert [each.name for each in world.shelf.of("shop")] == [newest.name, replaced, asked[2], asked[1]]


def test_two_of_one_moment_have_two_names(world: World) -> None:
    first, _ = world.shelf.add("shop", world.path, "asked", START_US)
    second, _ = world.shelf.add("shop", world.path, "asked", START_US)
    assert first.name < second.name


def test_a_backup_is_found_by_its_name_or_the_beginning_of_it(world: World) -> None:
    one, other, elsewhere = world.back_up()[0], world.back_up()[0], world.back_up(store="play")[0]
    assert world.shelf.find(one.name, None) == one
    assert world.shelf.find(one.name[:15], None) == one
    assert world.shelf.find("202602", "play") == elsewhere
    assert world.shelf.all() == [elsewhere, other, one]
    with pytest.raises(MnemonError, match="means 3 backups") as ambiguous:
        world.shelf.find("202602", None)
    assert ambiguous.value.kind is AMBIGUOUS
    for name in ("nothing", "../../../data/shop/mnemon", str(one.file), "*"):
        with pytest.raises(MnemonError, match="there is no backup") as missing:
            world.shelf.find(name, None)
        assert missing.value.kind is NOT_FOUND


def test_what_is_not_a_backup_of_ours_is_not_listed(world: World) -> None:
    made, _ = world.back_up()
    (made.file.parent / "holiday.db").write_bytes(made.file.read_bytes())
    (made.file.parent / "20260202T024001.000000Z-stolen.db").write_bytes(made.file.read_bytes())
    (made.file.parent / f".{made.name}.db.part").write_bytes(b"half")
    (made.file.parent.parent / "not a name").mkdir()
    assert world.shelf.all() == [made]


def test_a_backup_without_its_note_is_still_one(world: World) -> None:
    made, _ = world.back_up()
    made.file.with_suffix(".json").write_text("{}")
    (found,) = world.shelf.all()
    assert (found.name, found.sha256, found.created_at) == (made.name, None, made.created_at)


def flipped(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def test_one_bit_that_changed_is_noticed(world: World) -> None:
    world.remember(*range(20))
    made, _ = world.back_up()
    flipped(made.file, made.bytes - 9)
    with pytest.raises(MnemonError, match="checksum is not the one") as caught:
        verify(made.file, expected=made.sha256)
    assert caught.value.kind is STORAGE


def test_damage_is_noticed_where_no_checksum_is_known(world: World) -> None:
    world.remember(*range(200))
    made, _ = world.back_up()
    content = bytearray(made.file.read_bytes())
    content[8192:16384] = bytes(8192)
    made.file.write_bytes(content)
    with pytest.raises(MnemonError, match="is damaged"):
        verify(made.file)
    made.file.write_bytes(b"this is not a database" * 1000)
    with pytest.raises(MnemonError, match="is damaged"):
        verify(made.file)


def test_a_file_of_somebody_else_or_of_the_future_is_no_backup(world: World) -> None:
    made, _ = world.back_up()
    connection = Connection(made.file)
    connection.set_pragma("user_version", 99)
    connection.close()
    with pytest.raises(MnemonError, match="schema version 99") as newer:
        verify(made.file)
    assert newer.value.kind is UNSUPPORTED
    connection = Connection(made.file)
    connection.set_pragma("application_id", 7)
    connection.close()
    with pytest.raises(MnemonError, match="not one of mnemond's"):
        verify(made.file)


def test_a_reference_that_leads_nowhere_is_damage(world: World) -> None:
    world.remember(1, 2)
    made, _ = world.back_up()
    connection = Connection(made.file)
    connection.set_pragma("foreign_keys", 0)
    connection.run("INSERT INTO edge_rows(source, target, kind, weight, created_at) VALUES(1, 99, 0, 1, 'x')")
    connection.checkpoint(truncate=True)
    connection.close()
    with pytest.raises(MnemonError, match="1 rows refer to rows that do not exist"):
        verify(made.file)


def test_there_may_be_no_backups_at_all(world: World) -> None:
    assert (world.shelf.of("shop"), world.shelf.all()) == ([], [])


@pytest.mark.parametrize("at", range(4))
def test_work_that_is_given_up_leaves_nothing(world: World, at: int) -> None:
    world.remember(*range(300))
    kept, _ = world.back_up()
    steps = 0

    def pause() -> None:
        nonlocal steps
        steps += 1
        if steps > at:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        world.shelf.add("shop", world.path, "asked", START_US + 60 * SECOND, pause)
    assert sorted(path.name for path in kept.file.parent.iterdir()) == [f"{kept.name}.db", f"{kept.name}.json"]


def test_a_copy_that_is_not_what_was_copied_gets_no_name(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.remember(1, 2)
    count = verified_copy._count
    counted = iter([(7, 0)])
    monkeypatch.setattr(verified_copy, "_count", lambda it: next(counted, None) or count(it))
    with pytest.raises(MnemonError, match=r"it holds 2 \+ 0 memories instead of 7 \+ 0"):
        world.back_up()
    assert world.shelf.of("shop") == []


def test_a_symbolic_link_in_the_place_of_a_store_is_not_followed(world: World, tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(world.path)
    with pytest.raises(Exception, match="unable to open"):
        world.shelf.add("shop", link, "asked", START_US)
    assert world.shelf.of("shop") == []


def test_copies_that_hold_a_text_are_named(world: World) -> None:
    world.remember(1)
    before, _ = world.back_up()
    world.remember(2)
    after, _ = world.back_up()
    assert copies_holding(world.path, [insight_id(2)]) == [f"backups/shop/{after.file.name}"]
    assert copies_holding(world.path, [insight_id(1)]) == [f"backups/shop/{each.file.name}" for each in (before, after)]


def test_every_place_that_may_still_hold_a_memory_is_named(world: World, tmp_path: Path) -> None:
    """Copies of the store under other names, in other stores, put aside, left out, or not complete."""
    world.remember(1, 2)
    made, _ = world.back_up()
    other = tmp_path / "data" / "other"
    other.mkdir()
    copied = other / "mnemon.db"
    copied.write_bytes(made.file.read_bytes())
    (other / "left-out.jsonl").write_text(f'{{"row":{{"id":"{insight_id(1)}"}}}}\n')
    (other / "mnemon.db.bak-1").write_bytes(b"nothing of it")
    (tmp_path / "data" / "third").mkdir()
    (tmp_path / "data" / "third" / "mnemon.db").write_bytes(b"not a database" * 400)
    aside = tmp_path / "damaged" / "shop" / "20260202T024000.000000Z"
    aside.mkdir(parents=True)
    (aside / "mnemon.db").write_bytes(b"a damaged one")
    (aside / "mnemon.db-shm").write_bytes(b"")
    work = tmp_path / "data" / "other" / ".mnemon.db.work"
    work.mkdir()
    for draft in (work / "copy.db", made.file.with_name(f".{made.file.name}.part")):
        draft.write_bytes(b"a part of it")
    (tmp_path / "mnemon.db").write_bytes(insight_id(1).encode())
    named = copies_holding(world.path, [insight_id(1)])
    assert named == sorted([
        f"backups/shop/{made.file.name}", f"backups/shop/.{made.file.name}.part", "data/other/.mnemon.db.work/copy.db",
        "data/other/left-out.jsonl", "data/other/mnemon.db", "data/third/mnemon.db",
        "damaged/shop/20260202T024000.000000Z/mnemon.db", "mnemon.db",
    ])  # fmt: skip
    assert "data/other/mnemon.db" not in copies_holding(world.path, [insight_id(9)])


def test_what_interrupted_copies_left_is_removed_at_the_next_start(world: World, tmp_path: Path) -> None:
    made, _ = world.back_up()
    part, journal = (made.file.with_name(f".{made.file.name}.part{more}") for more in ("", "-journal"))
    work = made.file.with_name(".asked.work")
    work.mkdir()
    half = world.path.with_name(".mnemon.db.work")
    half.mkdir()
    for draft in (part, journal, work / "copy.db", half / "draft.db", world.path.with_name("mnemon.db.restored")):
        draft.write_bytes(b"a part of it")
    (made.file.with_name(".DS_Store")).write_bytes(b"not ours")
    assert len(backups.drafts(tmp_path)) == 5
    remove_leftovers(tmp_path)
    assert backups.drafts(tmp_path) == []
    assert sorted(each.name for each in made.file.parent.iterdir()) == sorted(
        [".DS_Store", made.file.name, made.file.with_suffix(".json").name]
    )
    assert made.file.exists()


def test_a_backup_is_examined_with_its_note(world: World) -> None:
    world.remember(1, 2)
    made, _ = world.back_up()
    note = made.file.with_suffix(".json")

    def found() -> str | None:
        (again,) = world.shelf.of("shop")
        return backups.examine(again)

    assert found() is None
    whole, content = note.read_text(), made.file.read_bytes()
    note.write_text(whole.replace('"memories": 2', '"memories": 3'))
    assert found() == f"its note {note.name} says something else than what it holds"
    note.write_text("{")
    assert f"its note {note.name} is not readable" in str(found())
    note.unlink()
    assert f"its note {note.name} is missing" in str(found())
    note.write_text(whole)
    made.file.write_bytes(content[:-1])
    assert found() == "is damaged: its checksum is not the one that was noted when it was made"
    made.file.unlink()
    assert backups.examine(made) == "it cannot be read: No such file or directory"
    change(world.path, f"UPDATE insights SET tags = 'K' WHERE id = '{insight_id(1)}'")
    bad, _ = world.back_up()
    assert backups.examine(bad) == f"rows that cannot be read: 1 (memory {insight_id(1)} (tags))"


def test_of_many_ids_those_of_a_copy_are_found_wherever_they_lie(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backups, "PIECE_BYTES", 64)
    copy = world.path.with_name("mnemon.db.bak-1")
    others = [f"{number:08x}-0000-4000-8000-000000000000" for number in range(backups.MAX_SEARCHED_IDS + 1)]
    for wanted in (others[-1], "an-id"):
        for before in range(130):
            copy.write_bytes(b"x" * before + wanted.encode() + b"x" * 70)
            assert copies_holding(world.path, [*others[:-1], wanted]) == [copy.name]
            assert copies_holding(world.path, [wanted]) == [copy.name]
            assert copies_holding(world.path, others[:-1]) == copies_holding(world.path, others[:1]) == []
    copy.write_bytes(b"")
    assert copies_holding(world.path, others) == []
