"""Analyse a question against one store: terms, vectors, hypothetical questions and entities."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice, pairwise, product
from typing import Final, NamedTuple, cast
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from mnemond.embed.embedder import Embedder, PrecomputedEmbedder, WordEmbedder, is_multilingual, try_embed
from mnemond.index.arrays import Floats, Mask, Rows, at_least_kth
from mnemond.index.bm25 import DATED, Postings, term_number
from mnemond.index.snapshot import Snapshot
from mnemond.model.changes import Vector
from mnemond.recall.ranking import Question, SoftList, TermList, VectorScores
from mnemond.text.caches import text_cache
from mnemond.text.compounds import SHORTEST, german_words, joined, rest_of, splits
from mnemond.text.entities import extract
from mnemond.text.features import inner_terms
from mnemond.text.hypothetical import hypothetical_queries
from mnemond.text.languages import language_of, latin_share
from mnemond.text.prompt_words import empty_terms, german_function_words
from mnemond.text.question_time import asks_former, asks_past, asks_state
from mnemond.text.resources import regex
from mnemond.text.tokens import FUNCTION_WORDS, fold, index_term, index_terms

MAX_TERMS: Final = 64
"""Different terms of a question that are ranked by, the rarest first and those without rows last: a pasted log must not
cost as much as a hundred questions, nor lose its useful words among useless ones."""

MAX_LOOKED_UP: Final = 512
"""Different terms of a question that are looked up, the first ones."""

MAX_RELATED: Final = 16
"""Different words of a question whose similar words are looked up."""

SHARED_BY_ALL: Final = 1.5
"""Limits the weight of a pair to that of a word in two of three rows."""

EVERYWHERE: Final = 0.5
"""Assumed share of memories with a given punctuation mark, for weighted question vectors."""

MAX_ANALYSED: Final = 2_000
"""Characters of a question that are searched for cues and embedded."""

ASSUMED_NOTES: Final = 100
"""Notes, of which `ASSUMED_SHARE` have it, that are assumed for an English word that says nothing in most questions.
Chosen on eight small stores: with 20 to 100 the right note is first in .525 to .540 of the prompts, .505 without."""

ASSUMED_SHARE: Final = 0.9

_WHEN: Final = regex(
    r"\b(?:when|(?:what|which) (?:date|day|month|year|time))\b"
    r"|[什甚][么麼][时時]候|何[时時]|[几幾][号號月年点點]|哪[天年]"
)
_LATIN_WORD: Final = regex(r"[a-z]{3,40}")


# Terms


class _Term(NamedTuple):
    """One different term: repeats, number of live rows that have it, and its postings."""

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
    now_us: int | None = None,
    visible: Mask | None = None,
) -> Question:
    """Extract the features of `text`; without `words`, no terms. `window`: preferred span of time in microseconds.
    `now_us`: the reader's time; a window that ends before it is about a state at that time.
    `visible`: rows whose sources the question may name."""
    content = question_terms(text)
    found = _terms(snapshot, Counter([*content, *inner_terms(text)])) if words else []
    sources = [_sources_named(snapshot, each.text, visible) for each in found]
    weights = _weights(snapshot, found, sources)
    plain = text[:MAX_ANALYSED]
    until_us = window[1] if window is not None and now_us is not None and window[1] <= now_us else None
    return Question(
        weights=weights,
        exact=[each for term in found for each in term.lists] + _compounds(snapshot, plain, found),
        soft=_similar_words(snapshot, text, found, sources, embedder),
        names=np.array([bool(each) for each in sources], dtype=np.bool_),
        sources=tuple(sorted({number for numbers in sources for number in numbers})),
        pairs=_pairs(snapshot, content, [each for each, numbers in zip(found, sources, strict=True) if not numbers]),
        asks_when=_WHEN.search(fold(plain)) is not None,
        asks_state=asks_state(plain, at_past_time=until_us is not None),
        asks_past=asks_past(plain),
        former=asks_former(plain),
        latin=1.0 if embedder is not None and is_multilingual(embedder.name) else latin_share(plain),
        window=window,
        until_us=until_us,
        terms=tuple(each.text for each in found),
    )


def _weights(snapshot: Snapshot, found: Sequence[_Term], sources: Sequence[tuple[int, ...]]) -> Floats:
    """Return repeats times inverse document frequency of each term.

    A store of forty notes does not show how common a word is. German and Chinese words that say nothing count nothing,
    as English function words, which are no terms at all. For English words that are nearly so, notes that have them are
    assumed; not in talk, where the store is as large as it is idle, and such words matter (docs/decisions/0042).
    """
    empty = empty_terms([each.text for each in found])
    assumed = ASSUMED_NOTES * (1.0 - _talk(snapshot)) if any(empty.english) else 0.0
    weights = np.array(
        [
            each.repeats * rarity(snapshot, each.frequency, assumed if common and not named else 0.0)
            if named or not foreign
            else 0.0
            for each, named, foreign, common in zip(found, sources, empty.foreign, empty.english, strict=True)
        ],
        dtype=np.float32,
    )
    if weights.any():
        return weights
    return np.array([each.repeats * rarity(snapshot, each.frequency) for each in found], dtype=np.float32)


def _sources_named(snapshot: Snapshot, term: str, visible: Mask | None) -> tuple[int, ...]:
    """Return the numbers of the sources named by a term that have visible rows."""
    source = snapshot.parts.columns.source
    return tuple(
        number
        for number in snapshot.speakers(term)
        if np.any(source == number if visible is None else (source == number) & visible)
    )


@text_cache(maxsize=4)
def question_terms(text: str) -> tuple[str, ...]:
    """Return the index terms of a question. Cached, as one recall needs them several times."""
    return tuple(index_terms(text))


def _terms(snapshot: Snapshot, repeats: Counter[str]) -> list[_Term]:
    """Look terms up, also among the words for the days on which memories were made."""
    found: list[_Term] = []
    for text, repeats_of in islice(repeats.items(), MAX_LOOKED_UP):
        lists = [snapshot.postings(text), snapshot.postings(DATED + text)]
        live = sum(snapshot.live_among(rows) for rows, _ in lists)
        number = len(found)
        found.append(_Term(text, repeats_of, live, tuple(TermList(number, *each) for each in lists if len(each[0]))))
    if len(found) <= MAX_TERMS:
        return found
    rarest = sorted(found, key=lambda each: (not each.frequency, each.frequency))[:MAX_TERMS]
    return [
        each._replace(lists=tuple(part._replace(term=number) for part in each.lists))
        for number, each in enumerate(rarest)
    ]


def _similar_words(
    snapshot: Snapshot,
    text: str,
    found: Sequence[_Term],
    sources: Sequence[tuple[int, ...]],
    embedder: Embedder | None,
) -> list[SoftList]:
    """Return rows with words of similar meaning, except for the names of sources."""
    by_word = None if embedder is None else word_embedder(embedder)
    if by_word is None:
        return []
    number = {each.text: place for place, each in enumerate(found) if not sources[place]}
    alike: list[tuple[int, str, float]] = []
    seen: set[str] = set()
    for word in _LATIN_WORD.findall(fold(text[:MAX_ANALYSED])):
        term = index_term(word)
        if term in number and term not in seen and len(seen) < MAX_RELATED:
            seen.add(term)
            alike += [(number[term], other, cosine) for other, cosine in by_word.related_terms(word)]
    lists = snapshot.rows_of([other for _, other, _ in alike])
    return [SoftList(term, rows, cosine) for (term, _, cosine), rows in zip(alike, lists, strict=True) if len(rows)]


# German compounds: "Rechnungslauf" finds "Lauf der Rechnung", and the other way round
#
# Only the question is read, so the index and a write cost nothing more. Both parts must be words of the store.


IN_PARTS: Final = 0.8
"""How often a word counts in a row that has both of its parts, or the compound of it and another word of the question.
Of .5, .8 and 1 the order of the small stores is the same."""

AS_PART: Final = 0.5
"""How often a word counts in a row that has a compound of it and some other word."""

MAX_WORDS: Final = 8
"""Words of a question of which compounds are looked for."""

MAX_SEARCHED: Final = 20_000
"""Terms of a store that are searched for compounds of a word that no memory has: 1 ms."""

MAX_UNKNOWN: Final = 3
"""Such words of one question."""


def _compounds(snapshot: Snapshot, text: str, found: Sequence[_Term]) -> list[TermList]:
    """Return rows that have the parts of a compound in the question, or a compound of its words."""
    number = {each.text: place for place, each in enumerate(found)}
    words = [(word, number[term]) for word in german_words(text) if (term := index_term(word)) in number][:MAX_WORDS]
    if not words:
        return []
    postings = snapshot.parts.postings
    lists: list[TermList] = []
    for word, place in words:
        known = [(_known(postings, each.first), _known(postings, each.last)) for each in splits(word)]
        cut = [parts for parts in known if all(parts)]
        if len(cut) == 1:  # of two ways to cut it, none is sure
            first, last = (_rows_of_any(snapshot, parts) for parts in cut[0])
            lists.append(_counted(place, np.intersect1d(first, last, assume_unique=True), IN_PARTS))
    for one, other in product(words, repeat=2):
        if one is not other and (compounds := _known(postings, joined(one[0], other[0]))):
            rows = _rows_of_any(snapshot, compounds)
            lists += [_counted(place, rows, IN_PARTS) for _, place in (one, other)]
    unknown = [each for each in words if not found[each[1]].frequency and len(each[0]) > SHORTEST][:MAX_UNKNOWN]
    if unknown and len(postings) <= MAX_SEARCHED:
        vocabulary = postings.terms()
        for word, place in unknown:
            longer = [term for term in vocabulary if word in term and len(term) >= len(word) + SHORTEST]
            if compounds := [term for term in longer if _known(postings, rest_of(term, word))]:
                lists.append(_counted(place, _rows_of_any(snapshot, compounds), AS_PART))
    return [each for each in lists if len(each.rows)]


def _known(postings: Postings, terms: Iterable[str]) -> list[str]:
    return [term for term in terms if term in postings]


def _rows_of_any(snapshot: Snapshot, terms: Sequence[str]) -> Rows:
    return np.unique(np.concatenate(snapshot.rows_of(terms)))


def _counted(term: int, rows: Rows, times: float) -> TermList:
    return TermList(term, rows, np.full(len(rows), times, dtype=np.float32))


def _pairs(snapshot: Snapshot, content: Sequence[str], found: Sequence[_Term]) -> tuple[tuple[int, int, float], ...]:
    weight = {each.text: rarity(snapshot, each.frequency) for each in found}
    most = math.log(max(2, snapshot.live) / SHARED_BY_ALL)
    return tuple(
        (term_number(one), term_number(other), min(weight[one] + weight[other], most))
        for one, other in dict.fromkeys(pairwise(content))
        if one in weight and other in weight
    )


def rarity(snapshot: Snapshot, frequency: float, assumed: float = 0.0) -> float:
    """Return the inverse document frequency as in BM25; a word without rows counts as in one row. `assumed`: so many
    rows beside those of the store, of which `ASSUMED_SHARE` have the word."""
    live = snapshot.live + assumed
    found = min(max(1.0, frequency) + ASSUMED_SHARE * assumed, float(max(1, live)))
    return math.log1p((live - found + 0.5) / (found + 0.5))


# Vectors


def question_vector(snapshot: Snapshot, text: str, embedder: Embedder) -> tuple[Vector | None, str | None]:
    """Return the direction of a question, or the reason of a failure. Both are None if it has no direction, or another
    dimension than the store. If memories are talk, rare words count more, with an embedder that can weight words."""
    by_word, talk = word_embedder(embedder), _talk(snapshot)
    if by_word is not None and talk:
        # In talk, which is mostly idle, a word counts by its rarity; in notes, written to be short, all count alike
        # (docs/decisions/0015).
        text = text[:MAX_ANALYSED]
        rarity_of = _rarities(snapshot, text)
        vector, failure = by_word.embed_weighed(text, lambda it: 1.0 - talk + talk * rarity_of(it)), None
    else:  # the same as a weight of 1 for all words, and cheaper
        (vector,), failure = try_embed(embedder, [text if by_word is None else text[:MAX_ANALYSED]], "query")
    return vector if vector is not None and vector.shape == (snapshot.dimension,) else None, failure


def rare_word_vector(snapshot: Snapshot, text: str, embedder: Embedder | None) -> Vector | None:
    """Return the direction of the rare words of a question, by which a memory is about its subject or not; any two
    sentences are similar in their function words. None if it equals `question_vector`, or does not exist."""
    by_word = None if embedder is None else word_embedder(embedder)
    if by_word is None or _talk(snapshot) == 1.0:
        return None
    return by_word.embed_weighed(text[:MAX_ANALYSED], _rarities(snapshot, text[:MAX_ANALYSED]))


def word_embedder(embedder: Embedder) -> WordEmbedder | None:
    """Return the embedder if it can weight words."""
    return cast("WordEmbedder", embedder) if _embeds_words(type(embedder)) else None


@lru_cache(maxsize=16)
def _embeds_words(kind: type[object]) -> bool:
    # Cached, because `issubclass` of a protocol takes microseconds.
    return issubclass(kind, WordEmbedder)


def _talk(snapshot: Snapshot) -> float:
    return snapshot.parts.neighbours.talk(snapshot.rows)


def _rarities(snapshot: Snapshot, text: str) -> Callable[[str], float]:
    """Return the rarity of each word of a question; 0 for a function word of its language."""
    empty = german_function_words() if language_of(text) == "de" else FUNCTION_WORDS

    def rarity_of(word: str) -> float:
        if word in empty:
            return 0.0
        if not word.isalnum():
            return rarity(snapshot, EVERYWHERE * snapshot.live)
        term = index_term(word)
        return rarity(snapshot, snapshot.live_frequency(term) if term else 0)

    return rarity_of


# Hypothetical questions of memories: a memory matches also by the questions it answers (docs/decisions/0018)
#
# The questions are derived from the text and embedded on first use in a generation. Only vectors are kept, as long as
# the generation: nothing of a purged memory stays, and a store that does not use them pays nothing.


AT_ONCE = 64
"""Questions embedded in one call."""


class _HypotheticalVectors(NamedTuple):
    """Vectors of questions, shape (n, dimension), and the row each belongs to."""

    fingerprint: str
    rows: Rows
    vectors: npt.NDArray[np.float32]


_hypothetical: WeakKeyDictionary[Snapshot, _HypotheticalVectors] = WeakKeyDictionary()


def can_embed(embedder: Embedder | None) -> bool:
    """Return True if texts besides the question can be embedded during a request, that is in this process."""
    return embedder is not None and embedder.inline and not isinstance(embedder, PrecomputedEmbedder)


def with_hypothetical(snapshot: Snapshot, cosines: Floats, vector: Vector, embedder: Embedder | None) -> Floats:
    """Raise `cosines` of all rows to the largest cosine of the hypothetical questions of each; the same object if there
    are none."""
    if embedder is None or not can_embed(embedder):
        return cosines
    known = _hypothetical_vectors(snapshot, embedder)
    if not len(known.rows):
        return cosines
    best = cosines.copy()
    np.maximum.at(best, known.rows, known.vectors @ vector)
    return best


def scores_with_hypothetical(
    snapshot: Snapshot, vectors: VectorScores, vector: Vector, embedder: Embedder | None
) -> VectorScores:
    """Apply `with_hypothetical` to vector scores."""
    nothing = np.zeros(snapshot.rows, dtype=np.float32)
    by_questions = with_hypothetical(snapshot, nothing, vector, embedder)
    if by_questions is nothing:
        return vectors
    return vectors._replace(
        first=np.maximum(vectors.first[: snapshot.rows], by_questions),
        of=lambda rows: np.maximum(vectors.of(rows), by_questions[rows]),
    )


def _hypothetical_vectors(snapshot: Snapshot, embedder: Embedder) -> _HypotheticalVectors:
    known = _hypothetical.get(snapshot)
    if known is None or known.fingerprint != embedder.fingerprint:
        known = _hypothetical[snapshot] = _embed_hypothetical(snapshot, embedder)
    return known


def _embed_hypothetical(snapshot: Snapshot, embedder: Embedder) -> _HypotheticalVectors:
    """Embed the questions of every live row, the default number of each."""
    questions = [
        (row, question)
        for row in np.flatnonzero(snapshot.alive()).tolist()
        if (it := snapshot.insight(row)).trigger_type is not None
        for question in hypothetical_queries(it.trigger_type, it.content)
    ]
    rows: list[int] = []
    vectors: list[Vector] = []
    for start in range(0, len(questions), AT_ONCE):
        part = questions[start : start + AT_ONCE]
        found, _ = try_embed(embedder, [question for _, question in part], "document")
        for (row, _), vector in zip(part, found, strict=True):
            if vector is not None and vector.shape == (snapshot.dimension,):
                rows.append(row)
                vectors.append(vector)
    matrix = np.stack(vectors) if vectors else np.zeros((0, snapshot.dimension), dtype=np.float32)
    return _HypotheticalVectors(embedder.fingerprint, np.array(rows, dtype=np.int64), matrix)


# Entities: memories that name what the question names


class EntityMatches(NamedTuple):
    """`rows`, best first, and the share of the question's entities that each names, in (0, 1]; shapes (n,)."""

    rows: Rows
    shares: Floats


def question_entities(snapshot: Snapshot, text: str) -> dict[str, float]:
    """Return canonical names in the beginning of a question, and the inverse document frequency of each; 0 for one that
    no memory has."""
    found = extract(text[:MAX_ANALYSED], known=snapshot.entity_spelling)
    holders = {each.canonical: snapshot.live_among(snapshot.holders(each.canonical)) for each in found}
    return {name: math.log(1.0 + snapshot.live / many) if many else 0.0 for name, many in holders.items()}


def entity_matches(snapshot: Snapshot, names: Mapping[str, float], visible: Mask | None, most: int) -> EntityMatches:
    """Return the best `most` visible rows by the summed rarity of the names they have; of equal ones the more important
    first, then the newer, then the smaller id."""
    total = sum(names.values())
    if not total:
        return EntityMatches(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32))
    sums = np.zeros(snapshot.rows, dtype=np.float32)
    for name, idf in names.items():
        sums[snapshot.holders(name)] += np.float32(idf / total)
    if visible is not None:
        sums *= visible
    rows = at_least_kth(sums, most)
    rows = rows[sums[rows] > 0.0]
    best: Rows = rows[snapshot.in_order(rows, sums[rows].astype(np.float64))[:most]]
    return EntityMatches(best, np.minimum(sums[best], np.float32(1.0)))
