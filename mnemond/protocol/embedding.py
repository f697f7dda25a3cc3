"""Parameters and results of the methods about a store's embedder and its vectors."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from mnemond.protocol.types import IdOrPrefix, OpId, Params, Result, StoreName

ModelName = Annotated[str, msgspec.Meta(min_length=1, max_length=200, pattern=r"^[\w.:/@+-]+$")]


class EmbedStatusParams(Params, frozen=True, kw_only=True):
    """Which store."""

    store: StoreName | None = None


class SwitchView(msgspec.Struct, frozen=True):
    """A switch under way: `done` of `total` memories have a vector of the model `to`."""

    to: str
    provider: str
    dimension: int
    done: int
    total: int
    started_at: str


class WorkView(msgspec.Struct, frozen=True):
    """Embedding under way: a `run` somebody asked for, a `backfill` of what could not be embedded when it was written,
    or a `switch`. `waiting`: why nothing happens just now; it is tried again by itself."""

    kind: Literal["run", "backfill", "switch"]
    done: int
    total: int
    failed: int
    waiting: str | None


class CalibrationView(msgspec.Struct, frozen=True):
    """Median cosines of unrelated memories and of paraphrases, and where they come from."""

    unrelated: float | None
    paraphrase: float | None
    source: Literal["shipped", "measured", "unknown"]


class ThresholdsView(msgspec.Struct, frozen=True):
    """Cosines on the scale of the store's embedder; `override` is null where no cosine decides alone."""

    update: float
    duplicate: float
    override: float | None
    link: float
    review: float


class EmbedStatusResult(Result, frozen=True, kw_only=True):
    """A store's vectors and what makes them. `coverage` in [0, 1], of active memories. `stale`: vectors of another
    model or dimension, which are not compared with anything. `ollama_available`: whether it is
    available and Ollama's."""

    store: str
    total_insights: int
    embedded: int
    coverage: float
    provider: str | None
    available: bool
    ollama_available: bool
    reason: str | None
    model: str | None
    dimension: int | None
    stale: int
    work: WorkView | None
    switch: SwitchView | None
    calibration: CalibrationView
    thresholds: ThresholdsView


class EmbedRunParams(Params, frozen=True, kw_only=True):
    """What lacks a vector; with `all` every memory anew, with `id` that one anew.

    The answer comes when it is done. It goes on when the caller goes away; a stop of the daemon ends it, and what was
    made until then is kept. Whoever asks for the same meanwhile gets the same answer.
    """

    all: bool = False
    id: IdOrPrefix | None = None
    op_id: OpId | None = None
    store: StoreName | None = None


class EmbedRunResult(Result, frozen=True, kw_only=True):
    """`embedded`: the one memory asked for. `backfill_complete`: how many have a vector now, and how many still lack
    one. `complete`: there was nothing to do, and why."""

    status: Literal["embedded", "backfill_complete", "complete"]
    id: str | msgspec.UnsetType = msgspec.UNSET
    succeeded: int | msgspec.UnsetType = msgspec.UNSET
    failed: int | msgspec.UnsetType = msgspec.UNSET
    message: str | msgspec.UnsetType = msgspec.UNSET
    dimension: int
    model: str
    op_id: str
    replayed: bool


class EmbedSwitchParams(Params, frozen=True, kw_only=True):
    """The embedder to change to, or `abort` alone to stay with the present one."""

    provider: Literal["builtin", "ollama", "openai"] | None = None
    model: ModelName | None = None
    abort: bool = False
    op_id: OpId | None = None
    store: StoreName | None = None


class EmbedSwitchResult(Result, frozen=True, kw_only=True):
    """`switching`: it has begun, for `total` memories; `embed.status` tells how far it is. `aborted`: `dropped`
    vectors were thrown away."""

    status: Literal["switching", "aborted"]
    model: str
    provider: str | msgspec.UnsetType = msgspec.UNSET
    dimension: int | msgspec.UnsetType = msgspec.UNSET
    total: int | msgspec.UnsetType = msgspec.UNSET
    started_at: str | msgspec.UnsetType = msgspec.UNSET
    dropped: int | msgspec.UnsetType = msgspec.UNSET
    message: str
    op_id: str
    replayed: bool


class EmbedCalibrateParams(Params, frozen=True, kw_only=True):
    """Which store."""

    op_id: OpId | None = None
    store: StoreName | None = None


class EmbedCalibrateResult(Result, frozen=True, kw_only=True):
    """What was measured and is used from now on, and the thresholds that follow from it."""

    status: Literal["calibrated"]
    model: str
    unrelated: float
    paraphrase: float
    pairs: int
    paraphrases: int
    thresholds: ThresholdsView
    op_id: str
    replayed: bool
