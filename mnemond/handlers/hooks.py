"""What the hooks of coding agents say, handed on to memory; what memory has to say, handed back."""

from __future__ import annotations

from typing import Protocol

import msgspec

from mnemond.model.agent_event import AgentEvent, Host, Moment
from mnemond.protocol.hooks.heard import Heard, Payload
from mnemond.protocol.hooks.replies import takes_context
from mnemond.server.call import Call
from mnemond.server.hooks import Said


class Remembering(Protocol):
    """What memory does at the moments of an agent's session."""

    def at(self, event: AgentEvent, call: Call) -> Said:
        """What is to be said to the model, empty for nothing. What takes longer than a hook may wait goes on by
        itself. Raises MnemonError when nothing can be done."""
        ...


class HookHandler:
    """The one who is told, for the server."""

    def __init__(self, memory: Remembering) -> None:
        self._memory = memory

    def __call__(self, payload: Payload, call: Call) -> Said:
        """What memory has to say. Raises MnemonError."""
        return "" if payload.heard is None else self._memory.at(event_of(payload, payload.heard), call)


def event_of(payload: Payload, heard: Heard) -> AgentEvent:
    """The same in the words of memory."""
    fields = msgspec.structs.asdict(heard)
    known = {"host": Host(payload.host), "moment": Moment(heard.moment), "hears": takes_context(payload)}
    return AgentEvent(**{**fields, **known})
