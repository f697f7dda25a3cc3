"""Memories of other programs: remembered as any other, except that none takes the place of one that was here before.
Exchanges of agents' sessions and of conversations are kept and queued as those that a hook brings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

import msgspec

from mnemond.config.writing import ExtractionSettings
from mnemond.memory.exchanges import propose_queueing
from mnemond.memory.remember import Prepared, decide
from mnemond.memory.write import WriteContext, WriteRules
from mnemond.model.changes import AddEdge, ChangeSet, QueuedExchange, QueueExchange, Vector
from mnemond.model.memory import Edge, EdgeType
from mnemond.model.outcomes import RememberResult
from mnemond.store import imports
from mnemond.store.operations import Proposal, View


class ImportedLink(NamedTuple):
    """A link to a memory that was imported before, which its `source` names; `outgoing`: it leads there."""

    source: str
    edge_type: EdgeType
    weight: float
    metadata: str
    outgoing: bool


def propose_import(
    prepared: Prepared, identity: WriteContext, rules: WriteRules, source: str, links: Sequence[ImportedLink] = ()
) -> Proposal:
    """Propose the write of a memory; `source` is noted with it, so that it is imported once. One that says what a
    memory says already is none; one that contradicts another stands beside it. Links to memories that are not there
    are left out."""

    def decided(view: View) -> ChangeSet:
        reached = decide(prepared, identity, rules, view.snapshot, view.similarity)
        if cast("RememberResult", reached.outcome).action == "replaced":
            beside = msgspec.structs.replace(
                prepared,
                draft=msgspec.structs.replace(prepared.draft, no_diff=True),
                reading=msgspec.structs.replace(prepared.reading, side=None),
            )
            reached = decide(beside, identity, rules, view.snapshot, view.similarity)
        outcome = cast("RememberResult", reached.outcome)
        made = outcome.id if outcome.action == "added" else None
        added = () if made is None else tuple(_edges(view, made, links))
        changes = (*reached.changes, *added)
        return msgspec.structs.replace(reached, operation="", imported=((source, made),), changes=changes)

    return identity.proposal("remember", decided, cast("Vector | None", prepared.vector))


def propose_session_exchange(
    exchange: QueuedExchange, identity: WriteContext, settings: ExtractionSettings, *, recorded: bool
) -> Proposal:
    """Propose to keep an exchange of a transcript or a conversation, and to queue it; its key is noted with it, so that
    what is read out of it belongs to the operation of the import."""
    queueing = propose_queueing(exchange, identity, settings, recorded=recorded)

    def decided(view: View) -> ChangeSet:
        reached = queueing.decide(view)
        keys = tuple((each.exchange.key, None) for each in reached.queue if isinstance(each, QueueExchange))
        return msgspec.structs.replace(reached, imported=keys)

    return queueing._replace(decide=decided)


def _edges(view: View, made: str, links: Sequence[ImportedLink]) -> Iterator[AddEdge]:
    there = imports.known(view.connection, {each.source for each in links})
    for each in links:
        other = there.get(each.source)
        if other is None or other == made or view.snapshot.row_of(other) is None:
            continue
        ends = (made, other) if each.outgoing else (other, made)
        for one, to in (ends,) if each.edge_type == "causal" else (ends, ends[::-1]):
            yield AddEdge(Edge(one, to, each.edge_type, each.weight, each.metadata, "host"))
