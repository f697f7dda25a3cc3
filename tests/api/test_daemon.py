"""The methods about the daemon: what they say of it and of its stores, even when a store is not well."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from mnemond.api import types_daemon
from mnemond.api.types_memories import RememberParams
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
