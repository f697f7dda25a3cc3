"""Methods that add memories: remember, and diff, which compares without storing. Also the embedding of texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, cast

import msgspec
from msgspec import UNSET

from mnemond.api.projects import Projects
from mnemond.api.relations import secrets
from mnemond.api.requests import Identities, only_by_person, scope_of, submitted
from mnemond.api.store_access import OpenStore, OpenStores
from mnemond.api.types_memories import DiffParams, RememberParams
from mnemond.embed.embedder import UNKNOWN_WORDS, Embedder
from mnemond.errors import FieldProblem, invalid
from mnemond.index.snapshot import Snapshot
from mnemond.index.vectors import Cosines, own_vector
from mnemond.memory.compare import NO_MATCHES, Moment, compare, diff_result
from mnemond.memory.cues import try_embed_memories
from mnemond.memory.draft import Draft, problems_of, with_op_id
from mnemond.memory.relations import name_problems, relation_of, type_problems
from mnemond.memory.remember import Prepared, decide, prepare, propose, with_candidates
from mnemond.memory.write import calibration_of
from mnemond.model.answers import DiffResult
from mnemond.model.changes import Vector
from mnemond.model.memory import TextWithCues
from mnemond.model.outcomes import RememberResult
from mnemond.model.relations import GivenRelation
from mnemond.text.tokens import index_terms
from mnemond.wire.deferred import in_thread
from mnemond.wire.dispatch import Call, handles
from mnemond.wire.params import plural

LONG_TEXT = 2_000
"""Characters analysed and embedded on the event loop (about 1 µs each); longer texts go to a thread."""


class RememberHandlers:
    """Texts are analysed and embedded on the event loop if short, else in threads; the writer decides about them."""

    def __init__(self, open_stores: OpenStores, identities: Identities, projects: Projects) -> None:
        self._open_stores = open_stores
        self._identities = identities
        self._projects = projects

    @handles("remember")
    async def remember(self, call: Call, params: RememberParams) -> RememberResult:
        """Validate, analyse, embed and store. Raises MnemonError(INVALID_PARAMS) with every problem at once."""
        problems = problems_of(msgspec.structs.asdict(params))
        if problems:
            problems = with_op_id(problems, params.op_id)
            raise invalid(problems, hint=f"{plural(len(problems), 'problem')}; nothing was written")
        given = relations_of(params)
        if params.enforce is not UNSET:
            if not (params.when or None):
                raise invalid([FieldProblem("enforce", "enforce needs a trigger (--when) to which it belongs")])
            only_by_person(call, "enforce")
        warm = await self._open_stores.use(params.store)
        project = await self._projects.written(params, params.content, warm)
        identity, draft = self._identities.of(warm, params, call=call), _draft(params, project, given)
        if _is_quick(warm, params.content, params.metadata):
            prepared = prepared_draft(warm, draft, identity.now_us)
        else:
            prepared = await in_thread(
                prepared_draft, warm, draft, identity.now_us, abandon_on_cancel=True, limiter=warm.threads
            )
        if not prepared.draft.dry_run:
            return _completed(warm, await submitted(warm, propose(prepared, identity, warm.rules), RememberResult))
        snapshot = warm.store.snapshot
        similarity = similarity_with(warm, snapshot, cast("Vector | None", prepared.vector))
        outcome = cast("RememberResult", decide(prepared, identity, warm.rules, snapshot, similarity).outcome)
        if outcome.action != "skipped":
            outcome = msgspec.structs.replace(outcome, id=None)  # it was not stored
        return warm.marked(_completed(warm, outcome))

    @staticmethod
    def problems(fields: dict[str, object]) -> list[FieldProblem]:
        """Return the problems of the well-typed fields of a request that also has ill-typed ones."""
        return problems_of(fields)

    @staticmethod
    def diff_problems(fields: dict[str, object]) -> list[FieldProblem]:
        """Return the same for diff, which stores nothing."""
        return problems_of(fields, stored=())

    @handles("diff")
    async def diff(self, call: Call, params: DiffParams) -> DiffResult:
        """Return what remember would do. Raises MnemonError(INVALID_PARAMS)."""
        if problems := self.diff_problems(msgspec.structs.asdict(params)):
            raise invalid(problems)
        warm, now_us = await self._open_stores.use(params.store), self._identities.now_us()
        draft = _draft(params, await self._projects.written(params, params.content, warm))
        if _is_quick(warm, params.content):
            return _compared(warm, draft, now_us)
        return await in_thread(_compared, warm, draft, now_us, abandon_on_cancel=True, limiter=warm.threads)


def _is_quick(warm: OpenStore, content: str, metadata: Mapping[str, object] | None = None) -> bool:
    size = len(content) + (len(msgspec.json.encode(metadata)) if metadata else 0)
    return size <= LONG_TEXT and (warm.embedder is None or warm.embedder.inline)


_DRAFTED = [name for name in Draft.__struct_fields__ if name not in ("scope", "metadata")]
"""Fields of a draft with parameters of the same name."""


def relations_of(params: RememberParams) -> tuple[GivenRelation, ...]:
    """Return the relations that are given with a text. Raises MnemonError(INVALID_PARAMS)."""
    found: list[GivenRelation] = []
    problems: list[FieldProblem] = []
    for number, each in enumerate(() if params.relations is UNSET else params.relations):
        field = f"relations[{number}]"
        it = relation_of(each) if isinstance(each, str) else each
        if it is None:
            sentence = (
                "is no relation: write subject, type and object, as Ana leads billing, or Ana Silva works_at Acme"
            )
            problems.append(FieldProblem(field, f"{field} {sentence}"))
            continue
        its = [*type_problems(it.type), *name_problems("subject", it.subject), *name_problems("object", it.object)]
        if not params.allow_secret:
            its += secrets("object", it.subject, it.object)
        problems += [FieldProblem(f"{field}.{problem.field}", problem.message) for problem in its]
        found.append(it)
    if problems:
        raise invalid(problems, hint="nothing was written")
    return tuple(found)


def _draft(
    params: RememberParams | DiffParams, project: str | None, relations: tuple[GivenRelation, ...] = ()
) -> Draft:
    given = {name: value for name in _DRAFTED if (value := getattr(params, name, UNSET)) is not UNSET}
    given |= {"weighed": "importance" in given, "relations": relations}
    return Draft(**given, scope=scope_of(params, project), metadata=getattr(params, "metadata", None) or {})


def prepared_draft(warm: OpenStore, draft: Draft, now_us: int) -> Prepared:
    """Analyse and embed a draft. Blocks as the embedder does; if that fails there is no vector."""
    prepared = prepare(draft, now_us, warm.store.snapshot.entity_spelling, warm.config)
    if prepared.discarded:
        return prepared
    vector, error = embedded(warm.embedder, prepared.text, warm.embed_error)
    return msgspec.structs.replace(prepared, vector=vector, embed_error=error)


def embedded(embedder: Embedder | None, text: TextWithCues, lacking: str | None) -> tuple[Vector | None, str | None]:
    """Return the vector of a memory, or why it has none. Blocks as the embedder does."""
    if embedder is None:
        return None, lacking
    vectors, error = try_embed_memories(embedder, [text])
    return vectors[0], error or (UNKNOWN_WORDS if vectors[0] is None else None)


def similarity_with(warm: OpenStore, snapshot: Snapshot, vector: Vector | None) -> Cosines | None:
    """Return the cosines of all rows with a vector; None without one, or if it is of an earlier embedder."""
    own = None if vector is None else own_vector(vector)
    if own is None or warm.embedder_of(snapshot) is not warm.embedder or own.shape != (snapshot.dimension,):
        return None
    return snapshot.cosines(own)


def _compared(warm: OpenStore, draft: Draft, now_us: int) -> DiffResult:
    prepared, moment = prepared_draft(warm, draft, now_us), Moment(now_us, now_us)
    snapshot, rules = warm.store.snapshot, warm.rules.diff
    similarity = similarity_with(warm, snapshot, cast("Vector | None", prepared.vector))
    terms = set(index_terms(prepared.draft.content))
    likeness = snapshot.likeness(terms) if terms else None
    side, scope = prepared.reading.side, prepared.draft.scope
    found = NO_MATCHES
    if side is not None:
        found = compare(snapshot, side, scope, similarity, likeness, rules, moment, thorough=True)
    return warm.marked(diff_result(snapshot, found, rules))


def _completed(warm: OpenStore, outcome: RememberResult) -> RememberResult:
    calibration = calibration_of(warm.store.embedder)
    return with_candidates(outcome, warm.store.snapshot, warm.config.graph.causal, calibration)


class Embedding(NamedTuple):
    """The vector of a memory, or why it has none."""

    text: TextWithCues | None
    vector: Vector | None = None
    error: str | None = None


async def embedding_of(warm: OpenStore, text: TextWithCues | None) -> Embedding:
    """Embed a memory, in a thread if that takes long. None has no vector."""
    if text is None:
        return Embedding(None)
    if len(text.content) <= LONG_TEXT and (warm.embedder is None or warm.embedder.inline):
        return _embedded(warm, text)
    return await in_thread(_embedded, warm, text, abandon_on_cancel=True, limiter=warm.threads)


def _embedded(warm: OpenStore, text: TextWithCues) -> Embedding:
    return Embedding(text, *embedded(warm.embedder, text, warm.embed_error))
