"""What a shared entity says: the fewer memories name it, the more (spec 7.12)."""

from __future__ import annotations

import math

from mnemond.model.policy import EntityPolicy


def idf_weight(documents: int, holders: int, policy: EntityPolicy) -> float | None:
    """max(floor, ln(N/df) / ln N) in [0, 1]; None when every row names the entity, which then links nothing.

    `documents` N and `holders` df both count the new row. Stores smaller than `idf_min_docs` have no rare words yet:
    everything shared weighs 1.
    """
    if documents < policy.idf_min_docs:
        return 1.0
    if holders >= documents:
        return None
    rarity = math.log(documents / max(1, holders)) / math.log(documents) if documents > 1 else 1.0
    return min(1.0, max(policy.idf_floor, rarity))
