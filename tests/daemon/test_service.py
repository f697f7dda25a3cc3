"""The real daemon as a service: what its manager hears, signals, sockets that wait for it, and its log."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks.wire import Wire
from tests.service.listening import listening

PATIENCE_S = 30
SECRET = "the launch code is 0000"


@contextmanager
def service(home: Path, *arguments: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A daemon with these variables; asked to stop, and found to have ended well, at the end of the block."""
    home.mkdir(mode=0o700, exist_ok=True)
    kept = {key: value for key, value in os.environ.items() if not key.startswith("MNEMON_")}
    process = subprocess.Popen(
        [sys.executable, "-m", "mnemond", "--data-dir", str(home), *arguments],
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env={**kept, **environment},
    )  # fmt: skip
    try:
        yield process
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE_S) == 0
    finally:
        process.kill()
        process.communicate()


def entries(home: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (home / "log" / "mnemond.log").read_text().splitlines()]


def test_a_life_as_the_service_manager_hears_of_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    told = {"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "400000"}
    with listening(tmp_path / "notify") as manager, service(home, **told) as process:
        assert manager.wait_for("READY")["STATUS"] == "no store open"
        with Wire(home / "sock") as wire:
            wire.call("remember", content=SECRET)
            manager.wait_for("WATCHDOG")
            (home / "config.toml").write_text('[server]\nmax_in_flight = 3\n[vector]\nindex = "exact"\n')
            process.send_signal(signal.SIGHUP)
            assert int(manager.wait_for("RELOADING")["MONOTONIC_USEC"]) > 0
            assert manager.wait_for("READY")["STATUS"] == (
                "1 store open, 1 memory; a restart is needed for: vector.index"
            )
            assert wire.call("hello")["capabilities"]["max_in_flight"] == 3
            (home / "config.toml").write_text("[server]\nmax_in_flight = 0\n")
            process.send_signal(signal.SIGHUP)
            manager.wait_for("RELOADING")
            refused = manager.wait_for("READY")["STATUS"]
            assert f"; the old configuration stays: {home}/config.toml:2: server.max_in_flight" in refused
            assert wire.call("hello")["capabilities"]["max_in_flight"] == 3
            wire.call("daemon.stop")
        assert process.wait(PATIENCE_S) == 0  # a signal behind it would meet a process that is leaving already
        assert manager.wait_for("STOPPING")["STATUS"] == "answering what was received"
    # What a machine that stops now and then adds: a job that became due, a watchdog that waited.
    log = [entry for entry in entries(home) if not re.search("^job$|does not answer", str(entry["event"]))]
    assert [entry["event"] for entry in log] == [
        "ready", "configuration read anew", "configuration refused", "stopped",
    ]  # fmt: skip
    assert (log[1]["applied"], log[1]["needs_restart"]) == (["server.max_in_flight"], ["vector.index"])
    assert SECRET not in json.dumps(log)
    assert stat.S_IMODE((home / "log" / "mnemond.log").stat().st_mode) == 0o600


def test_a_log_level_that_is_read_anew_counts_at_once_and_files_change(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "config.toml").write_text('[log]\nlevel = "error"\nmax_bytes = 4096\nolder_files = 1\n')
    with listening(tmp_path / "notify") as manager, service(home, NOTIFY_SOCKET=str(tmp_path / "notify")) as process:
        manager.wait_for("READY")
        assert (home / "log" / "mnemond.log").read_bytes() == b""
        with (home / "config.toml").open("a") as config:
            config.writelines(
                f"nonsense_{number} = 1\n" for number in range(40)
            )  # a complaint a line, longer than a file may be
        for _ in range(3):
            process.send_signal(signal.SIGHUP)
            manager.wait_for("READY")
        assert sorted(os.listdir(home / "log")) == ["mnemond.log", "mnemond.log.1"]
        (home / "config.toml").write_text("")
        process.send_signal(signal.SIGHUP)
        manager.wait_for("READY")
    assert [entry["event"] for entry in entries(home)][-2:] == ["configuration read anew", "stopped"]


@pytest.mark.skipif(shutil.which("systemd-socket-activate") is None, reason="systemd-socket-activate is not installed")
def test_a_socket_that_was_there_before_the_daemon(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    path = home / "sock"
    program = [sys.executable, "-m", "mnemond", "--data-dir", str(home)]
    activator = subprocess.Popen(
        ["systemd-socket-activate", "--fdname=rpc", "-l", str(path), *program],
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=os.environ | {"PYTHONWARNINGS": "ignore"},
    )  # fmt: skip
    try:
        assert activator.stderr is not None
        assert b"Listening on" in activator.stderr.readline()
        assert not (home / "lock").exists()  # no daemon yet
        with Wire(path) as wire:
            assert wire.call("hello")["pid"] == activator.pid
            wire.call("daemon.stop")
        assert activator.wait(PATIENCE_S) == 0
        assert stat.S_ISSOCK(path.stat().st_mode)  # not ours to remove
        assert [entry["adopted"] for entry in entries(home) if entry["event"] == "ready"] == [True]
    finally:
        activator.kill()
        activator.communicate()


# ------------------------------------------------------------------ signals


def on_terminal(arguments: Sequence[str]) -> tuple[int, int]:
    """(process, terminal) of a program in the foreground of a terminal of its own."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(arguments[0], list(arguments))
    return pid, terminal


def test_a_terminal_that_goes_away_ends_the_daemon_that_ran_in_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    pid, terminal = on_terminal([sys.executable, "-m", "mnemond", "--data-dir", str(home)])
    try:
        shown = b""
        while b'"ready"' not in shown:
            shown += os.read(terminal, 65_536)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.connect(str(home / "sock"))
            client.sendall(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
            assert b'"ok":true' in client.recv(65_536)  # its signals are looked after by now
        os.kill(pid, signal.SIGHUP)  # from somewhere else: the terminal is still there
        while b"configuration read anew" not in shown:
            shown += os.read(terminal, 65_536)
    finally:
        os.close(terminal)
        guard = threading.Timer(PATIENCE_S, os.kill, [pid, signal.SIGKILL])
        guard.start()
        _, status = os.waitpid(pid, 0)
        guard.cancel()
    assert os.waitstatus_to_exitcode(status) == 0
    assert entries(home)[-1]["event"] == "stopped"


def test_the_client_reads_what_the_daemon_wrote(tmp_path: Path) -> None:
    home = tmp_path / "home"
    client = [sys.executable, "-c", "from mnemonctl import main; main()"]

    def run(*words: str) -> str:
        done = subprocess.run([*client, *words, "--data-dir", str(home)], capture_output=True, timeout=60, check=True)
        return done.stdout.decode()

    run("daemon", "start", "--wait", "30")
    run("daemon", "stop")
    log = (home / "log" / "mnemond.log").read_text().splitlines()
    assert [json.loads(line)["event"] for line in log] == ["ready", "stopped"]  # each once, though stderr is the file
    assert [json.loads(line) for line in run("logs").splitlines()] == [json.loads(line) for line in log]
