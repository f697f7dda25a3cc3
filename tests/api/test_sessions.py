"""What sessions were shown, and judgements of memories: kept, shown, taken back, purged, and what they change."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import trio
from msgspec.structs import replace
from trio.testing import MockClock, wait_all_tasks_blocked

from mnemond.api.types_sessions import SessionView, TodayParams
from mnemond.api.uses import GATHER_S, LINES_AT_ONCE
from mnemond.config.hosts import Host, Moment
from mnemond.config.reading import RetrievalSettings
from mnemond.config.settings import Config, HookSettings
from mnemond.errors import INVALID_PARAMS, NOT_FOUND, MnemonError
from mnemond.interchange.sessions import SessionExchange
from mnemond.memory.feedback import standing, with_feedback
from mnemond.model.changes import Showing
from mnemond.model.memory import Insight
from mnemond.store import showings
from mnemond.wire.hook_payload import HookEvent, ToolUse
from tests.api.factories import CALL
from tests.api.test_remembering import files_with
from tests.hooks.factories import APOLLO, PORT, WHY, Desk, desk, known
from tests.interchange.test_sessions import imported

WHERE = "Which port does the staging server use?"


async def written(over: Desk, clock: MockClock) -> None:
    """Let what was gathered be written."""
    await wait_all_tasks_blocked()
    clock.jump(GATHER_S)
    await wait_all_tasks_blocked()
    warm = await over.daemon.open_stores.opened("default")
    await warm.store.read(lambda _: None)


async def shown(over: Desk, session: str | None = None, **more: Any) -> list[SessionView]:
    found = await over.does("today", id=session, **more)
    return list(found.sessions)


# ---------------------------------------------------------------- today


async def test_what_was_said_in_another_session_is_shown_by_its_first_words(
    tmp_path: Path, mock_clock: MockClock
) -> None:
    async with desk(tmp_path, HookSettings(min_probability=0.05)) as over:
        await over.asks("Why is the mirror slow?")
        await over.answered("The warehouse mirror answers on port 8191 behind the old proxy.")
        assert "8191" in await over.asks("Is the warehouse mirror behind the old proxy?", session="next")
        await written(over, mock_clock)
        (told,) = (await shown(over, "next"))[0].shown
        ((words, purged),) = [(it.words, it.purged) for it in told.memories]
        assert (words, purged) == ("Why is the mirror slow? The warehouse mirror answers on…", False)


async def test_a_subagent_has_its_own_lines_in_its_session(tmp_path: Path, mock_clock: MockClock) -> None:
    async with desk(tmp_path) as over:
        await known(over)
        await over.asks(WHERE)
        await over.at(Moment.SUBAGENT_START, text=WHERE, agent="a1")
        await written(over, mock_clock)
        (session,) = await shown(over)
        assert [(each.moment, each.agent) for each in session.shown] == [("prompt", ""), ("task", "a1")]
        assert session.tokens == sum(each.tokens for each in session.shown)


async def test_neither_prompts_nor_memories_are_kept_with_it(tmp_path: Path, mock_clock: MockClock) -> None:
    async with desk(tmp_path) as over:
        insight_id = await over.remember(PORT, category="fact")
        await over.asks("Which port does the staging server have, xyzzyplugh?", session="s-9")
        await written(over, mock_clock)
        assert files_with(tmp_path, "xyzzyplugh") == []
        ((it,),) = [each.memories for each in (await shown(over))[0].shown]
        assert it.reason
        await over.does("forget", id=insight_id, purge=True)
        ((it,),) = [each.memories for each in (await shown(over))[0].shown]
        assert (it.id, it.words, it.purged, it.reason) == (insight_id, None, True, "")
        assert files_with(tmp_path, "staging") == []


async def test_what_waits_is_bounded_and_written_in_parts(tmp_path: Path, mock_clock: MockClock) -> None:
    async with desk(tmp_path) as over:
        await known(over)
        warm = await over.daemon.open_stores.opened("default")
        line = Showing("2026-02-18T09:00:00.000000Z", "s", "codex", "", "prompt", 9, "m", "why")
        for number in range(showings.MAX_SHOWINGS + 50):
            over.daemon.uses.note(warm, (), None, [replace(line, insight_id=f"m{number}")])
        waiting = over.daemon.uses._waiting["default"].showings
        assert len(waiting) == showings.MAX_SHOWINGS
        assert waiting[0].insight_id == "m50"
        assert len(over.daemon.uses._waiting["default"].next_batch()[2]) == LINES_AT_ONCE


# ---------------------------------------------------------------- hook.preview


async def test_a_preview_is_what_a_new_session_gets_and_counts_as_nothing(
    tmp_path: Path, mock_clock: MockClock
) -> None:
    async with desk(tmp_path) as over:
        await known(over)
        prompt = await over.does("hook.preview", moment="prompt", text=WHERE, directory=APOLLO)
        begun = await over.does("hook.preview", moment="session", directory=APOLLO)
        assert PORT in prompt.text
        assert [(it.words, it.reason[:15]) for it in prompt.shown] == [(PORT, "probability 0.9")]
        assert [it.reason.split(", ")[-1] for it in prompt.left_out] == ["less than 0.45"]
        assert (prompt.budget, prompt.store) == (1_500, "default")
        assert [it.reason for it in begun.shown] == ["a decision in force", "worth knowing"]
        await written(over, mock_clock)
        assert await shown(over) == []
        assert over.daemon.uses._waiting == {}
        assert (await over.does("get", id=prompt.shown[0].id)).insight.access_count == 0
        nonce = "[0-9a-f]{16}"
        assert strip(await over.asks(WHERE), nonce) == strip(prompt.text, nonce)


def strip(text: str, pattern: str) -> str:
    return re.sub(pattern, "#", text)


async def test_a_preview_of_a_store_that_is_not_there_and_of_a_relative_directory(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        assert (await over.does("hook.preview", moment="prompt", text=WHY, store="work")).text == ""
        assert over.stores() == []
        with pytest.raises(MnemonError, match="absolute") as caught:
            await over.does("hook.preview", moment="session", directory="apollo")
        assert caught.value.kind is INVALID_PARAMS


# ---------------------------------------------------------------- feedback


async def test_judgements_are_counted_shown_and_taken_back(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        insight_id = await over.remember(PORT)
        changed = (await over.does("get", id=insight_id)).insight.updated_at
        assert (await over.does("feedback", id=insight_id[:8], verdict="useful", op_id="one")).useful == 1
        assert (await over.does("feedback", id=insight_id[:8], verdict="useful", op_id="one")).replayed
        done = await over.does("feedback", id=insight_id, verdict="misled")
        assert (done.useful, done.misled) == (1, 1)
        it = (await over.does("get", id=insight_id)).insight
        assert (it.useful, it.misled, it.updated_at) == (1, 1, changed)
        assert (await over.does("stats")).judged == {"useful": 1, "misled": 1}
        log = await over.does("log", limit=2)
        assert [(each.operation, each.detail) for each in log] == [
            ("misled", "useful=1 misled=1"),
            ("useful", "useful=1 misled=0"),
        ]
        past = await over.does("history", id=insight_id)
        assert [each.after_state.misled for each in past.operations] == [0, 0, 1]
        await over.does("undo", operation=done.op_id)
        assert (await over.does("stats")).judged == {"useful": 1, "misled": 0}
        await over.does("forget", id=insight_id, purge=True)
        assert (await over.does("stats")).judged == {"useful": 0, "misled": 0}
        with pytest.raises(MnemonError) as caught:
            await over.does("feedback", id=insight_id, verdict="useful")
        assert caught.value.kind is NOT_FOUND


async def test_a_judgement_does_not_keep_an_older_operation_from_being_undone(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        insight_id = await over.remember(PORT)
        done = await over.does("update", id=insight_id, importance=5)
        await over.does("feedback", id=insight_id, verdict="useful")
        await over.does("undo", operation=done.op_id)
        it = (await over.does("get", id=insight_id)).insight
        assert (it.importance, it.useful) == (3, 1)


async def test_the_order_of_results_changes_only_with_the_setting(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        for hour in ("ten", "nine"):
            await over.remember(f"The quokka keeper has tea at {hour}")
        warm = await over.daemon.open_stores.opened("default")

        async def found(weight: float) -> list[str]:
            config = replace(warm.config, retrieval=replace(warm.config.retrieval, feedback_weight=weight))
            over.daemon.open_stores._change("default", config=config)
            results = (await over.does("recall", query="When does the quokka keeper have tea?", explain=True)).results
            assert all(0.0 <= hit.score <= 1.0 for hit in results)
            return [hit.insight.id for hit in results]

        first, second = before = await found(0.0)
        assert await found(0.5) == before
        for _ in range(5):
            await over.does("feedback", id=first, verdict="misled")
            await over.does("feedback", id=second, verdict="useful")
        assert await found(0.0) == before
        assert await found(0.5) == [second, first]


def test_the_effect_is_bounded_and_one_judgement_moves_a_third() -> None:
    it = Insight("a", "t", "t", content="tea")
    assert standing(it) == 0.0
    assert standing(replace(it, useful=1)) == pytest.approx(1 / 3)
    assert standing(replace(it, misled=1)) == pytest.approx(-1 / 3)
    assert standing(replace(it, useful=10**6)) < 1.0
    assert with_feedback([], 0.5) == []


def test_defaults() -> None:
    assert Config().retrieval == RetrievalSettings()
    assert RetrievalSettings().feedback_weight == 0.0
    assert TodayParams().limit == 20


# ---------------------------------------------------------------- what was kept and left out


async def test_of_a_session_what_was_told_kept_and_left_out(tmp_path: Path, mock_clock: MockClock) -> None:
    async with desk(tmp_path) as over, trio.open_nursery() as nursery:
        await nursery.start(over.daemon.scheduler.run)
        await known(over)
        rule = await over.remember("Never deploy on Fridays", category="preference", when=["Bash:git push*"])
        await over.asks(WHERE, session="s-1")
        await over.answered("It runs on port 8443.", session="s-1")
        await over.asks("Why is the build slow? Always use tabs in Makefiles.", session="s-1")
        await over.answered("Understood.", session="s-1")
        await over.asks("Write a story about a dragon that fails a test.", session="s-1")
        await over.answered("Once upon a time.", session="s-1")
        push = ToolUse(name="Bash", id="1", line="git push", text="git push")
        for session in ("s-1", "s-2"):
            call = HookEvent(host=Host.CLAUDE_CODE, moment=Moment.TOOL_USE, session=session, cwd=APOLLO, tool=push)
            await over.daemon._agents.at(call, CALL)
        await over.does("feedback", id=rule, verdict="useful")
        await over.does("jobs.run", name="extract")
        await written(over, mock_clock)
        found = await over.does("today", id="s-1")
        (session,) = found.sessions
        assert (session.host, session.exchanges) == ("claude-code", 3)
        assert session.project == (await over.daemon.projects.of(APOLLO)).id
        assert session.began <= session.ended
        assert [each.moment for each in session.shown] == ["prompt", "rule"]
        assert [(it.id, it.reason) for it in session.shown[1].memories] == [(rule, "a call was held back")]
        assert ["tabs" in it.words for it in session.kept] == [True]
        assert "Why is the build slow?" in [it.text for it in session.left_out]
        assert all(it.reason and it.passage for it in session.left_out)
        assert [it.reason for it in session.left_out if "dragon" in it.text] == ["of a story or a role"]
        assert session.left_out_count == len(session.left_out)
        figures = found.figures
        assert (figures.memories, figures.sessions, figures.rules, figures.exchanges, figures.kept) == (1, 1, 1, 3, 1)
        assert (figures.useful, figures.misled, figures.tokens) == (1, 0, session.tokens)
        both = await over.does("today")
        assert [each.id for each in both.sessions] == ["s-2", "s-1"]
        assert both.figures.rules == 2
        nursery.cancel_scope.cancel()


async def test_a_time_decides_which_sessions_are_shown(tmp_path: Path, mock_clock: MockClock) -> None:
    async with desk(tmp_path) as over:
        found = [SessionExchange(f"s{n}", APOLLO, f"2025-0{n}-01T09:00:00Z", f"Ask {n}", "Yes") for n in (1, 2)]
        await imported(over, found, "codex-sessions")
        assert await shown(over) == []
        assert [each.id for each in await shown(over, since="2025-01-15")] == ["s2"]
        assert [each.id for each in await shown(over, "s")] == ["s2", "s1"]
        assert await shown(over, "s1", since="2025-01-15") == []
        with pytest.raises(MnemonError) as refused:
            await shown(over, since="soon")
        assert refused.value.kind is INVALID_PARAMS
