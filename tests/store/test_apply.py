"""Every kind of change, in the file and in its mirror: what is stored, what is refused, and what goes along with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mnemond.errors import INVALID_PARAMS, NOT_FOUND, MnemonError
from mnemond.model.changes import (
    AddEdge,
    AddInsight,
    Change,
    PurgeInsight,
    PutInsight,
    RemoveEdge,
    RestoreInsight,
    RetireInsight,
    SetImportance,
)
from mnemond.model.memory import MAX_METADATA, Edge, Entity, Insight, Trigger, format_us
from mnemond.model.outcomes import SupersedeResult
from mnemond.store import edges, insights
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


def test_a_new_memory_with_its_edges_and_one_that_comes_twice(bench: Bench) -> None:
    new = remember(9).changes[0]
    weaker = AddEdge(Edge(insight_id(9), ONE, "semantic", 0.25, '{"sub_type":"pair"}'))
    bench.run(new, *both_ways(insight_id(9), ONE, weight=0.75, metadata='{"a":1}'), weaker)
    row = bench.engine.read(lambda db: edges.read(db, insight_id(9), ONE, "semantic"))
    assert row == Edge(insight_id(9), ONE, "semantic", 0.75, '{"a":1,"sub_type":"pair"}')
    assert bench.portrait()[insight_id(9)]["degree"] == 1


# ------------------------------------------------------------------ put


# ------------------------------------------------------------------ retire


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
