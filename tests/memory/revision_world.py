"""A store on disk, and the operations that give a memory another value or place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from mnemond.api.requests import one_active
from mnemond.config.settings import Config, config_from
from mnemond.config.writing import LifecycleSettings
from mnemond.errors import MnemonError
from mnemond.memory import history as memory_history
from mnemond.memory import revise, update
from mnemond.memory.write import WriteContext, WriteRules, write_rules
from mnemond.model.memory import Edge, Insight, Scope, TextWithCues
from mnemond.model.outcomes import (
    ForgetResult,
    MergeResult,
    Outcome,
    RememberResult,
    RestoreResult,
    SupersedeResult,
    UpdateResult,
)
from mnemond.store import edges, insights
from mnemond.store import history as store_history
from mnemond.store.history import Record
from mnemond.store.operations import Proposal
from tests.memory.audit_world import AuditWorld, vector_of_memory
from tests.store.factories import EMBEDDER
from tests.store.mirror import Portrait, mirrored

CONFIG = config_from({"lifecycle.max_insights": 0, "commitment.redundancy.enabled": False})
PAIRING = Config(lifecycle=LifecycleSettings(max_insights=0))

Done = TypeVar("Done")

Meanwhile = Callable[[], object]
"""What happens between the preparation of a write and its turn."""


class RevisionWorld(AuditWorld):
    """The world of the audit, with the operations of this chapter."""

    def __init__(self, path: Path, config: Config = CONFIG) -> None:
        super().__init__(path, config)
        self.path = path

    @property
    def rules(self) -> WriteRules:
        return write_rules(EMBEDDER, self.config)

    def new(self, content: str, **fields: Any) -> str:
        """A memory that is certainly stored; its id."""
        outcome = self.remember(content, no_diff=True, **fields)
        assert isinstance(outcome, RememberResult), outcome
        assert outcome.id is not None
        return outcome.id

    def update(self, insight_id: str, *, op: str | None = None, **fields: Any) -> UpdateResult:
        if found := update.problems({"id": insight_id, **fields}):
            raise AssertionError(found)
        values, redacted = update.new_values(fields, allow_secret=False)
        scope = fields.get("scope", Scope())
        text = update.text_after(self.insight(insight_id), values) if insight_id in self.active() else None
        vector = None if text is None else vector_of_memory(text)
        wish = update.Update(
            id=insight_id, values=values, redacted=redacted, scope=scope, embedded_text=text, vector=vector
        )
        return self._done(update.propose(wish, self._identity(op), one_active, self.rules), UpdateResult)

    def supersede(self, insight_id: str, successor: str, *, op: str | None = None) -> SupersedeResult:
        wish = revise.Supersede(old_id=insight_id, new_id=successor)
        return self._done(revise.propose_supersede(wish, self._identity(op), one_active), SupersedeResult)

    def merge(
        self, one: str, other: str, *, meanwhile: Meanwhile | None = None, op: str | None = None, **fields: Any
    ) -> MergeResult:
        text: TextWithCues | None = None
        if {one, other} <= set(self.active()):
            both = self.insight(one), self.insight(other)
            text = TextWithCues(fields.get("content") or revise.text_of(*both), revise.merged_cues(*both))
        if meanwhile is not None:
            meanwhile()
        vector = None if text is None else vector_of_memory(text)
        wish = revise.Merge(id=one, other_id=other, embedded_text=text, vector=vector, **fields)
        return self._done(revise.propose_merge(wish, self._identity(op), one_active, self.rules), MergeResult)

    def restore(
        self, insight_id: str, *, meanwhile: Meanwhile | None = None, op: str | None = None, force: bool = False
    ) -> RestoreResult:
        wish = memory_history.Restore(id=insight_id, force=force)
        try:
            kept = self.read(lambda connection: memory_history.kept(connection, insight_id, Scope(), EMBEDDER))
        except MnemonError:
            kept = None
        if kept is not None:
            vector = vector_of_memory(kept.insight.text) if kept.vector is None else kept.vector
            wish = msgspec.structs.replace(wish, embedded_text=kept.insight.text, vector=vector)
        if meanwhile is not None:
            meanwhile()
        return self._done(memory_history.propose(wish, self._identity(op), self.rules), RestoreResult)

    def drop(self, insight_id: str, *, purge: bool = False, op: str | None = None) -> ForgetResult:
        wish = revise.Forget(id=insight_id, purge=purge)
        return self._done(revise.propose_forget(wish, self._identity(op), one_active), ForgetResult)

    def _identity(self, op: str | None) -> WriteContext:
        identity = self.identity()
        if op is None:
            return identity
        return msgspec.structs.replace(identity, op_id=op, client_op_id=True)

    def _done(self, proposal: Proposal, kind: type[Done]) -> Done:
        result: Outcome | MnemonError = self.commit(proposal)
        if isinstance(result, MnemonError):
            raise result
        assert isinstance(result, kind)
        return result

    # ------------------------------------------------------------ what there is

    def row(self, insight_id: str) -> Insight:
        """The row of a memory, in whatever state."""
        found = self.read(lambda connection: insights.read(connection, insight_id))
        assert isinstance(found, Insight)
        return found

    def links(self, insight_id: str) -> list[Edge]:
        """Every edge of a memory."""
        found: list[Edge] = self.read(lambda connection: edges.touching(connection, insight_id))
        return found

    def ends(self, insight_id: str, kind: str) -> set[str]:
        """The other ends of a memory's edges of one type."""
        return {
            end
            for edge in self.links(insight_id)
            if edge.edge_type == kind
            for end in (edge.source_id, edge.target_id)
            if end != insight_id
        }

    def records(self) -> list[Record]:
        """The whole history."""
        return [
            record
            for (number,) in self.read(lambda it: it.rows("SELECT DISTINCT op_id FROM memory_operations ORDER BY id"))
            for record in self.read(lambda it, op=number: store_history.of_operation(it, op))
        ]

    def lines(self) -> list[tuple[str, str | None, str]]:
        """The log: operation, memory, detail."""
        found: list[tuple[str, str | None, str]] = self.read(
            lambda it: it.rows("SELECT operation, insight_id, detail FROM oplog ORDER BY id")
        )
        return found

    def mirrored(self) -> Portrait:
        """What readers see, after it was found to be what the file says."""
        assert self.defects == []
        return mirrored(self.engine, self.path)


@contextmanager
def revision_world(path: Path) -> Iterator[RevisionWorld]:
    """A world that is closed in the end, when its index must be what its file says."""
    made = RevisionWorld(path)
    yield made
    made.mirrored()
    made.engine.close()
