"""Pages and lists of people and things, and decisions about their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemond.api.entities import EntityHandlers
from mnemond.api.relations import RelationHandlers
from mnemond.api.reviews import ReviewHandlers
from mnemond.api.types_changes import ResolveParams, ReviewsParams, UndoParams
from mnemond.api.types_entities import (
    EntityAliasParams,
    EntityListParams,
    EntityMergeParams,
    EntityNotSameParams,
    EntityShowParams,
    EntitySplitParams,
)
from mnemond.api.types_memories import RememberParams
from mnemond.api.types_relations import RelationsAddParams, RelationsCloseParams
from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.wire.dispatch import Call
from tests.api.factories import CALL, Bench, bench
from tests.tables import each_row


class Known:
    """A store in which Ana worked at Initech and works at Acme."""

    def __init__(self, over: Bench) -> None:
        self.over = over
        self.relations = RelationHandlers(over.open_stores, over.identities, over.clock)
        self.entities = EntityHandlers(over.open_stores, over.identities, over.clock)

    async def add(self, kind: str, target: str, since: str | None = None, source: str = "Ana", **more: object) -> None:
        params = RelationsAddParams(source=source, type=kind, target=target, since=since, **more)  # type: ignore[arg-type]
        await self.relations.add(CALL, params)

    async def prepare(self) -> None:
        await self.over.remembering.remember(CALL, RememberParams(content="Ana prefers tea in the morning"))
        await self.add("works_at", "Initech", "2018")
        await self.add("works_at", "Acme", "2024-03")
        await self.entities.alias(CALL, EntityAliasParams(name="Ana", other="Nina"))


async def test_the_page_is_that_of_a_day(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        known = Known(over)
        await known.prepare()
        await known.relations.close(CALL, RelationsCloseParams(source="Ana", type="works_at", at="2025-05-01"))
        page = await known.entities.show(CALL, EntityShowParams(name="Ana"))
        assert ([it.target for it in page.now], [it.target for it in page.before]) == ([], ["Acme", "Initech"])
        then = await known.entities.show(CALL, EntityShowParams(name="Ana", as_of="2020-01-01"))
        assert ([it.target for it in then.now], [it.target for it in then.later]) == (["Initech"], ["Acme"])
        assert all(it.evidence for it in (*page.before, *then.now))
        listed = await known.entities.list(CALL, EntityListParams(query="NINA"))
        assert [(it.name, it.aliases, it.relations) for it in listed.entities] == [("Ana", ["Nina"], 2)]


CONTROL, LONG, RTL = "Ana\x1b[2J", "A" * 4_000, "Ana\u200f"


@each_row("name", [CONTROL, LONG, RTL, "  ", "a\nb"])
async def test_names_that_cannot_be_kept_are_refused(name: str, tmp_path: Path) -> None:
    """As an alias and as either name of a decision, with the reason and without what they would do to a terminal."""
    async with bench(tmp_path) as over:
        known = Known(over)
        await known.prepare()
        calls = [
            known.entities.alias(CALL, EntityAliasParams(name="Ana", other=name)),
            known.entities.merge(CALL, EntityMergeParams(name="Ana", other=name)),
            known.entities.split(CALL, EntitySplitParams(name=name, other="Ana")),
            known.entities.not_same(CALL, EntityNotSameParams(name=name, other="Ana")),
        ]
        for call in calls:
            with pytest.raises(MnemonError) as caught:
                await call
            assert caught.value.kind is INVALID_PARAMS
            assert caught.value.message.isprintable()
        listed = await known.entities.list(CALL, EntityListParams())
        assert [it.aliases for it in listed.entities if it.name == "Ana"] == [["Nina"]]


async def test_a_secret_is_no_alias(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        known = Known(over)
        await known.prepare()
        secret = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
        with pytest.raises(MnemonError, match="looks like a secret"):
            await known.entities.alias(CALL, EntityAliasParams(name="Ana", other=secret))


async def test_a_merge_by_a_tool_waits_and_is_decided_with_resolve(tmp_path: Path, person: Call) -> None:
    async with bench(tmp_path) as over:
        known = Known(over)
        await known.prepare()
        await known.relations.add(
            CALL, RelationsAddParams(source="Anita", type="works_at", target="Globex", since="2025")
        )
        dry = await known.entities.merge(CALL, EntityMergeParams(name="Ana", other="Anita", dry_run=True))
        assert (dry.status, dry.dry_run, dry.relations) == ("merged", True, 1)
        asked = await known.entities.merge(CALL, EntityMergeParams(name="Ana", other="Anita"))
        assert (asked.status, asked.changed) == ("proposed", [])
        reviewing = ReviewHandlers(over.open_stores, over.identities)
        found = await reviewing.reviews(CALL, ReviewsParams())
        assert (found.total, found.links, found.names) == (0, 0, 1)
        [review] = found.reviews
        assert (review.kind, review.older.content, review.newer.content, review.preview) == (
            "names",
            "Ana",
            "Anita",
            None,
        )
        page = await known.entities.show(CALL, EntityShowParams(name="Anita"))
        assert page.proposed == {str(review.id): "Ana"}
        for wrong in (ResolveParams(id=review.id, resolution="SUPERSEDE"),
                      ResolveParams(id=review.id, resolution="MERGE", content="both")):  # fmt: skip
            with pytest.raises(MnemonError) as caught:
                await reviewing.resolve(CALL, wrong)
            assert caught.value.kind is INVALID_PARAMS
        done = await reviewing.resolve(person, ResolveParams(id=review.id, resolution="MERGE"))
        assert (done.action, done.names) == ("MERGE", ["Ana", "Anita"])
        assert (await reviewing.reviews(CALL, ReviewsParams())).reviews == []
        page = await known.entities.show(CALL, EntityShowParams(name="Anita"))
        assert (page.name, page.proposed, [it.target for it in page.now]) == ("Ana", {}, ["Globex"])
        await over.history.undo(CALL, UndoParams())
        [again] = (await reviewing.reviews(CALL, ReviewsParams())).reviews
        assert again.id == review.id
        await reviewing.resolve(CALL, ResolveParams(id=review.id, resolution="COEXIST"))
        page = await known.entities.show(CALL, EntityShowParams(name="Anita"))
        assert (page.not_same, page.proposed) == (["Ana"], {})
        [decided] = (await reviewing.reviews(CALL, ReviewsParams(decided=True))).reviews
        assert (decided.resolution, decided.by) == ("COEXIST", "user")


async def test_a_person_s_dry_run_shows_what_a_merge_would_change(tmp_path: Path, person: Call) -> None:
    async with bench(tmp_path) as over:
        known = Known(over)
        await known.prepare()
        await known.relations.add(
            CALL, RelationsAddParams(source="Anita", type="works_at", target="Globex", since="2025")
        )
        params = EntityMergeParams(name="Ana", other="Anita", dry_run=True)
        dry = await known.entities.merge(person, params)
        shown = [(it.target, it.invalid_at, it.status) for it in dry.changed]
        assert shown == [("Acme", "2025-01-01T00:00:00.000000Z", "past")]
        before = await known.entities.show(CALL, EntityShowParams(name="Ana"))
        assert [it.target for it in before.now] == ["Acme"]
        merged = await known.entities.merge(person, EntityMergeParams(name="Ana", other="Anita"))
        assert (merged.status, merged.dry_run) == ("merged", False)
        assert [it.invalid_at for it in merged.changed if it.target == "Acme"] == [dry.changed[0].invalid_at]
