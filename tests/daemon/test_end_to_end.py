"""The real daemon over its real socket: every method, as a program would use it."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.daemon_process import DaemonProcess
from benchmarks.wire import Json, Wire, request

NOTES = [
    ("Chose SQLite as storage because the team lacks Redis experience", "decision"),
    ("The user prefers dark mode in every editor", "preference"),
    ("Deploys on Friday are not allowed", "fact"),
    ("为什么选择 Qdrant 作为向量数据库：过滤更快", "decision"),
]


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    with DaemonProcess(tmp_path_factory.mktemp("daemon")) as running:
        yield running


@pytest.fixture
def wire(daemon: DaemonProcess) -> Iterator[Wire]:
    with daemon.connect() as connected:
        yield connected


@pytest.fixture
def store(wire: Wire, request: pytest.FixtureRequest) -> str:
    name = "".join(c for c in request.node.name if c.isalnum())[:60]
    wire.call("store.create", name=name)
    return name


def error_of(wire: Wire, method: str, **params: object) -> Json:
    found: Json = json.loads(wire.round_trip(request(1, method, params)))["error"]
    return found


def test_hello_says_who_answers(wire: Wire, daemon: DaemonProcess) -> None:
    hello = wire.call("hello", client_version="0.0.1", protocol=1)
    assert hello["name"] == "mnemond"
    assert hello["outdated"] is False
    assert hello["data_dir"] == str(daemon.data_dir)
    assert wire.call("hello", client_version="99.0")["outdated"] is True
    assert "this daemon is older" in error_of(wire, "hello", protocol=2)["message"]


def test_what_is_remembered_is_recalled_with_its_signals(wire: Wire, store: str) -> None:
    ids = [wire.call("remember", content=text, category=kind, store=store)["id"] for text, kind in NOTES]
    answer = wire.call("recall", query="why did we choose SQLite?", store=store)
    best = answer["results"][0]
    assert best["insight"]["id"] == ids[0]
    assert best["signals"]["keyword"] > 0
    assert best["signals"]["similarity"] > 0
    assert best["confidence"] in ("low", "medium", "high")
    assert answer["meta"]["took_ms"] > 0
    chinese = wire.call("recall", query="为什么选择向量数据库", store=store)
    assert chinese["results"][0]["insight"]["id"] == ids[3]


def test_get_by_prefix_forget_and_forget_again(wire: Wire, store: str) -> None:
    memory = wire.call("remember", content="short lived", store=store)["id"]
    assert wire.call("get", id=memory[:8], store=store)["insight"]["content"] == "short lived"
    gone = wire.call("forget", id=memory[:8], store=store)
    assert (gone["id"], gone["status"], gone["edges_removed"]) == (memory, "deleted", 0)
    assert error_of(wire, "forget", id=memory, store=store)["data"]["code"] == "not_found"
    assert wire.call("get", id=memory, store=store)["retired"]["status"] == "forgotten"
    assert error_of(wire, "get", id="ffffffff", store=store)["data"]["code"] == "not_found"
    assert wire.call("recall", query="short lived", store=store)["results"] == []


def test_a_repeated_write_is_stored_once(wire: Wire, store: str) -> None:
    first = wire.call("remember", content="only once", op_id="k1", store=store)
    again = wire.call("remember", content="only once", op_id="k1", store=store)
    assert (again["id"], again["replayed"]) == (first["id"], True)
    assert error_of(wire, "remember", content="other", op_id="k1", store=store)["data"]["code"] == "op_id_reused"
    assert wire.call("status", store=store)["total_insights"] == 1
    removed = wire.call("forget", id=first["id"], op_id="k2", store=store)
    assert wire.call("forget", id=first["id"], op_id="k2", store=store) == {**removed, "replayed": True}


def test_every_problem_is_told_at_once_and_nothing_is_written(wire: Wire, store: str) -> None:
    error = error_of(
        wire, "remember", content="x" * 8001, category="decison", importance=9, tags=["t" * 101, 5],
        colour="red", store=store,
    )  # fmt: skip
    fields = {problem["field"] for problem in error["data"]["problems"]}
    assert {"content", "category", "importance", "colour"} <= fields
    assert any(field.startswith("tags") for field in fields)
    assert "content is 8,001 characters; the limit is 8,000" in error["message"]
    assert "decision" in error["message"]
    assert error["data"]["outcome"] == "rejected"
    assert wire.call("status", store=store)["total_insights"] == 0


def test_stores_are_separate_and_named_carefully(wire: Wire, store: str) -> None:
    wire.call("remember", content="lives here", store=store)
    assert wire.call("recall", query="lives here")["results"] == []
    assert error_of(wire, "recall", query="x", store="nowhere")["data"]["code"] == "not_found"
    for name in ("../x", "-a", "a/b", "a\n", "", "a" * 65, ".hidden", "a\0b"):
        assert error_of(wire, "store.create", name=name)["code"] == -32602
        assert error_of(wire, "recall", query="x", store=name)["code"] == -32602
    listed = wire.call("store.list")
    assert {"name": store, "active": False} in listed["stores"]
    assert wire.call("store.create", name=store)["created"] is False


def test_status_counts(wire: Wire, store: str) -> None:
    memory = wire.call("remember", content="one", entities=["SQLite"], category="fact", store=store)["id"]
    wire.call("remember", content="two", entities=["SQLite", "Redis"], store=store)
    wire.call("forget", id=memory, store=store)
    status = wire.call("status", store=store)
    assert (status["total_insights"], status["deleted_insights"], status["oplog_count"]) == (1, 1, 3)
    assert status["by_category"] == {"general": 1}
    assert status["by_status"] == {"active": 1, "forgotten": 1}
    assert {"entity": "SQLite", "count": 1} in status["top_entities"]
    assert status["embedding"] == "minilm_static_256_int8"
    assert status["db_size_bytes"] > 0


def test_everything_on_disk_is_for_its_owner_only(daemon: DaemonProcess, wire: Wire, store: str) -> None:
    wire.call("remember", content="private", store=store)
    for folder, _, files in os.walk(daemon.data_dir):
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700, folder
        for name in files:
            path = os.path.join(folder, name)
            if not name.startswith("benchmark"):  # the harness's own log
                assert stat.S_IMODE(os.stat(path).st_mode) == 0o600, path


def test_replies_to_a_pipelined_mix_all_arrive(daemon: DaemonProcess, store: str) -> None:
    with daemon.connect() as wire:
        for number in range(300):
            method = "remember" if number % 3 else "recall"
            params: Json = {"content": f"mix {number}"} if number % 3 else {"query": "mix"}
            wire.post(request(number, method, {**params, "store": store}))
        replies = [json.loads(wire.take()) for _ in range(300)]
    assert sorted(reply["id"] for reply in replies) == list(range(300))
    assert all("result" in reply for reply in replies)


def test_a_half_close_ends_the_message(daemon: DaemonProcess) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as raw:
        raw.connect(str(daemon.socket_path))
        raw.sendall(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
        raw.shutdown(socket.SHUT_WR)
        assert json.loads(raw.makefile("rb").read()) == {"jsonrpc": "2.0", "id": 1, "result": {"ok": True}}


def test_a_second_daemon_is_refused(daemon: DaemonProcess) -> None:
    second = subprocess.run(
        [sys.executable, "-m", "mnemond", "--data-dir", str(daemon.data_dir)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert second.returncode == 75
    assert "another daemon" in second.stderr


@pytest.mark.check_all
def test_a_daemon_with_a_bad_configuration_does_not_start(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text("[server]\nmax_conections = 3\n")
    process = subprocess.run(
        [sys.executable, "-m", "mnemond", "--data-dir", str(home)],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert process.returncode == 2
    assert (
        'config.toml:2: unknown key "server.max_conections"; did you mean "server.max_connections"?' in process.stderr
    )
    assert not (home / "sock").exists()


def test_sigterm_answers_everything_received_and_a_restart_knows_everything(tmp_path: Path) -> None:
    home = tmp_path
    daemon = DaemonProcess(home)
    daemon.start()
    wire = daemon.connect()
    for number in range(60):
        wire.post(request(number, "remember", {"content": f"last words {number}", "user_id": f"u{number}"}))
    wire.post(request(999, "ping", {}))
    daemon.stop()
    replies = [json.loads(wire.take()) for _ in range(61)]
    wire.close()
    assert all("result" in reply for reply in replies)
    assert not (home / "sock").exists()
    assert not (home / "data" / "default" / "mnemon.db-wal").exists()
    with DaemonProcess(home) as again, again.connect() as fresh:
        assert fresh.call("status")["total_insights"] == 60


def test_daemon_stop_answers_and_leaves(tmp_path: Path) -> None:
    daemon = DaemonProcess(tmp_path)
    daemon.start()
    with daemon.connect() as wire:
        assert wire.call("daemon.stop")["stopping"] is True
    process = daemon._process
    assert process is not None
    assert process.wait(10) == 0


def test_a_socket_that_was_passed_is_served(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    path = tmp_path / "passed"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(str(path))
        listening.listen()
        code = (
            "import os, sys; os.dup2(int(sys.argv[1]), 3);"
            "os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()));"
            "os.execv(sys.executable, [sys.executable, '-m', 'mnemond', '--data-dir', sys.argv[2]])"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(listening.fileno()), str(home)],
            pass_fds=[listening.fileno()], stderr=subprocess.DEVNULL,
        )  # fmt: skip
        with Wire(path) as wire:
            assert wire.call("hello")["pid"] == process.pid
            wire.call("daemon.stop")
        assert process.wait(20) == 0
    assert path.exists()
    assert not (home / "sock").exists()
