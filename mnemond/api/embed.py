"""Methods of embedding: status, runs, switches and calibration."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple, TypeVar, cast

import msgspec
import trio
from msgspec import UNSET

from mnemond.api import types_extract as wire
from mnemond.api.embed_worker import EmbeddingState, EmbeddingWorker, Tally
from mnemond.api.requests import Identities, one_active
from mnemond.api.store_access import OpenStore, OpenStores
from mnemond.embed import registry
from mnemond.embed.calibration import shipped
from mnemond.embed.embedder import UNKNOWN_WORDS, Embedder, Supply, sentence
from mnemond.errors import BUSY, INVALID_PARAMS, UNAVAILABLE, MnemonError
from mnemond.memory import embedding
from mnemond.memory.cues import embed_memories
from mnemond.memory.embedding import Answered, Text, record_of
from mnemond.memory.write import WriteContext
from mnemond.model.changes import ChangeSet, SetVector
from mnemond.model.outcomes import (
    SWITCHING,
    EmbedCalibrateResult,
    EmbedRunResult,
    EmbedSwitchResult,
    Maintained,
    Outcome,
    ThresholdsView,
)
from mnemond.store import embedder_switch, insights, operations
from mnemond.store.connection import Connection
from mnemond.store.embedder_switch import SwitchRecord, read_switch
from mnemond.store.meta import EmbedderRecord, read_embedder
from mnemond.store.operations import Proposal, View
from mnemond.wire.dispatch import Call, handles
from mnemond.wire.params import StoreParams, WriteParams

NOTHING_MISSING = "every memory has a vector that can have one"


class EmbedCounts(NamedTuple):
    """Embedding figures from the database: the embedder, stale vectors, the switch under way and its staged vectors."""

    record: EmbedderRecord | None
    stale: int
    switch: SwitchRecord | None
    staged: int


def read_counts(connection: Connection) -> EmbedCounts:
    """Raises SqliteError."""
    record, switch = read_embedder(connection), read_switch(connection)
    staged = 0 if switch is None else embedder_switch.count_staged(connection)
    return EmbedCounts(record, insights.count_stale(connection, record), switch, staged)


def unavailable_reason(embedder: Embedder) -> str | None:
    """Return why an embedder is unavailable, or None (blocking)."""
    try:
        registry.check_available(embedder)
    except MnemonError as error:
        if error.kind is not UNAVAILABLE:
            raise
        return sentence(error)
    return None


def status(warm: OpenStore, counts: EmbedCounts, reason: str | None, state: EmbeddingState) -> wire.EmbedStatusResult:
    """Build the result of embed.status; `reason`: why the embedder is unavailable."""
    snapshot, record = warm.store.snapshot, counts.record
    available = warm.embedder is not None and reason is None
    provider = None if record is None else registry.provider_of(record.fingerprint)
    return wire.EmbedStatusResult(
        store=warm.store.name,
        total_insights=snapshot.live,
        embedded=snapshot.embedded,
        coverage=1.0 if not snapshot.live else round(snapshot.embedded / snapshot.live, 6),
        provider=provider,
        available=available,
        ollama_available=available and provider == "ollama",
        reason=reason,
        model=None if record is None else record.name,
        dimension=None if record is None else record.dimension,
        stale=counts.stale,
        work=_work(state),
        switch=_switch(counts, snapshot.live),
        calibration=_calibration(record),
        thresholds=thresholds(warm),
    )


def _work(state: EmbeddingState) -> wire.WorkView | None:
    if state.tally is None and state.waiting is None:
        return None
    tally = state.tally or Tally("backfill" if state.switch is None else "switch", 0)
    return wire.WorkView(tally.kind, tally.done, tally.total, tally.failed, state.waiting)


def _switch(counts: EmbedCounts, live: int) -> wire.SwitchView | None:
    if counts.switch is None:
        return None
    to = counts.switch.to
    return wire.SwitchView(
        to.name, counts.switch.provider, to.dimension, counts.staged, live, counts.switch.started_at
    )  # fmt: skip


def _calibration(record: EmbedderRecord | None) -> wire.CalibrationView:
    if record is not None and record.unrelated is not None and record.paraphrase is not None:
        return wire.CalibrationView(record.unrelated, record.paraphrase, "measured")
    found = None if record is None else shipped(record.name)
    if found is None:
        return wire.CalibrationView(None, None, "unknown")
    return wire.CalibrationView(found.unrelated, found.paraphrase, "shipped")


def thresholds(warm: OpenStore) -> ThresholdsView:
    """Return the cosine thresholds of a store's writes."""
    cosines, semantic = warm.rules.diff.cosines, warm.rules.config.graph.semantic
    override = round(cosines.override, 6) if math.isfinite(cosines.override) else None
    return ThresholdsView(
        round(cosines.update, 6), round(cosines.duplicate, 6), override, round(semantic.auto, 6),
        round(semantic.review, 6),
    )  # fmt: skip


T = TypeVar("T")

THREADS = 8
"""Concurrent requests to embedders: probes, single texts, calibrations."""


class EmbedHandlers:
    """embed.status, embed.run, embed.switch, embed.calibrate."""

    def __init__(
        self, open_stores: OpenStores, supply: Supply, worker: EmbeddingWorker, identities: Identities
    ) -> None:
        self._open_stores = open_stores
        self._supply = supply
        self._worker = worker
        self._identities = identities
        self._threads = trio.CapacityLimiter(THREADS)

    @handles("embed.status", in_task=True)
    async def status(self, call: Call, params: StoreParams) -> wire.EmbedStatusResult:
        """Return the state of a store's vectors. Probes an embedder behind an endpoint."""
        warm = await self._open_stores.use(params.store)
        counts = await warm.store.read(read_counts)
        reason = warm.embed_error
        if warm.embedder is not None:
            reason = await self._thread(unavailable_reason, warm.embedder)
        result = status(warm, counts, reason, self._worker.state(warm.store.name))
        return warm.marked(result, None if warm.embedder is None else reason)

    @handles("embed.run", in_task=True)
    async def run(self, call: Call, params: wire.EmbedRunParams) -> EmbedRunResult:
        """Embed, and answer when that is done; the run continues if the client leaves.

        Raises MnemonError: UNAVAILABLE without the embedder, BUSY during another run or a switch, NOT_FOUND for an id.
        """
        if params.all and params.id is not None:
            raise MnemonError(INVALID_PARAMS, "all and id exclude each other", hint="give one", outcome="rejected")
        warm = await self._open_stores.use(params.store)
        identity = self._identities.of(warm, params)
        outcome = await self._replayed(warm, "embed.run", identity)
        if outcome is None and params.id is not None:
            outcome = await self._run_one(warm, params.id, identity)
        elif outcome is None:
            outcome = await self._run_all(warm, identity, everything=params.all)
        found = cast("EmbedRunResult", outcome)
        if found.status == "complete":
            found = msgspec.structs.replace(found, id=UNSET)
        return warm.marked(found)

    @handles("embed.switch", in_task=True)
    async def switch(self, call: Call, params: wire.EmbedSwitchParams) -> EmbedSwitchResult:
        """Begin to replace every vector by one of another embedder, or abort that.

        Raises MnemonError: CONFIG, UNAVAILABLE, BUSY, INVALID_PARAMS, NOT_FOUND.
        """
        if params.abort == (params.provider is not None) or (params.abort and params.model is not None):
            raise MnemonError(
                INVALID_PARAMS, "either provider (with or without a model) or abort is needed, and not both",
                hint="providers are builtin, ollama and openai", outcome="rejected",
            )  # fmt: skip
        warm = await self._open_stores.use(params.store)
        identity = self._identities.of(warm, params)
        outcome = await self._replayed(warm, "embed.switch", identity)
        if outcome is None and params.provider is None:
            outcome = await self._abort(warm, identity)
        elif outcome is None:
            outcome = await self._begin(warm, params, identity)
        return warm.marked(cast("EmbedSwitchResult", outcome))

    @handles("embed.calibrate", in_task=True)
    async def calibrate(self, call: Call, params: WriteParams) -> EmbedCalibrateResult:
        """Measure the cosines of the embedder on the store.

        Raises MnemonError: INVALID_PARAMS if the store has too few memories, UNAVAILABLE without the embedder, BUSY.
        """
        warm = await self._open_stores.use(params.store)
        identity = self._identities.of(warm, params)
        outcome = await self._replayed(warm, "embed.calibrate", identity)
        if outcome is None:
            outcome = await self._measure(warm, identity)
        found = cast("EmbedCalibrateResult", outcome)
        return warm.marked(msgspec.structs.replace(found, thresholds=thresholds(warm)))

    async def _run_all(self, warm: OpenStore, identity: WriteContext, *, everything: bool) -> Outcome:
        tally = await self._worker.request_run(warm.store.name, everything=everything)
        record = warm.store.embedder
        name, dimension = ("", 0) if record is None else (record.name, record.dimension)
        found = EmbedRunResult("complete", name, dimension, op_id=identity.op_id, replayed=False)
        if tally.total:
            found = msgspec.structs.replace(
                found, status="backfill_complete", succeeded=tally.done, failed=tally.failed
            )
            detail = f"{tally.done} embedded, {tally.failed} failed"
        else:
            found = msgspec.structs.replace(found, message=NOTHING_MISSING)
            detail = NOTHING_MISSING
        return await warm.store.write(_operation("embed.run", identity, found, detail))

    async def _run_one(self, warm: OpenStore, id_or_prefix: str, identity: WriteContext) -> Outcome:
        insight = one_active(warm.store.snapshot, id_or_prefix)
        embedder = _embedder_of(warm)
        (vector,) = await self._thread(embed_memories, embedder, [insight.text])
        answer = Answered(Text(insight.id, *insight.text), vector)
        proposal = embedding.propose([answer], identity, embedder, anew=True)
        return await warm.store.write(proposal._replace(decide=partial(_decide_one, proposal, answer, embedder)))

    async def _begin(self, warm: OpenStore, params: wire.EmbedSwitchParams, identity: WriteContext) -> Outcome:
        name = warm.store.name
        if self._worker.state(name).requested is not None:
            raise MnemonError(
                BUSY, f'a run embeds memories of the store "{name}"', hint="repeat when it is done", outcome="rejected"
            )
        embedder = await self._thread(self._supply.named, params.provider or "", params.model)
        record = SwitchRecord(params.provider or "", record_of(embedder), identity.now)
        outcome = EmbedSwitchResult(
            "switching", embedder.name, SWITCHING, provider=record.provider, dimension=embedder.dimension,
            total=warm.store.snapshot.live, started_at=identity.now, op_id=identity.op_id, replayed=False,
        )  # fmt: skip
        asked = _operation("embed.switch", identity, outcome)
        found = await warm.store.rewrite(partial(embedding.begin, requested=asked, record=record))
        if not found.replayed:  # a replayed switch may be complete by now
            self._worker.set_switch(name, record, embedder)
        return found

    async def _abort(self, warm: OpenStore, identity: WriteContext) -> Outcome:
        asked = _operation("embed.switch", identity, Maintained(op_id=identity.op_id))
        found = await warm.store.rewrite(partial(embedding.drop, requested=asked))
        if not found.replayed:  # a later switch may be under way by now
            self._worker.set_switch(warm.store.name, None)
        return found

    async def _measure(self, warm: OpenStore, identity: WriteContext) -> Outcome:
        embedder = _embedder_of(warm)
        found, pairs, paraphrases = await self._thread(embedding.measure, warm.store.snapshot, embedder)
        outcome = EmbedCalibrateResult(
            "calibrated", embedder.name, round(found.unrelated, 6), round(found.paraphrase, 6), pairs, paraphrases,
            thresholds(warm), op_id=identity.op_id, replayed=False,
        )  # fmt: skip
        asked = _operation("embed.calibrate", identity, outcome)
        return await warm.store.rewrite(
            partial(embedding.save_calibration, requested=asked, fingerprint=embedder.fingerprint, measured=found)
        )

    async def _replayed(self, warm: OpenStore, method: str, identity: WriteContext) -> Outcome | None:
        """Return the outcome of an earlier request with this op_id, or None. Raises MnemonError(OP_ID_REUSED)."""
        if not identity.client_op_id:
            return None
        asked = _operation(method, identity, Maintained(op_id=identity.op_id))
        return await warm.store.read(lambda connection: operations.replay(connection, asked))

    async def _thread(self, work: Callable[..., T], *args: object) -> T:
        return await trio.to_thread.run_sync(work, *args, abandon_on_cancel=True, limiter=self._threads)


def _embedder_of(warm: OpenStore) -> Embedder:
    if warm.embedder is None:
        raise MnemonError(UNAVAILABLE, warm.embed_error or "the store has no embedder", outcome="rejected")
    return warm.embedder


def _operation(method: str, identity: WriteContext, outcome: Outcome, detail: str = "") -> ChangeSet:
    """Build an operation that changes no memory."""
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


def _decide_one(proposal: Proposal, answer: Answered, embedder: Embedder, view: View) -> ChangeSet:
    """Raises MnemonError(BUSY) if the text of the memory changed meanwhile."""
    decided = proposal.decide(view)
    if SetVector not in map(type, decided.changes):
        raise MnemonError(BUSY, "the memory was changed while it was embedded", hint="repeat", outcome="rejected")
    model, dimension = embedder.name, embedder.dimension
    outcome = EmbedRunResult(
        "embedded", model, dimension, id=answer.text.id, op_id=decided.op_id, replayed=False,
    )  # fmt: skip
    if answer.vector is None:
        outcome = msgspec.structs.replace(outcome, status="complete", message=UNKNOWN_WORDS)
    return msgspec.structs.replace(decided, outcome=outcome, operation=None, subject=answer.text.id)
