"""Methods that read memories: recall, context, get, list and search; their filters and the forms of their answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple, TypeAlias, cast

import msgspec
import trio

from mnemond.api.projects import Asked, Projects
from mnemond.api.requests import moment_of, one_active, scope_of, span_of, until_seen
from mnemond.api.store_access import FairLimiter, OpenStore, OpenStores
from mnemond.api.types_memories import (
    ContextParams,
    FilterParams,
    GetParams,
    ListParams,
    QuestionParams,
    RecallParams,
    SearchParams,
)
from mnemond.api.uses import is_used
from mnemond.clock import Clock
from mnemond.config.reading import RerankSettings, RetrievalSettings, TouchSettings
from mnemond.embed.embedder import Embedder, precompute
from mnemond.embed.reranking import Rerankers
from mnemond.errors import NOT_FOUND, FieldProblem, MnemonError, invalid
from mnemond.index.passages import PassageSnapshot
from mnemond.index.snapshot import AFTER_ALL, Place, Snapshot
from mnemond.memory.core_summary import entity_of
from mnemond.memory.draft import choice_problems
from mnemond.memory.history import admits, get_retired, hidden
from mnemond.memory.links import around, links_of, with_sub_types
from mnemond.model.answers import (
    CompactHit,
    CompactResult,
    ContextResult,
    ExchangeView,
    GetResult,
    InsightDetail,
    ListResult,
    RecallHit,
    RecallMeta,
    RecallResult,
    RetiredResult,
    insight_detail,
    insight_view,
    six,
)
from mnemond.model.changes import RecallLine
from mnemond.model.memory import CATEGORIES, STATUSES, Insight, Status, format_us, parse_rfc3339
from mnemond.model.query import ANCHORS, INTENTS, Condition, Filter, Hit, Intent, Query, Recalled
from mnemond.recall.archive import page_start, retired
from mnemond.recall.conditions import condition_of
from mnemond.recall.context import BUDGET, NOTHING_FITS, Frame, linearise, relations_among
from mnemond.recall.core_text import beside
from mnemond.recall.corrections import Asked as AskedFormer
from mnemond.recall.passages import session_label, shown
from mnemond.recall.profiles import Profile, default_profile, profile_named
from mnemond.recall.recall import (
    Pool,
    answered,
    basic_steps,
    candidates,
    is_quick,
    needs_vector,
    recall,
    recall_basic,
    searched,
)
from mnemond.recall.rerank import Relevances
from mnemond.recall.session_outline import asks_for_last_session
from mnemond.recall.superseded_answers import asked_former, replaced, with_former
from mnemond.store.edges import members_of
from mnemond.store.files import damaged
from mnemond.store.insights import Unreadable
from mnemond.store.stored_rows import read_mended
from mnemond.store.verify_checks import UNREADABLE
from mnemond.text.prompt_escape import quarters, token_count
from mnemond.wire.deferred import in_task, in_thread
from mnemond.wire.dispatch import Call, handles
from mnemond.wire.params import MAX_EXACT

DESCRIBED_INLINE = 1_000
"""Rows whose metadata may be compared on the event loop: about 2 ms."""


# Filters: every field is validated, and all problems are reported at once.


def filter_of(params: FilterParams, clock_us: int, more: list[FieldProblem] | None = None) -> Filter:
    """Build the filter of a read at `clock_us` of the wall clock.

    Raises MnemonError(INVALID_PARAMS) with every problem of the fields, and `more` of the request.
    """
    problems: list[FieldProblem] = []
    if params.category is not None:
        problems += choice_problems("category", params.category, CATEGORIES)
    if params.status is not None:
        problems += choice_problems("status", params.status, STATUSES)
    late: list[FieldProblem] = []
    now = moment_of("now", params.now, late)
    now_us = clock_us if now is None else now
    created = span_of("since", "until", params.since, params.until, problems, now_us)
    event = span_of("event_since", "event_until", params.event_since, params.event_until, problems, now_us)
    as_of, known_at = moment_of("as_of", params.as_of, problems), moment_of("known_at", params.known_at, problems)
    problems += late
    metadata = _condition(params.metadata, problems)
    if problems or more:
        raise invalid([*problems, *(more or [])])
    return Filter(
        category=params.category, source=params.source, scope=scope_of(params), all_sessions=params.all_sessions,
        strict_scope=params.strict_scope, channel=params.channel, stated_intent=params.stated_intent,
        tags_all=params.tags, tags_any=params.any_tags, entity=params.entity,
        min_importance=params.min_importance, created=created, event=event,
        status=cast("Status | None", params.status), metadata=metadata, now_us=now_us,
        clock_us=clock_us, as_of_us=as_of, include_invalid=params.include_invalid, known_at_us=known_at,
    )  # fmt: skip


def within(wanted: Filter, asked: Asked, *, alone: bool = False) -> Filter:
    """Narrow a filter to the project that a request names; `alone`: without memories of no project."""
    if asked.wanted is None:
        return wanted
    return msgspec.structs.replace(wanted, scope=wanted.scope.in_project(asked.wanted), strict_project=alone)


def is_slow(wanted: Filter, snapshot: Snapshot) -> bool:
    """Return True if filtering by metadata takes too long for the event loop."""
    return wanted.metadata is not None and snapshot.rows > DESCRIBED_INLINE


LONG_QUESTION = 600
"""Quarters of a token analysed on the event loop: 600 letters, or 150 Chinese characters, take 2 ms; 8,000 take 7 and
16 ms."""


def is_long_question(text: str) -> bool:
    """Return True if analysing a question takes too long for the event loop."""
    return len(text) > LONG_QUESTION or quarters(text) > LONG_QUESTION


def _condition(given: object, problems: list[FieldProblem]) -> Condition | None:
    if given is None:
        return None
    condition, found = condition_of(given)
    problems += found
    return condition


# Forms of the answer to a recall: full results, compact ones, or text for a prompt.

Answer: TypeAlias = RecallResult | CompactResult | ContextResult

MAX_INLINE_CONTEXT = 50
"""Memories whose context is built on the event loop: 2 ms. Their links are read one memory after another."""

MAX_INLINE_WORK = 24_000
"""Memories times tokens of a context built on the event loop: 3 ms if all memories are long and in Chinese, each
measured until it is clear that it does not fit."""


class Form(NamedTuple):
    """Form of an answer. `budget`, `nonce` and `by_time` (order by time) are those of a context; `budget` is None for
    other forms. `core`: with the core summary of the user `user_id` in front."""

    basic: bool = False
    compact: bool = False
    budget: int | None = None
    nonce: str = ""
    by_time: bool = False
    core: bool = False
    user_id: str | None = None

    def is_long(self, limit: int) -> bool:
        """Return True if building the answer takes too long for the event loop."""
        return self.budget is not None and (limit > MAX_INLINE_CONTEXT or limit * self.budget > MAX_INLINE_WORK)


def form_of(params: RecallParams | ContextParams, nonce: Callable[[], str]) -> Form:
    """Return the requested form; a context gets a `nonce`."""
    if isinstance(params, RecallParams) and not params.context:
        return Form(params.basic, params.compact)
    return Form(
        params.basic,
        budget=BUDGET if params.budget is None else params.budget,
        nonce=nonce(),
        by_time=params.order == "time",
        core=True,
        user_id=params.user_id,
    )


def form_problems(params: RecallParams) -> list[FieldProblem]:
    """Return the problems of parameters that exclude each other."""
    found = []
    if params.compact and params.context:
        found.append(FieldProblem("compact", "compact and context exclude each other: a context has no results"))
    if params.basic and params.min_confidence is not None:
        found.append(FieldProblem("min_confidence", "min_confidence and basic exclude each other: nothing is weighed"))
    if params.budget is not None and not params.context:
        found.append(FieldProblem("budget", "budget is the size of a context; give context (--context) as well"))
    return found


def build_answer(
    warm: OpenStore,
    snapshot: Snapshot,
    found: Recalled,
    form: Form,
    meta: Callable[[], RecallMeta],
) -> Answer:
    """Convert results from `snapshot` to the requested form. `meta` is called last, so that it measures the time."""
    if form.budget is not None:
        order = "WHEN" if form.by_time else found.meta.intent
        frame = Frame(warm.store.name, order, form.nonce, form.budget, found.here)
        return _context(snapshot, found, meta, frame, _core(warm, snapshot, found, form))
    hits = [recall_hit(hit, found.meta.intent, found.here) for hit in found.hits]
    if form.compact:
        return CompactResult(results=[_short(hit) for hit in hits], meta=meta())
    return RecallResult(results=hits, meta=meta())


def used_ids(found: Recalled, answer: Answer, touch: TouchSettings) -> list[str]:
    """Return the ids of the memories whose use counts: the relevant ones, not those that only fill up the answer."""
    now = [hit for hit in found.hits if hit.former is None and not hit.session]
    used = [hit.insight.id for hit in now if is_used(hit.score, hit.via, hit.confidence, touch)]
    if not isinstance(answer, ContextResult):
        return used
    shown = set(answer.ids)
    return [insight_id for insight_id in used if insight_id in shown]


def _core(warm: OpenStore, snapshot: Snapshot, found: Recalled, form: Form) -> str:
    """Return the core summary that stands in front of a context, without what the results say."""
    if not form.core or not warm.config.core_summary.enabled:
        return ""
    core = warm.store.core_summaries.get(entity_of(form.user_id))
    return beside(core, snapshot, found.here or None, {hit.insight.id for hit in found.hits})


def _context(
    snapshot: Snapshot,
    found: Recalled,
    meta: Callable[[], RecallMeta],
    frame: Frame,
    core: str,
) -> ContextResult:
    doubt = NOTHING_FITS if found.meta.nothing_fits else ""
    frame = frame._replace(budget=max(1, frame.budget - token_count(quarters(doubt))))
    among = relations_among(snapshot, [hit.insight for hit in found.hits])
    made = linearise(found.hits, frame, among, core)
    text = f"{doubt}{made.text}" if found.hits or core or not doubt else doubt
    return ContextResult(
        text=text, shown=len(made.shown), omitted=made.omitted, tokens=token_count(quarters(text)), nonce=frame.nonce,
        ids=list(made.shown), meta=meta(),
    )  # fmt: skip


def recall_hit(hit: Hit, intent: str, here: str = "") -> RecallHit:
    """Convert a result of a recall from the project `here`."""
    return RecallHit(
        insight_view(hit.insight, here),
        six(hit.score),
        intent,
        hit.via[0] if len(hit.via) == 1 else "hybrid",
        hit.via,
        hit.confidence,
        hit.signals,
        hit.path,
        hit.also,
        hit.explanation,
        None if hit.first_score is None else six(hit.first_score),
        hit.wordings,
        hit.contradicts,
        hit.former,
        "passage" if hit.session else "memory",
        hit.session,
    )


def _short(hit: RecallHit) -> CompactHit:
    it = hit.insight
    return CompactHit(
        it.id,
        it.content,
        it.category,
        it.importance,
        hit.intent,
        hit.via,
        hit.confidence,
        round(hit.score, 3),
        hit.wordings,
        hit.former,
        hit.kind,
        hit.session,
        project=it.project,
        project_id=it.project_id,
        other_project=it.other_project,
    )


# recall, context, get and list. They read only the snapshot, except for retired memories.

INLINE_CELLS = 8_000_000
"""Matrix cells (rows times dimensions) that a recall may scan on the event loop: about 2 ms of float32 products
(measured 7.5 ms for 25.6 M cells); a larger scan runs in a thread, so that it delays no other client."""

MAX_INLINE_RESULTS = 100
"""Results of a recall on the event loop; 1,000 take 3 to 15 ms more, as does a traversal, which sorts all
candidates."""

THREADS = 2
"""Recalls in threads at once. More would compete with the event loop for the interpreter: with 8 × 60 pipelined recalls
over 100,000 memories and trio's forty threads the median ping took 121 ms."""

EMBED_THREADS = 16
"""Queries embedded in threads at once by slow embedders: they wait for an endpoint, not for the processor."""


class ReadHandlers:
    """Each request reads one snapshot."""

    def __init__(
        self,
        open_stores: OpenStores,
        stopwatch: Callable[[], float],
        clock: Clock,
        nonce: Callable[[], str],
        on_used: Callable[[OpenStore, Sequence[str], RecallLine | None], None],
        projects: Projects,
        rerankers: Rerankers,
    ) -> None:
        """`nonce` returns an unguessable string for the fence of a context. `on_used` receives the ids of the memories
        that answered a question, and the line of the log about it, in the event loop's thread."""
        self._rerankers = rerankers
        self._on_used = on_used
        self._projects = projects
        self._open_stores = open_stores
        self._clock = clock
        self._nonce = nonce
        self._stopwatch = stopwatch
        self._threads, self._turns = trio.CapacityLimiter(THREADS), FairLimiter(THREADS)
        self._embed_threads, self._embed_turns = trio.CapacityLimiter(EMBED_THREADS), FairLimiter(EMBED_THREADS)
        self._step_turns = FairLimiter(THREADS)

    @property
    def waiting(self) -> int:
        """Number of recalls that wait for a thread."""
        return self._turns.waiting

    @handles("recall")
    async def recall(self, call: Call, params: RecallParams) -> Answer:
        """Find the memories that answer a question. Raises MnemonError(INVALID_PARAMS)."""
        return await self._recall(call, params, form_problems(params))

    @handles("context")
    async def context(self, call: Call, params: ContextParams) -> Answer:
        """Find the memories that answer a question, as text for a prompt. Raises MnemonError(INVALID_PARAMS)."""
        return await self._recall(call, params, [])

    async def _recall(self, call: Call, params: RecallParams | ContextParams, problems: list[FieldProblem]) -> Answer:
        wanted = filter_of(params, self._clock.now_us(), [*_question_problems(params), *problems])
        form = form_of(params, self._nonce)
        warm = await self._open_stores.use(params.store)
        if isinstance(params, RecallParams) and params.min_seq is not None:
            await in_task(until_seen, warm, params.min_seq)
        asked = await self._projects.asked(params, warm)
        query = self._query(params, form, within(wanted, asked), asked.here, warm.config.retrieval)
        form = form._replace(core=form.core and not wanted.historic)  # it says what is known now
        snapshot = await in_task(warm.archives.of, warm.store) if wanted.historic else warm.store.snapshot
        embedder = None if form.basic else warm.embedder_of(snapshot)
        job = _RecallJob(call, warm, snapshot, embedder, query, form, self._stopwatch())
        if embedder is not None and not embedder.inline and needs_vector(snapshot, query):
            job = await self._with_vector(job, embedder)
        if not form.basic and query.rerank and warm.config.retrieval.rerank.provider != "lexical":
            made = await self._run_with_model(job)
        elif _fits_event_loop(job):
            made = self._run(job)
        elif form.basic and not _needs_thread(job):
            made = await self._run_in_steps(job)
        else:
            with await self._turns.slot(call):
                made = await in_thread(self._run, job, limiter=self._threads)
        if (asked_for := _former(query, made.recalled, form)) is not None:
            made = await in_task(self._with_former, job, made, asked_for)
        if params.touch:
            used = [] if wanted.historic or form.basic else made.used
            line = self._line(form, made) if warm.config.retrieval.log_recalls else None
            self._on_used(warm, used, line)
        return made.answer

    async def _with_former(self, job: _RecallJob, made: _Answer, asked: AskedFormer) -> _Answer:
        """Put what held before above the results that hold now."""
        found, query = made.recalled, job.query
        chains: dict[str, list[Insight]] = {}
        with trio.move_on_after(READ_S), suppress(MnemonError):
            chains = await job.warm.store.read(partial(replaced, hits=found.hits, wanted=query.filter))
        if not chains:
            return made
        hits = with_former(found.hits, chains, asked, query.limit)
        finish = partial(self._finish, job, msgspec.structs.replace(found, hits=hits))
        if job.form.is_long(query.limit) or query.limit > MAX_INLINE_RESULTS:
            return await trio.to_thread.run_sync(finish, limiter=self._threads)
        return finish()

    def _line(self, form: Form, made: _Answer) -> RecallLine:
        kind = "basic" if form.basic else made.answer.meta.intent.lower()
        detail = f"{kind} results={made.found}{'' if made.confidence is None else f' confidence={made.confidence}'}"
        return RecallLine(format_us(self._clock.now_us()), made.best, detail)

    async def _with_vector(self, job: _RecallJob, embedder: Embedder) -> _RecallJob:
        """Embed the question with a slow embedder, in threads apart from those of recalls; a stop does not wait."""
        with await self._embed_turns.slot(job.call):
            precomputed = await in_thread(
                precompute, embedder, job.query.text, abandon_on_cancel=True, limiter=self._embed_threads
            )
        return job._replace(embedder=precomputed, embed_ms=(self._stopwatch() - job.started) * 1e3)

    async def _run_with_model(self, job: _RecallJob) -> _Answer:
        """Rerank with a model. It takes none of the threads of recalls, which it would hold for a second each."""
        settings = job.warm.config.retrieval
        with await self._turns.slot(job.call):
            pool = await in_thread(
                candidates,
                job.snapshot,
                job.query,
                job.embedder,
                self._stopwatch,
                settings,
                job.warm.store.passages,
                limiter=self._threads,
            )
        if isinstance(pool, Recalled):
            return self._finish(job, pool)
        given: Relevances = []
        if texts := pool.texts:
            with await self._embed_turns.slot(job.call):
                given = await in_thread(
                    self._judged, settings.rerank, job.query.text, texts, abandon_on_cancel=True,
                    limiter=self._embed_threads,
                )  # fmt: skip
        with await self._turns.slot(job.call):
            return await in_thread(self._answer_reranked, job, pool, given, limiter=self._threads)

    def _judged(self, settings: RerankSettings, question: str, texts: Sequence[str]) -> Relevances:
        try:
            return self._rerankers.of(settings).relevances(question, texts, settings.timeout_s)
        except MnemonError as error:
            return error

    def _answer_reranked(self, job: _RecallJob, pool: Pool, given: Relevances) -> _Answer:
        return self._finish(job, answered(pool, given))

    async def _run_in_steps(self, job: _RecallJob) -> _Answer:
        """Run a basic recall in steps, between which other requests are served."""
        with await self._step_turns.slot(job.call):
            steps = basic_steps(job.snapshot, job.query, self._stopwatch)
            while (found := next(steps)) is None:
                await in_task(trio.lowlevel.checkpoint)
        return self._finish(job, found)

    def _run(self, job: _RecallJob) -> _Answer:
        if job.form.basic:
            return self._finish(job, recall_basic(job.snapshot, job.query, self._stopwatch))
        settings = job.warm.config.retrieval
        passages = job.warm.store.passages
        return self._finish(job, recall(job.snapshot, job.query, job.embedder, self._stopwatch, settings, passages))

    def _finish(self, job: _RecallJob, found: Recalled) -> _Answer:
        answer = build_answer(job.warm, job.snapshot, found, job.form, lambda: self._meta(job, found))
        used = used_ids(found, answer, job.warm.config.retrieval.touch)
        best = max(found.hits, key=lambda hit: hit.score, default=None)  # a question why has causes in front of it
        return _Answer(
            job.warm.marked(answer, found.embed_error),
            used,
            len(found.hits),
            None if best is None else best.insight.id,
            None if best is None or job.form.basic else best.confidence,
            found,
        )

    @handles("get")
    async def get(self, call: Call, params: GetParams) -> GetResult:
        """Return one memory; of a retired one also what became of it. Raises MnemonError(NOT_FOUND) or
        MnemonError(AMBIGUOUS)."""
        warm = await self._open_stores.use(params.store)
        if params.min_seq is not None:
            await in_task(until_seen, warm, params.min_seq)
        kept_out = [each for each in warm.store.unreadable if each.id.startswith(params.id.casefold())]
        if len(kept_out) == 1 and not warm.store.snapshot.find(params.id.casefold()):
            return await in_task(_get_unreadable, warm, params, kept_out[0])
        try:
            return await in_task(_with_sub_types, warm, _get(warm, params))
        except MnemonError as error:
            if error.kind is not NOT_FOUND:
                raise
        if (passage := _get_passage(warm, params, await in_task(warm.store.all_passages))) is not None:
            return passage
        read = partial(get_retired, id_or_prefix=params.id, scope=scope_of(params))
        retired = await in_task(warm.store.read, read)
        return _get(warm, params) if retired is None else warm.marked(retired)  # it may have come back meanwhile

    @handles("list")
    async def list(self, call: Call, params: ListParams) -> ListResult | RetiredResult:
        """Return a page of memories, newest first, or of retired ones. Raises MnemonError(INVALID_PARAMS)."""
        wanted = filter_of(params, self._clock.now_us())
        warm = await self._open_stores.use(params.store)
        if params.min_seq is not None:
            await in_task(until_seen, warm, params.min_seq)
        asked = await self._projects.asked(params, warm)
        wanted = within(wanted, asked, alone=True)
        if params.community is not None and (params.retired or wanted.historic):
            problem = "communities are those of the memories that are active now: leave retired and as_of out"
            raise invalid([FieldProblem("community", problem)])
        if params.retired:
            return await in_task(_retired, warm, params, wanted, asked.here)
        start = None if params.before is None else await _start_of(warm, params.before.casefold())
        if params.community is not None:
            return await in_task(_page_of_community, warm, params, wanted, asked.here, start)
        if not (wanted.historic or is_slow(wanted, warm.store.snapshot)):
            return _page(warm, warm.store.snapshot, params, wanted, asked.here, start)
        snapshot = await in_task(warm.archives.of, warm.store) if wanted.historic else warm.store.snapshot
        with await self._turns.slot(call):
            return await in_thread(_page, warm, snapshot, params, wanted, asked.here, start, limiter=self._threads)

    def _query(
        self, params: QuestionParams, form: Form, wanted: Filter, here: str, settings: RetrievalSettings
    ) -> Query:
        """Build the query; the store's settings provide the defaults."""
        return Query(
            text=params.query,
            limit=params.limit or settings.limit,
            filter=wanted,
            anchors=None if params.anchors is None else frozenset(params.anchors),
            intent=None if params.intent is None else cast("Intent", params.intent.upper()),
            now_us=wanted.now_us,
            profile=params.profile or default_profile(settings),
            mode=params.mode,
            seed=self._seed(params.seed, settings),
            order=params.order,
            explain=params.explain,
            rerank=settings.rerank_enabled if params.rerank is None else params.rerank,
            min_confidence=params.min_confidence or ("low" if form.budget is None else "medium"),
            here=here,
            sure=params.sure,
            budget=form.budget,
            kind=params.kind if params.sessions else "memory",
        )

    def _seed(self, given: int | str | None, settings: RetrievalSettings) -> int | None:
        if (given or settings.traversal.seed) == "random":
            return int(self._nonce(), 16) & MAX_EXACT  # unguessable, and exact in every JSON reader
        return cast("int | None", given)

    def _meta(self, job: _RecallJob, found: Recalled) -> RecallMeta:
        took_ms = round((self._stopwatch() - job.started) * 1e6) / 1e3
        if job.embed_ms is not None:
            found.meta.stages_ms["embed"] = round(job.embed_ms * 1e3) / 1e3
        return msgspec.structs.replace(found.meta, took_ms=took_ms, store=job.warm.store.name)


class _Answer(NamedTuple):
    """An answer, the ids of the memories whose use it counts, and what the log says of it: the number of results, the
    first one, and its confidence. `recalled`: what it was made from."""

    answer: Answer
    used: list[str]
    found: int
    best: str | None
    confidence: str | None
    recalled: Recalled


READ_S: Final = 0.1
"""Seconds that a read of the database beside the index may take: with a store that is busy or hangs, memories answer
alone."""


class _RecallJob(NamedTuple):
    """A recall under way. `embed_ms`: time of embedding the question beforehand, if it was."""

    call: Call
    warm: OpenStore
    snapshot: Snapshot
    embedder: Embedder | None
    query: Query
    form: Form
    started: float
    embed_ms: float | None = None


def _former(query: Query, found: Recalled, form: Form) -> AskedFormer | None:
    """Return which former state is asked for, of results that may have one."""
    if form.basic or query.filter.historic or not found.hits or asks_for_last_session(query.text):
        return None
    return asked_former(found, query.text, query.now_us)


def _needs_thread(job: _RecallJob) -> bool:
    """Return True if the request is too slow for the event loop in a store of any size."""
    query = job.query
    if is_slow(query.filter, job.snapshot) or job.form.is_long(query.limit):
        return True
    return not job.form.basic and _is_expensive(query, profile_named(query.profile, job.warm.config.retrieval))


def _is_expensive(query: Query, profile: Profile) -> bool:
    linked = (query.mode or profile.settings.traversal.mode) != "none"
    return linked or query.rerank or profile.is_slow or query.limit > MAX_INLINE_RESULTS or is_long_question(query.text)


def _fits_event_loop(job: _RecallJob) -> bool:
    """Return True if the request is fast enough for the event loop."""
    if _needs_thread(job):
        return False
    snapshot = job.snapshot
    return is_quick(snapshot) if job.form.basic else snapshot.rows * snapshot.dimension <= INLINE_CELLS


async def _get_unreadable(warm: OpenStore, params: GetParams, row: Unreadable) -> GetResult:
    """Show a memory that is kept out of recall because its row cannot be decoded, as far as it can be read."""
    insight = await warm.store.read(lambda connection: read_mended(connection, row.number))
    if insight is None:
        raise damaged(f"the row of memory {row.id[:64]!a}", ValueError())
    if not admits(scope_of(params), insight):
        raise hidden(params.id)
    reason = (
        f"this memory cannot be read as it is and is kept out of recall: its {', '.join(row.columns)} cannot be read"
    )
    detail = insight_detail(insight, InsightDetail)
    return warm.marked(GetResult(insight=detail, edges_by_type={}, links=[]), f"{reason}; {UNREADABLE}")


def _get(warm: OpenStore, params: GetParams) -> GetResult:
    snapshot = warm.store.snapshot
    insight, scope = one_active(snapshot, params.id), scope_of(params)
    if not admits(scope, insight):
        raise hidden(params.id)
    row = snapshot.row_of(insight.id)
    assert row is not None, "it is active in this snapshot"  # noqa: S101
    counts, links = links_of(snapshot, row, around(scope, insight))
    detail = insight_detail(insight, InsightDetail)
    return warm.marked(GetResult(insight=detail, edges_by_type=counts, links=links))


def _get_passage(warm: OpenStore, params: GetParams, passages: PassageSnapshot) -> GetResult | None:
    """Return an exchange of a session by its id, or the beginning of it; None if there is none."""
    found = passages.find(params.id.casefold())
    row = passages.row_of(found[0]) if len(found) == 1 else None
    if row is None:
        return None
    passage = passages.passage(row)
    insight = shown(passage, passage.text)
    if not admits(scope_of(params), insight):
        raise hidden(params.id)
    session = passages.of_conversation(passage.conversation_id) if passage.conversation_id else [row]
    at = session.index(row)
    before, after = session[at - 1] if at else None, session[at + 1] if at + 1 < len(session) else None
    near = [None if each is None else passages.passage(each).id for each in (before, after)]
    exchange = ExchangeView(session_label(passage), passage.prompt, passage.answer, near[0], near[1])
    detail = insight_detail(insight, InsightDetail)
    return warm.marked(GetResult(insight=detail, edges_by_type={}, links=[], exchange=exchange))


SUB_TYPES_S: Final = 0.2
"""Seconds that the sub_types of links may take: a disk that hangs does not keep a memory from being shown."""


async def _with_sub_types(warm: OpenStore, result: GetResult) -> GetResult:
    """Add the sub_types of the links from the database; without it, they are shown as the index has them."""
    links = result.links
    if not links:
        return result
    with trio.move_on_after(SUB_TYPES_S), suppress(MnemonError):
        links = await warm.store.read(partial(with_sub_types, insight_id=result.insight.id, links=links))
    return msgspec.structs.replace(result, links=links)


async def _retired(warm: OpenStore, params: ListParams, wanted: Filter, here: str) -> RetiredResult:
    """Read from the database: the index has only active memories."""
    return warm.marked(
        await warm.store.read(lambda connection: retired(connection, wanted, params.limit, params.before, here))
    )


class _Start(NamedTuple):
    """The memory before a page, with its creation time for an index that no longer has it."""

    id: str
    created_us: int


async def _start_of(warm: OpenStore, named: str) -> _Start:
    """Find the memory that an id names, in the index, or in the database if it is a prefix or not active."""
    known = warm.store.snapshot.place_of(named)
    if known is not None:
        return _Start(named, known.created_us)
    found = await in_task(warm.store.read, partial(page_start, named=named))
    return _Start(found.id, parse_rfc3339(found.created_at))


async def _page_of_community(
    warm: OpenStore, params: ListParams, wanted: Filter, here: str, start: _Start | None
) -> ListResult:
    """Return a page of the memories that were in a community when it was last looked for."""
    ids = await warm.store.read(partial(members_of, community=params.community or 0))
    return await trio.to_thread.run_sync(_page, warm, warm.store.snapshot, params, wanted, here, start, ids)


def _page(
    warm: OpenStore,
    snapshot: Snapshot,
    params: ListParams,
    wanted: Filter,
    here: str,
    start: _Start | None,
    among: Sequence[str] | None = None,
) -> ListResult:
    """Return a page of what a filter admits, of the memories in `among` alone if that is given."""
    before = None
    if start is not None:
        before = snapshot.place_of(start.id) or Place(start.created_us, AFTER_ALL)
    mask = snapshot.visible(wanted)
    if among is not None:
        mask = snapshot.marked(among) if mask is None else snapshot.marked(among) & mask
    page = [snapshot.insight(row) for row in snapshot.newest_rows(mask, params.limit + 1, before).tolist()]
    shown = page[: params.limit]
    following = shown[-1].id if len(page) > params.limit else None
    return warm.marked(ListResult(insights=[insight_view(it, here) for it in shown], next=following))


def _question_problems(params: QuestionParams) -> list[FieldProblem]:
    found = _intent_problems(params.intent)
    if params.anchors is not None and not params.anchors:
        found.append(FieldProblem("anchors", f"anchors are none: name some of {', '.join(sorted(ANCHORS))}"))
    return found


def _intent_problems(intent: str | None) -> list[FieldProblem]:
    if intent is None or intent.upper() in INTENTS:
        return []
    return choice_problems("intent", intent, tuple(map(str.lower, INTENTS)))


# search.


class SearchHandlers:
    """search."""

    def __init__(
        self, open_stores: OpenStores, stopwatch: Callable[[], float], clock: Clock, projects: Projects
    ) -> None:
        self._open_stores = open_stores
        self._projects = projects
        self._stopwatch = stopwatch
        self._clock = clock
        self._threads, self._turns = trio.CapacityLimiter(1), FairLimiter(1)

    @handles("search")
    async def search(self, call: Call, params: SearchParams) -> RecallResult:
        """Find memories by their words. Raises MnemonError(INVALID_PARAMS)."""
        started = self._stopwatch()
        wanted = filter_of(params, self._clock.now_us())
        warm = await self._open_stores.use(params.store)
        asked = await self._projects.asked(params, warm)
        wanted, here = within(wanted, asked), asked.here
        snapshot, limit = warm.store.snapshot, params.limit or warm.config.retrieval.limit
        if not (wanted.historic or is_slow(wanted, snapshot) or is_long_question(params.query)):
            found = searched(snapshot, params.query, wanted, limit, self._stopwatch)
        else:
            if wanted.historic:
                snapshot = await in_task(warm.archives.of, warm.store)
            with await self._turns.slot(call):
                found = await in_thread(
                    searched, snapshot, params.query, wanted, limit, self._stopwatch, limiter=self._threads
                )
        took_ms = round((self._stopwatch() - started) * 1e6) / 1e3
        meta = msgspec.structs.replace(found.meta, took_ms=took_ms, store=warm.store.name)
        return warm.marked(RecallResult(results=[recall_hit(hit, meta.intent, here) for hit in found.hits], meta=meta))
