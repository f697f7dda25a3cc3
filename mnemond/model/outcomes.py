"""What an operation came to. Expected outcomes are values; exceptions mean that something is broken."""

from __future__ import annotations

from typing import Literal

import msgspec


class Remembered(msgspec.Struct, frozen=True, tag=True):
    """An insight was stored (or, with `dry_run`, would have been)."""

    id: str
    op_id: str
    store: str
    embedded: bool
    effective_importance: float
    action: Literal["added"] = "added"
    embed_error: str | None = None
    dry_run: bool = False
    replayed: bool = False
    user_id: str | None = None
    session_id: str | None = None
    agent_id: str | None = None


class Forgotten(msgspec.Struct, frozen=True, tag=True):
    """An insight was taken out of recall; `edges_removed` counts logical links."""

    id: str
    op_id: str
    edges_removed: int = 0
    replayed: bool = False


Outcome = Remembered | Forgotten
