"""A reranker without a model: how well the words of a memory meet those of a question, one by one (spec 11.6).

The same interface as a model's: a question and candidates in, a relevance in [0, 1] for each out. A model's is σ of its
logit; this one is in [0, 1] by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import msgspec

from mnemond.text.aliases import ALIASES
from mnemond.text.tokens import fold, index_term

GRAM = 3
"""Characters of a gram."""


MOST_WORDS = 64
"""Words of a question that are compared, the first of a pasted text."""


class LexicalPolicy(msgspec.Struct, frozen=True):
    """What a word is worth that is met by another form of it, and what is added for order (spec 11.6).

    `least_alike`: the Jaccard of trigrams below which words have nothing in common; from there on it is the value.
    """

    stem: float = 0.9
    alias: float = 0.9
    least_alike: float = 0.5
    adjacency: float = 0.1


class _Word(NamedTuple):
    """Of one word: the term of the index, what it is another name of, its trigrams."""

    term: str
    name: str
    grams: frozenset[str]


def lexical_scores(
    question: Sequence[str],
    candidates: Sequence[Sequence[str]],
    idf: Callable[[str], float],
    aliases: Mapping[str, str] = ALIASES,
    policy: LexicalPolicy = LexicalPolicy(),  # noqa: B008 - frozen
) -> list[float]:
    """The relevance of each candidate, in [0, 1].

    `question` and `candidates` are tokens in order (`text.tokens.tokens`); `idf` weighs a token of the question, at
    least 0 and finite; `aliases` maps folded names to what they stand for, one word to one. The mean over the
    question's different words of their best match, weighed by idf; where no word weighs anything, all weigh the same.
    `policy.adjacency` is added once if two neighbours of the question stand side by side in that order.
    """
    scorer = _Scorer(question[:MOST_WORDS], idf, aliases, policy)
    return [scorer.score(tokens) for tokens in candidates]


class _Scorer:
    """One question. A word of the candidates is compared with it once, in however many of them it occurs."""

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
        self._met = cache(self._meets)

    def score(self, tokens: Sequence[str]) -> float:
        """The relevance of one candidate."""
        best: dict[str, float] = {}
        for token in set(tokens):
            for wanted, value in self._met(token).items():
                best[wanted] = max(value, best.get(wanted, 0.0))
        mean = sum(self._weights[wanted] * value for wanted, value in best.items())
        return min(1.0, mean + (self._policy.adjacency if self._is_in_order(tokens) else 0.0))

    def _is_in_order(self, tokens: Sequence[str]) -> bool:
        """Whether two neighbours of the question are neighbours here, in any form that is surely the same word."""
        return any(
            (first, second) in self._pairs
            for one, other in pairwise(tokens)
            for first in self._surely(one)
            for second in self._surely(other)
        )

    def _surely(self, token: str) -> list[str]:
        """The words of the question that a word is, or is another form of."""
        sure = min(self._policy.stem, self._policy.alias)
        return [wanted for wanted, value in self._met(token).items() if value >= sure]

    def _word(self, token: str) -> _Word:
        grams = frozenset(token[at : at + GRAM] for at in range(len(token) - GRAM + 1))
        return _Word(index_term(token), fold(self._aliases.get(token, token)), grams)

    def _meets(self, token: str) -> dict[str, float]:
        """What a word is worth to each word of the question that it meets."""
        word = self._word(token)
        found: dict[str, float] = {}
        for wanted, shared in Counter(held for gram in word.grams for held in self._holders.get(gram, ())).items():
            alike = shared / (len(word.grams) + len(self._described[wanted].grams) - shared)
            if alike >= self._policy.least_alike:
                found[wanted] = alike
        for wanted in self._of_term.get(word.term, ()):
            found[wanted] = max(self._policy.stem, found.get(wanted, 0.0))
        for wanted in self._of_name.get(word.name, ()):
            found[wanted] = max(self._policy.alias, found.get(wanted, 0.0))
        if token in self._weights:
            found[token] = 1.0
        return found
