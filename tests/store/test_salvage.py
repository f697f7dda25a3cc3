"""What can be read of a damaged store comes into a new one, and the damaged one stays as it is."""

from __future__ import annotations

import random
from pathlib import Path

import apsw
import pytest

from mnemond.errors import STORAGE, MnemonError
from mnemond.store import verify
from mnemond.store.salvage import PAGE, Salvaged, TableReport, salvage
from tests.faults.every_change import all_batches
from tests.store.factories import START_US, contents, engine_at, open_at, remember
from tests.store.invariants.seeded import change, make
from tests.store.test_checksums import flip, root_of

SIZE = 4096
NOW_US = START_US + 100 * 86_400_000_000


def made(path: Path, many: int = 300) -> Path:
    engine = engine_at(path)
    for start in range(1, many, 50):
        engine.commit([remember(number) for number in range(start, min(start + 50, many + 1))])
    engine.close()
    return path


def rows_of(path: Path) -> dict[str, list[tuple[object, ...]]]:
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    tables = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
    found = {str(name): sorted(db.execute(f'SELECT * FROM "{name}"').fetchall(), key=repr) for name in tables}
    db.close()
    return found


def salvaged(path: Path) -> Salvaged:
    """And nothing of the source is changed, nor left beside the copy, which is sound and can be served."""
    before = {each.name: each.read_bytes() for each in path.parent.iterdir()}
    home = path.parent.parent / "new"
    home.mkdir()
    done = salvage(path, home / "mnemon.db")
    assert {each.name: each.read_bytes() for each in path.parent.iterdir()} == before
    assert [each.name for each in home.iterdir()] == ["mnemon.db"]
    home.chmod(0o700)
    found = verify.verify_closed(done.path, "full", NOW_US)
    assert [problem for each in found for problem in each.problems] == []
    open_at(done.path).connection.close()
    return done


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "old").mkdir()
    return tmp_path / "old" / "mnemon.db"


def test_of_a_sound_store_everything_is_kept(path: Path) -> None:
    engine = engine_at(path)
    for batch in all_batches():
        engine.commit(batch)
    engine.close()
    done = salvaged(path)
    assert done.is_whole
    derived = {"node_metrics", "staged_vectors", "metrics", "sqlite_sequence"}
    old, new = rows_of(path), rows_of(done.path)
    assert {name: new[name] for name in new if name not in derived} == {
        name: old[name] for name in old if name not in derived
    }


def test_what_the_log_holds_counts(path: Path) -> None:
    engine = engine_at(path)
    engine.commit([remember(number) for number in range(1, 20)])
    for part in ("", "-wal"):
        path.with_name(f"left.db{part}").write_bytes(path.with_name(path.name + part).read_bytes())
    engine.close()
    (path.parent.parent / "left").mkdir()
    left = path.parent.parent / "left" / "left.db"
    for part in ("", "-wal"):
        path.with_name(f"left.db{part}").rename(left.with_name(left.name + part))
    assert salvaged(left).facts.memories == 19


def test_a_flipped_bit_of_a_text_loses_that_memory_alone(path: Path) -> None:
    made(path)
    flip(path, path.read_bytes().index(b"memory number 77"))
    done = salvaged(path)
    assert done.facts.memories == 299
    (memories,) = (each for each in done.tables if each.table == "insights")
    assert (memories.kept, memories.left_out, memories.doubtful > 0) == (299, 1, True)
    assert not done.is_whole
    engine = engine_at(done.path)
    texts = contents(engine)
    engine.close()
    assert "memory number 77" not in texts
    assert len(texts) == 299


def test_pages_of_nothing_lose_what_was_on_them_alone(path: Path) -> None:
    made(path, 1_000)
    whole, chance = bytearray(path.read_bytes()), random.Random(5)
    pages = range(2, len(whole) // SIZE)
    leaves = [page for page in pages if whole[page * SIZE] == 0x0D]  # a leaf of a table (fileformat2, 1.6)
    for page in chance.sample(leaves, 3):
        whole[page * SIZE : (page + 1) * SIZE] = bytes(SIZE)
    path.write_bytes(whole)
    done = salvaged(path)
    assert 950 <= done.facts.memories < 1_000
    assert any(each.gaps for each in done.tables)


@pytest.mark.parametrize("table", ["insights", "edge_rows", "meta", "memory_entities", "oplog", "operations"])
def test_any_table_may_be_hit(path: Path, table: str) -> None:
    engine = engine_at(path)
    for batch in all_batches():
        engine.commit(batch)
    engine.close()
    whole = bytearray(path.read_bytes())
    start = (root_of(path, table) - 1) * SIZE
    whole[start : start + SIZE] = bytes(SIZE)
    path.write_bytes(whole)
    done = salvaged(path)
    (hit,) = (each for each in done.tables if each.table == table)
    assert hit.gaps


def test_without_a_first_page_there_is_nothing(path: Path) -> None:
    made(path, 10)
    path.write_bytes(bytes(SIZE) + path.read_bytes()[SIZE:])
    before = path.read_bytes()
    (path.parent.parent / "new").mkdir()
    with pytest.raises(MnemonError, match="nothing can be salvaged") as caught:
        salvage(path, path.parent.parent / "new" / "mnemon.db")
    assert caught.value.kind is STORAGE
    assert path.read_bytes() == before
    assert list((path.parent.parent / "new").iterdir()) == []


def test_an_older_schema_is_said(path: Path) -> None:
    made(path, 10)
    db = apsw.Connection(str(path))
    db.pragma("user_version", 1)
    db.close()
    with pytest.raises(MnemonError, match="schema version 1"):
        salvage(path, path.with_name("new.db"))


def fate(done: Salvaged, table: str) -> TableReport:
    (found,) = (each for each in done.tables if each.table == table)
    return found


def test_what_refers_to_a_memory_that_is_lost_is_left_out(path: Path) -> None:
    make(path)
    flip(path, path.read_bytes().rindex(b"memory number 2"))
    done = salvaged(path)
    assert done.facts.memories == 5
    assert (fate(done, "edge_rows").kept, fate(done, "edge_rows").left_out) == (0, 3)


def test_more_links_of_one_memory_than_are_read_at_once(path: Path) -> None:
    made(path, 2 * PAGE)
    now = "2026-02-02T02:40:00.000000Z"
    change(
        path,
        "INSERT INTO edge_rows(source, target, kind, weight, created_at)"
        f" SELECT 1, number, 2, 0.5, '{now}' FROM insights WHERE number > 1",
    )
    done = salvaged(path)
    assert fate(done, "edge_rows") == TableReport("edge_rows", 2 * PAGE - 1, 0, 0, 0)


def test_a_table_by_keys_is_read_from_both_ends_and_through_the_damage(path: Path) -> None:
    made(path, 10)
    change(path, *(f"INSERT INTO meta VALUES('key-{number:04d}', '{'v' * 90}')" for number in range(400)))
    flip(path, path.read_bytes().rindex(b"key-0200") + 30)
    done = salvaged(path)
    meta = fate(done, "meta")
    assert meta.kept >= 400
    assert 0 < meta.doubtful < 60
    assert (meta.left_out, meta.gaps) == (0, 0)


def test_a_row_that_cannot_be_is_left_out(path: Path) -> None:
    make(path)
    change(path, "UPDATE edge_rows SET weight = 1.5 WHERE kind = 2")
    assert fate(salvaged(path), "edge_rows").left_out == 1


def test_of_a_log_with_a_gap_the_newer_part_is_kept(path: Path) -> None:
    make(path)
    change(path, "DELETE FROM oplog WHERE id = 3")
    done = salvaged(path)
    assert rows_of(done.path)["oplog"][0][0] == 4
