"""`mnemonctl setup` with the programs themselves: they take what we give them, and give it back."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from mnemonctl.setup.host import Place
from mnemonctl.setup.hosts.claude_code import PLUGIN
from mnemonctl.setup.hosts.codex import EVENTS, Codex
from tests.hosts import programs
from tests.mnemonctl.daemons import fake_daemon
from tests.setup.homes import home_at, run

pytestmark = pytest.mark.hosts

KNOWN = "The team cannot run Redis, so billing uses SQLite"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return home_at(tmp_path)


def with_real(place: Place, name: str) -> str:
    """Put the program on the PATH of the test, or skip."""
    (place.home / "bin" / name).symlink_to(os.path.realpath(programs.program(name)))
    place.environ["PATH"] = f"{place.home / 'bin'}:{programs.path()}"  # type: ignore[index]  # a dict, in these tests
    place.environ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] = "1"  # type: ignore[index]
    return str(place.home / "bin" / name)


def test_claude_code_takes_the_plugin_and_gives_its_settings_back(place: Place) -> None:
    claude = with_real(place, "claude")
    settings = place.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    before = '{\n    "model": "opus",\n    "hooks": {},\n    "permissions": {"allow": ["Bash(ls)"]}\n}'
    settings.write_text(before, "utf-8")
    code, said = run(place, target=["claude-code"])
    assert (code, said["targets"]["claude-code"]["error"]) == (0, None)
    root = str(place.directory / "hosts" / "claude-code")
    checked = subprocess.run(
        [claude, "plugin", "validate", "--strict", "--json", root],
        env=dict(place.environ), capture_output=True, check=False, timeout=120,
    )  # fmt: skip
    assert json.loads(checked.stdout)["success"], checked.stdout
    assert json.loads(settings.read_text("utf-8"))["enabledPlugins"] == {PLUGIN: True}
    assert run(place, target=["claude-code"])[1]["status"] == "unchanged"
    assert run(place, eject=True, target=["claude-code"])[0] == 0
    assert settings.read_text("utf-8") == before


def test_codex_takes_the_server_and_reads_the_hooks(place: Place) -> None:
    with_real(place, "codex")
    config = place.home / ".codex" / "config.toml"
    config.parent.mkdir()
    before = '# mine\nmodel = "x"   # keep\n'
    config.write_text(before, "utf-8")
    code, said = run(place, target=["codex"])
    assert (code, said["targets"]["codex"]["error"]) == (0, None)
    trust = Codex(place).trust()
    assert len(trust) == len(EVENTS)
    assert set(trust.values()) == {"untrusted"}
    assert run(place, target=["codex"])[1]["status"] == "unchanged"
    assert run(place, eject=True, target=["codex"])[0] == 0
    assert config.read_text("utf-8") == before


def test_gemini_cli_reads_our_server(place: Place) -> None:
    gemini = with_real(place, "gemini")
    assert run(place, target=["gemini"])[0] == 0
    listed = subprocess.run(
        [gemini, "mcp", "list"], env=dict(place.environ), cwd=place.home, capture_output=True, check=True, timeout=120
    )
    assert str(place.ours.mcp) in (listed.stdout + listed.stderr).decode()


class Model(BaseHTTPRequestHandler):
    """Answers every question with one word, and keeps what it was asked."""

    asked: list[str]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"])).decode()
        self.asked.append(body)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "m", "type": "message", "role": "assistant", "model": "x", "content": [], "usage": usage}
        for kind, data in (
            ("message_start", {"message": message}),
            ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
            ("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": "fine"}}),
            ("content_block_stop", {"index": 0}),
            ("message_delta", {"delta": {"stop_reason": "end_turn"}, "usage": usage}),
            ("message_stop", {}),
        ):
            self.wfile.write(f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode())

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def model() -> Iterator[tuple[str, list[str]]]:
    """(its address, the bodies of what it was asked)"""
    asked: list[str] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Here", (Model,), {"asked": asked}))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", asked
    server.shutdown()
    thread.join()
    server.server_close()


def answered(message: bytes) -> bytes:
    """What the daemon says to a prompt, and nothing to anything else."""
    event: dict[str, Any] = json.loads(message)
    if event.get("hook_event_name") != "UserPromptSubmit":
        return b""
    said = {"hookEventName": "UserPromptSubmit", "additionalContext": KNOWN}
    return json.dumps({"hookSpecificOutput": said}).encode() + b"\n"


def test_what_the_daemon_says_to_a_prompt_reaches_claude_codes_model(
    place: Place, model: tuple[str, list[str]]
) -> None:
    claude = with_real(place, "claude")
    assert run(place, target=["claude-code"])[0] == 0
    (place.directory / "bin" / "mnemond-mcp").write_text("#!/bin/sh\nexit 1\n", "utf-8")  # hooks alone are tried here
    address, asked = model
    environ = {**place.environ, "ANTHROPIC_BASE_URL": address, "ANTHROPIC_API_KEY": "sk-test"}
    with fake_daemon(place.directory, answered) as daemon:
        done = subprocess.run(
            [claude, "-p", "why no Redis", "--output-format", "stream-json", "--verbose", "--include-hook-events"],
            env=environ, cwd=place.home, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=120,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    events = [json.loads(message)["hook_event_name"] for message in daemon.messages]
    assert {"SessionStart", "UserPromptSubmit", "Stop"} <= set(events)
    assert any(KNOWN in body for body in asked)
    hooks = [each for each in map(json.loads, done.stdout.splitlines()) if each.get("subtype") == "hook_response"]
    assert {each["exit_code"] for each in hooks} == {0}
