"""Any sequence of writes, failing disks, crashes and reopenings: the store holds what a dictionary would, and recall
sees it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from mnemond.errors import MnemonError
from mnemond.model.changes import (
    AddEdge,
    AddInsight,
    Change,
    ChangeSet,
    CountUse,
    PurgeInsight,
    PutInsight,
    RemoveEdge,
    RestoreInsight,
    RetireInsight,
    SetVector,
)
from mnemond.model.memory import Edge, Insight
from mnemond.model.outcomes import Outcome
from mnemond.store.connection import Connection
from mnemond.store.database import load_index
from tests.faults.failing_vfs import FAULTS, NAME, PLAN, FailingVfs, Fault
from tests.faults.remembering import changing, identity
from tests.store.factories import engine_at, insight_id, vector_of
from tests.store.mirror import Portrait, portrait

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=40)
WHICH = st.integers(0, 1 << 20)
"""Which of the memories there are, by remainder."""


class Model(msgspec.Struct):
    """What a store holds: of each memory its state, text and uses, and the edges."""

    memories: dict[str, tuple[str, str, int]] = {}
    edges: set[tuple[str, str]] = set()

    def after(self, change: Change) -> Model:
        """A copy in which one change has become true."""
        memories, edges = dict(self.memories), set(self.edges)
        match change:
            case AddInsight(insight=it):
                memories[it.id] = ("active", it.content, 0)
            case PutInsight(insight=it) | RestoreInsight(insight=it):
                memories[it.id] = ("active", it.content, it.access_count)
            case RetireInsight(id=name, status=status, successor=heir):
                memories[name] = (status, *memories[name][1:])
                touching = {edge for edge in edges if name in edge}
                edges -= touching
                if heir is not None:
                    moved = {tuple(heir if end == name else end for end in edge) for edge in touching}
                    edges |= {(one, other) for one, other in moved if one != other}
            case PurgeInsight(id=name):
                del memories[name]
                edges = {edge for edge in edges if name not in edge}
            case CountUse(id=name, times=times):
                memories[name] = (*memories[name][:2], memories[name][2] + times)
            case AddEdge(edge=edge):
                edges.add((edge.source_id, edge.target_id))
            case RemoveEdge(source_id=source, target_id=target):
                edges.discard((source, target))
        return Model(memories, edges)

    def having(self, *states: str) -> list[str]:
        return sorted(name for name, (state, _, _) in self.memories.items() if state in states)


class Stores(RuleBasedStateMachine):
    """One store, on a disk that can be made to fail."""

    @initialize()
    def make(self) -> None:
        self.home = Path(tempfile.mkdtemp())
        self.engine = engine_at(self.home / "a.db", NAME)
        self.model = Model()
        self.steps = 0
        self.done: list[tuple[ChangeSet, Outcome]] = []

    def _write(self, *changes: Change) -> None:
        self.steps += 1
        write = changing(self.steps, *changes)
        assert isinstance(write, ChangeSet)
        after = self.model
        for change in changes:
            after = after.after(change)
        result = self.engine.commit([write])[0]
        if not isinstance(result, MnemonError):
            self.model = after
            if write.client_op_id:
                self.done.append((write, result))
            return
        assert result.outcome in ("rejected", "unknown"), result
        if result.outcome == "unknown" and self._stored() == after:
            self.model = after

    def _pick(self, which: int, *states: str) -> str:
        there = self.model.having(*states)
        return there[which % len(there)]

    def _insight(self, name: str, text: str, uses: int = 0) -> Insight:
        now = identity(self.steps).now
        return Insight(id=name, content=text, created_at=now, updated_at=now, access_count=uses)

    # -------------------------------------------------------------- writes

    @rule(text=TEXTS, which=WHICH)
    def remember(self, text: str, which: int) -> None:
        name = insight_id(self.steps + 1)
        links: list[Change] = []
        if self.model.having("active"):
            links = [AddEdge(Edge(name, self._pick(which, "active"), "causal", 0.5))]
        self._write(AddInsight(self._insight(name, text), vector_of(self.steps)), *links)

    @precondition(lambda self: self.model.having("active"))
    @rule(text=TEXTS, which=WHICH)
    def update(self, text: str, which: int) -> None:
        name = self._pick(which, "active")
        uses = self.model.memories[name][2]
        self._write(PutInsight(self._insight(name, text, uses), embedded=True, vector=vector_of(which)))

    @precondition(lambda self: len(self.model.having("active")) > 1)
    @rule(which=WHICH, other=WHICH, moves=st.booleans())
    def retire(self, which: int, other: int, moves: bool) -> None:
        name, heir = self._pick(which, "active"), self._pick(other, "active")
        if name == heir or not moves:
            self._write(RetireInsight(name, "forgotten"))
        else:
            self._write(RetireInsight(name, "superseded", heir))

    @precondition(lambda self: self.model.having("forgotten", "superseded"))
    @rule(which=WHICH)
    def restore(self, which: int) -> None:
        name = self._pick(which, "forgotten", "superseded")
        _, text, uses = self.model.memories[name]
        self._write(RestoreInsight(self._insight(name, text, uses), vector_of(which)))

    @precondition(lambda self: self.model.memories)
    @rule(which=WHICH)
    def purge(self, which: int) -> None:
        self._write(PurgeInsight(self._pick(which, "active", "forgotten", "superseded")))

    @precondition(lambda self: self.model.having("active"))
    @rule(which=WHICH, times=st.integers(1, 9))
    def use(self, which: int, times: int) -> None:
        name = self._pick(which, "active")
        self._write(CountUse(name, times, identity(self.steps).now), SetVector(name, vector_of(which + 1)))

    @precondition(lambda self: len(self.model.having("active")) > 1)
    @rule(which=WHICH, other=WHICH)
    def link_or_unlink(self, which: int, other: int) -> None:
        one, two = self._pick(which, "active"), self._pick(other, "active")
        if (one, two) in self.model.edges:
            self._write(RemoveEdge(one, two, "causal"))
        elif one != two:
            self._write(AddEdge(Edge(one, two, "causal", 0.25)))

    @precondition(lambda self: self.done)
    @rule(which=WHICH)
    def repeat(self, which: int) -> None:
        """The same operation once more gets the answer it got."""
        write, answer = self.done[which % len(self.done)]
        again = self.engine.commit([write])[0]
        assert isinstance(again, MnemonError) or again == msgspec.structs.replace(answer, replayed=True)

    # -------------------------------------------------------------- faults

    @rule(at=st.integers(1, 40), fault=st.sampled_from(FAULTS), persistent=st.booleans())
    def break_disk(self, at: int, fault: Fault, persistent: bool) -> None:
        PLAN.arm(at, fault, persistent=persistent)

    @rule()
    def mend_disk(self) -> None:
        PLAN.disarm()

    @rule()
    def checkpoint(self) -> None:
        self.engine.checkpoint_if_due()

    @rule()
    def crash(self) -> None:
        """The process ends; its files are all that is left."""
        PLAN.disarm()
        home = Path(tempfile.mkdtemp())
        for suffix in ("", "-wal"):
            file = self.home / f"a.db{suffix}"
            if file.exists():
                shutil.copyfile(file, home / file.name)
        self.engine.close()
        shutil.rmtree(self.home)
        self.home = home
        self.engine = engine_at(home / "a.db", NAME)

    @rule()
    def close_and_open(self) -> None:
        PLAN.disarm()
        self.engine.close()
        self.engine = engine_at(self.home / "a.db", NAME)

    # -------------------------------------------------------------- what must hold

    def _stored(self) -> Model:
        return self._read()[0]

    def _read(self) -> tuple[Model, Portrait]:
        """What the rows say, while the disk is whole."""
        armed = dict(vars(PLAN))
        PLAN.disarm()
        try:
            found: tuple[Model, Portrait] = self.engine.read(self._rows)  # type: ignore[assignment]
        finally:
            vars(PLAN).update(armed)
        return found

    def _rows(self, connection: Connection) -> tuple[Model, Portrait]:
        assert not connection.in_transaction
        memories = connection.rows("SELECT id, status, content, access_count FROM insights")
        edges = connection.rows("SELECT source_id, target_id FROM edges")
        model = Model({row[0]: tuple(row[1:]) for row in memories}, {(row[0], row[1]) for row in edges})
        return model, portrait(load_index(connection, self.engine.embedder).snapshot)

    @invariant()
    def agrees(self) -> None:
        stored, seen = self._read()
        assert stored == self.model
        assert portrait(self.engine.index.snapshot) == seen
        assert self.engine.index.begun == 0

    def teardown(self) -> None:
        PLAN.disarm()
        if hasattr(self, "engine"):
            self.engine.close()
            shutil.rmtree(self.home)


@pytest.fixture(scope="module", autouse=True)
def vfs() -> Iterator[None]:
    registered = FailingVfs()
    yield
    registered.unregister()


@pytest.fixture(scope="module", autouse=True)
def small_checkpoints() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mnemond.store.engine.CHECKPOINT_FRAMES", 8)
        patch.setattr("mnemond.store.engine.TRUNCATE_FRAMES", 60)
        yield


TestStores = Stores.TestCase
TestStores.settings = settings(stateful_step_count=15, suppress_health_check=list(HealthCheck))


@pytest.mark.deep
def test_a_thousand_long_lives() -> None:
    thorough = settings(max_examples=1_000, stateful_step_count=40, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(Stores, settings=thorough)
