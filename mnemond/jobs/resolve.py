"""resolve: let a model answer reviews, where one is configured (`extraction.resolver = "llm"`).

The model is asked about one pair at a time and names a relation; it never says what to do. The gates of the resolver
decide whether that is done, each decision is an operation of its own, and a run that would retire too many stops and
asks. What is not decided waits for a person, and both memories stay.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
import trio

from mnemond.embed.embedder import UNKNOWN_WORDS
from mnemond.errors import INVALID_PARAMS, NOT_FOUND, UNAVAILABLE, MnemonError
from mnemond.jobs.extract import ExtractionContext
from mnemond.jobs.job import HOUR_S, Done, Job, Work
from mnemond.memory.cues import try_embed_memories
from mnemond.memory.history import Find
from mnemond.memory.questions.asking import Model
from mnemond.memory.questions.pairs import Allowance, merge_question, relation_question
from mnemond.memory.reviews import Resolve, propose_resolve, text_of
from mnemond.memory.write import WriteContext
from mnemond.model.memory import Insight, TextWithCues
from mnemond.model.reviews import Resolution, Review
from mnemond.store import reviews

NAME: Final = "resolve"

PORTION: Final = 50
"""Reviews of one run: with a small model on two cores some five minutes."""


class ModelDeps(msgspec.Struct, frozen=True):
    """The dependencies of jobs that may ask a model: the rules and embedder of a store, by its name; write contexts;
    the lookup of a memory; and the model, None without one."""

    desk: Callable[[str], Awaitable[ExtractionContext]]
    identity: Callable[[str, str], WriteContext]
    find: Find
    model: Model | None = None


class _Answered(msgspec.Struct, frozen=True):
    resolution: Resolution
    model: str
    content: str | None = None


class ResolveReviews(Job):
    """Runs hourly. A review whose answer is not carried out is not asked about again by this daemon."""

    name = NAME
    summary = "a model answers questions about two memories, where one is configured"
    interval_s = HOUR_S

    def __init__(self, means: ModelDeps) -> None:
        self._means = means
        self._left: set[tuple[str, int]] = set()

    async def run(self, work: Work) -> Done:
        """Answer reviews that wait, the oldest first."""
        desk = await self._means.desk(work.store.name)
        if (mode := desk.rules.config.extraction.resolver) != "llm":
            return Done("nothing", detail=f"extraction.resolver is {mode}")
        if self._means.model is None:
            return await work.note(Done("nothing", detail="no model is configured: reviews wait for a person"))
        found = await work.store.read(
            lambda it: reviews.pending(it, reviews.MAX_PENDING + reviews.MAX_LINKS + reviews.MAX_NAMES)
        )
        waiting = [each for each in found if each.asked.kind not in ("link", "names")]
        asked = [each for each in waiting if (work.store.name, each.id) not in self._left][:PORTION]
        if work.dry_run:
            return work.done(len(asked), "reviews would be asked about")
        decided, allowance = 0, Allowance(work.store.snapshot.live)
        for review in asked:
            try:
                answered = await self._answer(work, desk, review, self._means.model)
            except MnemonError as error:
                if error.kind is not UNAVAILABLE:
                    raise
                return await work.note(work.done(decided, f"left to people: {error.message}"))
            if answered is None:
                self._left.add((work.store.name, review.id))
                continue
            if answered.resolution in ("SUPERSEDE", "DUPLICATE") and not work.sure:
                leaving = review.asked.older if answered.resolution == "SUPERSEDE" else review.asked.newer
                if not allowance.admits([leaving]):
                    return await work.note(Done("stopped", decided, _question(work, allowance)))
            decided += await self._decided(work, desk, review, answered)
        return await work.note(work.done(decided, f"reviews asked about: {len(asked)}" if asked else ""))

    async def _answer(self, work: Work, desk: ExtractionContext, review: Review, model: Model) -> _Answered | None:
        """Return what the gates admit of a model's answer; None: it is left to people. Raises
        MnemonError(UNAVAILABLE)."""
        pair = _pair(work, review)
        if pair is None:
            return None
        question = relation_question(review.asked.kind, *pair, desk.rules.diff, work.identity.now_us)
        answered = await model.ask(question)
        if answered.value is None:
            return None
        content = (await model.ask(merge_question(*pair))).value if answered.value == "MERGE" else None
        return _Answered(answered.value, answered.model, content)

    async def _decided(self, work: Work, desk: ExtractionContext, review: Review, answered: _Answered) -> bool:
        pair = _pair(work, review)
        text = None if pair is None else text_of(answered.resolution, *pair, answered.content)
        vector, error = await embedded(desk, text)
        wish = Resolve(
            review=review.id, resolution=answered.resolution, content=answered.content, embedded_text=text,
            vector=vector, embed_error=error, gated=True,
        )  # fmt: skip
        identity = self._means.identity(work.store.name, f"system:llm:{answered.model[:80]}")
        proposal = propose_resolve(wish, identity, self._means.find, desk.rules)
        made_by = None if desk.embedder is None else desk.embedder.fingerprint
        try:
            await work.store.write(proposal._replace(made_by=made_by))
        except MnemonError as refused:
            if refused.kind not in (INVALID_PARAMS, NOT_FOUND):
                raise
            self._left.add((work.store.name, review.id))
            return False
        return True


def _pair(work: Work, review: Review) -> tuple[Insight, Insight] | None:
    snapshot = work.store.snapshot
    rows = snapshot.row_of(review.asked.older), snapshot.row_of(review.asked.newer)
    if rows[0] is None or rows[1] is None:
        return None
    return snapshot.insight(rows[0]), snapshot.insight(rows[1])


def _question(work: Work, allowance: Allowance) -> str:
    return (
        f"a model's answers would retire more than {allowance.most} of {work.store.snapshot.live:,} memories;"
        " `mnemonctl reviews` shows the pairs; if that is right: mnemonctl jobs run resolve --yes"
    )


async def embedded(desk: ExtractionContext, text: TextWithCues | None) -> tuple[object, str | None]:
    """Return the vector of a text, or why there is none; (None, None) without a text."""
    if text is None:
        return None, None
    if desk.embedder is None:
        return None, desk.lacking
    vectors, error = await trio.to_thread.run_sync(
        try_embed_memories, desk.embedder, [text], abandon_on_cancel=True, limiter=desk.threads
    )
    return vectors[0], error or (UNKNOWN_WORDS if vectors[0] is None else None)
