"""The scorer of the benchmark files, run as a program of its own, and its figures."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.bench_files import BenchFile
from benchmarks.wire import Json

MULTI_HOP = "multi-hop"
"""Category of questions that more than one memory answers together."""


def quality(scorer: Path, bench: BenchFile, run: Path, label: str) -> Json:
    """The scorer's own figures for one run; under `MULTI_HOP` those of that category, where the file has it."""
    figures = score(scorer, bench, run, label)
    categories = {query.get("category") for queries in bench.queries.values() for query in queries}
    if MULTI_HOP in categories:
        figures[MULTI_HOP] = score(scorer, bench, run, label, "--cats", MULTI_HOP)
    return figures


def score(scorer: Path, bench: BenchFile, run: Path, label: str, *more: str) -> Json:
    """Return the output of `scorer` for one run; `more` are its options. SystemExit when it fails."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        command = [sys.executable, str(scorer), "score", str(bench.path), str(run)]
        options = ["--json", out.name, "--boot", "0", "--brief", "--label", label, *more]
        done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{scorer} failed on {run}:\n{done.stderr[-2000:]}")
        figures = json.loads(Path(out.name).read_text(encoding="utf-8"))
    if not isinstance(figures, dict):
        raise SystemExit(f"{scorer} wrote something else than an object for {run}")
    return figures
