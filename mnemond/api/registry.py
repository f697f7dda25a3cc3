"""Every method, by name. Dispatch, documentation and completeness checks derive from it."""

from __future__ import annotations

from typing import Any

from mnemond.api import (
    types_changes,
    types_core,
    types_daemon,
    types_entities,
    types_extract,
    types_interchange,
    types_jobs,
    types_knowledge,
    types_memories,
    types_relations,
    types_rules,
    types_sessions,
    types_stores,
    types_sync,
    types_viz,
)
from mnemond.wire.params import TypedMethod

METHODS: dict[str, TypedMethod[..., Any]] = {
    declared.name: declared
    for module in (
        types_memories,
        types_extract,
        types_changes,
        types_knowledge,
        types_viz,
        types_core,
        types_relations,
        types_entities,
        types_rules,
        types_sessions,
        types_sync,
        types_interchange,
        types_daemon,
        types_stores,
        types_jobs,
    )
    for declared in vars(module).values()
    if isinstance(declared, TypedMethod)
}
"""In the order of their declaration, which is beside their parameters and results."""
