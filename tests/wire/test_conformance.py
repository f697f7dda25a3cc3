"""JSON-RPC 2.0 over the socket, example by example (jsonrpc.org/specification, section 7)."""

from __future__ import annotations

import os
from pathlib import Path

from mnemond.wire.jsonrpc import MAX_BATCH
from tests.tables import each_row
from tests.wire.factories import METHODS, request, serving


def call(method: str, extra: str = "") -> str:
    return f'{{"jsonrpc":"2.0","method":"{method}"{extra}}}'


def ok(value: object, id_: object) -> object:
    return {"jsonrpc": "2.0", "id": id_, "result": {"value": value}}


def shape(reply: object) -> object:
    """A reply with its error cut down to the code, a batch in the order of its ids."""
    if isinstance(reply, list):
        return sorted(map(shape, reply), key=str)
    assert isinstance(reply, dict)
    return {**reply, "error": reply["error"]["code"]} if "error" in reply else reply


def bad(code: int, id_: object = None) -> object:
    return {"jsonrpc": "2.0", "id": id_, "error": code}


ONE = call("echo", ',"params":["hi"],"id":1')
MIXED = (
    "["
    + ",".join(
        (
            ONE,
            call("echo"),
            call("nap", ',"params":[2],"id":2'),
            '{"foo":"boo"}',
            call("foo.get", ',"id":"5"'),
            call("boom", ',"id":6'),
        )
    )
    + "]"
)
TABLE: list[tuple[str, list[object]]] = [
    # by position and by name, in any order
    (call("subtract", ',"params":[42,23],"id":1'), [ok(19, 1)]),
    (call("subtract", ',"params":[23,42],"id":2'), [ok(-19, 2)]),
    (call("subtract", ',"params":{"subtrahend":23,"minuend":42},"id":3'), [ok(19, 3)]),
    (call("subtract", ',"params":{"minuend":42,"subtrahend":23},"id":4'), [ok(19, 4)]),
    # notifications are never answered, right or wrong
    (call("echo", ',"params":[1]'), []),
    (call("unheard.of"), []),
    (call("boom"), []),
    (call("deny"), []),
    (call("nap.boom"), []),
    (call("subtract", ',"params":[]'), []),
    # errors
    (call("foobar", ',"id":"1"'), [bad(-32601, "1")]),
    (call("rpc.discover", ',"id":1'), [bad(-32601, 1)]),
    ('{"jsonrpc":"2.0","method":"foobar,"params":"bar","baz]', [bad(-32700)]),
    ('{"jsonrpc":"2.0","method":1,"params":"bar"}', [bad(-32600)]),
    (call("subtract", ',"params":["a"],"id":5'), [bad(-32602, 5)]),
    (call("subtract", ',"params":{"minuend":true},"id":5'), [bad(-32602, 5)]),
    (call("subtract", ',"params":[1,2,3],"id":5'), [bad(-32602, 5)]),
    (call("boom", ',"id":6'), [bad(-32603, 6)]),
    (call("nap.boom", ',"id":6'), [bad(-32603, 6)]),
    (call("deny", ',"id":7'), [bad(1019, 7)]),
    # ids
    (call("ping", ',"id":null'), [ok(True, None)]),
    (call("ping", ',"id":1.25'), [ok(True, 1.25)]),
    (call("ping", ',"id":[1]'), [bad(-32600)]),
    (call("ping", ',"id":{}'), [bad(-32600)]),
    (call("ping", ',"id":true'), [bad(-32600)]),
    # batches
    ('[{"jsonrpc":"2.0","method":"sum","id":"1"},{"jsonrpc":"2.0","method"]', [bad(-32700)]),
    ("[]", [bad(-32600)]),
    ("[1]", [[bad(-32600)]]),
    ("[1,2,3]", [[bad(-32600)] * 3]),
    (f"[{call('echo')},{call('nap')}]", []),
    (f"[{ONE}]", [[ok("hi", 1)]]),
    (
        MIXED,
        [[ok("hi", 1), ok(2, 2), bad(-32600), bad(-32601, "5"), bad(-32603, 6)]],
    ),
    ("[" + ",".join([ONE] * MAX_BATCH) + "]", [[ok("hi", 1)] * MAX_BATCH]),
    ("[" + ",".join([ONE] * (MAX_BATCH + 1)) + "]", [bad(1013)]),
    # lines
    (f"{ONE}\n{ONE}", [ok("hi", 1)] * 2),
    (f"\n\r\n{ONE}\r\n \n", [ok("hi", 1)]),
    ("[" * 65, [bad(1013)]),
]  # fmt: skip


@each_row(("sent", "expected"), TABLE)
async def test_example(sent: str, expected: list[object], tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        replies = await served.talk(sent.encode())
        assert [shape(each) for each in replies] == [
            sorted(each, key=str) if isinstance(each, list) else each for each in expected
        ]


@each_row("id_", ["-0", "1.50", '"\\u0041"', "12345678901234567890123"])
async def test_ids_come_back_to_the_byte(id_: str, tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        client = await served.connect()
        await client.send(call("ping", f',"id":{id_}'))
        assert await client.socket.recv(1000) == f'{{"jsonrpc":"2.0","id":{id_},"result":{{"value":true}}}}\n'.encode()


async def test_errors_carry_hint_outcome_and_problems(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        client = await served.connect()
        data: list[dict[str, object]] = []
        for message in (request("deny"), request("ecoh"), request("zzz"), request("subtract", minuend=13, x=1)):
            error = (await client.ask(message))["error"]
            assert isinstance(error, dict)
            data.append({"message": error["message"], **error["data"]})
        denied, misspelt, unknown, wrong = data
        assert denied == {
            "message": "no writing today", "code": "unsupported", "hint": "try tomorrow", "retryable": False,
            "outcome": "rejected", "problems": [],
        }  # fmt: skip
        assert (misspelt["message"], misspelt["hint"]) == ("there is no method 'ecoh'", 'did you mean "echo"?')
        assert unknown["hint"] == f"methods are: {', '.join(METHODS)}"
        assert wrong["problems"] == [
            {"field": "x", "message": "there is no parameter 'x'; known are minuend, subtrahend"},
            {"field": "minuend", "message": "minuend must not be 13"},
        ]


async def test_a_defect_is_told_without_content_and_logged_with_its_traceback(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        client = await served.connect()
        outcomes = {}
        for method in ("boom", "nap.boom", "surrogate"):
            error = (await client.ask(request(method)))["error"]
            assert isinstance(error, dict)
            assert "secret" not in str(error)
            outcomes[method] = error["data"]["outcome"]
        assert outcomes == {"boom": "unknown", "nap.boom": None, "surrogate": "unknown"}
        assert [name for name, _ in served.toys.defects] == ["boom", "nap.boom", "surrogate"]
        assert all(error.__traceback__ for _, error in served.toys.defects)
        assert served.server.dispatcher.defects == 3
        assert await client.ask(request("ping")) == ok(True, 1)


async def test_a_handler_learns_who_asks(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        client = await served.connect()
        await client.ask(request("ping"))
        await client.ask(request("ping"))
        await (await served.connect()).ask(request("ping"))
        first, again, other = served.toys.calls
        assert first == again
        assert first.connection != other.connection
        assert (first.peer_pid, first.peer_uid) == (os.getpid(), os.geteuid())
