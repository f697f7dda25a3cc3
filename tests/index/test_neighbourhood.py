"""What surrounds a newcomer, against the same questions put to a plain list."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnemond.index.neighbourhood import Neighbourhood
from mnemond.index.vectors import Cosines
from mnemond.index.writer import MemoryIndex
from mnemond.model.changes import AddInsight, RetireInsight
from mnemond.model.memory import Insight, Scope, format_us, parse_rfc3339
from tests.examples import examples
from tests.index.worlds import DIMENSION, LIKE, insight, unit
from tests.tables import each_row

SECOND = 1_000_000
SCOPES = st.builds(Scope, user_id=st.sampled_from([None, "u1"]), session_id=st.sampled_from([None, None, "s1"]))


@st.composite
def rows(draw: st.DrawFn, name: str) -> Insight:
    return insight(
        name,
        draw(st.sampled_from(["redis cache", "redis", "deploy the cache", "friday", ""])),
        at=draw(st.integers(0, 5)) * SECOND,
        source=draw(st.sampled_from(["user", "alice"])),
        conversation_id=draw(st.sampled_from([None, "c1"])),
        entities=tuple(draw(st.lists(st.sampled_from(["Redis", "redis", "Bob"]), max_size=2))),
        event_start=draw(st.sampled_from([None, format_us(0)])),
        scope=draw(SCOPES),
    )


@st.composite
def worlds(draw: st.DrawFn) -> tuple[MemoryIndex, list[Insight], Insight]:
    """An index, its live memories in the order they were stored, and a newcomer."""
    stored = [draw(rows(f"m{number}")) for number in range(draw(st.integers(0, 9)))]
    gone = draw(st.sets(st.sampled_from(stored or [insight("none")]), max_size=2)) if stored else set()
    index = MemoryIndex(DIMENSION)
    index.apply([AddInsight(it) for it in stored])
    index.apply([RetireInsight(it.id, "forgotten") for it in gone])
    return index, [it for it in stored if it not in gone], draw(rows("new"))


def seen_by(new: Insight, others: list[Insight]) -> list[tuple[int, Insight]]:
    """(place, memory) of those the newcomer's readers may see."""
    own, scope = new.scope, "session_id"
    return [
        (place, it)
        for place, it in enumerate(others)
        if (own.user_id is None or it.scope.user_id in (None, own.user_id))
        and getattr(it.scope, scope) in (None, own.session_id)
    ]


def at(it: Insight) -> int:
    return parse_rfc3339(it.created_at)


def newest(found: list[tuple[int, Insight]], k: int) -> list[Insight]:
    return [it for _, it in sorted(found, key=lambda each: (at(each[1]), each[0]), reverse=True)][:k]


@examples(200)
@given(worlds(), st.integers(0, 4))
def test_time_and_names_are_those_of_a_plain_list(world: tuple[MemoryIndex, list[Insight], Insight], k: int) -> None:
    index, live, new = world
    around, seen = Neighbourhood(index.snapshot, new, None), seen_by(new, live)
    assert around.documents == 1 + len(seen)
    chain = [each for each in seen if link(each[1]) == link(new)]
    before = newest([each for each in chain if at(each[1]) <= at(new)], 1)
    after = sorted((at(it), place, it.id) for place, it in chain if at(it) > at(new))
    assert around.backbone() == (before[0].id if before else None, after[0][2] if after else None)
    earlier = newest([each for each in seen if at(each[1]) <= at(new)], k)
    assert around.recent(k) == [(it, None if it.event_start is None else 0) for it in earlier]
    for canonical in ("redis", "bob", "nobody"):
        holding = [each for each in seen if canonical in {name.casefold() for name in each[1].entities}]
        assert around.holders(canonical, k) == (1 + len(holding), [it.id for it in newest(holding, k)])


def link(it: Insight) -> tuple[str, str | None]:
    return it.source, it.conversation_id or it.scope.session_id


@examples(200)
@given(worlds(), st.integers(0, 4), st.integers(0, 5), st.data())
def test_the_nearest_in_time_are_those_of_a_plain_list(
    world: tuple[MemoryIndex, list[Insight], Insight], k: int, seconds: int, data: st.DataObject
) -> None:
    index, live, new = world
    excluding = data.draw(st.lists(st.sampled_from([it.id for it in live] or ["none"]), max_size=2, unique=True))
    near = sorted(
        (abs(at(it) - at(new)), -place, it.id)
        for place, it in seen_by(new, live)
        if abs(at(it) - at(new)) <= seconds * SECOND and it.id not in excluding
    )
    found = Neighbourhood(index.snapshot, new, None).nearest_in_time(k, seconds * SECOND, excluding)
    assert found == [(name, distance) for distance, _, name in near[:k]]


COSINES = st.sampled_from([-0.5, 0.0, 0.25, 0.5, 0.75, 1.0])


@examples(200)
@given(worlds(), st.integers(0, 4), st.data())
def test_likeness_and_cosines_are_ranked_as_a_plain_list_is(
    world: tuple[MemoryIndex, list[Insight], Insight], k: int, data: st.DataObject
) -> None:
    index, live, new = world
    snapshot = index.snapshot
    cosines = np.array([data.draw(COSINES) for _ in range(snapshot.rows)], dtype=np.float32)
    around = Neighbourhood(snapshot, new, Cosines(cosines))
    row = {it.id: snapshot.row_of(it.id) for it in live}
    seen = [it for _, it in seen_by(new, live)]

    def ranked(scores: Any, fits: Callable[[float], bool]) -> list[tuple[str, float]]:
        fitting = [(-float(scores[row[it.id]]), -(row[it.id] or 0), it.id) for it in seen]
        return [(name, -score) for score, _, name in sorted(fitting) if fits(-score)][:k]

    assert around.similar(0.5, k) == ranked(cosines, lambda score: score >= 0.5)
    assert around.between(0.25, 0.75, k) == ranked(cosines, lambda score: 0.25 <= score < 0.75)
    likeness = snapshot.likeness(LIKE)
    assert around.by_words(likeness, 0.3, k) == ranked(likeness, lambda score: score >= 0.3)


def test_rows_that_are_excluded_are_nowhere_and_others_stay_seen() -> None:
    index = MemoryIndex(DIMENSION)
    index.apply([AddInsight(insight(f"m{number}", "redis", at=number, entities=("Redis",))) for number in range(3)])
    cosines = np.ones(3, dtype=np.float32)
    around = Neighbourhood(index.snapshot, insight("new", at=9), Cosines(cosines), [2])
    assert around.documents == 3
    assert around.backbone() == ("m1", None)
    assert [it.id for it, _ in around.recent(5)] == ["m1", "m0"]
    assert around.holders("redis", 5) == (3, ["m1", "m0"])
    assert [name for name, _ in around.similar(0.5, 5)] == ["m1", "m0"]
    assert [name for name, _ in around.nearest_in_time(5, SECOND, [])] == ["m1", "m0"]
    index.apply([RetireInsight("m0", "forgotten")])
    assert Neighbourhood(index.snapshot, insight("new", at=9), None, [2]).documents == 2


def test_the_first_of_its_chain_has_no_neighbours_and_without_a_vector_nothing_is_like_it() -> None:
    index = MemoryIndex(DIMENSION)
    index.apply([AddInsight(insight("m0", "redis"), unit(1, 0, 0, 0))])
    around = Neighbourhood(index.snapshot, insight("new", source="stranger"), None)
    assert around.backbone() == (None, None)
    assert around.similar(0.0, 5) == around.between(-1.0, 1.0, 5) == []


def test_a_share_of_words_is_never_more_than_all_of_them() -> None:
    index = MemoryIndex(DIMENSION)
    index.apply([AddInsight(insight("m0", "redis", tags=("cache",)))])
    snapshot = index.snapshot
    likeness = snapshot.likeness({"redi", "cach"})
    assert likeness.tolist() == [2.0]
    assert Neighbourhood(snapshot, insight("new"), None).by_words(likeness, 0.5, 5) == [("m0", 1.0)]


@each_row(("start", "us"), [(None, None), ("1970-01-01T00:00:01Z", 1_000_000)])
def test_when_an_event_was(start: str | None, us: int | None) -> None:
    earlier = insight("m0", event_start=start)
    index = MemoryIndex.build([(earlier, None)], [], DIMENSION)
    assert Neighbourhood(index.snapshot, insight("new", at=9), None).recent(1) == [(earlier, us)]
