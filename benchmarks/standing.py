"""Fit the weights of standing instructions, and tell how many a start would quote.

A ridge logistic regression over the kinds of words in mnemond/text/data/standing.toml, on the sentences that persons
say in sessions (the format of benchmarks.tomorrow). Each project is judged by the weights fitted on all others.

Example: python -m benchmarks.standing harbor.json lantern.json --print
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.report import say, table
from mnemond.recall.standing import FROM, MOST, kinds_of, own, weight_names

Floats = npt.NDArray[np.float64]

RIDGE = 1.0
STEPS = 30


def sentences(project: dict[str, Any]) -> list[tuple[str, bool]]:
    """Return the sentences that the person of a project says, and whether each is a standing instruction."""
    found = []
    for session in project["sessions"]:
        groups = [each["must_contain"] for each in project["standing"] if each["session"] == session["id"]]
        for exchange in session["exchanges"]:
            for text in own(exchange["prompt"]):
                small = text.lower()
                found.append((text, any(all(any(a.lower() in small for a in alt) for alt in g) for g in groups)))
    return found


def fit(features: Floats, labels: Floats) -> Floats:
    """Return the weights, the bias last, by Newton's method."""
    rows = np.c_[features, np.ones(len(features))]
    weights, ridge = np.zeros(rows.shape[1]), np.diag([*[RIDGE] * features.shape[1], 1e-6])
    for _ in range(STEPS):
        p = 1.0 / (1.0 + np.exp(-rows @ weights))
        gradient = rows.T @ (p - labels) + ridge @ weights
        weights = weights - np.linalg.solve((rows * (p * (1 - p))[:, None]).T @ rows + ridge, gradient)
    return weights


def main(arguments: Sequence[str]) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--print", action="store_true", help="print the weights fitted on all files")
    parser.add_argument("--misses", action="store_true", help="print what is quoted and should not be, or is missed")
    given = parser.parse_args(arguments)
    projects = {path.stem: sentences(json.loads(path.read_text())) for path in given.files}
    data = {
        name: (np.array([kinds_of(text) for text, _ in rows], float), np.array([y for _, y in rows], float))
        for name, rows in projects.items()
    }
    counts: list[list[int]] = []
    for name, (features, labels) in data.items():
        others = [each for other, each in data.items() if other != name]
        weights = fit(np.concatenate([x for x, _ in others]), np.concatenate([y for _, y in others]))
        scores = np.c_[features, np.ones(len(features))] @ weights
        chosen = [at for at in np.argsort(-scores, kind="stable")[:MOST] if scores[at] >= FROM]
        counts.append([len(labels), int(labels.sum()), len(chosen), int(labels[chosen].sum())])
        for at in range(len(labels)) if given.misses else ():
            if (at in chosen) != bool(labels[at]):
                say(f"{'+' if at in chosen else '-'} {scores[at]:.2f} {projects[name][at][0][:140]}")
    counts.append([sum(column) for column in zip(*counts, strict=True)])
    heads = ("project", "sentences", "standing", "quoted", "right")
    say(table("standing instructions", heads, [[name, *of] for name, of in zip((*data, "all"), counts, strict=True)]))
    if given.print:
        weights = fit(np.concatenate([x for x, _ in data.values()]), np.concatenate([y for _, y in data.values()]))
        for kind, value in zip((*weight_names(), "bias"), weights, strict=True):
            say(f"{kind} {value:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
