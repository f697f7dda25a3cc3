"""Recall with a signal from the graph of names, and without.

    python -m benchmarks.graph --data DIR/locomo.jsonl [--json FILE]

Every way gives each memory a value in [0, 1]; a worth, in units of the ranking, is added to its score. The worth is
chosen on all conversations but one and judged on that one. Runs in this process, on stores that the product's own
writes filled.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from benchmarks.ablation import query_of
from benchmarks.bench_files import BenchFile, load
from benchmarks.report import Cell, say, table, write_json
from benchmarks.stores_in_process import temporary_stores
from benchmarks.variants import Variant
from benchmarks.wire import Json
from mnemond.embed import registry
from mnemond.embed.embedder import Embedder
from mnemond.index.arrays import Floats
from mnemond.index.snapshot import Snapshot
from mnemond.recall.default_profile import FALL
from mnemond.recall.question import question_entities
from mnemond.recall.recall import recall
from mnemond.recall.walks import personalised_pagerank
from mnemond.text.entities import canonical_name

WORTHS = (0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
"""Units of the ranking that are tried; 0 is without."""

RANKED = 400
"""Results that are reordered."""

ANCHORS = 10
"""Best results from which PageRank starts."""

SECOND = 0.5
"""Value of a memory two steps away, where one a step away has 1."""

WAYS = ("names", "co-mention", "PageRank")
GROUPS = ("all", "multi-hop", "ENTITY")


class Network(NamedTuple):
    """A filled store: rows of each name, and names beside a name with their weights."""

    snapshot: Snapshot
    rows_of: Mapping[str, frozenset[int]]
    beside: Mapping[str, Mapping[str, float]]


class Asked(NamedTuple):
    """A question: rows of the product's answer, their distance to the first in units, the values of each way, the
    groups it is in and the rows that answer it."""

    store: str
    rows: list[int]
    units: Floats
    values: Mapping[str, Floats]
    groups: frozenset[str]
    gold: frozenset[int]


def network(snapshot: Snapshot) -> Network:
    """Read the graph of a store: which names its memories have."""
    rows_of: dict[str, set[int]] = defaultdict(set)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in range(snapshot.rows):
        it = snapshot.insight(row)
        names = {canonical_name(each) for each in it.entities}
        for name in names:
            rows_of[name].add(row)
            counts[name].update(names - {name})
    beside = {
        name: {other: many / len(rows_of[name] | rows_of[other]) for other, many in found.items()}
        for name, found in counts.items()
    }
    return Network(snapshot, {name: frozenset(rows) for name, rows in rows_of.items()}, beside)


def by_names(net: Network, names: Mapping[str, float], anchors: Sequence[int]) -> Floats:
    """The share of the question's names, by rarity, that a memory has."""
    found = np.zeros(net.snapshot.rows, np.float32)
    total = sum(names.values())
    for name, rarity in names.items() if total else ():
        found[list(net.rows_of.get(name, ()))] += np.float32(rarity / total)
    return found


def by_co_mention(net: Network, names: Mapping[str, float], anchors: Sequence[int]) -> Floats:
    """The same, and less for memories with a name that stands beside one of the question's."""
    found = by_names(net, names, anchors)
    total = sum(names.values())
    for name, rarity in names.items() if total else ():
        for other, weight in net.beside.get(name, {}).items():
            rows = list(net.rows_of[other])
            found[rows] = np.maximum(found[rows], np.float32(SECOND * weight * rarity / total))
    return found


def by_pagerank(net: Network, names: Mapping[str, float], anchors: Sequence[int]) -> Floats:
    """Where a walk over the links is, which returns to the best results and to what the question names."""
    starts = dict.fromkeys(anchors, 1.0)
    for row in np.argsort(-by_names(net, names, anchors), kind="stable")[:ANCHORS].tolist() if names else ():
        starts[row] = starts.get(row, 0.0) + 1.0
    rows = np.array(sorted(starts), dtype=np.int64)
    reached = personalised_pagerank(net.snapshot, rows, np.array([starts[row] for row in rows.tolist()]))
    found = np.zeros(net.snapshot.rows, np.float32)
    found[reached.rows] = reached.scores
    return found


_BY: Mapping[str, Callable[[Network, Mapping[str, float], Sequence[int]], Floats]] = {
    "names": by_names, "co-mention": by_co_mention, "PageRank": by_pagerank,
}  # fmt: skip


def asked(net: Network, store: str, query: Json, embedder: Embedder) -> Asked | None:
    """Ask a question; None if no memory answers it."""
    gold = frozenset(row for each in query["gold"] if (row := net.snapshot.row_of(each)) is not None)
    if not query["answerable"] or not gold:
        return None
    wanted = query_of(query, Variant("", asks={}))
    answer = recall(net.snapshot, msgspec.structs.replace(wanted, limit=RANKED), embedder, time.perf_counter)
    if not answer.hits:
        return None
    rows = [row for hit in answer.hits if (row := net.snapshot.row_of(hit.insight.id)) is not None]
    scores = np.array([hit.score for hit in answer.hits], np.float64)
    units = (FALL * np.log(scores / scores.max())).astype(np.float32)
    names = question_entities(net.snapshot, query["text"])
    values = {way: of(net, names, rows[:ANCHORS])[rows] for way, of in _BY.items()}
    groups = {"all", *({"multi-hop"} & {query["category"]}), *({"ENTITY"} & {str(answer.meta.intent)})}
    return Asked(store, rows, units, values, frozenset(groups), gold)


def judged(questions: Iterable[Asked], way: str, worth: float) -> tuple[float, float]:
    """Return the mean R@10 and hit@1 of questions with a way of this worth."""
    recalls, hits = [], []
    for each in questions:
        order = np.argsort(-(each.units + np.float32(worth) * each.values[way]), kind="stable")[:10]
        best = [each.rows[at] for at in order.tolist()]
        recalls.append(len(each.gold.intersection(best)) / len(each.gold))
        hits.append(best[0] in each.gold if best else False)
    return (float(np.mean(recalls)), float(np.mean(hits))) if recalls else (0.0, 0.0)


def chosen(questions: Sequence[Asked], way: str) -> float:
    """Return the worth with the best R@10 on multi-hop and ENTITY questions; of equal ones the smallest."""
    target = [each for each in questions if len(each.groups) > 1]
    return max(WORTHS, key=lambda worth: (sum(judged(target, way, worth)), -worth))


def left_out(questions: Sequence[Asked]) -> list[Json]:
    """The figures of every way, group and conversation, the worth chosen on the others."""
    figures = []
    for way in WAYS:
        for store in sorted({each.store for each in questions}):
            worth = chosen([each for each in questions if each.store != store], way)
            for group in GROUPS:
                held = [each for each in questions if each.store == store and group in each.groups]
                before, after = judged(held, way, 0.0), judged(held, way, worth)
                figures.append({
                    "way": way, "store": store, "group": group, "questions": len(held), "worth": worth,
                    "recall": before[0], "recall_with": after[0], "hit": before[1], "hit_with": after[1],
                })  # fmt: skip
    return figures


def measure(bench: BenchFile) -> tuple[list[Json], list[Json]]:
    """Return the figures with a worth chosen elsewhere, and those of every worth on all conversations."""
    embedder = registry.create(registry.DEFAULT)
    questions: list[Asked] = []
    with temporary_stores(embedder) as stores:
        stores.fill(bench)
        for store, snapshot in stores.snapshots(bench).items():
            net = network(snapshot)
            say(f"{store}: {snapshot.rows} memories")
            questions += filter(None, (asked(net, store, query, embedder) for query in bench.queries[store]))
    swept = []
    for way in WAYS:
        for worth in WORTHS:
            row: Json = {"way": way, "worth": worth}
            for group in GROUPS:
                held = [each for each in questions if group in each.groups]
                row[group] = [len(held), *judged(held, way, worth)]
            swept.append(row)
    return left_out(questions), swept


def main(argv: list[str] | None = None) -> int:
    """0 when the file was measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.graph", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="a benchmark file of conversations")
    parser.add_argument("--json", type=Path, help="file for the figures")
    options = parser.parse_args(argv)
    figures, swept = measure(load(options.data))
    rows: list[list[Cell]] = [
        [each["way"], each["store"], each["group"], each["questions"], each["worth"],
         *(round(each[key], 3) for key in ("recall", "recall_with", "hit", "hit_with"))]
        for each in figures
    ]  # fmt: skip
    heads = ("way", "left out", "questions", "n", "worth", "R@10", "with", "hit@1", "with")
    say(table("worth chosen on the other conversations", heads, rows))
    columns = [f"{group} {name}" for group in GROUPS for name in ("n", "R@10", "hit@1")]
    of_worth: list[list[Cell]] = [
        [each["way"], each["worth"], *(round(cell, 3) for group in GROUPS for cell in each[group])] for each in swept
    ]
    say(table("every worth, all conversations", ("way", "worth", *columns), of_worth))
    write_json(options.json, {"graph": figures, "swept": swept})
    return 0


if __name__ == "__main__":
    sys.exit(main())
