"""The report on the resolver: by rules in both orders, and with a model's answers behind the gates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio

from benchmarks import resolver
from benchmarks.diff_paths import paths, prepared
from benchmarks.pairs import Pair, judged
from mnemond.memory.diff import SAFEGUARDS
from tests.benchmarks.test_pairs_report import LINES, pair_file
from tests.llm.scripted import says, scripted

__all__ = ["pair_file"]


@pytest.mark.check_all
def test_by_rules_in_both_orders(pair_file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert resolver.main(["--data", str(pair_file), "--embedder"]) == 0
    shown = capsys.readouterr().out
    assert "resolver: words alone" in shown
    for order in ("as written", "reversed"):
        assert f"words alone, {order}: labelled neutral and superseded: 0 of 2 (0.00%)" in shown


@pytest.mark.check_all
def test_misses_are_printed_of_the_seen_half_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pairs = [(f"The office of team {n} is in Berlin", f"The office of team {n} is not in Berlin") for n in range(8)]
    path = tmp_path / "pairs.jsonl"
    path.write_text("\n".join(json.dumps({"type": "pair", "a": a, "b": b, "label": "neutral"}) for a, b in pairs))
    halves = {a: resolver.half_of(Pair(a, b, "")) for a, b in pairs}
    assert set(halves.values()) == {"seen", "unseen"}
    assert all(resolver.half_of(Pair(b, a, "")) == halves[a] for a, b in pairs)
    assert resolver.main(["--data", str(path), "--embedder", "--misses"]) == 0
    shown = capsys.readouterr().out
    for text, half in halves.items():
        assert (f"    {text}\n" in shown) == (half == "seen")
    assert resolver.main(["--data", str(path), "--embedder", "--misses", "--half", "unseen"]) == 0
    assert "    The office" not in capsys.readouterr().out


@pytest.mark.parametrize("relation", ["newer_replaces_older", "unrelated", "delete", "adds_detail"])
async def test_a_model_s_answers_pass_the_gates(
    pair_file: Path, capsys: pytest.CaptureFixture[str], relation: str
) -> None:
    data = ["--data", str(pair_file), "--embedder", "--engine", "llm", "--sample", "7"]
    async with scripted([says(json.dumps({"relation": relation})), says("no JSON")]) as server:

        def run() -> None:
            assert resolver.main([*data, "--endpoint", server.url]) == 0

        await trio.to_thread.run_sync(run)
    assert len(server.requests) == len(LINES)
    shown = capsys.readouterr().out
    assert "relations that the model names" in shown
    assert "labelled neutral and superseded: 0 by rules, 0 more by the model, of 2" in shown


def test_a_model_needs_an_address(pair_file: Path) -> None:
    with pytest.raises(SystemExit):
        resolver.main(["--data", str(pair_file), "--engine", "llm"])


def test_what_the_gates_admit() -> None:
    path = paths((), SAFEGUARDS)[0]
    pairs = [Pair("The office is in Berlin", "The office is in Munich", ""), Pair("Ana likes tea", "Bob runs", "")]
    sides = {text: prepared(text) for pair in pairs for text in (pair.old, pair.new)}
    asked, apart = judged(path, pairs, sides)
    assert resolver.decided(asked, "newer_replaces_older", path) == "SUPERSEDE"
    assert resolver.decided(asked, "unrelated", path) == "COEXIST"
    assert resolver.decided(asked, resolver.NO_ANSWER, path) == "COEXIST"
    assert resolver.decided(asked, "same", path) == "COEXIST"
    assert resolver.decided(apart, "newer_replaces_older", path) == "COEXIST"
