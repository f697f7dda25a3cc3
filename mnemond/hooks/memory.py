"""What is kept of a session: what the person said with its answer, and summaries. Never what memory said itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, Protocol, cast

import msgspec
import trio

from mnemond.api.requests import Identities
from mnemond.api.store_access import OpenStore, OpenStores
from mnemond.api.uses import Uses
from mnemond.clock import Clock
from mnemond.config.settings import HookSettings
from mnemond.errors import MnemonError
from mnemond.hooks.prompt_text import Part, brief, render_prompt_memories
from mnemond.hooks.sessions import COMPACTED, AgentSession, AgentSessions, LastSeen, Place, Stores, place_of
from mnemond.jobs.extract import HOST, ExtractionContext
from mnemond.memory.exchanges import propose_queueing
from mnemond.memory.extraction import known_in
from mnemond.memory.retention import is_used
from mnemond.model.answers import InsightView, ListResult, RecallHit, RecallResult
from mnemond.model.changes import ExchangeKind, QueuedExchange
from mnemond.model.outcomes import Outcome, Queued
from mnemond.text.prompt_escape import inert
from mnemond.text.transcripts import Known, questions, summary, typed, without_command, without_echoes
from mnemond.wire.deferred import Deferred, in_task, in_thread
from mnemond.wire.dispatch import Call, Invoke
from mnemond.wire.hook_payload import HookEvent, Moment

THREADS: Final = 1
"""Texts being read at once: nobody waits for them longer than a hook does anyway."""


class Queue(Protocol):
    """Where what was said waits to be read for facts."""

    def keep(self, warm: OpenStore, exchange: QueuedExchange) -> Deferred[Queued]:
        """Settled once it is on the disk. Raises MnemonError."""
        ...


class AgentKeeping:
    """Hands on to the queue."""

    def __init__(self, open_stores: OpenStores, stores: Stores, queue: Queue, clock: Clock) -> None:
        self._open_stores = open_stores
        self._stores = stores
        self._queue = queue
        self._clock = clock
        self._threads = trio.CapacityLimiter(THREADS)

    async def keep(self, event: HookEvent, place: Place, prompt: str, reply: str, kind: ExchangeKind) -> bool:
        """Whether there was anything to keep; then it is on the disk. A store that is not there is made for it.
        Raises MnemonError."""
        at_us = self._clock.now_us()
        warm = await self._open_stores.opened(place.store) if place.there else None
        if warm is not None and not warm.config.extraction.enabled:
            return False
        prompt, reply = await self._news(warm, prompt, reply)
        if not (prompt or reply):
            return False
        if warm is None:
            warm = await self._made(place.store)
        exchange = QueuedExchange(
            host=event.host, at_us=at_us, conversation_id=event.session, project=place.tag, prompt=prompt, reply=reply,
            kind=kind,
        )  # fmt: skip
        await self._queue.keep(warm, exchange)
        return True

    async def _news(self, warm: OpenStore | None, *texts: str) -> tuple[str, ...]:
        """What of these texts is new."""
        known: Known = _nothing if warm is None else known_in(warm.store.snapshot)
        read: Callable[[], tuple[str, ...]] = partial(_without_echoes, texts, known)
        return await in_thread(read, abandon_on_cancel=True, limiter=self._threads)

    async def _made(self, store: str) -> OpenStore:
        await in_task(self._stores.create, store)
        return await self._open_stores.opened(store)


def _without_echoes(texts: tuple[str, ...], known: Known) -> tuple[str, ...]:
    return tuple(without_echoes(text, known) for text in texts)


def _nothing(_: str) -> bool:
    return False


# What a prompt, a task or a summary brings up: a few memories that surely belong to it, or nothing.


MORE: Final = 15
"""Results that are asked for beyond those that may be shown: some may have been shown before."""

LEVELS: Final = ("low", "medium", "high")
"""Confidences, the lowest first."""


class AgentRecall:
    """Searches, and counts as used what was shown in time."""

    def __init__(
        self,
        invoke: Invoke,
        open_stores: OpenStores,
        uses: Uses,
        nonce: Callable[[], str],
        stopwatch: Callable[[], float],
        within_s: float,
    ) -> None:
        """`invoke` runs a method; `nonce` draws what no memory can know; `within_s` is how long a hook waits."""
        self._invoke = invoke
        self._open_stores = open_stores
        self._uses = uses
        self._nonce = nonce
        self._stopwatch = stopwatch
        self._within_s = within_s

    def apply_settings(self, within_s: float) -> None:
        """So long does a hook wait from now on."""
        self._within_s = within_s

    def now_s(self) -> float:
        """Seconds on the stopwatch, for `is_in_time`."""
        return self._stopwatch()

    def is_in_time(self, begun_s: float) -> bool:
        """Whether a hook that was asked then still waits for what it is told."""
        return self._stopwatch() - begun_s < self._within_s

    async def about(self, text: str, place: Place, session: AgentSession, settings: HookSettings, call: Call) -> str:
        """What `session` is told about a text, as `typed`: empty where nothing surely belongs to it, or it was told
        already. Raises MnemonError."""
        begun_s = self._stopwatch()
        new = chosen(await self._found(text, place, settings, call), session, settings)
        told = render_prompt_memories(new, self._nonce(), settings.max_characters)
        if told.text and self.is_in_time(begun_s):
            session.mark_shown((it.id, it.updated_at) for it in told.shown)
            self._count(place, new[: len(told.shown)])
        return told.text

    async def hits(self, text: str, place: Place, settings: HookSettings, call: Call) -> list[RecallHit]:
        """The same as results, whatever was shown before. Raises MnemonError."""
        return chosen(await self._found(text, place, settings, call), AgentSession(), settings)

    async def _found(self, text: str, place: Place, settings: HookSettings, call: Call) -> list[RecallHit]:
        """What the sentences of a text find, each memory once, best first. Others have their turn between two."""
        best: dict[str, RecallHit] = {}
        for query in questions(without_command(text)) if settings.prompt_results else ():
            found = await self._invoke("recall", _params(query, place, settings.prompt_results + MORE), call)
            assert isinstance(found, RecallResult)  # noqa: S101
            for hit in found.results:
                if hit.insight.id not in best or _rank(hit) > _rank(best[hit.insight.id]):
                    best[hit.insight.id] = hit
            await in_task(trio.lowlevel.checkpoint)
        return sorted(best.values(), key=_rank, reverse=True)

    def _count(self, place: Place, shown: list[RecallHit]) -> None:
        """They were of use, as far as the store says that such results are."""
        warm = self._open_stores.warm(place.store)
        if warm is not None:
            touch = warm.config.retrieval.touch
            used = [hit for hit in shown if is_used(hit.score, hit.via_all, hit.confidence, touch)]
            self._uses.note(warm, [hit.insight.id for hit in used])


def _rank(hit: RecallHit) -> tuple[int, float]:
    return LEVELS.index(hit.confidence), hit.score


def chosen(hits: list[RecallHit], session: AgentSession, settings: HookSettings) -> list[RecallHit]:
    """Those that are sure enough and new to the session, as many as a prompt may bring up, best first."""
    least = LEVELS.index(settings.min_confidence)
    sure = (hit for hit in hits if LEVELS.index(hit.confidence) >= least)
    new = [hit for hit in sure if not session.has_seen(hit.insight.id, hit.insight.updated_at)]
    return new[: settings.prompt_results]


def _params(query: str, place: Place, limit: int) -> bytes:
    """Nothing is counted by the recall itself: more is found than shown."""
    return msgspec.json.encode({"query": query, "limit": limit, "store": place.store, "touch": False})


# The queue of what was said in agents' sessions: acknowledged once it is on the disk, read for facts later.


class ExchangeQueue:
    """For the event loop's thread."""

    def __init__(self, identities: Identities, on_kept: Callable[[str], None] = lambda _: None) -> None:
        """`on_kept` is told the name of a store in which something waits now. It must not raise."""
        self._identities = identities
        self._on_kept = on_kept

    def keep(self, warm: OpenStore, exchange: QueuedExchange) -> Deferred[Queued]:
        """Put what was said into the store's queue: settled after the commit. The same key again changes nothing, nor
        does anything where `extraction.enabled` is false; `Queued.kept` says so.

        Fails with MnemonError when it could not be written; raises MnemonError(BUSY) when too many writes wait.
        """
        deferred: Deferred[Queued] = Deferred()
        identity = self._identities.own(warm.store.name, f"{HOST}{exchange.host}")
        if not warm.config.extraction.enabled:
            deferred.resolve(Queued(kept=False, op_id=identity.op_id))
            return deferred

        def done(result: Outcome | MnemonError) -> None:
            if isinstance(result, MnemonError):
                result.degraded_reason = warm.degraded_reason
                deferred.fail(result)
                return
            queued = cast("Queued", result)
            if queued.kept:
                self._on_kept(warm.store.name)
            deferred.resolve(queued)

        warm.store.submit(propose_queueing(exchange, identity), done)
        return deferred


def desks(open_stores: Callable[[], OpenStores]) -> Callable[[str], Awaitable[ExtractionContext]]:
    """What the job that reads the queue works with, of each store by its name, as it is open then."""

    async def desk(name: str) -> ExtractionContext:
        warm = await open_stores().open(name)

        def missing() -> None:
            if warm.on_missing is not None:
                warm.on_missing(name)

        return ExtractionContext(warm.rules, warm.embedder, warm.embed_error, warm.threads, missing)

    return desk


# The memories that matter most, as they are read at the beginning of a session.


CORE: Final = 20
"""Memories of a core."""

HIGHEST: Final = 5
"""The importance of what must never be lost: however old it is, it is looked at before anything newer."""

WEIGHTY: Final = 4
"""Importance from which on a memory belongs to the core, if there are any."""

LOOKED_AT: Final = 200
"""The newest memories of an importance, of which a core is chosen."""


async def most_important(invoke: Invoke, store: str | None, call: Call) -> list[InsightView]:
    """At most CORE, what matters most first; of a store that has none of weight, the most important of the newest.
    Raises MnemonError."""
    found = await _listed(invoke, store, HIGHEST, call)
    if len(found) < CORE:
        found = await _listed(invoke, store, WEIGHTY, call) or await _listed(invoke, store, 1, call)
    return sorted(found, key=lambda it: (-it.importance, -it.effective_importance, it.id))[:CORE]


async def decisions_of(
    invoke: Invoke, store: str | None, project: str | None, most: int, call: Call
) -> list[InsightView]:
    """The newest decisions that hold, those of a project alone where one is given, whose name is their tag. Raises
    MnemonError."""
    tags = None if project is None else [project]
    return await listed(invoke, call, store=store, category="decision", any_tags=tags, limit=most)


async def listed(invoke: Invoke, call: Call, **wanted: object) -> list[InsightView]:
    """A page of memories, newest first. Raises MnemonError."""
    asked = msgspec.json.encode({name: value for name, value in wanted.items() if value is not None})
    found = await invoke("list", asked, call)
    assert isinstance(found, ListResult)  # noqa: S101
    return found.insights


async def _listed(invoke: Invoke, store: str | None, least: int, call: Call) -> list[InsightView]:
    return await listed(invoke, call, store=store, min_importance=least, limit=LOOKED_AT)


# What memory does at each moment of an agent's session (docs/decisions/0024-what-memory-does-by-itself.md).


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
        settings: HookSettings,
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

    def apply_settings(self, settings: HookSettings, within_s: float) -> None:
        """Go by these settings from now on; a hook waits `within_s`."""
        self._settings = settings
        self._recall.apply_settings(within_s)

    async def at(self, event: HookEvent, call: Call) -> str:
        """The text for the model; empty for an event that came before. Raises MnemonError."""
        self.seen.note(event.host)
        if not self._settings.enabled or not self._sessions.is_new(event):
            return ""
        match event.moment:
            case Moment.SESSION_START:
                return await self._session_start(event, call)
            case Moment.PROMPT:
                return await self._prompt(event, call)
            case Moment.SUBAGENT_START:
                return await self._subagent_start(event, call)
            case Moment.PRE_COMPACT:
                self._sessions.of(event).was_compacted()
            case Moment.POST_COMPACT:
                summed_up = summary(event.text)
                self._sessions.of(event).was_summarised(summed_up)
                return await self._keep(event, self._session(event)[1], "", summed_up, "summary")
            case Moment.ASSISTANT_DONE:
                return await self._assistant_done(event)
            case Moment.SESSION_END:
                return await self._session_end(event)
        return ""

    async def _session_start(self, event: HookEvent, call: Call) -> str:
        session, place = self._session(event)
        if event.source == COMPACTED:
            session.was_compacted(again=True)
        session.brief_pending = False
        if not (event.takes_context and place.there) or (event.source == RESUMED and session.briefed):
            return ""
        return await self._brief(place, session, event, call)

    async def _brief(self, place: Place, session: AgentSession, event: HookEvent, call: Call) -> str:
        """What was told too late was not shown, and is brief_pending."""
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
        session.brief_pending = not self._recall.is_in_time(begun_s)
        if session.brief_pending:
            return told.text
        session.briefed = True
        session.mark_shown((it.id, it.updated_at) for it in told.whole)
        return told.text

    async def _prompt(self, event: HookEvent, call: Call) -> str:
        session, place = self._session(event)
        if event.source in NOBODY_ASKS:
            return ""
        said = typed(event.text)
        session.set_prompt(said)
        if not (event.takes_context and place.there):
            return ""
        if session.brief_pending:
            return await self._brief(place, session, event, call)
        return await self._recall.about(said, place, session, self._settings, call)

    async def _subagent_start(self, event: HookEvent, call: Call) -> str:
        session, place = self._session(event)
        if not (event.takes_context and place.there):
            return ""
        task = typed(event.text) or session.task
        return await self._recall.about(task, place, self._sessions.of(event, event.agent), self._settings, call)

    async def _assistant_done(self, event: HookEvent) -> str:
        """Never a context: it would start another turn. Where a hook kept the turn going, what the person said has had
        its answer."""
        session = self._sessions.of(event)
        held = session.taken_prompt()
        prompt = "" if event.again else typed(event.prompt) or held
        return await self._keep(event, self._session(event)[1], prompt, event.text, "exchange")

    async def _session_end(self, event: HookEvent) -> str:
        session, place = self._session(event)
        prompt = session.taken_prompt()
        self._sessions.ended(event)
        return await self._keep(event, place, prompt, "", "exchange") if prompt else ""

    async def _keep(self, event: HookEvent, place: Place, prompt: str, reply: str, kind: ExchangeKind) -> str:
        """Queue an exchange; the model gets no text."""
        if not self._settings.keep or not (prompt.strip() or reply.strip()):
            return ""
        try:
            await self._keeping.keep(event, place, prompt, reply, kind)
        except MnemonError:
            self._sessions.forget_event(event)  # told again, it may be kept
            self._sessions.of(event).give_back(prompt)
            raise
        return ""

    def _session(self, event: HookEvent) -> tuple[AgentSession, Place]:
        """The session, and where the memories of its project are. Raises MnemonError."""
        session = self._sessions.of(event)
        return session, place_of(session.works_in(event.cwd), self._settings, self._stores)
