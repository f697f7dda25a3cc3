"""Transcripts of coding agents: what is read of them, kept once with its date and project, and taken back as one."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from mnemonctl import transcripts
from mnemond.api import imports
from mnemond.api.imports import NO_DIRECTORY, PAUSED
from mnemond.api.types_interchange import ImportResult
from mnemond.config.hosts import Moment
from mnemond.config.settings import HookSettings
from mnemond.config.writing import ExtractionSettings
from mnemond.errors import BUSY, MnemonError
from mnemond.interchange import sessions
from mnemond.interchange.items import Item
from mnemond.interchange.sessions import SessionExchange
from tests.api.factories import spooled
from tests.hooks.factories import Desk, desk
from tests.interchange.transcripts import (
    CLAUDE,
    CLAUDE_ID,
    CODEX,
    CODEX_ID,
    GEMINI,
    GEMINI_ID,
    GEMINI_LINES,
    KEY,
    OLDER_CODEX,
    SHOP,
    claude_line,
    home,
    lines,
)
from tests.interchange.transcripts import said as said_as_text
from tests.tables import each_row

FLAKY = ("Why is the checkout test flaky?", "The cause: two workers share port 8443.\nI gave each its own.")
FRIDAYS = (f"Never commit on Fridays. My key is {KEY}", "Understood.")
DATABASE = ("Which database do we use?", "PostgreSQL 16, and Redis is left to remove.")
LOG = ("Where is the log?", "In /var/log/shop.")
GEMINIS = {sessions.hash_of_project(SHOP): SHOP}


def parsed(kind: str, content: bytes) -> sessions.Transcript:
    return sessions.read(kind, "file", content.splitlines(keepends=True), GEMINIS)


@each_row(
    ("kind", "content", "session", "expected", "unread"),
    [
        (sessions.CLAUDE_CODE, CLAUDE, CLAUDE_ID, [FLAKY, FRIDAYS], 1),
        (sessions.CODEX, CODEX, CODEX_ID, [DATABASE], 0),
        (sessions.CODEX, OLDER_CODEX, CODEX_ID, [DATABASE], 0),
        (sessions.GEMINI, GEMINI, GEMINI_ID, [LOG], 0),
        (sessions.GEMINI, GEMINI_LINES, GEMINI_ID, [LOG], 0),
    ],
)
def test_of_each_turn_the_prompt_and_the_last_answer_are_read(
    kind: str, content: bytes, session: str, expected: list[tuple[str, str]], unread: int
) -> None:
    found = parsed(kind, content)
    assert [(each.prompt, each.answer) for each in found.exchanges] == expected
    assert {(each.session, each.directory) for each in found.exchanges} == {(session, SHOP)}
    assert found.unread == unread
    assert found.exchanges[0].at in (
        "2026-10-05T09:00:09.000000Z", "2026-10-06T10:00:09.000000Z", "2026-10-07T11:00:05.000000Z",
    )  # fmt: skip


def test_what_a_subagent_did_is_no_session() -> None:
    assert (
        parsed(sessions.CODEX, CODEX.replace(b'"source": "cli"', b'"source": {"subagent": "review"}')).exchanges == []
    )
    assert (
        parsed(sessions.GEMINI, GEMINI_LINES.replace(b'"sessionId"', b'"kind": "subagent", "sessionId"')).exchanges
        == []
    )


PIN = "My PIN is 4711"


@each_row(
    ("prompts", "kept"),
    [
        ([f"Set up <private>{PIN}</private> it", "Next"], [("Set up  it", "0"), ("Next", "1")]),
        ([f"Set up the card. <private>{PIN}", "Next"], [("Set up the card.", "0"), ("Next", "1")]),
        (["Hello", f"<private>{PIN}</private>", "Next"], [("Hello", "0"), ("Next", "2")]),
        (["Hello", f"Off the record: {PIN}", PIN], [("Hello", "0")]),
        ([f"Off the record: {PIN}", PIN, "Back on the record. Next"], [("Back on the record. Next", "2")]),
    ],
)  # fmt: skip
def test_what_hooks_would_not_keep_is_not_read(prompts: list[str], kept: list[tuple[str, str]]) -> None:
    """The answers are numbers."""
    turns = [
        turn
        for number, prompt in enumerate(prompts)
        for turn in (
            claude_line("user", prompt, f"09:00:0{number}"),
            claude_line("assistant", said_as_text(str(number)), f"09:00:1{number}", message={"id": str(number)}),
        )
    ]
    found = parsed(sessions.CLAUDE_CODE, lines(*turns)).exchanges
    assert [(each.prompt, each.answer) for each in found] == kept


_scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
_names = st.sampled_from(
    ["type", "message", "content", "payload", "text", "id", "messages", "$set", "timestamp", "role"]
)
_values = st.recursive(
    _scalars | st.sampled_from(["user", "assistant", "event_msg", "user_message", "message", "gemini", "text"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=4),
)


@given(st.lists(_values | st.binary(max_size=20), max_size=6), st.sampled_from(sessions.KINDS))
def test_lines_of_any_form_are_passed_over(found: list[Any], kind: str) -> None:
    content = [each if isinstance(each, bytes) else msgspec.json.encode(each) for each in found]
    read = sessions.read(kind, "file", [each + b"\n" for each in content], {})
    assert all(each.prompt and each.at for each in read.exchanges)


def test_the_transcripts_of_a_home_are_found(tmp_path: Path) -> None:
    environ = home(tmp_path)
    for kind, count in ((sessions.CLAUDE_CODE, 2), (sessions.CODEX, 1), (sessions.GEMINI, 1)):
        place = transcripts.place(kind, environ)
        (file,) = transcripts.files(kind, place)
        read = transcripts.read(kind, place, environ)
        assert len(read.exchanges) == count
        assert {each.directory for each in read.exchanges} == {SHOP}
        assert transcripts.read(kind, file, environ) == read
    elsewhere = {"HOME": "/", "CLAUDE_CONFIG_DIR": str(tmp_path / ".claude"), "CODEX_HOME": str(tmp_path / ".codex")}
    assert transcripts.place(sessions.CLAUDE_CODE, elsewhere) == tmp_path / ".claude/projects"
    assert transcripts.place(sessions.CODEX, elsewhere) == tmp_path / ".codex/sessions"


def test_a_copy_of_a_session_in_another_file_and_lines_without_end_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcripts, "MAX_LINE", 2_000)
    environ = home(tmp_path)
    place = transcripts.place(sessions.CLAUDE_CODE, environ)
    resumed = CLAUDE.replace(CLAUDE_ID.encode(), b"resumed")
    (place / "-home-ada-shop/resumed.jsonl").write_bytes(resumed + b'{"pixels": "' + b"x" * 9_000 + b'"}\n')
    (place / "-home-ada-shop/link.jsonl").symlink_to("/dev/zero")
    read = transcripts.read(sessions.CLAUDE_CODE, place, environ)
    assert [each.session for each in read.exchanges] == [CLAUDE_ID] * 2
    assert read.unread == 3


# Into a store.


async def imported(over: Desk, found: Sequence[Item | SessionExchange], kind: str, **fields: Any) -> ImportResult:
    text = "".join(msgspec.json.encode(each).decode() + "\n" for each in found)
    digest = hashlib.sha256(text.encode()).hexdigest()
    spool = spooled(over.path, text)
    result: ImportResult = await over.does("import.run", kind=kind, digest=digest, spool=spool, **fields)
    return result


async def claude_code(over: Desk, **fields: Any) -> ImportResult:
    return await imported(over, parsed(sessions.CLAUDE_CODE, CLAUDE).exchanges, sessions.CLAUDE_CODE, **fields)


async def read_queue(over: Desk) -> None:
    """Run the job that reads exchanges, once."""
    async with trio.open_nursery() as nursery:
        await nursery.start(over.daemon.scheduler.run)
        await over.does("jobs.run", name="extract")
        nursery.cancel_scope.cancel()


async def said(over: Desk) -> list[str]:
    """The prompts of the record of sessions, sorted."""
    store = (await over.daemon.open_stores.opened("default")).store
    return sorted(await store.read(lambda it: it.column("SELECT prompt FROM passages WHERE gone_op IS NULL")))


async def test_a_session_that_a_person_paused_brings_nothing_more(tmp_path: Path) -> None:
    """A transcript does not say so; what hooks kept before is known."""
    async with desk(tmp_path) as over:
        await over.asks(FLAKY[0], session=CLAUDE_ID, cwd=SHOP)
        await over.answered(FLAKY[1], session=CLAUDE_ID, cwd=SHOP)
        await over.does("session.pause", id=CLAUDE_ID)
        await over.asks(FRIDAYS[0], session=CLAUDE_ID, cwd=SHOP)
        await over.answered(FRIDAYS[1], session=CLAUDE_ID, cwd=SHOP)
        await over.does("session.pause", id=CLAUDE_ID, resume=True)
        await over.at(Moment.SESSION_END, session=CLAUDE_ID, cwd=SHOP)
    async with desk(tmp_path) as over:
        looked = await claude_code(over, dry_run=True)
        assert (looked.added, looked.known, looked.samples) == ({}, {"exchange": 1}, [])
        assert [each.why for each in looked.conflicts] == [PAUSED]
        assert len(await over.queued()) == 1


async def test_one_undo_takes_back_what_waits_and_what_was_remembered(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await over.asks("Always use tabs in Makefiles.")
        await over.answered("Yes.")
        result = await claude_code(over)
        await read_queue(over)
        before = [each.content for each in (await over.does("list")).insights]
        assert any("commit on Fridays" in each for each in before)
        await over.asks("What else?")
        await over.answered("Nothing.")
        codex = await imported(over, parsed(sessions.CODEX, CODEX).exchanges, sessions.CODEX)
        undone = await over.does("undo", operation=result.op_id)
        assert (undone.undone, undone.passages) == (result.op_id, 2)
        assert await said(over) == ["Always use tabs in Makefiles.", "What else?", DATABASE[0]]
        after = [each.content for each in (await over.does("list")).insights]
        assert any("tabs" in each for each in after)
        assert not any("Fridays" in each for each in after)
        assert [each.prompt for each in await over.queued()] == ["What else?", DATABASE[0]]
        assert (await over.does("undo", operation=codex.op_id)).passages == 1  # nothing was read out of it yet
        assert [each.prompt for each in await over.queued()] == ["What else?"]
        await over.does("undo", operation=undone.op_id)
        assert {FLAKY[0], "What else?"} < set(await said(over))
        assert any("Fridays" in each.content for each in (await over.does("list")).insights)


@pytest.mark.parametrize(
    ("hooks", "extraction", "directory", "why"),
    [
        (HookSettings(), ExtractionSettings(), "", NO_DIRECTORY),
        (HookSettings(project="store"), ExtractionSettings(), SHOP, "it is of shop, which has a store of its own"),
        (HookSettings(project="none"), ExtractionSettings(), "", ""),
    ],
)
async def test_what_has_no_place_here_is_left_out_with_a_remark(
    tmp_path: Path, hooks: HookSettings, extraction: ExtractionSettings, directory: str, why: str
) -> None:
    async with desk(tmp_path, hooks, extraction) as over:
        found = [SessionExchange("s", directory, f"2026-10-07T11:00:0{n}Z", f"Ask {n}", "Yes") for n in range(3)]
        result = await imported(over, found, sessions.GEMINI)
        assert [each.why[: len(why)] for each in result.conflicts] == ([why] if why else [])
        assert len(await over.queued()) == (0 if why else 3)


async def test_a_full_queue_is_read_first_and_refused_if_that_takes_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "MAX_PENDING", 2)
    monkeypatch.setattr(imports, "EXCHANGES_AT_ONCE", 1)
    found = [SessionExchange("s", SHOP, f"2026-10-07T11:00:0{n}Z", f"Ask {n} " * 60, "Yes") for n in range(5)]
    async with desk(tmp_path) as over, trio.open_nursery() as nursery:
        await nursery.start(over.daemon.scheduler.run)
        with monkeypatch.context() as late:
            late.setattr(imports, "ROOM_S", 0)
            with pytest.raises(MnemonError) as refused:
                await imported(over, found[:3], sessions.CODEX)
            assert refused.value.kind is BUSY
            assert len(await said(over)) == 2
        assert (await imported(over, found, sessions.CODEX)).added == {"exchange": 3, "session": 1}
        assert len(await said(over)) == 5
        nursery.cancel_scope.cancel()
