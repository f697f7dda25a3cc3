"""undo: what each kind of operation comes back to, what cannot be taken back, and which operation is meant."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from mnemond.errors import AMBIGUOUS, INVALID_PARAMS, NOT_FOUND, MnemonError
from mnemond.memory import undo
from mnemond.memory.write import write_rules
from mnemond.model.changes import AddInsight, PurgeInsight, PutInsight, RemoveEdge, RestoreInsight, RetireInsight
from mnemond.model.memory import Insight
from mnemond.model.outcomes import Outcome, RememberResult, UndoneMemory, UndoResult
from mnemond.store import history, insights
from mnemond.store.connection import Connection
from tests.memory.audit_world import UNBOUNDED, AuditWorld, at, vector_for
from tests.memory.test_audit_replay import check, portrait
from tests.store.factories import EMBEDDER


@pytest.fixture
def world(tmp_path: Path) -> Iterator[AuditWorld]:
    made = AuditWorld(tmp_path / "a.db", UNBOUNDED)
    yield made
    made.engine.close()


def stored(outcome: Outcome | MnemonError) -> str:
    assert isinstance(outcome, RememberResult), outcome
    assert outcome.id is not None
    return outcome.id


def undone(outcome: Outcome | MnemonError) -> UndoResult:
    assert isinstance(outcome, UndoResult), outcome
    return outcome


def refusal(outcome: Outcome | MnemonError) -> MnemonError:
    assert isinstance(outcome, MnemonError), outcome
    return outcome


def of(world: AuditWorld, insight_id: str) -> tuple[str, int, str]:
    it = world.insight(insight_id)
    return it.content, it.importance, it.status


# ------------------------------------------------------------------ what comes back


def test_a_memory_that_was_stored_leaves_recall_and_comes_back(world: AuditWorld) -> None:
    one = stored(world.remember("The gateway listens on port 8080"))
    two = stored(world.remember("Ana prefers tabs", created_at=at(1)))
    before = portrait(world)
    result = undone(world.undo(world.done[1]))
    assert result.memories == [UndoneMemory(two, "retired", [])]
    assert world.active() == [one]
    assert of(world, two)[2] == "forgotten"
    again = undone(world.undo(world.done[-1]))
    assert again.memories == [UndoneMemory(two, "restored", [])]
    assert portrait(world) == before
    check(world)


def test_a_backbone_that_a_backdated_memory_split_is_whole_again(world: AuditWorld) -> None:
    late = stored(world.remember("The gateway listens on port 8080"))
    early = stored(world.remember("Ana prefers tabs", created_at=at(5)))
    chain = {(early, late, "temporal"), (late, early, "temporal")}
    assert chain <= world.edges().keys()
    direct = {key: edge for key, edge in world.edges().items() if key in chain}
    between = stored(world.remember("Redis loses data", created_at=at(2)))
    assert {(early, between, "temporal"), (between, late, "temporal")} <= world.edges().keys()
    split = {key: edge for key, edge in world.edges().items() if key in chain}
    assert split != direct
    undone(world.undo(world.done[-1]))
    assert {key: edge for key, edge in world.edges().items() if key in chain} == direct
    undone(world.undo(world.done[-1]))
    assert {key: edge for key, edge in world.edges().items() if key in chain} == split
    check(world)


def test_what_was_replaced_is_back_with_its_links_and_its_vector(world: AuditWorld) -> None:
    old = stored(world.remember("The build of the gateway takes 5 minutes on the runner"))
    other = stored(world.remember("Ana prefers tabs"))
    world.link(old, other, 0.8, metadata='{"sub_type":"causes"}')
    before = portrait(world)
    replaced = world.remember("The build of the gateway takes 9 minutes on the runner")
    assert isinstance(replaced, RememberResult)
    assert (replaced.action, replaced.replaced_id) == ("replaced", old)
    assert (replaced.id, other, "causal") in world.edges()
    undone(world.undo())
    assert portrait(world) == before
    it = world.insight(old)
    assert (it.status, it.superseded_by, it.invalid_at) == ("active", None, None)
    undone(world.undo(world.done[-1]))
    assert of(world, old)[2] == "superseded"
    assert world.insight(old).superseded_by == replaced.id
    check(world)


def test_a_skipped_duplicate_corroborates_no_longer(world: AuditWorld) -> None:
    one = stored(world.remember("The gateway listens on port 8080"))
    before = portrait(world)
    skipped = world.remember("The gateway listens on port 8080")
    assert isinstance(skipped, RememberResult)
    assert skipped.action == "skipped"
    assert world.insight(one).corroboration_count == 1
    undone(world.undo())
    assert portrait(world) == before
    check(world)


def test_a_former_text_has_its_vector_and_its_entities_again(world: AuditWorld) -> None:
    one = stored(world.remember("Ana deploys Redis", entities=("Ana", "Redis")))
    before = portrait(world)
    it = world.insight(one)
    new = msgspec.structs.replace(it, content="Bob deploys Kafka", entities=("Bob",))
    world.change(PutInsight(new, "UPDATE", True, vector_for(new.content), ()))
    assert portrait(world) != before
    assert undone(world.undo()).memories == [UndoneMemory(one, "revised", [])]
    assert portrait(world) == before
    row = world.snapshot.row_of(one)
    assert row is not None
    assert world.snapshot.vector(row) == pytest.approx(vector_for("Ana deploys Redis"))

    def named(connection: Connection) -> set[str]:
        rows = connection.rows("SELECT mention_text FROM memory_entities WHERE memory_id = ?", (one,))
        return {row[0] for row in rows}

    assert world.read(named) >= {"Ana", "Redis"}
    check(world)


def test_use_counts_on_through_an_undo(world: AuditWorld) -> None:
    one = stored(world.remember("The gateway listens on port 8080"))
    world.keep(one)
    kept = world.done[-1]
    used = msgspec.structs.replace(world.insight(one), access_count=5, last_accessed_at=at(-99))
    world.read(lambda connection: insights.update(connection, used))
    undone(world.undo(kept))
    it = world.insight(one)
    assert (it.access_count, it.last_accessed_at) == (2, at(-99))


def test_a_link_and_what_it_was_before(world: AuditWorld) -> None:
    one, two = (stored(world.remember(text)) for text in ("The gateway is slow", "Ana prefers tabs"))
    world.link(one, two, 0.3, metadata='{"sub_type":"causes"}')
    before = portrait(world)
    world.link(one, two, 0.9, metadata='{"sub_type":"enables"}')
    assert portrait(world) != before
    result = undone(world.undo())
    assert result.memories == [UndoneMemory(one, "relinked", [])]
    assert portrait(world) == before
    world.unlink(one, two)
    undone(world.undo())
    assert portrait(world) == before
    check(world)


def test_many_at_once_come_back_together(world: AuditWorld) -> None:
    for text in ("The gateway is slow", "Ana prefers tabs", "Redis loses data", "Bob deploys on Friday"):
        world.remember(text, importance=1, created_at=at(2000))
    before = portrait(world)
    world.collect(0.5, 3)
    assert len(world.active()) == 1
    result = undone(world.undo())
    assert len(result.memories) == 3
    assert result.edges_restored > 0
    assert portrait(world) == before
    check(world)


def test_a_memory_that_was_made_and_let_go_of_at_once_stays_gone(world: AuditWorld) -> None:
    made = Insight("aaaaaaaa-1", at(1), at(1), content="tea")
    world.change(AddInsight(made), RetireInsight(made.id, "forgotten"))
    assert undone(world.undo()).memories == []
    assert of(world, made.id)[2] == "forgotten"


def test_a_memory_that_was_retired_and_brought_back_at_once_stays(world: AuditWorld) -> None:
    one = stored(world.remember("The gateway is slow"))
    world.forget(one)
    it = world.insight(one)
    back = msgspec.structs.replace(it, status="active")
    world.change(RestoreInsight(back, vector_for(it.content)), RetireInsight(one, "expired"))
    assert undone(world.undo()).memories == []
    assert of(world, one)[2] == "expired"


def test_a_successor_that_was_purged_is_named_no_more(world: AuditWorld) -> None:
    one, two = (stored(world.remember(text)) for text in ("The gateway is slow", "Ana prefers tabs"))
    world.supersede(one, two)
    back = msgspec.structs.replace(world.insight(one), status="active", superseded_by=None)
    world.change(RestoreInsight(back, vector_for(back.content)))
    restored = world.done[-1]
    world.change(PurgeInsight(two))
    undone(world.undo(restored))
    it = world.insight(one)
    assert (it.status, it.superseded_by) == ("superseded", None)


def test_links_to_a_memory_out_of_recall_are_told(world: AuditWorld) -> None:
    one, two = (stored(world.remember(text)) for text in ("The gateway is slow", "Ana prefers tabs"))
    world.link(one, two, 0.5)
    world.forget(one)
    forgotten = world.done[-1]
    world.forget(two)
    result = undone(world.undo(forgotten))
    assert (result.edges_restored, result.edges_missing) == (0, 2)  # the causal and the temporal one
    check(world)


def test_a_link_somebody_changed_since_is_left_alone(world: AuditWorld) -> None:
    one, two, three = (stored(world.remember(text)) for text in ("The gateway is slow", "Ana prefers tabs", "Tea"))
    world.link(one, three, 0.5)
    world.supersede(one, two)
    superseded = world.done[-1]
    world.link(two, three, 0.9)
    undone(world.undo(superseded))
    edges = world.edges()
    assert edges[two, three, "causal"].weight == 0.9
    assert edges[one, three, "causal"].weight == 0.5
    check(world)


# ------------------------------------------------------------------ what cannot be taken back


def test_a_memory_changed_again_since_is_left_alone(world: AuditWorld) -> None:
    one = stored(world.remember("The gateway is slow"))
    world.revise(one, importance=5)
    later = world.done[-1]
    before = portrait(world)
    error = refusal(world.undo(world.done[0]))
    assert error.kind is INVALID_PARAMS
    assert error.message.endswith(f"memory {one} was changed again since, by {later}")
    assert error.hint == "undo that one first"
    assert portrait(world) == before
    undone(world.undo(later))
    undone(world.undo(world.done[0]))
    assert world.active() == []


def test_an_operation_is_taken_back_once(world: AuditWorld) -> None:
    world.remember("The gateway is slow")
    undone(world.undo(world.done[0]))
    by = world.done[-1]
    error = refusal(world.undo(world.done[0]))
    assert error.message == f"operation {world.done[0]} was taken back by {by} before"
    undone(world.undo(by))
    undone(world.undo(world.done[0]))  # it was in effect again


def test_what_was_purged_cannot_come_back(world: AuditWorld) -> None:
    one = stored(world.remember("The gateway is slow"))
    world.change(PurgeInsight(one))
    for operation in (world.done[0], world.done[1]):
        error = refusal(world.undo(operation))
        assert error.message == f"operation {operation} cannot be taken back: memory {one} was purged"


def test_a_row_that_is_not_there_counts_as_purged(world: AuditWorld) -> None:
    one = stored(world.remember("The gateway is slow"))

    def vanish(connection: Connection) -> None:
        connection.run("DELETE FROM memory_entities")
        connection.run("DELETE FROM hypothetical_queries")
        connection.run("DELETE FROM insights WHERE id = ?", (one,))

    world.read(vanish)
    assert "was purged" in refusal(world.undo(world.done[0])).message


@pytest.mark.parametrize("how", ["unlinked", "heavier", "forgotten"])
def test_a_link_changed_again_since(world: AuditWorld, how: str) -> None:
    one, two = (stored(world.remember(text)) for text in ("The gateway is slow", "Ana prefers tabs"))
    world.link(one, two, 0.3)
    linked = world.done[-1]
    if how == "unlinked":
        world.unlink(one, two)
    elif how == "heavier":
        world.link(one, two, 0.9)
    else:
        world.forget(two)
    error = refusal(world.undo(linked))
    assert world.done[-1] in error.message
    assert two in error.message


def test_a_change_without_a_history_is_told_as_well(world: AuditWorld) -> None:
    one = stored(world.remember("The gateway is slow"))
    world.read(lambda connection: connection.run("UPDATE insights SET content = 'else' WHERE id = ?", (one,)))
    assert refusal(world.undo(world.done[0])).message.endswith("by something without a history")


def test_what_is_decided_is_looked_at_again_under_the_writer(world: AuditWorld) -> None:
    one = stored(world.remember("The gateway is slow"))
    found = world.read(lambda connection: undo.look(connection, None))
    world.revise(one, importance=5)
    error = refusal(
        world.commit(undo.propose(found, undo.Vectors({}), world.identity(), write_rules(EMBEDDER, world.config)))
    )
    assert "was changed again since" in error.message


# ------------------------------------------------------------------ which operation


def test_without_a_name_the_newest_goes_first_and_undos_are_passed_over(world: AuditWorld) -> None:
    for text in ("The gateway is slow", "Ana prefers tabs", "Redis loses data"):
        world.remember(text)
    first = list(world.done)
    assert [undone(world.undo()).undone for _ in first] == first[::-1]
    assert world.active() == []
    error = refusal(world.undo())
    assert (error.kind, error.message) == (NOT_FOUND, "nothing can be taken back")


def test_what_nobody_asked_for_is_taken_back_by_name_only(world: AuditWorld) -> None:
    one = stored(world.remember("The gateway is slow"))
    world.forget(one)
    job = world.done[-1]
    world.read(
        lambda connection: connection.run(
            "UPDATE memory_operations SET triggered_by = 'system:prune' WHERE op_id = ?", (job,)
        )
    )
    assert refusal(world.undo()).kind is NOT_FOUND
    undone(world.undo(job))


def test_the_search_for_one_ends(world: AuditWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    world.remember("The gateway is slow")
    monkeypatch.setattr("mnemond.memory.undo.MAX_TRIED", 0)
    assert refusal(world.undo()).kind is NOT_FOUND


def test_damage_is_not_passed_over(world: AuditWorld) -> None:
    world.remember("The gateway is slow")
    world.read(lambda connection: connection.run("UPDATE memory_operations SET after_state = '{'"))
    assert "damaged" in refusal(world.undo()).message


def test_the_beginning_of_an_op_id_will_do(world: AuditWorld) -> None:
    one = stored(world.remember("The gateway is slow"))
    assert undone(world.undo("operation-0001"[:13])).undone == "operation-0001"  # no other begins like it
    world.remember("Ana prefers tabs")
    error = refusal(world.undo("operation-000"))
    assert error.kind is AMBIGUOUS
    assert "operation-0001, operation-0002, operation-0003" in error.message
    assert refusal(world.undo("no such operation")).kind is NOT_FOUND
    assert of(world, one)[2] == "forgotten"


def test_an_ambiguous_beginning_names_a_few(world: AuditWorld) -> None:
    for number in range(7):
        world.remember(f"Topic {number} is number {number * 7}", no_diff=True)
    assert refusal(world.undo("operation")).message.endswith("operation-0005 and more")


def test_it_is_in_the_history_as_what_took_another_back(world: AuditWorld) -> None:
    one = stored(world.remember("The gateway is slow"))
    undone(world.undo())
    records = world.read(lambda connection: history.of_memory(connection, one, 10))
    assert [(record.operation_type, record.undoes) for record in records] == [
        ("CREATE", None),
        ("DELETE", world.done[0]),
    ]


def test_a_partner_is_paired_again(world: AuditWorld) -> None:
    first = stored(world.remember("Ana deploys the gateway on Friday with the runner"))
    world.change(RemoveEdge(first, first, "causal"))  # nothing there: changes nothing, and has no history
    assert world.read(lambda connection: history.of_operation(connection, world.done[-1])) == []
    second = Insight("bbbbbbbb-2", at(1), at(1), content="Ana deploys", paired_with=first)
    world.change(
        AddInsight(second, vector_for(second.content)),
        PutInsight(msgspec.structs.replace(world.insight(first), paired_with=second.id), "PAIR"),
    )
    before = portrait(world)
    world.forget(second.id)
    assert world.insight(first).paired_with is None
    undone(world.undo())
    assert portrait(world) == before
    check(world)
