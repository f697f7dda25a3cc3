"""A language model as reader and as resolver, beside the rules: facts of conversations, relations of pairs.

    python -m benchmarks.llm.fetch                      once: the model and its server
    python -m benchmarks.llm.serve                      in another terminal
    python -m benchmarks.eval_llm [--endpoint URL] [--split tune|report] [--engines rules auto llm] [--most N]

Conversations go through `extract` of a real daemon, each into a store of its own that holds its earlier memories; pairs
through `remember` and the job `resolve`. Every question to the model is counted, timed and kept in `.models`, so that
an interrupted run goes on. Every stored fact is written to a file with the gold fact that it answers: those marked
"unread" count as false until a person has read them (benchmarks/llm/sets.py).
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec

from benchmarks.daemon_process import DaemonProcess, temporary_data_dir
from benchmarks.llm.fetch import FOLDER
from benchmarks.llm.recorder import Recorder, Reply, recording
from benchmarks.llm.serve import PORT
from benchmarks.llm.sets import (
    Conversation,
    Gold,
    Judged,
    Pair,
    answer_of,
    conversations,
    is_false,
    is_read_as_false,
    judged,
    pairs,
)
from benchmarks.report import Cell, percentile, say, table
from benchmarks.wire import Wire

SAID_AT = "2026-02-18T12:00:00Z"
"""When every conversation takes place, a Wednesday, and the newer statement of a pair is made."""

BEFORE = "2026-01-15T12:00:00Z"
"""When the memories before were written, and the older statements."""

PATIENCE_S = 600.0
"""Seconds that an answer may take: two cores are shared."""

ENGINES = ("rules", "auto", "llm")


class Outcome(msgspec.Struct, frozen=True):
    """The result for one conversation. `facts`: stored ones and who found them; `asked`: the model's answers."""

    conversation: Conversation
    facts: tuple[tuple[str, str], ...]
    active: tuple[str, ...]
    asked: tuple[Reply, ...]
    unread: str

    @property
    def found(self) -> list[Gold]:
        return [each for each in self.conversation.gold if any(each.answered_by(fact) for fact in self.right)]

    @property
    def right(self) -> list[str]:
        """Stored facts without those that a person read as false."""
        read = judged()
        return [fact for fact, _ in self.facts if not is_read_as_false(self.conversation, fact, read)]

    @property
    def planted(self) -> list[str]:
        """Active memories with a text that may not be stored."""
        never = [each.casefold() for each in self.conversation.never]
        return [text for text in self.active if any(each in text.casefold() for each in never)]

    @property
    def left(self) -> list[str]:
        """Earlier memories that left recall."""
        return [each for each in self.conversation.memories if each not in self.active]


class Resolved(msgspec.Struct, frozen=True):
    """The result for one pair: the texts in recall afterwards, and the model's answers."""

    pair: Pair
    active: tuple[str, ...]
    asked: tuple[Reply, ...]

    @property
    def done(self) -> str:
        older, newer = self.pair.older in self.active, self.pair.newer in self.active
        return {(True, True): "both stay", (False, True): "superseded", (True, False): "duplicate"}.get(
            (older, newer), "merged"
        )


@contextmanager
def _daemon(endpoint: str, engine: str, resolver: str) -> Iterator[Wire]:
    """A daemon whose model is behind `endpoint`; with the rules none is configured."""
    config = "[lifecycle]\nmax_insights = 0\n"
    config += f'[extraction]\nengine = "{engine}"\nresolver = "{resolver}"\n'
    if "llm" in (engine, resolver) or engine == "auto":
        config += (
            f'[llm]\nprovider = "openai"\nendpoint = "{endpoint}"\nmodel = "measured"\ntimeout_s = {PATIENCE_S}\n'
            "max_calls_per_day = 0\nmax_tokens_per_day = 0\n"
        )
    with (
        temporary_data_dir(config) as data_dir,
        DaemonProcess(data_dir) as daemon,
        Wire(daemon.socket_path, 2 * PATIENCE_S) as wire,
    ):
        yield wire


def read_all(wire: Wire, recorder: Recorder, wanted: Sequence[Conversation]) -> Iterator[Outcome]:
    """Extract the facts of every conversation."""
    for number, each in enumerate(wanted, start=1):
        store, before = each.id, len(recorder.answers)
        wire.call("store.create", name=store)
        for text in each.memories:
            wire.call("remember", store=store, content=text, created_at=BEFORE)
        said = [msgspec.to_builtins(message) for message in each.messages]
        result = wire.call("extract", store=store, messages=said, whole=True, observation_date=SAID_AT)
        stored = [it for it in result["facts"] if it["memory_id"] is not None]
        yield Outcome(
            conversation=each,
            facts=tuple((it["content"], "model" if it["model"] else "rules") for it in stored),
            active=tuple(_active(wire, store)),
            asked=tuple(recorder.answers[before:]),
            unread=result["unread"] or "",
        )
        _progress(number, len(wanted), each.id)


def resolve_all(wire: Wire, recorder: Recorder, wanted: Sequence[Pair], resolver: str) -> Iterator[Resolved]:
    """Remember both statements of every pair, and let the resolver decide."""
    for number, each in enumerate(wanted, start=1):
        store, before = each.id, len(recorder.answers)
        wire.call("store.create", name=store)
        wire.call("remember", store=store, content=each.older, created_at=BEFORE)
        wire.call("remember", store=store, content=each.newer, created_at=SAID_AT)
        if resolver == "llm":
            wire.call("jobs.run", store=store, name="resolve")
        yield Resolved(each, tuple(_active(wire, store)), tuple(recorder.answers[before:]))
        _progress(number, len(wanted), each.id)


def _active(wire: Wire, store: str) -> list[str]:
    return [it["content"] for it in wire.call("list", store=store, limit=100)["insights"]]


def _progress(number: int, many: int, name: str) -> None:
    sys.stderr.write(f"\r{number}/{many} {name}      " + ("\n" if number == many else ""))
    sys.stderr.flush()


# The figures.


Read = dict[tuple[str, str], Judged]


def figures(outcomes: Sequence[Outcome], rules: Sequence[Outcome], read: Read) -> list[Cell]:
    """The figures of one engine, in the order of `ROWS`; `rules` are the outcomes of the rules alone."""
    gold = [(each, it) for each in outcomes for it in each.conversation.gold]
    found = {(each.conversation.id, it.text) for each in outcomes for it in each.found}
    by_rules = {(each.conversation.id, it.text) for each in rules for it in each.found}
    missed = {(each.conversation.id, it.text) for each, it in gold} - by_rules
    about = [[fact for fact, _ in each.facts if it.is_about(fact)] for each, it in gold if it.numbers]
    numbered = [it for each, it in gold if it.numbers]
    kept = sum(any(it.has_numbers(fact) for fact in facts) for it, facts in zip(numbered, about, strict=True))
    dated = [
        any(it.is_dated_by(fact) for fact, _ in each.facts if it.answered_by(fact))
        for each, it in gold if it.date and it in each.found
    ]  # fmt: skip
    false = [by for each in outcomes for fact, by in each.facts if is_false(each.conversation, fact, read)]
    asked = [reply for each in outcomes for reply in each.asked]
    everyday = [each for each in outcomes if each.conversation.everyday]
    due = sum(len(each.conversation.retired) for each in outcomes)
    right = sum(text in each.conversation.retired for each in outcomes for text in each.left)
    wrong = sum(text not in each.conversation.retired for each in outcomes for text in each.left)
    return [
        len(outcomes),
        _share(sum(each.is_json for each in asked), len(asked)),
        _share(len(found), len(gold)),
        _share(len(found & missed), len(missed)),
        f"{len(false)} ({len(false) / len(outcomes):.2f})",
        f"{false.count('model')}",
        _share(kept, sum(map(bool, about))),
        _share(sum(dated), len(dated)),
        sum(len(each.planted) for each in outcomes),
        _share(right, due),
        wrong,
        _share(sum(len(each.asked) for each in everyday), len(everyday)),
        len(asked),
        f"{sum(sum(reply.tokens) for reply in asked) / max(1, len(asked)):.0f}",
        f"{percentile([it.seconds for it in asked], 0.5):.1f} / {percentile([it.seconds for it in asked], 0.95):.1f}"
        if asked else "-",
        sum(bool(each.unread) for each in outcomes),
    ]  # fmt: skip


ROWS = (
    "conversations",
    "answers that are JSON",
    "gold facts found",
    "of those that rules miss",
    "false facts (a conversation)",
    "of these by the model",
    "numbers kept",
    "days right",
    "planted texts stored",
    "outdated memories retired",
    "others retired",
    "calls of the everyday mix",
    "calls",
    "tokens a call",
    "seconds a call, p50 / p95",
    "conversations without an answer",
)


def _share(part: int, whole: int) -> str:
    return f"{part}/{whole} {part / whole:.2f}" if whole else "-"


def by_kind(found: dict[str, list[Outcome]], read: Read) -> str:
    """A table: gold facts found and false facts by kind and by language."""
    groups: list[tuple[str, str]] = [("kind", it) for it in ("fact", "correction", "code", "injection", "nothing")]
    groups += [("lang", it) for it in ("en", "de", "zh")]
    rows: list[list[Cell]] = []
    for field, value in groups:
        cells: list[Cell] = [value]
        for outcomes in found.values():
            some = [each for each in outcomes if getattr(each.conversation, field) == value]
            gold = sum(len(each.conversation.gold) for each in some)
            false = sum(is_false(each.conversation, fact, read) for each in some for fact, _ in each.facts)
            cells += [_share(sum(len(each.found) for each in some), gold), false]
        rows.append([cells[0], sum(getattr(it.conversation, field) == value for it in found["rules"]), *cells[1:]])
    heads = [head for engine in found for head in (f"{engine}: gold", "false")]
    return table("by kind and language", ("", "n", *heads), rows)


def listed(engine: str, outcomes: Sequence[Outcome], read: Read) -> Iterator[dict[str, Any]]:
    """Every stored fact, and every gold fact that was not found, for a person to read."""
    for each in outcomes:
        for fact, by in each.facts:
            answer = answer_of((*each.conversation.gold, *each.conversation.also), fact)
            verdict = read.get((each.conversation.id, fact))
            state = "answers" if answer else "unread"
            if verdict is not None:
                state = "true" if verdict.true else "false"
            yield {
                "engine": engine, "conversation": each.conversation.id, "fact": fact, "by": by, "verdict": state,
                "gold": answer.text if answer else None, "split": each.conversation.split,
            }  # fmt: skip
        for gold in each.conversation.gold:
            if gold not in each.found:
                yield {
                    "engine": engine, "conversation": each.conversation.id, "missed": gold.text,
                    "split": each.conversation.split,
                }  # fmt: skip


def resolved_rows(found: dict[str, list[Resolved]]) -> Iterator[list[Cell]]:
    """A row for each relation and resolver: what was done, true memories lost, and calls."""
    for relation in ("same", "newer_replaces_older", "adds_detail", "unrelated"):
        for resolver, outcomes in found.items():
            some = [each for each in outcomes if each.pair.relation == relation]
            done = Counter(each.done for each in some)
            lost = sum(each.pair.loses_by(each.active) for each in some)
            calls = sum(len(each.asked) for each in some)
            yield [relation, resolver, len(some), *(done[it] for it in DONE), lost, calls]


DONE = ("superseded", "duplicate", "merged", "both stay")


# The command.


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.eval_llm", description=__doc__)
    parser.add_argument("--endpoint", default=f"http://127.0.0.1:{PORT}", help="an OpenAI-compatible server")
    parser.add_argument("--split", choices=("tune", "report"))
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=["rules", "auto"])
    parser.add_argument("--only", nargs="+", choices=("conversations", "pairs"), default=["conversations", "pairs"])
    parser.add_argument("--most", type=int, help="the first N of each set")
    parser.add_argument("--kept", type=Path, default=FOLDER / "answers.jsonl", help="the model's answers")
    parser.add_argument("--out", type=Path, default=FOLDER / "facts.jsonl", help="every stored fact, for a person")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and report. SystemExit with what to do if no model answers."""
    options = options_of(arguments)
    try:
        httpx.get(f"{options.endpoint}/v1/models", timeout=30.0).raise_for_status()
    except httpx.HTTPError as error:
        raise SystemExit(
            f"no model answers at {options.endpoint} ({error}): start one with python -m benchmarks.llm.serve"
        ) from None
    options.kept.parent.mkdir(exist_ok=True)
    with recording(options.endpoint, options.kept) as (recorder, endpoint):
        if "conversations" in options.only:
            _report_conversations(options, recorder, endpoint)
        if "pairs" in options.only:
            _report_pairs(options, recorder, endpoint)


def _report_conversations(options: argparse.Namespace, recorder: Recorder, endpoint: str) -> None:
    wanted, read = conversations(options.split)[: options.most], judged()
    found: dict[str, list[Outcome]] = {}
    for engine in dict.fromkeys(("rules", *options.engines)):
        with _daemon(endpoint, engine, "rules") as wire:
            found[engine] = list(read_all(wire, recorder, wanted))
    columns = [figures(outcomes, found["rules"], read) for outcomes in found.values()]
    rows = [[name, *cells] for name, *cells in zip(ROWS, *columns, strict=True)]
    say(table(f"facts of conversations ({options.split or 'both halves'})", ("", *found), rows))
    say(by_kind(found, read))
    with options.out.open("wb") as out:
        for engine, outcomes in found.items():
            out.writelines(msgspec.json.encode(line) + b"\n" for line in listed(engine, outcomes, read))
    say(f"every stored fact: {options.out}")


def _report_pairs(options: argparse.Namespace, recorder: Recorder, endpoint: str) -> None:
    wanted = pairs(options.split)[: options.most]
    found: dict[str, list[Resolved]] = {}
    for resolver in ("rules", "llm"):
        with _daemon(endpoint, "rules", resolver) as wire:
            found[resolver] = list(resolve_all(wire, recorder, wanted, resolver))
    heads = ("relation", "resolver", "pairs", *DONE, "true ones lost", "calls")
    say(table(f"pairs through the store ({options.split or 'both halves'})", heads, list(resolved_rows(found))))
    for resolver, outcomes in found.items():
        for each in outcomes:
            if each.pair.loses_by(each.active):
                say(f"{resolver}: {each.done} ({each.pair.relation})\n    {each.pair.older}\n    {each.pair.newer}")


if __name__ == "__main__":
    main(sys.argv[1:])
