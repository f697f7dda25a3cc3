"""Recall of passages: what was said in sessions, ranked by words and meaning, and put among the memories of an answer.

Passages are ranked apart from memories, on their own index: by BM25 of the whole exchange, its cosine, and its best
piece by both. All numbers were chosen on 75 questions of the next day about three projects (English, and German with
English), the answer among the first three: .773, by words alone .787 and with 3,000 other texts beside .653 and .627;
with German and Chinese function words among the terms .720.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import msgspec
import numpy as np

from mnemond.index.arrays import Floats, Rows
from mnemond.index.bm25 import Bm25
from mnemond.index.passages import PassageSnapshot
from mnemond.model.answers import Signals, six
from mnemond.model.changes import Vector
from mnemond.model.memory import Insight, project_parts
from mnemond.model.passages import CHATS, Passage
from mnemond.model.query import CONFIDENCES, Filter, Hit, Query
from mnemond.recall.profiles import MNEMOND, label
from mnemond.recall.question import question_terms
from mnemond.recall.session_outline import asks_for_last_session, last_outline
from mnemond.text.features import inner_terms
from mnemond.text.prompt_words import empty_terms

OF_PASSAGES: Final = Bm25(k1=2.0, b=0.9)
OF_PIECES: Final = Bm25(k1=1.2, b=0.5)

WORDS: Final = 2.0
"""Weight of a passage's words beside its cosine and its best piece, each in units of its spread over the passages."""

SHORTLIST: Final = 40
"""Passages whose pieces are compared. With 100 as many questions are answered among 1,500 exchanges, in more time."""

EXCERPT: Final = 1_200
"""Characters of a passage in a result. Of 202 questions 155 have their answer in one of the first three passages; in
excerpts of 500 characters 123 are shown, of 800 141, of 1,200 151, and a passage takes 396, 608 and 774 on average. Of
60 others 47, and 43, 43, 46."""

NEEDED_WORDS: Final = 0.1
"""Share of a prompt's words, by their rarity, without which a passage is not told unasked."""

PROBABLE: Final = 0.45 / 0.35
"""Probability that a prompt needs a passage, for its evidence. With the usual `hooks.min_probability` of .45, 13 of 18
prompts of work get one, which says what is needed for 6, and none of 15 that nothing belongs to; on three other
projects 8, 3, and 1 of 15."""

FALL: Final = 4.0
"""Units of the ranking in which a score falls to 1/e, as for memories."""

NEARLY: Final = 0.6
"""Score, as a share of that of a passage before it, from which on a newer one may come first."""

ALIKE: Final = 0.2
"""Share of the words of the shorter of two such passages that the other has, from which on they are about one thing. Of
24 corrections 12 come before what they correct with these two numbers, 9 without; with .3 of the words 10."""

SAID: Final = 0.8
"""Share of the words of a memory that a passage has which says it."""

REORDERED: Final = 5
"""First passages of an answer that may change places."""

CHANNEL: Final = "session"
"""`channel` of a passage among memories."""

GAP: Final = " … "
"""Between parts of a passage that are not beside each other."""


def considers_passages(query: Query) -> bool:
    """Return True if the passages of a store can answer a query: it asks for nothing that only a memory has."""
    wanted = query.filter
    own = msgspec.structs.replace(
        wanted, scope=Filter().scope, all_sessions=False, strict_scope=False, strict_project=False, created=None,
        window=None, now_us=None, clock_us=None,
    )  # fmt: skip
    return query.kind != "memory" and query.profile == MNEMOND.name and query.mode in (None, "none") and own == Filter()


class Found(NamedTuple):
    """Passages of an answer, best first: their rows, scores as memories have them, signals, and pieces by score."""

    rows: list[int]
    scores: list[float]
    keyword: list[float]
    similarity: list[float]
    pieces: list[list[int]]


def passages_for(snapshot: PassageSnapshot, query: Query, vector: Vector | None, most: int) -> list[Hit]:
    """Return up to `most` passages that answer a query, best first. `vector`: of its text, by the embedder of the
    passages; None: words decide alone. The outline of the last session comes first for a question where the work
    stands. A query that names no project sees the passages of the one that it comes from, and of none."""
    wanted = query.filter
    if wanted.scope.project is None and query.here:
        wanted = msgspec.structs.replace(wanted, scope=msgspec.structs.replace(wanted.scope, project=query.here))
    rows = np.flatnonzero(snapshot.visible(wanted))
    if asks_for_last_session(query.text):
        return _last_session(snapshot, snapshot.of_agents(rows))
    terms = list(dict.fromkeys([*question_terms(query.text), *inner_terms(query.text)]))
    said = [term for term, empty in zip(terms, empty_terms(terms).foreign, strict=True) if not empty]
    if not len(rows) or not (said or terms):
        return []
    found = _ranked(snapshot, rows, said or terms, vector, most)
    return newer_first(snapshot, [_hit(snapshot, found, place) for place in range(len(found.rows))])


def _last_session(snapshot: PassageSnapshot, rows: Rows) -> list[Hit]:
    """Return the outline of the last session among passages, as the excerpt of its last answer; nothing if it has
    none."""
    said, found = last_outline(snapshot, rows)
    if not said:
        return []
    signals = Signals(keyword=1.0, entity=0.0, similarity=0.0, graph=0.0)
    last = next(each for each in reversed(said) if each.answer)
    content = shown(last, GAP.join((*found.outcome, *found.open)))
    return [Hit(content, 1.0, "high", ("keyword",), signals, session=session_label(last))]


def _ranked(snapshot: PassageSnapshot, rows: Rows, terms: Sequence[str], vector: Vector | None, most: int) -> Found:
    keyword = snapshot.words(terms, OF_PASSAGES)
    scores = np.zeros(len(keyword), dtype=np.float32) if vector is None else snapshot.cosines(vector)
    if len(rows) < len(keyword):
        keyword, scores = keyword[rows], scores[rows]
    scores = np.float32(WORDS) * _spread(keyword) + _spread(scores)
    first = np.arange(len(rows))
    if len(rows) > SHORTLIST:
        first = np.sort(np.argpartition(scores, len(rows) - SHORTLIST)[-SHORTLIST:])
    parts = snapshot.pieces_of(rows[first])
    of_words = snapshot.piece_words(terms, rows[first], parts, OF_PIECES)
    of_meaning = np.zeros_like(of_words) if vector is None else snapshot.piece_cosines(vector, parts.rows)
    each = _spread(of_words) + _spread(of_meaning)
    total = scores[first] + _spread(np.maximum.reduceat(each, parts.starts))
    words, similar = keyword[first], np.maximum(np.maximum.reduceat(of_meaning, parts.starts), np.float32(0.0))
    order = np.argsort(-total, kind="stable")
    kept = order[(words[order] > 0.0) | (similar[order] > 0.0)][:most]
    if not len(kept):
        return Found([], [], [], [], [])
    evidence = 0.5 * float(words[kept[0]] + similar[kept[0]])
    behind = total[kept[0]] - total[kept]
    ends = np.append(parts.starts[1:], len(each))
    own = [each[parts.starts[at] : ends[at]] for at in kept.tolist()]
    return Found(
        rows[first[kept]].tolist(),
        ((0.5 + 0.5 * min(1.0, evidence)) * np.exp(-behind / FALL)).tolist(),
        words[kept].tolist(),
        similar[kept].tolist(),
        [np.argsort(-mine, kind="stable").tolist() for mine in own],
    )


def _spread(signal: Floats) -> Floats:
    """Return a signal in units of its standard deviation, around its mean; zeros if all are the same."""
    apart: Floats = signal - signal.mean()
    deviation = math.sqrt(float(np.dot(apart, apart)) / len(apart))
    return apart * np.float32(1.0 / deviation) if deviation else apart


def _hit(snapshot: PassageSnapshot, found: Found, place: int) -> Hit:
    row = found.rows[place]
    passage = snapshot.passage(row)
    keyword, similarity = found.keyword[place], found.similarity[place]
    signals = Signals(keyword=six(keyword), entity=0.0, similarity=six(similarity), graph=0.0)
    via = tuple(name for name, value in (("keyword", keyword), ("similarity", similarity)) if value > 0.0)
    return Hit(
        shown(passage, excerpt(snapshot.pieces_text(row), found.pieces[place])),
        found.scores[place],
        label(math.sqrt(max(0.0, 0.5 * (keyword + similarity))), MNEMOND.confidence),
        via,
        signals,
        session=session_label(passage),
    )


def needed_probability(keyword: float, similarity: float) -> float:
    """Return how probable it is that a prompt needs a passage with these signals, in [0, 1]."""
    return min(1.0, PROBABLE * 0.5 * (keyword + similarity)) if keyword >= NEEDED_WORDS else 0.0


def newer_first(snapshot: PassageSnapshot, hits: Sequence[Hit]) -> list[Hit]:
    """Put the newer of two passages that are about one thing and nearly as good first, with the score of the place that
    it takes: what it says holds, where the two differ."""
    ordered = list(hits)
    for place in range(min(REORDERED, len(ordered))):
        for other in range(place + 1, min(REORDERED, len(ordered))):
            older, newer = ordered[place], ordered[other]
            if newer.insight.created_at <= older.insight.created_at or newer.score < NEARLY * older.score:
                continue
            if snapshot.overlap(older.insight.id, newer.insight.id) >= ALIKE:
                ordered.insert(place, ordered.pop(other))
    scores = sorted((hit.score for hit in hits), reverse=True)
    return [
        hit if hit.score == score else msgspec.structs.replace(hit, score=score)
        for hit, score in zip(ordered, scores, strict=True)
    ]


def excerpt(texts: Sequence[str], order: Sequence[int], most: int = EXCERPT) -> str:
    """Return those of the pieces `texts` that answer best, as they were said; `order`: their numbers, best first. A
    piece is never cut, but one that is too long by itself."""
    chosen: list[int] = []
    room = most
    for number in order:
        if len(texts[number]) <= room or not chosen:
            chosen.append(number)
            room -= len(texts[number])
    chosen.sort()
    parts = [texts[chosen[0]]]
    for before, number in pairwise(chosen):
        parts += [" " if number == before + 1 else GAP, texts[number]]
    return "".join(parts)[:most]


def shown(passage: Passage, content: str) -> Insight:
    """Return a passage in the form of a memory, for a result beside memories."""
    return Insight(
        id=passage.id, content=content, created_at=passage.said_at, updated_at=passage.said_at, source=passage.host,
        channel=CHANNEL, category="passage", conversation_id=passage.conversation_id or None, scope=passage.scope,
    )  # fmt: skip


def session_label(passage: Passage) -> str:
    """Return where a passage is from: "session of 2026-11-27 in shop, user/assistant", "conversation with chatgpt of
    2025-05-01, user/assistant"."""
    project = project_parts(passage.project)[0] if passage.project else ""
    speakers = [name for name, text in (("user", passage.prompt), ("assistant", passage.answer)) if text]
    place = f" in {project}" if project else ""
    by = "summary by the host" if passage.kind == "summary" else "/".join(speakers)
    what = f"conversation with {passage.host}" if passage.host in CHATS else "session"
    return f"{what} of {passage.said_at[:10]}{place}, {by}"


# Among memories


def with_passages(
    snapshot: PassageSnapshot | None, memories: Sequence[Hit], passages: Sequence[Hit], limit: int
) -> tuple[Hit, ...]:
    """Put passages among memories by their scores; the order of either stays. A memory comes before the passage that
    it is from, and a memory of low confidence after every other result, as passages do that none of more confidence
    follows: a doubtful memory then hides no passage (of 75 questions 57 have their answer among the first three, 45 by
    scores alone)."""
    if snapshot is None or not passages:
        return tuple(memories[:limit])
    last = max((at for at, hit in enumerate(passages) if not _is_low(hit)), default=-1) + 1
    sure = _merged(snapshot, [hit for hit in memories if not _is_low(hit)], passages[:last])
    doubtful = _merged(snapshot, [hit for hit in memories if _is_low(hit)], passages[last:])
    return tuple([*sure, *doubtful][:limit])


def _is_low(hit: Hit) -> bool:
    return hit.confidence == CONFIDENCES[0]


def _merged(snapshot: PassageSnapshot, memories: Sequence[Hit], passages: Sequence[Hit]) -> list[Hit]:
    left, merged = list(passages), list[Hit]()
    for memory in memories:
        while left and left[0].score >= memory.score and not says(snapshot, left[0].insight.id, memory.insight.content):
            merged.append(left.pop(0))
        merged.append(memory)
    return [*merged, *left]


def says(snapshot: PassageSnapshot, passage_id: str, content: str) -> bool:
    """Return True if a passage has the words of a memory, but for those that were added to it."""
    return snapshot.share_of(question_terms(content), passage_id) >= SAID
