"""Measure how many secrets are found, by kind, and how many technical lines without one are reported.

    python -m benchmarks.secrets [PATH …]

Lines come from every PATH (text files and folders of them; of JSON lines the fields with texts), or, without one, from
Python's own sources and the packages beside this one, evenly sampled. Found values are printed with stars in them.
"""

from __future__ import annotations

import argparse
import json
import random
import sysconfig
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.report import Cell, say, table, write_json
from benchmarks.secret_carriers import lookalikes, sample
from benchmarks.secret_samples import MAKERS
from mnemond.text.secrets import Secret, find_secrets, redact

LINES = 15_000
SAMPLES = 700
LOOKALIKE_ROUNDS = 100
SEED = 20_260_101
SUFFIXES = (
    ".py",
    ".pyi",
    ".txt",
    ".md",
    ".rst",
    ".json",
    ".jsonl",
    ".toml",
    ".cfg",
    ".ini",
    ".yaml",
    ".yml",
    ".c",
    ".h",
    ".sh",
    ".js",
    ".ts",
    ".go",
    ".html",
    ".log",
)
TEXT_FIELDS = ("content", "caption", "text", "a", "b", "old", "new")
"""Fields of a JSON line that hold a text."""

LONGEST_LINE = 2_000
"""Characters of a line; a memory of one line is rarely longer."""


class FalsePositive(msgspec.Struct, frozen=True):
    """A false positive: its kind, its place, the line with the value masked."""

    kind: str
    line: str


class Recall(msgspec.Struct):
    """Of `n` secrets of a kind: found at all, found from first to last character, called by another kind."""

    kind: str
    n: int = 0
    found: int = 0
    exact: int = 0
    misses: list[str] = msgspec.field(default_factory=list)
    others: Counter[str] = msgspec.field(default_factory=Counter)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print both reports; 1 when a figure misses its goal (0.1 % and 98 %)."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.secrets", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("path", nargs="*", type=Path)
    parser.add_argument("--lines", type=int, default=LINES, help="technical lines of each source (default %(default)s)")
    parser.add_argument("--samples", type=int, default=SAMPLES, help="secrets of each kind (default %(default)s)")
    parser.add_argument("--json", type=Path, help="write the figures here as well")
    parser.add_argument("--misses", type=int, default=0, help="show so many misses of each kind, masked")
    options = parser.parse_args(arguments)
    sources = {str(path): evenly(lines_of([path]), options.lines) for path in options.path}
    if not sources:
        sources["installed Python sources and documents"] = evenly(lines_of(installed()), options.lines)
    chance = random.Random(SEED)
    sources["look-alikes"] = [line for _ in range(LOOKALIKE_ROUNDS) for line in lookalikes(chance)]
    rates = [report_false_positives(name, lines) for name, lines in sources.items()]
    recalls = [recall_of(kind, options.samples) for kind in MAKERS]
    say_recall(recalls, options.misses)
    speeds = say_speed()
    write_json(
        options.json, {"false_positives": rates, "recall": [_figures(one) for one in recalls], "microseconds": speeds}
    )
    return int(any(rate["share"] > 0.001 for rate in rates) or any(one.found < 0.98 * one.n for one in recalls))


def installed() -> list[Path]:
    """Folders with Python's standard library and with the installed packages."""
    return sorted({Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib")})


def lines_of(paths: Iterable[Path]) -> Iterator[str]:
    """Lines with a letter, stripped, in a fixed order."""
    for path in paths:
        files = (
            [path]
            if path.is_file()
            else sorted(one for one in path.rglob("*") if one.suffix in SUFFIXES and one.is_file())
        )
        for file in files:
            for line in file.read_text(encoding="utf-8", errors="replace").split("\n"):
                for text in _contents(line) if file.suffix == ".jsonl" else [line]:
                    if any(map(str.isalpha, text[:200])):
                        yield text.strip()[:LONGEST_LINE]


def evenly(lines: Iterable[str], count: int) -> list[str]:
    """`count` different lines, spread evenly over all different ones; all of them when there are fewer."""
    different = list(dict.fromkeys(lines))
    if len(different) <= count:
        return different
    return [different[place * len(different) // count] for place in range(count)]


def false_positives(lines: Iterable[str]) -> list[FalsePositive]:
    """Every line in which something is found."""
    return [
        FalsePositive(",".join(secret.kind for secret in secrets), masked(line, secrets))
        for line in lines
        if (secrets := find_secrets(line))
    ]


def report_false_positives(name: str, lines: Sequence[str]) -> dict[str, Any]:
    """Print every false positive and their share; return the figures."""
    found = false_positives(lines)
    share = len(found) / max(1, len(lines))
    say(f"\n{name}: {len(found)} of {len(lines):,} lines taken for a secret, {100 * share:.3f} %")
    for one in found:
        say(f"  {one.kind}: {one.line}")
    return {"source": name, "lines": len(lines), "found": len(found), "share": share}


def masked(line: str, secrets: Sequence[Secret]) -> str:
    """The line around the first find, at most 160 characters, two characters of every value at each end."""
    pieces, end = [], 0
    for secret in secrets:
        value = line[secret.start : secret.end]
        pieces += [line[end : secret.start], value[:2], "*" * max(1, len(value) - 4), value[-2:]]
        end = secret.end
    start = max(0, secrets[0].start - 60)
    return "".join([*pieces, line[end:]])[start : start + 160]


def recall_of(kind: str, samples: int) -> Recall:
    """Generated secrets of one kind in all its carriers."""
    chance = random.Random(f"{SEED} {kind}")
    recall = Recall(kind, n=samples)
    for number in range(samples):
        text, start, end = sample(kind, number, chance)
        found = find_secrets(text)
        covering = [secret for secret in found if secret.start <= start + 1 and secret.end >= end - 1]
        recall.found += bool(covering)
        recall.exact += any((secret.start, secret.end) == (start, end) for secret in covering)
        recall.others.update(secret.kind for secret in covering if secret.kind != kind)
        if not covering:
            recall.misses.append(masked(text, (Secret(kind, start, end),)))
    return recall


def say_recall(recalls: Sequence[Recall], misses: int) -> None:
    """Print one row a kind, and the first misses if requested."""
    rows: list[list[Cell]] = [
        [one.kind, one.n, f"{100 * one.found / one.n:.1f}", f"{100 * one.exact / one.n:.1f}", _others(one.others)]
        for one in recalls
    ]
    say(table("recall", ("kind", "n", "found %", "exact span %", "called otherwise"), rows))
    for one in recalls:
        for miss in one.misses[:misses]:
            say(f"  {one.kind}: {miss!r}")


def say_speed() -> dict[str, float]:
    """Microseconds of `redact` on a plain memory, one with names, and hostile ones of 8,000 characters."""
    plain = ("We moved the nightly import to the queue because the old job blocked writes for minutes. " * 3)[:200]
    named = ("The cache key holds the token count and the password hash of each session for an hour. " * 3)[:200]
    texts = {"plain, 200": plain, "named, 200": named, "plain, 8,000": plain * 40, "named, 8,000": named * 40} | {
        f"hostile {unit!r}": (unit * 8_000)[:8_000] for unit in HOSTILE
    }
    speeds = {name: _microseconds(text) for name, text in texts.items()}
    tenth = {name: _microseconds(text[:800]) for name, text in texts.items() if len(text) == 8_000}
    rows: list[list[Cell]] = [
        [name, round(us, 1), round(us / tenth[name], 1) if name in tenth else None] for name, us in speeds.items()
    ]
    say(table("redact, microseconds", ("text", "us", "times 800 characters"), rows))
    return speeds


HOSTILE = (
    "password=", "password = ", "password: a1!", "key ", "token token ", "a", "A1b2", "A1b2C3d4-", "://", "://a:",
    "://a:b@", "eyJ", "eyJ.", " eyJhbGci.a", "-----BEGIN " + "PRIVATE KEY-----",
    "-----BEGIN " + "PRIVATE KEY-----\nabcdefghijklmnopqrstuvwxyz\n", "-----BEGIN " + "PRIVATE KEY-----\nabc: d: e: f",
    "sk" + "-ant-", "gh" + "p_", " gl" + "pat-a", "xo" + "xb-1", 'secret "', "secret: str =", "Bearer ", "Basic a",
    "\\n", ".", ".a.", ":a", "12345678:", "AK" + "IA", "密码是", "[REDACTED:", "[REDACTED:password] ", "secret_key is ",
    "=", "'\"", "key_key_", "pass ", "api key ", "token aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV ", "Password&a=", "{", "\n",
    "AK" + "IAABCDEFGH2345QRST ", "secret ((((", "key.key.", "a.b.c(", "secret=a/", "secret=a.a", "token=aB1./",
    "passwd=${a", "pwd=a_1", "密码是a1b2c3,", "--token a ", "secret: a.b.c ",
    "password: bluebird, ", "the password is bluebird, ", 'password="blue bird ', "a=b password=bluebird ", "pw",
    "SK0a1", "x.atlasv1.", "密码是bluebird，", "\u200b", "é\ufe0f",
    "UEFTU1dPUkQ9aHVudGVyMjM=\n", "UEFTU1dPUkQ9", "ＡＢ１", "，", "twilio ", "azure key 9f86d081884c7d65 ",
    "Passwort ist blume ", "password - a ",
)  # fmt: skip
"""Repetitions of one piece that nearly matches, or matches everywhere."""


def _microseconds(text: str) -> float:
    best = float("inf")
    for _ in range(5):
        begun = time.perf_counter()
        redact(text)
        best = min(best, time.perf_counter() - begun)
    return best * 1e6


def _contents(line: str) -> Iterator[str]:
    """The texts of one JSON line; of the sets in benchmarks/data only the half that rules may be written on."""
    try:
        row = json.loads(line)
    except ValueError:
        return
    if isinstance(row, dict) and row.get("split") != "report":
        messages = [each.get("content") for each in row.get("messages", []) if isinstance(each, dict)]
        yield from (each for each in (*map(row.get, TEXT_FIELDS), *messages) if isinstance(each, str))


def _others(others: Counter[str]) -> str:
    return ", ".join(f"{kind} {count}" for kind, count in others.most_common(3))


def _figures(one: Recall) -> dict[str, Any]:
    return {"kind": one.kind, "n": one.n, "found": one.found, "exact": one.exact}


if __name__ == "__main__":
    raise SystemExit(main())
