"""What becomes of a memory beside those that are there already: spec 8, decided on snapshots."""

from __future__ import annotations

import math

import msgspec
import pytest

from mnemond.config.settings import PROFILES, Config, config_from
from mnemond.memory.compare import Moment, compare
from mnemond.memory.diff import LITERAL, Safeguards, on_reference_scale
from mnemond.memory.draft import with_reading
from mnemond.memory.remember import with_candidates
from mnemond.memory.write import WriteContext, write_rules
from mnemond.model.changes import RetireInsight
from mnemond.model.memory import EDGE_TYPES, Scope, format_us
from mnemond.model.outcomes import Conflict
from mnemond.store.meta import EmbedderRecord
from mnemond.text.tokens import index_terms
from tests.index.worlds import insight
from tests.memory.diff_rows import ROWS, Row
from tests.memory.memories import DAY_US, HOUR_US, NOW_US, Decided, Memories, leaning, name
from tests.tables import each_row

DONE = {"ADD": "added", "UPDATE": "replaced", "CONFLICT": "replaced", "DUPLICATE": "skipped"}
AXIS = leaning(1.0)


# ------------------------------------------------------------------ the table of spec 7.2


CALIBRATED = EmbedderRecord("calibrated", 4, "calibrated-1", unrelated=0.2, paraphrase=0.9)
"""An embedder that is heard: from a cosine of .97 on, or of .69 where the override is not raised."""


@each_row("raised", [True, False])
@each_row("cosine", [None, 0.0, 0.68, 0.70, 0.96, 0.98, 1.0])
@each_row("row", ROWS)
def test_the_table(row: Row, cosine: float | None, raised: bool) -> None:
    safeguards = Safeguards(raise_override=raised)
    over = Memories()
    over.rules = write_rules(CALIBRATED, Config(), safeguards)
    override = over.rules.diff.cosines.override
    assert override == pytest.approx(0.97 if raised else 0.69)
    over.remember(row.old, None if cosine is None else AXIS, category=row.categories[0])
    decided = over.decided(row.new, None if cosine is None else leaning(cosine), category=row.categories[1])
    outcome = decided.outcome
    assert (outcome.action, outcome.diff_suggestion) == (DONE[row.action], row.action)
    heard = cosine is not None and cosine >= override and row.similarity >= safeguards.cosine_evidence
    meant = on_reference_scale(cosine, over.rules.diff) if heard and cosine else 0.0
    assert outcome.similarity in (None, pytest.approx(max(row.similarity, meant), abs=5e-5))
    assert ("alike in meaning" in outcome.reason) is (meant > row.similarity)
    assert outcome.replaced_id == (name(1) if outcome.action == "replaced" else None)
    assert outcome.duplicate_of == (name(1) if outcome.action == "skipped" else None)
    assert outcome.id == (name(1) if outcome.action == "skipped" else name(2))
    near = cosine is None or cosine > 0.0
    named = [(name(1), "CONFLICT")] if near and row.new == "The office is in Munich" else []  # two cities of one office
    assert [(each.id, each.suggestion) for each in outcome.conflicts] == named


@each_row(
    ("profile", "action"),
    [("mnemon", "replaced"), ("classic", "replaced"), ("balanced", "added"), ("mnemosyne", "added"), ("mem0", "added")],
)
def test_a_published_profile_follows_the_table_to_the_letter(profile: str, action: str) -> None:
    over = Memories(config_from({"profile": profile, **PROFILES[profile]}))
    over.remember("Squad 7 owns billing")
    assert over.decided("Squad 8 owns billing").outcome.action == action


def test_a_published_profile_reads_no_frames_and_takes_no_near_meaning_of_a_built_in_model_for_a_repetition() -> None:
    config = config_from({"profile": "mnemon", **PROFILES["mnemon"]})
    diff = write_rules(EmbedderRecord("minilm_static_256_int8", 256, "m", 0.2, 0.9), config).diff
    assert diff.safeguards == msgspec.structs.replace(LITERAL, raise_override=True)
    assert math.isinf(diff.cosines.override)
    assert write_rules(None, config, LITERAL).diff.safeguards == LITERAL


@each_row(
    ("old", "new", "no_longer"),
    [
        ("The limit is 100 req/s", "The limit is 200 req/s", "The limit is 100 req/s"),
        (
            "We use Jenkins. Ana likes tea",
            "We switched from Jenkins to GitHub Actions. Ana likes tea",
            "We use Jenkins",
        ),
        ("Chose Qdrant over Milvus", "Chose Qdrant over Milvus because filtering is faster", None),
    ],
)
def test_the_reply_says_which_statement_is_no_longer_held(old: str, new: str, no_longer: str | None) -> None:
    over = Memories()
    over.remember(old)
    outcome = over.decided(new).outcome
    assert outcome.action == "replaced"
    assert (outcome.no_longer or "").rstrip(".") == (no_longer or "")


def test_the_text_of_a_contradicted_memory_is_quoted() -> None:
    over = Memories()
    over.remember("The office is in Berlin")
    outcome = over.decided("The office is in Munich").outcome
    assert [each.content for each in outcome.conflicts] == [""], "texts are not stored with outcomes"
    quoted = with_candidates(outcome, over.snapshot, over.config.graph.causal, None)
    assert [each.content for each in quoted.conflicts] == ["The office is in Berlin"]
    over.index.apply([RetireInsight(name(1), "forgotten")])
    gone = with_candidates(outcome, over.snapshot, over.config.graph.causal, None)
    assert [each.content for each in gone.conflicts] == [""]


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
    over = Memories(safeguards=Safeguards(cosine_evidence=0.3, raise_override=False))
    over.remember("the nightly backup of the wiki runs at noon", AXIS)
    outcome = over.decided("the wiki backup is made every day about noon", leaning(0.88)).outcome
    assert outcome.action == "replaced"
    assert outcome.similarity == pytest.approx(0.88, abs=1e-5)
    assert "alike in meaning" in outcome.reason


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
    assert (outcome.action, outcome.diff_suggestion, outcome.embedded, outcome.reason) == (
        "added", "ADD", True, "no memory is like it",
    )  # fmt: skip
    assert outcome.scope == Scope("u", "s", "a")
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
    assert decided.outcome.hypothetical_queries == list(add.queries) != []  # type: ignore[union-attr, arg-type]
    assert len(decided.outcome.hypothetical_queries) <= Config().commitment.hypothetical_queries.max_queries


def test_without_comparing_everything_is_added() -> None:
    over = Memories()
    over.remember("Bob prefers tea")
    decided = over.decided("Bob prefers tea", no_diff=True)
    assert (decided.outcome.action, decided.outcome.diff_suggestion) == ("added", "ADD")
    assert decided.outcome.reason == "not compared with other memories: no_diff"
    assert decided.outcome.redundancy is None
    assert decided.put == {}


def test_a_memory_without_a_vector_says_why() -> None:
    over = Memories()
    prepared = msgspec.structs.replace(over.prepared("tea", NOW_US), embed_error="no embedder")
    who = WriteContext(id=name(1), op_id="op", client_op_id=False, now_us=NOW_US, store="s", request_digest="")
    from mnemond.memory.remember import decide

    outcome = Decided(decide(prepared, who, over.rules, over.snapshot, None)).outcome
    assert (outcome.embedded, outcome.embed_error, outcome.store) == (False, "no embedder", "s")


# ------------------------------------------------------------------ discarded


@each_row("channel", ["hook", "batch", "extract"])
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


OLD, NEW = "API rate limit is 100 req/s", "API rate limit is 200 req/s"


# ------------------------------------------------------------------ replaced


def test_a_replaced_memory_ends_when_the_new_one_begins() -> None:
    over = Memories()
    over.remember(OLD)
    later = format_us(NOW_US + HOUR_US * 3 // 2)
    decided = over.decided(NEW, created_at=later)
    gone = decided.retired[name(1)]
    assert gone == RetireInsight(name(1), "superseded", name(2), later)
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
    assert conflict.reason.endswith("the numbers differ; but it is pinned, so both stay")
    assert decided.outcome.reason == conflict.reason
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


@each_row(
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
    kept = outcome.reason.endswith("the numbers differ; but it is for others as well, so both stay")
    assert kept == bool(conflicts)


# ------------------------------------------------------------------ compared


def test_a_thorough_comparison_judges_every_row_and_decides_the_same() -> None:
    over = Memories()
    others = [f"The limit of store {number} is what the API of depot {number} names" for number in range(8)]
    for text in (OLD, "API keys rotate and the rate limit stays", "API rate limit is 150 req/s per client", *others):
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
        over.rules.diff,
        Moment(NOW_US, NOW_US),
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
    assert "too little to be about the same thing" in outcome.reason


def test_dates_of_an_earlier_text_do_not_stay() -> None:
    over = Memories()
    reading = over.prepared("tea", NOW_US).reading
    dated = over.prepared("tea on 2026-03-05", NOW_US).reading
    bare = insight("m", "tea", metadata='{"a":1}')
    with_date = with_reading(bare, dated, over.snapshot)
    assert msgspec.json.decode(with_date.metadata)["dates"][0]["start"] == "2026-03-05"
    again = with_reading(with_date, reading, over.snapshot)
    assert (again.metadata, again.event_start) == ('{"a":1}', None)
