"""Which memories a core summary is made of: clusters of their vectors, a score of four factors, the best of each.

k-means++ (Arthur and Vassilvitskii 2007) and Lloyd's rounds on vectors of length 1, where the nearest centre is the one
with the largest cosine. The draws follow from the seed, and vectors are taken in an order of their own, so that the
same memories have the same clusters in whatever order they come. For a thread.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from mnemond.model.memory import DAY_US

Floats = npt.NDArray[np.float64]
Vectors = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]

ROUNDS: Final = 25
"""Rounds of k-means at most; it ends before if no row changes its cluster."""

BINS: Final = 16
"""Bins of the components of a vector for its entropy."""


# Clusters.


def clusters(vectors: Vectors, k: int, seed: int = 0) -> Generator[None, None, Labels]:
    """Return the number of the cluster of each row, shape (rows,), of `vectors` of length 1, shape (rows, dimension).

    There are min(k, rows) clusters and none is empty. Yields after each round.
    """
    k = min(k, len(vectors))
    if k == 0:
        return np.zeros(0, np.int64)
    order = np.lexsort(vectors[:, :COMPARED].T)
    found = np.empty(len(vectors), np.int64)
    found[order] = yield from _in_order(vectors[order], k, seed)
    return found


COMPARED: Final = 8
"""Components of vectors that order them."""


def _in_order(vectors: Vectors, k: int, seed: int) -> Generator[None, None, Labels]:
    centres, labels = vectors[_first(vectors, k, seed)], np.full(len(vectors), -1, np.int64)
    for _ in range(ROUNDS):
        yield
        cosines = vectors @ centres.T
        found = _filled(np.argmax(cosines, axis=1), cosines)
        if np.array_equal(found, labels):
            break
        labels = found
        centres = _centres(vectors, labels, k)
    return labels


def _first(vectors: Vectors, k: int, seed: int) -> list[int]:
    """Return the rows of the first centres: each is drawn with a probability that grows with its distance."""
    chosen = [int(_draw(seed, 0) * len(vectors))]
    nearest = 1.0 - vectors @ vectors[chosen[0]]
    for number in range(1, k):
        weights = np.cumsum(np.clip(nearest, 0.0, None, dtype=np.float64))
        at = int(np.searchsorted(weights, _draw(seed, number) * weights[-1], side="right"))
        if at >= len(vectors) or at in chosen:  # only equal vectors are left
            at = next(row for row in range(len(vectors)) if row not in chosen)
        chosen.append(at)
        nearest = np.minimum(nearest, 1.0 - vectors @ vectors[at])
    return chosen


def _draw(seed: int, number: int) -> float:
    """Return a number in [0, 1) that follows from a seed."""
    found = hashlib.blake2b(f"core_summary\0{seed}\0{number}".encode(), digest_size=8).digest()
    return int.from_bytes(found, "big") / 2.0**64


def _filled(labels: Labels, cosines: npt.NDArray[np.float32]) -> Labels:
    """Give each empty cluster the row that is farthest from its centre, of a cluster that has others."""
    sizes = np.bincount(labels, minlength=cosines.shape[1])
    for empty in np.flatnonzero(sizes == 0).tolist():
        own = np.where(sizes[labels] > 1, cosines[np.arange(len(labels)), labels], np.inf)
        row = int(np.argmin(own))
        sizes[labels[row]] -= 1
        labels[row] = empty
        sizes[empty] = 1
    return labels


def _centres(vectors: Vectors, labels: Labels, k: int) -> Vectors:
    members = np.zeros((k, len(vectors)), np.float32)
    members[labels, np.arange(len(vectors))] = 1.0
    sums = members @ vectors
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    centres: Vectors = sums / np.maximum(lengths, np.finfo(np.float32).tiny)
    return centres


# The four factors, each in [0, 1].


def connectivity(degrees: npt.ArrayLike, total: int) -> Floats:
    """Return the links of memories as a share of all `total` - 1 others; 0 for a memory that is alone."""
    found: Floats = np.minimum(np.asarray(degrees, np.float64) / max(1, total - 1), 1.0) * (total > 1)
    return found


def boost(counts: npt.ArrayLike) -> Floats:
    """Return the boosted links of memories as a share of the most that one has; 0 where none has any."""
    given = np.asarray(counts, np.float64)
    most = float(given.max(initial=0.0))
    return given / most if most else np.zeros_like(given)


def recency(ages_us: npt.ArrayLike, half_life_days: float) -> Floats:
    """Return 2^(-age / half-life); 1 for a memory from ahead of the clock."""
    days = np.maximum(np.asarray(ages_us, np.float64), 0.0) / DAY_US
    found: Floats = np.exp2(-days / half_life_days)
    return found


def rarity(frequencies: Sequence[int], total: int) -> float:
    """Return the mean of ln((N + 1)/(df + 1))/ln(N + 1) over the different words of a memory, of which `frequencies` of
    `total` memories each have one; 0 without words."""
    if not frequencies or total < 1:
        return 0.0
    found = np.minimum(np.asarray(frequencies, np.float64), total)
    return float(np.mean(np.log((total + 1) / (found + 1))) / np.log(total + 1))


def evenness(vector: npt.NDArray[np.floating]) -> float:
    """Return 1/(1 + H), where H is the entropy in nats of the components of a vector in 16 bins of equal width."""
    counts, _ = np.histogram(vector, bins=BINS)
    shares = counts[counts > 0] / max(1, counts.sum())
    return float(1.0 / (1.0 - np.sum(shares * np.log(shares))))


def weighted(factors: Sequence[npt.ArrayLike], weights: Sequence[float]) -> Floats:
    """Return the weighted sum of factors, in the order connectivity, boost, recency, information."""
    found: Floats = np.tensordot(np.asarray(weights, np.float64), np.asarray(factors, np.float64), axes=1)
    return found


# The subset.


class Chosen(NamedTuple):
    """Positions of the memories of a subset: the best of each cluster, and the best of the rest."""

    of_clusters: tuple[int, ...]
    extra: tuple[int, ...]


def subset(
    ranked: Sequence[int], labels: Sequence[int], created: Sequence[int], *, k: int, extra: int, most: int
) -> Chosen:
    """Choose memories by their positions, which `ranked` lists, the best first: the best of each cluster, and `extra`
    of the others; of more than `most` the newest by `created`. Of `k` or fewer all are chosen.

    `labels`: the cluster of each position, negative for none.
    """
    if len(ranked) <= k:
        return Chosen(tuple(ranked), ())
    best: dict[int, int] = {}
    for at in ranked:
        if labels[at] >= 0:
            best.setdefault(labels[at], at)
    of_clusters = [at for at in ranked if best.get(labels[at]) == at]
    taken = set(of_clusters)
    more = [at for at in ranked if at not in taken][:extra]
    both = [*of_clusters, *more]
    if len(both) > most:
        newest = set(sorted(both, key=lambda at: -created[at])[:most])
        of_clusters, more = [at for at in of_clusters if at in newest], [at for at in more if at in newest]
    return Chosen(tuple(of_clusters), tuple(more))
