"""Calls of tools before they are made: how they are read, whatever they are given, and how each host is answered."""

from __future__ import annotations

import json

from mnemond.config.hosts import Host
from mnemond.wire.hook_payload import BEGINNING, MAX_TOOL_LINE, MAX_TOOL_PATHS, MAX_TOOL_TEXT, ToolUse, read
from mnemond.wire.hooks import Verdict, reply
from tests.tables import each_row
from tests.timing import cpu_s

CLAUDE = {"hook_event_name": "PreToolUse"}
CODEX = {"hook_event_name": "PreToolUse", "turn_id": "1"}
GEMINI = {"hook_event_name": "BeforeTool", "timestamp": "2026-11-22T10:00:00.000Z"}
CURSOR = {"hook_event_name": "preToolUse", "conversation_id": "c"}
COPILOT = {"timestamp": 1763805600000, "cwd": "/a", "toolName": "bash", "toolArgs": '{"command":"ls"}'}
VSCODE = {"hookEventName": "PreToolUse", "timestamp": 1763805600000}
CLINE = {"clineVersion": "3.60.0", "hookName": "PreToolUse"}
DECIDED = {"permissionDecision": "deny", "permissionDecisionReason": "why"}
NAMED = {"hookSpecificOutput": {"hookEventName": "PreToolUse", **DECIDED}}


@each_row(
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
    assert use_of(tool_name="x") == use_of(tool_name="x", tool_input=None) == ToolUse("x")
    assert use_of(tool_name="x", tool_input="text") == ToolUse("x", line="text", text="text")
    assert use_of(tool_name="x", tool_input=[1]).unread == {"command", "path", "words"}
    assert use_of().unread == {"tool"}
    assert use_of(tool_input={"command": 5, "paths": 7}).line == ""


def test_a_huge_input_is_read_as_far_as_it_matters() -> None:
    huge = {"content": "y\n" * 400_000, "paths": ["p"] * 9_000, "z": "z"}
    assert cpu_s(lambda: use_of(tool_name="x" * 999, tool_input=huge)) < 2.0
    use = use_of(tool_name="x" * 999, tool_input=huge)
    assert len(use.text) <= MAX_TOOL_TEXT
    assert len(use.paths) <= MAX_TOOL_PATHS
    assert use.unread == {"words", "path"}
    long = use_of(tool_name="Bash", tool_input={"command": "c" * 200_000})
    assert len(long.line) == MAX_TOOL_LINE
    assert long.unread == {"command", "words"}
    assert use_of(tool_name="Edit", tool_input={"path": "a/" * 3_000}).unread == {"path"}
    assert use_of(tool_name="x", tool_input={"a": "x" * MAX_TOOL_TEXT, "b": ""}).unread == {"words"}
    assert use_of(tool_name="x", tool_input={"a": "x" * MAX_TOOL_TEXT}).unread == set()


WHOLE = {"session_id": "s", "cwd": "/a", "tool_name": "Bash"}
ALL = {"command", "path", "words"}


@each_row(
    ("payload", "host", "unread"),
    [
        ({**WHOLE, **CLAUDE, "tool_input": {"command": ":;" * 999_999}}, Host.CLAUDE_CODE, ALL),
        ({**WHOLE, **CLAUDE, "tool_input": {"command": '\\"{[' * 99_999}}, Host.CLAUDE_CODE, ALL),
        ({**WHOLE, **CODEX, "tool_input": {"command": "x" * BEGINNING}}, Host.CODEX, ALL),
        ({**WHOLE, **GEMINI, "tool_input": {"command": "x" * BEGINNING}}, Host.GEMINI, ALL),
        ({**COPILOT, "toolArgs": "x" * BEGINNING}, Host.COPILOT_CLI, ALL),
        ({**CLAUDE, "session_id": "s", "tool_input": "x" * BEGINNING, "tool_name": "Bash"}, Host.CLAUDE_CODE, None),
        ({**WHOLE, **CLAUDE, "tool_input": {"command": "ls"}, "more": "x" * BEGINNING}, Host.CLAUDE_CODE, set()),
    ],
)
def test_a_call_that_is_too_long_is_known_by_its_beginning(
    payload: dict[str, object], host: Host, unread: set[str] | None
) -> None:
    message = json.dumps(payload).encode()
    for sent, whole in ((message[:BEGINNING], True), (message[:BEGINNING], False), (message, False)):
        found = read(sent, whole=whole)
        assert found is not None
        assert found.event is not None
        assert found.event.tool is not None
        assert found.host is host
        assert set(found.event.tool.unread) == ({"tool", *ALL} if unread is None else unread)
        assert found.event.tool.name.casefold() == ("" if unread is None else "bash")


def test_a_call_that_is_too_deep_is_known_by_what_is_before() -> None:
    deep = b'{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":' + b"[" * 5_000 + b"]" * 5_000 + b"}"
    found = read(deep, whole=False)
    assert found is not None
    assert found.event is not None
    assert found.event.tool == ToolUse("Bash", unread=frozenset(("command", "path", "words")))


@each_row("name", ["PostToolUse", "UserPromptSubmit", "Stop"])
def test_of_other_moments_that_are_too_long_nothing_is_read(name: str) -> None:
    found = read(json.dumps({"hook_event_name": name, "x": "y" * BEGINNING}).encode()[:BEGINNING])
    assert found is not None
    assert found.event is None
