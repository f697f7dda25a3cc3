"""The benchmark client over a real socket."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.wire import BURST, WINDOW, RpcError, Wire, request, result_of
from tests.benchmarks.fake_daemon import serving
from tests.tables import each_row

Message = dict[str, Any]


def echoed(message: Message) -> Message:
    return {"jsonrpc": "2.0", "id": message["id"], "result": message["params"]}


def in_order(messages: list[Message]) -> list[Message]:
    return [echoed(message) for message in messages]


def backwards(messages: list[Message]) -> list[Message]:
    return [echoed(message) for message in reversed(messages)]


@each_row("answer", [in_order, backwards])
@each_row("count", [0, 1, BURST, WINDOW + 1, 1000])
def test_pipelined_results_come_in_the_order_of_the_requests(
    tmp_path: Path, answer: Callable[[list[Message]], list[Message]], count: int
) -> None:
    with serving(tmp_path / "sock", answer) as seen, Wire(tmp_path / "sock") as wire:
        results = list(wire.pipeline("store", ({"n": number} for number in range(count))))
        wire.close()
    assert results == [{"n": number} for number in range(count)]
    assert [message["params"]["n"] for message in seen] == list(range(count))


def test_never_more_than_a_window_is_unanswered(tmp_path: Path) -> None:
    drawn = 0
    most = 0

    def numbers() -> Any:
        nonlocal drawn
        for number in range(10 * WINDOW):
            drawn += 1
            yield {"n": number}

    with serving(tmp_path / "sock", in_order), Wire(tmp_path / "sock") as wire:
        for taken, _ in enumerate(wire.pipeline("store", numbers())):
            most = max(most, drawn - taken)
    assert most <= WINDOW


def test_a_call_gives_the_result_and_carries_its_parameters(tmp_path: Path) -> None:
    with serving(tmp_path / "sock", in_order) as seen, Wire(tmp_path / "sock") as wire:
        assert wire.call("get", id="x", text="日本") == {"id": "x", "text": "日本"}
        wire.close()
    assert [message["method"] for message in seen] == ["get"]


def test_an_error_is_raised_with_what_the_daemon_said(tmp_path: Path) -> None:
    def refuse(messages: list[Message]) -> list[Message]:
        return [
            {"jsonrpc": "2.0", "id": m["id"], "error": {"code": 1003, "message": "no such memory"}} for m in messages
        ]

    with (
        serving(tmp_path / "sock", refuse),
        Wire(tmp_path / "sock") as wire,
        pytest.raises(RpcError, match="no such memory"),
    ):
        wire.call("get")


def test_a_closed_connection_is_an_error(tmp_path: Path) -> None:
    with (
        serving(tmp_path / "sock", lambda _messages: []),
        Wire(tmp_path / "sock") as wire,
        pytest.raises(RpcError, match="closed"),
    ):
        wire.call("get")


def test_a_reply_to_nothing_is_an_error(tmp_path: Path) -> None:
    with (
        serving(tmp_path / "sock", lambda _messages: [{"id": 999, "result": {}}]),
        Wire(tmp_path / "sock") as wire,
        pytest.raises(RpcError, match="an unexpected reply"),
    ):
        list(wire.pipeline("store", [{}]))


def test_a_prepared_request_is_one_line() -> None:
    message = request(3, "remember", {"content": "two\nlines"})
    assert message.count(b"\n") == 1
    assert message.endswith(b"\n")


@each_row("line", [b"[]\n", b'{"id": 1, "result": []}\n'])
def test_results_that_are_no_objects_are_errors(line: bytes) -> None:
    with pytest.raises(RpcError, match="not an object"):
        result_of(line)
