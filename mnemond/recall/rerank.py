"""The optional reranker: lexical matching of a question and each result, then small factors by metadata.

It never removes or adds a result: scores change, and with them the order. Off by default. A model
(`embed.reranking`) may take the place of the lexical matching; its relevances come from the caller.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import msgspec

from mnemond.config.reading import RerankRulesSettings, RerankSettings
from mnemond.errors import MnemonError
from mnemond.index.snapshot import Snapshot
from mnemond.model.answers import six
from mnemond.model.memory import DAY_US, Scope, parse_rfc3339
from mnemond.model.query import Hit
from mnemond.recall.question import rarity
from mnemond.text.entity_lists import entity_lists
from mnemond.text.tokens import fold, index_term, tokens

# The lexical scorer: word-by-word matches, without a model


GRAM = 3
"""Characters of a gram."""

MAX_WORDS = 64
"""Words of a question that are compared, the first of a pasted text."""


class LexicalPolicy(msgspec.Struct, frozen=True):
    """Value of a match with another form of a word, and the bonus for word order.

    `min_similarity`: Jaccard index of trigrams from which words match, with the index as the value.
    """

    stem: float = 0.9
    alias: float = 0.9
    min_similarity: float = 0.5
    adjacency: float = 0.1


class _Word(NamedTuple):
    """Index term, canonical name and trigrams of a word."""

    term: str
    name: str
    grams: frozenset[str]


def lexical_scores(
    question: Sequence[str],
    candidates: Sequence[Sequence[str]],
    idf: Callable[[str], float],
    aliases: Mapping[str, str] | None = None,
    policy: LexicalPolicy = LexicalPolicy(),  # noqa: B008 - frozen
) -> list[float]:
    """Return the relevance of each candidate, in [0, 1].

    `question` and `candidates` are tokens in order (`text.tokens.tokens`); `idf` weighs a token of the question, at
    least 0 and finite; `aliases` maps folded names to what they stand for, one word to one (the built-in ones if None).
    It is the mean over the question's different words of their best match, weighted by idf, or uniformly if all are 0.
    `policy.adjacency` is added once if two adjacent words of the question are adjacent in that order.
    """
    aliases = entity_lists().aliases if aliases is None else aliases
    scorer = _Scorer(question[:MAX_WORDS], idf, aliases, policy)
    return [scorer.score(tokens) for tokens in candidates]


class _Scorer:
    """Scores candidates for one question. Matches of a word are cached across candidates."""

    def __init__(
        self, question: Sequence[str], idf: Callable[[str], float], aliases: Mapping[str, str], policy: LexicalPolicy
    ) -> None:
        weights = {token: idf(token) for token in question}
        total = sum(weights.values())
        self._weights = {token: weight / total if total else 1.0 / len(weights) for token, weight in weights.items()}
        self._pairs = set(pairwise(question))
        self._aliases = aliases
        self._policy = policy
        self._described = {token: self._word(token) for token in weights}
        self._holders: dict[str, list[str]] = {}
        self._of_term: dict[str, list[str]] = {}
        self._of_name: dict[str, list[str]] = {}
        for token, word in self._described.items():
            if word.term:
                self._of_term.setdefault(word.term, []).append(token)
            self._of_name.setdefault(word.name, []).append(token)
            for gram in word.grams:
                self._holders.setdefault(gram, []).append(token)
        self._matches = cache(self._match)

    def score(self, tokens: Sequence[str]) -> float:
        best: dict[str, float] = {}
        for token in set(tokens):
            for wanted, value in self._matches(token).items():
                best[wanted] = max(value, best.get(wanted, 0.0))
        # In the order of the question: that of a set differs from start to start, and with it the last bit of the sum.
        mean = sum(weight * best[wanted] for wanted, weight in self._weights.items() if wanted in best)
        return min(1.0, mean + (self._policy.adjacency if self._is_in_order(tokens) else 0.0))

    def _is_in_order(self, tokens: Sequence[str]) -> bool:
        """Return True if two adjacent words of the question are adjacent here, in any form of the same word."""
        return any(
            (first, second) in self._pairs
            for one, other in pairwise(tokens)
            for first in self._same_words(one)
            for second in self._same_words(other)
        )

    def _same_words(self, token: str) -> list[str]:
        """Return the words of the question of which a word is a form."""
        sure = min(self._policy.stem, self._policy.alias)
        return [wanted for wanted, value in self._matches(token).items() if value >= sure]

    def _word(self, token: str) -> _Word:
        grams = frozenset(token[at : at + GRAM] for at in range(len(token) - GRAM + 1))
        return _Word(index_term(token), fold(self._aliases.get(token, token)), grams)

    def _match(self, token: str) -> dict[str, float]:
        """Return the value of a word for each word of the question that it matches."""
        word = self._word(token)
        found: dict[str, float] = {}
        for wanted, shared in Counter(held for gram in word.grams for held in self._holders.get(gram, ())).items():
            alike = shared / (len(word.grams) + len(self._described[wanted].grams) - shared)
            if alike >= self._policy.min_similarity:
                found[wanted] = alike
        for wanted in self._of_term.get(word.term, ()):
            found[wanted] = max(self._policy.stem, found.get(wanted, 0.0))
        for wanted in self._of_name.get(word.name, ()):
            found[wanted] = max(self._policy.alias, found.get(wanted, 0.0))
        if token in self._weights:
            found[token] = 1.0
        return found


# Rules: small factors by metadata, each off by default


FACTOR = 1.05
PINNED_FACTOR = 1.10
RECENT_DAYS = 7.0
IMPORTANT_FROM = 4

_NO_RULES = RerankRulesSettings()


class RuleInputs(msgspec.Struct, frozen=True):
    """Metadata that the rules use; the age is at the time of the question, the importance from 1 to 5."""

    age_days: float
    importance: int
    own_scope: bool
    pinned: bool


def apply_rules(score: float, inputs: RuleInputs, rules: RerankRulesSettings) -> float:
    """Multiply `score` (0…1) by the factor of every rule that matches, to at most 1. A future memory is not recent."""
    factor = 1.0
    if rules.recent and 0.0 <= inputs.age_days <= RECENT_DAYS:
        factor *= FACTOR
    if rules.important and inputs.importance >= IMPORTANT_FROM:
        factor *= FACTOR
    if rules.own_scope and inputs.own_scope:
        factor *= FACTOR
    if rules.pinned and inputs.pinned:
        factor *= PINNED_FACTOR
    return score if factor == 1.0 else min(1.0, score * factor)


# The reranker


Relevances = Sequence[float] | MnemonError
"""Relevance in [0, 1] of each text of `texts_to_rerank` according to a model, or the reason why there is none."""

MAX_READ = 2_000
"""Characters of a memory that are compared; long ones introduce their subject at the beginning."""

MAX_RERANKED = 100
"""Results that are scored; the others stay behind them. A thousand texts took a second."""

SHORT_QUERY = "short_query"
"""Reason not to rerank: the question has too few words."""


class RerankRequest(NamedTuple):
    """A question: its text, scope, and time in microseconds."""

    text: str
    scope: Scope
    now_us: int


class Reranked(NamedTuple):
    """Results in their new order; `applied`: True if a scorer was used, else `reason`."""

    hits: tuple[Hit, ...]
    applied: bool
    reason: str | None = None


def texts_to_rerank(text: str, hits: Sequence[Hit], settings: RerankSettings) -> list[str]:
    """Return the beginnings of the results that a scorer compares with the question; none for a short question."""
    if _is_short(text, settings):
        return []
    return [hit.insight.content[:MAX_READ] for hit in hits[:MAX_RERANKED]]


def _is_short(text: str, settings: RerankSettings) -> bool:
    """Return True if a question has too few words to be compared word by word; a model understands two."""
    return settings.provider == "lexical" and len(tokens(text)) < settings.min_query_tokens


def rerank(
    snapshot: Snapshot,
    request: RerankRequest,
    hits: Sequence[Hit],
    settings: RerankSettings = RerankSettings(),  # noqa: B008 - frozen
    given: Relevances | None = None,
) -> Reranked:
    """Return `hits` with the scores (1 − β)·score + β·relevance, raised by the rules that match, best first.

    `given`: the relevances by a model; None: those of `lexical_scores`. Applied to all candidates before the cut. Equal
    scores keep their order. For a short question, and if the model gave a reason instead, only the rules apply; if none
    is on, nothing changes.
    """
    scores, relevances, reason = _blend(snapshot, request.text, hits, settings, given)
    if settings.rules != _NO_RULES:
        inputs = (_rule_inputs(hit, request) for hit in hits)
        scores = [apply_rules(score, each, settings.rules) for score, each in zip(scores, inputs, strict=True)]
    changed = [_rescored(*each) for each in zip(hits, scores, relevances, strict=True)]
    if reason is None or settings.rules != _NO_RULES:
        changed.sort(key=lambda hit: -hit.score)
    return Reranked(tuple(changed), reason is None, reason)


def _rescored(hit: Hit, score: float, relevance: float | None) -> Hit:
    if relevance is not None:
        hit = msgspec.structs.replace(hit, signals=msgspec.structs.replace(hit.signals, rerank=six(relevance)))
    return hit if hit.score == score else msgspec.structs.replace(hit, score=score, first_score=hit.score)


def _blend(
    snapshot: Snapshot, text: str, hits: Sequence[Hit], settings: RerankSettings, given: Relevances | None
) -> tuple[list[float], list[float | None], str | None]:
    """Return the scores, the relevance of each hit, and the reason if the scores are unchanged."""
    before = [hit.score for hit in hits]
    unscored: list[float | None] = [None] * len(hits)
    if _is_short(text, settings):
        return before, unscored, SHORT_QUERY
    if isinstance(given, MnemonError):
        return before, unscored, given.message
    found = _lexical(snapshot, text, hits, settings) if given is None else given
    padded = [*found, *[0.0] * (len(before) - len(found))]
    share = settings.late_weight
    blended = [(1.0 - share) * score + share * relevance for score, relevance in zip(before, padded, strict=True)]
    return blended, [*found, *unscored[len(found) :]], None


def _lexical(snapshot: Snapshot, text: str, hits: Sequence[Hit], settings: RerankSettings) -> list[float]:
    def weight(token: str) -> float:
        return rarity(snapshot, snapshot.live_frequency(index_term(token)))

    texts = [tokens(each) for each in texts_to_rerank(text, hits, settings)]
    return lexical_scores(tokens(text), texts, weight)


def _rule_inputs(hit: Hit, request: RerankRequest) -> RuleInputs:
    it = hit.insight
    age_days = (request.now_us - parse_rfc3339(it.created_at)) / DAY_US
    return RuleInputs(age_days, it.importance, it.scope == request.scope != Scope(), it.pinned)
