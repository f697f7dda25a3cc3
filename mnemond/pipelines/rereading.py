"""A stored memory, read again: for what follows from its text when it, or its place among the others, changed."""

from __future__ import annotations

from collections.abc import Sequence

from mnemond.index.snapshot import Snapshot
from mnemond.model.insight import Insight
from mnemond.model.policy import WritePolicy
from mnemond.model.timestamp import parse_rfc3339
from mnemond.pipelines.reading import Reading, read


def read_again(
    it: Insight,
    snapshot: Snapshot,
    policy: WritePolicy,
    names: Sequence[str] | None = None,
    entity_mode: str = "provided",
) -> Reading:
    """What the content of `it` says, told when `it` was created. `names`: entities somebody provided, by default those
    it has."""
    return read(
        it.content,
        it.category,
        entities=it.entities if names is None else names,
        entity_mode=entity_mode,
        known=snapshot.entity_spelling,
        said_us=parse_rfc3339(it.created_at),
        source=it.source,
        min_confidence=policy.min_confidence,
        max_queries=policy.max_hypothetical,
        compared=False,
    )
