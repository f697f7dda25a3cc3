"""What the resolver does about pairs of sentences whose relation is known.

    python -m benchmarks.resolver --data DIR/pairs.jsonl [--embedder NAME …] [--half seen|unseen --misses]
    python -m benchmarks.resolver --data DIR/pairs.jsonl --engine llm --endpoint URL [--sample 300] [--asked]
    python -m benchmarks.resolver --data DIR/pairs.jsonl --engine worst

By rules: for words alone and for each embedder, how many pairs of each group are resolved in which way, and how many
of those that stay are asked about; in both orders of the two sentences. `--half` takes the pairs of which a checksum of
the texts is even (seen) or odd (unseen); `--misses` prints those of the seen half that are labelled neutral and whose
older sentence is superseded.

With a model, on a fixed sample: the relation that it names for every pair, with `--asked` only for the sixth that the
daemon would ask it about; and what becomes of the pairs where rules decide, ask the model what they leave open, and its
answer has to pass the gates. `worst` is a model that says of every pair that the newer sentence replaces the older, on
all pairs in both orders: no model can do more than the gates let through then.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final, Literal

import trio

from benchmarks.diff_paths import DiffPath, paths, prepared
from benchmarks.pairs import GROUPS, NEUTRAL, RANDOM, REFINEMENT, Judged, Pair, judged, load_pairs
from benchmarks.report import Cell, say, table
from mnemond.config.writing import LlmSettings
from mnemond.embed import registry
from mnemond.errors import MnemonError
from mnemond.llm.budget import Budget
from mnemond.llm.client import ModelReader, target_of
from mnemond.llm.prompts import read_prompts
from mnemond.memory.diff import SAFEGUARDS, Side
from mnemond.memory.questions.pairs import (
    MAX_TOKENS,
    MEANS,
    RELATION_SCHEMA,
    acted_on,
    may_be_one,
    refusal,
    resolution_of,
)
from mnemond.model.memory import Insight, format_us
from mnemond.model.reviews import Resolution
from mnemond.text.entities import extract

RESOLUTIONS: Final[tuple[Resolution, ...]] = ("DUPLICATE", "SUPERSEDE", "MERGE", "COEXIST")

ASKED: Final = ("asked: SUPERSEDE", "asked: others")
"""Beside COEXIST: pairs that wait as a review, as a contradiction by rules, or otherwise where something answers."""

LABELLED_NEUTRAL: Final = (NEUTRAL, REFINEMENT)
"""Groups of the label "neutral": neither sentence may be retired for the other, except where it holds all of it."""

NO_ANSWER: Final = "no answer"
NOT_ASKED: Final = "not asked"

SAMPLE: Final = 300
NOW_US: Final = 1_770_000_000_000_000

Half = Literal["seen", "unseen"]


def half_of(pair: Pair) -> Half:
    """Return the half of a pair, which is the same in both orders."""
    text = "\0".join(sorted((pair.old, pair.new)))
    return "unseen" if hashlib.sha256(text.encode()).digest()[0] & 1 else "seen"


def reversed_order(pairs: Sequence[Pair]) -> list[Pair]:
    """Return the pairs, the newer sentence said first."""
    return [Pair(each.new, each.old, each.group) for each in pairs]


# ---------------------------------------------------------------- by rules


def resolutions(results: Sequence[Judged]) -> list[list[Cell]]:
    """A row for each group: how many pairs the rules resolve in which way, and how many of COEXIST are asked about."""
    rows: list[list[Cell]] = []
    for group in GROUPS:
        verdicts = [result.verdict for result in results if result.pair.group == group]
        if not verdicts:
            continue
        done = Counter(str(acted_on(verdict)) for verdict in verdicts)
        kept = [verdict for verdict in verdicts if acted_on(verdict) == "COEXIST"]
        against = sum(verdict.contradicts for verdict in kept)
        others = sum(resolution_of(verdict) != "COEXIST" for verdict in kept) - against
        rows.append([group, len(verdicts), *(done[each] for each in RESOLUTIONS), against, others])
    return rows


def superseded(results: Sequence[Judged]) -> list[Judged]:
    """Return the pairs labelled neutral of which the older is superseded."""
    return [each for each in results if each.pair.group in LABELLED_NEUTRAL and acted_on(each.verdict) == "SUPERSEDE"]


def report(path: DiffPath, pairs: Sequence[Pair], sides: dict[str, Side], *, misses: bool) -> None:
    """The confusion matrix of the resolver by rules, and how many pairs labelled neutral are superseded."""
    results = judged(path, pairs, sides)
    say(table(f"resolver: {path.name}", ("", "pairs", *RESOLUTIONS, *ASKED), resolutions(results)))
    for order, found in (("as written", results), ("reversed", judged(path, reversed_order(pairs), sides))):
        wrong, many = superseded(found), sum(each.pair.group in LABELLED_NEUTRAL for each in found)
        by_half = Counter(half_of(each.pair) for each in wrong)
        absorbed = sum(each.verdict.action == "UPDATE" for each in wrong)
        say(
            f"{path.name}, {order}: labelled neutral and superseded: {len(wrong)} of {many}"
            f" ({len(wrong) / max(1, many):.2%}); seen {by_half['seen']}, unseen {by_half['unseen']};"
            f" of which the newer holds the older: {absorbed}"
        )
        for each in wrong if misses else ():
            if half_of(each.pair) == "seen":
                say(f"  {each.verdict.action}: {each.verdict.reason}\n    {each.pair.old}\n    {each.pair.new}")


# ---------------------------------------------------------------- by a model


def memory(number: int, text: str) -> Insight:
    """A memory of a text; the second of a pair was said a second after the first."""
    at = format_us(NOW_US + number * 1_000_000)
    names = tuple(each.name for each in extract(text, ()))
    return Insight(str(number), at, at, content=text, valid_from=at, entities=names)


def drawn(pairs: Sequence[Pair], many: int, seed: int) -> list[Pair]:
    """Return a sample of the labelled pairs, the same for the same seed."""
    labelled = [pair for pair in pairs if pair.group != RANDOM]
    return random.Random(seed).sample(labelled, min(many, len(labelled)))


async def relations(reader: ModelReader, pairs: Sequence[Pair], profile: Literal["small", "large"]) -> list[str]:
    """Return the relation that a model names for each pair."""
    with tempfile.TemporaryDirectory() as nothing:
        prompt = read_prompts(Path(nothing), profile)["classify_conflict"]
    found: list[str] = []
    for pair in pairs:
        try:
            answer = await reader.ask(prompt.render(pair.old, pair.new), RELATION_SCHEMA, max_tokens=MAX_TOKENS)
        except MnemonError:
            found.append(NO_ANSWER)
            continue
        named = answer.value.get("relation") if isinstance(answer.value, dict) else answer.value
        found.append(str(named) if named in MEANS else NO_ANSWER)
    return found


def is_asked(result: Judged) -> bool:
    """Return True for a pair that the rules leave open and that a model is asked about."""
    if acted_on(result.verdict) != "COEXIST" or resolution_of(result.verdict) == "COEXIST":
        return False
    return result.verdict.contradicts or may_be_one(memory(1, result.pair.old), memory(2, result.pair.new))


def decided(result: Judged, relation: str, path: DiffPath) -> Resolution:
    """Return what becomes of a pair where a model answers what the rules leave open, behind the gates."""
    by_rules = acted_on(result.verdict)
    if not is_asked(result) or relation not in MEANS:
        return by_rules
    older, newer = memory(1, result.pair.old), memory(2, result.pair.new)
    resolution = MEANS[relation]  # type: ignore[index]
    return "COEXIST" if refusal(resolution, older, newer, path.rules, NOW_US + 3_000_000) else resolution


def matrix(rows: Sequence[tuple[str, str]], columns: Sequence[str]) -> list[list[Cell]]:
    """A row for each group: its pairs, and how many came to which of `columns`."""
    counts, sizes = Counter(rows), Counter(group for group, _ in rows)
    return [[group, sizes[group], *(counts[group, each] for each in columns)] for group in GROUPS if sizes[group]]


def report_model(
    path: DiffPath, pairs: Sequence[Pair], sides: dict[str, Side], named: Sequence[str], *, misses: bool
) -> None:
    """The relations that a model named, and the confusion matrix of the resolver with it."""
    results = judged(path, pairs, sides)
    columns = (*MEANS, NO_ANSWER, *([NOT_ASKED] if NOT_ASKED in named else []))
    named_by_group = [(pair.group, name) for pair, name in zip(pairs, named, strict=True)]
    say(table("relations that the model names", ("", "pairs", *columns), matrix(named_by_group, columns)))
    say(table(f"resolver by rules: {path.name}", ("", "pairs", *RESOLUTIONS, *ASKED), resolutions(results)))
    done = [(each.pair.group, decided(each, name, path)) for each, name in zip(results, named, strict=True)]
    say(table(f"resolver with the model: {path.name}", ("", "pairs", *RESOLUTIONS), matrix(done, RESOLUTIONS)))
    by_rules = len(superseded(results))
    wrong = sum(group in LABELLED_NEUTRAL and what == "SUPERSEDE" for group, what in done)
    many = sum(pair.group in LABELLED_NEUTRAL for pair in pairs)
    say(f"labelled neutral and superseded: {by_rules} by rules, {wrong - by_rules} more by the model, of {many}")
    for result, (group, what) in zip(results, done, strict=True) if misses else ():
        by_model = what == "SUPERSEDE" != acted_on(result.verdict)
        if group in LABELLED_NEUTRAL and by_model and half_of(result.pair) == "seen":
            say(f"  {result.verdict.reason}\n    {result.pair.old}\n    {result.pair.new}")


def reader_of(options: argparse.Namespace) -> ModelReader:
    """The model at the given address, without daily maxima."""
    settings = LlmSettings(
        provider=options.provider, endpoint=options.endpoint, model=options.model, timeout_s=options.timeout_s,
        max_calls_per_day=0, max_tokens_per_day=0, prompt_profile=options.profile,
    )  # fmt: skip
    target = target_of(settings, os.environ)
    assert target is not None, "a provider is given"
    return ModelReader(settings, target, Budget(settings, lambda: "", b"", lambda _: None), say)


def main(argv: list[str] | None = None) -> int:
    """0 when everything was measured."""
    parser = argparse.ArgumentParser(description="What the resolver does about pairs whose relation is known.")
    parser.add_argument("--data", type=Path, required=True, help="pairs.jsonl")
    parser.add_argument("--embedder", nargs="*", default=[registry.DEFAULT], choices=registry.NAMES)
    parser.add_argument("--half", choices=("seen", "unseen"))
    parser.add_argument("--misses", action="store_true", help="print the wrong ones of the seen half")
    parser.add_argument("--engine", choices=("rules", "llm", "worst"), default="rules")
    parser.add_argument("--provider", choices=("openai", "ollama"), default="openai")
    parser.add_argument("--endpoint", help="address of the model's server")
    parser.add_argument("--model", default="model")
    parser.add_argument("--profile", choices=("small", "large"), default="small")
    parser.add_argument("--timeout-s", type=float, default=300.0)
    parser.add_argument("--sample", type=int, default=SAMPLE, help="pairs that the model reads")
    parser.add_argument("--asked", action="store_true", help="ask only about the pairs that the daemon asks about")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    if options.engine == "llm" and options.endpoint is None:
        parser.error("--engine llm needs --endpoint")
    pairs = [each for each in load_pairs(options.data) if options.half in (None, half_of(each))]
    if options.engine == "worst":
        pairs = [each for each in pairs if each.group != RANDOM]
    if options.engine == "llm":
        pairs = drawn(pairs, options.sample, options.seed)
    sides = {text: prepared(text) for pair in pairs for text in (pair.old, pair.new)}
    lexical, *embedded = paths(options.embedder, SAFEGUARDS)
    if options.engine == "rules":
        for path in (lexical, *embedded):
            report(path, pairs, sides, misses=options.misses)
        return 0
    path = embedded[0] if embedded else lexical
    if options.engine == "worst":
        for order in (pairs, reversed_order(pairs)):
            report_model(path, order, sides, ["newer_replaces_older"] * len(order), misses=options.misses)
        return 0
    wanted = [each.pair for each in judged(path, pairs, sides) if is_asked(each)] if options.asked else pairs
    answers = dict(zip(wanted, trio.run(partial(relations, reader_of(options), wanted, options.profile)), strict=True))
    named = [answers.get(pair, NOT_ASKED) for pair in pairs]
    report_model(path, pairs, sides, named, misses=options.misses)
    return 0


if __name__ == "__main__":
    sys.exit(main())
