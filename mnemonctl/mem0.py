"""Mem0's `Memory` class over a mnemond: programs written for it need another import.

    from mnemonctl.mem0 import Memory

    memory = Memory()
    memory.add("I prefer tabs over spaces", user_id="ana")
    memory.search("indentation", user_id="ana")["results"]

A `run_id` is a session here. As in Mem0, a call names at least one of user, agent and run, and is limited to their
memories; results are dictionaries. Differences: facts are found as `extraction.engine` says, by rules unless a model is
configured; the event of a fact that is known already is NONE; `delete` can be undone (`Client.undo`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from mnemonctl.client import Client
from mnemond.api.types_extract import ExtractContext, FactView, MessageParam
from mnemond.errors import NOT_FOUND, MnemonError
from mnemond.model.answers import InsightDetail, RetiredResult

Item: TypeAlias = dict[str, Any]
Messages: TypeAlias = str | Mapping[str, str] | Sequence[Mapping[str, str]]

PAGE = 100
"""Memories of one request for a list."""

DERIVED = "relations"
"""Key in the metadata of a fact that the daemon adds; callers cannot set it."""

_EVENTS = {"CREATE": "ADD", "UPDATE": "UPDATE", "MERGE": "UPDATE", "NONE": "NONE", "FAILED": "NONE"}
"""Mem0's events, by the action on a fact."""

_HISTORY = {"CREATE": "ADD", "DELETE": "DELETE", "SUPERSEDE": "DELETE", "FORGET": "DELETE", "PRUNE": "DELETE"}
"""Mem0's events, by the type of an operation; any other is an UPDATE."""


class Memory:
    """Mem0's methods, over `client` or one that is made of the other arguments (see `Client`)."""

    def __init__(self, client: Client | None = None, **client_arguments: Any) -> None:  # noqa: ANN401 - Client's own
        self.client = client or Client(**client_arguments)

    def add(
        self,
        messages: Messages,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        metadata: dict[str, object] | None = None,
        infer: bool = True,
        auto_resolve_conflicts: bool | None = None,
    ) -> Item:
        """Remember facts found in the messages, or with `infer` false each message as it is. `auto_resolve_conflicts`:
        whether a fact takes the place of what it contradicts, or both stay; as configured unless given.

        Returns `results`: `id`, `memory` and `event` (ADD, UPDATE, NONE) of each. Raises ValueError without any of the
        ids, MnemonError.
        """
        scope = _scope(user_id, agent_id, run_id)
        result = self.client.extract(
            messages=_messages(messages),
            infer=infer,
            whole=True,
            auto_resolve_conflicts=auto_resolve_conflicts,
            **scope,
        )
        assert not isinstance(result, ExtractContext)  # noqa: S101 - it was not requested
        for fact in result.facts:
            if metadata and fact.memory_id is not None and fact.action != "NONE":
                self.client.update(id=fact.memory_id, metadata=metadata)
        return {"results": [_event(fact) for fact in result.facts]}

    def search(
        self,
        query: str,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        limit: int = 100,
        filters: dict[str, object] | None = None,
        threshold: float | None = None,
    ) -> Item:
        """Return memories that answer a question, best first, each with its `score`, at least `threshold` if given.

        `filters` are the `metadata` of recall. Raises ValueError, MnemonError.
        """
        scope = _scope(user_id, agent_id, run_id)
        result = self.client.recall(query=query, limit=limit, metadata=filters, strict_scope=True, **scope)
        hits = [hit for hit in result.results if threshold is None or hit.score >= threshold]
        return {"results": [self._item(hit.insight.id) | {"score": hit.score} for hit in hits]}

    def get(self, memory_id: str) -> Item | None:
        """Return one memory, or None. Raises MnemonError."""
        try:
            return self._item(memory_id)
        except MnemonError as error:
            if error.kind is NOT_FOUND:
                return None
            raise

    def get_all(
        self,
        *,
        user_id: str | None = None,
        agent_id: str | None = None,
        run_id: str | None = None,
        limit: int = 100,
        filters: dict[str, object] | None = None,
    ) -> Item:
        """Return memories, newest first. Raises ValueError, MnemonError."""
        scope = _scope(user_id, agent_id, run_id)
        return {"results": [self._item(each) for each in self._ids(scope, filters, limit)]}

    def update(self, memory_id: str, data: str, metadata: dict[str, object] | None = None) -> Item:
        """Replace the text of a memory. Raises MnemonError."""
        more: dict[str, Any] = {} if metadata is None else {"metadata": metadata}
        self.client.update(id=memory_id, content=data, **more)
        return {"message": "Memory updated successfully!"}

    def delete(self, memory_id: str) -> Item:
        """Forget a memory. Raises MnemonError."""
        self.client.forget(id=memory_id)
        return {"message": "Memory deleted successfully!"}

    def delete_all(self, *, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None) -> Item:
        """Forget all memories of a user, agent or run. Raises ValueError, MnemonError."""
        for each in list(self._ids(_scope(user_id, agent_id, run_id), None, None)):
            self.client.forget(id=each)
        return {"message": "Memories deleted successfully!"}

    def history(self, memory_id: str) -> list[Item]:
        """Return the operations on a memory, oldest first. Raises MnemonError."""
        return [
            {
                "id": str(each.id),
                "memory_id": memory_id,
                "old_memory": None if each.before_state is None else each.before_state.content,
                "new_memory": None if each.after_state is None else each.after_state.content,
                "event": _HISTORY.get(each.operation_type, "UPDATE"),
                "created_at": each.created_at,
            }
            for each in self.client.history(id=memory_id).operations
        ]

    def close(self) -> None:
        self.client.close()

    def _ids(self, scope: dict[str, Any], filters: dict[str, object] | None, limit: int | None) -> Iterator[str]:
        left, before = limit, None
        while left is None or left > 0:
            size = PAGE if left is None else min(PAGE, left)
            page = self.client.list(limit=size, before=before, metadata=filters, strict_scope=True, **scope)
            assert not isinstance(page, RetiredResult)  # noqa: S101 - it was not requested
            yield from (each.id for each in page.insights)
            if page.next is None:
                return
            left, before = None if left is None else left - len(page.insights), page.next

    def _item(self, memory_id: str) -> Item:
        return _view(self.client.get(id=memory_id).insight)


def _scope(user_id: str | None, agent_id: str | None, run_id: str | None) -> dict[str, Any]:
    given = {"user_id": user_id, "agent_id": agent_id, "session_id": run_id}
    named = {name: value for name, value in given.items() if value is not None}
    if not named:
        raise ValueError("at least one of user_id, agent_id and run_id is needed")
    return named


def _messages(messages: Messages) -> tuple[MessageParam, ...]:
    if isinstance(messages, str):
        return (MessageParam(content=messages),)
    several = [messages] if isinstance(messages, Mapping) else messages
    return tuple(
        MessageParam(content=each["content"], role=each.get("role", "user"), name=each.get("name")) for each in several
    )


def _event(fact: FactView) -> Item:
    event = {"id": fact.memory_id, "memory": fact.content, "event": _EVENTS[fact.action]}
    return event if fact.previous_id is None else event | {"previous_id": fact.previous_id}


def _view(insight: InsightDetail) -> Item:
    item = {
        "id": insight.id,
        "memory": insight.content,
        "metadata": {name: value for name, value in insight.metadata.items() if name != DERIVED} or None,
        "created_at": insight.created_at,
        "updated_at": insight.updated_at,
        "user_id": insight.user_id,
        "agent_id": insight.agent_id,
        "run_id": insight.session_id,
    }
    return {name: value for name, value in item.items() if value is not None or name == "metadata"}
