"""Common parts of handlers: write contexts, submission of writes, lookup of a memory by id, and scopes."""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Final, Protocol

import msgspec

from mnemond.api.store_access import OpenStore, R
from mnemond.api.types_changes import MergeParams
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
"""`triggered_by` of a write without a conversation."""

OTHERS: Final = ("host:", "system:")
"""Prefixes of `triggered_by` for tools, and for jobs of the daemon."""


class Identities:
    """Creates the ids and times of writes."""

    def __init__(self, clock: Clock, ids: Ids) -> None:
        self._clock = clock
        self._ids = ids

    def nonce(self) -> str:
        """Return sixteen unguessable hexadecimal digits."""
        return nonce(self._ids)

    def of(self, warm: OpenStore, params: Params, triggered_by: str | None = None) -> WriteContext:
        """Return the context of a client's write, with the `op_id` of `params` if given. `triggered_by` defaults to the
        conversation of `params`.

        Raises MnemonError(INVALID_PARAMS) for an invalid `op_id`.
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
        """Return the current time in microseconds."""
        return self._clock.now_us()

    def own(self, store: str, triggered_by: str) -> WriteContext:
        """Return the context of a write by the daemon itself, which has no repeats."""
        op_id, now_us = self._ids.new(), self._clock.now_us()
        return WriteContext(
            id=self._ids.new(), op_id=op_id, client_op_id=False, now_us=now_us, store=store, request_digest="",
            triggered_by=triggered_by,
        )  # fmt: skip


def _conversation(params: Params) -> str | None:
    """Return the conversation of a request for the history, or None. An id that looks like another cause gets a prefix,
    so that it cannot impersonate a job."""
    named: object = getattr(params, "conversation_id", None)
    if not isinstance(named, str):
        return None
    return f"conversation:{named}" if named == USER or named.startswith(OTHERS) else named


def digest(params: Params) -> str:
    """Hash the parameters except the op_id, to distinguish a repeat from another request. Empty without an op_id, as
    such a request cannot be repeated."""
    if getattr(params, "op_id", None) is None:
        return ""
    form = _digest_form(type(params))
    fields = (None if name in ("op_id", "store") else getattr(params, name) for name in form.__struct_fields__)
    return hashlib.blake2b(_json.encode(form(*fields)), digest_size=16).hexdigest()


@cache
def _digest_form(kind: type[Params]) -> type[msgspec.Struct]:
    """Fields of a request in the order of the digests that stores keep, which differs from the declarations: with
    another order a repeat would look like another request."""
    scope: tuple[str, ...] = ("user_id", "session_id", "agent_id") if issubclass(kind, ScopedWriteParams) else ()
    names = [name for name in kind.__struct_fields__ if name not in (*scope, "op_id", "store")]
    if kind is MergeParams:
        names.remove("dry_run")  # a dry run is not recorded
    place = len(names)
    if kind in (RememberParams, ExtractParams):
        place, scope = names.index("conversation_id") + 1, ("session_id", "user_id", "agent_id")
    return msgspec.defstruct("Digest", [*names[:place], *scope, *names[place:], "op_id", "store"])


def submit(warm: OpenStore, write: Write) -> Deferred[Outcome]:
    """Queue a write; the result resolves once it is committed and the index has it.

    Its vectors must be those of `warm.embedder`. Raises MnemonError(BUSY) if the queue is full.
    """
    deferred: Deferred[Outcome] = Deferred()

    def done(result: Outcome | MnemonError) -> None:
        if isinstance(result, MnemonError):
            result.degraded_reason = warm.degraded_reason
            deferred.fail(result)
            return
        if getattr(result, "status", None) == "purged" and warm.on_purged is not None:
            warm.on_purged()  # even if the client has left
        deferred.resolve(result)
        if not getattr(result, "embedded", True) and warm.on_missing_vector is not None:
            snapshot = warm.store.snapshot
            if snapshot.embedded < snapshot.live:
                warm.on_missing_vector(warm.store.name)

    if warm.embedder is not None and isinstance(write, Proposal):
        write = write._replace(made_by=warm.embedder.fingerprint)
    warm.store.submit(write, done)
    return deferred


async def submitted(warm: OpenStore, write: Write, kind: type[R]) -> R:
    """Queue a write and return its outcome, a `kind`, once it is committed."""
    outcome = await submit(warm, write)
    assert isinstance(outcome, kind), "a method has outcomes of one kind"  # noqa: S101
    return warm.marked(outcome)


# Lookup by id.

SHOWN = 5
"""Matches listed for an ambiguous prefix."""


def one_active(snapshot: Snapshot, id_or_prefix: str) -> Insight:
    """Find an active insight by id or prefix.

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


# Scopes.


class Scoped(Protocol):
    """Parameters that carry the three scope ids."""

    @property
    def user_id(self) -> str | None: ...

    @property
    def session_id(self) -> str | None: ...

    @property
    def agent_id(self) -> str | None: ...


def scope_of(params: Scoped) -> Scope:
    """Return the scope of a request."""
    return Scope(params.user_id, params.session_id, params.agent_id)
