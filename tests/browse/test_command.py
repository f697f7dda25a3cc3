"""`mnemonctl browse` before there is a screen: a terminal, the library, the options; and once at a real terminal."""

from __future__ import annotations

import importlib.util
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import ioctl
from pathlib import Path

import pytest

from benchmarks.daemon_process import DaemonProcess
from mnemonctl import slow
from mnemonctl.browse import command
from mnemonctl.client import Client
from mnemond.api.types_daemon import CliRunParams, CliRunResult
from mnemond.cli.grammar import parse
from mnemond.errors import INVALID_PARAMS, MnemonError
from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[2]


def test_it_needs_a_terminal() -> None:
    with pytest.raises(MnemonError, match="needs a terminal") as refused:
        command.require_terminal()
    assert refused.value.kind is INVALID_PARAMS


def test_it_says_how_to_install_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "isatty", lambda _: True)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MnemonError, match="library textual, which is not installed") as refused:
        command.require_terminal()
    assert "mnemond[tui]" in str(refused.value.hint)


def test_no_daemon_is_started_where_nothing_can_be_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("mnemonctl.daemon.start", lambda *_: pytest.fail("a daemon was started"))
    assert slow.run(["browse", "--text", "--data-dir", str(tmp_path)], 1.0) == INVALID_PARAMS.exit
    assert "needs a terminal" in capfd.readouterr().err


def test_neither_the_daemon_nor_other_commands_import_the_library() -> None:
    script = (
        "import sys, mnemond.daemon, mnemonctl.client, mnemonctl.slow, mnemond.cli.run; print('textual' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert shown.stdout == "False\n"


@each_row("argv", [["browse", "now"], ["browse", "--limit", "3"]])
def test_usage_errors(argv: list[str]) -> None:
    answer = parse(CliRunParams(argv=argv))
    assert isinstance(answer, CliRunResult)
    assert answer.exit_code == INVALID_PARAMS.exit


@contextmanager
def browsing(path: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """`browse` at a pseudo-terminal, which is no controlling terminal, and what it writes to."""
    with DaemonProcess(path) as running:
        with Client(data_dir=path, start=False) as client:
            client.stores.create(name="work")
            client.remember(content="Ana said \x1b]0;owned\x07 and \x1b[31mred\u202e", store="work")
        variables = {
            **running.environment(),
            "MNEMON_DATA_DIR": str(path),
            "TERM": "xterm-256color",
            "TEXTUAL": "devtools",
        }
        shown, terminal = pty.openpty()
        ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        process = subprocess.Popen(
            [sys.executable, "-c", "from mnemonctl import main; main()", "browse", "--store", "work"],
            cwd=ROOT, env=variables, stdin=terminal, stdout=terminal, stderr=terminal,
            start_new_session=True,
        )  # fmt: skip
        os.close(terminal)
        try:
            yield process, shown
        finally:
            process.kill()
            process.wait()


def test_at_a_real_terminal_nothing_hostile_is_written(tmp_path: Path) -> None:
    """Everything that is written goes through a pseudo-terminal and is looked at as bytes."""
    with browsing(tmp_path) as (process, shown):
        try:
            written = read_until(shown, b"Reviews")
            written += read_until(shown, b"to decide")
            written += read_until(shown, b"x1b]0;owned", key=b"2")
            os.write(shown, b"q")
            written += read_until(shown, b"")
            assert process.wait(20) == 0
        finally:
            os.close(shown)
    assert b"\x1b]0;owned" not in written
    assert "\u202e".encode() not in written
    assert b"\x1b]8;" not in written


@pytest.mark.check_all
def test_it_ends_with_its_terminal(tmp_path: Path) -> None:
    """It went on for good, and took half a core, where no signal told it that the terminal was gone."""
    with browsing(tmp_path) as (process, shown):
        read_until(shown, b"to decide")
        os.close(shown)
        process.wait(20)


def read_until(descriptor: int, wanted: bytes, key: bytes = b"") -> bytes:
    """What is written until `wanted` was; with b"" until the end. `key` is pressed until then: the first one may come
    before the keys are heard."""
    ends, found, next_s = time.monotonic() + 30, b"", 0.0
    while not wanted or wanted not in found:
        assert time.monotonic() < ends, found
        if key and time.monotonic() >= next_s:
            os.write(descriptor, key)
            next_s = time.monotonic() + 1
        if select.select([descriptor], [], [], 0.1)[0]:
            try:
                part = os.read(descriptor, 65_536)
            except OSError:  # EIO: the other end was closed
                return found
            if not part:
                return found
            found += part
    return found
