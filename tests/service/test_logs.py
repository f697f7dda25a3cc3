"""Which entries are kept, in what form, and where they go."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mnemond import __main__ as program
from mnemond import logs as logs_module
from mnemond.config.settings import LEVELS, Level, LogSettings
from mnemond.logs import Logs
from tests.tables import each_row

Capture = pytest.CaptureFixture[str]


def collected(logs: Logs) -> list[tuple[Level, dict[str, object]]]:
    found: list[tuple[Level, dict[str, object]]] = []
    logs.write_to(lambda entry, level: found.append((level, dict(entry))))
    return found


def test_an_entry_has_its_level_its_moment_and_its_fields() -> None:
    logs = Logs()
    found = collected(logs)
    logs.logger.warning("no embedder", reason="nobody answers", seconds=2)
    ((level, entry),) = found
    assert level == "warning"
    assert str(entry.pop("timestamp")).endswith("Z")
    assert entry == {"event": "no embedder", "level": "warning", "reason": "nobody answers", "seconds": 2}


@each_row("least", LEVELS)
def test_what_weighs_less_is_dropped(least: Level) -> None:
    logs = Logs()
    found = collected(logs)
    logs.configure(least)
    for level in LEVELS:
        getattr(logs.logger, level)("heard")
    logs.logger.critical("always")
    weighty = [level for level in LEVELS if LEVELS[level] >= LEVELS[least]]
    assert [level for level, _ in found] == [*weighty, "error"]


def test_the_level_of_the_command_line_goes_before_the_configuration() -> None:
    logs = Logs("error")
    found = collected(logs)
    logs.configure("debug")
    logs.logger.warning("unheard")
    logs.logger.error("heard")
    assert [entry["event"] for _, entry in found] == ["heard"]


# ------------------------------------------------------------------ the journal


def test_a_stream_of_the_journal_is_known_by_its_inode(tmp_path: Path) -> None:
    with (tmp_path / "stream").open("wb") as stream:
        found = os.fstat(stream.fileno())
        ours = {"JOURNAL_STREAM": f"{found.st_dev}:{found.st_ino}"}
        assert logs_module.is_journal(ours, stream.fileno())
        assert not logs_module.is_journal({"JOURNAL_STREAM": f"{found.st_dev}:{found.st_ino + 1}"}, stream.fileno())
        assert not logs_module.is_journal({}, stream.fileno())
    assert not logs_module.is_journal(ours, 999)


@each_row(("level", "prefix"), [("debug", "<7>"), ("info", "<6>"), ("warning", "<4>"), ("error", "<3>")])
def test_a_line_for_the_journal_says_how_grave_it_is(level: Level, prefix: str) -> None:
    entry = {"event": "ready", "level": level, "timestamp": "2026-01-01T00:00:00Z", "pid": 7, "data_dir": "/home/ada"}
    assert logs_module.journal_line(entry, level) == f'{prefix}ready pid=7 data_dir="/home/ada"\n'.encode()


def test_nothing_in_a_line_for_the_journal_drives_a_terminal_or_begins_another() -> None:
    line = logs_module.journal_line({"event": "a\x1b[2J\u202e", "reason": "b\n<0>c\x9b\x7f", "where": {1}}, "error")
    assert line == rb'<3>a\u001b[2J\u202e reason="b\n<0>c\u009b\u007f" where="{1}"' + b"\n"


# ------------------------------------------------------------------ where it goes


@contextmanager
def standard_error(path: Path) -> Iterator[None]:
    """Descriptor 2 is this file meanwhile."""
    saved = os.dup(2)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(descriptor, 2)
    os.close(descriptor)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


def test_into_a_file_and_to_whoever_started_the_daemon(tmp_path: Path, capsys: Capture) -> None:
    logs = Logs()
    file = logs_module.open_log(logs, tmp_path, LogSettings(level="warning"), {})
    logs.logger.info("unheard")
    logs.logger.error("heard", path=Path("/x"))
    assert file is not None
    file.close()
    (line,) = (tmp_path / "log" / "mnemond.log").read_text().splitlines()
    assert json.loads(line)["event"] == "heard"
    assert capsys.readouterr().err == line + "\n"


def test_once_where_standard_error_is_the_file(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    with standard_error(tmp_path / "log" / "mnemond.log"):
        logs = Logs()
        file = logs_module.open_log(logs, tmp_path, LogSettings(), {})
        logs.logger.info("heard")
    assert file is not None
    file.close()
    assert len((tmp_path / "log" / "mnemond.log").read_text().splitlines()) == 1


def test_to_the_journal_and_nowhere_else(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs_module, "is_journal", lambda *_: True)
    logs = Logs()
    assert logs_module.open_log(logs, tmp_path, LogSettings(), {}) is None
    logs.logger.info("heard", pid=7)
    assert capsys.readouterr().err == "<6>heard pid=7\n"
    assert list(tmp_path.iterdir()) == []


def test_where_no_file_can_be_had_that_is_said(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "log").write_text("in the way")
    logs = Logs()
    assert logs_module.open_log(logs, tmp_path, LogSettings(), {}) is None
    assert json.loads(capsys.readouterr().err)["event"] == "no log file"


@pytest.mark.parametrize(("in_journal", "level"), [(True, "<3>"), (False, "")])
def test_why_a_daemon_leaves_is_an_error_in_the_journal_too(
    tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch, in_journal: bool, level: str
) -> None:
    monkeypatch.setattr(program, "is_journal", lambda *_: in_journal)
    monkeypatch.setattr("faulthandler.enable", lambda: None)
    (tmp_path / "config.toml").write_text("[server]\nmax_in_flight = 0\n")
    assert program.main(["--check-config", "--data-dir", str(tmp_path)]) == 2
    sentence, hint = capfd.readouterr().err.splitlines()
    assert sentence.startswith(f"{level}mnemond: {tmp_path}/config.toml:2: server.max_in_flight")
    assert hint.startswith(f"{level}  mend")
