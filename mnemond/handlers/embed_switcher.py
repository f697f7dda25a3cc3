"""A store on its way to another embedder: vectors are staged until every memory has one, then they take over.

The old vectors serve until then. A restart goes on where it was; what was staged is kept in the store.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from mnemond.embed.embedder import Embedder
from mnemond.embed.supply import Supply
from mnemond.errors import MnemonError
from mnemond.handlers.embed_batches import Batches, refuses
from mnemond.handlers.submission import Identities
from mnemond.handlers.ward import TRIGGER, Tally, Ward
from mnemond.pipelines import switching
from mnemond.pipelines.embedding import Answered, Text, texts_to_stage
from mnemond.store import insights, staged
from mnemond.store.meta import SwitchRecord
from mnemond.store.staged import StagedRow

CATCH_UPS: Final = 8
"""Times that a switch looks for memories written meanwhile before it goes ahead without the last of them, which are
embedded right after it: with 64 writers there is always one more."""


class Switcher:
    """Carries switches out. For the event loop's thread."""

    def __init__(self, supply: Supply, identities: Identities, batches: Batches) -> None:
        self._supply = supply
        self._identities = identities
        self._batches = batches

    async def switch(self, ward: Ward, record: SwitchRecord) -> None:
        """Stage vectors until every memory has one, then let them take over. Returns early when it was dropped."""
        embedder = await self._coming(ward, record)
        known = await ward.store.read(staged.hashes)
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

    async def _coming(self, ward: Ward, record: SwitchRecord) -> Embedder:
        """The embedder of a switch; after a restart it has to be found again. Raises MnemonError(UNAVAILABLE)."""
        if ward.coming is None:
            to = record.to
            ward.coming = await self._batches.in_thread(self._supply.of_record, to.name, to.dimension, to.fingerprint)
        return ward.coming

    async def _stage(
        self, ward: Ward, record: SwitchRecord, texts: Sequence[Text], known: dict[str, str], tally: Tally
    ) -> bool:
        """Embed and stage, batch by batch; False when the switch was dropped meanwhile."""
        embedder = await self._coming(ward, record)
        for some in self._batches.cut(embedder, texts):
            rows = [_staged(answer) for answer in await self._batches.embedded(ward, embedder, some, tally)]
            if ward.switch is not record or not await ward.store.rewrite(
                partial(staged.stage, record=record, rows=rows)
            ):
                return False
            known.update((row.insight_id, insights.content_hash(row.content)) for row in rows)
            tally.done += len(rows)
            if rows:
                ward.progressed()
        return ward.switch is record

    async def _cut_over(
        self, ward: Ward, record: SwitchRecord, embedder: Embedder, without: Sequence[str] | None
    ) -> bool:
        """Whether the switch is over, one way or the other. From here on a recall may meet the vectors of either
        embedder."""
        ward.change(coming=embedder)
        now = self._identities.own(ward.name, TRIGGER).now
        try:
            lacking = await ward.store.rewrite(partial(switching.cut_over, record=record, without=without, now=now))
        except MnemonError:
            if not _took_over(ward, record):  # a COMMIT may raise although it committed
                ward.change(coming=None)
                raise
            return True
        return not lacking

    @staticmethod
    def _over(ward: Ward, record: SwitchRecord, embedder: Embedder) -> None:
        """What is in the store says whether the switch was carried out or dropped."""
        if _took_over(ward, record):
            ward.switch = None
            ward.use(embedder)
        else:
            ward.change(coming=None)
            ward.dropped(record)


def _took_over(ward: Ward, record: SwitchRecord) -> bool:
    embedder = ward.store.embedder
    return embedder is not None and embedder.fingerprint == record.to.fingerprint


def _staged(answer: Answered) -> StagedRow:
    return StagedRow(answer.text.id, answer.text.content, answer.vector)
