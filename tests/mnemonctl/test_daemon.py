"""Starting and stopping: what goes wrong is said at once and in words, what goes right leaves nothing behind."""

from __future__ import annotations

import fcntl
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
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.daemon_process import DaemonProcess
from mnemonctl import daemon, fast, files, refusal, rpc
from mnemond.commands.output import Output
from mnemond.errors import (
    BUSY,
    CONFIG,
    DATA_DIR,
    INTERNAL,
    LOCKED,
    STORAGE,
    UNAVAILABLE,
    UNREACHABLE,
    UNSUPPORTED,
    Kind,
    MnemonError,
)
from tests.commands.test_terminal import unsafe_left
from tests.mnemonctl.daemons import fake_daemon

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 30.0
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def program(monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    """Let something else stand in for the daemon."""
    monkeypatch.setattr(daemon, "command", lambda directory: [sys.executable, "-IS", "-c", source, str(directory)])


def failure(directory: Path, wait: float = PATIENCE_S) -> MnemonError:
    with pytest.raises(MnemonError) as caught:
        daemon.start(directory, wait)
    return caught.value


# ------------------------------------------------------------------ starts that fail


def test_a_daemon_that_leaves_is_reported_at_once(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(
        monkeypatch, "import sys; sys.stderr.write('first\\nmnemond: bad \\x1b[2J config\\n  a hint\\n'); sys.exit(2)"
    )
    began = time.monotonic()
    error = failure(home)
    assert time.monotonic() - began < PATIENCE_S / 2
    assert error.message == "the daemon does not start:\n  bad \\x1b[2J config"
    assert error.hint == "a hint"
    assert error.kind.exit == 2


@pytest.mark.parametrize(
    ("status", "sentence", "kind"),
    [
        (2, "{home}/config.toml:3: unknown key", CONFIG),
        (2, "others may write to the data directory {home}", DATA_DIR),
        (2, "SQLite 3.1 is too old", UNSUPPORTED),
        (5, "the disk is full", STORAGE),
        (6, "no model", UNAVAILABLE),
        (75, "another daemon serves {home}", LOCKED),
        (1, "Traceback", UNREACHABLE),
        (3, "whatever", UNREACHABLE),
    ],
)
def test_the_status_of_the_daemon_is_that_of_the_client(home: Path, status: int, sentence: str, kind: Kind) -> None:
    told = f'{{"event":"ready"}}\nmnemond: {sentence.format(home=home)}\n  do this\n'
    error = refusal.of("it does not start:", told, status, home, "Its log.")
    assert error.kind is kind
    assert error.hint == "do this"
    assert error.message.startswith("it does not start:\n  ")
    assert sentence.format(home=home) in error.message


def test_each_complaint_has_a_line_of_its_own(home: Path) -> None:
    path = home / "config.toml"
    complaints = [f'{path}:{number}: unknown key "a;b{number}"; did you mean "c"?' for number in range(1, 13)]
    error = refusal.of("it does not start:", f"mnemond: {'; '.join(complaints)}\n", 2, home, "Its log.")
    shown = error.message.splitlines()
    assert shown[:2] == ["it does not start:", f"  {complaints[0]}"]
    assert shown[10:] == [f"  {complaints[9]}", "  … and 2 more"]
    assert error.hint == "Its log."


@given(st.text(), st.integers(-20, 255))
def test_whatever_a_daemon_says_is_harmless(said: str, status: int) -> None:
    for words in (said, f"mnemond: {said}"):
        error = refusal.of("it does not start:", words, status, Path("/d"), "Its log.")
        assert unsafe_left(error.message + (error.hint or "")) == []
        assert len(error.message) < 30_000


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
    assert fast.run(["daemon", "start", "--json", "--data-dir", str(real)]) == 2
    error = json.loads(capfd.readouterr().err)["error"]
    assert (error["code"], error["details"]["retryable"]) == ("config", False)


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


def test_a_check_that_does_not_end_stops_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(monkeypatch, "import time; time.sleep(60)")
    monkeypatch.setattr(daemon, "CHECK_S", 0.3)
    with pytest.raises(MnemonError, match=r"within 0\.3 s; nothing was stopped"):
        daemon.check(home)


def test_words_of_an_earlier_life_are_not_repeated(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(monkeypatch, "import sys; sys.exit('the first reason')")
    assert "the first reason" in failure(home).message
    program(monkeypatch, "raise SystemExit(3)")
    assert failure(home).message.endswith("left with exit status 3")


def test_a_daemon_that_never_answers_is_reported_with_pid_log_and_last_line(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(monkeypatch, "import os, sys, time; sys.stderr.write(f'{os.getpid()} loads\\n'); time.sleep(60)")
    pid = 0
    try:
        error = failure(home, wait=1.0)
        pid = int(error.message.split("pid ")[1].split(")")[0])
        assert f"(pid {pid}) did not answer within 1 s; its last words: {pid} loads" in error.message
    finally:
        if pid:
            os.kill(pid, 9)


def test_a_lock_without_a_socket_is_explained(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(monkeypatch, "raise SystemExit(75)")
    error = failure(home, wait=0.5)
    assert "another mnemond holds" in error.message
    assert error.kind is LOCKED


def test_files_of_a_start_are_private(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(monkeypatch, "raise SystemExit(3)")
    failure(home)
    modes = {str(path.relative_to(home)): oct(path.stat().st_mode & 0o777) for path in home.rglob("*")}
    assert modes == {"start.lock": "0o600", "log": "0o700", "log/mnemond.log": "0o600"}
    assert home.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("link", ["start.lock", "log", "log/mnemond.log"])
def test_symbolic_links_are_not_followed(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, link: str
) -> None:
    program(monkeypatch, "raise SystemExit(3)")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    home.mkdir(mode=0o700)
    (home / link).parent.mkdir(mode=0o700, exist_ok=True)
    (home / link).symlink_to(elsewhere if link == "log" else elsewhere / "file")
    assert failure(home).kind is DATA_DIR
    assert list(elsewhere.iterdir()) == []


def test_a_directory_others_may_write_to_is_refused(home: Path) -> None:
    home.mkdir()
    home.chmod(0o777)
    assert failure(home).kind is DATA_DIR
    assert list(home.iterdir()) == []


def test_two_clients_do_not_start_it_together(home: Path) -> None:
    files.make_private(home)
    with files.private_file(home / "start.lock") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(MnemonError) as caught, daemon.starting(home, 0.05):
            pytest.fail("two held the lock")
    assert caught.value.kind is BUSY


def test_the_child_inherits_nothing_but_the_log(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(
        monkeypatch,
        "import posix, sys\n"
        "fds = [fd for fd in map(int, posix.listdir('/proc/self/fd')) if fd > 2]\n"
        "open_ = []\n"
        "for fd in fds:\n"
        "    try: open_.append(posix.readlink(f'/proc/self/fd/{fd}'))\n"
        "    except OSError: pass\n"
        "null = posix.readlink('/proc/self/fd/0')\n"
        "own = posix.getsid(0) == posix.getpid()\n"
        "told = b'NOTIFY_SOCKET' in posix.environ\n"
        "sys.exit(f'{open_} {null} {own} {posix.getcwd()} {told}')",
    )
    monkeypatch.setenv("NOTIFY_SOCKET", "/nobody/listens")
    leaked = os.open(os.devnull, os.O_RDONLY)
    os.set_inheritable(leaked, True)
    try:
        assert failure(home).message.endswith("its last words: [] /dev/null True / False")
    finally:
        os.close(leaked)


def test_run_says_why_it_cannot(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon, "command", lambda _: ["/nowhere/python"])
    error = daemon.run(home)
    assert error.kind is INTERNAL
    assert "cannot run /nowhere/python" in error.message


@pytest.mark.parametrize(("value", "seconds"), [("", 2.0), ("x", 2.0), ("7.5", 7.5), ("0", 2.0), ("nan", 2.0)])
def test_how_long_to_wait(value: str, seconds: float) -> None:
    assert daemon.start_wait({"MNEMON_START_WAIT": value}) == seconds
    assert daemon.start_wait({}) == 2.0


# ------------------------------------------------------------------ daemons that misbehave


def test_a_greeting_nobody_understands(tmp_path: Path) -> None:
    reply = b'{"jsonrpc":"2.0","id":1,"result":{"pid":"x"}}\n'
    with fake_daemon(tmp_path, lambda _: reply), pytest.raises(MnemonError) as caught:
        daemon.probe(tmp_path)
    assert "does not understand" in caught.value.message


def test_a_daemon_that_stays_silent_is_not_taken_for_none(tmp_path: Path) -> None:
    with fake_daemon(tmp_path, lambda _: None), pytest.raises(MnemonError) as caught:
        daemon.probe(tmp_path, 0.05)
    assert caught.value.kind is UNREACHABLE


def test_a_daemon_that_does_not_leave_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon, "STOP_S", 0.1)
    reply = b'{"jsonrpc":"2.0","id":1,"result":{"stopping":true,"pid":4711}}\n'
    with files.private_file(tmp_path / "lock") as held, fake_daemon(tmp_path, lambda _: reply):
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(MnemonError) as caught:
            daemon.stop(tmp_path)
    assert "(pid 4711) was asked to stop but is still there after 0.1 s" in caught.value.message
    assert "kill 4711" in (caught.value.hint or "")


def test_a_held_lock_without_a_socket_is_not_taken_for_a_stopped_daemon(tmp_path: Path) -> None:
    with files.private_file(tmp_path / "lock") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(MnemonError):
            daemon.stop(tmp_path)
    assert daemon.stop(tmp_path) is None


def test_status_of_a_daemon_without_stores(tmp_path: Path) -> None:
    def answer(message: bytes) -> bytes:
        method = json.loads(message)["method"]
        result = {"hello": {"pid": 7, "version": "1.2.3", "protocol": 1},
                  "store.list": {"stores": [], "active": "default", "source": "default"}}[method]  # fmt: skip
        return json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode() + b"\n"

    with fake_daemon(tmp_path, answer) as served:
        shown = daemon.status(tmp_path, Output("text"))
    assert shown.stdout == f"mnemond 1.2.3 runs (pid 7)\n  socket  {tmp_path / 'sock'}\n  stores  0 stores\n"
    assert len(served.messages) == 2  # asking for the status of a store would have created it


def test_a_daemon_that_stops_answering_while_it_is_asked(tmp_path: Path) -> None:
    def answer(message: bytes) -> bytes:
        greets = json.loads(message)["method"] == "hello"
        return b'{"result":{"pid":7,"version":"1.2.3","protocol":1}}\n' if greets else b""

    with fake_daemon(tmp_path, answer):
        for act in (lambda: daemon.stop(tmp_path), lambda: daemon.status(tmp_path, Output("json"))):
            with pytest.raises(MnemonError) as caught:
                act()
            assert caught.value.kind is UNREACHABLE


def test_a_daemon_that_is_leaving_is_waited_for(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files.make_private(home)
    looks = iter([False, False, False, True])
    monkeypatch.setattr(files, "is_unlocked", lambda _: next(looks))
    monkeypatch.setattr(daemon, "POLL_S", 0.0)
    monkeypatch.setattr(daemon, "spawn", lambda *_: daemon.Running(7, "0.1.0", 1))
    assert daemon.start(home).pid == 7
    assert list(looks) == []


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
    return fast.run([*argv, "--data-dir", str(directory), "--text"])


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


def test_clients_at_once_start_one_daemon(real: Path) -> None:
    program_text = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from mnemonctl.fast import main; main()"
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
    program_text = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from mnemonctl.fast import main; main()"
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
        rpc.call(served, "recal", {}, 10, dict)
    assert caught.value.kind.name == "method_not_found"
    assert "recall" in (caught.value.hint or "")
