"""What an export says is what a store has that reads it, byte for byte; nothing is half restored."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.interchange import export
from mnemond.interchange.export import Selection
from mnemond.interchange.restore import Record, Report, restore
from mnemond.model.relations import When
from mnemond.store.engine import Engine
from mnemond.store.verify import verify_closed
from tests.examples import examples
from tests.faults.failing_vfs import FailingVfs, Fault
from tests.faults.test_state_machine import Stores
from tests.memory.relation_world import RelationWorld
from tests.store.factories import START_US, engine_at, forget, insight_id, remember
from tests.store.mirror import mirrored

NOW = "2026-11-28T09:00:00.000000Z"


def record(op_id: str = "import-1", **fields: Any) -> Record:
    return Record(op_id, "digest", NOW, "user", **fields)


def lines_of(engine: Engine, selection: Selection = Selection()) -> list[bytes]:  # noqa: B008 - frozen
    found = engine.read(lambda connection: list(export.lines(connection, selection)))
    assert isinstance(found, list)
    return found


def restored(engine: Engine, lines: list[bytes], note: Record | None = None) -> Report:
    return engine.rewrite(lambda connection: restore(connection, lines, note or record()), rows=True)


@pytest.fixture(scope="module", autouse=True)
def vfs() -> Iterator[None]:
    """The disk of the state machine, which fails when it is told to."""
    registered = FailingVfs()
    yield
    registered.unregister()


class Moved(Stores):
    """Whatever was done to a store, another one that reads its export has the same export."""

    def break_disk(self, at: int, fault: Fault, persistent: bool) -> None:
        """Not here: a disk that fails is another test's."""

    def teardown(self) -> None:
        if not hasattr(self, "engine"):
            return
        home = Path(tempfile.mkdtemp())
        there = engine_at(home / "b.db")
        try:
            before = lines_of(self.engine)
            restored(there, before)
            assert lines_of(there) == before
            mirrored(there, home / "b.db")
            assert restored(there, before, record("import-2")).added == {}, "a second one changes nothing"
            assert lines_of(there) == before
        finally:
            there.close()
            (home / "b.db").chmod(0o600)
            wrong = [each for each in verify_closed(home / "b.db", "full", START_US) if each.problems]
            shutil.rmtree(home)
            super().teardown()
        assert wrong == []


TestMoved = Moved.TestCase
TestMoved.settings = settings(stateful_step_count=20, suppress_health_check=list(HealthCheck), deadline=None)


@pytest.fixture
def source(tmp_path: Path) -> list[bytes]:
    """An export of three memories, one of them forgotten."""
    engine = engine_at(tmp_path / "source.db")
    engine.commit([remember(1), remember(2), remember(3), forget(2)])
    found = lines_of(engine)
    engine.close()
    return found


def changed(line: bytes, **fields: Any) -> bytes:
    return msgspec.json.encode({**msgspec.json.decode(line), **fields})


def at_kind(lines: list[bytes], kind: str) -> int:
    return next(at for at, line in enumerate(lines) if msgspec.json.decode(line)["kind"] == kind)


def test_it_can_be_read_and_recalled_at_once(tmp_path: Path, source: list[bytes]) -> None:
    engine = engine_at(tmp_path / "a.db")
    report = restored(engine, source)
    assert report.active == 2
    assert report.added == {"memory": 3, "operation": 4}
    seen = mirrored(engine, tmp_path / "a.db")
    assert {each["insight"].content for each in seen.values()} == {"memory number 1", "memory number 3"}
    engine.close()


def test_what_is_known_stays_as_it_is_here(tmp_path: Path, source: list[bytes]) -> None:
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(1, "another text"), remember(9)])
    report = restored(engine, source)
    assert report.active == 1
    assert [(each.id[:8], each.why) for each in report.conflicts] == [("00000001", "it has another text here")]
    texts = {each["insight"].content for each in mirrored(engine, tmp_path / "a.db").values()}
    assert texts == {"another text", "memory number 3", "memory number 9"}
    engine.close()


BROKEN: dict[str, tuple[str, Any]] = {
    "is no line of an export": ("memory", b"{broken"),
    "is no line of": ("memory", b"[1]"),
    "is no line": ("memory", b'{"kind":"memory"}'),
    "is of version 2 of the format; this mnemond reads version 1": ("memory", {"mnemond": 2}),
    "has no `kind` that is a text": ("memory", {"kind": 7}),
    "has a value that cannot be used: created_at": ("memory", {"created_at": "yesterday"}),
    "has a value that cannot be used: importance": ("memory", {"importance": True}),
    "has a value that cannot be used: tags": ("memory", {"tags": "no list"}),
    "has a value that cannot be used: access_count": ("memory", {"access_count": 1 << 70}),
    "has a value that cannot be used: cues": ("memory", {"cues": [{"text": "x"}]}),
    "has no `id` or no `content`": ("memory", {"content": None}),
    "has a text of 100,000 characters": ("memory", {"content": "x" * 100_000}),
    "does not fit into a store: .*importance": ("memory", {"importance": 9}),
    "cannot be used: status": ("memory", {"status": "gone"}),
    "does not fit into a store: .*deleted_at": ("memory", {"status": "forgotten"}),
    "cannot be used: after_state": ("operation", {"after_state": {"insight": 7}}),
    "does not fit into a store: .*op_id": ("operation", {"op_id": None}),
    "begins another export": ("memory", {"kind": "meta"}),
    "brings a rule that asks": (
        "memory", {"when": [{"pattern": "Bash:git push*", "enforce": "deny", "state": "on"}]}
    ),
}  # fmt: skip


@pytest.mark.parametrize("why", BROKEN)
def test_a_line_that_does_not_fit_is_named_and_nothing_is_restored(
    tmp_path: Path, source: list[bytes], why: str
) -> None:
    kind, change = BROKEN[why]
    at = at_kind(source, kind)
    line = change if isinstance(change, bytes) else changed(source[at], **change)
    lines = [*source[:at], line, *source[at + 1 :]]
    engine = engine_at(tmp_path / "a.db")
    engine.commit([remember(9)])
    before = lines_of(engine)
    with pytest.raises(MnemonError, match=why) as caught:
        restored(engine, lines)
    assert caught.value.message.startswith(f"line {at + 1} ")
    assert caught.value.kind is INVALID_PARAMS
    assert lines_of(engine) == before
    mirrored(engine, tmp_path / "a.db")
    engine.close()


def test_a_person_may_bring_rules_that_are_enforced(tmp_path: Path, source: list[bytes]) -> None:
    at = at_kind(source, "memory")
    rule = [{"pattern": "Bash:git push*", "enforce": "deny", "state": "on"}]
    lines = [*source[:at], changed(source[at], when=rule), *source[at + 1 :]]
    engine = engine_at(tmp_path / "a.db")
    assert restored(engine, lines, record(by_person=True)).enforced == 1
    assert lines_of(engine) == lines
    engine.close()


def test_lines_and_fields_of_a_later_version_are_passed_over(tmp_path: Path, source: list[bytes]) -> None:
    at = at_kind(source, "memory")
    later = [*source[:at], changed(source[at], mood="fine"), b'{"mnemond":1,"kind":"mood","x":1}', *source[at + 1 :]]
    engine = engine_at(tmp_path / "a.db")
    assert restored(engine, later).ignored == 1
    assert lines_of(engine) == source
    engine.close()


def test_the_first_line_says_what_it_is(tmp_path: Path, source: list[bytes]) -> None:
    engine = engine_at(tmp_path / "a.db")
    with pytest.raises(MnemonError, match="line 1 is not the first of an export"):
        restored(engine, source[1:])
    engine.close()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)


@settings(examples(150, least=20), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
def test_garbage_is_refused_with_a_sentence_or_restored(source: list[bytes], data: st.DataObject) -> None:
    lines = list(source)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        fields = msgspec.json.decode(lines[at])
        name = data.draw(st.sampled_from([*fields, "mentions", "behind", "target_id"]))
        lines[at] = msgspec.json.encode({**fields, name: data.draw(JSON)})
    home = Path(tempfile.mkdtemp())
    engine = engine_at(home / "a.db")
    refused: MnemonError | None = None
    try:
        restored(engine, lines)
    except MnemonError as error:
        refused = error
    try:
        if refused is not None:
            assert refused.kind is INVALID_PARAMS, refused.message
            assert refused.message.startswith("line ")
            assert len(lines_of(engine)) == 1
        else:
            mirrored(engine, home / "a.db")
            assert restored(engine, lines, record("import-2")).active == 0
    finally:
        engine.close()
        shutil.rmtree(home)


NAMES = ("Alice", "Bob", "Acme", "Globex", "Berlin")
STEPS = st.one_of(
    st.tuples(st.just("remember"), st.sampled_from(NAMES), st.sampled_from(["works at", "lives in", "leads"]),
              st.sampled_from(NAMES)),
    st.tuples(st.just("add"), st.sampled_from(NAMES), st.just("works_at"), st.sampled_from(NAMES)),
    st.tuples(st.just("close"), st.sampled_from(NAMES), st.just("works_at"), st.just("")),
    st.tuples(st.sampled_from(["forget", "purge", "undo"]), st.just(""), st.just(""), st.just("")),
)  # fmt: skip


def lived(world: RelationWorld, step: tuple[str, str, str, str]) -> None:
    """Do one step; what is refused changes nothing."""
    what, source, kind, target = step
    world.us += 3_600_000_000
    with suppress(MnemonError):
        match what:
            case "remember":
                text = f"{source} {kind} {target}"
                origin = "host" if source < target else "model"
                world.say(
                    source, kind.replace(" ", "_"), target, memory=world.remember(text), origin=origin, quote=text
                )
            case "add":
                world.add(source, kind, target, since="2020-01-01T00:00:00.000000Z")
            case "close":
                world.close(source, kind, at="2024-05-01T00:00:00.000000Z")
            case "undo":
                world.undo()
            case "forget" | "purge" if world.memories:
                getattr(world, what)(insight_id(1 + world.us // 3_600_000_000 % world.memories))
            case _:
                pass


@settings(examples(60, least=10), deadline=None)
@given(st.lists(STEPS, max_size=25))
def test_relations_move_with_what_was_read_of_them(steps: list[tuple[str, str, str, str]]) -> None:
    home = Path(tempfile.mkdtemp())
    here, there = RelationWorld(home / "a.db"), RelationWorld(home / "b.db")
    try:
        for step in steps:
            lived(here, step)
        before = lines_of(here.engine)
        restored(there.engine, before)
        assert lines_of(there.engine) == before
        there.us, there.operations = here.us, 1_000_000 + here.operations
        assert there.told() == here.told(), "nothing is read twice, and nothing is left out"
    finally:
        here.engine.close()
        there.engine.close()
        shutil.rmtree(home)


def test_relations_that_rules_read_are_left_out(tmp_path: Path) -> None:
    """Exports of a development checkout may have them."""
    here, there = RelationWorld(tmp_path / "a.db"), RelationWorld(tmp_path / "b.db")
    here.say("Alice", "works_at", "Acme", memory=here.remember("Alice works at Acme"))
    here.add("Bob", "works_at", "Globex", since="2021-01-01T00:00:00.000000Z")
    restored(there.engine, [each.replace(b'"origin":"model"', b'"origin":"rules"') for each in lines_of(here.engine)])
    there.operations, there.us = 500, here.us + 1
    assert [row[:3] for row in there.told()] == [("Bob", "works_at", "Globex")]
    assert [row[:3] for row in there.told(When(None, NOW))] == [("Bob", "works_at", "Globex")]
    here.engine.close()
    there.engine.close()


def test_relations_are_added_to_those_that_are_there(tmp_path: Path) -> None:
    here, there = RelationWorld(tmp_path / "a.db"), RelationWorld(tmp_path / "b.db")
    said = here.remember("Alice works at Acme since 2020")
    here.say("Alice", "works_at", "Acme", memory=said)
    here.add("Bob", "works_at", "Globex", since="2021-01-01T00:00:00.000000Z")
    there.memories = 10
    said = there.remember("Alice lives in Berlin since 2019")
    there.say("Alice", "lives_in", "Berlin", memory=said)
    restored(there.engine, lines_of(here.engine))
    there.operations, there.us = 500, here.us + 1
    assert [row[:3] for row in there.told()] == [
        ("Alice", "lives_in", "Berlin"), ("Alice", "works_at", "Acme"), ("Bob", "works_at", "Globex"),
    ]  # fmt: skip
    here.engine.close()
    there.engine.close()


def test_operations_on_relations_of_an_earlier_format_can_be_undone(tmp_path: Path) -> None:
    """They were lines of a kind of their own, behind those of memories."""
    here, there = RelationWorld(tmp_path / "a.db"), RelationWorld(tmp_path / "b.db")
    here.remember("Alice works at Acme")
    added = here.add("Bob", "works_at", "Globex", since="2021-01-01T00:00:00.000000Z")
    lines = [msgspec.json.decode(each) for each in lines_of(here.engine)]
    [of_relations] = [each for each in lines if each["kind"] == "operation" and not each["memory_id"]]
    lines.remove(of_relations)
    former = {name: value for name, value in of_relations.items() if name not in ("memory_id", "operation_type")}
    former |= {"kind": "knowledge", "method": of_relations["operation_type"], "detail": "type=works_at", "behind": 1}
    report = restored(there.engine, [*map(msgspec.json.encode, lines), msgspec.json.encode(former)])
    assert (report.added["operation"], report.ignored) == (2, 0)
    assert lines_of(there.engine) == lines_of(here.engine)
    there.operations, there.us = 500, here.us + 1
    assert there.undo(added) == added
    assert there.told() == []
    here.engine.close()
    there.engine.close()
