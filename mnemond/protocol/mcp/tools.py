"""The tools, as models and hosts are told of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from mnemond.protocol.mcp import arguments
from mnemond.protocol.types import Params


class Annotations(msgspec.Struct, frozen=True, rename="camel"):
    """What a host may assume of a tool. All are told: what is left out counts as dangerous. Memory is closed to the
    world (MCP, ToolAnnotations names it as the example)."""

    title: str
    read_only_hint: bool
    destructive_hint: bool
    idempotent_hint: bool
    open_world_hint: bool = False


class Tool(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One declaration."""

    name: str
    title: str
    description: str
    input_schema: Mapping[str, object]
    annotations: Annotations
    output_schema: Mapping[str, object] | None = None
    meta: Mapping[str, object] | None = msgspec.field(default=None, name="_meta")


class StatusView(msgspec.Struct, frozen=True):
    """What `status` returns: a store in short."""

    store: str
    memories: int
    links: int
    embedded: int
    questions: int
    healthy: bool
    trouble: str
    version: str


ALWAYS_LOADED: Final = {"anthropic/alwaysLoad": True}
"""Claude Code hides tools behind a search unless they say that."""


def schema_of(kind: type[msgspec.Struct]) -> dict[str, object]:
    """The JSON schema (2020-12) of a type without references, which not every host follows."""
    whole = msgspec.json.schema(kind)
    found: dict[str, object] = {**whole["$defs"][kind.__name__]}
    found.pop("title", None)
    found.pop("description", None)
    properties = found.get("properties", {})
    assert isinstance(properties, dict)  # noqa: S101  (what msgspec promises of a Struct)
    found["properties"] = {name: _typed(schema) for name, schema in properties.items()}
    return found


def _typed(schema: dict[str, object]) -> dict[str, object]:
    """Some hosts want the type of a choice told as well."""
    return {"type": "string", **schema} if "enum" in schema else schema


def _tool(
    kind: type[Params], name: str, title: str, description: str, *, writes: str = "", meta: bool = False,
    output: type[msgspec.Struct] | None = None,
) -> Tool:  # fmt: skip
    """`writes`: nothing, "adds" or "changes"."""
    return Tool(
        name, title, description, schema_of(kind),
        Annotations(title, not writes, writes == "changes", True),
        None if output is None else schema_of(output), ALWAYS_LOADED if meta else None,
    )  # fmt: skip


_ALL = (
    _tool(
        arguments.RecallArguments, "recall", "Recall memories",
        "Find what earlier sessions left in memory about something: decisions and their reasons, preferences, facts,"
        " lessons. Use it before you decide, assume or ask the user. Returns dated memories with ids, best first; an"
        " empty answer means that nothing is known.",
        meta=True,
    ),
    _tool(
        arguments.RememberArguments, "remember", "Remember something",
        "Keep one thing that later sessions need and could not find out themselves: a decision with its reason, a"
        " preference or correction of the user, a fact about people, systems or environments, a lesson. What is known"
        " already is not stored twice; what corrects an older memory takes its place.",
        writes="adds", meta=True,
    ),
    _tool(
        arguments.RelatedArguments, "related", "Related memories",
        "The memories around one: causes, effects, the same people or things, what was said before and after.",
    ),
    _tool(
        arguments.LinkArguments, "link", "Link two memories",
        "Say that two memories belong together, and how. A causal link leads from cause to effect.",
        writes="adds",
    ),
    _tool(
        arguments.ForgetArguments, "forget", "Forget a memory",
        "Take one memory out of recall, because it is wrong or no longer wanted. The user can bring it back.",
        writes="changes",
    ),
    _tool(
        arguments.UpdateArguments, "update", "Update a memory",
        "Give one memory another text or other fields. Its history keeps what it said before.",
        writes="changes",
    ),
    _tool(
        arguments.StatusArguments, "status", "Memory status",
        "How much is in memory, and whether it is well.",
        output=StatusView,
    ),
)  # fmt: skip

TOOLS: Final[Mapping[str, Tool]] = {tool.name: tool for tool in _ALL}
"""By name, in the order in which they are listed."""
