"""The reports on the diff: groups, counts, cosines, and a conversation replayed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import pairs, replay_diff
from benchmarks.bench_files import load
from benchmarks.diff_paths import LEXICAL, cosine, paths, prepared
from mnemond.embed import registry
from mnemond.memory.diff import LITERAL, SAFEGUARDS
from tests.tables import each_row

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


def test_every_line_has_a_group(pair_file: Path) -> None:
    loaded = pairs.load_pairs(pair_file)
    assert [pair.group for pair in loaded[: len(LINES)]] == [
        *(pairs.ENTAILMENT, pairs.CONTRADICTION, pairs.REFINEMENT, pairs.NEUTRAL),
        *(pairs.EQUIVALENT, pairs.SIMILAR, pairs.UNRELATED),
    ]
    drawn = loaded[len(LINES) :]
    assert len(drawn) == pairs.RANDOM_PAIRS
    assert all(pair.group == pairs.RANDOM and pair.old != pair.new for pair in drawn)


def test_actions_are_counted_by_group(pair_file: Path) -> None:
    loaded = pairs.load_pairs(pair_file)[: len(LINES)]
    sides = {text: prepared(text) for pair in loaded for text in (pair.old, pair.new)}
    lexical = paths((), SAFEGUARDS)[0]
    rows = {row[0]: row[1:] for row in pairs.actions(pairs.judged(lexical, loaded, sides))}
    assert rows[pairs.ENTAILMENT] == [1, 1, 0, 0, 0, 0]
    assert rows[pairs.CONTRADICTION] == [1, 0, 1, 0, 0, 0]
    assert rows[pairs.NEUTRAL] == [1, 0, 0, 0, 0, 1]
    assert pairs.RANDOM not in rows
    assert pairs.cosines(pairs.judged(lexical, loaded, sides)) == []


@each_row(
    ("higher", "lower", "area"),
    [
        ([3.0, 4.0], [1.0, 2.0], 1.0),
        ([1.0], [2.0], 0.0),
        ([1.0, 2.0], [1.0, 2.0], 0.5),
        ([2.0, 3.0], [1.0, 3.0], 0.625),
    ],
)
def test_the_area_under_the_curve(higher: list[float], lower: list[float], area: float) -> None:
    assert pairs.area_under_curve(higher, lower) == pytest.approx(area)


def test_the_report_on_pairs(pair_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert pairs.main(["--data", str(pair_file), "--embedder", STATIC, "--literal"]) == 0
    out = capsys.readouterr().out
    assert f"actions: {LEXICAL} (override 0.700)" in out
    assert f"cosines: {STATIC}" in out


def test_an_embedder_that_cannot_be_loaded_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [path.name for path in paths([STATIC], LITERAL)] == [LEXICAL, STATIC]
    assert [path.name for path in paths(["no-such"], LITERAL)] == [LEXICAL]
    assert "no-such is left out" in capsys.readouterr().out


def test_vectors_keep_the_order_of_their_texts() -> None:
    lexical, static = paths([STATIC], SAFEGUARDS)
    texts = ["a long sentence about a dog in the park", "cat", ""]
    assert lexical.vectors(texts) == [None, None, None]
    long_one, short_one, empty = static.vectors(texts)
    assert empty is None
    assert cosine(long_one, empty) is None
    assert cosine(long_one, static.vectors(texts[:1])[0]) == pytest.approx(1.0)
    assert cosine(short_one, static.vectors(["cat"])[0]) == pytest.approx(1.0)


def test_a_conversation_replayed(conversation: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay_diff.main(["--data", str(conversation), "--embedder"]) == 0
    out = capsys.readouterr().out
    assert out.count("CONFLICT  similarity 1.000") == 1
    assert out.count("DUPLICATE  similarity 1.000") == 1
    assert "old m1 Ana: Deploys on Friday are allowed" in out
    row = next(line for line in out.splitlines() if line.startswith("s  "))
    assert row.split() == ["s", "5", "3", "1", "1", "0", "1"]


def test_a_turn_that_was_retired_meets_nobody(conversation: Path) -> None:
    lexical = paths((), SAFEGUARDS)[0]
    [done] = replay_diff.report(lexical, load(conversation))
    assert [(met.old.memory["id"], met.new.memory["id"]) for met in done.met] == [("m1", "m3"), ("m2", "m4")]
    assert [standing.memory["id"] for standing in done.standing.values()] == ["m2", "m3", "m5"]
