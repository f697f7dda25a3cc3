"""Whether the memories that answer a question are those of whom it asks about.

A question about what one person did that only another person spoke of has good matches and no answer. Of all that was
measured nothing else tells the two apart (docs/decisions/0015-two-stage-ranking.md).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mnemond.rank.question import Floats

SURE_WITHOUT_MEANING = 0.7
"""What is left of the trust in an answer that shares no meaning with the question: words may be about anything."""


def agreement(neutral: Floats, named: npt.NDArray[np.bool_], rows: int) -> float:
    """Share in [0, 1] of the weight of the best `rows` that the named source has; 1 where nobody or everybody is named.

    `neutral`: scores to which the name itself gave nothing, shape (candidates,).
    """
    if not named.any() or named.all():
        return 1.0
    count = min(rows, len(neutral))
    best = np.argpartition(neutral, len(neutral) - count)[len(neutral) - count :]
    weights = np.exp(neutral[best] - neutral[best].max())
    return float(weights @ named[best] / weights.sum())


def trust(agreed: float, best_cosine: float) -> float:
    """How much an answer as a whole is to be trusted, in [0, 1]."""
    return agreed * (SURE_WITHOUT_MEANING + (1.0 - SURE_WITHOUT_MEANING) * min(1.0, max(0.0, best_cosine)))
