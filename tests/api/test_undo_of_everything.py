"""Whatever a method did to memories and links, undo brings back, and undoing the undo does again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from mnemond.api.core import CoreHandlers
from mnemond.api.types_changes import (
    LinkParams,
    MergeParams,
    RestoreParams,
    SupersedeParams,
    UndoParams,
    UnlinkParams,
    UpdateParams,
)
from mnemond.api.types_core import CoreSetParams, CoreUpdateParams
from mnemond.api.types_jobs import GcParams
from mnemond.api.types_memories import ForgetParams, PinParams, RememberParams
from mnemond.config.settings import Config
from mnemond.jobs.core_summary import CoreDeps
from mnemond.memory.relations_seen import seen
from mnemond.model.memory import Insight, Scope
from mnemond.recall.core_text import shown
from mnemond.store import edges, insights
from mnemond.store.connection import Connection
from tests.api.factories import CALL, Bench, ToyEmbedder, bench

TEXTS = (
    "We chose SQLite for the billing service",
    "Ana deploys the gateway of the billing service on Friday",
    "The gateway crashed because Redis lost its data",
    "Bob prefers tabs in the gateway",
)


RELATIONS = {TEXTS[1]: ("Ana runs gateway",), TEXTS[3]: ("Bob prefers tabs", "ended: Bob prefers spaces")}
"""What is given with these."""


def core(over: Bench) -> CoreHandlers:
    return CoreHandlers(over.open_stores, over.identities, CoreDeps(lambda _: Config(), over.identities.own))


Do = Callable[[Bench, list[str]], Awaitable[object]]

OPERATIONS: dict[str, Do] = {
    "remember": lambda over, ids: over.remembering.remember(CALL, RememberParams(content="SQLite is in WAL mode")),
    "backdated": lambda over, ids: over.remembering.remember(
        CALL, RememberParams(content="Carol likes tea", created_at="2020-01-01T00:00:00Z")
    ),
    "skipped": lambda over, ids: over.remembering.remember(CALL, RememberParams(content=TEXTS[0])),
    "united": lambda over, ids: over.remembering.remember(
        CALL, RememberParams(content=TEXTS[0], tags=("x",), entities=("Redis", "Ana"), importance=5)
    ),
    "with a relation": lambda over, ids: over.remembering.remember(
        CALL, RememberParams(content=TEXTS[1], relations=("Ana deploys gateway",))
    ),
    "new with a relation": lambda over, ids: over.remembering.remember(
        CALL, RememberParams(content="Carol took over Kafka", relations=("Carol runs Kafka", "ended: Bob runs Kafka"))
    ),
    "replaced": lambda over, ids: over.remembering.remember(
        CALL, RememberParams(content="We no longer chose SQLite for the billing service")
    ),
    "forget": lambda over, ids: over.changes.forget(CALL, ForgetParams(id=ids[1])),
    "update": lambda over, ids: over.changes.update(
        CALL,
        UpdateParams(id=ids[1], content="Carol deploys Kafka on Monday, so Redis is idle", importance=5, tags=("x",)),
    ),
    "backdate": lambda over, ids: over.changes.update(
        CALL, UpdateParams(id=ids[2], created_at="2020-01-01T00:00:00Z", source="git")
    ),
    "merge": lambda over, ids: over.changes.merge(CALL, MergeParams(id=ids[0], other_id=ids[1])),
    "supersede": lambda over, ids: over.changes.supersede(CALL, SupersedeParams(old_id=ids[1], new_id=ids[2])),
    "restore": lambda over, ids: over.changes.restore(CALL, RestoreParams(id=ids[4])),
    "pin": lambda over, ids: over.changes.pin(CALL, PinParams(id=ids[1])),
    "link": lambda over, ids: over.changes.link(
        CALL, LinkParams(source_id=ids[0], target_id=ids[3], type="semantic", weight=0.75)
    ),
    "unlink": lambda over, ids: over.changes.unlink(CALL, UnlinkParams(source_id=ids[0], target_id=ids[1])),
    "core.set": lambda over, ids: core(over).set(CALL, CoreSetParams(text="I like it quiet")),
    "core.update": lambda over, ids: core(over).update(CALL, CoreUpdateParams(user_id="ana")),
    "keep": lambda over, ids: over.collecting.gc(CALL, GcParams(keep=ids[1])),
    "collect": lambda over, ids: over.collecting.gc(CALL, GcParams(threshold=99.0, apply=True)),
}


def everything(connection: Connection) -> tuple[dict[str, Any], set[Any], set[Any], set[Any]]:
    """Active memories without what is derived, their edges, what they name, and which relations hold by them."""
    ids = [row[0] for row in connection.rows("SELECT id FROM insights WHERE status = 'active' ORDER BY id")]
    found = [it for each in ids if (it := insights.read(connection, each)) is not None]
    kept = [name for name in Insight.__struct_fields__ if name not in ("updated_at", "effective_importance")]
    told = {it.id: [getattr(it, name) for name in kept] for it in found}
    links = {edge for each in ids for edge in edges.touching(connection, each)}
    mentions = set(
        connection.rows(
            "SELECT memory_id, mention_text FROM memory_entities JOIN insights ON id = memory_id"
            " WHERE status = 'active'"
        )
    )
    held = {
        (it.source_id, it.type, it.thing, it.valid_from, it.invalid_at) for it in seen(connection, None, None, Scope())
    }
    return told, links, mentions, held


async def now(over: Bench) -> Any:
    warm = await over.warm()
    snapshot = warm.store.snapshot
    told = {entity: shown(it, snapshot).text for entity, it in warm.store.core_summaries.items()}
    return (*await warm.store.read(everything), snapshot.live, snapshot.embedded, snapshot.edge_counts(), told)


@pytest.mark.parametrize("name", OPERATIONS)
async def test_there_and_back_again(tmp_path: Path, name: str) -> None:
    async with bench(tmp_path, ToyEmbedder()) as over:
        ids: list[str] = []
        for text in (*TEXTS, "The runner is out of disk space"):
            over.clock.us += 3_600_000_000
            said = RememberParams(content=text, no_diff=True, relations=RELATIONS.get(text, UNSET))
            result: Any = await over.remembering.remember(CALL, said)
            ids.append(result.id)
        await core(over).update(CALL, CoreUpdateParams())
        await over.changes.forget(CALL, ForgetParams(id=ids[4]))
        before = await now(over)
        done: Any = await OPERATIONS[name](over, ids)
        after = await now(over)
        assert after != before
        undone: Any = await over.history.undo(CALL, UndoParams())
        assert undone.undone == done.op_id
        assert undone.edges_missing == 0
        assert await now(over) == before
        await over.history.undo(CALL, UndoParams(operation=undone.op_id))
        assert await now(over) == after
        assert not over.defects
