"""What memory does at each moment of a session: what it says, what it keeps, and what it never says or keeps."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import pytest
import trio
from msgspec.structs import replace

from mnemond import errors
from mnemond.config.hosts import Host, Moment
from mnemond.config.settings import HookSettings
from mnemond.config.writing import ExtractionSettings
from mnemond.errors import MnemonError
from mnemond.hooks.memory import ExchangeQueue
from mnemond.hooks.sessions import STAMP, Place
from mnemond.text.project_name import project_of
from mnemond.text.transcripts import without_echoes
from mnemond.wire.hook_payload import HookEvent
from mnemond.wire.hooks import units
from tests.api.factories import CALL
from tests.hooks.factories import APOLLO, PORT, SQLITE, WHY, desk, known
from tests.tables import each_row

# ---------------------------------------------------------------- prompts


async def test_a_prompt_brings_up_what_belongs_to_it_once(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await known(over)
        said = await over.asks(WHY)
        assert SQLITE in said
        assert PORT not in said
        assert "high user #apollo>" in said
        assert await over.asks(WHY) == ""
        assert SQLITE in await over.asks(WHY, session="another")


@each_row("prompt", ["Write a haiku about the sea", "ok", "", "…", "/clear", "<private>SQLite</private>"])
async def test_nothing_is_said_where_nothing_belongs_to_it(prompt: str, tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await known(over)
        assert await over.asks(prompt) == ""


async def test_what_others_put_into_a_prompt_is_not_searched_for(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await known(over)
        wrapped = f"<system-reminder>{SQLITE}</system-reminder>Which port does the staging server use?"
        said = await over.asks(wrapped)
        assert PORT in said
        assert SQLITE not in said


async def test_of_a_long_prompt_beginning_and_end_are_searched_for(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await known(over)
        assert SQLITE in await over.asks(f"{WHY}\n{'0123456789abcdef ' * 14_000}")
        assert PORT in await over.asks(f"{'0123456789abcdef ' * 14_000}\nWhich port has the staging server?")


@each_row(
    ("settings", "shown"),
    [
        (HookSettings(), 1),
        (HookSettings(enabled=False), 0),
        (HookSettings(prompt_results=0), 0),
        (HookSettings(min_probability=0.99), 0),
        (HookSettings(max_characters=200), 0),
    ],
)
async def test_settings_of_prompts(settings: HookSettings, shown: int, tmp_path: Path) -> None:
    async with desk(tmp_path, settings) as over:
        await known(over)
        assert (await over.asks(WHY)).count("<ref:") == shown


async def test_as_many_as_are_allowed_and_the_next_when_asked_again(tmp_path: Path) -> None:
    async with desk(tmp_path, HookSettings(prompt_results=2)) as over:
        for number in range(5):
            await over.remember(f"The quokka station {number} has a leaking roof")
        shown = [(await over.asks("Which quokka stations have a leaking roof?")).count("<ref:") for _ in range(4)]
        assert shown == [2, 2, 1, 0]


async def test_a_memory_is_as_probable_as_the_best_piece_of_a_prompt_makes_it(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await known(over)
        place, call = Place("default", "", exists=True), CALL
        alone, _ = await over.daemon._agents.considered(WHY, place, call)
        best, *others = await over.daemon._agents.considered(f"Rename the column first, please. {WHY}", place, call)
        assert best.hit.insight.content == alone.hit.insight.content == SQLITE
        assert 0.45 < best.probability < alone.probability
        assert all(each.probability < best.probability for each in others)
        assert len({each.hit.insight.id for each in (best, *others)}) == 1 + len(others)


async def test_a_memory_that_changed_is_shown_again(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        insight_id = await over.remember(SQLITE)
        assert SQLITE in await over.asks(WHY)
        await over.does("update", id=insight_id, content="Chose SQLite for its single file")
        assert "for its single file" in await over.asks(WHY)


async def test_what_was_said_comes_up_in_other_sessions_and_after_a_compaction(tmp_path: Path) -> None:
    """Also if a memory which was taken out of it has nothing to do with the prompt."""
    rule, asked = "Never push to main without a green build.", "Why did the nightly import fail?"
    cause = "The supplier feed repeats rows with one key."
    async with desk(tmp_path) as over, trio.open_nursery() as nursery:
        await nursery.start(over.daemon.embedding_worker.run)
        await over.remember(rule, category="preference")
        await over.asks(f"{asked} {rule}", session="first")
        await over.answered(cause, session="first")
        await over.does("embed.run")
        assert await over.asks(asked, session="first") == "", "it stands in the context"
        assert cause in await over.asks(asked, session="second")
        await over.at(Moment.PRE_COMPACT, session="first")
        assert cause in await over.asks(asked, session="first")
        nursery.cancel_scope.cancel()


async def test_a_passage_that_says_what_a_memory_tells_is_not_told_beside_it(tmp_path: Path) -> None:
    async with desk(tmp_path) as over, trio.open_nursery() as nursery:
        await nursery.start(over.daemon.embedding_worker.run)
        await over.asks(WHY, session="first")
        await over.answered(f"{SQLITE}.", session="first")
        await known(over)
        await over.does("embed.run")
        said = await over.asks(WHY, session="second")
        assert (said.count(SQLITE), "session of" in said) == (1, False)
        nursery.cancel_scope.cancel()


async def test_a_host_that_shows_nothing_is_not_searched_for(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await known(over)
        assert await over.asks(WHY, takes_context=False) == ""
        assert SQLITE in await over.asks(WHY)


async def test_what_was_shown_in_time_counts_as_used(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await known(over)
        await over.asks(WHY)
        waiting, lines = (over.daemon.uses._waiting["default"].times, over.daemon.uses._waiting["default"].lines)
        assert list(waiting.values()) == [1]
        assert [(line.insight_id, line.detail) for line in lines] == [(*waiting, "hook results=1 confidence=high")]
        await over.asks(WHY)
        assert list(waiting.values()) == [1]
        assert len(lines) == 1


async def test_a_setting_keeps_what_was_shown_out_of_the_log(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await known(over)
        warm = await over.daemon.open_stores.opened("default")
        quiet = replace(warm.config, retrieval=replace(warm.config.retrieval, log_recalls=False))
        over.daemon.open_stores._change("default", config=quiet)
        assert SQLITE in await over.asks(WHY)
        assert list(over.daemon.uses._waiting["default"].lines) == []


async def test_what_came_too_late_was_not_shown(tmp_path: Path) -> None:
    async with desk(tmp_path, hook_ms=1) as over:
        await known(over)
        over.daemon._agents.apply_settings(HookSettings(), 0.0)
        assert SQLITE in await over.asks(WHY)
        assert over.daemon.uses._waiting == {}
        over.daemon._agents.apply_settings(HookSettings(), 10.0)
        assert SQLITE in await over.asks(WHY)


@pytest.mark.parametrize("host", [Host.CURSOR, Host.CLAUDE_CODE])
async def test_the_same_prompt_of_two_hook_files_is_answered_once(host: Host, tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await known(over)
        assert SQLITE in await over.asks(WHY, turn="1")
        assert await over.asks(WHY, turn="1", host=host) == ""
        await over.answered("Because of Redis.", turn="1")
        await over.answered("Because of Redis.", turn="1", host=host)
        assert len(await over.queued()) == 1


# ---------------------------------------------------------------- a session begins


async def test_a_session_begins_with_a_brief(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await known(over)
        await over.remember("Never deploy on Friday", category="preference", importance=5)
        await over.remember("Apollo logs as JSON", category="decision", importance=2, project="apollo")
        await over.remember("Zeus logs as text", category="decision", importance=2, project="zeus")
        said = await over.at(Moment.SESSION_START, source="startup")
        lines = [line.split("> ")[-1] for line in said.splitlines()]
        assert lines[3:-1] == [
            "Instructions and preferences:", "Never deploy on Friday",
            "Decisions of apollo:", "Apollo logs as JSON",
            "Decisions for every project:", SQLITE,
            "What else matters:", PORT,
        ]  # fmt: skip
        assert await over.asks(WHY) == ""  # it stands in the brief


async def test_one_memory_of_weight_hides_no_preferences(tmp_path: Path) -> None:
    preferences = [f"The user prefers {each} in every report" for each in ("tables", "metric units", "short titles")]
    async with desk(tmp_path) as over:
        for each in preferences:
            await over.remember(each, category="preference", importance=3)
        await over.remember("Ana Berg owns the billing service", category="fact", importance=4)
        await over.remember("Answer in German whenever the user writes German")
        said = await over.at(Moment.SESSION_START)
        told = [line.split("> ")[-1] for line in said.splitlines()[3:-1]]
        assert told[0] == "Instructions and preferences:"
        assert set(told[1:5]) == {*preferences, "Answer in German whenever the user writes German"}
        assert told[5:] == ["What else matters:", "Ana Berg owns the billing service"]


async def test_what_is_at_odds_is_told_once_and_the_newer_first(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        older = (
            await over.does("remember", content="I prefer tabs over spaces", category="preference", importance=4)
        ).id
        await over.remember("The user prefers short answers", category="preference", importance=4)
        newer = (await over.does("remember", content="I prefer spaces over tabs", category="preference")).id
        lines = (await over.at(Moment.SESSION_START)).splitlines()
        (place,) = [at for at, line in enumerate(lines) if line.endswith("> I prefer spaces over tabs")]
        assert f"<ref:{newer[:8]}" in lines[place]
        assert f"may contradict ref:{older[:8]}> " in lines[place]
        assert lines[place + 1].endswith("> I prefer tabs over spaces")
        assert sum("tabs" in line for line in lines) == 2
        assert "mnemonctl reviews" not in "\n".join(lines)  # that the pair waits is for a person to know


async def test_a_brief_after_a_compaction_has_all_of_its_parts(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await known(over)
        await over.remember("Never deploy on Friday", category="preference")
        await over.asks("Which port does the staging server use?")
        lines = (await over.at(Moment.SESSION_START, source="compact")).splitlines()
        headings = [line for line in lines if line.endswith(":")]
        assert headings == [
            "Instructions and preferences:",
            "About what is being done:",
            "Decisions for every project:",
        ]


@pytest.mark.parametrize(("age_s", "briefs"), [(1.0, True), (120.0, False), (None, False)])
async def test_a_session_that_began_without_a_daemon_is_briefed_with_its_first_prompt(
    age_s: float | None, briefs: bool, tmp_path: Path
) -> None:
    if age_s is not None:
        (tmp_path / STAMP).touch()
        os.utime(tmp_path / STAMP, (time.time() - age_s,) * 2)
    async with desk(tmp_path) as over:
        await known(over)
        assert ("What else matters:" in await over.asks("Make the button blue")) == briefs
        assert (SQLITE in await over.asks(WHY)) != briefs, "none twice"
        assert "What else matters:" in await over.at(Moment.SESSION_START, session="another")
        assert "What else matters:" not in await over.asks(WHY, session="another")


async def test_a_brief_that_came_too_late_comes_with_the_next_prompt(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await known(over)
        over.daemon._agents.apply_settings(HookSettings(), 0.0)
        assert SQLITE in await over.at(Moment.SESSION_START)
        over.daemon._agents.apply_settings(HookSettings(), 10.0)
        said = await over.asks(WHY)
        assert "What else matters:" in said
        assert said.count(SQLITE) == 1
        assert await over.asks(WHY) == ""


async def test_a_brief_is_never_too_long(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        for number in range(40):
            await over.remember(
                f"Decision {number} \U0001f600 {'long ' * 60}", category="decision", importance=5, tags=["apollo"]
            )
        said = await over.at(Moment.SESSION_START)
        assert 2_000 < units(said) <= 2_400
        assert said.count("<ref:") > 5


@each_row(("source", "briefs"), [("compact", 2), ("clear", 2), ("resume", 1), ("startup", 2)])
async def test_a_session_that_goes_on_is_briefed_anew_unless_it_has_its_brief(
    source: str, briefs: int, tmp_path: Path
) -> None:
    async with desk(tmp_path) as over:
        await known(over)
        said = [
            await over.at(Moment.SESSION_START, text=str(at), source=each)
            for at, each in enumerate(("startup", source))
        ]
        assert sum(SQLITE in each for each in said) == briefs


async def test_after_a_compaction_what_matters_to_the_summary_is_recalled(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await known(over)
        assert PORT in await over.asks("Which port does the staging server use?")
        text = "<analysis>Hm.</analysis>\n<summary>\nWe look for the port of the staging server.\n</summary>"
        assert await over.at(Moment.POST_COMPACT, text=text, takes_context=False) == ""
        said = await over.at(Moment.SESSION_START, source="compact")
        assert "About what is being done:" in said
        assert PORT in said
        (summary,) = await over.queued()
        assert (summary.kind, summary.prompt, summary.reply) == (
            "summary", "", "We look for the port of the staging server.",
        )  # fmt: skip


async def test_a_summary_that_comes_after_the_session_has_begun_again_changes_nothing_of_that(tmp_path: Path) -> None:
    """Claude Code says first that it begins again, and then what it goes on with."""
    async with desk(tmp_path) as over:
        await known(over)
        assert PORT in await over.asks("Which port does the staging server use?")
        said = await over.at(Moment.SESSION_START, source="compact")
        assert "About what is being done:" in said  # by what was asked last
        assert PORT in said
        assert await over.at(Moment.POST_COMPACT, text="We look for a port.", takes_context=False) == ""
        assert await over.asks("So which port does the staging server use?") == ""  # it stands in the brief
        assert await over.at(Moment.POST_COMPACT, text="We still look for a port.", takes_context=False) == ""
        assert PORT in await over.asks("Now which port does the staging server use?")  # that was another compaction


async def test_what_was_shown_before_a_compaction_is_shown_again(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await known(over)
        assert SQLITE in await over.asks(WHY)
        assert await over.at(Moment.PRE_COMPACT, takes_context=False) == ""
        assert SQLITE in await over.asks(WHY)


async def test_a_subagent_is_told_what_belongs_to_its_task(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await known(over)
        assert SQLITE in await over.asks(WHY)
        assert SQLITE in await over.at(Moment.SUBAGENT_START, agent="a1")  # its context is its own
        assert PORT in await over.at(Moment.SUBAGENT_START, agent="a2", text="Find the port of the staging server")
        assert await over.at(Moment.SUBAGENT_START, agent="a1", text="Write a haiku") == ""


# ---------------------------------------------------------------- what is kept


async def test_an_exchange_is_kept_with_where_it_is_from(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await over.asks("Please use tabs.<system-reminder>x</system-reminder>")
        await over.answered("I use tabs from now on.")
        (kept,) = await over.queued()
        assert (kept.host, kept.conversation_id, kept.project) == ("claude-code", "s", project_of(APOLLO).id)
        assert (kept.kind, kept.prompt, kept.reply) == ("exchange", "Please use tabs.", "I use tabs from now on.")


async def test_a_turn_that_goes_on_does_not_say_its_prompt_twice(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await over.asks("Please use tabs.")
        await over.answered("Yes.")
        await over.answered("And I told the linter.", again=True, prompt="Please use tabs.")
        assert [(each.prompt, each.reply) for each in await over.queued()] == [
            ("Please use tabs.", "Yes."), ("", "And I told the linter."),
        ]  # fmt: skip


async def test_a_host_may_repeat_the_prompt(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await over.answered("Yes.", prompt="<hook_context>x</hook_context>Please use tabs.", host=Host.GEMINI)
        assert [each.prompt for each in await over.queued()] == ["Please use tabs."]


async def test_what_was_not_answered_is_kept_at_the_end(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await over.asks("I moved to Berlin.")
        assert await over.at(Moment.SESSION_END, takes_context=False) == ""
        assert [(each.prompt, each.reply) for each in await over.queued()] == [("I moved to Berlin.", "")]
        assert len(over.daemon._agents.sessions) == 0
        await over.asks("I like it.", session="t")
        await over.answered("Good.", session="t")
        await over.at(Moment.SESSION_END, session="t")
        assert len(await over.queued()) == 2


async def test_what_memory_said_itself_is_not_kept(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await known(over)
        brief = await over.at(Moment.SESSION_START)
        brought_up = await over.asks(WHY, session="t")
        for line in f"{brief}\n{brought_up}".splitlines():  # each by itself, wherever a transcript was cut
            assert without_echoes(line) == ""
        await over.asks(f"{brief}\n{brought_up}")
        await over.answered(f"{brought_up}\n- {SQLITE}\n* “{PORT}”")
        await over.at(Moment.POST_COMPACT, text=f"{brief}\n{SQLITE}")
        assert await over.queued() == []
        await over.asks(f"{brief}\nWe moved to Postgres.")
        await over.answered(f"Noted. Before:\n{SQLITE}")
        assert [(each.prompt, each.reply) for each in await over.queued()] == [
            ("We moved to Postgres.", "Noted. Before:")
        ]


@pytest.mark.parametrize(
    ("hooks", "extraction"),
    [
        (HookSettings(keep=False), ExtractionSettings()),
        (HookSettings(enabled=False), ExtractionSettings()),
        (HookSettings(), ExtractionSettings(enabled=False)),
    ],
)
async def test_whoever_wants_nothing_kept_has_nothing_kept(
    hooks: HookSettings, extraction: ExtractionSettings, tmp_path: Path
) -> None:
    async with desk(tmp_path, hooks, extraction) as over:
        await known(over)
        await over.asks("I moved to Berlin.")
        await over.answered("Good.")
        assert await over.queued() == []


async def test_what_no_person_wrote_is_no_prompt(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await known(over)
        assert await over.asks(WHY, source="system") == ""
        await over.answered("Done.")
        assert [each.prompt for each in await over.queued()] == [""]


async def test_what_could_not_be_kept_may_be_told_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with desk(tmp_path) as over:
        await known(over)

        async def fail(self: ExchangeQueue, *_: object) -> bool:
            raise MnemonError(errors.STORAGE, "no disk")

        with monkeypatch.context() as broken:
            broken.setattr(ExchangeQueue, "keep", fail)
            with pytest.raises(MnemonError):
                await over.answered("Tabs it is.", prompt="Please use tabs.")
            await over.asks("Please use spaces.")
            with pytest.raises(MnemonError):
                await over.answered("Spaces it is.")
        await over.answered("Spaces it is.")
        await over.answered("Tabs it is.", prompt="Please use tabs.")
        kept = [(each.prompt, each.reply) for each in await over.queued()]
        assert kept == [("Please use spaces.", "Spaces it is."), ("Please use tabs.", "Tabs it is.")]


async def test_what_was_said_does_not_outlive_a_purge(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        insight_id = await over.remember("The wifi password of the office is on the fridge")
        await over.asks("Purge this: the wifi password of the office is on the fridge.")
        await over.does("forget", id=insight_id, purge=True)
        await over.answered("Done.")
        assert [(each.prompt, each.reply) for each in await over.queued()] == [("", "Done.")]
        assert over.daemon._agents.sessions.of(HookEvent(host=Host.CODEX, moment=Moment.PROMPT, session="s")).task == ""


async def test_a_person_is_told_once_what_a_session_begins_with(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        assert await over.at(Moment.SESSION_START, source="startup", session="none") == over.notice == ""
        await known(over)
        assert await over.at(Moment.SESSION_START, source="startup", session="a")
        assert over.notice == "mnemond: 2 memories"
        await over.asks(WHY, session="a")
        assert over.notice == ""
        await over.answered("The team lacks Redis experience.", session="a")
        assert await over.at(Moment.SESSION_START, source="compact", session="a")
        assert over.notice == ""
        await over.at(Moment.SESSION_START, source="startup", session="b")
        assert re.fullmatch(r"mnemond: 2 memories, last session of \d{1,2} [A-Z][a-z]{2}", over.notice)
        await over.at(Moment.SESSION_START, source="resume", session="b")
        assert over.notice == ""
