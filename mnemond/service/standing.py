"""How the daemon is, in one line: what `systemctl status` shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

LONGEST: Final = 400
"""Characters of the line; more is cut off. Reasons may be whole sentences."""


class StoreStanding(msgspec.Struct, frozen=True):
    """An open store: its name, the memories recall can find, and why it is not fully well."""

    name: str
    memories: int
    degraded_reason: str | None


def sentence(stores: Sequence[StoreStanding], note: str | None = None) -> str:
    """Such as "2 stores open, 1,234 memories; degraded: work (the disk is full)", then `note`."""
    if not stores:
        parts = ["no store open"]
    else:
        memories = sum(store.memories for store in stores)
        parts = [f"{_plural(len(stores), 'store')} open, {_plural(memories, 'memory')}"]
    ill = [f"{store.name} ({store.degraded_reason})" for store in stores if store.degraded_reason is not None]
    if ill:
        parts.append(f"degraded: {', '.join(ill)}")
    if note is not None:
        parts.append(note)
    text = "; ".join(parts)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _plural(count: int, noun: str) -> str:
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun[:-1]}ies" if noun.endswith("y") else f"{count:,} {noun}s"
