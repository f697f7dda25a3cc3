"""What is told about a store's embedder and its vectors."""

from __future__ import annotations

import math
from typing import NamedTuple, cast

import msgspec

from mnemond.embed import embedders
from mnemond.embed.calibration import shipped
from mnemond.embed.embedder import Embedder
from mnemond.embed.outcome import sentence
from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.handlers.door import OpenStore
from mnemond.handlers.ward import Tally, Ward
from mnemond.model.changes import ChangeSet
from mnemond.model.outcomes import Calibrated, Embedded, Outcome, SwitchDropped, SwitchStarted
from mnemond.protocol import embedding as wire
from mnemond.store import insights, staged
from mnemond.store.connection import Connection
from mnemond.store.meta import EmbedderRecord, SwitchRecord, read_embedder, read_switch

NOTHING_MISSING = "every memory has a vector that can have one"


class Counted(NamedTuple):
    """What the database knows: the embedder, stale vectors, and the switch under way with how many are staged."""

    record: EmbedderRecord | None
    stale: int
    switch: SwitchRecord | None
    staged: int


def counted(connection: Connection) -> Counted:
    """Read it. Raises SqliteError."""
    record, switch = read_embedder(connection), read_switch(connection)
    return Counted(
        record, insights.count_stale(connection, record), switch, 0 if switch is None else staged.done(connection)
    )  # fmt: skip


def lacking(embedder: Embedder) -> str | None:
    """Why an embedder is not to be had just now; blocks."""
    try:
        embedders.check(embedder)
    except MnemonError as error:
        if error.kind is not UNAVAILABLE:
            raise
        return sentence(error)
    return None


def status(warm: OpenStore, counts: Counted, reason: str | None, ward: Ward) -> wire.EmbedStatusResult:
    """How a store's vectors stand; `reason`: why its embedder is not to be had."""
    snapshot, record = warm.store.snapshot, counts.record
    available = warm.embedder is not None and reason is None
    provider = None if record is None else embedders.provider_of(record.fingerprint)
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
        work=_work(ward),
        switch=_switch(counts, snapshot.live),
        calibration=_calibration(record),
        thresholds=thresholds(warm),
    )


def _work(ward: Ward) -> wire.WorkView | None:
    if ward.tally is None and ward.waiting is None:
        return None
    tally = ward.tally or Tally("backfill" if ward.switch is None else "switch", 0)
    return wire.WorkView(tally.kind, tally.done, tally.total, tally.failed, ward.waiting)


def _switch(counts: Counted, live: int) -> wire.SwitchView | None:
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


def thresholds(warm: OpenStore) -> wire.ThresholdsView:
    """The cosines a store's writes go by now."""
    cosines, semantic = warm.limits.cosines, warm.limits.policy.graph.semantic
    override = round(cosines.override, 6) if math.isfinite(cosines.override) else None
    return wire.ThresholdsView(
        round(cosines.update, 6), round(cosines.duplicate, 6), override, round(semantic.auto, 6),
        round(semantic.review, 6),
    )  # fmt: skip


# ------------------------------------------------------------ results


def told(tally: object, outcome: Embedded) -> Embedded:
    """What a run came to."""
    done = cast("Tally", tally)
    message = None if done.total else NOTHING_MISSING
    return msgspec.structs.replace(outcome, succeeded=done.done, failed=done.failed, message=message)


def about_one(decided: ChangeSet, insight_id: str, message: str | None) -> ChangeSet:
    """An operation that embeds one memory, told and logged as that."""
    outcome = msgspec.structs.replace(decided.outcome, id=insight_id, message=message)
    return msgspec.structs.replace(decided, outcome=outcome, operation=None, subject=insight_id)


def run_result(outcome: Embedded) -> wire.EmbedRunResult:
    """In the shape that fits."""
    result = wire.EmbedRunResult(
        status="backfill_complete", dimension=outcome.dimension, model=outcome.model, op_id=outcome.op_id,
        replayed=outcome.replayed,
    )  # fmt: skip
    if outcome.message is not None:
        return msgspec.structs.replace(result, status="complete", message=outcome.message)
    if outcome.id is not None:
        return msgspec.structs.replace(result, status="embedded", id=outcome.id)
    return msgspec.structs.replace(result, succeeded=outcome.succeeded, failed=outcome.failed)


def switch_result(outcome: Outcome) -> wire.EmbedSwitchResult:
    """Begun, or given up."""
    if isinstance(outcome, SwitchDropped):
        return wire.EmbedSwitchResult(
            status="aborted", model=outcome.model, dropped=outcome.dropped, op_id=outcome.op_id,
            replayed=outcome.replayed, message="the store keeps the embedder it has",
        )  # fmt: skip
    begun = cast("SwitchStarted", outcome)
    return wire.EmbedSwitchResult(
        status="switching", model=begun.model, provider=begun.provider, dimension=begun.dimension, total=begun.total,
        started_at=begun.started_at, op_id=begun.op_id, replayed=begun.replayed,
        message="the present vectors serve until all new ones are there; links between memories stay as they are",
    )  # fmt: skip


def calibrate_result(warm: OpenStore, outcome: Calibrated) -> wire.EmbedCalibrateResult:
    """What was measured, and what follows."""
    return wire.EmbedCalibrateResult(
        status="calibrated", model=outcome.model, unrelated=round(outcome.unrelated, 6),
        paraphrase=round(outcome.paraphrase, 6), pairs=outcome.pairs, paraphrases=outcome.paraphrases,
        thresholds=thresholds(warm), op_id=outcome.op_id, replayed=outcome.replayed,
    )  # fmt: skip
