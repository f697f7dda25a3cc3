"""Links by meaning: to the rows whose embedding is as near as that of a paraphrase. None without embeddings."""

from __future__ import annotations

from mnemond.graph.surroundings import Around, Newcomer
from mnemond.model.edge import Relation
from mnemond.model.policy import GraphPolicy

METADATA = '{"sub_type":"auto"}'


def build(new: Newcomer, around: Around, policy: GraphPolicy) -> list[Relation]:
    """The best `max_auto` rows from `policy.semantic.auto` on, which is a cosine of the store's own embedder.

    The weight is the cosine, in [0, 1].
    """
    limits = policy.semantic
    return [
        Relation(row, "semantic", min(1.0, max(0.0, cosine)), METADATA, METADATA)
        for row, cosine in around.similar(limits.auto, limits.max_auto)
        if row != new.id
    ]
