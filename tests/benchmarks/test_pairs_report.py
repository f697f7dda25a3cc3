"""The reports on the diff: groups, counts, cosines, and a conversation replayed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import pairs, replay_diff
from benchmarks.diff_paths import LEXICAL
from mnemond.embed import registry

STATIC = registry.DEFAULT
LINES = (
    ("A dog runs home", "A dog runs home.", "entailment", None),
    ("The man walks a dog", "The man does not walk a dog", "contradiction", None),
    ("A dog runs", "A brown dog runs in the park", "neutral", None),
    ("A dog runs fast", "Two cats sleep on a mat", "neutral", None),
    ("A dog runs home", "A dog runs home", "sts", 5.0),
    ("A dog runs home", "A cat sleeps", "sts", 3.0),
    ("A dog runs home", "Stocks fell", "sts", 0.5),
)


@pytest.fixture
def pair_file(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.jsonl"
    entries = [{"type": "meta"}, *({"type": "pair", "a": a, "b": b, "label": d, "score": s} for a, b, d, s in LINES)]
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return path


def turn(number: int, speaker: str, content: str, **more: str) -> dict[str, object]:
    return {
        "type": "memory", "store": "s", "id": f"m{number}", "seq": number, "ts": "2024-01-02T03:04:05Z",
        "session": "s1", "speaker": speaker, "role": "user", "content": content, **more,
    }  # fmt: skip


@pytest.fixture
def conversation(tmp_path: Path) -> Path:
    path = tmp_path / "talk.jsonl"
    turns = [
        turn(1, "Ana", "Deploys on Friday are allowed"),
        turn(2, "Ben", "See you tomorrow at the lake"),
        turn(3, "Ana", "Deploys on Friday are not allowed"),
        turn(4, "Ben", "See you tomorrow at the lake!"),
        turn(5, "Ben", "See you tomorrow at the office"),
    ]
    path.write_text("".join(json.dumps(entry) + "\n" for entry in turns))
    return path


def test_the_report_on_pairs(pair_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert pairs.main(["--data", str(pair_file), "--embedder", STATIC, "--literal"]) == 0
    out = capsys.readouterr().out
    assert f"actions: {LEXICAL} (override 0.700)" in out
    assert f"cosines: {STATIC}" in out


def test_a_conversation_replayed(conversation: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay_diff.main(["--data", str(conversation), "--embedder"]) == 0
    out = capsys.readouterr().out
    assert out.count("CONFLICT  similarity 1.000") == 1
    assert out.count("DUPLICATE  similarity 1.000") == 1
    assert "old m1 Ana: Deploys on Friday are allowed" in out
    row = next(line for line in out.splitlines() if line.startswith("s  "))
    assert row.split() == ["s", "5", "3", "1", "1", "0", "1"]
