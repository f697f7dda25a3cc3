"""A workload of real writes whose every step touches several tables and the index, and what must hold after it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import msgspec
import numpy as np

from mnemond.config.settings import Config
from mnemond.config.writing import LifecycleSettings
from mnemond.errors import MnemonError
from mnemond.memory.compare import parted
from mnemond.memory.draft import Draft
from mnemond.memory.remember import prepare, propose
from mnemond.memory.write import WriteContext, write_rules
from mnemond.model.changes import AddEdge, Change, ChangeSet, PurgeInsight, RetireInsight, Vector
from mnemond.model.memory import Edge
from mnemond.model.outcomes import RememberResult
from mnemond.store.engine import Engine
from mnemond.store.operations import Proposal, View, Write
from tests.outcomes import forgotten
from tests.store.factories import DIMENSION, EMBEDDER, START_US, insight_id, open_at, vector_of
from tests.store.mirror import Portrait, mirrored, of_file

CONFIG = Config(lifecycle=LifecycleSettings(max_insights=8, prune_batch=2))
HOUR_US = 3_600_000_000


def between(one: int, other: int, share: float) -> Vector:
    """A unit vector that is mostly that of `one`."""
    mixed = share * vector_of(one) + (1 - share) * vector_of(other)
    found: Vector = (mixed / np.linalg.norm(mixed)).astype(np.float32)
    assert found.shape == (DIMENSION,)
    return found


def identity(step: int) -> WriteContext:
    return WriteContext(
        id=insight_id(step),
        op_id=f"op-{step}",
        client_op_id=step % 2 == 0,
        now_us=START_US + step * HOUR_US,
        store="default",
        request_digest=f"digest-{step}",
    )


def remembering(step: int, text: str, vector: Vector | None = None, **fields: object) -> Write:
    """A text, to be decided by the pipeline that decides them all."""
    who = identity(step)
    prepared = prepare(Draft(content=text, **fields), who.now_us, lambda _: None, CONFIG)  # type: ignore[arg-type]
    prepared = msgspec.structs.replace(prepared, vector=vector)
    return propose(prepared, who, write_rules(EMBEDDER, CONFIG))


def changing(step: int, *changes: Change) -> Write:
    who = identity(step)
    return ChangeSet(
        who.op_id, who.client_op_id, "test", who.now, changes, forgotten(who.id, who.op_id), who.request_digest
    )


def forgetting(step: int, number: int, *, purge: bool = False) -> Write:
    """A memory goes, or is deleted, and its partner is told."""

    def decide(view: View) -> ChangeSet:
        row = view.snapshot.row_of(insight_id(number))
        alone = [] if row is None else parted(view.snapshot, view.snapshot.insight(row))
        goes = PurgeInsight(insight_id(number)) if purge else RetireInsight(insight_id(number), "forgotten")
        written = changing(step, goes, *alone)
        assert isinstance(written, ChangeSet)
        return written

    who = identity(step)
    return Proposal(who.op_id, who.client_op_id, "test", who.request_digest, decide)


def linking(step: int, one: int, other: int) -> Write:
    edge = Edge(insight_id(one), insight_id(other), "causal", 0.9, '{"why":"so they say"}', "host")
    return changing(step, AddEdge(edge, audited=True))


def workload() -> list[list[Write]]:
    """Batches that make edges of all four types, replace, skip, pair, forget, link, prune and purge."""
    chat: dict[str, object] = {"source": "alice", "conversation_id": "c1"}
    kafka: dict[str, object] = {"category": "fact", "importance": 2}
    notes = [f"Redis note {number} about topic{number}" for number in range(12, 17)]
    return [
        [remembering(1, "Team lacks Redis experience", vector_of(1), **chat)],
        [remembering(2, "Chose SQLite because the team lacks Redis experience", vector_of(2), no_diff=True, **chat)],
        [
            remembering(3, "The deploy window of Kafka is Friday at 18:00", vector_of(3), **kafka),
            remembering(4, "Bob prefers tea to coffee", vector_of(4), importance=5, **chat),
            remembering(5, "Bob prefers tea to coffee", vector_of(4), **chat),
        ],
        [
            remembering(6, "The deploy window of Kafka is Friday at 19:00", between(3, 6, 0.9), **kafka),
            linking(7, 1, 4),
        ],
        [remembering(8, "Releases of the broker happen late in the week", between(3, 6, 0.85), importance=1)],
        [remembering(9, "Evening rollouts close out each working week", between(3, 6, 0.8), importance=1)],
        [forgetting(10, 2), remembering(11, "Grafana shows Redis latency", vector_of(11), importance=1)],
        [remembering(at, note, vector_of(at), importance=1) for at, note in enumerate(notes, 12)],
        [changing(17, PurgeInsight(insight_id(1))), remembering(18, "Kafka and Redis meet in Grafana", vector_of(18))],
        [remembering(19, "Bob prefers coffee to tea now", vector_of(19))],
    ]


class Run:
    """One pass of the workload from a copy of `empty`, with `fault` armed around it."""

    def __init__(self, empty: Path, open_engine: Callable[[Path], Engine], arm: Callable[[], None]) -> None:
        home = empty.parent / "run"
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir()
        self.path = home / "a.db"
        shutil.copyfile(empty, self.path)
        self.engine = open_engine(self.path)
        self.acknowledged: set[str] = set()
        self.perhaps: set[str] = set()
        self.linked: set[str] = set()
        arm()
        for number, batch in enumerate(workload()):
            for write, result in zip(batch, self.engine.commit(batch), strict=True):
                self._note(write, result)
            self.linked |= {kind for kind, count in self.engine.index.snapshot.edge_counts().items() if count}
            if number % 3 == 2:
                self.engine.checkpoint_if_due()

    def _note(self, write: Write, result: object) -> None:
        if not isinstance(result, MnemonError):
            self.acknowledged.add(write.op_id)
            return
        assert result.outcome in ("rejected", "unknown"), result
        if result.outcome == "unknown":
            self.perhaps.add(write.op_id)


def check(run: Run) -> Portrait:
    """The promises, while the store still runs and again from a copy of its files, as after a crash."""
    final = run.engine.commit([remembering(99, "The disk works again", vector_of(99))])[0]
    assert isinstance(final, RememberResult), final
    seen = mirrored(run.engine, run.path)
    crashed = run.path.with_name("crashed.db")
    for suffix in ("", "-wal"):
        shutil.copyfile(f"{run.path}{suffix}", f"{crashed}{suffix}")
    assert of_file(crashed) == seen, "what recall sees is not what a crash leaves"
    done = operations_in(crashed)
    assert run.acknowledged <= done, "an acknowledged write is lost"
    assert done - run.acknowledged - {"op-99"} <= run.perhaps, "a rejected write is stored"
    for name, found in seen.items():
        partner = found["insight"].paired_with
        assert partner is None or seen[partner]["insight"].paired_with == name, "half a pair"
    check_integrity(crashed)
    run.engine.close()
    return seen


def operations_in(path: Path) -> set[str]:
    connection = open_at(path).connection
    found = {row[0] for row in connection.rows("SELECT op_id FROM memory_operations")}
    connection.close()
    return found


def check_integrity(path: Path) -> None:
    connection = apsw.Connection(str(path))
    assert connection.pragma("integrity_check") == "ok"
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    active = "(SELECT id FROM insights WHERE status = 'active')"
    loose = f"SELECT * FROM edges WHERE source_id NOT IN {active} OR target_id NOT IN {active}"
    assert connection.execute(loose).fetchall() == []
    connection.close()
