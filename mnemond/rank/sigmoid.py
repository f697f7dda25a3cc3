"""The logistic function, in the form that overflows for no argument."""

from __future__ import annotations

import math


def sigmoid(x: float) -> float:
    """1 / (1 + e^−x), in [0, 1] for every x, infinities included."""
    if x >= 0.0:
        return 1.0 / (1.0 + math.exp(-x))
    grown = math.exp(x)
    return grown / (1.0 + grown)
