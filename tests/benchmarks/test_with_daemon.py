"""The benchmarks themselves, small, against the real daemon."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from benchmarks import client, demo, latency, ping, recall, sizes, writers
from benchmarks.daemon_process import DaemonError, DaemonProcess, temporary_data_dir
from benchmarks.demo import Question
from benchmarks.synthetic import Notes

SCORER = """
import json, sys
command, bench, run = sys.argv[1:4]
options = sys.argv[4:]
lines = [json.loads(line) for line in open(run)]
first = sum(line["ranked"][:1] == ["m1"] for line in lines) / len(lines)
out = options[options.index("--json") + 1]
assert command == "score" and "--brief" in options and options[options.index("--boot") + 1] == "0"
open(out, "a").write(json.dumps({"turn": {"hit@1": first}}) + chr(10))
"""


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """As few rounds as show that each part measures what it says."""
    monkeypatch.setattr(sizes, "IDLE_S", 0.0)
    monkeypatch.setattr(sizes, "STARTS", 1)
    monkeypatch.setattr(sizes, "HOT_ROUNDS", 1)
    monkeypatch.setattr(client, "MEMORIES", 50)
    monkeypatch.setattr(ping, "BLOCK", 20)


def test_a_daemon_starts_answers_costs_something_and_leaves() -> None:
    with temporary_data_dir() as data_dir:
        with DaemonProcess(data_dir) as daemon, daemon.connect() as wire:
            assert wire.call("ping") == {"ok": True}
            for _ in range(10_000):  # the kernel counts in hundredths of a second
                if (usage := daemon.usage()).cpu_s > 0:
                    break
                wire.call("status")
            assert usage.cpu_s > 0
            assert usage.rss_mib > usage.anonymous_mib > 5
        assert not (data_dir / "sock").exists()
    assert not data_dir.exists()


def test_a_daemon_that_cannot_start_is_reported_with_its_words() -> None:
    with (
        temporary_data_dir("[lifecycle]\nmax_insight = 0\n") as data_dir,
        pytest.raises(DaemonError, match="max_insight"),
    ):
        DaemonProcess(data_dir).start()


def test_recall_fills_asks_scores_and_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench, scorer = tmp_path / "tiny.jsonl", tmp_path / "score.py"
    contents = ["Tea is served at four.", "The database moved to Dublin.", " ", "数据库迁移到都柏林。"]
    entries: list[dict[str, object]] = [
        {"type": "memory", "store": "a b", "id": f"m{number}", "seq": number, "content": content}
        for number, content in enumerate(contents)
    ]
    entries.append({"type": "query", "store": "a b", "id": "q", "text": "where is the database?", "gold": ["m1"]})
    bench.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    scorer.write_text(SCORER, encoding="utf-8")
    arguments = ["--data", str(bench), "--score", str(scorer), "--runs", str(tmp_path / "runs")]
    assert recall.main([*arguments, "--json", str(tmp_path / "out.json")]) == 0
    figures = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["recall"]
    assert [entry["mode"] for entry in figures] == list(recall.MODES)
    assert [entry["quality"]["turn"]["hit@1"] for entry in figures] == [1.0] * len(recall.MODES)
    assert [entry["memories"] for entry in figures] == [3] * len(recall.MODES)
    assert len(list((tmp_path / "runs").iterdir())) == len(recall.MODES)
    assert "hit@1" in capsys.readouterr().out


@pytest.mark.check_all
def test_recall_stops_when_the_scorer_fails(tmp_path: Path) -> None:
    bench, scorer = tmp_path / "tiny.jsonl", tmp_path / "score.py"
    memory = {"type": "memory", "store": "s", "id": "m1", "seq": 0, "content": "Tea at four."}
    query = {"type": "query", "store": "s", "id": "q", "text": "tea?"}
    bench.write_text(json.dumps(memory) + "\n" + json.dumps(query) + "\n")
    scorer.write_text("raise SystemExit('no such file')")
    with pytest.raises(SystemExit, match="no such file"):
        recall.main(["--data", str(bench), "--score", str(scorer), "--modes", "fused"])


def test_writers_count_acknowledged_memories() -> None:
    with temporary_data_dir() as data_dir, DaemonProcess(data_dir) as daemon:
        figures = writers.write(daemon, Notes(1).take(60), 8)
        assert figures["writes"] == 60
        with daemon.connect() as wire:
            assert wire.call("status")["total_insights"] == 60


@pytest.mark.check_all
def test_writers_are_compared_with_both_bases(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(writers, "WRITES", {1: 5, 64: 130})
    figures = writers.measure(1)
    assert figures["ratio_64_to_bare"]["best"] > 0
    assert figures["ratio_64_to_single"]["best"] > 0
    assert figures["rounds"][0]["one transaction each"]["writes"] == 135
    assert "64 writers / 1 writer" in writers.render(figures)
    assert "round 1" in capsys.readouterr().out


@pytest.mark.check_all
def test_sizes_measure_recall_floors_start_and_memory(capsys: pytest.CaptureFixture[str]) -> None:
    (figures,) = sizes.measure([60])
    assert figures["memories"] == 60
    assert figures["floors"]["ratio"] > 0
    assert figures["start"]["answered_s_min"] > figures["start"]["listening_s_min"] > 0
    assert "sum of its floors" in sizes.render([figures])
    assert "60 memories" in capsys.readouterr().out


@pytest.mark.check_all
def test_ping_is_measured_beside_an_echo() -> None:
    figures = ping.measure(1)
    assert figures["ratio_median"] > 0
    assert "Python echo" in ping.render(figures)


@pytest.mark.check_all
def test_latency_runs_the_parts_it_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out.json"
    assert latency.main(["--only", "client", "--rounds", "2", "--json", str(out)]) == 0
    figures = json.loads(out.read_text(encoding="utf-8"))
    assert set(figures["client"]["processes"]) == {"python -c pass", "mnemonctl recall", "client part"}
    assert "write" not in figures
    assert "mnemonctl recall" in capsys.readouterr().out


@pytest.mark.check_all
def test_the_client_of_any_environment_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = Path(sys.executable).parent
    assert client.main(["--bin", str(directory), "--rounds", "1", "--json", str(tmp_path / "out.json")]) == 0
    assert f"{directory}\n" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="there is no"):
        client.main(["--bin", str(tmp_path)])


def test_a_failing_command_is_no_measurement() -> None:
    with pytest.raises(SystemExit, match="status 1"):
        client.cost_of(["/bin/false"], dict(os.environ))


@pytest.mark.check_all
def test_the_demo_shows_answers_and_timings(capsys: pytest.CaptureFixture[str]) -> None:
    assert demo.main() == 0
    shown = capsys.readouterr().out
    assert shown.count("remembered [") == 12
    assert "similarity" in shown
    assert "recall inside the daemon" in shown


@pytest.mark.check_all
def test_the_demo_fails_when_an_answer_is_not_the_expected_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "NOTES", demo.NOTES[:2])
    monkeypatch.setattr(demo, "QUESTIONS", (Question("why did we pick SQLite", "The staging cluster"),))
    assert demo.main() == 1
    assert "should be answered by" in capsys.readouterr().err
