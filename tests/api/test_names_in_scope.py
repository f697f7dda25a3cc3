"""Names that only memories of others have are not shown to a user: on pages, in lists, in errors and in reviews."""

from __future__ import annotations

from collections.abc import Awaitable
from pathlib import Path

import pytest

from mnemond.api.entities import EntityHandlers
from mnemond.api.relations import RelationHandlers
from mnemond.api.reviews import ReviewHandlers
from mnemond.api.types_changes import ResolveParams, ReviewsParams
from mnemond.api.types_entities import (
    EntityAliasParams,
    EntityListParams,
    EntityMergeParams,
    EntityNotSameParams,
    EntityShowParams,
)
from mnemond.api.types_memories import ForgetParams, RememberParams
from mnemond.api.types_relations import RelationsAddParams, RelationsListParams, TimelineParams
from mnemond.errors import AMBIGUOUS, NOT_FOUND, MnemonError
from mnemond.wire.dispatch import Call
from tests.api.factories import CALL, Bench, bench
from tests.api.test_held_texts import ORDER, said
from tests.tables import each_row


class Two:
    """A store of the users bea and carl."""

    def __init__(self, over: Bench) -> None:
        self.over = over
        self.relations = RelationHandlers(over.open_stores, over.identities, over.clock)
        self.entities = EntityHandlers(over.open_stores, over.identities, over.clock)
        self.reviews = ReviewHandlers(over.open_stores, over.identities)

    async def names(self, user: str | None, *names: str) -> str:
        """A memory of a user that names these."""
        text = f"{' and '.join(names)} had lunch"
        params = RememberParams(content=text, user_id=user, entities=names, no_diff=True)
        return str((await self.over.remembering.remember(CALL, params)).id)

    async def show(self, name: str, user: str | None) -> object:
        return await self.entities.show(CALL, EntityShowParams(name=name, user_id=user))


async def failure(attempt: Awaitable[object]) -> MnemonError:
    with pytest.raises(MnemonError) as caught:
        await attempt
    return caught.value


async def test_a_part_of_a_name_finds_none_of_another_user(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        two = Two(over)
        await two.names("bea", "Maria Costa")
        await two.names("bea", "Rui Costa")
        await two.names("carl", "Vera Costa")
        seen = await failure(two.show("Costa", "bea"))
        assert seen.kind is AMBIGUOUS
        assert seen.message == "'Costa' may be 'Maria Costa', 'Rui Costa'"
        assert "Vera" in (await failure(two.show("Costa", None))).message
        page = await two.entities.show(CALL, EntityShowParams(name="Costa", user_id="carl"))
        assert page.name == "Vera Costa"
        for attempt in (
            two.relations.timeline(CALL, TimelineParams(name="Costa", user_id="dora")),
            two.relations.list(CALL, RelationsListParams(of="Costa", user_id="dora")),
            two.entities.merge(CALL, EntityMergeParams(name="Costa", other="Vera", user_id="dora")),
        ):
            error = await failure(attempt)
            assert error.kind is NOT_FOUND
            assert not {"Maria", "Rui", "Vera"} & set(f"{error.message} {error.hint}".replace("'", " ").split())


async def test_many_names_of_others_do_not_hide_one_s_own(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        two = Two(over)
        for number in range(12):
            await two.names("carl", *(f"Al{number}{letter} Costa" for letter in "abcd"))
        await two.names("bea", "Marianne-Louise Costa")
        page = await two.entities.show(CALL, EntityShowParams(name="Costa", user_id="bea"))
        assert page.name == "Marianne-Louise Costa"


@each_row("forgotten", [False, True])
async def test_a_thing_of_another_user_has_no_page(tmp_path: Path, *, forgotten: bool) -> None:
    async with bench(tmp_path) as over:
        two = Two(over)
        secret = await two.names("carl", "Zorblax")
        await two.entities.alias(CALL, EntityAliasParams(name="Zorblax", other="Zed", user_id="carl"))
        if forgotten:
            await over.changes.forget(CALL, ForgetParams(id=secret))
        for name in ("Zorblax", "Zed", "zor"):
            assert (await failure(two.show(name, "bea"))).kind is NOT_FOUND
        page = await two.entities.show(CALL, EntityShowParams(name="Zed", user_id="carl"))
        assert (page.name, page.aliases) == ("Zorblax", ["Zed"])
        assert (await two.entities.list(CALL, EntityListParams(user_id="bea"))).entities == []
        alias = EntityAliasParams(name="Zorblax", other="Zeb", user_id="bea")
        assert (await failure(two.entities.alias(CALL, alias))).kind is NOT_FOUND


async def test_a_thing_with_names_of_both_goes_by_what_each_calls_it(tmp_path: Path, person: Call) -> None:
    async with bench(tmp_path) as over:
        two = Two(over)
        await two.names("bea", "Anita")
        await two.names("carl", "Ana Silva")
        await two.entities.merge(person, EntityMergeParams(name="Ana Silva", other="Anita"))
        await two.relations.add(CALL, RelationsAddParams(source="Anita", type="works_at", target="Acme"))
        page = await two.entities.show(CALL, EntityShowParams(name="Anita", user_id="bea"))
        assert (page.name, page.aliases) == ("Anita", [])
        assert [it.source for it in page.now] == ["Anita"]
        assert "Silva" not in str(page)
        line = await two.relations.timeline(CALL, TimelineParams(name="Anita", user_id="bea"))
        assert "Silva" not in str(line)
        listed = await two.relations.list(CALL, RelationsListParams(user_id="bea"))
        assert [it.source for it in listed.relations] == ["Anita"]
        found = await two.entities.list(CALL, EntityListParams(user_id="bea"))
        assert [(it.name, it.aliases) for it in found.entities] == [("Anita", []), ("Acme", [])]
        whole = await two.entities.show(CALL, EntityShowParams(name="Anita"))
        assert (whole.name, whole.aliases) == ("Ana Silva", ["Anita"])


async def test_decisions_about_names_of_others_are_not_on_a_page(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        two = Two(over)
        await two.names("bea", "Ana")
        await two.names("carl", "Anita", "Anneke")
        await two.entities.not_same(CALL, EntityNotSameParams(name="Ana", other="Anneke"))
        await two.entities.merge(CALL, EntityMergeParams(name="Ana", other="Anita"))
        page = await two.entities.show(CALL, EntityShowParams(name="Ana", user_id="bea"))
        assert (page.not_same, page.proposed) == ([], {})
        page = await two.entities.show(CALL, EntityShowParams(name="Ana"))
        assert (page.not_same, page.proposed) == (["Anneke"], {"1": "Anita"})
        assert (await two.entities.list(CALL, EntityListParams(user_id="bea"))).proposed == 0
        assert (await two.entities.list(CALL, EntityListParams())).proposed == 1


async def test_reviews_are_those_of_a_user(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        two = Two(over)
        for place in ("Berlin", "Munich"):
            params = RememberParams(content=f"The office is in {place}", user_id="carl")
            await over.remembering.remember(CALL, params)
        await two.names("carl", "Ana", "Anita")
        await two.entities.merge(CALL, EntityMergeParams(name="Ana", other="Anita"))
        await said(over, ORDER, user_id="carl")
        none = await two.reviews.reviews(CALL, ReviewsParams(user_id="bea"))
        assert (none.reviews, none.texts) == ([], [])
        assert (none.total, none.names, none.links, none.texts_total) == (0, 0, 0, 0)
        for user in ("carl", None):
            found = await two.reviews.reviews(CALL, ReviewsParams(user_id=user, limit=1))
            assert (len(found.reviews), found.total, found.names, found.texts_total) == (1, 1, 1, 1)
        for number in (1, 2, 3):
            keep = "DROP" if number == 3 else "COEXIST"
            wanted = ResolveParams(id=number, resolution=keep, user_id="bea")  # type: ignore[arg-type]
            error = await failure(two.reviews.resolve(CALL, wanted))
            assert error.kind is NOT_FOUND
        for number in (1, 2, 3):
            keep = "DROP" if number == 3 else "COEXIST"
            wanted = ResolveParams(id=number, resolution=keep, user_id="carl")  # type: ignore[arg-type]
            await two.reviews.resolve(CALL, wanted)
        decided = await two.reviews.reviews(CALL, ReviewsParams(user_id="bea", decided=True))
        assert (decided.reviews, decided.texts) == ([], [])
        decided = await two.reviews.reviews(CALL, ReviewsParams(user_id="carl", decided=True))
        assert (len(decided.reviews), len(decided.texts)) == (2, 1)
