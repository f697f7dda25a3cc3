"""What hooks say, in the words of memory."""

from __future__ import annotations

import json

import msgspec
import pytest

from mnemond.hooks.dispatch import AgentEvent, HookHandler, Host, Moment
from mnemond.wire.dispatch import Call
from mnemond.wire.hook_payload import Payload, read
from tests.api.factories import CALL
from tests.wire.hooks.recorded import CONTEXT, Recorded, recorded


class Memory:
    """Notes the events."""

    def __init__(self) -> None:
        self.events: list[AgentEvent] = []

    async def at(self, event: AgentEvent, call: Call) -> str:
        assert call is CALL
        self.events.append(event)
        return "said"


@pytest.mark.parametrize("one", recorded(), ids=lambda one: f"{one.host}-{one.event}")
async def test_memory_is_told_the_same(one: Recorded) -> None:
    payload = read(one.message)
    assert payload is not None
    memory = Memory()
    assert await HookHandler(memory)(payload, CALL) == ("" if one.heard is None else "said")
    told = [
        {name: value for name, value in msgspec.structs.asdict(event).items() if value not in ("", False)}
        for event in memory.events
    ]
    hears = {"hears": True} if CONTEXT in json.dumps(one.says) else {}
    assert told == ([] if one.heard is None else [{"host": Host(one.host), **one.heard, **hears}])
    assert {type(event.moment) for event in memory.events} <= {Moment}


async def test_an_event_that_memory_does_not_mind() -> None:
    assert await HookHandler(Memory())(Payload("claude-code", "PreToolUse"), CALL) == ""
