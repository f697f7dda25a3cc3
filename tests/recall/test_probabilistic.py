"""The probabilistic walk: the worked trace, its probabilities, its seed and its limits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.config.reading import TraversalSettings
from mnemond.index.arrays import Rows, Scores
from mnemond.index.snapshot import Snapshot
from mnemond.memory.decay import effective_age, retention
from mnemond.recall.walks import MAX_DRAWS, Walk, draws_of, seed_of, selection_probability, walk
from tests.examples import examples
from tests.recall.small_graph import NAMES, Link, at, graph, links, named
from tests.tables import each_row

TREE: list[Link] = [("s", "a", "causal", 0.8), ("b", "s", "entity", 0.5), ("a", "c", "semantic", 0.6)]
AGES = {"a": 28.0, "b": 56.0, "c": 2.0}


def walked(
    snapshot: Snapshot,
    starts: Iterable[str],
    draws: Sequence[float],
    ages: dict[str, float] | None = None,
    settings: TraversalSettings = TraversalSettings(),  # noqa: B008 - frozen
    max_draws: int = MAX_DRAWS,
    hidden: str = "",
) -> Walk:
    """A walk with these draws, among rows of these ages in days; the others are new."""

    def vigour(rows: Rows) -> tuple[Scores, Scores]:
        fading = [retention((ages or {}).get(snapshot.insight(row).id, 0.0)) for row in rows.tolist()]
        return np.array(fading), np.zeros(len(rows))

    mask = np.array([snapshot.insight(row).id not in hidden for row in range(snapshot.rows)]) if hidden else None
    return walk(snapshot, at(snapshot, starts).tolist(), iter(draws), vigour, settings, mask, max_draws)


def order(snapshot: Snapshot, found: Walk) -> str:
    return named(snapshot, [visit.row for visit in found.visits])


def test_worked_trace() -> None:
    snapshot = graph("sabc", TREE)
    found = walked(snapshot, "s", [0.5, 0.95, 0.05], AGES)
    assert order(snapshot, found) == "sab"
    assert [(offer.row, offer.taken) for offer in found.offers] == list(
        zip(at(snapshot, "acb").tolist(), (True, False, True), strict=True)
    )
    assert [offer.probability for offer in found.offers] == pytest.approx([0.84, 0.938301, 0.067087], abs=1e-6)
    assert [offer.draw for offer in found.offers] == [0.5, 0.95, 0.05]
    assert [visit.signal for visit in found.visits] == pytest.approx([1.0, 0.8, 0.5])
    assert found.complete


@each_row(
    ("weight", "age", "boost", "signal", "expected"),
    [(0.6, 28, 0, 1, 0.63), (0.6, 56, 0, 1, 0.080504), (0.8, 17, 15, 1, 1.0), (0.5, 40, 0, 0.5, 0.097489),
     (0.55, 365, 0, 1, 0.055)],
)  # fmt: skip
def test_worked_probabilities(weight: float, age: float, boost: float, signal: float, expected: float) -> None:
    fading = retention(effective_age(age, boost))
    weights, fadings, boosts, signals = np.array([[weight], [fading], [boost], [signal]], dtype=np.float64)
    found = selection_probability(weights, fadings, boosts, signals, TraversalSettings().exploration_factor)
    assert found.tolist() == pytest.approx([expected], abs=1e-6)


def test_a_boost_counts_as_a_part_of_the_largest() -> None:
    found = selection_probability(np.array([0.8]), np.array([0.977397]), np.array([15.0]), np.array([1.0]), 0.5)
    assert found[0] * 4 == pytest.approx(2.345752, abs=3e-6)


def test_worked_signals() -> None:
    chain: list[Link] = [("a", "b", "causal", 0.9), ("b", "c", "causal", 0.6), ("c", "d", "causal", 0.5)]
    found = walked(graph("abcd", chain), "a", [0.0] * 9)
    assert [visit.signal for visit in found.visits] == pytest.approx([1.0, 0.8, 0.48, 0.24])


def test_starts_take_turns_and_share_what_may_be_visited() -> None:
    edges: list[Link] = [("a", "b", "causal", 1.0), ("b", "c", "causal", 1.0), ("d", "e", "causal", 1.0)]
    snapshot = graph("abcde", edges)
    assert order(snapshot, walked(snapshot, "ad", [0.0] * 9)) == "adbec"
    assert order(snapshot, walked(snapshot, "ad", [0.0] * 9, settings=TraversalSettings(max_nodes=4))) == "adbe"
    assert order(snapshot, walked(snapshot, "abcd", [], settings=TraversalSettings(max_nodes=3))) == "abc"
    assert order(snapshot, walked(snapshot, "aba", [0.0] * 9)) == "abc"


def test_equal_chances_go_by_id_and_the_heaviest_of_two_links_counts() -> None:
    edges: list[Link] = [("s", name, "causal", 0.25) for name in "dcb"]
    snapshot = graph("dcbs", [*edges, ("d", "s", "entity", 0.5)])
    found = walked(snapshot, "s", [0.9] * 9)
    assert [snapshot.insight(offer.row).id for offer in found.offers] == ["d", "b", "c"]
    assert order(snapshot, found) == "sd"


def test_who_was_refused_may_be_met_again_but_nobody_twice() -> None:
    edges: list[Link] = [("s", "a", "causal", 1.0), ("s", "b", "causal", 0.5), ("a", "b", "causal", 0.25)]
    found = walked(graph("sab", edges), "s", [0.0, 0.9, 0.1])
    assert [(visit.row, visit.origin) for visit in found.visits] == [(0, None), (1, 0), (2, 0)]
    assert [(offer.row, offer.origin, offer.taken) for offer in found.offers] == [
        (1, 0, True), (2, 1, False), (2, 0, True),
    ]  # fmt: skip


def test_paths_lead_back_to_a_start() -> None:
    found = walked(graph("sabc", TREE), "s", [0.0] * 9)
    assert [found.path(row) for row in range(4)] == [(0,), (0, 1), (0, 2), (0, 1, 3)]
    with pytest.raises(ValueError, match="row 7 was not visited"):
        found.path(7)


def test_a_hidden_row_is_not_met() -> None:
    snapshot = graph("sabc", TREE)
    assert order(snapshot, walked(snapshot, "s", [0.0] * 9, hidden="a")) == "sb"


def test_a_row_of_many_links_does_not_hold_up_everybody() -> None:
    names = [f"{number:03}" for number in range(40)]
    star: list[Link] = [(names[0], name, "causal", 0.25) for name in names[1:]]
    found = walked(graph(names, star), [names[0]], [0.99] * 7, max_draws=7)
    assert (len(found.offers), found.complete) == (7, False)
    assert walked(graph(names, star), [names[0]], [0.99] * 39).complete


def test_the_seed_of_a_question_is_that_of_its_words() -> None:
    assert seed_of("Why Redis?") == seed_of("  why   redis ") == 0xD1F5F315631CA9AC >> 11
    assert seed_of("why redis") != seed_of("why sqlite")


def test_draws_are_a_function_of_the_seed() -> None:
    drawn = list(islice(draws_of(7), 2000))
    assert drawn == list(islice(draws_of(7), 2000))
    assert drawn[0] != next(draws_of(8))
    assert all(0.0 <= draw < 1.0 for draw in drawn)
    tenths = np.bincount(np.floor(np.array(drawn) * 10).astype(int), minlength=10)
    assert tenths.min() > 150
    assert tenths.max() < 250
    with pytest.raises(OverflowError):
        next(draws_of(2**64))


@given(links, st.integers(0, 2**64 - 1), st.permutations(NAMES))
@examples(40)
def test_the_same_walk_however_it_was_written(edges: list[Link], seed: int, names: list[str]) -> None:
    walks = []
    for written, stored in ((list(NAMES), edges), (names, edges[::-1])):
        snapshot = graph(written, stored)
        found = walk(
            snapshot,
            at(snapshot, "ah").tolist(),
            draws_of(seed),
            lambda rows: (np.ones(len(rows)), np.zeros(len(rows))),
            TraversalSettings(),
        )
        assert len({visit.row for visit in found.visits}) == len(found.visits) <= 5
        walks.append((order(snapshot, found), [offer.draw for offer in found.offers]))
    assert walks[0] == walks[1]
    assert walks[0][1] == list(islice(draws_of(seed), len(walks[0][1])))
