"""What could not be embedded when it was written is embedded later, once, and never with the vector of other words."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import pytest
from trio.testing import MockClock

from mnemond.api.embed_worker import ATTEMPTS, FIRST_PAUSE_S, LONGEST_PAUSE_S, EmbeddingState
from mnemond.api.types_extract import EmbedStatusResult
from mnemond.api.types_memories import RememberParams
from mnemond.errors import STORAGE, MnemonError
from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import ChangeSet, PutInsight
from mnemond.model.outcomes import RememberResult
from mnemond.store import insights
from mnemond.wire.params import StoreParams
from tests.api.embedders import Words, alike, kept, until
from tests.api.factories import CALL, Bench, bench
from tests.outcomes import forgotten


async def remember(over: Bench, content: str) -> RememberResult:
    result = await over.remembering.remember(CALL, RememberParams(content=content, no_diff=True))
    assert isinstance(result, RememberResult)
    return result


async def status(over: Bench) -> EmbedStatusResult:
    result = await over.embedding.status(CALL, StoreParams())
    assert isinstance(result, EmbedStatusResult)
    return result


def snapshot(over: Bench) -> Snapshot:
    return over.worker.state("default").store.snapshot


def is_idle(over: Bench) -> bool:
    return not over.worker.state("default").has_task


def has_failed(state: EmbeddingState, times: int) -> bool:
    """Whether a text was refused so often, and the next attempt is waited for."""
    return times in state.refusals.values() and state._woken.statistics().tasks_waiting > 0


async def test_a_text_of_unknown_words_is_asked_about_once(tmp_path: Path) -> None:
    words = Words()
    async with kept(tmp_path, words) as over:
        result = await remember(over, "…")
        assert result.embed_error == "the embedder knows no word of this text"
        await until(lambda: is_idle(over))
        assert words.texts == ["…", "…"]
        await remember(over, "tea at four")
        over.worker.request_backfill("default")
        await until(lambda: is_idle(over))
    async with kept(tmp_path, words) as over:
        await over.warm()
        await until(lambda: is_idle(over))
    assert words.texts == ["…", "…", "tea at four"]


async def test_a_memory_that_changed_meanwhile_is_not_given_the_old_vector(tmp_path: Path) -> None:
    words = Words()
    async with bench(tmp_path, words) as before:
        words.away = True
        result = await remember(before, "tea at four")
    words.away = False
    words.open.clear()
    async with kept(tmp_path, words) as over:
        store = (await over.warm()).store
        await until(lambda: len(words.asked) == 2)
        old = store.snapshot.insight(store.snapshot.row_of(result.id or "") or 0)
        changed = msgspec.structs.replace(old, content="coffee at five")
        await store.write(
            ChangeSet("o", False, "update", old.created_at, (PutInsight(changed, embedded=True),), forgotten("x", "o"))
        )
        assert store.snapshot.embedded == 0
        words.open.set()
        await until(lambda: is_idle(over))
        row = store.snapshot.row_of(old.id)
        assert row is not None
        assert alike(store.snapshot.vector(row), words.vector("coffee at five"))
        assert words.texts == ["tea at four", "tea at four", "coffee at five"]


async def test_a_text_the_embedder_refuses_does_not_keep_the_others_waiting(
    tmp_path: Path, mock_clock: MockClock
) -> None:
    words = Words()
    async with bench(tmp_path, words) as before:
        words.away = True
        for number in range(3):
            await remember(before, f"note number {number}")
    words.away, words.refuses = False, {"note number 1"}
    async with kept(tmp_path, words) as over:
        await over.warm()
        state = over.worker.state("default")
        for attempt in range(1, ATTEMPTS + 1):
            await until(partial(has_failed, state, attempt))
            assert snapshot(over).embedded == 2
            assert state.waiting == "words refuses 1 of the texts; see the log of its server"
            mock_clock.jump(LONGEST_PAUSE_S)
        await until(lambda: is_idle(over))
        assert words.texts.count("note number 1") == 1 + 2 + (ATTEMPTS - 1)
        words.refuses = set()
        over.worker.request_backfill("default")  # whenever there is a reason to look, it is tried again
        await until(lambda: snapshot(over).embedded == 3)


async def test_a_store_that_cannot_be_read_is_looked_at_again(
    tmp_path: Path, mock_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = Words()
    async with bench(tmp_path, words) as before:
        words.away = True
        await remember(before, "tea at four")
    words.away = False

    def fail(*_: object) -> set[str]:
        raise MnemonError(STORAGE, "the disk is gone")

    async with kept(tmp_path, words) as over:
        with monkeypatch.context() as patch:
            patch.setattr(insights, "unembeddable", fail)
            await over.warm()
            await until(lambda: over.worker.state("default").waiting == "the disk is gone")
        mock_clock.jump(FIRST_PAUSE_S)
        await until(lambda: snapshot(over).embedded == 1)


async def test_a_stop_in_the_middle_of_a_request_waits_for_nothing(tmp_path: Path) -> None:
    words = Words()
    async with bench(tmp_path, words) as before:
        words.away = True
        await remember(before, "tea at four")
    words.open.clear()
    async with kept(tmp_path, words) as over:
        await over.warm()
        await until(lambda: len(words.asked) == 2)
    assert not words.open.is_set() or words.asked  # left while the thread still waited


async def test_vectors_that_cannot_be_stored_are_not_made_in_a_circle(tmp_path: Path, mock_clock: MockClock) -> None:
    words = Words()
    async with bench(tmp_path, words) as before:
        words.away = True
        await remember(before, "tea at four")
    words.away, words.asked = False, []
    fitting = words.vector
    words.vector = lambda text: np.ones(3, np.float32)  # type: ignore[method-assign]
    async with kept(tmp_path, words) as over:
        await over.warm()
        state = over.worker.state("default")
        await until(lambda: state.waiting == "1 vectors of words could not be stored")
        assert len(words.asked) == 1
        words.vector = fitting  # type: ignore[method-assign]
        mock_clock.jump(FIRST_PAUSE_S)
        await until(lambda: is_idle(over))
        assert snapshot(over).embedded == 1
