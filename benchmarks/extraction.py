"""Facts that the rules find in conversations, against facts that a reader would keep.

    python -m benchmarks.extraction --data FILE [--split NAME] [--lang CODE …] [--misses]

A line of the file is a conversation: {"id", "lang", "messages": [{"role", "content"}],
"gold": [{"must": [words], "text"}], "memories": [texts], "retired": [texts], "false_hints": [texts], "split"}.

A gold fact is found if one fact has all of its `must` words, case ignored. `memories` are stored before, and the facts
pass the pipeline of `extract` in a store of their own; a text of `retired` is retired if no active memory has it
afterwards, every other text of `memories` has to stay.

By language: gold facts found; facts that are no gold fact's, and how many a conversation (candidates: the gold facts
need not be all that is true); pieces that stand in no fact and in no dropped part; memories that left as they had to,
and others that left.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks.bench_files import lines_of
from benchmarks.report import Cell, say, table
from mnemond.config.settings import Config
from mnemond.config.writing import LifecycleSettings
from mnemond.embed import registry
from mnemond.embed.embedder import Embedder
from mnemond.errors import MnemonError
from mnemond.extract.account import missing
from mnemond.extract.facts import Context, Extraction, Message
from mnemond.memory import extraction, remember
from mnemond.memory.draft import Draft, WriteContext, write_rules
from mnemond.memory.extraction import Provenance
from mnemond.model.memory import parse_rfc3339
from mnemond.store.database import open_database
from mnemond.store.engine import Engine
from mnemond.store.meta import EmbedderRecord
from mnemond.store.operations import Proposal

SAID_US = parse_rfc3339("2026-02-18T12:00:00Z")
"""When every conversation takes place, a Wednesday."""

WRITTEN_US = parse_rfc3339("2026-01-15T12:00:00Z")
"""When the memories before it were written."""

MOST = 200
CONFIG = Config(lifecycle=LifecycleSettings(max_insights=0))
STORE = "default"


class Gold(msgspec.Struct, frozen=True):
    """A fact to be found: the words that it must have."""

    must: tuple[str, ...]
    text: str = ""


class Said(msgspec.Struct, frozen=True):
    """One message."""

    role: str
    content: str


class Conversation(msgspec.Struct, frozen=True):
    """One line of the file."""

    id: str
    lang: str
    messages: tuple[Said, ...]
    gold: tuple[Gold, ...] = ()
    memories: tuple[str, ...] = ()
    retired: tuple[str, ...] = ()
    false_hints: tuple[str, ...] = ()
    split: str = ""

    @property
    def said(self) -> list[Message]:
        return [Message(each.role, each.content) for each in self.messages]


class Outcome(msgspec.Struct, frozen=True):
    """The result for one conversation. `lost`: pieces without an account; `retired`, `gone`: memories that left as they
    had to, and others."""

    conversation: Conversation
    facts: tuple[str, ...]
    missed: tuple[Gold, ...]
    others: tuple[str, ...]
    lost: tuple[str, ...]
    retired: tuple[str, ...]
    gone: tuple[str, ...]


def outcome(conversation: Conversation, embedder: Embedder) -> Outcome:
    """Extract the facts of a conversation, and store them."""
    context = Context(observed_us=SAID_US, most=MOST)
    found = extraction.extract_exchange(conversation.said, context, window=10, whole=True)
    facts = [each.content for each in found.facts]
    claimed: set[int] = set()
    missed = []
    for gold in conversation.gold:
        hits = [at for at, fact in enumerate(facts) if all(word.casefold() in fact.casefold() for word in gold.must)]
        claimed.update(hits)
        if not hits:
            missed.append(gold)
    active = _active_after(conversation, found, embedder) if conversation.memories else set()
    stated = [*facts, *(each.text for each in found.dropped)]
    return Outcome(
        conversation=conversation,
        facts=tuple(facts),
        missed=tuple(missed),
        others=tuple(fact for at, fact in enumerate(facts) if at not in claimed),
        lost=tuple(piece for each in conversation.messages for piece in missing(each.content, stated)),
        retired=tuple(each for each in conversation.retired if each not in active),
        gone=tuple(each for each in conversation.memories if each not in conversation.retired and each not in active),
    )


def _active_after(conversation: Conversation, found: Extraction, embedder: Embedder) -> set[str]:
    """The active memories after the facts were stored beside the memories of the conversation."""
    record = EmbedderRecord(embedder.name, embedder.dimension, embedder.fingerprint)
    rules = write_rules(record, CONFIG)
    with tempfile.TemporaryDirectory(prefix="mnemond-bench-") as directory:
        opened = open_database(Path(directory) / "store.db", lambda: record, WRITTEN_US)
        engine = Engine(opened, lambda: opened, _unforeseen)
        for number, text in enumerate(conversation.memories):
            prepared = remember.prepare(
                Draft(content=text, no_diff=True), WRITTEN_US + number, engine.index.snapshot.entity_spelling, CONFIG
            )
            vector = embedder.embed([text])[0]
            identity = _identity(f"m{number}", WRITTEN_US + number)
            _commit(engine, remember.propose(msgspec.structs.replace(prepared, vector=vector), identity, rules))
        for number, fact in enumerate(found.facts):
            known = engine.index.snapshot.entity_spelling
            write = extraction.prepare(fact, Provenance(), SAID_US + number, known, CONFIG)
            write = write.embedded(None if write.prepared.discarded else embedder.embed([write.content])[0], None)
            _commit(engine, extraction.propose(write, _identity(f"f{number}", SAID_US + number), rules))
        snapshot = engine.index.snapshot
        rows = [snapshot.row_of(f"m{number}") for number in range(len(conversation.memories))]
        active = {
            text for text, row in zip(conversation.memories, rows, strict=True)
            if row is not None and snapshot.insight(row).status == "active"
        }  # fmt: skip
        opened.connection.close()
    return active


def _identity(name: str, now_us: int) -> WriteContext:
    return WriteContext(id=name, op_id=f"op-{name}", client_op_id=False, now_us=now_us, store=STORE, request_digest="")


def _commit(engine: Engine, proposal: Proposal) -> None:
    for result in engine.commit([proposal]):
        if isinstance(result, MnemonError):
            raise SystemExit(str(result))


def _unforeseen(where: str, error: BaseException) -> None:
    raise SystemExit(f"{where}: {error!r}")


def report(outcomes: Sequence[Outcome], *, misses: bool) -> None:
    """Print the figures by language, and with `misses` every conversation that is not as it should be."""
    languages = sorted({each.conversation.lang for each in outcomes})
    rows: list[list[Cell]] = []
    for language in [*languages, "all"]:
        some = [each for each in outcomes if language in (each.conversation.lang, "all")]
        gold = sum(len(each.conversation.gold) for each in some)
        retired = sum(len(each.conversation.retired) for each in some)
        others = sum(len(each.others) for each in some)
        rows.append([
            language, len(some), gold, _share(gold - sum(len(each.missed) for each in some), gold),
            others, round(others / max(1, len(some)), 2), sum(len(each.lost) for each in some),
            _share(sum(len(each.retired) for each in some), retired), sum(len(each.gone) for each in some),
        ])  # fmt: skip
    head = ["lang", "conversations", "gold", "found", "other facts", "a conversation", "lost", "retired", "gone"]
    say(table("Facts found in conversations", head, rows))
    for each in outcomes if misses else ():
        _say_misses(each)


def _say_misses(each: Outcome) -> None:
    told = [f"missed   {list(gold.must)} {gold.text}" for gold in each.missed]
    told += [f"other    {fact}" for fact in each.others]
    told += [f"lost     {piece}" for piece in each.lost]
    told += [f"kept     {text}" for text in each.conversation.retired if text not in each.retired]
    told += [f"gone     {text}" for text in each.gone]
    if told:
        say("\n".join([f"\n{each.conversation.id}", *(f"  {line}" for line in told)]))


def _share(part: int, whole: int) -> str:
    return f"{part}/{whole} {part / whole:.2f}" if whole else "-"


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--split")
    parser.add_argument("--lang", nargs="*", default=[])
    parser.add_argument("--misses", action="store_true")
    options = parser.parse_args(arguments)
    embedder = registry.create(registry.DEFAULT)
    wanted = lines_of(options.data, Conversation, options.split)
    found = [outcome(each, embedder) for each in wanted if not options.lang or each.lang in options.lang]
    if not found:
        raise SystemExit(f"{options.data}: no conversation")
    report(found, misses=options.misses)


if __name__ == "__main__":
    main(sys.argv[1:])
