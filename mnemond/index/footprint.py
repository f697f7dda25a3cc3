"""How much memory a mirror takes, part by part. Room that arrays keep to grow counts; small objects are estimated."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from mnemond.index.document import document_of
from mnemond.index.snapshot import Snapshot

OBJECT: Final = 1_000
"""Bytes of an insight besides its texts: the struct, its fields, its entry in dictionaries (measured, CPython 3.11)."""


def footprint(snapshot: Snapshot) -> dict[str, int]:
    """Bytes of vectors, codes, words, links, passages, columns and memories. Looks at every row: some milliseconds."""
    parts = snapshot.parts
    dense = parts.dense
    coded = [codes for codes in (dense.codes, dense.scanned) if codes is not None]
    return {
        "vectors": _bytes([dense.matrix, dense.present]),
        "codes": _bytes(array for codes in coded for array in (codes.matrix, codes.scales)),
        "words": _bytes([*_arena(snapshot), parts.corpus.lengths, parts.breadths]),
        "links": sum(sys.getsizeof(ends) for ends in parts.adjacency.ends if ends is not None),
        "passages": sum(map(len, parts.passages.orders)) + _bytes(parts.passages[:3]),
        "columns": _bytes([*parts.columns.all(), *parts.neighbours]),
        "memories": sum(OBJECT + sys.getsizeof(parts.insights[row].content) for row in range(snapshot.rows)),
    }


def _arena(snapshot: Snapshot) -> tuple[npt.NDArray[Any], ...]:
    """The two arrays in which all postings lie: what one list of them is a part of."""
    if not snapshot.rows:
        return ()
    term = next(iter(document_of(snapshot.insight(0)).counts), "")
    return snapshot.postings(term)


def _bytes(arrays: Iterable[npt.NDArray[Any]]) -> int:
    """Of the arrays these are parts of, each counted once."""
    whole = [array.base if isinstance(array.base, np.ndarray) else array for array in arrays]
    return sum({id(array): array.nbytes for array in whole}.values())
