"""Quality and speed of recall on benchmark files, through the real daemon and its socket.

    python -m benchmarks.recall --data DIR/*.jsonl --score DIR/../score.py [--runs OUT] [--json FILE]

Each file's stores are filled once; every ablation queries the same stores. The scorer is run as a program of its own.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.bench_files import BenchFile, load, recall_params, remember_params, run_line
from benchmarks.daemon_process import NO_CAP, DaemonProcess, temporary_data_dir
from benchmarks.report import Cell, percentile, say, table, write_json
from benchmarks.scorer import MULTI_HOP, quality
from benchmarks.wire import Json, Wire, request, result_of

MODES: dict[str, Json] = {
    "fused": {},
    "keyword": {"anchors": ["keyword"]},
    "vector": {"anchors": ["vector"]},
    "beam": {"mode": "beam"},
    "ppr": {"mode": "ppr"},
    "probabilistic": {"mode": "probabilistic"},
    "mnemon": {"profile": "mnemon"},
}
"""Ablations and their parameters: one signal alone, each way to follow links, the published ranking; no parameters are
the product's default."""

HEADS = (
    *("file", "mode", "n", "hit@1", "R@5", "R@10", "MRR", "nDCG@10", "hop R@10", "ses hit@1", "ses R@5", "ses R@10"),
    *("upd", "AUROC", "p50 ms", "p95 ms"),
)


@dataclass(frozen=True)
class Filled:
    """A bench store inside the daemon: its name there, and the file's id of each of its memories."""

    name: str
    bench_ids: dict[str, str]


def store_name(bench: str, store: str) -> str:
    """A valid store name for one store of one file."""
    return re.sub(r"[^A-Za-z0-9_-]", "-", f"{bench}-{store}")[:64]


def fill(wire: Wire, bench: BenchFile) -> dict[str, Filled]:
    """One fresh store for each store that has queries, its memories inserted in order.

    A memory without a word is left out, because the product rightly refuses it.
    """
    filled = {}
    for store in bench.queries:
        name = store_name(bench.name, store)
        if not wire.call("store.create", name=name)["created"]:
            raise SystemExit(f"two stores are both called {name}")
        memories = [memory for memory in bench.memories[store] if memory["content"].strip() or memory.get("caption")]
        results = wire.pipeline("remember", (remember_params(memory, name) for memory in memories))
        ids = {result["id"]: memory["id"] for result, memory in zip(results, memories, strict=True)}
        if len(ids) != len(memories):
            raise SystemExit(f"{name}: {len(memories)} memories were given {len(ids)} ids")
        filled[store] = Filled(name, ids)
    return filled


def ask(wire: Wire, bench: BenchFile, filled: dict[str, Filled], mode: str) -> Iterator[tuple[str, float]]:
    """A run line and the wall milliseconds of every query."""
    for store, queries in bench.queries.items():
        target = filled[store]
        for query in queries:
            params = recall_params(query, target.name) | MODES[mode]
            message = request(1, "recall", params)
            begin = time.perf_counter()
            reply = wire.round_trip(message)
            took = (time.perf_counter() - begin) * 1000
            yield run_line(query, result_of(reply), target.bench_ids), took


def measure(wire: Wire, bench: BenchFile, scorer: Path, runs: Path, modes: list[str]) -> list[Json]:
    """Fill the stores of one file and put every mode to the test."""
    begin = time.perf_counter()
    filled = fill(wire, bench)
    fill_s = time.perf_counter() - begin
    memories = sum(len(store.bench_ids) for store in filled.values())
    figures = []
    for mode in modes:
        answers = list(ask(wire, bench, filled, mode))
        run = runs / f"{bench.name}.{mode}.jsonl"
        run.write_text("".join(line + "\n" for line, _ in answers), encoding="utf-8")
        times = [took for _, took in answers]
        figures.append({
            "file": bench.name, "mode": mode, "queries": len(times), "memories": memories,
            "fill_s": fill_s, "p50_ms": percentile(times, 0.5), "p95_ms": percentile(times, 0.95),
            "quality": quality(scorer, bench, run, mode),
        })  # fmt: skip
        say("  " + " ".join(str(cell) if cell is not None else "-" for cell in _row(figures[-1])))
    return figures


def _row(figures: Json) -> list[Cell]:
    scored: dict[str, Any] = figures["quality"]
    turn, session, hops = scored.get("turn", {}), scored.get("session", {}), scored.get(MULTI_HOP, {})
    cells = [turn.get(key) for key in ("hit@1", "recall@5", "recall@10", "mrr", "ndcg@10")]
    cells += [hops.get("turn", {}).get("recall@10"), *(session.get(key) for key in ("hit@1", "recall@5", "recall@10"))]
    cells += [scored.get("upd"), scored.get("auroc"), figures["p50_ms"], figures["p95_ms"]]
    rounded = [None if cell is None else round(float(cell), 3) for cell in cells]
    return [figures["file"], figures["mode"], figures["queries"], *rounded]


def run(files: list[Path], scorer: Path, runs: Path, modes: list[str], config: str) -> list[Json]:
    """The figures of every file that has queries, in one daemon."""
    figures: list[Json] = []
    with temporary_data_dir(config) as data_dir, DaemonProcess(data_dir) as daemon, daemon.connect() as wire:
        for path in files:
            bench = load(path)
            if not bench.query_count:
                say(f"{bench.name}: no queries, left out")
                continue
            say(f"{bench.name}: {sum(map(len, bench.memories.values()))} memories, {bench.query_count} queries")
            figures += measure(wire, bench, scorer, runs, modes)
    return figures


def parse(argv: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recall", description=__doc__)
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="benchmark files")
    parser.add_argument("--score", type=Path, required=True, help="the scorer, a Python program")
    parser.add_argument("--runs", type=Path, help="directory to keep the run lines in")
    parser.add_argument("--json", type=Path, help="file for the figures")
    parser.add_argument("--modes", nargs="+", choices=list(MODES), default=list(MODES))
    parser.add_argument("--model", help="embedding.model of the stores; the product's default unless given")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """0 when every file was measured."""
    options = parse(argv)
    config = NO_CAP + (f'[embedding]\nmodel = "{options.model}"\n' if options.model else "")
    with tempfile.TemporaryDirectory() as scratch:
        runs = options.runs or Path(scratch)
        runs.mkdir(parents=True, exist_ok=True)
        figures = run(options.data, options.score, runs, options.modes, config)
    say(
        table(
            'recall (turn level unless "ses": session level; "hop": multi-hop questions)',
            HEADS,
            [_row(entry) for entry in figures],
        )
    )
    write_json(options.json, {"recall": figures})
    return 0


if __name__ == "__main__":
    sys.exit(main())
