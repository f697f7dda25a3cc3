"""The daemon as it is put together: defects, stores that do not open or close, and what its log may hold."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import apsw
import pytest
import trio
from structlog.testing import CapturingLogger

from benchmarks.daemon_process import DaemonProcess
from benchmarks.wire import Wire
from mnemond import daemon as daemon_module
from mnemond.api.types_memories import RECALL, REMEMBER
from mnemond.api.types_stores import STORE_CREATE
from mnemond.config.reading import EmbeddingSettings
from mnemond.config.settings import Config
from mnemond.daemon import Daemon
from mnemond.embed.registry import Embedders
from mnemond.errors import INTERNAL, MnemonError
from mnemond.index.writer import MemoryIndex
from mnemond.logs import trace_of
from mnemond.model.answers import RecallResult
from mnemond.store.connection import Connection
from mnemond.wire.dispatch import Call

CALL = Call(connection=1, peer_pid=2, peer_uid=3)
SECRET = "the launch code is 0000"


def composed(path: Path) -> tuple[Daemon, CapturingLogger]:
    log = CapturingLogger()
    return Daemon(path, Config(), log, supply_of(EmbeddingSettings(provider="none"))), log


def supply_of(settings: EmbeddingSettings) -> Embedders:
    return Embedders(settings, {}, lambda: 0.0)


async def remember(daemon: Daemon, content: str) -> object:
    return await daemon._dispatcher.invoke(REMEMBER, {"content": content}, CALL)


async def test_nothing_is_opened_that_is_not_there(tmp_path: Path) -> None:
    daemon, log = composed(tmp_path)
    await daemon.warm_up()
    assert list(daemon.stores._stores.values()) == []
    assert log.calls == []
    await remember(daemon, "tea at four")
    await daemon.close()
    again, _ = composed(tmp_path)
    await again.warm_up()
    (store,) = list(again.stores._stores.values())
    assert store.snapshot.live == 1
    await again.close()


async def test_a_store_that_does_not_open_is_logged_and_the_daemon_goes_on(tmp_path: Path) -> None:
    broken = tmp_path / "data" / "default" / "mnemon.db"
    broken.parent.mkdir(parents=True)
    broken.write_bytes(b"this is not a database" * 100)
    daemon, log = composed(tmp_path)
    await daemon.warm_up()
    (call,) = log.calls
    assert (call.method_name, call.args, call.kwargs["store"]) == ("error", ("store not opened",), "default")
    assert "cannot be opened" in call.kwargs["reason"]
    made = await daemon._dispatcher.invoke(STORE_CREATE, {"name": "work"}, CALL)
    assert made.created is True
    await daemon.close()


async def test_a_store_that_does_not_close_cleanly_is_logged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    daemon, log = composed(tmp_path)
    await remember(daemon, "tea at four")

    def fail(self: Connection, *, truncate: bool = False) -> tuple[int, int]:
        raise apsw.IOError("the disk is gone")

    monkeypatch.setattr(Connection, "checkpoint", fail)
    await daemon.close()
    (call,) = log.calls
    assert (call.method_name, call.args) == ("error", ("store not closed cleanly",))
    assert "the disk is gone" in call.kwargs["reason"]


async def test_closing_ends_even_when_a_store_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon_module, "STOP_S", 0.01)
    daemon, log = composed(tmp_path)

    monkeypatch.setattr(daemon.stores, "close", trio.sleep_forever)
    with trio.fail_after(30):
        await daemon.close()
    assert [call.args for call in log.calls] == [("stores left to the next start",)]


async def test_a_defect_is_logged_without_a_word_of_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    daemon, log = composed(tmp_path)

    def broken(self: MemoryIndex) -> object:
        raise ZeroDivisionError(SECRET)

    await remember(daemon, "before")
    with monkeypatch.context() as patch:
        patch.setattr(MemoryIndex, "publish", broken)
        with pytest.raises(MnemonError) as caught:
            await remember(daemon, SECRET)
    assert (caught.value.kind, caught.value.outcome) == (INTERNAL, "unknown")
    assert await remember(daemon, "after") is not None
    (call,) = log.calls
    assert (call.method_name, call.args, call.kwargs["where"]) == ("error", ("defect",), "store writer")
    assert call.kwargs["trace"][-1] == "ZeroDivisionError"
    assert any("in broken" in frame for frame in call.kwargs["trace"])
    assert SECRET not in str(log.calls)
    await daemon.close()


def test_a_trace_names_every_frame_and_no_message() -> None:
    def inner() -> None:
        raise ValueError(SECRET)

    try:
        inner()
    except ValueError as error:
        trace = trace_of(error)
    assert [line.rpartition(" in ")[2] for line in trace] == [
        "test_a_trace_names_every_frame_and_no_message",
        "inner",
        "ValueError",
    ]
    assert trace_of(KeyError("never raised")) == ["KeyError"]


def test_the_log_is_one_json_object_a_line_from_its_level_on() -> None:
    code = (
        "from mnemond.logs import Logs; log = Logs('warning').logger;"
        "log.info('unheard'); log.warning('heard', where={1, 1}, text='a\\nb')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    (line,) = done.stderr.splitlines()
    entry = json.loads(line)
    assert (entry["event"], entry["level"], entry["text"]) == ("heard", "warning", "a\nb")
    assert entry["timestamp"].endswith("Z")


async def test_a_model_that_is_not_installed_leaves_keywords_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    supply = supply_of(EmbeddingSettings(model="minilm_l6_v2_int8"))
    lacking = daemon_module.lacking_embedder(supply)
    assert lacking is not None
    assert "onnxruntime" in lacking
    daemon = daemon_module.Daemon(tmp_path, Config(), CapturingLogger(), supply)
    made = await daemon._dispatcher.invoke(REMEMBER, {"content": "tea at four"}, CALL)
    assert (made.embedded, made.degraded, made.embed_error) == (False, True, lacking)
    found = await daemon._dispatcher.invoke(RECALL, {"query": "tea"}, CALL)
    assert isinstance(found, RecallResult)
    assert [hit.insight.content for hit in found.results] == ["tea at four"]
    assert found.degraded_reason == lacking
    await daemon.close()


def test_nothing_is_lacking_where_nothing_is_wanted() -> None:
    assert daemon_module.lacking_embedder(supply_of(EmbeddingSettings(provider="none"))) is None
    assert daemon_module.lacking_embedder(supply_of(EmbeddingSettings())) is None


@pytest.mark.check_all
def test_a_configuration_can_be_checked_without_a_daemon(tmp_path: Path) -> None:
    def check() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "mnemond", "--check-config", "--data-dir", str(tmp_path)],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    assert (check().returncode, os.listdir(tmp_path)) == (0, [])
    (tmp_path / "config.toml").write_text("[server]\nmax_conections = 3\n")
    done = check()
    assert done.returncode == 2
    assert 'did you mean "server.max_connections"?' in done.stderr
    assert os.listdir(tmp_path) == ["config.toml"]


def test_a_damaged_default_store_does_not_keep_the_daemon_from_serving(tmp_path: Path) -> None:
    broken = tmp_path / "data" / "default" / "mnemon.db"
    broken.parent.mkdir(parents=True)
    broken.write_bytes(b"this is not a database" * 100)
    with DaemonProcess(tmp_path) as daemon, daemon.connect() as wire:
        assert wire.call("store.create", name="work")["created"] is True
        assert wire.call("remember", content="tea at four", store="work")["action"] == "added"
        reply = json.loads(wire.round_trip(b'{"jsonrpc":"2.0","id":1,"method":"recall","params":{"query":"tea"}}\n'))
        assert reply["error"]["data"]["code"] == "storage"
    log = (tmp_path / "benchmark-stderr.log").read_text()
    assert "store not opened" in log
    assert "tea at four" not in log


def test_a_damaged_row_in_the_default_store_does_not_keep_the_daemon_from_serving(tmp_path: Path) -> None:
    with DaemonProcess(tmp_path) as daemon, daemon.connect() as wire:
        wire.call("remember", content="tea at four")
    connection = apsw.Connection(str(tmp_path / "data" / "default" / "mnemon.db"))
    connection.execute("UPDATE insights SET tags = 'not json'")
    connection.close()
    with DaemonProcess(tmp_path) as again, again.connect() as wire:
        assert wire.call("store.create", name="work")["created"] is True


def started(
    data_dir: str, stderr: int | IO[bytes] | None = None, options: Sequence[str] = ()
) -> subprocess.Popen[bytes]:
    command = [sys.executable, *options, "-m", "mnemond", "--data-dir", data_dir]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=stderr)


def ask_to_stop(data_dir: Path, process: subprocess.Popen[bytes]) -> int:
    with waiting_wire(data_dir / "sock", process) as wire:
        assert wire.call("remember", content="tea at four")["action"] == "added"
        wire.call("daemon.stop")
    return process.wait(20)


def waiting_wire(path: Path, process: subprocess.Popen[bytes]) -> Wire:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        try:
            return Wire(path)
        except (FileNotFoundError, ConnectionRefusedError):
            time.sleep(0.01)
    raise AssertionError(f"no daemon listens at {path}")


@pytest.mark.check_all
def test_a_log_that_is_closed_ends_nothing(tmp_path: Path) -> None:
    shell = ["sh", "-c", 'exec "$@" 2>&-', "sh", sys.executable, "-m", "mnemond", "--data-dir", str(tmp_path)]
    assert ask_to_stop(tmp_path, subprocess.Popen(shell, stdin=subprocess.DEVNULL)) == 0


@pytest.mark.parametrize("options", [[], ["-u"]], ids=["buffered", "unbuffered"])
def test_a_log_that_cannot_be_written_ends_nothing(tmp_path: Path, options: list[str]) -> None:
    """The interpreter writes what is left in a buffer as it ends, and fails with that: nothing may be left there."""
    with Path("/dev/full").open("wb") as full:
        process = started(str(tmp_path), stderr=full, options=options)
    assert ask_to_stop(tmp_path, process) == 0


def test_links_on_the_way_to_the_data_directory_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    process = started(str(tmp_path / "link" / "home"))
    assert ask_to_stop(tmp_path / "real" / "home", process) == 0


def test_a_path_that_is_no_text_is_refused(tmp_path: Path) -> None:
    process = started(os.fsdecode(os.fsencode(tmp_path) + b"/a\xff"), stderr=subprocess.PIPE)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert b"cannot be used" in said
