"""Whether words stand side by side in a memory as they do in the question."""

from __future__ import annotations

from typing import Final

import numpy as np

from mnemond.index.document import LARGEST_NUMBER
from mnemond.index.snapshot import Snapshot
from mnemond.rank.question import Floats, Question, Rows

_NUMBER_BITS: Final = LARGEST_NUMBER.bit_length()
"""Of the number of a word; the two of a pair have room in one of 64."""

_BEHIND: Final = np.uint64(_NUMBER_BITS)


def adjacent_words(snapshot: Snapshot, question: Question, rows: Rows) -> Floats:
    """What the pairs of the question weigh that each of a few rows has, shape (rows,); each pair once a row."""
    total = np.zeros(len(rows), dtype=np.float32)
    if not question.pairs or not len(rows):
        return total
    terms, sizes = snapshot.passages.order(rows.tolist())
    ends = np.cumsum(sizes)
    neighbours = terms[1:].astype(np.uint64)  # each word with the one before it as one number
    neighbours <<= _BEHIND
    neighbours |= terms[:-1]
    for one, other, weight in question.pairs:
        found = (neighbours == np.uint64(other << _NUMBER_BITS | one)).nonzero()[0]
        if len(found):
            owners = ends.searchsorted(found, side="right")
            owners = owners[ends.searchsorted(found + 1, side="right") == owners]  # else the other is the next row's
            total[owners] += np.float32(weight)  # assigned once, however often a row has it
    return total
