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

MNEMONCTL = [sys.executable, "-c", "from mnemonctl.fast import main; main()", "setup"]


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


@pytest.mark.parametrize(("said", "code", "there"), [(b"n\n", 130, False), (b"y\n", 0, True), (b"\n", 130, False)])
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
