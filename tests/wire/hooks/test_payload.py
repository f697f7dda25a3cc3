"""Payloads of every host, and of nobody."""

from __future__ import annotations

import json

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from mnemond.config.hosts import Host, Moment, described
from mnemond.wire.hook_payload import BEGINNING, MAX_NAME, MAX_PATH, MAX_TEXT, MAX_WRAPPED, ToolUse, read
from mnemond.wire.hooks import reply
from tests.tables import each_row
from tests.wire.hooks.recorded import CONTEXT, Recorded, recorded

ALL = recorded()
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
KNOWN = sorted({name for each in ALL for name in each.payload} | {"tool", "loop_count", "success", "taskMetadata"})


def heard_in(**payload: object) -> dict[str, object]:
    """What is heard in a payload of Claude Code."""
    found = read(json.dumps({"hook_event_name": "UserPromptSubmit", **payload}).encode())
    assert found is not None
    assert found.event is not None
    return msgspec.structs.asdict(found.event)


def _filled(use: ToolUse | None) -> dict[str, object] | None:
    """A call without what is not told of it, as the recordings have it."""
    fields = {} if use is None else msgspec.json.decode(msgspec.json.encode(use))
    return {name: value for name, value in fields.items() if value not in ("", [], ())} or None


@each_row("one", ALL)
def test_what_hosts_send(one: Recorded) -> None:
    found = read(one.message)
    assert found is not None
    assert (found.host, found.name) == (one.host, one.event)
    event = None if found.event is None else msgspec.structs.asdict(found.event)
    if event is not None and found.event is not None:
        event["tool"] = _filled(found.event.tool)
    takes_context = {"takes_context": True} if CONTEXT in json.dumps(one.says) else {}
    expected = None if one.heard is None else {"host": one.host, **one.heard, **takes_context}
    assert (event and {name: value for name, value in event.items() if value not in ("", False, None)}) == expected
    assert type(found.host) is Host
    assert event is None or (type(event["host"]), type(event["moment"])) == (Host, Moment)
    assert json.loads(reply(found, CONTEXT)) == one.says


def test_every_host_and_moment_is_recorded_and_means_the_same_to_memory() -> None:
    assert {each.host for each in ALL} == {host.value for host in Host}
    moments = {str(each.heard["moment"]) for each in ALL if each.heard is not None}
    assert moments == {moment.value for moment in Moment}


def test_every_event_that_a_host_is_known_by_is_recorded_or_has_another_name_there() -> None:
    """Those of Claude Code also reach Cursor and Copilot CLI, under the same names."""
    seen = {(each.host, each.event) for each in ALL}
    claude = {event for host, event in seen if host == "claude-code"}
    missing = {
        (host, event)
        for host in Host
        for event in described(host).events
        if (host, event) not in seen and not (event in claude and host in ("codex", "cursor", "copilot-cli"))
    }
    assert missing == {("windsurf", "post_run_command")}


@each_row(
    "message",
    [
        b"{}",
        b'{"a":1}',
        b'{"method":"ping","id":1}',
        b'{"timestamp":1,"cwd":"/x"}',
        b'{"timestamp":1,"cwd":"/x","method":"m","prompt":"p"}',
        b'{"timestamp":"1","cwd":"/x","prompt":"p"}',
        b'{"timestamp":1,"cwd":"","prompt":"p"}',
        b"[1]",
        b"nonsense",
        b'{"hook',
        b'{"jsonrpc":"2.0","x":{"hook_event_name":',
    ],
)
def test_what_is_no_payload(message: bytes) -> None:
    assert read(message) is None


@each_row(
    "transcript", [None, "/srv/agents/sessions/2026/11/22/rollout-2026-11-22T10-00-00-01.jsonl", "/home/ada/.codex/x"]
)
@each_row("event", ["SessionStart", "SessionEnd"])
def test_the_ends_of_a_session_are_codexs_wherever_it_keeps_it(event: str, transcript: str | None) -> None:
    """They have no `turn_id`. $CODEX_HOME may be anywhere, and `--ephemeral` keeps nothing; both were seen."""
    payload = {"session_id": "01", "transcript_path": transcript, "cwd": "/x", "hook_event_name": event}
    found = read(json.dumps(payload).encode())
    assert found is not None
    assert found.host == "codex"


def test_a_transcript_of_claude_code_may_be_called_anything() -> None:
    for path in ("/home/rollout-team/.claude/projects/-x/7f.jsonl", ""):
        found = read(json.dumps({"transcript_path": path, "hook_event_name": "SessionStart"}).encode())
        assert found is not None
        assert found.host == "claude-code"


def test_a_host_that_says_when_it_was_is_not_codex() -> None:
    payload = {"transcript_path": None, "hook_event_name": "SessionStart", "timestamp": "2026-11-22T10:00:00Z"}
    found = read(json.dumps(payload).encode())
    assert found is not None
    assert found.host == "gemini"


@each_row("value", [None, 5, ["Stop"], {"a": 1}, True, ""])
def test_an_event_of_another_type_is_answered_all_the_same(value: object) -> None:
    found = read(json.dumps({"hook_event_name": value}).encode())
    assert found is not None
    assert (found.host, found.name, found.event) == ("claude-code", "", None)
    assert reply(found, CONTEXT) == b"{}"


def test_a_copilot_event_without_any_sign_of_what_it_is() -> None:
    found = read(b'{"sessionId":"s","timestamp":1,"cwd":"/x","agentName":"a","error":"e"}')
    assert found is not None
    assert found.name == "subagentStart"


def test_the_agents_of_vs_code_are_answered_as_copilot_is() -> None:
    """They send the same in other letters, and read what Claude Code reads."""
    payload = {"timestamp": "2026-11-22T10:00:00Z", "cwd": "/x", "sessionId": "s", "transcript_path": "/t"}
    found = read(json.dumps({**payload, "hookEventName": "SessionStart", "source": "new"}).encode())
    assert found is not None
    assert found.event is not None
    assert (found.host, found.event.session, found.event.source) == ("copilot-cli", "s", "new")
    assert json.loads(reply(found, CONTEXT))["hookSpecificOutput"]["additionalContext"] == CONTEXT


def test_fields_of_other_types_are_as_if_absent() -> None:
    heard = heard_in(session_id=5, cwd=["/x"], prompt={"a": 1}, prompt_id=None, stop_hook_active="yes", loop_count="9")
    assert {name for name, value in heard.items() if value not in ("", False, None)} == {
        "host",
        "moment",
        "takes_context",
    }


def test_lengths_are_bounded() -> None:
    heard = heard_in(
        session_id="s" * 5000, prompt_id="p" * 5000, prompt="x" * 300_000, source="y" * 999, agent_id="é" * 999
    )
    assert [len(str(heard[name])) for name in ("session", "turn", "text", "source", "agent")] == [
        MAX_NAME, MAX_NAME, MAX_WRAPPED, MAX_NAME, MAX_NAME,
    ]  # fmt: skip


def test_an_answer_is_heard_to_its_end() -> None:
    found = read(json.dumps({"hook_event_name": "Stop", "last_assistant_message": "x" * 40_000 + "end"}).encode())
    assert found is not None
    assert found.event is not None
    assert found.event.text.endswith("end")


@each_row(
    ("given_", "kept"),
    [
        ({"cwd": "/home/ada"}, "/home/ada"),
        ({"cwd": "relative"}, ""),
        ({"cwd": "/" + "x" * MAX_PATH}, ""),
        ({"workspace_roots": ["/a", "/b"]}, "/a"),
        ({"workspace_roots": []}, ""),
        ({"workspace_roots": [3]}, ""),
        ({"workspace_roots": "no"}, ""),
    ],
)
def test_a_directory_is_absolute_or_nothing(given_: dict[str, object], kept: str) -> None:
    assert heard_in(**given_)["cwd"] == kept


def test_half_a_character_is_no_reason_to_hear_nothing() -> None:
    found = read(rb'{"hook_event_name":"UserPromptSubmit","prompt":"a \ud83d b \udc00 \ud83d\ude00","x":"\ud800"}')
    assert found is not None
    assert found.event is not None
    assert found.event.text == "a � b � 😀"


def test_bytes_that_are_no_text_are_no_reason_either() -> None:
    found = read(b'{"hook_event_name":"UserPromptSubmit","prompt":"caf\xe9"}')
    assert found is not None
    assert found.event is not None
    assert found.event.text == "caf�"


def test_of_a_message_too_long_or_too_deep_the_beginning_says_whose_it_is() -> None:
    for message, host in (
        (b'{"session_id":"s","hook_event_name" : "PostToolUse","tool_response":"' + b"x" * 99, "claude-code"),
        (b'{"clineVersion":"3","postToolUse":{"a":[[[', "cline"),
        (b'{"sessionId":"s","toolArgs":{"a":[[[', "claude-code"),
        (b'{"conversation_id":"c","generation_id":"g","tool_output":"' + b"x" * 99, "claude-code"),
    ):
        found = read(message, whole=False)
        assert found is not None
        assert (found.host, found.name, found.event) == (host, "", None)
    assert read(b'{"a":"' + b"x" * BEGINNING + b'","hook_event_name":"Stop"', whole=False) is None
    assert read(rb'{"content":"\"hook_event_name\": 1', whole=False) is None


@given(st.dictionaries(st.sampled_from(KNOWN) | st.text(max_size=10), ANYTHING, max_size=10))
def test_nothing_makes_it_stumble(payload: dict[str, object]) -> None:
    found = read(json.dumps(payload).encode())
    if found is not None:
        answer = json.loads(reply(found, CONTEXT))
        assert isinstance(answer, dict)
        assert found.event is None or all(
            len(str(value)) <= MAX_TEXT for value in msgspec.structs.asdict(found.event).values()
        )


@given(st.binary(max_size=200), st.booleans())
def test_nor_do_bytes(data: bytes, whole: bool) -> None:
    found = read(b'{"hook_event_name":' + data, whole=whole)
    assert found is None or reply(found, CONTEXT).startswith(b"{")
