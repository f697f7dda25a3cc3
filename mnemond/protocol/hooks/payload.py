"""From the bytes of a hook's payload to what was heard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from mnemond.protocol.hooks.events import MOMENTS
from mnemond.protocol.hooks.fields import Fields, members_of, mended
from mnemond.protocol.hooks.heard import MAX_NAME, MAX_PATH, MAX_TEXT, MAX_WRAPPED, Heard, HostName, MomentName, Payload
from mnemond.protocol.hooks.recognise import begins_like_a_hook, host_of

_SESSION: Final = ("conversation_id", "session_id", "sessionId", "trajectory_id", "taskId")
_TURN: Final = ("prompt_id", "turn_id", "generation_id", "execution_id")
_AGENT: Final = (
    "agent_id", "agentId", "subagent_id", "agent_type", "subagent_type", "agentType", "agentName", "agent_name",
)  # fmt: skip
_SOURCE: Final = ("source", "reason", "trigger")
_TOOL: Final = ("tool_name", "toolName", "tool")

_TEXTS: Final[Mapping[MomentName, tuple[str, ...]]] = {
    "session_start": ("initial_prompt", "initialPrompt", "initialTask"),
    "prompt": ("prompt", "user_prompt"),
    "tool_batch": (),
    "tool_failure": ("error", "error_message", "result"),
    "assistant_done": ("last_assistant_message", "prompt_response", "text", "response", "result"),
    "pre_compact": ("custom_instructions", "customInstructions"),
    "post_compact": ("compact_summary",),
    "subagent_start": ("task", "prompt", "agent_description", "agentDescription"),
    "subagent_done": ("last_assistant_message", "response", "summary"),
    "session_end": (),
}
"""Where hosts say what a moment is about."""

_WHOLE: Final = ("prompt", "session_start", "subagent_start", "assistant_done", "post_compact")
"""Moments whose text may stand behind what other programs have put before it, or is kept with its end."""

_STARTS: Final = {"TaskStart": "startup", "TaskResume": "resume"}
"""How a session began, where the event's name says so."""


def read(message: bytes, *, whole: bool = True) -> Payload | None:
    """The payload in a message that is no JSON-RPC, or None if it is no hook's.

    Without `whole` it is too long or too deep to be decoded, and only its beginning is looked at, as it is of a broken
    one: nothing is heard then, but the host gets its answer. Never raises.
    """
    members = _members(message) if whole else None
    if members is None:
        broken = begins_like_a_hook(message)
        return None if broken is None else Payload(broken, "")
    fields = Fields(members)
    found = host_of(fields)
    if found is None:
        return None
    host, event = found
    moment = MOMENTS[host].get(event)
    return Payload(host, event, None if moment is None else _heard(host, event, moment, fields))


def _members(message: bytes) -> dict[str, msgspec.Raw] | None:
    try:
        message.decode()
    except UnicodeDecodeError:
        return members_of(mended(message))
    found = members_of(message)
    return members_of(mended(message)) if found is None else found


def _heard(host: HostName, event: str, moment: MomentName, fields: Fields) -> Heard:
    fields = _layered(host, event, fields)
    if host == "cline" and moment == "tool_batch" and fields.false("success"):
        moment = "tool_failure"
    loops = fields.number("loop_count")
    return Heard(
        moment=moment,
        session=fields.text(*_SESSION, most=MAX_NAME),
        turn=fields.text(*_TURN, most=MAX_NAME),
        cwd=_directory(fields),
        text=_text(moment, fields),
        prompt="" if moment != "assistant_done" else fields.text("prompt", most=MAX_WRAPPED),
        source=fields.text(*_SOURCE, most=MAX_NAME) or _STARTS.get(event, ""),
        agent=fields.text(*_AGENT, most=MAX_NAME),
        again=fields.true("stop_hook_active", "stopHookActive") or (loops is not None and loops > 0),
    )


def _layered(host: HostName, event: str, fields: Fields) -> Fields:
    """With what some hosts put one level deeper."""
    if host == "windsurf":
        return fields.with_layer("tool_info")
    if host == "cline":
        return fields.with_layer(event[:1].lower() + event[1:]).with_layer("taskMetadata")
    return fields


def _directory(fields: Fields) -> str:
    found = fields.text("cwd", most=MAX_PATH + 1) or next(
        filter(None, (fields.first(name, MAX_PATH + 1) for name in ("workspace_roots", "workspaceRoots"))), ""
    )
    return found if found.startswith("/") and len(found) <= MAX_PATH else ""


def _text(moment: MomentName, fields: Fields) -> str:
    found = fields.text(*_TEXTS[moment], most=MAX_WRAPPED if moment in _WHOLE else MAX_TEXT)
    if moment == "tool_failure" and (tool := fields.text(*_TOOL, most=MAX_NAME)):
        return f"{tool}: {found}"[:MAX_TEXT]
    return found
