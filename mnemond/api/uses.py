"""Counting and logging of recalls: gathered for a second, then written in small batches after the answers were sent.

No answer waits for that write or fails because of it; it may be lost with the process. A stop writes what is pending.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from typing import Final, TypeVar

import msgspec
import trio

from mnemond.api.requests import Identities
from mnemond.api.store_access import OpenStore
from mnemond.config.reading import TouchSettings
from mnemond.errors import MnemonError
from mnemond.memory.write import WriteContext
from mnemond.model.changes import ChangeSet, CountUse, RecallLine, Showing, TriggerCount
from mnemond.model.outcomes import Outcome, Used
from mnemond.model.query import Confidence
from mnemond.store.operations import MAX_RECALLS
from mnemond.store.showings import MAX_SHOWINGS
from mnemond.store.store import OnResult, Store

GATHER_S: Final = 1.0
"""Seconds of gathering, so that a burst of recalls becomes one small write."""

MAX_WAITING: Final = 4096
"""Memories of a store that may be pending; recalls of others are not counted then."""

AT_ONCE: Final = 50
"""Memories per write: 1 ms of the writer's time in a store of 10,000. Five hundred recalls a second leave a thousand
pending: 16 ms in one write, 40 to 110 ms under that load, which delayed every concurrent remember."""

LINES_AT_ONCE: Final = 100
"""Lines of the log of recalls, and showings, per write: some tenths of a millisecond."""

CAUSE: Final = "system:recall"

T = TypeVar("T")

Guard = Callable[[], AbstractContextManager[object]]
"""Context that logs unexpected exceptions, so that they end one task only."""


class Uses:
    """Counts for every open store. For the event loop's thread; `run` owns the tasks."""

    def __init__(self, identities: Identities, guard: Guard) -> None:
        self._identities = identities
        self._guard = guard
        self._waiting: dict[str, _Gathered] = {}
        self._counting: list[_Gathered] = []
        self._nursery: trio.Nursery | None = None

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Count until cancelled; then write pending counts, before the stores are closed."""
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                task_status.started()
                await trio.sleep_forever()
        finally:
            self._nursery = None
            for gathered in (*self._counting, *self._waiting.values()):
                with self._guard():
                    while self._submit(gathered, _ignored):
                        pass
            self._waiting.clear()

    def note(
        self,
        warm: OpenStore,
        insight_ids: Sequence[str],
        line: RecallLine | None = None,
        showings: Sequence[Showing] = (),
    ) -> None:
        """Schedule the counting of recalled memories, a line of the log about their recall, and what a session was
        shown."""
        if not (insight_ids or line or showings) or self._nursery is None:
            return
        waiting = self._gathered(warm.store, self._nursery)
        times = waiting.times
        if len(times) + sum(each not in times for each in set(insight_ids)) <= MAX_WAITING:
            times.update(insight_ids)
        if line is not None:
            waiting.lines.append(line)
        waiting.showings.extend(showings)

    def note_rules(self, warm: OpenStore, counts: Sequence[TriggerCount]) -> None:
        """Schedule the counting of rules."""
        if self._nursery is None:
            return
        self._gathered(warm.store, self._nursery).add_rules(counts)

    def flush(self, name: str) -> None:
        """Submit what is pending of a store that is about to be closed."""
        if (gathered := self._waiting.pop(name, None)) is not None:
            with self._guard():
                while self._submit(gathered, _ignored):
                    pass

    def _gathered(self, store: Store, nursery: trio.Nursery) -> _Gathered:
        waiting = self._waiting.get(store.name)
        if waiting is None:
            waiting = self._waiting[store.name] = _Gathered(store)
            nursery.start_soon(self._count_soon, waiting)
        return waiting

    async def _count_soon(self, gathered: _Gathered) -> None:
        await trio.sleep(GATHER_S)
        if self._waiting.get(gathered.store.name) is not gathered:
            return  # the store was closed
        del self._waiting[gathered.store.name]
        self._counting.append(gathered)
        with self._guard():
            await self._count(gathered)
        self._counting.remove(gathered)  # not if cancelled: `run` then writes the rest

    async def _count(self, gathered: _Gathered) -> None:
        """Write batch by batch, so that other writes come in between."""
        written = trio.Event()
        while self._submit(gathered, _setter(written)):
            await written.wait()
            written = trio.Event()

    def _submit(self, gathered: _Gathered, done: OnResult) -> bool:
        """Submit the next batch; return False if there is none, or if the store is busy or closing, which is reported
        elsewhere and matters more than these counts."""
        batch = gathered.next_batch()
        if not any(batch):
            return False
        store = gathered.store
        times, lines, showings, rules = batch
        try:
            store.submit(propose(times, self._identities.own(store.name, CAUSE), lines, showings, rules), done)
        except MnemonError:
            return False
        return True


class _Gathered:
    """Pending counts, log lines and showings of a store. Of more than are kept, the oldest go."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.times: Counter[str] = Counter()
        self.lines: deque[RecallLine] = deque(maxlen=MAX_RECALLS)
        self.showings: deque[Showing] = deque(maxlen=MAX_SHOWINGS)
        self.rules: dict[tuple[str, str], TriggerCount] = {}

    def add_rules(self, counts: Sequence[TriggerCount]) -> None:
        """Add to the pending counts of rules."""
        for each in counts:
            key = (each.id, each.pattern)
            had = self.rules.get(key)
            if had is None and len(self.rules) < MAX_WAITING:
                self.rules[key] = each
            elif had is not None:
                self.rules[key] = TriggerCount(
                    *key, had.matched + each.matched, had.shown + each.shown, had.followed + each.followed
                )

    def next_batch(self) -> tuple[dict[str, int], list[RecallLine], list[Showing], list[TriggerCount]]:
        """Remove and return the next batch."""
        times = {each: self.times.pop(each) for each in list(islice(self.times, AT_ONCE))}
        rules = [self.rules.pop(each) for each in list(islice(self.rules, AT_ONCE))]
        return times, _taken(self.lines), _taken(self.showings), rules


def _taken(waiting: deque[T]) -> list[T]:
    """Remove and return the oldest lines, as many as one write takes."""
    return [waiting.popleft() for _ in range(min(len(waiting), LINES_AT_ONCE))]


def _setter(event: trio.Event) -> OnResult:
    return lambda _result: event.set()


def _ignored(_result: Outcome | MnemonError) -> None:
    """Ignore errors: the next write of a client reports them."""


# Which results count as used: memories recalled often decay more slowly.


RECENCY: Final = ("recency",)
"""`via` of a result that only fills up an answer by its age."""


def is_used(score: float, via: tuple[str, ...], confidence: Confidence, touch: TouchSettings = TouchSettings()) -> bool:  # noqa: B008 - frozen
    """Return True if a result counts as used. Weak results do not: three uses make a memory immune, and every memory is
    a weak result of something."""
    if touch.policy == "never" or score < touch.min_score:
        return False
    return touch.policy == "any" or (via != RECENCY and confidence != "low")


def propose(
    times: Mapping[str, int],
    identity: WriteContext,
    recalls: Sequence[RecallLine] = (),
    showings: Sequence[Showing] = (),
    rules: Sequence[TriggerCount] = (),
) -> ChangeSet:
    """Return the write that counts these uses, ignoring memories retired meanwhile, and logs or counts the rest."""
    changes = tuple(CountUse(insight_id, many, identity.now) for insight_id, many in times.items())
    write = identity.change_set(
        method="recall", changes=changes, outcome=Used(op_id=identity.op_id), operation="", subject=None, detail=""
    )
    return msgspec.structs.replace(write, recalls=tuple(recalls), showings=tuple(showings), trigger_counts=tuple(rules))
