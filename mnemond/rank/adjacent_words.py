"""Whether words stand side by side in a memory as they do in the question."""

from __future__ import annotations

import numpy as np

from mnemond.index.snapshot import Snapshot
from mnemond.rank.question import Floats, Question, Rows


def adjacent_words(snapshot: Snapshot, question: Question, rows: Rows) -> Floats:
    """What the pairs of the question weigh that each of a few rows has, shape (rows,); each pair once a row."""
    total = np.zeros(len(rows), dtype=np.float32)
    if not question.pairs or not len(rows):
        return total
    terms, sizes = snapshot.passages.order(rows.tolist())
    owners = np.repeat(np.arange(len(rows)), sizes)
    first, second = terms[:-1], terms[1:]
    together = owners[:-1] == owners[1:]
    for one, other, weight in question.pairs:
        found = (first == np.uint32(one)) & (second == np.uint32(other)) & together
        if found.any():
            total[owners[:-1][found]] += np.float32(weight)  # assigned once, however often a row has it
    return total
