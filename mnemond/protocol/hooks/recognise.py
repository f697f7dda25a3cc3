"""Whose payload it is: by the fields that one host sends and the others do not."""

from __future__ import annotations

import re
from typing import Final

from mnemond.protocol.hooks.events import GEMINI_ONLY
from mnemond.protocol.hooks.fields import Fields
from mnemond.protocol.hooks.heard import HostName

MAX_EVENT = 64
"""Characters of an event's name that are looked at."""

BEGINNING = 16_384
"""Bytes of a message that cannot be read as a whole in which a host has said that it is a hook's."""

_NAMED = ("hook_event_name", "hookEventName")
_CLINE_MARKS = ("clineVersion", "hookName")
_MARK = re.compile(
    rb'"(?:hook_event_name|hookEventName|agent_action_name|clineVersion|hookName|toolArgs|generation_id)"[ \t\r\n]*:'
)
_CLINE_MARK = re.compile(rb'"(?:clineVersion|hookName)"[ \t\r\n]*:')

_BY_FIELD: Final = (
    ("transformedPrompt", "userPromptTransformed"),
    ("toolResult", "postToolUse"),
    ("initialPrompt", "sessionStart"),
    ("source", "sessionStart"),
    ("prompt", "userPromptSubmitted"),
    ("reason", "sessionEnd"),
    ("trigger", "preCompact"),
)
"""What tells the events of Copilot CLI apart where nothing else does, first match first: in its own format a payload
has no name of its event."""


def host_of(fields: Fields) -> tuple[HostName, str] | None:
    """The host and what it calls the event, empty where that is no text; None for what is no hook's payload."""
    if "agent_action_name" in fields:
        return "windsurf", fields.text("agent_action_name", most=MAX_EVENT)
    if any(mark in fields for mark in _CLINE_MARKS):
        return "cline", fields.text("hookName", most=MAX_EVENT)
    if any(name in fields for name in _NAMED):
        event = fields.text(*_NAMED, most=MAX_EVENT)
        return _named(fields, event), event
    unnamed = _unnamed(fields)
    return None if unnamed is None else ("copilot-cli", unnamed)


def begins_like_a_hook(message: bytes) -> HostName | None:
    """Whose a message seems to be of which only the beginning can be looked at; None if it is no hook's. The name
    stands for the shape of its answers alone."""
    head = message[:BEGINNING]
    if not head.startswith(b"{") or b'"jsonrpc"' in head or _MARK.search(head) is None:
        return None
    return "cline" if _CLINE_MARK.search(head) else "claude-code"


def _named(fields: Fields, event: str) -> HostName:
    if "conversation_id" in fields or "cursor_version" in fields or event[:1].islower():
        return "cursor"
    if "turn_id" in fields or _kept_by_codex(fields):
        return "codex"
    if "timestamp" not in fields:
        return "claude-code"
    if "hook_event_name" not in fields:
        return "copilot-cli"  # the agents of VS Code write it in camel case
    # Both say when it was, and Gemini CLI always says where its transcript is. Events of its own are its own anyway.
    shared = event in ("SessionStart", "SessionEnd", "Notification") and "transcript_path" in fields
    return "gemini" if shared or event in GEMINI_ONLY else "copilot-cli"


def _kept_by_codex(fields: Fields) -> bool:
    """Where a session is kept tells whose it is: Codex names the file alike, whatever $CODEX_HOME is, or keeps none and
    says so. It never says when."""
    path = fields.text("transcript_path", most=BEGINNING)
    kept = "/.codex/" in path or path.rpartition("/")[2].startswith("rollout-")
    return kept or (fields.null("transcript_path") and "timestamp" not in fields)


def _unnamed(fields: Fields) -> str | None:
    """The event of a payload in the format of Copilot CLI: milliseconds, a directory, and what the event brings."""
    if fields.number("timestamp") is None or not fields.text("cwd", most=1) or "method" in fields:
        return None
    if "toolName" in fields and "toolResult" not in fields:
        return "postToolUseFailure" if "error" in fields else "preToolUse"
    if "stopReason" in fields:
        return "subagentStop" if "agentName" in fields else "agentStop"
    found = next((event for field, event in _BY_FIELD if field in fields), None)
    if found is None and "agentName" in fields:
        return "subagentStart"
    return found or ("errorOccurred" if "error" in fields else None)
