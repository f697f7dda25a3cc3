"""Parameters and results of the methods that count: what a store holds, and what the daemon is doing."""

from __future__ import annotations

from typing import Annotated

import msgspec

from mnemond.protocol.types import Params, Result, StoreName


class StatsParams(Params, frozen=True, kw_only=True):
    """Which store; the active one unless named."""

    store: StoreName | None = None


class Quantiles(msgspec.Struct, frozen=True):
    """The least, the greatest, and what a tenth, half and nine tenths are not above."""

    least: float
    p10: float
    median: float
    p90: float
    greatest: float


class StatsResult(Result, frozen=True, kw_only=True):
    """A store in figures. Categories, types and sources are those of active memories, most first; of sources only the
    most frequent. `embedded_share` in [0, 1]. Quantiles are null for an empty store: days since memories were made and
    last used, and effective importance; `importance_bands` counts memories by it. `*_bytes` of the database, its
    write-ahead log, free pages in it, and the index in memory by part; `rows` are those of the index, dead ones
    included."""

    store: str
    total_insights: int
    by_status: dict[str, int]
    by_category: dict[str, int]
    by_type: dict[str, int]
    by_source: dict[str, int]
    edges_by_type: dict[str, int]
    embedding: str | None
    embedded: int
    embedded_share: float
    age_days: Quantiles | None
    unused_days: Quantiles | None
    importance: Quantiles | None
    importance_bands: dict[str, int]
    database_bytes: int
    log_bytes: int
    free_bytes: int
    index_bytes: dict[str, int]
    index_total_bytes: int
    rows: int


class TopParams(Params, frozen=True, kw_only=True):
    """How many seconds to watch before answering."""

    interval_s: Annotated[float, msgspec.Meta(ge=0.1, le=10.0)] = 1.0


class MethodRate(msgspec.Struct, frozen=True):
    """A method: requests answered since the daemon started, and a second while it was watched; milliseconds that half
    and nineteen of twenty took at most, while it was watched or, without requests then, since the start. They come from
    buckets, and are off by a fifth at most."""

    name: str
    calls: int
    per_s: float
    p50_ms: float
    p95_ms: float


class StoreLoad(msgspec.Struct, frozen=True):
    """An open store: memories in recall, writes and questions to its database that wait, whether the writer is busy,
    the background job that runs, and why it is not fully well."""

    name: str
    memories: int
    waiting: int
    busy: bool
    job: str | None
    degraded_reason: str | None


class TopResult(Result, frozen=True, kw_only=True):
    """What the daemon does. Totals since it started; `messages_per_s` and `lag_*_ms` while it was watched: how late
    the event loop was, half of the time at most and at worst."""

    version: str
    pid: int
    uptime_s: float
    interval_s: float
    connections: int
    accepted: int
    refused: int
    cut: int
    messages: int
    messages_per_s: float
    lag_p50_ms: float
    lag_worst_ms: float
    methods: list[MethodRate]
    stores: list[StoreLoad]
