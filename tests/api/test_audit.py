"""history, log, receipt, undo and gc over a real store."""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mnemond.api.types_changes import (
    HistoryParams,
    LinkParams,
    LogParams,
    ReceiptResult,
    SupersedeParams,
    UndoParams,
)
from mnemond.api.types_jobs import GcParams
from mnemond.api.types_memories import ForgetParams, RememberParams
from mnemond.cli.grammar import Output, success
from mnemond.cli.help import BY_NAME
from mnemond.cli.output import Style
from mnemond.errors import INVALID_PARAMS, NOT_FOUND, MnemonError
from mnemond.model.answers import GcReview, HistoryResult, LogLine
from mnemond.model.outcomes import GcDone, GcKept, RememberResult, UndoResult
from tests.api.factories import CALL, NOW_US, Bench, bench
from tests.tables import each_row

DAY_US = 86_400_000_000


async def remember(over: Bench, content: str, **more: Any) -> RememberResult:
    result = await over.remembering.remember(CALL, RememberParams(content=content, no_diff=True, **more))
    assert isinstance(result, RememberResult)
    return result


async def history(over: Bench, **params: Any) -> HistoryResult:
    result = await over.history.history(CALL, HistoryParams(**params))
    assert isinstance(result, HistoryResult)
    return result


async def undo(over: Bench, **params: Any) -> UndoResult:
    result = await over.history.undo(CALL, UndoParams(**params))
    assert isinstance(result, UndoResult)
    return result


async def gc(over: Bench, **params: Any) -> Any:
    return await over.collecting.gc(CALL, GcParams(**params))


# ------------------------------------------------------------------ history, log, receipt


async def test_a_link_that_moved_is_told_once(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        old, new, other = [(await remember(over, text, source=text)).id or "" for text in ("tea", "milk", "coffee")]
        for kind in ("semantic", "causal"):
            params = LinkParams(source_id=other, target_id=old, type=kind, weight=0.75)
            await over.changes.link(CALL, params)
        await over.changes.supersede(CALL, SupersedeParams(old_id=old, new_id=new))
        last = (await history(over, id=old)).operations[-1]
        assert last.before_state is not None
        assert last.after_state is not None
        had, has = (
            [(edge.edge_type, edge.source_id, edge.target_id) for edge in state.edges if edge.weight == 0.75]
            for state in (last.before_state, last.after_state)
        )
        assert sorted(had) == [("causal", other, old), ("semantic", old, other)]
        assert sorted(has) == [("causal", other, new), ("semantic", new, other)]
        text = success(BY_NAME["history"], await history(over, id=old), Output("text", style=Style(columns=200))).stdout
        told = [line.strip() for line in text.splitlines() if "0.75" in line]
        assert [line[:8] for line in told] == ["+ semant", "moved to", "moved to"]


async def test_a_link_of_a_tool_and_one_of_a_person(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        one, two = await remember(over, "tea at four"), await remember(over, "coffee at five")
        for made_by in ("host", "user"):
            params = LinkParams(
                source_id=one.id or "", target_id=two.id or "", type="causal", created_by=made_by,
                weight=0.6 if made_by == "host" else 0.9,
            )  # fmt: skip
            await over.changes.link(CALL, params)
        operations = (await history(over, id=one.id)).operations
        assert [each.triggered_by for each in operations] == ["user", "host:link", "user"]


async def test_a_purge_takes_the_conversation_along(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        kept = await remember(over, "coffee at five", conversation_id="conv-8")
        made = await remember(over, "tea at four", conversation_id="conv-7")
        params = LinkParams(source_id=made.id or "", target_id=kept.id or "", type="causal", created_by="host")
        await over.changes.link(CALL, params)
        await over.changes.forget(CALL, ForgetParams(id=made.id or "", purge=True))
        by = [each.triggered_by for each in (await history(over, id=made.id)).operations]
        assert by == ["conversation", "host:link", "user"]
        assert (await history(over, id=kept.id)).operations[0].triggered_by == "conv-8"


async def test_a_memory_of_nobody_and_of_somebody_else(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        made = await remember(over, "tea at four", user_id="ana")
        for params in ({"id": "ffffff"}, {"id": made.id, "user_id": "bob"}):
            with pytest.raises(MnemonError) as caught:
                await history(over, **params)
            assert caught.value.kind is NOT_FOUND


async def test_the_log_is_newest_first_and_holds_no_text(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        made = await remember(over, "tea at four")
        await over.changes.forget(CALL, ForgetParams(id=made.id or ""))
        lines = await over.history.log(CALL, LogParams(limit=5))
        assert isinstance(lines, list)
        assert all(isinstance(line, LogLine) for line in lines)
        assert [(line.operation, line.insight_id) for line in lines] == [("forget", made.id), ("remember", made.id)]
        assert not any("tea" in line.detail for line in lines)
        assert len(await over.history.log(CALL, LogParams(limit=1))) == 1


async def test_a_receipt_gives_no_id_away(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        made = await remember(over, "tea at four")
        await gc(over, apply=True)
        receipt = await over.history.receipt(CALL, LogParams(limit=7))
        assert isinstance(receipt, ReceiptResult)
        assert (receipt.schema, receipt.store, receipt.limit, receipt.count) == ("mnemond.receipt.v1", "default", 7, 2)
        assert (receipt.privacy.raw_detail_included, receipt.privacy.hash_algorithm) == (False, "sha256")
        last, first = receipt.events
        assert (first.event_name, first.operation, first.detail_present) == ("memory.remember", "remember", True)
        assert first.insight_id_hash == hashlib.sha256((made.id or "").encode()).hexdigest()
        assert len(first.detail_hash or "") == 64
        assert (last.operation, last.insight_id_hash) == ("gc", None)
        assert (made.id or "-").encode() not in msgspec.json.encode(receipt)
        await forgotten_line(over)
        bare = await over.history.receipt(CALL, LogParams(limit=1))
        assert isinstance(bare, ReceiptResult)
        assert (bare.events[0].detail_hash, bare.events[0].detail_present) == (None, False)


async def forgotten_line(over: Bench) -> None:
    made = await remember(over, "coffee at five")
    await over.changes.forget(CALL, ForgetParams(id=made.id or ""))


# ------------------------------------------------------------------ undo


async def test_the_newest_operation_is_taken_back_and_that_again(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        made = await remember(over, "tea at four")
        result = await undo(over)
        assert (result.status, result.undone) == ("undone", made.op_id)
        assert [(each.id, each.became) for each in result.memories] == [(made.id, "retired")]
        assert (await over.warm()).store.snapshot.live == 0
        again = await undo(over, operation=result.op_id)
        assert [each.became for each in again.memories] == ["restored"]
        assert (await over.warm()).store.snapshot.live == 1


async def test_an_op_id_of_ones_own_makes_no_other_operation_the_one_that_was_meant(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await remember(over, "tea at four")
        for op_id in (None, "mine"):
            with pytest.raises(MnemonError) as caught:
                await undo(over, operation="no such operation", op_id=op_id)
            assert caught.value.kind is NOT_FOUND
        assert (await over.warm()).store.snapshot.live == 1


# ------------------------------------------------------------------ gc


async def test_a_memory_is_kept_once(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        made = await remember(over, "tea at four")
        kept = await gc(over, keep=(made.id or "").upper(), op_id="mine")
        assert isinstance(kept, GcKept)
        assert (kept.new_access, kept.immune, kept.content, kept.replayed) == (3, True, "tea at four", False)
        assert kept.effective_importance == pytest.approx(0.5 * math.log1p(3), abs=1e-6)
        await over.changes.forget(CALL, ForgetParams(id=made.id or ""))
        again = await gc(over, keep=(made.id or "").upper(), op_id="mine")
        assert (again.replayed, again.new_access) == (True, 3)
        with pytest.raises(MnemonError) as caught:
            await gc(over, keep=made.id)
        assert caught.value.kind is NOT_FOUND


async def test_texts_are_reviewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemond.api.maintenance.REVIEWED_AT_ONCE", 1)
    async with bench(tmp_path) as over:
        made = await remember(over, "As of today, line 42 of main.py is currently broken")
        await remember(over, "The gateway listens on port 8080")
        await remember(over, "Right now the runner is currently down")
        found = await gc(over, review=True, limit=1)
        assert isinstance(found, GcReview)
        assert (found.total_flagged, len(found.review_results)) == (2, 1)
        assert found.review_results[0].id == made.id
        assert found.review_results[0].quality_warnings


async def test_what_is_listed_is_let_go_of_and_later_removed(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        made = await remember(over, "tea at four")
        over.clock.us = NOW_US + 60 * DAY_US
        done = await gc(over, apply=True)
        assert isinstance(done, GcDone)
        assert (done.status, done.count, done.ids, done.left) == ("retired", 1, [made.id], 0)
        over.clock.us += 31 * DAY_US
        warm = await over.warm()
        copy = warm.store.path.with_name(warm.store.path.name + ".bak-1")
        await warm.store.read(lambda it: it.backup_to(copy))
        purged = await gc(over, purge_deleted=30)
        assert (purged.status, purged.ids, purged.left) == ("purged", [made.id], 0)
        assert (done.backups, purged.backups) == ((), (copy.name,))
        assert (await gc(over, purge_deleted=30)).backups == ()
        found = await history(over, id=made.id)
        assert (found.chain, found.total_operations) == ([], 3)
        assert all(each.before_state is None and each.after_state is None for each in found.operations)


@each_row(
    "params", [{"keep": "1a2b3c", "review": True}, {"apply": True, "purge_deleted": 0}, {"review": True, "apply": True}]
)
async def test_one_thing_at_a_time(tmp_path: Path, params: dict[str, Any]) -> None:
    async with bench(tmp_path) as over:
        with pytest.raises(MnemonError, match="exclude each other; give one") as caught:
            await gc(over, **params)
        assert caught.value.kind is INVALID_PARAMS
