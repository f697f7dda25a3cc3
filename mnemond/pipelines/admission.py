"""The rules of a `Filter` for one memory that no index has: the same as `index/visibility.py`, which has columns."""

from __future__ import annotations

from mnemond.index.table import folded_tag
from mnemond.index.validity import ends_us, event_us, valid_us
from mnemond.index.visibility import metadata_of
from mnemond.model.conditions import holds
from mnemond.model.insight import Insight
from mnemond.model.recall import Filter, Span
from mnemond.model.timestamp import parse_rfc3339
from mnemond.text.entities import canonical_name


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
    tags = set(map(folded_tag, it.tags))
    return (
        all(folded_tag(tag) in tags for tag in wanted.tags_all)
        and (not wanted.tags_any or any(folded_tag(tag) in tags for tag in wanted.tags_any))
        and (wanted.entity is None or canonical_name(wanted.entity) in set(map(canonical_name, it.entities)))
    )
