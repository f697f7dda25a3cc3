"""From the words of a question to what the ranking needs of them, in one store."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from typing import Final, NamedTuple, cast
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from mnemond.embed.embedder import Embedder, PrecomputedEmbedder, WordEmbedder, try_embed
from mnemond.index.arrays import Floats, Mask, Rows
from mnemond.index.bm25 import DATED, term_number
from mnemond.index.selection import at_least_kth, in_order
from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import Vector
from mnemond.recall.corrections import asks_past, asks_state
from mnemond.recall.question_features import Question, SoftList, TermList
from mnemond.recall.ranking import VectorScores
from mnemond.text.caches import text_cache
from mnemond.text.entities import extract
from mnemond.text.features import inner_terms
from mnemond.text.hypothetical import hypothetical_queries
from mnemond.text.resources import regex
from mnemond.text.tokens import FUNCTION_WORDS, fold, index_term, index_terms

MAX_TERMS: Final = 64
"""Different terms of a question that count, the rarest first and those that no row has last: a pasted log must not
cost as much as a hundred questions, nor lose the words that find something among those that find nothing."""

MAX_LOOKED_UP: Final = 512
"""Different terms of a question that are looked up, the first ones."""

MAX_RELATED: Final = 16
"""Different words of a question whose relatives in meaning are looked up."""

SHARED_BY_ALL: Final = 1.5
"""A pair of words weighs no more than one that two of three rows of a store had."""

EVERYWHERE: Final = 0.5
"""Share of the memories that a punctuation mark is taken to stand in, when the vector of a question is made."""

READ: Final = 2_000
"""Characters of a question whose sense is looked at."""

_WHEN: Final = regex(
    r"\b(?:when|(?:what|which) (?:date|day|month|year|time))\b"
    r"|[什甚][么麼][时時]候|何[时時]|[几幾][号號月年点點]|哪[天年]"
)
_LATIN_WORD: Final = regex(r"[a-z]{3,40}")
_LAST_LATIN: Final = "\u1100"
"""Scripts from here on are written without spaces, or are Hangul: the built-in model knows nothing of them."""


class Term(NamedTuple):
    """One different term: repeats, live rows that have it, and where it stands."""

    text: str
    repeats: int
    frequency: int
    lists: tuple[TermList, ...]


def build_question(
    snapshot: Snapshot,
    text: str,
    embedder: Embedder | None,
    *,
    words: bool = True,
    window: tuple[int, int] | None = None,
    visible: Mask | None = None,
) -> Question:
    """What `text` asks of a store. Without `words` it asks by its meaning alone. `window`: a span of time, in
    microseconds, that it names without leaving out everything else. `visible`: rows whose sources may be named."""
    content = question_terms(text)
    found = _terms(snapshot, Counter([*content, *inner_terms(text)])) if words else []
    weights = np.array([rarity(snapshot, each.frequency) * each.repeats for each in found], dtype=np.float32)
    speaking = [_speaking(snapshot, each.text, visible) for each in found]
    plain = text[:READ]
    return Question(
        weights=weights,
        exact=[each for term in found for each in term.lists],
        soft=_relatives(snapshot, text, found, speaking, embedder),
        names=np.array([bool(each) for each in speaking], dtype=np.bool_),
        sources=tuple(sorted({number for numbers in speaking for number in numbers})),
        pairs=_pairs(snapshot, content, [each for each, numbers in zip(found, speaking, strict=True) if not numbers]),
        asks_when=_WHEN.search(fold(plain)) is not None,
        asks_state=asks_state(plain),
        asks_past=asks_past(plain),
        latin=_latin(plain),
        window=window,
        terms=tuple(each.text for each in found),
    )


def _speaking(snapshot: Snapshot, term: str, visible: Mask | None) -> tuple[int, ...]:
    """Numbers of the sources named by a term that said anything the reader may see."""
    source = snapshot.parts.columns.source
    return tuple(
        number
        for number in snapshot.speakers(term)
        if np.any(source == number if visible is None else (source == number) & visible)
    )


@text_cache(maxsize=4)
def question_terms(text: str) -> tuple[str, ...]:
    """Index terms of a question, which is asked for them several times on its way."""
    return tuple(index_terms(text))


def question_vector(snapshot: Snapshot, text: str, embedder: Embedder) -> tuple[Vector | None, str | None]:
    """The direction of a question, its rare words counting more where the embedder can weigh words and memories are
    talk; or why there is none. None, None where it has no direction or another dimension than the store's."""
    by_word, talk = _by_word(embedder), _talk(snapshot)
    if by_word is not None and talk:
        vector, lacking = by_word.embed_weighed(text[:READ], lambda word: _word_weight(snapshot, word, talk)), None
    else:  # with a weight of 1 for all it is the same, and costs less
        (vector,), lacking = try_embed(embedder, [text if by_word is None else text[:READ]], "query")
    return vector if vector is not None and vector.shape == (snapshot.dimension,) else None, lacking


def telling_vector(snapshot: Snapshot, text: str, embedder: Embedder | None) -> Vector | None:
    """The direction of what is rare in a question, which says whether a memory speaks of it at all; None where it is
    that of the question, or there is none. Any two sentences are alike in their function words."""
    by_word = None if embedder is None else _by_word(embedder)
    if by_word is None or _talk(snapshot) == 1.0:
        return None
    return by_word.embed_weighed(text[:READ], lambda word: _word_rarity(snapshot, word))


def _by_word(embedder: Embedder) -> WordEmbedder | None:
    """An embedder that knows single words, as such."""
    return cast("WordEmbedder", embedder) if _knows_words(type(embedder)) else None


@lru_cache(maxsize=16)
def _knows_words(kind: type[object]) -> bool:
    """Asked once for each kind of embedder, because asking takes microseconds."""
    return issubclass(kind, WordEmbedder)


def _talk(snapshot: Snapshot) -> float:
    return snapshot.parts.neighbours.talk(snapshot.rows)


def _word_weight(snapshot: Snapshot, word: str, talk: float) -> float:
    """What a word of the question counts for in its vector: in talk, most of which is idle, as much as it is rare; in
    notes, which were written to be short, as much as any other (docs/decisions/0015)."""
    return 1.0 - talk + talk * _word_rarity(snapshot, word)


def _word_rarity(snapshot: Snapshot, word: str) -> float:
    """How rare a word of the question is; a function word is not at all."""
    if word in FUNCTION_WORDS:
        return 0.0
    if not word.isalnum():
        return rarity(snapshot, EVERYWHERE * snapshot.live)
    term = index_term(word)
    return rarity(snapshot, snapshot.live_frequency(term) if term else 0)


def rarity(snapshot: Snapshot, frequency: float) -> float:
    """Inverse document frequency as BM25 has it; of a word that nobody wrote, that of one that one row has."""
    live = snapshot.live
    found = min(max(1.0, frequency), float(max(1, live)))
    return math.log1p((live - found + 0.5) / (found + 0.5))


def _terms(snapshot: Snapshot, repeats: Counter[str]) -> list[Term]:
    """With the days memories were made on, of which a question speaks in the same words as of anything else."""
    found: list[Term] = []
    for text, many in islice(repeats.items(), MAX_LOOKED_UP):
        lists = [snapshot.postings(text), snapshot.postings(DATED + text)]
        live = sum(snapshot.live_among(rows) for rows, _ in lists)
        number = len(found)
        found.append(Term(text, many, live, tuple(TermList(number, *each) for each in lists if len(each[0]))))
    if len(found) <= MAX_TERMS:
        return found
    rarest = sorted(found, key=lambda each: (not each.frequency, each.frequency))[:MAX_TERMS]
    return [
        each._replace(lists=tuple(part._replace(term=number) for part in each.lists))
        for number, each in enumerate(rarest)
    ]


def _relatives(
    snapshot: Snapshot,
    text: str,
    found: Sequence[Term],
    speaking: Sequence[tuple[int, ...]],
    embedder: Embedder | None,
) -> list[SoftList]:
    """Words that mean nearly the same as a word of the question, as far as the store has them. Names have none."""
    by_word = None if embedder is None else _by_word(embedder)
    if by_word is None:
        return []
    number = {each.text: place for place, each in enumerate(found) if not speaking[place]}
    alike: list[tuple[int, str, float]] = []
    seen: set[str] = set()
    for word in _LATIN_WORD.findall(fold(text[:READ])):
        term = index_term(word)
        if term in number and term not in seen and len(seen) < MAX_RELATED:
            seen.add(term)
            alike += [(number[term], other, cosine) for other, cosine in by_word.related_terms(word)]
    lists = snapshot.rows_of([other for _, other, _ in alike])
    return [SoftList(term, rows, cosine) for (term, _, cosine), rows in zip(alike, lists, strict=True) if len(rows)]


def _pairs(snapshot: Snapshot, content: Sequence[str], found: Sequence[Term]) -> tuple[tuple[int, int, float], ...]:
    weight = {each.text: rarity(snapshot, each.frequency) for each in found}
    most = math.log(max(2, snapshot.live) / SHARED_BY_ALL)
    return tuple(
        (term_number(one), term_number(other), min(weight[one] + weight[other], most))
        for one, other in dict.fromkeys(pairwise(content))
        if one in weight and other in weight
    )


def _latin(text: str) -> float:
    """Share of what is written in scripts the built-in model may know."""
    letters = "".join(text.split())
    if letters.isascii():
        return 1.0
    return sum(letter < _LAST_LATIN for letter in letters) / len(letters)


# Memories found by the questions that were noted with them (spec 6.10 and 11.2): how near these are to what is asked.
#
# The questions are told from the text again and embedded when something is asked, once a generation, and what is kept
# are vectors alone, for as long as the generation. So nothing of a purged memory stays, and a store that never asks
# for them pays nothing. What they are worth: docs/decisions/0018.


AT_ONCE = 64
"""Questions embedded in one call."""


class _Noted(NamedTuple):
    """Vectors of questions, shape (n, dimension), and whose each is."""

    fingerprint: str
    rows: Rows
    vectors: npt.NDArray[np.float32]


_of_generations: WeakKeyDictionary[Snapshot, _Noted] = WeakKeyDictionary()


def can_embed(embedder: Embedder | None) -> bool:
    """Whether texts besides the question can be embedded while somebody waits: in this process, that is."""
    return embedder is not None and embedder.inline and not isinstance(embedder, PrecomputedEmbedder)


def raised(snapshot: Snapshot, cosines: Floats, vector: Vector, embedder: Embedder | None) -> Floats:
    """`cosines` of all rows with a question, each the largest of its own and those of the questions noted with it."""
    if embedder is None or not can_embed(embedder):
        return cosines
    noted = _noted(snapshot, embedder)
    if not len(noted.rows):
        return cosines
    best = cosines.copy()
    np.maximum.at(best, noted.rows, noted.vectors @ vector)
    return best


def nearer(snapshot: Snapshot, near: VectorScores, vector: Vector, embedder: Embedder | None) -> VectorScores:
    """The same of what a ranking goes by."""
    nothing = np.zeros(snapshot.rows, dtype=np.float32)
    by_questions = raised(snapshot, nothing, vector, embedder)
    if by_questions is nothing:
        return near
    return near._replace(
        first=np.maximum(near.first[: snapshot.rows], by_questions),
        of=lambda rows: np.maximum(near.of(rows), by_questions[rows]),
    )


def _noted(snapshot: Snapshot, embedder: Embedder) -> _Noted:
    known = _of_generations.get(snapshot)
    if known is None or known.fingerprint != embedder.fingerprint:
        known = _of_generations[snapshot] = _embedded(snapshot, embedder)
    return known


def _embedded(snapshot: Snapshot, embedder: Embedder) -> _Noted:
    """Those of every live row, the questions of one text as many as a memory gets unless a store says otherwise."""
    asked = [
        (row, question)
        for row in np.flatnonzero(snapshot.alive()).tolist()
        if (it := snapshot.insight(row)).trigger_type is not None
        for question in hypothetical_queries(it.trigger_type, it.content)
    ]
    rows: list[int] = []
    vectors: list[Vector] = []
    for start in range(0, len(asked), AT_ONCE):
        part = asked[start : start + AT_ONCE]
        found, _ = try_embed(embedder, [question for _, question in part], "document")
        for (row, _), vector in zip(part, found, strict=True):
            if vector is not None and vector.shape == (snapshot.dimension,):
                rows.append(row)
                vectors.append(vector)
    matrix = np.stack(vectors) if vectors else np.zeros((0, snapshot.dimension), dtype=np.float32)
    return _Noted(embedder.fingerprint, np.array(rows, dtype=np.int64), matrix)


# The memories that name what a question names: people, places, things (spec 11.2, entity).


class Naming(NamedTuple):
    """`rows`, best first, and for each how much of what the question names it names, in (0, 1]; shapes (n,)."""

    rows: Rows
    shares: Floats


NOBODY = Naming(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))


def names_in(snapshot: Snapshot, text: str) -> dict[str, float]:
    """Names in a question, canonical, and the inverse document frequency of each; 0 for one that no memory has. Of a
    long text only its beginning is read."""
    found = extract(text[:READ], known=snapshot.entity_spelling)
    holders = {each.canonical: snapshot.live_among(snapshot.holders(each.canonical)) for each in found}
    return {name: math.log(1.0 + snapshot.live / many) if many else 0.0 for name, many in holders.items()}


def naming(snapshot: Snapshot, names: Mapping[str, float], visible: Mask | None, most: int) -> Naming:
    """The best `most` visible rows by the summed rarity of the names they have; of equal ones the more important first,
    then the newer, then the smaller id."""
    total = sum(names.values())
    if not total:
        return NOBODY
    sums = np.zeros(snapshot.rows, dtype=np.float32)
    for name, rarity in names.items():
        sums[snapshot.holders(name)] += np.float32(rarity / total)
    if visible is not None:
        sums *= visible
    rows = at_least_kth(sums, most)
    rows = rows[sums[rows] > 0.0]
    best: Rows = rows[in_order(snapshot, rows, sums[rows].astype(np.float64))[:most]]
    return Naming(best, np.minimum(sums[best], np.float32(1.0)))
