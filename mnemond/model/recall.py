"""What a recall asks and what it finds, before it takes its shape on the wire."""

from __future__ import annotations

from typing import Literal, get_args

import msgspec

from mnemond.model.conditions import Condition
from mnemond.model.insight import Insight, Scope, Status

Confidence = Literal["low", "medium", "high"]

Intent = Literal["WHY", "WHEN", "ENTITY", "GENERAL"]
INTENTS: tuple[str, ...] = get_args(Intent)
"""What kind of answer a question wants (spec 11.1)."""

ANCHORS: frozenset[str] = frozenset({"keyword", "vector", "recency", "entity"})
"""Every signal that can start a recall."""

Mode = Literal["none", "beam", "ppr", "probabilistic"]
MODES: tuple[str, ...] = get_args(Mode)
"""How links are followed from what was found (spec 11.3)."""

Order = Literal["score", "time"]

ProfileName = Literal["mnemond", "mnemon", "mnemosyne", "mem0"]
PROFILES: tuple[str, ...] = get_args(ProfileName)
"""Rankings: the one the measurements speak for, and those of three designs to the letter (spec 5)."""


class Span(msgspec.Struct, frozen=True):
    """A span of time in microseconds since the epoch, `until_us` exclusive. None: open on that side."""

    since_us: int | None = None
    until_us: int | None = None


class Filter(msgspec.Struct, frozen=True):
    """Which rows a read may see. Applied before anything is cut to a top-k.

    Scope: a row is visible iff, for each of user, session and agent given, the row's value equals it or is None (with
    `strict_scope` only if it equals it); rows with a session are hidden from readers that give none, unless
    `all_sessions`.

    What a row must be: of `category`, `source`, `channel` and `stated_intent` (that of the fact it was extracted as);
    with all of `tags_all` and one of `tags_any` (case does not matter); naming `entity` (under any of its spellings and
    aliases); of at least `min_importance`; made within `created`; speaking of an event that overlaps `event`; either of
    both for `window`; in the state `status`; with metadata that satisfy `metadata`.

    Validity is judged at `now_us`, the reader's own time; None: not judged. A row is valid from its `valid_from`, else
    its creation, until its `invalid_at` or `expires_at`, or until it was retired without either. One that says nothing
    of its validity but when it was made is valid for readers of an earlier `now_us` as well, once `clock_us` (None:
    `now_us`) has reached it. `as_of_us` judges at that time instead, and strictly; `include_invalid` does not mind what
    is not valid (any more). Both see retired rows, where there are any, but never what was forgotten. Quarantined rows
    are never seen.
    """

    category: str | None = None
    source: str | None = None
    scope: Scope = Scope()
    all_sessions: bool = False
    strict_scope: bool = False
    channel: str | None = None
    stated_intent: str | None = None
    tags_all: tuple[str, ...] = ()
    tags_any: tuple[str, ...] = ()
    entity: str | None = None
    min_importance: int = 1
    created: Span | None = None
    event: Span | None = None
    window: Span | None = None
    status: Status | None = None
    metadata: Condition | None = None
    now_us: int | None = None
    clock_us: int | None = None
    as_of_us: int | None = None
    include_invalid: bool = False

    @property
    def historic(self) -> bool:
        """Whether it asks for rows that left recall, which only an archive has."""
        return self.as_of_us is not None or self.include_invalid or self.status not in (None, "active")


class Query(msgspec.Struct, frozen=True):
    """One question. `anchors` says which signals take part; None: those of the profile.

    `intent` is what the asker says it is; None: what its words say. Its dates are told from `now_us` (microseconds);
    None: it has none. `mode` None: what the profile does. `seed` is that of a probabilistic walk; None: what the
    question's words make it. `order`: results by score, or by time. `explain`: say of each result how it came about.
    `rerank`: a second look at the best, word by word.
    """

    text: str
    limit: int = 10
    filter: Filter = Filter()
    anchors: frozenset[str] | None = None
    intent: Intent | None = None
    now_us: int | None = None
    profile: ProfileName = "mnemond"
    mode: Mode | None = None
    seed: int | None = None
    order: Order = "score"
    explain: bool = False
    rerank: bool = False


class Signals(msgspec.Struct, frozen=True, gc=False):
    """Every component of a score, each in [0, 1]; `graph` and `entity` are 0 until those anchors take part. `prior`:
    what speaks for a memory before anything is asked; `rerank`: what a second look says; None where they were not
    asked."""

    keyword: float
    entity: float
    similarity: float
    graph: float
    prior: float | None = None
    rerank: float | None = None


class Step(msgspec.Struct, frozen=True, gc=False):
    """One link that led to a result: the memory it left from, its type and weight."""

    source_id: str
    edge_type: str
    weight: float


class Explanation(msgspec.Struct, frozen=True, gc=False):
    """What a score was made of: every part by name, in the units the profile ranks by; `above`: what puts the result
    before the next one, the largest difference first."""

    parts: dict[str, float]
    above: tuple[str, ...] = ()


class Hit(msgspec.Struct, frozen=True, gc=False):
    """One result: the insight, its final score, and which anchors found it.

    `path`: the links it was reached by. `also`: other memories of the very same text, which stand behind this one.
    `first_score`: the score before a second look, where there was one.
    """

    insight: Insight
    score: float
    confidence: Confidence
    via: tuple[str, ...]
    signals: Signals
    path: tuple[Step, ...] = ()
    also: tuple[str, ...] = ()
    explanation: Explanation | None = None
    first_score: float | None = None


class Window(msgspec.Struct, frozen=True):
    """The span of time a question names, in microseconds, the end exclusive. `hard`: nothing else was looked at."""

    start_us: int
    end_us: int
    hard: bool


class Recalled(msgspec.Struct, frozen=True):
    """The answer to a query. Stage times in milliseconds, in the order they ran.

    `embed_error` says why the embedder could not be asked; keywords answered alone then. `traversed`: rows reached
    along links; `seed` and `draws` are those of a probabilistic walk. `trust` in the answer as a whole, in [0, 1].
    `reranked`: whether a second look had a say, `not_reranked` why it had none although it was wanted.
    """

    hits: tuple[Hit, ...]
    anchor_count: int
    weights: dict[str, float]
    embedding: str | None
    hint: str | None
    stages_ms: dict[str, float]
    embed_error: str | None = None
    intent: Intent = "GENERAL"
    intent_source: Literal["auto", "given", "none"] = "none"
    mode: str = "none"
    traversed: int = 0
    window: Window | None = None
    seed: int | None = None
    draws: int = 0
    trust: float = 1.0
    profile: str = "mnemond"
    reranked: bool = False
    not_reranked: str | None = None
