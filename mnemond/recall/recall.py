"""Read path: from a question to ranked memories, on one snapshot and without I/O.

Which rows a reader may see is decided before anything is ranked: no hidden row takes a place, gives a neighbour its
words or its name, or has a part in the scale of the signals. What is counted over the whole store: how rare a word is,
how long memories are on average, and how many of them are too many for a relative of a word.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, NoReturn, TypeAlias

import msgspec
import numpy as np

from mnemond.config.settings import RerankSettings, RetrievalSettings
from mnemond.embed.embedder import Embedder
from mnemond.errors import NOT_FOUND, FieldProblem, MnemonError, invalid
from mnemond.index.arrays import Rows
from mnemond.index.bm25 import Bm25
from mnemond.index.columns import PREFIX_LENGTH, ends_us, event_us, valid_us
from mnemond.index.filters import metadata_of
from mnemond.index.snapshot import Snapshot
from mnemond.memory.history import any_row
from mnemond.model.answers import (
    RecallMeta,
    RerankMeta,
    RetiredResult,
    RetiredView,
    SearchHit,
    Signals,
    WindowView,
    insight_view,
    six,
)
from mnemond.model.changes import Vector
from mnemond.model.memory import Insight, Scope, format_us, parse_rfc3339
from mnemond.model.query import (
    LISTED,
    OPERATORS,
    AllOf,
    AnyOf,
    Compare,
    Condition,
    Filter,
    Hit,
    NoneOf,
    Query,
    Recalled,
    Scalar,
    Span,
    Window,
    holds,
)
from mnemond.recall.default_profile import NAMED, measured_hits
from mnemond.recall.fusion import RankedList, reciprocal_rank_fusion
from mnemond.recall.profiles import CONSIDERED, MNEMOND, PROFILES_BY_NAME, Profile, label, profile_named, weighed
from mnemond.recall.published_profiles import literal_hits
from mnemond.recall.question import entity_matches, question_entities, question_terms, question_vector
from mnemond.recall.rerank import SHORT_QUERY, Reranked, RerankRequest, rerank
from mnemond.recall.result_order import SPARSE_RESULTS, RankingRequest, arranged, compared
from mnemond.store import insights
from mnemond.store.connection import Connection
from mnemond.text.cues import intent_of
from mnemond.text.entities import canonical_name
from mnemond.text.query_window import query_window
from mnemond.text.tokens import fold, index_terms

EMPTY_QUERY = "empty_query"


class Stages:
    """Milliseconds between laps, to the microsecond, by name, in the order they ran."""

    def __init__(self, stopwatch: Callable[[], float]) -> None:
        self._stopwatch = stopwatch
        self._last = stopwatch()
        self.ms: dict[str, float] = {}

    def lap(self, name: str) -> None:
        """What was done since the last lap."""
        now = self._stopwatch()
        self.ms[name] = round((now - self._last) * 1e6) / 1e3
        self._last = now


def recall(
    snapshot: Snapshot,
    query: Query,
    embedder: Embedder | None,
    stopwatch: Callable[[], float],
    settings: RetrievalSettings | None = None,
) -> Recalled:
    """The best `query.limit` visible memories, with the signals that put them there.

    `settings`: those of the store; None: those of the ranking as published. `stopwatch` returns seconds from a clock
    that never goes back. Without an embedder, or for a query it has no vector for, words answer alone. A query without
    a single term finds what it names, and the newest memories.
    """
    stages = Stages(stopwatch)
    if settings is None:
        profile = PROFILES_BY_NAME[query.profile]
        settings = profile.settings
    else:
        profile = profile_named(query.profile, settings)
    if not question_terms(query.text):
        return _newest(snapshot, query, profile, stages)
    vector, embed_error = _vector(snapshot, query, embedder)
    stages.lap("embed")
    sought = _sought(snapshot, query, profile, vector, embedder)
    stages.lap("question")
    find = measured_hits if profile.fusion == "measured" else literal_hits
    found = find(snapshot, _shortlisted(sought, profile, settings.rerank), profile, stages.lap)
    weighed_hits = _weighed(snapshot, sought, profile, found.hits, stages)
    looked = _second_look(snapshot, sought, weighed_hits, settings.rerank, stages)
    hits = arranged(snapshot, _explained(query, looked, profile), sought)
    stages.lap("order")
    meta = RecallMeta(
        intent=sought.intent,
        intent_source=_intent_source(query),
        anchor_count=found.anchors,
        traversed=found.traversed,
        mode=found.mode,
        weights=tuple(round(weight, 6) for weight in found.weights.values()),
        embedding=None if embedder is None or vector is None else embedder.name,
        window=_shown_window(sought.window),
        hint=SPARSE_RESULTS if len(hits) < query.limit / 2 else None,
        rerank=RerankMeta(looked.applied, looked.reason),
        stages_ms=stages.ms,
        took_ms=0.0,
        store="",
        profile=profile.name,
        trust=round(found.trust, 6),
        seed=found.seed,
        draws=found.draws,
    )
    return Recalled(hits, meta, embed_error)


def _shown_window(window: Window | None) -> WindowView | None:
    return None if window is None else WindowView(_day(window.start_us), _day(window.end_us), window.hard)


def _day(us: int) -> str:
    """A moment of a window; one that is open on a side ends with the first or last day that can be written."""
    return format_us(min(max(us, FIRST_US), LAST_US))


FIRST_US, LAST_US = parse_rfc3339("0001-01-01T00:00:00Z"), parse_rfc3339("9999-12-31T00:00:00Z")


def _shortlisted(sought: RankingRequest, profile: Profile, reranking: RerankSettings) -> RankingRequest:
    """The same question for as many results as what comes after the ranking wants."""
    query = sought.query
    most = max(
        query.limit,
        reranking.shortlist if query.rerank else 0,
        CONSIDERED if profile.settings.prior.weight > 0.0 else 0,
    )
    return sought if most == query.limit else sought._replace(query=msgspec.structs.replace(query, limit=most))


def _weighed(
    snapshot: Snapshot, sought: RankingRequest, profile: Profile, hits: Sequence[Hit], stages: Stages
) -> Sequence[Hit]:
    """With what speaks for each whatever is asked, where a profile minds it."""
    if profile.settings.prior.weight <= 0.0:
        return hits
    found = weighed(snapshot, hits, sought.query.now_us, profile)
    stages.lap("prior")
    return found


def _second_look(
    snapshot: Snapshot, sought: RankingRequest, hits: Sequence[Hit], settings: RerankSettings, stages: Stages
) -> Reranked:
    """The best of `hits`, after a reranker had its say where one is wanted."""
    query = sought.query
    if not query.rerank:
        return Reranked(tuple(hits[: query.limit]), applied=False)
    request = RerankRequest(query.text, query.filter.scope, query.now_us or 0)
    looked = rerank(snapshot, request, hits, settings=settings)
    stages.lap("rerank")
    return looked._replace(hits=looked.hits[: query.limit])


def _explained(query: Query, looked: Reranked, profile: Profile) -> Sequence[Hit]:
    """With what puts each above the next, which parts tell of the first look alone, and in the default ranking not of a
    prior either."""
    plain = not looked.applied and (profile.fusion != "measured" or profile.settings.prior.weight <= 0.0)
    return compared(looked.hits) if query.explain and plain else looked.hits


def needs_vector(snapshot: Snapshot, query: Query) -> bool:
    """Whether an embedder of the snapshot's vectors, if there is one, has anything to say to a query."""
    wanted = query.anchors is None or "vector" in query.anchors
    return wanted and snapshot.embedded > 0 and bool(question_terms(query.text))


def _vector(snapshot: Snapshot, query: Query, embedder: Embedder | None) -> tuple[Vector | None, str | None]:
    """None when the vector anchor has nothing to go by: not wanted, no model, no direction, or another dimension.

    With it, why the embedder is not to be had, when it should be.
    """
    if embedder is None or not needs_vector(snapshot, query):
        return None, None
    return question_vector(snapshot, query.text, embedder)


def _sought(
    snapshot: Snapshot, query: Query, profile: Profile, vector: Vector | None, embedder: Embedder | None
) -> RankingRequest:
    intent = query.intent or intent_of(query.text)
    named = None if query.now_us is None else query_window(query.text, query.now_us)
    if named is None:
        return RankingRequest(query, intent, None, vector, embedder, snapshot.visible(query.filter))
    window = Window(named.start_us, named.end_us, named.hard and profile.hard_windows)
    visible = snapshot.visible(_within(query.filter, window) if window.hard else query.filter)
    if window.hard and visible is not None and not visible.any():  # nothing is from then: say what there is
        window = msgspec.structs.replace(window, hard=False)
        visible = snapshot.visible(query.filter)
    return RankingRequest(query, intent, window, vector, embedder, visible)


def _within(wanted: Filter, window: Window) -> Filter:
    return msgspec.structs.replace(wanted, window=Span(window.start_us, window.end_us))


def _newest(snapshot: Snapshot, query: Query, profile: Profile, stages: Stages) -> Recalled:
    """What a query of nothing but function words and punctuation gets: what it names ("The Who"), and the newest."""
    visible = snapshot.visible(query.filter)
    anchors = profile.settings.anchors
    named = entity_matches(snapshot, question_entities(snapshot, query.text), visible, anchors.top_k)
    newest = snapshot.newest_rows(visible, query.limit)
    lists = {"entity": named.rows, "recency": newest}
    fused = reciprocal_rank_fusion(
        snapshot, [RankedList(rows) for rows in lists.values() if len(rows)], profile.settings.anchors.rrf_k
    )
    shares = dict(zip(named.rows.tolist(), named.shares.tolist(), strict=True))
    found = {name: frozenset(rows.tolist()) for name, rows in lists.items()}
    hits = [
        _unasked(snapshot, row, [name for name, rows in found.items() if row in rows], shares.get(row, 0.0), profile)
        for row in fused.rows[: query.limit].tolist()
    ]
    intent = query.intent or intent_of(query.text)
    stages.lap("select")
    arrangement = arranged(snapshot, hits, RankingRequest(query, intent, None, None, None, None))
    meta = _unranked(
        arrangement, stages.ms, intent=intent, intent_source=_intent_source(query), hint=EMPTY_QUERY,
        rerank=RerankMeta(reason=SHORT_QUERY if query.rerank else None), profile=query.profile,
    )  # fmt: skip
    return Recalled(arrangement, meta)


def _unranked(hits: Sequence[Hit], stages_ms: dict[str, float], **fields: object) -> RecallMeta:
    """Details of an answer for which nothing was weighed."""
    meta = RecallMeta(
        intent="GENERAL", intent_source="none", anchor_count=len(hits), traversed=0, mode="none", weights=(0.0,) * 4,
        embedding=None, window=None, hint=None, rerank=RerankMeta(), stages_ms=stages_ms, took_ms=0.0, store="",
    )  # fmt: skip
    return msgspec.structs.replace(meta, **fields)


def _unasked(snapshot: Snapshot, row: int, via: Sequence[str], share: float, profile: Profile) -> Hit:
    """A result for which no word speaks, but perhaps a name."""
    evidence = label(math.sqrt(NAMED * share), profile.confidence)
    signals = Signals(keyword=0.0, entity=six(min(1.0, share)), similarity=0.0, graph=0.0)
    return Hit(snapshot.insight(row), 0.0, evidence, tuple(via), signals)


def _intent_source(query: Query) -> Literal["auto", "given"]:
    return "auto" if query.intent is None else "given"


# The rules of a `Filter` for one memory that no index has: the same as `index/filters.py`, which has columns.


def admits(wanted: Filter, it: Insight) -> bool:
    """Whether a reader may see a memory."""
    return (
        _states(wanted, it)
        and _meant_for(wanted, it)
        and _valid(wanted, it)
        and _timely(wanted, it)
        and _names(wanted, it)
        and (wanted.metadata is None or holds(wanted.metadata, metadata_of(it.metadata)))
    )


def _states(wanted: Filter, it: Insight) -> bool:
    asked = (wanted.category, wanted.source, wanted.channel, wanted.stated_intent)
    given = (it.category, it.source, it.channel, it.intent)
    return (
        all(value in (None, had) for value, had in zip(asked, given, strict=True))
        and it.importance >= wanted.min_importance
        and not it.quarantined
    )


def _meant_for(wanted: Filter, it: Insight) -> bool:
    scope, its = wanted.scope, it.scope
    pairs = ((scope.user_id, its.user_id), (scope.session_id, its.session_id), (scope.agent_id, its.agent_id))
    if scope.session_id is None and its.session_id is not None and not wanted.all_sessions:
        return False
    return all(asked is None or had == asked or (had is None and not wanted.strict_scope) for asked, had in pairs)


def _valid(wanted: Filter, it: Insight) -> bool:
    if wanted.status is not None:
        right = it.status == wanted.status
    else:
        right = it.status != "forgotten" if wanted.historic else it.status == "active"
    created = parse_rfc3339(it.created_at)
    start, end = valid_us(it, created), ends_us(it)
    if wanted.as_of_us is not None:
        return right and start <= wanted.as_of_us and (wanted.include_invalid or wanted.as_of_us < end)
    now = wanted.now_us
    if wanted.include_invalid or now is None or wanted.status not in (None, "active"):
        return right
    clock = max(now, wanted.clock_us or now)
    return right and now < end and (start <= now or (start <= created and start <= clock))


def _timely(wanted: Filter, it: Insight) -> bool:
    created = parse_rfc3339(it.created_at)
    made = (created, created)
    event = event_us(it)
    return (
        _overlaps(made, wanted.created)
        and _overlaps(event, wanted.event)
        and (_overlaps(made, wanted.window) or _overlaps(event, wanted.window))
    )


def _overlaps(times: tuple[int, int], span: Span | None) -> bool:
    if span is None:
        return True
    start, end = times
    since, until = span.since_us, span.until_us
    return start <= end and (since is None or end >= since) and (until is None or start < until)


def _names(wanted: Filter, it: Insight) -> bool:
    tags = set(map(fold, it.tags))
    return (
        all(fold(tag) in tags for tag in wanted.tags_all)
        and (not wanted.tags_any or any(fold(tag) in tags for tag in wanted.tags_any))
        and (wanted.entity is None or canonical_name(wanted.entity) in set(map(canonical_name, it.entities)))
    )


# recall --basic: the memories whose text has the question in it, letter for letter, newest first.
#
# What SQL writes `content LIKE '%' || question || '%'` with %, _ and \ escaped: nothing in a question is a pattern.
# LIKE minds no case of ASCII letters; here case is minded in no script (Unicode case folding).


Steps: TypeAlias = Iterator[Recalled | None]

NOTHING = Signals(keyword=0.0, entity=0.0, similarity=0.0, graph=0.0)
"""Nothing is ranked, so nothing speaks for a result but that it is one."""

STEP = 1_000
"""Rows that are looked at in one go, as long as they are short: about 1 ms.

100,000 texts of 180 characters take 60 to 90 ms. A scan by SQLite takes 30, but in the thread that writes, for which
every remember would wait, and it knows neither the filters nor the generation that every other read goes by. While a
thread of its own scans, whoever else has something to do waits 5.3 ms at the median for the interpreter; beside a scan
in steps .6 ms.
"""


CHARACTERS = 100_000
"""Characters that are: 2 ms where letters are folded one by one, as all but those of ASCII are."""

PACK = 10
"""Rows after which characters are counted: as long as they may be, they are not many more than a step has."""


def basic_steps(snapshot: Snapshot, query: Query, stopwatch: Callable[[], float]) -> Steps:
    """The `query.limit` newest visible memories with `query.text` in them, at the end; None before it, after
    each `STEP` rows or `CHARACTERS`. `stopwatch` returns seconds.

    An empty text is in every memory. Scores and signals are 0 and the confidence is low, for nothing was weighed.
    """
    started = stopwatch()
    wanted = query.text.casefold()
    found: list[Hit] = []
    rows = _newest_first(snapshot, query)
    unread = CHARACTERS
    for start in range(0, len(rows), PACK):
        pack = [snapshot.insight(row) for row in rows[start : start + PACK].tolist()]
        found += [_hit(insight) for insight in pack if wanted in insight.content.casefold()]
        if len(found) >= query.limit:
            break
        unread -= sum(len(insight.content) for insight in pack)
        if unread <= 0 or (start + PACK) % STEP == 0:
            yield None
            unread = CHARACTERS
    del found[query.limit :]
    stages_ms = {"select": round((stopwatch() - started) * 1e6) / 1e3}
    hint = SPARSE_RESULTS if len(found) < query.limit / 2 else None
    yield Recalled(tuple(found), _unranked(found, stages_ms, mode="basic", hint=hint))


def _hit(insight: Insight) -> Hit:
    return Hit(insight, 0.0, "low", ("basic",), NOTHING)


def recall_basic(snapshot: Snapshot, query: Query, stopwatch: Callable[[], float]) -> Recalled:
    """The same, all steps taken at once."""
    *_, found = basic_steps(snapshot, query, stopwatch)
    assert found is not None, "what is found comes last"  # noqa: S101
    return found


def is_quick(snapshot: Snapshot) -> bool:
    """Whether one step is enough, whatever is asked for."""
    return snapshot.rows <= STEP and _characters(snapshot) <= CHARACTERS


def _characters(snapshot: Snapshot) -> int:
    return sum(len(snapshot.insight(row).content) for row in range(snapshot.rows))


def _newest_first(snapshot: Snapshot, query: Query) -> Rows:
    """The visible rows; of equal times the one stored later is newer."""
    mask = snapshot.visible(query.filter)
    rows = np.arange(snapshot.rows) if mask is None else np.flatnonzero(mask)
    newest: Rows = rows[np.argsort(snapshot.columns.created_us[rows], kind="stable")[::-1]]
    return newest


# Conditions on metadata as a request writes them (the operators of Mem0, spec 2.3), read into values.
#
# `{"project": "apollo"}` is equality, `{"build": {"gte": 3, "lt": 9}}` compares, `{"ticket": "*"}` asks for anything
# at all; several keys must all hold, and `AND`, `OR` and `NOT` each take a list of such objects.


MOST = 100
"""Comparisons in one filter: it is tried on every memory that passed the others."""

DEEPEST = 8
"""Objects inside each other."""

LONGEST_LIST = 1000
"""Values of `in` and the like."""

MAX_VALUES = LONGEST_LIST + MOST
"""Values of all comparisons of one filter: one list as long as any, beside everything else. A hundred such lists would
be tried on every memory."""

FIELD = "metadata"

_COMBINED: dict[str, type[AllOf | AnyOf | NoneOf]] = {"AND": AllOf, "OR": AnyOf, "NOT": NoneOf}
_NAMED = tuple(name for name in OPERATORS if name != "*")
_SHOWN = 40


class _RefusedError(Exception):
    """What is wrong, and where."""


def condition_of(asked: object) -> tuple[Condition | None, list[FieldProblem]]:
    """The condition that `asked` means, or what is wrong with it."""
    reader = _Reader()
    try:
        return reader.condition(asked, FIELD, 1), []
    except _RefusedError as error:
        return None, [FieldProblem(FIELD, str(error))]


class _Reader:
    def __init__(self) -> None:
        self._comparisons = 0
        self._values = 0

    def condition(self, asked: object, place: str, depth: int) -> Condition:
        if not isinstance(asked, Mapping) or not asked:
            _refuse(place, f'must be an object such as {{"project": "apollo"}}, not {_shown(asked)}')
        if depth > DEEPEST:
            _refuse(place, f"is nested more than {DEEPEST} deep")
        parts = [part for key, value in asked.items() for part in self._parts(str(key), value, place, depth)]
        return parts[0] if len(parts) == 1 else AllOf(tuple(parts))

    def _parts(self, key: str, value: object, place: str, depth: int) -> list[Condition]:
        here = f"{place}.{key[:_SHOWN]}"
        if key in _COMBINED:
            if not isinstance(value, list) or not value:
                _refuse(here, f"must be a list of objects, not {_shown(value)}")
            return [_COMBINED[key](tuple(self.condition(one, here, depth + 1) for one in value))]
        if isinstance(value, Mapping):
            if not value:
                _refuse(here, 'must name an operator, as in {"gte": 3}')
            return [self._compared(key, str(name), wanted, here) for name, wanted in value.items()]
        if value == "*":
            return [self._compared(key, "*", None, here)]
        return [self._compared(key, "eq", value, here)]

    def _compared(self, key: str, operator: str, value: object, place: str) -> Compare:
        self._comparisons += 1
        if self._comparisons > MOST:
            _refuse(FIELD, f"has more than {MOST} comparisons")
        if operator not in OPERATORS:
            near = difflib.get_close_matches(operator[:_SHOWN].casefold(), _NAMED, n=1)
            meant = f'; did you mean "{near[0]}"?' if near else ""
            _refuse(place, f"has the operator {operator[:_SHOWN]!a}; it must be one of {', '.join(_NAMED)}{meant}")
        compared = Compare(key, operator, _value(operator, value, place))
        self._values += len(compared.value) if isinstance(compared.value, tuple) else 1
        if self._values > MAX_VALUES:
            _refuse(FIELD, f"has more than {MAX_VALUES} values in all its comparisons")
        return compared


def _value(operator: str, value: object, place: str) -> Scalar | tuple[Scalar, ...]:
    if isinstance(value, list):
        if len(value) > LONGEST_LIST:
            _refuse(place, f"has {len(value)} values; {LONGEST_LIST} is the most")
        if operator not in (*LISTED, "eq", "ne"):
            _refuse(place, f'"{operator}" takes one value, not a list')
        return tuple(_scalar(one, place) for one in value)
    if operator in LISTED:
        _refuse(place, f'"{operator}" takes a list of values, not {_shown(value)}')
    return _scalar(value, place)


def _scalar(value: object, place: str) -> Scalar:
    if value is not None and not isinstance(value, str | int | float | bool):
        _refuse(place, f"must be compared with a text, a number, true, false or null, not {_shown(value)}")
    return value


def _refuse(place: str, why: str) -> NoReturn:
    raise _RefusedError(f"{place} {why}")


def _shown(value: object) -> str:
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "a truth value", type(None): "null"}
    if value in ({}, []):
        return "an empty one"
    return kinds.get(type(value), "a number")


# Where a page of memories goes on: after the memory that an id, or the beginning of one, names.


def page_start(connection: Connection, named: str) -> Insight:
    """The memory, active or retired, after which a page goes on. It is named and not shown, so whom it is for does not
    matter.

    Raises MnemonError(INVALID_PARAMS) for too short a beginning, NOT_FOUND, or AMBIGUOUS with the first matches.
    """
    if len(named) < PREFIX_LENGTH:
        sentence = f"before has {len(named)} characters; it needs {PREFIX_LENGTH}, as the beginning of any id does"
        raise invalid([FieldProblem("before", sentence)])
    return any_row(connection, named, Scope())


# list, of what left recall: a page of it, the last to leave first.


def retired(connection: Connection, wanted: Filter, limit: int, before: str | None) -> RetiredResult:
    """At most `limit` memories out of recall that a reader may see; with `wanted.status` those in that state.

    `before` is the id, or the beginning of it, of the last one of the page before. Raises MnemonError(NOT_FOUND) when
    that one is not out of recall, and what `page_start` raises.
    """
    start = None if before is None else _place(connection, before)
    found: list[tuple[Insight, str]] = []
    while len(found) <= limit:
        rows = insights.retired(connection, wanted, limit + 1, start)
        found += [row for row in rows if _admits(wanted, row[0])]
        if len(rows) <= limit:
            break
        start = rows[-1][1], rows[-1][0].id
    shown = [_retired_view(it, retired_at) for it, retired_at in found[:limit]]
    return RetiredResult(retired=shown, next=shown[-1].id if len(found) > limit else None)


def _retired_view(it: Insight, retired_at: str) -> RetiredView:
    assert it.status != "active", "it has a time when it left recall"  # noqa: S101
    return RetiredView(
        **msgspec.structs.asdict(insight_view(it)),
        status=it.status,
        superseded_by=it.superseded_by,
        retired_at=retired_at,
    )


def _admits(wanted: Filter, it: Insight) -> bool:
    """Out of recall for whatever reason, unless one is wanted."""
    return admits(msgspec.structs.replace(wanted, status=wanted.status or it.status), it)


def _place(connection: Connection, named: str) -> tuple[str, str]:
    start = page_start(connection, named).id
    moment = insights.retired_at(connection, start)
    if moment is None:
        raise MnemonError(
            NOT_FOUND,
            f"memory {start} is not out of recall, so no page of those that are goes on after it",
            hint="list again from the start",
            outcome="rejected",
        )
    return moment, start


# search: memories by their words alone, on one snapshot.


def search(
    snapshot: Snapshot, text: str, wanted: Filter, limit: int, parameters: Bm25 = MNEMOND.bm25
) -> list[SearchHit]:
    """The `limit` best visible memories that have a word of `text`, best first; ties as in `Snapshot.best`. Scores are
    BM25, as a part of what no memory can reach for these words."""
    terms = index_terms(text)
    if not terms:
        return []
    scores, bound = snapshot.keyword(terms, parameters)
    mask = snapshot.visible(wanted)
    rows = None if mask is None else np.flatnonzero(mask)
    if rows is not None:
        scores = scores[rows]
    scores = np.where(scores > 0.0, scores, np.float32(-1.0))  # a negative score is never chosen
    places = snapshot.best(scores, limit, rows)
    found = places if rows is None else rows[places]
    return [
        SearchHit(it.id, it.content, it.category, it.importance, it.tags, round(score / bound, 6))
        for it, score in zip(map(snapshot.insight, found.tolist()), scores[places].tolist(), strict=True)
    ]
