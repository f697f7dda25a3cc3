"""viz as a method: filters, what a picture is around, and what memories state."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import trio

from mnemond.api.relations import RelationHandlers
from mnemond.api.types_changes import SupersedeParams
from mnemond.api.types_memories import RememberParams
from mnemond.api.types_relations import RelationsAddParams
from mnemond.api.types_viz import VizParams
from mnemond.api.viz import VizHandlers
from mnemond.errors import AMBIGUOUS, INVALID_PARAMS, NOT_FOUND, Kind, MnemonError
from mnemond.jobs.graph_metrics import GraphMetrics
from mnemond.jobs.job import Work
from mnemond.model.graph import Graph
from mnemond.model.memory import format_us
from tests.api.factories import CALL, Bench, bench
from tests.tables import each_row

TEXTS = (
    ("Redis holds the sessions of the shop", "Redis", None),
    ("Redis restarts every night with the shop", "Redis", None),
    ("The shop reads Redis twice", "Redis", "ana"),
    ("Ana drinks green tea at four", "Ana", "ana"),
)


async def filled(over: Bench) -> tuple[VizHandlers, list[str]]:
    """Handlers over a store with TEXTS, and the ids of these."""
    ids = []
    for text, name, user in TEXTS:
        done = await over.remembering.remember(
            CALL, RememberParams(content=text, entities=(name,), user_id=user, no_diff=True)
        )
        assert isinstance(done.id, str)
        ids.append(done.id)
    return VizHandlers(over.open_stores, over.clock, over.projects), ids


def texts(graph: Graph) -> set[str]:
    return {it.content for it in graph.nodes}


async def test_a_store_is_drawn_with_the_filters_of_list(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        handlers, ids = await filled(over)
        whole = await handlers.viz(CALL, VizParams())
        assert (texts(whole), whole.total, whole.store) == ({each for each, *_ in TEXTS}, 4, "default")
        assert {it.id for it in whole.nodes} == set(ids)
        assert whole.edges
        assert texts(await handlers.viz(CALL, VizParams(entity="redis"))) == {each for each, *_ in TEXTS[:3]}
        assert texts(await handlers.viz(CALL, VizParams(user_id="bob"))) == {each for each, *_ in TEXTS[:2]}
        few = await handlers.viz(CALL, VizParams(limit=2))
        assert (len(few.nodes), few.total, few.limit) == (2, 4, 2)
        with pytest.raises(MnemonError) as caught:
            await handlers.viz(CALL, VizParams(category="nonsense"))
        assert caught.value.kind is INVALID_PARAMS


async def test_what_was_replaced_is_drawn_as_of_then(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        handlers, ids = await filled(over)
        before = over.clock.now_us()
        over.clock.us = before + 60_000_000
        await over.changes.supersede(CALL, SupersedeParams(old_id=ids[0], new_id=ids[1]))
        assert {it.id for it in (await handlers.viz(CALL, VizParams())).nodes} == set(ids[1:])
        then = format_us(before + 30_000_000)
        assert {it.id for it in (await handlers.viz(CALL, VizParams(known_at=then))).nodes} == set(ids)
        [old] = (await handlers.viz(CALL, VizParams(status="superseded"))).nodes
        assert old.id == ids[0]
        with pytest.raises(MnemonError) as caught:
            await handlers.viz(CALL, VizParams(known_at=then, community=1))
        assert [each.field for each in caught.value.problems] == ["community"]


@each_row(
    ("wanted", "kind"),
    [
        ({"around": "ffffffffffff"}, NOT_FOUND),
        ({"around": "{drinks}", "user_id": "bob"}, NOT_FOUND),
        ({"around": "{drinks}", "entity": "Redis"}, NOT_FOUND),
        ({"around": "00000000"}, AMBIGUOUS),
    ],
)
async def test_around_what_is_not_there(tmp_path: Path, wanted: dict[str, str], kind: Kind) -> None:
    async with bench(tmp_path) as over:
        handlers, ids = await filled(over)
        wanted = {name: each.format(drinks=ids[3]) for name, each in wanted.items()}
        if kind is AMBIGUOUS:
            wanted["around"] = ids[0][:8]
        with pytest.raises(MnemonError) as caught:
            await handlers.viz(CALL, msgspec.convert(wanted, VizParams))
        assert caught.value.kind is kind
        assert caught.value.hint


async def test_around_a_memory(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        handlers, ids = await filled(over)
        assert texts(await handlers.viz(CALL, VizParams(around=ids[3], depth=1, entity="Ana"))) == {TEXTS[3][0]}
        near = await handlers.viz(CALL, VizParams(around=ids[0], depth=6))
        assert near.nodes[0].id == ids[0]
        assert len(near.nodes) > 1


async def test_a_community_alone(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        handlers, _ = await filled(over)
        warm = await over.open_stores.use("default")
        identity = over.identities.own("default", "system:graph_metrics")
        await GraphMetrics().run(Work("graph_metrics", warm.store, identity, 0, 0, 0.0, trio.CapacityLimiter(1)))
        whole = await handlers.viz(CALL, VizParams())
        [largest, *_] = whole.communities
        alone = await handlers.viz(CALL, VizParams(community=largest.number))
        assert {it.community for it in alone.nodes} == {largest.number}
        assert {it.id for it in alone.nodes} == {it.id for it in whole.nodes if it.community == largest.number}
        assert (await handlers.viz(CALL, VizParams(community=99))).nodes == []


async def test_what_memories_state_is_part_of_it_unless_redacted(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        handlers, ids = await filled(over)
        relations = RelationHandlers(over.open_stores, over.identities, over.clock)
        for target, literal in (("Acme", None), ("at four", True)):
            params = RelationsAddParams(source="Ana", type="drinks", target=target, literal=literal, memory_id=ids[3])
            await relations.add(CALL, params)
        await relations.add(CALL, RelationsAddParams(source="Ana", type="owns", target="Redis", memory_id=ids[0]))
        await relations.add(CALL, RelationsAddParams(source="Ana", type="knows", target="Bob"))  # no memory says so
        whole = await handlers.viz(CALL, VizParams())
        assert {(it.memory_id, it.source, it.type, it.target) for it in whole.relations} == {
            (ids[3], "Ana", "drinks", "Acme"), (ids[3], "Ana", "drinks", "at four"), (ids[0], "Ana", "owns", "Redis"),
        }  # fmt: skip
        assert {it.memory_id for it in (await handlers.viz(CALL, VizParams(user_id="bob"))).relations} == {ids[0]}
        redacted = await handlers.viz(CALL, VizParams(redact=True))
        assert (redacted.redacted, redacted.relations) == (True, [])
