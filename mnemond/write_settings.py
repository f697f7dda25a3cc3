"""The settings of the write path: what is compared, linked, paired and pruned, as `config.toml` names it (spec 5).

The defaults are those of `mnemond.model.policy`; a test compares them. What is not here is not for a user to move.
"""

from __future__ import annotations

import re
from typing import Annotated, Final

import msgspec
from msgspec import Meta

HOUR_S: Final = 3_600
DAY_S: Final = 86_400
_UNITS: Final = {"s": 1, "m": 60, "h": 3_600, "d": DAY_S}
_DURATION: Final = re.compile(r"([0-9]{1,9})([smhd])")

MOST_S: Final = 3_650 * DAY_S
"""Ten years, the longest duration."""

Share = Annotated[float, Meta(ge=0, le=1)]
Duration = Annotated[float, Meta(ge=0, le=MOST_S)] | Annotated[str, Meta(pattern="^[0-9]{1,9}[smhd]$")]


def seconds(duration: float | str) -> float:
    """A valid duration in seconds: a number, or text like "90s", "15m", "12h", "30d"."""
    if not isinstance(duration, str):
        return duration
    found = _DURATION.fullmatch(duration)
    assert found is not None, "the pattern of the setting is the same"  # noqa: S101
    return float(found[1]) * _UNITS[found[2]]


class Diff(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a new memory repeats, corrects or refines an old one. Similarities of cosines are stated for a reference
    embedder (unrelated .35, paraphrase .85) and carried over to the store's own."""

    update: Annotated[
        Share, Meta(description="Similarity from which two memories are about the same thing; below `duplicate`.")
    ] = 0.65
    duplicate: Annotated[Share, Meta(description="Similarity above which a memory may be a repetition.")] = 0.90
    cosine_override: Annotated[
        Share,
        Meta(
            description="Cosine from which it counts instead of the words, where it is larger. It is raised where the"
            " embedder cannot tell a paraphrase from a contradiction."
        ),
    ] = 0.70
    novelty: Annotated[
        Share, Meta(description="Share of new words up to which a memory may still be a repetition.")
    ] = 0.10
    min_tokens: Annotated[
        int, Meta(ge=1, le=100, description="Words a text needs for its share in a longer one to count.")
    ] = 3
    limit: Annotated[int, Meta(ge=1, le=100, description="Memories that diff, and `conflicts`, tell of at most.")] = 5


class SubstanceFilter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is not kept because it says too little, on the channels hook, batch and extract."""

    min_confidence: Annotated[Share, Meta(description="How sure it must be that a text says too little.")] = 0.7


class Redundancy(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a memory that is new still repeats another, and the two become a pair. Durations are seconds, or text like
    "90s", "15m", "12h", "30d"."""

    enabled: Annotated[bool, Meta(description="Whether pairs are made.")] = True
    threshold: Annotated[Share, Meta(description="Redundancy above which two memories are a pair.")] = 0.25
    alpha_nmi: Annotated[
        Share, Meta(description="Weight of what the vectors have in common; the rest is that of the keywords.")
    ] = 0.6
    bins: Annotated[int, Meta(ge=2, le=1024, description="Bins of the estimate from the vectors.")] = 16
    boost_max: Annotated[Duration, Meta(description="What the older half of a pair gains in life at most.")] = (
        30 * DAY_S
    )
    boost_crit: Annotated[Duration, Meta(description="Time between the two at which it gains half of that.")] = (
        7 * DAY_S
    )
    boost_scale: Annotated[
        Duration, Meta(description="How far around `boost_crit` the gain changes; 1 s at least.")
    ] = DAY_S


class HypotheticalQueries(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Questions a memory would answer, noted with it."""

    enabled: Annotated[bool, Meta(description="Whether they are noted.")] = True
    max_queries: Annotated[int, Meta(ge=0, le=10, description="So many a memory at most.")] = 2


class EdgeSimilarity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How heavy the link of a pair is."""

    alpha_key: Annotated[Share, Meta(description="Weight of the keywords; the rest is that of the cosine.")] = 0.3
    threshold: Annotated[Share, Meta(description="The least weight of such a link.")] = 0.5


class Commitment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is done with a memory when it is stored."""

    substance_filter: SubstanceFilter = SubstanceFilter()
    redundancy: Redundancy = Redundancy()
    hypothetical_queries: HypotheticalQueries = HypotheticalQueries()
    edge_similarity: EdgeSimilarity = EdgeSimilarity()


class Extraction(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What of a conversation becomes memories."""

    enabled: Annotated[bool, Meta(description="Whether conversations are read for facts at all.")] = True
    importance_threshold: Annotated[
        int, Meta(ge=1, le=10, description="Importance, from 1 to 10, below which a fact is not kept.")
    ] = 3
    message_window: Annotated[
        int, Meta(ge=0, le=100, description="Messages before the latest exchange that are looked at for what it means.")
    ] = 10
    max_facts: Annotated[int, Meta(ge=1, le=100, description="Facts of one exchange that are kept at most.")] = 20
    auto_resolve_conflicts: Annotated[
        bool,
        Meta(description="Whether a fact takes the place of a memory that it contradicts. false = both are kept."),
    ] = True


class Temporal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Links to memories of about the same time."""

    window_hours: Annotated[float, Meta(ge=0, le=87_600, description="Hours two memories may lie apart.")] = 24.0
    max_proximity: Annotated[int, Meta(ge=0, le=100, description="Links to the nearest in time, at most.")] = 10


class Entity(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Links to memories that name the same people and things."""

    max_links: Annotated[int, Meta(ge=0, le=100, description="Newest memories linked for each name.")] = 5
    max_total: Annotated[int, Meta(ge=0, le=500, description="Such links of a new memory in all.")] = 50
    idf_min_docs: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Memories from which on rare names weigh more than frequent ones.")
    ] = 6
    idf_floor: Annotated[Share, Meta(description="The least weight of a frequent name.")] = 0.1


class Causal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Links from causes to effects."""

    min_overlap: Annotated[Share, Meta(description="Share of the words that two memories must have in common.")] = 0.15
    lookback: Annotated[int, Meta(ge=0, le=200, description="Newest memories that are looked at.")] = 10
    max_candidates: Annotated[int, Meta(ge=0, le=100, description="Candidates told to whoever judges them.")] = 10


class Semantic(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Links in meaning; cosines of the reference embedder."""

    auto: Annotated[Share, Meta(description="Cosine from which memories are linked unasked; above `review`.")] = 0.80
    review: Annotated[Share, Meta(description="Cosine from which they are candidates.")] = 0.40
    fallback_min: Annotated[
        Share, Meta(description="Share of common words from which they are candidates where there are no vectors.")
    ] = 0.10
    max_auto: Annotated[int, Meta(ge=0, le=100, description="Links made unasked, at most.")] = 3
    max_candidates: Annotated[int, Meta(ge=0, le=100, description="Candidates told, at most.")] = 5


class Graph(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which links a new memory gets."""

    temporal: Temporal = Temporal()
    entity: Entity = Entity()
    causal: Causal = Causal()
    semantic: Semantic = Semantic()


class Lifecycle(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much a store keeps."""

    max_insights: Annotated[
        int,
        Meta(
            ge=0,
            le=100_000_000,
            description="Active memories a store holds. A write beyond it prunes the least important ones, never a"
            " pinned one. 0 = no cap.",
        ),
    ] = 1000
    prune_batch: Annotated[int, Meta(ge=1, le=1000, description="Memories one write prunes at most.")] = 10
    immune_importance: Annotated[
        int, Meta(ge=1, le=6, description="Importance from which a memory is never pruned; 6 = none for that.")
    ] = 4
    immune_access: Annotated[
        int, Meta(ge=1, le=1_000_000, description="Times recalled from which a memory is never pruned.")
    ] = 3
    decay_interval: Annotated[
        Duration,
        Meta(description="How often the importance that is shown follows the time that passed; at least a minute."),
    ] = HOUR_S
    prune_interval: Annotated[
        Duration, Meta(description="How often what is beyond the cap, or has faded, is pruned; at least a minute.")
    ] = HOUR_S
    extract_interval: Annotated[
        Duration,
        Meta(
            description="How often it is looked whether exchanges with agents are left to be read; at least a minute."
            " They are read soon after they were told anyway, while nobody uses the store."
        ),
    ] = 600
    backup_interval: Annotated[
        Duration, Meta(description="How often a store is backed up by itself; at least a minute. 0 = never.")
    ] = DAY_S
    full_verify_interval: Annotated[
        Duration,
        Meta(description="How often all of a store is looked at, every page included; at least a minute. 0 = never."),
    ] = 7 * DAY_S
    max_oplog: Annotated[
        int, Meta(ge=100, le=5_000, description="Lines of the log that are kept; more than that for a day at most.")
    ] = 5_000


class Pruning(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether memories go that have faded and that no link keeps, where a store is nearly full."""

    enabled: Annotated[bool, Meta(description="Whether they go.")] = False
    threshold: Annotated[
        Share,
        Meta(description="What their heaviest link, times what age left of them, must not reach. Alone counts as 0.5."),
    ] = 0.01


def contradictions(diff: Diff, commitment: Commitment, graph: Graph) -> list[tuple[tuple[str, ...], str]]:
    """What is wrong with settings that are valid by themselves: the path of one of them, and a sentence."""
    found: list[tuple[tuple[str, ...], str]] = []
    if not diff.update < diff.duplicate:
        sentence = f"diff.update ({diff.update:g}) must be below diff.duplicate ({diff.duplicate:g})"
        found.append((("diff", "update"), sentence))
    semantic = graph.semantic
    if not semantic.review < semantic.auto:
        sentence = f"graph.semantic.review ({semantic.review:g}) must be below graph.semantic.auto ({semantic.auto:g})"
        found.append((("graph", "semantic", "review"), sentence))
    pairs = commitment.redundancy
    for name, duration, least_s in (
        ("boost_max", pairs.boost_max, 0),
        ("boost_crit", pairs.boost_crit, 0),
        ("boost_scale", pairs.boost_scale, 1),
    ):
        if not least_s <= seconds(duration) <= MOST_S:
            sentence = f"commitment.redundancy.{name} must be {least_s} s to {MOST_S // DAY_S} d"
            found.append((("commitment", "redundancy", name), sentence))
    return found
