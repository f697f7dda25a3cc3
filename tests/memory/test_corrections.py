"""A correction stands above what it corrects, whatever words it exchanges; on a real store, written as a daemon writes.

The pairs are tests/memory/correction_pairs.py. Each is asked with the comparison on, where the older memory may have
been retired, and off, where both stand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import msgspec
import pytest

from mnemond.config.settings import Config
from mnemond.embed import registry
from mnemond.embed.embedder import Embedder
from mnemond.memory.draft import Draft
from mnemond.memory.remember import prepare, propose
from mnemond.memory.write import WriteContext, write_rules
from mnemond.model.query import Hit, Query
from mnemond.recall.recall import recall
from mnemond.store.database import open_database
from mnemond.store.engine import Engine
from mnemond.store.meta import EmbedderRecord
from tests.memory.correction_pairs import BOTH_TRUE, CORRECTIONS, Pair
from tests.store.factories import START_US

DAY_US = 86_400_000_000

Ask = Callable[[Pair, bool], list[Hit]]


@pytest.fixture(scope="session")
def embedder() -> Embedder:
    return registry.create(registry.DEFAULT)


@pytest.fixture
def ask(tmp_path: Path, embedder: Embedder) -> Iterator[Ask]:
    """Remembers a pair and what is around it, a day apart, and asks; whether with the comparison of spec 7.2."""
    record = EmbedderRecord(embedder.name, embedder.dimension, embedder.fingerprint)
    opened = open_database(tmp_path / "a.db", lambda: record, START_US)
    engine = Engine(opened, lambda: opened, _unforeseen)

    def asked(pair: Pair, compared: bool) -> list[Hit]:
        texts = (*pair.before, pair.old, *pair.after[:1], pair.new, *pair.after[1:])
        for number, text in enumerate(texts):
            _remember(engine, record, embedder, number, text, compared=compared)
        query = Query(text=pair.question, limit=10, explain=True)
        stopwatch = map(float, count())
        return list(recall(engine.index.snapshot, query, embedder, lambda: next(stopwatch)).hits)

    yield asked
    engine.close()


def _remember(
    engine: Engine, record: EmbedderRecord, embedder: Embedder, number: int, text: str, *, compared: bool
) -> None:
    config, now_us = Config(), START_US + number * DAY_US
    who = WriteContext(
        id=f"{number:08x}-0000-4000-8000-000000000000", op_id=f"op{number}", client_op_id=False, now_us=now_us,
        store="default", request_digest="",
    )  # fmt: skip
    draft = Draft(content=text, no_diff=not compared)
    prepared = prepare(draft, now_us, engine.index.snapshot.entity_spelling, config)
    embedded = msgspec.structs.replace(prepared, vector=embedder.embed([text])[0])
    [result] = engine.commit([propose(embedded, who, write_rules(record, config))])
    if isinstance(result, BaseException):
        raise result


def _unforeseen(where: str, error: BaseException) -> None:
    raise AssertionError(where) from error


def place(hits: list[Hit], text: str) -> int | None:
    return next((at for at, hit in enumerate(hits) if hit.insight.content == text), None)


def moved(hit: Hit) -> bool:
    """Whether the explanation says that a result is where it is because it corrects another."""
    assert hit.explanation is not None
    return hit.explanation.parts.get("newer", 0.0) > 0.0


@pytest.mark.parametrize("compared", [True, False], ids=["diff", "no diff"])
@pytest.mark.parametrize("name", CORRECTIONS)
def test_a_correction_is_above_what_it_corrects(ask: Ask, name: str, compared: bool) -> None:
    pair = CORRECTIONS[name]
    hits = ask(pair, compared)
    new, old = place(hits, pair.new), place(hits, pair.old)
    assert new is not None
    if old is None:
        assert compared, "nothing was retired, so both are found"
        return
    assert new < old
    if moved(hits[new]):
        assert old == new + 1, "just above, and not above what it does not correct"
    assert not moved(hits[old])


@pytest.mark.parametrize("compared", [True, False], ids=["diff", "no diff"])
@pytest.mark.parametrize("name", BOTH_TRUE)
def test_what_is_no_correction_moves_nothing(ask: Ask, name: str, compared: bool) -> None:
    pair = BOTH_TRUE[name]
    hits = ask(pair, compared)
    assert place(hits, pair.new) is not None
    assert compared or place(hits, pair.old) is not None, "nothing was retired, so both are found"
    assert not any(map(moved, hits))
