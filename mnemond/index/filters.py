"""Which rows a reader may see: one mask over columns for each rule of a `Filter` that concerns any row at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import numpy as np

from mnemond.index.arrays import Interner, Ints, Mask
from mnemond.index.columns import STATUS_CODES
from mnemond.index.parts import Parts
from mnemond.model.memory import NO_METADATA, SUMMARIZED, Insight, Scope, is_same_project, parse_rfc3339
from mnemond.model.query import Condition, Filter, Span, holds
from mnemond.text.entities import canonical_name
from mnemond.text.tokens import fold

_metadata = msgspec.json.Decoder(dict[str, Any])


def visible(parts: Parts, wanted: Filter) -> Mask | None:
    """Mark the rows that `wanted` lets a reader see, shape (rows,); None when it is all of them."""
    masks = [
        *living(parts),
        *_of_fields(parts, wanted),
        *_of_scope(parts, wanted),
        *_of_validity(parts, wanted),
        *_of_times(parts, wanted),
        *_of_labels(parts, wanted),
    ]
    seen = _all_of(masks)
    if wanted.metadata is None:
        return seen
    return _of_metadata(parts, wanted.metadata, np.ones(parts.corpus.rows, dtype=np.bool_) if seen is None else seen)


def comparable(parts: Parts, scope: Scope) -> Mask | None:
    """Mark the rows that every reader of a memory of this scope sees, without summaries, which repeat others; shape
    (rows,); None when it is all of them."""
    columns, names = parts.columns, parts.table.names
    masks = living(parts)
    for name, known, value in (
        ("user", names.users, scope.user_id),
        ("session", names.sessions, scope.session_id),
        ("agent", names.agents, scope.agent_id),
    ):
        if len(known) > 1:
            masks.append(_equal_or_none(getattr(columns, name), None if value is None else known.find(value)))
    if len(names.projects) > 1:
        masks.append(_of_project(parts, scope.project or "", strict=False))
    if (summaries := names.channels.find(SUMMARIZED)) is not None:
        masks.append(columns.channel != summaries)
    return _all_of(masks)


def during(parts: Parts, span: Span) -> Mask:
    """Mark the rows that were made within a span of time or whose event overlaps it, shape (rows,)."""
    return _created_in(parts, span) | _event_in(parts, span)


def living(parts: Parts) -> list[Mask]:
    alive = parts.corpus.alive
    return [] if alive is None else [alive != 0]


def metadata_of(text: str) -> dict[str, Any]:
    """Parse the metadata of a memory; {} if a damaged file has something else than a JSON object."""
    try:
        return _metadata.decode(text)
    except msgspec.MsgspecError:
        return {}


def _all_of(masks: list[Mask]) -> Mask | None:
    """The conjunction, written into the first; None of no mask."""
    if not masks:
        return None
    for mask in masks[1:]:
        masks[0] &= mask
    return masks[0]


def _of_fields(parts: Parts, wanted: Filter) -> list[Mask]:
    names, columns, masks = parts.table.names, parts.columns, list[Mask]()
    for value, column, known in (
        (wanted.category, "category", names.categories),
        (wanted.source, "source", names.sources),
        (wanted.channel, "channel", names.channels),
        (wanted.stated_intent, "intent", names.intents),
    ):
        if value is not None:
            masks.append(_equal(getattr(columns, column), known.find(value)))
    if wanted.min_importance > 1:
        masks.append(columns.importance >= wanted.min_importance)
    if parts.extent.quarantined:
        masks.append(columns.quarantined == 0)
    return masks


def _of_scope(parts: Parts, wanted: Filter) -> list[Mask]:
    names, columns, scope = parts.table.names, parts.columns, wanted.scope
    admitted: Callable[[Ints, int | None], Mask] = _equal if wanted.strict_scope else _equal_or_none
    masks = [
        admitted(getattr(columns, name), known.find(value))
        for name, known, value in (
            ("user", names.users, scope.user_id),
            ("agent", names.agents, scope.agent_id),
            ("session", names.sessions, scope.session_id),
        )
        if value is not None
    ]
    if scope.project is not None and (len(names.projects) > 1 or wanted.strict_project):
        masks.append(_of_project(parts, scope.project, strict=wanted.strict_project or wanted.strict_scope))
    if scope.session_id is None and not wanted.all_sessions and parts.sessions:
        masks.append(columns.session == 0)
    return masks


def _of_project(parts: Parts, project: str, *, strict: bool) -> Mask:
    """Rows of a project and, unless `strict`, of none; of none alone for ""."""
    column, known = parts.columns.project, parts.table.names.projects.values()
    codes = [code for code, one in enumerate(known) if one is not None and project and is_same_project(one, project)]
    mask: Mask = column == 0 if not (strict and project) else np.zeros(len(column), dtype=np.bool_)
    for code in codes:
        mask |= column == code
    return mask


def _of_validity(parts: Parts, wanted: Filter) -> list[Mask]:
    """State and validity; where nothing was ever retired, ended or dated ahead, nothing is compared."""
    columns, extent = parts.columns, parts.extent
    masks: list[Mask] = []
    if wanted.status is not None:
        if extent.retired or wanted.status != "active":
            masks.append(columns.status == STATUS_CODES[wanted.status])
    elif extent.retired:
        status = columns.status
        masks.append(status != STATUS_CODES["forgotten"] if wanted.historic else status == STATUS_CODES["active"])
    if wanted.known_at_us is not None:
        return masks + _known_at(parts, wanted.known_at_us, wanted.as_of_us)
    if wanted.as_of_us is not None:
        return masks + _valid_at(parts, wanted.as_of_us, ended=wanted.include_invalid)
    if wanted.include_invalid or wanted.now_us is None or wanted.status not in (None, "active"):
        return masks
    return masks + _valid_now(parts, wanted.now_us, max(wanted.now_us, wanted.clock_us or wanted.now_us))


def _valid_at(parts: Parts, moment: int, *, ended: bool) -> list[Mask]:
    columns, extent = parts.columns, parts.extent
    masks: list[Mask] = []
    if extent.latest_us > moment:
        masks.append(columns.valid_us <= moment)
    if extent.earliest_end_us <= moment and not ended:
        masks.append(columns.ends_us > moment)
    return masks


def _known_at(parts: Parts, moment: int, as_of: int | None) -> list[Mask]:
    """Rows that were made and not yet retired at `moment`."""
    columns = parts.columns
    known = columns.created_us <= moment
    if as_of is not None:
        known &= columns.valid_us <= as_of
    active = columns.status == STATUS_CODES["active"]
    if as_of is not None:
        known &= ~active | (columns.ends_us > as_of)
    for row in np.flatnonzero(known & ~active).tolist():
        known[row] = was_known(parts.table.insights[row], moment, as_of)
    return [known]


def was_known(retired: Insight, moment: int, as_of: int | None) -> bool:
    """Return True if a memory that left recall was still there at `moment`. What was learned of its end since does not
    count, but it may have been written with a day on which it expires."""
    if parse_rfc3339(retired.updated_at) <= moment:
        return False
    return as_of is None or retired.expires_at is None or parse_rfc3339(retired.expires_at) > as_of


def _valid_now(parts: Parts, now: int, clock: int) -> list[Mask]:
    columns, extent = parts.columns, parts.extent
    masks: list[Mask] = []
    if extent.earliest_end_us <= now:
        masks.append(columns.ends_us > now)
    if extent.latest_stated_us > now or extent.latest_us > clock:
        if clock == now:
            return [*masks, columns.valid_us <= now]  # stated or not
        unstated = (columns.valid_us <= columns.created_us) & (columns.valid_us <= clock)
        masks.append((columns.valid_us <= now) | unstated)
    return masks


def _of_times(parts: Parts, wanted: Filter) -> list[Mask]:
    masks: list[Mask] = []
    if wanted.created is not None:
        masks.append(_created_in(parts, wanted.created))
    if wanted.event is not None:
        masks.append(_event_in(parts, wanted.event))
    if wanted.window is not None:
        masks.append(during(parts, wanted.window))
    return masks


def _created_in(parts: Parts, span: Span) -> Mask:
    created = parts.columns.created_us
    mask: Mask = np.ones(len(created), dtype=np.bool_) if span.since_us is None else created >= span.since_us
    if span.until_us is not None:
        mask &= created < span.until_us
    return mask


def _event_in(parts: Parts, span: Span) -> Mask:
    """A row that mentions no time has no event that overlaps."""
    start, end = parts.columns.event_start_us, parts.columns.event_end_us
    if span.since_us is None:
        mask: Mask = start <= end if span.until_us is None else start < span.until_us
        return mask
    mask = end >= span.since_us
    if span.until_us is not None:
        mask &= start < span.until_us
    return mask


def _of_labels(parts: Parts, wanted: Filter) -> list[Mask]:
    names, columns, rows = parts.table.names, parts.columns, parts.corpus.rows
    masks = [_owners(columns.label_row, columns.label_tag, _codes(names.tags, [tag]), rows) for tag in wanted.tags_all]
    if wanted.tags_any:
        masks.append(_owners(columns.label_row, columns.label_tag, _codes(names.tags, wanted.tags_any), rows))
    if wanted.entity is not None:
        code = names.entities.find(canonical_name(wanted.entity))
        codes = [] if code is None else [code]
        masks.append(_owners(columns.mention_row, columns.mention_entity, codes, rows))
    return masks


def _codes(known: Interner, tags: Iterable[str]) -> list[int]:
    found = (known.find(fold(tag)) for tag in tags)
    return [code for code in found if code is not None]


def _owners(owners: Ints, values: Ints, codes: list[int], rows: int) -> Mask:
    """Rows that own one of the values, of pairs of shape (pairs,)."""
    mask: Mask = np.zeros(rows, dtype=np.bool_)
    for code in codes:
        mask[owners[values == code]] = True
    return mask


def _of_metadata(parts: Parts, condition: Condition, candidates: Mask) -> Mask:
    """Those of the candidates whose metadata match, tested one by one: there is no index of metadata."""
    bare = holds(condition, {})
    insights = parts.insights
    kept = [
        row
        for row in np.flatnonzero(candidates).tolist()
        if (bare if (text := insights[row].metadata) == NO_METADATA else holds(condition, metadata_of(text)))
    ]
    mask: Mask = np.zeros(len(candidates), dtype=np.bool_)
    mask[kept] = True
    return mask


def _equal(column: Ints, code: int | None) -> Mask:
    mask: Mask = np.zeros(len(column), dtype=np.bool_) if code is None else column == code
    return mask


def _equal_or_none(column: Ints, code: int | None) -> Mask:
    common: Mask = column == 0
    return common if code is None else common | (column == code)
