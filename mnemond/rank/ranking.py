"""The numbers of the default ranking, as data; where they come from is in docs/decisions/0015-two-stage-ranking.md."""

from __future__ import annotations

import msgspec


class Shortlisting(msgspec.Struct, frozen=True):
    """Stage one, over all rows: the best `rows` by words and by meaning, and those beside them.

    `mass` and `cosine` bring BM25 (as a share of the greatest that the words of a question can come to) and cosines to
    one scale: their spread over an ordinary store. A word's relatives in meaning count for `soft` times their cosine;
    a list of rows longer than `soft_share` of all is left out, and in all `soft_postings` are read.
    """

    rows: int = 150
    mass: float = 0.1
    cosine: float = 0.075
    soft: float = 0.3
    soft_share: float = 0.2
    soft_postings: int = 30_000


class Context(msgspec.Struct, frozen=True):
    """What a row takes from the rows beside it in its conversation: shares of their words, `near` of the next ones and
    `far` of those behind them, `answer` more of one that asks (a share above `asks` of its text).

    Rows of more than `short` terms neither give nor take as much: min(1, short / terms) on both sides. `spread`: how
    much longer rows are with what they take, on average.
    """

    near: float = 0.4
    far: float = 0.32
    answer: float = 1.0
    asks: float = 0.32
    short: float = 30.0
    spread: float = 1.3


class Bonuses(msgspec.Struct, frozen=True):
    """What counts beside words and meaning, in units of their spread over the candidates.

    `speaker`: the question names who said it; then what only asks loses `question` times its share. `when`: the
    question asks for a time and the row has a date, and `precise` more for one of no more than `precise_days`.
    `window`: made, and again spoken of, in the time that is asked about. `adjacency`: words side by side as in the
    question, as a share of its weight, for the best `adjacency_rows`. `brief`: rows of a conversation with fewer than
    `brief_terms` terms say little. `assistant`: what an assistant said is seldom what a user wants to be reminded of,
    unless it was kept as something, a decision or a fact.
    """

    speaker: float = 0.8
    question: float = 1.6
    when: float = 1.3
    precise: float = 0.3
    precise_days: float = 8.0
    window: float = 0.6
    adjacency: float = 1.6
    adjacency_rows: int = 64
    brief: float = 0.4
    brief_terms: float = 13.0
    assistant: float = 1.6


class Updating(msgspec.Struct, frozen=True):
    """When a newer row goes above an older one that it corrects: among the best `rows`, with a cosine of at least
    `cosine`, and at least `cover` of the question's words that the older one has."""

    rows: int = 20
    cosine: float = 0.7
    cover: float = 0.4


class Ranking(msgspec.Struct, frozen=True):
    """All of them. `k1` of BM25, whose b is 1; `keyword` and `vector` share the sum of both signals; agreement is
    judged by the best `agreement_rows`."""

    k1: float = 1.2
    keyword: float = 0.55
    vector: float = 0.45
    agreement_rows: int = 10
    shortlisting: Shortlisting = Shortlisting()
    context: Context = Context()
    bonuses: Bonuses = Bonuses()
    updating: Updating = Updating()
