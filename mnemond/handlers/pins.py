"""The method that keeps a memory from being pruned or replaced."""

from __future__ import annotations

from collections.abc import Mapping

from mnemond.handlers.door import OpenStore, StoreDoor
from mnemond.handlers.lookup import one_active
from mnemond.handlers.scope import scope_of
from mnemond.handlers.submission import Identities, submitted
from mnemond.model.outcomes import Pinned
from mnemond.pipelines import pin
from mnemond.protocol.pins import PinParams, PinResult
from mnemond.server.call import Call
from mnemond.server.dispatch import Handler

_MESSAGES = {
    (True, True): "kept until it is unpinned: never pruned, never replaced by a new memory",
    (True, False): "it was pinned already",
    (False, True): "an ordinary memory again",
    (False, False): "it was not pinned",
}
"""By whether it is pinned now, and whether that is new."""


class PinHandlers:
    """pin."""

    def __init__(self, door: StoreDoor, identities: Identities) -> None:
        self._door = door
        self._identities = identities

    def methods(self) -> Mapping[str, Handler]:
        """Each by the name of its method."""
        return {
            "pin": self.pin,
        }

    def pin(self, call: Call, params: PinParams) -> object:
        """Pin or unpin one memory. Raises MnemonError(NOT_FOUND) or MnemonError(AMBIGUOUS)."""
        return self._door.through(params.store, lambda warm: self._pin(warm, params))

    def _pin(self, warm: OpenStore, params: PinParams) -> object:
        wanted = pin.Pin(
            id=params.id,
            pinned=not params.unpin,
            scope=scope_of(params),
        )
        return submitted(warm, pin.propose(wanted, self._identities.of(warm, params), one_active), pin_result)


def pin_result(warm: OpenStore, outcome: Pinned) -> PinResult:
    """The reply."""
    return PinResult(
        id=outcome.id,
        status="pinned" if outcome.pinned else "unpinned",
        message=_MESSAGES[outcome.pinned, outcome.changed],
        changed=outcome.changed,
        op_id=outcome.op_id,
        replayed=outcome.replayed,
    )
