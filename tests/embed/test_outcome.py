"""What a caller gets when the embedder is not to be had, and what is not its to hide."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from mnemond.embed.embedder import Purpose, try_embed
from mnemond.errors import INTERNAL, UNAVAILABLE, MnemonError
from mnemond.model.changes import Vector
from tests.tables import each_row


class Failing:
    """Fails as it is told, and says what it was asked for."""

    name = "failing"
    dimension = 1
    fingerprint = "x"
    inline = True

    def __init__(self, error: MnemonError | None) -> None:
        self.error = error
        self.purposes: list[Purpose] = []

    def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> list[Vector | None]:
        self.purposes.append(purpose)
        if self.error is not None:
            raise self.error
        return [np.ones(1, dtype=np.float32) if text else None for text in texts]

    def clear_cache(self) -> None:
        """Nothing is kept."""


def test_vectors_come_through_with_those_that_are_missing() -> None:
    embedder = Failing(None)
    vectors, reason = try_embed(embedder, ["a", ""], "query")
    assert [vector is None for vector in vectors] == [False, True]
    assert reason is None
    assert embedder.purposes == ["query"]


@each_row(("hint", "reason"), [(None, "it is away"), ("call it", "it is away; call it")])
def test_one_that_is_away_is_a_reason(hint: str | None, reason: str) -> None:
    assert try_embed(Failing(MnemonError(UNAVAILABLE, "it is away", hint=hint)), ["a", "b"]) == ([None, None], reason)


def test_a_defect_is_not_hidden() -> None:
    with pytest.raises(MnemonError, match="broken"):
        try_embed(Failing(MnemonError(INTERNAL, "broken")), ["a"])
