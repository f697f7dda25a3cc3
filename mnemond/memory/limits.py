"""The numbers of the write path on the scale of one store's embedder."""

from __future__ import annotations

from functools import lru_cache

import msgspec

from mnemond.embed.registry import Calibration, scaled, shipped
from mnemond.memory.diff import CosineThresholds, cosine_thresholds
from mnemond.model.policy import WritePolicy
from mnemond.store.meta import EmbedderRecord


class Limits(msgspec.Struct, frozen=True):
    """A write policy with every cosine in it, and in `cosines`, as the store's own embedder gives them (spec 7.3)."""

    policy: WritePolicy
    cosines: CosineThresholds


@lru_cache(maxsize=64)
def limits_of(record: EmbedderRecord | None, policy: WritePolicy) -> Limits:
    """The policy for a store: by what was measured on it, else by what is known of its embedder, else unchanged."""
    name = "" if record is None else record.name
    calibration = calibration_of(record)

    def scale(threshold: float) -> float:
        return scaled(threshold, calibration)

    semantic = msgspec.structs.replace(
        policy.graph.semantic, auto=scale(policy.graph.semantic.auto), review=scale(policy.graph.semantic.review)
    )
    graph = msgspec.structs.replace(policy.graph, semantic=semantic)
    return Limits(msgspec.structs.replace(policy, graph=graph), cosine_thresholds(name, policy.diff, scale))


def calibration_of(record: EmbedderRecord | None) -> Calibration | None:
    """What is known of how a store's embedder spreads its cosines; None when nothing is."""
    if record is None:
        return None
    if record.unrelated is not None and record.paraphrase is not None:
        return Calibration(record.unrelated, record.paraphrase)
    return shipped(record.name)
