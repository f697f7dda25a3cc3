"""The members of a payload, read without ever minding their types."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

import msgspec

from mnemond.wire.jsonrpc import MALFORMED, replace_lone_surrogates

_members_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])
_text_fields = msgspec.json.Decoder(str)
_number = msgspec.json.Decoder(float)
_elements = msgspec.json.Decoder(list[msgspec.Raw])


class Fields:
    """What a payload holds by name; later layers go before earlier ones."""

    __slots__ = ("_members",)

    def __init__(self, members: Mapping[str, msgspec.Raw]) -> None:
        self._members = members

    def __contains__(self, name: str) -> bool:
        return name in self._members

    def text(self, *names: str, most: int) -> str:
        """The first of these that is a text with anything in it, cut to `most` characters; else empty."""
        for name in names:
            if (raw := self._members.get(name)) is not None and (found := text_of(raw)):
                return found[:most]
        return ""

    def true(self, *names: str) -> bool:
        """Whether one of these is true."""
        return any(bytes(self._members.get(name, b"")) == b"true" for name in names)

    def false(self, name: str) -> bool:
        """Whether this is false, and not only absent."""
        return bytes(self._members.get(name, b"")) == b"false"

    def null(self, name: str) -> bool:
        """Whether this is said to be nothing, and not only absent."""
        return bytes(self._members.get(name, b"")) == b"null"

    def number(self, name: str) -> float | None:
        """The number of that name."""
        try:
            return _number.decode(self._members.get(name, b""))
        except MALFORMED:
            return None

    def first(self, name: str, most: int) -> str:
        """The first item of a list of texts; empty where there is none."""
        try:
            items = _elements.decode(self._members.get(name, b""))
        except MALFORMED:
            return ""
        return text_of(items[0])[:most] if items else ""

    def with_layer(self, name: str) -> Fields:
        """These, and before them what the object of that name holds."""
        inner = members_of(self._members.get(name, b""))
        return self if inner is None else Fields({**self._members, **inner})


def members_of(raw: bytes | msgspec.Raw) -> dict[str, msgspec.Raw] | None:
    """The members of a JSON object; None for anything else."""
    try:
        return _members_fields.decode(raw)
    except MALFORMED:
        return None


def mended(message: bytes) -> bytes:
    """The same without bytes that are no UTF-8 and without halves of characters."""
    return replace_lone_surrogates(message.decode("utf-8", "replace").encode())


def text_of(raw: msgspec.Raw) -> str:
    """A JSON text; empty for anything else."""
    try:
        return _text_fields.decode(raw)
    except MALFORMED:
        return ""


# What an agent's hook says, under one set of names for all hosts.


HostName: TypeAlias = Literal["claude-code", "codex", "gemini", "cursor", "copilot-cli", "windsurf", "cline"]

MomentName: TypeAlias = Literal[
    "session_start", "prompt", "tool_batch", "tool_failure", "assistant_done", "pre_compact", "post_compact",
    "subagent_start", "subagent_done", "session_end",
]  # fmt: skip

MAX_NAME = 200
"""Characters of a session, turn, source or agent; as many as a conversation may have."""

MAX_PATH = 4096
"""Characters of a directory: PATH_MAX of Linux."""

MAX_TEXT = 32_000
"""Characters of any other text; what is longer is cut. Four times what one memory holds."""

MAX_WRAPPED = 250_000
"""Characters of a prompt with everything that editors and other programs have put around it, such as open files; and of
an answer or a summary, which are cut in the middle where they are kept."""


class HookEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One moment of one session. What the host does not say, or says in another type, is empty.

    `session` and `turn` are the host's own names; `cwd` is absolute; `text` is what the moment is about: the prompt,
    the last message, the summary, the task, the error. `prompt` is the one that a message answers. `source` says how a
    session began or ended, where a prompt is from or what asked for a compaction. `agent` is a subagent. `again`: a
    hook has kept this turn going before.
    """

    moment: MomentName
    session: str
    turn: str = ""
    cwd: str = ""
    text: str = ""
    prompt: str = ""
    source: str = ""
    agent: str = ""
    again: bool = False


class Payload(msgspec.Struct, frozen=True):
    """A hook's payload: whose it is, what the host calls the event, and what was heard, if memory minds it at all."""

    host: HostName
    event: str
    heard: HookEvent | None = None


# Which moment each host means by which event. An event that is not listed asks nothing of memory.


_CLAUDE: Final[Mapping[str, MomentName]] = {
    "SessionStart": "session_start",
    "UserPromptSubmit": "prompt",
    "PostToolBatch": "tool_batch",
    "PostToolUse": "tool_batch",
    "PostToolUseFailure": "tool_failure",
    "Stop": "assistant_done",
    "PreCompact": "pre_compact",
    "PostCompact": "post_compact",
    "SubagentStart": "subagent_start",
    "SubagentStop": "subagent_done",
    "SessionEnd": "session_end",
}

_GEMINI: Final[Mapping[str, MomentName]] = {
    "SessionStart": "session_start",
    "BeforeAgent": "prompt",
    "AfterTool": "tool_batch",
    "AfterAgent": "assistant_done",
    "PreCompress": "pre_compact",
    "SessionEnd": "session_end",
}

_CURSOR: Final[Mapping[str, MomentName]] = {
    **_CLAUDE,  # it runs the hooks of Claude Code's files as well
    "sessionStart": "session_start",
    "beforeSubmitPrompt": "prompt",
    "postToolUse": "tool_batch",
    "postToolUseFailure": "tool_failure",
    "afterAgentResponse": "assistant_done",
    "preCompact": "pre_compact",
    "subagentStart": "subagent_start",
    "subagentStop": "subagent_done",
    "sessionEnd": "session_end",
}

_COPILOT: Final[Mapping[str, MomentName]] = {
    **_CLAUDE,  # where an event is configured by its name in PascalCase
    "sessionStart": "session_start",
    "userPromptSubmitted": "prompt",
    "postToolUse": "tool_batch",
    "postToolUseFailure": "tool_failure",
    "agentStop": "assistant_done",
    "preCompact": "pre_compact",
    "subagentStart": "subagent_start",
    "subagentStop": "subagent_done",
    "sessionEnd": "session_end",
}

_WINDSURF: Final[Mapping[str, MomentName]] = {
    "pre_user_prompt": "prompt",
    "post_write_code": "tool_batch",
    "post_run_command": "tool_batch",
    "post_mcp_tool_use": "tool_batch",
    "post_cascade_response": "assistant_done",
}

_CLINE: Final[Mapping[str, MomentName]] = {
    "TaskStart": "session_start",
    "TaskResume": "session_start",
    "UserPromptSubmit": "prompt",
    "PostToolUse": "tool_batch",
    "TaskComplete": "assistant_done",
    "PreCompact": "pre_compact",
    "TaskCancel": "session_end",
}

MOMENTS: Final[Mapping[HostName, Mapping[str, MomentName]]] = {
    "claude-code": _CLAUDE,
    "codex": _CLAUDE,
    "gemini": _GEMINI,
    "cursor": _CURSOR,
    "copilot-cli": _COPILOT,
    "windsurf": _WINDSURF,
    "cline": _CLINE,
}

GEMINI_ONLY: Final = frozenset((
    "BeforeAgent", "AfterAgent", "BeforeModel", "AfterModel", "BeforeToolSelection", "BeforeTool", "AfterTool",
    "PreCompress",
))  # fmt: skip
"""Events that no other host has by that name."""


# Whose payload it is: by the fields that one host sends and the others do not.


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


# From the bytes of a hook's payload to what was heard.


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
    members = _members_payload(message) if whole else None
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


def _members_payload(message: bytes) -> dict[str, msgspec.Raw] | None:
    try:
        message.decode()
    except UnicodeDecodeError:
        return members_of(mended(message))
    found = members_of(message)
    return members_of(mended(message)) if found is None else found


def _heard(host: HostName, event: str, moment: MomentName, fields: Fields) -> HookEvent:
    fields = _layered(host, event, fields)
    if host == "cline" and moment == "tool_batch" and fields.false("success"):
        moment = "tool_failure"
    loops = fields.number("loop_count")
    return HookEvent(
        moment=moment,
        session=fields.text(*_SESSION, most=MAX_NAME),
        turn=fields.text(*_TURN, most=MAX_NAME),
        cwd=_directory(fields),
        text=_text_payload(moment, fields),
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


def _text_payload(moment: MomentName, fields: Fields) -> str:
    found = fields.text(*_TEXTS[moment], most=MAX_WRAPPED if moment in _WHOLE else MAX_TEXT)
    if moment == "tool_failure" and (tool := fields.text(*_TOOL, most=MAX_NAME)):
        return f"{tool}: {found}"[:MAX_TEXT]
    return found
