"""Recall along links: every mode in both profiles, what it reaches, tells, and never passes through."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mnemond.index.snapshot import Snapshot
from mnemond.model.answers import PathStep
from mnemond.model.memory import Scope
from mnemond.model.query import Filter, Intent, Mode, ProfileName, Recalled
from tests.index.worlds import insight
from tests.recall.recall_world import EVERY_WAY, NOW_US, Link, ask, ids, weights, world
from tests.tables import each_row

LED_BY_LINKS = [(profile, mode) for profile, mode in EVERY_WAY if mode != "none"]
WORDS = frozenset({"keyword"})


def linked(**hidden: Any) -> Snapshot:
    """A word, what it is linked to against the direction, and what is linked to that; `hidden` says how the one between
    differs."""
    rows = [
        insight("word", "zebra", at=NOW_US),
        insight("between", "quagga", at=NOW_US, **hidden),
        insight("behind", "okapi", at=NOW_US),
        insight("apart", "gnu", at=NOW_US),
    ]
    return world(rows, [("between", "word", "causal", 1.0), ("between", "behind", "entity", 1.0)])


def along(snapshot: Snapshot, mode: str | None, profile: str, text: str = "zebra", **query: Any) -> Recalled:
    return ask(snapshot, text, mode=mode, profile=profile, now_us=NOW_US, anchors=WORDS, **query)


def bare(found: Recalled) -> Recalled:
    return msgspec.structs.replace(found, meta=msgspec.structs.replace(found.meta, stages_ms={}))


@each_row(("profile", "mode"), LED_BY_LINKS)
def test_links_are_followed_either_way_and_no_farther_than_they_lead(profile: ProfileName, mode: Mode) -> None:
    reached: set[str] = set()
    for seed in range(10):
        found = along(linked(), mode, profile, seed=seed)
        reached |= set(ids(found))
        assert found.meta.mode == mode
        assert len(ids(found)) <= found.meta.traversed <= 3
    assert {"word", "between"} <= reached <= {"word", "between", "behind"}


@each_row("profile", ["mnemond", "mnemon"])
def test_without_a_mode_no_link_is_followed(profile: ProfileName) -> None:
    assert ids(along(linked(), "none", profile)) == ["word"]


def test_each_profile_has_a_mode_of_its_own() -> None:
    assert along(linked(), None, "mnemond").meta.mode == "none"
    assert along(linked(), None, "mnemon").meta.mode == "beam"
    assert along(linked(), None, "mnemond").meta.traversed == 0
    assert along(linked(), None, "mnemon").meta.traversed == 3


def test_a_beam_tells_the_way_to_what_it_reached() -> None:
    found = along(linked(), "beam", "mnemond")
    hits = {hit.insight.id: hit for hit in found.hits}
    assert found.meta.traversed == 3
    assert hits["word"].path == ()
    assert (hits["word"].via, hits["between"].via) == (("keyword",), ("causal",))
    assert hits["between"].path == (PathStep("word", "causal", 1.0),)
    assert hits["behind"].path == (PathStep("word", "causal", 1.0), PathStep("between", "entity", 1.0))
    assert hits["behind"].via == ("entity",)


def test_a_published_beam_tells_the_way_back() -> None:
    hits = {hit.insight.id: hit for hit in along(linked(), "beam", "mnemon").hits}
    assert hits["word"].path == (PathStep("word", "causal", 1.0), PathStep("between", "causal", 1.0))
    assert hits["behind"].path == (PathStep("word", "causal", 1.0), PathStep("between", "entity", 1.0))
    assert hits["between"].path == (*hits["behind"].path, PathStep("behind", "entity", 1.0))


@each_row("profile", ["mnemond", "mnemon"])
def test_pagerank_has_no_way_to_tell(profile: ProfileName) -> None:
    hits = {hit.insight.id: hit for hit in along(linked(), "ppr", profile).hits}
    assert hits["between"].path == ()
    assert hits["between"].via == ("graph",)


@each_row("profile", ["mnemond", "mnemon"])
def test_a_walk_can_be_repeated_by_its_seed(profile: ProfileName) -> None:
    answers = {seed: bare(along(linked(), "probabilistic", profile, seed=seed)) for seed in range(12)}
    again = {seed: bare(along(linked(), "probabilistic", profile, seed=seed)) for seed in range(12)}
    assert msgspec.json.encode(answers) == msgspec.json.encode(again)
    assert [found.meta.seed for found in answers.values()] == list(range(12))
    untold = along(linked(), "probabilistic", profile)
    assert untold.meta.seed is not None
    assert bare(along(linked(), "probabilistic", profile, seed=untold.meta.seed)) == bare(untold)
    assert along(linked(), "probabilistic", profile, text="Zebra!").meta.seed == untold.meta.seed
    assert along(linked(), "probabilistic", profile, text="a zebra").meta.seed != untold.meta.seed


@each_row("profile", ["mnemond", "mnemon"])
def test_another_seed_may_walk_elsewhere(profile: ProfileName) -> None:
    spokes = [insight(f"spoke{number}", f"thing{number}", at=NOW_US) for number in range(9)]
    links: list[Link] = [("hub", row.id, "semantic", 0.3) for row in spokes]
    star = world([insight("hub", "zebra", at=NOW_US), *spokes], links)
    answers = [along(star, "probabilistic", profile, seed=seed) for seed in range(12)]
    assert len({tuple(ids(found)) for found in answers}) > 1
    assert all(ids(found).count("hub") == 1 for found in answers)
    assert all(found.meta.draws >= 1 and len(found.hits) <= 5 for found in answers)


@each_row(("profile", "mode"), [way for way in EVERY_WAY if way[1] != "probabilistic"])
def test_only_a_walk_has_a_seed(profile: ProfileName, mode: Mode) -> None:
    found = along(linked(), mode, profile, seed=5)
    assert (found.meta.seed, found.meta.draws) == (None, 0)


HIDDEN: list[dict[str, Any]] = [
    {"scope": Scope(session_id="s1")},
    {"scope": Scope(user_id="bob")},
    {"category": "fact"},
    {"quarantined": True},
    {"status": "superseded"},
    {"invalid_at": "2020-01-01T00:00:00Z"},
    {"valid_from": "2030-01-01T00:00:00Z"},
]


@each_row("hidden", HIDDEN)
@each_row(("profile", "mode"), EVERY_WAY)
def test_what_may_not_be_seen_is_neither_found_nor_passed_through(
    profile: ProfileName, mode: Mode, hidden: dict[str, Any]
) -> None:
    wanted = Filter(scope=Scope(user_id="ann"), category="general", now_us=NOW_US)
    snapshot = linked(**hidden)
    for seed in range(5):
        found = along(snapshot, mode, profile, seed=seed, filter=wanted)
        assert ids(found) == ["word"]
        assert all(step.from_ != "between" for hit in found.hits for step in hit.path)
        every = ask(snapshot, "zebra quagga okapi", mode=mode, profile=profile, seed=seed, filter=wanted)
        assert "between" not in ids(every)


@each_row("profile", ["mnemond", "mnemon"])
@each_row(("intent", "first"), [("WHY", "effect"), ("WHEN", "beside"), ("ENTITY", "namesake")])
def test_an_intent_decides_which_links_are_worth_most(profile: ProfileName, intent: Intent, first: str) -> None:
    rows = [
        insight(name, text, at=NOW_US) for name, text in {"word": "zebra", "far": "zebra then much else to say"}.items()
    ]
    rows += [insight(name, f"the {name}", at=NOW_US) for name in ("effect", "beside", "namesake")]
    links: list[Link] = [
        ("word", "effect", "causal", 0.6), ("word", "beside", "temporal", 0.6), ("word", "namesake", "entity", 0.6),
    ]  # fmt: skip
    found = along(world(rows, links), "beam", profile, intent=intent)
    graph = {hit.insight.id: hit.signals.graph for hit in found.hits}
    best = max(("effect", "beside", "namesake"), key=lambda name: graph.get(name, 0.0))
    assert best == first
    assert found.meta.intent == intent


@each_row(("profile", "mode"), LED_BY_LINKS)
def test_what_links_lead_to_is_cut_to_the_limit(profile: ProfileName, mode: Mode) -> None:
    spokes = [insight(f"spoke{number}", f"thing{number}", at=NOW_US) for number in range(30)]
    links: list[Link] = [("hub", row.id, "causal", 1.0) for row in spokes]
    star = world([insight("hub", "zebra", at=NOW_US), *spokes], links)
    for limit in (1, 3, 50):
        assert 1 <= len(along(star, mode, profile, limit=limit).hits) <= limit


def test_nothing_found_leads_nowhere() -> None:
    for mode in ("beam", "ppr", "probabilistic"):
        found = along(linked(), mode, "mnemond", text="nothing of the kind")
        assert (found.hits, found.meta.traversed) == ((), 0)


@each_row("mode", ["beam", "ppr", "probabilistic"])
def test_links_are_one_part_of_what_a_score_is_made_of(mode: Mode) -> None:
    found = along(linked(), mode, "mnemond", explain=True)
    assert weights(found)["graph"] > 0.0
    assert sum(weights(found).values()) == pytest.approx(1.0)
    for hit in found.hits:
        assert hit.explanation is not None
        assert ("links" in hit.explanation.parts) == (hit.signals.graph > 0.0)
