"""forget --purge: not a byte of a memory stays in any file of the store (reliability promise P9)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

from mnemond.errors import NOT_FOUND, MnemonError
from mnemond.memory.draft import Draft
from mnemond.memory.remember import prepare, propose
from mnemond.model.changes import AddEdge
from mnemond.model.memory import Edge, Scope, Trigger
from mnemond.model.outcomes import (
    Conflict,
    EntityResult,
    GcKept,
    LinkResult,
    MergeResult,
    QualityDetail,
    RelationResult,
    RememberResult,
    ResolveResult,
    RestoreResult,
    RuleResult,
    SemanticCandidate,
    SummarizeResult,
    UndoneMemory,
    UndoResult,
    United,
    UpdateResult,
)
from mnemond.model.relations import RelationshipView
from mnemond.store import backups, operations, purge
from mnemond.store.connection import Connection
from mnemond.text.similarity import _cached_token_set
from tests.memory.audit_world import vector_for
from tests.memory.revision_world import PAIRING, RevisionWorld
from tests.outcomes import collected, made, remembered
from tests.store.factories import bytes_of, engine_at, insight_id, remember, stored
from tests.tables import each_row

SECRETS = ("Xyzzyplugh", "Quuxfoobar", "Zorkmid", "Frobozz")
"""Words that stand in no other memory: of the content, a tag, an entity, the metadata of a link."""

TEXT = "Bug: the Xyzzyplugh importer fails because of empty lines on 2026-03-04. Fixed by skipping 空行解析器 there."
CHINESE = "空行解析器"


def traces(directory: Path, *more: bytes) -> list[bytes]:
    """Which of the wanted bytes are there."""
    content = bytes_of(directory)
    wanted = [word.encode() for word in (*SECRETS, CHINESE)] + [word.casefold().encode() for word in SECRETS]
    return [each for each in (*wanted, *more) if each in content]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[RevisionWorld]:
    directory = tmp_path / "store"
    directory.mkdir()
    made = RevisionWorld(directory / "mnemon.db")
    yield made
    made.engine.close()


def planted(world: RevisionWorld, op: str | None = None) -> str:
    """A memory with something distinctive wherever a memory can have it."""
    neighbour = world.new("The importer runs at night", tags=("nightly",))
    one = world.new(TEXT, tags=("Quuxfoobar",), entities=("Zorkmid Labs",), entity_mode="merge")
    for edge in (Edge(one, neighbour, "causal", 0.5, '{"why":"Frobozz"}', "user"),
                 Edge(neighbour, one, "semantic", 0.5, '{"why":"Frobozz"}', "user"),
                 Edge(one, neighbour, "semantic", 0.5, '{"why":"Frobozz"}', "user")):  # fmt: skip
        world.change(AddEdge(edge, audited=True))
    return one


def supersede(world: RevisionWorld, one: str) -> None:
    world.supersede(one, world.new("The importer was rewritten"))


def merge(world: RevisionWorld, one: str) -> None:
    world.merge(one, world.new("The importer was rewritten"), content="The importer is new")


def update(world: RevisionWorld, one: str) -> None:
    world.update(one, content="The importer was rewritten", tags=(), entities=(), op="the-update")


def replace(world: RevisionWorld, one: str) -> None:
    world.supersede(world.new("An importer of old"), one)


def restored(world: RevisionWorld, one: str) -> None:
    world.drop(one)
    world.restore(one)


def said_again(world: RevisionWorld, one: str) -> None:
    again = world.remember(TEXT, tags=("Frobozz",), entities=("Frobozz",), importance=5)
    assert isinstance(again, RememberResult)
    assert again.duplicate_of == one


HISTORIES: dict[str, Callable[[RevisionWorld, str], object]] = {
    "as it was written": lambda world, one: None,
    "forgotten": lambda world, one: world.drop(one),
    "updated": update,
    "said again": said_again,
    "superseded": supersede,
    "in the place of another": replace,
    "merged": merge,
    "restored": restored,
}


@pytest.mark.parametrize("story", HISTORIES)
def test_nothing_stays_whatever_became_of_it(world: RevisionWorld, story: str) -> None:
    one = planted(world)
    vector = vector_for(TEXT).astype("<f4").tobytes()
    directory = world.path.parent
    assert vector in bytes_of(directory)
    HISTORIES[story](world, one)
    assert set(traces(directory)) >= {b"Xyzzyplugh", b"Quuxfoobar", b"Zorkmid", CHINESE.encode()}
    # A link that moved on to a successor is the successor's now: it is removed as anybody would.
    moved = [edge for other in world.active() if other != one for edge in world.links(other)]
    gone = world.drop(one, purge=True)
    assert (gone.id, gone.status) == (one, "purged")
    kept = (
        [b"Frobozz", b"frobozz"]
        if any(one not in (e.source_id, e.target_id) and "Frobozz" in e.metadata for e in moved)
        else []
    )
    assert set(traces(directory, vector)) <= set(kept)
    world.mirrored()
    for row in range(world.snapshot.rows):
        assert world.snapshot.insight(row).id != one
        assert "Xyzzyplugh" not in world.snapshot.insight(row).content
    assert world.snapshot.find(one) == []
    assert world.snapshot.entity_spelling("zorkmid labs") is None
    assert world.snapshot.document_frequencies(["xyzzyplugh"]) == [0]
    assert _cached_token_set.cache_info().currsize <= world.snapshot.rows
    with pytest.raises(MnemonError) as caught:
        world.drop(one, purge=True)
    assert caught.value.kind is NOT_FOUND
    world.engine.close()
    assert set(traces(directory, vector)) <= set(kept)


NAMES = {"user_id": "Plughuser", "session_id": "Plughsession", "agent_id": "Plughagent"}
FIELDS = {"source": "Plughsource", "channel": "Plughchannel", "conversation_id": "Plughtalk"}
NOTED = {"Plughkey": "Plughvalue"}


@pytest.mark.parametrize("story", ["as it was written", "forgotten", "updated", "superseded", "restored"])
def test_no_name_of_it_stays_either(world: RevisionWorld, story: str) -> None:
    draft = Draft(content=TEXT, scope=Scope(**NAMES), metadata=NOTED, no_diff=True, **FIELDS)  # type: ignore[arg-type]
    identity = msgspec.structs.replace(
        world.identity(), op_id="theirs", client_op_id=True, triggered_by=FIELDS["conversation_id"]
    )
    one = identity.id
    prepared = prepare(draft, identity.now_us, world.snapshot.entity_spelling, world.config)
    world.commit(propose(prepared, identity, world.rules))
    world.update(one, tags=("Quuxfoobar",), op="the-change")
    HISTORIES[story](world, one)
    names = [name.encode() for name in (*NAMES.values(), *FIELDS.values(), *NOTED, *NOTED.values())]
    assert all(name in bytes_of(world.path.parent) for name in names)
    world.drop(one, purge=True)
    assert traces(world.path.parent, *names) == []
    assert world.read(lambda it: it.row("SELECT count(*) FROM oplog WHERE insight_id = ?", (one,))) >= (2,)
    world.engine.close()
    assert traces(world.path.parent, *names) == []


def test_the_store_goes_on_as_before(world: RevisionWorld) -> None:
    one = planted(world)
    others = {each: world.insight(each) for each in world.active() if each != one}
    world.drop(one, purge=True)
    after = {each: world.insight(each) for each in world.active()}
    assert [it.content for it in after.values()] == [it.content for it in others.values()]
    assert world.read(lambda it: it.rows("PRAGMA foreign_key_check")) == []
    assert world.read(lambda it: it.row("PRAGMA integrity_check")) == ("ok",)
    assert not world.read(purge.is_unwiped)
    assert world.new("life goes on") in world.active()
    assert [record.before for record in world.records() if record.memory_id == one] == [None] * len(
        [record for record in world.records() if record.memory_id == one]
    )


def test_a_partner_is_let_go(tmp_path: Path) -> None:
    world = RevisionWorld(tmp_path / "mnemon.db", PAIRING)
    one, two, three = world.new("tea at four"), world.new("coffee at noon"), world.new("milk at night")
    for first, second in ((one, two), (three, two)):
        world.revise(first, paired_with=second)
    world.revise(two, paired_with=one)
    world.drop(three)
    world.drop(two, purge=True)
    assert world.insight(one).paired_with is None
    assert world.row(three).paired_with is None
    world.mirrored()
    world.engine.close()


def test_the_chain_of_successors_closes(world: RevisionWorld) -> None:
    first, second, third = world.new("tea at four"), world.new("tea at five"), world.new("tea at six")
    world.supersede(first, second)
    world.supersede(second, third)
    world.drop(second, purge=True)
    assert world.row(first).superseded_by == third
    world.drop(third, purge=True)
    assert world.row(first).superseded_by is None


def test_who_took_over_its_words_is_named(world: RevisionWorld) -> None:
    one, other = world.new("tea at four"), world.new("coffee at noon")
    world.merge(one, other)
    assert world.drop(other, purge=True).merged_into == one
    assert "coffee" not in world.insight(one).content or "tea" in world.insight(one).content


def test_names_that_others_use_stay(world: RevisionWorld) -> None:
    world.new("Redis holds sessions", entities=("Foxglove",))
    one = world.new("Redis and Kafka", entities=("Foxglove", "Zorkmid Labs"))
    world.update(one, content="nothing to see", entities=("Larkspur",), entity_mode="provided")
    world.drop(one, purge=True)
    names = {row[0] for row in world.read(lambda it: it.rows("SELECT name FROM entities"))}
    assert names == {"Redis", "Foxglove"}


def test_what_was_written_from_it_goes_too(world: RevisionWorld) -> None:
    world.new("Redis holds sessions")
    one = world.new("Kafka carries events")

    def derive(it: Connection) -> None:
        (kafka,) = it.row("SELECT id FROM entities WHERE name = 'Kafka'") or ("",)
        (redis,) = it.row("SELECT id FROM entities WHERE name = 'Redis'") or ("",)
        it.run("UPDATE entities SET core_summary = 'Xyzzyplugh' WHERE id = ?", (kafka,))
        it.run("INSERT INTO core_summaries(entity_id, version, text, node_ids, generator, created_at)"
               " VALUES(?, 1, 'Xyzzyplugh', ?, 'x', 'x')", (kafka, f'["{one}"]'))  # fmt: skip
        it.run("INSERT INTO relationship_evidence(source_id, target_id, type, kind, at, strength, memory_id, quote,"
               " origin, op_id, created_at) VALUES(?, ?, 'uses', 'seen', 'x', 1, ?, 'Xyzzyplugh', 'host', 'o', 'x')",
               (kafka, redis, one))  # fmt: skip
        for table in ("pending_reviews", "jobs"):
            when = "created_at" if table == "pending_reviews" else "run_after"
            it.run(f"INSERT INTO {table}(kind, payload, {when}) VALUES('conflict', ?, 'x')",
                   (f'{{"id":"{one}","text":"Xyzzyplugh"}}',))  # fmt: skip
        it.run("INSERT INTO node_metrics(insight_id, computed_at) VALUES(?, 'x')", (one,))

    world.read(derive)
    assert traces(world.path.parent) == [b"Xyzzyplugh"]
    world.drop(one, purge=True)
    assert traces(world.path.parent) == []
    assert world.read(lambda it: it.rows("SELECT name FROM entities")) == [("Redis",)]


# ------------------------------------------------------------------ outcomes of operations


ODD = Conflict("other", "CONFLICT", 0.9, "Zorkmid differs")
REMARK = QualityDetail("vague", "Zorkmid", "Zorkmid", 0)
HELD = RelationshipView(
    id="r",
    first_id="r",
    source="Zorkmid",
    type="works_at",
    target="Zorkmid",
    literal=False,
    strength=0.9,
    created_at="x",
)


@each_row(
    "outcome",
    [
        remembered(
            "it",
            "o",
            reason="Zorkmid",
            hypothetical_queries=["Zorkmid?"],
            quality_details=[REMARK],
            conflicts=[ODD],
            quality_warnings=["Zorkmid"],
            semantic_candidates=[SemanticCandidate("other", "Zorkmid", "fact", 0.5, 0.5)],
            united=United(["Zorkmid"]),
            no_longer="Zorkmid",
            tags=("Zorkmid",),
            entities=("Zorkmid",),
        ),
        made(UpdateResult, "o", id="it", quality_details=[REMARK], quality_warnings=["Zorkmid"]),
        made(
            MergeResult,
            "o",
            id="it",
            merged_id="other",
            content="Zorkmid",
            quality_details=[REMARK],
            quality_warnings=["Zorkmid"],
        ),
        made(ResolveResult, "o", older_id="it", newer_id="other", content="Zorkmid", dropped=["Zorkmid"]),
        made(LinkResult, "o", source_id="it", target_id="other", metadata={"a": "Zorkmid"}),
        made(GcKept, "o", id="it", content="Zorkmid"),
        made(RestoreResult, "o", id="it", conflicts=[ODD]),
        made(UndoResult, "o", undone="u", memories=[UndoneMemory("it", "restored", [ODD])]),
        collected("o", "it"),
        made(ResolveResult, "o", older_id="a", newer_id="b", names=["Zorkmid", "Zorkmids"]),
        made(SummarizeResult, "o", id="new", content="Zorkmid; coffee", derived_from=["it", "other"]),
        made(RelationResult, "o", source="Zorkmid", target="Zorkmid", relations=[HELD]),
        made(RuleResult, "o", id="it", when=(Trigger("bash: Zorkmid"),)),
        made(EntityResult, "o", entity="Zorkmid", other="Zorkmids", changed=[HELD]),
    ],
)
def test_an_outcome_without_its_text_is_still_an_answer(tmp_path: Path, outcome: Any) -> None:
    engine = engine_at(tmp_path / "mnemon.db")
    base = remember(1, op_id="theirs")
    bare = msgspec.structs.replace(base, outcome=outcome, changes=())
    engine.commit([bare, remember(2, op_id="mine")])
    engine.read(lambda it: operations.purge(it, ["it"]))
    found = engine.read(lambda it: it.row("SELECT outcome FROM operations WHERE op_id = 'theirs'"))
    assert "Zorkmid" not in str(found)
    (again,) = engine.commit([bare])
    assert type(again) is type(outcome)
    assert getattr(again, "replayed", False) is True
    engine.close()


def test_a_repeat_after_a_purge_does_not_bring_it_back(world: RevisionWorld) -> None:
    engine, text = world.engine, "Xyzzyplugh alone"
    write = remember(77, text, op_id="mine")
    engine.commit([write])
    world.drop(insight_id(77), purge=True)
    (again,) = engine.commit([write])
    assert isinstance(again, RememberResult)
    assert again.replayed is True
    assert world.active() == []
    assert traces(world.path.parent) == []


def test_a_damaged_outcome_does_not_keep_a_memory_from_being_purged(world: RevisionWorld) -> None:
    one = world.new("tea at four")
    world.update(one, importance=5, op="mine")
    world.read(lambda it: it.run("UPDATE operations SET outcome = '{\"tea at four'"))
    world.drop(one, purge=True)
    assert world.active() == []
    assert traces(world.path.parent, b"tea at four") == []


def test_a_damaged_row_of_the_history_does_not_keep_a_memory_from_being_purged(world: RevisionWorld) -> None:
    one, two = world.new("tea at four"), world.new("milk at five")
    world.read(lambda it: it.run("UPDATE memory_operations SET after_state = '[' || ? WHERE memory_id = ?", (one, two)))
    world.drop(one, purge=True)
    assert world.active() == [two]
    assert traces(world.path.parent, b"tea at four") == []


# ------------------------------------------------------------------ when the files cannot be wiped at once


def told(world: RevisionWorld) -> str | None:
    """Why the store says it is not well."""
    return world.engine.health.degraded_reason


def failing(method: str, error: Exception) -> Callable[..., object]:
    def fail(*_: object, **__: object) -> object:
        raise error

    return fail


@pytest.mark.parametrize("step", ["rewrite_file", "finish"])
def test_what_could_not_be_wiped_is_told_and_wiped_later(
    world: RevisionWorld, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    one = planted(world)
    with monkeypatch.context() as broken:
        broken.setattr(purge, step, failing(step, apsw.FullError("database or disk is full")))
        assert world.drop(one, purge=True).status == "purged"
        reason = told(world)
        assert reason is not None
        assert "may still be in the store's files: database or disk is full" in reason
        world.engine.checkpoint_if_due()
        assert told(world) is not None
    assert world.read(purge.is_unwiped)
    world.engine.checkpoint_if_due()
    assert told(world) is None
    assert traces(world.path.parent) == []


def test_a_reader_beside_it_holds_it_up_for_as_long_as_it_reads(world: RevisionWorld) -> None:
    one = planted(world)
    reader = apsw.Connection(str(world.path), flags=apsw.SQLITE_OPEN_READONLY)
    cursor = reader.execute("SELECT content FROM insights")
    cursor.fetchone()
    world.drop(one, purge=True)
    assert told(world) is not None
    world.engine.checkpoint_if_due()
    cursor.close()
    reader.close()
    world.engine.checkpoint_if_due()
    assert told(world) is None
    assert traces(world.path.parent) == []


def test_a_store_that_was_left_before_it_was_wiped_is_wiped_the_next_time(
    world: RevisionWorld, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    one = planted(world)
    with monkeypatch.context() as broken:
        broken.setattr(purge, "rewrite_file", failing("rewrite", apsw.IOError("killed")))
        world.drop(one, purge=True)
        connection = world.engine._connection
        assert connection is not None
        connection.close()  # as the end of a process does
        world.engine._connection = None
    later = engine_at(world.path)
    assert later.read(purge.is_unwiped)
    later.close()
    assert traces(world.path.parent) == []
    again = engine_at(world.path)
    assert not again.read(purge.is_unwiped)
    again.close()
    assert "The importer runs at night" in stored(world.path)


# ------------------------------------------------------------------ copies beside the store


def test_copies_that_still_hold_it_are_named(tmp_path: Path) -> None:
    path = tmp_path / "mnemon.db"
    for name, content in {
        "mnemon.db": b"an-id",
        "mnemon.db.bak-1": b"..an-id..",
        "mnemon.db.bak-2": b"another",
        "mnemon.db.bak-3": b"",
        "other.db.bak-1": b"an-id",
    }.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "mnemon.db.bak-dir").mkdir()
    assert backups.copies_holding(path, ["an-id"]) == ["mnemon.db.bak-1"]


def test_a_copy_that_cannot_be_read_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mnemon.db.bak-1").write_bytes(b"x")
    monkeypatch.setattr("builtins.open", failing("open", PermissionError("no")))
    assert backups.copies_holding(tmp_path / "mnemon.db", ["an-id"]) == ["mnemon.db.bak-1"]
