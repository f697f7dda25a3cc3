"""Raw payloads of hooks on the socket: one line back, in the host's own shape, whatever happens."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from mnemond import errors
from mnemond.errors import MnemonError
from mnemond.wire.deferred import Deferred, in_task
from mnemond.wire.dispatch import Call
from mnemond.wire.hook_payload import HookEvent, read
from mnemond.wire.jsonrpc import Foreign, Refused, parse
from mnemond.wire.limits import Limits
from tests.tables import each_row
from tests.wire.factories import request, serving
from tests.wire.hooks.recorded import CONTEXT, Recorded, recorded

PROMPT = b'{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"why?"}'
PING = {"jsonrpc": "2.0", "id": 1, "result": {"value": True}}


def with_context(context: str) -> dict[str, object]:
    return {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": context}}


class Hearing:
    """Notes what it is told, and says what it is given: a text, a Deferred or something to raise."""

    def __init__(self, *says: str | Deferred[str] | Exception) -> None:
        self.says = list(says)
        self.heard: list[HookEvent] = []
        self.calls: list[Call] = []

    async def __call__(self, event: HookEvent, call: Call) -> str:
        self.heard.append(event)
        self.calls.append(call)
        said = self.says.pop(0) if len(self.says) > 1 else self.says[0]
        if isinstance(said, Exception):
            raise said
        return await said if isinstance(said, Deferred) else said


@each_row("ending", [b"", b"\n"])
@each_row("one", recorded())
async def test_every_host_gets_its_answer(one: Recorded, ending: bytes, tmp_path: Path) -> None:
    hearing = Hearing(CONTEXT)
    async with serving(tmp_path, hook_handler=hearing) as served:
        assert await served.talk(one.message + ending) == [one.says]
        payload = read(one.message)
        assert payload is not None
        assert hearing.heard == ([] if one.heard is None else [payload.event])
        assert served.server.counters.connections == 0


async def test_without_anybody_who_hears_all_is_well(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        assert await served.talk(PROMPT) == [{}]


async def test_what_takes_its_time_is_waited_for(tmp_path: Path) -> None:
    later: Deferred[str] = Deferred()
    settled: Deferred[str] = Deferred()
    settled.resolve("now")
    async with serving(tmp_path, hook_handler=Hearing(settled, later)) as served:
        client = await served.connect()
        assert await client.ask(PROMPT) == with_context("now")
        await client.send(PROMPT, request("ping"))
        assert await client.reply() == PING
        await wait_all_tasks_blocked()
        later.resolve("later")
        assert await client.reply() == with_context("later")


async def test_but_no_longer_than_a_hook_may_wait(mock_clock: MockClock, tmp_path: Path) -> None:
    never: Deferred[str] = Deferred()
    async with serving(tmp_path, Limits(hook_deadline_ms=250), Hearing(never)) as served:
        client = await served.connect()
        await client.send(PROMPT)
        client.half_close()
        await wait_all_tasks_blocked()
        assert served.server.counters.connections == 1
        mock_clock.jump(0.24)
        await wait_all_tasks_blocked()
        assert served.server.counters.connections == 1
        mock_clock.jump(0.02)
        assert await client.rest() == [{}]
        never.resolve("too late")  # whoever was at work may finish


async def test_what_has_to_be_waited_for_is_waited_for(mock_clock: MockClock, tmp_path: Path) -> None:
    ended: list[str] = []

    async def speak(seconds: float, text: str | Exception) -> str:
        await in_task(trio.sleep, seconds)
        ended.append(str(text))
        if isinstance(text, Exception):
            raise text
        return text

    waits: list[tuple[float, str | Exception]] = [
        (0.1, "in time"),
        (0.1, MnemonError(errors.STORAGE, "no disk")),
        (0.1, KeyError("k")),
        (9.0, "late"),
    ]

    def hearer(event: HookEvent, call: Call) -> Coroutine[Any, Any, str]:
        return speak(*waits.pop(0))

    async with serving(tmp_path, Limits(hook_deadline_ms=250), hearer) as served:
        client = await served.connect()
        for seconds, expected in ((0.1, with_context("in time")), (0.1, {}), (0.1, {}), (0.25, {})):
            await client.send(PROMPT)
            await wait_all_tasks_blocked()
            mock_clock.jump(seconds)
            assert await client.reply() == expected
        assert ended == ["in time", "no disk", "'k'"]
        mock_clock.jump(9.0)  # whoever was at work goes on to the end
        await wait_all_tasks_blocked()
        assert ended[-1] == "late"
        assert [str(each) for _, each in served.toys.defects] == ["'k'"]


@pytest.mark.parametrize("error", [MnemonError(errors.STORAGE, "no disk"), ZeroDivisionError("secret")])
async def test_no_error_reaches_a_host(error: Exception, tmp_path: Path) -> None:
    failing: Deferred[str] = Deferred()
    failing.fail(error)
    async with serving(tmp_path, hook_handler=Hearing(error, failing)) as served:
        assert await served.talk(PROMPT + b"\n" + PROMPT) == [{}, {}]
        wrong = [str(each) for _, each in served.toys.defects]
        assert wrong == ([] if isinstance(error, MnemonError) else ["secret", "secret"])


async def test_dialects_mix_on_one_connection(tmp_path: Path) -> None:
    async with serving(tmp_path, hook_handler=Hearing("a", "b")) as served:
        client = await served.connect()
        await client.send(PROMPT, request("ping"), b'{"agent_action_name":"pre_user_prompt"}', b'{"x":1}', PROMPT)
        first, second, third, fourth, fifth = await client.replies(5)
        assert (first, second, third, fifth) == (with_context("a"), PING, {}, with_context("b"))
        assert fourth["error"]["code"] == -32600  # type: ignore[index]


async def test_a_payload_in_a_batch_is_no_request(tmp_path: Path) -> None:
    async with serving(tmp_path, hook_handler=Hearing(CONTEXT)) as served:
        (answer,) = await served.talk(b"[" + PROMPT + b"," + request("ping") + b"]")
        assert isinstance(answer, list)
        assert [each.get("result", "error") for each in answer] == ["error", {"value": True}]


async def test_a_payload_of_any_length_is_taken_off_its_hosts_hands(tmp_path: Path) -> None:
    limits = Limits(max_message_bytes=70_000)
    payload = b'{"session_id":"s","hook_event_name":"PostToolUse","tool_response":"' + b"x" * 3_000_000
    async with serving(tmp_path, limits, Hearing(CONTEXT)) as served:
        for ending in (b'"}', b'"}\n', b'"}\n{"a":1}\n'):
            client = await served.connect()
            await client.send_raw(payload + ending)
            client.half_close()
            assert await client.rest() == [{}]
        (refused,) = await served.talk(b'{"jsonrpc":"2.0","method":"' + b"x" * 80_000)
        assert refused["error"]["data"]["code"] == "too_large"  # type: ignore[index]


async def test_a_payload_that_never_ends_is_answered_when_its_time_is_up(mock_clock: MockClock, tmp_path: Path) -> None:
    """A program that neither ends its line nor its stream: plain `nc -U`."""
    async with serving(tmp_path, Limits(message_timeout_s=5.0, sweep_s=0.5), Hearing(CONTEXT)) as served:
        client = await served.connect()
        await client.send_raw(PROMPT)
        await wait_all_tasks_blocked()
        for _ in range(12):
            mock_clock.jump(0.5)
            await wait_all_tasks_blocked()
        assert await client.rest() == [{}]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=5,
)
NAMES = st.sampled_from([
    "hook_event_name", "session_id", "prompt", "timestamp", "cwd", "clineVersion", "hookName", "agent_action_name",
    "tool_info", "toolName", "source", "error", "method", "id", "params", "result", "_meta",
])  # fmt: skip
EVENTS = st.sampled_from(["SessionStart", "UserPromptSubmit", "Stop", "BeforeAgent", "sessionStart", "pre_user_prompt"])


@given(st.lists(st.dictionaries(NAMES, EVENTS | JSON, max_size=6), min_size=1, max_size=8))
def test_an_object_that_is_no_request_gets_one_line(objects: list[dict[str, object]]) -> None:
    async def talk(path: Path) -> list[object]:
        async with serving(path, hook_handler=Hearing(CONTEXT)) as served:
            return await served.talk(b"".join(json.dumps(each).encode() + b"\n" for each in objects) + request("ping"))

    with tempfile.TemporaryDirectory() as folder:
        replies = trio.run(talk, Path(folder) / "d")
    assert len(replies) == len(objects) + 1
    assert replies[-1] == PING
    assert all(isinstance(each, dict) for each in replies)


@each_row(
    ("message", "whole"),
    [(b'{"a":1}', True), (b'{"a":', True), (b'{"a":"\xff"}', True), (b'{"a":' + b"[" * 65, False)],
)
def test_what_may_be_foreign(message: bytes, whole: bool) -> None:
    parsed = parse(message)
    assert isinstance(parsed, Foreign)
    assert (parsed.message, parsed.whole) == (message, whole)


@each_row("message", [b'{"jsonrpc":1}', b'"hook_event_name"', b"[" * 65, b"x", b"\xff"])
def test_what_may_not(message: bytes) -> None:
    parsed = parse(message)
    assert isinstance(parsed, Refused)
    assert not isinstance(parsed, Foreign)
