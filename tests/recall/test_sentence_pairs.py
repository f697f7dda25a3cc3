"""Which pairs of sentences are laid side by side."""

from __future__ import annotations

import sys
from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.recall.corrections import MAX_APART, parse_memory, similar_pairs
from mnemond.text.statements import content_words
from tests.examples import examples
from tests.tables import each_row

WORDS = ["ana", "bergen", "budget", "cake", "deploys", "door", "friday", "lives", "moved", "oslo", "raised", "thursday"]
CHINESE = "安娜住在奥斯陆卑尔根"
SENTENCE = st.one_of(
    st.lists(st.sampled_from(WORDS), min_size=2, max_size=7).map(" ".join),
    st.text(CHINESE, min_size=2, max_size=8),
)
MEMORY = st.lists(SENTENCE, min_size=1, max_size=3).map(lambda many: f"{'. '.join(many)}.")
Pair = tuple[int, str, int, str]


def pairs(contents: list[str], rank: list[int]) -> list[Pair]:
    found = similar_pairs(
        {place: parse_memory(content) for place, content in enumerate(contents)}, rank, lambda _: True
    )
    return [(old.place, old.signature.sentence.text, new.place, new.signature.sentence.text) for old, new in found]


def one_by_one(contents: list[str], rank: list[int]) -> list[Pair]:
    """The same by its definition."""
    pieces = [
        (place, parse_memory(content).brief, each)
        for place, content in enumerate(contents)
        for each in parse_memory(content).sentences
    ]
    found: list[Pair] = []
    for (place, brief, new), (older, _, old) in product(pieces, pieces):
        words, others = content_words(old.sentence.small), content_words(new.sentence.small)
        most = MAX_APART[new.announces] * (1 if old.sentence.small.isascii() else 2)
        apart = len(words - others) <= most and len(others - words) <= most + 2
        if rank[older] < rank[place] and (brief or new.announces) and words & others and apart:
            found.append((older, old.sentence.text, place, new.sentence.text))
    return found


@given(st.lists(MEMORY, max_size=6), st.randoms(use_true_random=False))
@examples(300)
def test_bits_leave_out_no_pair_and_let_none_through(contents: list[str], random: Random) -> None:
    rank = list(range(len(contents)))
    random.shuffle(rank)
    assert pairs(contents, rank) == one_by_one(contents, rank)


@each_row(
    ("older", "newer", "near_enough"),
    [
        ("Ana lives in Oslo.", "Ana lives in Bergen.", True),
        ("Ana lives in Oslo.", "The budget is small.", False),
        ("Ana lives in Oslo with a cat.", "Ana lives in Bergen.", True),
        ("Ana lives in Oslo with a cat and a dog.", "Ana lives in Bergen.", False),
        ("Ana lives in Oslo with a cat and a dog.", "Ana lives in Bergen now.", True),
        ("安娜住在奥斯陆", "安娜住在卑尔根", True),
    ],
)
def test_a_value_may_differ_and_where_a_change_is_announced_a_little_more(
    older: str, newer: str, near_enough: bool
) -> None:
    assert bool(pairs([older, newer], [0, 1])) == near_enough


def alike(number: int) -> str:
    """A dozen sentences whose bits tell them from no other memory's."""
    return f"Memory {number}. {'. '.join(['We have moved it to the one with a door now'] * 11)}."


@pytest.mark.parametrize(("asked", "read"), [(True, 21), (False, 0)])
def test_no_sentence_is_read_more_than_once_nor_for_one_that_nobody_asked_for(
    asked: bool, read: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories = {number: parse_memory(alike(number)) for number in range(20)}
    words: list[str] = []

    def noted(small: str) -> frozenset[str]:
        words.append(small)
        return content_words(small)

    monkeypatch.setattr("mnemond.recall.corrections.content_words", noted)
    found = list(similar_pairs(memories, list(range(20)), lambda _: asked))
    assert bool(found) == asked
    assert len(words) == len(set(words)) <= read


def test_of_a_long_memory_no_more_is_remembered_than_is_read() -> None:
    content = "".join(["Ana has moved to Oslo. ", "x" * 8_000])
    before = sys.getrefcount(content)
    assert parse_memory(content).announces
    assert sys.getrefcount(content) == before
