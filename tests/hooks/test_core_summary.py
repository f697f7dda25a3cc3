"""The core summary in front of what a session begins with and of a context: never twice, never outdated, within its
share, and to a project its own."""

from __future__ import annotations

import re
from pathlib import Path

from mnemond.config.hosts import Moment
from mnemond.config.loading import Sources
from mnemond.config.loading import loaded as load_sources
from mnemond.config.settings import HookSettings
from mnemond.hooks.prompt_text import Block, Part, brief
from mnemond.model.answers import insight_view
from mnemond.model.memory import Insight
from mnemond.text.prompt_escape import quarters, token_count
from tests.hooks.factories import Desk, desk

TEA = "The user likes green tea"
PORT = "The staging server runs on port 8080"
HEADING = "Known of the user:"


async def begin(over: Desk, session: str = "s") -> str:
    return await over.at(Moment.SESSION_START, session=session)


async def summed_up(over: Desk) -> None:
    await over.remember(TEA, category="preference", importance=4)
    await over.remember(PORT, category="fact", importance=4)
    await over.does("core.update")


async def test_a_brief_begins_with_it_and_tells_no_memory_twice(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await summed_up(over)
        text = await begin(over)
        lines = text.splitlines()
        at = lines.index(HEADING)
        assert re.fullmatch(rf"<ref:[0-9a-f]{{8}}> {TEA}", lines[at + 1])
        assert (text.count(TEA), text.count(PORT)) == (1, 1)
        assert lines[at + 2] == "What else matters:", "what is not about the user is a memory like others"
        preview = await over.does("hook.preview", moment="session")
        assert [each.reason for each in preview.shown] == ["in the core summary", "worth knowing"]


async def test_what_was_corrected_or_forgotten_is_gone_before_the_next_version(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await summed_up(over)
        found = await over.does("core.show")
        tea, port = (line.memory_ids[0] for line in found.lines)
        await over.does("update", id=port, content="The staging server runs on port 8443")
        await over.does("forget", id=tea)
        text = await begin(over)
        context = await over.does("context", query="what does the user drink?")
        for shown in (text, context.text):
            assert TEA not in shown
            assert PORT not in shown


async def test_a_session_is_not_shown_the_same_memory_again(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await summed_up(over)
        assert TEA in await begin(over)
        assert TEA not in await over.asks("Does the user like green tea?")


async def test_a_project_is_told_its_own_and_the_general(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await over.remember(TEA, category="preference")
        await over.remember("The hermes build needs Rust", project="hermes")
        await over.does("core.update")
        text = await begin(over)
        assert TEA in text
        assert "hermes" not in text


async def test_it_can_be_switched_off(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await summed_up(over)
        (tmp_path / "config.toml").write_text("[core_summary]\nenabled = false\n")
        loaded = load_sources(Sources(tmp_path / "config.toml"))
        over.daemon.apply_settings(loaded.config, loaded)
        assert HEADING not in await begin(over)
        found = await over.does("context", query="zebra crossings", category="decision")
        assert TEA not in found.text


async def test_a_context_has_it_in_front_without_what_the_results_say(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await summed_up(over)
        await over.remember("The user works in Bergen", category="fact")
        await over.does("core.update")
        found = await over.does("context", query="Which port does the staging server run on?", limit=1)
        assert found.shown == 1
        assert found.text.count(PORT) == 1
        head, summary = found.text.index("store: default"), found.text.index("summary: ")
        assert head < summary < found.text.index(PORT)
        assert f"Preferences: {TEA}." in found.text
        history = await over.does("context", query="tea", as_of="2020-01-01")
        assert "summary: " not in history.text


async def test_a_context_without_results_has_it_as_well(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await summed_up(over)
        found = await over.does("context", query="zebra crossings", category="decision")
        assert found.shown == 0
        assert TEA in found.text


async def test_users_are_told_their_own(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await over.remember("Ana likes oolong", user_id="ana", category="preference")
        await over.does("core.update", user_id="ana")
        asked = {"query": "zebra crossings", "category": "decision"}
        assert "oolong" in (await over.does("context", user_id="ana", **asked)).text
        assert "oolong" not in (await over.does("context", user_id="bob", **asked)).text
        assert "oolong" not in (await over.does("context", **asked)).text
        assert HEADING not in await begin(over)


async def test_a_long_one_has_two_fifths_of_a_context_at_most(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        for number in range(60):
            await over.remember(f"The user prefers tool number {number} for the task number {number}")
        await over.does("core.update")
        found = await over.does("context", query="zebra crossings", category="decision", budget=400)
        line = next(each for each in found.text.splitlines() if each.startswith("summary: "))
        assert token_count(quarters(line)) <= 160
        assert found.tokens <= 400


def test_a_long_one_has_two_fifths_of_a_brief_at_most() -> None:
    rows = [
        Insight(f"{at:08x}", "2026-01-01", "2026-01-01", content=f"The user prefers tool number {at}")
        for at in range(99)
    ]
    views = list(map(insight_view, rows))
    block = Block(HEADING, [it.content for it in rows], 0.4, [[it] for it in views])
    made = brief("", [Part("What else matters:", views)], "0" * 16, 2_000, blocks=[block])
    before, _, rest = made.text.partition("What else matters:")
    assert len(before) <= 0.4 * 2_000 + 200
    assert rest
    shown = [it.id for it in made.shown]
    assert len(shown) == len(set(shown))
    assert shown == [it.id for it in rows[: len(shown)]]
    assert all(made.text.count(f"number {at}\n") <= 1 for at in range(99))


async def test_the_core_of_mcp_begins_with_it(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await summed_up(over)
        found = await over.daemon._briefs.core("default")
        assert list(found.summary) == [TEA]
        assert [it.content for it in found.memories] == [PORT]


async def test_hook_settings_leave_it_within_the_budget_of_a_session(tmp_path: Path) -> None:
    async with desk(tmp_path, HookSettings(session_tokens=200)) as over:
        for number in range(60):
            await over.remember(f"The user prefers tool number {number} for the task number {number}")
        await over.does("core.update")
        assert token_count(quarters(await begin(over))) <= 134
