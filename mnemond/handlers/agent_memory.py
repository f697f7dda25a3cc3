"""What memory does at each moment of an agent's session (docs/decisions/0024-what-memory-does-by-itself.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mnemond.errors import MnemonError
from mnemond.handlers.agent_hosts import LastSeen
from mnemond.handlers.agent_keeping import AgentKeeping
from mnemond.handlers.agent_place import Place, Stores, place_of
from mnemond.handlers.agent_recall import AgentRecall
from mnemond.handlers.agent_sessions import COMPACTED, AgentSession, AgentSessions
from mnemond.handlers.agent_texts import Part, brief
from mnemond.handlers.important import decisions_of, most_important
from mnemond.hook_settings import Hooks
from mnemond.model.agent_event import AgentEvent, Moment
from mnemond.model.queued_exchange import ExchangeKind
from mnemond.server.call import Call
from mnemond.server.dispatch import Invoke
from mnemond.server.hooks import Said
from mnemond.text.inert import inert
from mnemond.text.wrapped import summary, typed

DECISIONS: Final = 8
"""Decisions of a project that a brief tells."""

NOBODY_ASKS: Final = frozenset(("system", "poll_event"))
"""Sources of prompts that no person wrote (Claude Code: notices of tasks in the background)."""

RESUMED: Final = "resume"
"""How a session begins that had begun before."""


class AgentMemory:
    """For the event loop's thread."""

    def __init__(
        self,
        *,
        settings: Hooks,
        invoke: Invoke,
        stores: Stores,
        recall: AgentRecall,
        keeping: AgentKeeping,
        sessions: AgentSessions,
        seen: LastSeen,
        nonce: Callable[[], str],
    ) -> None:
        """`invoke` runs a method; `nonce` draws what no memory can know."""
        self._settings = settings
        self._invoke = invoke
        self._stores = stores
        self._recall = recall
        self._keeping = keeping
        self._sessions = sessions
        self.seen = seen
        self._nonce = nonce

    def go_by(self, settings: Hooks, within_s: float) -> None:
        """Go by these settings from now on; a hook waits `within_s`."""
        self._settings = settings
        self._recall.go_by(within_s)

    def at(self, event: AgentEvent, call: Call) -> Said:
        """What is to be said to the model; nothing for an event that was heard before. Raises MnemonError."""
        self.seen.note(event.host)
        if not self._settings.enabled or not self._sessions.is_new(event):
            return ""
        match event.moment:
            case Moment.SESSION_START:
                return self._session_start(event, call)
            case Moment.PROMPT:
                return self._prompt(event, call)
            case Moment.SUBAGENT_START:
                return self._subagent_start(event, call)
            case Moment.PRE_COMPACT:
                self._sessions.of(event).was_compacted()
            case Moment.POST_COMPACT:
                summed_up = summary(event.text)
                self._sessions.of(event).was_summarised(summed_up)
                return self._kept(event, "", summed_up, "summary")
            case Moment.ASSISTANT_DONE:
                return self._assistant_done(event)
            case Moment.SESSION_END:
                return self._session_end(event)
        return ""

    def _session_start(self, event: AgentEvent, call: Call) -> Said:
        session, place = self._session(event)
        if event.source == COMPACTED:
            session.was_compacted(again=True)
        session.owed = False
        if not (event.hears and place.there) or (event.source == RESUMED and session.briefed):
            return ""
        return self._brief(place, session, event, call)

    async def _brief(self, place: Place, session: AgentSession, event: AgentEvent, call: Call) -> str:
        """What was told too late was not shown, and is owed."""
        settings, store, begun_s = self._settings, place.store, self._recall.now_s()
        core = Part("What matters most:", await most_important(self._invoke, store, call))
        parts = [core]
        if place.tag or settings.project != "tag":
            decided = await decisions_of(self._invoke, store, place.tag or None, DECISIONS, call)
            parts.append(Part(f"Decisions{f' of {inert(place.tag)}' if place.tag else ''}, newest first:", decided))
        about = typed(session.summary or session.task if event.source == COMPACTED else event.text)
        if about:
            hits = await self._recall.hits(about, place, settings, call)
            parts.append(Part("About what is being done:", [hit.insight for hit in hits]))
        told = brief(parts, self._nonce(), settings.max_characters)
        session.owed = not self._recall.is_in_time(begun_s)
        if session.owed:
            return told.text
        session.briefed = True
        session.saw((it.id, it.updated_at) for it in told.whole)
        return told.text

    def _prompt(self, event: AgentEvent, call: Call) -> Said:
        session, place = self._session(event)
        if event.source in NOBODY_ASKS:
            return ""
        said = typed(event.text)
        session.was_asked(said)
        if not (event.hears and place.there):
            return ""
        if session.owed:
            return self._brief(place, session, event, call)
        return self._recall.about(said, place, session, self._settings, call)

    def _subagent_start(self, event: AgentEvent, call: Call) -> Said:
        session, place = self._session(event)
        if not (event.hears and place.there):
            return ""
        task = typed(event.text) or session.task
        return self._recall.about(task, place, self._sessions.of(event, event.agent), self._settings, call)

    def _assistant_done(self, event: AgentEvent) -> Said:
        """Never a context: it would start another turn. Where a hook kept the turn going, what the person said has had
        its answer."""
        session = self._sessions.of(event)
        held = session.taken_prompt()
        return self._kept(event, "" if event.again else typed(event.prompt) or held, event.text, "exchange")

    def _session_end(self, event: AgentEvent) -> Said:
        session, _ = self._session(event)
        prompt = session.taken_prompt()
        said = self._kept(event, prompt, "", "exchange") if prompt else ""
        self._sessions.ended(event)
        return said

    def _kept(self, event: AgentEvent, prompt: str, reply: str, kind: ExchangeKind) -> Said:
        """Nothing is said, once it is kept."""
        _, place = self._session(event)
        if not self._settings.keep or not (prompt.strip() or reply.strip()):
            return ""
        return self._keep(event, place, prompt, reply, kind)

    async def _keep(self, event: AgentEvent, place: Place, prompt: str, reply: str, kind: ExchangeKind) -> str:
        try:
            await self._keeping.keep(event, place, prompt, reply, kind)
        except MnemonError:
            self._sessions.unhear(event)  # told again, it may be kept
            self._sessions.of(event).give_back(prompt)
            raise
        return ""

    def _session(self, event: AgentEvent) -> tuple[AgentSession, Place]:
        """The session, and where the memories of its project are. Raises MnemonError."""
        session = self._sessions.of(event)
        return session, place_of(session.works_in(event.cwd), self._settings, self._stores)
