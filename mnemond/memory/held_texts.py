"""Texts of conversations that give orders to a program: they wait for a person, who keeps one as a memory or drops it.

Each decision is one operation, which undo takes back.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

import msgspec

from mnemond.errors import NOT_FOUND, FieldProblem, MnemonError, invalid
from mnemond.extract.orders import ORDER
from mnemond.memory import remember
from mnemond.memory.remember import Prepared
from mnemond.memory.write import WriteContext, WriteRules
from mnemond.model.answers import Dropped
from mnemond.model.changes import ChangeSet, Vector
from mnemond.model.memory import Scope, format_us
from mnemond.model.outcomes import RememberResult, ResolveResult
from mnemond.model.reviews import OF_TEXTS, Action, CloseReview, HeldReview, HeldText, Resolution
from mnemond.store import held_texts
from mnemond.store.connection import Connection
from mnemond.store.operations import Proposal, View
from mnemond.text.secrets import redact

REASON: Final = "it gives orders to a program, so it was not stored"
"""Why a text waits, for `reviews`."""

_HINT: Final = "`mnemonctl reviews` lists those that wait"

_ACTIONS: Final[dict[str, Action]] = {"added": "CREATE", "replaced": "UPDATE", "merged": "MERGE"}


def ordering(dropped: Sequence[Dropped], said_us: int, conversation_id: str | None, scope: Scope) -> list[HeldText]:
    """Return the texts among those that were not kept that give orders, without secrets."""
    texts = dict.fromkeys(redact(each.text.strip()).text for each in dropped if each.reason == ORDER)
    return [HeldText(text, format_us(said_us), conversation_id or None, scope) for text in texts if text]


def refuse_unasked(held: HeldReview, resolution: Resolution, content: str | None) -> None:
    """Raise MnemonError(INVALID_PARAMS) for a decision that is none on a text that waits."""
    if resolution not in OF_TEXTS:
        sentence = f"review {held.id} is a text that is no memory: KEEP stores it, DROP does not"
        raise invalid([FieldProblem("resolution", sentence)], hint="nothing was changed")
    if content is not None and resolution != "KEEP":
        raise invalid([FieldProblem("content", f"content is for a KEEP, not for {resolution}")])


def _waiting(connection: Connection, number: int) -> HeldReview:
    """Return a text that waits. Raises MnemonError(NOT_FOUND)."""
    held = held_texts.read(connection, number)
    if held is None or (held.resolved_at is None and not held.held.content):
        raise MnemonError(NOT_FOUND, f"review {number} is not there any more", hint=_HINT, outcome="rejected")
    if held.resolved_at is not None:
        sentence = f"review {number} was decided as {held.resolution} by {held.by}, {held.resolved_at}"
        raise MnemonError(NOT_FOUND, sentence, hint=_HINT, outcome="rejected")
    return held


def propose_keep(number: int, prepared: Prepared, identity: WriteContext, rules: WriteRules) -> Proposal:
    """Propose to remember a text, as `remember` does by hand."""
    vector: Vector | None = prepared.vector  # type: ignore[assignment]
    return identity.proposal("resolve", partial(_keep, number, prepared, identity, rules), vector)


def _keep(number: int, prepared: Prepared, identity: WriteContext, rules: WriteRules, view: View) -> ChangeSet:
    """Raises MnemonError(NOT_FOUND) if it does not wait any more."""
    _waiting(view.connection, number)
    reached = remember.decide(prepared, identity, rules, view.snapshot, view.similarity)
    outcome = reached.outcome
    assert isinstance(outcome, RememberResult), "remember decides nothing else"  # noqa: S101
    return msgspec.structs.replace(
        reached,
        method="resolve",
        outcome=_outcome(
            number, "KEEP", identity, _ACTIONS.get(outcome.action, "NONE"), id=outcome.id,
            content=prepared.draft.content, redacted=list(prepared.redacted), embedded=outcome.embedded,
            embed_error=outcome.embed_error,
        ),
        detail=f"review={number} as=KEEP {reached.detail}",
        reviews=(*reached.reviews, CloseReview(number, "KEEP", identity.triggered_by)),
    )  # fmt: skip


def propose_drop(number: int, identity: WriteContext) -> Proposal:
    """Propose to drop a text."""
    return identity.proposal("resolve", partial(_drop, number, identity))


def _drop(number: int, identity: WriteContext, view: View) -> ChangeSet:
    """Raises MnemonError(NOT_FOUND) if it does not wait any more."""
    _waiting(view.connection, number)
    closing = CloseReview(number, "DROP", identity.triggered_by)
    outcome = _outcome(number, "DROP", identity, "NONE")
    return identity.change_set("resolve", (), outcome, detail=f"review={number} as=DROP", reviews=(closing,))


_MESSAGES: Final[dict[Action, str]] = {
    "CREATE": "it is a memory now",
    "UPDATE": "it is a memory now, in the place of an older one",
    "MERGE": "it is part of a memory now",
    "NONE": "a memory says it already",
}


def _outcome(
    number: int, resolution: Resolution, identity: WriteContext, action: Action, **fields: object
) -> ResolveResult:
    message = _MESSAGES[action] if resolution == "KEEP" else "it was no memory and does not become one"
    return ResolveResult(
        review=number, resolution=resolution, action=action, older_id=None, newer_id=None, message=message,
        op_id=identity.op_id, replayed=False, **{"id": None, **fields},  # type: ignore[arg-type]
    )  # fmt: skip
