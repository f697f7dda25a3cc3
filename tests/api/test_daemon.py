"""The methods about the daemon: what they say of it and of its stores, even when a store is not well."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from mnemond.api import types_daemon
from mnemond.api.types_memories import ForgetParams, RememberParams
from mnemond.errors import PROTOCOL_VERSION, MnemonError
from mnemond.store.database import Opened
from mnemond.wire.params import NoParams, StoreParams
from tests.api.factories import CALL, Bench, bench


async def status_of(over: Bench) -> types_daemon.StatusResult:
    result = await over.daemon.status(CALL, StoreParams())
    assert isinstance(result, types_daemon.StatusResult)
    return result


async def fill(over: Bench, *texts: str) -> None:
    for text in texts:
        await over.remembering.remember(CALL, RememberParams(content=text))


async def test_status_of_a_store_whose_disk_is_gone_tells_what_memory_knows(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await fill(over, "one", "two")
        warm = await over.warm()

        def reopen() -> Opened:
            raise apsw.CantOpenError("no such disk")

        warm.store._engine._reopen = reopen
        warm.store._engine.poison("a defect")
        for name in ("mnemon.db", "mnemon.db-wal"):
            (warm.store.path.parent / name).unlink(missing_ok=True)
        status = await status_of(over)
        assert status.total_insights == 2
        assert (status.by_status, status.deleted_insights, status.oplog_count) == (None, None, None)
        assert status.db_size_bytes == 0
        assert status.degraded is True
        assert "no such disk" in str(status.degraded_reason)


async def test_stopping_answers_first(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        assert (await over.daemon.daemon_stop(CALL, NoParams())).stopping is True
        assert over.stopped == 1


async def test_hello_refuses_another_protocol_in_words(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        assert (await over.daemon.hello(CALL, types_daemon.HelloParams())).data_dir == str(tmp_path)
        for theirs, words in ((0, "this client is older"), (99, "this daemon is older")):
            with pytest.raises(MnemonError, match=words) as caught:
                await over.daemon.hello(CALL, types_daemon.HelloParams(protocol=theirs))
            assert caught.value.kind is PROTOCOL_VERSION


async def test_the_database_is_asked_no_more_in_a_larger_store(tmp_path: Path) -> None:
    """Counting the rows of 10,000 memories took 5 to 30 ms."""
    async with bench(tmp_path) as over:
        found: list[int] = []
        for memories in (5, 200):
            store = (await over.warm()).store
            while store.snapshot.live < memories:
                await fill(over, f"memory number {store.snapshot.live}")
            steps: list[None] = []
            db = store._engine._connection._db  # type: ignore[union-attr]

            def count(steps: list[None] = steps) -> bool:
                steps.append(None)
                return False

            db.set_progress_handler(count, 1)
            assert (await status_of(over)).by_status == {"active": memories}
            db.set_progress_handler(None)
            found.append(len(steps))
        assert found[0] == found[1]
        gone = store.snapshot.parts.insights[0].id
        await over.changes.forget(CALL, ForgetParams(id=gone))
        assert (await status_of(over)).by_status == {"active": 199, "forgotten": 1}
