"""Hostile bytes on a real socket: nothing escapes, nothing stays unanswered, others are served all along."""

from __future__ import annotations

import json
import random
import socket
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
import trio

from mnemond.wire.jsonrpc import MALFORMED, replace_lone_surrogates
from mnemond.wire.limits import Limits
from tests.wire.factories import Served, request, serving

SEEDS: tuple[object, ...] = (
    {"jsonrpc": "2.0", "id": 1, "method": "echo", "params": {"value": "hello"}},
    {"jsonrpc": "2.0", "id": "a", "method": "subtract", "params": [42, 23]},
    {"jsonrpc": "2.0", "id": None, "method": "nap", "params": {"value": 1}},
    {"jsonrpc": "2.0", "id": 7, "method": "boom"},
    {"jsonrpc": "2.0", "method": "echo", "params": {"a": [1, 2, {"b": None}]}},
    {"jsonrpc": "2.0", "id": 8, "method": "surrogate"},
    [{"jsonrpc": "2.0", "id": 9, "method": "ping"}, {"jsonrpc": "2.0", "method": "ping"}],
)
NASTY: tuple[object, ...] = (
    None, True, -1, 2**63, 10**400, 1e308, -0.0, float("nan"), "", "\0", "\u202e", "\x1b]52;c;AAAA\x07", "\ud800",
    "A" * 70_000, [], {}, [[]] * 50, {"": ""}, "../../x", "'; drop table insight;--", "NaN", "\uffff", "é" * 100,
)  # fmt: skip
FIELDS = ("x", "params", "id", "method", "jsonrpc")
METHODS = ("ping", "echo", "subtract", "nap", "deny", "boom", "nap.boom", "surrogate")


def structure(rng: random.Random) -> bytes:
    """A request with nasty values in it."""
    body = json.loads(json.dumps(rng.choice(SEEDS)))
    for _ in range(rng.randint(0, 3)):
        if isinstance(body, dict):
            field, value = rng.choice([*body, *FIELDS]), rng.choice(NASTY)
            body[field] = {rng.choice(("value", "minuend", "x")): value} if rng.random() < 0.4 else value
        elif isinstance(body, list):
            body.append(rng.choice(SEEDS + NASTY))
    if isinstance(body, dict) and rng.random() < 0.3:
        body["method"] = rng.choice(METHODS)
    return json.dumps(body, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")


def mutate(rng: random.Random, data: bytearray) -> None:
    """Change some bytes."""
    at = rng.randrange(len(data))
    edit: Callable[[], object] = rng.choice((
        lambda: data.__setitem__(at, rng.randrange(256)),
        lambda: data.__delitem__(slice(at, at + rng.randint(1, 8))),
        lambda: data.__setitem__(slice(at, at), rng.randbytes(rng.randint(1, 8))),
        lambda: data.__setitem__(slice(at, at), data[:at]),
        lambda: data.__setitem__(slice(at, at), rng.choice((b"[", b"{", b'"', b"\n")) * rng.choice((1, 10, 3000))),
        lambda: data.__delitem__(slice(at, None)),
    ))  # fmt: skip
    edit()


def hostile(rng: random.Random) -> bytes:
    """One message, more or less."""
    data = bytearray(structure(rng))
    for _ in range(rng.choice((0, 0, 0, 1, 2, 8))):
        if data:
            mutate(rng, data)
    return bytes(data) + (b"\n" if rng.random() < 0.95 else b"")


def owed_to(line: bytes) -> int:
    """How many replies this line must get, counting those inside of a batch; -1 when it is not JSON."""
    try:
        parsed = msgspec.json.decode(replace_lone_surrogates(line))
    except MALFORMED:
        return -1
    if isinstance(parsed, list):
        return sum(map(answered, parsed)) if 0 < len(parsed) <= 100 else 1
    return answered(parsed)


def answered(message: object) -> int:
    """1 for what gets a reply, 0 for a notification."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0" or not isinstance(message.get("method"), str):
        return 1
    return int("id" in message or not isinstance(message.get("params", []), (dict, list)))


def converse(path: Path, rng: random.Random, make: Callable[[random.Random], bytes] = hostile) -> tuple[bytes, bytes]:
    """Send hostile bytes in pieces from a blocking client; what was sent and what came back."""
    sent = b"".join(make(rng) for _ in range(rng.randint(1, 4)))
    received = b""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(20)
        client.connect(str(path / "sock"))
        step = rng.choice((1, 7, 100, 65536)) if len(sent) < 300 else 65536
        try:
            for at in range(0, len(sent), step):
                client.sendall(sent[at : at + step])
            client.shutdown(socket.SHUT_WR)
            while data := client.recv(65536):
                received += data
        except (BrokenPipeError, ConnectionResetError):
            pass
    return sent, received


def count_replies(received: bytes) -> Counter[str]:
    """Every reply, by what it is; each must be one of JSON-RPC."""
    kinds: Counter[str] = Counter()
    for line in received.splitlines():
        reply = msgspec.json.decode(line)
        for each in reply if isinstance(reply, list) else [reply]:
            assert each["jsonrpc"] == "2.0"
            assert "id" in each
            kinds["result" if "result" in each else str(each["error"]["code"])] += 1
    return kinds


def attack(path: Path, connections: int, seed: int, seen: Counter[str], failures: list[str]) -> None:
    """Many hostile conversations; anything wrong is told with its seed."""
    for number in range(connections):
        rng = random.Random(f"{seed}/{number}")
        sent, received = converse(path, rng)
        try:
            kinds = count_replies(received)
        except Exception as error:
            failures.append(f"{seed}/{number}: {error!r} in {received[:200]!r}")
            continue
        seen.update(kinds)
        expected = [owed_to(line.strip(b" \t\r")) for line in sent.split(b"\n") if line.strip(b" \t\r")]
        if -1 not in expected and kinds.total() != sum(expected):
            failures.append(f"{seed}/{number}: {kinds} for {expected}")
        if received.count(b"\n") < sum(1 for each in expected if each):
            failures.append(f"{seed}/{number}: too few lines for {expected}")


async def keep_asking(served: Served, done: trio.Event) -> None:
    """A well-behaved client that is always answered."""
    client = await served.connect()
    number = 0
    while not done.is_set():
        number += 1
        with trio.fail_after(30):
            assert (await client.ask(request("ping", number)))["id"] == number
        await trio.sleep(0.001)


async def fuzz(path: Path, connections: int, seed: int) -> None:
    seen: Counter[str] = Counter()
    failures: list[str] = []
    async with serving(path, Limits()) as served, trio.open_nursery() as nursery:
        done = trio.Event()
        nursery.start_soon(keep_asking, served, done)
        await trio.to_thread.run_sync(attack, path, connections, seed, seen, failures)
        done.set()
        assert failures == []
        assert served.server.counters.accepted == connections + 1
        # every defect is one that a toy method makes on purpose
        assert {(name, type(error)) for name, error in served.toys.defects} <= {
            ("boom", ZeroDivisionError), ("nap.boom", OverflowError), ("surrogate", UnicodeEncodeError),
        }  # fmt: skip
    assert {"result", "-32700", "-32600", "-32601", "-32602", "-32603", "1013"} <= seen.keys()
    assert threading.active_count() < 10


async def test_three_hundred_hostile_connections(tmp_path: Path) -> None:
    await fuzz(tmp_path, 300, seed=7)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(5))
async def test_five_thousand_hostile_connections(seed: int, tmp_path: Path) -> None:
    await fuzz(tmp_path, 1000, seed=100 + seed)
