"""Calls of tools before they are made: how they are read, whatever they are given, and how each host is answered."""

from __future__ import annotations

import json
import time

import pytest

from mnemond.wire.hook_payload import MAX_TOOL_LINE, MAX_TOOL_PATHS, MAX_TOOL_TEXT, ToolUse, read
from mnemond.wire.hooks import Verdict, reply

CLAUDE = {"hook_event_name": "PreToolUse"}
CODEX = {"hook_event_name": "PreToolUse", "turn_id": "1"}
GEMINI = {"hook_event_name": "BeforeTool", "timestamp": "2026-11-22T10:00:00.000Z"}
CURSOR = {"hook_event_name": "preToolUse", "conversation_id": "c"}
COPILOT = {"timestamp": 1763805600000, "cwd": "/a", "toolName": "bash", "toolArgs": '{"command":"ls"}'}
VSCODE = {"hookEventName": "PreToolUse", "timestamp": 1763805600000}
CLINE = {"clineVersion": "3.60.0", "hookName": "PreToolUse"}
DECIDED = {"permissionDecision": "deny", "permissionDecisionReason": "why"}
NAMED = {"hookSpecificOutput": {"hookEventName": "PreToolUse", **DECIDED}}


@pytest.mark.parametrize(
    ("payload", "deny", "ask"),
    [
        (CLAUDE, NAMED, {"hookSpecificOutput": {**NAMED["hookSpecificOutput"], "permissionDecision": "ask"}}),
        (CODEX, NAMED, {}),
        (GEMINI, {"decision": "deny", "reason": "why"}, {}),
        (
            CURSOR,
            {"permission": "deny", "user_message": "why", "agent_message": "why"},
            {"permission": "ask", "user_message": "why", "agent_message": "why"},
        ),
        (COPILOT, DECIDED, {**DECIDED, "permissionDecision": "ask"}),
        (
            VSCODE,
            {**DECIDED, **NAMED},
            {
                **DECIDED,
                "permissionDecision": "ask",
                "hookSpecificOutput": {**NAMED["hookSpecificOutput"], "permissionDecision": "ask"},
            },
        ),
        (CLINE, {"cancel": False, "contextModification": "", "errorMessage": ""}, None),
        ({"hook_event_name": "Stop"}, {}, {}),
    ],
)
def test_a_decision_in_the_words_of_each_host(payload: dict[str, object], deny: object, ask: object) -> None:
    found = read(json.dumps(payload).encode())
    assert found is not None
    assert json.loads(reply(found, Verdict("deny", "why"))) == deny
    assert json.loads(reply(found, Verdict("ask", "why"))) == (deny if ask is None else ask)


def use_of(**fields: object) -> ToolUse:
    """The call in a payload of Claude Code."""
    found = read(json.dumps({**CLAUDE, **fields}).encode())
    assert found is not None
    assert found.event is not None
    assert found.event.tool is not None
    return found.event.tool


def test_what_a_tool_is_given() -> None:
    assert use_of(tool_name="Bash", tool_input={"command": ["git", "push"]}).line == "git push"
    assert use_of(tool_input={"path": "a", "paths": ["b", 3, "c"]}).paths == ("a", "b", "c")
    nested = use_of(tool_input={"edits": [{"new_string": "drop\ntable"}], "n": 3})
    assert "drop table" in nested.text
    assert use_of(tool_input="text") == use_of() == use_of(tool_input=[1]) == ToolUse("")
    assert use_of(tool_input={"command": 5, "paths": 7}).line == ""


def test_a_huge_input_is_read_as_far_as_it_matters() -> None:
    begun = time.process_time()
    use = use_of(tool_name="x" * 999, tool_input={"content": "y\n" * 400_000, "paths": ["p"] * 9_000, "z": "z"})
    assert time.process_time() - begun < 0.5
    assert len(use.text) <= MAX_TOOL_TEXT
    assert len(use.paths) <= MAX_TOOL_PATHS
    assert len(use_of(tool_input={"command": "c" * 200_000}).line) == MAX_TOOL_LINE
