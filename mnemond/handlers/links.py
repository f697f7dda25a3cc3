"""The methods about what memories have to do with each other: link, unlink and related."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from mnemond.clock import Clock
from mnemond.errors import invalid
from mnemond.handlers.door import OpenStore, StoreDoor
from mnemond.handlers.lookup import one_active
from mnemond.handlers.scope import scope_of
from mnemond.handlers.submission import Identities, submitted
from mnemond.model.outcomes import Linked, Unlinked
from mnemond.model.recall import Filter
from mnemond.pipelines import link as linking
from mnemond.pipelines import unlink as unlinking
from mnemond.pipelines.active_row import admits, hidden
from mnemond.pipelines.edge_metadata import maker_of, metadata_problems, noted
from mnemond.pipelines.related import related
from mnemond.protocol.links import (
    LinkParams,
    LinkResult,
    RelatedMemory,
    RelatedParams,
    UnlinkParams,
    UnlinkResult,
)
from mnemond.server.call import Call
from mnemond.server.dispatch import Handler

HOST = "host:link"
"""What the history calls the cause of a link that a tool made of its own accord."""


class LinkHandlers:
    """link, unlink and related."""

    def __init__(self, door: StoreDoor, identities: Identities, clock: Clock) -> None:
        self._door = door
        self._clock = clock
        self._identities = identities

    def methods(self) -> Mapping[str, Handler]:
        """Each by the name of its method."""
        return {
            "link": self.link,
            "unlink": self.unlink,
            "related": self.related,
        }

    def link(self, call: Call, params: LinkParams) -> object:
        """Link two memories. Raises MnemonError(INVALID_PARAMS) with every problem at once."""
        wanted = _wanted(params)
        return self._door.through(params.store, lambda warm: self._link(warm, params, wanted))

    def unlink(self, call: Call, params: UnlinkParams) -> object:
        """Remove links. Raises MnemonError(NOT_FOUND) when there is none."""
        return self._door.through(params.store, lambda warm: self._unlink(warm, params))

    def related(self, call: Call, params: RelatedParams) -> object:
        """The memories around one. Raises MnemonError(NOT_FOUND) or MnemonError(AMBIGUOUS)."""
        return self._door.through(params.store, lambda warm: _related(warm, params, self._clock.now_us()))

    def _link(self, warm: OpenStore, params: LinkParams, wanted: linking.Link) -> object:
        by = HOST if wanted.created_by == "host" else None
        proposal = linking.propose(wanted, self._identities.of(warm, params, by), one_active)
        return submitted(warm, proposal, link_result)

    def _unlink(self, warm: OpenStore, params: UnlinkParams) -> object:
        wanted = unlinking.Unlink(
            source_id=params.source_id, target_id=params.target_id, edge_type=params.type, scope=scope_of(params)
        )
        return submitted(warm, unlinking.propose(wanted, self._identities.of(warm, params), one_active), unlink_result)


def _wanted(params: LinkParams) -> linking.Link:
    problems = metadata_problems(params.metadata, params.sub_type, params.created_by)
    problems += linking.direction_problems(
        params.type, bidirectional=params.bidirectional, allow_cycle=params.allow_cycle
    )
    if problems:
        raise invalid(problems, hint="nothing was written")
    made_by = maker_of(params.metadata, params.created_by)
    metadata, too_large = noted(params.metadata, params.sub_type, made_by, allow_secret=params.allow_secret)
    if too_large:
        raise invalid(too_large, hint="nothing was written")
    return linking.Link(
        source_id=params.source_id,
        target_id=params.target_id,
        edge_type=params.type,
        weight=params.weight,
        metadata=metadata.text,
        created_by=made_by,
        bidirectional=params.bidirectional,
        allow_cycle=params.allow_cycle,
        redacted=metadata.redacted,
        scope=scope_of(params),
    )


def _related(warm: OpenStore, params: RelatedParams, now_us: int) -> list[RelatedMemory]:
    snapshot = warm.store.snapshot
    start = one_active(snapshot, params.id)
    row, scope = snapshot.row_of(start.id), scope_of(params)
    if row is None or not admits(scope, start):
        raise hidden(params.id)
    wanted = Filter(scope=scope, all_sessions=params.all_sessions, now_us=now_us)
    found = related(snapshot, row, wanted, params.edge, params.depth, params.limit)
    return [
        RelatedMemory(
            each.insight.id, each.insight.content, each.insight.category, each.insight.importance, each.depth,
            each.via, each.weight,
        )
        for each in found
    ]  # fmt: skip


def link_result(warm: OpenStore, outcome: Linked) -> LinkResult:
    """The reply."""
    return LinkResult(
        status="linked",
        created=outcome.created,
        updated=outcome.updated,
        source_id=outcome.source_id,
        target_id=outcome.target_id,
        edge_type=outcome.edge_type,
        weight=outcome.weight,
        metadata=msgspec.json.decode(outcome.metadata),
        bidirectional=outcome.bidirectional,
        redacted=list(outcome.redacted),
        op_id=outcome.op_id,
        replayed=outcome.replayed,
    )


def unlink_result(warm: OpenStore, outcome: Unlinked) -> UnlinkResult:
    """The reply."""
    return UnlinkResult(
        status="unlinked",
        source_id=outcome.source_id,
        target_id=outcome.target_id,
        edges_removed=outcome.edges_removed,
        edge_types=list(outcome.edge_types),
        cause_other_way=outcome.cause_other_way,
        op_id=outcome.op_id,
        replayed=outcome.replayed,
    )
