"""Compare the ranking with variants of it: without one part at a time, then other rankings.

    python -m benchmarks.ablation --data DIR/*.jsonl --score DIR/../score.py [--only WORD …] [--json FILE]

Runs in this process, on stores that are filled once by the product's own writes; one line a variant, for every file.
benchmarks.recall measures the daemon itself.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bench_files import LIMIT, BenchFile, load, ranked_line
from benchmarks.report import Cell, median, say, table, write_json
from benchmarks.scorer import MULTI_HOP, quality
from benchmarks.stores_in_process import ASKED_US, temporary_stores
from benchmarks.variants import VARIANTS, Variant
from benchmarks.wire import Json
from mnemond.embed import registry
from mnemond.embed.embedder import Embedder
from mnemond.index.snapshot import Snapshot
from mnemond.model.memory import parse_rfc3339
from mnemond.model.query import Filter, Query
from mnemond.recall.recall import recall

COLUMNS: dict[str, tuple[str, ...]] = {
    "R@10": ("turn", "recall@10"),
    "nDCG": ("turn", "ndcg@10"),
    "MRR": ("turn", "mrr"),
    "hit@1": ("turn", "hit@1"),
    "hop": (MULTI_HOP, "turn", "recall@10"),
    "ses1": ("session", "hit@1"),
    "ses5": ("session", "recall@5"),
    "upd": ("upd",),
    "AUROC": ("auroc",),
}
"""Figures of the scorer by the names they have here: "hop" is R@10 of multi-hop questions, "ses1" and "ses5" are hit@1
and R@5 of sessions."""

SHOWN: dict[str, tuple[str, ...]] = {
    "locomo": ("R@10", "nDCG", "hop", "ses1", "ses5", "AUROC"),
    "beam_100k": ("R@10", "nDCG", "upd"),
    "tm_changelog": ("R@10", "MRR"),
    "lme_mini": ("ses5",),
    "cmrc2018_zh": ("hit@1",),
}
"""Figures that are printed for a file; `OTHERWISE` for any other."""

OTHERWISE = ("R@10", "MRR", "nDCG")


@dataclass(frozen=True)
class Filled:
    """A file and its filled stores."""

    bench: BenchFile
    snapshots: dict[str, Snapshot]


def query_of(query: Json, variant: Variant) -> Query:
    """A question as the daemon would see it."""
    now_us = parse_rfc3339(query["ref_time"]) if query.get("ref_time") else ASKED_US
    seen = Filter(now_us=now_us, clock_us=ASKED_US)
    return Query(text=query["text"], limit=LIMIT, filter=seen, now_us=now_us, **variant.asks)


def answers(filled: Filled, variant: Variant, embedder: Embedder) -> Iterator[tuple[str, float]]:
    """A run line and the wall milliseconds of every query."""
    for store, queries in filled.bench.queries.items():
        for query in queries:
            asked = query_of(query, variant)
            begin = time.perf_counter()
            found = recall(filled.snapshots[store], asked, embedder, time.perf_counter)
            took = (time.perf_counter() - begin) * 1000
            yield ranked_line(query, [hit.insight.id for hit in found.hits], [hit.score for hit in found.hits]), took


def measure(filled: Filled, variant: Variant, embedder: Embedder, scorer: Path, scratch: Path) -> Json:
    """The figures of one variant on one file."""
    with variant.in_force():
        lines, times = zip(*answers(filled, variant, embedder), strict=True)
    run = scratch / f"{filled.bench.name}.jsonl"
    run.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    figures = quality(scorer, filled.bench, run, variant.name)
    return {"file": filled.bench.name, "variant": variant.name, "p50_ms": median(times), "quality": figures}


def run(files: Sequence[Path], scorer: Path, variants: Sequence[Variant]) -> list[Json]:
    """The figures of every variant on every file that has queries; each line is printed when it is done."""
    embedder = registry.create(registry.DEFAULT)
    benches = [bench for bench in map(load, files) if bench.query_count]
    figures: list[Json] = []
    with temporary_stores(embedder) as stores, tempfile.TemporaryDirectory() as scratch:
        for bench in benches:
            stores.fill(bench)
            say(f"{bench.name}: {bench.query_count} queries")
        as_shipped = [Filled(bench, stores.snapshots(bench)) for bench in benches]
        for variant in variants:
            asked = as_shipped
            if variant.indexes:
                with variant.in_force():
                    asked = [Filled(bench, stores.snapshots(bench)) for bench in benches]
            figures += [measure(each, variant, embedder, scorer, Path(scratch)) for each in asked]
            say("  " + " ".join(str(cell) for cell in _row(variant.name, figures[-len(benches) :])))
    return figures


def heads(names: Sequence[str]) -> list[str]:
    """Of the table over these files."""
    of_files = [f"{name[:3]} {column}" for name in names for column in (*SHOWN.get(name, OTHERWISE), "ms")]
    return ["variant", *of_files]


def _row(name: str, figures: Sequence[Json]) -> list[Cell]:
    cells: list[Cell] = [name]
    for each in figures:
        cells += [_figure(each["quality"], COLUMNS[column]) for column in SHOWN.get(each["file"], OTHERWISE)]
        cells.append(round(each["p50_ms"], 2))
    return cells


def _figure(scored: Json, path: Sequence[str]) -> Cell:
    found: object = scored
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return round(found, 3) if isinstance(found, float) else None


def parse(argv: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ablation", description=__doc__)
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="benchmark files")
    parser.add_argument("--score", type=Path, required=True, help="the scorer, a Python program")
    parser.add_argument("--only", nargs="+", help="variants with one of these words in their name")
    parser.add_argument("--json", type=Path, help="file for the figures")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """0 when every variant was measured."""
    options = parse(argv)
    wanted = [each for each in VARIANTS if not options.only or any(word in each.name for word in options.only)]
    if not wanted:
        raise SystemExit(f"no variant has {' or '.join(options.only)} in its name")
    figures = run(options.data, options.score, wanted)
    names = list(dict.fromkeys(each["file"] for each in figures))
    by_variant = [[each for each in figures if each["variant"] == variant.name] for variant in wanted]
    rows = [_row(variant.name, found) for variant, found in zip(wanted, by_variant, strict=True)]
    say(table("ablation (p50 in this process)", heads(names), rows))
    write_json(options.json, {"ablation": figures})
    return 0


if __name__ == "__main__":
    sys.exit(main())
