"""Starts that fail and daemons that misbehave: what goes wrong is said at once and in words."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemonctl import daemon, daemon_commands, files, service
from mnemond.cli.grammar import Output
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
from tests.cli.test_terminal import unsafe_left
from tests.mnemonctl.daemons import fake_daemon
from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 30.0
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def program(monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    """Let something else stand in for the daemon."""
    monkeypatch.setattr(
        service, "daemon_command", lambda directory: [sys.executable, "-IS", "-c", source, str(directory)]
    )


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
        (2, "{home}/config.toml:3: unknown key [config]", CONFIG),
        (2, "the variable MNEMON_DIF__UPDATE stands for no setting [config]", CONFIG),
        (2, "the variable MNEMON_DIF__UPDATE stands for no setting", CONFIG),
        (2, "$MNEMON_DIFF__UPDATE: it is above diff.duplicate [config]", CONFIG),
        (2, "others may write to the data directory {home} [data_dir]", DATA_DIR),
        (2, "SQLite 3.1 is too old [unsupported]", UNSUPPORTED),
        (2, "{home}/config.toml:3: unknown key [storage]", CONFIG),
        (2, "unknown key [nonsense]", CONFIG),
        (5, "the disk is full", STORAGE),
        (6, "no model", UNAVAILABLE),
        (75, "another daemon serves {home}", LOCKED),
        (1, "Traceback", UNREACHABLE),
        (3, "whatever", UNREACHABLE),
    ],
)
def test_the_status_of_the_daemon_is_that_of_the_client(home: Path, status: int, sentence: str, kind: Kind) -> None:
    told = f'{{"event":"ready"}}\nmnemond: {sentence.format(home=home)}\n  do this\n'
    error = daemon.start_failure("it does not start:", told, status, home, "Its log.")
    assert error.kind is kind
    assert error.hint == "do this"
    assert error.message.startswith("it does not start:\n  ")
    assert error.message.endswith(re.sub(r" \[[a-z_]+\]$", "", sentence.format(home=home)))


def test_each_complaint_has_a_line_of_its_own(home: Path) -> None:
    path = home / "config.toml"
    complaints = [f'{path}:{number}: unknown key "a;b{number}"; did you mean "c"?' for number in range(1, 13)]
    error = daemon.start_failure("it does not start:", f"mnemond: {'; '.join(complaints)}\n", 2, home, "Its log.")
    shown = error.message.splitlines()
    assert shown[:2] == ["it does not start:", f"  {complaints[0]}"]
    assert shown[10:] == [f"  {complaints[9]}", "  … and 2 more"]
    assert error.hint == "Its log."


@given(st.text(), st.integers(-20, 255))
def test_whatever_a_daemon_says_is_harmless(said: str, status: int) -> None:
    for words in (said, f"mnemond: {said}"):
        error = daemon.start_failure("it does not start:", words, status, Path("/d"), "Its log.")
        assert unsafe_left(error.message + (error.hint or "")) == []
        assert len(error.message) < 30_000


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
    error = failure(home, wait=1.0)
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
    monkeypatch.setattr(service, "daemon_command", lambda _: ["/nowhere/python"])
    error = daemon_commands.run_in_foreground(home)
    assert error.kind is INTERNAL
    assert "cannot run /nowhere/python" in error.message


@each_row(("value", "seconds"), [("", 10.0), ("x", 10.0), ("7.5", 7.5), ("0", 10.0), ("nan", 10.0)])
def test_how_long_to_wait(value: str, seconds: float) -> None:
    assert daemon.start_wait({"MNEMON_START_WAIT": value}) == seconds
    assert daemon.start_wait({}) == 10.0


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


def test_a_held_lock_without_a_socket_is_not_taken_for_a_stopped_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemon, "START_S", 0.1)
    with files.private_file(tmp_path / "lock") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(MnemonError):
            daemon.stop(tmp_path)
    assert daemon.stop(tmp_path) is None


HOLDS_THE_LOCK = """
import fcntl, os, sys, time
lock = open(sys.argv[1], "w")
fcntl.flock(lock, fcntl.LOCK_EX)
lock.write(sys.argv[2] if len(sys.argv) > 2 else str(os.getpid()))
lock.flush()
print("held", flush=True)
time.sleep(60)
"""


@contextlib.contextmanager
def holder(directory: Path, *pid: str) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock, and says that the one of this pid does."""
    command = [sys.executable, "-c", HOLDS_THE_LOCK, str(directory / "lock"), *pid]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("reply", [None, b'{"jsonrpc":"2.0","id":1,"error":{"code":1014,"message":"too many"}}\n'])
def test_a_daemon_that_does_not_take_the_request_gets_a_signal(
    reply: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemon, "START_S", 0.1)
    with contextlib.ExitStack() as held:
        process = held.enter_context(holder(tmp_path))
        if reply is not None:
            held.enter_context(fake_daemon(tmp_path, lambda _: reply))
        assert daemon.stop(tmp_path) == process.pid
        assert process.wait(10) == -signal.SIGTERM


def test_no_other_process_gets_a_signal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the lock is held in another container, which counts its processes by itself."""
    monkeypatch.setattr(daemon, "START_S", 0.1)
    with subprocess.Popen(["sleep", "60"]) as other:
        try:
            with holder(tmp_path, str(other.pid)) as process, pytest.raises(MnemonError, match="does not listen"):
                daemon.stop(tmp_path)
            assert (other.poll(), process.returncode) == (None, -signal.SIGKILL)
        finally:
            other.kill()


def test_a_daemon_that_begins_to_listen_is_stopped(tmp_path: Path) -> None:
    replies: list[bytes] = []

    def leave(message: bytes) -> bytes:
        replies.append(message)
        process.kill()
        process.wait()
        return b'{"jsonrpc":"2.0","id":1,"result":{"pid":7}}\n'

    with holder(tmp_path) as process, contextlib.ExitStack() as held:
        timer = threading.Timer(0.2, lambda: held.enter_context(fake_daemon(tmp_path, leave)))
        timer.start()
        assert daemon.stop(tmp_path) == 7
        timer.join()
    assert len(replies) == 1


def test_a_stop_makes_no_data_directory(home: Path) -> None:
    assert daemon.stop(home) is None
    assert not home.exists()


def test_status_of_a_daemon_without_stores(tmp_path: Path) -> None:
    def answer(message: bytes) -> bytes:
        method = json.loads(message)["method"]
        result = {"hello": {"pid": 7, "version": "1.2.3", "protocol": 1},
                  "store.list": {"stores": [], "active": "default", "source": "default"}}[method]  # fmt: skip
        return json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode() + b"\n"

    with fake_daemon(tmp_path, answer) as served:
        shown = daemon_commands.status(tmp_path, Output("text"))
    assert shown.stdout == f"mnemond 1.2.3 runs (pid 7)\n  socket  {tmp_path / 'sock'}\n  stores  0 stores\n"
    assert len(served.messages) == 2  # asking for the status of a store would have created it


def test_a_daemon_that_stops_answering_while_it_is_asked(tmp_path: Path) -> None:
    def answer(message: bytes) -> bytes:
        greets = json.loads(message)["method"] == "hello"
        return b'{"result":{"pid":7,"version":"1.2.3","protocol":1}}\n' if greets else b""

    with fake_daemon(tmp_path, answer):
        for act in (lambda: daemon.stop(tmp_path), lambda: daemon_commands.status(tmp_path, Output("json"))):
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
