"""From a text that was read to the insight that would be stored, and to what the edge builders are told of it."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mnemond.graph.surroundings import Newcomer
from mnemond.index.snapshot import Snapshot
from mnemond.model.insight import NO_METADATA, Insight
from mnemond.model.timestamp import parse_rfc3339
from mnemond.pipelines.reading import Reading
from mnemond.text.dates import DateMention
from mnemond.text.keywords import keywords
from mnemond.text.tokens import index_term


def with_reading(insight: Insight, reading: Reading, snapshot: Snapshot) -> Insight:
    """`insight` with everything that follows from reading its content: names, dates, keywords, trigger."""
    names = tuple(entity.name for entity in reading.mentions)
    spoken = reading.dates[0] if reading.dates else None
    return msgspec.structs.replace(
        insight,
        entities=names,
        event_start=None if spoken is None else f"{spoken.start}T00:00:00.000000Z",
        event_end=None if spoken is None else f"{spoken.end}T23:59:59.999999Z",
        keywords=keywords_of(insight, names, snapshot),
        trigger=reading.trigger,
        trigger_type=reading.trigger_type,
        metadata=_with_dates(insight.metadata, reading.dates),
    )


def keywords_of(insight: Insight, names: Sequence[str], snapshot: Snapshot) -> str:
    """What tells a memory from the others of its store, separated by spaces (spec 6.2)."""
    found = keywords(
        insight.content,
        document_frequencies=lambda words: snapshot.document_frequencies(map(index_term, words)),
        documents=snapshot.live,
        tags=insight.tags,
        entities=names,
    )
    return " ".join(found)


def as_newcomer(insight: Insight, reading: Reading) -> Newcomer:
    """What the edge builders are told of a memory."""
    return Newcomer(
        id=insight.id,
        content=insight.content,
        created_us=parse_rfc3339(insight.created_at),
        tokens=reading.tokens,
        entities=reading.mentions,
        cue=reading.cue,
        event_us=None if insight.event_start is None else parse_rfc3339(insight.event_start),
    )


def _with_dates(metadata: str, found: Sequence[DateMention]) -> str:
    """Metadata with the dates the text speaks of, and without those of an earlier text (spec 6.6)."""
    if metadata == NO_METADATA and not found:
        return metadata
    fields = msgspec.json.decode(metadata, type=dict[str, object])
    fields.pop("dates", None)
    if found:
        fields["dates"] = [{"text": each.text, "start": each.start, "end": each.end} for each in found]
    return msgspec.json.encode(fields).decode()
