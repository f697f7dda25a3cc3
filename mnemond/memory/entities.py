"""Decisions about names: two that are one thing, two that are not, another name of a thing (docs/decisions/0048).

No decision changes or deletes a row of an entity. A merge is a link from one row to another; what is shown of a thing
is that of all rows that lead to one. So each decision is taken back by expiring its links.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import cached_property, partial
from typing import Final, Literal

import msgspec

from mnemond.errors import FieldProblem, MnemonError, invalid
from mnemond.memory.relations import MAX_SHOWN_NAME, Names, named_row
from mnemond.memory.relations_seen import seen
from mnemond.memory.write import WriteContext
from mnemond.model.changes import ChangeSet
from mnemond.model.memory import Scope
from mnemond.model.outcomes import EntityResult
from mnemond.model.relations import AddLink, ExpireLink, KnowledgeChange, Link, Roots
from mnemond.model.reviews import CloseReview, OpenReview, Review
from mnemond.store import relations, reviews
from mnemond.store.connection import Connection
from mnemond.store.operations import Proposal, View
from mnemond.text.entities import canonical_name

Decision = Literal["merge", "split", "not-same", "alias"]


def forbidding(links: Iterable[Link], roots: Roots, one: str, other: str) -> Link | None:
    """Return the decision that two things are not the same, whichever of their rows it names; None if there is none."""
    pair = {roots.of(one), roots.of(other)}
    for each in links:
        if each.kind == "not_same" and {roots.of(each.entity_id), roots.of(each.other)} == pair and len(pair) == 2:
            return each
    return None


# Decisions.


def preview(connection: Connection, wanted: NameDecision, identity: WriteContext) -> EntityResult:
    """Return what a merge would do. Raises MnemonError as the merge does."""
    rows = named_row(connection, wanted.name, wanted.scope), named_row(connection, wanted.other, wanted.scope)
    made = _merge(_Names(connection, msgspec.structs.replace(wanted, propose=False), rows))
    links = [each for each in made.changes if isinstance(each, AddLink)]
    new = [row for it in links for row in relations.changed_by_merge(connection, it.entity_id, it.other)]
    changed = relations.views(connection, new, identity.now, wanted.scope)
    return msgspec.structs.replace(made.outcome, op_id=identity.op_id, dry_run=True, changed=changed)


class NameDecision(msgspec.Struct, frozen=True, kw_only=True):
    """A decision about `name` and `other` by one who sees the names of a scope. `propose`: a merge is not made, but
    waits for a decision of a person."""

    decision: Decision
    name: str
    other: str
    propose: bool = False
    scope: Scope = Scope()


def propose_names(wanted: NameDecision, identity: WriteContext) -> Proposal:
    """Propose a decision about names. The writer checks everything."""
    return identity.proposal(f"entity.{wanted.decision.replace('-', '_')}", partial(_decide, wanted, identity))


def _decide(wanted: NameDecision, identity: WriteContext, view: View) -> ChangeSet:
    """Raises MnemonError: NOT_FOUND, AMBIGUOUS, INVALID_PARAMS."""
    connection = view.connection
    rows = (
        named_row(connection, wanted.name, wanted.scope),
        None if wanted.decision == "alias" else named_row(connection, wanted.other, wanted.scope),
    )
    return decide_rows(connection, wanted, rows, identity)


def decide_rows(
    connection: Connection, wanted: NameDecision, rows: tuple[str, str | None], identity: WriteContext
) -> ChangeSet:
    """Return the change set of a decision about two rows; the second is None for an alias. Raises
    MnemonError(INVALID_PARAMS)."""
    method = f"entity.{wanted.decision.replace('-', '_')}"
    made = _MAKE[wanted.decision](_Names(connection, wanted, rows))
    outcome = msgspec.structs.replace(made.outcome, op_id=identity.op_id)
    closed = tuple(
        CloseReview(each.id, "MERGE" if wanted.decision == "merge" else "COEXIST", identity.triggered_by)
        for each in made.answered
    )
    change_set = identity.change_set(method, (), outcome, operation="entity", detail=f"decision={wanted.decision}")
    return msgspec.structs.replace(change_set, knowledge=tuple(made.changes), reviews=(*closed, *made.asked))


class _Made(msgspec.Struct):
    """`answered`: reviews that it answers; `asked`: that it opens."""

    outcome: EntityResult
    changes: list[KnowledgeChange] = []
    answered: list[Review] = []
    asked: list[OpenReview] = []


class _Names:
    """The two names of a decision, and what was decided about them before."""

    def __init__(self, connection: Connection, wanted: NameDecision, rows: tuple[str, str | None]) -> None:
        self.connection = connection
        self.wanted = wanted
        self.row, self.other_row = rows
        self.root = relations.root_of(connection, self.row)

    @cached_property
    def roots(self) -> Roots:
        return relations.roots(self.connection)

    @property
    def both(self) -> tuple[str, str]:
        """The rows of the two names."""
        assert self.other_row is not None, "an alias needs no row"  # noqa: S101
        return self.row, self.other_row

    def result(self, status: str, *, of: Collection[str] = ()) -> EntityResult:
        """Return an outcome; `of`: rows whose memories and relations are counted."""
        found = EntityResult(
            status=status,  # type: ignore[arg-type]
            entity=self.name_of(self.root), other=self.wanted.other, op_id="", replayed=False,
        )  # fmt: skip
        if not of:
            return found
        scope = self.wanted.scope
        return msgspec.structs.replace(
            found,
            memories=relations.count_naming(self.connection, of, None, scope),
            relations=len(seen(self.connection, of, None, scope)),
        )

    def name_of(self, row: str) -> str:
        """Return the name that a thing goes by."""
        scope = self.wanted.scope
        root = relations.root_of(self.connection, row)
        if scope == Scope():
            return relations.names(self.connection, [root]).get(root, "")
        return relations.shown_names(self.connection, [root], scope, self.roots).get(root, "")

    def waiting(self) -> list[Review]:
        """Return the reviews about the two things that wait."""
        pair = {self.roots.of(each) for each in self.both}
        return [
            it
            for it in reviews.pending_names(self.connection)
            if {self.roots.of(it.asked.older), self.roots.of(it.asked.newer)} == pair
        ]

    def refuse(self, sentence: str, hint: str) -> MnemonError:
        return invalid([FieldProblem("other", sentence)], hint=hint)

    def refuse_not_same(self) -> None:
        """Raise MnemonError(INVALID_PARAMS) if they were decided not to be the same."""
        link = forbidding(relations.links(self.connection, "not_same"), self.roots, *self.both)
        if link is not None:
            op_id = relations.operation_of_link(self.connection, link.id)
            raise self.refuse(
                f"{self.wanted.name[:MAX_SHOWN_NAME]!a} and {self.wanted.other[:MAX_SHOWN_NAME]!a} were decided not to"
                f" be the same, {link.created_at[:10]}",
                f"to take that back: mnemonctl undo {op_id}",
            )


def _merge(names: _Names) -> _Made:
    """The second becomes a name of the first; a user keeps the row."""
    one, other = (names.roots.of(each) for each in names.both)
    if one == other:
        return _Made(names.result("unchanged"))
    names.refuse_not_same()
    users = [each for each in (one, other) if relations.is_user(names.connection, each)]
    if len(users) == 2:
        raise names.refuse("both are users of this store, who are never one", "memories keep the user they are of")
    if other in users:
        one, other = other, one
        names.root = one
    members = names.roots.members(other)
    waiting = names.waiting()
    if names.wanted.propose:
        made = names.result("proposed", of=members)
        if waiting:
            return _Made(msgspec.structs.replace(made, review=waiting[0].id))
        return _Made(made, asked=[OpenReview("names", one, other, "MERGE", 1.0, ASKED_BY_HOST)])
    return _Made(names.result("merged", of=members), [AddLink("same", one, other)], waiting)


ASKED_BY_HOST: Final = "a tool asked to join them"
"""`reason` of a review that a merge by a tool became."""


def _split(names: _Names) -> _Made:
    """Cut the link that joins two names. Two rows are remembered not to be the same; an alias alone is forgotten."""
    row, other = names.both
    canonical = canonical_name(names.wanted.other)
    if row == other:
        link = relations.alias_link(names.connection, row, canonical)
        if link is None:
            link = relations.alias_link(names.connection, row, canonical_name(names.wanted.name))
        if link is None:
            raise names.refuse(
                "both are spellings of one name, which no decision joined",
                "spellings that differ in case or blanks, and built-in ones as k8s for Kubernetes, are one name",
            )
        return _Made(names.result("split"), [ExpireLink(link)])
    if names.roots.of(row) != names.roots.of(other):
        raise names.refuse("they are two things already", "to keep them apart for good: mnemonctl entity not-same A B")
    below = row if other in names.roots.above(row) else other
    link_id = next(it.link for it in relations.joins(names.connection) if it.row == below)
    members = names.roots.below(below)
    names.root = row if below == other else other
    called = relations.names(names.connection, [row]).get(row, "")
    result = msgspec.structs.replace(names.result("split", of=members), entity=called)
    return _Made(result, [ExpireLink(link_id), AddLink("not_same", row, other)])


def _not_same(names: _Names) -> _Made:
    """Two things are remembered to be two."""
    one, other = (names.roots.of(each) for each in names.both)
    if one == other:
        raise names.refuse(
            "they are one thing now", "mnemonctl entity split A B separates them, and remembers that they are two"
        )
    if forbidding(relations.links(names.connection, "not_same"), names.roots, one, other) is not None:
        return _Made(names.result("unchanged"))
    return _Made(names.result("not-same"), [AddLink("not_same", *names.both)], names.waiting())


def _alias(names: _Names) -> _Made:
    """The second is another name of the first, which no row has."""
    alias = " ".join(names.wanted.other.split())
    canonical = canonical_name(alias)
    scope = names.wanted.scope
    found = Names(names.connection, scope.user_id).find(alias)
    if found is not None:
        if relations.root_of(names.connection, found) == names.root:
            return _Made(names.result("unchanged"))
        if found in relations.hidden(names.connection, [found], scope):
            raise names.refuse(f"{alias[:MAX_SHOWN_NAME]!a} is taken already", "give it another alias")
        raise names.refuse(
            f"{alias[:MAX_SHOWN_NAME]!a} is a name of {names.name_of(found)[:MAX_SHOWN_NAME]!a}",
            "if the two are one thing: mnemonctl entity merge A B",
        )
    return _Made(names.result("alias"), [AddLink("alias", names.root, canonical, alias)])


_MAKE: Final[dict[Decision, Callable[[_Names], _Made]]] = {
    "merge": _merge, "split": _split, "not-same": _not_same, "alias": _alias,
}  # fmt: skip
