"""`mnemonctl setup` as it is typed."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from mnemond.errors import INVALID_PARAMS, STORAGE
from tests.interchange import transcripts

MNEMONCTL = [sys.executable, "-c", "from mnemonctl import main; main()", "setup"]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """With Cursor's directory in it."""
    (tmp_path / ".cursor").mkdir()
    return tmp_path


def environ(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "PATH": str(home / "bin"), "TERM": "dumb"}


def test_a_program_gets_json_and_has_to_say_yes(home: Path) -> None:
    asked = subprocess.run(MNEMONCTL, env=environ(home), capture_output=True, check=False, timeout=60)
    assert asked.returncode == INVALID_PARAMS.exit
    assert json.loads(asked.stderr)["error"]["details"]["hint"] == "--dry-run shows what would be changed"
    refused = subprocess.run([*MNEMONCTL, "--yes", "--readonly"], env=environ(home), capture_output=True, check=False)
    assert refused.returncode == STORAGE.exit
    assert not (home / ".mnemon").exists()
    done = subprocess.run(
        [*MNEMONCTL, "--yes", "--global", "--target", "cursor"],
        env=environ(home), capture_output=True, check=True, timeout=60,
    )  # fmt: skip
    assert json.loads(done.stdout)["targets"][0]["state"] == "installed"
    assert str(home / ".mnemon" / "bin" / "mnemond-hook") in (home / ".cursor" / "hooks.json").read_text("utf-8")


@pytest.mark.parametrize(
    ("said", "code", "there"),
    [pytest.param(b"n\n", 130, False, marks=pytest.mark.check_all), (b"y\n", 0, True), (b"\n", 130, False)],
)
def test_a_person_is_shown_the_change_and_asked(home: Path, said: bytes, code: int, there: bool) -> None:
    ours, theirs = pty.openpty()
    running = subprocess.Popen(MNEMONCTL, env=environ(home), stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    while b"[y/N]" not in shown:
        shown += os.read(ours, 65536)
    assert b"+++ " in shown
    os.write(ours, said)
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:
        pass  # how Linux says that the other end is closed
    os.close(ours)
    assert running.wait(60) == code
    assert (home / ".cursor" / "hooks.json").exists() == there


@pytest.mark.check_all
def test_sessions_of_before_are_offered_and_read_on_request(home: Path) -> None:
    transcripts.home(home)
    plain = {**environ(home), "COLUMNS": "100"}
    done = subprocess.run([*MNEMONCTL, "--yes", "--text"], env=plain, capture_output=True, check=True, timeout=120)
    assert b"Claude Code (1 session), Codex (1 session), Gemini CLI (1 session)" in done.stderr
    assert b"mnemonctl setup --import-sessions" in done.stderr
    assert not list((home / ".mnemon").rglob("*.db"))
    line = [*MNEMONCTL, "--yes", "--text", "--import-sessions", "--target", "claude-code", "--target", "codex"]
    try:
        done = subprocess.run(line, env=plain, capture_output=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr
        assert done.stdout.count(b"1 exchange of 1 session") == 1  # Codex
        assert done.stdout.count(b"2 exchanges of 1 session") == 1  # Claude Code
    finally:
        subprocess.run([*MNEMONCTL[:-1], "daemon", "stop"], env=plain, capture_output=True, check=False, timeout=60)
