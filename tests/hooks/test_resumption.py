"""What stands in the context of a session is not told again, however the session goes on; what left it may be."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from mnemond.config.hosts import Host, Moment
from mnemond.hooks.sessions import FILE, MAX_LEFT, MAX_LEFT_SHOWN, MAX_SESSIONS, AgentSessions, read_sessions
from mnemond.wire.dispatch import Call
from mnemond.wire.hook_payload import HookEvent
from tests.hooks.factories import APOLLO, PORT, SQLITE, WHY, Desk, desk
from tests.tables import each_row

ABOUT_PORT = "Which port does the staging server use?"


async def known(over: Desk) -> None:
    """A memory for the brief, and one that a prompt alone brings up."""
    await over.remember(SQLITE, category="decision", importance=4)
    await over.remember(PORT, category="fact", importance=2)


async def begins(over: Desk, source: str, **fields: str) -> str:
    """What is said when a session begins; `text` keeps it from being a repetition."""
    return await over.at(Moment.SESSION_START, source=source, **{"text": f"{source} {over.daemon}", **fields})


async def told(over: Desk) -> None:
    """Both memories are in the context of a session."""
    await known(over)
    assert SQLITE in await begins(over, "startup")
    assert PORT in await over.asks(ABOUT_PORT)


async def leaves(over: Desk, **fields: str) -> None:
    """The host ends the session."""
    assert await over.at(Moment.SESSION_END, source="other", takes_context=False, **fields) == ""


async def test_a_session_that_ended_is_resumed_with_what_it_had(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await told(over)
        await leaves(over)
        assert await begins(over, "resume") == ""
        assert await over.asks(WHY) == ""
        assert await over.asks(ABOUT_PORT) == ""
        await over.remember("Apollo is deployed from Oslo since the move of the office")
        assert "Oslo" in await over.asks("Where is Apollo deployed from since the move of the office?")


async def test_so_it_is_by_another_daemon(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await known(over)
        assert SQLITE in await begins(over, "startup")
        await leaves(over)
    async with desk(tmp_path) as over:
        assert await begins(over, "resume") == ""
        assert PORT in await over.asks(ABOUT_PORT)  # the session is there, and the daemon is stopped
    async with desk(tmp_path) as over:
        assert await begins(over, "resume") == ""
        assert await over.asks(ABOUT_PORT) == ""
    file = tmp_path / FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert b"apollo" not in file.read_bytes()


@pytest.mark.parametrize("source", ["startup", "clear", ""])
async def test_an_empty_context_is_told_everything(source: str, tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await told(over)
        await leaves(over)
        assert SQLITE in await begins(over, source, text="again")
        assert bool(await over.asks(ABOUT_PORT)) == bool(source)  # a host that does not say: what is known holds


async def test_a_session_that_is_compacted_as_it_is_resumed_is_briefed_once(tmp_path: Path) -> None:
    """Codex says first that it compacted, then that it resumes, then that it begins again."""
    async with desk(tmp_path) as over:
        await told(over)
        await leaves(over)
        assert await over.at(Moment.POST_COMPACT, source="auto", takes_context=False) == ""
        assert await begins(over, "resume") == ""
        assert SQLITE in await begins(over, "compact")
        assert PORT in await over.asks(ABOUT_PORT)
        assert await over.asks(WHY) == ""


async def test_a_resumption_between_a_compaction_and_its_start_has_no_brief_though_there_was_none(
    tmp_path: Path,
) -> None:
    """The first one may have been too late for its hook."""
    async with desk(tmp_path) as over:
        await known(over)
        for session in ("began again", "did not"):
            assert await over.at(Moment.POST_COMPACT, source="auto", session=session, takes_context=False) == ""
            assert await begins(over, "resume", session=session) == ""
        assert SQLITE in await begins(over, "compact", session="began again")
        assert await over.asks(WHY, session="began again") == ""
        assert SQLITE in await over.asks("What is the weather?", session="did not")  # the brief, with its prompt


async def test_what_a_compaction_removed_is_shown_again_though_the_session_was_resumed_since(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await known(over)
        assert PORT in await over.asks(ABOUT_PORT)
        assert await over.at(Moment.PRE_COMPACT, takes_context=False) == ""
        await leaves(over)
        await begins(over, "resume")
        assert PORT in await over.asks(ABOUT_PORT)


async def test_a_fork_has_the_context_of_the_last_session_of_its_directory(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await told(over)
        assert await begins(over, "fork", session="while it runs") == ""
        await leaves(over)
        await leaves(over, session="while it runs")
        assert await begins(over, "fork", session="fork") == ""
        assert await over.asks(ABOUT_PORT, session="fork") == ""
        assert SQLITE in await begins(over, "fork", session="elsewhere", cwd="/home/ada/zeus")


@each_row("content", [b"", b"nothing", b"[1]", b'[["a"]]', b'[["a", ["b", true, [1]]]]', b"\xff", b"[" * 100_000])
async def test_a_file_that_is_none_changes_nothing(content: bytes, tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(content)
    async with desk(tmp_path) as over:
        await known(over)
        assert SQLITE in await begins(over, "resume")


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    assert read_sessions(tmp_path) == b""
    os.mkfifo(tmp_path / FILE)
    assert read_sessions(tmp_path) == b""
    (tmp_path / FILE).unlink()
    (tmp_path / FILE).symlink_to("/etc/passwd")
    assert read_sessions(tmp_path) == b""
    (tmp_path / FILE).unlink()
    with open(tmp_path / FILE, "wb") as file:
        file.truncate(1 << 40)
    assert read_sessions(tmp_path) == b""


async def test_a_file_that_cannot_be_written_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    async with desk(tmp_path) as over:
        await known(over)
        assert SQLITE in await begins(over, "startup")
        await leaves(over)
        assert await begins(over, "resume") == ""


def event(session: str) -> HookEvent:
    return HookEvent(host=Host.CODEX, moment=Moment.SESSION_START, session=session, cwd="/srv/x")


def test_so_many_sessions_are_kept_and_no_more() -> None:
    sessions = AgentSessions(lambda: 0.0)
    for number in range(MAX_LEFT + MAX_SESSIONS + 10):
        session = sessions.of(event(str(number)))
        session.mark_shown((str(each), "t") for each in range(MAX_LEFT_SHOWN + 5))
    last = str(MAX_LEFT + MAX_SESSIONS + 9)
    sessions.end(event(last))
    again = AgentSessions(lambda: 0.0)
    again.load(sessions.saved())
    assert len(sessions.saved()) < MAX_LEFT * (MAX_LEFT_SHOWN * 19 + 80)
    assert again.of(event(last)).shown_count == MAX_LEFT_SHOWN
    assert again.of(event(last)).has_shown(str(MAX_LEFT_SHOWN), "t")
    assert not again.of(event(last)).has_shown(str(MAX_LEFT_SHOWN), "later")
    assert not again.of(event("0")).has_shown(str(MAX_LEFT_SHOWN), "t")


async def test_what_no_process_read_was_not_shown(tmp_path: Path) -> None:
    """The launcher gives up by itself, on a busy machine before the daemon has begun."""
    gone = Call(connection=1, peer_pid=2, peer_uid=3, gone=lambda: True)
    async with desk(tmp_path) as over:
        await known(over)
        start = HookEvent(host=Host.CODEX, moment=Moment.SESSION_START, session="s", cwd=APOLLO, source="startup")
        assert SQLITE in str(await over.daemon._agents.at(start, gone))
        prompt = HookEvent(host=Host.CODEX, moment=Moment.PROMPT, session="s", cwd=APOLLO, text=WHY)
        assert SQLITE in str(await over.daemon._agents.at(prompt, gone))
        assert SQLITE in await over.asks(WHY)
        assert await over.asks(WHY) == ""
