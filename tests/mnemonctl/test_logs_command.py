"""`mnemonctl logs`: what is shown of files and journals, to people and to programs."""

from __future__ import annotations

import errno
import json
import os
import posix
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mnemonctl
from mnemonctl import logs
from mnemonctl.fast import OutputError
from mnemonctl.logs import LogEntry, of_file, of_journal
from mnemonctl.service import platform_supervisor
from mnemond.cli.admin import LogsOptions
from mnemond.cli.grammar import Output
from mnemond.cli.output import Style
from mnemond.errors import DATA_DIR, NOT_FOUND
from tests.cli.test_terminal import unsafe_left
from tests.tables import each_row

READY = b'{"version":"0.1.0","pid":7,"event":"ready","level":"info","timestamp":"2026-11-22T08:38:14.806923Z"}'
REFUSED = b'{"reason":"line 1","event":"configuration refused","level":"error","timestamp":"2026-11-22T08:38:16Z"}'
FATAL = b"Fatal Python error: Aborted"
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    found = tmp_path / "home"
    (found / "log").mkdir(parents=True)
    return found


# ------------------------------------------------------------------ one entry


def test_an_entry_of_a_file_reads_well() -> None:
    entry = of_file(READY)
    assert entry.text(Style()) == "2026-11-22 08:38:14 info    ready version=0.1.0 pid=7\n"
    assert entry.facts() == json.loads(READY)
    shown = of_file(b'{"event":"e","level":"warning","reason":"two words","trace":["a","b"],"empty":""}').text(Style())
    assert shown == f'{"":19} warning e reason="two words" trace=["a", "b"] empty=""\n'
    assert "\x1b[1merror  \x1b[0m" in of_file(REFUSED).text(Style(color=True))


@each_row("line", [FATAL, b"[1]", b'{"a":', b"\xff\xfe", b"[" * 100_000, b""])
def test_what_is_no_entry_is_shown_as_an_error(line: bytes) -> None:
    entry = of_file(line)
    assert (entry.timestamp, entry.level, entry.event) == (None, "error", line.decode("utf-8", "replace"))


def test_an_entry_of_the_journal() -> None:
    entry = of_journal(b'{"MESSAGE":"ready pid=7","PRIORITY":"6","__REALTIME_TIMESTAMP":"1795337343133774","_PID":"7"}')
    assert entry == LogEntry("2026-11-22T08:49:03.133774Z", "info", "ready pid=7")
    assert of_journal(b'{"MESSAGE":[104,105,999,"x"],"PRIORITY":"3"}') == LogEntry(None, "error", "hi")
    assert of_journal(b'{"MESSAGE":null,"__REALTIME_TIMESTAMP":"9999999999999999999999"}').level == "error"
    assert of_journal(b"no JSON").event == "no JSON"


@given(st.dictionaries(st.text(), st.text() | st.integers() | st.lists(st.text())), st.binary())
def test_nothing_in_a_log_drives_a_terminal(fields: dict[str, object], line: bytes) -> None:
    known = {"event": "e\x1b[2J\n", "level": "info", "timestamp": "\u202e\x9b2026"}
    for entry in (of_file(json.dumps({**fields, **known}).encode()), of_file(line), of_journal(line)):
        shown = entry.text(Style())
        assert unsafe_left(shown) == []
        assert shown.count("\n") == 1


# ------------------------------------------------------------------ the command


def run(home: Path, *words: str) -> int:
    return mnemonctl.run(["logs", "--data-dir", str(home), *words])


def test_programs_get_a_json_object_a_line_and_people_text(home: Path, capfd: Capture) -> None:
    (home / "log" / "mnemond.log").write_bytes(b"\n".join([READY, REFUSED, FATAL]) + b"\n")
    assert run(home) == 0
    assert [json.loads(line)["event"] for line in capfd.readouterr().out.splitlines()] == [
        "ready", "configuration refused", FATAL.decode(),
    ]  # fmt: skip
    assert run(home, "--text", "-n", "2", "--level", "warning") == 0
    assert capfd.readouterr().out == (
        f'2026-11-22 08:38:16 error   configuration refused reason="line 1"\n{"":19} error   {FATAL.decode()}\n'
    )
    assert run(home, "--lines", "0") == 0
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("words", [["-n", "x"], ["-n", "-1"], ["--level", "loud"], ["word"]])
def test_a_line_that_means_nothing_is_refused(home: Path, capfd: Capture, words: list[str]) -> None:
    assert run(home, *words) == 2
    assert capfd.readouterr().out == ""


def test_where_there_is_no_log_that_is_said(home: Path, capfd: Capture) -> None:
    assert run(home) == NOT_FOUND.exit
    assert "there is no log" in json.loads(capfd.readouterr().err)["error"]["message"]


def test_a_log_that_cannot_be_read_is_said(home: Path, capfd: Capture) -> None:
    (home / "log" / "mnemond.log").mkdir()
    assert run(home) == DATA_DIR.exit
    assert "Is a directory" in capfd.readouterr().err


def test_following_goes_on_with_what_comes(home: Path) -> None:
    log = home / "log" / "mnemond.log"
    log.write_bytes(READY + b"\n")
    steps: list[Callable[[], object]] = [
        lambda: log.write_bytes(log.read_bytes() + REFUSED + b"\n"),
        lambda: log.rename(log.with_name("mnemond.log.1")),
        lambda: log.write_bytes(READY + b"\n" + FATAL + b"\n"),
    ]

    def rest(_: float) -> None:
        if not steps:
            raise KeyboardInterrupt
        steps.pop(0)()

    seen: list[str] = []
    with suppress(KeyboardInterrupt):
        for entry in logs.in_file(home, LogsOptions(follow=True, level="error"), rest):
            seen.append(entry.event)  # noqa: PERF401 - it ends with an exception
    assert steps == []
    assert seen == ["configuration refused", FATAL.decode()]


def test_a_reader_that_leaves_ends_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "log" / "mnemond.log").write_bytes((READY + b"\n") * 3)
    reading, writing = os.pipe()
    os.close(reading)
    with monkeypatch.context() as patch:
        patch.setattr(posix, "write", lambda _, data: os.writev(writing, [data]))
        assert logs.run(home, LogsOptions(follow=True), Output("json")) == 0
    os.close(writing)


def test_an_answer_that_cannot_be_written_is_no_success(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "log" / "mnemond.log").write_bytes(READY + b"\n")

    def full(_descriptor: int, _data: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(posix, "write", full)
    with pytest.raises(OutputError, match="No space left on device"):
        logs.run(home, LogsOptions(), Output("json"))


def test_ctrl_c_ends_following_without_a_word(home: Path) -> None:
    (home / "log" / "mnemond.log").write_bytes(READY + b"\n")
    program = "import sys; from mnemonctl import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, "logs", "-f", "--data-dir", str(home)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # a shell's background job ignores it
    )  # fmt: skip
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["event"] == "ready"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, b"", b"")


# ------------------------------------------------------------------ the journal


def journalctl(home: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Let a script stand in for journalctl, and a unit for an installation."""
    programs = home / "bin"
    programs.mkdir()
    (programs / "journalctl").write_text(f"#!/bin/sh\n{script}\n")
    (programs / "journalctl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    (unit,) = (file for file in platform_supervisor(home).files() if file.path.suffix == ".service")
    unit.write()


def test_the_log_of_a_service_is_in_the_journal(home: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture) -> None:
    journalctl(home, monkeypatch, """echo "$@" > "$(dirname "$0")/argv"; echo '{"MESSAGE":"hi","PRIORITY":"4"}'""")
    assert run(home, "--text", "-n", "3", "--level", "error") == 0
    assert capfd.readouterr().out == f"{'':19} warning hi\n"
    unit = platform_supervisor(home).unit
    assert (home / "bin" / "argv").read_text() == (
        f"--quiet --user-unit={unit}.service --output=json --lines=3 --priority=err\n"
    )


def test_a_journal_that_cannot_be_read_is_said(home: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture) -> None:
    journalctl(home, monkeypatch, "echo no permission >&2; exit 1")
    assert run(home) == NOT_FOUND.exit
    assert "the journal cannot be read: no permission" in capfd.readouterr().err


def test_a_journal_is_followed_until_nobody_wants_more(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journalctl(home, monkeypatch, """case "$*" in *--follow*) echo '{"MESSAGE":"hi"}'; exec sleep 60;; esac""")
    following = logs.in_journal("mnemond", LogsOptions(follow=True))
    assert next(following).event == "hi"
    following.close()


def test_levels_of_the_journal_are_those_it_was_given() -> None:
    assert logs.PRIORITIES["6"] == "info"
    assert {logs.of_journal(b'{"PRIORITY":"%d"}' % number).level for number in range(4)} == {"error"}
