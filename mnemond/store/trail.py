"""What one operation did to memories and edges: gathered while it is carried out, written to the history at its end.

Every edge that an operation changed stands beside one of the memories it changed, as it was before and as it is now, so
that the history alone is enough to take the operation back. Edges that came or went with a memory's own first or last
moment need no note: what retires a memory notes the edges it had.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from mnemond.model.edge import Edge
from mnemond.model.insight import Insight
from mnemond.store.history import Entry, State

Key = tuple[str, str, str]

Look = Callable[[str], Insight | None]
"""A memory as it is now, in whatever state."""


class _Memory(msgspec.Struct):
    kind: str
    id: str
    before: Insight | None
    after: Insight | None
    had: list[Edge] = []
    has: list[Edge] = []

    def entry(self) -> Entry:
        before = None if self.before is None else State(self.before, self.had)
        return Entry(self.kind, self.id, before, None if self.after is None else State(self.after, self.has))


class _Link(msgspec.Struct):
    before: Edge | None
    after: Edge | None
    owner: str | None


class Trail:
    """One operation's. For one use."""

    def __init__(self) -> None:
        self._memories: list[_Memory] = []
        self._links: dict[Key, _Link] = {}
        self._fresh: set[str] = set()

    def memory(self, kind: str, insight_id: str, before: Insight | None, after: Insight | None) -> None:
        """A memory was changed: `kind` as the history calls it (spec 4)."""
        self._memories.append(_Memory(kind, insight_id, before, after))
        if kind == "CREATE":
            self._fresh.add(insight_id)

    def edge(self, before: Edge | None, after: Edge | None, owner: str | None = None) -> None:
        """An edge was changed; `owner` is the memory in whose history it belongs, None: any of its two."""
        either = before or after
        assert either is not None, "an edge that never was cannot change"  # noqa: S101
        key = (either.source_id, either.target_id, either.edge_type)
        known = self._links.get(key)
        if known is None:
            self._links[key] = _Link(before, after, owner)
        else:
            known.after, known.owner = after, owner or known.owner

    def purge(self, insight_id: str) -> None:
        """Keep nothing of a memory that is removed, but that something was done to it."""
        for memory in self._memories:
            if memory.id == insight_id:
                memory.before = memory.after = None
        self._links = {key: link for key, link in self._links.items() if insight_id not in key[:2]}

    def entries(self, look: Look) -> list[Entry]:
        """The rows of the history, in the order of what happened."""
        by_id: dict[str, _Memory] = {}
        for memory in self._memories:
            if memory.after is not None:
                by_id[memory.id] = memory
        for link in self._links.values():
            if link.before != link.after:
                self._place(link, by_id, look)
        return [memory.entry() for memory in self._memories]

    def _place(self, link: _Link, by_id: dict[str, _Memory], look: Look) -> None:
        either = link.before or link.after
        assert either is not None, "it differs from before"  # noqa: S101
        ends = (either.source_id, either.target_id)
        if link.owner is None and not self._fresh.isdisjoint(ends):
            return
        owner = link.owner or next((end for end in ends if end in by_id), ends[0])
        memory = by_id.get(owner) or self._unchanged(owner, by_id, look)
        memory.had = memory.had if link.before is None else [*memory.had, link.before]
        memory.has = memory.has if link.after is None else [*memory.has, link.after]

    def _unchanged(self, insight_id: str, by_id: dict[str, _Memory], look: Look) -> _Memory:
        """A memory of which nothing but an edge changed."""
        it = look(insight_id)
        memory = by_id[insight_id] = _Memory("UPDATE", insight_id, it, it)
        self._memories.append(memory)
        return memory
