"""I6: what memories are found by is what they say. There is no full-text table (docs/decisions/0003): the postings in
memory take its place."""

from __future__ import annotations

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
    wanted: defaultdict[str, dict[int, float]] = defaultdict(dict)
    wrong, lengths = Tally(), mirror.lengths
    live = np.flatnonzero(mirror.alive()).tolist()
    for start in range(0, len(live), ROWS):
        for row in live[start : start + ROWS]:
            insight = mirror.insight(row)
            document = document_of(insight)
            if int(lengths[row]) != document.length:
                wrong.add(f"{insight.id} (length)")
            for term, count in document.counts.items():
                wanted[term][row] = count
        yield None
    alive = mirror.alive()
    looked = 0
    for term, counts in wanted.items():
        rows, times = mirror.postings(term)
        kept = alive[rows]
        if dict(zip(rows[kept].tolist(), times[kept].tolist(), strict=True)) != counts:
            wrong.add(f"a term of {len(counts):,} memories")
        looked += 1 + len(rows)
        if looked >= POSTINGS:
            looked = 0
            yield None
    yield from wrong.problems("memories or terms are indexed by other words than they have", RELOAD)
