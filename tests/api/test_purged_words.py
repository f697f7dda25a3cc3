"""After a purge no word of a memory is kept in the process by anything that was meant to save time."""

from __future__ import annotations

import gc
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mnemond
from mnemond.api.embed_worker import EmbeddingState
from mnemond.api.types_jobs import GcParams
from mnemond.api.types_memories import ForgetParams, RememberParams
from mnemond.embed.embedder import Embedder
from mnemond.embed.registry import DEFAULT, create
from mnemond.memory import edge_builders
from mnemond.recall import question
from mnemond.text.similarity import LongTextCache
from tests.api.factories import CALL, Bench, bench
from tests.tables import each_row

WORDS = ("xyzzyplugh", "quuxfoobär")
TEXT = "The Xyzzyplugh importer fails at the Quuxfoobär because of empty lines"
LONG_TEXT = TEXT + ", and nobody has looked into it since" * 16


def caches() -> Iterator[tuple[str, object]]:
    """What every module of the daemon keeps by itself, except what it was loaded with."""
    for module in pkgutil.walk_packages(mnemond.__path__, "mnemond."):
        if module.name.endswith(("__main__", "models.rebuild", "usearch_graph")):  # programs, and an extra
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            if hasattr(value, "cache_info"):
                yield f"{module.name}.{name}", [each for each in gc.get_referents(value) if isinstance(each, dict)]
            elif isinstance(value, dict | list | set) and not name.startswith("__"):
                yield f"{module.name}.{name}", value
            elif isinstance(value, LongTextCache):
                yield f"{module.name}.{name}", vars(value)


def holds(value: object, depth: int = 4) -> bool:
    """Whether one of the words stands somewhere in it."""
    if isinstance(value, str):
        return any(word in value.casefold() for word in WORDS)
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if depth and isinstance(value, list | tuple | set | frozenset):
        return any(holds(each, depth - 1) for each in value)
    return False


def holders(embedder: Embedder, state: EmbeddingState) -> set[str]:
    pieces: Any = embedder
    kept = [*caches(), ("the embedder", pieces._word_piece._pieces), ("what was tried", [state.attempted])]
    return {name for name, value in kept if holds(value)}


async def purge(over: Bench, insight_id: str) -> None:
    await over.changes.forget(CALL, ForgetParams(id=insight_id, purge=True))


async def collect(over: Bench, insight_id: str) -> None:
    await over.changes.forget(CALL, ForgetParams(id=insight_id))
    over.clock.us += 2 * 86_400_000_000
    await over.collecting.gc(CALL, GcParams(purge_deleted=1))


@each_row("remove", [purge, collect])
@each_row(("text", "kept"), [(TEXT, "_cached_token_set"), (LONG_TEXT, "_long_texts")])
async def test_nothing_that_saves_time_keeps_a_purged_word(tmp_path: Path, remove: Any, text: str, kept: str) -> None:
    embedder = create(DEFAULT)
    async with bench(tmp_path, embedder) as over:
        await over.remembering.remember(CALL, RememberParams(content="The importer fails at empty lines"))
        done: Any = await over.remembering.remember(
            CALL, RememberParams(content=text, entities=("Quuxfoobär",), no_diff=True)
        )
        assert question.question_terms(text)
        state = over.worker.state("default")
        before = holders(embedder, state)
        assert {"the embedder", "mnemond.text.tokens._term", f"mnemond.text.similarity.{kept}"} <= before
        assert "mnemond.recall.question.question_terms" in before
        await remove(over, done.id)
        assert holders(embedder, state) == set()
        assert not edge_builders._claims
