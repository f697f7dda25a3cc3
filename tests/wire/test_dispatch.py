"""Requests meet handlers."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import msgspec
import pytest
import trio

from mnemond import errors
from mnemond.errors import MnemonError
from mnemond.wire.deferred import Deferred
from mnemond.wire.dispatch import NO_THREAD, Call, ConnectionState, Dispatcher, Foreigner, Verbatim
from mnemond.wire.jsonrpc import Request, parse
from mnemond.wire.params import Access, Params, TypedMethod, decode_params
from tests.tables import each_row
from tests.wire.factories import METHODS, Answer, Pair, Toys

CALL = Call(1, 2, 3)


def test_the_start_fails_when_methods_and_handlers_differ() -> None:
    handlers = Toys().handlers()
    del handlers["ping"]
    handlers["pong"] = handlers["echo"]
    with pytest.raises(ValueError, match="differ in: ping, pong"):
        Dispatcher(METHODS, on_defect=lambda *_: None).serve(handlers)
    with pytest.raises(ValueError, match="differ in: zzz"):
        Toys().dispatcher().serve(Toys().handlers(), problems={"zzz": lambda _: []})


class Given(msgspec.Struct):
    """Values of a client under the names of parameters."""

    minuend: object
    subtrahend: int | msgspec.UnsetType = msgspec.UNSET


class Nested(Params, frozen=True, kw_only=True):
    """Parameters that contain others."""

    pairs: tuple[Pair, ...]


async def test_invoke_takes_a_struct_or_values_by_name() -> None:
    dispatcher = Toys().dispatcher()
    assert await dispatcher.invoke(METHODS["subtract"], Pair(minuend=3, subtrahend=1), CALL) == Answer(2)
    assert await dispatcher.invoke(METHODS["subtract"], {"minuend": 3, "subtrahend": 1}, CALL) == Answer(2)
    assert await dispatcher.invoke(METHODS["ping"], {}, CALL) == Answer(True)


async def test_invoke_takes_values_of_another_struct_without_those_that_are_unset() -> None:
    async def total(_: Call, params: Nested) -> Answer:
        return Answer([each.minuend - each.subtrahend for each in params.pairs])

    total_of: TypedMethod[..., Answer] = TypedMethod("total", Nested, Answer, Access.READ, "Adds up.")
    dispatcher = Dispatcher({"total": total_of}, on_defect=lambda *_: None).serve({"total": total})
    assert await dispatcher.invoke(total_of, {"pairs": [Given(5), Given(4, 3)]}, CALL) == Answer([5, 1])
    with pytest.raises(MnemonError) as caught:
        await dispatcher.invoke(total_of, {"pairs": [Given("five")]}, CALL)
    assert caught.value.kind is errors.INVALID_PARAMS


@each_row(
    "values",
    [{}, {"minuend": "x"}, {"minuend": 1.5, "subtrahend": None}, {"minuend": 1, "third": 2}, {"minuend": math.nan}],
)
async def test_invoke_refuses_values_as_a_request_does(values: dict[str, object]) -> None:
    dispatcher = Toys().dispatcher()
    with pytest.raises(MnemonError) as caught:
        await dispatcher.invoke(METHODS["subtract"], values, CALL)
    with pytest.raises(MnemonError) as sent:
        decode_params(Pair, msgspec.json.encode(values))
    assert caught.value.kind is errors.INVALID_PARAMS
    assert caught.value.problems
    assert caught.value.problems == sent.value.problems


@each_row(
    ("name", "params", "kind"),
    [
        ("nothing", b"{}", errors.METHOD_NOT_FOUND),
        ("ping", b'{"x":1}', errors.INVALID_PARAMS),
        ("subtract", b'{"minuend":"\xff"}', errors.PARSE),
        ("deny", b"{}", errors.UNSUPPORTED),
    ],
)
def test_an_answer_is_an_error(name: str, params: bytes, kind: errors.Kind) -> None:
    request = Request("2.0", name, msgspec.Raw(b"1"), msgspec.Raw(params))
    reply = Toys().dispatcher().answer(request, CALL, lambda _: pytest.fail("nothing here needs a task"))
    assert isinstance(reply, bytes)
    assert msgspec.json.decode(reply)["error"]["code"] == kind.rpc


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
    dispatcher = toys.dispatcher().serve(toys.handlers(), foreigners=answers)
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
    dispatcher = Dispatcher(METHODS, on_defect=lambda *_: None).serve(toys.handlers())
    for message, kind in ((NO_THREAD, errors.BUSY), ("another", errors.INTERNAL)):

        async def boom(*_: object, message: str = message) -> object:
            raise RuntimeError(message)

        monkeypatch.setitem(dispatcher._handlers, "boom", boom)
        found = parse(b'{"jsonrpc":"2.0","id":1,"method":"boom"}')
        assert isinstance(found, Request)
        reply = dispatcher.answer(found, CALL, lambda _: None)
        assert isinstance(reply, bytes)
        assert json.loads(reply)["error"]["code"] == kind.rpc
    assert dispatcher.defects == 1
