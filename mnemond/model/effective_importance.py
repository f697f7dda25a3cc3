"""Effective importance (EI): how much a memory still matters, from importance, use, age and connections (spec 7.14)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

BASE = {5: 1.0, 4: 0.8, 3: 0.5, 2: 0.3, 1: 0.15}
"""Base value of each importance (S0)."""
HALF_LIFE_DAYS = 30.0
"""Days without access after which the value halves (S0)."""
DEGREE_GAIN = 0.1
DEGREE_CAP = 5
"""Each of at most five neighbours adds a tenth (S0)."""


def effective_importance(importance: int, access_count: int, days_since_access: float, degree: int) -> float:
    """EI = base · max(1, ln(1+a)) · 2^(−days/30) · (1 + .1·min(degree, 5)); not capped at 1.

    `days_since_access` counts from creation for a memory never read; negative counts as 0.
    Raises KeyError for an importance outside 1…5.
    """
    use = max(1.0, math.log1p(access_count))
    decay: float = 2.0 ** (-max(0.0, days_since_access) / HALF_LIFE_DAYS)
    return BASE[importance] * use * decay * (1.0 + DEGREE_GAIN * min(degree, DEGREE_CAP))


def effective_importances(
    importance: npt.NDArray[np.int32],
    access_count: npt.NDArray[np.int32],
    days_since_access: npt.NDArray[np.float64],
    degree: npt.NDArray[np.int32],
) -> npt.NDArray[np.float64]:
    """The same of many memories at once, every part of shape (rows,)."""
    base = np.array([0.0, *(BASE[level] for level in sorted(BASE))])[importance]
    use = np.maximum(1.0, np.log1p(access_count))
    decay = np.exp2(-np.maximum(0.0, days_since_access) / HALF_LIFE_DAYS)
    found: npt.NDArray[np.float64] = base * use * decay * (1.0 + DEGREE_GAIN * np.minimum(degree, DEGREE_CAP))
    return found
