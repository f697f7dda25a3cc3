"""Insights, edges and entities as values; effective importance, ageing, and timestamps."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, get_args

import msgspec

from mnemond.config.writing import EntityKind

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
from collections.abc import Collection, Sequence
from typing import Any

Category = Literal["preference", "decision", "fact", "insight", "context", "general"]
CATEGORIES: tuple[str, ...] = get_args(Category)

Retired = Literal["superseded", "merged", "forgotten", "pruned", "expired"]
"""Statuses of an insight that is out of recall."""

Status = Literal["active"] | Retired
STATUSES: tuple[str, ...] = ("active", *get_args(Retired))

EXTRACTED: Final = "extract"
"""Channel of the memories that were found in conversations; all others are notes by hand."""

IMPORTED: Final = "import"
"""Channel of memories that another program had."""

SUMMARIZED: Final = "summary"
"""Channel of memories that were derived from others, which `derived_from` names; no client may use it."""

DERIVED_FROM: Final = "derived_from"
"""Key of the sources in the metadata of such a memory."""

EntityMode = Literal["merge", "provided", "auto"]
ENTITY_MODES: tuple[str, ...] = get_args(EntityMode)

MAX_CONTENT = 8_000
"""Characters (code points after NFC) of one memory; a limit in bytes would cut Chinese at a third."""

MAX_TAGS, MAX_TAG = 20, 100
MAX_ENTITIES, MAX_ENTITY = 50, 200
"""Tags and entities of one memory, and the characters of each."""

MAX_NAMES: Final = 500
"""Entries of a list of tags, entities or cues as it is sent; how many different ones a memory may have is less."""

MAX_CUES, MAX_CUE = 8, 200
"""Cues of one memory, and the characters of each. Three to six were measured (docs/decisions/0042); a longer one says
what the text should say."""

MAX_TRIGGERS, MAX_TRIGGER = 8, 200
"""Triggers of one memory, and the characters of each."""

NO_METADATA = "{}"

NOTE: Final = "model_gates"
"""Key of the metadata under which it is noted what a model was asked about a memory after it was written. Its value is
an object, so no request can give it."""


class Scope(msgspec.Struct, frozen=True):
    """Audience of a memory; None means everyone. A scope is a filter inside a store, not a security boundary.

    `project` is the id of a project (`project_parts`): a memory of one may be recalled everywhere, but is shown
    unasked, compared and replaced only within it. In a filter "" means memories of no project.
    """

    user_id: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    project: str | None = None

    def in_project(self, project: str | None) -> Scope:
        """Return the same scope in another project."""
        return Scope(self.user_id, self.session_id, self.agent_id, project)


MARK: Final = "#"
"""Between the name and the key in the id of a project; no name has one."""

KEY_DIGITS: Final = (8, 16)
"""Hexadecimal digits of a key: of a path, and of a repository."""

_HEXADECIMAL: Final = frozenset("0123456789abcdef")


def project_parts(project: str) -> tuple[str, str]:
    """Return the name and the key in the id of a project, `name#key`; the key is empty where only the name is known."""
    name, _, key = project.rpartition(MARK)
    return (name, key) if name and len(key) in KEY_DIGITS and _HEXADECIMAL.issuperset(key) else (project, "")


def is_same_project(one: str, other: str) -> bool:
    """Compare two ids: by their keys, or by their names, ignoring case, if one of them has no key."""
    (name, key), (other_name, other_key) = project_parts(one), project_parts(other)
    return key == other_key if key and other_key else _comparable(name) == _comparable(other_name)


def _comparable(name: str) -> str:
    return name.replace(MARK, " ").strip().casefold()


CueSource = Literal["given", "learned", "generated"]
"""Written with the memory, by the agent or the person that stored it; a prompt for which it was marked useful; or made
by rules or a model, which weighs less."""


class Cue(msgspec.Struct, frozen=True, gc=False):
    """A question, task or symptom in which a memory should come to mind, in the words used then.

    Recall finds the memory by it as by its text; it is no part of what the memory says."""

    text: str
    source: CueSource = "given"


Enforcement = Literal["tell", "ask", "deny"]
"""The model is told the rule before the call; the call needs the user's consent; it is refused."""

TriggerState = Literal["on", "off", "proposed"]
"""A proposed trigger was read out of a session and does nothing until it is switched on."""


class Trigger(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """Calls of tools to which a memory belongs as a rule, in the normal form of `text.triggers`.

    Only a person at a terminal gives it another `enforce` than `tell`."""

    pattern: str
    enforce: Enforcement = "tell"
    state: TriggerState = "on"


class TextWithCues(NamedTuple):
    """The text and the cues that the vectors of a memory are made of."""

    content: str
    cues: tuple[Cue, ...] = ()


class Said(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A text to be kept, and its kind."""

    content: str
    category: str = "general"


USUAL_IMPORTANCE: Final = 3
"""Importance of a memory that was given none: the middle of 1 to 5."""


class Described(Said, frozen=True, gc=False, kw_only=True):
    """A text and what is said about it; `importance` is 1…5."""

    importance: int = USUAL_IMPORTANCE
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()


class Insight(Described, frozen=True, gc=False, omit_defaults=True):
    """One memory. Times are RFC 3339 in UTC with microseconds.

    `effective_importance` is the stored value of the function of that name (not capped at 1). `metadata` is the text of
    a JSON object. `keywords` distinguish it from the others of its store; `event_start` and `event_end` are the dates
    of the event it describes; at `expires_at` it leaves recall; `intent` is that of the extracted fact; `quarantined`
    ones are never shown. `useful` and `misled` count judgements of it (`feedback`).
    `gc=False`: an insight holds no reference cycle, so the collector can skip 100,000 of them.
    """

    id: str
    created_at: str
    updated_at: str
    source: str = "user"
    channel: str = "manual"
    conversation_id: str | None = None
    scope: Scope = Scope()
    access_count: int = 0
    last_accessed_at: str | None = None
    effective_importance: float = 0.5
    valid_from: str | None = None
    invalid_at: str | None = None
    status: Status = "active"
    superseded_by: str | None = None
    event_start: str | None = None
    event_end: str | None = None
    keywords: str = ""
    trigger: str | None = None
    trigger_type: str | None = None
    boost_days: float = 0.0
    last_boosted_at: str | None = None
    paired_with: str | None = None
    corroboration_count: int = 0
    last_corroborated_at: str | None = None
    pinned: bool = False
    metadata: str = NO_METADATA
    intent: str | None = None
    expires_at: str | None = None
    quarantined: bool = False
    useful: int = 0
    misled: int = 0
    cues: tuple[Cue, ...] = ()
    when: tuple[Trigger, ...] = ()

    @property
    def is_enforced(self) -> bool:
        """Return True for a rule that a person had ask or deny, also while it is off: only a person changes or retires
        it."""
        return any(each.enforce != "tell" for each in self.when)

    @property
    def text(self) -> TextWithCues:
        """The texts that its vectors are made of."""
        return TextWithCues(self.content, self.cues)


def derived_from(it: Insight) -> tuple[str, ...]:
    """Return the ids of the memories that a summary was made of; none for any other memory."""
    if it.channel != SUMMARIZED:
        return ()
    found = msgspec.json.decode(it.metadata, type=dict[str, object]).get(DERIVED_FROM)
    return tuple(map(str, found)) if isinstance(found, list) else ()


# Ageing: decay, pruning and expiry use a limited clock, so that a wall clock that jumps does not age memories by years.

MAX_US: Final = 2 * 86_400 * 1_000_000
"""Microseconds that memories age at most between two runs of a job: two days."""


def aged(before_us: int | None, wall_us: int) -> int:
    """Return the time to which a run at `wall_us` ages memories, given that of the previous run (None: there is none).

    At least `before_us`, at most `MAX_US` more: after a long pause the next runs catch up step by step. All values are
    microseconds since the epoch.
    """
    if before_us is None:
        return wall_us
    return before_us + min(max(0, wall_us - before_us), MAX_US)


def effective_now(aged_us: int, wall_us: int) -> int:
    """Return the time from which ages are computed: not ahead of a wall clock that was set back."""
    return min(aged_us, wall_us)


# Edges.

EdgeType = Literal["temporal", "semantic", "causal", "entity"]
EDGE_TYPES: tuple[str, ...] = get_args(EdgeType)

CreatedBy = Literal["auto", "host", "user", "import", "worker"]


class EdgeKey(msgspec.Struct, frozen=True, gc=False):
    """The ends of a link, its type, and how close they are."""

    source_id: str
    target_id: str
    edge_type: EdgeType
    weight: float


class Edge(EdgeKey, frozen=True, gc=False, omit_defaults=True):
    """Directed edge from `source_id` to `target_id`, `weight` in [0, 1]. Undirected relations are stored as two edges.

    `metadata` is the text of a JSON object of scalars and lists, at most `MAX_METADATA` bytes.
    """

    metadata: str = NO_METADATA
    created_by: CreatedBy = "auto"
    boost_days: float = 0.0
    last_boosted_at: str | None = None


MAX_METADATA = 4096
"""Bytes of an edge's metadata."""


class Relation(NamedTuple):
    """Automatic edge between a new memory and another, in one direction (causal) or both.

    `there` is the metadata of the edge to `other`, `back` that of the edge from it; None if there is no such edge.
    """

    other: str
    kind: EdgeType
    weight: float
    there: str | None
    back: str | None


# Effective importance (EI), the formula and constants of mnemon: from importance, use, age and connections.

BASE = {5: 1.0, 4: 0.8, 3: 0.5, 2: 0.3, 1: 0.15}
"""Base value of each importance."""
HALF_LIFE_DAYS = 30.0
"""Days without access after which the value halves."""
DEGREE_GAIN = 0.1
DEGREE_CAP = 5
"""Each of at most five neighbours adds a tenth."""


def effective_importance(importance: int, access_count: int, days_since_access: float, degree: int) -> float:
    """Compute EI = base · max(1, ln(1+a)) · 2^(−days/30) · (1 + .1·min(degree, 5)); not capped at 1.

    `days_since_access` counts from creation for a memory never read; negative counts as 0.
    Raises KeyError for an importance outside 1…5.
    """
    use = max(1.0, math.log1p(access_count))
    decay: float = 2.0 ** (-max(0.0, days_since_access) / HALF_LIFE_DAYS)
    return BASE[importance] * use * decay * (1.0 + DEGREE_GAIN * min(degree, DEGREE_CAP))


def effective_importances(
    importance: npt.NDArray[np.int32],
    access_count: npt.NDArray[np.int32],
    days_since_access: npt.NDArray[np.float64],
    degree: npt.NDArray[np.int32],
) -> npt.NDArray[np.float64]:
    """Compute EI for arrays of shape (rows,)."""
    import numpy as np  # the command line imports this module and has no use for arrays

    base = np.array([0.0, *(BASE[level] for level in sorted(BASE))])[importance]
    use = np.maximum(1.0, np.log1p(access_count))
    decay = np.exp2(-np.maximum(0.0, days_since_access) / HALF_LIFE_DAYS)
    found: npt.NDArray[np.float64] = base * use * decay * (1.0 + DEGREE_GAIN * np.minimum(degree, DEGREE_CAP))
    return found


# Entities.

EntityType = EntityKind


class Entity(msgspec.Struct, frozen=True, gc=False):
    """A thing that a text names.

    `name` is its first spelling in the text. `canonical` is the key for comparison: folded, with aliases resolved, so
    that "k8s" and "Kubernetes" are equal. `kind` is guessed from the words and not compared.
    """

    name: str
    canonical: str
    kind: EntityType


# Timestamps: RFC 3339, and microseconds since the epoch.

DAY_US = 86_400e6
"""Microseconds of a day."""

CACHED_TIMES = 256
"""Size of the caches of both conversions: a write converts the same two timestamps a dozen times."""


@lru_cache(maxsize=CACHED_TIMES)
def format_us(us: int) -> str:
    """Format as RFC 3339 in UTC with microseconds and `Z`."""
    seconds, micros = divmod(us, 1_000_000)
    moment = datetime(1970, 1, 1) + timedelta(seconds=seconds, microseconds=micros)  # noqa: DTZ001 - UTC by definition
    return moment.isoformat(timespec="microseconds") + "Z"


@lru_cache(maxsize=CACHED_TIMES)
def parse_rfc3339(text: str) -> int:
    """Convert an RFC 3339 timestamp to microseconds since the epoch. The offset is required.

    Raises ValueError with a message for clients.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(f'"{text[:40]}" is not an RFC 3339 timestamp such as 2026-02-18T09:30:00Z') from error
    if moment.tzinfo is None:
        raise ValueError(f'"{text[:40]}" has no offset; write Z for UTC, as in 2026-02-18T09:30:00Z')
    try:
        delta = moment.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    except OverflowError as error:
        raise ValueError(f'"{text[:40]}" is outside the years 1 to 9999 in UTC') from error
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


# ---------------------------------------------------------------- contradictions
#
# Contradictions between memories that both stay: the newer one notes the ids of the older ones in its metadata.
#
# The entry is a list of objects, which only the store itself writes, so that no client can forge it and an update of
# the metadata keeps it.


CONTRADICTS: Final = "contradicts"
"""Key of the entry."""

_CONTRADICTS_MARK: Final = f'"{CONTRADICTS}":[{{"id":"'

_encoder = msgspec.json.Encoder(order="sorted")

_decoder = msgspec.json.Decoder(dict[str, Any])


def noting_contradictions(metadata: str, ids: Collection[str]) -> str:
    """Return metadata (a JSON object) with these older memories noted; as it was without any."""
    if not ids:
        return metadata
    entries = _decoder.decode(metadata) | {CONTRADICTS: [{"id": each} for each in ids]}
    return _encoder.encode(entries).decode()


def without_contradictions(metadata: str, ids: Collection[str]) -> str:
    """Return metadata without the notes of these memories, after it was decided that both hold."""
    if _CONTRADICTS_MARK not in metadata:
        return metadata
    fields = _decoder.decode(metadata)
    left = [each for each in fields.pop(CONTRADICTS) if not (isinstance(each, dict) and each.get("id") in ids)]
    return _encoder.encode(fields | ({CONTRADICTS: left} if left else {})).decode()


def contradicted(insight: Insight) -> tuple[str, ...]:
    """Return the ids of the memories, stored before it, that a memory contradicts."""
    if _CONTRADICTS_MARK not in insight.metadata:
        return ()
    found = _decoder.decode(insight.metadata).get(CONTRADICTS)
    entries = found if isinstance(found, list) else []
    return tuple(each["id"] for each in entries if isinstance(each, dict) and isinstance(each.get("id"), str))


def contradicting(insights: Sequence[Insight]) -> list[tuple[int, int]]:
    """Return the places of the newer and the older of each two memories of which one notes that it contradicts the
    other. The later statement is the newer one, also where the earlier one was stored after it."""
    places = {insight.id: place for place, insight in enumerate(insights)}
    found = [
        (place, places[each])
        for place, insight in enumerate(insights)
        for each in contradicted(insight)
        if each in places
    ]
    return [(one, other) if _since(insights[one]) >= _since(insights[other]) else (other, one) for one, other in found]


def _since(insight: Insight) -> str:
    return insight.valid_from or insight.created_at
