"""Causal candidates: who is near, in which order, and which way round."""

from __future__ import annotations

from collections.abc import Sequence

from mnemond.config.writing import CausalSettings
from mnemond.index.writer import MemoryIndex
from mnemond.memory.remember import MAX_CAUSAL_HOPS, causal_candidates
from mnemond.model.memory import Edge, EdgeType, Scope
from mnemond.model.outcomes import CausalCandidate
from tests.index.worlds import DIMENSION, insight
from tests.tables import each_row

SETTINGS = CausalSettings()


def found(
    texts: Sequence[str],
    *links: tuple[int, int, EdgeType, float],
    settings: CausalSettings = SETTINGS,
    max_hops: int = MAX_CAUSAL_HOPS,
    scopes: Sequence[Scope] = (),
) -> list[CausalCandidate]:
    """Candidates of the first of these memories."""
    owned = [*scopes, *[Scope()] * (len(texts) - len(scopes))]
    rows = [
        (insight(f"m{at}", text, scope=scope), None) for at, (text, scope) in enumerate(zip(texts, owned, strict=True))
    ]
    edges = [Edge(f"m{one}", f"m{other}", kind, weight) for one, other, kind, weight in links]
    return causal_candidates(MemoryIndex.build(rows, edges, DIMENSION).snapshot, "m0", settings, max_hops)


def ids(candidates: Sequence[CausalCandidate]) -> list[str]:
    return [each.id for each in candidates]


def test_near_ones_come_with_the_way_they_were_reached() -> None:
    several = found(["a", "b", "c", "d"], (0, 1, "entity", 0.5), (1, 2, "semantic", 0.5), (2, 3, "temporal", 0.5))
    assert [(each.id, each.hop, each.via_edge) for each in several] == [("m1", 1, "entity"), ("m2", 2, "semantic")]
    assert {(each.causal_signal, each.suggested_sub_type, each.suggested_direction) for each in several} == {
        (None, "causes", "from_candidate")
    }


def test_a_signal_counts_more_than_nearness_and_nearness_more_than_words() -> None:
    texts = ["redis cache", "tea", "the redis cache", "no redis because of rain", "redis"]
    links = [(0, 1), (0, 4), (1, 2), (1, 3)]
    several = found(texts, *[(one, other, "entity", 0.5) for one, other in links])
    assert ids(several) == ["m3", "m4", "m1", "m2"]
    assert several[0].causal_signal == "because"
    assert several[1].overlap > several[2].overlap == 0.0


@each_row(
    ("first", "other", "signal", "sub_type", "way"),
    [
        ("Chose SQLite because Redis is unknown", "Redis is unknown", "because", "causes", "from_candidate"),
        ("The flaky mount leads to corruption", "Corruption seen", "leads to", "enables", "to_candidate"),
        ("The Redis gap is real", "Chose SQLite because of the gap", "because", "causes", "to_candidate"),
        ("Corruption seen", "The flaky mount leads to corruption", "leads to", "enables", "from_candidate"),
    ],
)
def test_the_cue_says_which_is_the_cause(first: str, other: str, signal: str, sub_type: str, way: str) -> None:
    [candidate] = found([first, other], (0, 1, "entity", 0.5))
    assert (candidate.causal_signal, candidate.suggested_sub_type) == (signal, sub_type)
    assert candidate.suggested_direction == way


def test_what_is_linked_as_cause_already_is_no_candidate_but_leads_on() -> None:
    assert ids(found(["a", "b", "c"], (0, 1, "causal", 0.5), (1, 2, "entity", 0.5))) == ["m2"]
    assert ids(found(["a", "b"], (1, 0, "causal", 0.5), (0, 1, "entity", 0.5))) == []


def test_heavier_links_are_followed_first_until_there_are_enough() -> None:
    texts = ["a", "b", "c", "d", "e"]
    links: list[tuple[int, int, EdgeType, float]] = [(0, at, "entity", at / 10) for at in range(1, 5)]
    assert set(ids(found(texts, *links, settings=CausalSettings(max_candidates=2)))) == {"m4", "m3"}
    assert ids(found(texts, (0, 1, "entity", 1), (1, 2, "entity", 1), max_hops=1)) == ["m1"]


def test_only_what_its_readers_may_see_is_a_candidate() -> None:
    scopes = [Scope("u1"), Scope("u2"), Scope()]
    links: list[tuple[int, int, EdgeType, float]] = [(0, 1, "entity", 0.9), (0, 2, "entity", 0.1)]
    assert ids(found(["a", "b", "c"], *links, scopes=scopes)) == ["m2"]


def test_a_memory_that_is_gone_has_none() -> None:
    assert causal_candidates(MemoryIndex(DIMENSION).snapshot, "m0", SETTINGS) == []


def test_what_is_not_valid_yet_is_no_candidate() -> None:
    texts = ["the disk was full", "because of that backups stopped"]
    link = Edge("m0", "m1", "temporal", 0.5)
    for later, shown in ((0, ["m1"]), (10**15, [])):
        rows = [(insight("m0", texts[0], at=5), None), (insight("m1", texts[1], at=5 + later), None)]
        found = causal_candidates(MemoryIndex.build(rows, [link], DIMENSION).snapshot, "m0", SETTINGS)
        assert ids(found) == shown
