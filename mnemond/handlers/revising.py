"""The methods that give a memory another text or another value: update and merge."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
import trio

from mnemond.errors import FieldProblem, MnemonError, invalid
from mnemond.handlers import views
from mnemond.handlers.door import OpenStore, StoreDoor, settle
from mnemond.handlers.embedding import Embedding, with_embedding
from mnemond.handlers.lookup import one_active
from mnemond.handlers.remembering import LONG_TEXT
from mnemond.handlers.scope import scope_of
from mnemond.handlers.submission import Identities, submitted
from mnemond.model.insight import Insight
from mnemond.model.outcomes import Merged, Revised
from mnemond.pipelines import merge, update
from mnemond.pipelines.draft import problems_of
from mnemond.pipelines.fields import with_op_id
from mnemond.pipelines.reading import clean
from mnemond.pipelines.update import Wanted
from mnemond.protocol.revising import MergeParams, MergeResult, UpdateParams, UpdateResult
from mnemond.server.call import Call
from mnemond.server.dispatch import Handler


class ReviseHandlers:
    """update and merge. A text is embedded before the write, and everything else decided under the writer."""

    def __init__(self, door: StoreDoor, identities: Identities) -> None:
        self._door = door
        self._identities = identities

    def methods(self) -> Mapping[str, Handler]:
        """Each by the name of its method."""
        return {
            "update": self.update,
            "merge": self.merge,
        }

    @staticmethod
    def problems(fields: dict[str, object]) -> list[FieldProblem]:
        """What is wrong with the well-typed fields of a request that has ill-typed ones too."""
        return problems_of(fields, update.STORED_NAMES)

    def update(self, call: Call, params: UpdateParams) -> object:
        """Give a memory other values. Raises MnemonError(INVALID_PARAMS) with every problem at once."""
        fields = msgspec.structs.asdict(params)
        if problems := update.problems(fields):
            raise invalid(with_op_id(problems, params.op_id), hint="nothing was written")
        wanted = update.wanted_of(fields, allow_secret=params.allow_secret)
        return self._door.through(params.store, lambda warm: self._update(warm, params, wanted))

    def merge(self, call: Call, params: MergeParams) -> object:
        """Make one memory of two. Raises MnemonError(INVALID_PARAMS) for a text that cannot be one."""
        if params.content is not None and (problems := problems_of({"content": params.content})):
            raise invalid(problems, hint="nothing was written")
        return self._door.through(params.store, lambda warm: self._merge(warm, params))

    def _update(self, warm: OpenStore, params: UpdateParams, wanted: Wanted) -> object:
        identity = self._identities.of(warm, params)

        def submit(embedding: Embedding) -> object:
            wish = update.Update(
                id=params.id,
                wanted=wanted,
                scope=scope_of(params),
                vector=embedding.vector,
                embed_error=embedding.error,
            )
            return submitted(warm, update.propose(wish, identity, one_active, warm.limits), update_result)

        return with_embedding(warm, None if wanted.content is msgspec.UNSET else wanted.content, submit)

    def _merge(self, warm: OpenStore, params: MergeParams) -> object:
        identity = self._identities.of(warm, params)
        given = None if params.content is None else clean(params.content, (), (), allow_secret=params.allow_secret)

        def submit(embedding: Embedding) -> object:
            wish = merge.Merge(
                id=params.id,
                other_id=params.other_id,
                into=params.into,
                content=None if given is None else given.content,
                redacted=() if given is None else given.redacted,
                scope=scope_of(params),
                embedded_text=embedding.text,
                vector=embedding.vector,
                embed_error=embedding.error,
            )
            return submitted(warm, merge.propose(wish, identity, one_active, warm.limits), merge_result)

        if given is not None:
            return with_embedding(warm, given.content, submit)
        found = _both(warm, params)
        if found is None:
            return with_embedding(warm, None, submit)
        if sum(len(it.content) for it in found) <= LONG_TEXT:
            return with_embedding(warm, merge.text_of(*found), submit)
        return _merged_later(warm, found, submit)


def _both(warm: OpenStore, params: MergeParams) -> tuple[Insight, Insight] | None:
    """The two memories; None when one is not there, which the writer will tell, or it answers a repeat."""
    snapshot = warm.store.snapshot
    try:
        return one_active(snapshot, params.id), one_active(snapshot, params.other_id)
    except MnemonError:
        return None


async def _merged_later(
    warm: OpenStore, found: tuple[Insight, Insight], submit: Callable[[Embedding], object]
) -> object:
    """Long texts are put together where they hold nobody up (at worst 3 µs a character)."""
    text = await trio.to_thread.run_sync(merge.text_of, *found, abandon_on_cancel=True, limiter=warm.threads)
    return await settle(with_embedding(warm, text, submit))


def update_result(warm: OpenStore, outcome: Revised) -> UpdateResult:
    """The reply."""
    return UpdateResult(
        id=outcome.id,
        status="updated" if outcome.changed else "unchanged",
        changed=list(outcome.changed),
        embedded=outcome.embedded,
        embed_error=outcome.embed_error,
        edges_created=views.edges_created(outcome.edges_created),
        effective_importance=outcome.effective_importance,
        redacted=list(outcome.redacted),
        quality_warnings=views.quality_warnings(outcome.notes),
        quality_details=views.quality_details(outcome.notes),
        op_id=outcome.op_id,
        replayed=outcome.replayed,
    )


def merge_result(warm: OpenStore, outcome: Merged) -> MergeResult:
    """The reply."""
    return MergeResult(
        id=outcome.id,
        status="merged",
        message=f"it says what {outcome.merged_id} said as well, which is out of recall",
        merged_id=outcome.merged_id,
        content=outcome.content,
        embedded=outcome.embedded,
        embed_error=outcome.embed_error,
        edges_moved=outcome.edges_moved,
        edges_created=views.edges_created(outcome.edges_created),
        redacted=list(outcome.redacted),
        quality_warnings=views.quality_warnings(outcome.notes),
        quality_details=views.quality_details(outcome.notes),
        op_id=outcome.op_id,
        replayed=outcome.replayed,
    )
