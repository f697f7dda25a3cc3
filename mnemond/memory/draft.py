"""A memory as a caller wants it stored, and everything that may be wrong with it, reported at once."""

from __future__ import annotations

import difflib
import math
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import msgspec

from mnemond.errors import FieldProblem, invalid
from mnemond.index.snapshot import Snapshot
from mnemond.memory.diff import Side, side
from mnemond.memory.edge_builders import NewMemory
from mnemond.model.changes import Change, ChangeSet, Vector
from mnemond.model.memory import (
    CATEGORIES,
    ENTITY_MODES,
    MAX_CONTENT,
    MAX_ENTITIES,
    MAX_ENTITY,
    MAX_METADATA,
    MAX_TAG,
    MAX_TAGS,
    NO_METADATA,
    Entity,
    Insight,
    Scope,
    format_us,
    parse_rfc3339,
)
from mnemond.model.outcomes import Outcome, QualityDetail, Substance
from mnemond.store.operations import Proposal, View
from mnemond.text.caches import text_cache
from mnemond.text.contrast import numbers
from mnemond.text.cues import CausalCue, causal_cue
from mnemond.text.dates import DateMention, dates
from mnemond.text.entities import extract
from mnemond.text.features import keywords
from mnemond.text.hypothetical import hypothetical_queries, trigger_text, trigger_type
from mnemond.text.quality import quality_warnings, substance
from mnemond.text.secrets import find_secrets, redact
from mnemond.text.similarity import token_set
from mnemond.text.tokens import MAX_MARKS, index_term, long_run_at

# Rules that fields of several requests share, as sentences for whoever sent them.


LONGEST_COMPARED = 64
"""Characters of a value that are compared with the choices: the comparison takes time with the square of them."""


def choice_problems(field: str, value: str, choices: Sequence[str]) -> list[FieldProblem]:
    """Nothing when `value` is one of `choices`, else what they are and which is nearest."""
    if value in choices:
        return []
    near = difflib.get_close_matches(value[:LONGEST_COMPARED].casefold(), choices, n=1)
    suggestion = f'; did you mean "{near[0]}"?' if near else ""
    message = f"{field} is {value[:40]!a}; it must be one of {', '.join(choices)}{suggestion}"
    return [FieldProblem(field, message)]


def time_problems(field: str, value: str) -> list[FieldProblem]:
    """Nothing when `value` is an RFC 3339 timestamp."""
    try:
        parse_rfc3339(value)
    except ValueError as error:
        return [FieldProblem(field, f"{field}: {error}")]
    return []


def op_id_problems(op_id: str) -> list[FieldProblem]:
    """Nothing when a write may be called so. The name is kept as long as the history is, so it is no place for a
    secret; it is refused, not redacted: redacted ones of different writes would be the same."""
    found = []
    if "\0" in op_id:
        found.append(FieldProblem("op_id", "op_id contains a NUL character, which cannot be stored"))
    if secrets := find_secrets(op_id):
        sentence = f"op_id looks like a secret ({secrets[0].kind}): give the write another name"
        found.append(FieldProblem("op_id", sentence))
    return found


def with_op_id(problems: Sequence[FieldProblem], op_id: str | None) -> list[FieldProblem]:
    """Problems of a write, and those of its name that are not among them."""
    more = [] if op_id is None else op_id_problems(op_id)
    return [*problems, *(each for each in more if each not in problems)]


# What every write has besides its content: who asks, when, and under which name.


class WriteContext(msgspec.Struct, frozen=True, kw_only=True):
    """`id` is for a memory that the write may create; `now_us` the one time of the whole operation, in microseconds."""

    id: str
    op_id: str
    client_op_id: bool
    now_us: int
    store: str
    request_digest: str
    triggered_by: str = "user"

    @property
    def now(self) -> str:
        """`now_us` as RFC 3339."""
        return format_us(self.now_us)

    def proposal(
        self,
        method: str,
        decide: Callable[[View], ChangeSet],
        vector: Vector | None = None,
        made_by: str | None = None,
    ) -> Proposal:
        """A write under this name; what it needs beside that is said at `Proposal`."""
        return Proposal(self.op_id, self.client_op_id, method, self.request_digest, decide, vector, made_by)

    def change_set(
        self,
        method: str,
        changes: tuple[Change, ...],
        outcome: Outcome,
        *,
        detail: str = "",
        operation: str | None = None,
        subject: str | None = None,
        undoes: str | None = None,
    ) -> ChangeSet:
        """What a write under this name came to; the parts are those of `ChangeSet`."""
        return ChangeSet(
            op_id=self.op_id,
            client_op_id=self.client_op_id,
            method=method,
            now=self.now,
            changes=changes,
            outcome=outcome,
            request_digest=self.request_digest,
            triggered_by=self.triggered_by,
            detail=detail,
            operation=operation,
            subject=subject,
            undoes=undoes,
        )


# What somebody wants noted with a memory or a link: an object of plain values, checked, without secrets, as text.


FIELD: Final = "metadata"

MAX_TOLD: Final = 5
"""Bad entries that are told; more would say the same."""

LARGEST_INT: Final = 2**63 - 1
"""JSON readers and SQLite agree on integers up to here."""

RESERVED: Final = "dates"
"""Of a memory: the dates its text speaks of, which the store notes itself (spec 6.6)."""

_json = msgspec.json.Encoder()


def plain_problems(metadata: Mapping[str, object]) -> list[FieldProblem]:
    """What is wrong with an object that should hold plain values: texts, numbers, true, false, null and lists of these,
    in at most `MAX_METADATA` bytes (spec 4). Of what is too large nothing else is looked at."""
    if too_large := size_problems(metadata):
        return too_large
    return [
        FieldProblem(FIELD, f"metadata.{key[:40]!a} must be a text, a number, true, false, null or a list of these")
        for key, value in metadata.items()
        if not is_plain(value)
    ][:MAX_TOLD]


def memory_problems(metadata: Mapping[str, object]) -> list[FieldProblem]:
    """The same of what is noted with a memory, where one name is taken."""
    found = plain_problems(metadata)
    if RESERVED in metadata:
        sentence = f"metadata.{RESERVED} are the dates a text speaks of, which are noted unasked; use another name"
        found.append(FieldProblem(FIELD, sentence))
    return found


def size_problems(metadata: Mapping[str, object]) -> list[FieldProblem]:
    """What is wrong with an object that takes more than `MAX_METADATA` bytes of JSON."""
    size = len(_json.encode(metadata))
    if size <= MAX_METADATA:
        return []
    return [FieldProblem(FIELD, f"metadata is {size:,} bytes of JSON; the limit is {MAX_METADATA:,}")]


def without_secrets(metadata: Mapping[str, object], *, allow_secret: bool) -> tuple[dict[str, object], tuple[str, ...]]:
    """Plain values with every text in NFC and, unless `allow_secret`, without secrets; and the kinds of these."""
    kinds: dict[str, None] = {}
    clean = dict(_clean(key, value, kinds, allow_secret=allow_secret) for key, value in metadata.items())
    return clean, tuple(sorted(kinds))


def as_text(metadata: Mapping[str, object]) -> str:
    """The JSON that is stored."""
    return _json.encode(metadata).decode()


def is_plain(value: object) -> bool:
    """Whether somebody may note this with a memory. What is not plain the store noted itself."""
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
        told = unicodedata.normalize("NFC", str(each))
        shown = told if allow_secret else _value(name, told, kinds)
        return shown if isinstance(each, str) or shown != told else each

    return name, [cleaned(each) for each in value] if isinstance(value, list) else cleaned(value)


def _value(name: str, text: str, kinds: dict[str, None]) -> str:
    """A value that was redacted beside its name: "password" tells what looks like any other word."""
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


MAX_COMPOSED = 4
"""Code points that NFC makes one of at most, in any text people write (three for Hangul, a letter and three marks)."""
MAX_PROBLEMS = 20
"""Bad entries of one list that are told; more would say the same."""
REMEMBERED_NAMES, LONGEST_REMEMBERED = 1024, 64
"""Names that are known to be no secret, or one, and how many characters such a name has at most: the same few sources
and conversations name most memories."""
MIN_IMPORTANCE, MAX_IMPORTANCE = 1, 5
NAMES = ("source", "channel", "conversation_id", "session_id", "user_id", "agent_id", "op_id")
"""Fields that name something, which may be anything that can be stored."""
STORED_NAMES = NAMES[:-1]
"""Those that stand in the row as they come."""


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller wants remembered, as it came. `created_at` is RFC 3339 or None for now; `metadata` holds plain
    values (spec 4)."""

    content: str
    category: str = "general"
    importance: int = 3
    tags: Sequence[str] = ()
    entities: Sequence[str] = ()
    entity_mode: str = "merge"
    source: str = "user"
    channel: str = "manual"
    conversation_id: str | None = None
    scope: Scope = Scope()
    created_at: str | None = None
    metadata: Mapping[str, object] = {}
    no_diff: bool = False
    dry_run: bool = False
    allow_secret: bool = False


def problems_of(fields: dict[str, object], stored: Sequence[str] = STORED_NAMES) -> list[FieldProblem]:
    """Everything wrong with the given fields of a draft; fields that are absent are not judged.

    Takes a mapping, not a Draft, so that a request with one field of the wrong type still hears about all others.
    `stored` are the names that would be written: none of them may be a secret, unless `allow_secret` is among the
    fields and true.
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
    if isinstance(metadata := fields.get("metadata"), Mapping):
        found += memory_problems(metadata)
    for name in NAMES:
        if "\0" in str(fields.get(name) or ""):
            found.append(FieldProblem(name, f"{name} contains a NUL character, which cannot be stored"))
    if fields.get("allow_secret") is not True:
        found += _secret_problems(fields, stored)
    if (created_at := fields.get("created_at")) is not None:
        found += time_problems("created_at", str(created_at))
    return found


def _secret_problems(fields: dict[str, object], stored: Sequence[str]) -> list[FieldProblem]:
    """A name is refused, not redacted: redacted ones of different people would be the same."""
    found = []
    for name in stored:
        if isinstance(value := fields.get(name), str) and (kind := _secret_in(value)):
            sentence = f"{name} looks like a secret ({kind}): give it another value"
            found.append(FieldProblem(name, f"{sentence}, or allow_secret (--allow-secret) to store it as it is"))
    return found


def _secret_in(name: str) -> str | None:
    """The kind of the first secret in a name, if there is one."""
    return _secret_remembered(name) if len(name) <= LONGEST_REMEMBERED else _first_kind(name)


@text_cache(maxsize=REMEMBERED_NAMES)
def _secret_remembered(name: str) -> str | None:
    return _first_kind(name)


def _first_kind(name: str) -> str | None:
    kinds = redact(name).kinds  # finds also what hides between signs that do not show
    return kinds[0] if kinds else None


def _content_problems(content: str) -> list[FieldProblem]:
    if len(content) > MAX_COMPOSED * MAX_CONTENT:  # looking at it more closely would take long, and change nothing
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


# What a text says about itself, read once before it is embedded and compared: names, dates, cues, doubts, secrets.


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
    quality: tuple[QualityDetail, ...]
    substance: Substance
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
    weighed = substance(text, has_reference=referring, causal=cue is not None, min_confidence=min_confidence)
    kind = trigger_type(text, source)
    return Reading(
        tokens=token_set(text),
        side=subject,
        mentions=mentions,
        cue=cue,
        dates=found,
        quality=quality_warnings(text),
        substance=weighed,
        trigger_type=kind,
        trigger=None if kind is None else trigger_text(kind, text),
        queries=hypothetical_queries(kind, text, most=max_queries),
    )


def quality_labels(found: Iterable[QualityDetail]) -> list[str]:
    """The labels of remarks about a text, each once."""
    return list(dict.fromkeys(each.label for each in found))


# From a text that was read to the insight that would be stored, and to what the edge builders are told of it.


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


def new_memory(insight: Insight, reading: Reading) -> NewMemory:
    """What the edge builders are told of a memory."""
    return NewMemory(
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
