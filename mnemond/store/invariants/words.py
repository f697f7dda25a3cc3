"""I6: what memories are found by is what they say. There is no full-text table (docs/decisions/0003): the postings in
memory take its place."""

from __future__ import annotations

from array import array
from collections import defaultdict

import numpy as np

from mnemond.index.document import document_of
from mnemond.store.invariants.check import RELOAD, Evidence, Steps, Tally

ROWS = 25
"""Memories whose words are counted before others may go on: about two milliseconds."""

POSTINGS = 1_000
"""Entries of lists that are looked at before others may go on."""


def postings(evidence: Evidence) -> Steps:
    """Every word of a memory finds it as often as it counts, and no other word does."""
    mirror = evidence.mirror
    assert mirror is not None, "checks that need a mirror are asked only where there is one"  # noqa: S101
    # Arrays: millions of objects would keep the collector, and everybody else with it, busy for a tenth of a second.
    rows_of: defaultdict[str, array[int]] = defaultdict(_rows)
    counts_of: defaultdict[str, array[float]] = defaultdict(_counts)
    wrong, lengths = Tally(), mirror.lengths
    live = np.flatnonzero(mirror.alive()).tolist()
    for start in range(0, len(live), ROWS):
        for row in live[start : start + ROWS]:
            insight = mirror.insight(row)
            document = document_of(insight)
            if int(lengths[row]) != document.length:
                wrong.add(f"{insight.id} (length)")
            for term, count in document.counts.items():
                rows_of[term].append(row)
                counts_of[term].append(count)
        yield None
    alive, looked = mirror.alive(), 0
    for term, wanted in rows_of.items():
        rows, times = mirror.postings(term)
        kept = alive[rows]
        if not (np.array_equal(rows[kept], wanted) and np.array_equal(times[kept], counts_of[term])):
            wrong.add(f"a term of {len(wanted):,} memories")
        looked += 1 + len(rows)
        if looked >= POSTINGS:
            looked = 0
            yield None
    yield from wrong.problems("memories or terms are indexed by other words than they have", RELOAD)


def _rows() -> array[int]:
    return array("q")


def _counts() -> array[float]:
    return array("f")
