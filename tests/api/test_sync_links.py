"""Memories that came from another device are found and linked as those that were written here."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from mnemond.api.requests import one_active
from mnemond.api.store_access import OpenStore
from mnemond.api.types_memories import ForgetParams, RememberParams
from mnemond.api.types_sync import SyncStatusParams
from mnemond.hooks.memory import extraction_contexts
from mnemond.jobs import link_received
from mnemond.jobs.job import Done, Work
from mnemond.jobs.link_received import LinkReceived
from mnemond.jobs.resolve import ModelDeps
from mnemond.jobs.scheduler import one_thread
from mnemond.memory import embedding
from mnemond.store import edges
from mnemond.store.connection import Connection
from tests.api.factories import CALL, NOW_US, Bench
from tests.api.test_sync import two


async def run_job(over: Bench, *, dry_run: bool = False) -> Done:
    warm = await over.warm()
    job = LinkReceived(ModelDeps(extraction_contexts(lambda: over.open_stores), over.identities.own, one_active))
    work = Work(
        link_received.NAME, warm.store, over.identities.own("default", "system:link_received"), NOW_US, 0, 0.0,
        one_thread(), dry_run=dry_run,
    )  # fmt: skip
    return await job.run(work)


async def embed(over: Bench) -> None:
    """What the worker does in the background."""
    warm = await over.warm()
    assert warm.embedder is not None
    answers, _ = embedding.embed_each(warm.embedder, embedding.texts_without_vector(warm.store.snapshot))
    identity = over.identities.own("default", "system:embed")
    await warm.store.write(embedding.propose(answers, identity, warm.embedder, anew=False))


async def links(over: Bench) -> set[tuple[str, str, str]]:
    warm: OpenStore = await over.warm()

    def look(connection: Connection) -> set[tuple[str, str, str]]:
        ids = connection.column("SELECT id FROM insights")
        found = [each for one in ids for each in edges.touching(connection, one) if each.created_by == "auto"]
        called = dict(connection.rows("SELECT id, content FROM insights"))
        return {(*sorted((called[it.source_id], called[it.target_id])), it.edge_type) for it in found}

    found: set[tuple[str, str, str]] = await warm.store.read(look)
    return found


async def waiting(over: Bench) -> dict[str, str]:
    warm = await over.warm()
    sql = "SELECT key, value FROM sync_rows WHERE kind = 'links'"
    found: dict[str, str] = dict(await warm.store.read(lambda it: it.rows(sql)))
    return found


async def say(over: Bench, content: str) -> str:
    result: Any = await over.remembering.remember(CALL, RememberParams(content=content, no_diff=True))
    return str(result.id)


TEXTS = (
    "The gateway was moved to Frankfurt by Alice Meyer",
    "Alice Meyer owns the gateway in Frankfurt",
    "Releases slipped because the gateway failed in Frankfurt",
)


async def test_received_memories_get_the_links_that_they_would_have_got_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        told: list[str] = []
        other.syncs._received = told.append
        missing: list[str] = []
        await other.over.warm()
        other.over.open_stores._change("default", on_missing_vector=missing.append)
        for text in TEXTS:
            await say(one.over, text)
        assert {kind for _, _, kind in await links(one.over)} >= {"temporal", "entity", "semantic"}
        await one.sync(tmp_path / "shared", monkeypatch)
        assert (await other.sync(tmp_path / "shared", monkeypatch)).added == 3
        assert told == missing == ["default"], "they are linked and embedded soon"
        assert await links(other.over) == set()
        assert (await run_job(other.over, dry_run=True)).changed == 3
        assert (await run_job(other.over)).changed == 2, "the first had none to be linked with"
        assert {kind for _, _, kind in await links(other.over)} >= {"temporal", "entity"}
        assert "semantic" not in {kind for _, _, kind in await links(other.over)}
        assert set((await waiting(other.over)).values()) == {'["semantic"]'}
        assert (await run_job(other.over)).outcome == "nothing", "they have no vectors yet"
        await embed(other.over)
        await run_job(other.over)
        assert await links(other.over) == await links(one.over)
        assert await waiting(other.over) == {}
        status = await other.syncs.status(CALL, SyncStatusParams())
        assert status.targets[0].waiting == 0, "what waits for links is nothing to send"


async def test_one_that_is_gone_by_then_waits_no_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with AsyncExitStack() as stack:
        one, other = await two(stack, tmp_path)
        await say(one.over, TEXTS[0])
        await one.sync(tmp_path / "shared", monkeypatch)
        await other.sync(tmp_path / "shared", monkeypatch)
        warm = await other.over.warm()
        (key,) = await waiting(other.over)
        await other.over.changes.forget(CALL, ForgetParams(id=key))
        assert warm.store.snapshot.row_of(key) is None
        assert (await run_job(other.over)).outcome == "nothing"
        assert await waiting(other.over) == {}
