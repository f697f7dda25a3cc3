"""Clients that drip, never read, leave half-way, say too much or come in crowds: each hurts only itself. Somebody who
behaves is answered all along, and afterwards the daemon holds no more files and hardly more memory than before."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from benchmarks.wire import RpcError, request
from mnemond.errors import TIMED_OUT, TOO_LARGE, TOO_MANY_CONNECTIONS
from tests.faults.fork_server import Forked, ForkServer

PATIENCE_S = 30.0
CONNECTIONS = 64
FAST_DEADLINES = f"""[server]
max_connections = {CONNECTIONS}
first_byte_timeout_s = 1
message_timeout_s = 1
write_timeout_s = 1
"""
GROWTH_MIB = 20
"""What an attack may add to the daemon's memory (reliability section 3)."""


class Guarded:
    """A daemon with a client that asks it all the time, and its size before anybody attacked it."""

    def __init__(self, daemon: Forked) -> None:
        self.daemon = daemon
        self.good = daemon.connect()
        self.good.call("remember", content="the well-behaved client's memory")
        for number in range(100):
            self.good.call("remember", content=f"a filler {number} " + "x" * 2_000, no_diff=True)
        self.files, self.rss = self._files(), self._rss_mib()

    def connect(self) -> socket.socket:
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(PATIENCE_S)
        client.connect(str(self.daemon.data_dir / "sock"))
        return client

    def _files(self) -> int:
        """Descriptors, without those of the database: while one connection holds locks on a file SQLite closes none of
        it, and keeps what others leave for the next."""
        return sum(not name.endswith("/mnemon.db") for name in self.open_files())

    def open_files(self) -> list[str]:
        """What the daemon has open."""
        found = []
        for descriptor in os.scandir(f"/proc/{self.daemon.pid}/fd"):
            with suppress(FileNotFoundError):  # it was closed since
                found.append(os.readlink(descriptor))
        return found

    def _rss_mib(self) -> float:
        status = Path(f"/proc/{self.daemon.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def attacked(self, attack: Callable[[], None]) -> None:
        """Carry out an attack while the good client goes on asking, and look at what it leaves."""
        done, asked = threading.Event(), 0

        def keep_asking() -> None:
            nonlocal asked
            while not (done.is_set() and asked):
                assert self.good.call("recall", query="well-behaved client")["results"]
                asked += 1
                time.sleep(0.005)

        thread = threading.Thread(target=keep_asking)
        thread.start()
        try:
            attack()
        finally:
            done.set()
            thread.join(PATIENCE_S)
        assert asked > 0
        assert self.good.call("ping") == {"ok": True}
        assert self._rss_mib() < self.rss + GROWTH_MIB
        ends = time.monotonic() + PATIENCE_S
        while self._files() > self.files:
            assert time.monotonic() < ends, "descriptors are not given back"
            time.sleep(0.01)


@pytest.fixture(scope="module")
def guarded(forks: ForkServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    home = tmp_path_factory.mktemp("hostile") / "home"
    home.mkdir(0o700)
    (home / "config.toml").write_text(FAST_DEADLINES)
    found = Guarded(forks.start(home))
    yield found
    found.good.close()
    assert found.daemon.end(signal.SIGTERM) == 0
    log = home.with_suffix(".log").read_text()
    assert '"stopped"' in log
    assert "defect" not in log
    assert "Traceback" not in log


def rest_of(client: socket.socket) -> list[bytes]:
    """Lines until the daemon closes the connection."""
    received = b""
    try:
        while data := client.recv(1 << 16):
            received += data
    except ConnectionResetError:
        pass
    return received.splitlines()


def code_in(line: bytes) -> int:
    return int(json.loads(line)["error"]["code"])


def test_slow_senders_are_cut_off(guarded: Guarded) -> None:
    def drip() -> None:
        with ExitStack() as stack:
            open_ones = {stack.enter_context(guarded.connect()): 0 for _ in range(CONNECTIONS // 2)}
            ends = time.monotonic() + PATIENCE_S
            while open_ones:
                assert time.monotonic() < ends, f"{len(open_ones)} are not cut off"
                for client in select.select(list(open_ones), [], [], 0.1)[0]:
                    (line,) = rest_of(client)
                    assert code_in(line) == TIMED_OUT.rpc
                    del open_ones[client]
                for client in list(open_ones):
                    with suppress(BrokenPipeError):  # its end is read in the next turn
                        client.send(b"{")

    guarded.attacked(drip)


def test_those_who_never_speak_are_cut_off(guarded: Guarded) -> None:
    def wait() -> None:
        with ExitStack() as stack:
            for client in [stack.enter_context(guarded.connect()) for _ in range(CONNECTIONS // 2)]:
                (line,) = rest_of(client)
                assert code_in(line) == TIMED_OUT.rpc

    guarded.attacked(wait)


def test_those_who_never_read_are_cut_off(guarded: Guarded) -> None:
    asked = request(1, "list", {"limit": 100}) * 64

    def fill() -> None:
        with ExitStack() as stack:
            clients = [stack.enter_context(guarded.connect()) for _ in range(4)]
            for client in clients:
                client.setblocking(False)
            for client in clients:
                ends = time.monotonic() + PATIENCE_S
                try:
                    while time.monotonic() < ends:
                        select.select([], [client], [], 0.1)
                        try:
                            client.send(asked)
                        except BlockingIOError:
                            continue
                    raise AssertionError("it is not cut off")
                except (BrokenPipeError, ConnectionResetError):
                    pass

    guarded.attacked(fill)


def test_whoever_has_said_all_is_answered(guarded: Guarded) -> None:
    def leave() -> None:
        for _ in range(20):
            with guarded.connect() as client:
                client.sendall(request(1, "ping", {}) + request(2, "remember", {"content": "half-closed"}).rstrip())
                client.shutdown(socket.SHUT_WR)
                assert {json.loads(line)["id"] for line in rest_of(client)} == {1, 2}
            with guarded.connect() as client:
                client.sendall(request(1, "remember", {"content": "said and gone"}) * 5)

    guarded.attacked(leave)


def test_a_message_without_end_is_refused(guarded: Guarded) -> None:
    def shout() -> None:
        for _ in range(5):
            with guarded.connect() as client:
                try:
                    for _ in range(200):
                        client.sendall(b"x" * (1 << 16))
                except (BrokenPipeError, ConnectionResetError):
                    pass
                assert [code_in(line) for line in rest_of(client)] in ([TOO_LARGE.rpc], [])

    guarded.attacked(shout)


def crowd(guarded: Guarded, attempts: int) -> None:
    """More clients than there are places for; whoever gets none is told so, and places are free again at once."""
    refused = 0
    with ExitStack() as stack:
        held: list[socket.socket] = []
        while len(held) < CONNECTIONS - 1:  # the good client has one
            client = stack.enter_context(guarded.connect())
            with suppress(BrokenPipeError):
                client.sendall(request(1, "ping", {}))
            if "result" in json.loads(client.recv(1000)):  # else a busy machine made it speak too late
                held.append(client)
        for number in range(attempts):
            held[number % len(held)].sendall(request(1, "ping", {}))  # whoever is idle for ten seconds loses its place
            held[number % len(held)].recv(1000)
            with guarded.connect() as client:
                with suppress(BrokenPipeError):
                    client.sendall(request(1, "ping", {}))
                lines = rest_of(client)
                refused += bool(lines) and code_in(lines[0]) == TOO_MANY_CONNECTIONS.rpc
    assert refused == attempts
    ends = time.monotonic() + PATIENCE_S
    while True:
        try:
            with guarded.daemon.connect() as wire:
                wire.call("ping")
                return
        except RpcError:
            assert time.monotonic() < ends, "no place is free again"


def test_a_crowd_is_refused_politely(guarded: Guarded) -> None:
    guarded.attacked(lambda: crowd(guarded, 100))


@pytest.mark.deep
def test_ten_thousand_are_refused_politely(guarded: Guarded) -> None:
    guarded.attacked(lambda: crowd(guarded, 10_000))


def test_without_descriptors_it_refuses_and_recovers(guarded: Guarded) -> None:
    """Four more than are open already: the first thing that fails is whatever comes first."""
    before = resource.prlimit(guarded.daemon.pid, resource.RLIMIT_NOFILE)

    def starve() -> None:
        writing = guarded.daemon.connect()
        writing.call("ping")
        resource.prlimit(guarded.daemon.pid, resource.RLIMIT_NOFILE, (len(guarded.open_files()) + 4, before[1]))
        try:
            with ExitStack() as stack:
                clients = [stack.enter_context(guarded.connect()) for _ in range(20)]
                codes = []
                for client in clients:
                    with suppress(BrokenPipeError):
                        client.sendall(request(1, "backup.create", {}))
                    with suppress(ConnectionResetError):
                        replies = client.recv(1 << 16).splitlines()
                        codes += [json.loads(line).get("error", {}).get("code") for line in replies]
                assert TOO_MANY_CONNECTIONS.rpc in codes
                writing.call("remember", content="written without descriptors", no_diff=True)
        finally:
            writing.close()
            resource.prlimit(guarded.daemon.pid, resource.RLIMIT_NOFILE, before)

    guarded.attacked(starve)
    with guarded.daemon.connect() as wire:
        wire.call("backup.create")
