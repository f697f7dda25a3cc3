"""update, merge, supersede, restore and forget --purge as methods: validation, embedding, answers, copies."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from mnemond.api.types_changes import MergeParams, RestoreParams, SupersedeParams, UndoParams, UpdateParams
from mnemond.api.types_memories import ForgetParams, RememberParams
from mnemond.errors import INVALID_PARAMS, NOT_FOUND, MnemonError
from mnemond.model.outcomes import ForgetResult, MergeResult, RestoreResult, SupersedeResult, UpdateResult
from mnemond.wire.deferred import Deferred
from tests.api.factories import CALL, Bench, ToyEmbedder, bench


async def remember(over: Bench, content: str, **more: Any) -> str:
    result: Any = await over.remembering.remember(CALL, RememberParams(content=content, no_diff=True, **more))
    return str(result.id)


async def update(over: Bench, **fields: Any) -> UpdateResult:
    result = await over.changes.update(CALL, UpdateParams(**fields))
    assert isinstance(result, UpdateResult)
    return result


async def merge(over: Bench, **fields: Any) -> MergeResult:
    result = await over.changes.merge(CALL, MergeParams(**fields))
    assert isinstance(result, MergeResult)
    return result


async def restore(over: Bench, **fields: Any) -> RestoreResult:
    result = await over.changes.restore(CALL, RestoreParams(**fields))
    assert isinstance(result, RestoreResult)
    return result


async def forget(over: Bench, **fields: Any) -> ForgetResult:
    result = await over.changes.forget(CALL, ForgetParams(**fields))
    assert isinstance(result, ForgetResult)
    return result


async def test_an_update_says_what_differs(tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as over:
        one = await remember(over, "We chose SQLite")
        done = await update(over, id=one, importance=5, tags=("db",))
        assert (done.status, done.changed, done.embedded, done.embed_error) == (
            "updated", ["importance", "tags"], True, None,
        )  # fmt: skip
        assert (await update(over, id=one, importance=5)).status == "unchanged"
        anew = await update(over, id=one, content="It works now.", op_id="mine")
        assert anew.changed[0] == "content"
        assert anew.quality_warnings == [detail.label for detail in anew.quality_details]
        assert (await update(over, id=one, content="It works now.", op_id="mine")).replayed is True


async def test_everything_wrong_is_told_before_anything_happens(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        with pytest.raises(MnemonError) as caught:
            await over.changes.update(CALL, UpdateParams(id="aaaaaa", content="", importance=9))
        assert [problem.field for problem in caught.value.problems] == ["content", "importance"]
        with pytest.raises(MnemonError, match="nothing to update"):
            await over.changes.update(CALL, UpdateParams(id="aaaaaa"))
        with pytest.raises(MnemonError, match="content is empty"):
            await over.changes.merge(CALL, MergeParams(id="aaaaaa", other_id="bbbbbb", content=" "))
        assert [each.field for each in over.changes.problems({"importance": 9})] == ["importance"]


async def test_a_secret_among_the_names_is_refused_where_it_would_be_stored(tmp_path: Path) -> None:
    secret = "AKIA" + "PIX6EA6QOM66ZJOJ"
    async with bench(tmp_path) as over:
        one = await remember(over, "Postgres is the database", user_id=secret, allow_secret=True)
        for field in ("source", "conversation_id"):
            with pytest.raises(MnemonError, match=f"{field} looks like a secret"):
                await update(over, id=one, user_id=secret, **{field: secret})
            assert [each.field for each in over.changes.problems({field: secret})] == [field]
        assert over.changes.problems({"user_id": secret}) == []  # says who asks, and is written nowhere
        done = await update(over, id=one, user_id=secret, source=secret, allow_secret=True)
        assert done.changed == ["source"]


async def test_two_become_one(tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as over:
        one, other = await remember(over, "tea at four"), await remember(over, "coffee at noon")
        over.clock.us += 1
        done = await merge(over, id=one, other_id=other, op_id="mine")
        assert (done.id, done.merged_id, done.embedded) == (one, other, True)
        assert done.content == "coffee at noon; tea at four"
        assert (await merge(over, id=one, other_id=other, op_id="mine")).replayed is True
        with pytest.raises(MnemonError) as caught:
            await merge(over, id=one, other_id=other)
        assert caught.value.kind is NOT_FOUND
        third = await remember(over, "milk")
        own = await merge(over, id=one, other_id=third, content="password=hunter2Xk9qLmT4 and milk")
        assert own.redacted
        assert "hunter2" not in own.content


async def test_whatever_embeds_shares_the_threads_and_leaves_when_nobody_waits(tmp_path: Path) -> None:
    embedder = ToyEmbedder(inline=False)
    async with bench(tmp_path, embedder) as over:
        one, other = await remember(over, "tea at four"), await remember(over, "coffee at noon")
        gone = await forget(over, id=await remember(over, "milk"))
        warm = await over.warm()
        await warm.store.read(lambda it: it.run("UPDATE insights SET embedding = NULL, embedding_model = NULL"))
        long, wide = await remember(over, "tea " * 600), await remember(over, "coffee " * 200)
        warm.threads.total_tokens = 1
        await warm.threads.acquire_on_behalf_of(over)
        embedder.threads.clear()
        asked: list[Any] = [
            partial(over.remembering.remember, CALL, RememberParams(content="a new one")),
            partial(over.changes.update, CALL, UpdateParams(id=one, content="tea at five")),
            partial(over.changes.merge, CALL, MergeParams(id=one, other_id=other)),
            partial(over.changes.merge, CALL, MergeParams(id=long, other_id=wide)),
            partial(over.history.undo, CALL, UndoParams(operation=gone.op_id)),
        ]

        async def ask(method: Any) -> None:
            await method()

        async with trio.open_nursery() as nursery:
            for each in asked:
                nursery.start_soon(ask, each)
            with trio.fail_after(20):
                while warm.threads.statistics().tasks_waiting < len(asked):
                    await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
        assert not embedder.threads
        assert warm.threads.statistics().tasks_waiting == 0


async def test_long_texts_are_put_together_in_a_thread(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        one, other = await remember(over, "tea " * 600), await remember(over, "coffee " * 200)
        over.clock.us += 1
        later = over.changes.merge(CALL, MergeParams(id=one, other_id=other))
        assert not isinstance(later, Deferred)
        done = await later
        assert isinstance(done, MergeResult)
        assert done.content.startswith("coffee")


async def test_one_takes_the_place_of_another_and_the_other_comes_back(tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as over:
        first, second, third = [await remember(over, text) for text in ("tea at four", "tea at five", "tea at six")]
        done = await over.changes.supersede(CALL, SupersedeParams(old_id=first, new_id=second))
        assert isinstance(done, SupersedeResult)
        assert (done.id, done.superseded_by, done.instead_of) == (first, second, None)
        assert done.message == f"{second} stands in its place"
        again = await over.changes.supersede(CALL, SupersedeParams(old_id=first, new_id=third))
        assert isinstance(again, SupersedeResult)
        assert again.message == f"it had taken the place of {first}; now {third} stands there"
        with pytest.raises(MnemonError) as caught:
            await restore(over, id=first)
        assert caught.value.kind is INVALID_PARAMS
        back = await restore(over, id=first, force=True, op_id="mine")
        assert (back.status, back.superseded_by, back.embedded) == ("restored", third, True)
        assert (await restore(over, id=first, force=True, op_id="mine")).replayed is True
        with pytest.raises(MnemonError, match="it is active"):
            await restore(over, id=first)
        with pytest.raises(MnemonError, match="not even among"):
            await restore(over, id="ffffff")


async def test_a_purge_names_the_copies_that_still_hold_it(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        one, other = await remember(over, "tea at four"), await remember(over, "coffee at noon")
        warm = await over.warm()
        copy = warm.store.path.with_name(warm.store.path.name + ".bak-1")
        await warm.store.read(lambda it: it.backup_to(copy))
        plain = await forget(over, id=one)
        assert (plain.status, plain.backups) == ("deleted", ())
        gone = await forget(over, id=one, purge=True, op_id="mine")
        assert (gone.status, gone.backups) == ("purged", (copy.name,))
        assert gone.message.endswith(f"files of the data directory that may still hold it: {copy.name}")
        copy.unlink()
        again = await forget(over, id=one, purge=True, op_id="mine")
        assert (again.replayed, again.backups) == (True, ())
        third = await remember(over, "milk")
        await merge(over, id=other, other_id=third)
        merged = await forget(over, id=third, purge=True)
        assert merged.merged_into == other
        assert f"{other} took over what it said and keeps it" in merged.message
        with pytest.raises(MnemonError, match="was purged: nothing of it is kept"):
            await forget(over, id=one, purge=True)


async def test_a_dry_run_of_a_merge_writes_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path, ToyEmbedder()) as over:
        one = await remember(over, "Service A runs on port 80")
        two = await remember(over, "Service A runs in Frankfurt")
        done = await merge(over, id=one, other_id=two, dry_run=True)
        assert (done.dry_run, done.id, done.merged_id) == (True, one, two)
        assert done.content == "Service A runs in Frankfurt; Service A runs on port 80"
        assert (await merge(over, id=one, other_id=two)).dry_run is False
        three = await remember(over, "Service A runs on port 81")
        with pytest.raises(MnemonError, match="contradict each other"):
            await merge(over, id=one, other_id=three, dry_run=True)
