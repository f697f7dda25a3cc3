"""The index of passages: whole exchanges and their pieces, audiences, and generations."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnemond.index.arrays import Floats
from mnemond.index.bm25 import Bm25
from mnemond.index.passages import PassageIndex, PassageSnapshot
from mnemond.model.memory import Scope
from mnemond.model.passages import Passage
from mnemond.model.query import Filter, Span
from mnemond.text.passages import PIECE, pieces, sentences
from mnemond.text.tokens import index_terms

WHOLE, PIECES = Bm25(2.0, 0.9), Bm25(1.2, 0.5)


def passage(name: str, prompt: str, answer: str = "", at: int = 0, **fields: Any) -> Passage:
    said_at = f"2026-11-03T09:{at:02}:00Z"
    return Passage(id=name, said_at=said_at, host="claude-code", prompt=prompt, answer=answer, **fields)


def snapshot(*passages: Passage) -> PassageSnapshot:
    return PassageIndex.build([(each, None) for each in passages], 4).snapshot


def best(found: PassageSnapshot, question: str) -> str:
    return found.passage(int(np.argmax(found.words(index_terms(question), WHOLE)))).id


def _words(found: PassageSnapshot, question: str) -> tuple[Floats, Floats]:
    terms, rows = index_terms(question), np.arange(found.rows)
    return found.words(terms, WHOLE), found.piece_words(terms, rows, found.pieces_of(rows), PIECES)


TEXT = st.text(alphabet=st.sampled_from("ab.!? \n。"), max_size=900)


@given(TEXT, TEXT)
def test_pieces_have_every_word_in_its_order(prompt: str, answer: str) -> None:
    found = pieces(passage("a", prompt, answer))
    assert "".join("".join(found).split()) == "".join((prompt + answer).split())
    assert all(len(each) <= 2 * PIECE for each in found)


def test_a_full_stop_inside_a_word_ends_no_sentence() -> None:
    found = sentences("Fixed in v1.2.3 (app.py). Is it? Yes!\n- see https://example.org/a.b\n你好。再见")
    assert found == ["Fixed in v1.2.3 (app.py).", "Is it?", "Yes!", "- see https://example.org/a.b", "你好。", "再见"]


def test_an_added_passage_is_found_as_one_that_was_loaded() -> None:
    texts = [
        passage(name, f"{name} {word * 200}", "answer " * 90) for name, word in (("one", "red "), ("two", "blue "))
    ]
    loaded = snapshot(*texts)
    grown = PassageIndex.build([(texts[0], None)], 4)
    grown.add(texts[1])
    added = grown.publish()
    for question in ("red", "blue answer", "two"):
        one, other = (_words(each, question) for each in (loaded, added))
        assert [each.tolist() for each in one] == [each.tolist() for each in other]
        assert all(each.any() for each in one)


def test_words_of_a_question_in_several_pieces_count_together() -> None:
    whole = passage("whole", "the importer " + "x. " * 200, "died of a duplicate key")
    half = passage("half", "the importer " + "y. " * 200, "is fast")
    assert best(snapshot(half, whole), "importer duplicate key") == "whole"


def test_a_project_sees_its_own_passages_and_those_of_none() -> None:
    found = snapshot(
        passage("own", "a", project="shop#0011223344556677"),
        passage("other", "b", project="bank#8899aabbccddeeff"),
        passage("none", "c"),
    )
    for scope, seen in (
        (Scope(), {"own", "other", "none"}),
        (Scope(project="shop#0011223344556677"), {"own", "none"}),
        (Scope(project=""), {"none"}),
    ):
        rows = np.flatnonzero(found.visible(Filter(scope=scope)))
        assert {found.passage(row).id for row in rows.tolist()} == seen


def test_audiences_and_times_are_those_of_a_filter() -> None:
    found = snapshot(passage("all", "a"), passage("ana", "b", at=5, user_id="ana"), passage("s1", "c", session_id="s1"))

    def seen(wanted: Filter) -> set[str]:
        return {found.passage(row).id for row in np.flatnonzero(found.visible(wanted)).tolist()}

    assert seen(Filter(scope=Scope(user_id="bob"))) == {"all"}
    assert seen(Filter(scope=Scope(user_id="ana"), strict_scope=True)) == {"ana"}
    assert seen(Filter(scope=Scope(session_id="s1"))) == {"all", "ana", "s1"}
    since = int(np.datetime64("2026-11-03T09:01", "us").astype(np.int64))
    assert seen(Filter(created=Span(since, None))) == {"ana"}


def test_a_session_is_in_the_order_in_which_it_was_said() -> None:
    found = snapshot(
        passage("b2", "x", at=9, conversation_id="b", project="shop"),
        passage("a1", "x", at=1, conversation_id="a", project="shop"),
        passage("b1", "x", at=4, conversation_id="b", project="shop"),
        passage("c1", "x", at=20, conversation_id="c", project="bank"),
    )
    assert [found.passage(row).id for row in found.of_conversation("b")] == ["b1", "b2"]

    def sessions(project: str, without: str = "") -> list[list[str]]:
        rows = found.of_project(project, without)
        return [[found.passage(row).id for row in each] for each in found.by_session(rows)]

    assert sessions("shop") == [["b1", "b2"], ["a1"]]
    assert sessions("shop", without="b") == [["a1"]]
    assert sessions("attic") == []


def test_what_is_dropped_is_gone_from_the_next_snapshot_alone() -> None:
    index = PassageIndex.build([(passage("abcdef01", "a"), None), (passage("abcdef02", "b"), None)], 4)
    before = index.snapshot
    index.drop(["abcdef01", "unknown"])
    after = index.publish()
    assert (before.live, after.live) == (2, 1)
    assert (before.find("abcdef"), after.find("abcdef")) == (["abcdef01", "abcdef02"], ["abcdef02"])
    assert after.row_of("abcdef01") is None


def test_a_vector_counts_once_it_is_there() -> None:
    text = passage("one", "word. " * 100, "reply")
    index = PassageIndex.build([(text, None)], 4, made_by="model")
    assert index.snapshot.without_vector() == ["one"]
    embedded = np.eye(4, dtype=np.float32)[[0] * len(pieces(text))]
    index.set_vectors("one", embedded)
    found = index.publish()
    assert found.without_vector() == []
    assert found.cosines(np.eye(4, dtype=np.float32)[0]).tolist() == [1.0]
    parts = found.pieces_of(np.array([0]))
    assert found.piece_cosines(np.eye(4, dtype=np.float32)[0], parts.rows).tolist() == [1.0] * len(pieces(text))


def test_vectors_of_other_pieces_than_todays_are_made_again() -> None:
    index = PassageIndex.build([(passage("one", "short"), np.zeros((7, 4), dtype=np.float32))], 4)
    assert index.snapshot.without_vector() == ["one"]


def test_an_index_is_no_cycle() -> None:
    """What is replaced is freed at once: the collector of cycles is told to pass indexes over (`store.gc_tuning`)."""
    gc.disable()
    try:
        index = PassageIndex(8)
        gone = weakref.ref(index)
        del index
        assert gone() is None
    finally:
        gc.enable()
