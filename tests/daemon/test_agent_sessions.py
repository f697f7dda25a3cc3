"""The real daemon in agents' sessions: the payloads that hosts send, over the socket, and what it says to each."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from benchmarks.daemon_process import DaemonProcess
from mnemonctl import doctor
from mnemond.cli.admin import DoctorOptions
from mnemond.cli.grammar import Output
from tests.daemon.test_dialects import by_socket
from tests.wire.hooks.recorded import Recorded, recorded

SQLITE = "Chose SQLite as storage for Apollo because the team lacks Redis experience"
RELEASE = "The release day of Apollo is Tuesday"
FRIDAY = "Never deploy on Friday afternoons"
SILENT = ("assistant_done", "session_end", "post_compact", "pre_compact", "subagent_done", "tool_batch", "tool_failure")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaemonProcess]:
    with DaemonProcess(tmp_path_factory.mktemp("daemon")) as running:
        with running.connect_when_ready() as wire:
            wire.call("remember", content=SQLITE, category="decision", importance=4, tags=["apollo"], no_diff=True)
            wire.call("remember", content=RELEASE, importance=2, no_diff=True)
            wire.call("remember", content=FRIDAY, category="preference", importance=5, no_diff=True)
        yield running


def hook(daemon: DaemonProcess, payload: dict[str, Any]) -> str:
    """The context in the answer to a payload."""
    (answer,) = by_socket(daemon.socket_path, json.dumps(payload).encode())
    return context_of(answer)


def context_of(answer: dict[str, Any]) -> str:
    specific = answer.get("hookSpecificOutput", answer)
    return str(
        specific.get("additionalContext") or specific.get("additional_context") or answer.get("contextModification", "")
    )


def of_host(host: str, moment: str) -> list[Recorded]:
    return [one for one in recorded() if one.host == host and one.heard and one.heard["moment"] == moment]


def claude(event: str, **fields: object) -> dict[str, Any]:
    return {"session_id": "7f3a", "cwd": "/home/ada/apollo", "hook_event_name": event, **fields}


def memories(context: str) -> list[str]:
    return [line.split("> ", 1)[1] for line in context.splitlines() if line.startswith("<ref:")]


def test_a_session_from_its_beginning_to_its_end(daemon: DaemonProcess) -> None:
    brief = hook(daemon, claude("SessionStart", source="startup"))
    assert memories(brief) == [FRIDAY, SQLITE]
    assert len(brief) <= 4_000

    ask = "Please have a look at the plan. On which day do we release Apollo? I have to tell Ben."
    first = hook(daemon, claude("UserPromptSubmit", prompt_id="1", prompt=ask))
    assert memories(first) == [RELEASE]
    assert hook(daemon, claude("UserPromptSubmit", prompt_id="1", prompt=ask)) == ""  # a second hook file
    assert hook(daemon, claude("UserPromptSubmit", prompt_id="2", prompt=ask)) == ""  # shown already
    assert hook(daemon, claude("UserPromptSubmit", prompt_id="3", prompt="Write a haiku about the sea")) == ""

    said = f"On Tuesday.\n{first}\nBen likes tea."
    (answer,) = by_socket(
        daemon.socket_path, json.dumps(claude("Stop", prompt_id="3", last_assistant_message=said)).encode()
    )
    assert answer == {}
    assert ("Write a haiku about the sea", "On Tuesday.\n\nBen likes tea.") in queued(daemon)

    assert hook(daemon, claude("PostCompact", trigger="auto", compact_summary="We plan the release day.")) == ""
    again = hook(daemon, claude("SessionStart", source="compact"))
    assert RELEASE in memories(again)
    assert hook(daemon, claude("SessionEnd", reason="other")) == ""


def queued(daemon: DaemonProcess) -> list[tuple[str, str]]:
    path = daemon.data_dir / "data" / "default" / "mnemon.db"
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.execute("SELECT prompt, reply FROM exchanges ORDER BY number"))


@pytest.mark.parametrize("host", ["claude-code", "codex", "gemini", "cursor", "copilot-cli", "cline"])
def test_every_host_is_told_how_a_session_begins(host: str, daemon: DaemonProcess) -> None:
    one = of_host(host, "session_start")[0]
    assert one.heard is not None
    own = json.dumps(one.payload).replace(one.heard["session"], f"begins-{host}")  # another host's would be the same
    assert memories(hook(daemon, json.loads(own)))[:2] == [FRIDAY, SQLITE]


@pytest.mark.parametrize(
    "one", [one for one in recorded() if one.heard and one.heard["moment"] in SILENT],
    ids=lambda one: f"{one.host}-{one.event}",
)  # fmt: skip
def test_at_other_moments_nothing_is_said(one: Recorded, daemon: DaemonProcess) -> None:
    assert hook(daemon, dict(one.payload)) == ""


def test_a_huge_prompt_is_answered_in_time(daemon: DaemonProcess) -> None:
    begun = time.perf_counter()
    hook(daemon, claude("UserPromptSubmit", prompt_id="huge", prompt="On which day do we release Apollo? " * 25_000))
    assert time.perf_counter() - begun < 5.0


def test_who_has_called_is_told(daemon: DaemonProcess, tmp_path: Path) -> None:
    hook(daemon, claude("SessionStart", source="startup", session_id="seen"))
    with daemon.connect_when_ready() as wire:
        seen = wire.call("status")["hosts"]["claude-code"]
        assert seen["events"] >= 1
        assert wire.call("hello")["hosts"]["claude-code"] == seen
        shown = wire.call("cli.run", argv=["status"], tty=True)["stdout"]
        assert f"claude-code {seen['events']} event" in " ".join(shown.split())
    (tmp_path / ".claude").mkdir()
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    printed = json.loads(doctor.run(daemon.data_dir, DoctorOptions(), Output("json"), environ).stdout)
    hosts = {each["host"]: each["last_seen"] for each in printed["hosts"]}
    assert hosts["claude-code"] == seen["last_event_at"]
