"""remember and forget: with and without an embedder, repeated, rehearsed, and when the store is not well."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from mnemond.api.types_memories import ForgetParams, RememberParams
from mnemond.errors import BUSY, STORAGE, MnemonError
from mnemond.model.outcomes import ForgetResult, RememberResult
from mnemond.store import store
from mnemond.store.database import Opened
from tests.api.factories import CALL, Bench, ToyEmbedder, bench


async def remember(over: Bench, content: str, **more: object) -> RememberResult:
    result = await over.remembering.remember(CALL, RememberParams(content=content, **more))  # type: ignore[arg-type]
    assert isinstance(result, RememberResult)
    return result


async def test_a_rehearsal_is_answered_and_leaves_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as over:
        rehearsed = await remember(over, "tea at four", dry_run=True, op_id="mine")
        assert (rehearsed.dry_run, rehearsed.embedded) == (True, True)
        assert (await over.warm()).store.snapshot.live == 0
        real = await remember(over, "tea at four", op_id="mine")
        assert (real.dry_run, real.replayed) == (False, False)


async def test_a_full_queue_is_refused_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with bench(tmp_path) as over:
        await over.warm()
        monkeypatch.setattr(store, "CAPACITY", 0)
        with pytest.raises(MnemonError) as caught:
            await over.remembering.remember(CALL, RememberParams(content="tea"))
        assert (caught.value.kind, caught.value.outcome) == (BUSY, "rejected")


async def test_a_store_that_is_not_well_says_so_with_every_answer(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await remember(over, "tea at four")
        warm = await over.warm()
        warm.store._engine.health.checkpoint_failure = "the write-ahead log cannot be copied"
        result = await remember(over, "coffee at five")
        assert (result.degraded, result.degraded_reason) == (True, "the write-ahead log cannot be copied")
        gone = await over.changes.forget(CALL, ForgetParams(id=result.id or ""))
        assert isinstance(gone, ForgetResult)
        assert gone.degraded is True


async def test_a_store_that_is_gone_refuses_and_nothing_changes(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        kept = await remember(over, "tea at four")
        warm = await over.warm()

        def reopen() -> Opened:
            raise apsw.CantOpenError("no such disk")

        warm.store._engine._reopen = reopen
        warm.store._engine.poison("a defect")
        for attempt in (RememberParams(content="coffee"), ForgetParams(id=kept.id or "")):
            method = over.remembering.remember if isinstance(attempt, RememberParams) else over.changes.forget
            with pytest.raises(MnemonError, match="no such disk") as caught:
                await method(CALL, attempt)  # type: ignore[arg-type]  # chosen by its type
            assert (caught.value.kind, caught.value.outcome) == (STORAGE, "rejected")
        assert warm.store.snapshot.live == 1
