"""Hooks of coding agents: a bare payload in, the bare answer of its host out, in time and whatever happens."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

import msgspec
import trio

from mnemond.clock import monotonic_s
from mnemond.errors import MnemonError
from mnemond.wire.deferred import Deferred, Spawn, run_now
from mnemond.wire.dispatch import Call, Dispatcher, Reply
from mnemond.wire.hook_payload import HostName, Payload, read
from mnemond.wire.jsonrpc import Foreign, clean, encode_error

# What a hook prints: the answer in the shape its host takes, a context where it takes one at that moment.


MAX_CONTEXT = 9_000
"""UTF-16 units of a context. At 10,000 Claude Code shows the model a file name instead, and Codex cuts the middle out
(measured); both count as JavaScript does."""

_LAST_LINE = 200
"""Units of a last line that is kept when a text is cut: the end of its fence."""

_FOUR: Final = frozenset(("SessionStart", "UserPromptSubmit", "SubagentStart", "PostToolUse"))

TAKES_CONTEXT: Final[Mapping[HostName, frozenset[str]]] = {
    "claude-code": _FOUR | {"PostToolBatch", "PostToolUseFailure"},
    "codex": _FOUR,
    "gemini": frozenset(("SessionStart", "BeforeAgent", "AfterTool")),
    "cursor": _FOUR | {"sessionStart", "beforeSubmitPrompt", "postToolUse"},
    "copilot-cli": frozenset((
        "sessionStart", "subagentStart", "postToolUse", "postToolUseFailure",
        "SessionStart", "SubagentStart", "PostToolUse", "PostToolUseFailure",
    )),
    "windsurf": frozenset(),
    "cline": frozenset(("TaskStart", "TaskResume", "UserPromptSubmit", "PostToolUse")),
}  # fmt: skip
"""Events at which a host shows the model what a hook says. Never at the end of a turn: there a context starts another
turn, and then another. Never before a compaction or at the end of a session, where Codex refuses the whole answer."""

_encoder = msgspec.json.Encoder()


def takes_context(payload: Payload) -> bool:
    """Whether a context would reach the model."""
    return payload.event in TAKES_CONTEXT[payload.host]


def reply(payload: Payload, context: str = "") -> bytes:
    """One line without its newline: `context`, bounded, where the host takes it; else that all is well.

    Only keys that the host knows: Codex refuses an answer with any other.
    """
    return _encoder.encode(_shaped(payload, bounded(clean(context)) if takes_context(payload) else ""))


def _shaped(payload: Payload, context: str) -> Mapping[str, object]:
    event = payload.event
    if payload.host == "cline":
        return {"cancel": False, "contextModification": context, "errorMessage": ""}
    if not context:
        return {}
    if payload.host == "cursor" and event[:1].islower():
        going_on = {"continue": True} if event == "beforeSubmitPrompt" else {}
        return {**going_on, "additional_context": context}
    plain = {"additionalContext": context} if payload.host == "copilot-cli" else {}
    if plain and event[:1].islower():
        return plain
    # Of VS Code's agents and Copilot CLI, which send the same, each reads one of the two.
    return {**plain, "hookSpecificOutput": {"hookEventName": event, "additionalContext": context}}


def bounded(text: str, most: int = MAX_CONTEXT) -> str:
    """The text, cut at a line's end if it is too long, with its last line where that is short: it closes a fence."""
    if units(text) <= most:
        return text
    body = text.rstrip("\n")
    last = body[body.rfind("\n") + 1 :]
    last = f"…\n{last}\n" if units(last) <= _LAST_LINE else "…\n"
    room = most - units(last)
    head = text.encode("utf-16-le")[: 2 * room].decode("utf-16-le", "ignore")
    return head[: head.rfind("\n") + 1 or len(head)] + last


def units(text: str) -> int:
    """How long JavaScript finds a text."""
    return len(text) + sum(1 for each in text if each > "\uffff") if not text.isascii() else len(text)


HookHandler: TypeAlias = Callable[[Payload, Call], Coroutine[Any, Any, str]]
"""Returns the text for the model, empty for none. Awaits nothing but Deferreds; may raise anything. It runs to its end,
whether or not the host still waits."""

NAME: Final = "(hook)"
"""By which they are counted among the methods."""


class Hooks:
    """Answers what is no JSON-RPC. Defects end at the dispatcher's boundary, and the host never hears of them."""

    def __init__(self, handler: HookHandler | None, dispatcher: Dispatcher) -> None:
        """Without a handler every payload gets an empty answer."""
        self._handler = handler
        self._boundary = dispatcher.boundary
        self._note = dispatcher.note

    def answer(self, foreign: Foreign, call: Call, spawn: Spawn, within_s: float) -> Reply | Deferred[Reply]:
        """The host's answer, at the latest after `within_s`; the error if the message is nobody's payload."""
        begun_s = monotonic_s()
        payload = read(foreign.message, whole=foreign.whole)
        if payload is None:
            return encode_error(foreign.id, foreign.error)
        answer = self._answer(payload, call, spawn, within_s)
        if isinstance(answer, Deferred):
            answer.subscribe(partial(self._note, NAME, begun_s))
        else:
            self._note(NAME, begun_s)
        return answer

    def _answer(self, payload: Payload, call: Call, spawn: Spawn, within_s: float) -> Reply | Deferred[Reply]:
        if payload.heard is None or self._handler is None:
            return reply(payload)
        text = run_now(self._call_handler(self._handler, payload, call), spawn)
        return self._in_time(payload, text, spawn, within_s) if isinstance(text, Deferred) else reply(payload, text)

    async def _call_handler(self, handler: HookHandler, payload: Payload, call: Call) -> str:
        """A refusal is no news for a host: the next request that uses the store reports it. A defect is recorded even
        where the host has its empty answer already."""
        with self._boundary():
            try:
                return await handler(payload, call)
            except MnemonError:
                return ""
        return ""

    def _in_time(self, payload: Payload, text: Deferred[str], spawn: Spawn, within_s: float) -> Deferred[Reply]:
        answer: Deferred[Reply] = Deferred()
        settled = trio.Event()
        text.subscribe(settled.set)

        async def wait() -> None:
            with trio.move_on_after(within_s):
                await settled.wait()
            answer.resolve(reply(payload, text.result() if text.settled else ""))

        spawn(wait)
        return answer
