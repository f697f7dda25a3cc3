"""Which settings a running daemon can take up."""

from __future__ import annotations

from typing import Final

LIVE: Final = (
    "commitment",
    "diff",
    "extraction",
    "graph",
    "hooks",
    "lifecycle.immune_access",
    "lifecycle.immune_importance",
    "lifecycle.max_insights",
    "lifecycle.prune_batch",
    "log",
    "pruning",
    "retrieval",
    "server",
)
"""Sections and settings that are taken up as soon as they are read: `Daemon.go_by` hands them on. What is not listed
here waits for a restart, because something was built with it: an embedder, an index, a schedule."""


def is_live(setting: str) -> bool:
    """Whether the setting with this path, such as "server.drain_s", needs no restart."""
    return any(setting == live or setting.startswith(f"{live}.") for live in LIVE)
