"""The second look at what a recall found, where one is wanted: words met one by one, then what else is known (11.6).

Off by default. It never loses a result and adds none: scores change, and with them the order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from mnemond.errors import MnemonError
from mnemond.index.snapshot import Snapshot
from mnemond.model.insight import Scope
from mnemond.model.recall import Hit
from mnemond.model.timestamp import DAY_US, parse_rfc3339
from mnemond.pipelines.asking import rarity
from mnemond.rank.business_rules import OFF, BusinessRules, Standing, lifted
from mnemond.rank.lexical_rerank import lexical_scores
from mnemond.text.tokens import index_term, tokens

Scorer = Callable[[Sequence[str], Sequence[Sequence[str]], Callable[[str], float]], Sequence[float]]
"""Tokens of a question and of candidates, the weight of a word → a relevance in [0, 1] for each candidate: that of
`lexical_scores`, or σ of a model's logits. Raises MnemonError when it cannot tell."""

MOST_READ = 2_000
"""Characters of a memory that are compared; a long one says what it is about at its beginning."""

MOST_LOOKED_AT = 100
"""So many results at most: what is behind them stays behind. A thousand texts took a second."""

SHORTLIST = 50
"""So many results have a second look (spec 5, rerank.shortlist), more where more are wanted."""

SHORT_QUERY = "short_query"
"""Why there is no second look for too few words."""


class RerankPolicy(msgspec.Struct, frozen=True):
    """`beta`: the share of the second look in a score (spec 11.6). `least_words`: fewer words of a question say too
    little for it. `shortlist`: so many results have one, or as many as are wanted."""

    beta: float = 0.5
    least_words: int = 3
    shortlist: int = SHORTLIST
    rules: BusinessRules = OFF


class Asked(NamedTuple):
    """A question: its text, for whom, and when, in microseconds."""

    text: str
    scope: Scope
    now_us: int


class Reranked(NamedTuple):
    """Results in their new order, and whether a reranker had a say; if not, why."""

    hits: tuple[Hit, ...]
    applied: bool
    reason: str | None = None


def rerank(
    snapshot: Snapshot,
    asked: Asked,
    hits: Sequence[Hit],
    scorer: Scorer | None = lexical_scores,
    policy: RerankPolicy = RerankPolicy(),  # noqa: B008 - frozen
) -> Reranked:
    """`hits` with the scores (1 − β)·score + β·relevance, lifted by the rules that hold, best first.

    Before the cut, on all candidates. Equal scores stay in the order in which they came. Without a `scorer`, for a
    short question, and when the scorer fails, the rules alone have a say; where none is on, nothing changes.
    """
    scores, relevances, reason = _blended(snapshot, asked.text, hits, scorer, policy)
    if policy.rules != OFF:
        standings = (_standing(hit, asked) for hit in hits)
        scores = [lifted(score, each, policy.rules) for score, each in zip(scores, standings, strict=True)]
    changed = [_changed(*each) for each in zip(hits, scores, relevances, strict=True)]
    if reason is None or policy.rules != OFF:
        changed.sort(key=lambda hit: -hit.score)
    return Reranked(tuple(changed), reason is None, reason)


def _changed(hit: Hit, score: float, relevance: float | None) -> Hit:
    if relevance is not None:
        hit = msgspec.structs.replace(hit, signals=msgspec.structs.replace(hit.signals, rerank=relevance))
    return hit if hit.score == score else msgspec.structs.replace(hit, score=score, first_score=hit.score)


def _weight_in(snapshot: Snapshot) -> Callable[[str], float]:
    """How rare a word is among the live rows, as for the first look."""

    def weight(token: str) -> float:
        return rarity(snapshot, snapshot.live_frequency(index_term(token)))

    return weight


def _blended(
    snapshot: Snapshot, text: str, hits: Sequence[Hit], scorer: Scorer | None, policy: RerankPolicy
) -> tuple[list[float], list[float | None], str | None]:
    """The scores, what the second look says of each, and why the scores are those from before."""
    before = [hit.score for hit in hits]
    unseen: list[float | None] = [None] * len(hits)
    if scorer is None:
        return before, unseen, "off"
    words = tokens(text)
    if len(words) < policy.least_words:
        return before, unseen, SHORT_QUERY
    try:
        texts = [tokens(hit.insight.content[:MOST_READ]) for hit in hits[:MOST_LOOKED_AT]]
        found = scorer(words, texts, _weight_in(snapshot))
    except MnemonError as error:
        return before, unseen, error.message
    seen = [*found, *[0.0] * (len(before) - len(found))]
    blended = [(1.0 - policy.beta) * score + policy.beta * said for score, said in zip(before, seen, strict=True)]
    return blended, [*found, *unseen[len(found) :]], None


def _standing(hit: Hit, asked: Asked) -> Standing:
    it = hit.insight
    age_days = (asked.now_us - parse_rfc3339(it.created_at)) / DAY_US
    return Standing(age_days, it.importance, it.scope == asked.scope != Scope(), it.pinned)
