"""Requests meet handlers."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import trio

from mnemond import errors
from mnemond.errors import MnemonError
from mnemond.wire.deferred import Deferred
from mnemond.wire.dispatch import NO_THREAD, Call, ConnectionState, Dispatcher, Foreigner, Verbatim
from mnemond.wire.jsonrpc import Request, parse
from tests.tables import each_row
from tests.wire.factories import METHODS, Answer, Nothing, Pair, Toys

CALL = Call(1, 2, 3)


def test_the_start_fails_when_methods_and_handlers_differ() -> None:
    handlers = Toys().handlers()
    del handlers["ping"]
    handlers["pong"] = handlers["echo"]
    with pytest.raises(ValueError, match="differ in: ping, pong"):
        Dispatcher(METHODS, handlers, on_defect=lambda *_: None)
    with pytest.raises(ValueError, match="differ in: zzz"):
        Dispatcher(METHODS, Toys().handlers(), problems={"zzz": lambda _: []}, on_defect=lambda *_: None)


async def test_invoke_takes_structs_and_json() -> None:
    dispatcher = Toys().dispatcher()
    assert await dispatcher.invoke("subtract", Pair(minuend=3, subtrahend=1), CALL) == Answer(2)
    assert await dispatcher.invoke("subtract", b"[3, 1]", CALL) == Answer(2)
    assert await dispatcher.invoke("ping", None, CALL) == Answer(True)


@each_row(
    ("name", "params", "kind"),
    [
        ("nothing", None, errors.METHOD_NOT_FOUND),
        ("ping", b'{"x":1}', errors.INVALID_PARAMS),
        ("subtract", b'{"minuend":"\xff"}', errors.PARSE),
        ("deny", Nothing(), errors.UNSUPPORTED),
    ],
)
async def test_invoke_refuses(name: str, params: bytes | None, kind: errors.Kind) -> None:
    with pytest.raises(MnemonError) as caught:
        await Toys().dispatcher().invoke(name, params, CALL)
    assert caught.value.kind is kind


async def test_cancellation_and_exit_are_no_defects() -> None:
    toys = Toys()
    dispatcher = toys.dispatcher()
    with pytest.raises(KeyboardInterrupt), dispatcher.boundary():
        raise KeyboardInterrupt
    with trio.CancelScope() as scope:
        scope.cancel()
        with dispatcher.boundary():
            await trio.lowlevel.checkpoint()
    assert scope.cancelled_caught
    assert toys.defects == []


def foreign(*, line: bytes | None = None, mcp: bool = False) -> tuple[Dispatcher, Call]:
    """A dispatcher with a method that is called like one of its own, and a caller who may have shaken hands."""

    async def empty(call: Call, request: Request) -> object:
        return {}

    async def listen(call: Call, request: Request) -> object:
        return Verbatim(line or b"")

    async def boom(call: Call, request: Request) -> object:
        return 1 / 0

    answers: dict[str, Foreigner] = {"ping": empty, "listen": listen, "boom": boom}
    toys = Toys()
    dispatcher = Dispatcher(METHODS, toys.handlers(), foreigners=answers, on_defect=lambda *_: None)
    return dispatcher, Call(1, 2, 3, ConnectionState(mcp=mcp))


def answered(dispatcher: Dispatcher, call: Call, method: str, id_: str = ',"id":1') -> object:
    request = parse(b'{"jsonrpc":"2.0","method":"%b"%b}' % (method.encode(), id_.encode()))
    assert isinstance(request, Request)
    return dispatcher.answer(request, call, lambda _: None)


def test_a_shared_name_is_meant_as_the_caller_speaks() -> None:
    dispatcher, call = foreign()
    assert answered(dispatcher, call, "ping") == b'{"jsonrpc":"2.0","id":1,"result":{"value":true}}'
    dispatcher, call = foreign(mcp=True)
    assert answered(dispatcher, call, "ping") == b'{"jsonrpc":"2.0","id":1,"result":{}}'
    assert answered(dispatcher, call, "subtract") != answered(dispatcher, call, "ping")


def test_a_line_that_is_no_reply_is_sent_as_it_is() -> None:
    dispatcher, call = foreign(line=b'{"method":"hello"}')
    assert answered(dispatcher, call, "listen") == b'{"method":"hello"}'
    assert answered(dispatcher, call, "listen", "") is None


def test_a_foreign_notification_that_takes_time_is_not_answered_either() -> None:
    dispatcher, call = foreign()
    later: Deferred[object] = Deferred()

    async def wait(call: Call, request: Request) -> object:
        return await later

    dispatcher._foreigners = {"wait": wait}
    reply = answered(dispatcher, call, "wait", "")
    assert isinstance(reply, Deferred)
    later.resolve({})
    assert (reply.result(), call.state.pending) == (None, {})


def test_a_defect_in_a_foreign_method_is_one_of_ours() -> None:
    dispatcher, call = foreign(mcp=True)
    assert b'"code":-32603' in answered(dispatcher, call, "boom")  # type: ignore[operator]
    assert dispatcher.defects == 1


def test_an_id_that_is_used_twice_at_once_is_answered_twice() -> None:
    dispatcher, call = foreign()
    results: list[Deferred[object]] = [Deferred(), Deferred()]
    waiting = iter(results)

    async def wait(call: Call, request: Request) -> object:
        return await next(waiting)

    dispatcher._foreigners = {"wait": wait}
    replies = [answered(dispatcher, call, "wait") for _ in results]
    for result, reply in zip(results, replies, strict=True):
        assert isinstance(reply, Deferred)
        result.resolve({})
        assert reply.result() == b'{"jsonrpc":"2.0","id":1,"result":{}}'


def test_a_thread_that_the_system_does_not_start_is_no_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory that a thread needs is refused here, as for a limit of threads, which does not hold for root."""
    code = (
        "import resource, threading\n"
        "threading.stack_size(1 << 30)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (1 << 29, 1 << 29))\n"
        "try: threading.Thread(target=print).start()\n"
        "except RuntimeError as error: print(error, end='')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == NO_THREAD
    toys = Toys()
    dispatcher = Dispatcher(METHODS, toys.handlers(), on_defect=lambda *_: None)
    for message, kind in ((NO_THREAD, errors.BUSY), ("another", errors.INTERNAL)):

        async def boom(*_: object, message: str = message) -> object:
            raise RuntimeError(message)

        monkeypatch.setitem(dispatcher._handlers, "boom", boom)  # type: ignore[arg-type]
        found = parse(b'{"jsonrpc":"2.0","id":1,"method":"boom"}')
        assert isinstance(found, Request)
        reply = dispatcher.answer(found, CALL, lambda _: None)
        assert isinstance(reply, bytes)
        assert json.loads(reply)["error"]["code"] == kind.rpc
    assert dispatcher.defects == 1
