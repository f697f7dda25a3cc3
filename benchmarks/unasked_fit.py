"""Fit the coefficients by which memories are told unasked, and measure them on stores that they were not fitted on.

    python -m benchmarks.unasked_fit [--data DIRECTORY] [--embedders NAME,…] [--cache DIRECTORY] [--write] [--points]
                                     [--json FILE]

Logistic regression with a quadratic penalty, by Newton's method, on every judged result of every piece of every prompt:
1 if it is a right one. Each store counts twice, with and without its cues. The stores of HELD_OUT are measured by what
was fitted on the six others; the figures are those of a hook that shows memories from `hooks.min_probability` on.
`--write` puts coefficients fitted on all eight into the package; those of embedders that were not fitted stay.
Deterministic: no number is drawn.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.cached_embedder import cached
from benchmarks.report import Cell, say, table, write_json
from benchmarks.small_stores import DATA, HELD_OUT, Prompt, SmallStore, load
from benchmarks.stores_in_process import scratch_store
from benchmarks.unasked import HEADINGS, Outcome, rows
from mnemond.config.settings import HookSettings
from mnemond.embed import registry
from mnemond.embed.embedder import Embedder
from mnemond.index.snapshot import Snapshot
from mnemond.memory.draft import Draft
from mnemond.model.query import Query
from mnemond.recall import unasked
from mnemond.recall.question import question_vector
from mnemond.recall.recall import recall
from mnemond.text.transcripts import prompt_pieces, typed, without_command

Matrix = npt.NDArray[np.float64]

PENALTY: Final = 10.0
"""Of the squared weights, in units of one example; from 5 to 40 the held-out stores say nearly the same."""

OF_SCRIPT: Final = 10.0
"""Multiple of it for what a script has of its own: few of the stores are Chinese."""

BOUND: Final = 4.0
"""Spreads from the mean at which the value of a trait is bounded."""

STEPS: Final = 60
"""Of Newton's method, at most; some ten are needed."""

FOUND: Final = 8
"""Results of a recall, of which the first are judged."""

FILE: Final = Path(unasked.__file__).parent.parent / "text/data/unasked.toml"


class Examples(NamedTuple):
    """Judged results: the number of the prompt and of the memory of each, its traits, its script (1 for Han), and 1 if
    it is right; each counts `weight`. For each prompt the number of its pieces, and the memories of a recall of it."""

    prompts: list[tuple[SmallStore, Prompt, bool]]
    prompt: npt.NDArray[np.int64]
    row: npt.NDArray[np.int64]
    values: Matrix
    script: Matrix
    right: Matrix
    weight: Matrix
    pieces: list[int]
    first: list[tuple[int, ...]]


def examples(stores: Sequence[SmallStore], embedder: Embedder | None) -> Examples:
    """Read the traits of every judged result, with and without cues."""
    prompts: list[tuple[SmallStore, Prompt, bool]] = []
    lines: list[tuple[int, int, Matrix, float, float, float]] = []
    first: list[tuple[int, ...]] = []
    count: list[int] = []
    for store in stores:
        numbers = {note.id: number for number, note in enumerate(store.notes)}
        for cues in (False, True):
            snapshot = filled(store, embedder, cues=cues)
            for prompt in store.prompts:
                gold = {numbers[each] for each in prompt.gold}
                texts = prompt_pieces(without_command(typed(prompt.text)))
                for text in texts:
                    for row, values in judged(snapshot, text, embedder):
                        script = float(unasked.script_of(text) == "han")
                        lines.append((len(prompts), row, values, script, float(row in gold), 1.0 / len(texts)))
                prompts.append((store, prompt, cues))
                count.append(len(texts))
                first.append(_found(snapshot, prompt.text, embedder))
    of_prompt, of_row, traits, of_script, marks, counts = zip(*lines, strict=True)
    return Examples(
        prompts, np.array(of_prompt), np.array(of_row), np.array(traits), np.array(of_script), np.array(marks),
        np.array(counts), count, first,
    )  # fmt: skip


def filled(store: SmallStore, embedder: Embedder | None, *, cues: bool) -> Snapshot:
    """Write the notes of a store; row n is note n."""
    with scratch_store(embedder) as scratch:
        for number, note in enumerate(store.notes):
            draft = Draft(
                content=note.text, category=note.category, importance=note.importance,
                tags=(*note.tags, store.name), cues=store.cues.get(note.id, ()) if cues else (), no_diff=True,
            )  # fmt: skip
            scratch.write(number, draft)
        return scratch.snapshot


def judged(snapshot: Snapshot, text: str, embedder: Embedder | None) -> Iterator[tuple[int, Matrix]]:
    """Yield the row and the traits of each judged result for a piece of a prompt."""
    found = recall(snapshot, Query(text, limit=FOUND, explain=True), embedder, time.perf_counter).hits
    hits = [hit for hit in found if hit.explanation is not None][: unasked.JUDGED]
    vector = None if embedder is None else question_vector(snapshot, text, embedder)[0]
    if (results := unasked.results_of(snapshot, hits)) is not None:
        reader = unasked.Reader(snapshot, text, vector, embedder)
        yield from zip(results.rows.tolist(), reader.traits(results), strict=True)


def _found(snapshot: Snapshot, text: str, embedder: Embedder | None) -> tuple[int, ...]:
    hits = recall(snapshot, Query(text, limit=5), embedder, time.perf_counter).hits
    return tuple(row for hit in hits if (row := snapshot.row_of(hit.insight.id)) is not None)


def fit(data: Examples, chosen: npt.NDArray[np.bool_]) -> dict[str, dict[str, list[float]]]:
    """Fit on the chosen examples; by script and trait [weight, low, high], and [intercept]."""
    values = data.values[chosen]
    mean, spread = values.mean(axis=0), values.std(axis=0)
    spread[spread == 0.0] = 1.0
    standard = np.clip((values - mean) / spread, -BOUND, BOUND)
    own = np.hstack([standard, np.ones((len(standard), 1))])
    design = np.hstack([own, own * data.script[chosen, np.newaxis]])
    size = own.shape[1]
    penalty = np.full(2 * size, PENALTY)
    penalty[size - 1] = SMALLEST
    penalty[size:] = PENALTY * OF_SCRIPT
    weights = without_negative(design, data.right[chosen], data.weight[chosen], penalty)
    found: dict[str, dict[str, list[float]]] = {}
    for script, each in (("alphabetic", weights[:size]), ("han", weights[:size] + weights[size:])):
        intercept = each[-1] - float((each[:-1] * mean / spread).sum())
        found[script] = {"intercept": [_short(intercept)]} | {
            name: [
                _short(each[at] / spread[at]),
                _short(mean[at] - BOUND * spread[at]),
                _short(mean[at] + BOUND * spread[at]),
            ]
            for at, name in enumerate(unasked.TRAITS)
            if each[at]
        }
    return found


SMALLEST: Final = 1e-9
"""Penalty of the intercept: next to none."""


def without_negative(design: Matrix, right: Matrix, weight: Matrix, penalty: Matrix) -> Matrix:
    """Fit without the traits of `unasked.EVIDENCE` whose weights come out negative.

    Such a weight takes back a part of what a trait beside it counts; in a store of another size, where the two are no
    longer in the same proportion, it takes back too much.
    """
    size = design.shape[1] // 2
    evidence = np.array([unasked.TRAITS.index(name) for name in unasked.EVIDENCE])
    kept = np.ones(design.shape[1], dtype=np.bool_)
    while True:
        found = np.zeros(design.shape[1])
        found[kept] = newton(design[:, kept], right, weight, penalty[kept])
        negative = evidence[found[evidence] < 0.0]
        of_script = evidence[(found[evidence] + found[size + evidence] < 0.0) & (found[evidence] >= 0.0)]
        if not len(negative) and not len(of_script):
            return found
        kept[negative] = kept[size + negative] = kept[size + of_script] = False


def newton(design: Matrix, right: Matrix, weight: Matrix, penalty: Matrix) -> Matrix:
    """Minimise the weighted logistic loss plus the penalty."""
    found = np.zeros(design.shape[1])
    for _ in range(STEPS):
        share = 1.0 / (1.0 + np.exp(-np.clip(design @ found, -30.0, 30.0)))
        slope = design.T @ (weight * (share - right)) + penalty * found
        curve = (design * (weight * share * (1.0 - share))[:, np.newaxis]).T @ design + np.diag(penalty)
        step = np.linalg.solve(curve, slope)
        found -= step
        if np.abs(step).max() < 1e-8:
            break
    return found


def _embedder(name: str, cache: Path | None) -> Embedder:
    return registry.create(name) if cache is None else cached(name, cache)


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def held_out(data: Examples) -> Matrix:
    """Return the logarithm of the odds of each example by what was fitted without its store."""
    names = np.array([data.prompts[number][0].name for number in data.prompt])
    found = np.zeros(len(names))
    for pair in HELD_OUT:
        inside = np.isin(names, pair)
        models = fit(data, ~inside)
        found[inside] = log_odds(data, models)[inside]
    return found


def log_odds(data: Examples, models: Mapping[str, Mapping[str, Sequence[float]]]) -> Matrix:
    """Return the logarithm of the odds of each example."""
    found = np.zeros(len(data.prompt))
    for script, number in (("alphabetic", 0.0), ("han", 1.0)):
        model = unasked.coefficients(models[script])
        counted = np.clip(data.values, model.low, model.high) @ model.weight + model.intercept
        found = np.where(data.script == number, counted, found)
    return found


def outcomes(data: Examples, odds: Matrix, least: float, *, cues: bool) -> list[Outcome]:
    """Return what a hook shows of the stores with or without cues."""
    best: dict[int, dict[int, float]] = {}
    for number, row, each in zip(data.prompt.tolist(), data.row.tolist(), odds.tolist(), strict=True):
        rows_of = best.setdefault(number, {})
        rows_of[row] = max(each, rows_of.get(row, -math.inf))
    found: list[Outcome] = []
    for number, (store, prompt, with_cues) in enumerate(data.prompts):
        if with_cues == cues:
            chances = {
                row: unasked.of_pieces(unasked.logistic(each), data.pieces[number])
                for row, each in best.get(number, {}).items()
            }
            best_first = sorted(chances, key=lambda row: -chances[row])
            shown = best_first[: unasked.shown_count([chances[row] for row in best_first], least)]
            numbers = {note.id: str(at) for at, note in enumerate(store.notes)}
            found.append(Outcome(
                (store.language, f"  {store.name}", f"way: {prompt.way}", *(["long"] if prompt.long else [])),
                f"{store.name} {prompt.id}",
                frozenset(numbers[each] for each in prompt.gold),
                tuple(map(str, data.first[number])),
                tuple(map(str, shown[: HookSettings().prompt_results])),
                frozenset(),
            ))  # fmt: skip
    return found


def points(data: Examples, odds: Matrix) -> list[list[Cell]]:
    """Return figures by threshold."""
    found: list[list[Cell]] = []
    for cues in (False, True):
        for percent in range(20, 90, 5):
            row = rows(outcomes(data, odds, percent / 100, cues=cues))[0]
            found.append([f"{'cues' if cues else 'plain'} {percent / 100:.2f}", *row[1:]])
    return found


def written(models: Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]]) -> str:
    """Return the text of the file."""
    lines = [HEAD]
    for name, scripts in models.items():
        for script, traits in scripts.items():
            lines.append(f"\n[{name}.{script}]")
            lines += [f"{trait} = [{', '.join(f'{each:g}' for each in values)}]" for trait, values in traits.items()]
    return "\n".join(lines) + "\n"


HEAD: Final = """\
# Coefficients by which memories are told unasked, by embedder and script; `words` for none, and for embedders that are
# not here. A trait (recall/unasked.py): its weight in the logarithm of the odds, and the bounds of its value. Written
# by `python -m benchmarks.unasked_fit --write`, not by hand."""


def main(arguments: Sequence[str]) -> int:
    """Fit, measure and print."""
    parser = argparse.ArgumentParser(
        prog="benchmarks.unasked_fit", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--embedders", default=",".join((*registry.NAMES, unasked.NO_EMBEDDER)))
    parser.add_argument("--cache", type=Path, help="directory of embedded texts and copied weights")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--points", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    stores = load(options.data)
    models: dict[str, dict[str, dict[str, list[float]]]] = {}
    figures: dict[str, dict[str, Cell]] = {}
    for name in options.embedders.split(","):
        data = examples(stores, None if name == unasked.NO_EMBEDDER else _embedder(name, options.cache))
        odds = held_out(data)
        for cues in (False, True):
            title = f"{name}, {'with' if cues else 'without'} cues, held out"
            found = rows(outcomes(data, odds, HookSettings().min_probability, cues=cues))
            say(table(title, HEADINGS, found))
            figures |= {f"{title}: {row[0]}": dict(zip(HEADINGS[1:], row[1:], strict=True)) for row in found}
        if options.points:
            say(table("By threshold", HEADINGS, points(data, odds)))
        models[name] = fit(data, np.ones(len(data.prompt), dtype=np.bool_))
    if options.write:
        FILE.write_text(written(tomllib.loads(FILE.read_text("utf-8")) | models), "utf-8")
    write_json(options.json, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
