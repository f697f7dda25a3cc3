"""Judge how probable it is that a prompt needs a memory, for context that nothing requested.

The confidence of a recall rates answers to a question, of which the best is wanted. A prompt is mostly no question to
memory, and says things in words that any memory shares. So a small model of its own rates each result: a logistic
of a few plain traits, with coefficients in `text/data/unasked.toml`, one set for each embedder and script
(docs/decisions/0043-what-is-told-unasked.md; fitted by `python -m benchmarks.unasked_fit`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from mnemond.embed.embedder import Embedder
from mnemond.index.arrays import Rows
from mnemond.index.snapshot import Snapshot
from mnemond.model.answers import Unasked, six
from mnemond.model.changes import Vector
from mnemond.model.memory import Insight
from mnemond.model.query import Hit
from mnemond.recall.profiles import MNEMOND
from mnemond.recall.question import MAX_TERMS, rarity, word_embedder
from mnemond.recall.rerank import lexical_scores
from mnemond.text.languages import is_han
from mnemond.text.prompt_words import says_little, says_nothing
from mnemond.text.resources import on_first_use, read
from mnemond.text.tokens import index_term, tokens

JUDGED: Final = 5
"""Results of one recall that are judged, the best first: the right one of a prompt is among them or far behind."""

MAX_READ: Final = 2_000
"""Characters of a memory, and of a prompt, that are compared word by word."""

LITTLE: Final = 0.5
"""Weight of a word that any prompt about software has, as a part of its rarity; chosen by hand."""

TRAITS: Final[tuple[str, ...]] = (
    "ahead", "cosine", "rare_ahead", "bm25", "bm25_ahead", "share", "second_word", "shared", "wording", "wording_ahead",
    "passage", "passage_ahead", "by_cue", "passages", "length", "question", "importance", "preference", "decision",
    "fact", "insight",
)  # fmt: skip
"""Traits of a memory for a piece of a prompt, in this order.

`…_ahead`: by how much it is above the best of the other results. `ahead`: by the score of the ranking. `cosine`: of the
piece and the memory; `rare`: of the words of the piece weighed by rarity. `bm25`: as a multiple of the weight of the
rarest word there may be. `share`: of the weight of the piece's words that the memory has; `second_word`: the weight of
the second rarest of these, 1 for the rarest there may be; `shared`: ln(1 + their number). `wording`: the relevance by
`rerank.lexical_scores`. `passage`: overlap of the piece with the passage of the memory (its text, or a cue) that it
overlaps most; `by_cue`: that is a cue; `passages`: ln of their number. `length`: ln(1 + words of the piece);
`question`: it has a question mark. Categories: 1 for the memory's."""

EVIDENCE: Final = TRAITS[: TRAITS.index("by_cue")]
"""Traits that say that a piece is about a memory; the larger the likelier."""


Matrix: TypeAlias = npt.NDArray[np.float64]


class Coefficients(NamedTuple):
    """A model. A trait counts `weight` times its value, which is bounded to `low` and `high`; shapes (traits,)."""

    intercept: float
    weight: Matrix
    low: Matrix
    high: Matrix


@on_first_use
def _models() -> Mapping[str, Mapping[str, Coefficients]]:
    """Return the coefficients by the name of an embedder ("" for none) and by script."""
    found = read("unasked", dict[str, dict[str, dict[str, list[float]]]])
    return {
        name.replace(NO_EMBEDDER, ""): {script: coefficients(each) for script, each in scripts.items()}
        for name, scripts in found.items()
    }


NO_EMBEDDER: Final = "words"
"""Name of the model without cosines in the file."""

SCRIPTS: Final = ("alphabetic", "han")


def coefficients(given: Mapping[str, Sequence[float]]) -> Coefficients:
    """Return a model as it is in the file: by trait weight, low and high, and the intercept."""
    columns = np.array([given.get(name, (0.0, 0.0, 0.0)) for name in TRAITS])
    return Coefficients(given["intercept"][0], columns[:, 0], columns[:, 1], columns[:, 2])


def has_model(embedder: Embedder | None) -> bool:
    """Return True if there are coefficients for the cosines of an embedder."""
    return embedder is not None and embedder.name in _models()


def script_of(text: str) -> str:
    """Return the script by which coefficients are chosen, one of SCRIPTS."""
    text = text[:MAX_READ]
    return SCRIPTS[not text.isascii() and is_han(text)]


# Traits


class _Piece(NamedTuple):
    """A piece of a prompt. `words`: its tokens that say something; `weights`: by index term, in their order."""

    text: str
    words: list[str]
    weights: dict[str, float]

    @property
    def weight(self) -> float:
        """Of all words."""
        return sum(self.weights.values())


class Weigher:
    """Weights of words in one snapshot."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._rarity = cache(self._rarity_of)
        self._weight = cache(self._weight_of)
        self.most = rarity(snapshot, 1.0)

    def of(self, word: str) -> float:
        """Return the weight of a token or a word of an embedder; 0 if it says nothing."""
        return self._weight(word)

    def _weight_of(self, word: str) -> float:
        if says_nothing(word):
            return 0.0
        known = self._rarity(index_term(word))
        return known * LITTLE if says_little(word) else known

    def weighed(self, words: Iterable[str]) -> dict[str, float]:
        """Return the weight of the index term of each token that says something, in their order."""
        return {index_term(word): weight for word in words if (weight := self.of(word)) > 0.0}

    def _rarity_of(self, term: str) -> float:
        return rarity(self._snapshot, self._snapshot.live_frequency(term)) if term else 0.0


class Results(NamedTuple):
    """The best results of a recall, best first: their rows, and their scores in units of the ranking."""

    rows: Rows
    scores: list[float]


AHEAD: Final = tuple(name for name in TRAITS if name.endswith("_ahead"))
"""Traits that compare a result with the others. `ahead` does as well, by scores."""


class Reader:
    """Reads the traits of memories for a piece of a prompt. What a memory has by itself is read once, however many
    results of one recall it is among. `vector`: of the piece."""

    def __init__(self, snapshot: Snapshot, text: str, vector: Vector | None, embedder: Embedder | None) -> None:
        self._snapshot = snapshot
        self.text = text
        self.vector = vector
        self.embedder = embedder
        self._own: dict[int, Matrix] = {}

    def traits(self, results: Results) -> Matrix:
        """Return the traits of some results; shape (results, TRAITS)."""
        rows = results.rows.tolist()
        if new := [row for row in rows if row not in self._own]:
            self._own.update(zip(new, self._read(np.array(new, dtype=np.int64)), strict=True))
        found: Matrix = np.stack([self._own[row] for row in rows])
        found[:, TRAITS.index("ahead")] = ahead(results.scores)
        for name in AHEAD:
            column = TRAITS.index(name)
            found[:, column] = ahead(found[:, column].tolist())
        return found

    def _read(self, rows: Rows) -> Matrix:
        """Return what rows have by themselves, of a trait in AHEAD what is compared; shape (rows, TRAITS)."""
        found: Matrix = np.zeros((len(rows), len(TRAITS)))
        snapshot = self._snapshot
        insights = [snapshot.insight(row) for row in rows.tolist()]
        weigher = Weigher(snapshot)
        words = [word for word in tokens(self.text[:MAX_READ]) if weigher.of(word) > 0.0]
        piece = _Piece(self.text, words, weigher.weighed(words))
        columns = {
            "length": [math.log1p(len(piece.weights))] * len(rows),
            "question": [float("?" in self.text or "？" in self.text)] * len(rows),
            "importance": [float(it.importance) for it in insights],
        }
        columns |= _meaning(snapshot, piece, rows, self.vector, self.embedder, weigher)
        columns |= _keywords(snapshot, piece, rows, weigher)
        columns |= _wording(piece, insights, weigher)
        for name in CATEGORIES:
            columns[name] = [float(it.category == name) for it in insights]
        for name, values in columns.items():
            found[:, TRAITS.index(name)] = values
        return found


CATEGORIES: Final = TRAITS[TRAITS.index("importance") + 1 :]
"""Categories that are traits."""

Columns: TypeAlias = dict[str, list[float]]
"""Traits by name, of each result."""


def _meaning(
    snapshot: Snapshot, piece: _Piece, rows: Rows, vector: Vector | None, embedder: Embedder | None, weigher: Weigher
) -> Columns:
    if vector is None or embedder is None:
        return {}
    by_word = word_embedder(embedder)
    rare = vector if by_word is None else by_word.embed_weighed(piece.text[:MAX_READ], weigher.of)
    cosines = snapshot.dense.searched_of(vector, rows).tolist()
    return {
        "cosine": cosines,
        "rare_ahead": [0.0] * len(rows) if rare is None else snapshot.dense.searched_of(rare, rows).tolist(),
    }


def _keywords(snapshot: Snapshot, piece: _Piece, rows: Rows, weigher: Weigher) -> Columns:
    scores = np.zeros(len(rows))
    has: list[list[float]] = [[] for _ in rows]
    k1 = MNEMOND.bm25.k1
    room = snapshot.lengths[rows] * (k1 / snapshot.mean_length)
    for term, weight in sorted(piece.weights.items(), key=lambda it: -it[1])[:MAX_TERMS]:
        holders, times = snapshot.postings(term)
        if not len(holders):
            continue
        at = np.minimum(np.searchsorted(holders, rows), len(holders) - 1)
        for place in np.flatnonzero(holders[at] == rows).tolist():
            count = float(times[at[place]])
            scores[place] += weight * (k1 + 1.0) * count / (count + room[place])
            has[place].append(weight / weigher.most)
    own = (scores / weigher.most).tolist()
    return {
        "bm25": own,
        "bm25_ahead": own,
        "share": [sum(each) * weigher.most / max(piece.weight, SMALLEST) for each in has],
        "second_word": [[*each, 0.0, 0.0][1] for each in has],
        "shared": [math.log1p(len(each)) for each in has],
    }


def _wording(piece: _Piece, insights: Sequence[Insight], weigher: Weigher) -> Columns:
    passages = [passages_of(it) for it in insights]
    words = [[tokens(passage) for passage in each] for each in passages]
    wording = (
        lexical_scores(piece.words, [[word for passage in each for word in passage] for each in words], weigher.of)
        if piece.words
        else [0.0] * len(insights)
    )
    overlaps = [[_overlap(piece, passage, weigher) for passage in each] for each in words]
    best = [max(each) for each in overlaps]
    return {
        "wording": wording,
        "wording_ahead": wording,
        "passage": best,
        "passage_ahead": best,
        "by_cue": [float(each[0] < most) for each, most in zip(overlaps, best, strict=True)],
        "passages": [math.log(len(each)) for each in passages],
    }


def passages_of(it: Insight) -> list[str]:
    """Return the text of a memory and its cues."""
    return [it.content[:MAX_READ], *(cue.text for cue in it.cues)]


def _overlap(piece: _Piece, words: Sequence[str], weigher: Weigher) -> float:
    """Return the weighted share of words that a piece and a passage have in common, in [0, 1] (Dice)."""
    weights = weigher.weighed(words)
    both = sum(weight for term, weight in piece.weights.items() if term in weights)
    return 2.0 * both / max(piece.weight + sum(weights.values()), SMALLEST)


SMALLEST: Final = 1e-6
"""Avoids a division by zero."""


def ahead(values: Sequence[float]) -> list[float]:
    """Return how far each value is above the largest of the others; all of it if there is no other."""
    if len(values) < 2:
        return list(values)
    first, second = sorted(values, reverse=True)[:2]
    return [each - (second if each == first else first) for each in values]


# The decision


REASONS: Final = 3
"""Traits that are named as reasons, those that count most."""


def judge(snapshot: Snapshot, hits: Sequence[Hit], reader: Reader) -> list[Unasked]:
    """Judge the first `JUDGED` results, which need their explanations. Retired memories are not judged, nor those
    beside them."""
    results = results_of(snapshot, hits[:JUDGED])
    if results is None:
        return []
    model, counted = _counted(results, reader)
    return [Unasked(six(logistic(model.intercept + float(each.sum()))), _reasons(each, model)) for each in counted]


def results_of(snapshot: Snapshot, hits: Sequence[Hit]) -> Results | None:
    """Return the rows of explained results and their scores, without what `fitness` added; None if one has no row."""
    rows = [snapshot.row_of(hit.insight.id) for hit in hits]
    if not rows or None in rows:
        return None
    parts = [hit.explanation.parts if hit.explanation else {} for hit in hits]
    return Results(np.array(rows, dtype=np.int64), [sum(each.values()) - each.get(FITNESS, 0.0) for each in parts])


FITNESS: Final = "fitness"
"""Name of the part of a score that `fitness` is."""


def fitness(results: Results, reader: Reader) -> list[float]:
    """Return how probable it is that a prompt of the words of a question needs each result. By this, results are
    ordered where memories have cues: their words are many and say less each."""
    model, counted = _counted(results, reader)
    return [logistic(model.intercept + float(each.sum())) for each in counted]


def _counted(results: Results, reader: Reader) -> tuple[Coefficients, Matrix]:
    """Return the model for a text, and what each trait of each result counts in it."""
    if not has_model(reader.embedder):
        reader.vector = None  # its cosines are on an unknown scale
    name = "" if reader.vector is None or reader.embedder is None else reader.embedder.name
    model = _models()[name][script_of(reader.text)]
    return model, np.clip(reader.traits(results), model.low, model.high) * model.weight


def logistic(log_odds: float) -> float:
    """Return a probability by the logarithm of its odds, which is at least -700."""
    return 1.0 / (1.0 + math.exp(-log_odds))


def _reasons(counted: Matrix, model: Coefficients) -> dict[str, float]:
    """Return what the weightiest traits add to the odds, against a memory that has each in the middle of its bounds."""
    apart = counted - model.weight * (model.low + model.high) / 2.0
    best = sorted(range(len(TRAITS)), key=lambda place: -abs(float(apart[place])))[:REASONS]
    return {TRAITS[place]: round(float(apart[place]), 2) for place in best if abs(float(apart[place])) >= SMALLEST}


PIECES: Final = 0.25
"""Power of the number of pieces of a prompt by which the odds are divided: the best of many is high by chance. At 0 a
third of the long prompts that need nothing get something, at .5 a fifth of those that need something lose it."""


def of_pieces(probability: float, pieces: int) -> float:
    """Return how probable it is that a prompt needs a memory, by the most probable of so many pieces."""
    against = (1.0 - probability) * max(1, pieces) ** PIECES
    return probability / (probability + against) if probability else 0.0


BESIDE: Final = 0.5
"""Share of the least probability from which a memory is told beside a sure one: the prompt needs something, and the
two are often about it together. Chosen by hand: the right one comes more often by .01, by .04 of commits."""

MOST_BESIDE: Final = 3
"""Memories told in all if some of them are only told beside a sure one."""


def shown_count(probabilities: Sequence[float], least: float) -> int:
    """Return how many memories to show, of probabilities in descending order: those of at least `least`, and those
    that come beside them, see `BESIDE`."""
    sure = sum(each >= least for each in probabilities)
    if not 0 < sure < MOST_BESIDE:
        return sure
    return max(sure, sum(each >= BESIDE * least for each in probabilities[:MOST_BESIDE]))
