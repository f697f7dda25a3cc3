"""Who is let in, how many, and what happens when the system has no room."""

from __future__ import annotations

import errno
import os
import resource
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from mnemond.wire import limits
from mnemond.wire import server as server_module
from mnemond.wire.limits import MACOS_OPEN_MAX, SPARE, Limits, SpareDescriptors, raise_descriptor_limit
from mnemond.wire.server import credentials
from tests.wire.factories import Client, Served, Toys, listening, request, serving


async def test_one_connection_too_many_is_told_so(tmp_path: Path) -> None:
    async with serving(tmp_path, Limits(max_connections=256)) as served:
        clients = [await served.connect() for _ in range(256)]
        await wait_all_tasks_blocked()
        extra = await served.connect()
        (reply,) = await extra.rest()
        assert isinstance(reply, dict)
        assert (reply["id"], reply["error"]["code"], reply["error"]["data"]["retryable"]) == (None, 1014, True)
        assert "256" in reply["error"]["message"]
        assert (await clients[-1].ask(request("ping")))["id"] == 1
        clients[0].socket.close()
        await wait_all_tasks_blocked()
        assert (await (await served.connect()).ask(request("ping")))["id"] == 1
        counters = served.server.counters
        assert (counters.accepted, counters.refused, counters.connections) == (257, 1, 256)


def test_descriptors_are_kept_for_other_things(monkeypatch: pytest.MonkeyPatch) -> None:
    for files, connections, stores in (
        (10, 1, 1), (64, 16, 2), (128, 48, 7), (256, 96, 15), (1024, 256, 32), (resource.RLIM_INFINITY, 256, 32),
    ):  # fmt: skip
        monkeypatch.setattr(resource, "getrlimit", lambda _, files=files: (files, files))
        assert (Limits().allowed_connections(), Limits().allowed_stores()) == (connections, stores)


def test_the_soft_limit_is_raised_to_the_hard_one(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []

    def on_macos(_: int, limits: tuple[int, int]) -> None:
        asked.append(limits)
        if limits[0] > MACOS_OPEN_MAX:
            raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", on_macos)
    monkeypatch.setattr(resource, "RLIM_INFINITY", 1 << 63)
    raise_descriptor_limit()
    assert asked[-1][0] == MACOS_OPEN_MAX


@contextmanager
def few_descriptors(free: int) -> Iterator[None]:
    """Leave this process so many descriptors."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    next_free = [os.dup(0) for _ in range(free)]
    for descriptor in next_free:
        os.close(descriptor)
    resource.setrlimit(resource.RLIMIT_NOFILE, (next_free[-1] + 1, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def unconnected(connections: int) -> list[socket.socket]:
    """Sockets made before descriptors become scarce, as those of other processes are."""
    clients = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(connections)]
    for client in clients:
        client.setblocking(False)
    return clients


async def test_running_out_of_descriptors_neither_kills_nor_spins(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        good = await served.connect()
        await good.ask(request("ping"))
        clients = unconnected(60)
        with trio.fail_after(30), few_descriptors(20):
            for client in clients:
                client.connect(str(tmp_path / "sock"))
            await wait_all_tasks_blocked()
            assert served.server.counters.refused > 20
            assert (await good.ask(request("ping")))["id"] == 1
        refused = [client.recv(4096) for client in clients[-10:]]
        assert all(b"file descriptor" in words for words in refused)
        for client in clients:
            client.close()
        await wait_all_tasks_blocked()
        assert (await (await served.connect()).ask(request("ping")))["id"] == 1


class Failing:
    """A listening socket whose accept fails so many times first."""

    def __init__(self, real: socket.socket, *codes: int) -> None:
        self.real = real
        self.codes = list(codes)

    def accept(self) -> tuple[socket.socket, object]:
        """Fail, or accept."""
        if self.codes:
            code = self.codes.pop(0)
            raise OSError(code, os.strerror(code))
        return self.real.accept()

    def __getattr__(self, name: str) -> object:
        return getattr(self.real, name)


@pytest.mark.parametrize("code", [errno.ENOBUFS, errno.ECONNABORTED, errno.EMFILE])
async def test_accepting_goes_on_after_a_failure(
    code: int, mock_clock: MockClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "_open_descriptor", lambda: None)
    toys = Toys()
    server = server_module.Server(toys.dispatcher(), Limits())
    with listening(tmp_path) as (_, listener):
        failing = Failing(listener.socket, code, code)
        monkeypatch.setattr(listener, "socket", failing)
        async with trio.open_nursery() as nursery:
            await nursery.start(server.serve, listener)
            served = Served(tmp_path, server, toys)
            client = await served.connect()
            await client.send(request("ping"))
            for _ in range(3):
                await wait_all_tasks_blocked()
                mock_clock.jump(0.1)
            assert (await client.reply())["id"] == 1
            assert failing.codes == []
            served.close_clients()
            nursery.cancel_scope.cancel()


async def test_the_spare_descriptor_may_be_too_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toys = Toys()
    server = server_module.Server(toys.dispatcher(), Limits())
    with listening(tmp_path) as (_, listener):
        failing = Failing(listener.socket, errno.EMFILE, errno.EAGAIN)
        monkeypatch.setattr(listener, "socket", failing)
        async with trio.open_nursery() as nursery:
            await nursery.start(server.serve, listener)
            served = Served(tmp_path, server, toys)
            assert (await (await served.connect()).ask(request("ping")))["id"] == 1
            served.close_clients()
            nursery.cancel_scope.cancel()


async def test_spare_descriptors_that_somebody_took_are_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that opens a file at the wrong moment gets one; what it gives back is spare once more."""
    opened, taken = limits._open_descriptor, [False]
    monkeypatch.setattr(limits, "_open_descriptor", lambda: None if taken[0] else opened())
    toys = Toys()
    server = server_module.Server(toys.dispatcher(), Limits())
    with listening(tmp_path) as (_, listener):
        failing = Failing(listener.socket)
        monkeypatch.setattr(listener, "socket", failing)
        async with trio.open_nursery() as nursery:
            await nursery.start(server.serve, listener)
            served = Served(tmp_path, server, toys)
            for refused in range(1, 2 * SPARE + 1):
                taken[0] = refused < SPARE
                failing.codes = [errno.EMFILE]
                (reply,) = await (await served.connect()).rest()
                assert isinstance(reply, dict)
                assert "file descriptor" in reply["error"]["message"]
                assert server.counters.refused == refused
            served.close_clients()
            nursery.cancel_scope.cancel()


def test_no_spare_descriptor_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise OSError(errno.EMFILE, "none left")

    monkeypatch.setattr(os, "open", refuse)
    spare = SpareDescriptors()
    spare.top_up()
    assert not spare.release()


async def test_another_user_is_not_answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "credentials", lambda _: (1, os.geteuid() + 1))
    async with serving(tmp_path) as served:
        client = await served.connect()
        assert await client.ended()
        assert (served.server.counters.refused, served.server.counters.accepted) == (1, 0)


async def test_a_client_gone_before_its_turn_is_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(_: socket.socket) -> tuple[int, int]:
        raise OSError(errno.ENOTCONN, "gone")

    monkeypatch.setattr(server_module, "credentials", gone)
    async with serving(tmp_path) as served:
        assert await (await served.connect()).ended()
        assert served.server.counters.connections == 0


CONNECT_AS_ANOTHER = """
import os, socket, sys
os.setuid(65534)
sock = socket.socket(socket.AF_UNIX)
try:
    sock.connect(sys.argv[1])
    sock.sendall(b'{"jsonrpc":"2.0","method":"ping","id":1}\\n')
    print(sock.recv(100))
except PermissionError:
    print("forbidden")
except (BrokenPipeError, ConnectionResetError):
    print(b"")
"""


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A directory that every user can get to, unlike those of `tmp_path`."""
    with tempfile.TemporaryDirectory(prefix="peer.") as path:
        yield Path(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize(("opened", "outcome"), [(False, "forbidden"), (True, "b''")])
async def test_another_user_meets_both_walls(opened: bool, outcome: str, short_path: Path) -> None:
    """The directory keeps others out; were it open, the peer's user id would."""
    async with serving(short_path) as served:
        if opened:
            await trio.Path(short_path).chmod(0o755)
            await trio.Path(short_path / "sock").chmod(0o666)
        ran = await trio.run_process(
            [sys.executable, "-ISc", CONNECT_AS_ANOTHER, str(short_path / "sock")], capture_stdout=True
        )
        assert ran.stdout.decode().strip() == outcome
        assert served.server.counters.refused == int(opened)


def test_the_kernel_says_who_it_is() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert credentials(ours) == (os.getpid(), os.geteuid())


async def test_a_defect_in_a_connection_ends_only_that_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise MemoryError

    async with serving(tmp_path) as served:
        staying = await served.connect()
        await staying.ask(request("ping"))
        with monkeypatch.context() as patched:
            patched.setattr("mnemond.wire.connection.Framer.feed", broken)
            first: Client = await served.connect()
            await first.send(request("ping"))
            assert await first.ended()
            with socket.socket(socket.AF_UNIX) as quick:  # has sent before it is accepted
                quick.connect(str(tmp_path / "sock"))
                quick.sendall(request("ping") + b"\n")
                await wait_all_tasks_blocked()
                assert quick.recv(100) == b""
            await staying.send(request("ping"))
            assert await staying.ended()
        assert [name for name, _ in served.toys.defects] == ["(connection)"] * 3
        assert (await (await served.connect()).ask(request("ping")))["id"] == 1
