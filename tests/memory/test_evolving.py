"""Evolved keywords: words that two close neighbours share, and never anything else."""

from __future__ import annotations

from typing import Any

import pytest

from mnemond.config.writing import SemanticSettings
from mnemond.index.snapshot import Snapshot
from mnemond.index.writer import MemoryIndex
from mnemond.memory import evolving as module
from mnemond.memory.evolving import evolved, evolved_of, evolving
from mnemond.model.changes import RetireInsight, SetEvolved
from mnemond.model.memory import Edge, Scope
from tests.index.worlds import finished, insight

SEMANTIC = SemanticSettings()


def index_of(*fields: dict[str, Any], weight: float = 0.9, kind: Any = "semantic") -> MemoryIndex:
    """Memories a, b, c …, of which a is linked to all others."""
    rows = [(insight("abcdefghijkl"[at], **{"content": f"text{at}", **each}), None) for at, each in enumerate(fields)]
    others = [it.id for it, _ in rows[1:]]
    edges = [Edge(*ends, kind, weight) for other in others for ends in (("a", other), (other, "a"))]
    return MemoryIndex.build(rows, edges, 2)


def of_first(snapshot: Snapshot) -> dict[str, tuple[str, ...]]:
    return evolved_of(snapshot, 0, SEMANTIC.auto)


def test_two_neighbours_that_share_a_word_give_it() -> None:
    shared = {"keywords": "redis cache 8080 node7"}
    found = of_first(index_of({}, shared, shared, {"keywords": "redis tea", "tags": ("Redis",)}).snapshot)
    assert found == {"redis": ("b", "c", "d"), "cache": ("b", "c")}


@pytest.mark.parametrize(
    ("own", "other"),
    [
        ({"content": "the caches of Redis"}, {}),
        ({"quarantined": True}, {}),
        ({}, {"quarantined": True}),
        ({}, {"scope": Scope(user_id="ana")}),
        ({}, {"scope": Scope(project="p#00000000")}),
    ],
    ids=str,
)
def test_what_gives_none(own: dict[str, Any], other: dict[str, Any]) -> None:
    shared = {"keywords": "redis cache"}
    assert of_first(index_of(own, shared, shared | other).snapshot) == {}


def test_only_close_neighbours_by_meaning_count() -> None:
    shared = {"keywords": "redis cache"}
    assert of_first(index_of({}, shared, shared, weight=0.7).snapshot) == {}
    assert of_first(index_of({}, shared, shared, kind="entity").snapshot) == {}
    assert of_first(index_of({}, shared).snapshot) == {}


def test_at_most_so_many_the_most_shared_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WORDS", 2)
    monkeypatch.setattr(module, "MAX_SOURCES", 2)
    rows = [{"keywords": "zebra yak"}, {"keywords": "zebra yak ant"}, {"keywords": "zebra ant"}]
    assert of_first(index_of({}, *rows).snapshot) == {"zebra": ("b", "c"), "ant": ("c", "d")}


def test_changes_are_found_in_steps_and_fit_what_is_there_by_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STEP", 2)
    shared = {"keywords": "redis cache"}
    index = index_of({}, shared, shared)
    assert sum(1 for _ in evolving(index.snapshot, SEMANTIC, {})) == 1
    wanted = finished(evolving(index.snapshot, SEMANTIC, {}))
    assert wanted == {"a": {"redis": ("b", "c"), "cache": ("b", "c")}}
    assert finished(evolving(index.snapshot, SEMANTIC, wanted)) == {}
    assert finished(evolving(index.snapshot, SEMANTIC, {"b": {"gone": ("a", "c")}, **wanted})) == {"b": {}}
    assert evolved(index.snapshot, ["a", "z"], wanted) == [SetEvolved("a", wanted["a"])]
    left = index.apply([RetireInsight("b", "forgotten")])
    assert evolved(left, ["a"], wanted) == [SetEvolved("a", {})]
    assert index.apply([SetEvolved("b", wanted["a"])]).rows == left.rows  # it is gone: ignored
