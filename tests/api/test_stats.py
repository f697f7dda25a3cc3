"""stats: worked figures of a small store."""

from __future__ import annotations

from pathlib import Path

from mnemond.api.admin import StatsHandlers
from mnemond.api.types_daemon import StatsResult
from mnemond.api.types_memories import RememberParams
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
