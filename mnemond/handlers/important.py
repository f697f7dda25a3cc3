"""The memories that matter most, as they are read at the beginning of a session."""

from __future__ import annotations

from typing import Final

import msgspec

from mnemond.handlers.door import settle
from mnemond.protocol.memories import InsightView, ListResult
from mnemond.server.call import Call
from mnemond.server.dispatch import Invoke

CORE: Final = 20
"""Memories of a core."""

HIGHEST: Final = 5
"""The importance of what must never be lost: however old it is, it is looked at before anything newer."""

WEIGHTY: Final = 4
"""Importance from which on a memory belongs to the core, if there are any."""

LOOKED_AT: Final = 200
"""The newest memories of an importance, of which a core is chosen."""


async def most_important(invoke: Invoke, store: str | None, call: Call) -> list[InsightView]:
    """At most CORE, what matters most first; of a store that has none of weight, the most important of the newest.
    Raises MnemonError."""
    found = await _listed(invoke, store, HIGHEST, call)
    if len(found) < CORE:
        found = await _listed(invoke, store, WEIGHTY, call) or await _listed(invoke, store, 1, call)
    return sorted(found, key=lambda it: (-it.importance, -it.effective_importance, it.id))[:CORE]


async def decisions_of(
    invoke: Invoke, store: str | None, project: str | None, most: int, call: Call
) -> list[InsightView]:
    """The newest decisions that hold, those of a project alone where one is given, whose name is their tag. Raises
    MnemonError."""
    tags = None if project is None else [project]
    return await listed(invoke, call, store=store, category="decision", any_tags=tags, limit=most)


async def listed(invoke: Invoke, call: Call, **wanted: object) -> list[InsightView]:
    """A page of memories, newest first. Raises MnemonError."""
    asked = msgspec.json.encode({name: value for name, value in wanted.items() if value is not None})
    found = await settle(invoke("list", asked, call))
    assert isinstance(found, ListResult)  # noqa: S101
    return found.insights


async def _listed(invoke: Invoke, store: str | None, least: int, call: Call) -> list[InsightView]:
    return await listed(invoke, call, store=store, min_importance=least, limit=LOOKED_AT)
