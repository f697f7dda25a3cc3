"""stats: a store in figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
import trio

from mnemond.clock import Clock
from mnemond.errors import STORAGE, MnemonError
from mnemond.handlers.door import OpenStore, StoreDoor
from mnemond.index.footprint import footprint
from mnemond.index.snapshot import Snapshot
from mnemond.protocol.stats import Quantiles, StatsParams, StatsResult
from mnemond.server.call import Call
from mnemond.server.dispatch import Handler
from mnemond.store.connection import SqliteError
from mnemond.store.invariants.examination import reader
from mnemond.store.statistics import FileFigures, file_figures
from mnemond.store.store import Store

SOURCES: Final = 20
"""Sources that are named."""

BANDS: Final = (0.1, 0.25, 0.5, 0.75, 1.0)
"""Bounds of effective importance between which memories are counted; 7.14 lets it exceed 1."""

US_IN_DAY: Final = 86_400_000_000
THREADS: Final = 1
"""Stores being counted at once."""


class StatsHandlers:
    """stats."""

    def __init__(self, door: StoreDoor, clock: Clock) -> None:
        self._door = door
        self._clock = clock
        self._threads = trio.CapacityLimiter(THREADS)

    def methods(self) -> Mapping[str, Handler]:
        """Each by the name of its method."""
        return {"stats": self.stats}

    def stats(self, call: Call, params: StatsParams) -> object:
        """Figures of a store."""
        return self._door.through(params.store, self._stats)

    async def _stats(self, warm: OpenStore) -> StatsResult:
        snapshot, now_us = warm.store.snapshot, self._clock.now_us()
        with warm.store.visited():
            figures = await trio.to_thread.run_sync(_read, warm.store, limiter=self._threads)
        embedding = None if warm.embedder is None else warm.embedder.name
        result = await trio.to_thread.run_sync(
            _result, warm.store.name, embedding, snapshot, figures, now_us, limiter=self._threads
        )
        return warm.marked(result)


def _read(store: Store) -> FileFigures:
    connection = reader(store)
    try:
        return file_figures(connection, store.path)
    except SqliteError as error:
        message = f"{store.path} cannot be read: {error}"
        raise MnemonError(STORAGE, message, hint="mnemonctl doctor says more") from error
    finally:
        connection.close()


def _result(name: str, embedding: str | None, snapshot: Snapshot, figures: FileFigures, now_us: int) -> StatsResult:
    live = np.flatnonzero(snapshot.alive())
    insights = [snapshot.insight(row) for row in live.tolist()]
    importance = np.array([insight.effective_importance for insight in insights], dtype=np.float64)
    index = footprint(snapshot)
    return StatsResult(
        store=name,
        total_insights=snapshot.live,
        by_status=figures.by_status,
        by_category=_most(Counter(insight.category for insight in insights)),
        by_type=figures.by_type,
        by_source=_most(Counter(insight.source for insight in insights), SOURCES),
        edges_by_type=snapshot.edge_counts(),
        embedding=embedding,
        embedded=snapshot.embedded,
        embedded_share=1.0 if not snapshot.live else round(snapshot.embedded / snapshot.live, 6),
        age_days=_quantiles(_days(snapshot.created_us[live], now_us)),
        unused_days=_quantiles(_days(snapshot.accessed_us[live], now_us)),
        importance=_quantiles(importance),
        importance_bands=_bands(importance),
        database_bytes=figures.database,
        log_bytes=figures.log,
        free_bytes=figures.free,
        index_bytes=index,
        index_total_bytes=sum(index.values()),
        rows=snapshot.rows,
    )


def _most(counts: Counter[str], most: int | None = None) -> dict[str, int]:
    """Most first, ties by name."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most])


def _days(moments_us: npt.NDArray[np.int64], now_us: int) -> npt.NDArray[np.float64]:
    """Since those moments; what lies ahead is no time ago."""
    found: npt.NDArray[np.float64] = np.maximum(0, now_us - moments_us) / US_IN_DAY
    return found


def _quantiles(values: npt.NDArray[np.float64]) -> Quantiles | None:
    """Values that occur, none between them; three decimals."""
    if not len(values):
        return None
    found = np.quantile(values, [0.0, 0.1, 0.5, 0.9, 1.0], method="inverted_cdf")
    return Quantiles(*(round(value, 3) for value in found.tolist()))


def _bands(importance: npt.NDArray[np.float64]) -> dict[str, int]:
    """How many lie below each bound, and not below the one before; what a damaged row says lies in none."""
    finite = importance[np.isfinite(importance)]
    counts = np.bincount(np.searchsorted(BANDS, finite, side="right"), minlength=len(BANDS) + 1).tolist()
    names = [f"{low:g}-{high:g}" for low, high in zip((0.0, *BANDS), BANDS, strict=False)]
    return dict(zip([*names, f"{BANDS[-1]:g}+"], counts, strict=True))
