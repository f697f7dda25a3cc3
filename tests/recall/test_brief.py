"""What a session begins with: of what there is the most valuable, each once."""

from __future__ import annotations

from pathlib import Path

from mnemond.clock import SystemClock
from mnemond.model.memory import parse_rfc3339
from mnemond.model.query import Filter
from mnemond.recall.brief import MAX_SECTION, Selection, is_instruction, select
from tests.hooks.factories import Desk, desk
from tests.tables import each_row

YEAR_AGO = "2025-01-15T12:00:00Z"


async def selected(over: Desk) -> Selection:
    warm = await over.daemon.open_stores.open("default")
    return select(warm.store.snapshot, Filter(), SystemClock().now_us())


@each_row(
    ("text", "instructs"),
    [
        ("Never deploy on Friday", True),
        ("Run the linter before committing.", True),
        ("Gerd asked for it. Always answer in German.", True),
        ("All public functions must have docstrings", True),
        ("Antworte immer auf Deutsch", True),
        ("提交前必须运行测试", True),
        ("The staging server runs on port 8443 behind Caddy", False),
        ("Chose SQLite because the team lacks Redis experience", False),
        ("Der Server läuft auf Port 8443", False),
        ("Is it true that we always deploy on Friday?", False),
        ("", False),
    ],
)
def test_instructions_are_known_by_their_words(text: str, instructs: bool) -> None:
    assert is_instruction(text) == instructs


async def test_each_kind_has_its_section_whatever_its_category_says(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await over.remember("Never deploy on Friday")
        await over.remember("The user likes tea", category="preference")
        await over.remember("The API is versioned by header", category="decision")
        await over.remember("The office is in Bergen", category="fact")
        found = await selected(over)
        assert {it.content for it in found.instructions} == {"Never deploy on Friday", "The user likes tea"}
        assert [it.content for it in found.decisions] == ["The API is versioned by header"]
        assert [it.content for it in found.others] == ["The office is in Bergen"]


async def test_there_is_a_floor_of_worth(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await over.remember("The user likes tea", category="preference", importance=1)
        await over.remember("The old office was in Oslo", category="fact", importance=3, created_at=YEAR_AGO)
        await over.remember("The printer is on floor two", category="fact", importance=2)
        await over.remember("Ana Berg owns billing", category="fact", importance=5, created_at=YEAR_AGO)
        await over.remember("The user prefers metric units", category="preference", created_at=YEAR_AGO)
        found = await selected(over)
        assert [it.content for it in found.all()] == ["The user prefers metric units", "Ana Berg owns billing"]
        await over.does("pin", id=(await over.remember("The vault is in room 9", importance=3, created_at=YEAR_AGO)))
        assert "The vault is in room 9" in [it.content for it in (await selected(over)).others]


async def test_of_other_memories_the_recent_come_first_and_links_do_not_count(tmp_path: Path) -> None:
    ages = [f"2026-{month:02}-01T00:00:00Z" for month in (1, 2, 3)]
    async with desk(tmp_path) as over:
        await over.remember("The office is in Bergen", category="fact")
        ids = [await over.remember(f"Fact {n} of {age}", category="fact", created_at=age) for n, age in enumerate(ages)]
        for one, other in ((0, 1), (0, 2)):
            await over.does("link", source_id=ids[one], target_id=ids[other], type="semantic")
        warm = await over.daemon.open_stores.open("default")
        found = select(warm.store.snapshot, Filter(), parse_rfc3339("2026-03-20T00:00:00Z"))
        assert [it.content for it in found.others] == ["The office is in Bergen", f"Fact 2 of {ages[2]}"]


async def test_a_section_is_bounded_and_the_most_important_come_first(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        for number in range(2 * MAX_SECTION + 10):
            await over.remember(f"The user wants chart {number} in blue", category="preference", importance=3)
        first = await over.remember("The user is called Ada", category="preference", importance=4, created_at=YEAR_AGO)
        found = await selected(over)
        assert len(found.instructions) == MAX_SECTION
        assert found.instructions[0].id == first


async def test_a_newer_contradiction_below_the_floor_is_told_with_the_older(tmp_path: Path) -> None:
    """The older alone would be told as if nothing spoke against it."""
    async with desk(tmp_path) as over:
        older = (
            await over.does("remember", content="I prefer tabs over spaces", category="preference", importance=4)
        ).id
        newer = (
            await over.does("remember", content="I prefer spaces over tabs", category="preference", importance=1)
        ).id
        found = await selected(over)
        assert [it.id for it in found.instructions] == [newer, older]
        assert found.against == {newer: (older,)}


async def test_a_correction_that_nobody_noted_goes_before_what_it_corrects(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await over.remember("The owner of the billing service is Ana Berg", category="fact", importance=5)
        await over.remember("The vault is in room 9", category="fact", importance=5)
        await over.remember("The owner of the billing service is Tom Hill", category="fact", importance=3)
        told = [it.content for it in (await selected(over)).others]
        assert told[told.index("The owner of the billing service is Tom Hill") + 1].endswith("Ana Berg")


async def test_nothing_is_selected_of_nothing(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await over.does("forget", id=await over.remember("The office is in Bergen"))
        assert (await selected(over)).all() == []
