"""What a text says about itself, read once before it is embedded and compared: names, dates, cues, doubts, secrets."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import msgspec

from mnemond.errors import invalid
from mnemond.model.entity import Entity
from mnemond.model.insight import NO_METADATA
from mnemond.model.outcomes import Note, SubstanceNote
from mnemond.model.timestamp import format_us
from mnemond.pipelines.plain_metadata import as_text, size_problems, without_secrets
from mnemond.rank.diff import Side, side
from mnemond.text.causal_cues import CausalCue, causal_cue
from mnemond.text.contrast import numbers
from mnemond.text.dates import DateMention, dates
from mnemond.text.entities import extract
from mnemond.text.hypothetical import hypothetical_queries
from mnemond.text.quality import quality_warnings
from mnemond.text.secrets import redact
from mnemond.text.similarity import token_set
from mnemond.text.substance import substance
from mnemond.text.triggers import trigger_text, trigger_type

Known = Callable[[str], str | None]
"""The spelling under which a store knows an entity, by canonical name; None when it does not."""

ENFORCED = frozenset({"hook", "batch", "extract"})
"""Channels nobody chose each text of: what says too little is not stored there (C33 of spec 3)."""


class Clean(msgspec.Struct, frozen=True):
    """Texts without their secrets, and the kinds of what was taken out. `metadata` is the text of a JSON object."""

    content: str
    tags: tuple[str, ...]
    entities: tuple[str, ...]
    redacted: tuple[str, ...]
    metadata: str = NO_METADATA


class Reading(msgspec.Struct, frozen=True):
    """A clean text and everything that was found in it. `side` is None when it is not to be compared."""

    tokens: frozenset[str]
    side: Side | None
    mentions: tuple[Entity, ...]
    cue: CausalCue | None
    dates: tuple[DateMention, ...]
    notes: tuple[Note, ...]
    substance: SubstanceNote
    trigger_type: str | None
    trigger: str | None
    queries: tuple[str, ...]


def clean(
    content: str,
    tags: Sequence[str],
    entities: Sequence[str],
    metadata: Mapping[str, object] = MappingProxyType({}),
    *,
    allow_secret: bool,
) -> Clean:
    """Everything in NFC and, unless `allow_secret`, without secrets: before anything else may see it.

    Raises MnemonError(INVALID_PARAMS) for metadata that the marks of secrets make too large.
    """
    texts = [unicodedata.normalize("NFC", text) for text in (content, *tags, *entities)]
    kinds: dict[str, None] = {}
    if not allow_secret:
        for place, text in enumerate(texts):
            found = redact(text)
            texts[place] = found.text
            kinds.update(dict.fromkeys(found.kinds))
    noted, more = without_secrets(metadata, allow_secret=allow_secret)
    if too_large := size_problems(noted):
        raise invalid(too_large, hint="nothing was written")
    many = 1 + len(tags)
    return Clean(
        texts[0],
        tuple(dict.fromkeys(texts[1:many])),
        tuple(dict.fromkeys(texts[many:])),
        tuple(sorted({*kinds, *more})),
        as_text(noted) if noted else NO_METADATA,
    )


def read(
    text: str,
    category: str,
    *,
    entities: Sequence[str],
    entity_mode: str,
    known: Known,
    said_us: int,
    source: str,
    min_confidence: float,
    max_queries: int,
    compared: bool = True,
) -> Reading:
    """Read a clean text that was said at `said_us` (microseconds), which its relative dates go by."""
    mentions = extract(text, entities, mode=entity_mode, known=known)
    cue = causal_cue(text)
    found = dates(text, said_us)
    names = [entity.canonical for entity in mentions]
    subject = side(text, category, names, format_us(said_us)) if compared else None
    referring = bool(mentions or found or (numbers(text) if subject is None else subject.numbers))
    weight = substance(text, has_reference=referring, causal=cue is not None, min_confidence=min_confidence)
    kind = trigger_type(text, source)
    return Reading(
        tokens=token_set(text),
        side=subject,
        mentions=mentions,
        cue=cue,
        dates=found,
        notes=notes_of(text),
        substance=SubstanceNote(round(weight.score, 6), weight.decision),
        trigger_type=kind,
        trigger=None if kind is None else trigger_text(kind, text),
        queries=hypothetical_queries(kind, text, most=max_queries),
    )


def notes_of(text: str) -> tuple[Note, ...]:
    """What the writer of a text may want to reconsider (spec 6.7)."""
    return tuple(Note(each.code, each.label, each.match, each.offset) for each in quality_warnings(text))
