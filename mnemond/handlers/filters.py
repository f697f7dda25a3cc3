"""What a request says of the memories it wants, as the filter of a read: every field checked, all problems at once."""

from __future__ import annotations

from datetime import date, timedelta
from typing import cast

from mnemond.errors import FieldProblem, invalid
from mnemond.handlers.scope import scope_of
from mnemond.index.snapshot import Snapshot
from mnemond.model.conditions import Condition
from mnemond.model.insight import CATEGORIES, STATUSES, Status
from mnemond.model.recall import Filter, Span
from mnemond.model.timestamp import parse_rfc3339
from mnemond.pipelines.conditions import condition_of
from mnemond.pipelines.fields import choice_problems
from mnemond.protocol.types import FilterParams
from mnemond.text.prompt_size import quarters

DESCRIBED_INLINE = 1_000
"""Rows of which the metadata are looked at on the event loop, one by one: about 2 ms."""


def filter_of(params: FilterParams, clock_us: int, more: list[FieldProblem] | None = None) -> Filter:
    """Which memories a read may find, at `clock_us` on the machine's clock.

    Raises MnemonError(INVALID_PARAMS) with every problem of its fields, and `more` of the request.
    """
    problems: list[FieldProblem] = []
    if params.category is not None:
        problems += choice_problems("category", params.category, CATEGORIES)
    if params.status is not None:
        problems += choice_problems("status", params.status, STATUSES)
    created = _span("since", "until", params.since, params.until, problems)
    event = _span("event_since", "event_until", params.event_since, params.event_until, problems)
    as_of = _moment("as_of", params.as_of, problems)
    now = _moment("now", params.now, problems)
    metadata = _condition(params.metadata, problems)
    if problems or more:
        raise invalid([*problems, *(more or [])])
    return Filter(
        category=params.category, source=params.source, scope=scope_of(params), all_sessions=params.all_sessions,
        strict_scope=params.strict_scope, channel=params.channel, stated_intent=params.stated_intent,
        tags_all=params.tags, tags_any=params.any_tags, entity=params.entity,
        min_importance=params.min_importance, created=created, event=event,
        status=cast("Status | None", params.status), metadata=metadata, now_us=clock_us if now is None else now,
        clock_us=clock_us, as_of_us=as_of, include_invalid=params.include_invalid,
    )  # fmt: skip


def is_slow(wanted: Filter, snapshot: Snapshot) -> bool:
    """Whether telling what a reader may see takes too long for the event loop."""
    return wanted.metadata is not None and snapshot.rows > DESCRIBED_INLINE


LONG_QUESTION = 600
"""Quarters of a token that are read on the event loop: of 600 letters a recall takes 2 ms longer, of 150 Chinese
characters as well; of 8,000 it takes 7 and 16."""


def is_long_question(text: str) -> bool:
    """Whether reading a question takes too long for the event loop."""
    return len(text) > LONG_QUESTION or quarters(text) > LONG_QUESTION


def _span(first: str, last: str, since: str | None, until: str | None, problems: list[FieldProblem]) -> Span | None:
    before = len(problems)
    span = Span(_moment(first, since, problems), _moment(last, until, problems, end=True))
    if span == Span() or len(problems) > before:
        return None
    if span.since_us is not None and span.until_us is not None and span.since_us >= span.until_us:
        problems.append(FieldProblem(last, f"{last} is not after {first}"))
    return span


def _moment(field: str, value: str | None, problems: list[FieldProblem], *, end: bool = False) -> int | None:
    """Microseconds of an RFC 3339 timestamp, or of the day in UTC that YYYY-MM-DD means: of its beginning, or of its
    end with `end`. The last day there is ends with its last moment, for want of a day after it."""
    if value is None:
        return None
    try:
        return parse_rfc3339(_timestamp(value, end=end))
    except ValueError as error:
        problems.append(FieldProblem(field, f"{field}: {error}, nor a day such as 2026-02-18"))
        return None


def _timestamp(value: str, *, end: bool) -> str:
    if len(value) != len("2026-02-18"):
        return value
    try:
        day = date.fromisoformat(value)
    except ValueError:
        return value
    if end and day == date.max:
        return f"{day.isoformat()}T23:59:59.999999Z"
    return f"{day + timedelta(days=int(end))}T00:00:00Z"


def _condition(asked: object, problems: list[FieldProblem]) -> Condition | None:
    if asked is None:
        return None
    condition, wrong = condition_of(asked)
    problems += wrong
    return condition
