"""Messages of a session are summed up, and the summary is listed with it."""

from __future__ import annotations

from pathlib import Path

from mnemond.config.hosts import Moment
from mnemond.hooks.prompt_text import Block, brief
from mnemond.store import conversations
from mnemond.store.conversations import Conversation, RollingSummary
from tests.hooks.factories import APOLLO, Desk, desk, known

NOW = "2026-02-01T10:20:00.000000Z"
SAID = "(user) The billing service moves to Frankfurt."


async def summed_up(over: Desk, session: str = "s", project: str | None = None, text: str = SAID) -> None:
    warm = await over.daemon.open_stores.open("default")
    project = (await over.daemon.projects.of(APOLLO)).id if project is None else project
    found = RollingSummary(Conversation(session), text, 10, NOW, project)
    assert await warm.store.rewrite(lambda it: conversations.put(it, None, [], found))


async def test_ten_messages_of_a_session_are_summed_up(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        for at in range(5):
            await over.at(Moment.PROMPT, text=f"The shop stores order number {at} in Postgres.", turn=str(at))
            await over.at(Moment.ASSISTANT_DONE, text=f"Stored order number {at} of the shop.", turn=str(at))
        warm = await over.daemon.open_stores.open("default")
        (due,) = await warm.store.read(conversations.due)
        waiting = await warm.store.read(lambda it: conversations.waiting(it, due))
        assert [each.role for each in waiting] == ["user", "assistant"] * 5
        assert {each.project for each in waiting} == {(await over.daemon.projects.of(APOLLO)).id}


def test_a_block_has_its_share_and_no_more() -> None:
    lines = [f"line number {at} of the summary" for at in range(100)]
    shown = brief("", [], "1", 1_000, blocks=[Block("Before:", lines, 0.3)])
    kept = [line for line in shown.text.splitlines() if line.startswith("line")]
    assert kept == lines[: len(kept)]
    assert 200 < sum(len(line) + 1 for line in kept) <= 300
    assert brief("", [], "1", 1_000, blocks=[Block("Before:", ["x" * 400], 0.3)]).text == ""


async def test_a_session_with_a_summary_is_listed(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await known(over)
        await summed_up(over, "s-1")
        await summed_up(over, "t-2")
        shown = (await over.does("today", id="s")).sessions
        assert [(each.id, each.summary.text, each.shown) for each in shown] == [("s-1", SAID, [])]
        said = (await over.does("cli.run", argv=["today", "s-1", "--text"])).stdout
        assert "2026-02-01 10:20:00  summary (its own sentences)\n    (user) The billing" in said
