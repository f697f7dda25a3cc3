"""What becomes of a memory beside those that are there already: spec 8, decided on snapshots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from mnemond.errors import INTERNAL, MnemonError
from mnemond.model.changes import RetireInsight, Vector
from mnemond.model.edge import EDGE_TYPES
from mnemond.model.insight import Scope
from mnemond.model.outcomes import Conflict, EdgesMade, Forgotten, Remembered
from mnemond.model.policy import DiffPolicy, LifecyclePolicy, RedundancyPolicy, WritePolicy
from mnemond.model.timestamp import format_us
from mnemond.pipelines.compare import compare
from mnemond.pipelines.draft import Draft
from mnemond.pipelines.identity import Identity
from mnemond.pipelines.limits import limits_of
from mnemond.pipelines.newcomer import with_reading
from mnemond.pipelines.pairing import Paired, pair, parted
from mnemond.pipelines.remember import prepare, propose
from mnemond.store.engine import Engine
from mnemond.store.proposal import Proposal
from mnemond.text.tokens import index_terms
from tests.index.worlds import insight
from tests.pipelines.memories import DAY_US, HOUR_US, NOW_US, Decided, Memories, leaning, name
from tests.rank.diff_rows import ROWS, Row
from tests.store.factory import EMBEDDER, engine_at, forget, insight_id, vector_of
from tests.store.mirror import mirrored

DONE = {"ADD": "added", "UPDATE": "replaced", "CONFLICT": "replaced", "DUPLICATE": "skipped"}
AXIS = leaning(1.0)


# ------------------------------------------------------------------ the table of spec 7.2


@pytest.mark.parametrize("cosine", [None, 0.0, 0.6, 0.85])
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.new[:40])
def test_the_table(row: Row, cosine: float | None) -> None:
    over = Memories()
    over.remember(row.old, None if cosine is None else AXIS, category=row.categories[0])
    decided = over.decided(row.new, None if cosine is None else leaning(cosine), category=row.categories[1])
    outcome = decided.outcome
    assert (outcome.action, outcome.suggestion) == (DONE[row.action], row.action)
    assert outcome.similarity in (None, pytest.approx(row.similarity, abs=5e-5))
    assert outcome.replaced_id == (name(1) if outcome.action == "replaced" else None)
    assert outcome.duplicate_of == (name(1) if outcome.action == "skipped" else None)
    assert outcome.id == (name(1) if outcome.action == "skipped" else name(2))
    assert outcome.conflicts == ()


def test_two_statements_of_different_kinds_stay_and_are_related() -> None:
    over, row = Memories(), ROWS[2]
    over.remember(row.old, category="fact")
    decided = over.remember(row.new, category="decision")
    related = [edge for edge in decided.edges("semantic") if "related" in edge.metadata]
    assert [(edge.source_id, edge.target_id) for edge in related] == [(name(2), name(1)), (name(1), name(2))]
    assert decided.outcome.edges_created.semantic == 1
    assert decided.linked("causal") == {(name(1), name(2))}


def test_equal_texts_are_found_whatever_words_they_are_made_of() -> None:
    over = Memories()
    over.remember("这个 是 的", None)
    assert over.decided("这个  是 的").outcome.action == "skipped"
    over = Memories()
    over.remember("??? !!!")
    assert over.decided("??? !!!").outcome.action == "skipped"


def test_a_cosine_that_is_heard_replaces_what_shares_some_words() -> None:
    over = Memories(WritePolicy(diff=DiffPolicy(cosine_evidence=0.3, raise_override=False)))
    over.remember("the nightly backup of the wiki runs at noon", AXIS)
    outcome = over.decided("the wiki backup is made every day about noon", leaning(0.88)).outcome
    assert outcome.action == "replaced"
    assert outcome.similarity == pytest.approx(0.88, abs=1e-5)
    assert "of the vectors" in outcome.reason


# ------------------------------------------------------------------ added


def test_a_new_memory_is_told_and_stored_with_what_it_says() -> None:
    decided = Memories().decided(
        "cafe\u0301 meeting with Grafana on 2026-03-05", AXIS, tags=["b", "a", "b"], importance=4, source="alice",
        conversation_id="c1", scope=Scope("u", "s", "a"), category="fact",
    )  # fmt: skip
    it, outcome = decided.added, decided.outcome
    assert (it.content, it.tags, it.importance, it.category) == (
        "caf\u00e9 meeting with Grafana on 2026-03-05", ("b", "a"), 4, "fact",
    )  # fmt: skip
    assert (it.source, it.conversation_id, it.scope) == ("alice", "c1", Scope("u", "s", "a"))
    assert it.created_at == it.updated_at == it.valid_from == format_us(NOW_US + HOUR_US)
    assert (it.event_start, it.event_end) == ("2026-03-05T00:00:00.000000Z", "2026-03-05T23:59:59.999999Z")
    assert msgspec.json.decode(it.metadata)["dates"][0] == {
        "text": "2026-03-05", "start": "2026-03-05", "end": "2026-03-05",
    }  # fmt: skip
    assert "Grafana" in it.entities
    assert "meeting" in it.keywords.split()
    assert it.effective_importance == 0.8
    assert (outcome.action, outcome.suggestion, outcome.embedded, outcome.reason) == (
        "added", "ADD", True, "no memory is like it",
    )  # fmt: skip
    assert (outcome.user_id, outcome.session_id, outcome.agent_id) == ("u", "s", "a")
    assert (decided.change_set.operation, decided.change_set.subject) == ("remember", name(1))
    assert "caf\u00e9" not in decided.change_set.detail


def test_relative_dates_go_by_when_it_was_said() -> None:
    decided = Memories().decided("We met yesterday", created_at="2026-02-10T12:00:00+02:00")
    assert decided.added.created_at == "2026-02-10T10:00:00.000000Z"
    assert decided.added.event_start == "2026-02-09T00:00:00.000000Z"
    assert Memories().decided("We met").added.event_start is None


def test_a_backdated_memory_starts_decayed() -> None:
    decided = Memories().decided("tea", after_us=30 * DAY_US, created_at=format_us(NOW_US))
    assert decided.added.effective_importance == 0.25
    assert decided.added.updated_at == format_us(NOW_US + 30 * DAY_US)


def test_what_triggers_a_memory_and_questions_it_answers() -> None:
    decided = Memories().decided("Docker build failed with OOM on CI, fixed by raising the memory limit")
    add = decided.change_set.changes[0]
    assert decided.outcome.trigger_type == decided.added.trigger_type == "problem-solution"
    assert decided.added.trigger
    assert decided.outcome.queries == add.queries != ()  # type: ignore[union-attr]
    assert len(decided.outcome.queries) <= WritePolicy().max_hypothetical


def test_without_comparing_everything_is_added() -> None:
    over = Memories()
    over.remember("Bob prefers tea")
    decided = over.decided("Bob prefers tea", no_diff=True)
    assert (decided.outcome.action, decided.outcome.suggestion) == ("added", "ADD")
    assert decided.outcome.reason == "not compared with other memories: no_diff"
    assert decided.outcome.redundancy is None
    assert decided.put == {}


def test_a_memory_without_a_vector_says_why() -> None:
    over = Memories()
    prepared = msgspec.structs.replace(over.prepared("tea", NOW_US), embed_error="no embedder")
    who = Identity(id=name(1), op_id="op", client_op_id=False, now_us=NOW_US, store="s", request_digest="")
    from mnemond.pipelines.remember import decide

    outcome = Decided(decide(prepared, who, over.limits, over.snapshot, None)).outcome
    assert (outcome.embedded, outcome.embed_error, outcome.store) == (False, "no embedder", "s")


# ------------------------------------------------------------------ discarded


@pytest.mark.parametrize("channel", ["hook", "batch", "extract"])
def test_what_says_too_little_is_not_kept_where_nobody_chose_it(channel: str) -> None:
    decided = Memories().decided("ok thanks", channel=channel)
    assert (decided.outcome.action, decided.outcome.id) == ("discarded", None)
    assert decided.outcome.substance is not None
    assert decided.outcome.substance.decision == "discard"
    assert decided.change_set.changes == ()
    assert (decided.change_set.operation, decided.change_set.subject) == ("discard", None)
    assert "thanks" not in decided.change_set.detail


def test_what_somebody_typed_is_kept_and_told_to_say_little() -> None:
    decided = Memories().decided("ok thanks", channel="manual")
    assert decided.outcome.action == "added"
    assert decided.outcome.substance is not None
    assert decided.outcome.substance.decision == "discard"


# ------------------------------------------------------------------ skipped


def test_the_survivor_of_a_duplicate_is_corroborated_and_not_counted_as_read() -> None:
    over = Memories()
    over.remember("Bob prefers tea", AXIS, after_us=0)
    decided = over.remember("bob prefers tea.", AXIS, after_us=8 * DAY_US)
    it = decided.put[name(1)].insight
    assert (it.corroboration_count, it.access_count, it.content) == (1, 0, "Bob prefers tea")
    assert it.last_corroborated_at == it.updated_at == it.last_boosted_at == format_us(NOW_US + 8 * DAY_US)
    assert it.boost_days == 21.931757  # spec 7.5: a gap of eight days
    assert decided.outcome.embedded is True
    assert (decided.change_set.operation, decided.change_set.subject) == ("diff-skip", name(1))
    again = over.remember("Bob prefers tea", after_us=9 * DAY_US)
    assert again.put[name(1)].insight.corroboration_count == 2


def test_a_pinned_memory_may_be_corroborated() -> None:
    over = Memories()
    over.remember("Bob prefers tea")
    over.change(1, pinned=True)
    assert over.decided("Bob prefers tea").outcome.action == "skipped"


# ------------------------------------------------------------------ replaced

OLD, NEW = "API rate limit is 100 req/s", "API rate limit is 200 req/s"


def test_a_replaced_memory_ends_when_the_new_one_begins() -> None:
    over = Memories()
    over.remember(OLD)
    decided = over.decided(NEW, created_at="2026-02-18T12:00:00Z")
    gone = decided.retired[name(1)]
    assert gone == RetireInsight(name(1), "superseded", name(2), "2026-02-18T12:00:00.000000Z")
    assert decided.outcome.replaced_id == name(1)
    assert decided.outcome.redundancy is None
    ends = {each for kind in EDGE_TYPES for edge in decided.edges(kind) for each in (edge.source_id, edge.target_id)}
    assert name(1) not in ends
    assert decided.change_set.operation == "diff-replace"


def test_only_the_best_is_replaced_and_the_others_are_reported() -> None:
    over = Memories()
    over.remember("API rate limit is 100 req/s", no_diff=True)
    over.remember("API rate limit is 150 req/s per client", no_diff=True)
    decided = over.decided("API rate limit is 200 req/s")
    assert decided.outcome.replaced_id == name(1)
    assert [(each.id, each.suggestion) for each in decided.outcome.conflicts] == [(name(2), "CONFLICT")]
    assert list(decided.retired) == [name(1)]


def test_a_pinned_memory_is_reported_and_stays() -> None:
    over = Memories()
    over.remember(OLD)
    over.change(1, pinned=True)
    decided = over.decided(NEW)
    assert (decided.outcome.action, decided.retired) == ("added", {})
    [conflict] = decided.outcome.conflicts
    assert conflict == Conflict(name(1), "CONFLICT", 0.833333, conflict.reason)
    assert "numbers differ" in conflict.reason
    assert (decided.outcome.matched_id, decided.outcome.similarity) == (name(1), 0.833333)


def test_the_partner_of_a_replaced_memory_is_on_its_own_again() -> None:
    over = Memories()
    over.remember(OLD)
    over.remember("Deploys happen on Friday")
    over.change(1, paired_with=name(2))
    over.change(2, paired_with=name(1))
    decided = over.decided(NEW)
    assert decided.put[name(2)].insight.paired_with is None
    assert decided.put[name(2)].revision == "PAIR"


# ------------------------------------------------------------------ scope


@pytest.mark.parametrize(
    ("old", "new", "text", "action", "conflicts"),
    [
        (Scope(), Scope("u1"), OLD, "skipped", 0),
        (Scope(), Scope("u1"), NEW, "added", 1),
        (Scope("u1"), Scope("u1"), NEW, "replaced", 0),
        (Scope("u1"), Scope("u1"), OLD, "skipped", 0),
        (Scope("u1"), Scope(), OLD, "added", 0),
        (Scope("u1"), Scope(), NEW, "added", 0),
        (Scope("u1"), Scope("u2"), OLD, "added", 0),
        (Scope("u1"), Scope("u2"), NEW, "added", 0),
        (Scope("u1"), Scope("u1", "s1"), NEW, "added", 1),
        (Scope("u1", "s1"), Scope("u1", "s1"), NEW, "replaced", 0),
        (Scope("u1", "s1"), Scope("u1", "s2"), OLD, "added", 0),
        (Scope(agent_id="a1"), Scope(agent_id="a2"), NEW, "added", 0),
        (Scope(agent_id="a1"), Scope("u1", agent_id="a1"), OLD, "skipped", 0),
    ],
)
def test_whose_memory_repeats_whose(old: Scope, new: Scope, text: str, action: str, conflicts: int) -> None:
    over = Memories()
    over.remember(OLD, scope=old)
    outcome = over.decided(text, scope=new).outcome
    assert (outcome.action, len(outcome.conflicts)) == (action, conflicts)
    if action == "added" and not conflicts:
        assert outcome.matched_id is None, "nobody is told of what is not theirs"


# ------------------------------------------------------------------ links


@pytest.mark.parametrize(
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


BACKBONE = '"kind":"backbone"'


def backbone(decided: Decided) -> set[tuple[str, str]]:
    return {(edge.source_id, edge.target_id) for edge in decided.edges("temporal") if BACKBONE in edge.metadata}


def both_ways(*pairs: tuple[int, int]) -> set[tuple[str, str]]:
    return {ends for one, other in pairs for ends in ((name(one), name(other)), (name(other), name(one)))}


@pytest.mark.parametrize("chained", [{"conversation_id": "c1"}, {"scope": Scope(session_id="s1")}])
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
    candidates = [(each.id, each.cosine, each.similarity) for each in decided.outcome.candidates]
    assert candidates == [(name(3), 0.79, 0.79), (name(8), 0.6, 0.6), (name(4), 0.4, 0.4)]
    assert decided.outcome.edges_created.semantic == 3


def test_without_vectors_candidates_are_found_by_their_words() -> None:
    over = Memories()
    over.remember("the backup of the wiki runs at noon")
    over.remember("the wiki has ninety pages about gardening, cooking and travel to far places")
    over.remember("nothing alike")
    decided = over.decided("who restored the wiki backup")
    assert [(each.id, each.cosine) for each in decided.outcome.candidates] == [(name(1), None), (name(2), None)]
    assert [each.similarity for each in decided.outcome.candidates] == pytest.approx([2 / 3, 1 / 3], abs=0.01)
    assert decided.edges("semantic") == []
    assert Memories().decided("!!!").outcome.candidates == ()


def test_shared_names_link_and_every_link_is_counted_once() -> None:
    over = Memories()
    over.remember("Grafana shows latency", entities=["Grafana"])
    decided = over.decided("Bob restarted it", entities=["grafana", "Bob"])
    assert decided.linked("entity") == both_ways((1, 2))
    assert decided.outcome.edges_created == EdgesMade(temporal=1, entity=1)


# ------------------------------------------------------------------ pairs

ALIKE = WritePolicy(redundancy=RedundancyPolicy(threshold=0.25))
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
    over = Memories(WritePolicy(redundancy=RedundancyPolicy(enabled=False)))
    over.remember(REPORTS[0], AXIS)
    decided = over.decided(REPORTS[1], leaning(0.97))
    assert decided.outcome.redundancy is None
    assert decided.added.paired_with is None
    policy = RedundancyPolicy(enabled=False)
    assert pair(over.snapshot, decided.added, None, None, policy, NOW_US) == Paired(decided.added, (), None)


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


# ------------------------------------------------------------------ capacity


def small(most: int, batch: int = 10, **fields: Any) -> Memories:
    return Memories(WritePolicy(lifecycle=LifecyclePolicy(max_insights=most, prune_batch=batch, **fields)))


WORDS = ("apples", "boats", "cars", "dogs", "engines", "fish")


def test_a_full_store_lets_go_of_what_matters_least_and_never_of_the_newcomer() -> None:
    over = small(3)
    for word, importance in zip(WORDS[:3], (3, 2, 3), strict=True):
        over.remember(word, importance=importance)
    decided = over.remember("engines", importance=1)
    assert (decided.outcome.auto_pruned, list(decided.retired)) == (1, [name(2)])
    assert decided.retired[name(2)].status == "pruned"
    assert over.snapshot.live == 3
    assert over.remember("fish", importance=1).retired.keys() == {name(4)}


def test_of_equal_ones_the_oldest_goes_and_at_most_a_batch() -> None:
    over = Memories()
    for word in WORDS[:5]:
        over.remember(word)
    tight = small(2, batch=2)
    tight.index, tight.made = over.index, over.made
    decided = tight.decided("fish")
    assert list(decided.retired) == [name(1), name(2)]
    assert decided.outcome.auto_pruned == 2


@pytest.mark.parametrize("fields", [{"importance": 4}, {"access_count": 3}, {"pinned": True}])
def test_when_all_are_immune_none_goes(fields: dict[str, Any]) -> None:
    over = small(1)
    over.remember("apples")
    over.change(1, **fields)
    assert over.decided("boats").outcome.auto_pruned == 0


def test_without_a_cap_nothing_goes() -> None:
    over = small(0)
    over.remember("apples")
    assert over.decided("boats").retired == {}


def test_the_older_of_a_pair_stays_and_its_partner_may_go() -> None:
    over = small(2)
    over.remember("apples", importance=1)
    over.remember("boats", importance=1)
    over.change(1, paired_with=name(2))
    over.change(2, paired_with=name(1))
    decided = over.decided("cars")
    assert list(decided.retired) == [name(2)]
    assert decided.put[name(1)].insight.paired_with is None


def test_a_replacement_adds_nothing_and_what_it_touches_is_spared() -> None:
    over = small(2)
    over.remember(OLD, importance=1)
    over.remember("apples", importance=1)
    decided = over.decided(NEW, importance=1)
    assert (decided.outcome.action, decided.outcome.auto_pruned) == ("replaced", 0)
    tight = small(1)
    tight.index, tight.made = over.index, over.made
    assert set(tight.decided(NEW, importance=1).retired) == {name(1), name(2)}


# ------------------------------------------------------------------ secrets

SECRET = "AKIA" + "PIX6EA6QOM66ZJOJ"


def test_secrets_are_gone_before_anything_is_decided() -> None:
    over = Memories()
    decided = over.decided(f"the key is {SECRET}", tags=[SECRET, "ops"], entities=[SECRET, "AWS"])
    assert decided.outcome.redacted != ()
    assert SECRET.encode() not in msgspec.json.encode(decided.outcome)
    assert SECRET not in repr(decided.change_set)
    kept = over.decided(f"the key is {SECRET}", allow_secret=True)
    assert SECRET in kept.added.content
    assert kept.outcome.redacted == ()


def test_no_secret_reaches_the_file_the_index_or_the_log(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    [result] = engine.commit([proposed(engine, 1, f"the key is {SECRET}", tags=[SECRET], entities=[SECRET])])
    assert isinstance(result, Remembered)
    assert engine.index.snapshot.document_frequency(SECRET.lower()) == 0
    assert engine.index.snapshot.entity_spelling(SECRET.lower()) is None
    engine.close()
    assert SECRET.encode() not in b"".join(file.read_bytes() for file in tmp_path.iterdir())


# ------------------------------------------------------------------ through the writer


def proposed(engine: Engine, number: int, text: str, vector: Vector | None = None, **fields: Any) -> Proposal:
    now_us = NOW_US + number
    who = Identity(
        id=insight_id(number), op_id=f"op-{number}", client_op_id=False, now_us=now_us, store="default",
        request_digest="",
    )  # fmt: skip
    policy = WritePolicy()
    prepared = prepare(Draft(content=text, **fields), now_us, engine.index.snapshot.entity_spelling, policy)
    return propose(msgspec.structs.replace(prepared, vector=vector), who, limits_of(EMBEDDER, policy))


def test_of_two_equal_memories_in_one_batch_the_second_is_skipped(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    batch = [proposed(engine, number, "Bob prefers tea", vector_of(1)) for number in (1, 2)]
    first, second = engine.commit(batch)
    assert isinstance(first, Remembered)
    assert isinstance(second, Remembered)
    assert (first.action, second.action, second.id) == ("added", "skipped", first.id)
    assert mirrored(engine, tmp_path / "a.db")[insight_id(1)]["insight"].corroboration_count == 1
    engine.close()


def test_what_was_to_be_replaced_and_went_in_the_same_batch_is_not_replaced(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([proposed(engine, 1, OLD)])
    gone, added = engine.commit([forget(1), proposed(engine, 2, NEW)])
    assert isinstance(gone, Forgotten)
    assert isinstance(added, Remembered)
    assert (added.action, added.replaced_id, added.matched_id) == ("added", None, None)
    engine.close()


def test_of_two_corrections_in_one_batch_the_second_replaces_the_first(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([proposed(engine, 1, OLD, vector_of(1), entities=["Kong"])])
    batch = [
        proposed(engine, number, f"API rate limit is {number}00 req/s", vector_of(1), entities=["Kong"])
        for number in (2, 3)
    ]
    second, third = engine.commit(batch)
    assert isinstance(second, Remembered)
    assert isinstance(third, Remembered)
    assert (second.replaced_id, third.replaced_id) == (insight_id(1), insight_id(2))
    assert set(mirrored(engine, tmp_path / "a.db")) == {insight_id(3)}
    engine.close()


def test_a_replaced_memory_leaves_its_links_to_its_successor(tmp_path: Path) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit(
        [proposed(engine, 1, OLD, entities=["Kong"]), proposed(engine, 2, "Kong was restarted", entities=["Kong"])]
    )
    [replaced] = engine.commit([proposed(engine, 3, NEW, importance=5)])
    assert isinstance(replaced, Remembered)
    found = mirrored(engine, tmp_path / "a.db")
    assert {link[1] for link in found[insight_id(3)]["links"]} == {"temporal", "entity"}
    assert replaced.effective_importance == found[insight_id(3)]["insight"].effective_importance
    assert found[insight_id(3)]["degree"] == found[insight_id(2)]["degree"] == 2
    engine.close()


def test_a_row_that_was_compared_and_is_not_there_is_a_defect() -> None:
    over = Memories()
    over.remember(OLD)
    from mnemond.pipelines import remember

    decision = remember._Decision(
        over.prepared(NEW, NOW_US),
        Identity(id="x", op_id="x", client_op_id=False, now_us=NOW_US, store="s", request_digest=""),
        over.limits,
        over.snapshot,
        None,
    )
    with pytest.raises(MnemonError, match="is not in the index") as caught:
        decision._row("nobody")
    assert caught.value.kind is INTERNAL


def test_edges_are_values_a_store_can_hold() -> None:
    over = Memories()
    generator = np.random.default_rng(7)
    for number in range(30):
        words = " ".join(generator.choice(["Redis", "tea", "Kafka", "because", "lag", "Bob", "42"], 5))
        vector = generator.standard_normal(4).astype(np.float32)
        decided = over.remember(words, vector / np.linalg.norm(vector), conversation_id=f"c{number % 2}")
        edges = [edge for kind in EDGE_TYPES for edge in decided.edges(kind)]
        for edge in edges:
            assert edge.source_id != edge.target_id
            assert 0.0 <= edge.weight <= 1.0
            assert isinstance(msgspec.json.decode(edge.metadata), dict)


# ------------------------------------------------------------------ compared


def test_a_thorough_comparison_judges_every_row_and_decides_the_same() -> None:
    over = Memories()
    for text in (OLD, "API keys rotate and the rate limit stays", "API rate limit is 150 req/s per client"):
        over.remember(text, no_diff=True)
    new = over.prepared(NEW, NOW_US).reading.side
    assert new is not None
    terms = set(index_terms(NEW))
    arguments = (
        over.snapshot,
        new,
        Scope(),
        None,
        over.snapshot.likeness(terms),
        over.policy.diff,
        over.limits.cosines,
    )
    quick, thorough = compare(*arguments), compare(*arguments, thorough=True)
    assert quick.best == thorough.best
    assert {match.id for match in quick.matches} < {match.id for match in thorough.matches}
    assert [match.verdict.similarity for match in thorough.matches] == sorted(
        (match.verdict.similarity for match in thorough.matches), reverse=True
    )


def test_what_cannot_repeat_it_is_told_when_it_is_the_nearest() -> None:
    over = Memories()
    over.remember("the wiki backup runs at noon on that old server")
    over.remember("our wiki backup was restored twice in spring")
    outcome = over.decided("the wiki backup failed on that evening near noon").outcome
    assert (outcome.action, outcome.matched_id) == ("added", name(1))
    assert "below the update threshold" in outcome.reason


def test_dates_of_an_earlier_text_do_not_stay() -> None:
    over = Memories()
    reading = over.prepared("tea", NOW_US).reading
    dated = over.prepared("tea on 2026-03-05", NOW_US).reading
    bare = insight("m", "tea", metadata='{"a":1}')
    with_date = with_reading(bare, dated, over.snapshot)
    assert msgspec.json.decode(with_date.metadata)["dates"][0]["start"] == "2026-03-05"
    again = with_reading(with_date, reading, over.snapshot)
    assert (again.metadata, again.event_start) == ('{"a":1}', None)
