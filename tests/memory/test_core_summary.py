"""Versions of core summaries in a store: written, current as long as their sources hold, undone and purged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from mnemond.errors import MnemonError
from mnemond.memory.core_summary import Draft, entity_of, holds, is_due, propose, source_of
from mnemond.model.core import BY_HAND, NOTHING_KNOWN, CoreLine, CoreScore, CoreSummary, joined
from mnemond.model.outcomes import CoreResult, Outcome, UndoResult
from mnemond.store import core_summaries, history, operations, relations
from mnemond.text.tokens import word_count
from tests.memory.audit_world import assert_sound
from tests.memory.revision_world import RevisionWorld
from tests.store.test_purge import traces

TABS = "Ana prefers tabs to spaces"
DEPLOY = "Decided to deploy the billing service on Mondays"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[RevisionWorld]:
    directory = tmp_path / "store"
    directory.mkdir(mode=0o700)
    made = RevisionWorld(directory / "mnemon.db")
    yield made
    made.engine.close()


def line(world: RevisionWorld, insight_id: str) -> CoreLine:
    it = world.insight(insight_id)
    return CoreLine(it.content, "Preferences", (source_of(it),))


def put(world: RevisionWorld, *lines: CoreLine, by: str = "user", **fields: object) -> CoreResult:
    scores = tuple(CoreScore(each, 0.5, 0.5, 0.5, 0.5, 0.5) for it in lines for each in [s.id for s in it.sources])
    draft = msgspec.structs.replace(Draft(user=None, lines=lines, scores=scores), **fields)
    identity = msgspec.structs.replace(world.identity(), triggered_by=by)
    return core_result(world.commit(propose(draft, identity, "core.update")))


def core_result(outcome: Outcome | MnemonError) -> CoreResult:
    assert isinstance(outcome, CoreResult), outcome
    return outcome


def undo(world: RevisionWorld, operation: str | None = None) -> UndoResult:
    outcome = world.undo(operation)
    assert isinstance(outcome, UndoResult), outcome
    return outcome


def current(world: RevisionWorld, user: str | None = None) -> CoreSummary | None:
    """The current version as the event loop has it, which is that of the file."""
    cached = world.engine.core_summaries.get(entity_of(user))
    stored: CoreSummary | None = world.read(core_summaries.current).get(entity_of(user))
    assert cached == stored
    return cached


def test_versions_count_up_and_the_newest_counts(world: RevisionWorld) -> None:
    tabs, deploy = world.new(TABS), world.new(DEPLOY)
    first = put(world, line(world, tabs))
    second = put(world, line(world, tabs), line(world, deploy), reason="no answer", upto=7)
    assert (first.version, second.version, second.status, second.memories) == (1, 2, "made", 2)
    found = current(world)
    assert found is not None
    assert (found.version, found.source_ids, found.op_id, found.upto) == (2, [tabs, deploy], second.op_id, 7)
    assert found.text == f"Preferences:\n- {TABS}\n- {DEPLOY}"
    assert [each.id for each in found.scores] == [tabs, deploy]
    assert second.words == word_count(found.text)
    row = world.read(lambda it: relations.entity(it, entity_of(None)))
    assert (row.name, row.canonical, row.kind) == ("User", "default", "user")


def test_the_same_again_is_no_version(world: RevisionWorld) -> None:
    it = line(world, world.new(TABS))
    put(world, it)
    again = put(world, it)
    assert (again.status, again.version) == ("unchanged", 1)
    assert len(world.read(lambda c: core_summaries.versions(c, entity_of(None), 10))) == 1


def test_users_have_one_each(world: RevisionWorld) -> None:
    tabs, deploy = world.new(TABS), world.new(DEPLOY)
    put(world, line(world, tabs), user="ana")
    put(world, line(world, deploy), user="bob")
    assert [found.source_ids for user in ("ana", "bob") if (found := current(world, user))] == [[tabs], [deploy]]
    assert current(world) is None


def test_a_source_that_left_or_changed_before_its_turn_is_left_out(world: RevisionWorld) -> None:
    tabs, deploy = world.new(TABS), world.new(DEPLOY)
    lines = line(world, tabs), line(world, deploy)
    world.update(deploy, content="Decided to deploy the billing service on Tuesdays")
    result = put(world, *lines, text="Ana uses tabs and deploys on Mondays.", generator="qwen")
    found = current(world)
    assert found is not None
    assert (found.source_ids, found.generator, result.generator) == ([tabs], "rules", "rules")
    assert "Mondays" not in found.text


def test_a_line_holds_as_long_as_its_source_says_the_same(world: RevisionWorld) -> None:
    tabs, deploy, other = world.new(TABS), world.new(DEPLOY), world.new("Ana prefers spaces to tabs since June")
    lines = line(world, tabs), line(world, deploy)
    world.update(deploy, importance=5)
    assert all(holds(each, world.snapshot) for each in lines)
    world.supersede(tabs, other)
    assert [holds(each, world.snapshot) for each in lines] == [False, True]
    forgotten = world.drop(deploy)
    assert not holds(lines[1], world.snapshot)
    world.undo(forgotten.op_id)
    assert holds(lines[1], world.snapshot)


def test_undo_takes_a_version_back_and_puts_it_back(world: RevisionWorld) -> None:
    tabs, deploy = world.new(TABS), world.new(DEPLOY)
    put(world, line(world, tabs))
    put(world, line(world, deploy))
    back = undo(world)
    assert (back.method, back.memories, back.relations) == ("core.update", [], 0)
    found = current(world)
    assert found is not None
    assert found.source_ids == [tabs]
    undo(world, back.op_id)
    found = current(world)
    assert found is not None
    assert (found.version, found.source_ids) == (3, [deploy])
    assert_sound_after(world)


def test_a_version_of_the_job_is_undone_by_name_alone(world: RevisionWorld) -> None:
    tabs = world.new(TABS)
    done = put(world, line(world, tabs), by="system:core_summary")
    assert undo(world).memories[0].id == tabs
    world.undo(world.done[-1])
    assert current(world) is not None
    assert undo(world, done.op_id).undone == done.op_id
    assert current(world) is None


def test_every_change_is_in_the_log_and_the_audit(world: RevisionWorld) -> None:
    done = put(world, line(world, world.new(TABS)), by="system:core_summary")
    newest = world.read(lambda it: operations.newest_lines(it, 1))[0]
    assert (newest.operation, newest.detail) == ("core", "rules words=6 memories=1")
    [audit] = world.read(lambda it: history.of_operation(it, done.op_id))
    assert (audit.operation_type, audit.triggered_by) == ("core.update", "system:core_summary")


def test_old_versions_go(world: RevisionWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_summaries, "MAX_VERSIONS", 2)
    ids = [world.new(f"Ana prefers number {each}") for each in range(4)]
    for each in ids:
        put(world, line(world, each))
    kept = world.read(lambda it: core_summaries.versions(it, entity_of(None), 10))
    assert [each.version for each in kept] == [4, 3]


# ------------------------------------------------------------------ purge


def test_a_purge_leaves_nothing_of_a_memory_in_any_version(world: RevisionWorld) -> None:
    secret, tabs = world.new("Ana prefers the Xyzzyplugh keyboard"), world.new(TABS)
    by_hand = CoreLine("She wants a Xyzzyplugh", "", ())
    put(world, line(world, secret), line(world, tabs))
    put(world, line(world, secret), line(world, tabs), text="Ana: tabs, Xyzzyplugh.", generator="qwen")
    put(world, by_hand, line(world, tabs), generator=BY_HAND)
    put(world, line(world, tabs), text="A keyboard: Xyzzyplugh keyboard Ana prefers", generator="qwen")
    undo(world)
    world.drop(secret, purge=True)
    assert traces(world.path.parent) == []
    kept = world.read(lambda it: core_summaries.versions(it, entity_of(None), 10))
    assert [each.source_ids for each in kept] == [[tabs]] * 4
    assert all(TABS in each.text for each in kept[1:])
    assert_sound_after(world)


def test_a_purge_takes_what_a_person_wrote_without_a_source(world: RevisionWorld) -> None:
    tabs = world.new(TABS)
    put(world, CoreLine("I like it quiet", "", ()), generator=BY_HAND)
    world.drop(tabs, purge=True)
    found = current(world)
    assert found is not None
    assert (found.text, found.lines, found.generator) == (NOTHING_KNOWN, (), BY_HAND)


def test_a_purge_takes_lines_that_say_the_same(world: RevisionWorld) -> None:
    one, other = world.new("The Xyzzyplugh keyboard is what Ana prefers"), world.new(TABS)
    source = source_of(world.insight(other))
    put(world, CoreLine("Ana prefers the Xyzzyplugh keyboard", "", (source,)), generator=BY_HAND)
    world.drop(one, purge=True)
    assert traces(world.path.parent) == []


def test_a_version_that_cannot_be_read_does_not_count_and_goes_with_a_purge(world: RevisionWorld) -> None:
    tabs, other = world.new(TABS), world.new(DEPLOY)
    put(world, line(world, tabs))
    put(world, line(world, other))
    world.read(lambda it: it.run("UPDATE core_summaries SET lines = '{' WHERE version = 2"))
    assert world.read(core_summaries.current) == {}
    assert [each.version for each in world.read(lambda it: core_summaries.versions(it, entity_of(None), 9))] == [1]
    world.drop(other, purge=True)
    assert world.read(lambda it: it.column("SELECT version FROM core_summaries")) == [1]


def test_an_unrelated_purge_leaves_a_version_as_it_was(world: RevisionWorld) -> None:
    tabs, other = world.new(TABS), world.new(DEPLOY)
    put(world, line(world, tabs), text="She uses tabs.", generator="qwen")
    world.drop(other, purge=True)
    found = current(world)
    assert found is not None
    assert (found.text, found.generator, found.source_ids) == ("She uses tabs.", "qwen", [tabs])


# ------------------------------------------------------------------ values


def test_when_the_job_makes_a_version() -> None:
    by_rules = CoreSummary(id=1, entity_id="e", version=1, text="x", created_at="t")
    by_hand = msgspec.structs.replace(by_rules, generator=BY_HAND, lines=(CoreLine("x"),))
    emptied = msgspec.structs.replace(by_rules, generator=BY_HAND)
    assert [is_due(each, 10, 10) for each in (None, by_rules, by_hand, emptied)] == [True, True, False, True]
    assert not is_due(None, 9, 10)


def test_words_are_counted_in_every_script() -> None:
    assert word_count("Preferences:\n- Ana uses tabs, since 2024") == 6
    assert word_count("她喜欢用制表符") == 4
    assert word_count("") == word_count(" - … ") == 0


def test_a_section_is_named_once() -> None:
    lines = CoreLine("a", "Preferences"), CoreLine("b", "Preferences"), CoreLine("c", "Facts")
    assert joined(lines) == "Preferences:\n- a\n- b\nFacts:\n- c"
    assert joined((CoreLine("as I", ""), CoreLine("wrote it", ""))) == "as I\nwrote it"
    assert joined(()) == "N/A"


def assert_sound_after(world: RevisionWorld) -> None:
    world.engine.close()
    assert_sound(world.path, world.clock_us)
