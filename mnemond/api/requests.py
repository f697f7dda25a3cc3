"""Handing a write to a store's writer, and its outcome to whoever asked."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Final, Protocol

import msgspec

from mnemond.api.store_access import OpenStore, R
from mnemond.api.types_extract import ExtractParams
from mnemond.api.types_memories import RememberParams
from mnemond.clock import Clock
from mnemond.errors import AMBIGUOUS, NOT_FOUND, MnemonError, invalid
from mnemond.ids import Ids, nonce
from mnemond.index.snapshot import Snapshot
from mnemond.memory.draft import WriteContext, op_id_problems
from mnemond.model.memory import Insight, Scope
from mnemond.model.outcomes import Outcome
from mnemond.store.operations import Proposal, Write
from mnemond.wire.deferred import Deferred
from mnemond.wire.params import Params, ScopedWriteParams

_json = msgspec.json.Encoder(order="deterministic")

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

    def of(self, warm: OpenStore, params: Params, triggered_by: str | None = None) -> WriteContext:
        """The identity of one write; `params` may carry an `op_id` of the caller's, and the conversation it is part
        of, which caused it unless `triggered_by` did.

        Raises MnemonError(INVALID_PARAMS) for an `op_id` that no write may be called by.
        """
        op_id: str | None = getattr(params, "op_id", None)
        if op_id is not None and (problems := op_id_problems(op_id)):
            raise invalid(problems, hint="nothing was written")
        return WriteContext(
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

    def own(self, store: str, triggered_by: str) -> WriteContext:
        """The identity of a write of the daemon's own, which nobody repeats."""
        op_id, now_us = self._ids.new(), self._clock.now_us()
        return WriteContext(
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
    form = _digest_form(type(params))
    fields = (None if name in ("op_id", "store") else getattr(params, name) for name in form.__struct_fields__)
    return hashlib.blake2b(_json.encode(form(*fields)), digest_size=16).hexdigest()


@cache
def _digest_form(kind: type[Params]) -> type[msgspec.Struct]:
    """The fields of a request in the order of the digests that stores keep, which is none of the declarations: another
    order would make a repeat look like another request."""
    scope: tuple[str, ...] = ("user_id", "session_id", "agent_id") if issubclass(kind, ScopedWriteParams) else ()
    names = [name for name in kind.__struct_fields__ if name not in (*scope, "op_id", "store")]
    place = len(names)
    if kind in (RememberParams, ExtractParams):
        place, scope = names.index("conversation_id") + 1, ("session_id", "user_id", "agent_id")
    return msgspec.defstruct("Digest", [*names[:place], *scope, *names[place:], "op_id", "store"])


def _look_for_missing(warm: OpenStore, outcome: Outcome) -> None:
    """Have a memory embedded that was stored without a vector."""
    if getattr(outcome, "embedded", True) or warm.on_missing_vector is None:
        return
    snapshot = warm.store.snapshot
    if snapshot.embedded < snapshot.live:
        warm.on_missing_vector(warm.store.name)


def _let_go_of_purged(warm: OpenStore, outcome: Outcome) -> None:
    """Whether or not whoever asked still waits."""
    if getattr(outcome, "status", None) == "purged" and warm.on_purged is not None:
        warm.on_purged()


def submit(warm: OpenStore, write: Write) -> Deferred[Outcome]:
    """Queue a write. Its outcome is there once it is committed and the index has it.

    Its vectors must be those of `warm.embedder`. Raises MnemonError(BUSY) when too many writes wait.
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
    return deferred


async def submitted(warm: OpenStore, write: Write, kind: type[R]) -> R:
    """Queue a write and return its outcome, which is a `kind`, once it is committed."""
    outcome = await submit(warm, write)
    assert isinstance(outcome, kind), "a method has outcomes of one kind"  # noqa: S101
    return warm.marked(outcome)


# Finding the one memory that an id, or the beginning of one, names.


SHOWN = 5
"""Matches an ambiguous prefix lists."""


def one_active(snapshot: Snapshot, id_or_prefix: str) -> Insight:
    """The active insight that `id_or_prefix` names.

    Raises MnemonError(NOT_FOUND), or MnemonError(AMBIGUOUS) with the matches.
    """
    found = snapshot.find(id_or_prefix.casefold())
    row = snapshot.row_of(found[0]) if len(found) == 1 else None
    if row is not None:
        return snapshot.insight(row)
    if not found:
        raise MnemonError(
            NOT_FOUND,
            f"no active memory with id {id_or_prefix[:64]!a}",
            hint="see `mnemonctl list`; `mnemonctl list --retired` shows those out of recall,"
            " `mnemonctl restore ID` brings one back",
            outcome="rejected",
        )
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    raise MnemonError(
        AMBIGUOUS,
        f"{id_or_prefix} is the beginning of {len(found)} ids: {', '.join(found[:SHOWN])}{more}",
        hint="write more of the id",
        outcome="rejected",
    )


# Whom a request says it is for.


class Scoped(Protocol):
    """Parameters that carry the three scope ids."""

    @property
    def user_id(self) -> str | None:
        """None: anybody."""
        ...

    @property
    def session_id(self) -> str | None:
        """None: any, or none."""
        ...

    @property
    def agent_id(self) -> str | None:
        """None: any."""
        ...


def scope_of(params: Scoped) -> Scope:
    """The scope ids of a request."""
    return Scope(params.user_id, params.session_id, params.agent_id)
