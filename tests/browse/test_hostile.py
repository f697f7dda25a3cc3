"""Hostile texts in every place of the browser: nothing drives the terminal, nothing is markup, nothing hides."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from rich.segment import Segment
from textual.events import Paste

from mnemonctl.browse.app import PANES, Browser
from mnemonctl.browse.calls import Daemon
from mnemonctl.browse.widgets import PREVIEW, Editor, Line, Row, plain
from mnemonctl.client import Client
from tests.browse.screens import Session, browse
from tests.browse.test_today import session
from tests.cli.test_terminal import PAYLOADS, unsafe_left

MARKUP = "[bold]loud[/bold] [@click=app.quit]quit[/] [link=http://evil.example]here[/link] [/nothing] [red"
HOSTILE = [MARKUP, *(text for name, text in PAYLOADS.items() if name not in ("lone surrogate", "nul"))]


def segments(app: Browser) -> Iterator[Segment]:
    """Everything that would be written."""
    for strip in app.screen._compositor.render_strips():
        yield from strip


def refuse_hostile(app: Browser) -> None:
    """AssertionError for a control or a hidden character, or a link."""
    for segment in segments(app):
        assert unsafe_left(segment.text) == [], segment
        assert segment.style is None or segment.style.link is None, segment
        assert "@click" not in str(segment.style.meta if segment.style else ""), segment


@pytest.mark.check_all
def test_every_pane_shows_hostile_texts_as_they_are_written(client: Client, daemon: Daemon) -> None:
    for at, text in enumerate(HOSTILE):
        client.remember(
            content=f"Ana{at} said {text} to Berlin{at}", no_diff=True, tags=(text[:90],), entities=(text[:90],)
        )
    client.relations.add(source="Ana1", type="uses", target=MARKUP)
    client.relations.add(source="[red]Ana1[/]", type="uses", target=MARKUP)
    client.entity.merge(name="Ana1", other="[red]Ana1[/]")
    session(client, " ".join(f"Always write {text}. Why is {text}?" for text in HOSTILE))

    async def play(user: Session) -> None:
        await user.until("[red]Ana1[/]")
        refuse_hostile(user.app)
        for name in PANES:
            pane = await user.go(name)
            if name in ("timeline", "recall"):
                await user.ask("Ana1" if name == "timeline" else "what did Ana1 say to Berlin1")
            while not pane.page.rows:
                await user.pilot.pause(0.02)
            for at in range(len(pane.page.rows)):
                pane.rows.highlighted = at
                await user.pilot.pause(0.1)
                refuse_hostile(user.app)
        for name, key, shown in (
            ("memories", "d", "out of recall?"),
            ("memories", "e", "Ctrl+S"),
            ("history", "u", "all"),
        ):
            await user.go(name)
            for at in range(0, len(user.app.pane.page.rows), 5):
                user.app.pane.rows.highlighted = at
                await user.press(key)
                await user.until(shown)
                refuse_hostile(user.app)
                await user.press("escape")

    browse(daemon, play)


def test_an_edit_of_a_hidden_character_shows_it_and_leaves_it_unless_the_text_changes(
    client: Client, daemon: Daemon
) -> None:
    hidden = "The office\u202e opens at nine"
    made = client.remember(content=hidden, tags=("a",)).id
    assert made is not None

    async def play(user: Session) -> None:
        await user.go("memories")
        await user.until("The office\\u202e opens")
        await user.press("e")
        await user.until("characters that cannot be seen are written as escapes")
        user.app.screen.query_one("#importance", Line).value = "5"
        await user.press("ctrl+s")
        await user.until("Updated", without="Ctrl+S saves")
        assert client.get(id=made).insight.content == hidden
        await user.press("e")
        await user.until("Ctrl+S saves")
        editor = user.app.screen.query_one(Editor)
        editor.text = editor.text.replace("nine", "ten")
        await user.press("ctrl+s")
        await user.until("Updated", "content", without="Ctrl+S saves")

    browse(daemon, play)
    assert client.get(id=made).insight.content == "The office\\u202e opens at ten"


def test_what_is_pasted_is_escaped(client: Client, daemon: Daemon) -> None:
    client.remember(content="The office opens at nine")

    async def play(user: Session) -> None:
        await user.go("memories")
        await user.until("The office")
        user.app.pane.query_one(Line).focus()
        user.app.screen.post_message(Paste("te\x1b[31mst\u202e\nsecond"))
        await user.until("te\\x1b[31mst\\u202e", without="second")
        user.app.pane.query_one(Line).value = ""
        await user.press("escape", "e")
        await user.until("Ctrl+S saves")
        user.app.screen.post_message(Paste("te\x1b[31mst\u202e\nsecond"))
        await user.until("te\\x1b[31mst\\u202e", "second")
        refuse_hostile(user.app)

    browse(daemon, play)


def test_long_texts_are_cut() -> None:
    assert len(plain("x" * (2 * PREVIEW)).plain) == PREVIEW + 1
    assert len(Row("k", "h", "h", "x" * 100_000, None).content(marked=False, is_brief=False).plain) < 300
