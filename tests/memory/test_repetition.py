"""A repetition's tags, importance and entities are in the memory that stays, and undo takes them back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.config.settings import Config
from mnemond.memory.write import write_rules
from mnemond.model.memory import MAX_ENTITIES, MAX_TAGS, Scope
from mnemond.model.outcomes import RememberResult, UndoResult, United
from mnemond.store.connection import Connection
from tests.examples import examples
from tests.memory.audit_world import UNBOUNDED, AuditWorld
from tests.memory.memories import REFERENCE, Memories, name
from tests.memory.test_audit_replay import check, portrait
from tests.tables import each_row

TEXT = "The gateway listens on port 8080"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[AuditWorld]:
    made = AuditWorld(tmp_path / "a.db", UNBOUNDED)
    yield made
    made.engine.close()


def said(world: AuditWorld, text: str, **fields: Any) -> RememberResult:
    outcome = world.remember(text, **fields)
    assert isinstance(outcome, RememberResult), outcome
    return outcome


def named(world: AuditWorld, insight_id: str) -> set[str]:
    def read(connection: Connection) -> set[str]:
        rows = connection.rows("SELECT mention_text FROM memory_entities WHERE memory_id = ?", (insight_id,))
        return {row[0] for row in rows}

    found: set[str] = world.read(read)
    return found


def test_the_memory_that_stays_has_the_tags_the_entities_and_the_higher_importance_of_both(world: AuditWorld) -> None:
    other = said(world, "Ana prefers tabs", entities=("Apollo",)).id
    one = said(world, TEXT, tags=("net", "ops"), importance=2, entities=("Edge",)).id
    assert one is not None
    before = portrait(world)
    weight = world.insight(one).effective_importance
    again = said(world, f"{TEXT}.", tags=("prod", "ops"), importance=4, entities=("Apollo",))
    assert (again.action, again.id) == ("skipped", one)
    assert again.united == United(["prod"], ["Apollo"], 2, 4)
    assert again.edges_created.entity == 1
    it = world.insight(one)
    assert (it.content, it.tags, it.importance) == (TEXT, ("net", "ops", "prod"), 4)
    assert {"Edge", "Apollo"} <= set(it.entities)
    assert {"Edge", "Apollo"} <= named(world, one)
    assert again.effective_importance == it.effective_importance > weight
    assert {(one, other, "entity"), (other, one, "entity")} <= world.edges().keys()
    check(world)
    undone = world.undo()
    assert isinstance(undone, UndoResult), undone
    assert portrait(world) == before
    assert "Apollo" not in named(world, one)
    check(world)


def test_an_importance_that_was_not_given_changes_none(world: AuditWorld) -> None:
    """A memory that was lowered on purpose was raised by the usual importance of its repetition."""
    one = said(world, TEXT, importance=1).id
    assert one is not None
    again = said(world, TEXT, tags=("net",), weighed=False)
    assert (again.action, again.united) == ("skipped", United(["net"], []))
    assert world.insight(one).importance == 1


def test_a_repetition_without_anything_new_adds_nothing(world: AuditWorld) -> None:
    one = said(world, TEXT, tags=("net",), importance=4, entities=("Edge",)).id
    again = said(world, TEXT, tags=("net",), importance=1, entities=("edge",))
    assert again.united is None
    assert one is not None
    assert (world.insight(one).tags, world.insight(one).importance) == (("net",), 4)


def test_it_is_found_by_what_was_added(world: AuditWorld) -> None:
    one = said(world, TEXT).id
    assert one is not None
    said(world, TEXT, tags=("firewall",))
    row = world.snapshot.row_of(one)
    assert "firewall" in world.insight(one).keywords.split()
    assert row in world.snapshot.postings("firewal")[0].tolist() + world.snapshot.postings("firewall")[0].tolist()


def test_the_log_names_fields_and_no_text(world: AuditWorld) -> None:
    said(world, TEXT)
    said(world, TEXT, tags=("confidential",), importance=5)
    [detail] = world.read(lambda it: it.column("SELECT detail FROM oplog WHERE operation = 'diff-skip'"))
    assert detail.endswith("united=tags,importance")


@each_row(
    "text",
    [
        "The gateway listens on port 9090",
        "The gateway does not listen on port 8080",
        "The mail relay listens on port 25",
    ],
)
def test_nothing_is_united_with_what_says_something_else(text: str) -> None:
    over = Memories()
    over.remember(TEXT, tags=("old",), importance=2)
    decided = over.decided(text, tags=("new",), importance=5, entities=("Apollo",))
    assert decided.outcome.action != "skipped"
    assert decided.outcome.united is None
    assert name(1) not in decided.put
    assert decided.added.tags == ("new",)


def test_nothing_is_added_to_a_memory_for_other_readers() -> None:
    over = Memories()
    over.remember(TEXT, tags=("net",))
    decided = over.decided(TEXT, tags=("private",), importance=5, scope=Scope("u1"))
    assert decided.outcome.action == "skipped"
    assert decided.outcome.united == United(omitted="the memory is for others as well")
    kept = decided.put[name(1)].insight
    assert (kept.tags, kept.importance, kept.corroboration_count) == (("net",), 3, 1)
    assert over.decided(TEXT, tags=("net",), scope=Scope("u1")).outcome.united is None


def test_nothing_is_added_to_what_a_published_table_takes_for_the_same() -> None:
    over = Memories(Config(profile="mnemon"))
    over.rules = write_rules(REFERENCE, over.config)
    over.remember("Ana manages Bob in the billing team of Acme")
    decided = over.decided("Bob manages Ana in the billing team of Acme", tags=("org",))
    assert decided.outcome.action == "skipped"
    assert decided.outcome.united == United(omitted="the memory does not say it word for word")
    assert decided.put[name(1)].insight.tags == ()
    again = over.decided("Ana manages Bob in the billing team", tags=("org",))
    assert again.outcome.united == United(["org"])


def test_more_than_a_memory_may_have_is_named_and_left_out() -> None:
    over = Memories()
    over.remember(TEXT, tags=[f"t{n}" for n in range(MAX_TAGS - 1)], entities=[f"E{n}x" for n in range(MAX_ENTITIES)])
    decided = over.decided(TEXT, tags=("one", "two", "three"), entities=("Apollo",))
    assert decided.outcome.united == United(
        ["one"], omitted="two, three: a memory has at most 20 tags; Apollo: a memory has at most 50 entities"
    )
    kept = decided.put[name(1)]
    assert (len(kept.insight.tags), len(kept.insight.entities), kept.mentions) == (MAX_TAGS, MAX_ENTITIES, None)


def test_a_link_that_is_there_names_the_added_entity_too() -> None:
    over = Memories()
    for number in range(6):
        over.remember(f"Lunch number {number} is at noon in room {number}", no_diff=True)
    over.remember("Ana prefers tabs", entities=("Apollo", "Edge"))
    over.remember(TEXT, entities=("Edge",))
    decided = over.decided(TEXT, entities=("Apollo",))
    assert decided.outcome.edges_created.entity == 0
    [there, back] = decided.edges("entity")
    assert {(there.source_id, there.target_id), (back.source_id, back.target_id)} == {
        (name(7), name(8)), (name(8), name(7)),
    }  # fmt: skip
    assert "Apollo" in there.metadata
    assert "Edge" in there.metadata


def test_a_dry_run_says_what_would_be_added() -> None:
    over = Memories()
    over.remember(TEXT)
    decided = over.decided(TEXT, tags=("net",), importance=5, dry_run=True)
    assert decided.outcome.united == United(["net"], [], 3, 5)


TAGS = st.lists(st.sampled_from([f"t{n}" for n in range(MAX_TAGS + 6)]), max_size=MAX_TAGS, unique=True)


@examples(60)
@given(had=TAGS, more=TAGS, importances=st.tuples(st.integers(1, 5), st.integers(1, 5)))
def test_nothing_leaves_a_memory_and_nothing_added_is_unsaid(
    had: list[str], more: list[str], importances: tuple[int, int]
) -> None:
    over = Memories()
    over.remember(TEXT, tags=had, importance=importances[0])
    decided = over.decided(TEXT, tags=more, importance=importances[1])
    kept, said = decided.put[name(1)].insight, decided.outcome.united or United()
    assert list(kept.tags) == [*had, *said.tags]
    assert len(kept.tags) == len(set(kept.tags)) <= MAX_TAGS
    assert kept.importance == max(importances)
    left_out = [tag for tag in more if tag not in kept.tags]
    assert (said.omitted or "").startswith(", ".join(left_out))
    assert bool(left_out) == (said.omitted is not None)
