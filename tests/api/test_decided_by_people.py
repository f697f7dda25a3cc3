"""What an agent may not decide by itself: that two names are one, that two memories become one, that an order is kept;
neither at once, nor by taking a decision back and again."""

from __future__ import annotations

from collections.abc import Awaitable
from pathlib import Path

import pytest

from mnemond.api.entities import EntityHandlers
from mnemond.api.knowledge import KnowledgeHandlers
from mnemond.api.relations import RelationHandlers
from mnemond.api.reviews import ReviewHandlers
from mnemond.api.types_changes import ResolveParams, RestoreParams, ReviewsParams, UndoParams
from mnemond.api.types_entities import EntityAliasParams, EntityListParams, EntityMergeParams, EntitySplitParams
from mnemond.api.types_knowledge import ConsolidateParams
from mnemond.api.types_memories import RememberParams
from mnemond.api.types_relations import RelationsAddParams
from mnemond.config.settings import config_from
from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.model.outcomes import ResolveResult
from mnemond.wire.dispatch import Call
from tests.api.factories import CALL, Bench, bench
from tests.api.test_held_texts import ORDER, said
from tests.api.test_knowledge import EACH, INDEX, Measuring
from tests.tables import each_row


async def refused(attempt: Awaitable[object]) -> MnemonError:
    with pytest.raises(MnemonError, match="from a person at a terminal only") as caught:
        await attempt
    assert caught.value.kind is INVALID_PARAMS
    assert caught.value.hint is not None
    assert "mnemonctl" in caught.value.hint
    return caught.value


class Names:
    """A store in which Ana and Anita are two."""

    def __init__(self, over: Bench) -> None:
        self.over = over
        self.entities = EntityHandlers(over.open_stores, over.identities, over.clock)
        self.reviews = ReviewHandlers(over.open_stores, over.identities)

    async def prepare(self) -> None:
        relations = RelationHandlers(self.over.open_stores, self.over.identities, self.over.clock)
        for name, firm in (("Ana", "Acme"), ("Anita", "Globex")):
            await relations.add(CALL, RelationsAddParams(source=name, type="works_at", target=firm))

    async def names(self) -> list[str]:
        found = await self.entities.list(CALL, EntityListParams())
        return sorted(it.name for it in found.entities if it.name.startswith("An"))

    async def proposed(self) -> int:
        await self.entities.merge(CALL, EntityMergeParams(name="Ana", other="Anita"))
        [review] = (await self.reviews.reviews(CALL, ReviewsParams())).reviews
        return review.id

    async def resolve(self, call: Call, review: int, **fields: object) -> ResolveResult:
        fields = {"resolution": "MERGE", **fields}
        return await self.reviews.resolve(call, ResolveParams(id=review, **fields))  # type: ignore[arg-type]

    async def undo(self, call: Call, operation: str) -> str:
        return (await self.over.history.undo(call, UndoParams(operation=operation))).op_id


async def test_a_merge_that_an_agent_proposes_is_not_decided_by_one(tmp_path: Path, person: Call) -> None:
    async with bench(tmp_path) as over:
        known = Names(over)
        await known.prepare()
        review = await known.proposed()
        error = await refused(known.resolve(CALL, review))
        assert f"mnemonctl resolve {review} --as MERGE" in str(error.hint)
        assert await known.names() == ["Ana", "Anita"]
        done = await known.resolve(person, review)
        assert await known.names() == ["Ana"]
        back = await known.undo(CALL, done.op_id)  # they are two again, and the question waits
        assert await known.names() == ["Ana", "Anita"]
        await refused(known.undo(CALL, back))
        await known.undo(person, back)
        assert await known.names() == ["Ana"]


async def test_an_agent_says_that_names_are_two(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        known = Names(over)
        await known.prepare()
        done = await known.resolve(CALL, await known.proposed(), resolution="COEXIST")
        assert done.action == "NONE"


async def test_no_undo_of_an_agent_joins_names(tmp_path: Path, person: Call) -> None:
    async with bench(tmp_path) as over:
        known = Names(over)
        await known.prepare()
        merged = await known.entities.merge(person, EntityMergeParams(name="Ana", other="Anita"))
        assert merged.status == "merged"
        parted = await known.entities.split(CALL, EntitySplitParams(name="Ana", other="Anita"))
        await refused(known.undo(CALL, parted.op_id))
        assert await known.names() == ["Ana", "Anita"]
        await known.undo(person, parted.op_id)
        assert await known.names() == ["Ana"]


async def test_an_alias_that_became_a_name_of_its_own_is_not_joined_again_by_an_agent(
    tmp_path: Path, person: Call
) -> None:
    async with bench(tmp_path) as over:
        known = Names(over)
        await known.prepare()
        await known.entities.alias(CALL, EntityAliasParams(name="Ana", other="Annette"))
        parted = await known.entities.split(CALL, EntitySplitParams(name="Ana", other="Annette"))
        params = RememberParams(content="Annette drinks tea", entities=("Annette",))
        await over.remembering.remember(CALL, params)
        assert await known.names() == ["Ana", "Anita", "Annette"]
        await refused(known.undo(CALL, parted.op_id))
        await known.undo(person, parted.op_id)
        assert await known.names() == ["Ana", "Anita"]


async def consolidated(over: Bench) -> None:
    for text in (INDEX, EACH):
        await over.remembering.remember(CALL, RememberParams(content=text, no_diff=True))
    await KnowledgeHandlers(over.open_stores, over.identities, Measuring(over)).consolidate(CALL, ConsolidateParams())


@pytest.mark.parametrize("resolution", ["MERGE", "DUPLICATE", "SUPERSEDE"])
async def test_a_merge_of_memories_is_decided_by_a_person(tmp_path: Path, person: Call, resolution: str) -> None:
    async with bench(tmp_path) as over:
        await consolidated(over)
        known = Names(over)
        await refused(known.resolve(CALL, 1, resolution=resolution))
        assert (await over.warm()).store.snapshot.live == 2
        done = await known.resolve(person, 1, resolution=resolution)
        assert (await over.warm()).store.snapshot.live == 1
        back = await known.undo(CALL, done.op_id)
        assert (await over.warm()).store.snapshot.live == 2
        await refused(known.undo(CALL, back))
        again = await known.undo(person, back)
        assert (await over.warm()).store.snapshot.live == 1
        assert (await known.reviews.reviews(CALL, ReviewsParams())).reviews == []
        await known.undo(CALL, again)
        await known.resolve(CALL, 1, resolution="COEXIST")  # both stay: what an agent may say


@each_row("setting", [{"consolidation.auto_merge": True}, {"extraction.resolver": "host"}])
async def test_settings_let_an_agent_decide_about_memories(tmp_path: Path, setting: dict[str, object]) -> None:
    async with bench(tmp_path, config=config_from(setting)) as over:
        await consolidated(over)
        done = await Names(over).resolve(CALL, 1)
        assert (await over.warm()).store.snapshot.live == 1
        back = await Names(over).undo(CALL, done.op_id)
        await Names(over).undo(CALL, back)
        assert (await over.warm()).store.snapshot.live == 1


async def test_what_a_person_kept_and_took_back_is_not_kept_again_by_an_agent(tmp_path: Path, person: Call) -> None:
    async with bench(tmp_path) as over:
        known = Names(over)
        await said(over, ORDER)
        kept = await known.resolve(person, 1, resolution="KEEP")
        back = await known.undo(person, kept.op_id)
        await refused(known.undo(CALL, back))
        await refused(over.changes.restore(CALL, RestoreParams(id=str(kept.id))))
        assert (await over.warm()).store.snapshot.live == 0
        [it] = (await known.reviews.reviews(CALL, ReviewsParams())).texts
        assert it.content == ORDER
        await known.undo(person, back)
        assert (await over.warm()).store.snapshot.live == 1
        assert (await known.reviews.reviews(CALL, ReviewsParams())).texts == []
