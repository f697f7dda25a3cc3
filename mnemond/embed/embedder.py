"""What every embedder promises, so that pipelines need not know which one they hold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np

from mnemond.model.changes import Vector

Purpose = Literal["document", "query"]
"""Whether a text is to be found or to find others: some models were trained on a different prefix for each."""


class Embedder(Protocol):
    """Turns texts into directions that can be compared by their dot product.

    `fingerprint` is made of the model's data (of its name and digest where the data is out of reach) and the version
    of the algorithm: vectors of two embedders with equal fingerprints may be compared, all others have no cosine (spec
    7.3). `inline` says that a text costs so little that it may be embedded on the event loop; all others block, for
    seconds if they must, and belong into a thread.
    """

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def inline(self) -> bool: ...

    def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> list[Vector | None]:
        """One vector a text, in order: shape (dimension,), float32, length 1.

        None for a text that has no direction: it is empty, holds nothing the model knows, or its sum is zero or not
        finite. A query is answered or given up within seconds, since somebody waits for it.
        Raises MnemonError(UNAVAILABLE) where the model is behind something that can fail; one in process never does.
        """
        ...

    def forget(self) -> None:
        """Let go of everything that was kept of the texts it was given. Never blocks; for any thread."""
        ...


def unit(total: Vector) -> Vector | None:
    """`total` scaled to length 1; None when it has no direction (zero, or not finite)."""
    length = math.sqrt(float(np.dot(total, total)))
    if not math.isfinite(length) or length == 0.0:
        return None
    scaled: Vector = total / np.float32(length)
    return scaled
