"""The filters of recall, search and list on the wire, and the past that as_of and the like look at."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trio
import trio.testing

from mnemond.api import recall
from mnemond.api.store_access import OpenStore
from mnemond.api.types_changes import RestoreParams, SupersedeParams, UpdateParams
from mnemond.api.types_memories import ForgetParams, ListParams, RecallParams, RememberParams, SearchParams
from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.model.answers import ListResult, RecallResult, RetiredResult
from mnemond.model.memory import format_us, parse_rfc3339
from mnemond.model.outcomes import RememberResult
from mnemond.model.query import Filter
from mnemond.recall import archive
from mnemond.store import insights
from mnemond.store.meta import EmbedderRecord, write_embedder
from tests.api.factories import CALL, NOW_US, Bench, ToyEmbedder, bench
from tests.tables import each_row

DAY_US = 86_400_000_000
WIDE: dict[str, Any] = {"include_invalid": True}


def ago(days: float) -> str:
    """A time before the one that the clock starts with."""
    return format_us(NOW_US - round(days * DAY_US))


async def remember(over: Bench, content: str, **fields: Any) -> str:
    result = await over.remembering.remember(CALL, RememberParams(content=content, no_diff=True, **fields))
    assert isinstance(result, RememberResult)
    assert result.id is not None
    return result.id


async def listed(over: Bench, **fields: Any) -> list[str]:
    result = await over.reads.list(CALL, ListParams(**fields))
    if isinstance(result, RetiredResult):
        return [each.content for each in result.retired]
    assert isinstance(result, ListResult)
    return [each.content for each in result.insights]


async def found(over: Bench, query: str = "tea", **fields: Any) -> list[str]:
    """What list finds, which recall and search find as well."""
    result = await over.reads.recall(CALL, RecallParams(query=query, **fields))
    assert isinstance(result, RecallResult)
    recalled = sorted(hit.insight.content for hit in result.results)
    searched = await over.search.search(CALL, SearchParams(query=query, **fields))
    assert sorted(hit.insight.content for hit in searched.results) == recalled
    assert sorted(await listed(over, **fields)) == recalled
    return recalled


@each_row(
    ("params", "fields"),
    [
        ({"category": "decison"}, ["category"]),
        ({"status": "gone"}, ["status"]),
        ({"since": "recently"}, ["since"]),
        ({"since": "yesterday and today"}, ["since"]),
        ({"since": "x" * 50_000}, ["since"]),
        ({"until": "2026-13-01"}, ["until"]),
        ({"since": "2026-02-30"}, ["since"]),
        ({"until": "9999-12-32"}, ["until"]),
        ({"until": "9999-12-31T24:30:00Z"}, ["until"]),
        ({"since": "2026-02-18", "until": "2026-02-17"}, ["until"]),
        ({"since": "2026-02-18", "until": "2026-02-18T00:00:00Z"}, ["until"]),
        ({"event_since": "x", "event_until": "y"}, ["event_since", "event_until"]),
        ({"event_since": "2026-02-19", "event_until": "2026-02-01"}, ["event_until"]),
        ({"as_of": "2026-02-18T00:00:00"}, ["as_of"]),
        ({"now": "soon", "metadata": {"a": {"like": 1}}, "category": "x"}, ["category", "now", "metadata"]),
    ],
)
async def test_what_cannot_be_meant_is_refused_by_name(
    tmp_path: Path, params: dict[str, Any], fields: list[str]
) -> None:
    async with bench(tmp_path) as over:
        asks: list[Callable[[], Awaitable[object]]] = [
            lambda: over.reads.recall(CALL, RecallParams(query="x", **params)),
            lambda: over.search.search(CALL, SearchParams(query="x", **params)),
            lambda: over.reads.list(CALL, ListParams(**params)),
            lambda: over.reads.list(CALL, ListParams(retired=True, **params)),
        ]
        for ask in asks:
            with pytest.raises(MnemonError) as caught:
                await ask()
            assert caught.value.kind is INVALID_PARAMS
            assert [problem.field for problem in caught.value.problems] == fields
            assert all(problem.field in problem.message for problem in caught.value.problems)


@each_row(
    ("params", "kept"),
    [
        ({"since": "today"}, {0}),
        ({"since": "Yesterday"}, {0, 1}),
        ({"until": "yesterday"}, {1, 3, 8, 40}),
        ({"since": " last week "}, {0, 1, 3, 8}),
        ({"since": "last week", "until": "last week"}, {3, 8}),
        ({"since": "3 days ago", "until": "yesterday"}, {1, 3}),
        ({"until": "last month"}, {40}),
        ({"since": "昨天"}, {0, 1}),
        ({"since": "yesterday", "now": "2026-11-22T10:00:00Z"}, {0, 1, 3}),
    ],
)
async def test_days_can_be_named_as_people_do(tmp_path: Path, params: dict[str, Any], kept: set[int]) -> None:
    async with bench(tmp_path) as over:
        over.clock.us = parse_rfc3339("2026-11-24T12:00:00Z")  # a Tuesday
        for days in (0, 1, 3, 8, 40):
            made = format_us(over.clock.us - days * 86_400_000_000)
            await over.remembering.remember(
                CALL, RememberParams(content=f"tea {days} days before", created_at=made, no_diff=True)
            )
        result = await over.reads.list(CALL, ListParams(**params))
        assert isinstance(result, ListResult)
        assert {int(each.content.split()[1]) for each in result.insights} == kept


async def test_every_filter_means_the_same_to_recall_search_and_list(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        a = {"category": "fact", "source": "bob", "channel": "hook", "tags": ["Infra", "db"], "importance": 5}
        await remember(over, "tea a", **a, user_id="ann", entities=["Kubernetes"], created_at=ago(10))
        await remember(over, "tea b", tags=["infra"], created_at=ago(5))
        await remember(over, "tea c on 2025-03-05", created_at=ago(1))
        await remember(over, "tea d", session_id="s1")
        everything: dict[str, list[dict[str, Any]]] = {
            "a": [
                {"category": "fact"}, {"source": "bob"}, {"channel": "hook"}, {"tags": ("INFRA", "db")},
                {"any_tags": ("db", "x")}, {"entity": "k8s"}, {"min_importance": 4}, {"until": ago(7)},
                {"user_id": "ann", "strict_scope": True}, {"since": ago(11)[:10], "until": ago(10)[:10]},
            ],
            "ab": [{"tags": ("infra",)}, {"until": ago(1)}, {"since": ago(10), "until": ago(4)}],
            "bc": [{"user_id": "ben"}, {"since": ago(9)}],
            "c": [
                {"event_since": "2025-03-01", "event_until": "2025-03-05"}, {"event_until": "9999-12-31"},
                {"metadata": {"dates": "*"}},
            ],
            "abc": [
                {}, {"until": "9999-12-31"}, {"since": "0001-01-01"}, {"status": "active"}, {"include_invalid": True},
                {"metadata": {"NOT": [{"x": "*"}]}},
            ],
            "abcd": [{"all_sessions": True}, {"session_id": "s1"}],
            "d": [{"session_id": "s1", "strict_scope": True}],
            "": [{"stated_intent": "event"}, {"status": "forgotten"}, {"metadata": {"x": {"gt": 1}}}],
        }  # fmt: skip
        for letters, asked in everything.items():
            for fields in asked:
                assert "".join(content[4] for content in await found(over, **fields)) == letters, fields


# ------------------------------------------------------------ the past


async def succession(over: Bench) -> str:
    """A fact of ten days ago that another took the place of five days ago: its id."""
    old = await remember(over, "tea at four", created_at=ago(10))
    new = await remember(over, "tea at five", created_at=ago(5))
    await over.changes.supersede(CALL, SupersedeParams(old_id=old, new_id=new))
    return old


async def check_archive(warm: OpenStore) -> None:
    """That the archive says what one says that was made anew, and of the active rows what the store's index says."""
    fresh, kept, active = (
        await archive.Archives().of(warm.store),
        await warm.archives.of(warm.store),
        warm.store.snapshot,
    )
    every = Filter(include_invalid=True, all_sessions=True)
    had, wanted = kept.newest(every, 100), fresh.newest(every, 100)
    assert [each.created_at for each in had] == [each.created_at for each in wanted]
    assert {each.id: each for each in had} == {each.id: each for each in wanted}
    assert kept.edge_counts() == fresh.edge_counts() == active.edge_counts()
    for row in np.flatnonzero(active.alive()).tolist():
        there = kept.row_of(active.insight(row).id)
        assert there is not None
        assert kept.columns.degree[there] == active.columns.degree[row]
        assert kept.has_vector(there)


async def test_the_past_follows_every_write(tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as over:
        old = await succession(over)
        names = [await remember(over, f"tea {number}", created_at=ago(30 - number)) for number in range(20)]
        warm = await over.warm()
        await check_archive(warm)
        assert await warm.archives.of(warm.store) is await warm.archives.of(warm.store)
        await remember(over, "tea the last")
        await check_archive(warm)
        await over.changes.update(CALL, UpdateParams(id=names[0], content="tea the first"))
        await over.changes.update(CALL, UpdateParams(id=names[1], importance=5))
        await check_archive(warm)
        await over.changes.forget(CALL, ForgetParams(id=names[2]))
        await over.changes.supersede(CALL, SupersedeParams(old_id=names[3], new_id=names[4]))
        await check_archive(warm)
        assert "tea 2" not in await found(over, limit=100, **WIDE)
        assert await found(over, status="forgotten") == ["tea 2"]
        await over.changes.restore(CALL, RestoreParams(id=names[2]))
        await check_archive(warm)
        assert "tea 2" in await found(over, limit=100, **WIDE)
        await over.changes.forget(CALL, ForgetParams(id=old, purge=True))
        await check_archive(warm)
        assert "tea at four" not in await found(over, limit=100, **WIDE)


async def test_the_past_is_embedded_by_whom_the_store_is(tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as over:
        old = await succession(over)
        warm = await over.warm()
        past = await warm.archives.of(warm.store)
        assert past.dimension == 2
        row = past.row_of(old)
        assert row is not None
        assert past.has_vector(row)
        other = EmbedderRecord("other", 3, "other-1")
        await warm.store.rewrite(lambda connection: write_embedder(connection, other))
        past = await warm.archives.of(warm.store)
        assert (past.dimension, past.made_by, past.embedded, past.live) == (3, "other-1", 0, 2)


async def test_what_is_purged_while_it_is_read_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with bench(tmp_path) as over:
        await succession(over)
        monkeypatch.setattr(insights, "load", lambda connection, ids, embedder: [])
        assert await found(over, **WIDE) == ["tea at five"]


async def test_a_purge_takes_archives_away(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await succession(over)
        warm = await over.warm()
        before = await warm.archives.of(warm.store)
        over.open_stores.clear_caches()
        assert await warm.archives.of(warm.store) is not before


async def test_a_purge_while_an_archive_is_made_takes_it_away_too(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await succession(over)
        warm = await over.warm()
        found_then = []

        async def ask() -> None:
            found_then.append(await warm.archives.of(warm.store))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await trio.testing.wait_all_tasks_blocked(0.0)
            warm.archives.clear()
        assert await warm.archives.of(warm.store) is not found_then[0]


async def test_only_the_archives_of_the_stores_asked_last_are_kept(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        first = []
        for name in ("one", "two", "three"):
            await over.stores.create(name)
            it = await remember(over, "tea", store=name)
            await over.changes.forget(CALL, ForgetParams(id=it, store=name))
            warm = await over.warm(name)
            first.append((warm, await warm.archives.of(warm.store)))
        assert archive.KEPT == 2
        assert [await warm.archives.of(warm.store) is kept for warm, kept in reversed(first)] == [True, True, False]


async def test_metadata_of_many_are_looked_at_in_a_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recall, "DESCRIBED_INLINE", 1)
    async with bench(tmp_path) as over:
        await remember(over, "tea at four")
        await remember(over, "tea on 2025-03-05")
        assert await found(over, metadata={"dates": "*"}) == ["tea on 2025-03-05"]
