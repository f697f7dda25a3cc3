"""The parts of both launchers, in the process of the test."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mnemonctl.launcher import hook, mcp
from mnemond.hooks.sessions import STAMP
from mnemond.wire.hook_payload import BEGINNING
from tests.mnemonctl.daemons import fake_daemon
from tests.tables import each_row

TOUCH = b"/usr/bin/touch"


@contextmanager
def standard_input(said: bytes) -> Iterator[None]:
    """Has this on it, then its end."""
    kept = os.dup(0)
    reader, writer = os.pipe()
    os.dup2(reader, 0)
    os.close(reader)
    thread = threading.Thread(target=_say, args=(writer, said))
    thread.start()
    try:
        yield
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        thread.join()


def _say(writer: int, said: bytes) -> None:
    os.write(writer, said)
    os.close(writer)


@each_row(
    ("said", "read"),
    [(b'{"a":1}', b'{"a":1}'), (b'{"a":1}\n', b'{"a":1}\n'), (b'{\n"a":1}\n', b'{\n"a":1}\n'), (b"", b"")],
)
def test_a_message_ends_with_its_line_or_the_stream(said: bytes, read: bytes) -> None:
    with standard_input(said):
        assert hook.read_stdin() == (read, True)


def test_of_one_that_is_too_long_the_beginning_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook, "MAX_MESSAGE", 4)
    monkeypatch.setattr(hook, "BEGINNING", 2)
    with standard_input(b"12345"):
        assert hook.read_stdin() == (b"12", False)


def test_the_daemon_looks_at_as_much_of_a_beginning() -> None:
    assert hook.BEGINNING == BEGINNING


def test_the_age_of_a_process_is_known_or_nothing() -> None:
    assert 0.0 <= hook.age() < 86_400


def test_the_daemon_is_asked_and_its_answer_taken(tmp_path: Path) -> None:
    with fake_daemon(tmp_path, lambda message: message + b"!"):
        assert hook.ask(bytes(tmp_path), b'{"a":1}', ()) == b'{"a":1}!'
        assert hook.ask(bytes(tmp_path), b"", ()) == b""
    with fake_daemon_at(tmp_path / "second", b"x" * (hook.MAX_ANSWER + 1)) as directory:
        assert hook.ask(bytes(directory), b"{}", ()) == b""


@contextmanager
def fake_daemon_at(directory: Path, answer: bytes) -> Iterator[Path]:
    directory.mkdir()
    with fake_daemon(directory, lambda _: answer):
        yield directory


def test_where_nobody_listens_one_is_started_once_a_minute(tmp_path: Path) -> None:
    mark, stamp = tmp_path / "started", tmp_path / STAMP
    command = (TOUCH, bytes(mark))
    assert hook.ask(bytes(tmp_path), b"{}", command) == b""
    assert reap_and_see(mark)
    assert hook.ask(bytes(tmp_path), b"{}", command) == b""
    assert not mark.exists()
    os.utime(stamp, (0, 0))
    hook.start_daemon(bytes(tmp_path), command)
    assert reap_and_see(mark)
    assert stamp.stat().st_mtime > 0


def reap_and_see(mark: Path) -> bool:
    """Wait for the process that was started; whether it left its mark, which is taken away."""
    os.waitpid(-1, 0)
    found = mark.exists()
    mark.unlink(missing_ok=True)
    return found


def test_where_something_else_is_wrong_nothing_is_started(tmp_path: Path) -> None:
    (tmp_path / "sock").symlink_to(tmp_path / "sock")
    assert hook.ask(bytes(tmp_path), b"{}", (TOUCH, bytes(tmp_path / "started"))) == b""
    assert not (tmp_path / STAMP).exists()
    with pytest.raises(OSError, match="symbolic links"):
        mcp.connect(bytes(tmp_path / "sock"), (TOUCH, bytes(tmp_path / "started")))


def test_a_server_gives_up_a_daemon_that_does_not_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp, "START_S", 0.0)
    with pytest.raises(FileNotFoundError):
        mcp.connect(bytes(tmp_path / "sock"), (TOUCH, bytes(tmp_path / "started")))
    assert not (tmp_path / "started").exists(), "there was no time left to start one"
