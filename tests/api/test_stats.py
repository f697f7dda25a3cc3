"""stats: worked figures of a small store."""

from __future__ import annotations

from pathlib import Path

from mnemond.api.admin import StatsHandlers
from mnemond.api.types_daemon import Quantiles, StatsResult, StoreCounts
from mnemond.api.types_memories import ForgetParams, RememberParams
from mnemond.model.memory import format_us
from mnemond.model.outcomes import RememberResult
from mnemond.store.operations import REFUSAL_DAYS
from mnemond.wire.params import StoreParams
from tests.api.factories import CALL, Bench, ToyEmbedder, bench

DAY_US = 86_400_000_000


async def remember(on: Bench, text: str, **fields: object) -> str:
    params = RememberParams(content=text, no_diff=True, **fields)  # type: ignore[arg-type]
    result = await on.remembering.remember(CALL, params)
    assert isinstance(result, RememberResult)
    assert result.id is not None
    return result.id


async def figures(on: Bench) -> StatsResult:
    result = await StatsHandlers(on.open_stores, on.clock).stats(CALL, StoreParams())
    assert isinstance(result, StatsResult)
    return result


async def test_an_empty_store(tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as on:
        found = await figures(on)
    assert (found.total_insights, found.by_status, found.by_category, found.embedded_share) == (0, {}, {}, 1.0)
    assert (found.age_days, found.unused_days, found.importance) == (None, None, None)
    assert sum(found.importance_bands.values()) == 0


async def test_what_a_store_holds(tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as on:
        await remember(on, "We chose SQLite", category="decision", source="agent", importance=5)
        on.clock.us += 10 * DAY_US
        await remember(on, "Redis is gone since March", category="fact")
        await remember(on, "…", category="fact")
        gone = await remember(on, "The team meets on Mondays", category="fact")
        await on.changes.forget(CALL, ForgetParams(id=gone))
        on.clock.us += 2 * DAY_US
        found = await figures(on)
        status = await on.daemon.status(CALL, StoreParams())
        live = (await on.warm()).store.snapshot
    alike = StoreCounts.__struct_fields__
    assert [getattr(status, name) for name in alike] == [getattr(found, name) for name in alike]
    assert (found.deleted_insights, found.edge_count) == (1, sum(found.edges_by_type.values()))
    assert found.by_status == {"active": 3, "forgotten": 1}
    assert list(found.by_category.items()) == [("fact", 2), ("decision", 1)]
    assert list(found.by_source.items()) == [("user", 2), ("agent", 1)]
    assert found.by_type == {"memory": 3}
    assert (found.total_insights, found.rows) == (3, live.rows)
    assert (found.embedded, found.embedded_share) == (2, 0.666667)
    assert found.age_days == Quantiles(2.0, 2.0, 2.0, 12.0, 12.0)
    assert sum(found.importance_bands.values()) == 3
    assert found.database_bytes + found.log_bytes > 100_000
    assert found.index_total_bytes == sum(found.index_bytes.values())
    assert found.index_bytes["vectors"] >= found.rows * (2 * 4 + 1)
    assert found.index_bytes["memories"] > sum(len(live.insight(row).content) for row in range(live.rows))


async def test_the_mirror_grows_with_what_it_holds(tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as on:
        await remember(on, "one memory of the team")
        before = (await figures(on)).index_bytes
        for number in range(70):
            await remember(on, f"memory {number} about module {number * 31} of the team")
        after = (await figures(on)).index_bytes
    assert all(after[part] > before[part] for part in ("vectors", "words", "links", "passages", "columns", "memories"))


async def test_refusals_are_counted_by_day_and_reason(tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as on:
        for text in (
            "ok thanks!",
            "Thanks a lot!",
            "Should we use Redis?",
            "Chose SQLite because Redis is unknown",
        ):
            await on.remembering.remember(CALL, RememberParams(content=text, channel="hook"))
        await on.remembering.remember(CALL, RememberParams(content="ok thanks!"))  # by hand nothing is refused
        today = format_us(on.clock.us)[:10]
        on.clock.us += DAY_US
        await on.remembering.remember(CALL, RememberParams(content="ok thanks!", channel="hook"))
        tomorrow = format_us(on.clock.us)[:10]
        found = await figures(on)
    assert list(found.refused.items()) == [(tomorrow, {"courtesy": 1}), (today, {"courtesy": 2, "question": 1})]


async def test_the_refusals_of_thirty_days_are_shown(tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as on:
        for _ in range(REFUSAL_DAYS + 2):
            await on.remembering.remember(CALL, RememberParams(content="ok thanks!", channel="hook"))
            on.clock.us += DAY_US
        found = await figures(on)
        newest = format_us(on.clock.us - DAY_US)[:10]
    assert len(found.refused) == REFUSAL_DAYS
    assert next(iter(found.refused)) == newest
