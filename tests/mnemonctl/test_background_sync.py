"""`sync --every`: it goes on after failures, later and later, and is not a person."""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mnemonctl import background_sync, daemon, fast, rpc, sync
from mnemonctl.background_sync import BUSY_PAUSE_S, OLDER, repeat
from mnemonctl.daemon import Running
from mnemond.api.types_daemon import CliRunParams, CliRunResult
from mnemond.api.types_sync import SyncFailedResult, SyncStatusResult
from mnemond.cli.grammar import Invocation, parse
from mnemond.errors import BUSY, INVALID_PARAMS, MnemonError, rejected
from tests.mnemonctl.test_sync import NOTHING
from tests.tables import each_row

AWAY = rejected(INVALID_PARAMS, "`git ls-remote`: Could not resolve host\x1b[31m", "look")
TAKEN = rejected(BUSY, "another sync runs", "wait")


class StoppedError(Exception):
    pass


def pauses(outcomes: list[MnemonError | str], every_s: float) -> list[float]:
    """Return how long it waits after each of these outcomes."""
    found: list[float] = []
    left = list(outcomes)

    def once() -> CliRunResult:
        if not left:
            raise StoppedError
        outcome = left.pop(0)
        if isinstance(outcome, MnemonError):
            raise outcome
        return CliRunResult(0, False, outcome, "")

    with pytest.raises(StoppedError):
        repeat(once, every_s, lambda: False, found.append)
    return found


def test_after_failures_it_waits_longer_each_time() -> None:
    assert pauses([AWAY] * 8, 600) == [60, 120, 240, 480, 960, 1920, 3600, 3600]
    assert pauses([AWAY] * 8, 7_200)[-2:] == [3840, 7200], "the interval is the longest pause where it is longer"
    assert pauses([AWAY, AWAY, "x\n", AWAY], 600) == [60, 120, 600, 60]
    assert pauses([AWAY] * 2_000, 600)[-1] == 3600, "two thousand failures are no overflow"


def test_another_sync_is_no_failure(capfd: pytest.CaptureFixture[str]) -> None:
    assert pauses([AWAY, TAKEN, TAKEN, AWAY], 600) == [60, BUSY_PAUSE_S, BUSY_PAUSE_S, 120]
    assert "another sync" not in capfd.readouterr().err


def test_what_is_new_is_printed_once(capfd: pytest.CaptureFixture[str]) -> None:
    pauses(["nothing\n", "nothing\n", "three\n", AWAY, "three\n"], 600)
    out, err = capfd.readouterr()
    assert out == "nothing\nthree\nthree\n"
    assert "Could not resolve host" in err
    assert "look; again in 1 m" in err
    assert "\x1b" not in err


def test_it_ends_when_the_daemon_is_of_another_release(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = repeat(lambda: CliRunResult(0, False, "", ""), 600, lambda: True, lambda _: pytest.fail("it ends"))
    assert ended.exit_code == OLDER
    for version, outdated, expected in ((fast.VERSION, False, False), ("9.9", False, True), ("0.0", True, False)):
        running = Running(1, version, 1, outdated)
        monkeypatch.setattr(daemon, "probe", lambda _directory, running=running: running)
        assert background_sync._is_older(Path("/none")) is expected


def invocation(*words: str) -> Invocation:
    found = parse(CliRunParams(argv=["sync", *words], tty=True, tty_err=True, columns=80, color=True, env_store=None))
    assert isinstance(found, Invocation), found
    return found


@each_row(
    "words", [("a", "--every", "30s"), ("a", "--every", "soon"), ("a", "--every", "10m", "--identity", "-"),
              ("status", "--every", "10m")],
)  # fmt: skip
def test_what_is_refused(words: tuple[str, ...]) -> None:
    refused = parse(
        CliRunParams(argv=["sync", *words], tty=False, tty_err=False, columns=80, color=False, env_store=None)
    )
    assert isinstance(refused, CliRunResult)
    assert refused.exit_code == 2


def test_it_starts_the_daemon_and_is_no_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shared").mkdir()
    started: list[Path] = []
    calls: list[tuple[str, dict[str, Any]]] = []
    seen: list[bool] = []

    def call(_directory: Path, method: str, params: dict[str, Any], *_: object) -> Any:
        calls.append((method, params))
        if method == "sync.failed":
            return SyncFailedResult(store="default", count=1)
        return SyncStatusResult(store="default", device=None, targets=[])

    def exchange(*_: object) -> Any:
        if len(started) == 2:
            raise AWAY
        return NOTHING

    def once_more(run: Callable[[], CliRunResult], every_s: float, *_: object) -> CliRunResult:
        assert every_s == 600
        run()
        with pytest.raises(MnemonError):
            run()
        return CliRunResult(0, False, "", "")

    real = sync.run

    def watched(asked: Invocation, *rest: Any, **more: Any) -> CliRunResult:
        seen.extend((asked.output.tty, asked.output.tty_err))
        return real(asked, *rest, **more)

    monkeypatch.setattr(rpc, "call", call)
    monkeypatch.setattr(sync, "_exchange", exchange)
    monkeypatch.setattr(sync, "run", watched)
    monkeypatch.setattr(daemon, "start", lambda directory, _wait: started.append(directory))
    monkeypatch.setattr(background_sync, "repeat", once_more)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(os, "nice", lambda _: 0)
    asked = invocation(str(tmp_path / "shared"), "--every", "10m")
    background_sync.run(asked, tmp_path / "data", 1.0, "")
    assert started == [tmp_path / "data"] * 2
    assert seen == [False] * 4
    (failed,) = [params for method, params in calls if method == "sync.failed"]
    assert failed["background"]
    assert failed["why"].startswith("`git ls-remote`")
    assert "tty" not in {name for _, params in calls for name, value in params.items() if value}


def test_a_service_manager_ends_it_and_nothing_is_left(tmp_path: Path) -> None:
    """SIGTERM while a file is written: the draft is removed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads that earlier tests left waiting
        child = os.fork()
    if not child:
        signal.signal(signal.SIGTERM, background_sync._leave)

        def portions() -> Any:
            yield b"text\n" * 100_000
            (tmp_path / "begun").touch()
            time.sleep(60)

        try:
            with sync._directory(tmp_path) as folder:
                sync._Folder(folder).write("a" * 16, "00000001.jsonl", portions())
        except SystemExit as ended:
            os._exit(40 if ended.code == 0 else 1)
        os._exit(1)
    while not (tmp_path / "begun").exists():
        time.sleep(0.01)
    os.kill(child, signal.SIGTERM)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 40
    assert list((tmp_path / ("a" * 16)).iterdir()) == []
