"""Communities with their labels: the names and words that tell them from the rest."""

from __future__ import annotations

from mnemond.index.snapshot import Snapshot
from mnemond.memory.topics import topics
from mnemond.store.edges import Metric
from tests.index.worlds import built, insight


def snapshot() -> Snapshot:
    return built(
        insight("a", "one", entities=("Redis", "Shop"), keywords="cache redis night"),
        insight("b", "two", entities=("Redis",), keywords="cache night"),
        insight("c", "three", entities=("Shop", "Ana"), keywords="tea night"),
        insight("d", "four", entities=("Shop", "Ana"), keywords="tea night"),
        insight("e", "five", keywords="alone"),
    ).snapshot


METRICS = [
    Metric("a", 0.1, 1, 4), Metric("b", 0.3, 1, 4), Metric("c", 0.1, 1, 9), Metric("d", 0.1, 1, 9), Metric("e", 0.1, 0),
    Metric("gone", 0.3, 1, 4),
]  # fmt: skip


def test_a_label_has_the_heaviest_names_and_then_words() -> None:
    redis, tea = topics(snapshot(), METRICS, None)
    assert (redis.number, [it.id for it in redis.members]) == (4, ["b", "a"])
    assert (redis.names, redis.terms) == (("Redis",), ("cache", "night"))
    assert redis.label == "Redis, cache, night"
    assert (tea.number, tea.names, tea.terms) == (9, ("Ana", "Shop"), ("tea", "night"))
    assert tea.label == "Ana, Shop, tea"


def test_of_some_rows_alone() -> None:
    [found] = topics(snapshot(), METRICS, frozenset({0}))
    assert (found.number, [it.id for it in found.members], found.label) == (4, ["a"], "")


def test_a_name_that_is_everywhere_names_nothing_unless_there_is_no_other() -> None:
    everywhere = built(*(insight(each, each, entities=("Shop", "Ana" if each < "d" else "Bob")) for each in "abcdef"))
    metrics = [Metric(each, 0.1, 1, 1 if each < "d" else 2) for each in "abcdef"]
    assert [it.names for it in topics(everywhere.snapshot, metrics, None)] == [("Ana", "Shop"), ("Bob", "Shop")]
    alone = [Metric(each, 0.1, 1, 1) for each in "abc"]
    assert [it.label for it in topics(everywhere.snapshot, alone, None)] == ["Ana, Shop"]
