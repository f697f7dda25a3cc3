"""The index of passages: whole exchanges and their pieces, audiences, and generations."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnemond.index.bm25 import Bm25
from mnemond.index.passages import PassageIndex, PassageSnapshot
from mnemond.model.memory import Scope
from mnemond.model.passages import Passage
from mnemond.model.query import Filter, Span
from mnemond.text.passages import PIECE, pieces, sentences

WHOLE, PIECES = Bm25(2.0, 0.9), Bm25(1.2, 0.5)


def passage(name: str, prompt: str, answer: str = "", at: int = 0, **fields: Any) -> Passage:
    said_at = f"2026-11-03T09:{at:02}:00Z"
    return Passage(id=name, said_at=said_at, host="claude-code", prompt=prompt, answer=answer, **fields)


def snapshot(*passages: Passage) -> PassageSnapshot:
    return PassageIndex.build([(each, None) for each in passages], 4).snapshot


TEXT = st.text(alphabet=st.sampled_from("ab.!? \n。"), max_size=900)


@given(TEXT, TEXT)
def test_pieces_have_every_word_in_its_order(prompt: str, answer: str) -> None:
    found = pieces(passage("a", prompt, answer))
    assert "".join("".join(found).split()) == "".join((prompt + answer).split())
    assert all(len(each) <= 2 * PIECE for each in found)


def test_a_full_stop_inside_a_word_ends_no_sentence() -> None:
    found = sentences("Fixed in v1.2.3 (app.py). Is it? Yes!\n- see https://example.org/a.b\n你好。再见")
    assert found == ["Fixed in v1.2.3 (app.py).", "Is it?", "Yes!", "- see https://example.org/a.b", "你好。", "再见"]


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
