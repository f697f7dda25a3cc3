"""recall --basic: letter for letter, newest first, nothing in a question is a pattern."""

from __future__ import annotations

import apsw
from hypothesis import given
from hypothesis import strategies as st

from mnemond.index.snapshot import Snapshot
from mnemond.model.answers import Signals
from mnemond.model.changes import RetireInsight
from mnemond.model.query import Filter, Query
from mnemond.recall.recall import CHARACTERS, PACK, STEP, basic_steps, is_quick, recall_basic
from tests.examples import examples
from tests.index.worlds import built, insight
from tests.recall.recall_world import weights
from tests.tables import each_row

SEEN = Filter()

CONTENTS = {
    "a": "100% of the cache is warm",
    "b": "1000 of the CACHE lines",
    "c": "snake_case and snakeXcase",
    "d": "C:\\temp\\new",
    "e": "Straße nach ΟΔΟΣ und café",
}


def snapshot_of(**contents: str) -> Snapshot:
    return built(*(insight(name, text, at=at) for at, (name, text) in enumerate(contents.items()))).snapshot


def found(snapshot: Snapshot, text: str, limit: int = 10, wanted: Filter = SEEN) -> list[str]:
    answer = recall_basic(snapshot, Query(text, limit, wanted), iter(range(9)).__next__)
    return [hit.insight.id for hit in answer.hits]


@each_row(
    ("text", "expected"),
    [
        ("cache", ["b", "a"]),
        ("CaChE", ["b", "a"]),
        ("100%", ["a"]),
        ("%", ["a"]),
        ("snake_case", ["c"]),
        ("_", ["c"]),
        ("\\temp", ["d"]),
        ("\\", ["d"]),
        ("strasse", ["e"]),
        ("οδος", ["e"]),
        ("CAFÉ", ["e"]),
        ("warm cache", []),
        ("cache is", ["a"]),
        ("", ["e", "d", "c", "b", "a"]),
    ],
)
def test_what_has_the_text_in_it_is_found(text: str, expected: list[str]) -> None:
    assert found(snapshot_of(**CONTENTS), text) == expected


@given(st.lists(st.text(alphabet="aB%_\\ é", max_size=6), max_size=6), st.text(alphabet="Ab%_\\", max_size=4))
@examples(200)
def test_within_ascii_it_is_what_like_finds(contents: list[str], text: str) -> None:
    pattern = "".join(f"\\{char}" if char in "%_\\" else char for char in text)
    with apsw.Connection(":memory:") as database:
        database.execute("CREATE TABLE memory (content)")
        database.executemany("INSERT INTO memory VALUES (?)", [(content,) for content in contents])
        like = database.execute(
            "SELECT content FROM memory WHERE content LIKE '%' || ? || '%' ESCAPE '\\' ORDER BY rowid DESC", (pattern,)
        )
        expected = [content for (content,) in like]
    snapshot = snapshot_of(**{str(number): content for number, content in enumerate(contents)})
    answer = recall_basic(snapshot, Query(text, 10), iter(range(9)).__next__)
    assert [hit.insight.content for hit in answer.hits] == expected


def test_only_what_may_be_seen_is_found_before_the_cut() -> None:
    index = built(
        insight("a", "tea", at=1),
        insight("b", "tea", at=2, category="fact"),
        insight("c", "tea", at=3),
        insight("d", "tea", at=4),
    )
    index.stage([RetireInsight("d", "forgotten")])
    index.publish()
    assert found(index.snapshot, "tea", 2) == ["c", "b"]
    assert found(index.snapshot, "tea", 2, Filter(category="general")) == ["c", "a"]


def test_of_equal_times_the_one_stored_later_is_newer_and_an_old_one_is_old_wherever_it_is_stored() -> None:
    snapshot = built(
        insight("b", "tea", at=5), insight("a", "tea", at=5), insight("c", "tea", at=1)
    ).snapshot  # fmt: skip
    assert found(snapshot, "tea") == ["a", "b", "c"]


def test_the_answer_has_no_signals_and_says_when_it_is_thin() -> None:
    answer = recall_basic(snapshot_of(**CONTENTS), Query("cache", 4), iter([1.0, 1.5]).__next__)
    assert {(hit.score, hit.confidence, hit.via) for hit in answer.hits} == {(0.0, "low", ("basic",))}
    assert {hit.signals for hit in answer.hits} == {Signals(0.0, 0.0, 0.0, 0.0)}
    assert (answer.meta.anchor_count, answer.meta.hint, answer.meta.stages_ms) == (2, None, {"select": 500.0})
    assert set(weights(answer).values()) == {0.0}
    assert answer.meta.embedding is None
    thin = recall_basic(snapshot_of(**CONTENTS), Query("cache", 5), iter([1.0, 1.5]).__next__)
    assert thin.meta.hint == "sparse_results"


def test_a_large_store_is_read_in_steps_and_no_further_than_need_be() -> None:
    many = built(*(insight(str(number), "tea" if number % 2 else "", at=number) for number in range(2 * STEP + 1)))
    assert not is_quick(many.snapshot)
    steps = list(basic_steps(many.snapshot, Query("coffee"), iter(range(9)).__next__))
    assert steps[:-1] == [None, None]
    assert steps[-1] == recall_basic(many.snapshot, Query("coffee"), iter(range(9)).__next__)
    [found] = basic_steps(many.snapshot, Query("tea", 3), iter(range(9)).__next__)
    assert found is not None
    assert [hit.insight.id for hit in found.hits] == [str(2 * STEP - odd) for odd in (1, 3, 5)]
    assert is_quick(built(*(insight(str(number)) for number in range(STEP))).snapshot)


def test_long_texts_are_read_in_shorter_steps() -> None:
    long = CHARACTERS // PACK
    many = built(*(insight(str(number), "é" * long, at=number) for number in range(5 * PACK))).snapshot
    assert not is_quick(many)
    *steps, found = basic_steps(many, Query("tea"), iter(range(9)).__next__)
    assert steps == [None] * 5
    assert found is not None
    assert found.hits == ()
    assert is_quick(built(*(insight(str(number), "é" * long) for number in range(PACK))).snapshot)
