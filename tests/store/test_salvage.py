"""What can be read of a damaged store comes into a new one, and the damaged one stays as it is."""

from __future__ import annotations

import json
import random
import re
import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw
import msgspec
import pytest

from mnemond.errors import STORAGE, MnemonError
from mnemond.model.answers import SalvagedTable
from mnemond.model.changes import AddInsight
from mnemond.model.memory import Insight
from mnemond.store import salvage as salvage_module
from mnemond.store import verify
from mnemond.store.backups import LEFT_OUT_FILE
from mnemond.store.first_page import _Pages
from mnemond.store.salvage import PAGE, Salvaged, salvage
from mnemond.store.schema import VERSION
from tests.faults.every_change import all_batches
from tests.store.factories import START_US, contents, engine_at, insight_id, open_at, remember, vector_of
from tests.store.invariants.seeded import change, make
from tests.store.plain import make_plain
from tests.store.test_checksums import flip, root_of

SIZE = 4096
NOW_US = START_US + 100 * 86_400_000_000


@cache
def store_of(many: int) -> bytes:
    """A store with so many memories, made once for all tests."""
    with TemporaryDirectory() as directory:
        path = Path(directory, "mnemon.db")
        engine = engine_at(path)
        for start in range(1, many, 50):
            engine.commit([remember(number) for number in range(start, min(start + 50, many + 1))])
        engine.close()
        assert [each.name for each in path.parent.iterdir()] == [path.name]
        return path.read_bytes()


def made(path: Path, many: int = 300) -> Path:
    path.touch(0o600)
    path.write_bytes(store_of(many))
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
    done = salvage(path, home / "mnemon.db", NOW_US)
    assert {each.name: each.read_bytes() for each in path.parent.iterdir()} == before
    assert {each.name for each in home.iterdir()} == {"mnemon.db"} | ({LEFT_OUT_FILE} if done.left_out else set())
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


def texts_of(path: Path) -> set[str]:
    engine = engine_at(path)
    found = contents(engine)
    engine.close()
    return found


def flip_all(path: Path, text: bytes, bit: int = 16) -> int:
    """Flip a bit of the first byte of every copy of a text; return their number."""
    whole = bytearray(path.read_bytes())
    places = [found.start() for found in re.finditer(re.escape(text), whole)]
    for at in places:
        whole[at] ^= bit
    path.write_bytes(whole)
    return len(places)


def test_a_flipped_bit_of_a_text_is_made_good_from_the_history(path: Path) -> None:
    made(path)
    flip(path, path.read_bytes().index(b"memory number 77"))
    done = salvaged(path)
    assert (done.facts.memories, done.recovered) == (300, 1)
    memories = fate(done, "insights")
    assert (memories.kept, memories.left_out, memories.doubtful > 0) == (299, 1, True)
    assert not done.is_whole
    assert "memory number 77" in texts_of(done.path)


def test_a_flipped_bit_of_a_text_and_of_its_history_loses_that_memory_alone_and_shows_it(path: Path) -> None:
    made(path)
    assert flip_all(path, b"memory number 77") >= 2
    done = salvaged(path)
    assert (done.facts.memories, done.recovered) == (299, 0)
    assert texts_of(done.path) == {f"memory number {number}" for number in range(1, 301) if number != 77}
    assert done.left_out is not None
    assert done.left_out.stat().st_mode & 0o777 == 0o600
    shown, state = map(json.loads, done.left_out.read_text().splitlines())
    assert (state["table"], state["row"]["id"]) == ("memory_operations", insight_id(77))
    assert (shown["table"], shown["row"]["content"], shown["row"]["id"]) == (
        "insights", "}emory number 77", insight_id(77),
    )  # fmt: skip
    assert shown["why"] == "the text is not the one that was stored"


def tagged(path: Path) -> None:
    """Three memories, the second with tags, entities and metadata, in the row and in the history."""
    engine = engine_at(path)
    now = "2026-02-02T02:40:00.000000Z"
    rich = Insight(
        id=insight_id(2), content="the second", created_at=now, updated_at=now, tags=("ops",), entities=("Qdrant",),
        metadata='{"place":"here"}', keywords="second", expires_at="2099-01-01T00:00:00.000000Z",
    )  # fmt: skip
    write = msgspec.structs.replace(remember(2), changes=(AddInsight(rich, vector_of(2)),))
    engine.commit([remember(1), write, remember(3)])
    engine.close()


@pytest.mark.parametrize(
    ("text", "column"),
    [
        (b'["ops"]', "tags"),
        (b'["Qdrant"]', "entities"),
        (b'["second"]', "keywords"),
        (b'{"place":"here"}', "metadata"),
        (b"2099-01-01", "expires_at"),
    ],
)
def test_a_column_that_no_reader_can_use_is_emptied_and_named_and_the_text_stays(
    path: Path, text: bytes, column: str
) -> None:
    """Once this made a store that could not be opened, and that was called sound."""
    tagged(path)
    assert flip_all(path, text)
    done = salvaged(path)
    assert texts_of(done.path) == {"memory number 1", "the second", "memory number 3"}
    assert fate(done, "insights").mended == 1
    assert f"memory {insight_id(2)} ({column})" in done.mended
    assert not done.is_whole


def test_text_that_is_no_utf8_is_read_nevertheless(path: Path) -> None:
    tagged(path)
    assert flip_all(path, b'ops"]', 0x80)
    done = salvaged(path)
    assert texts_of(done.path) == {"memory number 1", "the second", "memory number 3"}
    assert f"memory {insight_id(2)} (tags)" in done.mended


@pytest.mark.parametrize(
    "assignment",
    [
        "importance = 131", "pinned = 9", "trust = 'usep'", "status = 'actixe'", "effective_importance = 9e999",
        "updated_at = '6026-02-02T02:40:00.000000Z'", "created_at = '2026-02-31'", "embedding_dim = 7",
        "memory_type = 'nemory'", "category = CAST(x'ff' AS TEXT)", "content_hash = NULL", "access_count = 1 << 40",
        "created_at = '?', updated_at = '?'", "superseded_by = id",
    ],
)  # fmt: skip
def test_a_row_that_is_impossible_keeps_its_text(path: Path, assignment: str) -> None:
    tagged(path)
    change(path, f"UPDATE insights SET {assignment} WHERE id = '{insight_id(2)}'")
    done = salvaged(path)
    assert texts_of(done.path) == {"memory number 1", "the second", "memory number 3"}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE memory_operations SET after_state = '[' WHERE id = 2",
        "UPDATE memory_operations SET created_at = '' WHERE id = 2",
        "INSERT INTO operations VALUES('mine', 'remember', 'd', '{}', '2026-02-02T02:40:00.000000Z')",
        "UPDATE meta SET value = '{' WHERE key = 'embedder'",
        "INSERT INTO meta VALUES('job:prune', '{')",
        "UPDATE oplog SET created_at = '' WHERE id = 2",
        "INSERT INTO jobs(kind, payload, run_after) VALUES('a', '[', '')",
    ],
)
def test_a_row_of_another_table_is_mended_or_left_out(path: Path, statement: str) -> None:
    tagged(path)
    change(path, statement)
    done = salvaged(path)
    assert sum(each.mended + each.left_out for each in done.tables) == 1
    assert done.facts.memories == 3


def test_one_half_of_a_file_is_enough_for_what_it_holds(path: Path) -> None:
    made(path, 600)  # the tables themselves take sixty pages
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    done = salvaged(path)
    assert done.facts.memories > 50
    assert any(each.gaps for each in done.tables)


@pytest.mark.parametrize("offset", [0, 7, 16, 18, 20, 21, 28, 44, 47, 56, 59, 60, 63, 68, 71, 90, 96])
@pytest.mark.parametrize("bit", [0, pytest.param(3, marks=pytest.mark.deep)])
def test_a_flipped_bit_of_the_header_loses_nothing(path: Path, offset: int, bit: int) -> None:
    made(path, 60)
    whole = bytearray(path.read_bytes())
    whole[offset] ^= 1 << bit
    path.write_bytes(whole)
    done = salvaged(path)
    assert (done.facts.memories, fate(done, "insights").kept) == (60, 60)


def refused(path: Path, match: str) -> None:
    """And the source is unchanged, and nothing is left of the copy."""
    before = path.read_bytes()
    home = path.parent.parent / "new"
    home.mkdir()
    with pytest.raises(MnemonError, match=f"nothing can be salvaged: .*{match}") as caught:
        salvage(path, home / "mnemon.db", NOW_US)
    assert caught.value.kind is STORAGE
    assert path.read_bytes() == before
    assert list(home.iterdir()) == []


def test_a_file_of_a_few_bytes(path: Path) -> None:
    path.write_bytes(b"SQLite format 3")
    refused(path, "its first page cannot be read")


def test_a_database_with_other_tables(path: Path) -> None:
    db = apsw.Connection(str(path))
    db.execute("CREATE TABLE notes(x)")
    db.pragma("user_version", VERSION)
    db.close()
    refused(path, "does not name the tables of a store")


def test_a_copy_that_cannot_be_opened_is_not_kept(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise ValueError

    tagged(path)
    monkeypatch.setattr(salvage_module, "load_index", fails)
    refused(path, "the copy cannot be opened")


def test_the_history_of_a_lost_memory_may_be_damaged_as_well(path: Path) -> None:
    tagged(path)
    change(
        path,
        f"UPDATE insights SET content = 'another' WHERE id <> '{insight_id(1)}'",
        "UPDATE memory_operations SET after_state = replace(after_state, '2099-01', 'soon')",
        "UPDATE memory_operations SET after_state = replace(after_state, 'number 3', 'number 4')",
    )
    assert texts_of(salvaged(path).path) == {"memory number 1"}


def test_a_forgotten_memory_whose_row_is_lost_does_not_come_back(path: Path) -> None:
    tagged(path)
    forgotten = "status = 'forgotten', deleted_at = '2026-02-03T00:00:00.000000Z'"
    change(path, f"UPDATE insights SET content = 'another', {forgotten} WHERE id = '{insight_id(2)}'")
    assert texts_of(salvaged(path).path) == {"memory number 1", "memory number 3"}


def test_a_memory_from_the_history_with_an_impossible_time_comes_back_without_it(path: Path) -> None:
    tagged(path)
    change(
        path,
        f"UPDATE insights SET content = 'another' WHERE id = '{insight_id(3)}'",
        """UPDATE memory_operations SET after_state = replace(after_state, 'updated_at":"2026', 'updated_at":"2926')""",
    )
    done = salvaged(path)
    assert "memory number 3" in texts_of(done.path)
    times = {row[0] for row in apsw.Connection(str(done.path)).execute("SELECT substr(updated_at, 1, 4) FROM insights")}
    assert "2926" not in times


def test_a_file_without_checksums_is_read_as_it_is(path: Path) -> None:
    made(path, 60)
    make_plain(path)
    assert salvaged(path).is_whole


def test_pages_of_nothing_lose_what_was_on_them_alone(path: Path) -> None:
    made(path, 1_000)
    whole, chance = bytearray(path.read_bytes()), random.Random(5)
    pages = range(2, len(whole) // SIZE)
    leaves = [page for page in pages if whole[page * SIZE] == 0x0D]  # a leaf of a table (fileformat2, 1.6)
    for page in chance.sample(leaves, 3):
        whole[page * SIZE : (page + 1) * SIZE] = bytes(SIZE)
    path.write_bytes(whole)
    done = salvaged(path)
    kept = fate(done, "insights").kept
    assert 950 <= kept < 1_000
    assert done.facts.memories == kept + done.recovered
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


def without(path: Path, *pages: int) -> None:
    """Empty pages of a closed store."""
    whole = bytearray(path.read_bytes())
    for page in pages:
        whole[(page - 1) * SIZE : page * SIZE] = bytes(SIZE)
    path.write_bytes(whole)


def with_every_row(path: Path) -> dict[str, int]:
    """A store with rows in most tables; their number by table."""
    engine = engine_at(path)
    for batch in all_batches():
        engine.commit(batch)
    engine.close()
    return {table: len(rows) for table, rows in rows_of(path).items()}


def leaves_of_the_schema(path: Path) -> list[int]:
    whole = path.read_bytes()
    pages = range(2, len(whole) // SIZE + 1)
    return [page for page in pages if b"CREATE TABLE" in whole[(page - 1) * SIZE : page * SIZE]]


@pytest.mark.parametrize("at", [100, 103, 104, 108, 109, 110, 111, 112])
def test_a_wrong_byte_where_the_tables_are_named_loses_nothing(path: Path, at: int) -> None:
    made(path, 60)
    whole = bytearray(path.read_bytes())
    whole[at] ^= 0x5A
    path.write_bytes(whole)
    done = salvaged(path)
    assert (done.facts.memories, fate(done, "insights").kept, done.is_whole) == (60, 60, True)


def test_without_a_first_page_nothing_is_lost(path: Path) -> None:
    before = with_every_row(path)
    without(path, 1)
    done = salvaged(path)
    assert done.is_whole
    assert {each.table: each.kept for each in done.tables} == {each.table: before[each.table] for each in done.tables}


def test_without_a_first_page_and_checksums_nothing_is_lost(path: Path) -> None:
    made(path, 60)
    make_plain(path)
    without(path, 1)
    assert salvaged(path).facts.memories == 60


def test_what_is_in_the_log_alone_is_read_without_a_first_page(path: Path) -> None:
    made(path, 2)
    engine = engine_at(path)
    engine.commit([remember(3)])
    other = path.parent.with_name("copied")
    shutil.copytree(path.parent, other)
    engine.close()
    without(other / "mnemon.db", 1, *leaves_of_the_schema(path))
    assert texts_of(salvaged(other / "mnemon.db").path) == {f"memory number {each}" for each in (1, 2, 3)}


@pytest.mark.parametrize("which", [(0,), (1,), (2,), (0, 1, 2)])
@pytest.mark.parametrize("first", [(), (1,)])
def test_tables_that_no_page_names_are_found_by_their_rows(
    path: Path, first: tuple[int, ...], which: tuple[int, ...]
) -> None:
    before = with_every_row(path)
    leaves = leaves_of_the_schema(path)
    without(path, *first, *(leaves[each] for each in which))
    done = salvaged(path)
    assert {each.table: each.kept for each in done.tables if each.table != "entity_aliases"} == {
        each.table: before[each.table] for each in done.tables if each.table != "entity_aliases"
    }
    assert all(each.gaps for each in done.tables if not before[each.table]) or len(which) < len(leaves)


@pytest.mark.parametrize("children", [slice(0, 1), slice(-1, None)])
def test_a_table_that_no_page_names_may_have_damaged_pages(path: Path, children: slice) -> None:
    made(path, 300)
    root = root_of(path, "insights")
    leaves = list(_Pages(path)._led_to(root))
    without(path, *leaves_of_the_schema(path), *leaves[children])
    done = salvaged(path)
    memories = fate(done, "insights")
    assert 200 < memories.kept < 300
    assert memories.gaps


def test_a_table_of_memories_of_which_no_row_can_be_read_is_nothing(path: Path) -> None:
    made(path, 300)
    leaves = list(_Pages(path)._led_to(root_of(path, "insights")))
    without(path, *leaves_of_the_schema(path), *leaves)
    refused(path, "its first page cannot be read")


@pytest.mark.parametrize(
    ("pragma", "value", "sentence"),
    [
        ("user_version", VERSION + 1, f"schema version {VERSION + 1}"),
        ("application_id", 0x6D6E656D, "development version"),
    ],
)
def test_another_version_is_refused(path: Path, pragma: str, value: int, sentence: str) -> None:
    made(path, 10)
    db = apsw.Connection(str(path))
    db.pragma(pragma, value)
    db.close()
    with pytest.raises(MnemonError, match=sentence):
        salvage(path, path.with_name("new.db"), NOW_US)


def fate(done: Salvaged, table: str) -> SalvagedTable:
    (found,) = (each for each in done.tables if each.table == table)
    return found


def test_what_refers_to_a_memory_that_is_lost_is_left_out(path: Path) -> None:
    make(path)
    assert flip_all(path, b"memory number 2")
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
    assert fate(done, "edge_rows") == SalvagedTable("edge_rows", 2 * PAGE - 1, 0, 0, 0)


def test_of_many_links_of_one_memory_the_damaged_ones_are_mended(path: Path) -> None:
    made(path, 2 * PAGE)
    now = "2026-02-02T02:40:00.000000Z"
    metadata = "iif(number = 390, '{\"reason\":\"the last\"}', '{}')"
    change(
        path,
        "INSERT INTO edge_rows(source, target, kind, weight, created_at, metadata)"
        f" SELECT 1, number, 2, 0.5, '{now}', {metadata} FROM insights WHERE number > 1",
    )
    assert flip_all(path, b'{"reason":"the last"}')
    done = salvaged(path)
    links = fate(done, "edge_rows")
    assert (links.kept, links.left_out, links.gaps, links.mended) == (2 * PAGE - 1, 0, 0, 1)
    assert "edge_rows 1 390 (metadata)" in done.mended


def test_a_table_by_keys_is_read_from_both_ends_and_through_the_damage(path: Path) -> None:
    made(path, 10)
    change(path, *(f"INSERT INTO meta VALUES('key-{number:04d}', '{'v' * 90}')" for number in range(400)))
    flip(path, path.read_bytes().rindex(b"key-0200") + 30)
    done = salvaged(path)
    meta = fate(done, "meta")
    assert meta.kept >= 400
    assert 0 < meta.doubtful < 60
    assert (meta.left_out, meta.gaps) == (1, 0)  # the record of the embedder, which is made again


def test_a_row_that_cannot_be_is_left_out(path: Path) -> None:
    make(path)
    change(path, "UPDATE edge_rows SET weight = 1.5 WHERE kind = 2")
    assert fate(salvaged(path), "edge_rows").left_out == 1


def test_of_a_log_with_a_gap_the_newer_part_is_kept(path: Path) -> None:
    make(path)
    change(path, "DELETE FROM oplog WHERE id = 3")
    done = salvaged(path)
    assert rows_of(done.path)["oplog"][0][0] == 4
