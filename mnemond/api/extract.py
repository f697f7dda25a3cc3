"""The method extract: store the facts of a conversation as memories, and report the result for each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, Literal, NamedTuple, cast

import msgspec
import trio

from mnemond.api.projects import Projects
from mnemond.api.remember import similarity_with
from mnemond.api.requests import Identities, scope_of, submit
from mnemond.api.store_access import OpenStore, OpenStores
from mnemond.api.types_extract import (
    ContextMessage,
    ExtractContext,
    ExtractCounts,
    ExtractParams,
    ExtractResult,
    FactView,
    KnownMemory,
    MessageParam,
    SourceContext,
)
from mnemond.clock import Clock
from mnemond.config.settings import Config
from mnemond.errors import UNAVAILABLE, FieldProblem, MnemonError, invalid
from mnemond.extract.coverage import bounded
from mnemond.extract.facts import Context, Engine, Extraction, Message, band, latest_exchange, of_five
from mnemond.extract.host_facts import parts
from mnemond.extract.quotes import RuleEngine
from mnemond.memory import extraction
from mnemond.memory.draft import choice_problems, op_id_problems, problems_of, time_problems
from mnemond.memory.exchanges import REQUEST, propose_queueing
from mnemond.memory.extraction import FactWrite, Provenance, embedded
from mnemond.memory.held_texts import ordering
from mnemond.memory.questions.pairs import Allowance
from mnemond.memory.write import WriteContext
from mnemond.model.changes import QueuedExchange, Vector
from mnemond.model.memory import CATEGORIES, Scope, format_us, parse_rfc3339
from mnemond.model.outcomes import FactEntity, Fate, HostFact, Queued, RememberResult
from mnemond.model.query import Filter
from mnemond.recall.context import conversation_summary, exchange_context, known_memories
from mnemond.recall.session_outline import MAX_READ
from mnemond.store import held_texts, passages
from mnemond.wire.dispatch import Call, handles

MODEL_THREADS: Final = 4
"""Conversations at a time that wait for a model."""

GRACE_S: Final = 0.25
"""Seconds that the model's own time limit has to end a request first, so that it is left alone for a while; a second
request, after an unreadable answer, is ended here."""

HOST_ALONE: Final = 'extraction.engine is "host": facts come from the agent alone'

DISABLED: Final = "extraction.enabled is false: no facts are extracted from conversations"


class _Analysis(NamedTuple):
    """The facts found in a conversation, and their prepared writes."""

    found: Extraction
    writes: list[FactWrite]


class _Written(NamedTuple):
    """The fate of one fact, the op_id of its write, and the memories that a full store pruned for it."""

    fate: Fate
    op_id: str | None
    redacted: Sequence[str] = ()
    pruned: Sequence[str] = ()


class ExtractHandlers:
    """extract. Conversations are analysed in threads."""

    def __init__(
        self,
        open_stores: OpenStores,
        identities: Identities,
        clock: Clock,
        projects: Projects,
        engine: Callable[[Config], Engine] = lambda _: RuleEngine(),
    ) -> None:
        """`engine` returns what reads conversations for a store with these settings."""
        self._open_stores = open_stores
        self._engine = engine
        self._model_threads = trio.CapacityLimiter(MODEL_THREADS)
        self._projects = projects
        self._identities = identities
        self._clock = clock

    @handles("extract", in_task=True)
    async def extract(self, call: Call, params: ExtractParams) -> ExtractResult | ExtractContext:
        """Extract facts, then remember each. Raises MnemonError(INVALID_PARAMS) with every problem at once, and
        MnemonError(UNAVAILABLE) if extraction is disabled."""
        if problems := problems_with(params):
            raise invalid(problems, hint="nothing was written")
        warm = await self._open_stores.use(params.store)
        scope = scope_of(params, await self._projects.written(params, "", warm))
        if params.show_context:
            summary = await _summary(warm, params, scope)
            return await trio.to_thread.run_sync(
                _context, warm, params, scope, self._clock.now_us(), summary,
                abandon_on_cancel=True, limiter=warm.threads,
            )  # fmt: skip
        if not warm.config.extraction.enabled:
            raise MnemonError(
                UNAVAILABLE, DISABLED, hint="set extraction.enabled, or use `remember`", outcome="rejected"
            )
        if warm.config.extraction.engine == "host" and params.facts is None and params.infer:
            raise MnemonError(
                UNAVAILABLE, HOST_ALONE, hint="hand over `facts`; `show_context` has what is needed", outcome="rejected"
            )
        analysis = await self._analysed(warm, params, scope)
        written = await (self._dry_run if params.dry_run else self._write)(warm, params, analysis.writes)
        job_id = await self._queued(warm, params, scope) if analysis.found.unread else None
        held = 0 if params.dry_run else await self._held(warm, params, scope, analysis.found)
        return warm.marked(msgspec.structs.replace(_result(warm, params, analysis, written, job_id), held=held))

    async def _analysed(self, warm: OpenStore, params: ExtractParams, scope: Scope) -> _Analysis:
        """Extract the facts; a model is waited for as long as `llm.timeout_s`, then the rules' facts are taken."""
        now_us, rules = self._clock.now_us(), RuleEngine()
        engine = self._engine(warm.config) if params.facts is None and params.infer else rules
        timeout_s, unread = warm.config.llm.timeout_s, ""
        if not isinstance(engine, RuleEngine):
            with trio.move_on_after(timeout_s + GRACE_S):
                summary = await _summary(warm, params, scope)
                return await trio.to_thread.run_sync(
                    _analyse, warm, params, scope, now_us, engine, summary, limiter=self._model_threads
                )
            unread = f"the language model gave no answer within {timeout_s:g} s"
        analysis = await trio.to_thread.run_sync(
            _analyse, warm, params, scope, now_us, rules, abandon_on_cancel=True, limiter=warm.threads
        )
        return analysis._replace(found=msgspec.structs.replace(analysis.found, unread=unread))

    async def _queued(self, warm: OpenStore, params: ExtractParams, scope: Scope) -> str | None:
        """Queue what was to be read, for the same readers, for a job to read, and return its id; None for a dry run."""
        if params.dry_run:
            return None
        messages = _conversation(params)
        read = messages if params.whole else latest_exchange(messages, 0).latest
        identity = msgspec.structs.replace(self._identities.of(warm, params), op_id="")
        exchange = QueuedExchange(
            host=REQUEST,
            at_us=_observed_us(params, self._clock.now_us()),
            conversation_id=params.conversation_id or "",
            project=scope.project or "",
            prompt="\n\n".join(each.content for each in read if each.role == "user"),
            reply="\n\n".join(each.content for each in read if each.role == "assistant"),
            key=identity.id,
            user_id=scope.user_id or "",
            session_id=scope.session_id or "",
            agent_id=scope.agent_id or "",
            resolves=_resolves(warm, params),
        )
        queued = cast("Queued", await submit(warm, propose_queueing(exchange, identity, warm.config.extraction)))
        return identity.id if queued.kept else None

    async def _held(self, warm: OpenStore, params: ExtractParams, scope: Scope, found: Extraction) -> int:
        """Let what gives orders wait for a person, as far as there is room; return how many texts that are."""
        now_us = self._clock.now_us()
        texts = ordering(found.dropped, _observed_us(params, now_us), params.conversation_id, scope)
        if not texts:
            return 0
        return await warm.store.rewrite(lambda it: held_texts.hold(it, texts, format_us(now_us)))

    async def _write(self, warm: OpenStore, params: ExtractParams, writes: Sequence[FactWrite]) -> list[_Written]:
        """Submit all writes before waiting for the first, so that they share a transaction and its fsync."""
        identities = [self._identity(warm, params, number) for number in range(len(writes))]
        waiting = [
            submit(warm, extraction.propose(write, identity, warm.rules))
            for write, identity in zip(writes, identities, strict=True)
        ]
        written: list[_Written] = []
        failures: list[MnemonError] = []
        for deferred, identity in zip(waiting, identities, strict=True):
            try:
                outcome = cast("RememberResult", await deferred)
            except MnemonError as error:
                failures.append(error)
                written.append(_Written(Fate("FAILED", None, None, None, error.message), identity.op_id))
            else:
                written.append(_Written(extraction.fate(outcome), identity.op_id, outcome.redacted, outcome.pruned_ids))
        if failures and len(failures) == len(written):
            raise failures[0]  # the store refuses every write
        return written

    async def _dry_run(self, warm: OpenStore, params: ExtractParams, writes: Sequence[FactWrite]) -> list[_Written]:
        """Compute the result of each write without storing it. The writes do not see each other."""
        identities = [self._identity(warm, params, number) for number in range(len(writes))]
        return await trio.to_thread.run_sync(
            lambda: [_dry_run_one(warm, write, identity) for write, identity in zip(writes, identities, strict=True)],
            abandon_on_cancel=True, limiter=warm.threads,
        )  # fmt: skip

    def _identity(self, warm: OpenStore, params: ExtractParams, number: int) -> WriteContext:
        """Every fact is an operation of its own, with an op_id derived from the request, so that a repeat of the
        request repeats each."""
        identity = self._identities.of(warm, params)
        if not identity.client_op_id:
            return identity
        return msgspec.structs.replace(identity, op_id=f"{identity.op_id}/{number + 1}")


# Validation.


def problems_with(params: ExtractParams) -> list[FieldProblem]:
    """Return all problems of a well-typed request."""
    found = problems_of({
        name: getattr(params, name) for name in ("conversation_id", "session_id", "user_id", "agent_id", "op_id")
    })  # fmt: skip
    if params.op_id is not None:
        found += [each for each in op_id_problems(params.op_id) if each not in found]
    times = [("observation_date", params.observation_date)]
    times += [(f"messages[{at}].timestamp", each.timestamp) for at, each in enumerate(_messages(params))]
    times += [(f"facts[{at}].event_time", each.event_time) for at, each in enumerate(params.facts or ())]
    for name, value in times:
        found += [] if value is None else time_problems(name, value)
    for at, message in enumerate(_messages(params)):
        found += [] if message.id is None else _id_problems(f"messages[{at}].id", message.id)
    if params.show_context and params.facts is not None:
        found.append(FieldProblem("show_context", "show_context needs messages and excludes facts"))
    if params.facts is None:
        if not any(each.content.strip() for each in _messages(params)):
            found.append(FieldProblem("messages", "messages are empty: there is nothing to extract"))
        return found
    if _messages(params):
        found.append(FieldProblem("facts", "facts and messages exclude each other; give one of them"))
    for at, fact in enumerate(params.facts):
        found += _fact_problems(f"facts[{at}]", fact)
    return found


def _fact_problems(name: str, fact: HostFact) -> list[FieldProblem]:
    found = [] if fact.category is None else choice_problems(f"{name}.category", fact.category, CATEGORIES)
    entities = problems_of({"entities": fact.names})
    found += [FieldProblem(f"{name}.{each.field}", f"{name}.{each.message}") for each in entities]
    found += [
        FieldProblem(f"{name}.{each.field}", f"{name}.{each.message}") for each in problems_of({"cues": fact.cues})
    ]
    for at, message_id in enumerate(fact.message_ids):
        found += _id_problems(f"{name}.message_ids[{at}]", message_id)
    contents = [each for part in parts(fact.content) or [""] for each in problems_of({"content": part})]
    return found + [FieldProblem(f"{name}.content", f"{name}.{each.message}") for each in contents[:1]]


def _id_problems(name: str, message_id: str) -> list[FieldProblem]:
    """Validate the id of a message like that of a conversation: both are stored with the facts."""
    found = problems_of({"conversation_id": message_id})
    return [FieldProblem(name, each.message.replace("conversation_id", name, 1)) for each in found]


def _messages(params: ExtractParams) -> tuple[MessageParam, ...]:
    match params.messages:
        case str(text):
            return (MessageParam(content=text),)
        case MessageParam() as message:
            return (message,)
        case messages:
            return messages


# Analysis.


async def _summary(warm: OpenStore, params: ExtractParams, scope: Scope) -> str:
    """Return the summary of the conversation so far, as it is for these readers."""
    said = await warm.store.read(lambda it: passages.of_conversation(it, params.conversation_id or "", scope, MAX_READ))
    return await trio.to_thread.run_sync(conversation_summary, said, limiter=warm.threads) if said else ""


def _resolves(warm: OpenStore, params: ExtractParams) -> bool:
    """Return whether facts may replace what they contradict: as the request says, else as configured."""
    asked = params.auto_resolve_conflicts
    return warm.config.extraction.auto_resolve_conflicts if asked is None else asked


def _analyse(
    warm: OpenStore, params: ExtractParams, scope: Scope, now_us: int, engine: Engine, summary: str = ""
) -> _Analysis:
    """Extract and embed the facts (blocking)."""
    settings = warm.config.extraction
    observed_us = _observed_us(params, now_us)
    context = extraction.context_of(warm.store.snapshot, scope, settings, observed_us, params.importance_threshold)
    wanted = Filter(scope=scope, now_us=now_us)
    context = msgspec.structs.replace(
        context, existing=partial(known_memories, warm.store.snapshot, wanted), summary=summary
    )
    found = _extract(params, context, settings.message_window, engine)
    provenance = Provenance(
        conversation_id=params.conversation_id,
        scope=scope,
        resolves=_resolves(warm, params),
        allowance=Allowance(warm.store.snapshot.live),
    )
    known = warm.store.snapshot.entity_spelling
    writes = [
        extraction.prepare(
            fact, provenance, now_us, known, warm.config, as_it_is=not params.infer and params.facts is None
        )
        for fact in found.facts
    ]
    return _Analysis(found, embedded(warm.embedder, writes, warm.embed_error))


def _context(warm: OpenStore, params: ExtractParams, scope: Scope, now_us: int, summary: str) -> ExtractContext:
    snapshot = warm.store.snapshot
    wanted = Filter(scope=scope, now_us=now_us)
    found = exchange_context(_conversation(params), snapshot, wanted, window=warm.config.extraction.message_window)
    return warm.marked(
        ExtractContext(
            summary=summary or None,
            earlier=[ContextMessage(each.role, each.name, each.content) for each in found.earlier],
            latest=[ContextMessage(each.role, each.name, each.content) for each in found.latest],
            known=[
                KnownMemory(number, each.id, each.category, each.content)
                for number, each in enumerate(found.known, start=1)
            ],
            observed_at=format_us(_observed_us(params, now_us)),
            speaker=extraction.known_speaker(snapshot, scope),
            store=warm.store.name,
        )
    )


def _observed_us(params: ExtractParams, now_us: int) -> int:
    return now_us if params.observation_date is None else parse_rfc3339(params.observation_date)


def _conversation(params: ExtractParams) -> list[Message]:
    return [
        Message(
            each.role,
            each.content,
            each.name,
            None if each.timestamp is None else parse_rfc3339(each.timestamp),
            each.id,
        )
        for each in _messages(params)
    ]


def _extract(params: ExtractParams, context: Context, window: int, engine: Engine) -> Extraction:
    if params.facts is not None:
        return extraction.host_facts(params.facts, context)
    messages = _conversation(params)
    if not params.infer:
        return extraction.verbatim(messages, context)
    return extraction.extract_exchange(messages, context, window=window, whole=params.whole, engine=engine)


def _dry_run_one(warm: OpenStore, write: FactWrite, identity: WriteContext) -> _Written:
    snapshot = warm.store.snapshot
    similarity = similarity_with(warm, snapshot, cast("Vector | None", write.prepared.vector))
    outcome = cast("RememberResult", extraction.decide(write, identity, warm.rules, snapshot, similarity).outcome)
    if outcome.action != "skipped":
        outcome = msgspec.structs.replace(outcome, id=None)  # it was not stored
    return _Written(extraction.fate(outcome), None, outcome.redacted, outcome.pruned_ids)


# The result.


def _result(
    warm: OpenStore, params: ExtractParams, analysis: _Analysis, written: Sequence[_Written], job_id: str | None
) -> ExtractResult:
    facts = [_view(write, each, params.conversation_id) for write, each in zip(analysis.writes, written, strict=True)]
    actions = [each.action.lower() for each in facts]
    return ExtractResult(
        facts=facts,
        dropped=bounded(analysis.found.dropped),
        engine=cast('Literal["rules", "auto", "llm", "host", "verbatim"]', analysis.found.engine),
        counts=ExtractCounts(**{name: actions.count(name) for name in ExtractCounts.__struct_fields__}),
        retried=analysis.found.retried,
        unread=analysis.found.unread or None,
        job_id=job_id,
        summary_updated=False,
        dry_run=params.dry_run,
        store=warm.store.name,
        pruned_ids=tuple(dict.fromkeys(pruned for each in written for pruned in each.pruned)),
    )


def _view(write: FactWrite, written: _Written, conversation_id: str | None) -> FactView:
    fact, fate = write.fact, written.fate
    return FactView(
        content=write.content,
        importance=fact.importance,
        importance5=of_five(fact.importance),
        band=band(fact.importance),
        intent=fact.intent,
        category=fact.category,
        confidence=fact.confidence,
        attributed_to=fact.attributed_to,
        said_at=format_us(fact.said_us),
        entities=[FactEntity(each.name, each.kind) for each in fact.entities],
        source_context=SourceContext(conversation_id, fact.message_ids),
        **{name: getattr(fate, name) for name in Fate.__struct_fields__},
        redacted=list(written.redacted),
        op_id=written.op_id,
        model=fact.model or None,
    )
