"""Rules before calls of tools: what a session is told, held back for and refused, and what is counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mnemond.api import requests
from mnemond.api.registry import METHODS
from mnemond.config.hosts import Host, Moment
from mnemond.config.settings import HookSettings
from mnemond.errors import MnemonError
from mnemond.hooks.rules import MAX_HELD
from mnemond.mcp import tools
from mnemond.wire.hook_payload import HookEvent, ToolUse, read
from mnemond.wire.hooks import HookReply, Verdict
from tests.api.factories import CALL
from tests.hooks.factories import APOLLO, Desk, desk
from tests.tables import each_row

RULE = "Nobody pushes to main before Ana Berg has seen the change"
PUSH = ToolUse("Bash", line="git push origin main", text="git push origin main")
READ = ToolUse("Read", paths=("/home/ada/apollo/migrations/1.sql",))
TERMINAL = msgspec.structs.replace(CALL, at_terminal=True)


@pytest.fixture(autouse=True)
def process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What Linux tells of the client's process: its output is a terminal, and no agent runs it."""
    monkeypatch.setattr(requests, "PROCESSES", tmp_path / "proc")
    made = tmp_path / "proc" / str(CALL.peer_pid)
    (made / "fd").mkdir(parents=True)
    (made / "fd" / "1").symlink_to("/dev/pts/0")
    (made / "environ").write_bytes(b"HOME=/home/ada\0TERM=xterm\0")
    return made


async def before(over: Desk, tool: ToolUse, **fields: Any) -> HookReply:
    """What is said before a call."""
    known = {"host": Host.CLAUDE_CODE, "session": "s", "cwd": APOLLO, "takes_context": True, "asks": True}
    event = HookEvent(**{**known, **fields}, moment=Moment.TOOL_USE, tool=tool)
    return await over.daemon._agents.at(event, CALL)


async def at_terminal(over: Desk, method: str, **params: object) -> Any:
    """The result of a method for a person at a terminal."""
    return await over.daemon._dispatcher.invoke(METHODS[method], params, TERMINAL)


async def enforce(over: Desk, rule: str, how: str) -> str:
    """A person at a terminal does; the op_id."""
    return str((await at_terminal(over, "rules.set", id=rule, enforce=how)).op_id)


async def test_a_call_is_held_back_once_with_the_rule_as_its_reason(tmp_path: Path) -> None:
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
    async with desk(tmp_path) as over:  # a stop writes what is pending
        (listed,) = (await over.does("rules.list")).rules
        assert (listed.id, listed.pattern) == (rule, "Bash:git push*")
        assert (listed.matched, listed.shown, listed.followed) == (3, 2, 1)


async def test_a_session_that_goes_on_is_not_shown_a_rule_again(tmp_path: Path) -> None:
    """After it was compacted, was resumed, or went on with another daemon."""
    async with desk(tmp_path) as over:
        await over.remember(RULE, when=["Bash:git push*"])
        assert isinstance(await before(over, PUSH, session="long"), Verdict)
        await over.at(Moment.PRE_COMPACT, session="long")
        assert await before(over, PUSH, session="long") == ""
        assert isinstance(await before(over, PUSH), Verdict)
        await over.at(Moment.SESSION_END)
        assert await before(over, PUSH) == ""
        over.daemon._agents.save()  # as the daemon does when it stops
    async with desk(tmp_path) as over:
        assert await before(over, PUSH) == ""
        assert isinstance(await before(over, PUSH, session="another"), Verdict)


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
        await over.remember(RULE, when=["Bash:git push*"], project="zeus")
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


LONG = [
    ":;" * 5_000 + "quux now", "x" * 20_000 + "; quux now", ": '" + "x" * 200_000 + "'; quux now",
    "".join(f"a{number};" for number in range(2_000)) + "quux now", "echo " + "a " * 60_000 + "; quux now",
    '"$(' * 40 + "quux now",
]  # fmt: skip


@each_row("line", LONG)
async def test_no_length_gets_a_call_past_what_is_denied(tmp_path: Path, line: str) -> None:
    """Read as a host sends it; a rule that is only told is silent about what it does not see."""
    sent = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": line}}
    found = read(json.dumps(sent).encode())
    assert found is not None
    assert found.event is not None
    assert found.event.tool is not None
    async with desk(tmp_path) as over:
        rule = await over.remember("Never run quux", when=["Bash:quux*"])
        await over.remember("Of another tool", when=["Edit:quux*"])
        await enforce(over, rule, "deny")
        for _ in range(2):
            said = await before(over, found.event.tool)
            assert isinstance(said, Verdict)
            assert said.decision == "deny"
            assert "Never run quux" in said.reason
            assert "Of another tool" not in said.reason


async def test_a_call_that_is_not_read_whole_is_held_by_what_is_enforced_alone(tmp_path: Path) -> None:
    cut = ToolUse("Bash", unread=frozenset({"command"}))
    async with desk(tmp_path) as over:
        rule = await over.remember("Never run quux", when=["Bash:quux*"])
        assert await before(over, cut) == ""
        await enforce(over, rule, "ask")
        assert await before(over, ToolUse("Edit", unread=frozenset({"path"}))) == ""
        said = await before(over, cut)
        assert isinstance(said, Verdict)
        assert said.decision == "ask"
        assert "- the call is too long to be read whole; rule: Never run quux" in said.reason.splitlines()
        for _ in range(2):  # where a host cannot ask, the next call may be another one
            said = await before(over, cut, host=Host.CODEX, asks=False)
            assert isinstance(said, Verdict)
            assert said.decision == "deny"
    async with desk(tmp_path) as over:  # a stop writes what is pending
        (listed,) = (await over.does("rules.list")).rules
        assert (listed.matched, listed.shown) == (0, 3)


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
                await at_terminal(over, "rules.set", **params)
        with pytest.raises(MnemonError, match="no trigger"):
            await over.does("rules.set", id=await over.remember("No rule"), state="off")


def test_two_methods_and_no_tool_of_mcp_take_enforce() -> None:
    assert {name for name, method in METHODS.items() if "enforce" in method.params.__struct_fields__} == {
        "remember", "rules.set",
    }  # fmt: skip
    arguments = [each for each in vars(tools).values() if isinstance(each, type) and issubclass(each, msgspec.Struct)]
    assert any("when" in each.__struct_fields__ for each in arguments)
    assert not any("enforce" in each.__struct_fields__ for each in arguments)
    assert all(each.__struct_config__.forbid_unknown_fields for each in arguments if "when" in each.__struct_fields__)


async def test_a_process_without_a_terminal_or_of_an_agent_is_no_person(tmp_path: Path, process: Path) -> None:
    """A hook, a bridge of MCP and a pipe to the socket can all send `cli.run` with the claim of a terminal."""
    async with desk(tmp_path) as over:
        rule = await over.remember(RULE, when=["Bash:git push*"])
        (process / "environ").write_bytes(b"HOME=/home/ada\0CLAUDECODE=1\0")
        with pytest.raises(MnemonError, match="terminal"):
            await enforce(over, rule, "deny")
        (process / "environ").write_bytes(b"")
        (process / "fd" / "1").unlink()
        (process / "fd" / "1").symlink_to("pipe:[4711]")
        claimed = await over.does("cli.run", argv=["rules", "enforce", rule, "deny"], tty=True)
        assert "terminal" in claimed.stderr
        (process / "fd" / "1").unlink()
        with pytest.raises(MnemonError, match="terminal"):
            await enforce(over, rule, "deny")
        assert [each.enforce for each in (await over.does("get", id=rule)).insight.when] == ["tell"]


async def test_no_undo_and_no_restore_changes_what_is_enforced_without_a_person(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        rule = await over.remember(RULE, when=["Bash:git push*"])
        enforced = await enforce(over, rule, "deny")
        with pytest.raises(MnemonError, match="a person at a terminal only"):
            await over.does("undo", operation=enforced)
        lifted = await enforce(over, rule, "tell")
        with pytest.raises(MnemonError, match="a person at a terminal only"):
            await over.does("undo", operation=lifted)
        assert (await at_terminal(over, "undo", operation=lifted)).status == "undone"
        forgotten = await at_terminal(over, "forget", id=rule)
        for method, params in (("undo", {"operation": forgotten.op_id}), ("restore", {"id": rule})):
            with pytest.raises(MnemonError, match="a person at a terminal only"):
                await over.does(method, **params)
        await at_terminal(over, "restore", id=rule)
        assert [each.enforce for each in (await over.does("get", id=rule)).insight.when] == ["deny"]


async def test_no_backup_enforces_a_rule_without_a_person(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        rule = await over.remember(RULE, when=["Bash:git push*"])
        await enforce(over, rule, "deny")
        made = (await over.does("backup.create")).backup.name
        assert (await over.does("backup.restore", backup=made, yes=True)).memories == 1  # it is enforced now as well
        await enforce(over, rule, "tell")
        for more in ({"yes": True}, {"into": "another"}):
            with pytest.raises(MnemonError, match="a person at a terminal only"):
                await over.does("backup.restore", backup=made, **more)
        await at_terminal(over, "backup.restore", backup=made, yes=True)
        assert [each.enforce for each in (await over.does("rules.list")).rules] == ["deny"]
        assert isinstance(await before(over, PUSH), Verdict)


async def test_no_request_of_an_agent_changes_the_words_of_an_enforced_rule_or_lifts_it(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        rule = await over.remember("Never push to the main branch", when=["Bash:git push*"])
        await enforce(over, rule, "deny")
        await over.does("update", id=rule, importance=5)
        own = await over.remember("Nobody pushes to main on Fridays", when=["Bash:git push*"])
        words = "Always push to the main branch"
        for method, params in (
            ("update", {"id": rule, "content": words}),
            ("merge", {"id": own, "other_id": rule, "content": words}),
            ("merge", {"id": rule, "other_id": own, "content": words, "dry_run": True}),
            ("merge", {"id": own, "other_id": rule, "into": rule, "content": "Never push to the main branch"}),
            ("merge", {"id": own, "other_id": rule, "into": own}),
            ("forget", {"id": rule}),
            ("forget", {"id": rule, "purge": True}),
            ("supersede", {"old_id": rule, "new_id": own}),
        ):
            with pytest.raises(MnemonError, match="a person at a terminal only") as refused:
                await over.does(method, **params)
            assert f"mnemonctl {method}" in str(refused.value.hint)
        said = await before(over, PUSH)
        assert isinstance(said, Verdict)
        assert "Never push" in said.reason
        assert (await at_terminal(over, "update", id=rule, content=words)).changed == ["content"]
        assert (await at_terminal(over, "merge", id=rule, other_id=own, content=words)).status == "merged"
        assert (await at_terminal(over, "forget", id=rule)).status == "deleted"


async def test_a_text_that_would_replace_an_enforced_rule_stays_beside_it(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        rule = await over.remember("Never push to the main branch", when=["Bash:git push*"])
        await enforce(over, rule, "deny")
        done = await over.does("remember", content="Always push to the main branch now, no longer never")
        assert (done.action, done.replaced_id) == ("added", None)
        assert [each.id for each in done.conflicts] == [rule]
        assert "a person enforces" in done.conflicts[0].reason
        assert (await over.does("get", id=rule)).insight.status == "active"
        assert not (await over.does("get", id=done.id)).insight.when


async def test_no_older_backup_lifts_what_is_enforced(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        rule = await over.remember(RULE, when=["Bash:git push*"])
        made = (await over.does("backup.create")).backup.name
        await enforce(over, rule, "deny")
        with pytest.raises(MnemonError, match="a person at a terminal only"):
            await over.does("backup.restore", backup=made, yes=True)
        await at_terminal(over, "backup.restore", backup=made, yes=True)


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
        await at_terminal(over, "forget", id=rule, purge=True)
        assert (await over.does("rules.list")).rules == []
    async with desk(tmp_path) as over:
        assert (await over.does("rules.list")).rules == []


async def test_a_trigger_that_is_none_is_refused_with_a_sentence(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        for bad in ("git push", "Bash:*", "Bash:" + "x" * 300):
            with pytest.raises(MnemonError, match="when"):
                await over.remember(RULE, when=[bad])
