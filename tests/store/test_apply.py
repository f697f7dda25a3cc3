"""Every kind of change, in the file and in its mirror: what is stored, what is refused, and what goes along with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from mnemond.errors import INVALID_PARAMS, NOT_FOUND, MnemonError
from mnemond.model.changes import (
    AddEdge,
    AddInsight,
    Change,
    CountUse,
    PurgeInsight,
    PutInsight,
    RemoveEdge,
    RestoreInsight,
    RetireInsight,
    SetImportance,
    SetVector,
    TriggerCount,
)
from mnemond.model.memory import MAX_METADATA, Edge, Entity, Insight, Scope, Trigger, format_us
from mnemond.model.outcomes import LinkResult, SupersedeResult, UnlinkResult
from mnemond.store import edges, insights
from mnemond.store.connection import Connection
from tests.outcomes import made
from tests.store.bench import DAY_US, LATER, Bench
from tests.store.factories import START_US, insight_id, remember, vector_of
from tests.store.mirror import importance_at

ONE, TWO, THREE, FOUR = (insight_id(number) for number in (1, 2, 3, 4))


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    built = Bench(tmp_path / "a.db")
    yield built
    built.engine.close()


def both_ways(one: str, other: str, kind: Any = "semantic", weight: float = 0.5, **more: Any) -> list[AddEdge]:
    return [AddEdge(Edge(*ends, kind, weight, **more)) for ends in ((one, other), (other, one))]


# ------------------------------------------------------------------ add


def test_a_new_memory_is_stored_with_everything_that_is_known_of_it(bench: Bench) -> None:
    full = Insight(
        id=insight_id(9), content="Redis at four", created_at=LATER, updated_at=LATER, category="fact", importance=5,
        tags=("a", "b"), entities=("Redis",), source="alice", channel="hook", conversation_id="c1",
        scope=Scope("u", "s", "a"), access_count=2, last_accessed_at=LATER, effective_importance=1.098612,
        valid_from=LATER, invalid_at=LATER, event_start=LATER, event_end=LATER, keywords="redis four", trigger="when",
        trigger_type="time", boost_days=1.5, last_boosted_at=LATER, paired_with=ONE, corroboration_count=3,
        last_corroborated_at=LATER, pinned=True, metadata='{"dates":[]}',
    )  # fmt: skip
    bench.run(AddInsight(full, vector_of(9), (Entity("Redis", "redis", "tool"),), ("When?", "Where?")))
    assert bench.portrait()[full.id]["insight"] == full
    assert bench.engine.read(lambda db: insights.read(db, full.id)) == full
    assert bench.rows("SELECT query FROM hypothetical_queries ORDER BY ord") == [("When?",), ("Where?",)]
    assert bench.rows("SELECT mention_text FROM memory_entities") == [("Redis",)]


def test_a_new_memory_with_its_edges_and_one_that_comes_twice(bench: Bench) -> None:
    new = remember(9).changes[0]
    weaker = AddEdge(Edge(insight_id(9), ONE, "semantic", 0.25, '{"sub_type":"pair"}'))
    bench.run(new, *both_ways(insight_id(9), ONE, weight=0.75, metadata='{"a":1}'), weaker)
    row = bench.engine.read(lambda db: edges.read(db, insight_id(9), ONE, "semantic"))
    assert row == Edge(insight_id(9), ONE, "semantic", 0.75, '{"a":1,"sub_type":"pair"}')
    assert bench.portrait()[insight_id(9)]["degree"] == 1


def test_an_edge_of_a_new_memory_may_be_removed_and_made_again(bench: Bench) -> None:
    new, link = remember(9).changes[0], Edge(insight_id(9), ONE, "causal", 0.5)
    bench.run(new, AddEdge(link), RemoveEdge(*edges.key(link)), AddEdge(link))
    assert bench.portrait()[ONE]["links"] == [(insight_id(9), "causal", 0, 0.5)]


# ------------------------------------------------------------------ put


@pytest.mark.parametrize(
    "fields",
    [{"content": "another text"}, {"importance": 5}, {"pinned": True}, {"scope": Scope("u")}, {"paired_with": TWO}],
)
def test_a_memory_takes_its_new_value_and_keeps_its_vector(bench: Bench, fields: dict[str, Any]) -> None:
    before = bench.portrait()[ONE]
    bench.run(PutInsight(msgspec.structs.replace(bench.insight(ONE), **fields)))
    after = bench.portrait()[ONE]
    assert {name: getattr(after["insight"], name) for name in fields} == fields
    assert after["vector"] == before["vector"]
    assert after["insight"].effective_importance == importance_at(bench.portrait(), ONE, LATER)
    hashes = bench.rows("SELECT content, content_hash FROM insights")
    assert all(insights.content_hash(content) == digest for content, digest in hashes)


def test_a_memory_embedded_anew_has_its_new_vector_or_none(bench: Bench) -> None:
    bench.run(PutInsight(bench.insight(ONE), embedded=True, vector=vector_of(99)))
    assert bench.portrait()[ONE]["vector"] == np.round(vector_of(99), 5).tolist()
    bench.run(PutInsight(bench.insight(ONE), embedded=True))
    assert bench.portrait()[ONE]["vector"] is None


def test_a_memory_may_name_other_things(bench: Bench) -> None:
    redis, kafka = Entity("Redis", "redis", "tool"), Entity("Kafka", "kafka", "tool")
    bench.run(PutInsight(bench.insight(ONE), mentions=(redis, kafka)))
    bench.run(PutInsight(bench.insight(ONE)))
    assert len(bench.rows("SELECT * FROM memory_entities")) == 2
    bench.run(PutInsight(bench.insight(ONE), mentions=(kafka,)))
    assert bench.rows("SELECT mention_text FROM memory_entities") == [("Kafka",)]


# ------------------------------------------------------------------ retire


def test_edges_go_to_the_successor_and_those_it_has_already_are_joined(bench: Bench) -> None:
    host: dict[str, Any] = {"created_by": "host", "metadata": '{"why":"said so"}'}
    bench.run(
        *both_ways(ONE, TWO), *both_ways(ONE, THREE, weight=0.9, metadata='{"a":1}'),
        *both_ways(ONE, FOUR, "entity", **host), *both_ways(TWO, THREE, weight=0.25),
        *both_ways(TWO, FOUR, "entity", 0.75),
    )  # fmt: skip
    told = made(SupersedeResult, "op", id=TWO, superseded_by=ONE)
    result = bench.run(RetireInsight(ONE, "superseded", successor=TWO, invalid_at=LATER), outcome=told)
    assert isinstance(result, SupersedeResult)
    assert result.edges_moved == 0  # both were there already; the one between the two is gone
    found = bench.portrait()
    assert ONE not in found
    assert found[TWO]["links"] == sorted(
        [(THREE, "semantic", way, 0.9) for way in (0, 1)] + [(FOUR, "entity", way, 0.75) for way in (0, 1)]
    )
    joined = bench.engine.read(lambda db: edges.read(db, FOUR, TWO, "entity"))
    assert joined == Edge(FOUR, TWO, "entity", 0.75, '{"why":"said so"}', "host")
    row = bench.rows("SELECT status, superseded_by, invalid_at, deleted_at FROM insights WHERE status <> 'active'")
    assert row == [("superseded", TWO, LATER, LATER)]


def test_moved_edges_are_counted_once_a_relation(bench: Bench) -> None:
    bench.run(*both_ways(ONE, THREE), AddEdge(Edge(ONE, FOUR, "causal", 0.5)))
    result = bench.run(
        RetireInsight(ONE, "superseded", successor=TWO), outcome=made(SupersedeResult, "op", id=TWO, superseded_by=ONE)
    )
    assert isinstance(result, SupersedeResult)
    assert result.edges_moved == 2
    assert [link[:2] for link in bench.portrait()[TWO]["links"]] == [(THREE, "semantic")] * 2 + [(FOUR, "causal")]


def test_metadata_too_large_for_a_joined_edge_do_not_keep_a_memory_from_being_replaced(bench: Bench) -> None:
    big = [f'{{"{name}":"{"x" * (MAX_METADATA - 20)}"}}' for name in "ab"]
    bench.run(*both_ways(ONE, THREE, metadata=big[0]), *both_ways(TWO, THREE, weight=0.25, metadata=big[1]))
    assert not isinstance(bench.run(RetireInsight(ONE, "superseded", successor=TWO)), MnemonError)
    assert bench.engine.read(lambda db: edges.read(db, TWO, THREE, "semantic")) == Edge(
        TWO, THREE, "semantic", 0.5, big[1]
    )


def test_an_edge_that_came_from_a_predecessor_may_be_made_as_well(bench: Bench) -> None:
    bench.run(*both_ways(ONE, TWO))
    new = remember(9).changes[0]
    bench.run(
        new, RetireInsight(ONE, "superseded", successor=insight_id(9)), *both_ways(insight_id(9), TWO, weight=0.75)
    )
    assert bench.portrait()[TWO]["links"] == [(insight_id(9), "semantic", way, 0.75) for way in (0, 1)]


def test_who_leaves_without_a_successor_takes_its_edges_along(bench: Bench) -> None:
    bench.run(*both_ways(ONE, TWO), AddEdge(Edge(THREE, ONE, "causal", 0.5)))
    bench.run(RetireInsight(ONE, "pruned"))
    assert bench.rows("SELECT * FROM edges") == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (RetireInsight(insight_id(77), "forgotten"), "no active memory '0000004d"),
        (RetireInsight(ONE, "superseded", successor=insight_id(77)), "no active memory '0000004d"),
        (PutInsight(Insight(insight_id(77), LATER, LATER, content="x")), "no active memory '0000004d"),
        (RestoreInsight(Insight(insight_id(77), LATER, LATER, content="x")), "no retired memory '0000004d"),
        (RestoreInsight(Insight(ONE, LATER, LATER, content="x")), "no retired memory '00000001.* it is active"),
        (PurgeInsight(insight_id(77)), "no known memory '0000004d"),
    ],
)
def test_what_is_not_there_is_refused_and_what_went_before_is_taken_back(
    bench: Bench, change: Change, sentence: str
) -> None:
    error = bench.refused(
        remember(9).changes[0],
        *both_ways(insight_id(9), ONE),
        SetImportance(TWO, 0.25),
        RetireInsight(THREE, "pruned"),
        change,
    )
    assert error.kind is NOT_FOUND
    assert re.search(sentence, error.message)


# ------------------------------------------------------------------ restore, purge


def test_a_retired_memory_comes_back_with_the_vector_it_is_given(bench: Bench) -> None:
    first = bench.insight(ONE)
    bench.run(RetireInsight(ONE, "forgotten"))
    bench.run(RestoreInsight(first, vector_of(1)), *both_ways(ONE, TWO))
    found = bench.portrait()
    assert found[ONE]["vector"] == np.round(vector_of(1), 5).tolist()
    assert found[ONE]["degree"] == 1
    bench.run(RetireInsight(ONE, "forgotten"))
    bench.run(RestoreInsight(first, None))
    assert bench.portrait()[ONE]["vector"] is None


def test_an_edge_made_to_a_retired_memory_does_not_come_back_with_it(bench: Bench) -> None:
    first = bench.insight(ONE)
    bench.run(RetireInsight(ONE, "forgotten"))
    bench.run(*both_ways(ONE, TWO))
    bench.run(RestoreInsight(first, vector_of(1)))
    assert bench.portrait()[ONE]["links"] == []
    assert bench.rows("SELECT * FROM edges") == []


def test_nothing_of_a_purged_memory_stays(bench: Bench) -> None:
    secret = AddInsight(
        Insight(insight_id(9), LATER, LATER, content="the password is swordfish", entities=("Swordfish",),
                tags=("swordfish",)),
        vector_of(9), (Entity("Swordfish", "swordfish", "other"),), ("What is swordfish?",),
    )  # fmt: skip
    bench.run(secret, *both_ways(insight_id(9), ONE, metadata='{"entities":["Swordfish"]}'))
    bench.run(PutInsight(msgspec.structs.replace(bench.insight(ONE), paired_with=insight_id(9))))
    bench.run(RetireInsight(TWO, "superseded", successor=insight_id(9)))
    bench.run(PurgeInsight(insight_id(9)))
    found = bench.portrait()
    assert insight_id(9) not in found
    assert (found[ONE]["degree"], found[ONE]["insight"].paired_with) == (0, None)
    assert bench.rows("SELECT superseded_by FROM insights WHERE superseded_by IS NOT NULL") == []
    assert bench.rows("SELECT * FROM entities") == bench.rows("SELECT * FROM hypothetical_queries") == []
    assert bench.engine.index.snapshot.entity_spelling("swordfish") is None
    files = b"".join(bench.path.with_name(bench.path.name + end).read_bytes() for end in ("", "-wal"))
    assert b"password is" not in files


def test_a_retired_memory_can_be_purged_too(bench: Bench) -> None:
    bench.run(RetireInsight(ONE, "forgotten"))
    bench.run(PurgeInsight(ONE))
    assert bench.rows("SELECT count(*) FROM insights") == [(3,)]


# ------------------------------------------------------------------ edges


def test_an_edge_somebody_asked_for_is_told_as_it_stands(bench: Bench) -> None:
    told = made(LinkResult, "op", source_id=ONE, target_id=TWO, edge_type="semantic", weight=0.5, created=True)
    first = bench.run(AddEdge(Edge(ONE, TWO, "semantic", 0.5, '{"a":1}', "host"), audited=True), outcome=told)
    assert isinstance(first, LinkResult)
    assert (first.weight, first.metadata, first.created) == (0.5, {"a": 1}, True)
    again = bench.run(AddEdge(Edge(ONE, TWO, "semantic", 0.25, '{"b":2}', "host"), audited=True), outcome=told)
    assert isinstance(again, LinkResult)
    assert (again.weight, again.metadata, again.created) == (0.5, {"a": 1, "b": 2}, False)
    gone = bench.run(
        RemoveEdge(ONE, TWO, "semantic", audited=True), outcome=made(UnlinkResult, "op", source_id=ONE, target_id=TWO)
    )
    assert isinstance(gone, UnlinkResult)
    assert gone.edges_removed == 1
    none = bench.run(
        RemoveEdge(ONE, TWO, "semantic", audited=True), outcome=made(UnlinkResult, "op", source_id=ONE, target_id=TWO)
    )
    assert isinstance(none, UnlinkResult)
    assert none.edges_removed == 0
    changed = bench.rows("SELECT memory_id, operation_type FROM memory_operations WHERE op_id LIKE 'op-%' ORDER BY id")
    assert changed == [(ONE, "UPDATE")] * 3


def test_an_edge_asked_for_with_too_much_metadata_is_refused(bench: Bench) -> None:
    big = f'{{"a":"{"x" * (MAX_METADATA - 20)}"}}'
    bench.run(AddEdge(Edge(ONE, TWO, "causal", 0.5, big, "host"), audited=True))
    refused = bench.refused(AddEdge(Edge(ONE, TWO, "causal", 0.5, '{"b":"more than fits"}', "host"), audited=True))
    assert refused.kind is INVALID_PARAMS


@pytest.mark.parametrize("ends", [(ONE, TWO), (TWO, ONE)])
def test_an_edge_with_a_memory_that_is_gone_is_refused(bench: Bench, ends: tuple[str, str]) -> None:
    bench.run(RetireInsight(ONE, "forgotten"))
    bench.refused(AddEdge(Edge(*ends, "causal", 0.5, created_by="host"), audited=True))


# ------------------------------------------------------------------ derived values


def test_a_vector_goes_to_active_memories_only(bench: Bench) -> None:
    bench.run(RetireInsight(TWO, "forgotten"))
    before = bench.rows(f"SELECT embedding FROM insights WHERE id = '{TWO}'")
    bench.run(SetVector(ONE, vector_of(50)), SetVector(TWO, vector_of(51)), SetVector(insight_id(77), vector_of(52)))
    assert bench.portrait()[ONE]["vector"] == np.round(vector_of(50), 5).tolist()
    assert bench.rows(f"SELECT embedding FROM insights WHERE id = '{TWO}'") == before
    bench.run(SetVector(ONE, None))


def test_importance_is_set_in_both(bench: Bench) -> None:
    bench.run(SetImportance(ONE, 0.125))
    assert bench.portrait()[ONE]["insight"].effective_importance == 0.125


def test_every_row_whose_degree_changed_has_the_importance_that_follows(bench: Bench) -> None:
    many = [remember(number).changes[0] for number in range(20, 28)]
    bench.run(*many)
    untouched = bench.portrait()[FOUR]["insight"].effective_importance
    bench.run(*both_ways(ONE, TWO), AddEdge(Edge(THREE, ONE, "causal", 0.5)))
    found = bench.portrait()
    for name in (ONE, TWO, THREE):
        assert found[name]["insight"].effective_importance == importance_at(found, name, LATER)
    assert found[ONE]["insight"].effective_importance == round(0.5 * 0.5 * 1.2, 6)  # one half-life, two neighbours
    assert found[FOUR]["insight"].effective_importance == untouched
    much_later = format_us(START_US + 60 * DAY_US)
    bench.run(RemoveEdge(THREE, ONE, "causal"), now=much_later)
    found = bench.portrait()
    for name in (ONE, THREE):
        assert found[name]["insight"].effective_importance == importance_at(found, name, much_later)
    assert found[TWO]["insight"].effective_importance == importance_at(found, TWO, LATER)


def test_beyond_five_neighbours_another_one_changes_nothing(bench: Bench) -> None:
    bench.run(*[remember(number).changes[0] for number in range(20, 28)])
    for count, number in enumerate(range(20, 28), 1):
        now = format_us(START_US + (30 + count) * DAY_US)
        bench.run(*both_ways(ONE, insight_id(number)), now=now)
        found = bench.portrait()
        counted_at = format_us(START_US + (30 + min(count, 5)) * DAY_US)
        assert found[ONE]["degree"] == count
        assert found[ONE]["insight"].effective_importance == importance_at(
            {ONE: {**found[ONE], "degree": min(count, 5)}}, ONE, counted_at
        )


def test_background_work_that_changes_nothing_leaves_no_line(bench: Bench) -> None:
    lines = bench.rows("SELECT count(*) FROM oplog")
    bench.run(SetVector(insight_id(77), vector_of(1)), triggered_by="system:worker")
    assert bench.rows("SELECT count(*) FROM oplog") == lines
    bench.run(triggered_by="user", subject=ONE, operation="look", detail="d" * 900)
    newest = bench.rows("SELECT operation, insight_id, length(detail) FROM oplog ORDER BY id DESC LIMIT 1")
    assert newest == [("look", ONE, 500)]


def test_what_an_operation_does_to_others_has_lines_of_its_own(bench: Bench) -> None:
    before = len(bench.rows("SELECT id FROM oplog"))
    new = remember(9).changes[0]
    paired = msgspec.structs.replace(bench.insight(ONE), paired_with=insight_id(9))
    alone = msgspec.structs.replace(bench.insight(TWO), paired_with=None)
    bench.run(
        new, PutInsight(paired, "PAIR"), PutInsight(alone, "PAIR"), RetireInsight(THREE, "pruned"),
        RetireInsight(FOUR, "forgotten"), operation="remember", subject=insight_id(9),
    )  # fmt: skip
    assert bench.rows("SELECT operation, insight_id, detail FROM oplog ORDER BY id")[before:] == [
        ("pair", ONE, f"with={insight_id(9)}"),
        ("prune", THREE, f"for={insight_id(9)}"),
        ("remember", insight_id(9), ""),
    ]


def test_what_no_row_says_is_read_as_its_default(bench: Bench) -> None:
    def blank(db: Connection) -> None:
        db.run("UPDATE insights SET channel = NULL, metadata = NULL, keywords = NULL WHERE id = ?", (ONE,))

    bench.engine.read(blank)
    found = bench.engine.read(lambda db: insights.read(db, ONE))
    assert isinstance(found, Insight)
    assert (found.channel, found.metadata, found.keywords) == ("manual", "{}", "")
    assert bench.engine.read(lambda db: insights.read(db, "nobody")) is None


def test_an_entity_mentioned_by_two_changes_of_one_operation_is_one(bench: Bench) -> None:
    redis = Entity("Redis", "redis", "tool")
    added = [msgspec.structs.replace(remember(number).changes[0], mentions=(redis,)) for number in (8, 9)]
    bench.run(*added)
    assert bench.rows("SELECT id FROM entities") == [(edges.entity_id(redis),)]


def test_recalls_are_counted_and_make_a_memory_matter_more(bench: Bench) -> None:
    before = bench.portrait()[ONE]["insight"]
    bench.run(RetireInsight(TWO, "forgotten"))
    bench.run(*(CountUse(name, 4, LATER) for name in (ONE, TWO, insight_id(77))), operation="")
    after = bench.portrait()[ONE]["insight"]
    assert (after.access_count, after.last_accessed_at) == (before.access_count + 4, LATER)
    assert after.effective_importance == importance_at(bench.portrait(), ONE, LATER)
    assert bench.rows("SELECT count(*) FROM memory_operations WHERE operation_type = 'UPDATE'") == [(0,)]


def test_triggers_are_kept_with_their_memory_in_their_order(bench: Bench) -> None:
    nine = insight_id(9)
    rule = Insight(nine, LATER, LATER, content="x", when=(Trigger("Bash:b", "deny"), Trigger("Bash:a")))
    bench.run(AddInsight(rule, None))
    assert bench.insight(nine).when == rule.when
    assert [it.id for it in bench.engine.index.snapshot.with_triggers()] == [nine]
    counts = (TriggerCount(nine, "Bash:a", 2, 1, 1), TriggerCount("gone", "Bash:a", 1))
    for _ in range(2):
        bench.run(trigger_counts=counts)
    assert bench.engine.read(insights.trigger_counts) == {(nine, "Bash:a"): (4, 2, 2)}
    bench.run(PutInsight(msgspec.structs.replace(rule, when=())))
    assert bench.engine.index.snapshot.with_triggers() == []
    bench.run(RetireInsight(nine, "forgotten"))
    bench.run(RestoreInsight(msgspec.structs.replace(rule, when=(Trigger("Bash:c", state="off"),)), None))
    assert bench.insight(nine).when == (Trigger("Bash:c", state="off"),)
    bench.run(PurgeInsight(nine))
    assert bench.engine.read(insights.trigger_counts) == {}
    assert bench.rows("SELECT * FROM triggers") == []


def test_what_is_enforced_is_that_of_active_memories(bench: Bench) -> None:
    nine = insight_id(9)
    rule = Insight(nine, LATER, LATER, content="x", when=(Trigger("Bash:b", "deny"), Trigger("Bash:a")))
    bench.run(AddInsight(rule, None))
    assert bench.engine.read(insights.enforced_triggers) == {(nine, "Bash:b", "deny", "x")}
    bench.run(RetireInsight(nine, "forgotten"))
    assert bench.engine.read(insights.enforced_triggers) == frozenset()
    bench.run(RestoreInsight(msgspec.structs.replace(rule, when=(Trigger("Bash:b"), Trigger("Bash:c", "ask"))), None))
    assert bench.engine.read(insights.enforced_triggers) == {(nine, "Bash:c", "ask", "x")}
    bench.engine.read(lambda db: db.run("DROP TABLE triggers"))  # as in a store of an earlier version
    assert bench.engine.read(insights.enforced_triggers) == frozenset()
