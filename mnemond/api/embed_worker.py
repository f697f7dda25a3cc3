"""One open store, as whoever embeds its memories in the background knows it."""

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
    every_text,
    propose,
    record_of,
    texts_to_stage,
    texts_without_vector,
)
from mnemond.model.outcomes import EmbedRunResult
from mnemond.store import embedder_switch, insights
from mnemond.store.embedder_switch import StagedRow, SwitchRecord, read_switch
from mnemond.store.files import read_only_error
from mnemond.store.store import Store
from mnemond.wire.deferred import Deferred

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


class EmbeddingState:
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


# Texts on their way through an embedder: in threads, batch by batch, with those it refuses set aside.


T = TypeVar("T")

THREADS: Final = 4
"""Stores embedded in the background at once."""

INLINE_BATCH: Final = 64
"""Texts a batch where embedding takes microseconds; elsewhere a batch is a request (embedding.batch_size)."""


class Batches:
    """What all background embedding has in common. For the event loop's thread."""

    def __init__(self, size: int) -> None:
        """`size`: texts a request to an embedder that is not inline."""
        self._size = size
        self._threads = trio.CapacityLimiter(THREADS)

    async def in_thread(self, work: Callable[..., T], *args: object) -> T:
        """`work(*args)` where it may take long; it must not matter when a stop does not wait for it."""
        return await trio.to_thread.run_sync(work, *args, abandon_on_cancel=True, limiter=self._threads)

    def cut(self, embedder: Embedder, texts: Sequence[Text]) -> list[Sequence[Text]]:
        """The texts in batches of the right size."""
        size = INLINE_BATCH if embedder.inline else self._size
        return [texts[at : at + size] for at in range(0, len(texts), size)]

    async def embedded(
        self, ward: EmbeddingState, embedder: Embedder, texts: Sequence[Text], tally: Tally
    ) -> list[Answered]:
        """The vectors of one batch, without the texts that were refused: those are counted.

        Raises MnemonError(UNAVAILABLE) when the embedder is not to be had.
        """
        answers, refused = await self.in_thread(embed_each, embedder, texts)
        tally.failed += len(refused)
        for insight_id in refused:
            ward.refused(insight_id)
        return answers


def refuses(embedder: Embedder, count: int) -> MnemonError:
    """Why a pass has to be repeated for some texts."""
    return MnemonError(UNAVAILABLE, f"{embedder.name} refuses {count} of the texts", hint="see the log of its server")


# A store on its way to another embedder: vectors are staged until every memory has one, then they take over.
#
# The old vectors serve until then. A restart goes on where it was; what was staged is kept in the store.


CATCH_UPS: Final = 8
"""Times that a switch looks for memories written meanwhile before it goes ahead without the last of them, which are
embedded right after it: with 64 writers there is always one more."""


class Switcher:
    """Carries switches out. For the event loop's thread."""

    def __init__(self, supply: Supply, identities: Identities, batches: Batches) -> None:
        self._supply = supply
        self._identities = identities
        self._batches = batches

    async def switch(self, ward: EmbeddingState, record: SwitchRecord) -> None:
        """Stage vectors until every memory has one, then let them take over. Returns early when it was dropped."""
        embedder = await self._coming(ward, record)
        known = await ward.store.read(embedder_switch.staged_hashes)
        attempts = 0
        while True:
            attempts += 1
            snapshot = ward.store.snapshot
            given_up = [insight_id for insight_id in ward.refusals if ward.is_given_up(insight_id)]
            texts = await self._batches.in_thread(texts_to_stage, snapshot, known, given_up)
            tally = ward.tally = Tally("switch", snapshot.live, snapshot.live - len(texts) - len(given_up))
            if not await self._stage(ward, record, texts, known, tally):
                self._over(ward, record, embedder)
                return
            if tally.failed:
                raise refuses(embedder, tally.failed)
            if await self._cut_over(ward, record, embedder, None if attempts == CATCH_UPS else given_up):
                self._over(ward, record, embedder)
                return

    async def _coming(self, ward: EmbeddingState, record: SwitchRecord) -> Embedder:
        """The embedder of a switch; after a restart it has to be found again. Raises MnemonError(UNAVAILABLE)."""
        if ward.coming is None:
            to = record.to
            ward.coming = await self._batches.in_thread(self._supply.of_record, to.name, to.dimension, to.fingerprint)
        return ward.coming

    async def _stage(
        self, ward: EmbeddingState, record: SwitchRecord, texts: Sequence[Text], known: dict[str, str], tally: Tally
    ) -> bool:
        """Embed and stage, batch by batch; False when the switch was dropped meanwhile."""
        embedder = await self._coming(ward, record)
        for some in self._batches.cut(embedder, texts):
            rows = [_staged(answer) for answer in await self._batches.embedded(ward, embedder, some, tally)]
            if ward.switch is not record or not await ward.store.rewrite(
                partial(embedder_switch.stage, record=record, rows=rows)
            ):
                return False
            known.update((row.insight_id, insights.content_hash(row.content)) for row in rows)
            tally.done += len(rows)
            if rows:
                ward.progressed()
        return ward.switch is record

    async def _cut_over(
        self, ward: EmbeddingState, record: SwitchRecord, embedder: Embedder, without: Sequence[str] | None
    ) -> bool:
        """Whether the switch is over, one way or the other. From here on a recall may meet the vectors of either
        embedder."""
        ward.change(coming=embedder)
        now = self._identities.own(ward.name, TRIGGER).now
        try:
            lacking = await ward.store.rewrite(partial(embedding.cut_over, record=record, without=without, now=now))
        except MnemonError:
            if not _took_over(ward, record):  # a COMMIT may raise although it committed
                ward.change(coming=None)
                raise
            return True
        return not lacking

    @staticmethod
    def _over(ward: EmbeddingState, record: SwitchRecord, embedder: Embedder) -> None:
        """What is in the store says whether the switch was carried out or dropped."""
        if _took_over(ward, record):
            ward.switch = None
            ward.use(embedder)
        else:
            ward.change(coming=None)
            ward.dropped(record)


def _took_over(ward: EmbeddingState, record: SwitchRecord) -> bool:
    embedder = ward.store.embedder
    return embedder is not None and embedder.fingerprint == record.to.fingerprint


def _staged(answer: Answered) -> StagedRow:
    return StagedRow(answer.text.id, answer.text.content, answer.vector)


# Background embedding: what could not be embedded when it was written, what somebody asks for, and switches.
#
# Each store has one task while there is anything to do. It embeds a batch in a thread and lets the writer store it,
# again and again; the store serves meanwhile what it has. Cancelled at any moment it leaves whole batches.


Guard = Callable[[], AbstractContextManager[object]]
"""Where a defect ends, so that it ends nothing else."""


class EmbeddingWorker:
    """Looks after every open store. For the event loop's thread; `run` owns the tasks."""

    def __init__(self, supply: Supply, identities: Identities, batch: int, guard: Guard) -> None:
        """`batch`: texts a request to an embedder that is not inline."""
        self._supply = supply
        self._identities = identities
        self._batches = Batches(batch)
        self._switcher = Switcher(supply, identities, self._batches)
        self._guard = guard
        self._wards: dict[str, EmbeddingState] = {}
        self._nursery: trio.Nursery | None = None
        self._ended = False

    # ------------------------------------------------------------ life

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Work until cancelled or `end`."""
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            task_status.started()
            for ward in self._wards.values():
                self._start(ward)
            if self._ended:
                nursery.cancel_scope.cancel()
            await trio.sleep_forever()

    def end(self) -> None:
        """The daemon stops: begin nothing any more, and leave what was begun; whoever waits for it is told."""
        self._ended = True
        if self._nursery is not None:
            self._nursery.cancel_scope.cancel()

    # ------------------------------------------------------------ what others ask for

    def attach(self, warm: OpenStore, change: Callable[..., None]) -> None:
        """Look after a store that was opened: a switch may be half done, and memories may lack their vector."""
        ward = self._wards[warm.store.name] = EmbeddingState(warm, change)
        self._start(ward)

    def detach(self, name: str) -> None:
        """A store is being closed while the daemon goes on: leave it alone."""
        if (ward := self._wards.pop(name, None)) is not None:
            ward.left = True
            ward.wake()

    def is_asked(self, name: str) -> bool:
        """Whether embedding that somebody asked for is under way in a store."""
        ward = self._wards.get(name)
        return ward is not None and (ward.demand is not None or ward.switch is not None)

    def missing(self, name: str) -> None:
        """A memory of this store lacks its vector."""
        if (ward := self._wards.get(name)) is not None:
            ward.again = True
            self._start(ward)

    def ward(self, name: str) -> EmbeddingState:
        """What is known of an open store. Raises MnemonError(STOPPING) for one that was closed meanwhile."""
        if (ward := self._wards.get(name)) is None:
            raise MnemonError(STOPPING, f'the store "{name}" is being closed', hint="repeat in a moment")
        return ward

    def demand(self, name: str, *, everything: bool) -> Deferred[Tally]:
        """Embed what lacks a vector, or everything anew; the same run for all who ask for the same meanwhile.

        Raises MnemonError: BUSY beside a run of the other kind or a switch, STOPPING when the daemon stops.
        """
        ward = self.ward(name)
        if self._nursery is None or self._ended:
            raise _stopping()
        if ward.store.read_only is not None:
            raise read_only_error(ward.store.read_only)
        if ward.switch is not None:
            raise _switching(name, ward.switch)
        if ward.demand is not None and ward.demand.everything != everything:
            raise _busy(f'another run embeds memories of the store "{name}"')
        if ward.demand is None:
            ward.demand = Demand(everything, Deferred())
            ward.wake()
            self._start(ward)
        return ward.demand.finished

    def switched(self, name: str, record: SwitchRecord | None, coming: Embedder | None = None) -> None:
        """A switch was recorded, or (None) dropped."""
        ward = self.ward(name)
        ward.switch, ward.coming, ward.looked = record, coming, True
        ward.refusals.clear()
        ward.progressed()
        ward.wake()
        self._start(ward)

    def _start(self, ward: EmbeddingState) -> None:
        if self._nursery is not None and not ward.tended and not self._ended and ward.store.read_only is None:
            ward.tended = True
            self._nursery.start_soon(self._tend, ward)

    # ------------------------------------------------------------ one store

    async def _tend(self, ward: EmbeddingState) -> None:
        ward.refusals.clear()
        with self._guard():
            try:
                while not ward.left and (await self._step(ward) or ward.is_called):
                    ward.tally = None
            finally:
                ward.tended, ward.tally, ward.waiting = False, None, None
                if ward.demand is not None:
                    demand, ward.demand = ward.demand, None
                    demand.finished.fail(_stopping())

    async def _step(self, ward: EmbeddingState) -> bool:
        """Do what is next; whether there may be more. What fails is tried again after a pause."""
        ward.heard()
        if ward.demand is not None:
            await self._answer(ward, ward.demand)
            return True
        try:
            await self._look(ward)
            if ward.switch is not None:
                await self._switcher.switch(ward, ward.switch)
                return True
            return await self._backfill(ward)
        except MnemonError as error:
            await ward.pause(sentence(error))
            return True

    async def _look(self, ward: EmbeddingState) -> None:
        """Find out, once, whether an earlier daemon left a switch half done."""
        if not ward.looked:
            ward.switch = await ward.store.read(read_switch)
            ward.looked = True

    async def _answer(self, ward: EmbeddingState, demand: Demand) -> None:
        try:
            tally = await self._demanded(ward, demand.everything)
        except MnemonError as error:
            ward.demand = None
            demand.finished.fail(error)
        else:
            ward.demand = None
            demand.finished.resolve(tally)

    # ------------------------------------------------------------ rows without a vector

    async def _backfill(self, ward: EmbeddingState) -> bool:
        """One pass; whether another may be needed."""
        if ward.embedder is None and not self._is_worth_asking(ward):
            return False
        embedder = await self._embedder(ward)
        texts = [text for text in await self._missing(ward) if not ward.is_given_up(text.id)]
        if not texts or embedder is None:
            return False
        found = frozenset(map(hash, texts))
        if found == ward.tried:
            ward.tried = None
            raise MnemonError(UNAVAILABLE, f"{len(found)} vectors of {embedder.name} could not be stored")
        tally = ward.tally = Tally("backfill", len(texts))
        await self._embed(ward, embedder, texts, tally, anew=False)
        if tally.failed:
            raise refuses(embedder, tally.failed)
        ward.tried = found
        return True

    def _is_worth_asking(self, ward: EmbeddingState) -> bool:
        """Whether a store without an embedder should have one, and would have anything from it."""
        snapshot = ward.store.snapshot
        if ward.store.embedder is None:
            return self._supply.wants
        return snapshot.embedded < snapshot.live

    async def _demanded(self, ward: EmbeddingState, everything: bool) -> Tally:
        """Raises MnemonError(UNAVAILABLE), which says how many were embedded before."""
        await self._look(ward)
        if ward.switch is not None:
            raise _switching(ward.name, ward.switch)
        tally = ward.tally = Tally("run", 0)
        if everything:
            texts = await self._batches.in_thread(every_text, ward.store.snapshot)
        else:
            texts = await self._missing(ward)
        if not texts:
            return tally
        embedder = await self._embedder(ward)
        if embedder is None:
            raise MnemonError(
                UNAVAILABLE, f'the store "{ward.name}" has no embedder', hint="set embedding.provider in config.toml"
            )
        tally.total = len(texts)
        try:
            await self._embed(ward, embedder, texts, tally, anew=everything)
        except MnemonError as error:
            before = f"; {tally.done} of {tally.total} memories were embedded before" if tally.done else ""
            raise MnemonError(error.kind, f"{error.message}{before}", hint=error.hint) from error
        return tally

    async def _missing(self, ward: EmbeddingState) -> list[Text]:
        """What has no vector and might have one: the embedder was not asked yet, or did not answer."""
        texts = await self._batches.in_thread(texts_without_vector, ward.store.snapshot)
        if not texts:
            return texts
        record = ward.store.embedder
        asked = await ward.store.read(lambda connection: insights.unembeddable(connection, record))
        return [text for text in texts if text.id not in asked]

    async def _embed(
        self, ward: EmbeddingState, embedder: Embedder, texts: Sequence[Text], tally: Tally, *, anew: bool
    ) -> None:
        """Embed and store, batch by batch. A backfill makes way for what somebody asks for."""
        for some in self._batches.cut(embedder, texts):
            answers = await self._batches.embedded(ward, embedder, some, tally)
            if answers:
                identity = self._identities.own(ward.name, TRIGGER)
                outcome = await ward.store.write(propose(answers, identity, embedder, anew=anew))
                tally.done += cast("int", cast("EmbedRunResult", outcome).succeeded)
                ward.progressed()
            if tally.kind == "backfill" and (ward.demand is not None or ward.switch is not None):
                return

    async def _embedder(self, ward: EmbeddingState) -> Embedder | None:
        """The store's embedder; None when there shall be none. One that was not to be had is asked for again.

        Raises MnemonError(UNAVAILABLE).
        """
        if ward.embedder is not None:
            return ward.embedder
        try:
            found = await self._found(ward)
        except MnemonError as error:
            ward.change(embed_error=sentence(error))
            raise
        if found is not None:
            ward.use(found)
        return found

    async def _found(self, ward: EmbeddingState) -> Embedder | None:
        record = ward.store.embedder
        if record is not None:
            known = (record.name, record.dimension, record.fingerprint)
            return await self._batches.in_thread(self._supply.of_record, *known)
        found = await self._batches.in_thread(self._supply.preferred)
        if found is None:
            return None
        now = self._identities.own(ward.name, TRIGGER).now
        adopted = await ward.store.rewrite(partial(embedding.adopt, record=record_of(found), now=now))
        return found if adopted else await self._found(ward)


def _busy(what: str) -> MnemonError:
    hint = "`mnemonctl embed --status` says how far it is; repeat when it is done"
    return MnemonError(BUSY, what, hint=hint, outcome="rejected")


def _switching(name: str, switch: SwitchRecord) -> MnemonError:
    return _busy(f'the store "{name}" is being switched to {switch.to.name}, which embeds every memory')


def _stopping() -> MnemonError:
    return MnemonError(
        STOPPING, "the daemon is stopping; what was embedded already is stored", hint="repeat it when it runs again"
    )
