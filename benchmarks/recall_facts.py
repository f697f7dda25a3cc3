"""Recall of a conversation's turns alone, and with the facts that extraction finds in them.

    python -m benchmarks.recall_facts --data DIR/locomo.jsonl --score DIR/../score.py [--turns N] [--endpoint URL]

Every store is asked three times by a real daemon: with its turns; after `extract` has read each turn by itself and
stored its facts beside them; and, filled anew, with the facts as cues of the turn that they come from. A fact stands
for its turn. "by place": a turn whose fact stands before it takes a second place, as a reader of ten results would see
it; "by turn": the list without such repetitions.

`--endpoint` reads with a language model as well (`extraction.engine = "auto"`); `--turns N` reads the first of a store.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.bench_files import BenchFile, load, ranked_line, recall_params, remember_params
from benchmarks.daemon_process import NO_CAP, DaemonProcess, temporary_data_dir
from benchmarks.recall import Filled, fill, store_name
from benchmarks.report import Cell, say, table
from benchmarks.scorer import MULTI_HOP, quality
from benchmarks.wire import Json, Wire

TIMEOUT_S = 900.0
MOST_CUES = 8
HEADS = ("", "hit@1", "R@5", "R@10", "MRR", "nDCG@10", "multi-hop R@10", "session R@10")


def extract(wire: Wire, bench: BenchFile, filled: dict[str, Filled], turns: int | None) -> dict[str, list[str]]:
    """Store the facts of every turn, and let them stand for it; return their texts by store and turn."""
    made: dict[str, list[str]] = defaultdict(list)
    for store, target in filled.items():
        said = [each for each in bench.memories[store] if each["content"].strip()][:turns]
        requests = (_request(turn, target.name) for turn in said)
        for turn, result in zip(said, wire.pipeline("extract", requests), strict=True):
            for fact in result["facts"]:
                if fact["action"] in ("CREATE", "UPDATE", "MERGE"):
                    target.bench_ids[fact["memory_id"]] = turn["id"]
                    made[f"{store} {turn['id']}"].append(fact["content"])
    return made


def fill_with_cues(wire: Wire, bench: BenchFile, facts: dict[str, list[str]]) -> dict[str, Filled]:
    """Fill other stores with the turns, each with its facts as cues."""
    filled = {}
    for store in bench.queries:
        name = f"{store_name(bench.name, store)[:58]}-cues"
        wire.call("store.create", name=name)
        said = [each for each in bench.memories[store] if each["content"].strip() or each.get("caption")]
        requests = (
            remember_params(each, name) | {"cues": facts.get(f"{store} {each['id']}", [])[:MOST_CUES]} for each in said
        )
        results = wire.pipeline("remember", requests)
        filled[store] = Filled(name, {it["id"]: each["id"] for it, each in zip(results, said, strict=True)})
    return filled


def _request(turn: Json, store: str) -> Json:
    message = {"role": "user", "name": turn["speaker"], "content": turn["content"]}
    return {
        "store": store, "messages": [message], "conversation_id": turn["session"],
        "observation_date": turn["ts"], "auto_resolve_conflicts": False,
    }  # fmt: skip


def ask(wire: Wire, bench: BenchFile, filled: dict[str, Filled], *, places: bool) -> Iterator[str]:
    """A run line of every query; with `places` a repeated turn keeps its place under a name that answers nothing."""
    for store, queries in bench.queries.items():
        target = filled[store]
        for query in queries:
            hits = wire.call("recall", **recall_params(query, target.name))["results"]
            turns = [target.bench_ids[hit["insight"]["id"]] for hit in hits]
            seen: set[str] = set()
            ranked: list[tuple[str, float]] = []
            for at, (turn, hit) in enumerate(zip(turns, hits, strict=True)):
                if turn not in seen:
                    ranked.append((turn, hit["score"]))
                elif places:
                    ranked.append((f"repeated-{at}", hit["score"]))
                seen.add(turn)
            yield ranked_line(query, [turn for turn, _ in ranked], [score for _, score in ranked])


def measure(bench: BenchFile, scorer: Path, config: str, turns: int | None) -> tuple[list[list[Cell]], int]:
    """A row for the turns alone, and one for each way to count the facts; and the number of facts."""
    with (
        tempfile.TemporaryDirectory() as scratch,
        temporary_data_dir(config) as data_dir,
        DaemonProcess(data_dir) as daemon,
        Wire(daemon.socket_path, TIMEOUT_S) as wire,
    ):
        filled = fill(wire, bench)
        rows = [_scored(bench, scorer, Path(scratch), "turns alone", list(ask(wire, bench, filled, places=False)))]
        made = extract(wire, bench, filled, turns)
        for label, places in (("turns and facts, by place", True), ("turns and facts, by turn", False)):
            rows.append(_scored(bench, scorer, Path(scratch), label, list(ask(wire, bench, filled, places=places))))
        filled = fill_with_cues(wire, bench, made)
        lines = list(ask(wire, bench, filled, places=False))
        rows.append(_scored(bench, scorer, Path(scratch), "turns, facts as cues", lines))
    return rows, sum(map(len, made.values()))


def _scored(bench: BenchFile, scorer: Path, folder: Path, label: str, lines: Sequence[str]) -> list[Cell]:
    run = folder / "run.jsonl"
    run.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    found = quality(scorer, bench, run, label)
    turn, session = found.get("turn", {}), found.get("session", {})
    hops = found.get(MULTI_HOP, {}).get("turn", {})
    cells = [turn.get(key) for key in ("hit@1", "recall@5", "recall@10", "mrr", "ndcg@10")]
    cells += [hops.get("recall@10"), session.get("recall@10")]
    return [label, *(None if each is None else round(float(each), 3) for each in cells)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and report."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall_facts", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a benchmark file of conversations")
    parser.add_argument("--score", type=Path, required=True, help="the scorer, a Python program")
    parser.add_argument("--turns", type=int, help="read only the first N turns of each store")
    parser.add_argument("--endpoint", help="an OpenAI-compatible server: read with a language model as well")
    options = parser.parse_args(arguments)
    config = NO_CAP
    if options.endpoint:
        config += (
            f'[extraction]\nengine = "auto"\n[llm]\nprovider = "openai"\nendpoint = "{options.endpoint}"\n'
            'model = "measured"\ntimeout_s = 600\nmax_calls_per_day = 0\nmax_tokens_per_day = 0\n'
        )
    bench = load(options.data)
    rows, made = measure(bench, options.score, config, options.turns)
    turns = sum(len(each) for each in bench.memories.values())
    say(table(f"{bench.name}: {turns} turns, {made} facts, {bench.query_count} questions", HEADS, rows))


if __name__ == "__main__":
    main(sys.argv[1:])
