"""A store that is changed one operation at a time and compared with its mirror after each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mnemond.errors import MnemonError
from mnemond.model.changes import Change, ChangeSet
from mnemond.model.memory import Insight, format_us
from mnemond.model.outcomes import Outcome
from mnemond.store.engine import Engine, Result
from tests.outcomes import remembered
from tests.store.factories import START_US, engine_at, remember
from tests.store.mirror import Portrait, mirrored

DAY_US = 86_400_000_000
LATER = format_us(START_US + 30 * DAY_US)


class Bench:
    """A store with four memories, changed one operation at a time; its mirror is checked after each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.engine: Engine = engine_at(path)
        self.engine.commit([remember(number) for number in (1, 2, 3, 4)])
        self.operations = 0

    def insight(self, name: str) -> Insight:
        row = self.engine.index.snapshot.row_of(name)
        assert row is not None
        return self.engine.index.snapshot.insight(row)

    def run(self, *changes: Change, now: str = LATER, outcome: Outcome | None = None, **more: Any) -> Result:
        self.operations += 1
        told = outcome or remembered(None, "op")
        change_set = ChangeSet(f"op-{self.operations}", False, "test", now, changes, told, **more)
        [result] = self.engine.commit([change_set])
        mirrored(self.engine, self.path)
        return result

    def refused(self, *changes: Change) -> MnemonError:
        before = mirrored(self.engine, self.path)
        tables = self.tables()
        result = self.run(*changes)
        assert isinstance(result, MnemonError)
        assert result.outcome == "rejected"
        assert mirrored(self.engine, self.path) == before
        assert self.tables() == tables
        return result

    def tables(self) -> dict[str, Any]:
        names = (
            "insights",
            "edges",
            "entities",
            "memory_entities",
            "memory_operations",
            "hypothetical_queries",
            "oplog",
        )
        return {name: self.rows(f"SELECT * FROM {name} ORDER BY 1, 2, 3") for name in names}

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        found = self.engine.read(lambda db: db.rows(sql))
        assert isinstance(found, list)
        return found

    def portrait(self) -> Portrait:
        return mirrored(self.engine, self.path)
