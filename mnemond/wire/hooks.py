"""Hooks of coding agents: a bare payload comes in, the bare answer of its host goes out, in time and in any case."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final, Literal, TypeAlias

import msgspec
import trio

from mnemond.clock import monotonic_s
from mnemond.config.hosts import Moment, described, filled
from mnemond.errors import MnemonError
from mnemond.wire.deferred import Deferred, Spawn, run_now
from mnemond.wire.dispatch import Call, Dispatcher, Reply
from mnemond.wire.hook_payload import HookEvent, Payload, read
from mnemond.wire.jsonrpc import Foreign, clean, encode_error


class Verdict(msgspec.Struct, frozen=True):
    """An answer before a call of a tool: refuse it, or let its user decide, with the reason."""

    decision: Literal["ask", "deny"]
    reason: str


class Opening(msgspec.Struct, frozen=True):
    """An answer at the beginning of a session: the text for the model, and a line for the person."""

    context: str
    notice: str


HookReply: TypeAlias = str | Verdict | Opening
"""The text for the model, empty for none; a Verdict only before a call of a tool, an Opening only when a session
begins."""

HookHandler: TypeAlias = Callable[[HookEvent, Call], Coroutine[Any, Any, HookReply]]
"""Awaits nothing but Deferreds; may raise anything. It runs to its end even if the host no longer waits."""

LATENCY_NAME: Final = "(hook)"
"""The name of hooks among the methods whose latencies are counted."""


class Hooks:
    """Answers messages that are not JSON-RPC. Defects end at the dispatcher's boundary; the host does not see them."""

    def __init__(self, handler: HookHandler | None, dispatcher: Dispatcher) -> None:
        """Without a handler every payload gets an empty answer."""
        self._handler = handler
        self._boundary = dispatcher.boundary
        self._note = dispatcher.latencies.note
        dispatcher.latencies.add_methods((LATENCY_NAME,))

    def answer(self, foreign: Foreign, call: Call, spawn: Spawn, within_s: float) -> Reply | Deferred[Reply]:
        """Return the host's answer, after `within_s` at the latest; the error if the message is not a payload."""
        begun_s = monotonic_s()
        payload = read(foreign.message, whole=foreign.whole)
        if payload is None:
            return encode_error(foreign.id, foreign.error)
        answer = self._answer(payload, call, spawn, within_s)
        if isinstance(answer, Deferred):
            answer.subscribe(partial(self._note, LATENCY_NAME, begun_s))
        else:
            self._note(LATENCY_NAME, begun_s)
        return answer

    def _answer(self, payload: Payload, call: Call, spawn: Spawn, within_s: float) -> Reply | Deferred[Reply]:
        if payload.event is None or self._handler is None:
            return reply(payload)
        text = run_now(self._text(self._handler, payload.event, call), spawn)
        return self._in_time(payload, text, spawn, within_s) if isinstance(text, Deferred) else reply(payload, text)

    async def _text(self, handler: HookHandler, event: HookEvent, call: Call) -> HookReply:
        """A MnemonError is of no use to a host: the next request that uses the store reports it. A defect is logged
        even if the host has its empty answer already."""
        with self._boundary():
            try:
                return await handler(event, call)
            except MnemonError:
                return ""
        return ""

    def _in_time(self, payload: Payload, text: Deferred[HookReply], spawn: Spawn, within_s: float) -> Deferred[Reply]:
        answer: Deferred[Reply] = Deferred()
        settled = trio.Event()
        text.subscribe(settled.set)

        async def wait() -> None:
            with trio.move_on_after(within_s):
                await settled.wait()
            answer.resolve(reply(payload, text.result() if text.settled else ""))

        spawn(wait)
        return answer


# ---------------------------------------------------------------- what a hook prints: the answer in its host's shape

MAX_CONTEXT = 9_000
"""UTF-16 units of a context. At 10,000 Claude Code shows the model a file name instead, and Codex cuts the middle out
(measured); both count as JavaScript does."""

_LAST_LINE = 200
"""Units of a last line that is kept when a text is cut: the end of its fence."""

_encoder = msgspec.json.Encoder()


def reply(payload: Payload, said: HookReply = "") -> bytes:
    """Return one line without its newline: what is said, bounded, if the host takes it; else that all is well.

    Only keys that the host knows: Codex refuses an answer with any other.
    """
    about, event = described(payload.host), payload.name
    answers = about.answers_at(event)
    template, text, decision = answers.nothing, "", ""
    if isinstance(said, Verdict):
        calls = payload.event is not None and payload.event.moment is Moment.TOOL_USE
        if calls and (said.decision == "deny" or about.asks):  # else the call passes
            template, text, decision = answers.verdict, said.reason, said.decision
    elif event in about.context:
        text, notice = (said.context, said.notice) if isinstance(said, Opening) else (said, "")
        template = answers.at.get(event, answers.context) if text else template
        if notice and about.shows_notices:
            template = {"systemMessage": bounded(clean(notice)), **template}
    return _encoder.encode(filled(template, {"{event}": event, "{text}": bounded(clean(text)), "{decision}": decision}))


def bounded(text: str, most: int = MAX_CONTEXT) -> str:
    """Return the text, cut at the end of a line if it is too long, with its last line if that is short: it closes a
    fence."""
    if units(text) <= most:
        return text
    body = text.rstrip("\n")
    last = body[body.rfind("\n") + 1 :]
    last = f"…\n{last}\n" if units(last) <= _LAST_LINE else "…\n"
    head = first_units(text, most - units(last))
    return head[: head.rfind("\n") + 1 or len(head)] + last


def units(text: str) -> int:
    """Return the length of a text in UTF-16 units, as JavaScript counts."""
    return len(text) if text.isascii() else len(text) + sum(1 for each in text if each > "\uffff")


def first_units(text: str, most: int) -> str:
    """Return the longest beginning of a text that has at most so many UTF-16 units."""
    return text if units(text) <= most else text.encode("utf-16-le")[: 2 * most].decode("utf-16-le", "ignore")
