"""Another thing stays, the same thing changed is replaced, and a contradiction is named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.config.settings import Config
from mnemond.memory.diff import judge, side
from mnemond.memory.diff_frames import AGAINST, SILENT, former_terms, judged, other_slot
from mnemond.memory.frame_pairs import related
from mnemond.memory.frame_topics import CONTRADICTS, REPLACES
from mnemond.memory.remember import CONTRADICTS as CONTRADICTING_LINK
from mnemond.memory.write import write_rules
from mnemond.model.memory import contradicted, contradicting
from mnemond.text.frames import frames
from tests.memory.memories import Memories, leaning, name
from tests.memory.statement_pairs import CONTRADICTING, KEPT, REPLACED
from tests.tables import each_row


@each_row(("old", "new"), KEPT)
def test_another_thing_stays_and_is_not_named(old: str, new: str) -> None:
    over = Memories()
    over.remember(old)
    outcome = over.decided(new).outcome
    assert (outcome.action, outcome.conflicts) == ("added", [])


@each_row(("old", "new"), REPLACED)
def test_the_same_thing_changed_is_replaced(old: str, new: str) -> None:
    over = Memories()
    over.remember(old)
    outcome = over.decided(new).outcome
    assert (outcome.action, outcome.replaced_id, outcome.conflicts) == ("replaced", name(1), [])


@each_row(("old", "new"), CONTRADICTING)
def test_a_contradiction_stays_and_is_named(old: str, new: str) -> None:
    over = Memories(with_vectors=True)
    over.remember(old, leaning(1.0))
    decided = over.remember(new, leaning(0.6))
    assert [(each.id, each.suggestion) for each in decided.outcome.conflicts] == [(name(1), "CONFLICT")]
    assert over.alive(1)
    assert contradicted(decided.added) == (name(1),)
    linked = [edge for edge in decided.edges("semantic") if edge.metadata == CONTRADICTING_LINK]
    assert {(edge.source_id, edge.target_id) for edge in linked} == {(name(1), name(2)), (name(2), name(1))}


@each_row(
    ("old", "new", "cosine", "near"),
    [
        ("I can't swim", "I swim two kilometres every morning", 0.45, True),  # a word of six is the same
        ("I can't swim", "I swim two kilometres every morning", 0.35, False),
        ("I can't swim", "I swim two kilometres every morning", None, False),
        ("I was born in Antwerp", "I was born in Bruges", 0.30, True),  # one of three
        ("I was born in Antwerp", "I was born in Bruges", 0.25, False),
        ("I was born in Antwerp", "I was born in Bruges", None, True),
    ],
)
def test_what_is_hardly_about_the_same_thing_is_no_contradiction(
    old: str, new: str, cosine: float | None, near: bool
) -> None:
    over = Memories(with_vectors=cosine is not None)
    over.remember(old, None if cosine is None else leaning(1.0))
    decided = over.remember(new, None if cosine is None else leaning(cosine))
    assert decided.outcome.action == "added"
    assert bool(decided.outcome.conflicts) == near
    assert bool(decided.change_set.reviews) == near
    assert bool(contradicted(decided.added)) == near


def test_of_several_memories_the_one_that_changed_is_replaced() -> None:
    over = Memories()
    for text in (
        "The lead of the mobile team is Ana",
        "I live in Lisbon",
        "Ben lives in Lisbon",
        "We use Jenkins for CI",
    ):
        over.remember(text)
    assert over.decided("I moved to Porto").outcome.replaced_id == name(2)
    assert over.decided("Bob is now the lead of the mobile team").outcome.replaced_id == name(1)
    assert over.decided("CI was switched from Jenkins to GitHub Actions").outcome.replaced_id == name(4)


def test_what_says_more_than_is_denied_stays() -> None:
    old = "The API limit is 100 req/s. Ana wrote the gateway in Rust and Ben maintains the dashboards of Grafana."
    over = Memories()
    over.remember(old)
    outcome = over.decided("The API limit is now 200 req/s").outcome
    assert (outcome.action, [each.id for each in outcome.conflicts]) == ("added", [name(1)])


@pytest.mark.parametrize(
    ("profile", "action"), [("mnemon", "replaced"), ("classic", "replaced"), ("balanced", "added")]
)
def test_the_published_profiles_go_by_words_alone(profile: str, action: str) -> None:
    over = Memories()
    over.rules = write_rules(None, Config(profile=profile))  # type: ignore[arg-type]
    over.remember("Squad 7 owns billing")
    assert over.decided("Squad 8 owns billing").outcome.action == action


def opposing(old: str, new: str) -> list[tuple[str, str, str]]:
    """Clauses of which the newer replaces or contradicts the older, with which of the two."""
    pairs = [(one, other, related(one, other)[0]) for one in frames(old) for other in frames(new)]
    return [(one.text, other.text, relation) for one, other, relation in pairs if relation in AGAINST]


def test_clause_pairs_are_those_that_change_or_contradict() -> None:
    old = "Billing runs on port 80. Ana lives in Oslo, and the office is in Berlin."
    new = "Billing now runs on port 8080. Ben likes tea. The office is in Munich."
    assert opposing(old, new) == [
        ("Billing runs on port 80", "Billing now runs on port 8080", REPLACES),
        ("the office is in Berlin", "The office is in Munich", CONTRADICTS),
    ]
    assert opposing(old, old) == []


def test_a_question_a_plan_and_a_memory_of_the_past_correct_nothing() -> None:
    old = "The team lead is Ana"
    for new in ("Is Bob the team lead now?", "Maybe Bob is the team lead now", "Last year the team lead was Bob"):
        assert judged(old, new).relation == "", new


def test_the_state_that_a_change_ends_is_searched_for() -> None:
    assert {"live", "resid"} <= former_terms("I moved to Porto")
    assert "employ" in former_terms("Ana left Acme")
    assert former_terms("The parser is fast now") == former_terms("I like tea") == frozenset()


def test_contradictions_are_found_among_results() -> None:
    over = Memories()
    over.remember("The office is in Berlin")
    over.remember("The office is in Munich")
    found = [over.insight(1), over.insight(2)]
    assert contradicting(found) == [(1, 0)]
    assert contradicting(found[1:]) == []
    assert contradicted(found[0]) == ()


PIECES = (
    "the team is now not no longer lead Ana Bob from to 10 12 minutes Jenkins instead of , . staging we use",
    "我 住在 上海 不再 换成 从 到 现在 30 秒 wir nutzen nicht mehr statt jetzt 9:30 Monday v2 room 4 B and but if",
)
words = st.lists(st.sampled_from([word for line in PIECES for word in line.split()]), max_size=16).map(" ".join)


@given(words | st.text(max_size=60), words | st.text(max_size=60))
def test_every_pair_of_texts_is_judged(old: str, new: str) -> None:
    assert judged(old, new).relation in ("replaces", "contradicts", "other", "")


@given(words | st.text(max_size=60))
def test_no_clause_contradicts_itself_without_a_change(text: str) -> None:
    assert all(pair.relation != CONTRADICTS for pair in [judged(text, text)] if len(frames(text)) == 1)


def test_nothing_is_said_of_texts_without_clauses() -> None:
    assert judged("", "") == judged("…", "!") == SILENT


@each_row(
    ("old", "new"),
    [
        ("Service A depends on Kafka", "Service B no longer depends on Kafka"),
        ("Jenkins builds the iOS app", "Jenkins no longer builds the Android app"),
        ("The team uses Slack", "The team switched from Jira to Linear"),
        ("We use Postgres for orders", "We switched from Sentry to Datadog"),
    ],
)
def test_what_ends_another_thing_replaces_nothing(old: str, new: str) -> None:
    assert judged(old, new).relation not in (REPLACES, CONTRADICTS)


ONE_SLOT = [
    ("The office is in Berlin", "The office is in Munich"),
    ("The team's chat is Slack", "The team's chat is Mattermost"),
    ("Tom takes his coffee with two sugars", "Tom drinks his coffee black now"),
    ("Autoscaling on the ingest cluster is enabled.", "Autoscaling on the ingest cluster is disabled."),
    ("Always address me formally.", "Never address me formally."),
    ("Hauptsitz der Firma ist Mannheim.", "Hauptsitz der Firma ist Karlsruhe."),
    ("网关的限流功能是启用状态。", "网关的限流功能是禁用状态。"),
]

OTHER_SLOTS = [
    ("The office is in Berlin. The archive is there too", "The office is in Munich", "says more"),
    ("A truck is quickly going down a hill", "A truck is quickly going up a hill", "not named"),
    ("There is no lift in the building.", "You can take the elevator up from the lobby of our building.", "not named"),
    ("The guitar is being played by a lady", "The guitar is being played by a girl", "events"),
    ("We trained the final checkpoint with AdamW.", "We trained the final checkpoint with SGD.", "events"),
    ("Stefan never joins calls with his camera on.", "In every call Stefan has his video running.", "other words"),
    ("Our smart meter works fully offline.", "Readings from our smart meter go to the vendor's cloud.", "more"),
    ("Lunch is delivered by Greenbowl.", "Greenbowl doesn't bring us lunch any more, since June a caterer comes.",
     "different things"),
    ("the act of putting a preparation on something", "the act of breaking something", "not named"),
]  # fmt: skip


@each_row(("older", "newer"), ONE_SLOT)
def test_one_value_of_one_named_thing_may_take_the_place_of_another(older: str, newer: str) -> None:
    verdict = judge(side(older, "general", ()), side(newer, "general", ()), None, write_rules(None, Config()).diff)
    assert verdict.contradicts, verdict.reason
    assert other_slot(older, newer, verdict.clauses) is None


@each_row(("older", "newer", "why"), OTHER_SLOTS)
def test_a_contradiction_of_something_else_does_not(older: str, newer: str, why: str) -> None:
    verdict = judge(side(older, "general", ()), side(newer, "general", ()), None, write_rules(None, Config()).diff)
    assert verdict.contradicts, verdict.reason
    assert why in str(other_slot(older, newer, verdict.clauses))


def test_texts_whose_clauses_are_not_known_are_not_of_one_slot() -> None:
    assert other_slot("The office is in Berlin", "The office is in Munich", None) is not None
