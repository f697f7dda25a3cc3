"""The settings of writes on the scale of one store's embedder."""

from __future__ import annotations

from functools import lru_cache

import msgspec

from mnemond.config.settings import Config
from mnemond.embed.calibration import Calibration, scaled, shipped
from mnemond.memory.diff import SAFEGUARDS, DiffRules, Safeguards, cosine_thresholds
from mnemond.store.meta import EmbedderRecord


class WriteRules(msgspec.Struct, frozen=True):
    """`config` with the cosines of `graph.semantic` as the store's embedder gives them, and the rules of comparing."""

    config: Config
    diff: DiffRules


@lru_cache(maxsize=64)
def write_rules(record: EmbedderRecord | None, config: Config, safeguards: Safeguards = SAFEGUARDS) -> WriteRules:
    """Compute the rules for a store: by the calibration measured on it, else that of its embedder, else unchanged."""
    calibration = calibration_of(record)

    def scale(threshold: float) -> float:
        return scaled(threshold, calibration)

    semantic = config.graph.semantic
    semantic = msgspec.structs.replace(semantic, auto=scale(semantic.auto), review=scale(semantic.review))
    graph = msgspec.structs.replace(config.graph, semantic=semantic)
    cosines = cosine_thresholds("" if record is None else record.name, config.diff, scale, safeguards)
    return WriteRules(msgspec.structs.replace(config, graph=graph), DiffRules(config.diff, cosines, safeguards))


def calibration_of(record: EmbedderRecord | None) -> Calibration | None:
    """Return how a store's embedder spreads its cosines; None if unknown."""
    if record is None:
        return None
    if record.unrelated is not None and record.paraphrase is not None:
        return Calibration(record.unrelated, record.paraphrase)
    return shipped(record.name)
