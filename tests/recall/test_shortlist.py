"""Which rows get a closer look, and what is known of their words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.index.arrays import Floats, Mask
from mnemond.index.snapshot import Snapshot
from mnemond.model.memory import Scope
from mnemond.model.query import Filter
from mnemond.recall.question import build_question
from mnemond.recall.ranking import (
    NEARBY_STEPS,
    Candidates,
    Ranking,
    Shortlisting,
    VectorScores,
    nearby_turns,
    shortlist,
)
from tests.examples import examples
from tests.index.worlds import insight
from tests.recall.talk import HIDDEN, TEXTS, WordKnower, ids, said, store
from tests.tables import each_row


def found(
    snapshot: Snapshot,
    text: str,
    cosines: Floats | None = None,
    visible: Mask | None = None,
    knower: WordKnower | None = None,
    **limits: float,
) -> Candidates:
    ranking = Ranking(shortlisting=Shortlisting(**limits))  # type: ignore[arg-type]
    return shortlist(snapshot, build_question(snapshot, text, knower), told(cosines), visible, ranking)


def told(cosines: Floats | None) -> VectorScores | None:
    return None if cosines is None else VectorScores(cosines, lambda rows: cosines[rows])


def names(snapshot: Snapshot, candidates: Candidates) -> list[str]:
    return ids(snapshot, candidates.rows)


NOTES = store(
    insight(name, text)
    for name, text in (
        ("twice", "redis is redis"), ("once", "redis"), ("long", "redis " + "filler " * 40), ("none", "tea and cake"),
        ("cache", "cache"),
    )
)  # fmt: skip


def test_the_best_by_words_come() -> None:
    assert names(NOTES, found(NOTES, "redis", rows=1)) == ["twice"]
    assert names(NOTES, found(NOTES, "redis", rows=2)) == ["twice", "once"]
    assert names(NOTES, found(NOTES, "redis", rows=100)) == ["twice", "once", "long"]


def test_the_best_by_meaning_come_too_and_nothing_without_either() -> None:
    cosines = np.array([0, 0.1, 0, 0.9, -0.5], dtype=np.float32)
    assert names(NOTES, found(NOTES, "redis", cosines, rows=1, mass=1.0)) == ["none"]
    assert names(NOTES, found(NOTES, "redis", cosines)) == ["twice", "once", "long", "none"]
    assert names(NOTES, found(NOTES, "weather")) == []
    assert names(NOTES, found(NOTES, "库存", cosines)) == []  # its meaning is not known in that script


@each_row(("cosine", "first"), [(0.20, "once"), (0.04, "twice")])
def test_words_and_meaning_are_brought_to_one_scale(cosine: float, first: str) -> None:
    """A tenth of the greatest BM25 there may be is worth .55, a cosine of .075 is worth .45."""
    k1, mean = 1.2, NOTES.mean_length
    lengths = NOTES.lengths[[0, 1]]
    [weight] = build_question(NOTES, "redis", None).weights.tolist()
    times = np.array([3.0, 1.5])
    bm25 = weight * (k1 + 1) * times / (times + k1 * lengths / mean)
    scores = 0.55 * bm25 / (0.1 * weight) + 0.45 * np.array([0.0, cosine]) / 0.075
    assert (first == "once") == bool(scores[1] > scores[0])
    cosines = np.array([0, cosine, 0, 0, 0], dtype=np.float32)
    ranking = Ranking(k1=k1, keyword=0.55, vector=0.45, shortlisting=Shortlisting(rows=1, mass=0.1, cosine=0.075))
    candidates = shortlist(NOTES, build_question(NOTES, "redis", None), told(cosines), None, ranking)
    assert names(NOTES, candidates) == [first]


def test_times_are_those_of_the_word_and_of_its_relatives() -> None:
    knower = WordKnower(memory=(("redi", 0.8), ("cach", 0.6)), redis=(("cach", 0.5),))
    snapshot = store([insight("both", "redis memory"), insight("one", "a cache"), insight("tea", "tea")])
    candidates = found(snapshot, "memory redis", None, None, knower, soft=0.5, soft_share=1.0)
    assert names(snapshot, candidates) == ["both", "one"]
    assert candidates.times.tolist() == [
        [pytest.approx(1.5 + 0.4), pytest.approx(1.5), 0.0],
        [pytest.approx(0.3), pytest.approx(0.25), 0.0],
        [0.0, 0.0, 0.0],  # of nobody
    ]


def test_a_relative_that_is_everywhere_says_nothing() -> None:
    knower = WordKnower(memory=(("cach", 0.6),))
    snapshot = store(insight(f"{at}", "cache" if at < 2 else "tea") for at in range(10))
    assert names(snapshot, found(snapshot, "memory", None, None, knower, soft_share=0.2)) == ["0", "1"]
    assert names(snapshot, found(snapshot, "memory", None, None, knower, soft_share=0.19)) == []
    assert names(snapshot, found(snapshot, "memory", None, None, knower, soft_share=1.0, soft_postings=1)) == []


def test_where_only_the_nearest_have_a_cosine_those_with_words_get_theirs() -> None:
    every = np.array([0.1, 0.9, 0.9, 0.95, 0.3], dtype=np.float32)
    nearest = np.array([0, 0, 0, 0.95, 0], dtype=np.float32)
    sparse = VectorScores(nearest, lambda rows: every[rows], sparse=True)
    ranking = Ranking(shortlisting=Shortlisting(rows=2, mass=1.0))
    question = build_question(NOTES, "redis", None)
    candidates = shortlist(NOTES, question, sparse, None, ranking)
    assert names(NOTES, candidates) == names(NOTES, shortlist(NOTES, question, told(every), None, ranking))
    assert names(NOTES, candidates) != names(NOTES, shortlist(NOTES, question, told(nearest), None, ranking))


# ------------------------------------------------------------ those beside them

TALK = [said(f"{at}", "redis" if at == 3 else "tea", at) for at in range(7)]


def test_two_on_either_side_come_along() -> None:
    snapshot = store(TALK)
    candidates = found(snapshot, "redis")
    assert names(snapshot, candidates) == ["1", "2", "3", "4", "5"]
    assert dict(zip(NEARBY_STEPS, candidates.nearby.tolist(), strict=True)) == {
        -1: [-1, 0, 1, 2, 3], 1: [1, 2, 3, 4, -1], -2: [-1, -1, 0, 1, 2], 2: [2, 3, 4, -1, -1]
    }  # fmt: skip


def test_around_is_the_whole_neighbourhood_whoever_is_a_candidate() -> None:
    snapshot = store(TALK)
    assert nearby_turns(snapshot, np.array([0, 3])).tolist() == [[-1, 2], [1, 4], [-1, 1], [2, 5]]
    assert nearby_turns(snapshot, np.zeros(0, dtype=np.int64)).shape == (4, 0)


def test_nobody_comes_who_is_not_visible() -> None:
    hidden = [said(each.id, each.content, int(each.id), scope=HIDDEN) for each in TALK[3:5]]
    snapshot = store([*TALK[:3], *hidden, *TALK[5:]])
    outside = snapshot.visible(Filter())
    assert names(snapshot, found(snapshot, "redis", visible=outside)) == []
    assert names(snapshot, found(snapshot, "tea", visible=outside)) == ["0", "1", "2", "5", "6"]
    inside = snapshot.visible(Filter(scope=Scope(session_id="hidden")))
    assert names(snapshot, found(snapshot, "redis", visible=inside)) == ["1", "2", "3", "4", "5"]


# ------------------------------------------------------------ ties


@each_row("place", [0, 1, 99, 100, 199])
def test_of_more_rows_that_tie_than_have_room_the_important_then_the_new_come(place: int) -> None:
    rows = [insight(f"{at:03}", f"redis word{at}", at=at, importance=5 if at == place else 3) for at in range(200)]
    snapshot = store(rows)
    newest = sorted((f"{at:03}" for at in range(200) if at != place), reverse=True)[:9]
    assert names(snapshot, found(snapshot, "redis", rows=10)) == sorted([f"{place:03}", *newest])


@examples(100)
@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=30), st.sets(st.integers(0, 29)), st.integers(1, 30))
def test_every_visible_row_with_a_word_of_the_question_comes_where_there_is_room(
    text: str, contents: list[str], hidden: set[int], room: int
) -> None:
    snapshot = store(
        said(f"{at}", content, at, conversation_id=f"c{at % 4}", scope=HIDDEN if at in hidden else Scope())
        for at, content in enumerate(contents)
    )
    visible = snapshot.visible(Filter())
    everybody = np.ones(snapshot.rows, dtype=np.bool_) if visible is None else visible
    question = build_question(snapshot, text, None)
    having = {row for each in question.exact for row in each.rows.tolist() if everybody[row]}
    candidates = found(snapshot, text, visible=visible, rows=room)
    rows = candidates.rows.tolist()
    assert rows == sorted(set(rows))
    assert everybody[rows].all()
    assert len(having & set(rows)) >= min(room, len(having))
    assert candidates.times.shape == (len(rows) + 1, len(question.weights) + 1)
    assert not candidates.times[-1].any()
    assert not candidates.times[:, -1].any()
    assert set(np.flatnonzero(candidates.times[:-1].any(axis=1)).tolist()) == {
        place for place, row in enumerate(rows) if row in having
    }
    for step, places in zip(NEARBY_STEPS[:2], candidates.nearby.tolist(), strict=False):
        beside = snapshot.beside(candidates.rows, step).tolist()
        assert [rows[place] for place in places if place >= 0] == [row for row in beside if row in rows]
