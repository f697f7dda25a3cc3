"""The methods about a store's embedder: how its vectors stand, making them, changing it, and measuring it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeVar, cast

import trio

from mnemond.embed.embedder import Embedder
from mnemond.embed.outcome import UNKNOWN_WORDS
from mnemond.embed.supply import Supply
from mnemond.errors import BUSY, INVALID_PARAMS, UNAVAILABLE, MnemonError
from mnemond.handlers import embed_views
from mnemond.handlers.door import OpenStore, StoreDoor, settle
from mnemond.handlers.embed_keeper import EmbedKeeper
from mnemond.handlers.lookup import one_active
from mnemond.handlers.submission import Identities
from mnemond.model.changes import ChangeSet, SetVector
from mnemond.model.outcomes import Calibrated, Embedded, Outcome, SwitchStarted
from mnemond.pipelines import embedding, switching
from mnemond.pipelines.embedding import Answered, Text, record_of
from mnemond.pipelines.identity import Identity
from mnemond.protocol import embedding as wire
from mnemond.server.call import Call
from mnemond.server.dispatch import Handler
from mnemond.store import operations
from mnemond.store.meta import SwitchRecord
from mnemond.store.proposal import Proposal, View

T = TypeVar("T")

THREADS = 8
"""Questions to embedders at once: whether one is there, one text, a calibration."""


class EmbedHandlers:
    """embed.status, embed.run, embed.switch, embed.calibrate."""

    def __init__(self, door: StoreDoor, supply: Supply, keeper: EmbedKeeper, identities: Identities) -> None:
        self._door = door
        self._supply = supply
        self._keeper = keeper
        self._identities = identities
        self._threads = trio.CapacityLimiter(THREADS)

    def methods(self) -> Mapping[str, Handler]:
        """Each by the name of its method."""
        return {
            "embed.status": self.status,
            "embed.run": self.run,
            "embed.switch": self.switch,
            "embed.calibrate": self.calibrate,
        }

    def status(self, call: Call, params: wire.EmbedStatusParams) -> object:
        """How a store's vectors stand. Asks an embedder behind an endpoint whether it is there."""
        return self._door.through(params.store, self._status)

    def run(self, call: Call, params: wire.EmbedRunParams) -> object:
        """Embed, and answer when that is done; it goes on when the caller does not wait for the answer.

        Raises MnemonError: UNAVAILABLE without the embedder, BUSY beside another run or a switch, NOT_FOUND for an id.
        """
        if params.all and params.id is not None:
            raise MnemonError(INVALID_PARAMS, "all and id exclude each other", hint="give one", outcome="rejected")
        return self._door.through(params.store, lambda warm: self._run(warm, params))

    def switch(self, call: Call, params: wire.EmbedSwitchParams) -> object:
        """Begin to make every vector anew with another embedder, or give that up.

        Raises MnemonError: CONFIG, UNAVAILABLE, BUSY, INVALID_PARAMS, NOT_FOUND.
        """
        if params.abort == (params.provider is not None) or (params.abort and params.model is not None):
            raise MnemonError(
                INVALID_PARAMS, "either provider (with or without a model) or abort is needed, and not both",
                hint="providers are builtin, ollama and openai", outcome="rejected",
            )  # fmt: skip
        return self._door.through(params.store, lambda warm: self._switch(warm, params))

    def calibrate(self, call: Call, params: wire.EmbedCalibrateParams) -> object:
        """Measure the embedder on the store. Raises MnemonError: INVALID_PARAMS for a store with too few
        memories, UNAVAILABLE when that cannot be done, BUSY."""
        return self._door.through(params.store, lambda warm: self._calibrate(warm, params))

    # ------------------------------------------------------------ status

    async def _status(self, warm: OpenStore) -> wire.EmbedStatusResult:
        counted = await warm.store.read(embed_views.counted)
        reason = warm.embed_error
        if warm.embedder is not None:
            reason = await self._thread(embed_views.lacking, warm.embedder)
        result = embed_views.status(warm, counted, reason, self._keeper.ward(warm.store.name))
        return warm.marked(result, None if warm.embedder is None else reason)

    # ------------------------------------------------------------ run

    async def _run(self, warm: OpenStore, params: wire.EmbedRunParams) -> object:
        identity = self._identities.of(warm, params)
        outcome = await self._replayed(warm, "embed.run", identity)
        if outcome is None and params.id is not None:
            outcome = await self._run_one(warm, params.id, identity)
        elif outcome is None:
            outcome = await self._run_all(warm, identity, everything=params.all)
        return warm.marked(embed_views.run_result(cast("Embedded", outcome)))

    async def _run_all(self, warm: OpenStore, identity: Identity, *, everything: bool) -> Outcome:
        tally = await settle(self._keeper.demand(warm.store.name, everything=everything))
        record = warm.store.embedder
        name, dimension = ("", 0) if record is None else (record.name, record.dimension)
        found = embed_views.told(tally, Embedded(identity.op_id, name, dimension))
        detail = found.message or f"{found.succeeded} embedded, {found.failed} failed"
        return await warm.store.written(_nothing_but("embed.run", identity, found, detail))

    async def _run_one(self, warm: OpenStore, id_or_prefix: str, identity: Identity) -> Outcome:
        insight = one_active(warm.store.snapshot, id_or_prefix)
        embedder = _needed(warm)
        (vector,) = await self._thread(embedder.embed, [insight.content])
        answer = Answered(Text(insight.id, insight.content), vector)
        proposal = embedding.propose([answer], identity, embedder, anew=True)
        return await warm.store.written(proposal._replace(decide=partial(_decide_one, proposal, answer)))

    # ------------------------------------------------------------ switch

    async def _switch(self, warm: OpenStore, params: wire.EmbedSwitchParams) -> object:
        identity = self._identities.of(warm, params)
        outcome = await self._replayed(warm, "embed.switch", identity)
        if outcome is None and params.provider is None:
            outcome = await self._abort(warm, identity)
        elif outcome is None:
            outcome = await self._begin(warm, params, identity)
        return warm.marked(embed_views.switch_result(outcome))

    async def _begin(self, warm: OpenStore, params: wire.EmbedSwitchParams, identity: Identity) -> Outcome:
        name = warm.store.name
        if self._keeper.ward(name).demand is not None:
            raise MnemonError(
                BUSY, f'a run embeds memories of the store "{name}"', hint="repeat when it is done", outcome="rejected"
            )
        embedder = await self._thread(self._supply.named, params.provider or "", params.model)
        record = SwitchRecord(params.provider or "", record_of(embedder), identity.now)
        outcome = SwitchStarted(
            identity.op_id, record.provider, embedder.name, embedder.dimension, warm.store.snapshot.live, identity.now
        )
        asked = _nothing_but("embed.switch", identity, outcome)
        found = await warm.store.rewrite(partial(switching.begin, asked=asked, record=record))
        if not found.replayed:  # what another call with this op_id began may be over by now
            self._keeper.switched(name, record, embedder)
        return found

    async def _abort(self, warm: OpenStore, identity: Identity) -> Outcome:
        asked = _nothing_but("embed.switch", identity, Embedded(identity.op_id, "", 0))
        found = await warm.store.rewrite(partial(switching.drop, asked=asked))
        if not found.replayed:  # what is under way by now is another switch
            self._keeper.switched(warm.store.name, None)
        return found

    # ------------------------------------------------------------ calibrate

    async def _calibrate(self, warm: OpenStore, params: wire.EmbedCalibrateParams) -> object:
        identity = self._identities.of(warm, params)
        outcome = await self._replayed(warm, "embed.calibrate", identity)
        if outcome is None:
            outcome = await self._measured(warm, identity)
        return warm.marked(embed_views.calibrate_result(warm, cast("Calibrated", outcome)))

    async def _measured(self, warm: OpenStore, identity: Identity) -> Outcome:
        embedder = _needed(warm)
        found, pairs, paraphrases = await self._thread(embedding.measure, warm.store.snapshot, embedder)
        outcome = Calibrated(
            identity.op_id, embedder.name, found.unrelated, found.paraphrase, pairs, paraphrases
        )  # fmt: skip
        asked = _nothing_but("embed.calibrate", identity, outcome)
        return await warm.store.rewrite(
            partial(switching.calibrated, asked=asked, fingerprint=embedder.fingerprint, measured=found)
        )

    # ------------------------------------------------------------ all of them

    async def _replayed(self, warm: OpenStore, method: str, identity: Identity) -> Outcome | None:
        """What this op_id came to before. Raises MnemonError(OP_ID_REUSED)."""
        if not identity.client_op_id:
            return None
        asked = _nothing_but(method, identity, Embedded(identity.op_id, "", 0))
        return await warm.store.read(lambda connection: operations.replay(connection, asked))

    async def _thread(self, work: Callable[..., T], *args: object) -> T:
        return await trio.to_thread.run_sync(work, *args, abandon_on_cancel=True, limiter=self._threads)


def _needed(warm: OpenStore) -> Embedder:
    if warm.embedder is None:
        raise MnemonError(UNAVAILABLE, warm.embed_error or "the store has no embedder", outcome="rejected")
    return warm.embedder


def _nothing_but(method: str, identity: Identity, outcome: Outcome, detail: str = "") -> ChangeSet:
    """An operation that changes no memory, with what its caller is told."""
    return ChangeSet(
        op_id=identity.op_id,
        client_op_id=identity.client_op_id,
        method=method,
        now=identity.now,
        changes=(),
        outcome=outcome,
        request_digest=identity.request_digest,
        triggered_by=identity.triggered_by,
        detail=detail,
    )


def _decide_one(proposal: Proposal, answer: Answered, view: View) -> ChangeSet:
    """Raises MnemonError(BUSY) when the memory says something else by now."""
    decided = proposal.decide(view)
    if SetVector not in map(type, decided.changes):
        raise MnemonError(BUSY, "the memory was changed while it was embedded", hint="repeat", outcome="rejected")
    return embed_views.about_one(decided, answer.text.id, None if answer.vector is not None else UNKNOWN_WORDS)
