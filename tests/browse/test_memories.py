"""Memories in the browser: filters, pages, edit, forget, bring back, merge, undo."""

from __future__ import annotations

from typing import Any

import pytest

from mnemonctl.browse.calls import Daemon
from mnemonctl.browse.dialogs import Edit
from mnemonctl.browse.memories import parse_filter
from mnemonctl.browse.widgets import PAGE, Editor, Line
from mnemonctl.client import Client
from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.model.answers import ListResult
from tests.browse.screens import Session, browse
from tests.tables import each_row


def stored(client: Client, content: str, **fields: Any) -> str:
    """The id of a new memory."""
    made = client.remember(content=content, no_diff=True, **fields).id
    assert made is not None
    return made


def contents(client: Client) -> list[str]:
    """The texts of all active memories, newest first."""
    found = client.list()
    assert isinstance(found, ListResult)
    return [it.content for it in found.insights]


@each_row(
    ("line", "params", "words"),
    [
        ("", {}, ""),
        ("--category decision", {"category": "decision"}, ""),
        ('--since "last week" --tag a --tag b', {"since": "last week", "tags": ["a", "b"]}, ""),
        ("staging 'data base'", {}, "staging data base"),
        ("staging --entity Ana", {"entity": "Ana"}, "staging"),
        ("--retired", {"retired": True}, ""),
    ],
)
def test_a_filter_has_the_options_of_list(line: str, params: dict[str, object], words: str) -> None:
    found = parse_filter(line)
    assert (found.params, found.words) == (params, words)


@each_row(
    ("line", "sentence"),
    [
        ("--categry x", "list has no option --categry"),
        ("'open", "cannot be read"),
        ("--json", "--json has no meaning here"),
        ("--limit many", "must be a whole number"),
        ("--limit 100000", "<= 1000"),
        ("word --retired", "search has no option --retired"),
    ],
)
def test_a_filter_that_is_none_is_refused(line: str, sentence: str) -> None:
    with pytest.raises(MnemonError) as refused:
        parse_filter(line)
    assert refused.value.kind is INVALID_PARAMS
    assert sentence in refused.value.message


@pytest.mark.check_all
def test_filters_narrow_the_list_and_the_preview_has_all_of_it(client: Client, daemon: Daemon) -> None:
    stored(client, "Deploys go out on Thursdays", category="decision", tags=("infra",))
    stored(client, "Ana likes green tea", category="preference")

    async def play(user: Session) -> None:
        await user.go("memories")
        await user.until("2 memories, newest first", "Deploys go out", "Ana likes")
        await user.ask("--category decision")
        await user.until("1 memory, newest first", "infra", without="Ana likes")
        await user.ask("green")
        await user.until("1 memory with these words", "Ana likes", without="Deploys")
        await user.ask("--categry decision")
        await user.until("list has no option --categry")
        await user.ask("")
        await user.until("2 memories, newest first", without="no option")

    browse(daemon, play)


@pytest.mark.check_all
def test_pages_have_a_hundred_rows_and_lead_back(client: Client, daemon: Daemon) -> None:
    for number in range(PAGE + 3):
        stored(client, f"Note number {number} is about rack {7 * number}")

    async def play(user: Session) -> None:
        pane = await user.go("memories")
        await user.until("100 memories on this page", "n: next page")
        assert len(pane.page.rows) == PAGE
        await user.select("number 102")
        await user.press("n")
        await user.until("3 memories on this page", "page 2", "number 0", without="number 50")
        await user.press("n")
        await user.press("p")
        await user.until("100 memories on this page", without="page 2")
        assert pane.page.rows[0].text.startswith("Note number 102")

    browse(daemon, play)


@pytest.mark.check_all
def test_an_edit_changes_what_was_changed_alone(client: Client, daemon: Daemon) -> None:
    memory = stored(client, "The office opens at nine", tags=("office",), importance=4)

    async def play(user: Session) -> None:
        await user.go("memories")
        await user.until("The office opens")
        await user.press("e")
        await user.until("Ctrl+S saves")
        user.app.screen.query_one(Editor).text = "The office opens at ten"
        user.app.screen.query_one("#importance", Line).value = "nine"
        await user.press("ctrl+s")
        await user.until("importance", "must be", "Ctrl+S saves")  # the daemon refuses; nothing typed is lost
        assert user.app.screen.query_one(Editor).text == "The office opens at ten"
        user.app.screen.query_one("#importance", Line).value = "5"
        await user.press("ctrl+s")
        await user.until("Updated", "z takes it back", without="Ctrl+S saves")
        await user.until("office opens at ten")

    browse(daemon, play)
    after = client.get(id=memory).insight
    assert (after.content, after.importance, after.tags) == ("The office opens at ten", 5, ("office",))


@pytest.mark.check_all
def test_a_text_that_was_typed_is_dropped_at_the_second_escape_alone(client: Client, daemon: Daemon) -> None:
    stored(client, "The office opens at nine")

    async def play(user: Session) -> None:
        await user.go("memories")
        await user.until("The office opens")
        await user.press("e")
        await user.until("Ctrl+S saves")
        await user.press("X")
        await user.press("escape")
        await user.until("Esc once more drops what you typed")
        assert isinstance(user.app.screen, Edit)
        await user.press("escape")
        await user.until("1 memory, newest first", without="Ctrl+S saves")

    browse(daemon, play)
    assert contents(client) == ["The office opens at nine"]


def test_to_forget_asks_first_and_z_takes_it_back(client: Client, daemon: Daemon) -> None:
    stored(client, "The office opens at nine")

    async def play(user: Session) -> None:
        await user.go("memories")
        await user.until("The office opens")
        await user.press("d")
        await user.until("out of recall?")
        await user.press("enter")  # no is what Enter means
        await user.until("1 memory, newest first", without="out of recall?")
        assert contents(client) == ["The office opens at nine"]
        await user.press("d")
        await user.until("out of recall?")
        await user.press("y")
        await user.until("Forgot", "z takes it back", "no memory fits")
        assert contents(client) == []
        await user.press("z")
        await user.until("Took back: forget", "1 memory, newest first")
        await user.press("z")
        await user.until("nothing was changed here yet")

    browse(daemon, play)
    assert contents(client) == ["The office opens at nine"]


@pytest.mark.check_all
def test_what_was_forgotten_is_brought_back(client: Client, daemon: Daemon) -> None:
    client.forget(id=stored(client, "The office opens at nine"))

    async def play(user: Session) -> None:
        await user.go("memories")
        await user.until("no memory fits")
        await user.ask("--retired")
        await user.until("forgotten", "The office opens")
        await user.press("b")
        await user.until("Restored", "no memory fits")

    browse(daemon, play)
    assert contents(client) == ["The office opens at nine"]


@pytest.mark.check_all
def test_two_marked_memories_become_one(client: Client, daemon: Daemon) -> None:
    older = stored(client, "The office opens at nine")
    stored(client, "The office opens at nine and has a garden")

    async def play(user: Session) -> None:
        await user.go("memories")
        await user.until("2 memories, newest first")
        await user.press("m")
        await user.until("mark one memory with the space bar")
        await user.select("has a garden")
        await user.press("space", "down", "m")
        await user.until("what both say", "keeps its id")
        assert "has a garden" in user.app.screen.query_one(Editor).text
        user.app.screen.query_one(Editor).text = "The office with the garden opens at nine"
        await user.press("ctrl+s")
        await user.until("z takes it back", "1 memory, newest first")

    browse(daemon, play)
    assert contents(client) == ["The office with the garden opens at nine"]
    assert client.get(id=older).insight.content == "The office with the garden opens at nine"


@pytest.mark.check_all
def test_the_history_of_a_memory(client: Client, daemon: Daemon) -> None:
    client.update(id=stored(client, "The office opens at nine"), importance=5)

    async def play(user: Session) -> None:
        await user.go("memories")
        await user.until("importance", "effective importance")
        await user.press("h")
        await user.until("changed", "importance: 3 → 5")
        await user.press("h")
        await user.until("effective importance")

    browse(daemon, play)
