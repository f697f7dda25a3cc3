"""Parameters and results of the methods that count: what a store holds, and what the daemon is doing."""

from __future__ import annotations

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
