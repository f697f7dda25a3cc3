"""Two daemons that share a store, while processes are killed and connections are cut: every acknowledged write is there
once, and both have the same store."""

from __future__ import annotations

import json
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.daemon_process import NO_CAP, DaemonError, DaemonProcess
from benchmarks.pg_server import PgServer
from benchmarks.wire import RpcError, Wire, request
from mnemonctl import rpc
from tests.store.pg_proxy import CuttingProxy
from tests.store.pg_server import running

VARIABLE = "TEAM_DSN"
WRITERS = 8
SEED = 26
WITHIN_S = 60.0
GIVE_UP_S = 90.0


class Sharing(DaemonProcess):
    """A daemon that has a connection string in its environment."""

    def __init__(self, data_dir: Path, dsn: str) -> None:
        super().__init__(data_dir)
        self._dsn = dsn
        (data_dir / "config.toml").write_text(NO_CAP)

    def environment(self) -> dict[str, str]:
        return super().environment() | {VARIABLE: self._dsn}

    def kill(self) -> None:
        """As kill -9."""
        process = self._running()
        process.kill()
        process.wait()


def ask(wire: Wire, method: str, **params: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(wire.round_trip(request(1, method, params)))
    return found


def made(daemon: Sharing, store: str = "team") -> dict[str, Any]:
    with daemon.connect_when_ready() as wire:
        return wire.call("store.create", name=store, backend="postgresql", dsn_env=VARIABLE)


def standing(daemon: Sharing, store: str = "team") -> dict[str, Any]:
    with daemon.connect_when_ready() as wire:
        found: dict[str, Any] = wire.call("status", store=store)
        return found


def eventually_same(*daemons: Sharing, store: str = "team") -> list[str]:
    """Wait until all have the same export, and return its lines."""
    deadline = time.monotonic() + WITHIN_S
    while True:
        exports = [exported(each, store) for each in daemons]
        if all(each == exports[0] for each in exports) and not any(standing(it)["shared"]["behind"] for it in daemons):
            return exports[0]
        assert time.monotonic() < deadline, [len(each) for each in exports]
        time.sleep(0.2)


def exported(daemon: Sharing, store: str) -> list[str]:
    """Return the lines of an export, without the first, which has the time."""
    with daemon.connect_when_ready() as wire, rpc.spooled(daemon.data_dir) as (name, file):
        wire.call("export", store=store, spool=name)
        return file.read().decode().splitlines()[1:]


@pytest.fixture
def server() -> Iterator[PgServer]:
    with running() as server:
        yield server


@pytest.fixture
def pair(server: PgServer, tmp_path: Path) -> Iterator[tuple[Sharing, Sharing, CuttingProxy]]:
    """Two daemons; the second one reaches the server through a proxy."""
    proxy = CuttingProxy(server.home)
    a, b = Sharing(directory(tmp_path, "a"), server.dsn), Sharing(directory(tmp_path, "b"), proxy.dsn)
    with a, b:
        assert made(a)["created"]
        assert made(b)["created"]
        yield a, b, proxy
    proxy.close()


def directory(parent: Path, name: str) -> Path:
    path = parent / name
    path.mkdir(mode=0o700)
    return path


class Writer(threading.Thread):
    """Remembers one text after the other, each again and again until it is acknowledged."""

    def __init__(self, daemon: Sharing, name: str) -> None:
        super().__init__(daemon=True)
        self._daemon = daemon
        self._label = name
        self.acknowledged: list[str] = []
        self.wrong: list[object] = []
        self.stopping = threading.Event()

    def run(self) -> None:
        number = 0
        while not self.stopping.is_set():
            number += 1
            text, op_id = f"parcel {self._label} {number} went to the depot", f"op-{self._label}-{number}"
            if self._remember(text, op_id):
                self.acknowledged.append(text)
            else:
                self.wrong.append((text, "was not acknowledged"))

    def _remember(self, text: str, op_id: str) -> bool:
        deadline = time.monotonic() + GIVE_UP_S
        while time.monotonic() < deadline:
            try:
                with self._daemon.connect_when_ready() as wire:
                    found = ask(wire, "remember", store="team", content=text, op_id=op_id, no_diff=True)
            except (OSError, RpcError, DaemonError):
                time.sleep(0.05)
                continue
            if "result" in found:
                return True
            if not found["error"]["data"]["retryable"]:
                self.wrong.append(found["error"])
                return False
            time.sleep(0.05)
        return False


def disturb(how: str, a: Sharing, b: Sharing, proxy: CuttingProxy, server: PgServer) -> None:
    match how:
        case "kill a" | "kill b":
            daemon = a if how == "kill a" else b
            daemon.kill()
            daemon.start()
        case "kill server":
            server.kill()
            server.start()
        case "cut before" | "cut after":
            proxy.cut_next = "before" if how == "cut before" else "after"
        case "cut all":
            proxy.cut_all()


KINDS = ("kill a", "kill b", "kill server", "cut before", "cut after", "cut all")


def test_writes_of_both_are_visible_in_both(pair: tuple[Sharing, Sharing, CuttingProxy]) -> None:
    a, b, _ = pair
    with a.connect() as wire:
        wire.call("remember", store="team", content="The release train leaves on Tuesdays at nine")
    with b.connect() as wire:
        wire.call("remember", store="team", content="The staging cluster is called heron")
        found = wire.call("recall", store="team", query="when does the release train leave")
    assert found["results"][0]["insight"]["content"] == "The release train leaves on Tuesdays at nine"
    assert sum('"content":' in line for line in eventually_same(a, b)) >= 2
    assert standing(a)["shared"]["seq"] == standing(b)["shared"]["seq"] > 1


def test_without_the_server_reads_go_on_and_status_says_so(
    pair: tuple[Sharing, Sharing, CuttingProxy], server: PgServer
) -> None:
    a, b, _ = pair
    with a.connect() as wire:
        wire.call("remember", store="team", content="The staging cluster is called heron")
    eventually_same(a, b)
    server.kill()
    with b.connect() as wire:
        error = ask(wire, "remember", store="team", content="The vault is in Bern", op_id="later")["error"]
        assert error["data"]["outcome"] == "rejected"
        assert "cannot be reached" in error["message"]
        found = wire.call("recall", store="team", query="staging cluster")
        assert [each["insight"]["content"] for each in found["results"]] == ["The staging cluster is called heron"]
        assert "the shared log cannot be reached" in found["degraded_reason"]
        shown = wire.call("status", store="team")
        assert not shown["shared"]["connected"]
    b.kill()
    b.start()
    with b.connect() as wire:
        assert wire.call("recall", store="team", query="staging cluster")["results"]
    server.start()
    deadline = time.monotonic() + WITHIN_S
    while not (standing(a)["shared"]["connected"] and standing(b)["shared"]["connected"]):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    with b.connect() as wire:
        wire.call("remember", store="team", content="The vault is in Bern", op_id="later")
    eventually_same(a, b)


@pytest.mark.parametrize("times", [1, pytest.param(20, marks=pytest.mark.deep)])
def test_a_promoted_standby_has_what_was_acknowledged(times: int, server: PgServer, tmp_path: Path) -> None:
    """The standby is synchronous: the primary answers a commit once both have it."""
    with running() as standby:
        standby.stop()
        standby.follow(server)
        dsn = f"host={server.home},{standby.home} dbname=postgres user=mnemond"
        with Sharing(directory(tmp_path, "a"), dsn) as a, Sharing(directory(tmp_path, "b"), dsn) as b:
            made(a)
            made(b)
            writers = [Writer(it, f"{name}{n}") for it, name in ((a, "a"), (b, "b")) for n in range(WRITERS // 2)]
            for each in writers:
                each.start()
            chance, primary, other = random.Random(SEED), server, standby
            for _ in range(times):
                time.sleep(chance.uniform(0.2, 0.8))
                primary.kill()
                other.promote()
                time.sleep(chance.uniform(0.2, 0.8))
                primary.follow(other)
                primary, other = other, primary
            assert_stored_once(writers, a, b, primary, times)


@pytest.mark.parametrize("cycles", [6, pytest.param(200, marks=pytest.mark.deep)])
def test_what_was_acknowledged_is_there_once(
    pair: tuple[Sharing, Sharing, CuttingProxy], server: PgServer, cycles: int
) -> None:
    a, b, proxy = pair
    chance = random.Random(SEED)
    each_daemon = WRITERS if cycles > len(KINDS) else 2
    writers = [Writer(it, f"{name}{n}") for it, name in ((a, "a"), (b, "b")) for n in range(each_daemon)]
    for each in writers:
        each.start()
    for number in range(cycles):
        time.sleep(chance.uniform(0.1, 0.6))
        disturb(KINDS[number] if cycles == len(KINDS) else chance.choice(KINDS), a, b, proxy, server)
    assert_stored_once(writers, a, b, server, cycles)


def assert_stored_once(writers: list[Writer], a: Sharing, b: Sharing, server: PgServer, least: int) -> None:
    """Stop the writers. What they were answered is there once, in both daemons."""
    for each in writers:
        each.stopping.set()
    for each in writers:
        each.join(GIVE_UP_S)
        assert not each.is_alive()
    assert [each.wrong for each in writers] == [[] for _ in writers]
    lines = eventually_same(a, b)
    stored = Counter(re.findall(r'"content":"(parcel [^"]+)"', "\n".join(line for line in lines if '"memory"' in line)))
    acknowledged = Counter(text for each in writers for text in each.acknowledged)
    assert acknowledged == stored
    assert sum(acknowledged.values()) > least
    seqs = [row[0] for row in server.query("SELECT seq FROM mnemond.operations ORDER BY seq")]
    assert seqs == list(range(seqs[0], seqs[0] + len(seqs)))
