"""A store on disk that random operations run through, and its history replayed from nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from mnemond.api.requests import one_active
from mnemond.config.settings import Config
from mnemond.config.writing import LifecycleSettings
from mnemond.errors import MnemonError
from mnemond.index.snapshot import Snapshot
from mnemond.index.writer import MemoryIndex
from mnemond.memory import retention, revise, undo
from mnemond.memory.compare import parted
from mnemond.memory.draft import Draft
from mnemond.memory.remember import prepare, propose
from mnemond.memory.summaries import Summarize, propose_summarize, summary_text
from mnemond.memory.write import WriteContext, write_rules
from mnemond.model.changes import AddEdge, Change, ChangeSet, PutInsight, RemoveEdge, RetireInsight, Vector
from mnemond.model.memory import Edge, Insight, TextWithCues, format_us
from mnemond.model.outcomes import LinkResult, Outcome
from mnemond.store import edges, history, insights
from mnemond.store.connection import Connection
from mnemond.store.database import load_index
from mnemond.store.engine import Engine
from mnemond.store.operations import Write
from mnemond.store.verify import verify_closed
from tests.outcomes import made
from tests.store.factories import DIMENSION, EMBEDDER, START_US, engine_at

CONFIG = Config(lifecycle=LifecycleSettings(max_insights=6, prune_batch=2))
UNBOUNDED = Config(lifecycle=LifecycleSettings(max_insights=0))


def vector_for(text: str) -> Vector:
    """The sum of one direction a word: texts that share words are alike."""
    total = np.zeros(DIMENSION, np.float32)
    for word in text.lower().split():
        total += np.random.default_rng(sum(map(ord, word))).standard_normal(DIMENSION).astype(np.float32)
    return total / np.float32(np.linalg.norm(total) or 1.0)


def vector_of_memory(text: TextWithCues) -> Vector:
    """What the memory is embedded as: one vector, or two if it has cues."""
    own = vector_for(text.content)
    return np.stack((own, vector_for(" ".join((text.content, *(cue.text for cue in text.cues)))))) if text.cues else own


class AuditWorld:
    """One engine, a clock of its own, and an operation a method."""

    def __init__(self, path: Path, config: Config = CONFIG) -> None:
        self.defects: list[BaseException] = []
        self.engine: Engine = engine_at(path, defects=self.defects)
        self.config = config
        self.clock_us = START_US
        self.made = 0
        self.done: list[str] = []

    # ------------------------------------------------------------ operations

    def identity(self) -> WriteContext:
        self.made += 1
        self.clock_us += 3_600_000_000
        return WriteContext(
            id=f"{self.made:08x}-0000-4000-8000-000000000000",
            op_id=f"operation-{self.made:04}",
            client_op_id=False,
            now_us=self.clock_us,
            store="default",
            by_person=True,
            request_digest="",
        )

    def commit(self, write: Write) -> Outcome | MnemonError:
        result = self.engine.commit([write])[0]
        if not isinstance(result, MnemonError):
            self.done.append(write.op_id)
        return result

    def remember(self, content: str, **fields: Any) -> Outcome | MnemonError:
        identity = self.identity()
        draft = Draft(content=content, **fields)
        prepared = prepare(draft, identity.now_us, self.snapshot.entity_spelling, self.config)
        prepared = msgspec.structs.replace(prepared, vector=vector_of_memory(prepared.text))
        return self.commit(propose(prepared, identity, write_rules(EMBEDDER, self.config)))

    def forget(self, insight_id: str, *, purge: bool = False) -> Outcome | MnemonError:
        wanted = revise.Forget(id=insight_id, purge=purge)
        return self.commit(revise.propose_forget(wanted, self.identity(), one_active))

    def summarize(self, *ids: str) -> Outcome | MnemonError:
        text = summary_text([self.insight(each) for each in ids])
        embedded = None if text is None else TextWithCues(text)
        vector = None if embedded is None else vector_of_memory(embedded)
        wanted = Summarize(ids=ids, embedded_text=embedded, vector=vector)
        return self.commit(propose_summarize(wanted, self.identity(), one_active, write_rules(EMBEDDER, self.config)))

    def keep(self, insight_id: str) -> Outcome | MnemonError:
        return self.commit(retention.propose_keep(insight_id, self.config.lifecycle, self.identity()))

    def collect(self, threshold: float, limit: int) -> Outcome | MnemonError:
        bounds = retention.Bounds(threshold, limit)
        return self.commit(retention.propose_apply(bounds, self.config.lifecycle, self.identity()))

    def revise(self, insight_id: str, **fields: Any) -> Outcome | MnemonError:
        it = self.insight(insight_id)
        new = msgspec.structs.replace(it, **fields)
        vector = vector_of_memory(new.text) if "content" in fields else None
        return self.change(PutInsight(new, "UPDATE", "content" in fields, vector))

    def supersede(self, insight_id: str, successor: str) -> Outcome | MnemonError:
        left = parted(self.snapshot, self.insight(insight_id))
        return self.change(*left, RetireInsight(insight_id, "superseded", successor))

    def link(self, source: str, target: str, weight: float, **fields: Any) -> Outcome | MnemonError:
        return self.change(AddEdge(Edge(source, target, "causal", weight, created_by="user", **fields), audited=True))

    def unlink(self, source: str, target: str) -> Outcome | MnemonError:
        return self.change(RemoveEdge(source, target, "causal", audited=True))

    def change(self, *changes: Change) -> Outcome | MnemonError:
        identity = self.identity()
        return self.commit(
            ChangeSet(
                op_id=identity.op_id,
                client_op_id=False,
                method="link",
                now=identity.now,
                changes=changes,
                outcome=made(LinkResult, identity.op_id, created=True),
            )
        )

    def undo(self, operation: str | None = None, **fields: Any) -> Outcome | MnemonError:
        try:
            found = self.read(lambda connection: undo.look(connection, operation))
        except MnemonError as error:
            return error
        vectors = undo.Vectors({text: vector_of_memory(text) for text in found.texts})
        identity = msgspec.structs.replace(self.identity(), **fields)
        return self.commit(undo.propose(found, vectors, identity, write_rules(EMBEDDER, self.config)))

    # ------------------------------------------------------------ what there is

    @property
    def snapshot(self) -> Snapshot:
        return self.engine.index.snapshot

    def read(self, query: Any) -> Any:
        return self.engine.read(query)

    def active(self) -> list[str]:
        rows = np.flatnonzero(self.snapshot.alive()).tolist()
        return sorted(self.snapshot.insight(row).id for row in rows)

    def insight(self, insight_id: str) -> Insight:
        found: Insight | None = self.read(lambda connection: insights.read(connection, insight_id))
        assert found is not None
        return found

    def rows(self) -> dict[str, Insight]:
        def every(connection: Connection) -> dict[str, Insight]:
            ids = [row[0] for row in connection.rows("SELECT id FROM insights ORDER BY id")]
            return {each: found for each in ids if (found := insights.read(connection, each)) is not None}

        return self.read(every)  # type: ignore[no-any-return]

    def edges(self) -> dict[tuple[str, str, str], Edge]:
        def every(connection: Connection) -> list[Edge]:
            ids = [row[0] for row in connection.rows("SELECT id FROM insights")]
            return [edge for each in ids for edge in edges.touching(connection, each)]

        return {edges.key(edge): edge for edge in self.read(every)}

    def rebuilt(self) -> Snapshot:
        index: MemoryIndex = self.read(lambda connection: load_index(connection, EMBEDDER))
        return index.snapshot

    def vectors(self) -> dict[str, Any]:
        """Of every active memory, as the index has it and as the file has it."""
        found: dict[str, Any] = {}
        for snapshot in (self.snapshot, self.rebuilt()):
            rows = np.flatnonzero(snapshot.alive()).tolist()
            of = {snapshot.insight(row).id: snapshot.vector(row) for row in rows}
            for insight_id, vector in of.items():
                found.setdefault(insight_id, []).append(None if vector is None else np.round(vector, 5).tolist())
        return found


def replayed(world: AuditWorld) -> dict[str, Insight]:
    """Every memory as the history alone says it is."""

    def every(connection: Connection) -> dict[str, Insight]:
        found: dict[str, Insight] = {}
        here = set(connection.column("SELECT id FROM insights"))
        for (op_id,) in connection.rows("SELECT op_id FROM memory_operations GROUP BY op_id ORDER BY min(id)"):
            for record in history.of_operation(connection, op_id):
                before = None if record.before is None else record.before.insight
                if record.memory_id not in here and history.is_purged(connection, record.memory_id):
                    continue  # nothing of it is kept
                assert essence(found.get(record.memory_id)) == essence(before), "the history has a gap"
                assert record.after is not None
                found[record.memory_id] = record.after.insight
        return {
            insight_id: it if it.superseded_by in here else msgspec.structs.replace(it, superseded_by=None)
            for insight_id, it in found.items()
        }  # a purge takes the successor out of the row; it writes no history of others

    return world.read(every)  # type: ignore[no-any-return]


def essence(it: Insight | None) -> Insight | None:
    """Without what is derived and therefore in no history."""
    return None if it is None else msgspec.structs.replace(it, effective_importance=0.0)


def at(hours: float) -> str:
    """A time before the world began."""
    return format_us(START_US - int(hours * 3_600_000_000))


def assert_sound(path: Path, clock_us: int) -> None:
    """A closed store, of which a full examination finds nothing wrong."""
    path.chmod(0o600)
    found = verify_closed(path, "full", clock_us)
    assert [problem for finding in found for problem in finding.problems] == []
