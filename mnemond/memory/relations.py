"""Statements about relations: given directly or with a memory, read by a model, taken back (docs/decisions/0048)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import msgspec

from mnemond.errors import AMBIGUOUS, NOT_FOUND, FieldProblem, MnemonError, invalid
from mnemond.memory.questions.relation_claims import TYPES, Claim
from mnemond.memory.relations_seen import seen
from mnemond.memory.write import WriteContext
from mnemond.model.changes import ChangeSet
from mnemond.model.memory import Entity, Insight, Scope
from mnemond.model.outcomes import RelationResult
from mnemond.model.relations import (
    INFERRED,
    MAX_QUOTE,
    MAX_TYPE,
    MAX_VALUE,
    AddEntity,
    AddEvidence,
    AddLink,
    Evidence,
    ExpireLink,
    GivenRelation,
    Granularity,
    KnowledgeChange,
    Origin,
    PointKind,
    Relationship,
    Roots,
    StatedRelation,
    Statement,
    is_functional,
    split_type,
)
from mnemond.store import insights, relations
from mnemond.store.connection import Connection
from mnemond.store.edges import entity_id
from mnemond.store.operations import Proposal, View
from mnemond.text.entities import canonical_name, extract
from mnemond.text.entity_shapes import kind_of
from mnemond.text.passages import sentences
from mnemond.text.resources import regex

TYPE: Final = regex(r"[a-z][a-z0-9_]*")
USERS: Final = frozenset({"user", "i", "me", "the user", "我", "用户", "ich"})
"""Names for the user of a store, folded."""


class Point(msgspec.Struct, frozen=True):
    """A time and how exactly it is known."""

    at: str
    granularity: Granularity = "exact"


# Names.


class Names:
    """Finds the entities that names mean, and adds those that are new. For one write. `as_written`: an alias gets a row
    of its own, which leads to the thing for as long as it is an alias of it."""

    def __init__(self, connection: Connection, user: str | None = None, *, as_written: bool = False) -> None:
        self._connection = connection
        self._as_written = as_written
        self._user = user or relations.DEFAULT_USER
        self._added: dict[str, str] = {}
        self.added: list[AddEntity] = []

    def find(self, name: str) -> str | None:
        """Return the id of an entity, None if there is none of this name."""
        canonical = canonical_name(name)
        if canonical in USERS:
            found = relations.user_id(self._user)
            return found if relations.entity(self._connection, found) is not None else None
        if self._as_written:
            return relations.row_named(self._connection, canonical) or self._added.get(canonical)
        stored = relations.entity_named(self._connection, canonical)
        return self._added.get(canonical) if stored is None else stored.id

    def is_known(self, name: str) -> bool:
        """Return True for the name or an alias of an entity."""
        stored = relations.entity_named(self._connection, canonical_name(name))
        return stored is not None or self.find(name) is not None

    def of(self, name: str, kind: str = "") -> str:
        """Return the id of an entity, which is added if there is none of this name."""
        known = self.find(name)
        if known is not None:
            return known
        canonical = canonical_name(name)
        if canonical in USERS:
            new = AddEntity(relations.user_id(self._user), "User", self._user, "user", relations.USER_SENSE)
        else:
            new = AddEntity(entity_id(Entity(name, canonical, "concept")), name, canonical, kind or kind_of(name))
        self._added[canonical] = new.id
        self.added.append(new)
        return new.id


def named_entity(connection: Connection, name: str, scope: Scope = relations.NO_SCOPE) -> str:
    """Return the row that a thing goes by: that of the name or alias itself, else of the only thing whose name has
    these words. Names that a reader with this scope does not see are none. Raises MnemonError: NOT_FOUND; AMBIGUOUS
    with the names of several."""
    name = " ".join(name.split())
    found = _seen(connection, name, scope)
    roots = relations.roots(connection)
    if found is not None:
        return roots.of(found)
    near = _near(connection, name, roots, scope)
    if len(near) == 1:
        return next(iter(near))
    raise _unknown(name, list(near.values()))


def named_row(connection: Connection, name: str, scope: Scope = relations.NO_SCOPE) -> str:
    """Return the row that has a name or alias, whatever it was merged into; a write takes no part of a name. Raises
    MnemonError as `named_entity`."""
    name = " ".join(name.split())
    found = _seen(connection, name, scope)
    if found is None:
        raise _unknown(name, list(_near(connection, name, relations.roots(connection), scope).values()))
    return found


def _seen(connection: Connection, name: str, scope: Scope) -> str | None:
    """Return the row of a name or alias, None if there is none, or none that a reader with this scope sees."""
    found = Names(connection, scope.user_id).find(name)
    return None if found is None or found in relations.hidden(connection, [found], scope) else found


MAX_CANDIDATES: Final = 8
"""Names listed for one that several things may go by."""

MAX_SHOWN_NAME: Final = 64
"""Characters of a name in an error."""


def _near(connection: Connection, name: str, roots: Roots, scope: Scope) -> dict[str, str]:
    """Return the things whose name has the words of `name`, and that a reader with this scope sees: their names by
    their rows, at most MAX_CANDIDATES + 1."""
    rows = [each.id for each in relations.entities_with_words(connection, canonical_name(name))]
    gone = relations.hidden(connection, rows, scope)
    ids = list(dict.fromkeys(roots.of(each) for each in rows if each not in gone))
    return relations.shown_names(connection, ids[: MAX_CANDIDATES + 1], scope, roots)


def _unknown(name: str, near: Sequence[str]) -> MnemonError:
    shown = [f"{each[:MAX_SHOWN_NAME]!a}" for each in sorted(near)[:MAX_CANDIDATES]]
    if len(near) < 2:
        hint = f"did you mean {shown[0]}?" if near else "`mnemonctl entity list` shows the names that are known"
        sentence = f"no memory and no relation names {name[:MAX_SHOWN_NAME]!a}"
        return MnemonError(NOT_FOUND, sentence, hint=hint, outcome="rejected")
    more = " and others" if len(near) > MAX_CANDIDATES else ""
    sentence = f"{name[:MAX_SHOWN_NAME]!a} may be {', '.join(shown)}{more}"
    return MnemonError(AMBIGUOUS, sentence, hint="give the whole name of one of them", outcome="rejected")


def is_entity(name: str) -> bool:
    """Return True if a target is the name of a thing, and no text."""
    return any(it.name == name for it in extract(name, mode="auto")) or (
        len(name) > 1 and name[0].isupper() and len(name.split()) <= MAX_NAME_WORDS
    )


MAX_NAME_WORDS: Final = 5


# Given directly.


class RelationToAdd(StatedRelation, frozen=True, kw_only=True):
    """A relation that a host or a user states. Without `since` it is seen to hold at the time of the write, `until`
    ends it. `literal`: the target is a text, not a thing."""

    since: Point | None = None
    until: Point | None = None
    literal: bool | None = None
    origin: Origin = "user"
    user: str | None = None


def type_problems(kind: str) -> list[FieldProblem]:
    """Return the problem of a type of relation, if it has one."""
    if len(kind) <= MAX_TYPE and TYPE.fullmatch(kind):
        return []
    return [FieldProblem("type", f"type is {kind[:48]!a}; it must be letters and underscores, as works_at")]


def name_problems(field: str, name: str) -> list[FieldProblem]:
    """Return the problem of a name or a value, if it has one."""
    if not name.strip() or len(name) > MAX_VALUE or not name.isprintable():
        return [FieldProblem(field, f"{field} must be one line of 1 to {MAX_VALUE} characters")]
    return []


def propose_addition(wanted: RelationToAdd, identity: WriteContext) -> Proposal:
    """Propose to note a relation."""
    return identity.proposal("relations.add", partial(_decide_addition, wanted, identity))


def _decide_addition(wanted: RelationToAdd, identity: WriteContext, view: View) -> ChangeSet:
    connection = view.connection
    names = Names(connection, wanted.user)
    memory_id, quote = _memory(connection, wanted.memory_id, wanted.source, wanted.target)
    stated = [_start(wanted.since, wanted.until, identity.now)]
    if wanted.until is not None and wanted.since is not None:
        stated.append(("end", wanted.until))
    kind, slot = split_type(wanted.type)
    source = names.of(" ".join(wanted.source.split()))
    target, value = _thing(names, " ".join(wanted.target.split()), wanted.literal)
    changes = [
        AddEvidence(
            Statement(
                source_id=source, type=kind, slot=slot, target_id=target, value=value, kind=point, at=when.at,
                granularity=when.granularity, memory_id=memory_id, quote=quote, origin=wanted.origin,
            )
        )
        for point, when in stated
    ]  # fmt: skip
    return _change_set(
        identity, "relations.add", (*names.added, *changes),
        RelationResult(status="added", source=wanted.source, type=wanted.type, target=wanted.target,
                       op_id=identity.op_id, replayed=False),
    )  # fmt: skip


def _start(since: Point | None, until: Point | None, now: str) -> tuple[PointKind, Point]:
    if since is not None:
        return "start", since
    return ("seen", Point(now)) if until is None else ("until", until)


def _thing(names: Names, target: str, literal: bool | None) -> tuple[str | None, str | None]:
    """Return the id of the target, or its text."""
    if literal is None:
        literal = not names.is_known(target) and not is_entity(target)
    return (None, target) if literal else (names.of(target), None)


def _memory(connection: Connection, insight_id: str | None, *ends: str) -> tuple[str | None, str]:
    """Return the id of the memory that states a relation, and the sentence. Raises MnemonError."""
    if insight_id is None:
        return None, ""
    found = insights.ids_beginning(connection, insight_id.casefold(), 2)
    if len(found) != 1:
        kind = AMBIGUOUS if found else NOT_FOUND
        raise MnemonError(
            kind, f"{'several memories' if found else 'no memory'} with id {insight_id[:64]!a}",
            hint="`mnemonctl list` shows the ids", outcome="rejected",
        )  # fmt: skip
    it = insights.read(connection, found[0])
    return found[0], "" if it is None else _sentence(it.content, ends)


def _sentence(content: str, ends: Sequence[str]) -> str:
    """Return the first of the sentences of a memory that name most of the ends of a relation, as it is quoted."""
    small = [" ".join(each.split()).lower() for each in ends]
    said = (" ".join(each.split()) for each in sentences(content))
    best = max(said, key=lambda sentence: sum(end in sentence.lower() for end in small), default="")
    return best[:MAX_QUOTE]


def _change_set(
    identity: WriteContext, method: str, changes: Sequence[KnowledgeChange], outcome: RelationResult
) -> ChangeSet:
    change_set = identity.change_set(method, (), outcome, operation="relation", detail=f"type={outcome.type}")
    return msgspec.structs.replace(change_set, knowledge=tuple(changes))


ENDED: Final = regex(r"\s*ended:\s*", re.IGNORECASE)
"""Beginning of a line about a relation that ended."""


def relation_of(text: str) -> GivenRelation | None:
    """Return the relation of a line as "Ana leads billing", "Ana Silva works_at Acme" or "ended: …"; None if it is
    none. Its type is the first word with an underscore, else in small letters, of those between the ends."""
    ended = ENDED.match(text)
    words = text[ended.end() if ended else 0 :].split()
    places = [place for place in range(1, len(words) - 1) if TYPE.fullmatch(words[place])]
    if not places:
        return None
    at = next((place for place in places if "_" in words[place]), places[0])
    return GivenRelation(
        subject=" ".join(words[:at]), type=words[at], object=" ".join(words[at + 1 :]), ended=ended is not None
    )


def given_with(
    it: Insight, given: Sequence[GivenRelation], at: str, identity: WriteContext, user: str | None, view: View
) -> tuple[KnowledgeChange, ...]:
    """Return the changes that note relations which a memory states, said `at` (RFC 3339); what it states already is not
    noted again."""
    names = Names(view.connection, user)
    known = {_same(each)[:-1] for each in _stated(view.connection, it.id)}
    found: dict[tuple[object, ...], AddEvidence] = {}
    for each in given:
        kind, slot = split_type(each.type)
        source = names.of(" ".join(each.subject.split()))
        target, value = _thing(names, " ".join(each.object.split()), None)
        stated = Statement(
            source_id=source, type=kind, slot=slot, target_id=target, value=value,
            kind="until" if each.ended else "seen", at=at, memory_id=it.id,
            quote=_sentence(it.content, (each.subject, each.object)), origin="user" if identity.by_person else "host",
        )  # fmt: skip
        if (key := _same(stated)[:-1]) not in known:
            found.setdefault(key, AddEvidence(stated))
    return (*names.added, *found.values()) if found else ()


class RelationToClose(StatedRelation, frozen=True, kw_only=True):
    """A relation that ended: by the id of an interval or a beginning of it, or by source, type and target; without a
    target that which holds now."""

    source: str = ""
    type: str = ""
    target: str = ""
    id: str | None = None
    at: Point | None = None
    origin: Origin = "user"
    user: str | None = None


def propose_closing(wanted: RelationToClose, identity: WriteContext) -> Proposal:
    """Propose to end a relation. It adds nothing where nothing holds."""
    return identity.proposal("relations.close", partial(_decide_closing, wanted, identity))


def _decide_closing(wanted: RelationToClose, identity: WriteContext, view: View) -> ChangeSet:
    connection = view.connection
    when = wanted.at or Point(identity.now)
    memory_id, quote = _memory(connection, wanted.memory_id, wanted.source, wanted.target)
    ended = [it for it in _open(wanted, connection) if it.valid_from is None or it.valid_from < when.at]
    if not ended:
        raise MnemonError(
            NOT_FOUND, "no relation like that holds at that time, so nothing can end",
            hint="`mnemonctl relations list --history` shows all, with their ids", outcome="rejected",
        )  # fmt: skip
    changes = [
        AddEvidence(
            Statement(
                source_id=it.source_id, type=it.type, slot=it.slot, target_id=it.target_id, value=it.value, kind="end",
                at=when.at, granularity=when.granularity, memory_id=memory_id, quote=quote, origin=wanted.origin,
            )
        )
        for it in ended
    ]  # fmt: skip
    shown = relations.views(connection, ended)[0]
    outcome = RelationResult(
        status="closed", source=shown.source, type=shown.type, target=shown.target, op_id=identity.op_id, replayed=False
    )
    return _change_set(identity, "relations.close", changes, outcome)


MAX_MATCHES: Final = 5


def _open(wanted: RelationToClose, connection: Connection) -> list[Relationship]:
    """Return the intervals meant that are believed and have no end. Raises MnemonError."""
    if wanted.id is not None:
        found = relations.relationship_beginning(connection, wanted.id.casefold(), MAX_MATCHES + 1)
        if len(found) > 1:
            raise MnemonError(
                AMBIGUOUS, f"{wanted.id[:64]!a} is the beginning of several ids", hint="write more of the id",
                outcome="rejected",
            )  # fmt: skip
        visible = {each.id for it in found for each in seen(connection, [it.source_id], None, Scope(wanted.user))}
        return [it for it in found if it.invalid_at is None and it.id in visible]
    if not wanted.source or not wanted.type:
        raise invalid([FieldProblem("source", "give the id of a relation, or its source and type")])
    kind, slot = split_type(wanted.type)
    scope = Scope(wanted.user)
    members = relations.roots(connection).members(named_row(connection, wanted.source, scope))
    rows = [
        it
        for it in seen(connection, members, None, scope)
        if it.source_id in members and (it.type, it.slot) == (kind, slot) and it.invalid_at is None
    ]
    if not wanted.target:
        return rows
    target = Names(connection, wanted.user).find(wanted.target)
    root = None if target is None else relations.roots(connection).of(target)
    value = wanted.target.casefold()
    return [it for it in rows if (it.target_id is not None and it.target_id == root) or it.thing == ("", value)]


# Read by a model.


def outdated(claim: Claim, connection: Connection, user: str | None) -> bool:
    """Return True if a claim would end another value of a functional type that holds since the same time: only a later
    time ends one."""
    names, (kind, slot) = Names(connection, user), split_type(claim.type)
    source = names.find(claim.source)
    if source is None or claim.kind == "end" or not is_functional(kind, slot):
        return False
    found, target = relations.roots(connection), names.find(claim.target)
    thing = (found.of(target), "") if target is not None else ("", claim.target.casefold())
    members = found.members(source)
    rows = [it for it in seen(connection, members, None, Scope(user)) if it.source_id in members]
    return any((it.type, it.slot, it.valid_from) == (kind, slot, claim.at) and it.thing != thing for it in rows)


def claimed_in(it: Insight, claims: Sequence[Claim], connection: Connection) -> tuple[KnowledgeChange, ...]:
    """Return the changes that note what a model read in a memory; what it states already is not noted again."""
    names = Names(connection, it.scope.user_id, as_written=True)
    known = {_same(each) for each in _stated(connection, it.id)}
    found: dict[tuple[object, ...], AddEvidence] = {}
    for claim in claims:
        kind, slot = split_type(claim.type)
        source = names.of(claim.source)
        is_name = TYPES[claim.type] == "name"
        target, value = (names.of(claim.target), None) if is_name else _thing(names, claim.target, None)
        stated = Statement(
            source_id=source, type=kind, slot=slot, target_id=target, value=value, kind=claim.kind, at=claim.at,
            granularity=claim.granularity, strength=INFERRED, memory_id=it.id, quote=claim.quote, origin="model",
        )  # fmt: skip
        if target != source and (key := _same(stated)) not in known:
            found.setdefault(key, AddEvidence(stated))
    return (*names.added, *found.values()) if found else ()


def _stated(connection: Connection, memory_id: str) -> list[Evidence]:
    """Return the statements of a memory that count."""
    noted = relations.evidence_of_memory(connection, memory_id)
    counted = relations.visible(connection, noted, relations.NO_SCOPE)
    return [it for it in noted if it.id in counted]


def _same(it: Statement) -> tuple[object, ...]:
    return (it.source_id, it.type, it.slot, *it.thing, it.kind, it.at)


# Decisions that contradict each other.


def contradiction(connection: Connection, changes: Sequence[KnowledgeChange]) -> str | None:
    """Return why changes of links, made in this order, would contradict decisions that count; None if they do not: a
    row would lead to two others, or two things that are not the same would be one."""
    links = {it.id: it for it in relations.links(connection, "not_same")}
    parents = {it.row: it for it in relations.joins(connection)}
    apart = [(it.entity_id, it.other) for it in links.values()]
    for each in changes:
        if isinstance(each, ExpireLink):
            gone = links.get(each.id)
            if gone is not None:
                apart.remove((gone.entity_id, gone.other))
            parents = {row: join for row, join in parents.items() if join.link != each.id}
        elif isinstance(each, AddLink) and each.kind == "not_same":
            apart.append((each.entity_id, each.other))
        elif isinstance(each, AddLink):
            row = relations.row_named(connection, each.other) if each.kind == "alias" else each.other
            stored = relations.entity_named(connection, each.other) if each.kind == "alias" else None
            if row is None and stored is not None and stored.id != each.entity_id:
                return "the alias is that of another thing by now"
            if row is not None and row != each.entity_id:
                if row in parents or _roots(parents).of(each.entity_id) == row:
                    return "one of the names was joined with another since"
                parents[row] = relations.Join(row, each.entity_id, 0)
    found = _roots(parents)
    if any(found.of(one) == found.of(other) for one, other in apart):
        return "two of the names were decided not to be the same since"
    return None


def _roots(parents: Mapping[str, relations.Join]) -> Roots:
    return Roots((row, join.above) for row, join in parents.items())
