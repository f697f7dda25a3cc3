"""get shows a memory that is out of recall, and what became of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemond.api import requests
from mnemond.api.types_memories import ForgetParams, GetParams, RememberParams
from mnemond.errors import NOT_FOUND, MnemonError
from mnemond.index.snapshot import Snapshot
from mnemond.model.memory import Insight, format_us
from mnemond.model.outcomes import RememberResult
from tests.api.factories import CALL, Bench, bench
from tests.api.test_uses import fill


async def remember(over: Bench, content: str) -> RememberResult:
    over.clock.us += 1
    made = await over.remembering.remember(CALL, RememberParams(content=content))
    assert isinstance(made, RememberResult)
    return made


async def test_what_is_out_of_recall_is_shown_with_what_became_of_it(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        old, tea = await fill(over, "API rate limit is 100 req/s"), await fill(over, "tea at four")
        new = await remember(over, "API rate limit is 200 req/s")
        newest = await remember(over, "API rate limit is 300 req/s")
        found = await over.reads.get(CALL, GetParams(id=old[0].upper()))
        assert (found.insight.id, found.insight.content) == (old[0], "API rate limit is 100 req/s")
        assert found.links == []
        became = found.retired
        assert became is not None
        assert (became.status, became.superseded_by, became.op_id) == ("superseded", new.id, new.op_id)
        assert (became.successor, became.words) == (newest.id, "API rate limit is 300 req/s")
        assert became.next == f"mnemonctl restore {old[0]} --force"
        assert became.at == format_us(over.clock.us - 1)
        gone = await over.changes.forget(CALL, ForgetParams(id=tea[0]))
        forgotten = (await over.reads.get(CALL, GetParams(id=tea[0]))).retired
        assert forgotten is not None
        assert (forgotten.status, forgotten.op_id, forgotten.successor) == ("forgotten", gone.op_id, None)
        assert forgotten.next == f"mnemonctl restore {tea[0]}"
        await over.changes.forget(CALL, ForgetParams(id=tea[0], purge=True))
        with pytest.raises(MnemonError, match=f"memory {tea[0]} was purged"):
            await over.reads.get(CALL, GetParams(id=tea[0]))
        assert (await over.reads.get(CALL, GetParams(id=str(newest.id)))).retired is None


async def test_a_retired_memory_of_another_scope_is_not_shown(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        made = await over.remembering.remember(CALL, RememberParams(content="tea at four", user_id="ana"))
        await over.changes.forget(CALL, ForgetParams(id=str(made.id)))
        assert (await over.reads.get(CALL, GetParams(id=str(made.id), user_id="ana"))).retired is not None
        with pytest.raises(MnemonError, match="is meant for this user"):
            await over.reads.get(CALL, GetParams(id=str(made.id), user_id="bob"))


async def test_one_that_comes_back_meanwhile_is_shown_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with bench(tmp_path) as over:
        (tea,) = await fill(over, "tea at four")
        real, answers = requests.one_active, iter([MnemonError(NOT_FOUND, "not yet")])

        def late(snapshot: Snapshot, named: str) -> Insight:
            if (error := next(answers, None)) is not None:
                raise error
            return real(snapshot, named)

        monkeypatch.setattr("mnemond.api.recall.one_active", late)
        assert (await over.reads.get(CALL, GetParams(id=tea))).retired is None
