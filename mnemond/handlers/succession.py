"""The methods about which memory stands for which: supersede and restore."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from mnemond.errors import MnemonError
from mnemond.handlers import views
from mnemond.handlers.door import OpenStore, StoreDoor, settle
from mnemond.handlers.embedding import Embedding, with_embedding
from mnemond.handlers.lookup import one_active
from mnemond.handlers.scope import scope_of
from mnemond.handlers.submission import Identities, submitted
from mnemond.model.outcomes import Restored, Superseded
from mnemond.pipelines import restore, supersede
from mnemond.pipelines.identity import Identity
from mnemond.protocol.revising import RestoreParams, RestoreResult, SupersedeParams, SupersedeResult
from mnemond.server.call import Call
from mnemond.server.dispatch import Handler
from mnemond.store.connection import Connection


class SuccessionHandlers:
    """supersede and restore."""

    def __init__(self, door: StoreDoor, identities: Identities) -> None:
        self._door = door
        self._identities = identities

    def methods(self) -> Mapping[str, Handler]:
        """Each by the name of its method."""
        return {
            "supersede": self.supersede,
            "restore": self.restore,
        }

    def supersede(self, call: Call, params: SupersedeParams) -> object:
        """Put one memory in the place of another. Raises MnemonError when they do not fit."""
        return self._door.through(params.store, lambda warm: self._supersede(warm, params))

    def restore(self, call: Call, params: RestoreParams) -> object:
        """Bring a memory back. Raises MnemonError when there is none to bring back, or another stands in its place."""
        return self._door.through(params.store, lambda warm: self._restore(warm, params))

    def _supersede(self, warm: OpenStore, params: SupersedeParams) -> object:
        wanted = supersede.Supersede(old_id=params.old_id, new_id=params.new_id, scope=scope_of(params))
        proposal = supersede.propose(wanted, self._identities.of(warm, params), one_active)
        return submitted(warm, proposal, supersede_result)

    async def _restore(self, warm: OpenStore, params: RestoreParams) -> object:
        identity = self._identities.of(warm, params)
        look = partial(_looked_up, params=params, warm=warm)
        found = await warm.store.read(look)
        if found is None or found.vector is not None or found.insight.status == "active":
            embedding = Embedding(None) if found is None else Embedding(found.insight.content, found.vector)
            return await settle(_submit(warm, params, identity, embedding))
        return await settle(with_embedding(warm, found.insight.content, partial(_submit, warm, params, identity)))


def _looked_up(connection: Connection, params: RestoreParams, warm: OpenStore) -> restore.Kept | None:
    """What is to be restored; None when nothing is, which the writer will tell, or it answers a repeat."""
    try:
        return restore.kept(connection, params.id, scope_of(params), warm.store.embedder)
    except MnemonError:
        return None


def _submit(warm: OpenStore, params: RestoreParams, identity: Identity, embedding: Embedding) -> object:
    wanted = restore.Restore(
        id=params.id,
        force=params.force,
        scope=scope_of(params),
        embedded_text=embedding.text,
        vector=embedding.vector,
        embed_error=embedding.error,
    )
    return submitted(warm, restore.propose(wanted, identity, warm.limits), restore_result)


def supersede_result(warm: OpenStore, outcome: Superseded) -> SupersedeResult:
    """The reply."""
    message = f"{outcome.id} stands in its place"
    if outcome.instead_of is not None:
        message = f"it had taken the place of {outcome.instead_of}; now {outcome.id} stands there"
    return SupersedeResult(
        id=outcome.superseded_id,
        status="superseded",
        message=message,
        superseded_by=outcome.id,
        instead_of=outcome.instead_of,
        edges_moved=outcome.edges_moved,
        op_id=outcome.op_id,
        replayed=outcome.replayed,
    )


def restore_result(warm: OpenStore, outcome: Restored) -> RestoreResult:
    """The reply."""
    return RestoreResult(
        id=outcome.id,
        status="restored",
        superseded_by=outcome.superseded_by,
        embedded=outcome.embedded,
        embed_error=outcome.embed_error,
        edges_created=views.edges_created(outcome.edges_created),
        conflicts=views.conflicts(outcome.conflicts),
        op_id=outcome.op_id,
        replayed=outcome.replayed,
    )
