"""Conversations in exports of ChatGPT and Claude.ai, as exchanges: what a person says, and the reply.

What a person did not say or see is left out: system and hidden messages, tools and what they return, thoughts, branches
that were edited away, pictures and attached files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from mnemond.interchange.items import moment
from mnemond.interchange.sessions import Session, SessionExchange

Object = Mapping[str, Any]


def _taken(session: Session, author: object, text: str, at: str | None) -> None:
    """Let a session go on with a message; those of others than the person and the assistant are passed over."""
    if author in ("user", "human"):
        session.ask(text, at)
    elif author == "assistant":
        session.reply(text, at)


def _named(conversation: Object, *names: str) -> str:
    return next((value for name in names if isinstance(value := conversation.get(name), str)), "")


# ChatGPT.


def of_chatgpt(conversation: Object) -> list[SessionExchange]:
    """Return the exchanges of the branch that a conversation of ChatGPT ends with; none of one that is not to be
    remembered."""
    if conversation.get("is_do_not_remember") is True:
        return []
    session = Session(_named(conversation, "conversation_id", "id"), moment(conversation.get("create_time")))
    for message in branch(conversation):
        author = message.get("author")
        role = author.get("role") if isinstance(author, Mapping) else None
        _taken(session, role, _said_to_chatgpt(message), moment(message.get("create_time")))
    return session.ended()


_TEXTS: Final = ("text", "multimodal_text")


def _said_to_chatgpt(message: Object) -> str:
    """Return what is read of a message; "" for one that the person neither said nor saw."""
    content, metadata = message.get("content"), message.get("metadata")
    if isinstance(metadata, Mapping) and (
        metadata.get("is_visually_hidden_from_conversation") or metadata.get("is_user_system_message")
    ):
        return ""
    if message.get("recipient", "all") not in ("all", None) or message.get("weight") == 0:
        return ""
    if not isinstance(content, Mapping) or content.get("content_type") not in _TEXTS:
        return ""
    parts = content.get("parts")
    return "\n\n".join(filter(None, map(_part, parts))) if isinstance(parts, list) else ""


def _part(part: object) -> str:
    """Return the text of a part; that of what was spoken, and "" for a picture."""
    if isinstance(part, Mapping) and part.get("content_type") == "audio_transcription":
        part = part.get("text")
    return part if isinstance(part, str) else ""


def branch(conversation: Object) -> list[Object]:
    """Return the messages of a ChatGPT conversation from its beginning to `current_node`, without what was edited."""
    mapping = conversation.get("mapping")
    nodes: Mapping[str, Any] = mapping if isinstance(mapping, Mapping) else {}
    found: list[Object] = []
    seen: set[str] = set()
    here = conversation.get("current_node")
    while isinstance(here, str) and here not in seen and isinstance(node := nodes.get(here), Mapping):
        seen.add(here)
        if isinstance(message := node.get("message"), Mapping):
            found.append(message)
        here = node.get("parent")
    return found[::-1]


# Claude.ai.


def of_claude(conversation: Object) -> list[SessionExchange]:
    """Return the exchanges of a conversation of Claude.ai: of the branch that its newest message ends, where messages
    name the one before them."""
    session = Session(_named(conversation, "uuid"), moment(conversation.get("created_at")))
    messages = conversation.get("chat_messages")
    said = [each for each in messages if isinstance(each, Mapping)] if isinstance(messages, list) else []
    for message in _newest_branch(said):
        _taken(session, message.get("sender"), _said_to_claude(message), moment(message.get("created_at")))
    return session.ended()


def _said_to_claude(message: Object) -> str:
    """Return the text of a message: of its parts, or of an older export the text itself."""
    parts = message.get("content")
    texts = [
        each["text"]
        for each in (parts if isinstance(parts, list) else [])
        if isinstance(each, Mapping) and each.get("type") == "text" and isinstance(each.get("text"), str)
    ]
    whole = message.get("text")
    return "\n\n".join(texts) or (whole if isinstance(whole, str) else "")


def _newest_branch(messages: Sequence[Object]) -> Sequence[Object]:
    by_id = {each["uuid"]: each for each in messages if isinstance(each.get("uuid"), str)}
    if not messages or any(not isinstance(each.get("parent_message_uuid"), str) for each in messages):
        return messages
    found: list[Object] = []
    last = max(messages, key=lambda each: moment(each.get("created_at")) or "")
    by_id.pop(last.get("uuid", ""), None)
    here: Object | None = last
    while here is not None:
        found.append(here)
        here = by_id.pop(here["parent_message_uuid"], None)
    return found[::-1]
