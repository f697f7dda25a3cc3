"""Requests meet handlers."""

from __future__ import annotations

import pytest
import trio

from mnemond import errors
from mnemond.errors import MnemonError
from mnemond.server.call import Call
from mnemond.server.dispatch import Dispatcher
from tests.server.toys import METHODS, Answer, Nothing, Pair, Toys

CALL = Call(1, 2, 3)


def test_the_start_fails_when_methods_and_handlers_differ() -> None:
    handlers = Toys().handlers()
    del handlers["ping"]
    handlers["pong"] = lambda *_: None
    with pytest.raises(ValueError, match="differ in: ping, pong"):
        Dispatcher(METHODS, handlers, on_defect=lambda *_: None)
    with pytest.raises(ValueError, match="differ in: zzz"):
        Dispatcher(METHODS, Toys().handlers(), problems={"zzz": lambda _: []}, on_defect=lambda *_: None)


def test_invoke_takes_structs_and_json() -> None:
    dispatcher = Toys().dispatcher()
    assert dispatcher.invoke("subtract", Pair(minuend=3, subtrahend=1), CALL) == Answer(2)
    assert dispatcher.invoke("subtract", b"[3, 1]", CALL) == Answer(2)
    assert dispatcher.invoke("ping", None, CALL) == Answer(True)


@pytest.mark.parametrize(
    ("name", "params", "kind"),
    [
        ("nothing", None, errors.METHOD_NOT_FOUND),
        ("ping", b'{"x":1}', errors.INVALID_PARAMS),
        ("subtract", b'{"minuend":"\xff"}', errors.PARSE),
        ("deny", Nothing(), errors.UNSUPPORTED),
    ],
)
def test_invoke_refuses(name: str, params: bytes | None, kind: errors.Kind) -> None:
    with pytest.raises(MnemonError) as caught:
        Toys().dispatcher().invoke(name, params, CALL)
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
