"""Background embedding: memories without a vector, requested runs, and switches to another embedder.

Each store has at most one task, only while there is work. It embeds a batch in a thread and has the writer store it,
and so on; meanwhile recall uses the vectors that are stored. A cancelled task leaves only whole batches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Final, Literal, TypeVar, cast

import msgspec
import trio

from mnemond.api.requests import Identities
from mnemond.api.store_access import OpenStore
from mnemond.embed.embedder import Embedder, Supply, sentence
from mnemond.errors import BUSY, STOPPING, UNAVAILABLE, MnemonError
from mnemond.memory import embedding
from mnemond.memory.embedding import (
    Answered,
    Text,
    embed_each,
    embed_passages,
    every_text,
    propose,
    propose_passages,
    record_of,
    staged_key,
    texts_to_stage,
    texts_without_vector,
)
from mnemond.model.outcomes import EmbedRunResult
from mnemond.store import embedder_switch, insights, passages
from mnemond.store.embedder_switch import StagedRow, SwitchRecord, read_switch
from mnemond.store.files import read_only_error
from mnemond.store.store import Store
from mnemond.wire.deferred import Deferred

FIRST_PAUSE_S: Final = 30.0
"""Seconds before the first retry of an unavailable embedder: as long as the result of a probe is cached."""

LONGEST_PAUSE_S: Final = 600.0
"""Upper bound of the pause, which doubles with every retry."""

ATTEMPTS: Final = 3
"""Attempts at a text that the embedder refuses while it accepts others."""

TRIGGER: Final = "system:embed"
"""`triggered_by` of writes by the worker."""


class Tally(msgspec.Struct):
    """Progress of a pass, in memories."""

    kind: Literal["run", "backfill", "switch"]
    total: int
    done: int = 0
    failed: int = 0


class RequestedRun(msgspec.Struct, eq=False):
    """A run requested by clients; `everything`: embed memories that have a vector again."""

    everything: bool
    finished: Deferred[Tally]


class EmbeddingState:
    """State of the background embedding of one store. For the event loop's thread."""

    def __init__(self, warm: OpenStore, change: Callable[..., None]) -> None:
        """`change` replaces fields of the store's OpenStore."""
        self.store: Store = warm.store
        self.embedder: Embedder | None = warm.embedder
        self.next_embedder: Embedder | None = None
        self.change = change
        self.has_read_switch = self.has_task = self.backfill_requested = self.detached = False
        self.switch: SwitchRecord | None = None
        self.requested: RequestedRun | None = None
        self.tally: Tally | None = None
        self.waiting: str | None = None
        self.refusals: dict[str, int] = {}
        self.attempted: frozenset[int] | None = None  # hashes, so that no text is kept
        self._pause_s = FIRST_PAUSE_S
        self._woken = trio.Event()

    @property
    def has_request(self) -> bool:
        """Return True if work was requested while the last pass ran."""
        return self.backfill_requested or self.requested is not None or self.switch is not None

    def set_embedder(self, embedder: Embedder) -> None:
        """Set the embedder of the store's vectors."""
        self.embedder, self.next_embedder = embedder, None
        self.change(embedder=embedder, next_embedder=None, embed_error=None, lacks_embedder=False)

    def is_given_up(self, insight_id: str) -> bool:
        """Return True if the embedder refused a text `ATTEMPTS` times."""
        return self.refusals.get(insight_id, 0) >= ATTEMPTS

    def wake(self) -> None:
        """End a pause early."""
        self._woken.set()

    def clear_requests(self) -> None:
        """Begin a pass: later requests start another."""
        self.backfill_requested = False
        self._woken = trio.Event()

    async def pause(self, why: str) -> None:
        """Wait before the next attempt, twice as long each time, unless woken."""
        self.waiting = why
        with trio.move_on_after(self._pause_s):
            await self._woken.wait()
        self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)

    def reset_pause(self) -> None:
        """Forget earlier failures: the embedder is available."""
        self.waiting = None
        self._pause_s = FIRST_PAUSE_S


T = TypeVar("T")

THREADS: Final = 4
"""Stores embedded in the background at once."""

INLINE_BATCH: Final = 64
"""Texts per batch of an embedder that takes microseconds; any other gets embedding.batch_size texts per request."""


PASSAGES: Final = 16
"""Passages whose vectors are written together: some ten pieces each."""


class Batches:
    """Embeds texts in batches, in threads. For the event loop's thread."""

    def __init__(self, size: int) -> None:
        """`size`: texts per request to an embedder that is not inline."""
        self._size = size
        self._threads = trio.CapacityLimiter(THREADS)

    async def in_thread(self, work: Callable[..., T], *args: object) -> T:
        """Run `work(*args)` in a thread that a stop may abandon."""
        return await trio.to_thread.run_sync(work, *args, abandon_on_cancel=True, limiter=self._threads)

    def split(self, embedder: Embedder, texts: Sequence[Text]) -> list[Sequence[Text]]:
        """Split texts into batches of a size that suits the embedder."""
        size = self.size_for(embedder)
        return [texts[at : at + size] for at in range(0, len(texts), size)]

    def size_for(self, embedder: Embedder) -> int:
        """Return how many texts a batch has that suits the embedder."""
        return INLINE_BATCH if embedder.inline else self._size

    async def embed(
        self, state: EmbeddingState, embedder: Embedder, texts: Sequence[Text], tally: Tally
    ) -> list[Answered]:
        """Embed one batch. Refused texts are counted in `tally` and left out.

        Raises MnemonError(UNAVAILABLE) if the embedder is unavailable.
        """
        answers, refused = await self.in_thread(embed_each, embedder, texts)
        tally.failed += len(refused)
        for insight_id in refused:
            state.refusals[insight_id] = state.refusals.get(insight_id, 0) + 1
        return answers


def refusal_error(embedder: Embedder, count: int) -> MnemonError:
    return MnemonError(UNAVAILABLE, f"{embedder.name} refuses {count} of the texts", hint="see the log of its server")


# Switches: new vectors are staged in the store until every memory has one, then replace the old ones, which serve until
# then. A restart continues where the switch was.

CATCH_UPS: Final = 8
"""Passes over memories written during a switch. Then it completes without the last ones, which are embedded right
afterwards: with 64 writers there is always one more."""


class Switcher:
    """Runs switches. For the event loop's thread."""

    def __init__(self, supply: Supply, identities: Identities, batches: Batches) -> None:
        self._supply = supply
        self._identities = identities
        self._batches = batches

    async def run(self, state: EmbeddingState, record: SwitchRecord) -> None:
        """Stage vectors until every memory has one, then cut over. Returns early if the switch was aborted."""
        embedder = await self._next_embedder(state, record)
        attempts = 0
        while True:
            attempts += 1
            known = await state.store.read(embedder_switch.staged_hashes)
            snapshot = state.store.snapshot
            given_up = [insight_id for insight_id in state.refusals if state.is_given_up(insight_id)]
            texts = await self._batches.in_thread(texts_to_stage, snapshot, known, given_up)
            tally = state.tally = Tally("switch", snapshot.live, snapshot.live - len(texts) - len(given_up))
            if not await self._stage(state, record, texts, known, tally):
                self._finish(state, record, embedder)
                return
            if tally.failed:
                raise refusal_error(embedder, tally.failed)
            if await self._cut_over(state, record, embedder, None if attempts == CATCH_UPS else given_up):
                self._finish(state, record, embedder)
                return

    async def _next_embedder(self, state: EmbeddingState, record: SwitchRecord) -> Embedder:
        """Return the new embedder, loaded again after a restart. Raises MnemonError(UNAVAILABLE)."""
        if state.next_embedder is None:
            to = record.to
            state.next_embedder = await self._batches.in_thread(
                self._supply.of_record, to.name, to.dimension, to.fingerprint
            )
        return state.next_embedder

    async def _stage(
        self, state: EmbeddingState, record: SwitchRecord, texts: Sequence[Text], known: dict[str, str], tally: Tally
    ) -> bool:
        """Embed and stage, batch by batch. Returns False if the switch was aborted meanwhile."""
        embedder = await self._next_embedder(state, record)
        for some in self._batches.split(embedder, texts):
            answers = await self._batches.embed(state, embedder, some, tally)
            rows = [StagedRow(text.id, text.content, vector, text.cues) for text, vector in answers]
            if state.switch is not record or not await state.store.rewrite(
                partial(embedder_switch.stage, record=record, rows=rows)
            ):
                return False
            known.update((answer.text.id, staged_key(answer.text)) for answer in answers)
            tally.done += len(rows)
            if rows:
                state.reset_pause()
        return state.switch is record

    async def _cut_over(
        self, state: EmbeddingState, record: SwitchRecord, embedder: Embedder, without: Sequence[str] | None
    ) -> bool:
        """Return True if the switch is complete or aborted. From here on a recall may see the vectors of either
        embedder."""
        state.change(next_embedder=embedder)
        now = self._identities.own(state.store.name, TRIGGER).now
        try:
            lacking = await state.store.rewrite(partial(embedding.cut_over, record=record, without=without, now=now))
        except MnemonError:
            if not _has_taken_over(state, record):  # a COMMIT may raise although it committed
                state.change(next_embedder=None)
                raise
            return True
        return not lacking

    @staticmethod
    def _finish(state: EmbeddingState, record: SwitchRecord, embedder: Embedder) -> None:
        """Bring the state in line with the store, where the switch is complete or aborted."""
        if _has_taken_over(state, record):
            state.switch = None
            state.set_embedder(embedder)
        else:
            state.change(next_embedder=None)
            if state.switch is record:
                state.switch = state.next_embedder = None


def _has_taken_over(state: EmbeddingState, record: SwitchRecord) -> bool:
    embedder = state.store.embedder
    return embedder is not None and embedder.fingerprint == record.to.fingerprint


# The worker of all stores.

Guard = Callable[[], AbstractContextManager[object]]
"""Context that logs unexpected exceptions, so that they end one task only."""


class EmbeddingWorker:
    """Embeds the memories of every open store. For the event loop's thread; `run` owns the tasks."""

    def __init__(self, supply: Supply, identities: Identities, batch: int, guard: Guard) -> None:
        """`batch`: texts per request to an embedder that is not inline."""
        self._supply = supply
        self._identities = identities
        self._batches = Batches(batch)
        self._switcher = Switcher(supply, identities, self._batches)
        self._guard = guard
        self._states: dict[str, EmbeddingState] = {}
        self._nursery: trio.Nursery | None = None
        self._ended = False

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Work until cancelled or `end`."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            task_status.started()
            for state in self._states.values():
                self._start(state)
            if self._ended:
                nursery.cancel_scope.cancel()
            await trio.sleep_forever()

    def end(self) -> None:
        """Cancel all work and start none; requested runs fail with STOPPING."""
        self._ended = True
        if self._nursery is not None:
            self._nursery.cancel_scope.cancel()

    def attach(self, warm: OpenStore, change: Callable[..., None]) -> None:
        """Start work on an opened store: a switch may be incomplete, and memories may lack vectors."""
        state = self._states[warm.store.name] = EmbeddingState(warm, change)
        self._start(state)

    def set_embedder(self, name: str, embedder: Embedder | None) -> None:
        """Go on with another embedder, or without one until it can be had: another daemon switched a shared store."""
        if (state := self._states.get(name)) is not None:
            state.embedder, state.attempted = embedder, None
            state.refusals.clear()
            state.reset_pause()
            state.wake()
            self.request_backfill(name)

    def detach(self, name: str) -> None:
        """Stop work on a store that is being closed."""
        if (state := self._states.pop(name, None)) is not None:
            state.detached = True
            state.wake()

    def is_busy(self, name: str) -> bool:
        """Return True while memories are being embedded, or are to be on request. A backfill that waits for an embedder
        goes on when the store is opened again."""
        state = self._states.get(name)
        is_working = state is not None and state.has_task and state.waiting is None
        return is_working or self.has_active_run(name)

    def has_active_run(self, name: str) -> bool:
        """Return True if a requested run or a switch is under way in a store."""
        state = self._states.get(name)
        return state is not None and (state.requested is not None or state.switch is not None)

    def request_backfill(self, name: str) -> None:
        """Embed the memories of a store that lack a vector."""
        if (state := self._states.get(name)) is not None:
            state.backfill_requested = True
            self._start(state)

    def state(self, name: str) -> EmbeddingState:
        """Return the state of an open store. Raises MnemonError(STOPPING) if it is closed."""
        if (state := self._states.get(name)) is None:
            raise MnemonError(STOPPING, f'the store "{name}" is being closed', hint="repeat in a moment")
        return state

    def request_run(self, name: str, *, everything: bool) -> Deferred[Tally]:
        """Embed memories that lack a vector, or all of them again. Concurrent identical requests share one run.

        Raises MnemonError: BUSY during a run of the other kind or a switch, STOPPING when the daemon stops.
        """
        state = self.state(name)
        if self._nursery is None or self._ended:
            raise _stopping()
        if state.store.read_only is not None:
            raise read_only_error(state.store.read_only)
        if state.switch is not None:
            raise _switching(name, state.switch)
        if state.requested is not None and state.requested.everything != everything:
            raise _busy(f'another run embeds memories of the store "{name}"')
        if state.requested is None:
            state.requested = RequestedRun(everything, Deferred())
            state.wake()
            self._start(state)
        return state.requested.finished

    def set_switch(self, name: str, record: SwitchRecord | None, next_embedder: Embedder | None = None) -> None:
        """Start a switch that was recorded in the store, or stop one that was aborted (None)."""
        state = self.state(name)
        state.switch, state.next_embedder, state.has_read_switch = record, next_embedder, True
        state.refusals.clear()
        state.reset_pause()
        state.wake()
        self._start(state)

    def _start(self, state: EmbeddingState) -> None:
        if self._nursery is not None and not state.has_task and not self._ended and state.store.read_only is None:
            state.has_task = True
            self._nursery.start_soon(self._run_store, state)

    async def _run_store(self, state: EmbeddingState) -> None:
        state.refusals.clear()
        with self._guard():
            try:
                while not state.detached and (await self._step(state) or state.has_request):
                    state.tally = None
            finally:
                state.has_task, state.tally, state.waiting = False, None, None
                if state.requested is not None:
                    requested, state.requested = state.requested, None
                    requested.finished.fail(_stopping())

    async def _step(self, state: EmbeddingState) -> bool:
        """Run the next pass and return True if another may be needed. A failed one is repeated after a pause."""
        state.clear_requests()
        if state.requested is not None:
            await self._run_requested(state, state.requested)
            return True
        try:
            await _read_switch(state)
            if state.switch is not None:
                await self._switcher.run(state, state.switch)
                return True
            return await self._backfill(state)
        except MnemonError as error:
            await state.pause(sentence(error))
            return True

    async def _run_requested(self, state: EmbeddingState, requested: RequestedRun) -> None:
        try:
            tally = await self._embed_requested(state, requested.everything)
        except MnemonError as error:
            state.requested = None
            requested.finished.fail(error)
        else:
            state.requested = None
            requested.finished.resolve(tally)

    async def _backfill(self, state: EmbeddingState) -> bool:
        """Embed memories and passages without a vector; return True if another pass may be needed."""
        await state.store.all_passages()
        if state.embedder is None and not self._needs_embedder(state.store):
            return False
        embedder = await self._embedder(state)
        if embedder is None:
            return False
        texts = [text for text in await self._missing(state) if not state.is_given_up(text.id)]
        if not texts:
            await self._embed_passages(state, embedder, everything=False)
            return False
        found = frozenset(map(hash, texts))
        if found == state.attempted:
            state.attempted = None
            raise MnemonError(UNAVAILABLE, f"{len(found)} vectors of {embedder.name} could not be stored")
        tally = state.tally = Tally("backfill", len(texts))
        await self._embed(state, embedder, texts, tally, anew=False)
        if tally.failed:
            raise refusal_error(embedder, tally.failed)
        state.attempted = found
        return True

    def _needs_embedder(self, store: Store) -> bool:
        if store.embedder is None:
            return self._supply.wants
        return store.snapshot.embedded < store.snapshot.live or bool(store.passages.without_vector())

    async def _embed_requested(self, state: EmbeddingState, everything: bool) -> Tally:
        """Raises MnemonError(UNAVAILABLE), whose message counts the memories embedded before."""
        await _read_switch(state)
        if state.switch is not None:
            raise _switching(state.store.name, state.switch)
        tally = state.tally = Tally("run", 0)
        if everything:
            texts = await self._batches.in_thread(every_text, state.store.snapshot)
        else:
            texts = await self._missing(state)
        kept = await state.store.all_passages()
        said = kept.live if everything else bool(kept.without_vector())
        if not (texts or said):
            return tally
        embedder = await self._embedder(state)
        if embedder is None:
            raise MnemonError(
                UNAVAILABLE,
                f'the store "{state.store.name}" has no embedder',
                hint="set embedding.provider in config.toml",
            )
        tally.total = len(texts)
        try:
            await self._embed(state, embedder, texts, tally, anew=everything)
        except MnemonError as error:
            before = f"; {tally.done} of {tally.total} memories were embedded before" if tally.done else ""
            raise MnemonError(error.kind, f"{error.message}{before}", hint=error.hint) from error
        if said:
            await self._embed_passages(state, embedder, everything=everything)
        return tally

    async def _missing(self, state: EmbeddingState) -> list[Text]:
        """Return the texts without a vector, except those that the embedder cannot embed."""
        texts = await self._batches.in_thread(texts_without_vector, state.store.snapshot)
        if not texts:
            return texts
        record = state.store.embedder
        unembeddable = await state.store.read(lambda connection: insights.unembeddable(connection, record))
        return [text for text in texts if text.id not in unembeddable]

    async def _embed(
        self, state: EmbeddingState, embedder: Embedder, texts: Sequence[Text], tally: Tally, *, anew: bool
    ) -> None:
        """Embed and store, batch by batch. A backfill stops early when a run or a switch is requested."""
        for some in self._batches.split(embedder, texts):
            answers = await self._batches.embed(state, embedder, some, tally)
            if answers:
                identity = self._identities.own(state.store.name, TRIGGER)
                outcome = await state.store.write(propose(answers, identity, embedder, anew=anew))
                tally.done += cast("int", cast("EmbedRunResult", outcome).succeeded)
                state.reset_pause()
            if tally.kind == "backfill" and (state.requested is not None or state.switch is not None):
                return

    async def _embed_passages(self, state: EmbeddingState, embedder: Embedder, *, everything: bool) -> None:
        """Embed what is kept of sessions, batch by batch: passages without vectors, or all of them again. Stops early
        when a run or a switch is requested."""
        said = state.store.passages
        ids = [it.id for row in range(said.rows) if said.row_of((it := said.passage(row)).id) == row]
        if not everything and (ids := said.without_vector()):
            record = state.store.embedder
            unembeddable = await state.store.read(lambda connection: passages.unembeddable(connection, record))
            ids = [each for each in ids if each not in unembeddable]
        for at in range(0, len(ids), PASSAGES):
            there = [said.passage(row) for each in ids[at : at + PASSAGES] if (row := said.row_of(each)) is not None]
            size = self._batches.size_for(embedder)
            embedded = await self._batches.in_thread(embed_passages, embedder, there, size)
            identity = self._identities.own(state.store.name, TRIGGER)
            await state.store.write(propose_passages(embedded, identity, embedder))
            state.reset_pause()
            if not everything and (state.requested is not None or state.switch is not None):
                return

    async def _embedder(self, state: EmbeddingState) -> Embedder | None:
        """Return the store's embedder, or None if none is configured. Raises MnemonError(UNAVAILABLE)."""
        if state.embedder is not None:
            return state.embedder
        try:
            found = await self._find_embedder(state)
        except MnemonError as error:
            state.change(embed_error=sentence(error))
            raise
        if found is not None:
            state.set_embedder(found)
        return found

    async def _find_embedder(self, state: EmbeddingState) -> Embedder | None:
        record = state.store.embedder
        if record is not None:
            known = (record.name, record.dimension, record.fingerprint)
            return await self._batches.in_thread(self._supply.of_record, *known)
        found = await self._batches.in_thread(self._supply.preferred)
        if found is None:
            return None
        now = self._identities.own(state.store.name, TRIGGER).now
        adopted = await state.store.rewrite(partial(embedding.adopt, record=record_of(found), now=now))
        return found if adopted else await self._find_embedder(state)


async def _read_switch(state: EmbeddingState) -> None:
    """Read, once, a switch that an earlier run of the daemon left incomplete."""
    if not state.has_read_switch:
        state.switch = await state.store.read(read_switch)
        state.has_read_switch = True


def _busy(what: str) -> MnemonError:
    hint = "`mnemonctl embed --status` says how far it is; repeat when it is done"
    return MnemonError(BUSY, what, hint=hint, outcome="rejected")


def _switching(name: str, switch: SwitchRecord) -> MnemonError:
    return _busy(f'the store "{name}" is being switched to {switch.to.name}, which embeds every memory')


def _stopping() -> MnemonError:
    return MnemonError(
        STOPPING, "the daemon is stopping; what was embedded already is stored", hint="repeat it when it runs again"
    )
