"""A store of relations without a daemon: memories, statements, decisions about names, and their undo, each in turn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from mnemond.config.settings import Config
from mnemond.errors import MnemonError
from mnemond.memory import undo
from mnemond.memory.relations import (
    Names,
    Point,
    RelationToAdd,
    RelationToClose,
    propose_addition,
    propose_closing,
)
from mnemond.memory.relations_seen import seen
from mnemond.memory.undo import Vectors
from mnemond.memory.write import WriteContext, write_rules
from mnemond.model.changes import AddInsight, Change, PurgeInsight, PutInsight, RetireInsight
from mnemond.model.memory import Entity, Insight, Scope, format_us
from mnemond.model.outcomes import Maintained, Outcome
from mnemond.model.relations import AddEvidence, Relationship, Statement, When, holds, split_type
from mnemond.store import insights, relations
from mnemond.store.connection import Connection
from mnemond.store.operations import Write
from tests.store.factories import START_US, engine_at, insight_id

T = TypeVar("T")
DAY_US = 86_400_000_000
Row = tuple[str, str, str, str | None, str | None]


class RelationWorld:
    """`day` is moved by hand."""

    def __init__(self, path: Path) -> None:
        self.engine = engine_at(path)
        self.us = START_US
        self.operations = 0
        self.memories = 0

    @property
    def now(self) -> str:
        return format_us(self.us)

    def ask(self, query: Callable[[Connection], T]) -> T:
        return cast("T", self.engine.read(query))

    def context(self, by: str = "user") -> WriteContext:
        self.operations += 1
        return WriteContext(
            id=insight_id(900_000 + self.operations), op_id=f"operation-{self.operations:06}", client_op_id=False,
            now_us=self.us, store="default", request_digest="", triggered_by=by, by_person=True,
        )  # fmt: skip

    def write(self, write: Write) -> Outcome:
        [result] = self.engine.commit([write])
        if isinstance(result, MnemonError):
            raise result
        return result

    def change(self, *changes: Change) -> str:
        context = self.context()
        self.write(context.change_set("test", changes, Maintained(op_id=context.op_id)))
        return context.op_id

    def remember(self, text: str, *, days_ago: float = 0.0, **fields: Any) -> str:
        """Write a memory and return its id."""
        self.memories += 1
        at = format_us(self.us - int(days_ago * DAY_US))
        it = msgspec.structs.replace(Insight(insight_id(self.memories), at, at, content=text), **fields)
        self.change(AddInsight(it, None))
        return it.id

    def note(self, text: str, mentions: tuple[Entity, ...]) -> str:
        """Write a memory that names these, a second after the one before."""
        self.memories += 1
        self.us += 1_000_000
        it = Insight(
            insight_id(self.memories), self.now, self.now, content=text, entities=tuple(each.name for each in mentions)
        )
        self.change(AddInsight(it, None, mentions))
        return it.id

    def reword(self, insight_id: str, text: str, **fields: Any) -> str:
        it = self.ask(lambda it: insights.read(it, insight_id))
        assert it is not None
        return self.change(PutInsight(msgspec.structs.replace(it, content=text, updated_at=self.now, **fields)))

    def forget(self, insight_id: str) -> str:
        return self.change(RetireInsight(insight_id, "forgotten"))

    def purge(self, insight_id: str) -> None:
        self.change(PurgeInsight(insight_id))

    def add(self, source: str, kind: str, target: str, *, since: str | None = None, until: str | None = None) -> str:
        context = self.context()
        points = [None if each is None else Point(each, "day") for each in (since, until)]
        wanted = RelationToAdd(source=source, type=kind, target=target, since=points[0], until=points[1])
        self.write(propose_addition(wanted, context))
        return context.op_id

    def say(
        self, source: str, kind: str, target: str, /, *, memory: str, since: str | None = None, **fields: Any
    ) -> str:
        """Note a relation that a memory states, as a model that read it does."""
        context = self.context()
        names = self.ask(lambda it: Names(it, as_written=True))
        ends = names.of(source), names.of(target)
        stated = Statement(
            source_id=ends[0], type=split_type(kind)[0], slot=split_type(kind)[1], target_id=ends[1],
            at=since or self.now, memory_id=memory,
            **{"kind": "seen" if since is None else "start", "origin": "model", **fields},
        )  # fmt: skip
        made = context.change_set("test", (), Maintained(op_id=context.op_id))
        self.write(msgspec.structs.replace(made, knowledge=(*names.added, AddEvidence(stated))))
        return context.op_id

    def close(self, source: str, kind: str, target: str | None = None, *, at: str | None = None) -> str:
        context = self.context()
        point = None if at is None else Point(at, "day")
        self.write(propose_closing(RelationToClose(source=source, type=kind, target=target or "", at=point), context))
        return context.op_id

    def undo(self, op_id: str | None = None) -> str:
        context = self.context()
        found = self.ask(lambda it: undo.look(it, op_id))
        self.write(undo.propose(found, Vectors({}), context, write_rules(None, Config())))
        assert found.operation is not None
        return found.operation

    def rows(self, when: When | None = None) -> list[Relationship]:
        """What is believed, of all times unless `when` is given."""
        when = when or When()
        return [it for it in self.ask(lambda it: seen(it, None, when.known_at, Scope())) if holds(it, when)]

    def told(self, when: When | None = None) -> list[Row]:
        """(source, type, target, since, until) by name, times as days where they are whole."""
        views = self.ask(lambda it: relations.views(it, self.rows(when)))
        return sorted(
            ((it.source, it.type, it.target, day(it.valid_from), day(it.invalid_at)) for it in views), key=str
        )


def day(at: str | None) -> str | None:
    return at if at is None else at.removesuffix("T00:00:00.000000Z")
