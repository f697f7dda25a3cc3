"""Memories in JSON files: drafts of mnemon, mem0, the MCP servers `server-memory` and mcp-memory-service, claude-mem,
and exports of ChatGPT and Claude.ai: what these remember, and the conversations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

import msgspec

from mnemond.interchange.conversations import branch, of_chatgpt, of_claude
from mnemond.interchange.items import Item, ItemLink, NotReadableError, category_of, labels, moment, pieces, plain
from mnemond.interchange.json_stream import Elements
from mnemond.interchange.sessions import Line
from mnemond.model.memory import CATEGORIES

Object = Mapping[str, Any]

_any = msgspec.json.Decoder()


def _objects(value: object) -> Iterator[Object]:
    found = value if isinstance(value, list | Elements) else ()
    return (each for each in found if isinstance(each, Mapping))


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _items(text: str, source: str, origin: str, **fields: Any) -> Iterator[Item]:  # noqa: ANN401 - fields of Item
    for number, piece in enumerate(pieces(text)):
        yield Item(source=source if not number else f"{source}#{number}", content=piece, origin=origin, **fields)


# mnemon: memory_draft.json, which an agent writes from old conversations (mnemon-dev/mnemon, docs/IMPORT.md).

DRAFT_VERSION: Final = "1"
DRAFT: Final = "mnemon-draft"
_EDGE_TYPES: Final = ("temporal", "causal", "semantic", "entity")
MAX_REASON: Final = 500
"""Characters of the reason of an edge."""


def mnemon_draft(document: object) -> Iterator[Item]:
    """`{"schema_version": "1", source, insights: [{content, category, importance, tags, entities, source, created_at}],
    edges: [{source_index, target_index, edge_type, weight, reason}]}`. Each edge goes with the later of its two.

    Raises NotReadableError for what mnemon refuses: another version, no insights, or an entry, named by its index, that
    breaks the rules of a draft.
    """
    fields: Object = document if isinstance(document, Mapping) else {}
    if fields.get("schema_version") != DRAFT_VERSION:
        version = ascii(fields.get("schema_version"))[:40]
        raise NotReadableError(f'it is a draft whose schema_version is {version}; "{DRAFT_VERSION}" is known')
    insights = fields.get("insights")
    if not isinstance(insights, list) or not insights:
        raise NotReadableError("it is a draft without insights")
    edges = _edges(fields.get("edges"), len(insights))
    keys: list[str] = []
    for index, each in enumerate(insights):
        if (problem := _draft_problem(each)) is not None:
            raise NotReadableError(f"insights[{index}] {problem}")
        content = _text(each["content"])
        first, *others = _items(
            content, f"draft\n{content}", _text(each.get("source")) or _text(fields.get("source")) or "mnemon",
            category=each.get("category") or "general", importance=each.get("importance") or 3,
            tags=tuple(each.get("tags") or ()), entities=tuple(each.get("entities") or ()),
            created_at=moment(each.get("created_at")),
        )  # fmt: skip
        keys.append(first.key(DRAFT))
        yield msgspec.structs.replace(first, links=[link(keys) for link in edges.get(index, ())])
        yield from others


def _draft_problem(insight: object) -> str | None:
    if not isinstance(insight, Mapping) or not _text(insight.get("content")):
        return "has no content"
    if (insight.get("category") or "general") not in CATEGORIES:
        return f"has a category that is none of {', '.join(CATEGORIES)}"
    importance = insight.get("importance") or 3
    if isinstance(importance, bool) or not isinstance(importance, int) or not 1 <= importance <= 5:
        return "has an importance that is no integer from 1 to 5"
    for field in ("tags", "entities"):
        values = insight.get(field) or []
        if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
            return f"has {field} that are no list of texts"
    if insight.get("created_at") and moment(insight["created_at"]) is None:
        return "has a created_at that is no time in RFC 3339"
    return None


def _edges(edges: object, insights: int) -> dict[int, list[Callable[[list[str]], ItemLink]]]:
    """Return the links of each memory to those before it, as functions of their keys. Raises NotReadableError."""
    found: dict[int, list[Callable[[list[str]], ItemLink]]] = {}
    for index, each in enumerate(edges if isinstance(edges, list) else []):
        ends: list[Any] = (
            [each.get(field) for field in ("source_index", "target_index")] if isinstance(each, Mapping) else []
        )
        if not ends or not all(type(end) is int and 0 <= end < insights for end in ends) or ends[0] == ends[1]:
            raise NotReadableError(f"edges[{index}] does not join two of the {insights:,} insights")
        if each.get("edge_type") not in _EDGE_TYPES:
            raise NotReadableError(f"edges[{index}] has an edge_type that is none of {', '.join(_EDGE_TYPES)}")
        weight = each.get("weight") or 0.5
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= 1:
            raise NotReadableError(f"edges[{index}] has a weight that is no number from 0 to 1")
        earlier, later = sorted(ends)
        found.setdefault(later, []).append(
            partial(
                _link, earlier, edge_type=each["edge_type"], weight=float(weight),
                reason=_text(each.get("reason"))[:MAX_REASON], outgoing=ends[0] == later,
            )
        )  # fmt: skip
    return found


def _link(earlier: int, keys: list[str], **fields: Any) -> ItemLink:  # noqa: ANN401 - fields of ItemLink
    return ItemLink(keys[earlier], **fields)


# mem0: get_all() of the open-source version.


def mem0(document: object) -> Iterator[Item]:
    """`{"results": [{id, memory, metadata, created_at, user_id, agent_id, …}]}`, or the list alone."""
    found = document.get("results", document.get("memories")) if isinstance(document, Mapping) else document
    for each in _objects(found):
        metadata = each.get("metadata")
        more = dict(metadata) if isinstance(metadata, Mapping) else {}
        tags = labels(each.get("categories") or more.pop("categories", None))
        yield from _items(
            _text(each.get("memory") or each.get("text")), f"mem0:{each.get('id')}", "mem0", tags=tags,
            created_at=moment(each.get("created_at")), metadata=plain(more),
            user_id=_text(each.get("user_id")) or None, agent_id=_text(each.get("agent_id")) or None,
        )  # fmt: skip


# server-memory: one object a line.


def server_memory(objects: Iterable[Object]) -> Iterator[Item]:
    """`{"type": "entity", name, entityType, observations}` and `{"type": "relation", from, to, relationType}`, also in
    the spellings of its variants."""
    for each in objects:
        kind = each.get("type")
        if kind == "entity":
            name = _text(each.get("name") or each.get("entityName") or each.get("id"))
            for observation in each.get("observations") or []:
                if name and _text(observation):
                    content = observation if name.casefold() in observation.casefold() else f"{name}: {observation}"
                    tags = labels([each.get("entityType")])
                    yield from _items(content, f"{name}\n{observation}", "server-memory", entities=(name,), tags=tags)
        elif kind == "relation":
            start, end = (
                _text(each.get(one) or each.get(other)) for one, other in (("from", "from_id"), ("to", "to_id"))
            )
            verb = _text(each.get("relationType") or each.get("relation_type")).replace("_", " ")
            if start and end and verb:
                content = f"{start} {verb} {end}"
                yield from _items(content, f"{start}\n{verb}\n{end}", "server-memory", entities=(start, end))


# mcp-memory-service.

_SERVICE_TYPES: Final = {"note": "general", "reference": "fact", "decision": "decision", "preference": "preference"}


def memory_service(document: object) -> Iterator[Item]:
    """`{"export_metadata": …, "memories": [{content, content_hash, tags, created_at, memory_type, metadata}]}`."""
    found = document.get("memories") if isinstance(document, Mapping) else None
    for each in _objects(found):
        yield from _items(
            _text(each.get("content")), f"{each.get('content_hash')}", "mcp-memory-service",
            category=category_of(each.get("memory_type"), _SERVICE_TYPES), tags=labels(each.get("tags")),
            created_at=moment(each.get("created_at")), metadata=plain(each.get("metadata")),
        )  # fmt: skip


# claude-mem: export-memories.ts.

_OBSERVED: Final = {"decision": "decision", "bugfix": "insight", "discovery": "insight"}


def claude_mem(document: object) -> Iterator[Item]:
    """`{"observations": [{title, subtitle, narrative, facts, concepts, type, project, created_at}], …}`: each fact is a
    memory, else the title with the narrative."""
    found = document.get("observations") if isinstance(document, Mapping) else None
    for each in _objects(found):
        facts = _decoded_list(each.get("facts"))
        title, narrative = _text(each.get("title")), _text(each.get("narrative") or each.get("text"))
        texts = facts or [". ".join(filter(None, (title.rstrip("."), narrative)))]
        more = {"project": each.get("project"), "title": title if facts else ""}
        for text in texts:
            yield from _items(
                text, f"{each.get('id')}\n{text}", "claude-mem", category=category_of(each.get("type"), _OBSERVED),
                tags=labels(_decoded_list(each.get("concepts"))),
                created_at=moment(each.get("created_at_epoch") or each.get("created_at")), metadata=plain(more),
            )  # fmt: skip


def _decoded_list(value: object) -> list[str]:
    if isinstance(value, str):
        try:
            value = _any.decode(value)
        except (msgspec.MsgspecError, RecursionError):
            return []
    return [each.strip() for each in value if isinstance(each, str) and each.strip()] if isinstance(value, list) else []


# ChatGPT: memories are in messages to the tool that keeps them.

_NUMBERED: Final = re.compile(r"^\s*\d+\.\s*(?:\[(\d{4}-\d{2}-\d{2})\]\.?)?\s*(.+)$", re.MULTILINE)


def chatgpt(document: object) -> Iterator[Line]:
    """`conversations.json`: the conversations, and the memories that ChatGPT keeps of its user. The newest
    `model_set_context` has all, numbered, with a day; a `bio` call adds one; `user_editable_context` has what the user
    wrote."""
    newest: tuple[float, str] = (-1.0, "")
    for conversation in _objects(document):
        yield from of_chatgpt(conversation)
        for message in branch(conversation):
            content = message.get("content")
            if not isinstance(content, Mapping):
                continue
            at = message.get("create_time") or conversation.get("create_time")
            since = float(at) if isinstance(at, int | float) else 0.0
            if content.get("content_type") == "model_editable_context" and since >= newest[0]:
                newest = (since, _text(content.get("model_set_context")))
            elif content.get("content_type") == "user_editable_context":
                yield from _instructions(content, at)
            elif message.get("recipient") == "bio":
                for part in content.get("parts") or []:
                    yield from _items(_text(part), f"bio\n{part}", "chatgpt", created_at=moment(at))
    for day, text in _NUMBERED.findall(newest[1]):
        yield from _items(text.strip(), f"bio\n{text.strip()}", "chatgpt", created_at=moment(f"{day}T00:00:00Z"))


def _instructions(content: Object, at: object) -> Iterator[Item]:
    for field in ("user_profile", "user_instructions"):
        if text := _text(content.get(field)):
            yield from _items(text, f"{field}\n{text}", "chatgpt", category="preference", created_at=moment(at))


# Claude.ai: memories.json and conversations.json.


def claude_ai(document: object) -> Iterator[Line]:
    """`memories.json`: `[{conversations_memory: markdown, project_memories: {id: markdown}, account_uuid}]`, or one of
    these objects (`memories/<account>.json`): each paragraph or bullet is a memory. `conversations.json`: a list of
    conversations."""
    from mnemond.interchange.notes import paragraphs  # notes are parsed there

    for account in _objects([document] if isinstance(document, Mapping) else document):
        if "chat_messages" in account:
            yield from of_claude(account)
        memories = {"": account.get("conversations_memory")}
        if isinstance(more := account.get("project_memories"), Mapping):
            memories |= more
        for project, text in memories.items():
            for heading, part in paragraphs(_text(text)):
                metadata = plain({"heading": heading, "claude_project": project})
                yield from _items(part, f"{project}\n{part}", "claude.ai", metadata=metadata)


# Recognition.

Parser = Callable[[object], Iterator[Line]]

PARSERS: Final[dict[str, Parser]] = {
    DRAFT: mnemon_draft, "mem0": mem0, "mcp-memory-service": memory_service, "claude-mem": claude_mem,
    "chatgpt": chatgpt, "claude-ai": claude_ai,
}  # fmt: skip
"""Parsers of documents, by kind."""

STREAMED: Final = frozenset({"mem0", "mcp-memory-service", "claude-mem", "chatgpt", "claude-ai"})
"""Those that read one array from its beginning to its end."""


def kind_of(document: object) -> str | None:
    """Return the kind of a JSON document; None if it is not known."""
    first: Object = next(_objects(document), {})
    if isinstance(document, Mapping):
        if "schema_version" in document and "insights" in document:
            return DRAFT
        if "export_metadata" in document or _has(document.get("memories"), "content_hash"):
            return "mcp-memory-service"
        if "conversations_memory" in document:
            return "claude-ai"
        if isinstance(document.get("observations"), list | Elements):
            return "claude-mem"
        if _has(document.get("results"), "memory"):
            return "mem0"
    if "mapping" in first and "current_node" in first:
        return "chatgpt"
    if "conversations_memory" in first or "project_memories" in first or "chat_messages" in first:
        return "claude-ai"
    if "memory" in first and "id" in first:
        return "mem0"
    return None


def _has(value: object, field: str) -> bool:
    return field in next(_objects(value), {})


def of_lines(lines: Iterable[bytes]) -> Iterator[Object]:
    """Yield the objects of a file with one a line. Raises NotReadableError, which names the line."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found = _any.decode(line)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            raise NotReadableError(f"line {number:,} is no JSON") from None
        if not isinstance(found, Mapping):
            raise NotReadableError(f"line {number:,} is no JSON object")
        yield found
