"""What every embedder promises, so that pipelines need not know which one they hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from mnemond.model.changes import Vector


class Embedder(Protocol):
    """Turns texts into directions that can be compared by their dot product.

    `fingerprint` is a sha256 over the model's data and the version of the algorithm: vectors of two embedders with
    equal fingerprints may be compared, all others have no cosine (spec 7.3). `inline` says that a text costs so
    little that it may be embedded on the event loop.
    """

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def inline(self) -> bool: ...

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """One vector a text, in order: shape (dimension,), float32, length 1.

        None for a text that has no direction: it is empty, holds nothing the model knows, or its sum is zero or not
        finite.
        """
        ...


def unit(total: Vector) -> Vector | None:
    """`total` scaled to length 1; None when it has no direction (zero, or not finite)."""
    length = math.sqrt(float(np.dot(total, total)))
    if not math.isfinite(length) or length == 0.0:
        return None
    scaled: Vector = total / np.float32(length)
    return scaled
