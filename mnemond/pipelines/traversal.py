"""Following links from what was found, in whichever mode: rows reached, how good they are, and on which path."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from mnemond.graph.beam import Beam, search
from mnemond.graph.path_score import min_max
from mnemond.graph.personalised_pagerank import personalised_pagerank
from mnemond.graph.probabilistic import draws_of, seed_of, walk
from mnemond.index.postings import Floats
from mnemond.index.selection import Rows
from mnemond.index.snapshot import Mask, Snapshot
from mnemond.model.edge import EDGE_TYPES
from mnemond.model.recall import Intent, Mode, Query, Step
from mnemond.model.recall_policy import BEAM_LIMITS, EDGE_WEIGHTS, PathPolicy
from mnemond.pipelines.standing import newest_us, vigour
from mnemond.rank.profiles import Profile

Scores = npt.NDArray[np.float64]


class Traversed(NamedTuple):
    """`rows` ascending, those it began at included, and their `scores` in [0, 1]; shapes (rows,). `path` leads to the
    row at a position. `seed` and `draws` are those of a probabilistic walk."""

    rows: Rows
    scores: Scores
    path: Callable[[int], tuple[Step, ...]]
    seed: int | None = None
    draws: int = 0


def traverse(
    snapshot: Snapshot,
    query: Query,
    mode: Mode,
    intent: Intent,
    anchors: Rows,
    scores: Scores,
    cosines: Floats | None,
    visible: Mask | None,
    profile: Profile,
) -> Traversed:
    """What is reached from `anchors` (best first, different rows) over visible rows. `cosines`: of all rows, None
    without a vector."""
    match mode:
        case "beam":
            return _beam(snapshot, intent, anchors, scores, cosines, visible, profile.path)
        case "ppr":
            spread = personalised_pagerank(snapshot, anchors, scores, visible)
            return Traversed(spread.rows, spread.scores, _no_path)
        case "probabilistic":
            return _walk(snapshot, query, anchors, visible, profile)
        case "none":
            return Traversed(np.sort(anchors), np.ones(len(anchors)), _no_path)


def _no_path(position: int) -> tuple[Step, ...]:
    return ()


def _beam(
    snapshot: Snapshot,
    intent: Intent,
    anchors: Rows,
    scores: Scores,
    cosines: Floats | None,
    visible: Mask | None,
    form: PathPolicy,
) -> Traversed:
    beam = Beam(BEAM_LIMITS[intent], EDGE_WEIGHTS[intent], form, cosines, visible)
    reached = search(snapshot, anchors, scores, beam)

    def path(position: int) -> tuple[Step, ...]:
        return tuple(
            Step(snapshot.insight(hop.row).id, EDGE_TYPES[hop.kind], round(hop.weight, 6))
            for hop in reached.path(position)
        )

    return Traversed(reached.rows, min_max(reached.scores), path)


def _walk(snapshot: Snapshot, query: Query, anchors: Rows, visible: Mask | None, profile: Profile) -> Traversed:
    """The walk of Mnemosyne: memories that fade are passed by more often (spec 7.17, 11.3). It starts from the best few
    anchors (7.8, top-K)."""
    seed = seed_of(query.text) if query.seed is None else query.seed
    if not len(anchors):
        return Traversed(anchors, np.zeros(0), _no_path, seed)
    now_us = newest_us(snapshot, anchors) if query.now_us is None else query.now_us

    def fading(rows: Rows) -> tuple[Scores, Scores]:
        return vigour(snapshot, rows, now_us, profile.decay)

    starts = anchors[: profile.start.top_k].tolist()
    walked = walk(snapshot, starts, draws_of(seed), fading, profile.walk, visible)
    chances = {visit.row: visit.probability for visit in walked.visits}
    rows = np.array(sorted(chances), dtype=np.int64)

    def path(position: int) -> tuple[Step, ...]:
        return tuple(_heaviest(snapshot, *hop) for hop in pairwise(walked.path(int(rows[position]))))

    scores = np.array([min(1.0, chances[row]) for row in rows.tolist()], dtype=np.float64)
    return Traversed(rows, scores, path, seed, len(walked.offers))


def _heaviest(snapshot: Snapshot, here: int, there: int) -> Step:
    """The link between two rows that a walk goes by."""
    links = snapshot.neighbours(here)
    links = links[links["row"] == there]
    best = links[np.lexsort((links["type"], -links["weight"]))[0]]
    return Step(snapshot.insight(here).id, EDGE_TYPES[best["type"]], round(float(best["weight"]), 6))
