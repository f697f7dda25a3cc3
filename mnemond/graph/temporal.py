"""Links in time: a backbone of a conversation's rows in their order, and proximity whatever the conversation."""

from __future__ import annotations

from functools import lru_cache

from mnemond.graph.surroundings import HOUR_US, Around, Newcomer
from mnemond.model.changes import RemoveEdge
from mnemond.model.edge import Relation
from mnemond.model.policy import GraphPolicy, TemporalPolicy

PRECEDES = '{"kind":"backbone","direction":"precedes"}'
SUCCEEDS = '{"kind":"backbone","direction":"succeeds"}'

BACKBONE_WEIGHT = 1.0
"""Spec 7.13."""

REMEMBERED_DISTANCES = 256
"""Rounded distances whose metadata are remembered: what comes at once has few."""

HOUR_PARTS = 10_000
"""Of an hour, to which the distance that is written down is rounded: a third of a second."""

_PART_US = HOUR_US // HOUR_PARTS


@lru_cache(maxsize=REMEMBERED_DISTANCES)
def _metadata(parts: int) -> str:
    return f'{{"kind":"proximity","hours":{parts / HOUR_PARTS}}}'


def proximity(hours: float) -> float:
    """1 / (1 + h) in [0, 1]; a negative distance counts as none (spec 7.13)."""
    return 1.0 / (1.0 + hours) if hours > 0.0 else 1.0


def build(new: Newcomer, around: Around, policy: GraphPolicy) -> list[Relation | RemoveEdge]:
    """The links of `new` with its neighbours in its chain, then with the rows nearest to its own time.

    A row with a neighbour on either side is spliced in: the link between those two goes.
    """
    before, after = around.backbone()
    changes: list[Relation | RemoveEdge] = []
    if before is not None and after is not None:
        changes += (RemoveEdge(before, after, "temporal"), RemoveEdge(after, before, "temporal"))
    if before is not None and before != new.id:
        changes.append(Relation(before, "temporal", BACKBONE_WEIGHT, there=SUCCEEDS, back=PRECEDES))
    if after is not None and after != new.id:
        changes.append(Relation(after, "temporal", BACKBONE_WEIGHT, there=PRECEDES, back=SUCCEEDS))
    changes += _near(new, around, policy.temporal, [row for row in (before, after) if row is not None])
    return changes


def _near(new: Newcomer, around: Around, policy: TemporalPolicy, excluding: list[str]) -> list[Relation]:
    within_us = int(policy.window_hours * HOUR_US)
    found: list[Relation] = []
    for row, distance_us in around.nearest_in_time(policy.max_proximity, within_us, excluding):
        if row != new.id:
            metadata = _metadata((distance_us + _PART_US // 2) // _PART_US)
            found.append(Relation(row, "temporal", proximity(distance_us / HOUR_US), metadata, metadata))
    return found
