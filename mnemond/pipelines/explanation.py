"""Why results stand where they do: the parts of each score, and by which of them it is above the next one shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import msgspec
import numpy as np
import numpy.typing as npt

from mnemond.model.recall import Explanation, Hit

PLAIN = 0.005
"""A part counts as larger from here on, in units of the ranking: less is shown as .00."""


def explained(names: Sequence[str], parts: npt.NDArray[np.floating]) -> Explanation:
    """Of one result whose score is the sum of `parts`, shape (names,); those of no weight are left out."""
    return Explanation({name: round(float(part), 4) for name, part in zip(names, parts, strict=True) if part})


def compared(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """The results that are shown, best first, each told what puts it above the next."""
    return (*(_above(hit, other) for hit, other in pairwise(hits)), *hits[-1:])


def _above(hit: Hit, other: Hit) -> Hit:
    own, next_ = hit.explanation, other.explanation
    if own is None or next_ is None:
        return hit
    found = _ahead(own.parts, next_.parts)
    return msgspec.structs.replace(hit, explanation=msgspec.structs.replace(own, above=found))


def _ahead(own: Mapping[str, float], other: Mapping[str, float]) -> tuple[str, ...]:
    """The largest difference first."""
    apart = ((own.get(name, 0.0) - other.get(name, 0.0), name) for name in dict.fromkeys([*own, *other]))
    ahead = sorted((each for each in apart if each[0] > PLAIN), key=lambda each: -each[0])
    return tuple(f"{name} +{by:.2f}" for by, name in ahead)
