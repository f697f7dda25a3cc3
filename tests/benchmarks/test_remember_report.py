"""The benchmark of remembering, small: that it measures what it says, and that it would notice if it did not."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import apsw
import pytest

from benchmarks import remember
from benchmarks.bare_write import BareWrites, Flush
from benchmarks.daemon_process import DaemonProcess, temporary_data_dir
from benchmarks.diary import SESSION, SOURCES, Diary
from benchmarks.wire import RpcError


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remember, "WARM_UP", 2)


def test_a_diary_is_reproducible_and_its_texts_are_distinct() -> None:
    entries = Diary(1).take(400)
    assert entries == Diary(1).take(400)
    assert entries != Diary(2).take(400)
    assert len({entry["content"] for entry in entries}) == 400
    assert Counter(entry["conversation_id"] for entry in entries).most_common(1)[0][1] == SESSION
    assert {entry["source"] for entry in entries} == set(SOURCES)
    assert any(" because " in entry["content"] for entry in entries)
    assert any(" on 2026-" in entry["content"] for entry in entries)


@pytest.mark.check_all
def test_everything_is_measured_and_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.json"
    sizes = ["--sizes", "70", "90", "--rounds", "6", "--cpu-writes", "20"]
    assert remember.main([*sizes, "--json", str(out)]) == 0
    figures = json.loads(out.read_text(encoding="utf-8"))
    assert [one["memories"] for one in figures["remember"]] == [70, 90]
    for one in figures["remember"]:
        assert one["floor_ms"] == pytest.approx(one["flush_p50_ms"] + one["bare_p50_ms"])
        assert one["ratio"] == pytest.approx(one["remember_p50_ms"] / one["floor_ms"])
        assert one["within_floor"] is (one["ratio"] <= remember.MOST_TIMES_FLOOR)
        assert sum(one["actions"].values()) == one["cpu_writes"] == 20
        assert one["temporal_edges"] > 1
        assert one["edge_rows"] > 2
    assert [(one["connections"], one["memories"]) for one in figures["import"]] == [(1, 90), (4, 90)]
    shown = capsys.readouterr().out
    assert "4 with 256 in flight" in shown
    assert "one flush" in shown


def test_what_the_daemon_wrote_is_written_again(tmp_path: Path) -> None:
    notes = [
        "Priya owns the Redis cluster",
        "Priya owns the Redis cluster in Dublin now",
        "Priya owns the Redis cluster",
    ]
    with temporary_data_dir() as data_dir, DaemonProcess(data_dir) as daemon, daemon.connect() as wire:
        wire.call("remember", content="The staging cluster runs in Frankfurt")
        bare = BareWrites(Path(wire.call("status")["db_path"]), tmp_path / "copy.db")
        replies = [wire.call("remember", content=note) for note in notes]
        assert [reply["action"] for reply in replies] == ["added", "replaced", "skipped"]
        assert bare.differing() != []
        assert all(bare.run_ms(reply["op_id"]) > 0 for reply in replies)
        assert bare.differing() == []
        assert bare.edge_rows > 0
        assert bare.importance_rows > 0
        bare.close()


def test_a_bare_transaction_that_writes_something_else_is_no_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BareWrites, "run_ms", lambda *_: 1.0)
    with (
        temporary_data_dir() as data_dir,
        DaemonProcess(data_dir) as daemon,
        pytest.raises(RpcError, match="did not write what the daemon wrote to insights, edge_rows"),
    ):
        remember._beside_the_floor(daemon, data_dir, Diary(1).take(4))


def test_an_import_that_fails_is_reported() -> None:
    with temporary_data_dir() as data_dir, DaemonProcess(data_dir) as daemon:
        bad = [{"content": ""}] * 3
        with pytest.raises(RpcError, match="content is empty"):
            remember.pour(daemon, bad, 2)
        assert remember.pour(daemon, [], 1) < 1


def test_an_import_that_loses_something_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remember, "pour", lambda *_: 1.0)
    with pytest.raises(RpcError, match="3 memories were sent and 0 are there"):
        remember._import(3, 1)


def test_a_flush_reaches_the_file(tmp_path: Path) -> None:
    flush = Flush(tmp_path / "flushed")
    assert flush.run_ms() > 0
    flush.close()
    assert (tmp_path / "flushed").stat().st_size == 4096


def test_the_copy_is_opened_as_the_product_opens_its_own(tmp_path: Path) -> None:
    with temporary_data_dir() as data_dir, DaemonProcess(data_dir) as daemon, daemon.connect() as wire:
        wire.call("remember", content="The kettle is on")
        bare = BareWrites(Path(wire.call("status")["db_path"]), tmp_path / "copy.db")
        assert (bare._copy.pragma("journal_mode"), bare._copy.pragma("synchronous")) == ("wal", 2)
        assert (bare._copy.pragma("secure_delete"), bare._copy.pragma("foreign_keys")) == (1, 1)
        assert isinstance(bare._live, apsw.Connection)
        bare.close()


@pytest.mark.check_all
@pytest.mark.skipif(shutil.which("cc") is None, reason="a slower disk is made with a C compiler")
def test_a_slower_disk_is_slower_for_the_daemon_and_for_the_floor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spaced = tmp_path / "with a space"
    spaced.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spaced))
    out = tmp_path / "out.json"
    sizes = ["--sizes", "20", "--rounds", "2", "--cpu-writes", "2"]
    with pytest.raises(SystemExit) as left:
        remember.main([*sizes, "--flush-ms", "3", "--json", str(out)])
    assert left.value.code == 0
    (found,) = json.loads(out.read_text(encoding="utf-8"))["remember"]
    assert min(found["flush_p50_ms"], found["bare_p50_ms"], found["remember_p50_ms"]) >= 3


def test_a_slower_disk_takes_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(SystemExit, match=r"C compiler .cc.; leave --flush-ms out"):
        remember.main(["--flush-ms", "1"])
