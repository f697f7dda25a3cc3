"""The method that takes a memory out of recall."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import trio

from mnemond.handlers import views
from mnemond.handlers.door import OpenStore, StoreDoor, settle
from mnemond.handlers.lookup import one_active
from mnemond.handlers.scope import scope_of
from mnemond.handlers.submission import Identities, submitted
from mnemond.model.outcomes import Forgotten
from mnemond.pipelines import forget
from mnemond.protocol.memories import ForgetParams, ForgetResult
from mnemond.server.call import Call
from mnemond.server.dispatch import Handler
from mnemond.store.backups import holding
from mnemond.store.proposal import Proposal


class ForgetHandlers:
    """forget."""

    def __init__(self, door: StoreDoor, identities: Identities) -> None:
        self._door = door
        self._identities = identities

    def methods(self) -> Mapping[str, Handler]:
        """Each by the name of its method."""
        return {
            "forget": self.forget,
        }

    def forget(self, call: Call, params: ForgetParams) -> object:
        """Take one memory out of recall, or remove it. Raises MnemonError(NOT_FOUND) when there is none."""
        return self._door.through(params.store, lambda warm: self._forget(warm, params))

    def _forget(self, warm: OpenStore, params: ForgetParams) -> object:
        wanted = forget.Forget(id=params.id, purge=params.purge, scope=scope_of(params))
        proposal = forget.propose(wanted, self._identities.of(warm, params), one_active)
        if params.purge:
            return _purged(warm, proposal)
        return submitted(warm, proposal, forget_result)


async def _purged(warm: OpenStore, proposal: Proposal) -> object:
    done = cast("ForgetResult", await settle(submitted(warm, proposal, forget_result)))
    return views.with_backups(done, await trio.to_thread.run_sync(holding, warm.store.path, [done.id]))


def forget_result(warm: OpenStore, outcome: Forgotten) -> ForgetResult:
    """The reply."""
    return views.forget_result(outcome)
