"""What is kept of a session as it was said, and what never is: private parts, a paused session, its summaries."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from mnemond.config.hosts import Host, Moment
from mnemond.errors import AMBIGUOUS, NOT_FOUND, MnemonError
from mnemond.hooks.sessions import FILE, MAX_LEFT, AgentSession, AgentSessions, read_sessions
from mnemond.interchange.export import Selection
from mnemond.interchange.export import lines as export_lines
from mnemond.interchange.restore import Record as ImportRecord
from mnemond.interchange.restore import restore
from mnemond.model.changes import ChangeSet
from mnemond.model.outcomes import Maintained
from mnemond.model.passages import KeepPassage, Passage
from mnemond.store.passages import load
from mnemond.text.transcripts import KEEP_ALL, Record
from mnemond.wire.hook_payload import HookEvent
from tests.hooks.factories import APOLLO, Desk, desk
from tests.tables import each_row

PIN = "My PIN is 4711"


async def record(over: Desk) -> list[Passage]:
    warm = await over.daemon.open_stores.open("default")
    return await warm.store.read(lambda it: [passage for passage, _ in load(it, None)])


def kept(passage: Passage) -> ChangeSet:
    return ChangeSet(
        op_id="keep", client_op_id=False, method="queue", now=passage.said_at, changes=(), operation="",
        outcome=Maintained(op_id="keep"), passages=(KeepPassage(passage, passage.id),),
    )  # fmt: skip


async def shown(over: Desk) -> list[Passage]:
    """What readers see."""
    found = (await over.daemon.open_stores.open("default")).store.passages
    return [it for row in range(found.rows) if found.row_of((it := found.passage(row)).id) == row]


async def said(over: Desk) -> list[tuple[str, str]]:
    """What is on record, and that no more of it waits to be read for facts."""
    found = [(it.prompt, it.answer) for it in await record(over)]
    assert {(it.prompt, it.reply) for it in await over.queued()} <= set(found)
    return found


def assert_not_in_files(home: Path, text: str) -> None:
    for file in home.rglob("*"):
        assert not file.is_file() or text.encode() not in file.read_bytes(), file


async def test_an_exchange_is_on_record_when_the_hook_is_answered(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await over.asks("Why is the build red?")
        await over.answered("The cache was stale; I cleared it.")
        (it,) = await record(over)
        assert (it.prompt, it.answer) == ("Why is the build red?", "The cache was stale; I cleared it.")
        assert (it.host, it.conversation_id, it.kind) == ("claude-code", "s", "exchange")
        assert it.project.startswith("apollo")
        assert await over.does("hook.preview", moment="prompt", text="x") is not None


async def test_a_prompt_without_an_answer_is_on_record_when_the_session_ends(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await over.asks("Try the other port")
        await over.at(Moment.SESSION_END)
        assert await said(over) == [("Try the other port", "")]


@each_row(
    ("prompt", "kept"),
    [
        (f"Set up the card. <private>{PIN}</private> Thanks", "Set up the card.  Thanks"),
        (f"Set up the card. <PRIVATE >{PIN}</Private> Thanks", "Set up the card.  Thanks"),
        (f"Set up the card. <private>{PIN}", "Set up the card."),
        (f"<private>{PIN}</private>", None),
    ],
)
async def test_a_private_part_and_its_answer_are_kept_nowhere(prompt: str, kept: str | None, tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await over.asks("Hello")
        await over.answered("Hi.")
        await over.asks(prompt)
        await over.answered(f"Done, with {PIN}.")
        await over.answered(f"And once more with {PIN}.", again=True)
        await over.at(Moment.POST_COMPACT, text=f"They told me: {PIN}")
        await over.asks("And now the tests")
        await over.answered("All green.")
        expected = [("Hello", "Hi."), *([] if kept is None else [(kept, "")]), ("And now the tests", "All green.")]
        assert await said(over) == expected
    assert_not_in_files(tmp_path, PIN)


async def test_the_answer_beside_a_private_part_is_kept_without_its_words(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await over.asks(f"Why is the build red? <private>{PIN}, and I am with Initech</private>")
        await over.answered(
            "The cache was stale: I cleared it.\nI used 47-11 as you said.\nThe tests run every night now."
        )
        assert await said(over) == [
            ("Why is the build red?", "The cache was stale: I cleared it.\n\nThe tests run every night now.")
        ]
        await over.asks(f"Go on <private>{PIN}</private>")
        await over.answered("The PIN is 4711, and the build is green.")
        assert (await said(over))[-1] == ("Go on", "")
    assert_not_in_files(tmp_path, "4711")
    assert_not_in_files(tmp_path, "47-11")
    assert_not_in_files(tmp_path, "Initech")


async def test_a_private_part_whose_prompt_came_to_an_earlier_daemon(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await over.asks(f"Hello <private>{PIN}</private>")
    async with desk(tmp_path) as over:
        await over.answered(f"Noted: {PIN}.")
        await over.asks("Next")
        await over.answered("Yes.")
        assert await said(over) == [("Next", "Yes.")]


async def test_a_private_part_in_a_prompt_that_comes_with_the_answer_alone(tmp_path: Path) -> None:
    """A daemon was started between the two."""
    async with desk(tmp_path) as over:
        await over.answered(f"Noted: {PIN}.", prompt=f"Hello <private>{PIN}</private>")
        await over.answered("Off we go.", prompt="Off the record: hello", turn="9", session="t")
        assert await said(over) == [("Hello", "")]


async def test_a_paused_session_keeps_nothing(tmp_path: Path) -> None:
    """From the prompt that asks for it on, over a restart, to the one that ends it; no summary ever."""
    async with desk(tmp_path) as over:
        await over.asks("Hello")
        await over.answered("Hi.")
        await over.asks(f"Off the record: {PIN}")
        await over.answered(f"Understood, {PIN}.")
        await over.asks(f"Again, {PIN}")
        await over.asks("Elsewhere", session="other")
        await over.answered("All is kept.", session="other")
    async with desk(tmp_path) as over:
        await over.answered(f"Yes, {PIN}.")
        await over.asks(f"And {PIN}")
        await over.at(Moment.POST_COMPACT, text=f"They told me: {PIN}")
        await over.at(Moment.SESSION_END)
        await over.asks(f"Resumed, {PIN}")
        await over.answered(f"Yes, {PIN}.")
        await over.asks("Back on the record. Run the tests")
        await over.answered("All green.")
        await over.at(Moment.POST_COMPACT, text=f"They told me: {PIN}")
        assert await said(over) == [
            ("Hello", "Hi."), ("Elsewhere", "All is kept."), ("Back on the record. Run the tests", "All green."),
        ]  # fmt: skip
    assert_not_in_files(tmp_path, PIN)


async def test_a_session_is_paused_by_a_command(tmp_path: Path) -> None:
    """The prompt that has no answer yet is not kept either, nor one that was asked while it was paused."""
    async with desk(tmp_path) as over:
        await over.asks("In another directory", session="t", cwd="/home/ada/zeus")
        await over.asks(PIN)
        done = await over.does("session.pause", directory=APOLLO)
        assert (done.id, done.paused) == ("s", True)
        await over.answered(f"Yes, {PIN}.")
        await over.asks(f"Again {PIN}")
        assert (await over.does("session.pause", id="s", resume=True)).paused is False
        await over.answered(f"Yes, {PIN}.")
        await over.asks("Next")
        await over.answered("Yes.")
        assert await said(over) == [("Next", "Yes.")]


async def test_a_session_that_is_not_known_is_paused_by_its_whole_id(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        with pytest.raises(MnemonError) as nothing:
            await over.does("session.pause", directory="/nowhere")
        assert nothing.value.kind is NOT_FOUND
        await over.does("session.pause", id="s")
    async with desk(tmp_path) as over:
        await over.asks(PIN)
        await over.answered("Yes.")
        assert await said(over) == []
        for session in ("abc-1", "abc-2"):
            await over.asks("Hello", session=session)
        with pytest.raises(MnemonError) as several:
            await over.does("session.pause", id="abc")
        assert several.value.kind is AMBIGUOUS


def test_a_paused_session_outlives_many_others() -> None:
    sessions = AgentSessions(lambda: 0.0)

    def event(name: str) -> HookEvent:
        return HookEvent(host=Host.CODEX, moment=Moment.PROMPT, session=name, cwd="/")

    sessions.of(event("paused")).record = Record(paused=True)
    for number in range(3 * MAX_LEFT):
        session = sessions.of(event(str(number)))
        session.briefed = True
        sessions.end(event(str(number)))
    again = AgentSessions(lambda: 0.0)
    again.load(sessions.saved())
    assert again.of(event("paused")).record.paused
    assert AgentSession().record == KEEP_ALL


async def test_no_text_is_in_the_file_of_sessions(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await over.asks(f"Off the record: {PIN}")
        assert (tmp_path / FILE).exists()
        assert b"4711" not in read_sessions(tmp_path)


# ---------------------------------------------------------------- gone, back, and purged


FIX = "The Quokka cache was stale; I cleared it."


async def test_a_passage_is_forgotten_and_comes_back(tmp_path: Path) -> None:
    """By its id or the beginning of it; undo goes by name, or takes back the last one of all."""
    async with desk(tmp_path) as over:
        await over.asks("Why is the build red?")
        await over.answered(FIX)
        (it,) = await record(over)
        memory = await over.remember("Tea is at four")
        done = await over.does("forget", id=it.id[:8])
        assert (done.id, done.status, done.kind) == (it.id, "deleted", "passage")
        assert await record(over) == []
        assert (await shown(over), await over.queued()) == ([], [])
        with pytest.raises(MnemonError) as twice:
            await over.does("forget", id=it.id)
        assert twice.value.kind is NOT_FOUND
        back = await over.does("undo")
        assert (back.undone, back.passages) == (done.op_id, 1)
        assert await record(over) == await shown(over) == [it]
        again = await over.does("undo", operation=back.op_id)
        assert (again.passages, await record(over)) == (1, [])
        await over.does("undo", operation=again.op_id)
        assert await record(over) == [it]
        assert memory in str(await over.does("list"))


async def test_only_who_may_see_a_passage_forgets_it(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await over.asks("Hello")
        (warm, mine) = await over.daemon.open_stores.open("default"), Passage(
            id="11111111-0000-4000-8000-000000000000", said_at="2026-01-01T00:00:00.000000Z", host="codex",
            prompt="For Ada alone", user_id="ada",
        )  # fmt: skip
        await warm.store.write(kept(mine))
        with pytest.raises(MnemonError) as hidden:
            await over.does("forget", id=mine.id, user_id="bob")
        assert hidden.value.kind is NOT_FOUND
        assert (await over.does("forget", id=mine.id, user_id="ada")).status == "deleted"


async def test_a_purged_passage_is_nowhere(tmp_path: Path) -> None:
    """Forgotten before or not; the hook's repetition does not bring it back, and undo neither."""
    async with desk(tmp_path) as over:
        for number, forgotten in enumerate((False, True)):
            await over.asks(f"Question {number}?", session=str(number))
            await over.answered(f"{FIX} {number}", session=str(number))
            (it,) = await record(over)
            if forgotten:
                await over.does("forget", id=it.id)
            done = await over.does("forget", id=it.id[:8], purge=True)
            assert (done.status, done.kind) == ("purged", "passage")
            with pytest.raises(MnemonError):
                await over.does("undo", operation=done.op_id)
            assert await record(over) == []
            assert_not_in_files(tmp_path / "data", FIX)


async def test_a_purge_of_a_memory_takes_its_sentence_out_of_passages(tmp_path: Path) -> None:
    """In its words in any session, in others in the session that it came from; what is left is embedded again."""
    async with desk(tmp_path) as over:
        memory = await over.remember("The vault code is Xyzzyplugh", conversation_id="s")
        await over.asks("The vault code is Xyzzyplugh. Open it, please")
        await over.answered("Done. So for the vault the code is Xyzzyplugh, I see. Anything else?")
        await over.asks("The vault code is Xyzzyplugh", session="t")
        await over.answered("The vault code is Xyzzyplugh", session="t")
        warm = await over.daemon.open_stores.open("default")
        await warm.store.rewrite(lambda it: it.run("DELETE FROM exchanges"))
        await over.does("forget", id=memory, purge=True)
        (it,) = await record(over)
        assert (it.prompt, it.answer) == (". Open it, please", "Done.  Anything else?")
        assert_not_in_files(tmp_path / "data", "Xyzzyplugh")
        assert [it.id] == warm.store.passages.without_vector()


async def test_an_export_takes_the_record_along_once(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await over.asks("Why is the build red?")
        await over.answered(FIX)
        (it,) = await record(over)
        warm = await over.daemon.open_stores.open("default")
        lines = await warm.store.read(lambda connection: list(export_lines(connection, Selection(redacted=True))))
        assert sum(b'"kind":"passage"' in line for line in lines) == 1
        await over.does("store.create", name="other")
        other = await over.daemon.open_stores.open("other")
        for number in range(2):
            took = ImportRecord(f"import-{number}", "digest", it.said_at, "user")
            await other.store.rewrite(partial(restore, lines=lines, record=took), rows=True)
            assert [other.store.passages.passage(row) for row in range(other.store.passages.rows)] == [it]
        assert (await over.does("undo", store="other")).passages == 1
        assert other.store.passages.live == 0


async def test_a_session_is_paused_again_at_once_by_the_same_words(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        for prompt in ("off the record", "back on the record", "off the record"):
            await over.asks(prompt, turn="")
        await over.asks(PIN)
        await over.answered("Noted.")
        assert await said(over) == []
    assert_not_in_files(tmp_path, "4711")
