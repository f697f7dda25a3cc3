"""A store whose relations, names, merges, summaries, held texts and passages random operations run through, beside what
it holds of memories; and the relations as the audit alone gives them for any time."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from mnemond.api.requests import one_active
from mnemond.errors import MnemonError
from mnemond.memory import core_summary
from mnemond.memory.alike import Limits
from mnemond.memory.consolidation import Plan, planned, proposals
from mnemond.memory.core_summary import entity_of, source_of
from mnemond.memory.draft import Draft
from mnemond.memory.exchanges import propose_queueing
from mnemond.memory.held_texts import propose_drop, propose_keep
from mnemond.memory.questions.relation_claims import Claim
from mnemond.memory.relations import (
    Point,
    RelationToAdd,
    RelationToClose,
    claimed_in,
    contradiction,
    propose_addition,
    propose_closing,
)
from mnemond.memory.remember import prepare
from mnemond.memory.reviews import Resolve, propose_resolve, text_of
from mnemond.memory.write import write_rules
from mnemond.model.changes import QueuedExchange
from mnemond.model.core import BY_HAND, CoreLine
from mnemond.model.memory import format_us
from mnemond.model.outcomes import CoreResult, Maintained, Outcome
from mnemond.model.relations import (
    MAX_QUOTE,
    AddLink,
    Evidence,
    KnowledgeChange,
    Link,
    LinkKind,
    Relationship,
    Roots,
    grouped,
    intervals,
)
from mnemond.model.reviews import HeldReview, HeldText, OpenReview, Resolution, Review
from mnemond.store import core_summaries, held_texts, relations, reviews
from mnemond.store.connection import Connection
from mnemond.text.entities import canonical_name
from tests.memory.audit_world import UNBOUNDED, AuditWorld, vector_of_memory
from tests.store.factories import EMBEDDER

USERS = ("ada", "bea")


class Believed(NamedTuple):
    """An interval without the ids and times of its row. Names and successor by id of the entity."""

    source: str
    type: str
    thing: tuple[str, str]
    valid_from: str | None
    granularity: str
    invalid_at: str | None
    end_granularity: str
    strength: float | None
    successor: tuple[tuple[str, str], str | None] | None


class KnowledgeWorld(AuditWorld):
    """An operation a method, as in its base class."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, UNBOUNDED)
        self.rules = write_rules(EMBEDDER, self.config)
        """Every sentence that was said."""
        self.purged_at = ""
        """The last purge: what was believed before rests in part on what is gone."""
        self.cores: dict[str, dict[str, str]] = {}
        """The core summary of each user as it was read at a time."""

    @property
    def now(self) -> str:
        return format_us(self.clock_us)

    # ------------------------------------------------------------ relations and names

    def relate(self, source: str, kind: str, target: str, since: str | None, until: str | None = None) -> Any:
        points = [None if each is None else Point(each, "day") for each in (since, until)]
        wanted = RelationToAdd(source=source, type=kind, target=target, since=points[0], until=points[1])
        return self.commit(propose_addition(wanted, self.identity()))

    def end(self, it: Relationship, at: str | None) -> Any:
        point = None if at is None else Point(at, "day")
        return self.commit(propose_closing(RelationToClose(id=it.id, at=point), self.identity()))

    def decide(self, *changes: KnowledgeChange) -> Any:
        identity = self.identity()
        change_set = identity.change_set("entity", (), Maintained(op_id=identity.op_id))
        return self.commit(msgspec.structs.replace(change_set, knowledge=changes))

    def name(self, kind: LinkKind, entity: str, other: str) -> Any:
        """Decide about two names, as the commands do: nothing that contradicts a decision. Other names are an alias."""
        ids = [self.entity(each) for each in (entity, other)]
        if ids[0] is None or (kind != "alias" and ids[1] is None) or ids[0] == ids[1]:
            return None
        found = self.roots()
        if kind == "same":
            ids = [found.of(str(each)) for each in ids]
            if ids[0] == ids[1]:
                return None
        is_alias = kind == "alias"
        target = canonical_name(other) if is_alias else str(ids[1])
        link = AddLink(kind, str(ids[0]), target, other if is_alias else "")
        if self.read(lambda it: contradiction(it, [link])) is not None:
            return None
        return self.decide(link)

    def entity(self, name: str) -> str | None:
        found = self.read(lambda it: relations.entity_named(it, canonical_name(name)))
        return None if found is None else str(found.id)

    def roots(self) -> Roots:
        return self.read(relations.roots)  # type: ignore[no-any-return]

    def claim(self, insight_id: str, person: str, place: str, at: str) -> Any:
        """Note that a model read this relation in a memory."""
        it = self.insight(insight_id)
        claim = Claim(person, "works_at", place, "start", at, "day", it.content[:MAX_QUOTE])
        knowledge = self.read(lambda connection: claimed_in(it, [claim], connection))
        return self.decide(*knowledge) if knowledge else None

    def relationships(self) -> list[Relationship]:
        return self.read(relations.relationships)  # type: ignore[no-any-return]

    def open_relations(self) -> list[Relationship]:
        found = [it for it in self.relationships() if it.expired_at is None and it.invalid_at is None]
        return sorted(found, key=lambda it: (it.type, it.thing, it.valid_from or "", it.source_id))

    # ------------------------------------------------------------ core summaries

    def core(self, user: str) -> str:
        """The core summary of a user as it is shown, "" without one."""
        found = self.read(lambda it: core_summaries.current(it, [entity_of(user)]))
        return str(found[entity_of(user)].text) if found else ""

    def make_core(self, user: str, *ids: str) -> Any:
        """Make one of these memories, as the job does."""
        memories = [self.insight(each) for each in ids]
        lines = tuple(CoreLine(it.content, sources=(source_of(it),)) for it in memories)
        return self._put_core(core_summary.Draft(user=user, lines=lines), "core.update")

    def set_core(self, user: str, text: str) -> Any:
        """Give one by hand, of which no memory is the source."""
        draft = core_summary.Draft(user=user, lines=(CoreLine(text),), generator=BY_HAND)
        return self._put_core(draft, "core.set")

    def _put_core(self, draft: core_summary.Draft, method: Literal["core.update", "core.set"]) -> Any:
        identity = self.identity()
        done = self.commit(core_summary.propose(draft, identity, method))
        if isinstance(done, CoreResult) and done.status == "unchanged":
            self.done.remove(identity.op_id)  # it wrote nothing that could be taken back
        return done

    def note_cores(self) -> None:
        self.cores[self.now] = {user: self.core(user) for user in USERS}

    def replayed_cores(self, at: str) -> dict[str, str]:
        """What the versions that counted at a time say."""

        def read(connection: Connection) -> dict[str, str]:
            found = {}
            for user in USERS:
                versions = core_summaries.versions(connection, entity_of(user), core_summaries.MAX_VERSIONS)
                counted = [it for it in versions if it.created_at <= at and not (it.expired_at and it.expired_at <= at)]
                found[user] = max(counted, key=lambda it: it.version).text if counted else ""
            return found

        return self.read(read)  # type: ignore[no-any-return]

    # ------------------------------------------------------------ purges

    def purge(self, insight_id: str) -> Outcome | MnemonError:
        """Purge a memory."""
        done = self.forget(insight_id, purge=True)
        if not isinstance(done, MnemonError):
            self.done.pop()  # it cannot be taken back
            self.cores.clear()  # of every version the lines are gone that rested on it
            self.purged_at = self.now
        return done

    # ------------------------------------------------------------ merges

    def plan(self) -> Plan:
        known = self.read(reviews.asked_pairs)
        search = planned(self.snapshot, Limits(0.92, 0.8), self.rules.diff, known)
        while True:
            try:
                next(search)
            except StopIteration as done:
                return done.value  # type: ignore[no-any-return]

    def propose_merges(self) -> list[OpenReview]:
        """Ask about the clusters that there are, as the job does."""
        asked = proposals(self.plan(), self.read(reviews.asked_pairs), self.engine.pending_reviews)
        if asked:
            identity = msgspec.structs.replace(self.identity(), triggered_by="system:consolidate")
            outcome = Maintained(changed=len(asked), op_id=identity.op_id)
            done = self.engine.commit([identity.change_set("consolidate", (), outcome, reviews=tuple(asked))])[0]
            assert not isinstance(done, MnemonError), done
        return asked

    def waiting(self) -> list[Review]:
        return self.read(lambda it: reviews.pending(it, 100))  # type: ignore[no-any-return]

    def resolve(self, review: Review, resolution: Resolution) -> Outcome | MnemonError:
        text = None
        if review.asked.kind != "names":
            text = text_of(resolution, self.insight(review.asked.older), self.insight(review.asked.newer), None)
        wish = Resolve(
            review=review.id, resolution=resolution, embedded_text=text,
            vector=None if text is None else vector_of_memory(text),
        )  # fmt: skip
        return self.commit(propose_resolve(wish, self.identity(), one_active, self.rules))

    def ask_names(self, one: str, other: str) -> None:
        """Ask whether two names are one, as the job does."""
        ids = [self.entity(each) for each in (one, other)]
        found = sorted({self.roots().of(each) for each in ids if each is not None})
        if len(found) == 2:
            identity = self.identity()
            asked = OpenReview("names", found[0], found[1], "MERGE", 1.0, "alike")
            outcome = Maintained(changed=1, op_id=identity.op_id)
            self.engine.commit([identity.change_set("entities", (), outcome, reviews=(asked,))])

    # ------------------------------------------------------------ texts that give orders, and what was said

    def hold(self, text: str) -> None:
        """Let a text wait for a decision, as extraction does."""
        self.engine.rewrite(lambda it: held_texts.hold(it, [HeldText(text, self.now)], self.now))

    def held(self) -> list[HeldReview]:
        return self.read(lambda it: held_texts.listed(it, None))  # type: ignore[no-any-return]

    def settle(self, review: HeldReview, *, kept: bool) -> Outcome | MnemonError:
        identity = self.identity()
        if not kept:
            return self.commit(propose_drop(review.id, identity))
        draft = Draft(content=review.held.content)
        prepared = prepare(draft, identity.now_us, self.snapshot.entity_spelling, self.config)
        prepared = msgspec.structs.replace(prepared, vector=vector_of_memory(prepared.text))
        return self.commit(propose_keep(review.id, prepared, identity, self.rules))

    def say(self, prompt: str) -> None:
        """Keep an exchange of a session, as a hook does."""
        identity = self.identity()
        said = QueuedExchange(host="codex", at_us=identity.now_us, prompt=prompt)
        self.engine.commit([propose_queueing(said, identity, self.config.extraction)])

    def said(self) -> list[str]:
        """The ids of the passages in recall."""
        return self.read(lambda it: it.column("SELECT id FROM passages WHERE gone_op IS NULL ORDER BY id"))  # type: ignore[no-any-return]

    # ------------------------------------------------------------ what is believed, and what the audit says

    def believed(self, at: str) -> set[Believed]:
        """The rows that were believed at a time. A row has the strength of now."""
        rows = [
            it for it in self.relationships() if it.created_at <= at and (it.expired_at is None or it.expired_at > at)
        ]
        heads = {it.first_id: (it.thing, it.valid_from) for it in rows}
        assert len(heads) == len(rows), "two rows of one interval are believed"
        return {
            Believed(
                it.source_id, f"{it.type} {it.slot}", it.thing, it.valid_from, it.granularity, it.invalid_at,
                it.end_granularity, it.strength if at >= self.now else None,
                None if it.invalidated_by is None else heads[it.invalidated_by],
            )
            for it in rows
        }  # fmt: skip

    def replayed_relations(self, at: str) -> set[Believed]:
        """What statements and decisions about names of a time alone give, without the rows."""
        statements: list[Evidence] = self.read(lambda it: relations.all_evidence(it, expired=True))
        decided: list[Link] = self.read(lambda it: relations.links(it, expired=True))
        found = Roots(self.read(lambda it: _parents(it, [each for each in decided if _counts(each, at)])))
        stated = [
            msgspec.structs.replace(
                it, source_id=found.of(it.source_id), target_id=it.target_id and found.of(it.target_id)
            )
            for it in statements
            if _counts(it, at)
        ]
        result = set[Believed]()
        for group in grouped(stated):
            first, derived = group[0], intervals(group)
            for it in derived:
                after = None if it.successor is None else derived[it.successor]
                result.add(
                    Believed(
                        first.source_id, f"{first.type} {first.slot}", it.thing, it.valid_from, it.granularity,
                        it.invalid_at, it.end_granularity, round(it.strength, 6) if at >= self.now else None,
                        None if after is None else (after.thing, after.valid_from),
                    )
                )  # fmt: skip
        return result

    def moments(self) -> list[str]:
        """Every time at which a statement or a decision about names began or ceased to count."""

        def every(connection: Connection) -> list[str]:
            rows: list[Evidence | Link] = [*relations.all_evidence(connection, expired=True)]
            rows += relations.links(connection, expired=True)
            return sorted({at for it in rows for at in (it.created_at, it.expired_at) if at is not None})

        return self.read(every)  # type: ignore[no-any-return]


def _counts(it: Evidence | Link, at: str) -> bool:
    return it.created_at <= at and (it.expired_at is None or it.expired_at > at)


def _parents(connection: Connection, decided: list[Link]) -> list[tuple[str, str]]:
    """Rows and what they were merged into, aliases first as in `relations.roots`."""
    rows = dict(connection.rows("SELECT canonical_name, id FROM entities WHERE sense = ''"))
    alias = [
        (rows[it.other], it.entity_id)
        for it in decided
        if it.kind == "alias" and rows.get(it.other, it.entity_id) != it.entity_id
    ]
    return [*alias, *((it.other, it.entity_id) for it in decided if it.kind == "same")]
