"""A real daemon with more stores than it may have open files, threads and connections for."""

from __future__ import annotations

import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mnemonctl import daemon

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the open files of another process cannot be listed here"
)


class Served:
    """A daemon, and what it has open."""

    def __init__(self, directory: Path, process: subprocess.Popen[bytes]) -> None:
        self.directory, self.process = directory, process

    def call(self, method: str, params: dict[str, object] | None = None) -> dict[str, Any]:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(60)
            connection.connect(str(self.directory / "sock"))
            request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
            connection.sendall(json.dumps(request).encode() + b"\n")
            with connection.makefile("rb") as replies:
                reply: dict[str, Any] = json.loads(replies.readline())
        return reply

    def result(self, method: str, **params: object) -> dict[str, Any]:
        reply = self.call(method, params)
        assert "result" in reply, reply
        result: dict[str, Any] = reply["result"]
        return result

    def opened(self) -> list[str]:
        found = []
        for each in Path(f"/proc/{self.process.pid}/fd").iterdir():
            try:
                found.append(os.readlink(each))
            except FileNotFoundError:
                continue
        return found

    def open_stores(self) -> int:
        return len({path for path in self.opened() if path.endswith("/mnemon.db")})


@contextmanager
def served(directory: Path, descriptors: int, hard: int | None = None, config: str = "") -> Iterator[Served]:
    directory.mkdir(mode=0o700)
    (directory / "config.toml").write_text(config)

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, hard or descriptors))

    with subprocess.Popen(
        [sys.executable, "-m", "mnemond", "--data-dir", str(directory)], preexec_fn=limited, stderr=subprocess.DEVNULL
    ) as process:
        try:
            deadline = time.monotonic() + 60
            while daemon._probe_starting(directory) is None:
                assert process.poll() is None
                assert time.monotonic() < deadline
            yield Served(directory, process)
        finally:
            if process.poll() is None:
                process.terminate()
            assert process.wait(30) == 0


def use_all(it: Served, stores: int, clients: int) -> None:
    """Make so many stores, and write and read in each, again and from several clients at once."""

    def make(number: int) -> None:
        it.result("store.create", name=f"s{number}")
        it.result("remember", store=f"s{number}", content=f"The gate of hall {number} opens at nine")

    def again(number: int) -> None:
        it.result("remember", store=f"s{number}", content=f"The lamp of room {number} is blue")
        found = it.result("recall", store=f"s{number}", query="gate of the hall, lamp of the room")
        assert len(found["results"]) == 2

    for number in range(stores):
        make(number)
        assert it.open_stores() <= 40
    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(again, range(stores)))
    assert it.open_stores() <= 40
    for number in range(stores):
        assert it.result("status", store=f"s{number}")["total_insights"] == 2


@pytest.mark.parametrize(
    ("stores", "descriptors"),
    [(30, 96), pytest.param(300, 256, marks=pytest.mark.deep), pytest.param(1_000, 1_024, marks=pytest.mark.deep)],
)
def test_all_stores_are_usable_with_few_descriptors(stores: int, descriptors: int, tmp_path: Path) -> None:
    with served(tmp_path / "home", descriptors) as it:
        use_all(it, stores, 16)
        assert all(check["ok"] for check in it.result("verify", store="s0")["checks"])


def test_the_soft_limit_is_raised(tmp_path: Path) -> None:
    with served(tmp_path / "home", 64, hard=512) as it:
        (limit,) = [
            line for line in Path(f"/proc/{it.process.pid}/limits").read_text().splitlines() if "open files" in line
        ]
        assert limit.split()[3:5] == ["512", "512"]


KEEPING = '[hooks]\nproject = "store"\n[server]\nhook_deadline_ms = 10000\n'
"""A store for each project; a hook is answered once it has kept what it was told, also on a busy machine."""


def test_projects_get_there_by_hooks(tmp_path: Path) -> None:
    with served(tmp_path / "home", 96, config=KEEPING) as it:
        for number in range(25):
            project = tmp_path / f"project{number}"
            project.mkdir()
            event = {"session_id": f"s{number}", "cwd": str(project), "hook_event_name": "UserPromptSubmit"}
            done = {"session_id": f"s{number}", "cwd": str(project), "hook_event_name": "Stop"}
            for payload in (
                {**event, "prompt": f"We deploy hall {number} on Tuesdays."},
                {**done, "last_assistant_message": "Understood.", "stop_hook_active": False},
            ):
                with socket.socket(socket.AF_UNIX) as connection:
                    connection.settimeout(60)
                    connection.connect(str(it.directory / "sock"))
                    connection.sendall(json.dumps(payload).encode() + b"\n")
                    connection.shutdown(socket.SHUT_WR)
                    with connection.makefile("rb") as reply:
                        reply.read()
        names = [each["name"] for each in it.result("store.list")["stores"]]
        kept = [name for name in names if it.result("status", store=name)["passages"]]
        assert len(kept) == 25


def test_status_stop_and_doctor_answer_when_clients_hold_every_connection(tmp_path: Path) -> None:
    with served(tmp_path / "home", 96) as it:
        it.result("remember", content="The gate opens at nine")
        clients = []
        while True:
            client = socket.socket(socket.AF_UNIX)
            client.settimeout(60)
            client.connect(str(it.directory / "sock"))
            client.sendall(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
            clients.append(client)
            if b"1014" in client.recv(4096):
                break
        assert it.result("status")["total_insights"] == 1
        assert it.result("verify")["ok"]
        assert daemon.probe(it.directory) is not None
        assert "error" in it.call("recall", {"query": "gate"})
        assert daemon.stop(it.directory) == it.process.pid
        assert it.process.wait(30) == 0
        for client in clients:
            client.close()


@pytest.mark.deep
def test_a_closed_store_answers_in_milliseconds(tmp_path: Path) -> None:
    """At 1,000 memories; on a quiet machine. The first answer of all includes what every first one does."""
    with served(tmp_path / "home", 256, config="[server]\nmax_open_stores = 2\n") as it:
        for name in "abcde":
            it.result("store.create", name=name)
            for number in range(1_000 if name in "ab" else 1):
                it.result("remember", store=name, content=f"memory {number} of the hall", no_diff=True)
        times: list[float] = []
        for _ in range(10):
            for name in "abcde":
                begun = time.perf_counter()
                it.result("recall", store=name, query="memory 7 of the hall", touch=False)
                if name in "ab":
                    times.append(time.perf_counter() - begun)
        assert statistics.median(times[2:]) <= 0.03
