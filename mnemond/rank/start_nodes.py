"""Where a probabilistic walk starts: at the memories that are like the question, or of which that is known (7.8)."""

from __future__ import annotations

from bisect import bisect_right
from typing import Literal

import msgspec
import numpy as np

from mnemond.index.selection import Rows
from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import Vector
from mnemond.rank.tie_order import Scores, in_order

_HOUR = 3600
_DAY = 24 * _HOUR

AGE_PHRASES: tuple[tuple[float, str], ...] = (
    (1 * _HOUR, "just now"),
    (24 * _HOUR, "earlier today"),
    (48 * _HOUR, "yesterday"),
    (7 * _DAY, "last week"),
    (30 * _DAY, "last month"),
    (180 * _DAY, "a few months ago"),
    (float("inf"), "a while ago"),
)
"""Each phrase with the age in seconds from which on it is no longer said (spec 7.8; C31 of spec 3)."""

_ENDS = [end for end, _ in AGE_PHRASES]


class StartPolicy(msgspec.Struct, frozen=True):
    """At most `top_k` starts, of at least `min_score`; `alpha_meta` is the most that metadata counts, from `ramp_days`
    of age on, or for `fixed` always (C25 of spec 3)."""

    top_k: int = 3
    alpha_meta: float = 0.6
    alpha_mode: Literal["age_ramp", "fixed"] = "age_ramp"
    ramp_days: float = 30.0
    min_score: float = 0.4


def age_phrase(age_seconds: float) -> str:
    """How one says that something is so old; a negative age is just now."""
    return AGE_PHRASES[min(bisect_right(_ENDS, age_seconds), len(_ENDS) - 1)][1]


def meta_vector(phrase: Vector, domain_state: Vector | None, keywords: Vector | None) -> Vector | None:
    """The direction of the sum of the three, None when it has none; each of shape (dimension,) and length 1."""
    total: Vector = phrase.copy()
    for part in (domain_state, keywords):
        if part is not None:
            total += part
    length = float(np.linalg.norm(total))
    return total / np.float32(length) if length > 0.0 else None


def meta_share(age_days: Scores, policy: StartPolicy) -> Scores:
    """α, in [0, alpha_meta], shape kept: the more the older a memory is; negative ages count as 0."""
    if policy.alpha_mode == "fixed":
        return np.full_like(age_days, policy.alpha_meta)
    return policy.alpha_meta * np.clip(age_days / policy.ramp_days, 0.0, 1.0)


def start_scores(age_days: Scores, meta: Scores, query: Scores, policy: StartPolicy) -> Scores:
    """S = α·S_meta + (1 − α)·S_query; shapes alike.

    `meta` and `query` are cosines of the question with the meta vectors and, the largest counting, with the contents
    and their hypothetical questions; without vectors shares of common words (spec 7.1).
    """
    share = meta_share(age_days, policy)
    return share * meta + (1.0 - share) * query


def start_rows(snapshot: Snapshot, rows: Rows, scores: Scores, policy: StartPolicy) -> Rows:
    """The starts among `rows`, best first; where none is good enough the best one, unless it is not above 0.

    Of equal ones the more important first, then the newer, then the smaller id.
    """
    found = scores > 0.0
    rows, scores = rows[found], scores[found]
    best = in_order(snapshot, rows, scores)[: policy.top_k]
    good = best[scores[best] >= policy.min_score]
    starts: Rows = rows[good if len(good) else best[:1]]
    return starts
