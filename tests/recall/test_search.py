"""search: words alone, filters before the cut."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from mnemond.index.snapshot import Snapshot
from mnemond.index.writer import MemoryIndex
from mnemond.model.changes import RetireInsight
from mnemond.model.memory import Scope
from mnemond.model.query import Filter
from mnemond.recall.recall import search
from tests.index.worlds import DIMENSION, insight, unit
from tests.tables import each_row

CONTENTS = {
    "a": "Redis is the cache of the shop",
    "b": "the cache of the browser is large, the cache of the shop is small",
    "c": "数据库 迁移 在 周五",
    "d": "nothing in common",
}


def snapshot_of(*dead: str, **fields: dict[str, object]) -> Snapshot:
    rows = [
        (insight(name, text, at=at, **fields.get(name, {})), unit(1, 0, 0, 0))
        for at, (name, text) in enumerate(CONTENTS.items())
    ]
    index = MemoryIndex.build(rows, (), DIMENSION)
    if dead:
        index.stage([RetireInsight(name, "forgotten") for name in dead])
        index.publish()
    return index.snapshot


def ids(snapshot: Snapshot, text: str, wanted: Filter = Filter(), limit: int = 10) -> list[str]:  # noqa: B008 - frozen
    return [match.insight.id for match in search(snapshot, text, wanted, limit)]


@each_row(
    ("text", "found"),
    [
        ("cache", ["b", "a"]),
        ("redis cache", ["a", "b"]),
        ("caches", ["b", "a"]),
        ("数据库", ["c"]),
        ("elasticsearch", []),
        ("", []),
        ("the of is", []),
        ("?!", []),
        ('%_"*', []),
    ],
)
def test_words_alone_decide(text: str, found: list[str]) -> None:
    assert sorted(ids(snapshot_of(), text)) == sorted(found)


def test_the_best_is_first_and_scores_are_parts_of_the_best_possible() -> None:
    matches = search(snapshot_of(), "redis cache shop", Filter(), 10)
    assert [match.insight.id for match in matches] == ["a", "b"]
    assert 1 > matches[0].score > matches[1].score > 0


def test_filters_apply_before_the_cut() -> None:
    snapshot = snapshot_of(b={"category": "fact", "scope": Scope(session_id="s1")})
    assert ids(snapshot, "cache", limit=1) == ["a"]
    assert ids(snapshot, "cache", Filter(category="fact")) == []
    assert ids(snapshot, "cache", Filter(category="fact", all_sessions=True)) == ["b"]
    assert sorted(ids(snapshot, "cache", Filter(scope=Scope(session_id="s1")))) == ["a", "b"]
    assert len(ids(snapshot, "cache", Filter(all_sessions=True), limit=1)) == 1


def test_what_was_forgotten_is_not_found() -> None:
    assert ids(snapshot_of("a"), "cache") == ["b"]
    assert ids(snapshot_of("a", "b", "c", "d"), "cache") == []


def test_an_empty_store_has_nothing() -> None:
    assert search(MemoryIndex.build((), (), DIMENSION).snapshot, "cache", Filter(), 10) == []


@given(st.text(max_size=40), st.integers(1, 3))
def test_any_text_is_answered_with_what_has_its_words(text: str, limit: int) -> None:
    found = search(snapshot_of(), text, Filter(), limit)
    assert len(found) <= limit
    scores = [match.score for match in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score < 1 for score in scores)
    assert _same(found, search(snapshot_of(), text, Filter(), limit))


def _same(one: Sequence[object], other: Sequence[object]) -> bool:
    return list(one) == list(other)
