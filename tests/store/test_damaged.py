"""A damaged row is left out and named; it does not end the writer's thread, and keeps no other from being read."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from mnemond.errors import INTERNAL, STORAGE, MnemonError
from mnemond.index.writer import MemoryIndex
from mnemond.model.outcomes import RememberResult
from mnemond.model.query import Filter
from mnemond.store import embedder_switch, insights, meta
from mnemond.store.store import Store
from mnemond.store.verify import Examiner
from tests.store.factories import EMBEDDER, START_US, engine_at, insight_id, remember
from tests.store.test_registry import registry_at
from tests.store.test_writer import Collected, Defects, store_over
from tests.tables import each_row


def damage(path: Path, sql: str) -> None:
    connection = apsw.Connection(str(path))
    connection.execute(sql)
    connection.close()


async def test_a_defect_in_a_query_does_not_end_the_writer(tmp_path: Path) -> None:
    defects = Defects()
    store, collected = store_over(engine_at(tmp_path / "a.db"), tmp_path / "a.db", defects), Collected()

    def broken(connection: object) -> None:
        raise ZeroDivisionError

    with trio.fail_after(30):
        with pytest.raises(MnemonError) as caught:
            await store.read(broken)
        assert caught.value.kind is INTERNAL
        assert [type(error) for _, error in defects.seen] == [ZeroDivisionError]
        store.submit(remember(1), collected)
        await collected.wait_for(1)
        assert isinstance(collected.results[0], RememberResult)
        await store.close()


async def test_a_defect_over_a_damaged_file_does_not_end_the_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, collected = store_over(engine_at(tmp_path / "a.db"), tmp_path / "a.db"), Collected()
    store.submit(remember(1), collected)
    await collected.wait_for(1)
    damage(tmp_path / "a.db", "UPDATE insights SET tags = 'not json'")

    def broken(self: MemoryIndex) -> object:
        raise ZeroDivisionError

    monkeypatch.setattr(MemoryIndex, "publish", broken)
    with trio.fail_after(30):
        store.submit(remember(2), collected)
        await collected.wait_for(2)
        assert isinstance(collected.results[1], MnemonError)
        assert store.degraded_reason is not None
        assert store.snapshot.live == 1
        assert [each.columns for each in store.unreadable] == [("tags",)]
        await store.close()


async def damaged_store(tmp_path: Path, *sql: str) -> Store:
    """A store of three memories, damaged by SQL while it was closed."""
    registry = registry_at(tmp_path)
    path = registry.path("default")
    store = await registry.open("default")
    collected = Collected()
    for number in range(1, 4):
        store.submit(remember(number), collected)
    await collected.wait_for(3)
    await registry.close()
    for each in sql:
        damage(path, each)
    return await registry_at(tmp_path).open("default")


BAD = insight_id(2)
NAMED = f"1 memory cannot be read and is kept out of recall: {BAD} "


@each_row(
    ("assignment", "columns"),
    [
        ("tags = 'not json'", "tags"),
        ("tags = 'K]', entities = '{}'", "tags, entities"),
        ("metadata = '[]'", "metadata"),
        ("keywords = 'K'", "keywords"),
        ("created_at = '2026-02-31T00:00:00.000000Z'", "created_at"),
        ("expires_at = '2026-02-18'", "expires_at"),
        ("access_count = 1 << 40", "access_count"),
        ("boost_days = 9e999", "boost_days"),
        ("source = CAST(x'ff' AS TEXT)", "text that is no UTF-8"),
    ],
)
async def test_a_damaged_row_is_left_out_and_named(tmp_path: Path, assignment: str, columns: str) -> None:
    store = await damaged_store(tmp_path, f"UPDATE insights SET {assignment} WHERE id = '{BAD}'")
    assert store.snapshot.live == 2
    assert (store.degraded_reason or "").startswith(f"{NAMED}({columns})")
    with trio.fail_after(30):
        assert await store.write(remember(4)) is not None
        with pytest.raises(MnemonError, match="the store is damaged: the row of memory") as caught:
            await store.read(lambda connection: insights.read(connection, BAD))
        assert caught.value.kind is STORAGE
        found = await Examiner().examine(store, "full", START_US + 1_000, trio.CapacityLimiter(1))
        problems = {each.check.name: each.problems[0].where for each in found if each.problems}
        assert set(problems) - {"files"} == {"rows"}
        assert problems["rows"].startswith(f"memory {BAD} (")
        await store.close()


async def test_a_damaged_row_among_the_retired_is_left_out(tmp_path: Path) -> None:
    retired = "status = 'forgotten', deleted_at = updated_at"
    store = await damaged_store(
        tmp_path,
        f"UPDATE insights SET {retired} WHERE id <> '{insight_id(1)}'",
        f"UPDATE insights SET tags = '' WHERE id = '{BAD}'",
    )
    assert store.degraded_reason is None
    with trio.fail_after(30):
        ids = [insight_id(2), insight_id(3)]
        listed = await store.read(lambda it: insights.retired(it, Filter(), 10, None))
        loaded = await store.read(lambda it: insights.load(it, ids, EMBEDDER))
        assert [insight.id for insight, _ in listed] == [insight.id for insight, _ in loaded] == ids[1:]
        await store.close()


async def test_facts_about_the_store_that_are_damaged_count_as_unknown(tmp_path: Path) -> None:
    store = await damaged_store(
        tmp_path, "UPDATE meta SET value = '{broken'", "INSERT INTO meta VALUES('job:prune', '{'), ('switch', '1')"
    )
    assert store.embedder is None
    assert store.snapshot.live == 3
    with trio.fail_after(30):
        assert await store.read(meta.read_jobs) == {}
        assert await store.read(embedder_switch.read_switch) is None
        await store.close()


async def test_a_row_that_is_damaged_while_the_store_is_open_is_left_out_when_it_is_read_again(tmp_path: Path) -> None:
    store = await damaged_store(tmp_path)
    damage(store.path, f"UPDATE insights SET tags = '' WHERE id = '{BAD}'")
    with trio.fail_after(30):
        await store.reload("a test")
        assert store.snapshot.live == 2
        assert store.unreadable == (insights.Unreadable(2, BAD, ("tags",)),)
        await store.close()


async def test_many_damaged_rows_are_counted(tmp_path: Path) -> None:
    store = await damaged_store(tmp_path, "UPDATE insights SET tags = ''")
    assert "3 memories cannot be read and are kept out of recall" in (store.degraded_reason or "")
    assert insights.named_rows([*store.unreadable, *store.unreadable]).endswith(" and 3 more")
    with trio.fail_after(30):
        await store.close()


@given(
    st.sampled_from(sorted(insights.READERS)), st.one_of(st.none(), st.text(max_size=30), st.integers(), st.floats())
)
def test_a_row_is_left_out_if_one_of_its_columns_cannot_be_used(column: str, value: object) -> None:
    """The columns by name and the whole row are judged alike."""
    sound = dict.fromkeys(insights.READERS, None) | {
        "id": "1", "content": "a", "created_at": "2026-01-01T00:00:00.000000Z", "source": "user", "category": "fact",
        "updated_at": "2026-01-01T00:00:00.000000Z", "importance": 3, "tags": "[]", "entities": "[]",
        "status": "active", "access_count": 0, "boost_days": 0.0, "corroboration_count": 0,
        "effective_importance": 0.5, "pinned": 0, "quarantined": 0,
    }  # fmt: skip
    named = sound | {column: value}
    row = (*(named.get(name) for name in insights.ROWS.columns), insights.NONE, insights.NONE)
    assert insights.unusable_columns(sound) == ()
    if column != "deleted_at":
        assert (insights._readable(row) is None) == bool(insights.unusable_columns(named))
