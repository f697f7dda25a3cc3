"""The line of a brief about pairs of memories that wait for a decision."""

from __future__ import annotations

from pathlib import Path

from mnemond.config.hosts import Moment
from mnemond.hooks.briefing import to_decide
from tests.hooks.factories import SQLITE, desk


async def test_a_brief_says_that_pairs_wait(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await over.remember(SQLITE, category="decision", importance=5)
        assert "wait for a decision" not in await over.at(Moment.SESSION_START, session="a")
        for place in ("Berlin", "Munich"):
            await over.does("remember", content=f"The office is in {place}")
        told = await over.at(Moment.SESSION_START, session="b")
        assert "One pair of memories waits for a decision (both are recalled meanwhile): `mnemonctl reviews`" in told
        await over.does("resolve", id=1, resolution="COEXIST")
        assert "for a decision" not in await over.at(Moment.SESSION_START, session="c")


def test_several_and_none() -> None:
    assert to_decide(0) == ""
    assert to_decide(3).startswith("3 pairs of memories wait for a decision")
