"""update: change fields of an active memory; a new text is read, embedded and linked as if it were new."""

from __future__ import annotations

from functools import partial
from typing import TypedDict

import msgspec
from msgspec import UNSET

from mnemond.config.settings import Config
from mnemond.errors import FieldProblem
from mnemond.index.snapshot import Snapshot
from mnemond.memory.compare import parted
from mnemond.memory.cues import revised_cues
from mnemond.memory.draft import (
    RESERVED,
    Draft,
    Reading,
    as_text,
    clean,
    is_plain,
    keywords_of,
    new_memory,
    problems_of,
    quality_labels,
    reanalyse,
    with_reading,
)
from mnemond.memory.edge_builders import Relinked, Relinking, relinked
from mnemond.memory.history import Find, Present, active_row
from mnemond.memory.questions.memories import added_names
from mnemond.memory.rules import revised_triggers
from mnemond.memory.write import WriteContext, WriteRules
from mnemond.model.changes import Change, ChangeSet, PutInsight, Vector
from mnemond.model.memory import NO_METADATA, EdgeType, Insight, Scope, TextWithCues, format_us, parse_rfc3339
from mnemond.model.outcomes import EdgesCreated, UpdateResult
from mnemond.store import edges
from mnemond.store.operations import Proposal, View
from mnemond.text.entities import canonical_name, extract
from mnemond.text.quality import quality_warnings
from mnemond.text.similarity import normalised

FIELDS = (
    "content", "category", "importance", "tags", "entities", "cues", "when", "source", "conversation_id", "created_at",
    "metadata",
)  # fmt: skip
"""Fields that can be changed."""

STORED_NAMES = ("source", "conversation_id")
"""Names that are written; the scope only identifies the reader."""

REBUILT: dict[str, frozenset[EdgeType]] = {
    "content": frozenset({"entity", "causal", "semantic"}),
    "entities": frozenset({"entity"}),
    "created_at": frozenset({"temporal", "causal"}),
    "source": frozenset({"temporal"}),
    "conversation_id": frozenset({"temporal"}),
}
"""Types of edges that depend on a field and are rebuilt when it changes."""


class NewValues(TypedDict, total=False):
    """The new values of an update; absent fields stay as they are."""

    content: str
    category: str
    importance: int
    tags: tuple[str, ...]
    entities: tuple[str, ...]
    entity_mode: str
    cues: tuple[str, ...]
    when: tuple[str, ...]
    source: str
    conversation_id: str | None
    created_at: str
    metadata: dict[str, object] | None


class Update(msgspec.Struct, frozen=True, kw_only=True):
    """A memory and its new values. `vector` belongs to `embedded_text`, what the memory is embedded as after the
    update; None when it could not be embedded."""

    id: str
    values: NewValues
    redacted: tuple[str, ...] = ()
    scope: Scope = Scope()
    embedded_text: TextWithCues | None = None
    vector: object = None  # Vector | None
    embed_error: str | None = None


def problems(fields: dict[str, object]) -> list[FieldProblem]:
    """Return everything wrong with the given fields; giving none is a problem as well."""
    given = {name: value for name, value in fields.items() if value is not UNSET}
    found = problems_of(given, STORED_NAMES)
    if given.keys().isdisjoint(FIELDS):
        found.append(FieldProblem("id", f"nothing to update: give {', '.join(FIELDS[:-1])} or {FIELDS[-1]}"))
    return found


def new_values(fields: dict[str, object], *, allow_secret: bool) -> tuple[NewValues, tuple[str, ...]]:
    """Return valid fields in NFC and redacted, and the kinds of secrets. Raises MnemonError(INVALID_PARAMS) as `clean`
    does."""
    given = {name: value for name, value in fields.items() if name in (*FIELDS, "entity_mode") and value is not UNSET}
    values = msgspec.convert(given, NewValues)
    tidy, redacted = clean(
        Draft(
            content=values.get("content", ""),
            tags=values.get("tags", ()),
            entities=values.get("entities", ()),
            metadata=values.get("metadata") or {},
            cues=values.get("cues", ()),
            allow_secret=allow_secret,
        )
    )
    if "content" in values:
        values["content"] = tidy.content
    if "tags" in values:
        values["tags"] = tidy.tags
    if "entities" in values:
        values["entities"] = tidy.entities
    if "cues" in values:
        values["cues"] = tuple(tidy.cues)
    if "metadata" in values:
        values["metadata"] = dict(tidy.metadata)
    if "created_at" in values:
        values["created_at"] = format_us(parse_rfc3339(values["created_at"]))
    return values, redacted


def text_after(it: Insight, values: NewValues) -> TextWithCues:
    """Return what a memory is embedded as with new values."""
    cues = revised_cues(it.cues, values["cues"]) if "cues" in values else it.cues
    return TextWithCues(values.get("content", it.content), cues)


def propose(update: Update, identity: WriteContext, find: Find, rules: WriteRules) -> Proposal:
    """Propose the update. Everything is checked in the writer; `find` resolves ids."""
    vector: Vector | None = update.vector  # type: ignore[assignment]
    return identity.proposal("update", partial(_decide, update, identity, find, rules), vector)


def _decide(update: Update, identity: WriteContext, find: Find, rules: WriteRules, view: View) -> ChangeSet:
    present = active_row(view, find, update.id, update.scope)
    old = present.insight
    revised, reading = _revised(old, update.values, view.snapshot, rules.config)
    changed = _changed(old, revised, update.values)
    changes: tuple[Change, ...] = ()
    created = EdgesCreated()
    if changed:
        anew, embedded = "content" in changed, revised.text != old.text
        revised = msgspec.structs.replace(revised, updated_at=identity.now)
        unpaired: list[Change] = []
        if anew:  # the redundancy of the pair was computed from the former text
            unpaired = parted(view.snapshot, old)
            revised = msgspec.structs.replace(revised, paired_with=None)
        links = _relinked(view, rules, old, revised, reading, changed)
        put = PutInsight(
            revised,
            embedded=embedded,
            vector=_vector_of(update, revised) if embedded else None,
            mentions=reading.mentions if reading is not None and ("entities" in changed or anew) else None,
            queries=reading.queries if reading is not None else None,
        )
        changes, created = (put, *unpaired, *links.changes), links.links
    return identity.change_set(
        method="update",
        changes=changes,
        outcome=_outcome(update, identity, view, present, changed, created),
        detail=", ".join(changed),
        operation=None if changes else "",  # no log line if nothing changed
        subject=old.id,
    )


def _vector_of(update: Update, revised: Insight) -> object:
    """Return the vector, unless the memory was changed while it was embedded: then it is embedded later."""
    return update.vector if update.embedded_text == revised.text else None


def _changed(old: Insight, new: Insight, values: NewValues) -> tuple[str, ...]:
    """Return the changed fields. The dates in the metadata follow from the text and are no change of their own."""
    compared = FIELDS if "metadata" in values else FIELDS[: FIELDS.index("metadata")]
    return tuple(name for name in compared if getattr(new, name) != getattr(old, name))


def _outcome(
    update: Update,
    identity: WriteContext,
    view: View,
    present: Present,
    changed: tuple[str, ...],
    links: EdgesCreated,
) -> UpdateResult:
    anew = "content" in changed
    embedded = anew or "cues" in changed
    found = quality_warnings(update.values["content"]) if "content" in update.values else ()
    return UpdateResult(
        id=present.insight.id,
        status="updated" if changed else "unchanged",
        changed=list(changed),
        embedded=update.vector is not None if embedded else view.snapshot.has_vector(present.row),
        embed_error=update.embed_error if embedded else None,
        edges_created=links,
        effective_importance=present.insight.effective_importance,
        redacted=list(update.redacted),
        quality_warnings=quality_labels(found),
        quality_details=list(found),
        same_text=_same_text(view, present.insight, update.values["content"]) if anew else None,
        op_id=identity.op_id,
        replayed=False,
    )


def _same_text(view: View, old: Insight, content: str) -> str | None:
    """Return the oldest other active memory for the same readers that has the new text; None if none has."""
    text = normalised(content)
    rows = (view.snapshot.insight(row) for row in view.snapshot.twins(text))
    same = [it for it in rows if it.id != old.id and it.scope == old.scope and normalised(it.content) == text]
    return min(same, key=lambda it: (it.created_at, it.id)).id if same else None


def _revised(old: Insight, values: NewValues, snapshot: Snapshot, config: Config) -> tuple[Insight, Reading | None]:
    """Return the memory with its new and derived values, and the reading they are derived from, if any."""
    derived = ("entities", "entity_mode", "metadata", "cues", "when")
    plain = {name: value for name, value in values.items() if name not in derived}
    cues = text_after(old, values).cues
    when = revised_triggers(old.when, values["when"]) if "when" in values else old.when
    new = msgspec.structs.replace(old, **plain, metadata=_metadata(old, values), cues=cues, when=when)
    if new.created_at != old.created_at and old.valid_from == old.created_at:
        new = msgspec.structs.replace(new, valid_from=new.created_at)
    reads = any(getattr(new, name) != getattr(old, name) for name in ("content", "created_at", "source"))
    if not reads and "entities" not in values:
        if new.tags != old.tags:
            new = msgspec.structs.replace(new, keywords=keywords_of(new, new.entities, snapshot))
        return new, None
    names, mode = _names(old, new, values, snapshot)
    reading = reanalyse(new, snapshot, config, names, mode)
    return with_reading(new, reading, snapshot), reading


def _metadata(old: Insight, values: NewValues) -> str:
    """Return the new metadata: the given object, and the entries that only the store itself writes: the dates of the
    text, and the relations by which a later fact replaces the memory."""
    if "metadata" not in values:
        return old.metadata
    had = msgspec.json.decode(old.metadata, type=dict[str, object])
    own = {name: value for name, value in had.items() if name == RESERVED or not is_plain(value)}
    metadata = (values["metadata"] or {}) | own
    return as_text(metadata) if metadata else NO_METADATA


def _names(old: Insight, new: Insight, values: NewValues, snapshot: Snapshot) -> tuple[tuple[str, ...], str]:
    """Return the provided entities and the mode of combining them with those of the text.

    Where none are given with a new text, those stay that the old text does not name itself: they were provided. Names
    that a model added to the old text go: it reads the new one.
    """
    mode = values.get("entity_mode", "merge")
    if "entities" in values:
        return values["entities"], mode
    if new.content == old.content:
        return old.entities, "provided"
    found = {entity.canonical for entity in extract(old.content, mode="auto", known=snapshot.entity_spelling)}
    found |= added_names(old)
    return tuple(name for name in old.entities if canonical_name(name) not in found), mode


def _relinked(
    view: View, rules: WriteRules, old: Insight, new: Insight, reading: Reading | None, changed: tuple[str, ...]
) -> Relinked:
    kinds = frozenset[EdgeType]().union(*(REBUILT.get(name, ()) for name in changed))
    if not kinds:
        return Relinked((), EdgesCreated())
    known = reading or reanalyse(new, view.snapshot, rules.config)
    what = Relinking(
        insight=new,
        newcomer=new_memory(new, known),
        had=edges.touching(view.connection, old.id),
        kinds=kinds,
        left=(old,) if "temporal" in kinds else (),
    )
    return relinked(view.snapshot, view.similarity, what, rules.config.graph)
