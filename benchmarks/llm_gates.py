"""A language model reads memories after they were written: what it adds, what is refused, and what that costs.

    python -m benchmarks.llm.fetch; python -m benchmarks.llm.serve      as for benchmarks.eval_llm
    python -m benchmarks.llm_gates [--endpoint URL] [--most 40]

The memories are the facts of the half `tune` of the conversations of `eval_llm`, as if hooks had stored them. Each goes
through the job `gates` of a real daemon with every purpose switched on. The accepted questions, names and cues are
listed for a person: whether a question is grammatical and a name is one, nothing here decides.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, get_args

import httpx
import msgspec

from benchmarks.daemon_process import DaemonProcess, temporary_data_dir
from benchmarks.eval_llm import BEFORE, PATIENCE_S
from benchmarks.llm.fetch import FOLDER
from benchmarks.llm.recorder import Recorder, recording
from benchmarks.llm.serve import PORT
from benchmarks.llm.sets import conversations
from benchmarks.report import Cell, percentile, say, table
from benchmarks.wire import Wire
from mnemond.config.writing import Gate
from mnemond.memory.questions.memories import LEFT
from mnemond.model.memory import NOTE

GATES: Final[tuple[Gate, ...]] = get_args(Gate)

SETTINGS: Final = ("substance_filter", "entity_extraction", "trigger", "hypothetical_queries", "cues")
"""Settings of `commitment` whose `engine` is "llm"."""

_DROPPED: Final = re.compile(r" \(dropped: (.+)\)$")


class Read(msgspec.Struct, frozen=True):
    """A memory and what came of each purpose; `seconds` of each answer of the model. `told` is empty for a memory that
    the rules found not worth a question."""

    text: str
    told: dict[Gate, str]
    entities: tuple[str, ...]
    seconds: tuple[float, ...]


def texts(most: int) -> list[str]:
    """Return the facts of the conversations that may be looked at, each once."""
    found = dict.fromkeys(gold.text for each in conversations("tune") for gold in each.gold)
    return list(found)[:most]


def read_all(wire: Wire, recorder: Recorder, wanted: Sequence[str]) -> Iterator[Read]:
    """Remember one text after another, each in a store of its own, and let the model read it."""
    for number, text in enumerate(wanted, start=1):
        store, before = f"memory-{number}", len(recorder.answers)
        wire.call("store.create", name=store)
        outcome = wire.call("remember", store=store, content=text, created_at=BEFORE, channel="hook")
        if outcome["id"] is None:
            yield Read(text, {}, (), ())
            continue
        wire.call("jobs.run", store=store, name="gates")
        insight = wire.call("get", store=store, id=outcome["id"])["insight"]
        asked = recorder.answers[before:]
        yield Read(text, _told(insight), tuple(insight["entities"]), tuple(each.seconds for each in asked))


def _told(insight: dict[str, Any]) -> dict[Gate, str]:
    metadata = insight["metadata"]
    note = (msgspec.json.decode(metadata) if isinstance(metadata, str) else metadata).get(NOTE) or {}
    return dict(note.get("told") or {})


def rows(found: Sequence[Read]) -> Iterator[list[Cell]]:
    """A row for each purpose: memories asked about, answers that added something, those left to the rules, reasons."""
    for gate in GATES:
        told = [each.told[gate] for each in found if gate in each.told]
        left = [each.removeprefix(LEFT) for each in told if each.startswith(LEFT)]
        partly = [match[1] for each in told if (match := _DROPPED.search(each))]
        why = Counter(reason for each in (*left, *partly) for reason in each.split(", "))
        nothing = sum(_DROPPED.sub("", each) in ("none", "lasting") for each in told)
        reasons = ", ".join(f"{reason} {count}" for reason, count in why.most_common())
        yield [gate, len(told), len(told) - len(left) - nothing, nothing, len(left), reasons or "-"]


HEADS: Final = ("purpose", "asked", "added something", "nothing to add", "left to the rules", "reasons of refusals")


def report(found: Sequence[Read]) -> None:
    """The figures, and every accepted text for a person to read."""
    asked = [each for each in found if each.seconds]
    seconds, answers = [sum(each.seconds) for each in asked], [it for each in asked for it in each.seconds]
    say(table(f"memories read by a model: {len(found)}", HEADS, list(rows(found))))
    say(
        f"memories asked about: {len(asked)}; calls: {len(answers)} ({len(answers) / max(1, len(found)):.1f} a memory);"
        f" seconds a memory, p50 / p95: {percentile(seconds, 0.5):.1f} / {percentile(seconds, 0.95):.1f};"
        f" seconds a call, p50: {percentile(answers, 0.5):.1f}"
        if asked else "no memory was asked about"
    )  # fmt: skip
    for each in found:
        say(f"\n{each.text}   {list(each.entities)}")
        for gate, sentence in each.told.items():
            say(f"    {gate}: {sentence}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and report. SystemExit with what to do if no model answers."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.llm_gates", description=__doc__)
    parser.add_argument("--endpoint", default=f"http://127.0.0.1:{PORT}", help="an OpenAI-compatible server")
    parser.add_argument("--most", type=int, default=40, help="memories")
    parser.add_argument("--kept", type=Path, default=FOLDER / "gates.jsonl", help="the model's answers")
    options = parser.parse_args(arguments)
    try:
        httpx.get(f"{options.endpoint}/v1/models", timeout=30.0).raise_for_status()
    except httpx.HTTPError as error:
        raise SystemExit(
            f"no model answers at {options.endpoint} ({error}): start one with python -m benchmarks.llm.serve"
        ) from None
    with recording(options.endpoint, options.kept) as (recorder, endpoint):
        config = "[lifecycle]\nmax_insights = 0\n" + "".join(
            f'[commitment.{each}]\nengine = "llm"\n' for each in SETTINGS
        )
        config += (
            f'[llm]\nprovider = "openai"\nendpoint = "{endpoint}"\nmodel = "measured"\ntimeout_s = {PATIENCE_S}\n'
            "max_calls_per_day = 0\nmax_tokens_per_day = 0\n"
        )
        with (
            temporary_data_dir(config) as data_dir,
            DaemonProcess(data_dir) as daemon,
            Wire(daemon.socket_path, 8 * PATIENCE_S) as wire,
        ):
            report(list(read_all(wire, recorder, texts(options.most))))


if __name__ == "__main__":
    main()
