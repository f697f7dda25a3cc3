"""recall --basic: the memories whose text has the question in it, letter for letter, newest first.

What SQL writes `content LIKE '%' || question || '%'` with %, _ and \\ escaped: nothing in a question is a pattern. LIKE
minds no case of ASCII letters; here case is minded in no script (Unicode case folding).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from mnemond.index.selection import Rows
from mnemond.index.snapshot import Snapshot
from mnemond.model.insight import Insight
from mnemond.model.recall import Hit, Query, Recalled, Signals
from mnemond.pipelines.sought import SPARSE_RESULTS

Steps: TypeAlias = Iterator[Recalled | None]

NOTHING = Signals(keyword=0.0, entity=0.0, similarity=0.0, graph=0.0)
"""Nothing is ranked, so nothing speaks for a result but that it is one."""

STEP = 1_000
"""Rows that are looked at in one go, as long as they are short: about 1 ms.

100,000 texts of 180 characters take 60 to 90 ms. A scan by SQLite takes 30, but in the thread that writes, for which
every remember would wait, and it knows neither the filters nor the generation that every other read goes by. While a
thread of its own scans, whoever else has something to do waits 5.3 ms at the median for the interpreter; beside a scan
in steps .6 ms.
"""


CHARACTERS = 100_000
"""Characters that are: 2 ms where letters are folded one by one, as all but those of ASCII are."""

PACK = 10
"""Rows after which characters are counted: as long as they may be, they are not many more than a step has."""


def basic_steps(snapshot: Snapshot, query: Query, stopwatch: Callable[[], float]) -> Steps:
    """The `query.limit` newest visible memories with `query.text` in them, at the end; None before it, after
    each `STEP` rows or `CHARACTERS`. `stopwatch` returns seconds.

    An empty text is in every memory. Scores and signals are 0 and the confidence is low, for nothing was weighed.
    """
    started = stopwatch()
    wanted = query.text.casefold()
    found: list[Hit] = []
    rows = _newest_first(snapshot, query)
    unread = CHARACTERS
    for start in range(0, len(rows), PACK):
        pack = [snapshot.insight(row) for row in rows[start : start + PACK].tolist()]
        found += [_hit(insight) for insight in pack if wanted in insight.content.casefold()]
        if len(found) >= query.limit:
            break
        unread -= sum(len(insight.content) for insight in pack)
        if unread <= 0 or (start + PACK) % STEP == 0:
            yield None
            unread = CHARACTERS
    del found[query.limit :]
    yield Recalled(
        hits=tuple(found),
        anchor_count=len(found),
        weights=dict.fromkeys(("keyword", "entity", "similarity", "graph"), 0.0),
        embedding=None,
        hint=SPARSE_RESULTS if len(found) < query.limit / 2 else None,
        stages_ms={"select": round((stopwatch() - started) * 1e6) / 1e3},
        mode="basic",
    )


def _hit(insight: Insight) -> Hit:
    return Hit(insight, 0.0, "low", ("basic",), NOTHING)


def recall_basic(snapshot: Snapshot, query: Query, stopwatch: Callable[[], float]) -> Recalled:
    """The same, all steps taken at once."""
    *_, found = basic_steps(snapshot, query, stopwatch)
    assert found is not None, "what is found comes last"  # noqa: S101
    return found


def is_quick(snapshot: Snapshot) -> bool:
    """Whether one step is enough, whatever is asked for."""
    return snapshot.rows <= STEP and _characters(snapshot) <= CHARACTERS


def _characters(snapshot: Snapshot) -> int:
    return sum(len(snapshot.insight(row).content) for row in range(snapshot.rows))


def _newest_first(snapshot: Snapshot, query: Query) -> Rows:
    """The visible rows; of equal times the one stored later is newer."""
    mask = snapshot.visible(query.filter)
    rows = np.arange(snapshot.rows) if mask is None else np.flatnonzero(mask)
    newest: Rows = rows[np.argsort(snapshot.created_us[rows], kind="stable")[::-1]]
    return newest
