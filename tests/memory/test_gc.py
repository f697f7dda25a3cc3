"""gc: what it lists and in which order, what it leaves alone, and what each of its writes comes to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from mnemond.config.writing import LifecycleSettings
from mnemond.errors import NOT_FOUND, MnemonError
from mnemond.index.writer import MemoryIndex
from mnemond.memory import retention
from mnemond.model.answers import GcCandidate, GcFlagged
from mnemond.model.changes import AddInsight, RetireInsight
from mnemond.model.memory import Edge, Insight, Scope, Trigger
from mnemond.model.outcomes import GcDone, GcKept
from mnemond.store import history, insights, operations
from tests.memory.audit_world import UNBOUNDED, AuditWorld, at
from tests.memory.test_audit_replay import check
from tests.memory.test_capacity import NOW_US, memory, snapshot_of

SETTINGS = LifecycleSettings()
ALL = retention.Bounds(10.0, 100)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[AuditWorld]:
    made = AuditWorld(tmp_path / "a.db", UNBOUNDED)
    yield made
    made.engine.close()


def add(world: AuditWorld, *names: str, days: float = 0.0, **fields: object) -> None:
    hours = days * 24
    made = (Insight(name, at(hours), at(hours), content=f"{name} says", **fields) for name in names)  # type: ignore[arg-type]
    world.change(*(AddInsight(it) for it in made))


# ------------------------------------------------------------------ listing


def test_the_least_important_come_first_with_their_figures() -> None:
    old = memory("old", days=60, importance=2)
    fresh = memory("fresh", days=1.04)
    edges = (Edge("old", "fresh", "temporal", 0.5), Edge("fresh", "old", "temporal", 0.5))
    found, many = retention.weak(snapshot_of(fresh, old, edges=edges), ALL, SETTINGS, NOW_US)
    assert [each.id for each in found] == ["old", "fresh"]
    assert many == 2
    assert found[0] == GcCandidate(
        "old", old.content, old.category, 2, 0, round(0.3 * 2**-2 * 1.1, 6), 60.0, 1, immune=False
    )
    assert found[1].days_since_access == 1.0


def test_only_what_lies_below_the_threshold_and_no_more_than_the_limit() -> None:
    snapshot = snapshot_of(*(memory(f"m{number}", days=30 * number) for number in range(5)))
    found, many = retention.weak(snapshot, retention.Bounds(0.2, 2), SETTINGS, NOW_US)  # .5, .25, .125, .0625, .03125
    assert [each.id for each in found] == ["m4", "m3"]
    assert many == 3
    assert retention.weak(snapshot, retention.Bounds(0.125, 9), SETTINGS, NOW_US)[1] == 2  # not what is equal to it


def test_the_immune_are_never_listed() -> None:
    snapshot = snapshot_of(
        memory("important", days=900, importance=4),
        memory("used", days=900, access_count=3),
        memory("pinned", days=900, pinned=True),
        memory("enforced", days=900, when=(Trigger("Bash:git push*", "deny"),)),
        memory("older", days=900, paired_with="younger"),
        memory("younger", days=800, paired_with="older"),
    )
    assert [each.id for each in retention.weak(snapshot, ALL, SETTINGS, NOW_US)[0]] == ["younger"]


def test_a_scope_sees_its_own_and_what_is_for_everyone() -> None:
    snapshot = snapshot_of(
        memory("ana", scope=Scope(user_id="ana")), memory("bob", scope=Scope(user_id="bob")), memory("all"),
        memory("session", scope=Scope(session_id="s1")),
    )  # fmt: skip

    def seen(scope: Scope) -> set[str]:
        return {each.id for each in retention.weak(snapshot, retention.Bounds(10.0, 9, scope), SETTINGS, NOW_US)[0]}

    assert seen(Scope()) == {"ana", "bob", "all", "session"}
    assert seen(Scope(user_id="ana")) == {"ana", "all", "session"}
    assert seen(Scope(session_id="s2")) == {"ana", "bob", "all"}
    assert [snapshot.insight(row).id for row in retention.visible_rows(snapshot, Scope(user_id="bob"))] == [
        "bob", "all", "session",
    ]  # fmt: skip


def test_dead_rows_are_neither_listed_nor_reviewed() -> None:
    index = MemoryIndex.build([(memory("a"), None), (memory("b"), None)], [], 0)
    snapshot = index.apply([RetireInsight("a", "forgotten")])
    assert [each.id for each in retention.weak(snapshot, ALL, SETTINGS, NOW_US)[0]] == ["b"]
    assert retention.visible_rows(snapshot, Scope()) == [1]
    assert retention.visible_rows(snapshot_of(memory("a")), Scope()) == [0]


# ------------------------------------------------------------------ review


def test_texts_to_review_are_told_why_and_without_their_secrets() -> None:
    secret = "password=hunter2-and-7-more"
    snapshot = snapshot_of(
        memory("fine"),
        msgspec.structs.replace(memory("stale"), content="As of today, line 42 of main.py is currently broken"),
        msgspec.structs.replace(memory("secret"), content=f"The runner logs in with {secret}"),
    )
    found = retention.worst_first(retention.review(snapshot, retention.visible_rows(snapshot, Scope())))
    assert [each.id for each in found] == ["stale", "secret"]
    assert len(found[0].quality_warnings) > 1
    assert any(warning.startswith("holds what looks like a secret: ") for warning in found[1].quality_warnings)
    assert "hunter2" not in found[1].content


def test_of_equally_many_warnings_the_more_important_then_the_newer() -> None:
    flagged = [
        retention.Flagged(GcFlagged(name, "", importance, ["w"] * many), memory(name, days=days).created_at)
        for name, days, importance, many in (("a", 3, 3, 1), ("b", 2, 5, 1), ("c", 1, 3, 1), ("d", 9, 1, 2))
    ]
    assert [each.id for each in retention.worst_first(flagged)] == ["d", "b", "c", "a"]


# ------------------------------------------------------------------ writes


def test_keeping_a_memory_makes_it_immune(world: AuditWorld) -> None:
    add(world, "weak-1", days=90)
    result = world.keep("weak-1")
    assert isinstance(result, GcKept)
    assert (result.new_access, result.immune, result.content) == (3, True, "weak-1 says")
    assert result.effective_importance == pytest.approx(0.5 * 1.386294, abs=1e-5)  # ln 4, read just now
    assert world.insight("weak-1").last_accessed_at == world.insight("weak-1").updated_at
    assert retention.weak(world.snapshot, ALL, SETTINGS, world.clock_us)[1] == 0
    line = world.read(lambda connection: operations.newest_lines(connection, 1))[0]
    assert (line.operation, line.insight_id, line.detail) == ("gc-keep", "weak-1", "access+3")
    record = world.read(lambda connection: history.of_memory(connection, "weak-1", 1))[0]
    assert record.operation_type == "UPDATE"
    check(world)


@pytest.mark.parametrize("name", ["nowhere", "gone-1"])
def test_only_an_active_memory_can_be_kept(world: AuditWorld, name: str) -> None:
    add(world, "gone-1")
    world.forget("gone-1")
    error = world.keep(name)
    assert isinstance(error, MnemonError)
    assert error.kind is NOT_FOUND


def test_what_is_listed_is_let_go_of_as_one_operation(world: AuditWorld) -> None:
    add(world, "weak-1", "weak-2", "weak-3", days=200)
    add(world, "fresh-1")
    result = world.collect(0.3, 2)
    assert isinstance(result, GcDone)
    assert (result.ids, result.left, result.status) == (["weak-1", "weak-2"], 1, "retired")
    assert world.active() == ["fresh-1", "weak-3"]
    assert world.insight("weak-1").status == "forgotten"
    line = world.read(lambda connection: operations.newest_lines(connection, 1))[0]
    assert (line.operation, line.detail) == ("gc", "threshold=0.3 retired=2")
    check(world)


def test_nothing_to_let_go_of_is_no_error(world: AuditWorld) -> None:
    add(world, "fresh-1")
    result = world.collect(0.3, 2)
    assert isinstance(result, GcDone)
    assert (result.ids, result.left) == ([], 0)


def test_the_longest_forgotten_are_removed_first_and_so_many_at_a_time(
    world: AuditWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(world, "one-111", "two-222", "three-3", "kept-444")
    for name in ("two-222", "one-111", "three-3"):
        world.forget(name)
    forgotten_us = world.clock_us
    monkeypatch.setattr(retention, "PURGED_AT_ONCE", 2)

    def purge(days: int) -> GcDone:
        result = world.commit(retention.propose_purge(days, world.identity()))
        assert isinstance(result, GcDone)
        assert (result.status, result.count) == ("purged", len(result.ids))
        return result

    assert purge(1).ids == []  # they were forgotten hours ago
    world.clock_us = forgotten_us + 2 * 86_400_000_000
    first = purge(1)
    assert (first.ids, first.left) == (["two-222", "one-111"], 1)
    second = purge(1)
    assert (second.ids, second.left) == (["three-3"], 0)
    assert world.read(lambda connection: insights.ids_beginning(connection, "", 9)) == ["kept-444"]
    records = world.read(lambda connection: history.of_memory(connection, "one-111", 9))
    assert [record.operation_type for record in records] == ["CREATE", "DELETE", "DELETE"]
    assert all(record.before is None and record.after is None for record in records)
    assert world.snapshot.live == 1


def test_a_purge_of_more_days_than_there_were_removes_nothing(world: AuditWorld) -> None:
    add(world, "one-111")
    world.forget("one-111")
    result = world.commit(retention.propose_purge(36_500, world.identity()))
    assert isinstance(result, GcDone)
    assert result.ids == []
