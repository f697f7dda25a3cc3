"""The report on secrets: sampling, masking, counting, the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.secrets import evenly, false_positives, installed, lines_of, main, masked, recall_of
from mnemond.text.secrets import Secret

HIT = "password = " + "winter94!x"


def test_lines_are_sampled_evenly_and_once() -> None:
    assert evenly(["a", "b", "a", "c", "d"], 2) == ["a", "c"]
    assert evenly(["a", "a"], 5) == ["a"]


def test_lines_come_from_files_folders_and_json(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n\n  two  \n123\n", encoding="utf-8")
    (tmp_path / "b.jsonl").write_text(json.dumps({"content": "three"}) + "\n[]\nbroken\n{}\n", encoding="utf-8")
    (tmp_path / "c.bin").write_text("four", encoding="utf-8")
    assert list(lines_of([tmp_path])) == ["one", "two", "three"]
    assert all(path.is_dir() for path in installed())


def test_what_was_found_is_masked() -> None:
    (found,) = false_positives(["nothing here", HIT])
    assert (found.kind, found.line) == ("password", "password = wi******!x")
    assert masked("abcdef", (Secret("x", 0, 6),)) == "ab**ef"


def test_recall_counts_and_keeps_misses_masked() -> None:
    recall = recall_of("github", 14)
    assert (recall.n, recall.found, recall.exact, recall.misses) == (14, 14, 14, [])


def test_the_report_ends_with_1_when_a_rate_is_too_high(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.secrets.HOSTILE", ("a",))
    (tmp_path / "a.txt").write_text(f"plain line\n{HIT}\n", encoding="utf-8")
    figures = tmp_path / "figures.json"
    assert main([str(tmp_path / "a.txt"), "--samples", "14", "--misses", "1", "--json", str(figures)]) == 1
    assert "1 of 2 lines" in capsys.readouterr().out
    assert json.loads(figures.read_text(encoding="utf-8"))["false_positives"][0]["found"] == 1
