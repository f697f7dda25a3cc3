"""Handing a write to a store's writer, and its outcome to whoever asked."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Final

import msgspec

from mnemond.clock import Clock
from mnemond.errors import MnemonError, invalid
from mnemond.handlers.door import OpenStore
from mnemond.ids import Ids, nonce
from mnemond.model.outcomes import Outcome
from mnemond.pipelines.fields import op_id_problems
from mnemond.pipelines.identity import Identity
from mnemond.protocol.types import Params, Result
from mnemond.server.deferred import Deferred
from mnemond.store.proposal import Proposal, Write

_json = msgspec.json.Encoder(order="deterministic")

Render = Callable[[OpenStore, Any], Result]
"""From an outcome to its shape on the wire; given the store as it is after the commit."""


USER: Final = "user"
"""Who caused a write where nobody else is known."""

OTHERS: Final = ("host:", "system:")
"""How the others begin who cause writes: a tool, and a job of the daemon's own (spec 15)."""


class Identities:
    """Names and times for writes."""

    def __init__(self, clock: Clock, ids: Ids) -> None:
        self._clock = clock
        self._ids = ids

    def nonce(self) -> str:
        """Sixteen hexadecimal digits that nobody can guess."""
        return nonce(self._ids)

    def of(self, warm: OpenStore, params: Params, triggered_by: str | None = None) -> Identity:
        """The identity of one write; `params` may carry an `op_id` of the caller's, and the conversation it is part
        of, which caused it unless `triggered_by` did.

        Raises MnemonError(INVALID_PARAMS) for an `op_id` that no write may be called by.
        """
        op_id: str | None = getattr(params, "op_id", None)
        if op_id is not None and (problems := op_id_problems(op_id)):
            raise invalid(problems, hint="nothing was written")
        return Identity(
            id=self._ids.new(),
            op_id=op_id or self._ids.new(),
            client_op_id=op_id is not None,
            now_us=self._clock.now_us(),
            store=warm.store.name,
            request_digest=digest(params),
            triggered_by=triggered_by or _conversation(params) or USER,
        )

    def now_us(self) -> int:
        """What time it is, microseconds."""
        return self._clock.now_us()

    def own(self, store: str, triggered_by: str) -> Identity:
        """The identity of a write of the daemon's own, which nobody repeats."""
        op_id, now_us = self._ids.new(), self._clock.now_us()
        return Identity(
            id=self._ids.new(), op_id=op_id, client_op_id=False, now_us=now_us, store=store, request_digest="",
            triggered_by=triggered_by,
        )  # fmt: skip


def _conversation(params: Params) -> str | None:
    """The conversation of a request as the history names it; None when there is none. One whose id reads as somebody
    else's is marked, so that nobody passes for a job."""
    named: object = getattr(params, "conversation_id", None)
    if not isinstance(named, str):
        return None
    return f"conversation:{named}" if named == USER or named.startswith(OTHERS) else named


def digest(params: Params) -> str:
    """What a request asks for, apart from its op_id: tells a repeat from a different request. Empty without an op_id,
    when nobody can repeat it."""
    if getattr(params, "op_id", None) is None:
        return ""
    bare = msgspec.structs.replace(params, op_id=None, store=None)
    return hashlib.blake2b(_json.encode(bare), digest_size=16).hexdigest()


def _look_for_missing(warm: OpenStore, outcome: Outcome) -> None:
    """Have a memory embedded that was stored without a vector."""
    if getattr(outcome, "embedded", True) or warm.on_missing is None:
        return
    snapshot = warm.store.snapshot
    if snapshot.embedded < snapshot.live:
        warm.on_missing(warm.store.name)


def _let_go_of_purged(warm: OpenStore, outcome: Outcome) -> None:
    """Whether or not whoever asked still waits."""
    if getattr(outcome, "purged", False) and warm.on_purged is not None:
        warm.on_purged()


def submitted(warm: OpenStore, write: Write, render: Render) -> Deferred[Result]:
    """The result of a write, once it is committed and the index has it.

    Its vectors must be those of `warm.embedder`.
    """
    deferred: Deferred[Outcome] = Deferred()

    def done(result: Outcome | MnemonError) -> None:
        if isinstance(result, MnemonError):
            result.degraded_reason = warm.degraded_reason
            deferred.fail(result)
        else:
            _let_go_of_purged(warm, result)
            deferred.resolve(result)
            _look_for_missing(warm, result)

    if warm.embedder is not None and isinstance(write, Proposal):
        write = write._replace(made_by=warm.embedder.fingerprint)
    warm.store.submit(write, done)
    return deferred.map(lambda outcome: warm.marked(render(warm, outcome)))
