"""Starting and stopping: what goes wrong is said at once and in words, what goes right leaves nothing behind."""

from __future__ import annotations

import json
import os
import posix
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import mnemonctl
from benchmarks.daemon_process import DaemonProcess
from mnemonctl import daemon, fast, files, rpc
from mnemond.errors import MnemonError

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 30.0
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


# ------------------------------------------------------------------ starts that fail


@pytest.mark.check_all
def test_a_bad_configuration_is_told_line_by_line(real: Path, capfd: Capture) -> None:
    real.mkdir(mode=0o700)
    (real / "config.toml").write_text("[lifecycle]\nmax_insight = 5\n\n[server]\nmax_connections = 0\n")
    lines = (f'{real}/config.toml:2: unknown key "lifecycle.max_insight"', f"{real}/config.toml:5: server.max_conn")
    assert run(real, "list") == 2
    captured = capfd.readouterr()
    assert captured.out == ""
    shown = captured.err.splitlines()
    assert shown[0] == "mnemonctl: the daemon does not start:"
    assert [told.startswith(f"  {wanted}") for told, wanted in zip(shown[1:3], lines, strict=True)] == [True, True]
    assert shown[3:] == ["  mend these lines; docs/config.md lists every setting"]
    assert mnemonctl.run(["daemon", "start", "--json", "--data-dir", str(real)]) == 2
    error = json.loads(capfd.readouterr().err)["error"]
    assert (error["code"], error["details"]["retryable"]) == ("config", False)


@pytest.mark.check_all
def test_a_restart_that_would_fail_stops_nothing(real: Path, capfd: Capture) -> None:
    before = daemon.start(real, PATIENCE_S)
    (real / "config.toml").write_text("max_insights = 5\n")
    assert run(real, "daemon", "restart") == 2
    err = capfd.readouterr().err
    assert err.startswith("mnemonctl: the daemon would not start again; nothing was stopped:\n  ")
    assert f'{real}/config.toml:1: unknown key "max_insights"' in err
    assert daemon.probe(real) == before
    (real / "config.toml").write_text("")
    assert run(real, "daemon", "restart") == 0


# ------------------------------------------------------------------ the real one


@pytest.fixture
def real(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A data directory whose daemon, if a test starts one, is gone afterwards."""
    for name, value in (("PYTHONPATH", str(ROOT)), ("MNEMON_START_WAIT", str(PATIENCE_S))):
        monkeypatch.setenv(name, value)
        monkeypatch.setitem(posix.environ, os.fsencode(name), os.fsencode(value))
    yield home
    daemon.stop(home)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data directory with a daemon, for tests that leave it running and its stores as they are."""
    with DaemonProcess(tmp_path_factory.mktemp("served")) as running:
        yield running.data_dir


def run(directory: Path, *argv: str) -> int:
    return mnemonctl.run([*argv, "--data-dir", str(directory), "--text"])


def said(capfd: Capture) -> str:
    captured = capfd.readouterr()
    assert captured.err == ""
    return captured.out


def test_a_life(real: Path, capfd: Capture) -> None:
    assert run(real, "daemon", "status") == 69
    assert "no daemon is running" in said(capfd)
    assert run(real, "daemon", "start") == 0
    first = daemon.probe(real)
    assert first is not None
    assert said(capfd) == f"mnemond {fast.VERSION} started (pid {first.pid})\n"
    assert run(real, "daemon", "start") == 0
    assert said(capfd) == f"mnemond {fast.VERSION} runs already (pid {first.pid})\n"
    assert run(real, "daemon", "restart") == 0
    second = daemon.probe(real)
    assert second is not None
    assert second.pid != first.pid
    assert "restarted" in said(capfd)
    assert run(real, "daemon", "status") == 0
    assert f"mnemond {fast.VERSION} runs (pid {second.pid}" in said(capfd)
    assert run(real, "daemon", "stop") == 0
    assert said(capfd) == f"mnemond stopped (pid {second.pid})\n"
    assert files.is_unlocked(real / "lock")
    assert run(real, "daemon", "stop") == 0
    assert said(capfd) == "no daemon was running\n"


def test_the_first_command_starts_it_and_memories_come_back(real: Path, capfd: Capture) -> None:
    assert run(real, "remember", "We chose SQLite because the team lacks Redis experience", "--cat", "decision") == 0
    assert said(capfd).startswith("Remembered ")
    assert run(real, "recall", "why", "SQLite") == 0
    assert "   We chose SQLite because the team lacks Redis experience\n" in said(capfd)
    assert run(real, "list", "-q") == 0
    identifier = said(capfd).strip()
    assert run(real, "get", identifier[:8]) == 0
    assert identifier in said(capfd)
    assert run(real, "forget", identifier[:8]) == 0
    assert said(capfd).startswith(f"Forgot {identifier[:8]}")
    assert run(real, "forget", identifier) == 3
    assert capfd.readouterr().err.startswith("mnemonctl: ")
    assert run(real, "store", "create", "work") == 0
    assert said(capfd) == 'Created store "work"\n'
    assert run(real, "store", "list") == 0
    assert said(capfd) == "* default\n  work\n"
    assert run(real, "status", "--store", "work") == 0
    assert said(capfd).startswith('Store "work"\n')
    assert run(real, "recall", "x", "--limit", "5000") == 2
    assert "limit" in capfd.readouterr().err


def test_a_killed_daemon_is_started_over(real: Path, capfd: Capture) -> None:
    killed = daemon.start(real, PATIENCE_S)
    descriptor = os.pidfd_open(killed.pid)
    os.kill(killed.pid, signal.SIGKILL)
    # Not the lock: the kernel gives it up a moment before the socket, and who connects in between is cut off.
    assert select.select([descriptor], [], [], PATIENCE_S)[0]
    os.close(descriptor)
    assert run(real, "store", "create", "work") == 0
    assert said(capfd) == 'Created store "work"\n'
    running = daemon.probe(real)
    assert running is not None
    assert running.pid != killed.pid


def test_a_newer_client_replaces_the_daemon_once(real: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    first = daemon.start(real, PATIENCE_S)
    monkeypatch.setattr(fast, "VERSION", "999.0.0")
    assert run(real, "store", "list") == 0
    captured = capfd.readouterr()
    assert captured.out == "no stores yet\n"
    assert captured.err.startswith("mnemonctl: replaced mnemond ")
    second = daemon.probe(real)
    assert second is not None
    assert second.pid != first.pid
    assert run(real, "store", "list") == 0
    assert said(capfd) == "no stores yet\n"
    assert daemon.probe(real) == second


def test_an_older_client_never_touches_the_daemon(
    served: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = daemon.probe(served)
    assert first is not None
    monkeypatch.setattr(fast, "VERSION", "0.0.1")
    assert run(served, "store", "list") == 0
    assert said(capfd) == "no stores yet\n"
    assert daemon.probe(served) == first


def test_another_protocol_is_refused_in_words(served: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "PROTOCOL", 2)
    assert run(served, "store", "list") == 2
    assert "mnemonctl daemon restart" in capfd.readouterr().err


@pytest.mark.check_all
def test_clients_at_once_start_one_daemon(real: Path) -> None:
    program_text = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from mnemonctl import main; main()"
    clients = [
        subprocess.Popen(
            [sys.executable, "-c", program_text, "daemon", "start", "--json", "--data-dir", str(real)],
            stdout=subprocess.PIPE,
        )
        for _ in range(6)
    ]
    answers = [json.loads(client.communicate(timeout=60)[0]) for client in clients]
    assert len({answer["pid"] for answer in answers}) == 1
    assert sorted(answer["status"] for answer in answers).count("started") >= 1


def test_a_terminal_gets_text(served: Path) -> None:
    """Through a real pseudo-terminal, as a person would run it."""
    leader, follower = os.openpty()
    program_text = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from mnemonctl import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", program_text, "store", "list", "--data-dir", str(served)],
        stdin=follower, stdout=follower, stderr=follower,
    ) as client:  # fmt: skip
        os.close(follower)
        assert os.read(leader, 1000) == b"no stores yet\r\n"
        assert client.wait(30) == 0
    os.close(leader)


def test_rpc_errors_carry_what_the_daemon_said(served: Path) -> None:
    with pytest.raises(MnemonError) as caught:
        rpc.call(served, "recal", {}, dict, 10)
    assert caught.value.kind.name == "method_not_found"
    assert "recall" in (caught.value.hint or "")


def test_a_stop_waits_for_a_start_that_is_under_way(real: Path) -> None:
    code = f"from mnemonctl import daemon; from pathlib import Path; daemon.start(Path({str(real)!r}), {PATIENCE_S})"
    begun = subprocess.Popen([sys.executable, "-c", code])
    lock = real / "start.lock"
    while not (lock.exists() and not files.is_unlocked(lock)):
        assert begun.poll() is None
        time.sleep(0.001)
    assert daemon.stop(real) is not None
    assert begun.wait(PATIENCE_S) == 0
    assert files.is_unlocked(real / "lock")
    assert daemon.probe(real) is None
