"""The methods that change a memory: remember and forget."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import msgspec
import trio

from mnemond.clock import Clock
from mnemond.embed.embedder import Embedder
from mnemond.errors import INTERNAL, FieldProblem, MnemonError, invalid
from mnemond.handlers import views
from mnemond.handlers.door import OpenStore, StoreDoor, settle
from mnemond.handlers.lookup import one_active
from mnemond.ids import Ids
from mnemond.model.changes import ChangeSet, Vector
from mnemond.model.insight import Scope
from mnemond.model.outcomes import Forgotten, Outcome, Remembered
from mnemond.pipelines import forget, remember
from mnemond.protocol.memories import ForgetParams, RememberParams
from mnemond.protocol.types import Result
from mnemond.server.call import Call
from mnemond.server.deferred import Deferred

_json = msgspec.json.Encoder(order="deterministic")


class WriteHandlers:
    """Each write is planned as a change set, submitted, and answered after the commit."""

    def __init__(self, door: StoreDoor, clock: Clock, ids: Ids) -> None:
        self._door = door
        self._clock = clock
        self._ids = ids

    def remember(self, call: Call, params: RememberParams) -> object:
        """Validate, embed, store. Raises MnemonError(INVALID_PARAMS) with every problem at once."""
        problems = remember.problems_of(msgspec.structs.asdict(params))
        if problems:
            raise invalid(problems, hint=f"{len(problems)} to mend; nothing was written")
        return self._door.through(params.store, lambda warm: self._remember(warm, params))

    @staticmethod
    def remember_problems(fields: dict[str, object]) -> list[FieldProblem]:
        """What is wrong with the well-typed fields of a request that has ill-typed ones too."""
        return remember.problems_of(fields)

    def forget(self, call: Call, params: ForgetParams) -> object:
        """Take one memory out of recall. Raises MnemonError(NOT_FOUND) when it is not active."""
        return self._door.through(params.store, lambda warm: self._forget(warm, params))

    def _remember(self, warm: OpenStore, params: RememberParams) -> object:
        if warm.embedder is None:
            return self._submit_memory(warm, params, None, warm.embed_error)
        if warm.embedder.inline:
            return self._submit_memory(warm, params, *_embed(warm.embedder, params.content))
        return self._embed_then_submit(warm, warm.embedder, params)

    async def _embed_then_submit(self, warm: OpenStore, embedder: Embedder, params: RememberParams) -> object:
        vector, error = await trio.to_thread.run_sync(_embed, embedder, params.content)
        return await settle(self._submit_memory(warm, params, vector, error))

    def _submit_memory(
        self, warm: OpenStore, params: RememberParams, vector: Vector | None, embed_error: str | None
    ) -> Result | Deferred[Result]:
        draft = remember.Draft(
            content=params.content,
            category=params.category,
            importance=params.importance,
            tags=params.tags,
            entities=params.entities,
            entity_mode=params.entity_mode,
            source=params.source,
            channel=params.channel,
            conversation_id=params.conversation_id,
            scope=Scope(params.user_id, params.session_id, params.agent_id),
            created_at=params.created_at,
            dry_run=params.dry_run,
        )
        identity = remember.Identity(
            id=self._ids.new(),
            op_id=params.op_id or self._ids.new(),
            client_op_id=params.op_id is not None,
            now_us=self._clock.now_us(),
            store=warm.store.name,
            request_digest=_digest(params),
        )
        change_set = remember.plan(draft, identity, vector, embed_error)
        return _rendered(warm, change_set.outcome) if params.dry_run else _submitted(warm, change_set)

    def _forget(self, warm: OpenStore, params: ForgetParams) -> object:
        snapshot = warm.store.snapshot
        # A repeat of a forget that already happened names a memory that is no longer active: let the writer, which
        # knows the op_id, answer it; it refuses an id that never was one.
        try:
            insight_id = one_active(snapshot, params.id).id
        except MnemonError:
            if params.op_id is None:
                raise
            insight_id = params.id.casefold()
        change_set = forget.plan(
            insight_id,
            params.op_id or self._ids.new(),
            client_op_id=params.op_id is not None,
            now_us=self._clock.now_us(),
            request_digest=_digest(params),
        )
        return _submitted(warm, change_set)


def _embed(embedder: Embedder, content: str) -> tuple[Vector | None, str | None]:
    vector = embedder.embed([content])[0]
    return vector, None if vector is not None else "the embedder knows no word of this text"


def _digest(params: RememberParams | ForgetParams) -> str:
    """What a request asks for, apart from its op_id: tells a repeat from a different request. Empty without an op_id,
    when nobody can repeat it."""
    if params.op_id is None:
        return ""
    return hashlib.blake2b(
        _json.encode(msgspec.structs.replace(params, op_id=None, store=None)), digest_size=16
    ).hexdigest()


def _submitted(warm: OpenStore, change_set: ChangeSet) -> Deferred[Result]:
    deferred: Deferred[Outcome] = Deferred()

    def done(result: Outcome | MnemonError) -> None:
        if isinstance(result, MnemonError):
            result.degraded_reason = warm.degraded_reason
            deferred.fail(result)
        else:
            deferred.resolve(result)

    warm.store.submit(change_set, done)
    return deferred.map(lambda outcome: _rendered(warm, outcome))


_RENDER: dict[type, Callable[..., Result]] = {Remembered: views.remember_result, Forgotten: views.forget_result}


def _rendered(warm: OpenStore, outcome: Outcome) -> Result:
    render = _RENDER.get(type(outcome))
    if render is None:
        raise MnemonError(INTERNAL, f"no view for {type(outcome).__name__}")
    return warm.marked(render(outcome))
