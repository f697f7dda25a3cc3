"""embed.run and embed.calibrate: what they answer, what they refuse, and what a repeat gets."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest
import trio

from mnemond.api.types_extract import EmbedRunParams, EmbedSwitchParams
from mnemond.api.types_memories import RememberParams
from mnemond.errors import BUSY, INVALID_PARAMS, NOT_FOUND, OP_ID_REUSED, STOPPING, UNAVAILABLE, Kind, MnemonError
from mnemond.model.changes import ChangeSet, PutInsight
from mnemond.model.outcomes import EmbedCalibrateResult, EmbedRunResult, RememberResult
from mnemond.wire.params import WriteParams
from tests.api.embedders import Words, kept, until
from tests.api.factories import CALL, Bench, bench
from tests.api.test_backfill import remember, snapshot, status
from tests.outcomes import forgotten


async def run(over: Bench, **params: object) -> EmbedRunResult:
    result = await over.embedding.run(CALL, EmbedRunParams(**params))  # type: ignore[arg-type]
    assert isinstance(result, EmbedRunResult)
    return result


async def refused(over: Bench, **params: object) -> tuple[Kind, str]:
    with pytest.raises(MnemonError) as caught:
        await run(over, **params)
    return caught.value.kind, caught.value.message


async def written_without_vectors(path: Path, words: Words, count: int) -> list[str]:
    """Ids of memories in a store whose embedder was away."""
    async with bench(path, words) as over:
        words.away = True
        ids = [(await remember(over, f"note number {number}")).id or "" for number in range(count)]
    words.away = False
    words.asked.clear()
    return ids


async def test_what_is_missing_is_made_and_a_repeat_is_answered(tmp_path: Path) -> None:
    words = Words()
    await written_without_vectors(tmp_path, words, 6)
    words.open.clear()  # so that the run begins before the backfill is done
    async with kept(tmp_path, words) as over:
        await over.warm()
        await until(lambda: words.asked)
        results: list[EmbedRunResult] = []

        async def ask() -> None:
            results.append(await run(over, op_id="mine"))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await until(lambda: over.worker.state("default").requested)
            words.open.set()
        (done,) = results
        assert (done.status, done.succeeded, done.failed) == ("backfill_complete", 2, 0)  # four were made already
        assert (done.model, done.dimension, done.op_id, done.replayed) == ("words", 8, "mine", False)
        assert snapshot(over).embedded == 6
        again = await run(over, op_id="mine")
        assert again == msgspec.structs.replace(done, replayed=True)
        assert await refused(over, op_id="mine", all=True) == (
            OP_ID_REUSED, "op_id was already used by another embed.run request; nothing was written",
        )  # fmt: skip
        nothing = await run(over)
        assert (nothing.status, nothing.message) == ("complete", "every memory has a vector that can have one")
        assert nothing.succeeded is msgspec.UNSET


async def test_everything_is_made_anew_and_nobody_waits_meanwhile(tmp_path: Path) -> None:
    words = Words()
    async with kept(tmp_path, words) as over:
        for number in range(9):
            await remember(over, f"note number {number}")
        words.asked.clear()
        words.open.clear()
        results: list[EmbedRunResult] = []

        async def ask() -> None:
            results.append(await run(over, all=True))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            nursery.start_soon(ask)
            await until(lambda: words.asked)
            seen = await status(over)
            assert seen.work is not None
            assert (seen.work.kind, seen.work.done, seen.work.total) == ("run", 0, 9)
            assert (await refused(over))[0] is BUSY
            with pytest.raises(MnemonError) as caught:
                await over.embedding.switch(CALL, EmbedSwitchParams(provider="builtin"))
            assert caught.value.kind is BUSY
            words.open.set()
        assert [(each.succeeded, each.failed) for each in results] == [(9, 0), (9, 0)]
        assert len(words.texts) == 9  # one run for both
        assert snapshot(over).embedded == 9


async def test_one_memory(tmp_path: Path) -> None:
    words = Words()
    ids = await written_without_vectors(tmp_path, words, 1)
    async with bench(tmp_path, words) as over:
        done = await run(over, id=ids[0][:40].rstrip("-"), op_id="mine")
        assert (done.status, done.id, done.model, done.dimension) == ("embedded", ids[0], "words", 8)
        assert (await over.warm()).store.snapshot.embedded == 1
        assert await run(over, id=ids[0][:40].rstrip("-"), op_id="mine") == msgspec.structs.replace(done, replayed=True)
        assert (await refused(over, id="bbbbbbbb"))[0] is NOT_FOUND
        assert await refused(over, id=ids[0], all=True) == (INVALID_PARAMS, "all and id exclude each other")
        words.away = True
        assert await refused(over, id=ids[0]) == (UNAVAILABLE, "words is away")


async def test_one_memory_of_unknown_words_and_one_that_changes(tmp_path: Path) -> None:
    words = Words()
    async with bench(tmp_path, words) as over:
        result = await over.remembering.remember(CALL, RememberParams(content="…"))
        assert isinstance(result, RememberResult)
        done = await run(over, id=result.id)
        assert (done.status, done.message) == ("complete", "the embedder knows no word of this text")
        store = (await over.warm()).store
        words.open.clear()
        async with trio.open_nursery() as nursery:

            async def ask() -> None:
                assert (await refused(over, id=result.id))[0] is BUSY

            asked = len(words.asked)
            nursery.start_soon(ask)
            await until(lambda: len(words.asked) > asked)
            old = store.snapshot.insight(store.snapshot.row_of(result.id or "") or 0)
            put = PutInsight(msgspec.structs.replace(old, content="coffee"))
            await store.write(ChangeSet("o", False, "update", old.created_at, (put,), forgotten("x", "o")))
            words.open.set()


async def test_without_an_embedder_a_run_is_refused(tmp_path: Path) -> None:
    async with kept(tmp_path) as over:
        result = await remember(over, "tea at four")
        kind, message = await refused(over)
        assert (kind, message) == (UNAVAILABLE, 'the store "default" has no embedder')
        assert (await refused(over, id=result.id)) == (UNAVAILABLE, "this store has no embedder")


async def test_an_embedder_that_goes_away_ends_a_run_and_what_was_done_stays(tmp_path: Path) -> None:
    words = Words()
    await written_without_vectors(tmp_path, words, 6)
    async with kept(tmp_path, words) as over:
        over.toys.away = "not there yet"
        await over.warm()
        await until(lambda: over.worker.state("default").waiting)
        assert await refused(over) == (UNAVAILABLE, "not there yet")
        await until(lambda: over.worker.state("default")._woken.statistics().tasks_waiting)
        over.toys.away = None
        words.open.clear()

        async def ask() -> None:
            assert await refused(over) == (UNAVAILABLE, "words is away; 4 of 6 memories were embedded before")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await until(lambda: len(words.asked) == 1)
            vector = words.vector

            def last(text: str) -> object:
                words.away = True
                return vector(text)

            words.vector = last  # type: ignore[method-assign,assignment]
            words.open.set()
        assert snapshot(over).embedded == 4


async def test_a_stop_tells_whoever_waits(tmp_path: Path) -> None:
    words = Words()
    await written_without_vectors(tmp_path, words, 6)
    words.open.clear()
    async with kept(tmp_path, words) as over:
        await over.warm()

        async def ask() -> None:
            assert (await refused(over, all=True))[0] is STOPPING

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await until(lambda: over.worker.state("default").requested)
            over.worker.end()
        assert (await refused(over))[0] is STOPPING
        over.worker.request_backfill("default")  # nothing begins any more
        assert over.worker.state("default").has_task is False


async def test_a_keeper_ended_before_it_began_does_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path, Words()) as over:
        over.worker.end()
        await over.worker.run()


# ------------------------------------------------------------ calibrate


async def calibrate(over: Bench, **params: object) -> EmbedCalibrateResult:
    result = await over.embedding.calibrate(CALL, WriteParams(**params))  # type: ignore[arg-type]
    assert isinstance(result, EmbedCalibrateResult)
    return result


async def test_a_calibration_changes_what_writes_go_by_and_stays(tmp_path: Path) -> None:
    words = Words(dimension=64)
    async with bench(tmp_path, words) as over:
        with pytest.raises(
            MnemonError, match="0 memories of this store are embedded; a calibration needs 100"
        ) as caught:
            await calibrate(over)
        assert (caught.value.kind, caught.value.outcome) == (INVALID_PARAMS, "rejected")
        for number in range(100):
            if number == 99:
                with pytest.raises(MnemonError, match="99 memories of this store are embedded"):
                    await calibrate(over)
            await remember(over, f"note {number} about topic{number} and place{number} with person{number} at {number}")
        before = (await status(over)).thresholds
        done = await calibrate(over, op_id="mine")
        assert (done.status, done.model, done.pairs, done.paraphrases, done.replayed) == (
            "calibrated", "words", 500, 100, False,
        )  # fmt: skip
        assert -1 <= done.unrelated < done.paraphrase <= 1
        seen = await status(over)
        assert seen.calibration.source == "measured"
        assert np.isclose(seen.calibration.unrelated or 0, done.unrelated, atol=1e-6)
        assert seen.thresholds == done.thresholds != before
        warm = await over.warm()
        expected = done.unrelated + (0.80 - 0.35) * (done.paraphrase - done.unrelated) / 0.5
        assert np.isclose(warm.rules.config.graph.semantic.auto, expected, atol=1e-5)
        assert await calibrate(over, op_id="mine") == msgspec.structs.replace(done, replayed=True)
    async with bench(tmp_path, words) as later:
        assert (await status(later)).calibration.source == "measured"


async def test_a_calibration_needs_its_embedder(tmp_path: Path) -> None:
    words = Words()
    async with bench(tmp_path, words) as over:
        for number in range(100):
            await remember(over, f"note {number} topic{number}")
        words.away = True
        with pytest.raises(MnemonError, match="words is away"):
            await calibrate(over)
