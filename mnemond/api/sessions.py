"""Methods about sessions of agents: what they were shown, and judgements of memories."""

from __future__ import annotations

from functools import partial
from itertools import groupby

import msgspec
from msgspec import UNSET

from mnemond.api.requests import Identities, one_active, scope_of, submitted
from mnemond.api.store_access import OpenStores
from mnemond.api.types_sessions import (
    ConversationSummary,
    FeedbackParams,
    SessionShowParams,
    SessionShowResult,
    SessionView,
    Shown,
    ShownMemory,
)
from mnemond.memory.feedback import Judgement, propose_judgement
from mnemond.memory.history import NO_SUBJECT, subjects
from mnemond.model.changes import Showing
from mnemond.model.outcomes import FeedbackResult
from mnemond.store import conversations, insights, showings
from mnemond.store.connection import Connection
from mnemond.store.conversations import Conversation, RollingSummary
from mnemond.wire.dispatch import Call, handles


class SessionHandlers:
    """session.show and feedback."""

    def __init__(self, open_stores: OpenStores, identities: Identities) -> None:
        self._open_stores = open_stores
        self._identities = identities

    @handles("session.show", in_task=True)
    async def show(self, call: Call, params: SessionShowParams) -> SessionShowResult:
        """Return sessions that a store's memories were shown to."""
        warm = await self._open_stores.use(params.store)
        found = await warm.store.read(partial(_sessions, session=params.id or "", limit=params.limit))
        return warm.marked(SessionShowResult(sessions=found))

    @handles("feedback")
    async def feedback(self, call: Call, params: FeedbackParams) -> FeedbackResult:
        """Count a judgement of one memory. Raises MnemonError(NOT_FOUND) or MnemonError(AMBIGUOUS)."""
        warm = await self._open_stores.use(params.store)
        prompt = "" if params.prompt is UNSET else params.prompt
        judgement = Judgement(id=params.id, verdict=params.verdict, prompt=prompt, scope=scope_of(params))
        proposal = propose_judgement(judgement, self._identities.of(warm, params), one_active)
        return await submitted(warm, proposal, FeedbackResult)


def _sessions(connection: Connection, session: str, limit: int) -> list[SessionView]:
    rows: dict[str, list[Showing]] = {}
    for row in showings.newest(connection, session):
        rows.setdefault(row.session, []).append(row)
    chosen = dict(list(rows.items())[:limit])
    memories = _memories(connection, {row.insight_id for each in chosen.values() for row in each})
    found = [_view(name, list(reversed(each)), memories) for name, each in chosen.items()]
    summaries = {it.conversation: _summary(it) for it in conversations.newest(connection, session)}
    found = [msgspec.structs.replace(each, summary=summaries.pop(Conversation(each.id), None)) for each in found]
    others = [
        SessionView(of.id, "", 0, [], it)
        for of, it in summaries.items()
        if of != Conversation(of.id) or of.id not in rows
    ]
    return [*found, *others][:limit]


def _summary(it: RollingSummary) -> ConversationSummary:
    return ConversationSummary(it.text, it.updated_at, it.generator, it.reason)


def _view(name: str, rows: list[Showing], memories: dict[str, ShownMemory]) -> SessionView:
    """`rows`: those of the session, the oldest first."""
    shown = [
        Shown(at, moment, agent, tokens, [_shown(row, memories) for row in together])
        for (at, moment, agent, tokens), together in groupby(
            rows, lambda row: (row.at, row.moment, row.agent, row.tokens)
        )
    ]
    return SessionView(name, rows[-1].host, sum(each.tokens for each in shown), shown)


def _memories(connection: Connection, insight_ids: set[str]) -> dict[str, ShownMemory]:
    """Return what is known now of these memories, without a reason."""
    about = subjects(connection, insight_ids)
    judged = insights.judgements(connection, insight_ids)
    return {
        each: ShownMemory(each, "", *about.get(each, NO_SUBJECT), *judged.get(each, (0, 0))) for each in insight_ids
    }


def _shown(row: Showing, memories: dict[str, ShownMemory]) -> ShownMemory:
    it = memories[row.insight_id]
    return ShownMemory(it.id, row.reason, it.words, it.purged, it.useful, it.misled)
