"""Summaries: memories derived from several others, whose text holds what they say.

A summary is on the channel `summary` and names its sources in its metadata. It says nothing of its own: when a source
leaves recall or gets another text, the store retires the summary in the same transaction (`store/transaction.py`), and
a job makes a new one; when a source is purged, the summary is purged with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Final

import msgspec

from mnemond.errors import BUSY, FieldProblem, MnemonError, invalid
from mnemond.memory.consolidation import pair_preview
from mnemond.memory.draft import reanalyse, with_reading
from mnemond.memory.history import EmbeddedText, Find, active_row
from mnemond.memory.merged_text import clauses
from mnemond.memory.remember import both_ways
from mnemond.memory.write import WriteContext, WriteRules
from mnemond.model.changes import AddInsight, ChangeSet, Vector
from mnemond.model.memory import DERIVED_FROM, SUMMARIZED, Insight, TextWithCues, derived_from
from mnemond.model.outcomes import SummarizeResult
from mnemond.store.operations import Proposal, View
from mnemond.text.similarity import token_set

MAX_SUMMARY: Final = 1_200
"""Characters of a summary (spec: of a rolling summary); a longer text leaves out the clauses that say least."""

MOST_ALIKE: Final = 0.7
"""Jaccard index of the words of two clauses from which the second says nothing new (spec: of a rolling summary)."""

HIGHEST: Final = 3
"""Importance of a summary at most, so that it is pruned before what it was made of."""

DERIVED: Final = '{"sub_type":"derived_from"}'
"""Metadata of the links between a summary and its sources."""


def summary_text(sources: Sequence[Insight]) -> str | None:
    """Return the text of a summary; None if two sources contradict each other."""
    ordered = sorted(sources, key=lambda it: (it.created_at, it.id))
    text, names = ordered[0].content, list(ordered[0].entities)
    for it in ordered[1:]:
        joined = pair_preview(text, it.content, (*names, *it.entities))
        if joined is None:
            return None
        text = joined
        names += it.entities
    return text if len(text) <= MAX_SUMMARY else _shortened(text)


def _shortened(text: str) -> str:
    """Return the clauses that have most words in common with the others, in their order, each once in substance."""
    every = list(dict.fromkeys(clauses(text)))
    words = [token_set(each) for each in every]
    shared = Counter(word for each in words for word in each)
    weights = [sum(shared[word] - 1 for word in each) / (1 + len(each)) for each in words]
    chosen: list[int] = []
    left = MAX_SUMMARY
    for at in sorted(range(len(every)), key=lambda at: (-weights[at], at)):
        size = len(every[at]) + 2
        if size <= left and all(_jaccard(words[at], words[other]) < MOST_ALIKE for other in chosen):
            chosen.append(at)
            left -= size
    return "; ".join(every[at] for at in sorted(chosen)) or text[:MAX_SUMMARY]


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    together = len(one | other)
    return len(one & other) / together if together else 0.0


def problem_of(sources: Sequence[Insight]) -> str | None:
    """Return why memories are not summed up, None if they are."""
    if len({it.id for it in sources}) < 2:
        return "a summary needs two memories at least"
    if len({it.scope for it in sources}) > 1:
        return "they are not for the same user, session, agent and project"
    if any(it.quarantined for it in sources):
        return "one of them is never shown"
    if any(derived_from(it) for it in sources):
        return "one of them is a summary itself"
    return None


class Summarize(EmbeddedText, frozen=True, kw_only=True):
    """The memories to sum up."""

    ids: tuple[str, ...]


def propose_summarize(summarize: Summarize, identity: WriteContext, find: Find, rules: WriteRules) -> Proposal:
    """Propose to store a summary. Everything is checked in the writer; `find` resolves ids."""
    vector: Vector | None = summarize.vector  # type: ignore[assignment]
    return identity.proposal("summarize", partial(_decide, summarize, identity, find, rules), vector)


def _decide(summarize: Summarize, identity: WriteContext, find: Find, rules: WriteRules, view: View) -> ChangeSet:
    """Raises MnemonError: NOT_FOUND; INVALID_PARAMS for memories that cannot be summed up, or contradict each other;
    BUSY if the text that was embedded is another by now."""
    sources = [active_row(view, find, each, summarize.scope).insight for each in summarize.ids]
    problem = problem_of(sources)
    text = None if problem else summary_text(sources)
    if text is None:
        raise invalid([FieldProblem("ids", problem or "two of them contradict each other")], hint="nothing was written")
    if TextWithCues(text) != summarize.embedded_text:
        raise MnemonError(
            BUSY,
            "one of the memories was changed while they were being summed up; nothing was written",
            hint="repeat in a moment",
            outcome="rejected",
        )
    return _made(summarize, identity, rules, view, sources, text)


def _made(
    summarize: Summarize, identity: WriteContext, rules: WriteRules, view: View, sources: Sequence[Insight], text: str
) -> ChangeSet:
    categories = {it.category for it in sources}
    names = tuple(dict.fromkeys(name for it in sources for name in it.entities))
    ids = tuple(it.id for it in sources)
    bare = Insight(
        identity.id,
        identity.now,
        identity.now,
        content=text,
        category=categories.pop() if len(categories) == 1 else "general",
        importance=min(HIGHEST, max(it.importance for it in sources)),
        tags=tuple(tag for tag in sources[0].tags if all(tag in it.tags for it in sources)),
        channel=SUMMARIZED,
        scope=sources[0].scope,
        valid_from=identity.now,
        metadata=msgspec.json.encode({DERIVED_FROM: ids}).decode(),
    )
    reading = reanalyse(bare, view.snapshot, rules.config, names)
    it = with_reading(bare, reading, view.snapshot)
    links = [edge for each in ids for edge in both_ways(it.id, each, 0.0, DERIVED)]
    outcome = SummarizeResult(
        id=it.id,
        content=text,
        derived_from=list(ids),
        embedded=summarize.vector is not None,
        embed_error=summarize.embed_error,
        op_id=identity.op_id,
        replayed=False,
    )
    return identity.change_set(
        "summarize",
        (AddInsight(it, summarize.vector, reading.mentions, reading.queries), *links),
        outcome,
        detail=f"sources={len(ids)}",
        subject=it.id,
    )
