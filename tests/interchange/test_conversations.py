"""Conversations of ChatGPT and Claude.ai: what is read of them, kept once with its date, and taken back as one."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from mnemonctl import transfer
from mnemond.config.settings import HookSettings
from mnemond.config.writing import ExtractionSettings
from mnemond.errors import MnemonError
from mnemond.interchange.conversations import of_chatgpt, of_claude
from mnemond.interchange.items import Item, NotReadableError
from mnemond.interchange.recognise import items_of
from mnemond.interchange.sessions import SessionExchange
from mnemond.memory.exchanges import MARGIN
from mnemond.model.changes import LONGEST_PROMPT, LONGEST_REPLY
from tests.api.test_remembering import files_with
from tests.hooks.factories import Desk, desk
from tests.interchange.chats import Said, chatgpt, claude, claude_message, hidden, message
from tests.interchange.test_restore import JSON
from tests.interchange.test_sessions import imported, read_queue, said
from tests.interchange.test_sources import context, spoil
from tests.tables import each_row

DAY = 86_400.0
MAY = 1_746_057_600.0
"""2025-05-01, in seconds since 1970."""

LONG = "PostgreSQL splits a table into partitions. " * 40 + "The key is chosen first."
HOME: list[Said] = [
    ("user", "I live in Lisbon. I work at Acme as a backend engineer. Yesterday we decided on Porto.", MAY),
    ("assistant", "Nice! You live in Lisbon. We decided to use the hills of Lisbon for the logo.", MAY + 10),
    ("user", "Never use PostgreSQL 15 in production. Can you explain partitioning?", MAY + 60),
    ("assistant", LONG, MAY + 70),
]
MOVED: list[Said] = [
    ("user", "I live in Berlin now. I prefer short answers without an introduction.", MAY + 100 * DAY),
    ("assistant", "Welcome to Berlin!", MAY + 100 * DAY + 5),
]
FACTS = [
    "[User] I live in Lisbon.", "[User] I work at Acme as a backend engineer.",
    "Yesterday (2025-04-30) we decided on Porto.", "Never use PostgreSQL 15 in production.",
]  # fmt: skip


def exchanges(*found: dict[str, Any]) -> list[SessionExchange]:
    """The exchanges of conversations of both kinds."""
    return [each for one in found for each in (of_claude(one) if "chat_messages" in one else of_chatgpt(one))]


# What is read of a conversation.


def said_in(found: list[SessionExchange]) -> list[str]:
    return [each.prompt for each in found]


def test_what_no_person_said_is_left_out() -> None:
    around = [
        context("1. [2024-05-01]. Likes tea."),
        message("user", "I live in a profile.", MAY, "user_editable_context"),
        message("tool", "I live in a web page.", MAY),
        message("assistant", "I live in a tool call.", MAY, recipient="python"),
        message("assistant", "I live in a thought.", MAY, "thoughts"),
        message("user", "I live in an old prompt.", MAY, weight=0.0),
        message("user", "I live in custom instructions.", MAY, metadata={"is_user_system_message": True}),
        {"author": None, "content": None}, hidden("I live in a hidden message."),
    ]  # fmt: skip
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x", "size_bytes": 9}
    speech = {"content_type": "audio_transcription", "text": "I like tea."}
    last = message("user", [picture, "Look at this.", speech, 7, None], MAY, "multimodal_text")
    found = exchanges(chatgpt("c1", "t", [], around=[*around, last]))
    assert said_in(found) == ["Look at this.\n\nI like tea."]
    assert exchanges(chatgpt("c1", "t", HOME, is_do_not_remember=True)) == []


def test_attached_files_and_branches_of_claude_are_left_out() -> None:
    attached = {"file_name": "a.txt", "file_type": "txt", "file_size": 9, "extracted_content": "I live in a file."}
    first = claude_message("m0", "user", "I like tea.", MAY, attachments=[attached], parent_message_uuid="root")
    old = claude_message("m1", "user", "I live in an edited message.", MAY + 1, parent_message_uuid="m0")
    new = claude_message("m2", "user", "I live in Porto.", MAY + 2, parent_message_uuid="m0")
    thinking = claude_message("m3", "assistant", "", MAY + 3, parent_message_uuid="m2")
    thinking["content"] = [{"type": "thinking", "thinking": "I live in a thought."}, {"type": "tool_use", "input": {}}]
    assert said_in(exchanges(claude("c", "t", [], chat_messages=[first, old, new, thinking]))) == [
        "I like tea.", "I live in Porto.",
    ]  # fmt: skip
    looped = [first | {"parent_message_uuid": "m2"}, new]
    assert said_in(exchanges(claude("c", "t", [], chat_messages=looped))) == ["I like tea.", "I live in Porto."]
    older = [{"uuid": "m", "text": "I like tea.", "sender": "human"}]
    begun = {"chat_messages": older, "created_at": "2025-05-01T00:00:00Z"}
    assert exchanges(claude("c", "t", [], **begun)) == [
        SessionExchange("c", "", "2025-05-01T00:00:00.000000Z", "I like tea.")
    ]
    assert exchanges(claude("c", "t", [], chat_messages=5)) == []


def test_sizes_are_bounded() -> None:
    long = "I like tea.\n" + "word " * 40_000 + "\nI live in Porto."
    [found] = exchanges(chatgpt("c" * 900, "t", [("user", long, MAY), ("assistant", "x" * 1_000_000, MAY)]))
    assert len(found.prompt) <= LONGEST_PROMPT + 2 * MARGIN
    assert found.prompt.startswith("I like tea.")
    assert found.prompt.endswith("I live in Porto.")
    assert len(found.answer) <= LONGEST_REPLY + 2 * MARGIN
    assert len(found.session) < 900
    assert len(said_in(exchanges(chatgpt("c", "t", [("user", "a", MAY)] * 100)))) == 100
    assert exchanges(chatgpt("c", "t", [("user", " \0\n", MAY), ("assistant", "Hello", MAY)])) == []


def test_what_a_person_wants_nothing_kept_of_is_not_read() -> None:
    turns: list[Said] = [
        ("user", "My door code is <private>4711</private>", MAY), ("assistant", "4711, I see.", MAY + 1),
        ("user", "Off the record: I am ill.", MAY + 2), ("assistant", "Get well.", MAY + 3),
        ("user", "Back on the record. I like tea.", MAY + 4), ("assistant", "Tea it is.", MAY + 5),
    ]  # fmt: skip
    found = exchanges(chatgpt("c", "t", turns))
    assert said_in(found) == ["My door code is", "Back on the record. I like tea."]
    assert not any(word in str(found) for word in ("4711", "ill", "well"))


@given(st.sampled_from([of_chatgpt, of_claude]), JSON, st.data())
def test_garbage_is_refused_with_a_sentence_or_is_conversations(read: Any, garbage: Any, data: st.DataObject) -> None:
    document = [(chatgpt if read is of_chatgpt else claude)("c", "t", HOME)]
    spoil(document, garbage, data)
    with suppress(NotReadableError):
        for each in items_of("/x/conversations.json", msgspec.json.encode(document), None)[1]:
            line = msgspec.json.encode(each)
            assert msgspec.json.decode(line, type=Item | SessionExchange) == each
            assert len(line.decode()) <= 100_000


# Files.


def test_an_export_that_was_unpacked(tmp_path: Path) -> None:
    (tmp_path / "conversations-000.json").write_bytes(msgspec.json.encode([chatgpt("c2", "Berlin", MOVED)]))
    (tmp_path / "conversations-001.json").write_bytes(msgspec.json.encode([chatgpt("c1", "Lisbon", HOME)]))
    (tmp_path / "user.json").write_bytes(b'{"id": "u"}')
    content = transfer._Content(tmp_path, None)
    assert (content.kind, b"".join(content.parts()).decode().count('"line":"session"')) == ("chatgpt", 3)
    with pytest.raises(MnemonError, match="it is nothing that can be imported"):
        transfer._Content(tmp_path / "user.json", None)


# What becomes of it.


async def memories(over: Desk) -> list[Any]:
    """The memories, the newest first."""
    found: list[Any] = (await over.does("list")).insights
    return found


async def test_each_exchange_is_found_in_every_project_and_says_where_it_is_from(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        looked = await imported(over, exchanges(chatgpt("c1", "Lisbon", HOME)), "chatgpt", dry_run=True)
        assert (looked.memories, looked.added) == (0, {"exchange": 2, "conversation": 1})
        assert (looked.samples[0], await said(over)) == (HOME[0][1], [])
        result = await imported(over, exchanges(chatgpt("c1", "Lisbon", HOME)), "chatgpt")
        assert (result.added, await said(over)) == (looked.added, sorted([HOME[0][1], HOME[2][1]]))
        for scope in ({}, {"project": "github.com/ada/shop"}, {"project": "none"}):
            found = (await over.does("recall", query="How is the key of partitions chosen?", **scope)).results
            assert found[0].insight.content.endswith("The key is chosen first."), "an answer has its end"
            assert found[0].session == "conversation with chatgpt of 2025-05-01, user/assistant"
            assert (found[0].kind, found[0].insight.created_at[:10]) == ("passage", "2025-05-01")
        shown = await over.does("get", id=found[0].insight.id)
        assert LONG in str(shown)


async def test_what_the_person_says_is_read_for_memories_with_its_date(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await imported(over, exchanges(chatgpt("c1", "Lisbon", HOME)), "chatgpt")
        await read_queue(over)
        found = await memories(over)
        assert sorted(each.content for each in found) == sorted(FACTS), "nothing that the assistant said"
        assert {each.created_at[:10] for each in found} == {"2025-05-01"}


async def test_twice_changes_nothing_and_undo_takes_all_of_it_back(tmp_path: Path) -> None:
    found = exchanges(chatgpt("c1", "Lisbon", HOME), chatgpt("c2", "Berlin", MOVED))
    async with desk(tmp_path) as over, trio.open_nursery() as nursery:
        await nursery.start(over.daemon.scheduler.run)
        first = await imported(over, found, "chatgpt")
        assert first.added == {"exchange": 3, "conversation": 2}
        await over.does("jobs.run", name="extract")
        before = await memories(over)
        assert "[User] I live in Berlin now." in [each.content for each in before]
        again = await imported(over, found, "chatgpt")
        assert (again.added, again.known) == ({}, {"exchange": 3})
        await over.does("jobs.run", name="extract")
        assert await memories(over) == before
        more = exchanges(chatgpt("c1", "Lisbon", [*HOME, ("user", "I prefer tea.", MAY + 900)]))
        longer = await imported(over, more, "chatgpt")
        assert (longer.added, longer.known) == ({"exchange": 1, "conversation": 1}, {"exchange": 2})
        await over.does("jobs.run", name="extract")
        assert (await over.does("undo", operation=longer.op_id)).passages == 1
        undone = await over.does("undo", operation=first.op_id)
        assert (undone.passages, await said(over), await memories(over)) == (3, [], [])
        assert not (await over.does("recall", query="partitioning")).results
        assert (await imported(over, found, "chatgpt")).added == first.added, "what was taken back can come again"
        assert len(await said(over)) == 3
        nursery.cancel_scope.cancel()


async def test_a_conversation_is_no_session_from_which_another_goes_on(tmp_path: Path) -> None:
    done: list[Said] = [
        ("user", "Fix the parser of my hobby project. Always write tests first.", MAY),
        ("assistant", "Fixed: the cause was a missing quote. Next: the lexer is left to do.", MAY + 9),
    ]
    async with desk(tmp_path) as over:
        await imported(over, exchanges(chatgpt("c", "t", done)), "chatgpt")
        for asked in ("Where were we?", "What is left to do?"):
            assert not any(hit.kind == "passage" for hit in (await over.does("recall", query=asked)).results)
        preview = await over.does("hook.preview", moment="session", text="")
        assert not any(words in preview.text for words in ("lexer", "last session", "tests first"))


async def test_secrets_and_code_are_left_out(tmp_path: Path) -> None:
    secret = "AKIA" + "PIX6EA6QOM66ZJOJ"
    code = "```python\n" + "".join(f"line_{n} = {n}\n" for n in range(90)) + "```"
    turns: list[Said] = [("user", f"My AWS key is {secret}.", MAY), ("assistant", f"Like this:\n{code}", MAY + DAY)]
    async with desk(tmp_path) as over:
        assert (await imported(over, exchanges(chatgpt("c", "t", turns)), "chatgpt")).secrets == 1
        store = (await over.daemon.open_stores.opened("default")).store
        (answer,) = await store.read(lambda it: it.column("SELECT answer FROM passages"))
        assert "line_0" in answer
        assert "line_89" not in answer
    assert files_with(tmp_path, secret) == []


@each_row("extraction", [ExtractionSettings(enabled=False), ExtractionSettings(engine="host")])
async def test_without_extraction_exchanges_are_kept_alone(tmp_path: Path, extraction: ExtractionSettings) -> None:
    item = Item(source="bio", content="Has a dog called Rex", origin="chatgpt")
    async with desk(tmp_path, HookSettings(project="store"), extraction) as over:
        result = await imported(over, [item, *exchanges(chatgpt("c1", "t", HOME))], "chatgpt")
        assert (result.memories, result.added) == (1, {"memory": 1, "exchange": 2, "conversation": 1})
        await read_queue(over)
        assert ([each.content for each in await memories(over)], len(await said(over))) == ([item.content], 2)
