"""What a hook prints."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from mnemond.config.hosts import Host, described
from mnemond.wire.hook_payload import Payload
from mnemond.wire.hooks import MAX_CONTEXT, Opening, bounded, reply, units
from tests.tables import each_row

ENDINGS = {"assistant_done", "subagent_done", "pre_compact", "post_compact", "session_end"}
CODEX_KEYS = {"continue", "stopReason", "suppressOutput", "systemMessage", "hookSpecificOutput"}
"""What Codex allows besides a decision, in schemas that refuse everything else."""


def said(payload: Payload, context: str) -> dict[str, object]:
    line = reply(payload, context)
    assert b"\n" not in line
    answer = json.loads(line)
    assert isinstance(answer, dict)
    return answer


@each_row(
    ("host", "event"),
    [(host, event) for host in Host for event, moment in described(host).events.items() if moment in ENDINGS],
)
def test_nothing_is_ever_said_at_the_end_of_anything(host: Host, event: str) -> None:
    answer = said(Payload(host, event), "anything")
    assert answer == ({"cancel": False, "contextModification": "", "errorMessage": ""} if host == "cline" else {})


def test_codex_gets_no_key_that_it_does_not_know() -> None:
    for event in described(Host.CODEX).context:
        answer = said(Payload(Host.CODEX, event), "c")
        assert set(answer) <= CODEX_KEYS
        assert answer["hookSpecificOutput"] == {"hookEventName": event, "additionalContext": "c"}


@each_row("host", list(Host))
def test_a_person_is_shown_a_line_where_the_host_has_a_place_for_it(host: Host) -> None:
    (event,) = [name for name in described(host).events if name in ("SessionStart", "TaskStart")] or [""]
    opening = Opening("the brief", "mnemond: 2 memories")
    line = json.loads(reply(Payload(host, event), opening))
    shows = host in (Host.CLAUDE_CODE, Host.CODEX, Host.GEMINI)
    assert line.pop("systemMessage", "") == ("mnemond: 2 memories" if shows else "")
    assert line == said(Payload(host, event), "the brief")
    assert "systemMessage" not in json.loads(reply(Payload(host, "Stop"), opening))


def test_no_context_is_no_context() -> None:
    for host in Host:
        for event in described(host).context:
            payload = Payload(host, event)
            assert json.dumps("c") in json.dumps(said(payload, "c"))
            assert "" in said(payload, "").values() if host == "cline" else said(payload, "") == {}


@each_row("letter", ["x", "é", "😀"])
def test_a_context_stays_below_what_hosts_show(letter: str) -> None:
    answer = said(Payload(Host.CLAUDE_CODE, "SessionStart"), letter * 20_000)
    shown = answer["hookSpecificOutput"]
    assert isinstance(shown, dict)
    length = len(shown["additionalContext"].encode("utf-16-le")) // 2
    assert MAX_CONTEXT - 2 <= length <= MAX_CONTEXT


def test_a_fence_that_is_cut_is_closed() -> None:
    text = "<recalled-data 00>\n" + "a line of memory\n" * 2000 + "</recalled-data 00>\n"
    cut = bounded(text)
    assert units(cut) <= MAX_CONTEXT
    assert cut.endswith("a line of memory\n…\n</recalled-data 00>\n")
    assert bounded("short\n") == "short\n"


def test_what_utf8_cannot_hold_is_escaped() -> None:
    assert said(Payload(Host.CLINE, "TaskStart"), "a\ud800")["contextModification"] == "a\\ud800"


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=300), st.integers(210, 400))
def test_cutting_keeps_the_bound_and_the_beginning(text: str, most: int) -> None:
    cut = bounded(text, most)
    assert units(cut) <= most
    assert cut == text or "…" in cut
    assert units(cut) == len(cut.encode("utf-16-le")) // 2
