"""Drafts: which texts and fields may become a memory, without secrets, and what is read in them."""

from __future__ import annotations

import difflib
import math
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from mnemond.config.settings import Config
from mnemond.config.writing import ENTITY_KINDS, CommitmentSettings, EntityExtractionSettings
from mnemond.errors import FieldProblem, invalid
from mnemond.index.snapshot import Snapshot
from mnemond.memory.diff import Side, side
from mnemond.memory.edge_builders import NewMemory
from mnemond.model.memory import (
    CATEGORIES,
    ENTITY_MODES,
    MAX_CONTENT,
    MAX_CUE,
    MAX_CUES,
    MAX_ENTITIES,
    MAX_ENTITY,
    MAX_METADATA,
    MAX_TAG,
    MAX_TAGS,
    MAX_TRIGGER,
    MAX_TRIGGERS,
    NO_METADATA,
    SUMMARIZED,
    Described,
    Enforcement,
    Entity,
    Insight,
    Scope,
    TriggerState,
    format_us,
    parse_rfc3339,
)
from mnemond.model.outcomes import QualityDetail, Substance
from mnemond.model.relations import GivenRelation
from mnemond.text.caches import text_cache
from mnemond.text.contrast import numbers
from mnemond.text.cues import causal_cue
from mnemond.text.dates import DateMention, dates
from mnemond.text.entities import extract
from mnemond.text.features import keywords
from mnemond.text.hypothetical import hypothetical_queries, trigger_text, trigger_type
from mnemond.text.quality import quality_warnings, substance
from mnemond.text.secrets import is_mark, kind_in_name, redact, redact_together
from mnemond.text.similarity import token_set
from mnemond.text.tokens import MAX_MARKS, index_term, long_run_at
from mnemond.text.triggers import normal_trigger

LONGEST_COMPARED = 64
"""Characters of a value that are compared with the choices; the comparison takes quadratic time."""


def choice_problems(field: str, value: str, choices: Sequence[str]) -> list[FieldProblem]:
    """Return a problem that names the choices and the nearest one, unless `value` is one of them."""
    if value in choices:
        return []
    near = difflib.get_close_matches(value[:LONGEST_COMPARED].casefold(), choices, n=1)
    suggestion = f'; did you mean "{near[0]}"?' if near else ""
    message = f"{field} is {value[:40]!a}; it must be one of {', '.join(choices)}{suggestion}"
    return [FieldProblem(field, message)]


def time_problems(field: str, value: str) -> list[FieldProblem]:
    """Return a problem unless `value` is an RFC 3339 timestamp."""
    try:
        parse_rfc3339(value)
    except ValueError as error:
        return [FieldProblem(field, f"{field}: {error}")]
    return []


def op_id_problems(op_id: str) -> list[FieldProblem]:
    """Return the problems of an op_id. It is kept as long as the history, so a secret is refused; redacted op_ids of
    different writes would be equal."""
    found = []
    if "\0" in op_id:
        found.append(FieldProblem("op_id", "op_id contains a NUL character, which cannot be stored"))
    if kind := kind_in_name(op_id):
        sentence = f"op_id looks like a secret ({kind}): give the write another name"
        found.append(FieldProblem("op_id", sentence))
    return found


def with_op_id(problems: Sequence[FieldProblem], op_id: str | None) -> list[FieldProblem]:
    """Return `problems` and those of the op_id that are not among them."""
    more = [] if op_id is None else op_id_problems(op_id)
    return [*problems, *(each for each in more if each not in problems)]


# Metadata of a memory or a link: an object of plain values, validated, redacted, encoded.


FIELD: Final = "metadata"

MAX_REPORTED: Final = 5
"""Reported invalid entries; more would add nothing."""

LARGEST_INT: Final = 2**63 - 1
"""The largest integer on which JSON readers and SQLite agree."""

RESERVED: Final = "dates"
"""Key under which the store keeps the dates mentioned in a text."""

_json = msgspec.json.Encoder()


def plain_problems(metadata: Mapping[str, object]) -> list[FieldProblem]:
    """Return the problems of an object that must hold plain values (texts, numbers, true, false, null and lists of
    these) in at most `MAX_METADATA` bytes. Of a too large object only that is reported."""
    if too_large := size_problems(metadata):
        return too_large
    return [
        FieldProblem(FIELD, f"metadata.{key[:40]!a} must be a text, a number, true, false, null or a list of these")
        for key, value in metadata.items()
        if not is_plain(value)
    ][:MAX_REPORTED]


def memory_problems(metadata: Mapping[str, object]) -> list[FieldProblem]:
    """Return the problems of a memory's metadata, in which one key is reserved."""
    found = plain_problems(metadata)
    if RESERVED in metadata:
        sentence = f"metadata.{RESERVED} are the dates a text speaks of, which are noted unasked; use another name"
        found.append(FieldProblem(FIELD, sentence))
    return found


def size_problems(metadata: Mapping[str, object]) -> list[FieldProblem]:
    """Return a problem if an object takes more than `MAX_METADATA` bytes of JSON."""
    size = len(_json.encode(metadata))
    if size <= MAX_METADATA:
        return []
    return [FieldProblem(FIELD, f"metadata is {size:,} bytes of JSON; the limit is {MAX_METADATA:,}")]


def without_secrets(metadata: Mapping[str, object], *, allow_secret: bool) -> tuple[dict[str, object], tuple[str, ...]]:
    """Return plain values with every text in NFC and, unless `allow_secret`, redacted; and the kinds of secrets."""
    kinds: dict[str, None] = {}
    clean = dict(_clean(key, value, kinds, allow_secret=allow_secret) for key, value in metadata.items())
    return clean, tuple(sorted(kinds))


def as_text(metadata: Mapping[str, object]) -> str:
    """Encode metadata as stored JSON."""
    return _json.encode(metadata).decode()


def is_plain(value: object) -> bool:
    """Return True for a value that requests may give. Other values come from the store itself."""
    return all(map(_is_scalar, value)) if isinstance(value, list) else _is_scalar(value)


def _is_scalar(value: object) -> bool:
    match value:
        case bool() | str() | None:
            return True
        case int():
            return abs(value) <= LARGEST_INT
        case float():
            return math.isfinite(value)
        case _:
            return False


def _clean(key: str, value: object, kinds: dict[str, None], *, allow_secret: bool) -> tuple[str, object]:
    key = unicodedata.normalize("NFC", key)
    name = key if allow_secret else _without_secrets(key, kinds)

    def cleaned(each: object) -> object:
        if isinstance(each, bool) or not isinstance(each, int | float | str):
            return each
        text = unicodedata.normalize("NFC", str(each))
        redacted = text if allow_secret else _value(name, text, kinds)
        return redacted if isinstance(each, str) or redacted != text else each

    return name, [cleaned(each) for each in value] if isinstance(value, list) else cleaned(value)


def _value(name: str, text: str, kinds: dict[str, None]) -> str:
    """Redact a value beside its key: a key such as "password" reveals what looks like any other word."""
    lead = f"{name}="
    found = redact(lead + text)
    if not found.text.startswith(lead):
        return _without_secrets(text, kinds)
    kinds.update(dict.fromkeys(found.kinds))
    return found.text[len(lead) :]


def _without_secrets(text: str, kinds: dict[str, None]) -> str:
    found = redact(text)
    kinds.update(dict.fromkeys(found.kinds))
    return found.text


# Drafts and their validation.


MAX_COMPOSED = 4
"""Maximum number of code points that NFC composes to one in practice (three for Hangul, a letter and three marks)."""
MAX_PROBLEMS = 20
"""Reported invalid entries of one list; more would add nothing."""
LONGEST_CACHED_NAME = 64
"""Characters of a name whose secret check is cached; the same few sources and conversations name most memories."""
MIN_IMPORTANCE, MAX_IMPORTANCE = 1, 5
NAMES = ("source", "channel", "conversation_id", "session_id", "user_id", "agent_id", "op_id")
"""Fields that hold a name of any form that can be stored."""
STORED_NAMES = NAMES[:-1]
"""Names that are stored in the row unchanged."""


class Draft(Described, frozen=True, gc=True, kw_only=True):
    """A memory to remember, as requested. `created_at` is RFC 3339 or None for now; `metadata` holds plain values.
    `corrects`: its speaker says that it corrects an earlier statement, outside of the text. `weighed`: the
    importance was given, and is neither the usual one nor an estimate. `enforce` and `trigger_state` are those of the
    triggers `when`."""

    weighed: bool = True
    entity_mode: str = "merge"
    cues: Sequence[str] = ()
    when: Sequence[str] = ()
    enforce: Enforcement = "tell"
    trigger_state: TriggerState = "on"
    source: str = "user"
    channel: str = "manual"
    conversation_id: str | None = None
    scope: Scope = Scope()
    created_at: str | None = None
    metadata: Mapping[str, object] = {}
    relations: Sequence[GivenRelation] = ()
    no_diff: bool = False
    corrects: bool = False
    dry_run: bool = False
    allow_secret: bool = False


def problems_of(fields: dict[str, object], stored: Sequence[str] = STORED_NAMES) -> list[FieldProblem]:
    """Return everything wrong with the given fields of a draft; absent fields are ignored.

    Takes a mapping, not a Draft, so that a request with one field of the wrong type gets the problems of all others.
    `stored` are the names that would be written: none of them may be a secret unless the field `allow_secret` is true.
    """
    found: list[FieldProblem] = []
    if "content" in fields:
        found += _content_problems(str(fields["content"]))
    if "category" in fields:
        found += choice_problems("category", str(fields["category"]), CATEGORIES)
    if "entity_mode" in fields:
        found += choice_problems("entity_mode", str(fields["entity_mode"]), ENTITY_MODES)
    if isinstance(importance := fields.get("importance"), int) and not MIN_IMPORTANCE <= importance <= MAX_IMPORTANCE:
        allowed = f"an integer from {MIN_IMPORTANCE} to {MAX_IMPORTANCE}"
        found.append(FieldProblem("importance", f"importance is {str(importance)[:20]}; it must be {allowed}"))
    found += _list_problems("tags", fields.get("tags"), MAX_TAGS, MAX_TAG)
    found += _list_problems("entities", fields.get("entities"), MAX_ENTITIES, MAX_ENTITY)
    found += _list_problems("cues", fields.get("cues"), MAX_CUES, MAX_CUE)
    found += trigger_problems(fields.get("when"))
    if isinstance(metadata := fields.get("metadata"), Mapping):
        found += memory_problems(metadata)
    if fields.get("channel") == SUMMARIZED:
        found.append(FieldProblem("channel", f'the channel "{SUMMARIZED}" is for summaries, which `summarize` makes'))
    for name in NAMES:
        if "\0" in str(fields.get(name) or ""):
            found.append(FieldProblem(name, f"{name} contains a NUL character, which cannot be stored"))
    if fields.get("allow_secret") is not True:
        found += _secret_problems(fields, stored)
    if (created_at := fields.get("created_at")) is not None:
        found += time_problems("created_at", str(created_at))
    return found


def _secret_problems(fields: dict[str, object], stored: Sequence[str]) -> list[FieldProblem]:
    """Names are refused, not redacted: redacted names of different people would be equal."""
    found = []
    for name in stored:
        if isinstance(value := fields.get(name), str) and (kind := _secret_in(value)):
            sentence = f"{name} looks like a secret ({kind}): give it another value"
            found.append(FieldProblem(name, f"{sentence}, or allow_secret (--allow-secret) to store it as it is"))
    return found


def _secret_in(name: str) -> str | None:
    """Return the kind of the first secret in a name."""
    return _cached_kind(name) if len(name) <= LONGEST_CACHED_NAME else kind_in_name(name)


@text_cache(maxsize=1024)
def _cached_kind(name: str) -> str | None:
    return kind_in_name(name)


def _content_problems(content: str) -> list[FieldProblem]:
    if len(content) > MAX_COMPOSED * MAX_CONTENT:  # normalising it would take long and change nothing
        message = f"content is {len(content):,} characters; the limit is {MAX_CONTENT:,}"
        return [FieldProblem("content", message)]
    if (at := long_run_at(content)) is not None:
        message = f"content has more than {MAX_MARKS} combining marks in a row at position {at + 1:,}"
        return [FieldProblem("content", message)]
    length = len(unicodedata.normalize("NFC", content))
    if length > MAX_CONTENT:
        message = f"content is {length:,} characters; the limit is {MAX_CONTENT:,}"
        return [FieldProblem("content", message)]
    if not content.strip():
        return [FieldProblem("content", f"content is empty ({length} characters); it needs 1 to {MAX_CONTENT:,}")]
    if "\0" in content:
        position = content.index("\0") + 1
        return [FieldProblem("content", f"content has a NUL character at position {position:,}; remove it")]
    return []


def trigger_problems(values: object) -> list[FieldProblem]:
    """Return the problems of triggers as they are given."""
    found = _list_problems("when", values, MAX_TRIGGERS, MAX_TRIGGER)
    if found or not isinstance(values, list | tuple):
        return found
    for position, value in enumerate(values):
        try:
            normal_trigger(value)
        except ValueError as error:
            found.append(FieldProblem(f"when[{position}]", f"when[{position}]: {error}"))
        else:
            if kind := kind_in_name(value):
                found.append(FieldProblem(f"when[{position}]", f"when[{position}] looks like a secret ({kind})"))
    return found


def _list_problems(field: str, values: object, most: int, longest: int) -> list[FieldProblem]:
    if not isinstance(values, list | tuple):
        return []
    found = []
    distinct = len(set(values))
    if distinct > most:
        found.append(FieldProblem(field, f"{field} has {distinct} different entries; the limit is {most}"))
    for position, value in enumerate(values):
        name = f"{field}[{position}]"
        if len(found) >= MAX_PROBLEMS:
            break
        if len(value) > longest:
            found.append(FieldProblem(name, f"{name} is {len(value):,} characters; the limit is {longest}"))
        elif long_run_at(value) is not None:
            found.append(FieldProblem(name, f"{name} has more than {MAX_MARKS} combining marks in a row"))
        elif not value.strip():
            found.append(FieldProblem(name, f"{name} is empty; it needs 1 to {longest} characters"))
        elif "\0" in value:
            found.append(FieldProblem(name, f"{name} contains a NUL character, which cannot be stored"))
    return found


# Redaction and reading of a text.


Known = Callable[[str], str | None]
"""Return a store's spelling of an entity by canonical name; None if unknown."""

ENFORCED = frozenset({"hook", "batch", "extract"})
"""Channels with automatically chosen texts, on which texts of too little substance are discarded."""


class Reading(msgspec.Struct, frozen=True):
    """The analysis of a redacted text. `side` is None when it is not to be compared."""

    tokens: frozenset[str]
    side: Side | None
    mentions: tuple[Entity, ...]
    dates: tuple[DateMention, ...]
    quality: tuple[QualityDetail, ...]
    substance: Substance
    trigger_type: str | None
    trigger: str | None
    queries: tuple[str, ...]


def clean(draft: Draft) -> tuple[Draft, tuple[str, ...]]:
    """Return a draft in NFC and, unless `allow_secret`, redacted, before anything else reads it; and the kinds of
    secrets that were cut out. A tag or an entity that is a secret, by itself or in another text, is left out.

    Raises MnemonError(INVALID_PARAMS) for metadata that redaction marks make too large.
    """
    given = (draft.content, *draft.tags, *draft.entities, *draft.cues)
    texts = [unicodedata.normalize("NFC", text) for text in given]
    kinds: tuple[str, ...] = ()
    if not draft.allow_secret:
        texts, kinds = redact_together(texts)
    metadata, more = without_secrets(draft.metadata, allow_secret=draft.allow_secret)
    if too_large := size_problems(metadata):
        raise invalid(too_large, hint="nothing was written")
    behind_tags = 1 + len(draft.tags)
    behind_entities = behind_tags + len(draft.entities)
    found = msgspec.structs.replace(
        draft,
        content=texts[0],
        tags=tuple(each for each in dict.fromkeys(texts[1:behind_tags]) if not is_mark(each)),
        entities=tuple(each for each in dict.fromkeys(texts[behind_tags:behind_entities]) if not is_mark(each)),
        cues=tuple(texts[behind_entities:]),
        metadata=metadata,
    )
    return found, tuple(sorted({*kinds, *more}))


def clean_text(content: str | None, *, allow_secret: bool) -> tuple[str | None, tuple[str, ...]]:
    """Return a text as `clean` does; None stays None."""
    if content is None:
        return None, ()
    tidy, kinds = clean(Draft(content=content, allow_secret=allow_secret))
    return tidy.content, kinds


def read(
    text: str,
    category: str,
    *,
    entities: Sequence[str],
    entity_mode: str,
    known: Known,
    said_us: int,
    source: str,
    commitment: CommitmentSettings,
    compared: bool = True,
    corrects: bool = False,
) -> Reading:
    """Analyse a redacted text; relative dates are resolved against `said_us` (microseconds)."""
    mentions = mentions_of(text, entities, entity_mode, known, commitment.entity_extraction)
    found = dates(text, said_us)
    names = [entity.canonical for entity in mentions]
    subject = side(text, category, names, format_us(said_us), corrects=corrects) if compared else None
    referring = bool(mentions or found or (numbers(text) if subject is None else subject.numbers))
    weighed = substance(
        text,
        has_reference=referring,
        causal=causal_cue(text) is not None,
        min_confidence=commitment.substance_filter.threshold,
    )
    kind = trigger_type(text, source)
    return Reading(
        tokens=token_set(text),
        side=subject,
        mentions=mentions,
        dates=found,
        quality=quality_warnings(text),
        substance=weighed,
        trigger_type=kind,
        trigger=None if kind is None else trigger_text(kind, text),
        queries=hypothetical_queries(kind, text, most=commitment.hypothetical_queries.count(kind)),
    )


def mentions_of(
    text: str, provided: Sequence[str], mode: str, known: Known, settings: EntityExtractionSettings
) -> tuple[Entity, ...]:
    """Return the entities of a text, of the kinds in the settings, and the provided ones; `mode` "merge", the default
    of a request, stands for the configured one."""
    mode = settings.default_mode if mode == "merge" else mode
    found = extract(text, provided, mode=mode, known=known)
    if mode == "provided" or set(settings.types) >= set(ENTITY_KINDS):
        return found
    given = {each.canonical for each in extract("", provided)} if mode == "merge" else set[str]()
    return tuple(each for each in found if each.kind in settings.types or each.canonical in given)


def quality_labels(found: Iterable[QualityDetail]) -> list[str]:
    """Return the distinct labels of quality warnings."""
    return list(dict.fromkeys(each.label for each in found))


def with_reading(insight: Insight, reading: Reading, snapshot: Snapshot) -> Insight:
    """Return `insight` with the values derived from its content: entities, dates, keywords, trigger."""
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
    """Compute the keywords that distinguish a memory in its store, separated by spaces."""
    found = keywords(
        insight.content,
        document_frequencies=lambda words: snapshot.document_frequencies(map(index_term, words)),
        documents=snapshot.live,
        tags=insight.tags,
        entities=names,
    )
    return " ".join(found)


def new_memory(insight: Insight, reading: Reading) -> NewMemory:
    """Return the input of the edge builders for a memory."""
    return NewMemory(
        id=insight.id,
        content=insight.content,
        created_us=parse_rfc3339(insight.created_at),
        tokens=reading.tokens,
        entities=reading.mentions,
        event_us=None if insight.event_start is None else parse_rfc3339(insight.event_start),
    )


def _with_dates(metadata: str, found: Sequence[DateMention]) -> str:
    """Replace the dates in metadata by those mentioned in the text."""
    if metadata == NO_METADATA and not found:
        return metadata
    fields = msgspec.json.decode(metadata, type=dict[str, object])
    fields.pop(RESERVED, None)
    if found:
        fields[RESERVED] = [{"text": each.text, "start": each.start, "end": each.end} for each in found]
    return msgspec.json.encode(fields).decode()


def reanalyse(
    it: Insight,
    snapshot: Snapshot,
    config: Config,
    names: Sequence[str] | None = None,
    entity_mode: str = "provided",
) -> Reading:
    """Analyse the content of a stored memory as of its creation. `names`: provided entities, by default its own."""
    return read(
        it.content,
        it.category,
        entities=it.entities if names is None else names,
        entity_mode=entity_mode,
        known=snapshot.entity_spelling,
        said_us=parse_rfc3339(it.created_at),
        source=it.source,
        commitment=config.commitment,
        compared=False,
    )
