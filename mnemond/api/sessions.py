"""Methods about sessions of agents: what they were told, what was kept of them, and judgements of memories."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import groupby
from typing import Final

import msgspec
import trio
from msgspec import UNSET

from mnemond.api.requests import Identities, moment_of, one_active, scope_of, submitted
from mnemond.api.store_access import OpenStore, OpenStores
from mnemond.api.types_sessions import (
    FeedbackParams,
    Figures,
    KeptMemory,
    LeftOut,
    SessionView,
    Shown,
    ShownMemory,
    TodayParams,
    TodayResult,
)
from mnemond.errors import FieldProblem, invalid
from mnemond.extract.facts import Message
from mnemond.memory.extraction import context_of, extract_exchange
from mnemond.memory.feedback import Judgement, propose_judgement
from mnemond.memory.history import NO_SUBJECT, Subject, first_words, subjects
from mnemond.model.changes import Showing
from mnemond.model.memory import DAY_US, format_us, parse_rfc3339
from mnemond.model.outcomes import FeedbackResult
from mnemond.model.passages import Passage
from mnemond.store import insights, operations, passages, showings
from mnemond.store.connection import Connection
from mnemond.wire.dispatch import Call, handles

MAX_EXCHANGES: Final = 200
"""Exchanges of which an answer says what was left out, the newest: reading one by rules takes some milliseconds."""

MAX_LEFT_OUT: Final = 20
"""Parts of a session that were left out and are shown."""


REASONS: Final = {
    "code": "code or a log", "context": "said by neither", "heading": "a heading", "length": "too long to be read",
    "moment": "about this moment only", "order": "an order to the memory", "pasted": "the middle of a long text",
    "quote": "words of others", "recalled": "told by the memory", "role": "of a story or a role",
    "substance": "says too little", "supposition": "supposed, not stated", "symptom": "a symptom",
}  # fmt: skip
"""Reasons of the rules for leaving a part out, in words; others say it themselves."""


class SessionHandlers:
    """today and feedback."""

    def __init__(self, open_stores: OpenStores, identities: Identities) -> None:
        self._open_stores = open_stores
        self._identities = identities

    @handles("today", in_task=True)
    async def today(self, call: Call, params: TodayParams) -> TodayResult:
        """Return the sessions of a time, or those that are named. Raises MnemonError(INVALID_PARAMS) for another
        time."""
        warm = await self._open_stores.use(params.store)
        problems: list[FieldProblem] = []
        now_us = self._identities.now_us()
        named_us = moment_of("since", params.since, problems, now_us)
        if problems:
            raise invalid(problems)
        since = format_us(named_us if named_us is not None else now_us - DAY_US)
        if params.id and named_us is None:
            since = ""
        found = await warm.store.read(partial(_sessions, session=params.id or "", since=since, limit=params.limit))
        said = await warm.store.read(partial(_said, sessions=[each.id for each in found], since=since))
        found = await trio.to_thread.run_sync(partial(_with_left_out, warm, found, said), limiter=warm.threads)
        judged = await warm.store.read(partial(operations.count_logged, since=since, names=("useful", "misled")))
        return warm.marked(TodayResult(figures=_figures(found, judged), sessions=found))

    @handles("feedback")
    async def feedback(self, call: Call, params: FeedbackParams) -> FeedbackResult:
        """Count a judgement of one memory. Raises MnemonError(NOT_FOUND) or MnemonError(AMBIGUOUS)."""
        warm = await self._open_stores.use(params.store)
        prompt = "" if params.prompt is UNSET else params.prompt
        judgement = Judgement(id=params.id, verdict=params.verdict, prompt=prompt, scope=scope_of(params))
        proposal = propose_judgement(judgement, self._identities.of(warm, params), one_active)
        return await submitted(warm, proposal, FeedbackResult)


def _sessions(connection: Connection, session: str, since: str, limit: int) -> list[SessionView]:
    """Return the sessions whose ids begin with `session` and of which something is known since then, without what was
    left out of them."""
    rows: dict[str, list[Showing]] = {}
    for row in showings.newest(connection, session):
        if row.at >= since:
            rows.setdefault(row.session, []).append(row)
    recorded = {each.conversation_id: each for each in passages.sessions(connection, session, since)}
    ended = {name: each[0].at for name, each in rows.items()}
    for name, each in recorded.items():
        ended[name] = max(ended.get(name, ""), each.ended)
    chosen = sorted(ended, key=lambda name: (ended[name], name), reverse=True)[:limit]
    memories = _memories(connection, {row.insight_id for name in chosen for row in rows.get(name, ())})
    kept = insights.of_conversations(connection, chosen)
    found: list[SessionView] = []
    for name in chosen:
        view = _view(name, list(reversed(rows.get(name, ()))), memories)
        record = recorded.get(name)
        found.append(
            msgspec.structs.replace(
                view,
                host=view.host or ("" if record is None else record.host),
                project="" if record is None else record.project,
                began=min(filter(None, (view.began, "" if record is None else record.began)), default=""),
                ended=ended[name],
                exchanges=0 if record is None else record.exchanges,
                kept=[KeptMemory(it[1], it[2], first_words(it[3])) for it in kept if it[0] == name and it[4] >= since],
            )
        )
    return found


def _said(connection: Connection, sessions: Sequence[str], since: str) -> list[Passage]:
    return passages.of_sessions(connection, sessions, since, MAX_EXCHANGES)


def _with_left_out(warm: OpenStore, found: Sequence[SessionView], said: Sequence[Passage]) -> list[SessionView]:
    """Say of each session what the rules leave out of its exchanges (blocking)."""
    left: dict[str, list[LeftOut]] = {each.id: [] for each in found}
    for each in said:
        at_us = parse_rfc3339(each.said_at)
        context = context_of(warm.store.snapshot, each.scope, warm.config.extraction, at_us)
        texts = (("user", each.prompt), ("assistant", each.answer))
        messages = [Message(role, text, said_us=at_us) for role, text in texts if text]
        dropped = extract_exchange(messages, context, window=0, whole=True).dropped
        left[each.conversation_id] += [LeftOut(each.id, it.text, REASONS.get(it.reason, it.reason)) for it in dropped]
    return [
        msgspec.structs.replace(
            each, left_out=left[each.id][:MAX_LEFT_OUT], left_out_count=len(left[each.id])
        )
        for each in found
    ]  # fmt: skip


def _figures(found: Sequence[SessionView], judged: dict[str, int]) -> Figures:
    shown = [each for session in found for each in session.shown]
    told = [each for each in shown if each.moment != "rule"]
    return Figures(
        memories=len({it.id for each in told for it in each.memories}),
        tokens=sum(each.tokens for each in told),
        sessions=sum(bool(session.shown) for session in found),
        rules=sum(len(each.memories) for each in shown if each.moment == "rule"),
        exchanges=sum(session.exchanges for session in found),
        kept=sum(len(session.kept) for session in found),
        useful=judged.get("useful", 0),
        misled=judged.get("misled", 0),
    )


def _view(name: str, rows: list[Showing], memories: dict[str, ShownMemory]) -> SessionView:
    """`rows`: those of the session, the oldest first."""
    shown = [
        Shown(at, moment, agent, tokens, [_shown(row, memories) for row in together])
        for (at, moment, agent, tokens), together in groupby(
            rows, lambda row: (row.at, row.moment, row.agent, row.tokens)
        )
    ]
    host, began = (rows[-1].host, rows[0].at) if rows else ("", "")
    return SessionView(name, host, sum(each.tokens for each in shown), shown, began=began)


def _memories(connection: Connection, insight_ids: set[str]) -> dict[str, ShownMemory]:
    """Return what is known now of these memories and passages, without a reason."""
    said = {each: it for each in insight_ids if (it := passages.read(connection, each)) is not None}
    about = {each: Subject(first_words(it.text)) for each, it in said.items()} | subjects(connection, insight_ids)
    judged = insights.judgements(connection, insight_ids)
    return {
        each: ShownMemory(each, "", *about.get(each, NO_SUBJECT), *judged.get(each, (0, 0))) for each in insight_ids
    }


def _shown(row: Showing, memories: dict[str, ShownMemory]) -> ShownMemory:
    it = memories[row.insight_id]
    return ShownMemory(it.id, row.reason, it.words, it.purged, it.useful, it.misled)
