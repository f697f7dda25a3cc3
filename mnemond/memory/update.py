"""update: an active memory gets other values; a new text is read, embedded and linked as if it were new."""

from __future__ import annotations

from functools import partial

import msgspec
from msgspec import UNSET, UnsetType

from mnemond.config.settings import Config
from mnemond.errors import FieldProblem
from mnemond.index.snapshot import Snapshot
from mnemond.memory.calibration import WriteRules
from mnemond.memory.compare import parted
from mnemond.memory.draft import (
    RESERVED,
    Reading,
    WriteContext,
    as_text,
    clean,
    is_plain,
    keywords_of,
    new_memory,
    problems_of,
    quality_labels,
    with_reading,
)
from mnemond.memory.history import Find, Present, active_row
from mnemond.memory.relink import Relinked, Relinking, reanalyse, relinked
from mnemond.model.changes import Change, ChangeSet, PutInsight, Vector
from mnemond.model.memory import NO_METADATA, EdgeType, Insight, Scope, format_us, parse_rfc3339
from mnemond.model.outcomes import EdgesCreated, UpdateResult
from mnemond.store import edges
from mnemond.store.operations import Proposal, View
from mnemond.text.entities import canonical_name, extract
from mnemond.text.quality import quality_warnings

FIELDS = (
    "content", "category", "importance", "tags", "entities", "source", "conversation_id", "created_at", "metadata",
)  # fmt: skip
"""What can be given another value."""

STORED_NAMES = ("source", "conversation_id")
"""Of its names, what is written: the scope only says who asks."""

REBUILT: dict[str, frozenset[EdgeType]] = {
    "content": frozenset({"entity", "causal", "semantic"}),
    "entities": frozenset({"entity"}),
    "created_at": frozenset({"temporal", "causal"}),
    "source": frozenset({"temporal"}),
    "conversation_id": frozenset({"temporal"}),
}
"""Types of edges that follow from a field, and are made anew when it changes."""


NO_LINE = ""
"""Where nothing was changed, the log says nothing."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """The new values, without secrets; UNSET ones stay as they are."""

    content: str | UnsetType = UNSET
    category: str | UnsetType = UNSET
    importance: int | UnsetType = UNSET
    tags: tuple[str, ...] | UnsetType = UNSET
    entities: tuple[str, ...] | UnsetType = UNSET
    entity_mode: str = "merge"
    source: str | UnsetType = UNSET
    conversation_id: str | UnsetType | None = UNSET
    created_at: str | UnsetType = UNSET
    metadata: dict[str, object] | UnsetType | None = UNSET
    redacted: tuple[str, ...] = ()


class Update(msgspec.Struct, frozen=True, kw_only=True):
    """Which memory, and its new values. `vector` belongs to a new content; None when it could not be embedded."""

    id: str
    wanted: Wanted
    scope: Scope = Scope()
    vector: object = None  # Vector | None
    embed_error: str | None = None


def problems(fields: dict[str, object]) -> list[FieldProblem]:
    """Everything wrong with the fields that were given, and that none was given if so."""
    given = {name: value for name, value in fields.items() if value is not UNSET}
    found = problems_of(given, STORED_NAMES)
    if given.keys().isdisjoint(FIELDS):
        found.append(FieldProblem("id", f"nothing to update: give {', '.join(FIELDS[:-1])} or {FIELDS[-1]}"))
    return found


def wanted_of(fields: dict[str, object], *, allow_secret: bool) -> Wanted:
    """Valid fields, in NFC and without secrets. Raises MnemonError(INVALID_PARAMS) as `clean` does."""
    given: dict[str, object] = {
        name: value for name, value in fields.items() if name in (*FIELDS, "entity_mode") and value is not UNSET
    }
    bare = msgspec.convert(given, Wanted)
    tidy = clean(
        "" if bare.content is UNSET else bare.content,
        () if bare.tags is UNSET else bare.tags,
        () if bare.entities is UNSET else bare.entities,
        {} if bare.metadata is UNSET or bare.metadata is None else bare.metadata,
        allow_secret=allow_secret,
    )
    noted = msgspec.json.decode(tidy.metadata, type=dict[str, object])
    cleaned = {"content": tidy.content, "tags": tidy.tags, "entities": tidy.entities, "metadata": noted}
    moment = {} if bare.created_at is UNSET else {"created_at": format_us(parse_rfc3339(bare.created_at))}
    return msgspec.structs.replace(
        bare, **{name: value for name, value in cleaned.items() if name in given}, **moment, redacted=tidy.redacted
    )


def propose(update: Update, identity: WriteContext, find: Find, rules: WriteRules) -> Proposal:
    """The write. What it is compared and linked with is looked up under the writer; `find` names memories."""
    vector: Vector | None = update.vector  # type: ignore[assignment]
    return identity.proposal(
        method="update",
        decide=partial(_decide, update, identity, find, rules),
        vector=vector,
    )


def _decide(update: Update, identity: WriteContext, find: Find, rules: WriteRules, view: View) -> ChangeSet:
    present = active_row(view, find, update.id, update.scope)
    revised, reading = _revised(present.insight, update.wanted, view.snapshot, rules.config)
    changed = _changed(present.insight, revised, update.wanted)
    if not changed:
        outcome = _outcome(update, identity, view, present, changed)
        return _change_set(identity, (), outcome)
    revised = msgspec.structs.replace(revised, updated_at=identity.now)
    return _rewritten(update, identity, view, rules, present, revised, reading, changed)


def _changed(old: Insight, new: Insight, wanted: Wanted) -> tuple[str, ...]:
    """Fields with another value. The dates among the metadata follow from the text, and are no change of their own."""
    told = FIELDS if wanted.metadata is not UNSET else FIELDS[: FIELDS.index("metadata")]
    return tuple(name for name in told if getattr(new, name) != getattr(old, name))


def _rewritten(
    update: Update,
    identity: WriteContext,
    view: View,
    rules: WriteRules,
    present: Present,
    revised: Insight,
    reading: Reading | None,
    changed: tuple[str, ...],
) -> ChangeSet:
    old, anew = present.insight, "content" in changed
    alone: list[Change] = []
    if anew:  # another text repeats nothing that anybody compared it with
        alone = parted(view.snapshot, old)
        revised = msgspec.structs.replace(revised, paired_with=None)
    links = _relinked(view, rules, old, revised, reading, changed)
    put = PutInsight(
        revised,
        embedded=anew,
        vector=update.vector if anew else None,
        mentions=reading.mentions if reading is not None and ("entities" in changed or anew) else None,
        queries=reading.queries if reading is not None else None,
    )
    outcome = _outcome(update, identity, view, present, changed, links.links)
    return _change_set(identity, (put, *alone, *links.changes), outcome)


def _outcome(
    update: Update,
    identity: WriteContext,
    view: View,
    present: Present,
    changed: tuple[str, ...],
    links: EdgesCreated | None = None,
) -> UpdateResult:
    anew, content = "content" in changed, update.wanted.content
    found = () if content is UNSET else quality_warnings(content)
    return UpdateResult(
        id=present.insight.id,
        status="updated" if changed else "unchanged",
        changed=list(changed),
        embedded=update.vector is not None if anew else view.snapshot.has_vector(present.row),
        embed_error=update.embed_error if anew else None,
        edges_created=links or EdgesCreated(),
        effective_importance=present.insight.effective_importance,
        redacted=list(update.wanted.redacted),
        quality_warnings=quality_labels(found),
        quality_details=list(found),
        op_id=identity.op_id,
        replayed=False,
    )


def _revised(old: Insight, wanted: Wanted, snapshot: Snapshot, config: Config) -> tuple[Insight, Reading | None]:
    """The memory with its new values and what follows from them, and the reading they follow from, if any."""
    plain = (name for name in FIELDS if name not in ("entities", "metadata"))
    new = msgspec.structs.replace(
        old,
        **{name: value for name in plain if (value := getattr(wanted, name)) is not UNSET},
        metadata=_metadata(old, wanted),
    )
    if new.created_at != old.created_at and old.valid_from == old.created_at:
        new = msgspec.structs.replace(new, valid_from=new.created_at)
    reads = any(getattr(new, name) != getattr(old, name) for name in ("content", "created_at", "source"))
    if not reads and wanted.entities is UNSET:
        retold = new.tags != old.tags
        return (
            msgspec.structs.replace(new, keywords=keywords_of(new, new.entities, snapshot)) if retold else new
        ), None
    names, mode = _names(old, new, wanted, snapshot)
    reading = reanalyse(new, snapshot, config, names, mode)
    return with_reading(new, reading, snapshot), reading


def _metadata(old: Insight, wanted: Wanted) -> str:
    """What is noted with it now: in the place of what was, but for what nobody else could note: the dates of its text,
    and who has to do with whom, by which a later fact takes its place."""
    if wanted.metadata is UNSET:
        return old.metadata
    had = msgspec.json.decode(old.metadata, type=dict[str, object])
    noted = (wanted.metadata or {}) | {
        name: value for name, value in had.items() if name == RESERVED or not is_plain(value)
    }
    return as_text(noted) if noted else NO_METADATA


def _names(old: Insight, new: Insight, wanted: Wanted, snapshot: Snapshot) -> tuple[tuple[str, ...], str]:
    """Entities that somebody provided, and how they go together with those of the text.

    Where none are given with a new text, those stay that the old text does not name itself: somebody provided them.
    """
    if wanted.entities is not UNSET:
        return wanted.entities, wanted.entity_mode
    if new.content == old.content:
        return old.entities, "provided"
    found = {entity.canonical for entity in extract(old.content, mode="auto", known=snapshot.entity_spelling)}
    return tuple(name for name in old.entities if canonical_name(name) not in found), wanted.entity_mode


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
    return relinked(view, what, rules.config.graph)


def _change_set(identity: WriteContext, changes: tuple[Change, ...], outcome: UpdateResult) -> ChangeSet:
    return identity.change_set(
        method="update",
        changes=changes,
        outcome=outcome,
        detail=", ".join(outcome.changed),
        operation=None if changes else NO_LINE,
        subject=outcome.id,
    )
