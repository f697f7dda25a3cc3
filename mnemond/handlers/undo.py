"""The method that takes one operation back."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import trio

from mnemond.embed.outcome import UNKNOWN_WORDS, try_embed
from mnemond.errors import MnemonError
from mnemond.handlers import views
from mnemond.handlers.door import OpenStore, StoreDoor, settle
from mnemond.handlers.submission import Identities, submitted
from mnemond.model.outcomes import Undone
from mnemond.pipelines import undo
from mnemond.protocol.undo import UndoneView, UndoParams, UndoResult
from mnemond.server.call import Call
from mnemond.server.dispatch import Handler


class UndoHandlers:
    """undo."""

    def __init__(self, door: StoreDoor, identities: Identities) -> None:
        self._door = door
        self._identities = identities

    def methods(self) -> Mapping[str, Handler]:
        """Each by the name of its method."""
        return {
            "undo": self.undo,
        }

    def undo(self, call: Call, params: UndoParams) -> object:
        """Take one operation back. Raises MnemonError: NOT_FOUND, AMBIGUOUS, or INVALID_PARAMS when something it
        changed was changed again since."""
        return self._door.through(params.store, lambda warm: self._undo(warm, params))

    async def _undo(self, warm: OpenStore, params: UndoParams) -> object:
        """What has to be embedded again is, outside the transaction; there everything is looked at once more."""
        identity = self._identities.of(warm, params)
        try:
            found = await warm.store.read(partial(undo.look, named=params.operation))
        except MnemonError:
            if params.op_id is None:
                raise
            found = undo.Found(params.operation)  # a repeat of an undo that was carried out: the writer knows the op_id
        vectors = await _vectors(warm, found.texts)
        proposal = undo.propose(found, vectors, identity, warm.limits)
        return await settle(submitted(warm, proposal, undo_result))


async def _vectors(warm: OpenStore, texts: tuple[str, ...]) -> undo.Vectors:
    if not texts or warm.embedder is None:
        return undo.Vectors({}, warm.embed_error)
    vectors, error = await trio.to_thread.run_sync(
        try_embed, warm.embedder, texts, abandon_on_cancel=True, limiter=warm.threads
    )
    lacking = UNKNOWN_WORDS if any(vector is None for vector in vectors) else None
    return undo.Vectors(dict(zip(texts, vectors, strict=True)), error or lacking)


def undo_result(warm: OpenStore, outcome: Undone) -> UndoResult:
    """The reply."""
    return UndoResult(
        status="undone",
        undone=outcome.undone,
        method=outcome.method,
        memories=[UndoneView(each.id, each.became, views.conflicts(each.conflicts)) for each in outcome.memories],
        edges_restored=outcome.edges_restored,
        edges_removed=outcome.edges_removed,
        edges_missing=outcome.edges_missing,
        embed_error=outcome.embed_error,
        op_id=outcome.op_id,
        replayed=outcome.replayed,
    )
