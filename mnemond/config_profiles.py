"""Profiles: named sets of other defaults, as data (spec 3 and 5).

Each names the design whose numbers it has: `mnemon` is S0 and S3 to the letter, `classic` S1, `mnemosyne` S2, `mem0`
S4; `balanced` is what stands in `mnemond.config`. A profile has a row here for every setting in which it differs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_PUBLISHED: Final[Mapping[str, object]] = {
    "retrieval.fusion.profile": "intent",
    "retrieval.traversal.mode": "beam",
    "retrieval.traversal.path_score": "sum",
}

PROFILES: Final[Mapping[str, Mapping[str, object]]] = {
    "balanced": {},
    "mnemon": {"commitment.redundancy.enabled": False, **_PUBLISHED},
    "classic": {"diff.update": 0.50, "commitment.redundancy.enabled": False, **_PUBLISHED},
    "mnemosyne": {
        "pruning.enabled": True,
        "retrieval.fusion.profile": "start_node",
        "retrieval.traversal.mode": "probabilistic",
        "retrieval.prior.weight": 1.0,
        "retrieval.anchors.hypothetical": True,
    },
    "mem0": {
        "diff.update": 0.85,
        "commitment.redundancy.enabled": False,
        "retrieval.fusion.profile": "mem0",
        "retrieval.traversal.mode": "beam",
    },
}
"""By name, each setting with its value. What of spec 5's table is missing has no setting yet."""
