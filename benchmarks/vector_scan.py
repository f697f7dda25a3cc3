"""Finding the nearest vectors: one float32 product, int8 codes with rescoring, or a graph (HNSW).

    python -m benchmarks.vector_scan [--texts FILE …] [--sizes 1000 10000 100000] [--graph] [--json FILE]

Each is timed beside the bare product of the same run, `np.dot` into an array that is there already. Recall is the share
of the exact nearest 20 that was found; a row as near as the 20th counts as one of them. The vectors are synthetic ones
and, with `--texts`, those of the built-in model for the lines of these files (of JSON lines the fields content, text,
a and b, and the sentences of the content).
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before numpy reads it: one thread, as the daemon's loop has

import numpy as np
import numpy.typing as npt

from benchmarks.floors import timed_ms
from benchmarks.report import Cell, median, say, table, write_json
from benchmarks.wire import Json
from mnemond.config.reading import HnswSettings
from mnemond.embed import registry
from mnemond.index.hnsw import ApproximateIndex
from mnemond.index.vectors import RESCORED, Dense, Quantised, leading

Matrix = npt.NDArray[np.float32]

SIZES = [1_000, 10_000, 100_000]
DIMENSION = 256
WANTED = 20
QUESTIONS = 200
TURN = 10
"""Questions one way answers before the next way does: what it reads is in the cache as it is in a daemon."""
CLUSTERS = 300
NOISE = 1.2
SHORTEST = 20
"""Characters of the shortest text taken as a memory."""


def synthetic(rows: int, seed: int) -> Matrix:
    """Directions in clusters of different sizes, in a subspace of a quarter of the dimensions and some noise."""
    generator = np.random.default_rng(seed)
    basis = generator.standard_normal((DIMENSION // 4, DIMENSION))
    centres = generator.standard_normal((CLUSTERS, DIMENSION // 4))
    shares = generator.dirichlet(np.full(CLUSTERS, 0.5))
    found = centres[generator.choice(CLUSTERS, rows, p=shares)]
    found = (found + NOISE * generator.standard_normal(found.shape)) @ basis
    found += generator.standard_normal(found.shape)
    return unit(found.astype(np.float32))


def unit(matrix: Matrix) -> Matrix:
    """Rows of length 1."""
    scaled: Matrix = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    return scaled


def read_texts(paths: Sequence[Path]) -> list[str]:
    """Different texts of the files, sorted."""
    found: set[str] = set()
    for path in paths:
        for line in path.read_text("utf-8").splitlines():
            fields = json.loads(line) if path.suffix == ".jsonl" else {"text": line}
            found.update(str(fields[name])[:8000] for name in ("content", "text", "a", "b") if fields.get(name))
            found.update(re.split(r"(?<=[.!?。！？\n])", str(fields.get("content", ""))))
    return sorted(text for text in map(str.strip, found) if len(text) >= SHORTEST)


def embedded(texts: Sequence[str]) -> Matrix:
    """Return the vectors of the built-in model, in mixed order; texts without a vector are left out."""
    model = registry.create(registry.DEFAULT)
    vectors = [vector for vector in model.embed(list(texts)) if vector is not None]
    return np.random.default_rng(0).permutation(np.stack(vectors))


class Scan:
    """The ways to search one matrix."""

    def __init__(self, matrix: Matrix, graph: bool) -> None:
        present = np.ones(len(matrix), dtype=np.uint8)
        quantised = Quantised(matrix.shape[1])
        self.encoding_ms = timed_ms(lambda: quantised.keep_up(matrix))
        self.matrix = matrix
        self.codes = quantised.view()
        self.exact = Dense(matrix, present)
        self.int8 = Dense(matrix, present, self.codes)
        self.hnsw: Dense | None = None
        self.building_ms: float | None = None
        if graph:
            approximate = ApproximateIndex(HnswSettings(), spawn=lambda work: work())
            self.building_ms = timed_ms(lambda: approximate.keep_up(matrix, present, present))
            if approximate.lacking is not None:
                raise SystemExit(approximate.lacking)
            self.hnsw = Dense(matrix, present, self.codes, approximate)


def measure(matrix: Matrix, questions: Matrix, graph: bool) -> Json:
    """Milliseconds (median over questions), ratios to the product, recall and errors."""
    scan = Scan(matrix, graph)
    out = np.empty(len(matrix), dtype=np.float32)
    ways: dict[str, Callable[[Matrix], object]] = {
        "product": lambda question: np.dot(matrix, question, out=out),
        "exact": lambda question: scan.exact.nearest(question, WANTED, None),
        "exact_all": lambda question: leading(scan.exact.similarity(question), WANTED, None),
        "int8_scan": scan.codes.cosines,
        "int8": lambda question: scan.int8.nearest(question, WANTED, None),
        "int8_all": lambda question: scan.int8.similarity_approximate(question, None),
    }
    if scan.hnsw is not None:
        hnsw = scan.hnsw
        ways["hnsw"] = lambda question: hnsw.nearest(question, WANTED, None)
    times: dict[str, list[float]] = {name: [] for name in ways}
    for first in range(0, len(questions), TURN):  # in turns, so that a busy moment of the machine meets all of them
        for name, way in ways.items():
            for question in questions[first : first + TURN]:
                begin = time.perf_counter()
                way(question)
                times[name].append((time.perf_counter() - begin) * 1000)
    ms = {name: median(values) for name, values in times.items()}
    return {
        "rows": len(matrix),
        "ms": ms,
        "best_ms": {name: min(values) for name, values in times.items()},
        "ratio": {name: value / ms["product"] for name, value in ms.items()},
        "recall": {
            "int8": recall(scan.int8, matrix, questions),
            "hnsw": None if scan.hnsw is None else recall(scan.hnsw, matrix, questions),
        },
        "error": errors(scan, questions),
        "bytes_a_row": {"float32": 4 * matrix.shape[1], "int8": matrix.shape[1] + 4},
        "encoding_ms": scan.encoding_ms,
        "building_ms": scan.building_ms,
    }


def recall(searched: Dense, matrix: Matrix, questions: Matrix) -> float:
    """Share of the exact nearest `WANTED` rows that was found."""
    hits = 0
    for question in questions:
        cosines = matrix @ question
        kth = np.partition(cosines, -WANTED)[-WANTED]
        found, _ = searched.nearest(question, WANTED, None)
        hits += min(WANTED, int(np.count_nonzero(cosines[found] >= kth - 1e-6)))
    return hits / (WANTED * len(questions))


def errors(scan: Scan, questions: Matrix) -> Json:
    """Errors of approximate cosines: root mean square and largest; then of mean and deviation, for z-scores."""
    squares, largest, means, deviations = [], 0.0, [], []
    for question in questions:
        exact, found = scan.exact.similarity(question), scan.int8.similarity_approximate(question, None)
        off = found - exact
        squares.append(float((off * off).mean()))
        largest = max(largest, float(np.abs(off).max()))
        means.append(abs(float(found.mean() - exact.mean())))
        deviations.append(abs(float(found.std() / exact.std()) - 1.0))
    return {
        "rms": float(np.sqrt(np.mean(squares))),
        "largest": largest,
        "mean_off": max(means),
        "deviation_off": max(deviations),
        "rescored": RESCORED,
    }


def render(title: str, figures: Sequence[Json]) -> str:
    """A row for each size and way."""
    rows: list[list[Cell]] = [
        [each["rows"], name, each["ms"][name], each["best_ms"][name], each["ratio"][name], each["recall"].get(name)]
        for each in figures
        for name in each["ms"]
    ]
    return table(title, ("rows", "way", "ms p50", "ms best", "of product", "recall@20"), rows)


def main(argv: list[str] | None = None) -> int:
    """0 when everything was measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vector_scan", description=__doc__)
    parser.add_argument("--texts", nargs="*", type=Path, default=[], help="files of texts for the built-in model")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--graph", action="store_true", help="also a graph; needs the extra hnsw")
    parser.add_argument("--json", type=Path, help="file for the figures")
    options = parser.parse_args(argv)
    most = max(options.sizes)
    sources = {"synthetic": synthetic(most + QUESTIONS, 0)}
    if options.texts:
        sources["built-in model"] = embedded(read_texts(options.texts))
    found: dict[str, list[Json]] = {}
    for name, vectors in sources.items():
        questions, memories = vectors[:QUESTIONS], vectors[QUESTIONS:]
        sizes = sorted({min(size, len(memories)) for size in options.sizes})
        found[name] = [measure(np.ascontiguousarray(memories[:size]), questions, options.graph) for size in sizes]
        say(render(f"nearest {WANTED} of {name} vectors", found[name]))
        for each in found[name]:
            say(json.dumps({key: each[key] for key in ("rows", "error", "encoding_ms", "building_ms")}))
    write_json(options.json, found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
