"""What cannot be written is named, with what to do, and what is there can be read."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemonctl import files
from tests.tables import each_row

PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 24, 1, 2

pytestmark = pytest.mark.skipif(sys.platform != "linux" and os.geteuid() == 0, reason="root may write anywhere here")


def without_rights_of_root() -> None:
    """In the child: have the modes of files hold for root as well."""
    if os.geteuid() == 0:
        prctl = ctypes.CDLL(None).prctl
        for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            assert prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0


def run(directory: Path, *words: str, program: str = "mnemonctl") -> subprocess.CompletedProcess[str]:
    code = (
        "import mnemonctl; mnemonctl.main()"
        if program == "mnemonctl"
        else "from mnemond.__main__ import main as m; import sys; sys.exit(m())"
    )
    return subprocess.run(
        [sys.executable, "-c", code, *words, "--data-dir", str(directory)], capture_output=True, text=True, timeout=60,
        env={**os.environ, "HOME": str(directory.parent)}, preexec_fn=without_rights_of_root, check=False,
    )  # fmt: skip


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A data directory with a memory, and no daemon."""
    path = tmp_path / "home"
    done = run(path, "remember", "the gate of hall 7 opens at nine")
    assert done.returncode == 0, done.stderr
    assert run(path, "daemon", "stop").returncode == 0
    yield path
    for each in (path, path / "data", path / "data" / "default", path / "log"):
        each.chmod(0o700)
    run(path, "daemon", "stop")


def problems(directory: Path) -> dict[str, dict[str, Any]]:
    checks = json.loads(run(directory, "doctor", "--json").stdout)["checks"]
    return {each["name"]: each["problems"][0] for each in checks if not each["ok"]}


PLACES: list[tuple[str, Callable[[Path], Path]]] = [
    ("the data directory", lambda home: home),
    ("the directory of a store", lambda home: home / "data" / "default"),
    ("a database", lambda home: home / "data" / "default" / "mnemon.db"),
]


@each_row("name, place", PLACES)
def test_what_cannot_be_written_is_read_and_named(name: str, place: Callable[[Path], Path], home: Path) -> None:
    locked = place(home)
    locked.chmod(0o500)
    before = sorted(path for path in home.rglob("*") if locked == home or "default" in str(path))
    for words in (("recall", "gate"), ("--readonly", "list")):
        read = run(home, *words, "--text")
        assert (read.returncode, "opens at nine" in read.stdout) == (0, True), read.stderr
        assert f"{locked} cannot be written" in read.stderr
    refused = run(home, "remember", "another", "--text")
    assert refused.returncode == 5
    assert f"{locked} cannot be written" in refused.stderr
    assert "nothing was written\n  make it writable, then" in refused.stderr
    assert problems(home)["writable"]["where"] == str(locked)
    assert f"chmod u+w {locked}" in problems(home)["writable"]["next"]
    if locked != home:
        run(home, "daemon", "stop")
    assert sorted(path for path in home.rglob("*") if locked == home or "default" in str(path)) == before
    locked.chmod(0o700)


def test_a_daemon_says_what_why_and_what_next(home: Path) -> None:
    home.chmod(0o500)
    for done in (run(home, program="mnemond"), run(home, "daemon", "start", "--text")):
        assert done.returncode == 2
        assert f"{home} cannot be written (mode 0500" in done.stderr
        assert "a daemon needs its lock and its socket there" in done.stderr
        assert f"chmod u+w {home}; until then memories can be read" in done.stderr
    assert run(home, "daemon", "stop", "--text").stdout == "no daemon was running\n"
    home.chmod(0o700)
    wrong = run(home, "--listening", "0", program="mnemond")
    assert (wrong.returncode, "can be written: --listening is for one that cannot" in wrong.stderr) == (2, True)


def test_what_a_killed_daemon_left_in_the_log_is_read(home: Path) -> None:
    assert run(home, "remember", "the lamp of hall 9 is blue").returncode == 0
    os.kill(int((home / "lock").read_text()), signal.SIGKILL)
    while not files.is_unlocked(home / "lock"):
        pass
    home.chmod(0o500)
    assert "the lamp of hall 9" in run(home, "recall", "lamp", "--text").stdout


def test_a_log_or_a_parent_that_cannot_be_written_is_named(home: Path) -> None:
    (home / "log" / "mnemond.log").unlink()
    (home / "log").chmod(0o500)
    refused = run(home, "list", "--text")
    assert refused.returncode == 2
    assert f"cannot write {home}/log/mnemond.log: Permission denied\n  chmod u+w " in refused.stderr
    assert problems(home)["writable"]["where"] == str(home / "log")
    (home / "log").chmod(0o700)
    home.chmod(0o500)
    new = home / "new"
    assert "choose another data directory" in run(new, program="mnemond").stderr
    assert f"cannot be made in {home}" in problems(new)["data_dir"]["what"]
