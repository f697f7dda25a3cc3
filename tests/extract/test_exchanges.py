"""How much of what is kept is worth it, and how much of what is worth it is kept."""

from __future__ import annotations

import pytest

from tests.extract.exchanges import exchanges, scored


def test_of_known_exchanges_next_to_nothing_is_kept_in_vain() -> None:
    score = scored(exchanges("known"))
    assert score.precision >= 0.97, score.junk
    assert score.recall >= 0.90, score.missed


def test_of_exchanges_the_rules_were_not_made_with_little_is_kept_in_vain() -> None:
    score = scored(exchanges("unseen"))
    assert score.precision >= 0.95, score.junk
    assert score.recall >= 0.75, score.missed


@pytest.mark.parametrize("name", ["known", "unseen"])
def test_there_is_enough_to_fail_with(name: str) -> None:
    every = exchanges(name)
    assert len(every) >= 20
    assert sum(not each.facts for each in every) >= 10
    assert len({each.name for each in every}) == len(every)
