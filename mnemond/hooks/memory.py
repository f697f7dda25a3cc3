"""What memory does by itself in the sessions of coding agents (docs/decisions/0024-what-memory-does-by-itself.md)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from typing import Final, NamedTuple

import msgspec
import trio
from msgspec import UNSET, UnsetType

from mnemond.api.projects import Projects
from mnemond.api.requests import Identities, submitted
from mnemond.api.rules import CompiledRules
from mnemond.api.store_access import OpenStore, OpenStores
from mnemond.api.types_memories import RECALL, RecallParams
from mnemond.api.types_sessions import (
    HookPreviewParams,
    HookPreviewResult,
    PreviewMemory,
    SessionPauseParams,
    SessionPauseResult,
)
from mnemond.api.uses import Uses, is_used
from mnemond.clock import Clock
from mnemond.config.hosts import Moment
from mnemond.config.settings import HookSettings
from mnemond.errors import FieldProblem, MnemonError, invalid
from mnemond.hooks import briefing
from mnemond.hooks.briefing import Briefs
from mnemond.hooks.prompt_files import PromptFiles
from mnemond.hooks.prompt_text import (
    NO_PROMPT_TEXT,
    Block,
    Candidate,
    PromptText,
    brief,
    fit,
    fit_brief,
    render_prompt_memories,
)
from mnemond.hooks.rules import RuleGuard
from mnemond.hooks.sessions import (
    CLEARED,
    COMPACTED,
    FORKED,
    RESUMED,
    AgentSession,
    AgentSessions,
    LastSeen,
    Place,
    Stores,
    place_of,
)
from mnemond.jobs.extract import HOST, ExtractionContext
from mnemond.memory.exchanges import propose_queueing, turn_key
from mnemond.memory.extraction import known_in
from mnemond.memory.history import first_words
from mnemond.model.answers import RecallHit, RecallResult, Unasked, traits_text
from mnemond.model.changes import ExchangeKind, QueuedExchange, RecallLine, Showing, ShownAt
from mnemond.model.memory import format_us, project_parts
from mnemond.model.outcomes import Queued
from mnemond.recall import unasked
from mnemond.recall.passages import needed_probability, says
from mnemond.store import insights
from mnemond.text.project_name import NONE, Project
from mnemond.text.similarity import normalised
from mnemond.text.transcripts import (
    IsMemory,
    prompt_pieces,
    public,
    summary,
    typed,
    without_command,
    without_echoes,
    words_of_private,
)
from mnemond.wire.deferred import in_task, in_thread
from mnemond.wire.dispatch import Call, Invoke, handles
from mnemond.wire.hook_payload import HookEvent
from mnemond.wire.hooks import HookReply, Opening
from mnemond.wire.params import plural

THREADS: Final = 1
"""Texts read at once: a hook does not wait long for them anyway."""

NOT_BY_A_PERSON: Final = frozenset(("system", "poll_event"))
"""Sources of prompts that no person wrote (Claude Code: notices of tasks in the background)."""


class Offer(NamedTuple):
    """The text that a session gets at one moment, and its size; for each memory in `rendered.shown` the reason, the
    hits among them, and those that are left out, with the reason."""

    rendered: PromptText
    tokens: int
    reasons: list[str]
    hits: list[RecallHit]
    left_out: list[tuple[RecallHit, str]]


MOST_PASSAGES: Final = 1
"""Passages of sessions that are told with a prompt."""

NO_OFFER: Final = Offer(NO_PROMPT_TEXT, 0, [], [], [])


class AgentMemory:
    """Handles the events of all sessions. For the event loop's thread."""

    def __init__(
        self,
        *,
        settings: HookSettings,
        within_s: float,
        invoke: Invoke,
        open_stores: OpenStores,
        briefs: Briefs,
        prompts: PromptFiles,
        stores: Stores,
        projects: Projects,
        queue: ExchangeQueue,
        uses: Uses,
        compiled_rules: CompiledRules,
        sessions: AgentSessions,
        seen: LastSeen,
        clock: Clock,
        stopwatch: Callable[[], float],
        nonce: Callable[[], str],
        save: Callable[[bytes], None] = lambda _: None,
    ) -> None:
        """A hook waits `within_s`; `invoke` runs a method; `nonce` returns a number that no memory can contain; `save`
        keeps what sessions were shown for the next daemon, and may block."""
        self._settings = settings
        self._within_s = within_s
        self._invoke = invoke
        self._open_stores = open_stores
        self._briefs = briefs
        self._prompts = prompts
        self._stores = stores
        self._projects = projects
        self._queue = queue
        self._uses = uses
        self._rules = RuleGuard(compiled_rules, uses, clock, stopwatch)
        self.sessions = sessions
        self.seen = seen
        self._clock = clock
        self._stopwatch = stopwatch
        self._nonce = nonce
        self._save = save
        self._threads = trio.CapacityLimiter(THREADS)

    def apply_settings(self, settings: HookSettings, within_s: float) -> None:
        """Use these settings from now on; a hook waits `within_s`."""
        self._settings, self._within_s = settings, within_s

    async def at(self, event: HookEvent, call: Call) -> HookReply:
        """Return the text for the model, empty for an event that came before; of a call of a tool perhaps a Verdict.
        Raises MnemonError."""
        self.seen.note(event.host)
        if event.moment is Moment.TOOL_USE:
            return await self._before_tool(event) if self._settings.enabled else ""
        if not self._settings.enabled or not self.sessions.is_new(event):
            return ""
        match event.moment:
            case Moment.SESSION_START:
                return await self._opening(event, await self._session_start(event, call))
            case Moment.PROMPT:
                return await self._prompt(event, call)
            case Moment.SUBAGENT_START:
                return await self._subagent_start(event, call)
            case Moment.PRE_COMPACT:
                self.sessions.of(event).reset_context()
            case Moment.POST_COMPACT:
                summed_up = summary(event.text)
                session, place = await self._session(event)
                session.set_summary(summed_up)
                return await self._keep(event, place, "", summed_up, "summary", session)
            case Moment.ASSISTANT_DONE:
                return await self._assistant_done(event)
            case Moment.SESSION_END:
                return await self._session_end(event)
        return ""

    async def _before_tool(self, event: HookEvent) -> HookReply:
        session, place = await self._session(event)
        if not place.exists:
            return ""
        warm = await self._open_stores.opened(place.store)
        shown = self.sessions.of(event, event.agent).rules if event.agent else session.rules
        return await self._rules.before(event, shown, warm, place.project, self._settings)

    async def _session_start(self, event: HookEvent, call: Call) -> str:
        session, place = await self._session(event)
        if event.source == COMPACTED:
            session.reset_context(again=True)
        elif event.source in CLEARED:
            session.reset_context()
            session.has_all = event.source != "clear"
        elif event.source == FORKED and not session.briefed:
            self.sessions.fork(event)
        goes_on = event.source in (RESUMED, FORKED)
        session.brief_pending = goes_on and session.compacted  # Codex begins again next, which has the brief
        stands = goes_on and (session.briefed or session.compacted)
        if stands or not (event.takes_context and place.exists):
            return ""
        return await self._brief(place, session, event, call)

    async def _opening(self, event: HookEvent, brief: str) -> HookReply:
        """Return a brief with a line for the person, which a session gets once: how many memories are in it, and when
        the last session of the project was. After a compaction the session does not begin."""
        if not brief or event.source == COMPACTED:
            return brief
        session, place = await self._session(event)
        warm = await self._open_stores.opened(place.store)
        told = [plural(session.shown_count, "memory")] if session.shown_count else []
        if len(rows := warm.store.passages.of_project(place.project or "", event.session)):
            last = datetime.fromtimestamp(int(warm.store.passages.said_us(rows).max()) / 1e6, UTC)
            told.append(f"last session of {last.day} {last:%b}")
        return Opening(brief, f"mnemond: {', '.join(told)}") if told else brief

    async def _brief(self, place: Place, session: AgentSession, event: HookEvent, call: Call) -> str:
        """The brief. One that is ready too late for the hook was not shown, and stays pending."""
        begun_s = self._stopwatch()
        about = typed(session.summary or session.task if event.source == COMPACTED else event.text)
        offer = await self.offer_brief(about, place, session, call, event.session, goes_on=event.source == COMPACTED)
        session.brief_pending = not self._is_in_time(begun_s, call)
        if not session.brief_pending:
            session.briefed = True
            session.mark_shown(((it.id, it.content) for it in offer.rendered.whole), offer.tokens)
            session.begun += offer.tokens
            await self._note(event, "brief", place, offer)
        return offer.rendered.text

    async def offer_brief(
        self,
        about: str,
        place: Place,
        session: AgentSession,
        call: Call,
        name: str = "",
        *,
        goes_on: bool = False,
        is_task: bool = False,
    ) -> Offer:
        """Return what a session begins with; `about`: what is being done, empty if nothing is known of it. `name`: the
        host's id of the session; `goes_on`: it goes on after a compaction. `is_task`: it is a subagent with a task,
        which gets the rules and what the task needs."""
        selected = await self._briefs.select(place.store, place.project)
        found = await self.considered(about, place, call) if about else []
        least = unasked.BESIDE * self._settings.min_probability  # they are shown beside the brief
        beside = select(found, AgentSession(), least)[: self._settings.prompt_results]
        project = place.project or ""
        parts = briefing.parts(selected, project_parts(project)[0], [each.hit.insight for each in beside])
        if is_task:
            parts = parts[:2]
        warm = await self._open_stores.opened(place.store)
        opening, nonce = "" if is_task else self._prompts.opening(), self._nonce()
        blocks: list[Block] = []
        if not is_task:
            before = briefing.conversation_so_far if goes_on else briefing.last_session
            blocks = await in_thread(before, warm.store.passages, project, name, limiter=self._threads)
            blocks += self._briefs.known(warm, place.project)
        told = [*selected.instructions, *selected.decisions]
        gone = await in_task(warm.store.read, partial(insights.withdrawn, limit=briefing.MAX_WITHDRAWN))
        blocks += await in_thread(briefing.standing, warm.store.passages, project, told, gone, limiter=self._threads)
        fitted = fit_brief(
            lambda most: brief(opening, parts, nonce, most, selected.against, blocks), self._settings, session.spent
        )
        return Offer(fitted.rendered, fitted.tokens, briefing.reasons(parts, fitted.rendered), [], [])

    async def _prompt(self, event: HookEvent, call: Call) -> str:
        session, place = await self._session(event)
        if event.source in NOT_BY_A_PERSON:
            return ""
        prompt = public(typed(event.text))
        session.set_prompt(prompt)
        await self._note_record(session, event.text)
        if not (event.takes_context and place.exists):
            return ""
        if session.brief_pending:
            return await self._brief(place, session, event, call)
        return await self._about(event, "prompt", prompt, place, session, call)

    async def _subagent_start(self, event: HookEvent, call: Call) -> str:
        session, place = await self._session(event)
        if not (event.takes_context and place.exists):
            return ""
        begun_s, agent = self._stopwatch(), self.sessions.of(event, event.agent)
        offer = await self.offer_brief(typed(event.text) or session.task, place, agent, call, is_task=True)
        if offer.rendered.shown and self._is_in_time(begun_s, call):
            agent.mark_shown(((it.id, it.content) for it in offer.rendered.whole), offer.tokens)
            await self._note(event, "task", place, offer)
        return offer.rendered.text

    async def _assistant_done(self, event: HookEvent) -> str:
        """Keep a prompt with its answer. Never a context: it would start another turn. After a hook kept the turn
        going, the prompt has had its answer already."""
        session, place = await self._session(event)
        held = session.take_prompt()
        if event.prompt and not held and not event.again:  # its own event was missed
            await self._note_record(session, event.prompt)
        prompt = "" if event.again else public(typed(event.prompt)) or held
        return await self._keep(event, place, prompt, event.text, "exchange", session)

    @handles("hook.preview")
    async def preview(self, call: Call, params: HookPreviewParams) -> HookPreviewResult:
        """Return what a new session would be shown. Nothing is counted as shown. Raises MnemonError."""
        if params.directory is not None and not params.directory.startswith("/"):
            raise invalid([FieldProblem("directory", "directory must be an absolute path, as /home/ada/apollo")])
        project = await self._projects.of(params.directory) if params.directory else Project()
        place = place_of(project, self._settings, self._stores)
        if params.store is not None:
            name = self._stores.resolve(params.store)
            place = msgspec.structs.replace(place, store=name, exists=self._stores.exists(name))
        about, offer = typed(params.text), NO_OFFER
        if place.exists:
            take = self.offer_brief if params.moment == "session" else self.offer_for
            offer = await take(about, place, AgentSession(), call)
        shown = zip(offer.rendered.shown, offer.reasons, strict=True)
        result = HookPreviewResult(
            text=offer.rendered.text,
            tokens=offer.tokens,
            budget=self._settings.session_tokens,
            store=place.store,
            shown=[PreviewMemory(it.id, reason, first_words(it.content)) for it, reason in shown],
            left_out=[
                PreviewMemory(hit.insight.id, reason, first_words(hit.insight.content))
                for hit, reason in offer.left_out
            ],
        )
        return (await self._open_stores.opened(place.store)).marked(result) if place.exists else result

    async def _session_end(self, event: HookEvent) -> str:
        session, place = await self._session(event)
        prompt = session.take_prompt()
        if place.exists and session.rules.followed():
            self._rules.end(session.rules, await self._open_stores.opened(place.store))
        self.sessions.end(event)
        if prompt:
            await self._keep(event, place, prompt, "", "exchange", session)
        await in_thread(self._save, self.sessions.saved(), limiter=self._threads)
        return ""

    async def _note_record(self, session: AgentSession, prompt: str) -> None:
        """Note what may be kept of a session from a prompt on, as the host sends it, for the next daemon as well; but
        for the words of its private parts, which stay in memory until the next prompt."""
        session.private, record = words_of_private(prompt), session.record.at_prompt(prompt)
        if record != session.record:
            session.record = record
            await in_thread(self._save, self.sessions.saved(), limiter=self._threads)

    @handles("session.pause", in_task=True)
    async def pause(self, call: Call, params: SessionPauseParams) -> SessionPauseResult:
        """Keep nothing of a session from now on, or let it go on. Raises MnemonError."""
        session = self.sessions.switch_record(params.id, params.directory, paused=not params.resume)
        await in_thread(self._save, self.sessions.saved(), limiter=self._threads)
        return SessionPauseResult(id=session, paused=not params.resume)

    def save(self) -> None:
        """Keep what sessions were shown for the next daemon. Blocks."""
        self._save(self.sessions.saved())

    async def _session(self, event: HookEvent) -> tuple[AgentSession, Place]:
        """The session, and the place of its project's memories. Raises MnemonError."""
        session = self.sessions.of(event)
        if session.project is None and event.cwd:
            session.project = await self._projects.of(event.cwd)
        return session, place_of(session.project or Project(), self._settings, self._stores)

    # ---------------------------------------------------------------- recall for a prompt, a task or a summary

    async def _about(
        self, event: HookEvent, moment: ShownAt, text: str, place: Place, session: AgentSession, call: Call
    ) -> str:
        """Memories about a text (as `typed` returns it) for a session, without those it was shown; empty if none is
        surely relevant."""
        begun_s = self._stopwatch()
        offer = await self.offer_for(text, place, session, call, event.session if session.has_all else "")
        if offer.rendered.text and self._is_in_time(begun_s, call):
            session.mark_shown(((it.id, it.content) for it in offer.rendered.shown), offer.tokens)
            await self._note(event, moment, place, offer)
        return offer.rendered.text

    async def offer_for(self, text: str, place: Place, session: AgentSession, call: Call, within: str = "") -> Offer:
        """Return what a session would be shown about a text; `within`: its id if all of it stands in its context."""
        found = await self.considered(text, place, call, within)
        nonce, most = self._nonce(), self._settings.max_characters
        new = select(found, session, self._settings.min_probability)
        fitted = fit(
            new,
            lambda hits: render_prompt_memories(hits, nonce, most),
            self._settings,
            session.spent,
            session.begun,
        )
        refused = {candidate.hit.insight.id: reason for candidate, reason in fitted.refused}
        shown = {candidate.hit.insight.id for candidate in fitted.chosen}
        left_out = [
            (candidate.hit, refused.get(candidate.hit.insight.id) or _why_not(candidate, session, self._settings))
            for candidate in found
            if candidate.hit.insight.id not in shown
        ]
        hits = [candidate.hit for candidate in fitted.chosen]
        return Offer(fitted.rendered, fitted.tokens, list(map(_why, fitted.chosen)), hits, left_out)

    async def considered(self, text: str, place: Place, call: Call, within: str = "") -> list[Candidate]:
        """Return the results for the pieces of a text (as `typed` returns it), each memory once, the most probable
        first; `select` chooses those to tell. No passage that says a memory which fits as well, and none of the session
        `within`. It counts nothing. Other tasks have their turn between two pieces."""
        best: dict[str, Candidate] = {}
        pieces = prompt_pieces(without_command(text)) if self._settings.prompt_results else []
        for nth, query in enumerate(pieces):
            if nth:
                await in_task(trio.lowlevel.checkpoint)
            params = RecallParams(
                query=query, limit=2 * unasked.JUDGED, store=place.store, touch=False, explain=True,
                profile="mnemond", directory=place.project or None,
                project=None if place.project is None else place.project or NONE,  # none of other projects
            )  # fmt: skip
            found = await self._invoke(RECALL, params, call)
            assert isinstance(found, RecallResult)  # noqa: S101
            memories = [hit for hit in found.results if hit.kind == "memory"][: unasked.JUDGED]
            passages = [hit for hit in found.results if hit.kind == "passage"]
            if passages:
                warm = await self._open_stores.opened(place.store)
                least = self._settings.min_probability
                fitting = [each.insight.content for each in memories if probability_of(each, len(pieces)) >= least]
                record = warm.store.passages
                passages = [
                    hit
                    for hit in passages
                    if not (within and record.conversation_of(hit.insight.id) == within)
                    and not any(says(record, hit.insight.id, each) for each in fitting)
                ]
            for hit in (*memories, *passages[:MOST_PASSAGES]):
                candidate = Candidate(hit, probability_of(hit, len(pieces)))
                if hit.insight.id not in best or candidate.probability > best[hit.insight.id].probability:
                    best[hit.insight.id] = candidate
        return sorted(best.values(), key=lambda candidate: candidate.probability, reverse=True)

    def _is_in_time(self, begun_s: float, call: Call) -> bool:
        """Return True if a hook that began then still waits for its text. On a busy machine it may have begun long
        before."""
        return self._stopwatch() - begun_s < self._within_s and not call.gone()

    async def _note(self, event: HookEvent, moment: ShownAt, place: Place, offer: Offer) -> None:
        """Schedule a note of what a session was shown, the counting of uses and a line of the log, as the settings of
        the store define them. The hook does not wait for these writes."""
        warm = await self._open_stores.opened(place.store)
        at, retrieval = format_us(self._clock.now_us()), warm.config.retrieval
        memories = [hit for hit in offer.hits if hit.kind == "memory"]
        used = [hit for hit in memories if is_used(hit.score, hit.via_all, hit.confidence, retrieval.touch)]
        line = None
        if offer.hits and retrieval.log_recalls:
            best = offer.hits[0]
            line = RecallLine(at, best.insight.id, f"hook results={len(offer.hits)} confidence={best.confidence}")
        agent = event.agent if moment == "task" else ""
        showings = [
            Showing(at, event.session or event.host, event.host, agent, moment, offer.tokens, it.id, reason)
            for it, reason in zip(offer.rendered.shown, offer.reasons, strict=True)
        ]
        self._uses.note(warm, [hit.insight.id for hit in used], line, showings)

    # ---------------------------------------------------------------- what is kept of a session

    async def _keep(
        self, event: HookEvent, place: Place, prompt: str, reply: str, kind: ExchangeKind, session: AgentSession
    ) -> str:
        """Keep an exchange as far as that may be; the model gets no text."""
        keeping = partial(session.record.kept, prompt, reply, kind, session.private)
        prompt, reply = await in_thread(keeping, limiter=self._threads) if session.private else keeping()
        if not self._settings.keep or not (prompt.strip() or reply.strip()):
            return ""
        try:
            await self._enqueue(event, place, prompt, reply, kind)
        except MnemonError:
            self.sessions.forget_event(event)  # a repetition may be kept
            self.sessions.of(event).restore_prompt(prompt)
            raise
        return ""

    async def _enqueue(self, event: HookEvent, place: Place, prompt: str, reply: str, kind: ExchangeKind) -> None:
        """Queue what is new in an exchange, never what memory itself returned. Makes the store if there is none."""
        at_us = self._clock.now_us()
        warm = await self._open_stores.opened(place.store) if place.exists else None
        known = _or_opening(_nothing_known if warm is None else known_in(warm.store.snapshot), self._prompts.opening())
        key = turn_key(kind, event.session, prompt, reply)
        prompt, reply = await in_thread(
            _without_echoes, (prompt, reply), known, abandon_on_cancel=True, limiter=self._threads
        )
        if not (prompt or reply):
            return
        if warm is None:
            await in_task(self._stores.create, place.store)
            warm = await self._open_stores.opened(place.store)
        exchange = QueuedExchange(
            host=event.host, at_us=at_us, conversation_id=event.session, project=place.project or "", prompt=prompt,
            reply=reply, kind=kind, key=key,
        )  # fmt: skip
        await self._queue.keep(warm, exchange)


def probability_of(hit: RecallHit, pieces: int) -> float:
    """Return how probable it is that a prompt of so many pieces needs a memory that one of them found; 0 for a result
    that was not judged."""
    if hit.kind == "passage":
        return unasked.of_pieces(needed_probability(hit.signals.keyword, hit.signals.similarity), pieces)
    judgement = _judgement(hit)
    return 0.0 if judgement is UNSET else unasked.of_pieces(judgement.probability, pieces)


def _judgement(hit: RecallHit) -> Unasked | UnsetType:
    return UNSET if hit.explanation is None else hit.explanation.unasked


def select(found: list[Candidate], session: AgentSession, least: float) -> list[Candidate]:
    """Return the results (the most probable first) that are new to a session and probable enough: from `least` on, and
    those that come beside them, see `unasked.shown_count`."""
    new = [each for each in found if not session.has_shown(each.hit.insight.id, each.hit.insight.content)]
    passages = [each for each in new if each.hit.kind == "passage" and each.probability >= least][:MOST_PASSAGES]
    memories = [each for each in new if each.hit.kind == "memory"]
    told = memories[: unasked.shown_count([each.probability for each in memories], least)]
    return sorted([*told, *passages], key=lambda each: -each.probability)


def _why(candidate: Candidate) -> str:
    """Return why a memory is shown, without a word of it or of the prompt."""
    return f"{_probable(candidate)}, found by {' and '.join(candidate.hit.via_all)}"


def _why_not(candidate: Candidate, session: AgentSession, settings: HookSettings) -> str:
    """Return why `select` leaves out a memory."""
    if session.has_shown(candidate.hit.insight.id, candidate.hit.insight.content):
        return "this session was shown it before"
    if candidate.probability >= unasked.BESIDE * settings.min_probability:
        return f"{_probable(candidate)}, which would do beside a surer one"
    return f"{_probable(candidate)}, less than {settings.min_probability:.2f}"


def _probable(candidate: Candidate) -> str:
    judgement = _judgement(candidate.hit)
    traits = "" if judgement is UNSET else f" ({traits_text(judgement)})"
    return f"probability {candidate.probability:.2f}{traits}"


def _without_echoes(texts: tuple[str, str], known: IsMemory) -> tuple[str, ...]:
    return tuple(without_echoes(text, known) for text in texts)


def _or_opening(known: IsMemory, opening: str) -> IsMemory:
    """Know the opening of a brief as well."""
    shown = normalised(opening)
    return lambda text: (text == shown and text != "") or known(text)


def _nothing_known(_: str) -> bool:
    return False


# ---------------------------------------------------------------- the queue of exchanges


class ExchangeQueue:
    """Exchanges that are kept, and wait to be read for facts. For the event loop's thread."""

    def __init__(self, identities: Identities, on_kept: Callable[[str], None] = lambda _: None) -> None:
        """`on_kept` is called with the name of a store that has another exchange now. It must not raise."""
        self._identities = identities
        self._on_kept = on_kept

    async def keep(self, warm: OpenStore, exchange: QueuedExchange) -> Queued:
        """Keep an exchange, put it into the store's queue, and return once it is committed. `Queued.kept` is false for
        a known key.

        Raises MnemonError if it could not be written, or too many writes wait.
        """
        identity = self._identities.own(warm.store.name, f"{HOST}{exchange.host}")
        queued = await submitted(
            warm,
            propose_queueing(exchange, identity, warm.config.extraction, recorded=warm.store.shared is None),
            Queued,
        )
        if queued.kept:
            self._on_kept(warm.store.name)
            if warm.on_missing_vector is not None:
                warm.on_missing_vector(warm.store.name)
        return queued


def extraction_contexts(open_stores: Callable[[], OpenStores]) -> Callable[[str], Awaitable[ExtractionContext]]:
    """Return a function that opens a store by its name for the job that reads the queue."""

    async def context(name: str) -> ExtractionContext:
        warm = await open_stores().open(name)

        def missing() -> None:
            if warm.on_missing_vector is not None:
                warm.on_missing_vector(name)

        return ExtractionContext(warm.rules, warm.embedder, warm.embed_error, warm.threads, missing)

    return context
