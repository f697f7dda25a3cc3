"""Hooks of coding agents: a bare payload in, the bare answer of its host out, in time and whatever happens."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final, TypeAlias

import trio

from mnemond.clock import monotonic_s
from mnemond.errors import MnemonError
from mnemond.protocol.envelope import Foreign, encode_error
from mnemond.protocol.hooks.heard import Payload
from mnemond.protocol.hooks.payload import read
from mnemond.protocol.hooks.replies import reply
from mnemond.server.call import Call
from mnemond.server.deferred import Deferred
from mnemond.server.dispatch import Dispatcher, Reply, Spawn

Said: TypeAlias = "str | Deferred[str] | Coroutine[Any, Any, str]"
"""What is to be said, empty for nothing: now, later, or once the coroutine has run."""

Hearer: TypeAlias = Callable[[Payload, Call], Said]
"""Told what was heard; returns what is to be said. May raise anything. A coroutine runs to its end, whether or not
anybody still waits for what it says."""

NAME: Final = "(hook)"
"""By which they are counted among the methods."""


class Hooks:
    """Answers what is no JSON-RPC. Defects end at the dispatcher's boundary, and the host never hears of them."""

    def __init__(self, hearer: Hearer | None, dispatcher: Dispatcher) -> None:
        """Without a hearer every payload is answered, and nothing is ever said."""
        self._hearer = hearer
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
        if payload.heard is None or self._hearer is None:
            return reply(payload)
        said: Said = ""
        with self._boundary():
            said = self._heard_by(self._hearer, payload, call)
        if isinstance(said, Coroutine):
            said = self._spawned(said, spawn)
        if isinstance(said, Deferred):
            return self._in_time(payload, said, spawn, within_s)
        return reply(payload, said)

    def _spawned(self, coroutine: Coroutine[Any, Any, str], spawn: Spawn) -> Deferred[str]:
        said: Deferred[str] = Deferred()

        async def run() -> None:
            text = ""
            with self._boundary():
                try:
                    text = await coroutine
                except MnemonError:
                    text = ""
            said.resolve(text)

        spawn(run)
        return said

    def _heard_by(self, hearer: Hearer, payload: Payload, call: Call) -> Said:
        """A refusal is no news for a host; whoever uses the store next hears of it."""
        try:
            return hearer(payload, call)
        except MnemonError:
            return ""

    def _in_time(self, payload: Payload, said: Deferred[str], spawn: Spawn, within_s: float) -> Reply | Deferred[Reply]:
        if said.settled:
            return self._said(payload, said)
        answer: Deferred[Reply] = Deferred()
        settled = trio.Event()
        said.subscribe(settled.set)

        async def wait() -> None:
            with trio.move_on_after(within_s):
                await settled.wait()
            answer.resolve(self._said(payload, said) if said.settled else reply(payload))

        spawn(wait)
        return answer

    def _said(self, payload: Payload, said: Deferred[str]) -> bytes:
        text = ""
        with self._boundary():
            try:
                text = said.result()
            except MnemonError:
                text = ""
        return reply(payload, text)
