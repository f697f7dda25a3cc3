"""Relations that are given with a memory: noted with it, undone with it, and refused where they cannot be kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemond.api.relations import RelationHandlers
from mnemond.api.types_changes import UndoParams
from mnemond.api.types_memories import ForgetParams, RememberParams
from mnemond.api.types_relations import RelationsListParams
from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.model.outcomes import RememberResult
from mnemond.model.relations import GivenRelation
from tests.api.factories import CALL, Bench, bench
from tests.tables import each_row

TEXT = "Ana took over billing from Bob"
LEADS = GivenRelation(subject="Ana", type="leads", object="billing")


class Desk:
    def __init__(self, over: Bench) -> None:
        self.over = over
        self.relations = RelationHandlers(over.open_stores, over.identities, over.clock)

    async def remember(self, *relations: GivenRelation | str, text: str = TEXT, **fields: object) -> RememberResult:
        params = RememberParams(content=text, relations=relations, **fields)  # type: ignore[arg-type]
        return await self.over.remembering.remember(CALL, params)

    async def told(self) -> list[tuple[str, str, str, bool]]:
        """(source, type, target, is over) of all times."""
        found = await self.relations.list(CALL, RelationsListParams(history=True))
        return sorted((it.source, it.type, it.target, it.invalid_at is not None) for it in found.relations)

    async def undo(self, op_id: str | None = None) -> str:
        return (await self.over.history.undo(CALL, UndoParams(operation=op_id))).op_id


async def test_it_is_noted_and_undone_with_its_memory(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        desk = Desk(over)
        done = await desk.remember(LEADS, "ended: Bob leads billing")
        both = [("Ana", "leads", "billing", False), ("Bob", "leads", "billing", True)]
        assert await desk.told() == both
        [ana, _] = (await desk.relations.list(CALL, RelationsListParams(history=True))).relations
        assert [(it.memory_id, it.origin, it.quote) for it in ana.evidence] == [(done.id, "host", TEXT)]
        undone = await desk.undo()
        assert await desk.told() == []
        await desk.undo(undone)
        assert await desk.told() == both
        await over.changes.forget(CALL, ForgetParams(id=str(done.id)))
        assert await desk.told() == []


async def test_with_a_text_that_is_known_it_joins_that_memory_and_an_undo_takes_it_alone(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        desk = Desk(over)
        first = await desk.remember()
        again = await desk.remember(LEADS)
        assert (again.action, again.id) == ("skipped", first.id)
        assert await desk.told() == [("Ana", "leads", "billing", False)]
        await desk.remember(LEADS)
        [it] = (await desk.relations.list(CALL, RelationsListParams())).relations
        assert len(it.evidence) == 1
        await desk.undo()
        await desk.undo()
        assert await desk.told() == []
        assert (await over.open_stores.use(None)).store.snapshot.live == 1


@each_row(
    ("given", "field"),
    [
        ("Ana leads", "relations[1]"),
        (GivenRelation(subject="Ana", type="Works At", object="Acme"), "relations[1].type"),
        (GivenRelation(subject="Ana\x1b[2J", type="uses", object="Vim"), "relations[1].subject"),
        (GivenRelation(subject="Ana", type="uses", object=" "), "relations[1].object"),
        ("Ana uses ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5", "relations[1].object"),
    ],
)
async def test_what_cannot_be_kept_is_refused_and_nothing_is_written(
    given: GivenRelation | str, field: str, tmp_path: Path
) -> None:
    async with bench(tmp_path) as over:
        desk = Desk(over)
        with pytest.raises(MnemonError) as caught:
            await desk.remember(LEADS, given)
        assert caught.value.kind is INVALID_PARAMS
        assert field in [each.field for each in caught.value.problems]
        assert (await over.open_stores.use(None)).store.snapshot.live == 0
