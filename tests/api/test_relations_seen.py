"""What a user, a session or an agent is shown of relations follows from statements that it may read alone."""

from __future__ import annotations

from pathlib import Path

from mnemond.api.entities import EntityHandlers
from mnemond.api.relations import RelationHandlers
from mnemond.api.types_entities import EntityListParams, EntityShowParams
from mnemond.api.types_memories import RememberParams
from mnemond.api.types_relations import RelationsAddParams, RelationsListParams, TimelineParams
from mnemond.model.memory import format_us
from tests.api.factories import CALL, Bench, bench
from tests.tables import each_row


class Two:
    """A store in which two users say where Ana works."""

    def __init__(self, over: Bench) -> None:
        self.over = over
        self.relations = RelationHandlers(over.open_stores, over.identities, over.clock)
        self.entities = EntityHandlers(over.open_stores, over.identities, over.clock)

    async def says(self, user: str, target: str, since: str | None, *, kind: str = "works_at") -> None:
        text = f"Ana {kind} {target}, said {user}"
        said = await self.over.remembering.remember(CALL, RememberParams(content=text, user_id=user, no_diff=True))
        params = RelationsAddParams(source="Ana", type=kind, target=target, since=since, memory_id=said.id)
        await self.relations.add(CALL, params)

    async def seen(self, user: str | None, **fields: object) -> list[tuple[str, str | None, str | None, int]]:
        params = RelationsListParams(of="Ana", user_id=user, history=True, **fields)  # type: ignore[arg-type]
        found = await self.relations.list(CALL, params)
        return [(it.target, it.valid_from, it.invalid_at, len(it.evidence)) for it in found.relations]


async def test_what_another_user_says_ends_and_proves_nothing(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        two = Two(over)
        await two.says("bea", "Initech", "2018")
        await two.says("carl", "Acme", "2020")
        begun, next_ = "2018-01-01T00:00:00.000000Z", "2020-01-01T00:00:00.000000Z"
        assert await two.seen("bea") == [("Initech", begun, None, 1)]
        assert await two.seen("carl") == [("Acme", next_, None, 1)]
        assert await two.seen(None) == [("Initech", begun, next_, 2), ("Acme", next_, None, 1)]
        page = await two.entities.show(CALL, EntityShowParams(name="Ana", user_id="bea"))
        assert [it.target for it in page.now] == ["Initech"]
        assert not page.before
        assert not [it for it in page.now if "carl" in str(it.evidence)]
        line = await two.relations.timeline(CALL, TimelineParams(name="Ana", user_id="bea"))
        assert [(it.what, it.at) for it in line.events if it.what != "memory"] == [("began", begun)]


async def test_a_time_that_another_user_gives_is_not_shown(tmp_path: Path) -> None:
    """Both say the same, one of them since when."""
    async with bench(tmp_path) as over:
        two = Two(over)
        await two.says("bea", "Acme", "2021")
        await two.says("carl", "Acme", None)
        assert await two.seen("carl") == [("Acme", None, None, 1)]
        assert await two.seen("bea") == [("Acme", "2021-01-01T00:00:00.000000Z", None, 1)]
        found = await two.relations.list(CALL, RelationsListParams(of="Ana", user_id="carl"))
        every = await two.relations.list(CALL, RelationsListParams(of="Ana"))
        assert [it.id for it in found.relations] == [it.id for it in every.relations]


async def test_a_relation_that_another_one_replaced_is_there_for_its_user(tmp_path: Path) -> None:
    """Two values since one moment: of all statements the later one counts, and the table has no row of the other."""
    async with bench(tmp_path) as over:
        two = Two(over)
        await two.says("bea", "Initech", "2020")
        before = format_us(over.clock.now_us())
        over.clock.us += 1_000_000
        await two.says("carl", "Acme", "2020")
        assert [it[0] for it in await two.seen(None)] == ["Acme"]
        assert [it[0] for it in await two.seen("bea")] == ["Initech"]
        assert [it[0] for it in await two.seen("carl", known_at=before)] == []
        of = RelationsListParams(target="Initech", user_id="bea")
        assert [it.target for it in (await two.relations.list(CALL, of)).relations] == ["Initech"]


async def test_names_and_counts_are_those_of_the_user(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        two = Two(over)
        await two.says("bea", "Initech", "2018")
        await two.says("carl", "Quetzal", None, kind="uses")
        listed = await two.entities.list(CALL, EntityListParams(user_id="bea"))
        assert {it.name: it.relations for it in listed.entities} == {"Ana": 1, "Initech": 1}
        together = RelationsListParams(of="Ana", together=True, user_id="bea")
        assert "Quetzal" not in str(await two.relations.list(CALL, together))


@each_row("name", ["I", "me"])
async def test_what_is_given_of_one_user_is_not_of_another(name: str, tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        two = Two(over)
        add = RelationsAddParams(source=name, type="works_at", target="Acme", user_id="bea")
        await two.relations.add(CALL, add)
        for user, targets in (("bea", ["Acme"]), ("carl", [])):
            found = await two.relations.list(CALL, RelationsListParams(user_id=user))
            assert [it.target for it in found.relations] == targets
