"""Whole command lines against daemons that behave well, badly or not at all."""

from __future__ import annotations

import _socket
import errno
import json
import posix
import socket
import time
from pathlib import Path
from types import SimpleNamespace
from typing import NoReturn

import pytest

import mnemonctl
from mnemonctl import daemon, fast, files, slow
from mnemond.errors import DATA_DIR, NOT_FOUND, MnemonError
from mnemond.wire.jsonrpc import NO_ID, encode_error
from mnemond.wire.listener import MAX_PATH_BYTES
from tests.mnemonctl.daemons import fake_daemon, line
from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[2]
Capture = pytest.CaptureFixture[str]


def run(directory: Path, *argv: str, deadline: float = 10.0) -> int:
    return mnemonctl.run([*argv, "--data-dir", str(directory)], deadline)


@pytest.fixture
def never_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: object) -> NoReturn:
        pytest.fail("a daemon was started")

    monkeypatch.setattr(daemon, "start", start)


def error_of(text: str) -> dict[str, object]:
    error = json.loads(text)["error"]
    assert set(error) == {"code", "message", "details"}
    assert isinstance(error, dict)
    return error


def test_what_the_daemon_says_is_printed(tmp_path: Path, capfd: Capture) -> None:
    with fake_daemon(tmp_path, lambda _: line(3, 'out "é"\n', "err\n")) as served:
        assert run(tmp_path, "recall", "x") == 3
    assert capfd.readouterr() == ('out "é"\n', "err\n")
    assert json.loads(served.messages[0])["params"]["argv"] == ["recall", "x", "--data-dir", str(tmp_path)]


def test_a_reply_that_ends_without_a_line_break(tmp_path: Path, capfd: Capture) -> None:
    with fake_daemon(tmp_path, lambda _: line(0, "out")[:-1]):
        assert run(tmp_path, "list") == 0
    assert capfd.readouterr().out == "out"


def test_a_long_reply(tmp_path: Path, capfd: Capture) -> None:
    text = "memory 東京\n" * 50_000
    with fake_daemon(tmp_path, lambda _: line(0, text)):
        assert run(tmp_path, "list") == 0
    assert capfd.readouterr().out == text


def test_a_reply_in_another_form_is_understood_all_the_same(tmp_path: Path, capfd: Capture) -> None:
    result = {"stdout": "é\n", "stderr": "", "exit_code": 0, "outdated": False}
    with fake_daemon(tmp_path, lambda _: json.dumps({"result": result, "id": 1}).encode() + b"\n"):
        assert run(tmp_path, "list") == 0
    assert capfd.readouterr().out == "é\n"


def test_an_error_reply_is_a_sentence_and_its_exit_code(tmp_path: Path, capfd: Capture) -> None:
    reply = encode_error(NO_ID, MnemonError(NOT_FOUND, "no such thing", hint="look elsewhere")) + b"\n"
    with fake_daemon(tmp_path, lambda _: reply):
        assert run(tmp_path, "list", "--text") == 3
        assert capfd.readouterr() == ("", "mnemonctl: no such thing\n  look elsewhere\n")
        assert run(tmp_path, "list") == 3
    assert error_of(capfd.readouterr().err)["code"] == "not_found"


@pytest.mark.parametrize("reply", [b"nonsense\n", b"{}\n", b'{"result":{"exit_code":"x"}}\n', b"[]\n", b"\xff\n"])
def test_a_reply_nobody_understands(tmp_path: Path, capfd: Capture, reply: bytes) -> None:
    with fake_daemon(tmp_path, lambda _: reply):
        assert run(tmp_path, "list", "--text") == 1
    assert "does not understand" in capfd.readouterr().err


@pytest.mark.usefixtures("never_starts")
def test_no_answer_at_all_ends_at_the_deadline_and_nothing_is_sent_again(tmp_path: Path, capfd: Capture) -> None:
    with fake_daemon(tmp_path, lambda _: None) as served:
        assert run(tmp_path, "remember", "x", "--text", deadline=0.5) == 69
    assert len(served.messages) == 1
    captured = capfd.readouterr()
    assert "did not answer within 0.5 s" in captured.err
    assert "It may have been stored or not: `mnemonctl log` shows what was done lately." in captured.err


@pytest.mark.usefixtures("never_starts")
def test_a_write_that_has_a_name_is_repeated_by_it(tmp_path: Path, capfd: Capture) -> None:
    with fake_daemon(tmp_path, lambda _: b""):
        assert run(tmp_path, "remember", "x", "--text", "--op-id", "mine") == 69
    assert "repeat it with the same op_id (--op-id mine), then it is stored once" in capfd.readouterr().err


@pytest.mark.usefixtures("never_starts")
@pytest.mark.parametrize("words", [("list",), ("recall", "tea"), ("history", "1a2b3c4d")])
def test_what_only_reads_stored_nothing(tmp_path: Path, capfd: Capture, words: tuple[str, ...]) -> None:
    with fake_daemon(tmp_path, lambda _: b""):
        assert run(tmp_path, *words) == 69
    error = error_of(capfd.readouterr().err)
    assert error["details"] == {
        "hint": "It only reads, so try again; if it stays so, see: mnemonctl daemon status",
        "retryable": True, "outcome": None, "problems": [],
    }  # fmt: skip


@pytest.mark.usefixtures("never_starts")
def test_half_an_answer_is_none(tmp_path: Path, capfd: Capture) -> None:
    with fake_daemon(tmp_path, lambda _: b"") as served:
        assert run(tmp_path, "remember", "x") == 69
    error = error_of(capfd.readouterr().err)
    assert "closed the connection without an answer" in str(error["message"])
    assert error["details"]["outcome"] == "unknown"  # type: ignore[index]
    assert len(served.messages) == 1


def test_a_dripping_answer_ends_at_the_deadline() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(5)
        theirs.sendall(b"drip")
        with pytest.raises(TimeoutError):
            fast.receive(ours, ends=0.0)


@pytest.mark.usefixtures("never_starts")
@pytest.mark.parametrize("number", [errno.EPERM, errno.EACCES])
def test_a_sandbox_is_named(tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def blocked(*_: object) -> NoReturn:
        raise OSError(number, "Operation not permitted")

    monkeypatch.setattr(fast, "connect", blocked)
    assert run(tmp_path, "recall", "x", "--text") == 69
    err = capfd.readouterr().err
    assert "sandbox" in err
    assert "MCP tools" in err
    assert str(tmp_path / "sock") in err


@pytest.mark.usefixtures("never_starts")
def test_a_full_backlog_does_not_hang(tmp_path: Path, capfd: Capture) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(tmp_path / "sock"))
        listener.listen(0)
        waiting = []
        try:
            while True:
                waiting.append(fast.connect(bytes(tmp_path / "sock"), 1.0))
        except BlockingIOError:
            pass
        began = time.monotonic()
        assert run(tmp_path, "recall", "x", "--text", deadline=0.2) == 69
        assert time.monotonic() - began < 20
        for connection in waiting:
            connection.close()
    assert "too many are waiting" in capfd.readouterr().err


@pytest.mark.usefixtures("never_starts")
def test_a_backlog_that_empties_is_waited_for(tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    real, refusals = fast.connect, [BlockingIOError(errno.EAGAIN, "again") for _ in range(2)]

    def busy(path: bytes, deadline: float) -> _socket.socket:
        if refusals:
            raise refusals.pop()
        return real(path, deadline)

    monkeypatch.setattr(fast, "connect", busy)
    monkeypatch.setattr(slow, "RETRY_S", 0.0)
    with fake_daemon(tmp_path, lambda _: line(0, "late\n")):
        assert run(tmp_path, "list") == 0
    assert capfd.readouterr().out == "late\n"


@pytest.mark.usefixtures("never_starts")
def test_waiting_for_a_full_backlog_counts_towards_the_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, left = [100.0], list[float]()
    refusals = [BlockingIOError(errno.EAGAIN, "again") for _ in range(3)]

    def busy(path: bytes, deadline: float) -> object:
        left.append(deadline)
        if refusals:
            raise refusals.pop()
        return "a connection"

    def sleep(seconds: float) -> None:
        now[0] += seconds

    def converse(argv: list[str], directory: bytes, connection: object, request: bytes, deadline: float) -> int:
        left.append(deadline)
        return 0

    monkeypatch.setattr(slow, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))
    monkeypatch.setattr(slow, "RETRY_S", 0.25)
    monkeypatch.setattr(fast, "connect", busy)
    monkeypatch.setattr(fast, "finish", converse)
    assert run(tmp_path, "list", deadline=1.0) == 0
    assert left == [1.0, 1.0, 0.75, 0.5, 0.5]


@pytest.mark.usefixtures("never_starts")
def test_a_path_that_is_too_long_for_a_socket(tmp_path: Path, capfd: Capture) -> None:
    for argv in (["list"], ["daemon", "status"], ["daemon", "start"], ["daemon", "run"], ["daemon", "stop"]):
        assert run(tmp_path / ("d" * 200), *argv, "--text") == 2
        err = capfd.readouterr().err
        assert f"{len(bytes(tmp_path)) + 206} bytes; the system allows {MAX_PATH_BYTES}" in err
        assert err.endswith("\n  use a shorter --data-dir\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("never_starts")
@pytest.mark.parametrize("inside", ["", "below"])
@pytest.mark.parametrize("argv", [["list"], ["daemon", "start"], ["daemon", "status"]])
def test_a_file_is_no_data_directory(tmp_path: Path, capfd: Capture, argv: list[str], inside: str) -> None:
    (tmp_path / "file").touch()
    assert run(tmp_path / "file" / inside, *argv, "--text") == 2
    err = capfd.readouterr().err
    assert f"{tmp_path / 'file'} is a file\n  choose another with --data-dir or MNEMON_DATA_DIR\n" in err


def test_a_place_that_cannot_be_written_to(tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_only(path: Path) -> NoReturn:
        raise MnemonError(DATA_DIR, f"{path} cannot be opened: Read-only file system")

    monkeypatch.setattr(files, "open_data_dir", read_only)
    assert run(tmp_path / "new", "list", "--text") == 2
    err = capfd.readouterr().err
    assert err.endswith("Read-only file system\n  choose another with --data-dir or MNEMON_DATA_DIR\n")


@pytest.mark.usefixtures("never_starts")
@pytest.mark.parametrize("argv", [["list"], ["daemon", "start"]])
def test_a_relative_directory_of_the_environment(
    capfd: Capture, monkeypatch: pytest.MonkeyPatch, argv: list[str]
) -> None:
    monkeypatch.setitem(posix.environ, b"MNEMON_DATA_DIR", b"here/\x1b[2J")
    assert mnemonctl.run([*argv, "--text"]) == 2
    assert "mnemonctl: MNEMON_DATA_DIR is relative (here/\\x1b[2J)\n" in capfd.readouterr().err


def test_a_relative_directory_may_be_given(tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with fake_daemon(tmp_path, lambda _: line(0, "here\n")):
        assert run(Path(), "list") == 0
    assert capfd.readouterr().out == "here\n"
    assert slow.path_of(b"new") == tmp_path / "new"


@pytest.mark.parametrize("word", ["--bogus", "-V"])
def test_an_unknown_option_alone_is_an_error(tmp_path: Path, capfd: Capture, word: str) -> None:
    assert run(tmp_path / "none", word, "--text") == 2
    captured = capfd.readouterr()
    assert captured.out == ""
    assert f"no option {word}" in captured.err


@pytest.mark.usefixtures("never_starts")
@pytest.mark.parametrize("argv", [["daemon", "status"], ["daemon", "stop"]])
def test_asking_about_the_daemon_never_starts_it(tmp_path: Path, argv: list[str]) -> None:
    code = run(tmp_path / "new", *argv)
    assert code == (69 if argv[1] == "status" else 0)
    assert not (tmp_path / "new").exists()


def test_a_socket_that_refuses_is_started_over(tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    stale = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    stale.bind(str(tmp_path / "sock"))
    stale.close()
    served: list[object] = []

    def start(directory: Path, _wait: float) -> None:
        (directory / "sock").unlink()
        context = fake_daemon(directory, lambda _: line(0, "started\n"))
        served.append(context)
        context.__enter__()

    monkeypatch.setattr(daemon, "start", start)
    assert run(tmp_path, "list") == 0
    assert capfd.readouterr().out == "started\n"
    served[0].__exit__(None, None, None)  # type: ignore[attr-defined]


def test_an_argument_that_is_not_utf8_is_a_usage_error(tmp_path: Path, capfd: Capture) -> None:
    assert run(tmp_path, "remember", "a\udcff", "--text") == 2
    assert "argument 2 is not UTF-8" in capfd.readouterr().err


def test_an_unknown_daemon_command_gets_a_hint(tmp_path: Path, capfd: Capture) -> None:
    assert run(tmp_path, "daemon", "statsu", "--text") == 2
    assert "Did you mean: mnemonctl daemon status?" in capfd.readouterr().err


@pytest.mark.parametrize("argv", [[], ["--help"], ["recall", "--help"], ["daemon", "--help"], ["store", "--help"]])
def test_help_needs_no_daemon(tmp_path: Path, capfd: Capture, argv: list[str]) -> None:
    assert run(tmp_path / "none", *argv) == 0
    assert "Examples" in capfd.readouterr().out
    assert not (tmp_path / "none").exists()


def test_an_older_daemon_is_replaced_after_its_answer(
    tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(daemon, "replace_outdated", lambda _: daemon.Replaced("0.0.1", "0.1.0"))
    with fake_daemon(tmp_path, lambda _: line(0, "answer\n", outdated=True)):
        assert run(tmp_path, "list") == 0
    assert capfd.readouterr() == ("answer\n", "mnemonctl: replaced mnemond 0.0.1 by 0.1.0\n")


def hello(*, outdated: bool) -> bytes:
    result = {"name": "mnemond", "version": "0.0.1", "protocol": 1, "pid": 7, "outdated": outdated}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode() + b"\n"


def test_a_daemon_that_is_not_older_is_never_touched(tmp_path: Path) -> None:
    with fake_daemon(tmp_path, lambda _: hello(outdated=False)) as served:
        assert daemon.replace_outdated(tmp_path) is None
    assert [json.loads(message)["method"] for message in served.messages] == ["hello"]


def test_a_daemon_is_replaced_once_a_minute_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    monkeypatch.setattr(daemon, "end", lambda _: calls.append("stop"))
    monkeypatch.setattr(daemon, "check", lambda _: calls.append("check"))
    monkeypatch.setattr(daemon, "spawn", lambda *_: daemon.Running(8, "0.1.0", 1))
    with fake_daemon(tmp_path, lambda _: hello(outdated=True)):
        assert daemon.replace_outdated(tmp_path) == daemon.Replaced("0.0.1", "0.1.0")
        assert daemon.replace_outdated(tmp_path) is None
    assert calls == ["check", "stop"]


@each_row(("age", "claimed"), [(0, False), (59, False), (61, True), (-1000, True)])
def test_stamps_grow_old(tmp_path: Path, age: float, claimed: bool) -> None:
    import os

    stamp = tmp_path / "stamp"
    assert files.claim_stamp(stamp, 60)
    now = time.time()
    os.utime(stamp, (now - age, now - age))
    assert files.claim_stamp(stamp, 60) is claimed
    assert stamp.stat().st_mode & 0o777 == 0o600


def test_a_failed_replacement_is_one_line(tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: Path) -> NoReturn:
        raise MnemonError(NOT_FOUND, "it would not go:\n  for\x1b two reasons")

    monkeypatch.setattr(daemon, "replace_outdated", fails)
    slow.replace_outdated(bytes(tmp_path))
    reason = "it would not go: for\\x1b two reasons"
    assert capfd.readouterr().err == f"mnemonctl: the older daemon could not be replaced: {reason}\n"
