"""What devices write for each other about a memory or a link, and the rule by which what they wrote is united
(docs/sync.md).

A record has all that a device knows of one memory: groups of fields, each with the stamp of its last change. Of two
records each group is that with the greater stamp. So the result depends neither on the order in which records come
nor on how often. Texts that were changed without knowledge of each other are both kept.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any, Final, Literal, NamedTuple, TypeVar

import msgspec

from mnemond.index.columns import PREFIX_LENGTH
from mnemond.model.changes import LONGEST_NAME, LONGEST_PROMPT, LONGEST_REPLY
from mnemond.model.memory import (
    EDGE_TYPES,
    MAX_CONTENT,
    STATUSES,
    Cue,
    Insight,
    Scope,
    Trigger,
    format_us,
    parse_rfc3339,
)
from mnemond.model.passages import Passage
from mnemond.model.relations import MAX_QUOTE, MAX_TYPE, MAX_VALUE, Granularity, LinkKind, Origin, PointKind
from mnemond.text.secrets import find_secrets

FORMAT: Final = 1
"""Version of the records: the value of `mnemond_sync` in every line."""

MAX_LINE: Final = 1 << 20
"""Bytes of a line: the longest text, its cues and its metadata have a tenth of that."""

AHEAD_US: Final = 86_400 * 1_000_000
"""Microseconds that a stamp may be ahead of this device's clock. One that was further ahead would win for good."""

MAX_PAST: Final = 2_000
"""Stamps of earlier texts of one memory that are kept, the newest: more are not changed between two meetings."""

MAX_RESTAMPED: Final = 100
"""Stamps of one memory that were ahead of the clock and are kept, the newest: each group has one at most at a time."""

Value = dict[str, Any]

_STAMP: Final = re.compile(r"[0-9a-f]{16}-[0-9a-f]{16}")
_ID: Final = re.compile(r"[0-9A-Za-z_.:-]{1,80}")
_encoder = msgspec.json.Encoder(order="deterministic")


def stamp_of(us: int, device: str) -> str:
    """Return the stamp of a change at a time, in microseconds, on a device; stamps are in the order of their text."""
    return f"{us:016x}-{device}"


def time_of(stamp: str) -> int:
    """Return the time of a stamp in microseconds."""
    return int(stamp[:16], 16)


def next_stamp(stamp: str, value: object) -> str:
    """Return the stamp of a value that follows from a state with another stamp, the next in time. It has a digest in
    the place of a device, so that no change that a device makes at that time has the same."""
    return stamp_of(time_of(stamp) + 1, digest_of((stamp, value))[:16])


def digest_of(value: object) -> str:
    return hashlib.blake2b(_encoder.encode(value), digest_size=12).hexdigest()


# The groups of a memory.

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


def values_of(it: Insight) -> dict[str, Value]:
    """Return the fields of a memory by group, as JSON has them."""
    fields: Value = msgspec.to_builtins(
        {name: getattr(it, name) for names in GROUPS.values() for name in names}, str_keys=True
    )
    return {group: {name: fields[name] for name in names} for group, names in GROUPS.items()}


def group_digest(group: str, value: Value) -> str:
    return digest_of(value["content"] if group == TEXT else value)


class _Fields(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The shared fields as a record has them, checked."""

    content: str
    status: str
    created_at: str
    entities: tuple[str, ...] = ()
    keywords: str = ""
    trigger: str | None = None
    trigger_type: str | None = None
    event_start: str | None = None
    event_end: str | None = None
    intent: str | None = None
    superseded_by: str | None = None
    valid_from: str | None = None
    invalid_at: str | None = None
    source: str = "user"
    channel: str = "manual"
    conversation_id: str | None = None
    scope: Scope = Scope()
    category: str = "general"
    importance: int = 3
    tags: tuple[str, ...] = ()
    pinned: bool = False
    metadata: str = "{}"
    expires_at: str | None = None
    quarantined: bool = False
    cues: tuple[Cue, ...] = ()
    when: tuple[Trigger, ...] = ()


_TIMES: Final = ("created_at", "event_start", "event_end", "valid_from", "invalid_at", "expires_at")
_object = msgspec.json.Decoder(dict[str, Any])


def memory_of(key: str, values: dict[str, Value], updated_at: str) -> Insight:
    """Return a memory with these fields. Raises RecordError for a value that cannot be used."""
    try:
        fields = msgspec.convert({name: value for each in values.values() for name, value in each.items()}, _Fields)
        for name in _TIMES:
            if (text := getattr(fields, name)) is not None:
                parse_rfc3339(text)
        parse_rfc3339(updated_at)
        _object.decode(fields.metadata)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise RecordError(f"a value cannot be used: {str(error)[:200]}") from None
    if not 1 <= len(fields.content) <= MAX_CONTENT:
        raise RecordError(f"its text has {len(fields.content):,} characters")
    if not 1 <= fields.importance <= 5 or fields.status not in STATUSES:
        raise RecordError("its importance or its status cannot be used")
    return msgspec.convert(
        {**{name: getattr(fields, name) for name in fields.__struct_fields__}, "id": key, "updated_at": updated_at},
        Insight, from_attributes=True,
    )  # fmt: skip


# Records.


class RecordError(ValueError):
    """A line cannot be used; the message says why, in words."""


class UnknownKindError(RecordError):
    """A line is of a kind that this version does not know."""


class Record(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="memory"):
    """A memory as a device knows it: by group the stamp and the fields. `past`: stamps of texts that were there before.
    `purged`: the stamp of its purge, after which nothing else counts. `of`: the memory whose text was changed elsewhere
    at the same time, if this one keeps the other text. `restamped`: stamps that were ahead of the clock, in the place
    of which others came (`without_ahead`). `mentions`: names in the text: as written, folded, and their
    type. `op_id`: the last operation that changed it on that device."""

    key: str
    groups: dict[str, tuple[str, Value]] = {}
    past: list[str] = []
    purged: str | None = None
    of: str | None = None
    restamped: list[str] = []
    op_id: str = ""
    updated_at: str = ""
    mentions: list[tuple[str, str, str]] = []
    queries: list[str] = []


class EdgeValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    weight: float
    metadata: str
    created_by: str


class EdgeRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="edge"):
    """A link that was made by hand, or (None) that it was removed. `key`: source, target and type, with spaces."""

    key: str
    stamp: str
    value: EdgeValue | None = None
    restamped: list[str] = []


class Name(NamedTuple):
    """A row of entities as devices name it: `canonical` and `sense` are its key, `name` and `kind` count if it is new.
    An alias has no kind."""

    name: str
    canonical: str
    kind: str
    sense: str = ""


class RelationValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A statement (`model.relations.Statement`) with names for its rows. `at`: of the event; `created_at`: when it was
    noted first."""

    source: Name
    type: str
    slot: str
    target: Name | None
    value: str | None
    kind: PointKind
    at: str
    granularity: Granularity
    origin: Origin
    strength: float
    quote: str
    created_at: str


class RelationRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="relation"):
    """A statement about a relation, or (None) that one was taken back. `memory`: the memory that says so. `key`: a hash
    (`relation_key`)."""

    key: str
    stamp: str
    memory: str | None = None
    value: RelationValue | None = None
    restamped: list[str] = []


class NameValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A decision about names. same: `other` is a name of `one`; alias: so is a name that may have no row. `by`: what
    decided, as `triggered_by` of its operation."""

    decision: LinkKind
    one: Name
    other: Name
    by: str
    created_at: str


class NameRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="name"):
    """The decision about a pair of names, or about an alias; None: it was taken back, `purged` with a memory without
    which that device has one of the names nowhere. `key`: a hash (`name_key`)."""

    key: str
    stamp: str
    value: NameValue | None = None
    purged: bool = False
    restamped: list[str] = []


class UseValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How often a device used a memory, when it did last, and how often it was judged as useful or misleading."""

    uses: int
    last: str | None
    useful: int
    misled: int


class UseRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="use"):
    """The uses of a memory on one device. `key`: memory and device, with a space."""

    key: str
    stamp: str
    value: UseValue
    restamped: list[str] = []

    @property
    def memory(self) -> str:
        return self.key.partition(" ")[0]

    @property
    def of(self) -> str:
        """The device."""
        return self.key.partition(" ")[2]

    def is_later(self, than: UseRecord) -> bool:
        """Return True if it was written after another one of its key. A stamp of a clock that was ahead is earlier than
        the one in its place."""
        if self.stamp in than.restamped:
            return False
        return self.stamp > than.stamp or than.stamp in self.restamped


PassageState = Literal["kept", "gone", "cut", "purged"]
"""gone: it was forgotten, or its import was undone. cut: a purge took a part of it; where that purge was not carried
out, all of it goes."""


class PassageRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="kind", tag="passage"):
    """An exchange of a session. `key`: the hash of its turn; `value`: as it was said, while it is kept."""

    key: str
    stamp: str
    state: PassageState = "kept"
    value: Passage | None = None
    restamped: list[str] = []


FactRecord = RelationRecord | NameRecord
AnyRecord = Record | EdgeRecord | FactRecord | UseRecord | PassageRecord

RELATION: Final = "relation"
NAME: Final = "name"
USE: Final = "use"
PASSAGE: Final = "passage"
FACTS: Final = (RELATION, NAME)
"""Kinds of records about relations and names."""


class Fact(msgspec.Struct, frozen=True):
    """The state of a statement or a decision on a device. `here`: it counts in the store. It does not while its memory
    is not there, or while another decision contradicts it."""

    record: FactRecord
    here: bool = False


class KnownUse(msgspec.Struct, frozen=True):
    """The last known uses on a device. `counted`: the part of them that the counts of the memory here have. `waits`:
    they have not all, as the memory is not in recall."""

    record: UseRecord
    counted: UseValue
    waits: bool = False


class KnownPassage(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a device knows of an exchange, without its text. withheld: it stays on this device."""

    stamp: str
    state: PassageState | Literal["withheld"]
    restamped: list[str] = []


passage_of: Final = msgspec.json.Decoder(KnownPassage).decode
use_of: Final = msgspec.json.Decoder(KnownUse).decode
fact_of: Final = msgspec.json.Decoder(Fact).decode
"""Decode what a device knows of a thing."""


def relation_key(it: RelationValue, memory: str | None) -> str:
    """Return the key of a statement: equal ones have the same on every device. What a person, a host and a text said
    are three statements."""
    origin = it.origin if it.origin in ("user", "host") else "read"
    target = None if it.target is None else (it.target.canonical, it.target.sense)
    source = (it.source.canonical, it.source.sense)
    value = None if it.value is None else it.value.casefold()
    return digest_of((source, it.type, it.slot, target, value, it.kind, it.at, it.granularity, origin, memory))


def name_key(it: NameValue) -> str:
    """Return the key of a decision: the pair in any order, or the alias."""
    if it.decision == "alias":
        return digest_of(("alias", it.other.canonical))
    return digest_of(("pair", sorted((each.sense, each.canonical) for each in (it.one, it.other))))


class _Line(msgspec.Struct):
    mnemond_sync: int
    kind: str = ""


_line = msgspec.json.Decoder(_Line)
_record = msgspec.json.Decoder(AnyRecord)
_KINDS: Final = frozenset({"memory", "edge", USE, PASSAGE, *FACTS})


def encode(record: AnyRecord) -> bytes:
    """Return the line of a record, without its line break."""
    return b'{"mnemond_sync":%d,' % FORMAT + _encoder.encode(record)[1:]


def decode(line: bytes, now_us: int) -> AnyRecord:
    """Return the record of a line, with every value checked. Raises RecordError; UnknownKindError for one that a later
    version can read."""
    if len(line) > MAX_LINE:
        raise RecordError(f"it has more than {MAX_LINE:,} bytes")
    kind = check_version(line)
    if kind not in _KINDS:
        raise UnknownKindError(f"this mnemond does not know records of the kind {kind[:20]!a}: update it")
    try:
        found: AnyRecord = _record.decode(line)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise RecordError(f"it is no record: {str(error)[:200]}") from None
    match found:
        case EdgeRecord():
            _check_edge(found, now_us)
        case RelationRecord():
            _check_relation(found, now_us)
        case NameRecord():
            _check_name(found, now_us)
        case UseRecord():
            _check_use(found, now_us)
        case PassageRecord():
            _check_passage(found, now_us)
        case _:
            _check(found, now_us)
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


def _check(it: Record, now_us: int) -> None:
    if not _ID.fullmatch(it.key) or not (it.of is None or _ID.fullmatch(it.of)):
        raise RecordError("its key is no id")
    stamps = [stamp for stamp, _ in it.groups.values()]
    for stamp in (*stamps, *it.past, *(() if it.purged is None else (it.purged,))):
        check_stamp(stamp, now_us)
    check_restamped(it.restamped)
    if len(it.past) > MAX_PAST or len(it.mentions) > 1_000 or len(it.queries) > 1_000:
        raise RecordError("it has too many parts")
    if it.purged is None:
        if it.groups.keys() != GROUPS.keys():
            raise RecordError("it has not all groups of fields, or others")
        for group, (_, value) in it.groups.items():
            if value.keys() != set(GROUPS[group]):
                raise RecordError(f"its group {group} has other fields")
        memory_of(it.key, {group: value for group, (_, value) in it.groups.items()}, it.updated_at)
        if len(it.key) < PREFIX_LENGTH:
            raise RecordError(f"its key has less than {PREFIX_LENGTH} characters: no command could name the memory")


def check_stamp(stamp: str, now_us: int) -> None:
    """Raise RecordError for what is no stamp, or is more than AHEAD_US ahead of the clock."""
    if not _STAMP.fullmatch(stamp):
        raise RecordError("a stamp of it is none")
    if is_ahead(stamp, now_us):
        raise RecordError(
            "it is more than a day ahead of this device's clock: set the clock of that device, then run there:"
            " mnemonctl sync DIR --restamp"
        )


def is_ahead(stamp: str, now_us: int) -> bool:
    return time_of(stamp) > now_us + AHEAD_US


def not_ahead(time: str | None, now_us: int) -> str | None:
    """Return a time, or in the place of one that is more than AHEAD_US ahead of the clock that of now."""
    return format_us(now_us) if time is not None and time > format_us(now_us + AHEAD_US) else time


def check_restamped(stamps: list[str]) -> None:
    """Raise RecordError unless these are a few stamps, of any time."""
    if len(stamps) > MAX_RESTAMPED or not all(_STAMP.fullmatch(each) for each in stamps):
        raise RecordError("what it says of former stamps cannot be used")


def _check_edge(it: EdgeRecord, now_us: int) -> None:
    check_stamp(it.stamp, now_us)
    check_restamped(it.restamped)
    parts = it.key.split(" ")
    known = len(parts) == 3 and parts[2] in EDGE_TYPES
    if not known or not all(_ID.fullmatch(each) for each in parts) or parts[0] == parts[1]:
        raise RecordError("its key is no link")
    if it.value is not None:
        if not 0 <= it.value.weight <= 1 or it.value.created_by not in ("user", "host", "import"):
            raise RecordError("its weight or its origin cannot be used")
        try:
            if len(it.value.metadata) > 4096:
                raise RecordError("its metadata is too long")
            _object.decode(it.value.metadata)
        except (msgspec.MsgspecError, RecursionError):
            raise RecordError("its metadata is no object") from None


_FACT_KEY: Final = re.compile(r"[0-9a-f]{24}")
_TYPE: Final = re.compile(r"[a-z][a-z0-9_]*")
_SLOT: Final = re.compile(r"[a-z0-9_]*")
_MAX_NAME: Final = 2 * MAX_VALUE
"""Characters of a name: those that a text has may be longer than those that are given."""


def _check_relation(it: RelationRecord, now_us: int) -> None:
    _check_fact(it, now_us)
    if it.memory is not None and not _ID.fullmatch(it.memory):
        raise RecordError("its memory is no id")
    if (value := it.value) is None:
        return
    if it.key != relation_key(value, it.memory):
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
    if it.memory is None and (value.quote or value.origin not in ("user", "host")):
        raise RecordError("it was read from a memory, and names none")
    _check_times(value.at, value.created_at)


def _check_name(it: NameRecord, now_us: int) -> None:
    _check_fact(it, now_us)
    if (value := it.value) is None:
        return
    if it.key != name_key(value):
        raise RecordError("its key is that of another decision")
    one, other = value.one, value.other
    _check_names(one, *(() if value.decision == "alias" else (other,)))
    if value.decision == "alias":
        _check_names(other._replace(kind="concept"))
    if (one.canonical, one.sense) == (other.canonical, other.sense):
        raise RecordError("it is about one name")
    if other.sense and value.decision != "not_same":
        raise RecordError("a user is no name of another thing")
    if len(value.by) > MAX_VALUE or not value.by.isprintable():
        raise RecordError("it does not name what decided")
    _check_times(value.created_at)


_USE_KEY: Final = re.compile(rf"{_ID.pattern} [0-9a-f]{{16}}")
_MAX_USES: Final = 1_000_000_000
"""Uses and judgements of one device: more than one a second for thirty years."""


def _check_use(it: UseRecord, now_us: int) -> None:
    check_stamp(it.stamp, now_us)
    check_restamped(it.restamped)
    if not _USE_KEY.fullmatch(it.key):
        raise RecordError("its key is no memory and device")
    if not all(0 <= each <= _MAX_USES for each in (it.value.uses, it.value.useful, it.value.misled)):
        raise RecordError("its counts cannot be used")
    if it.value.last is not None:
        _check_times(it.value.last)
        if parse_rfc3339(it.value.last) > now_us + AHEAD_US:
            raise RecordError("its last use is more than a day ahead of this device's clock")


_TURN: Final = re.compile(r"[0-9a-f]{32}")


def _check_passage(it: PassageRecord, now_us: int) -> None:
    check_stamp(it.stamp, now_us)
    check_restamped(it.restamped)
    if not _TURN.fullmatch(it.key) or (it.value is None) == (it.state == "kept"):
        raise RecordError("its key is no hash, or its state has another text")
    if (value := it.value) is None:
        return
    if not _ID.fullmatch(value.id) or len(value.id) < PREFIX_LENGTH:
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


def _check_fact(it: FactRecord, now_us: int) -> None:
    check_stamp(it.stamp, now_us)
    check_restamped(it.restamped)
    if not _FACT_KEY.fullmatch(it.key):
        raise RecordError("its key is no hash")


def _check_names(*names: Name) -> None:
    for each in names:
        texts = (each.name, each.canonical)
        if not all(text.strip() and len(text) <= _MAX_NAME and text.isprintable() for text in texts):
            raise RecordError("a name in it is not one line, or too long")
        if not _TYPE.fullmatch(each.kind) or len(each.kind) > MAX_TYPE or each.sense not in SENSES:
            raise RecordError("a name in it has a kind that cannot be used")
        if (each.kind == "user") != (each.sense == "user"):
            raise RecordError("a name in it is no user")


SENSES: Final[tuple[Literal["", "user"], ...]] = ("", "user")
"""`sense` of rows of entities: users, and all else."""


def _check_times(*times: str) -> None:
    """Times are compared as texts, so there is one way to write each."""
    try:
        usable = all(format_us(parse_rfc3339(each)) == each for each in times)
    except ValueError:
        usable = False
    if not usable:
        raise RecordError("a time of it cannot be used")


# What a device knows, and the union of two.


class Known(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a device knows of a memory: by group the stamp and a hash of the fields, which the memory itself has."""

    groups: dict[str, tuple[str, str]] = {}
    past: list[str] = []
    purged: str | None = None
    of: str | None = None
    restamped: list[str] = []


_Stamped = TypeVar("_Stamped", bound="RelationRecord | NameRecord | UseRecord | KnownPassage")


def renewed(it: _Stamped, now_us: int, device: str) -> _Stamped:
    """Return a record with a stamp of now in the place of one that was ahead of the clock."""
    former = [*it.restamped, it.stamp][-MAX_RESTAMPED:]
    return msgspec.structs.replace(it, stamp=stamp_of(now_us, device), restamped=former)


class United(NamedTuple):
    """What is known after a record was read. `taken`: groups whose fields are those of the record. `lost`: True if the
    record's text was changed without knowledge of the text here, which is newer; False the other way round; None if
    one of them knew of the other."""

    known: Known
    taken: frozenset[str]
    lost: bool | None


def united(known: Known, record: Record) -> United:
    """Unite what is known with a record. What results is the same for any order of the same records."""
    if known.purged is not None or record.purged is not None:
        purged = max(filter(None, (known.purged, record.purged)))
        return United(Known(purged=purged), frozenset(), None)
    groups, taken = dict(known.groups), set[str]()
    for group, (stamp, value) in record.groups.items():
        if group not in groups or stamp > groups[group][0]:
            groups[group] = (stamp, group_digest(group, value))
            taken.add(group)
    lost = None
    past = {*known.past, *record.past}
    if TEXT in known.groups:
        here, (there, value) = known.groups[TEXT], record.groups[TEXT]
        if here[0] != there:
            same = here[1] == group_digest(TEXT, value)
            if not same and here[0] not in record.past and there not in known.past:
                lost = there < here[0]
            past.add(min(here[0], there))
    now = Known(groups, sorted(past)[-MAX_PAST:], None, known.of or record.of, known.restamped)
    return United(now, frozenset(taken), lost)


def changed(known: Known, values: dict[str, Value], us: int, device: str) -> Known:
    """Return what is known once this device has changed a memory to these fields, at a time in microseconds; the same
    if it has not. A change is later than everything that was known of the memory then."""
    digests = {group: group_digest(group, value) for group, value in values.items()}
    differing = {group for group, digest in digests.items() if known.groups.get(group, ("", ""))[1] != digest}
    if not differing:
        return known
    last = max((time_of(stamp) for stamp, _ in known.groups.values()), default=0)
    stamp = stamp_of(max(us, last + 1), device)
    groups, past = dict(known.groups), list(known.past)
    if TEXT in differing:
        if TEXT in known.groups:
            past = sorted({*past, known.groups[TEXT][0]})[-MAX_PAST:]
        if values[STATE]["status"] == "active":
            differing.add(STATE)  # who changes a text means it to be in recall
    for group in differing:
        groups[group] = (stamp, digests[group])
    return Known(groups, past, None, known.of, known.restamped)


def without_ahead(known: Known, now_us: int, device: str) -> Known:
    """Return what is known with other stamps in the place of those that are more than AHEAD_US ahead of the clock, in
    their order, later than all others of this memory; the same if there is none. All other devices would refuse them.

    A device that had accepted one of them keeps it, since it is later, and has to publish it from now on: no other
    device does. For that, they are listed in `restamped`."""
    if known.purged is not None:
        return Known(purged=stamp_of(now_us, device)) if is_ahead(known.purged, now_us) else known
    stamps = {stamp for stamp, _ in known.groups.values()}
    ahead = sorted(each for each in stamps if is_ahead(each, now_us))
    past = [each for each in known.past if not is_ahead(each, now_us)]
    if not ahead and len(past) == len(known.past):
        return known
    start = max([now_us, *(time_of(each) + 1 for each in {*stamps, *past}.difference(ahead))])
    renewed = {stamp: stamp_of(start + at, device) for at, stamp in enumerate(ahead)}
    groups = {group: (renewed.get(stamp, stamp), digest) for group, (stamp, digest) in known.groups.items()}
    kept = sorted({*known.restamped, *ahead})[-MAX_RESTAMPED:]
    return Known(groups, past, None, known.of, kept)


def copy_key(key: str, stamp: str) -> str:
    """Return the id of the memory that keeps a text which another one took the place of: the same on every device."""
    digits = hashlib.blake2b(f"{key}\0{stamp}".encode(), digest_size=16).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{digits[20:]}"
