"""consolidate: propose to merge memories that say nearly the same, or merge them where a setting says so.

The search runs in a thread on one snapshot, in steps; between two steps the thread is given back. Its result is one
write that opens reviews. Merges are operations of their own, which pass the gates of the resolver, and a run makes no
more of them than a run of a model that answers reviews.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from mnemond.embed.calibration import scaled_high
from mnemond.errors import BUSY, INVALID_PARAMS, NOT_FOUND, MnemonError
from mnemond.jobs.extract import ExtractionContext
from mnemond.jobs.job import Done, Job, Think, Work, in_steps
from mnemond.jobs.resolve import ModelDeps, embedded
from mnemond.jobs.summaries import MAX_MADE, summarized
from mnemond.memory.alike import Limits
from mnemond.memory.consolidation import Pairs, Plan, pair_of, planned, proposals
from mnemond.memory.questions.pairs import Allowance
from mnemond.memory.reviews import Resolve, propose_resolve, text_of
from mnemond.memory.write import WriteContext, WriteRules, calibration_of
from mnemond.model.outcomes import Maintained
from mnemond.model.reviews import OpenReview, Review
from mnemond.store import reviews, transaction
from mnemond.store.store import Store

NAME: Final = "consolidate"

LEAST_SUMMED: Final = 3
"""Memories of a cluster that is summed up: of two the summary would hardly be shorter."""


async def searched(store: Store, rules: WriteRules, known: Pairs, think: Think) -> Plan:
    """Search a snapshot of a store for clusters."""
    return await in_steps(planned(store.snapshot, limits_of(store, rules), rules.diff, known), think)


def limits_of(store: Store, rules: WriteRules) -> Limits:
    """Return the limits of the settings, the cosine on the scale of the store's embedder."""
    wanted = rules.config.consolidation
    return Limits(scaled_high(wanted.cosine, calibration_of(store.embedder)), wanted.jaccard)


async def ask(store: Store, identity: WriteContext, asked: tuple[OpenReview, ...]) -> None:
    """Open reviews. Raises MnemonError."""
    outcome = Maintained(changed=len(asked), op_id=identity.op_id)
    detail = f"asked={len(asked)}"
    await store.write(identity.change_set(NAME, (), outcome, detail=detail, reviews=asked))


class Consolidate(Job):
    """Runs every `consolidation.interval`."""

    name = NAME
    summary = "memories that say nearly the same are proposed to be merged"
    first_s = 3_600.0

    def __init__(self, interval_s: float, means: ModelDeps) -> None:
        self.interval_s = interval_s
        self._means = means

    async def run(self, work: Work) -> Done:
        """Search, and ask about what was found; merge it with `consolidation.auto_merge`."""
        desk = await self._means.desk(work.store.name)
        known = await work.store.read(reviews.asked_pairs)
        plan = await searched(work.store, desk.rules, known, work.think)
        asked = proposals(plan, known, work.store.pending_reviews)
        if work.dry_run:
            return work.done(len(asked), _summary(plan))
        if asked:
            await ask(work.store, work.identity, tuple(asked))
        if desk.rules.config.consolidation.summaries:
            await self._summed(work, desk, plan)
        if not desk.rules.config.consolidation.auto_merge:
            return await work.note(work.done(len(asked), _summary(plan)))
        return await work.note(await self._merged(work, desk, plan))

    async def _summed(self, work: Work, desk: ExtractionContext, plan: Plan) -> None:
        """Make a summary of each larger cluster that has none and of which nobody forgot one."""
        known = await work.store.read(transaction.kept_or_refused)
        groups = [
            tuple(it.id for it in (each.centre, *(one.insight for one in each.members))) for each in plan.clusters
        ]
        wanted = [ids for ids in groups if len(ids) >= LEAST_SUMMED and frozenset(ids) not in known]
        for ids in wanted[:MAX_MADE]:
            await summarized(work, desk, self._means, ids)

    async def _merged(self, work: Work, desk: ExtractionContext, plan: Plan) -> Done:
        """Merge the pairs of a plan that wait, as many as one run may."""
        known = await work.store.read(reviews.asked_pairs)
        numbers = [known.get(pair_of(cluster.centre.id, each.insight.id)) for cluster, each in plan.pairs()]
        merged, allowance = 0, Allowance(work.store.snapshot.live)
        for number in numbers:
            review = None if number is None else await work.store.read(partial(reviews.read, number=number))
            if review is None or review.asked.kind != "merge":
                continue
            if not work.sure and not allowance.admits([review.asked.newer]):
                return work.done(merged, f"a run merges no more than {allowance.most}; the rest waits")
            merged += await self._merge(work, desk, review)
        return work.done(merged, _summary(plan))

    async def _merge(self, work: Work, desk: ExtractionContext, review: Review) -> bool:
        """Merge the memories of a review; return False if the gates of the resolver leave them to a person."""
        snapshot, asked = work.store.snapshot, review.asked
        rows = snapshot.row_of(asked.older), snapshot.row_of(asked.newer)
        if rows[0] is None or rows[1] is None:
            return False
        text = text_of(asked.suggestion, snapshot.insight(rows[0]), snapshot.insight(rows[1]), None)
        vector, error = await embedded(desk, text)
        wish = Resolve(
            review=review.id, resolution=asked.suggestion, embedded_text=text, vector=vector, embed_error=error,
            gated=True,
        )  # fmt: skip
        identity = self._means.identity(work.store.name, f"system:{NAME}")
        proposal = propose_resolve(wish, identity, self._means.find, desk.rules)
        made_by = None if desk.embedder is None else desk.embedder.fingerprint
        try:
            await work.store.write(proposal._replace(made_by=made_by))
        except MnemonError as refused:
            if refused.kind not in (INVALID_PARAMS, NOT_FOUND, BUSY):
                raise
            return False
        return True


def _summary(plan: Plan) -> str:
    many = sum(1 for _ in plan.pairs())
    return f"clusters: {len(plan.clusters):,}, pairs: {many:,}" if many else ""
