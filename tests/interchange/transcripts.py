"""Small transcripts in the formats of Claude Code 2.1, Codex 0.9x and Gemini CLI 0.2x and 0.4x."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mnemond.interchange.sessions import hash_of_project

SHOP = "/home/ada/shop"
CLAUDE_ID, CODEX_ID, GEMINI_ID = "5f0c2b1e-aaaa", "019a2d7a-41c4-bbbb", "92f625c6-cccc"
KEY = "sk-ant-api03-" + "Zq7" * 31 + "AA"


def lines(*found: object) -> bytes:
    return b"".join(each if isinstance(each, bytes) else json.dumps(each).encode() + b"\n" for each in found)


def claude_line(kind: str, content: object, at: str, **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content, **more.pop("message", {})}
    head = {"parentUuid": None, "isSidechain": False, "userType": "external", "cwd": SHOP, "version": "2.1.50"}
    return {**head, "sessionId": CLAUDE_ID, "type": kind, "message": message, "timestamp": f"2026-10-05T{at}Z", **more}


BASH = {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}


def said(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


CLAUDE = lines(
    {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}, "isSnapshotUpdate": False},
    {"type": "summary", "summary": "Flaky checkout test", "leafUuid": "u"},
    claude_line("user", "<command-name>/model</command-name>\n<command-args></command-args>", "09:00:00.000"),
    claude_line("user", "<local-command-stdout>Set model</local-command-stdout>", "09:00:00.100"),
    claude_line("user", said("Caveat: the messages below"), "09:00:00.200", isMeta=True),
    claude_line("user", "Why is the checkout test flaky?\n<system-reminder>Monday</system-reminder>", "09:00:01"),
    claude_line("assistant", [{"type": "thinking", "thinking": "hm"}], "09:00:02", message={"id": "a1"}),
    claude_line("assistant", said("Let me look."), "09:00:03", message={"id": "a1"}),
    claude_line("assistant", [BASH], "09:00:04", message={"id": "a1"}),
    claude_line("user", [{"type": "tool_result", "tool_use_id": "t", "content": "FAILED"}], "09:00:05"),
    claude_line("user", "Look at every test", "09:00:06", isSidechain=True),
    claude_line("assistant", said("I am a subagent."), "09:00:07", isSidechain=True),
    claude_line("assistant", said("The cause: two workers share port 8443."), "09:00:08", message={"id": "a2"}),
    claude_line("assistant", said("I gave each its own."), "09:00:09", message={"id": "a2"}),
    b'{"type": "assistant", "message": {"content": [{"ty\n',
    claude_line("user", said("[Request interrupted by user]"), "09:00:10"),
    claude_line("user", said(f"Never commit on Fridays. My key is {KEY}"), "09:10:00"),
    claude_line("assistant", said("Understood."), "09:10:05", message={"id": "a3"}),
    claude_line("user", said("This session is being continued from a previous one"), "09:11:00", isCompactSummary=True),
)  # fmt: skip


def codex_line(kind: str, payload: object, at: str) -> dict[str, Any]:
    return {"timestamp": f"2026-10-06T{at}Z", "type": kind, "payload": payload}


def event(kind: str, message: str, at: str) -> dict[str, Any]:
    return codex_line("event_msg", {"type": kind, "message": message}, at)


def item(role: str, kind: str, text: str, at: str) -> dict[str, Any]:
    return codex_line("response_item", {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}, at)


META = codex_line("session_meta", {"id": CODEX_ID, "cwd": SHOP, "source": "cli"}, "10:00:00")
ITEMS = (
    item("user", "input_text", "# AGENTS.md instructions for /home/ada/shop", "10:00:01"),
    item("user", "input_text", "<environment_context><cwd>/home/ada/shop</cwd></environment_context>", "10:00:01"),
    item("user", "input_text", "Which database do we use?", "10:00:02"),
    item("assistant", "output_text", "PostgreSQL 16, and Redis is left to remove.", "10:00:09"),
)  # fmt: skip
CODEX = lines(
    META, *ITEMS[:3],
    event("user_message", "Which database do we use?", "10:00:02"),
    codex_line("turn_context", {"cwd": SHOP, "model": "gpt-5-codex"}, "10:00:02"),
    event("agent_reasoning", "**Looking**", "10:00:03"),
    event("agent_message", "I look into the compose file.", "10:00:04"),
    codex_line("response_item", {"type": "function_call", "name": "shell", "arguments": "{}"}, "10:00:05"),
    ITEMS[3],
    event("agent_message", "PostgreSQL 16, and Redis is left to remove.", "10:00:09"),
    codex_line("event_msg", {"type": "task_complete", "last_agent_message": "PostgreSQL 16"}, "10:00:10"),
)  # fmt: skip
OLDER_CODEX = lines(META, *ITEMS)

GEMINI_HEAD = {
    "sessionId": GEMINI_ID, "projectHash": hash_of_project(SHOP), "startTime": "2026-10-07T11:00:00.000Z",
    "lastUpdated": "2026-10-07T11:05:00.000Z",
}  # fmt: skip
MESSAGES: list[dict[str, object]] = [
    {"id": "1", "timestamp": "2026-10-07T11:00:01.000Z", "type": "user", "content": [{"text": "Where is the log?"}]},
    {"id": "2", "timestamp": "2026-10-07T11:00:02.000Z", "type": "info", "content": "Update available"},
    {"id": "3", "timestamp": "2026-10-07T11:00:05.000Z", "type": "gemini", "content": "In /var/log/shop.",
     "thoughts": [], "toolCalls": [{"id": "t", "name": "glob", "args": {}}], "model": "gemini-3-pro"},
]  # fmt: skip
GEMINI = json.dumps({**GEMINI_HEAD, "messages": MESSAGES}, indent=2).encode()
GEMINI_LINES = lines(
    GEMINI_HEAD, MESSAGES[0], {**MESSAGES[2], "content": ""}, {"$set": {"lastUpdated": "2026-10-07T11:05:00.000Z"}},
    MESSAGES[2],
)  # fmt: skip


def home(path: Path) -> dict[str, str]:
    """Write a home directory with a transcript of each agent; return its environment."""
    gemini = path / ".gemini/tmp/shop"
    made = {
        path / ".claude/projects/-home-ada-shop" / f"{CLAUDE_ID}.jsonl": CLAUDE,
        path / ".claude/projects/-home-ada-shop/agent-1.jsonl": CLAUDE,
        path / ".codex/sessions/2026/10/06" / f"rollout-2026-10-06T10-00-00-{CODEX_ID}.jsonl": CODEX,
        gemini / "chats/session-2026-10-07T11-00-92f625c6.json": GEMINI,
        gemini / "logs.json": b"[]",
        gemini / ".project_root": SHOP.encode(),
    }
    for file, content in made.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return {"HOME": str(path)}
