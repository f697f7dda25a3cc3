"""Stores whose embedder is behind an endpoint: away, hanging, back again, and changed to and from."""

from __future__ import annotations

from pathlib import Path

from trio.testing import MockClock

from mnemond.api.embed_worker import FIRST_PAUSE_S
from mnemond.config.reading import EmbeddingSettings
from mnemond.embed.registry import Embedders
from tests.api.embedders import kept, until
from tests.api.test_backfill import is_idle, remember, snapshot, status
from tests.api.test_embed_switch import recalled
from tests.embed import ollama_fake
from tests.embed.hand_clock import HandClock
from tests.embed.servers import Answer


def settings(fake: ollama_fake.Ollama, **more: object) -> EmbeddingSettings:
    return EmbeddingSettings(**{"provider": "ollama", "endpoint": fake.url, **more})  # type: ignore[arg-type]


def down(_: object) -> Answer:
    return Answer(503)


def hanging(_: object) -> Answer:
    return Answer(hang=True)


async def test_a_server_that_was_away_is_used_when_it_is_back(tmp_path: Path, mock_clock: MockClock) -> None:
    clock = HandClock()
    with ollama_fake.running() as fake:
        async with kept(tmp_path, supply=Embedders(settings(fake), {}, clock)) as over:
            assert (await remember(over, "tea at four")).embedded is True
            seen = await status(over)
            assert (seen.provider, seen.model, seen.dimension, seen.ollama_available) == (
                "ollama", "nomic-embed-text", ollama_fake.DIMENSION, True,
            )  # fmt: skip
            assert seen.calibration.source == "shipped"
            fake.rules = {"/api/tags": down, "/api/embed": down}
            clock.now += 31
            late = await remember(over, "coffee at five")
            assert late.embedded is False
            assert "status 503" in (late.embed_error or "")
            found = await recalled(over, "coffee")
            assert found.results[0].insight.id == late.id
            assert "status 503" in str(found.degraded_reason)
            assert found.meta.embedding is None
            seen = await status(over)
            assert (seen.available, seen.ollama_available) == (False, False)
            assert "status 503" in str(seen.reason)
            await until(lambda: over.worker.state("default").waiting)
            fake.rules = {}
            clock.now += 31
            mock_clock.jump(FIRST_PAUSE_S)
            await until(lambda: is_idle(over))
            assert snapshot(over).embedded == 2
            assert (await recalled(over, "coffee")).meta.embedding == "nomic-embed-text"


async def test_a_store_made_while_the_server_was_away_has_it_later(tmp_path: Path, mock_clock: MockClock) -> None:
    clock = HandClock()
    with ollama_fake.running() as fake:
        fake.rules = {"/api/tags": down}
        async with kept(tmp_path, supply=Embedders(settings(fake), {}, clock)) as over:
            first = await remember(over, "tea at four")
            assert "status 503" in (first.embed_error or "")
            assert first.degraded is True
            assert (await status(over)).model is None
            await until(lambda: over.worker.state("default").waiting)
            fake.rules = {}
            clock.now += 31
            mock_clock.jump(FIRST_PAUSE_S)
            await until(lambda: is_idle(over))
            seen = await status(over)
            assert (seen.model, seen.embedded) == ("nomic-embed-text", 1)
            await over.stores.create("work")  # a store made now has it from the start
            assert (await over.warm("work")).embedder is not None
