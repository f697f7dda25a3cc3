"""Of two statements that are both true neither replaces the other, in no order."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.memory.memories import Memories

PAIRS = [
    tuple(line.split(" | "))
    for line in Path(__file__).with_name("kept_pairs.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


def test_a_pattern_is_not_the_letter_it_is_made_of() -> None:
    for old, new in (("^a+$", "a"), ("a", "^a+$"), ("the", "a")):
        over = Memories()
        over.remember(old)
        assert over.decided(new).outcome.action == "added", (old, new)


@pytest.mark.parametrize(
    "pairs", [PAIRS[::10], pytest.param(PAIRS, marks=pytest.mark.check_all)], ids=["every tenth", "all"]
)
def test_neither_of_two_true_statements_is_replaced_or_skipped(pairs: list[tuple[str, ...]]) -> None:
    for pair in pairs:
        for old, new in (pair, pair[::-1]):
            over = Memories()
            over.remember(old)
            assert over.decided(new).outcome.action == "added", (old, new)
