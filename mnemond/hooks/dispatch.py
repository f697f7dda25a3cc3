"""What an agent is doing at a moment, whichever host says so."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

import msgspec

from mnemond.wire.dispatch import Call
from mnemond.wire.hook_payload import HookEvent, Payload
from mnemond.wire.hooks import takes_context


class Moment(StrEnum):
    """The moments at which a host calls, under one name for all hosts."""

    SESSION_START = "session_start"
    PROMPT = "prompt"
    TOOL_BATCH = "tool_batch"
    TOOL_FAILURE = "tool_failure"
    ASSISTANT_DONE = "assistant_done"
    PRE_COMPACT = "pre_compact"
    POST_COMPACT = "post_compact"
    SUBAGENT_START = "subagent_start"
    SUBAGENT_DONE = "subagent_done"
    SESSION_END = "session_end"


class Host(StrEnum):
    """Who calls: the agent whose payload was recognised."""

    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    GEMINI = "gemini"
    CURSOR = "cursor"
    COPILOT_CLI = "copilot-cli"
    WINDSURF = "windsurf"
    CLINE = "cline"


class AgentEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One moment of one session. What a host does not say is empty.

    `session` is the host's own name of the session, `turn` of what began with one prompt; `cwd` the directory the
    agent works in, an absolute path that is never opened. `text` is what the moment is about: the prompt, the last
    message of the assistant, the summary of a compaction, the task of a subagent. `prompt` is the prompt that an
    assistant's message answers, where the host repeats it. `source` says how a session began or ended. `agent` names
    the subagent that the moment happens in. `again`: the host says that a hook has already kept this turn going.
    `hears`: what is said at this moment reaches the model.
    """

    host: Host
    moment: Moment
    session: str
    turn: str = ""
    cwd: str = ""
    text: str = ""
    prompt: str = ""
    source: str = ""
    agent: str = ""
    again: bool = False
    hears: bool = True


# What the hooks of coding agents say, handed on to memory; what memory has to say, handed back.


class Remembering(Protocol):
    """What memory does at the moments of an agent's session."""

    async def at(self, event: AgentEvent, call: Call) -> str:
        """The text for the model, empty for none. What takes longer than a hook may wait goes on by itself. Raises
        MnemonError when nothing can be done."""
        ...


class HookHandler:
    """The one who is told, for the server."""

    def __init__(self, memory: Remembering) -> None:
        self._memory = memory

    async def __call__(self, payload: Payload, call: Call) -> str:
        """The text for the model. Raises MnemonError."""
        return "" if payload.heard is None else await self._memory.at(event_of(payload, payload.heard), call)


def event_of(payload: Payload, heard: HookEvent) -> AgentEvent:
    """The same in the words of memory."""
    fields = msgspec.structs.asdict(heard)
    known = {"host": Host(payload.host), "moment": Moment(heard.moment), "hears": takes_context(payload)}
    return AgentEvent(**{**fields, **known})
