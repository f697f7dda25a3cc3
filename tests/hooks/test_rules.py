"""Rules before calls of tools: what a session is told, held back for and refused, and what is counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio

from mnemond.api.uses import GATHER_S
from mnemond.config.settings import HookSettings
from mnemond.errors import MnemonError
from mnemond.hooks.rules import MAX_HELD
from mnemond.wire.hook_payload import HookEvent, Host, Moment, ToolUse
from mnemond.wire.hooks import Said, Verdict
from tests.api.factories import CALL
from tests.hooks.factories import APOLLO, Desk, desk

RULE = "Nobody pushes to main before Ana Berg has seen the change"
PUSH = ToolUse("Bash", line="git push origin main", text="git push origin main")
READ = ToolUse("Read", paths=("/home/ada/apollo/migrations/1.sql",))
TERMINAL = msgspec.structs.replace(CALL, at_terminal=True)


async def before(over: Desk, tool: ToolUse, **fields: Any) -> Said:
    """What is said before a call."""
    known = {"host": Host.CLAUDE_CODE, "session": "s", "cwd": APOLLO, "takes_context": True, "asks": True}
    event = HookEvent(**{**known, **fields}, moment=Moment.TOOL_USE, tool=tool)
    return await over.daemon._agents.at(event, CALL)


async def enforce(over: Desk, rule: str, how: str) -> None:
    """A person at a terminal does."""
    params = msgspec.json.encode({"id": rule, "enforce": how})
    await over.daemon._invoke("rules.set", params, TERMINAL)


async def test_a_call_is_held_back_once_with_the_rule_as_its_reason(tmp_path: Path, autojump_clock: object) -> None:
    async with desk(tmp_path) as over:
        rule = await over.remember(RULE, when=["Bash:git push*"])
        first = await before(over, PUSH)
        assert isinstance(first, Verdict)
        assert first.decision == "deny"
        assert first.reason.count(RULE) == 1
        assert await before(over, PUSH) == ""
        assert await before(over, ToolUse("Bash", line="ls")) == ""
        assert isinstance(await before(over, PUSH, session="another"), Verdict)
        await over.at(Moment.SESSION_END)
        await over.at(Moment.SESSION_END, session="another")
        await trio.sleep(GATHER_S * 3)
        (listed,) = (await over.does("rules.list")).rules
        assert (listed.id, listed.pattern) == (rule, "Bash:git push*")
        assert (listed.matched, listed.shown, listed.followed) == (3, 2, 1)


async def test_one_call_for_which_two_hook_files_run_gets_one_answer(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await over.remember(RULE, when=["Bash:git push*"])
        named = msgspec.structs.replace(PUSH, id="toolu_1")
        assert await before(over, named) == await before(over, named) != ""


async def test_calls_of_the_same_breath_are_all_held_back(tmp_path: Path) -> None:
    """A model that makes several calls at once reads no reason before the last of them."""
    async with desk(tmp_path) as over:
        await over.remember(RULE, when=["Bash:git push*"])
        other = ToolUse("Bash", line="git push --tags")
        assert isinstance(await before(over, PUSH), Verdict)
        assert isinstance(await before(over, other), Verdict)


async def test_before_a_tool_that_only_reads_a_rule_is_told(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await over.remember("Migrations are generated", when=["Read:migrations/**"])
        said = await before(over, READ)
        assert isinstance(said, str)
        assert "Migrations are generated" in said
        assert await before(over, READ) == ""
        assert isinstance(await before(over, READ, session="gemini", takes_context=False), Verdict)


async def test_at_most_three_rules_one_line_each(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        for number in range(5):
            await over.remember(f"Rule {number} <system>\n- of ours", when=["Bash:git push*"])
        said = await before(over, PUSH)
        assert isinstance(said, Verdict)
        assert len([line for line in said.reason.splitlines() if line.startswith("- ")]) == 3
        assert "<system>" not in said.reason


async def test_settings_tell_only_or_nothing(tmp_path: Path) -> None:
    async with desk(tmp_path, HookSettings(rules="tell")) as over:
        await over.remember(RULE, when=["Bash:git push*"])
        assert isinstance(await before(over, PUSH), str)
        assert await before(over, PUSH, session="gemini", takes_context=False) == ""
    for settings in (HookSettings(rules="off"), HookSettings(enabled=False)):
        place = tmp_path / str(settings.enabled)
        place.mkdir()
        async with desk(place, settings) as over:
            await over.remember(RULE, when=["Bash:git push*"])
            assert await before(over, PUSH) == ""


async def test_a_rule_of_another_project_says_nothing(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await over.remember(RULE, when=["Bash:git push*"], tags=["zeus"])
        assert await before(over, PUSH) == ""
        await over.remember("Of a session", when=["Bash:git push*"], session_id="x")
        assert await before(over, PUSH) == ""


async def test_without_a_store_nothing_is_said(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        assert await before(over, PUSH) == ""
        assert over.stores() == []


async def test_one_command_switches_all_off_and_one_rule(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        rule = await over.remember(RULE, when=["Bash:git push*"])
        await enforce(over, rule, "deny")
        await over.does("rules.set", state="off")
        assert await before(over, PUSH) == ""
        assert not (await over.does("rules.list")).on
        await over.does("rules.set", state="on")
        assert isinstance(await before(over, PUSH), Verdict)
        await over.does("rules.set", id=rule, state="off")
        assert await before(over, PUSH) == ""
        assert not (await over.does("rules.set", id=rule, state="off")).changed
    async with desk(tmp_path) as over:  # and it is so after a start
        assert (await over.does("rules.list")).rules[0].state == "off"


async def test_deny_refuses_every_time_and_ask_asks(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        rule = await over.remember(RULE, when=["Bash:git push*"])
        await enforce(over, rule, "deny")
        for _ in range(3):
            said = await before(over, PUSH)
            assert isinstance(said, Verdict)
            assert said.decision == "deny"
        await enforce(over, rule, "ask")
        for _ in range(2):
            said = await before(over, PUSH)
            assert isinstance(said, Verdict)
            assert said.decision == "ask"
        for _ in range(2):  # a host without `ask`: each call is refused once
            other = ToolUse("Bash", line=f"git push {_}")
            assert isinstance(await before(over, other, asks=False), Verdict)
            assert await before(over, other, asks=False) == ""


async def test_only_a_person_at_a_terminal_enforces(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        rule = await over.remember(RULE, when=["Bash:git push*"])
        for params in ({"id": rule, "enforce": "deny"}, {"id": rule, "enforce": "tell"}):
            with pytest.raises(MnemonError, match="terminal"):
                await over.does("rules.set", **params)
        with pytest.raises(MnemonError, match="terminal"):
            await over.remember("x", when=["Bash:git push*"], enforce="deny")
        for params in ({"enforce": "deny"}, {}, {"id": rule}):
            with pytest.raises(MnemonError, match=r"give|nothing"):
                await over.daemon._invoke("rules.set", msgspec.json.encode(params), TERMINAL)
        with pytest.raises(MnemonError, match="no trigger"):
            await over.does("rules.set", id=await over.remember("No rule"), state="off")


async def test_an_agent_that_was_led_to_store_many_rules_stops_no_other(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        for number in range(MAX_HELD + 5):
            await over.remember(f"Rule {number}", when=[f"Bash:tool{number}"])
        said = [await before(over, ToolUse("Bash", line=f"tool{number}")) for number in range(MAX_HELD + 5)]
        assert [type(each) for each in said] == [Verdict] * MAX_HELD + [str] * 5


async def test_triggers_are_kept_changed_and_taken_back(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        rule = await over.remember(RULE, when=["Bash(git push:*)"])
        await enforce(over, rule, "deny")
        changed = await over.does("update", id=rule, when=["Edit:migrations/**"])
        assert changed.changed == ["when"]
        kept = (await over.does("get", id=rule)).insight.when
        assert [(each.pattern, each.enforce) for each in kept] == [
            ("Bash:git push*", "deny"), ("Edit:migrations/**", "tell"),
        ]  # fmt: skip
        await over.does("undo", operation=changed.op_id)
        assert [each.pattern for each in (await over.does("get", id=rule)).insight.when] == ["Bash:git push*"]
        await over.does("forget", id=rule, purge=True)
        assert (await over.does("rules.list")).rules == []
    async with desk(tmp_path) as over:
        assert (await over.does("rules.list")).rules == []


async def test_a_trigger_that_is_none_is_refused_with_a_sentence(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        for bad in ("git push", "Bash:*", "Bash:" + "x" * 300):
            with pytest.raises(MnemonError, match="when"):
                await over.remember(RULE, when=[bad])
