"""Hostile bytes on the socket of the real daemon with its real methods: no crash, no missing reply, others unaffected,
and nothing in the log but what belongs there."""

from __future__ import annotations

import copy
import json
import random
import threading
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.daemon_process import DaemonProcess
from benchmarks.wire import Json
from tests.wire.test_fuzz import NASTY, converse, count_replies, mutate, owed_to

SEEDS: tuple[Json, ...] = (
    {"method": "remember", "params": {"content": "hello", "tags": ["a"], "entities": ["SQLite"], "op_id": "o"}},
    {"method": "recall", "params": {"query": "hello", "limit": 3, "anchors": ["keyword"]}},
    {"method": "recall", "params": ["hello", 5]},
    {"method": "get", "params": {"id": "abcdef"}},
    {"method": "forget", "params": {"id": "abcdef"}},
    {"method": "list", "params": {"limit": 2, "category": "fact"}},
    {"method": "status"},
    {"method": "store.create", "params": {"name": "work"}},
    {"method": "store.list", "params": {}},
    {"method": "hello", "params": {"client_version": "1.2", "protocol": 1}},
    {"method": "cli.run", "params": {"argv": ["recall", "hello", "--limit", "2"], "tty": True, "columns": 60}},
    {"method": "cli.run", "params": {"argv": ["remember", "-"], "stdin": "from a pipe"}},
)
FIELDS = ("content", "query", "id", "limit", "store", "argv", "name", "importance", "created_at", "tags", "extra")


def message(rng: random.Random) -> bytes:
    """A request to a real method, more or less."""
    body = {"jsonrpc": "2.0", "id": rng.choice((1, "x", None, 2.5)), **json.loads(json.dumps(rng.choice(SEEDS)))}
    for _ in range(rng.randint(0, 3)):
        params = body.get("params")
        if isinstance(params, dict) and rng.random() < 0.8:
            params[rng.choice([*params, *FIELDS])] = copy.deepcopy(rng.choice(NASTY))
        else:
            body[rng.choice(("id", "method", "params", "jsonrpc"))] = copy.deepcopy(rng.choice(NASTY))
    data = bytearray(json.dumps(body, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass"))
    for _ in range(rng.choice((0, 0, 0, 0, 1, 3))):
        if data:
            mutate(rng, data)
    return bytes(data) + b"\n"


def attack(daemon: DaemonProcess, connections: int, seed: int, other: threading.Semaphore) -> Counter[str]:
    """What came back, by kind. Every fifth time somebody else asks something meanwhile."""
    seen: Counter[str] = Counter()
    for number in range(connections):
        if number % 5 == 0:
            other.release()
        rng = random.Random(f"{seed}/{number}")
        sent, received = converse(daemon.data_dir, rng, message)
        kinds = count_replies(received)
        seen.update(kinds)
        expected = [owed_to(line.strip(b" \t\r")) for line in sent.split(b"\n") if line.strip(b" \t\r")]
        if -1 not in expected:
            assert kinds.total() == sum(expected), f"{seed}/{number}: {kinds} for {expected}"
        assert received.count(b"\n") >= sum(1 for each in expected if each), f"{seed}/{number}"
    return seen


def fuzz(data_dir: Path, connections: int, seed: int) -> None:
    turns, over = threading.Semaphore(0), threading.Event()
    asked = 0
    with DaemonProcess(data_dir) as daemon, daemon.connect() as good:
        good.call("remember", content="the well-behaved client's memory")

        def keep_asking() -> None:
            nonlocal asked
            while turns.acquire() and not (over.is_set() and asked > connections / 10):
                assert good.call("recall", query="well-behaved client")["results"]
                asked += 1

        thread = threading.Thread(target=keep_asking)
        thread.start()
        try:
            seen = attack(daemon, connections, seed, turns)
        finally:
            over.set()
            turns.release()
            thread.join(60)
        assert asked > connections / 10
        assert {"result", "-32700", "-32600", "-32601", "-32602", "1003"} <= seen.keys()
        assert seen["-32603"] == 0, "a defect"
        status = good.call("status")
        assert status["total_insights"] > 1
        assert good.call("list", limit=1000)["insights"]
    log = (data_dir / "benchmark-stderr.log").read_text()
    assert "defect" not in log
    assert "Traceback" not in log


@pytest.mark.check_all
def test_a_thousand_hostile_connections(tmp_path: Path) -> None:
    fuzz(tmp_path, 1_000, seed=1)


@pytest.mark.deep
def test_five_thousand_hostile_connections(tmp_path: Path) -> None:
    fuzz(tmp_path, 5_000, seed=1)
