"""A store changes its embedder in the background: what it had serves until the end, and nothing is mixed."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import apsw
import msgspec
import pytest
import trio
from trio.testing import MockClock

from mnemond.api.embed_worker import ATTEMPTS, FIRST_PAUSE_S, LONGEST_PAUSE_S
from mnemond.api.types_extract import EmbedSwitchParams
from mnemond.api.types_memories import RecallParams
from mnemond.errors import BUSY, INVALID_PARAMS, NOT_FOUND, OP_ID_REUSED, STORAGE, UNAVAILABLE, Kind, MnemonError
from mnemond.model.answers import RecallResult
from mnemond.model.changes import Change, ChangeSet, PurgeInsight, PutInsight, RetireInsight
from mnemond.model.outcomes import EmbedSwitchResult
from mnemond.store import embedder_switch
from mnemond.store.engine import SWITCHED
from tests.api.embedders import Words, alike, kept, until
from tests.api.factories import CALL, Bench, bench
from tests.api.test_backfill import has_failed, is_idle, remember, snapshot, status
from tests.outcomes import forgotten
from tests.tables import each_row


async def switch(over: Bench, **params: object) -> EmbedSwitchResult:
    if "abort" not in params:
        params = {"provider": "ollama", "model": "other", **params}
    result = await over.embedding.switch(CALL, EmbedSwitchParams(**params))  # type: ignore[arg-type]
    assert isinstance(result, EmbedSwitchResult)
    return result


async def refused(over: Bench, **params: object) -> tuple[Kind, str]:
    with pytest.raises(MnemonError) as caught:
        await switch(over, **params)
    return caught.value.kind, caught.value.message


async def recalled(over: Bench, query: str, limit: int = 10) -> RecallResult:
    result = await over.reads.recall(CALL, RecallParams(query=query, limit=limit))
    assert isinstance(result, RecallResult)
    return result


def made_by(over: Bench, embedder: Words) -> bool:
    """Whether every vector of the store is what this embedder makes of the row's text."""
    seen = snapshot(over)
    rows = [row for row in range(seen.rows) if seen.row_of(seen.insight(row).id) == row]
    return seen.made_by == embedder.fingerprint and all(
        alike(seen.vector(row), embedder.vector(seen.insight(row).content)) for row in rows
    )


async def change(over: Bench, insight_id: str, content: str) -> None:
    store = over.worker.state("default").store
    old = store.snapshot.insight(store.snapshot.row_of(insight_id) or 0)
    put = PutInsight(msgspec.structs.replace(old, content=content), embedded=True)
    await store.write(ChangeSet("o", False, "update", old.created_at, (put,), forgotten("x", "o")))


async def lived_on(over: Bench, known: str) -> str:
    """The id of a memory that was written while a switch of seven memories had not yet embedded any."""
    late = await remember(over, "coffee at five")
    assert late.embedded is True
    await change(over, known, "tea without milk")
    found = await recalled(over, "coffee at five")
    assert (found.results[0].insight.id, found.meta.embedding) == (late.id, "words")
    seen = await status(over)
    assert seen.switch is not None
    assert (seen.model, seen.switch.to, seen.switch.done, seen.switch.total) == ("words", "other", 0, 7)
    assert seen.work is not None
    assert seen.work.kind == "switch"
    assert (await refused(over))[0] is BUSY
    assert (await refused(over, provider="builtin", model="words"))[0] is BUSY
    return late.id or ""


@each_row("dimension", [8, 16])
async def test_the_old_vectors_serve_until_the_new_ones_take_over(tmp_path: Path, dimension: int) -> None:
    words, other = Words(), Words("other", dimension)
    async with kept(tmp_path, words, other) as over:
        ids = [(await remember(over, f"note number {number}")).id or "" for number in range(6)]
        edges = snapshot(over).edge_counts()
        other.open.clear()
        begun = await switch(over, op_id="mine")
        assert (begun.status, begun.model, begun.provider, begun.dimension, begun.total) == (
            "switching", "other", "ollama", dimension, 6,
        )  # fmt: skip
        await until(lambda: other.asked)
        late = await lived_on(over, ids[0])
        other.open.set()
        await until(lambda: is_idle(over))
        assert made_by(over, other)
        assert snapshot(over).embedded == 7
        assert snapshot(over).edge_counts()["temporal"] >= edges["temporal"]
        found = await recalled(over, "coffee at five")
        assert (found.results[0].insight.id, found.meta.embedding) == (late, "other")
        seen = await status(over)
        assert (seen.model, seen.dimension, seen.switch, seen.stale) == ("other", dimension, None, 0)
        again = await switch(over, op_id="mine")
        assert again == msgspec.structs.replace(begun, replayed=True)
        assert (await refused(over, op_id="mine", model="words"))[0] is OP_ID_REUSED
        assert await refused(over) == (
            INVALID_PARAMS, "the store has the embedder other already: there is nothing to switch",
        )  # fmt: skip
        back = await switch(over, provider="builtin", model="words")
        assert back.status == "switching"
        await until(lambda: is_idle(over) and made_by(over, words))
        assert (await over.warm()).embedder is words


async def test_repeats_that_come_at_once_begin_and_end_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither saw the other when it was looked for, and one comes when the other is over."""
    words, other = Words(), Words("other")
    async with kept(tmp_path, words, other) as over:

        async def unseen(*_: object) -> None:
            await trio.lowlevel.checkpoint()

        monkeypatch.setattr(over.embedding, "_replayed", unseen)
        await remember(over, "note")
        begun = await switch(over, op_id="mine")
        await until(lambda: is_idle(over) and made_by(over, other))
        assert await switch(over, op_id="mine") == msgspec.structs.replace(begun, replayed=True)
        assert (await status(over)).switch is None
        words.open.clear()
        await switch(over, provider="builtin", model="words")
        await switch(over, abort=True, op_id="stop")
        await switch(over, provider="builtin", model="words", op_id="again")
        await switch(over, abort=True, op_id="stop")
        assert (await status(over)).switch is not None
        words.open.set()
        await until(lambda: is_idle(over) and made_by(over, words))


async def test_a_switch_can_be_given_up(tmp_path: Path) -> None:
    words, other = Words(), Words("other")
    async with kept(tmp_path, words, other) as over:
        for number in range(6):
            await remember(over, f"note number {number}")
        assert await refused(over, abort=True) == (NOT_FOUND, "no switch is under way: there is nothing to abort")
        other.open.clear()
        await switch(over)
        await until(lambda: other.asked)
        done = await switch(over, abort=True, op_id="stop")
        assert (done.status, done.model, done.dropped) == ("aborted", "other", 0)
        assert await switch(over, abort=True, op_id="stop") == msgspec.structs.replace(done, replayed=True)
        other.open.set()
        await until(lambda: is_idle(over))
        assert made_by(over, words)
        assert len(other.asked) == 1
        store = over.worker.state("default").store
        assert await store.read(embedder_switch.staged_hashes) == {}
        seen = await status(over)
        assert (seen.switch, seen.model) == (None, "words")
        await switch(over)
        await until(lambda: made_by(over, other))


async def test_one_that_was_given_up_between_two_batches_ends(tmp_path: Path) -> None:
    words, other = Words(), Words("other")
    async with kept(tmp_path, words, other) as over:
        for number in range(6):
            await remember(over, f"note number {number}")
        other.open.clear()
        await switch(over)
        await until(lambda: other.asked)
        store = over.worker.state("default").store
        await store.rewrite(embedder_switch.clear)  # as when the answer to an abort was lost
        other.open.set()
        await until(lambda: is_idle(over))
        assert made_by(over, words)
        assert (len(other.asked), over.worker.state("default").switch) == (1, None)


async def test_what_a_request_must_say(tmp_path: Path) -> None:
    async with bench(tmp_path, Words()) as over:
        for params in (
            EmbedSwitchParams(), EmbedSwitchParams(provider="ollama", abort=True), EmbedSwitchParams(model="x"),
            EmbedSwitchParams(model="x", abort=True),
        ):  # fmt: skip
            with pytest.raises(MnemonError) as caught:
                await over.embedding.switch(CALL, params)
            assert caught.value.kind is INVALID_PARAMS
        assert await refused(over, model="unheard of") == (UNAVAILABLE, "there is no such toy")


async def test_a_restart_goes_on_where_it_was(tmp_path: Path) -> None:
    words, other = Words(), Words("other")
    async with kept(tmp_path, words, other) as over:
        for number in range(10):
            await remember(over, f"note number {number}")
        vector = other.vector

        def only_four(text: str) -> object:
            other.open.clear()
            return vector(text)

        other.vector = only_four  # type: ignore[method-assign,assignment]
        await switch(over)
        await until(lambda: len(other.asked) == 2)
    del other.vector
    other.asked.clear()
    other.open.set()
    async with kept(tmp_path, words, other) as over:
        await over.warm()
        await until(lambda: over.worker.state("default").has_read_switch and is_idle(over))
        assert made_by(over, other)
        assert len(other.texts) == 6


async def test_a_restart_waits_for_an_embedder_that_is_not_there(tmp_path: Path, mock_clock: MockClock) -> None:
    words, other = Words(), Words("other")
    async with bench(tmp_path, words, other) as over:
        await remember(over, "tea at four")
        await switch(over)
    async with kept(tmp_path, words) as over:
        await over.warm()
        await until(lambda: over.worker.state("default").waiting)
        seen = await status(over)
        assert seen.work is not None
        assert (seen.work.kind, seen.work.waiting) == ("switch", "there is no such toy; look elsewhere")
        with pytest.raises(MnemonError, match="is being switched to other") as caught:
            over.worker.request_run("default", everything=False)
        assert caught.value.kind is BUSY
        over.toys.embedders.append(other)
        mock_clock.jump(FIRST_PAUSE_S)
        await until(lambda: made_by(over, other))


async def test_a_demand_finds_the_switch_an_earlier_daemon_left(tmp_path: Path) -> None:
    words, other = Words(), Words("other")
    async with bench(tmp_path, words, other) as over:
        await remember(over, "tea at four")
        await switch(over)
    async with kept(tmp_path, words, other) as over:
        await over.warm()
        demanded = over.worker.request_run("default", everything=True)
        with pytest.raises(MnemonError, match="is being switched"):
            await demanded


async def test_rows_that_leave_or_are_purged_meanwhile(tmp_path: Path) -> None:
    words, other = Words(), Words("other")
    async with kept(tmp_path, words, other) as over:
        ids = [(await remember(over, f"note number {number}")).id or "" for number in range(4)]
        other.open.clear()
        await switch(over)
        await until(lambda: other.asked)
        store = over.worker.state("default").store
        leaving: list[Change] = [PurgeInsight(ids[0]), RetireInsight(ids[1], "forgotten")]
        for number, gone in enumerate(leaving):
            now = over.identities.own("default", "user").now
            await store.write(ChangeSet(f"o{number}", False, "forget", now, (gone,), forgotten("x", "o")))
        other.open.set()
        await until(lambda: is_idle(over))
        assert made_by(over, other)
        assert snapshot(over).embedded == 2
    db = apsw.Connection(str(tmp_path / "data" / "default" / "mnemon.db"))
    rows = db.execute("SELECT status, embedding IS NULL, embedding_model FROM insights ORDER BY status").fetchall()
    assert rows == [("active", 0, "other"), ("active", 0, "other"), ("forgotten", 1, None)]
    db.close()


async def test_a_write_made_for_the_old_vectors_keeps_its_words_and_loses_its_vector(tmp_path: Path) -> None:
    words, other = Words(), Words("other")  # of the same dimension: nothing but the fingerprint tells them apart
    async with kept(tmp_path, words, other) as over:
        await remember(over, "tea at four")
        words.open.clear()
        results = []

        async def late() -> None:
            results.append(await remember(over, "coffee at five"))

        async with trio.open_nursery() as nursery:
            asked = len(words.asked)
            nursery.start_soon(late)
            await until(lambda: len(words.asked) > asked)
            await switch(over)
            await until(lambda: snapshot(over).made_by == other.fingerprint)
            words.open.set()
        (result,) = results
        assert (result.embedded, result.embed_error) == (False, SWITCHED)
        await until(lambda: snapshot(over).embedded == 2)
        assert made_by(over, other)


async def test_a_text_the_new_embedder_refuses_is_left_for_later(tmp_path: Path, mock_clock: MockClock) -> None:
    words, other = Words(), Words("other")
    other.refuses = {"note number 1"}
    async with kept(tmp_path, words, other) as over:
        for number in range(3):
            await remember(over, f"note number {number}")
        await switch(over)
        state = over.worker.state("default")
        for attempt in range(1, ATTEMPTS + 1):
            await until(partial(has_failed, state, attempt))
            assert snapshot(over).made_by == words.fingerprint
            mock_clock.jump(LONGEST_PAUSE_S)
        await until(lambda: is_idle(over))
        assert snapshot(over).made_by == other.fingerprint
        assert (snapshot(over).embedded, snapshot(over).live) == (2, 3)


async def test_a_cut_over_that_fails_is_tried_again(
    tmp_path: Path, mock_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, other = Words(), Words("other")
    async with kept(tmp_path, words, other) as over:
        await remember(over, "tea at four")

        def fail(*_: object) -> list[str]:
            raise MnemonError(STORAGE, "the disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(embedder_switch, "cut_over", fail)
            await switch(over)
            await until(lambda: over.worker.state("default").waiting == "the disk is full")
            assert made_by(over, words)
            assert (await recalled(over, "tea")).meta.embedding == "words"
        mock_clock.jump(FIRST_PAUSE_S)
        await until(lambda: made_by(over, other))


async def test_a_cut_over_whose_answer_is_lost_happened_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, other = Words(), Words("other")
    async with kept(tmp_path, words, other) as over:
        await remember(over, "tea at four")
        state = over.worker.state("default")
        real = state.store.rewrite

        async def lost(work: object) -> object:
            found: object = await real(work)  # type: ignore[arg-type]
            if snapshot(over).made_by == other.fingerprint:
                raise MnemonError(STORAGE, "the disk failed while committing", outcome="unknown")
            return found

        monkeypatch.setattr(state.store, "rewrite", lost)
        await switch(over)
        await until(lambda: is_idle(over))
        assert made_by(over, other)
        assert (await over.warm()).embedder is other
