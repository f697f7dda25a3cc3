"""The lines that devices write for each other: one record each, of a kind that is described here (docs/sync.md)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from mnemond.index.columns import PREFIX_LENGTH
from mnemond.memory.sync.groups import GROUPS, MAX_PAST, MemoryValue, RecordError, digest_of, memory_of
from mnemond.model.changes import LONGEST_NAME, LONGEST_PROMPT, LONGEST_REPLY
from mnemond.model.memory import EDGE_TYPES, format_us, parse_rfc3339
from mnemond.model.passages import Passage
from mnemond.model.relations import MAX_QUOTE, MAX_TYPE, MAX_VALUE
from mnemond.model.sync import (
    AHEAD_US,
    MAX_RESTAMPED,
    EdgeValue,
    Name,
    NameValue,
    Record,
    RelationValue,
    State,
    UseValue,
    is_ahead,
)
from mnemond.text.secrets import find_secrets

FORMAT: Final = 1
"""Version of the records: the value of `mnemond_sync` in every line."""

MAX_LINE: Final = 1 << 20
"""Bytes of a line: the longest text, its cues and its metadata have a tenth of that."""

MAX_PARTS: Final = 1_000
"""Names in a text, or questions that it answers."""

_encoder = msgspec.json.Encoder(order="deterministic")


class UnknownKindError(RecordError):
    """A line is of a kind that this version does not know."""


# Keys.


def relation_key(it: RelationValue) -> str:
    """Return the key of a statement: equal ones have the same on every device. What a person, a host and a text said
    are three statements."""
    origin = it.origin if it.origin in ("user", "host") else "read"
    target = None if it.target is None else it.target.node
    value = None if it.value is None else it.value.casefold()
    return digest_of(
        (it.source.node, it.type, it.slot, target, value, it.kind, it.at, it.granularity, origin, it.memory)
    )


def name_key(it: NameValue) -> str:
    """Return the key of a decision: the pair in any order, or the alias."""
    if it.decision == "alias":
        return digest_of(("alias", it.other.canonical))
    return digest_of(("pair", sorted((each.sense, each.canonical) for each in (it.one, it.other))))


# What a value may be, by kind.


def _check_memory(it: Record[MemoryValue], now_us: int) -> None:
    if (value := it.value) is None:
        return
    if value.groups.keys() != GROUPS.keys():
        raise RecordError("it has not all groups of fields, or others")
    stamps = [stamp for stamp, _ in value.groups.values()]
    for stamp in (*stamps, *value.past):
        check_stamp(stamp, now_us)
    if it.stamp != max(stamps):
        raise RecordError("its stamp is not that of its last change")
    if not (value.of is None or _id.fullmatch(value.of)):
        raise RecordError("its key is no id")
    if len(value.past) > MAX_PAST or len(value.mentions) > MAX_PARTS or len(value.queries) > MAX_PARTS:
        raise RecordError("it has too many parts")
    for group, (_, fields) in value.groups.items():
        if fields.keys() != set(GROUPS[group]):
            raise RecordError(f"its group {group} has other fields")
    memory_of(it.key, {group: fields for group, (_, fields) in value.groups.items()}, value.updated_at)
    if len(it.key) < PREFIX_LENGTH:
        raise RecordError(f"its key has less than {PREFIX_LENGTH} characters: no command could name the memory")


_object = msgspec.json.Decoder(dict[str, Any])
_MAX_METADATA: Final = 4096
"""Characters of the metadata of a link."""


def _check_edge(it: Record[EdgeValue], _now_us: int) -> None:
    source, target, kind = it.key.split(" ")
    if kind not in EDGE_TYPES or source == target:
        raise RecordError("its key is no link")
    if (value := it.value) is None:
        return
    if not 0 <= value.weight <= 1 or value.created_by not in ("user", "host", "import"):
        raise RecordError("its weight or its origin cannot be used")
    if len(value.metadata) > _MAX_METADATA:
        raise RecordError("its metadata is too long")
    try:
        _object.decode(value.metadata)
    except (msgspec.MsgspecError, RecursionError):
        raise RecordError("its metadata is no object") from None


_TYPE: Final = re.compile(r"[a-z][a-z0-9_]*")
_SLOT: Final = re.compile(r"[a-z0-9_]*")
_MAX_NAME: Final = 2 * MAX_VALUE
"""Characters of a name: those that a text has may be longer than those that are given."""


def _check_relation(it: Record[RelationValue], _now_us: int) -> None:
    if (value := it.value) is None:
        return
    if value.memory is not None and not _id.fullmatch(value.memory):
        raise RecordError("its memory is no id")
    if it.key != relation_key(value):
        raise RecordError("its key is that of another statement")
    for kind, shape in ((value.type, _TYPE), (value.slot, _SLOT)):
        if len(kind) > MAX_TYPE or not shape.fullmatch(kind):
            raise RecordError("its type cannot be used")
    if (value.target is None) == (value.value is None):
        raise RecordError("it has no target, or two")
    _check_names(value.source, *(() if value.target is None else (value.target,)))
    if value.value is not None and not 0 < len(value.value) <= _MAX_NAME:
        raise RecordError("its target is too long, or empty")
    if not 0 <= value.strength <= 1 or len(value.quote) > MAX_QUOTE:
        raise RecordError("its strength or its sentence cannot be used")
    if value.memory is None and (value.quote or value.origin not in ("user", "host")):
        raise RecordError("it was read from a memory, and names none")
    _check_times(value.at, value.created_at)


def _check_name(it: Record[NameValue], _now_us: int) -> None:
    if (value := it.value) is None:
        return
    if it.key != name_key(value):
        raise RecordError("its key is that of another decision")
    one, other = value.one, value.other
    _check_names(one, *(() if value.decision == "alias" else (other,)))
    if value.decision == "alias":
        _check_names(other._replace(kind="concept"))
    if one.node == other.node:
        raise RecordError("it is about one name")
    if other.sense and value.decision != "not_same":
        raise RecordError("a user is no name of another thing")
    if len(value.by) > MAX_VALUE or not value.by.isprintable():
        raise RecordError("it does not name what decided")
    _check_times(value.created_at)


def _check_names(*names: Name) -> None:
    for each in names:
        texts = (each.name, each.canonical)
        if not all(text.strip() and len(text) <= _MAX_NAME and text.isprintable() for text in texts):
            raise RecordError("a name in it is not one line, or too long")
        if not _TYPE.fullmatch(each.kind) or len(each.kind) > MAX_TYPE or each.sense not in ("", "user"):
            raise RecordError("a name in it has a kind that cannot be used")
        if (each.kind == "user") != (each.sense == "user"):
            raise RecordError("a name in it is no user")


_MAX_USES: Final = 1_000_000_000
"""Uses and judgements of one device: more than one a second for thirty years."""


def _check_use(it: Record[UseValue], now_us: int) -> None:
    value = it.value
    if value is None or not all(0 <= each <= _MAX_USES for each in (value.uses, value.useful, value.misled)):
        raise RecordError("its counts cannot be used")
    if value.last is not None:
        _check_times(value.last)
        if parse_rfc3339(value.last) > now_us + AHEAD_US:
            raise RecordError("its last use is more than a day ahead of this device's clock")


def _check_passage(it: Record[Passage], now_us: int) -> None:
    if (value := it.value) is None:
        return
    if not _id.fullmatch(value.id) or len(value.id) < PREFIX_LENGTH:
        raise RecordError("its text has no id")
    names = (value.host, value.conversation_id, value.project, value.user_id, value.session_id, value.agent_id)
    # Marks of what was pasted and of code that was left out make a text longer than what was said, by less than itself.
    if (
        any(len(each) > LONGEST_NAME for each in names)
        or len(value.prompt) > 2 * LONGEST_PROMPT
        or len(value.answer) > 2 * LONGEST_REPLY
        or not value.text.strip()
    ):
        raise RecordError("a text of it is empty or too long")
    _check_times(value.said_at)
    if parse_rfc3339(value.said_at) > now_us + AHEAD_US:
        raise RecordError("it was said more than a day ahead of this device's clock")
    if find_secrets(value.text):
        raise RecordError("it has a key or a password")


def _check_times(*times: str) -> None:
    """Times are compared as texts, so there is one way to write each."""
    try:
        usable = all(format_us(parse_rfc3339(each)) == each for each in times)
    except ValueError:
        usable = False
    if not usable:
        raise RecordError("a time of it cannot be used")


# Kinds.


class _Kind(NamedTuple):
    """A kind of records: what reads a line, what the key is and its form, the states that devices tell each other, and
    what refuses a value."""

    read: msgspec.json.Decoder[Any]
    key_is: str
    key: re.Pattern[str]
    states: frozenset[State]
    check: Callable[[Record[Any], int], None]


_ID: Final = r"[0-9A-Za-z_.:-]{1,80}"
_id: Final = re.compile(_ID)
_hash: Final = re.compile(r"[0-9a-f]{24}")


def _reads(value: type) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(Record[value])  # type: ignore[valid-type]


_KINDS: Final[Mapping[str, _Kind]] = {
    "memory": _Kind(_reads(MemoryValue), "id", _id, frozenset({"kept", "purged"}), _check_memory),
    "edge": _Kind(
        _reads(EdgeValue), "link", re.compile(rf"{_ID} {_ID} [a-z]+"), frozenset({"kept", "gone"}), _check_edge
    ),
    "relation": _Kind(_reads(RelationValue), "hash", _hash, frozenset({"kept", "gone"}), _check_relation),
    "name": _Kind(_reads(NameValue), "hash", _hash, frozenset({"kept", "gone", "purged"}), _check_name),
    "use": _Kind(
        _reads(UseValue), "memory and device", re.compile(rf"{_ID} [0-9a-f]{{16}}"), frozenset({"kept"}), _check_use
    ),
    "passage": _Kind(
        _reads(Passage), "hash", re.compile(r"[0-9a-f]{32}"), frozenset({"kept", "gone", "cut", "purged"}),
        _check_passage,
    ),
}  # fmt: skip


# Lines.


class _Line(msgspec.Struct):
    mnemond_sync: int
    kind: str = ""


_line = msgspec.json.Decoder(_Line)


def encode(record: Record[Any]) -> bytes:
    """Return the line of a record, without its line break."""
    return b'{"mnemond_sync":%d,' % FORMAT + _encoder.encode(record)[1:]


def decode(line: bytes, now_us: int) -> Record[Any]:
    """Return the record of a line, with every value checked. Raises RecordError; UnknownKindError for one that a later
    version can read."""
    if len(line) > MAX_LINE:
        raise RecordError(f"it has more than {MAX_LINE:,} bytes")
    name = check_version(line)
    if (kind := _KINDS.get(name)) is None:
        raise UnknownKindError(f"this mnemond does not know records of the kind {name[:20]!a}: update it")
    try:
        found: Record[Any] = kind.read.decode(line)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise RecordError(f"it is no record: {str(error)[:200]}") from None
    check_stamp(found.stamp, now_us)
    if len(found.restamped) > MAX_RESTAMPED or not all(_STAMP.fullmatch(each) for each in found.restamped):
        raise RecordError("what it says of former stamps cannot be used")
    if not kind.key.fullmatch(found.key):
        raise RecordError(f"its key is no {kind.key_is}")
    if found.state not in kind.states or (found.value is None) == (found.state == "kept"):
        raise RecordError("its state is none of its kind, or has another value")
    kind.check(found, now_us)
    return found


def check_version(line: bytes) -> str:
    """Return the kind of record that a line is. Raises RecordError unless it is an object of JSON in this version of
    the format."""
    try:
        head = _line.decode(line)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise RecordError(f"it is no record, or was cut: {str(error)[:200]}") from None
    if head.mnemond_sync != FORMAT:
        version = head.mnemond_sync
        raise RecordError(f"it is of version {version} of the format; this mnemond reads version {FORMAT}")
    return head.kind


# Stamps and the clock.


_STAMP: Final = re.compile(r"[0-9a-f]{16}-[0-9a-f]{16}")


def check_stamp(stamp: str, now_us: int) -> None:
    """Raise RecordError for what is no stamp, or is more than AHEAD_US ahead of the clock."""
    if not _STAMP.fullmatch(stamp):
        raise RecordError("a stamp of it is none")
    if is_ahead(stamp, now_us):
        raise RecordError(
            "it is more than a day ahead of this device's clock: set the clock of that device, then run there:"
            " mnemonctl sync DIR --restamp"
        )
