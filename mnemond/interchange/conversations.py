"""Conversations in exports of ChatGPT and Claude.ai, in parts that can be read for facts: what a person says, and the
reply.

What a person did not say or see is left out: system and hidden messages, tools and what they return, thoughts, branches
that were edited away, pictures and attached files.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

import msgspec

from mnemond.interchange.items import moment

Object = Mapping[str, Any]

Role = Literal["user", "assistant"]

MAX_MESSAGE: Final = 16_000
"""Characters of a person's message that are read, as of a message in an agent's session: a longer one is a document,
of which the beginning and the end are read."""

MAX_REPLY: Final = 500
"""Characters of a reply, which is context alone. With replies of 2,000 characters, reading took twice as long and found
the same."""

MAX_TURNS: Final = 20
"""Messages of a person in a row that are read together."""

MAX_TITLE: Final = 200
MAX_ID: Final = 64

_CONTROLS: Final = re.compile(r"[\0-\x08\x0b-\x1f\x7f]")
_GAP: Final = "\n\n…\n\n"


class Turn(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message of a conversation. `at`: RFC 3339, None if it is not known."""

    role: Role
    text: str
    at: str | None = None
    id: str | None = None


class Exchange(msgspec.Struct, frozen=True, tag_field="line", tag="exchange"):
    """What a person says, and the reply. `conversation` and `title` are those of the whole conversation there."""

    conversation: str
    title: str
    turns: list[Turn]

    @property
    def began(self) -> str:
        """The time of its first message; "" if it is not known."""
        return next((each.at for each in self.turns if each.at is not None), "")

    def key(self, kind: str) -> str:
        """Return a hash of the conversation and of what the person says: it does not reveal them."""
        said = [each.text for each in self.turns if each.role == "user"]
        parts = "\0".join((kind, self.conversation, *said))
        return f"{kind}:{hashlib.blake2b(parts.encode('utf-8', 'replace'), digest_size=16).hexdigest()}"


def tidy(text: str, most: int) -> str:
    """Return a text without control characters; of one longer than `most` characters the beginning and the end, cut at
    line breaks or spaces."""
    half = (most - len(_GAP)) // 2
    if len(text) <= most:
        return _CONTROLS.sub(" ", text).strip()
    head, tail = text[:half], text[-half:]
    head = head[: max(head.rfind("\n"), 0) or max(head.rfind(" "), 0) or half]
    start = tail.find("\n") if "\n" in tail else tail.find(" ")
    return _CONTROLS.sub(" ", f"{head.strip()}{_GAP}{tail[start + 1 :].strip()}")


def _exchanges(conversation: str, title: object, turns: Sequence[Turn]) -> Iterator[Exchange]:
    """Yield a conversation in exchanges: each begins with a person's message after a reply."""
    name = " ".join(_CONTROLS.sub(" ", title).split())[:MAX_TITLE] if isinstance(title, str) else ""
    if not 0 < len(conversation) <= MAX_ID or _CONTROLS.search(conversation):
        first = f"{conversation}\0{turns[0].at}\0{turns[0].text}" if turns else conversation
        conversation = hashlib.blake2b(first.encode("utf-8", "replace"), digest_size=16).hexdigest()
    waiting: list[Turn] = []
    size = 0
    for each in turns:
        if each.role == "user" and waiting:
            replied = waiting[-1].role == "assistant"
            if replied or len(waiting) == MAX_TURNS or size + len(each.text) > MAX_MESSAGE:
                yield Exchange(conversation, name, waiting)
                waiting, size = [], 0
        if each.role == "user":
            waiting.append(each)
            size += len(each.text)
        elif waiting:  # the last reply is the one that was left
            waiting = [*(one for one in waiting if one.role == "user"), each]
    if waiting:
        yield Exchange(conversation, name, waiting)


def _identity(value: object) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= MAX_ID and value.isprintable() else None


# ChatGPT.


def of_chatgpt(conversation: Object) -> Iterator[Exchange]:
    """Yield the exchanges of the branch that a conversation of ChatGPT ends with; none of one that is not to be
    remembered."""
    if conversation.get("is_do_not_remember") is True:
        return
    begun = moment(conversation.get("create_time"))
    turns: list[Turn] = []
    for message in branch(conversation):
        text, role = _said_to_chatgpt(message), _role(message.get("author"), "role")
        if role is not None and text:
            at = moment(message.get("create_time")) or (turns[-1].at if turns else begun)
            turns.append(Turn(role, text, at, _identity(message.get("id"))))
    name = conversation.get("conversation_id") or conversation.get("id")
    yield from _exchanges(name if isinstance(name, str) else "", conversation.get("title"), turns)


_ROLES: Final[dict[object, Role]] = {"user": "user", "human": "user", "assistant": "assistant"}


def _role(author: object, field: str) -> Role | None:
    name = author.get(field) if isinstance(author, Mapping) else None
    return _ROLES.get(name) if isinstance(name, str) else None


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
    texts = [_part(each) for each in parts] if isinstance(parts, list) else []
    is_reply = _role(message.get("author"), "role") == "assistant"
    return tidy("\n\n".join(filter(None, texts)), MAX_REPLY if is_reply else MAX_MESSAGE)


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


def of_claude(conversation: Object) -> Iterator[Exchange]:
    """Yield the exchanges of a conversation of Claude.ai: of the branch that its newest message ends, where messages
    name the one before them."""
    begun = moment(conversation.get("created_at"))
    messages = conversation.get("chat_messages")
    turns: list[Turn] = []
    said = [each for each in messages if isinstance(each, Mapping)] if isinstance(messages, list) else []
    for message in _newest_branch(said):
        role = _role(message, "sender")
        text = tidy(_said_to_claude(message), MAX_REPLY if role == "assistant" else MAX_MESSAGE)
        if role is not None and text:
            at = moment(message.get("created_at")) or (turns[-1].at if turns else begun)
            turns.append(Turn(role, text, at, _identity(message.get("uuid"))))
    name = conversation.get("uuid")
    yield from _exchanges(name if isinstance(name, str) else "", conversation.get("name"), turns)


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
