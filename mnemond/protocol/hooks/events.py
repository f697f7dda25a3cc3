"""Which moment each host means by which event. An event that is not listed asks nothing of memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mnemond.protocol.hooks.heard import HostName, MomentName

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
