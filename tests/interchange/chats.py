"""Exports of ChatGPT and Claude.ai, and a memory folder of Claude Code, made from their documented shapes:
conversations with what surrounds them there."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

Said = tuple[str, str, float]
"""Who ("user" or "assistant"), what, and when, in seconds since 1970."""


def chatgpt(
    conversation: str, title: str, said: Sequence[Said], *, around: Iterable[dict[str, Any]] = (), **fields: Any
) -> dict[str, Any]:
    """A conversation of `conversations.json`: a tree of messages whose first ones are hidden, with an answer that was
    made anew, and the messages `around` it that no person said or saw."""
    nodes: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
    last = "root"

    def add(message: dict[str, Any], parent: str) -> str:
        name = f"{conversation}-{len(nodes)}"
        nodes[name] = {"id": name, "message": {"id": name, **message}, "parent": parent, "children": []}
        nodes[parent]["children"].append(name)
        return name

    for each in (hidden("You are ChatGPT. I live in Atlantis."), *around):
        last = add(each, last)
    for role, text, at in said:
        if role == "assistant":
            add(message("assistant", "An answer that was made anew. I live in Mordor.", at), last)
        last = add(message(role, text, at), last)
    begun = said[0][2] if said else None
    return {
        "title": title, "create_time": begun, "update_time": said[-1][2] if said else None, "mapping": nodes,
        "moderation_results": [], "current_node": last, "plugin_ids": None, "conversation_id": conversation,
        "conversation_template_id": None, "gizmo_id": None, "is_archived": False, "safe_urls": [],
        "default_model_slug": "gpt-4o", "id": conversation, **fields,
    }  # fmt: skip


def message(role: str, text: object, at: float | None, kind: str = "text", **fields: Any) -> dict[str, Any]:
    """A message of ChatGPT."""
    parts = text if isinstance(text, list) else [text]
    return {
        "author": {"role": role, "name": None, "metadata": {}}, "create_time": at, "update_time": None,
        "content": {"content_type": kind, "parts": parts}, "status": "finished_successfully", "end_turn": True,
        "weight": 1.0, "metadata": {}, "recipient": "all", "channel": None, **fields,
    }  # fmt: skip


def hidden(text: str) -> dict[str, Any]:
    return message("system", text, None, metadata={"is_visually_hidden_from_conversation": True})


def claude(conversation: str, name: str, said: Sequence[Said], **fields: Any) -> dict[str, Any]:
    """A conversation of Claude.ai's `conversations.json`."""
    return {
        "uuid": conversation, "name": name, "summary": "", "created_at": iso(said[0][2]) if said else None,
        "updated_at": iso(said[-1][2]) if said else None, "account": {"uuid": "an-account"},
        "chat_messages": [claude_message(f"{conversation}-{at}", *each) for at, each in enumerate(said)], **fields,
    }  # fmt: skip


def claude_message(name: str, role: str, text: str, at: float, **fields: Any) -> dict[str, Any]:
    sender = "human" if role == "user" else role
    part = {"start_timestamp": iso(at), "stop_timestamp": iso(at), "type": "text", "text": text, "citations": []}
    return {
        "uuid": name, "text": text, "content": [part], "sender": sender, "created_at": iso(at), "updated_at": iso(at),
        "attachments": [], "files": [], **fields,
    }  # fmt: skip


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")


def chatgpt_zip(*files: Sequence[dict[str, Any]]) -> bytes:
    """An export as it is downloaded; with several lists of conversations it is split into numbered files."""
    names = ["conversations.json"] if len(files) == 1 else [f"conversations-{at:03}.json" for at in range(len(files))]
    return packed({
        "user.json": b'{"id": "user-1", "email": "ada@example.org"}', "message_feedback.json": b"[]",
        "shared_conversations.json": b'[{"id": "s", "conversation_id": "c1", "title": "t", "is_anonymous": true}]',
        "chat.html": b"<html></html>", "file-1-image.png": b"\x89PNG",
        **{name: msgspec.json.encode(each) for name, each in zip(names, files, strict=True)},
    })  # fmt: skip


def claude_zip(conversations: Sequence[dict[str, Any]], memory: str = "") -> bytes:
    """An export of Claude.ai as it is downloaded."""
    project = {"uuid": "p", "name": "Shop", "prompt_template": "I live in Narnia.", "docs": [{"content": "x"}]}
    return packed({
        "users.json": b'[{"uuid": "an-account", "full_name": "Ada"}]', "projects.json": msgspec.json.encode([project]),
        "conversations.json": msgspec.json.encode(conversations),
        **({"memories.json": msgspec.json.encode([{"conversations_memory": memory, "account_uuid": "an-account"}])}
           if memory else {}),
    })  # fmt: skip


def packed(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


def claude_code_folder(directory: Path, notes: Sequence[tuple[str, str, str]]) -> None:
    """Fill a memory folder of Claude Code: (name, type, text) of each file, and the index that lists them."""
    directory.mkdir(parents=True)
    for name, kind, text in notes:
        head = f"---\nname: {name}\ndescription: {name.replace('-', ' ')}\nmetadata:\n  type: {kind}\n---\n"
        (directory / f"{name}.md").write_text(f"{head}\n{text}\n", encoding="utf-8")
    index = "".join(f"- [{name}]({name}.md)\n" for name, _, _ in notes)
    (directory / "MEMORY.md").write_text(index, encoding="utf-8")
