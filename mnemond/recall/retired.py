"""Pages of memories that left recall, and the rules of a filter for one memory."""

from __future__ import annotations

import msgspec

from mnemond.errors import NOT_FOUND, FieldProblem, MnemonError, invalid
from mnemond.index.columns import PREFIX_LENGTH, ends_us, event_us, valid_us
from mnemond.index.filters import metadata_of
from mnemond.memory.history import any_row
from mnemond.model.answers import RetiredResult, RetiredView, insight_view
from mnemond.model.memory import Insight, Scope, parse_rfc3339
from mnemond.model.query import Filter, Span, holds
from mnemond.store import insights
from mnemond.store.connection import Connection
from mnemond.text.entities import canonical_name
from mnemond.text.tokens import fold


def retired(connection: Connection, wanted: Filter, limit: int, before: str | None) -> RetiredResult:
    """Return up to `limit` visible memories that left recall, the last to leave first; only of `wanted.status` if set.

    `before`: the id, or its beginning, of the last memory of the page before. Raises MnemonError(NOT_FOUND) if that one
    did not leave recall, and the errors of `page_start`.
    """
    start = None if before is None else _position(connection, before)
    found: list[tuple[Insight, str]] = []
    while len(found) <= limit:
        rows = insights.retired(connection, wanted, limit + 1, start)
        found += [row for row in rows if _admits(wanted, row[0])]
        if len(rows) <= limit:
            break
        start = rows[-1][1], rows[-1][0].id
    shown = [_retired_view(it, retired_at) for it, retired_at in found[:limit]]
    return RetiredResult(retired=shown, next=shown[-1].id if len(found) > limit else None)


def page_start(connection: Connection, named: str) -> Insight:
    """Return the memory, active or retired, after which a page continues. It is not shown, so its scope is irrelevant.

    Raises MnemonError(INVALID_PARAMS) for too short a beginning, NOT_FOUND, or AMBIGUOUS with the first matches.
    """
    if len(named) < PREFIX_LENGTH:
        sentence = f"before has {len(named)} characters; it needs {PREFIX_LENGTH}, as the beginning of any id does"
        raise invalid([FieldProblem("before", sentence)])
    return any_row(connection, named, Scope())


def _retired_view(it: Insight, retired_at: str) -> RetiredView:
    assert it.status != "active", "it has a time when it left recall"  # noqa: S101
    return RetiredView(
        **msgspec.structs.asdict(insight_view(it)),
        status=it.status,
        superseded_by=it.superseded_by,
        retired_at=retired_at,
    )


def _admits(wanted: Filter, it: Insight) -> bool:
    return admits(msgspec.structs.replace(wanted, status=wanted.status or it.status), it)


def _position(connection: Connection, named: str) -> tuple[str, str]:
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


# A `Filter` for one memory outside of the index: the same rules as `index/filters.py` has for columns


def admits(wanted: Filter, it: Insight) -> bool:
    """Return True if a filter admits a memory."""
    return (
        _has_attributes(wanted, it)
        and _in_scope(wanted, it)
        and _is_valid(wanted, it)
        and _in_time(wanted, it)
        and _has_tags(wanted, it)
        and (wanted.metadata is None or holds(wanted.metadata, metadata_of(it.metadata)))
    )


def _has_attributes(wanted: Filter, it: Insight) -> bool:
    required = (wanted.category, wanted.source, wanted.channel, wanted.stated_intent)
    given = (it.category, it.source, it.channel, it.intent)
    return (
        all(value in (None, own) for value, own in zip(required, given, strict=True))
        and it.importance >= wanted.min_importance
        and not it.quarantined
    )


def _in_scope(wanted: Filter, it: Insight) -> bool:
    scope, its = wanted.scope, it.scope
    pairs = ((scope.user_id, its.user_id), (scope.session_id, its.session_id), (scope.agent_id, its.agent_id))
    if scope.session_id is None and its.session_id is not None and not wanted.all_sessions:
        return False
    return all(named is None or own == named or (own is None and not wanted.strict_scope) for named, own in pairs)


def _is_valid(wanted: Filter, it: Insight) -> bool:
    if wanted.status is not None:
        status_matches = it.status == wanted.status
    else:
        status_matches = it.status != "forgotten" if wanted.historic else it.status == "active"
    created = parse_rfc3339(it.created_at)
    start, end = valid_us(it, created), ends_us(it)
    if wanted.as_of_us is not None:
        return status_matches and start <= wanted.as_of_us and (wanted.include_invalid or wanted.as_of_us < end)
    now = wanted.now_us
    if wanted.include_invalid or now is None or wanted.status not in (None, "active"):
        return status_matches
    clock = max(now, wanted.clock_us or now)
    return status_matches and now < end and (start <= now or (start <= created and start <= clock))


def _in_time(wanted: Filter, it: Insight) -> bool:
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


def _has_tags(wanted: Filter, it: Insight) -> bool:
    tags = set(map(fold, it.tags))
    return (
        all(fold(tag) in tags for tag in wanted.tags_all)
        and (not wanted.tags_any or any(fold(tag) in tags for tag in wanted.tags_any))
        and (wanted.entity is None or canonical_name(wanted.entity) in set(map(canonical_name, it.entities)))
    )
