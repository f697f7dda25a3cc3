"""Background embedding: what could not be embedded when it was written, what somebody asks for, and switches.

Each store has one task while there is anything to do. It embeds a batch in a thread and lets the writer store it,
again and again; the store serves meanwhile what it has. Cancelled at any moment it leaves whole batches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import cast

import trio

from mnemond.embed.embedder import Embedder
from mnemond.embed.outcome import sentence
from mnemond.embed.supply import Supply
from mnemond.errors import BUSY, STOPPING, UNAVAILABLE, MnemonError
from mnemond.handlers.door import OpenStore
from mnemond.handlers.embed_batches import Batches, refuses
from mnemond.handlers.embed_switcher import Switcher
from mnemond.handlers.submission import Identities
from mnemond.handlers.ward import TRIGGER, Demand, Tally, Ward
from mnemond.model.outcomes import Embedded
from mnemond.pipelines import switching
from mnemond.pipelines.embedding import Text, every_text, propose, record_of, texts_without_vector
from mnemond.server.deferred import Deferred
from mnemond.store import insights
from mnemond.store.meta import SwitchRecord, read_switch
from mnemond.store.read_only import refusal

Guard = Callable[[], AbstractContextManager[object]]
"""Where a defect ends, so that it ends nothing else."""


class EmbedKeeper:
    """Looks after every open store. For the event loop's thread; `run` owns the tasks."""

    def __init__(self, supply: Supply, identities: Identities, batch: int, guard: Guard) -> None:
        """`batch`: texts a request to an embedder that is not inline."""
        self._supply = supply
        self._identities = identities
        self._batches = Batches(batch)
        self._switcher = Switcher(supply, identities, self._batches)
        self._guard = guard
        self._wards: dict[str, Ward] = {}
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
        ward = self._wards[warm.store.name] = Ward(warm, change)
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

    def ward(self, name: str) -> Ward:
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
            raise refusal(ward.store.read_only)
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

    def _start(self, ward: Ward) -> None:
        if self._nursery is not None and not ward.tended and not self._ended and ward.store.read_only is None:
            ward.tended = True
            self._nursery.start_soon(self._tend, ward)

    # ------------------------------------------------------------ one store

    async def _tend(self, ward: Ward) -> None:
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

    async def _step(self, ward: Ward) -> bool:
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

    async def _look(self, ward: Ward) -> None:
        """Find out, once, whether an earlier daemon left a switch half done."""
        if not ward.looked:
            ward.switch = await ward.store.read(read_switch)
            ward.looked = True

    async def _answer(self, ward: Ward, demand: Demand) -> None:
        try:
            tally = await self._demanded(ward, demand.everything)
        except MnemonError as error:
            ward.demand = None
            demand.finished.fail(error)
        else:
            ward.demand = None
            demand.finished.resolve(tally)

    # ------------------------------------------------------------ rows without a vector

    async def _backfill(self, ward: Ward) -> bool:
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

    def _is_worth_asking(self, ward: Ward) -> bool:
        """Whether a store without an embedder should have one, and would have anything from it."""
        snapshot = ward.store.snapshot
        if ward.store.embedder is None:
            return self._supply.wants
        return snapshot.embedded < snapshot.live

    async def _demanded(self, ward: Ward, everything: bool) -> Tally:
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

    async def _missing(self, ward: Ward) -> list[Text]:
        """What has no vector and might have one: the embedder was not asked yet, or did not answer."""
        texts = await self._batches.in_thread(texts_without_vector, ward.store.snapshot)
        if not texts:
            return texts
        record = ward.store.embedder
        asked = await ward.store.read(lambda connection: insights.wordless(connection, record))
        return [text for text in texts if text.id not in asked]

    async def _embed(self, ward: Ward, embedder: Embedder, texts: Sequence[Text], tally: Tally, *, anew: bool) -> None:
        """Embed and store, batch by batch. A backfill makes way for what somebody asks for."""
        for some in self._batches.cut(embedder, texts):
            answers = await self._batches.embedded(ward, embedder, some, tally)
            if answers:
                identity = self._identities.own(ward.name, TRIGGER)
                outcome = await ward.store.written(propose(answers, identity, embedder, anew=anew))
                tally.done += cast("Embedded", outcome).succeeded
                ward.progressed()
            if tally.kind == "backfill" and (ward.demand is not None or ward.switch is not None):
                return

    async def _embedder(self, ward: Ward) -> Embedder | None:
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

    async def _found(self, ward: Ward) -> Embedder | None:
        record = ward.store.embedder
        if record is not None:
            known = (record.name, record.dimension, record.fingerprint)
            return await self._batches.in_thread(self._supply.of_record, *known)
        found = await self._batches.in_thread(self._supply.preferred)
        if found is None:
            return None
        now = self._identities.own(ward.name, TRIGGER).now
        adopted = await ward.store.rewrite(partial(switching.adopt, record=record_of(found), now=now))
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
