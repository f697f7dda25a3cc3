"""A text that a model proposes for two memories is stored only if no number and no name of them is missing in it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemond.memory.questions.pairs import kept_text
from mnemond.model.memory import Insight

NAMES = ("Redis", "Apollo", "Lisbon", "Kafka", "Porto")
FACTS = st.tuples(st.sampled_from(NAMES), st.integers(10, 9_999))


def memory(number: int, name: str, port: int) -> Insight:
    at = f"2026-02-0{number}T00:00:00.000Z"
    return Insight(str(number), at, at, content=f"{name} listens on port {port}", entities=(name,))


@given(FACTS, FACTS, st.sampled_from(["all", "no name", "no number"]))
def test_what_is_left_out_is_found(one: tuple[str, int], other: tuple[str, int], left_out: str) -> None:
    older, newer = memory(1, *one), memory(2, *other)
    words = [str(each) for fact in (one, other) for each in fact]
    if left_out == "no name":
        words = [each for each in words if each != one[0]]
    elif left_out == "no number":
        words = [each for each in words if each != str(other[1])]
    proposed = "Both run: " + ", ".join(words)
    assert bool(kept_text(proposed, older, newer)) == (left_out != "all")
