"""A store on disk with memories 1, 2, 3 …, and operations on them by number, one transaction each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

import msgspec

from mnemond.api.requests import one_active
from mnemond.errors import MnemonError
from mnemond.index.snapshot import Snapshot
from mnemond.memory import links, revise
from mnemond.memory.write import WriteContext
from mnemond.model.changes import AddEdge, AddInsight, Change, ChangeSet
from mnemond.model.memory import Edge, EdgeType, Insight, Scope, format_us
from mnemond.model.outcomes import LinkResult, Outcome, PinResult, UnlinkResult
from mnemond.store import edges, history
from mnemond.store.connection import Connection
from mnemond.store.history import Record
from mnemond.store.operations import Write
from tests.outcomes import made
from tests.store.factories import START_US, engine_at, insight_id, remember, stored_edges

R = TypeVar("R")


class Desk:
    """Everything under the writer happens here at once, in the caller's thread."""

    def __init__(self, path: Path, memories: int = 0) -> None:
        self.engine = engine_at(path)
        self._writes = 0
        self.commit(*(remember(number) for number in range(1, memories + 1)))

    def close(self) -> None:
        self.engine.close()

    @property
    def snapshot(self) -> Snapshot:
        return self.engine.index.snapshot

    def commit(self, *writes: Write) -> list[Outcome]:
        """The outcomes of writes that go together. Raises the first MnemonError among them."""
        results = self.engine.commit(writes)
        for result in results:
            if isinstance(result, MnemonError):
                raise result
        return [result for result in results if not isinstance(result, MnemonError)]

    def identity(self) -> WriteContext:
        self._writes += 1
        return WriteContext(
            id="unused",
            op_id=f"write-{self._writes}",
            client_op_id=False,
            now_us=START_US + 10_000_000 + self._writes,
            store="default",
            request_digest="",
        )

    def add(self, number: int, scope: Scope = Scope(), **fields: object) -> None:  # noqa: B008 - frozen
        """A memory with fields of its own."""
        change_set = remember(number)
        (change,) = change_set.changes
        assert isinstance(change, AddInsight)
        insight = msgspec.structs.replace(change.insight, scope=scope, **fields)
        self.commit(msgspec.structs.replace(change_set, changes=(AddInsight(insight, change.vector),)))

    def change(self, *changes: Change) -> None:
        """Any change set, as some other operation would make it."""
        identity = self.identity()
        outcome = made(UnlinkResult, identity.op_id)
        self.commit(ChangeSet(identity.op_id, False, "test", identity.now, changes, outcome))

    def automatic(self, source: int, target: int, kind: EdgeType, weight: float = 0.3, metadata: str = "{}") -> None:
        """One row, as an edge builder makes it."""
        self.change(AddEdge(Edge(insight_id(source), insight_id(target), kind, weight, metadata)))

    def wish(self, source: int, target: int, kind: EdgeType = "semantic", **fields: object) -> links.LinkRequest:
        """A link as a handler would hand it on."""
        edge = Edge(insight_id(source)[:8], insight_id(target)[:8], kind, 0.5, '{"created_by":"user"}', "user")
        of_edge = {name: value for name, value in fields.items() if name in Edge.__struct_fields__}
        of_link = {name: value for name, value in fields.items() if name not in of_edge}
        return msgspec.structs.replace(links.LinkRequest(edge=msgspec.structs.replace(edge, **of_edge)), **of_link)

    def link(self, source: int, target: int, kind: EdgeType = "semantic", **fields: object) -> LinkResult:
        (outcome,) = self.commit(
            links.propose_link(self.wish(source, target, kind, **fields), self.identity(), one_active)
        )
        assert isinstance(outcome, LinkResult)
        return outcome

    def unlink(
        self,
        source: int,
        target: int,
        kind: str | None = None,
        scope: Scope = Scope(),  # noqa: B008 - frozen
    ) -> UnlinkResult:
        wanted = links.Unlink(source_id=insight_id(source), target_id=insight_id(target), edge_type=kind, scope=scope)
        (outcome,) = self.commit(links.propose_unlink(wanted, self.identity(), one_active))
        assert isinstance(outcome, UnlinkResult)
        return outcome

    def pin(self, number: int, pinned: bool = True) -> PinResult:
        (outcome,) = self.commit(
            revise.propose_pin(revise.Pin(id=insight_id(number), pinned=pinned), self.identity(), one_active)
        )
        assert isinstance(outcome, PinResult)
        return outcome

    def insight(self, number: int) -> Insight:
        row = self.snapshot.row_of(insight_id(number))
        assert row is not None
        return self.snapshot.insight(row)

    def row(self, number: int) -> int:
        row = self.snapshot.row_of(insight_id(number))
        assert row is not None
        return row

    def edges(self) -> set[tuple[int, int, str]]:
        """Every row of the table, by number."""
        found = self._read(lambda connection: list(stored_edges(connection)))
        return {(number_of(each.source_id), number_of(each.target_id), each.edge_type) for each in found}

    def edge(self, source: int, target: int, kind: EdgeType) -> Edge:
        found = self._read(lambda it: edges.read(it, insight_id(source), insight_id(target), kind))
        assert isinstance(found, Edge)
        return found

    def history_of(self, number: int) -> list[Record]:
        """What was done to a memory, in order."""
        return self._read(lambda connection: history.of_memory(connection, insight_id(number), 100))

    def lines(self) -> list[tuple[str, str | None, str]]:
        """The log: operation, memory, detail."""
        return self._read(
            lambda it: [tuple(row) for row in it.rows("SELECT operation, insight_id, detail FROM oplog ORDER BY id")]
        )

    def _read(self, query: Callable[[Connection], R]) -> R:
        return cast("R", self.engine.read(query))


def number_of(identifier: str) -> int:
    return int(identifier[:8], 16)


def moment(number: int) -> str:
    return format_us(START_US + number)
