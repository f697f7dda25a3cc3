"""Groups of fields of a memory, and the union of what two devices know of one (docs/sync.md).

Each group has the stamp of its last change; of two records each group is that with the greater stamp. Texts that were
changed without knowledge of each other are both kept.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final, NamedTuple

import msgspec

from mnemond.model.memory import MAX_CONTENT, Insight, parse_rfc3339
from mnemond.model.sync import (
    MAX_RESTAMPED,
    Known,
    MemoryDigest,
    Record,
    is_ahead,
    is_later,
    later_stamp,
    stamp_of,
    time_of,
)

MAX_PAST: Final = 2_000
"""Stamps of earlier texts of one memory that are kept, the newest: more are not changed between two meetings."""

Value = dict[str, Any]
KnownMemory = Known[MemoryDigest]

TEXT, STATE, SCOPE = "text", "state", "scope"

GROUPS: Final[dict[str, tuple[str, ...]]] = {
    TEXT: ("content", "entities", "keywords", "trigger", "trigger_type", "event_start", "event_end", "intent"),
    STATE: ("status", "superseded_by"),
    "validity": ("valid_from", "invalid_at"),
    "origin": ("source", "channel", "conversation_id", "created_at"),
    SCOPE: ("scope",),
    **{each: (each,) for each in ("category", "importance", "tags", "pinned", "metadata", "expires_at", "quarantined",
                                  "cues", "when")},
}  # fmt: skip
"""Fields of a memory that devices share, in groups that change together. Of `text` only the content counts as a change:
the rest is read from it."""

LOCAL: Final = {
    "id": "the key", "updated_at": "when this device changed it", "access_count": "the sum of records of uses",
    "last_accessed_at": "the latest of records of uses", "effective_importance": "computed from uses", "boost_days":
    "uses on this device", "last_boosted_at": "uses on this device", "paired_with": "a contradiction that this device "
    "found", "corroboration_count": "uses on this device", "last_corroborated_at": "uses on this device",
    "useful": "the sum of records of uses", "misled": "the sum of records of uses",
}  # fmt: skip
"""Fields of a memory that its record does not have, and why."""


class RecordError(ValueError):
    """A line cannot be used; the message says why, in words."""


class MemoryValue(msgspec.Struct, frozen=True, omit_defaults=True):
    """A memory as a device knows it: by group the stamp and the fields. `past` and `of`: see `MemoryDigest`.
    `mentions`: names in the text: as written, folded, and their type. `op_id`: the last operation that changed it on
    that device, and `updated_at` when. Its key is its id, its stamp that of the last change."""

    groups: dict[str, tuple[str, Value]]
    past: list[str] = []
    of: str | None = None
    op_id: str = ""
    updated_at: str = ""
    mentions: list[tuple[str, str, str]] = []
    queries: list[str] = []


def values_of(it: Insight) -> dict[str, Value]:
    """Return the fields of a memory by group, as JSON has them."""
    fields: Value = msgspec.to_builtins(
        {name: getattr(it, name) for names in GROUPS.values() for name in names}, str_keys=True
    )
    return {group: {name: fields[name] for name in names} for group, names in GROUPS.items()}


_encoder = msgspec.json.Encoder(order="deterministic")


def digest_of(value: object) -> str:
    return hashlib.blake2b(_encoder.encode(value), digest_size=12).hexdigest()


def _group_digest(group: str, value: Value) -> str:
    return digest_of(value["content"] if group == TEXT else value)


_TIMES: Final = ("created_at", "updated_at", "event_start", "event_end", "valid_from", "invalid_at", "expires_at")
_object = msgspec.json.Decoder(dict[str, Any])


def memory_of(key: str, values: dict[str, Value], updated_at: str) -> Insight:
    """Return a memory with these fields. Raises RecordError for a value that cannot be used."""
    fields = {name: value for each in values.values() for name, value in each.items()}
    try:
        it = msgspec.convert({**fields, "id": key, "updated_at": updated_at}, Insight)
        for name in _TIMES:
            if (text := getattr(it, name)) is not None:
                parse_rfc3339(text)
        _object.decode(it.metadata)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise RecordError(f"a value cannot be used: {str(error)[:200]}") from None
    if not 1 <= len(it.content) <= MAX_CONTENT:
        raise RecordError(f"its text has {len(it.content):,} characters")
    if not 1 <= it.importance <= 5:
        raise RecordError("its importance is not from 1 to 5")
    return it


def unknown(key: str) -> KnownMemory:
    """Return what is known of a memory of which nothing is."""
    return Known(kind="memory", key=key, stamp="", value=MemoryDigest())


def purged(known: KnownMemory, stamp: str) -> KnownMemory:
    return Known(kind="memory", key=known.key, stamp=stamp, state="purged")


def _known(before: KnownMemory, value: MemoryDigest, restamped: list[str]) -> KnownMemory:
    last = max(stamp for stamp, _ in value.groups.values())
    return Known(kind="memory", key=before.key, stamp=last, value=value, restamped=restamped)


class United(NamedTuple):
    """The union of a known memory with a record. `taken`: groups whose fields are those of the record. `lost`: True if
    the record's text was changed without knowledge of the text here, which is newer; False the other way round; None
    if one of the two texts was changed with knowledge of the other."""

    known: KnownMemory
    taken: frozenset[str]
    lost: bool | None


def united(known: KnownMemory, record: Record[MemoryValue]) -> United:
    """Unite what is known with a record. What results is the same for any order of the same records."""
    if (here := known.value) is None or (there := record.value) is None:
        return United(purged(known, record.stamp) if is_later(record, known) else known, frozenset(), None)
    groups, taken = dict(here.groups), set[str]()
    for group, (stamp, value) in there.groups.items():
        if group not in groups or stamp > groups[group][0]:
            groups[group] = (stamp, _group_digest(group, value))
            taken.add(group)
    lost = None
    past = {*here.past, *there.past}
    if TEXT in here.groups:
        (ours, digest), (theirs, text) = here.groups[TEXT], there.groups[TEXT]
        if ours != theirs:
            same = digest == _group_digest(TEXT, text)
            if not same and ours not in there.past and theirs not in here.past:
                lost = theirs < ours
            past.add(min(ours, theirs))
    now = MemoryDigest(groups, sorted(past)[-MAX_PAST:], here.of or there.of)
    return United(_known(known, now, known.restamped), frozenset(taken), lost)


def changed(known: KnownMemory, values: dict[str, Value], us: int, device: str) -> KnownMemory:
    """Return what is known once this device has changed a memory to these fields, at a time in microseconds; the same
    if it has not. A change is later than everything that was known of the memory then."""
    if (before := known.value) is None:
        return known
    digests = {group: _group_digest(group, value) for group, value in values.items()}
    differing = {group for group, digest in digests.items() if before.groups.get(group, ("", ""))[1] != digest}
    if not differing:
        return known
    stamp = later_stamp(known if known.stamp else None, us, device)
    groups, past = dict(before.groups), list(before.past)
    if TEXT in differing:
        if TEXT in before.groups:
            past = sorted({*past, before.groups[TEXT][0]})[-MAX_PAST:]
        if values[STATE]["status"] == "active":
            differing.add(STATE)  # who changes a text means it to be in recall
    for group in differing:
        groups[group] = (stamp, digests[group])
    return _known(known, MemoryDigest(groups, past, before.of), known.restamped)


def without_ahead(known: KnownMemory, now_us: int, device: str) -> KnownMemory:
    """Return what is known with other stamps in the place of those that are more than AHEAD_US ahead of the clock, in
    their order, later than all others of this memory. All other devices would refuse them.

    A device that had accepted one of them keeps it, since it is later, and has to publish it from now on: no other
    device does. For that, they are listed in `restamped`."""
    if (before := known.value) is None:
        return purged(known, stamp_of(now_us, device))
    stamps = {stamp for stamp, _ in before.groups.values()}
    ahead = sorted(each for each in stamps if is_ahead(each, now_us))
    past = [each for each in before.past if not is_ahead(each, now_us)]
    start = max([now_us, *(time_of(each) + 1 for each in {*stamps, *past}.difference(ahead))])
    renewed = {stamp: stamp_of(start + at, device) for at, stamp in enumerate(ahead)}
    groups = {group: (renewed.get(stamp, stamp), digest) for group, (stamp, digest) in before.groups.items()}
    kept = sorted({*known.restamped, *ahead})[-MAX_RESTAMPED:]
    return _known(known, MemoryDigest(groups, past, before.of), kept)


def next_stamp(stamp: str, value: object) -> str:
    """Return the stamp of a value that follows from a state with another stamp, the next in time. It has a digest in
    the place of a device, so that no change that a device makes at that time has the same."""
    return stamp_of(time_of(stamp) + 1, digest_of((stamp, value))[:16])


def copy_key(key: str, stamp: str) -> str:
    """Return the id of the memory that keeps a text which another one took the place of: the same on every device."""
    digits = hashlib.blake2b(f"{key}\0{stamp}".encode(), digest_size=16).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{digits[20:]}"
