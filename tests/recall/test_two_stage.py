"""The default ranking: what each part is worth, and what holds for any store and any question."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.index.arrays import Floats
from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import Vector
from mnemond.model.memory import Insight, Scope
from mnemond.model.query import Filter
from mnemond.recall.question import build_question
from mnemond.recall.ranking import TRUST_WITHOUT_MEANING, Bonuses, Context, Ranking, Shortlisting, VectorScores
from mnemond.recall.two_stage import (
    ADJACENCY,
    ASKING,
    DATE,
    MEANING,
    MIN_SPREAD,
    PARTS,
    SPEAKER,
    STANDING,
    WINDOW,
    WORDS,
    Ranked,
    rank,
)
from tests.examples import examples
from tests.index.worlds import insight
from tests.recall.talk import HIDDEN, TEXTS, VECTORS, WordKnower, ids, said, store
from tests.tables import each_row

BONUSES = Bonuses(
    speaker=0.8, question=1.5, when=1.0, window=0.5, adjacency=1.5, adjacency_rows=64, brief=0.5, brief_terms=15.0,
    assistant=1.0,
)  # fmt: skip
NUMBERS = Ranking(
    k1=1.2, keyword=0.55, vector=0.45, speaker_rows=10,
    shortlisting=Shortlisting(mass=0.1, cosine=0.075, soft=0.3, soft_share=1.0),
    context=Context(near=0.4, far=0.3, answer=1.0, asks=0.3, short=30.0, spread=1.3), bonuses=BONUSES,
)  # fmt: skip


def ranked(
    snapshot: Snapshot, text: str, cosines: VectorScores | None = None, most: int = 10, ranking: Ranking = NUMBERS,
    window: tuple[int, int] | None = None,
) -> Ranked:  # fmt: skip
    return rank(snapshot, build_question(snapshot, text, None, window=window), cosines, None, most, ranking)


def part(snapshot: Snapshot, found: Ranked, number: int) -> dict[str, float]:
    """One part of the scores, by memory."""
    return dict(zip(ids(snapshot, found.rows), found.parts[number].tolist(), strict=True))


def cosines(*numbers: float) -> VectorScores:
    """Of each row in turn."""
    return told(np.array(numbers, dtype=np.float32))


def told(cosines: Floats) -> VectorScores:
    """What a ranking goes by where all of them are known."""
    return VectorScores(cosines, lambda rows: cosines[rows])


# ------------------------------------------------------------ words and meaning

NOTES = store([insight("a", "redis is redis"), insight("b", "redis and tea"), insight("c", "tea and cake")])


def test_each_signal_counts_by_how_much_it_varies_over_the_candidates() -> None:
    found = ranked(NOTES, "redis", cosines(0.2, 0.5, 0.3))
    assert sorted(ids(NOTES, found.rows)) == ["a", "b", "c"]
    idf = math.log(1 + 1.5 / 2.5)
    length = 1.2 / 1.3  # all are as long as the mean, and alone
    words = {"a": idf * 3.0 * 2.2 / (3.0 + length), "b": idf * 1.5 * 2.2 / (1.5 + length), "c": 0.0}
    of_words = 0.55 / float(np.std(list(words.values())))
    of_meaning = 0.45 / float(np.std([0.2, 0.5, 0.3]))
    assert found.weights == pytest.approx((of_words, of_meaning))
    assert part(NOTES, found, WORDS) == pytest.approx({name: of_words * value for name, value in words.items()})
    assert part(NOTES, found, MEANING) == pytest.approx(
        {"a": 0.2 * of_meaning, "b": 0.5 * of_meaning, "c": 0.3 * of_meaning}
    )
    most = idf * 2.2
    keyword = dict(zip(ids(NOTES, found.rows), found.keyword.tolist(), strict=True))
    assert keyword == pytest.approx({name: value / most for name, value in words.items()})
    assert found.trust == pytest.approx(TRUST_WITHOUT_MEANING + (1 - TRUST_WITHOUT_MEANING) * 0.5)
    assert found.considered == 3


def test_few_candidates_do_not_tell_how_much_a_signal_varies() -> None:
    found = ranked(store([insight("a", "redis"), insight("b", "tea")]), "redis", cosines(0.4, -0.1))
    idf = math.log(1 + 1.5 / 1.5)
    assert found.weights == pytest.approx((0.55 / (MIN_SPREAD * 0.1 * idf), 0.45 / (MIN_SPREAD * 0.075)))
    assert found.similarity.tolist() == pytest.approx([0.4])


def test_a_signal_that_says_nothing_counts_nothing() -> None:
    assert ranked(NOTES, "redis").weights[1] == 0.0
    assert ranked(NOTES, "redis", cosines(-0.1, 0.0, -1.0)).weights[1] == 0.0
    by_meaning = rank(
        NOTES, build_question(NOTES, "redis", None, words=False), cosines(0.2, 0.5, 0.3), None, 10, NUMBERS
    )
    assert by_meaning.weights[0] == 0.0
    assert ids(NOTES, by_meaning.rows) == ["b", "c", "a"]
    mixed = ranked(NOTES, "redis 数据库数", cosines(0.2, 0.5, 0.3))  # half of it in a script the embedder may know
    assert mixed.weights[1] == pytest.approx(5 / 9 * 0.45 / float(np.std([0.2, 0.5, 0.3])))


def test_nothing_found_is_nothing_ranked() -> None:
    found = ranked(NOTES, "weather")
    assert (len(found.rows), found.parts.shape, found.trust, found.considered) == (0, (len(PARTS), 0), 0.0, 0)


# ------------------------------------------------------------ everything else


def test_brief_turns_and_what_an_assistant_says_stand_for_little() -> None:
    snapshot = store(
        [
            said("brief", "redis", 0),
            said("long", "redis " + "filler " * 20, 1),
            said("told", "redis " + "filler " * 20, 2, source="assistant"),
            said("kept", "redis " + "filler " * 20, 3, source="assistant", category="decision"),
            insight("note", "redis"),  # of no conversation
        ]
    )
    assert part(snapshot, ranked(snapshot, "redis"), STANDING) == pytest.approx(
        {"brief": 0.5 * math.log((1 + 1) / 15), "long": 0.0, "told": -1.0, "kept": 0.0, "note": 0.0}
    )


DATED = insight("dated", "tea at four", at=500, event_start="1970-01-01T00:00:00.002000Z")


def test_a_date_counts_where_one_is_asked_for() -> None:
    snapshot = store([DATED, insight("plain", "tea at five")])
    more = msgspec.structs.replace(NUMBERS, bonuses=msgspec.structs.replace(BONUSES, when=3.0))
    found = [part(snapshot, ranked(snapshot, "when is tea", ranking=each), DATE) for each in (NUMBERS, more)]
    assert found[0]["dated"] >= BONUSES.when
    assert found[1]["dated"] - found[0]["dated"] == pytest.approx(2.0)
    assert [each["plain"] for each in found] == [0.0, 0.0]
    assert set(part(snapshot, ranked(snapshot, "where is tea"), DATE).values()) == {0.0}


@each_row(
    ("window", "worth"),
    [
        ((500, 501), (0.5, 0.0)), ((0, 500), (0.0, 0.5)), ((2_000, 2_001), (0.5, 0.0)), ((500, 3_000), (1.0, 0.0)),
        ((501, 2_000), (0.0, 0.0)), (None, (0.0, 0.0)),
    ],
)  # fmt: skip
def test_what_was_made_or_speaks_of_the_time_asked_about_counts(
    window: tuple[int, int] | None, worth: tuple[float, float]
) -> None:
    snapshot = store([DATED, insight("plain", "tea at five", at=499)])
    found = part(snapshot, ranked(snapshot, "tea", window=window), WINDOW)
    assert found == pytest.approx({"dated": worth[0], "plain": worth[1]})


WHO = store(
    [
        said("hers", "I like redis a lot", 0, source="alice"),
        said("asks", "Do you like redis, too? I do.", 1, source="alice"),
        said("his", "I like redis most of all", 2, source="bob"),
    ]
)


def test_a_question_by_name_finds_who_said_it_and_not_what_only_asks() -> None:
    found = ranked(WHO, "does alice like redis")
    assert ids(WHO, found.rows)[0] == "hers"
    assert part(WHO, found, SPEAKER) == pytest.approx({"hers": 0.8, "asks": 0.8, "his": 0.0})
    assert part(WHO, found, ASKING) == pytest.approx({"hers": 0.0, "asks": -1.5 * 23 / 28, "his": 0.0})
    unnamed = ranked(WHO, "who likes redis")
    assert not unnamed.parts[[SPEAKER, ASKING]].any()


def test_trust_is_the_share_of_those_who_are_asked_about() -> None:
    """Judged as if the name were no word and its bearer nobody in particular."""
    found = ranked(WHO, "does alice like redis")
    weights = np.exp(found.parts[[WORDS, STANDING, ADJACENCY]].sum(axis=0))
    named = np.array([name != "his" for name in ids(WHO, found.rows)])
    assert found.trust == pytest.approx(TRUST_WITHOUT_MEANING * float(weights[named].sum() / weights.sum()), rel=1e-4)
    assert ranked(WHO, "who likes redis").trust == pytest.approx(TRUST_WITHOUT_MEANING)


def test_words_side_by_side_count_as_a_share_of_the_question() -> None:
    snapshot = store([insight("pair", "a redis cache"), insight("apart", "the cache has redis"), insight("x", "tea")])
    question = build_question(snapshot, "redis cache", None)
    [(_, _, weight)] = question.pairs
    assert part(snapshot, ranked(snapshot, "redis cache"), ADJACENCY) == pytest.approx(
        {"pair": 1.5 * weight / question.mass, "apart": 0.0}
    )


def test_only_the_best_are_looked_at_for_words_side_by_side() -> None:
    snapshot = store([*(insight(f"{at}", "redis redis") for at in range(3)), insight("pair", "redis cache again")])
    few = msgspec.structs.replace(NUMBERS, bonuses=msgspec.structs.replace(BONUSES, adjacency_rows=1))
    assert part(snapshot, ranked(snapshot, "redis cache", ranking=few), ADJACENCY)["pair"] > 0.0
    assert part(snapshot, ranked(snapshot, "redis again cache", ranking=few), ADJACENCY)["pair"] == 0.0


# ------------------------------------------------------------ ties


@each_row("place", [0, 50, 99])
@each_row("copies", [60, 100, 149, 200])
def test_rows_of_equal_words_go_by_importance_and_age_however_many_they_are(copies: int, place: int) -> None:
    place = min(place, copies - 1)
    rows = [
        insight(f"{at:03}", f"redis cache n{at}", at=at, importance=5 if at == place else 3) for at in range(copies)
    ]
    snapshot = store([*rows, insight("tea", "tea")])
    newest = [f"{at:03}" for at in range(copies - 1, -1, -1) if at != place]
    assert ids(snapshot, ranked(snapshot, "redis cache", most=5).rows) == [f"{place:03}", *newest[:4]]


# ------------------------------------------------------------ any store, any question

ROW = st.tuples(
    TEXTS, VECTORS, st.sampled_from(["alice", "bob", "assistant"]), st.sampled_from([None, "c1", "c2"]),
    st.integers(0, 5), st.booleans(),
)  # fmt: skip
Drawn = list[tuple[str, Vector | None, str, str | None, int, bool]]
KNOWER = WordKnower(cache=(("redi", 0.8), ("8", 0.5)), when=(("cach", 0.4),))
WINDOWS = st.none() | st.tuples(st.integers(0, 3_000_000), st.integers(0, 6_000_000))


def world(drawn: Drawn, with_vectors: bool) -> tuple[list[Insight], list[Vector | None]]:
    rows = [
        said(f"{number:03}", text, at, source, conversation_id=talk, scope=HIDDEN if hidden else Scope())
        for number, (text, _, source, talk, at, hidden) in enumerate(drawn)
    ]
    return rows, [vector if with_vectors else None for _, vector, *_ in drawn]


@examples(150)
@given(st.lists(ROW, min_size=1, max_size=12), TEXTS, VECTORS, st.integers(1, 12), WINDOWS)
def test_any_question_ranks_any_rows(
    drawn: Drawn, text: str, vector: Vector | None, most: int, window: tuple[int, int] | None
) -> None:
    rows, vectors = world(drawn, with_vectors=vector is not None)
    snapshot = store(rows, vectors)
    visible = snapshot.visible(Filter())
    question = build_question(snapshot, text, KNOWER, window=window)
    near = None if vector is None else told(snapshot.dense.similarity(vector))
    every = rank(snapshot, question, near, visible, len(rows), NUMBERS)
    found = every.rows.tolist()
    assert len(set(found)) == len(found) == every.considered
    assert visible is None or visible[found].all()
    assert np.isfinite(every.parts).all()
    assert every.parts.sum(axis=0) == pytest.approx(every.scores, abs=1e-3)
    assert (np.diff(every.scores) <= 0.0).all()
    assert 0.0 <= every.trust <= 1.0 + 1e-6
    assert (every.keyword >= 0.0).all()
    assert (every.keyword <= 1.0 + 1e-5).all()
    assert (every.similarity >= 0.0).all()
    best = rank(snapshot, question, near, visible, most, NUMBERS)
    assert best.rows.tobytes() == every.rows[:most].tobytes()
    assert best.scores.tobytes() == every.scores[:most].tobytes()
    assert (best.trust, best.weights, best.considered) == (every.trust, every.weights, every.considered)
    again = rank(snapshot, build_question(snapshot, text, KNOWER, window=window), near, visible, len(rows), NUMBERS)
    assert [np.asarray(each).tobytes() for each in again] == [np.asarray(each).tobytes() for each in every]


@examples(100)
@given(st.lists(ROW, min_size=1, max_size=10), TEXTS, VECTORS, st.integers(1, 3))
def test_rows_that_nobody_sees_change_nothing(drawn: Drawn, text: str, vector: Vector | None, copies: int) -> None:
    """Beyond how rare a word is and how long a row is on average, which are counted over the whole store: so what is
    hidden here are copies, which leave the average as it is, and the weights of words are set back."""
    rows, vectors = world([(*each[:5], False) for each in drawn], with_vectors=vector is not None)
    hidden = [
        msgspec.structs.replace(
            each, id=f"{each.id}-{copy}", conversation_id=each.conversation_id and f"{each.conversation_id}-{copy}",
            scope=HIDDEN, importance=5,
        )
        for copy in range(copies) for each in rows
    ]  # fmt: skip
    alone, among = store(rows, vectors), store([*rows, *hidden], vectors * (copies + 1))
    visible = among.visible(Filter())
    assert visible is not None
    question = build_question(alone, text, KNOWER)
    same = build_question(among, text, KNOWER)._replace(weights=question.weights, pairs=question.pairs)
    near = [None if vector is None else told(each.dense.similarity(vector)) for each in (alone, among)]
    expected = rank(alone, question, near[0], None, len(rows), NUMBERS)
    found = rank(among, same, near[1], visible, len(rows), NUMBERS)
    assert found.rows.tolist() == expected.rows.tolist()
    assert found.parts == pytest.approx(expected.parts, abs=1e-4)
    assert found.trust == pytest.approx(expected.trust, abs=1e-4)
    assert found.considered == expected.considered
