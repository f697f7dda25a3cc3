"""One open store, as whoever embeds its memories in the background knows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

import msgspec
import trio

from mnemond.embed.embedder import Embedder
from mnemond.handlers.door import OpenStore
from mnemond.server.deferred import Deferred
from mnemond.store.meta import SwitchRecord
from mnemond.store.store import Store

FIRST_PAUSE_S: Final = 30.0
"""Seconds before an embedder that was not to be had is asked again: as long as the outcome of a probe stands."""

LONGEST_PAUSE_S: Final = 600.0
"""Seconds that this grows to, doubled each time."""

ATTEMPTS: Final = 3
"""How often a text that an embedder refuses, though it takes others, is tried before it is left alone."""


TRIGGER: Final = "system:embed"
"""What the history calls writes of the daemon's own that embed."""


class Tally(msgspec.Struct):
    """What embedding under way came to so far."""

    kind: Literal["run", "backfill", "switch"]
    total: int
    done: int = 0
    failed: int = 0


class Demand(msgspec.Struct, eq=False):
    """A run somebody asked for; `everything`: also what has a vector already."""

    everything: bool
    finished: Deferred[Tally]


class Ward:
    """At most one task looks after each, so nothing is embedded twice. For the event loop's thread."""

    def __init__(self, warm: OpenStore, change: Callable[..., None]) -> None:
        """`change` gives fields of the store's OpenStore another value."""
        self.store: Store = warm.store
        self.embedder: Embedder | None = warm.embedder
        self.coming: Embedder | None = None
        self.change = change
        self.looked = self.tended = self.again = self.left = False
        self.switch: SwitchRecord | None = None
        self.demand: Demand | None = None
        self.tally: Tally | None = None
        self.waiting: str | None = None
        self.refusals: dict[str, int] = {}
        self.tried: frozenset[int] | None = None  # hashes, so that no text is kept
        self._pause_s = FIRST_PAUSE_S
        self._woken = trio.Event()

    @property
    def name(self) -> str:
        """The store's name."""
        return self.store.name

    @property
    def is_called(self) -> bool:
        """Whether something was asked for while the last of what there was to do was being finished."""
        return self.again or self.demand is not None or self.switch is not None

    def use(self, embedder: Embedder) -> None:
        """From now on this is the embedder whose vectors the store has."""
        self.embedder, self.coming = embedder, None
        self.change(embedder=embedder, coming=None, embed_error=None, lacks_embedder=False)

    def dropped(self, record: SwitchRecord) -> None:
        """This switch is over, and the store keeps its embedder."""
        if self.switch is record:
            self.switch = self.coming = None

    def is_given_up(self, insight_id: str) -> bool:
        """Whether a text was refused too often."""
        return self.refusals.get(insight_id, 0) >= ATTEMPTS

    def refused(self, insight_id: str) -> None:
        """The embedder took other texts, but not this one."""
        self.refusals[insight_id] = self.refusals.get(insight_id, 0) + 1

    def wake(self) -> None:
        """There is something to do that does not wait for the end of a pause."""
        self._woken.set()

    def heard(self) -> None:
        """Whatever was asked for until now is seen to next."""
        self.again = False
        self._woken = trio.Event()

    async def pause(self, why: str) -> None:
        """Wait before the next attempt, each time longer, unless woken."""
        self.waiting = why
        with trio.move_on_after(self._pause_s):
            await self._woken.wait()
        self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)

    def progressed(self) -> None:
        """The embedder answers."""
        self.waiting = None
        self._pause_s = FIRST_PAUSE_S
