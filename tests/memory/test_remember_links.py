"""Which memories a new one is linked to, and which of them it makes a pair with: spec 8, decided on snapshots."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mnemond.config.settings import config_from
from mnemond.memory.compare import Paired, pair, parted
from mnemond.model.memory import Scope
from mnemond.model.outcomes import EdgesCreated
from tests.memory.diff_rows import ROWS
from tests.memory.memories import DAY_US, NOW_US, Decided, Memories, leaning, name
from tests.tables import each_row

AXIS = leaning(1.0)


# ------------------------------------------------------------------ links


@each_row(
    ("old", "new", "cause", "weight", "sub_type"),
    [
        ("Team lacks Redis experience", "Chose SQLite because the team lacks Redis experience", 1, 0.571429, "causes"),
        (
            "WAL corruption seen on the build server",
            "The flaky NFS mount leads to WAL corruption",
            2,
            0.333333,
            "enables",
        ),
        ("Chose SQLite because of the Redis gap", "The Redis skills gap is real", 2, 0.4, "causes"),
    ],
)  # spec 8, causal
def test_a_reason_links_cause_and_effect(old: str, new: str, cause: int, weight: float, sub_type: str) -> None:
    over = Memories()
    over.remember(old)
    decided = over.decided(new, no_diff=True)
    [edge] = decided.edges("causal")
    assert (edge.source_id, edge.target_id) == ((name(1), name(2)) if cause == 1 else (name(2), name(1)))
    assert edge.weight == pytest.approx(weight, abs=5e-7)
    assert msgspec.json.decode(edge.metadata)["sub_type"] == sub_type
    assert decided.outcome.edges_created.causal == 1


BACKBONE = '"sub_type":"backbone"'


def backbone(decided: Decided) -> set[tuple[str, str]]:
    return {(edge.source_id, edge.target_id) for edge in decided.edges("temporal") if BACKBONE in edge.metadata}


def both_ways(*pairs: tuple[int, int]) -> set[tuple[str, str]]:
    return {ends for one, other in pairs for ends in ((name(one), name(other)), (name(other), name(one)))}


@each_row("chained", [{"conversation_id": "c1"}, {"scope": Scope(session_id="s1")}])
def test_a_speaker_has_one_thread_through_a_conversation(chained: dict[str, Any]) -> None:
    over = Memories()
    over.remember("tea", source="alice", **chained)
    assert backbone(over.remember("beer", source="bob", **chained)) == set()
    assert backbone(over.remember("elsewhere", source="alice")) == set()
    assert backbone(over.remember("coffee", source="alice", **chained)) == both_ways((1, 4))
    assert backbone(over.remember("wine", source="bob", **chained)) == both_ways((2, 5))


def test_a_backdated_memory_is_spliced_into_its_thread() -> None:
    over = Memories()
    over.remember("tea", created_at="2026-02-01T10:00:00Z")
    over.remember("coffee", created_at="2026-02-03T10:00:00Z")
    decided = over.remember("beer", created_at="2026-02-02T10:00:00Z")
    assert backbone(decided) == both_ways((1, 3), (3, 2))
    assert set(decided.unlinked) == {(*ends, "temporal") for ends in both_ways((1, 2))}
    precedes = {(edge.source_id, edge.target_id) for edge in decided.edges("temporal") if "precedes" in edge.metadata}
    assert precedes == {(name(1), name(3)), (name(3), name(2))}
    links = over.snapshot.neighbours(0)
    assert {over.snapshot.insight(int(row)).id for row in links["row"].tolist()} == {name(3)}


def test_links_of_meaning_are_those_of_a_paraphrase_and_less_is_a_candidate() -> None:
    over = Memories()
    texts = [
        "apples grow",
        "boats swim",
        "cars drive",
        "dogs bark",
        "engines hum",
        "fish dive",
        "goats climb",
        "hens peck",
    ]
    for text, cosine in zip(texts, [0.80, 0.95, 0.79, 0.40, 0.39, 0.85, 0.90, 0.60], strict=True):
        over.remember(text, leaning(cosine, 1 + len(text) % 3))
    decided = over.decided("nothing of all that", AXIS)
    automatic = [edge for edge in decided.edges("semantic") if "auto" in edge.metadata]
    found = {edge.target_id: round(edge.weight, 4) for edge in automatic if edge.source_id == name(9)}
    assert found == {name(2): 0.95, name(7): 0.9, name(6): 0.85}
    candidates = [(each.id, each.cosine, each.similarity) for each in decided.outcome.semantic_candidates]
    assert candidates == [(name(3), 0.79, 0.79), (name(8), 0.6, 0.6), (name(4), 0.4, 0.4)]
    assert decided.outcome.edges_created.semantic == 3


def test_without_vectors_candidates_are_found_by_their_words() -> None:
    over = Memories()
    over.remember("the backup of the wiki runs at noon")
    over.remember("the wiki has ninety pages about gardening, cooking and travel to far places")
    over.remember("nothing alike")
    decided = over.decided("who restored the wiki backup")
    assert [(each.id, each.cosine) for each in decided.outcome.semantic_candidates] == [
        (name(1), None),
        (name(2), None),
    ]
    assert [each.similarity for each in decided.outcome.semantic_candidates] == pytest.approx([2 / 3, 1 / 3], abs=0.01)
    assert decided.edges("semantic") == []
    assert Memories().decided("!!!").outcome.semantic_candidates == []


def test_what_this_write_links_is_no_candidate() -> None:
    over = Memories()
    row = ROWS[2]
    over.remember(row.old, leaning(0.7), category="fact")
    for text in ("apples", "boats", "cars", "dogs", "engines"):
        over.remember(text, leaning(0.5))
    decided = over.decided(row.new, AXIS, category="decision")
    assert name(1) in {end for ends in decided.linked("semantic") for end in ends}
    candidates = {each.id for each in decided.outcome.semantic_candidates}
    assert candidates == {name(number) for number in range(2, 7)}
    words = Memories()
    words.remember(row.old, category="fact")
    assert words.decided(row.new, category="decision").outcome.semantic_candidates == []


def test_shared_names_link_and_every_link_is_counted_once() -> None:
    over = Memories()
    over.remember("Grafana shows latency", entities=["Grafana"])
    decided = over.decided("Bob restarted it", entities=["grafana", "Bob"])
    assert decided.linked("entity") == both_ways((1, 2))
    assert decided.outcome.edges_created == EdgesCreated(temporal=1, entity=1)


# ------------------------------------------------------------------ pairs


ALIKE = config_from({"commitment.redundancy.threshold": 0.25})
SINGLE = config_from({"commitment.redundancy.enabled": False})
REPORTS = ("the server room flooded", "water stands between those racks", "machines down there got wet")


def test_of_three_reports_the_first_and_the_last_stay_a_pair() -> None:
    over = Memories(ALIKE)
    first = over.remember(REPORTS[0], AXIS)
    assert (first.outcome.redundancy.score, first.outcome.redundancy.redundant) == (0.0, False)  # type: ignore[union-attr]
    second = over.remember(REPORTS[1], leaning(0.97))
    assert second.outcome.action == "added"
    told = second.outcome.redundancy
    assert told is not None
    assert (told.redundant, told.paired_with) == (True, name(1))
    assert second.added.paired_with == name(1)
    assert second.put[name(1)].insight.paired_with == name(2)
    pair = [edge for edge in second.edges("semantic") if "pair" in edge.metadata]
    assert {(edge.source_id, edge.target_id) for edge in pair} == both_ways((1, 2))
    assert all(edge.weight >= 0.5 and edge.boost_days > 0 for edge in pair)
    assert second.outcome.edges_created.semantic == 1

    third = over.remember(REPORTS[2], leaning(0.96, 2))
    assert third.added.paired_with == name(1)
    assert {key: put.insight.paired_with for key, put in third.put.items()} == {name(1): name(3), name(2): None}
    assert {put.revision for put in third.put.values()} == {"PAIR"}
    assert [over.insight(number).paired_with for number in (1, 2, 3)] == [name(3), None, name(1)]


def test_a_pair_carries_its_boost_over() -> None:
    over = Memories(ALIKE)
    over.remember(REPORTS[0], AXIS, after_us=0)
    over.remember(REPORTS[1], leaning(0.97), after_us=10 * DAY_US)
    boost = over.insight(1).boost_days
    assert boost == pytest.approx(28.577224, abs=1e-6)
    over.remember(REPORTS[2], leaning(0.96, 2), after_us=13 * DAY_US)
    assert over.insight(1).boost_days == over.insight(3).boost_days == pytest.approx(29.116810, abs=1e-6)


def test_without_vectors_shared_keywords_make_a_pair() -> None:
    over = Memories()
    over.remember("Bob prefers tea")
    words = over.insight(1).keywords
    over.change(1, content="something else of the same kind, bob", keywords=" ".join(sorted(words.split())))
    decided = over.decided("Bob prefers tea")
    assert decided.outcome.redundancy is not None
    assert decided.outcome.redundancy.score == 0.4  # spec 7.4: without vectors only the keywords' share counts
    assert decided.added.paired_with == name(1)


def test_pairing_can_be_switched_off() -> None:
    over = Memories(SINGLE)
    over.remember(REPORTS[0], AXIS)
    decided = over.decided(REPORTS[1], leaning(0.97))
    assert decided.outcome.redundancy is None
    assert decided.added.paired_with is None
    assert pair(over.snapshot, decided.added, None, None, SINGLE.commitment, NOW_US) == Paired(decided.added, (), None)


def test_who_leaves_frees_only_a_partner_that_is_its_own() -> None:
    over = Memories(ALIKE)
    for number, report in enumerate(REPORTS):
        over.remember(report, leaning(0.99 - number / 100, 1 + number))
    [change] = parted(over.snapshot, over.insight(1))
    assert change.insight.id == name(3)  # type: ignore[union-attr]
    assert parted(over.snapshot, over.insight(2)) == []
    over.change(2, paired_with=name(1))
    assert parted(over.snapshot, over.insight(2)) == []
    over.change(2, paired_with="gone")
    assert parted(over.snapshot, over.insight(2)) == []
