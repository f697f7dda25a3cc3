"""A browser whose screen a test reads, without a terminal, against a real daemon."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from textual.pilot import Pilot
from textual.widgets import OptionList

from mnemonctl.browse.app import Browser
from mnemonctl.browse.calls import Daemon
from mnemonctl.browse.widgets import Line, Pane

DEADLINE_S = 20.0
"""Longest wait for something to be seen."""


def text(app: Browser) -> str:
    """What is on the screen, a line for each of its rows."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


class Session:
    """The browser, and the keys of a user."""

    def __init__(self, app: Browser, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    @property
    def screen(self) -> str:
        """What is on the screen."""
        return text(self.app)

    async def until(self, *wanted: str, without: str = "") -> str:
        """Wait until the screen has all of `wanted`, and return it. AssertionError with the screen if it never has."""
        ends = time.monotonic() + DEADLINE_S
        while True:
            await self.pilot.pause(0.02)
            screen = self.screen
            if all(each in screen for each in wanted) and not (without and without in screen):
                return screen
            if time.monotonic() > ends:
                raise AssertionError(f"waited for {wanted} without {without!r}, but read\n{screen}")

    async def until_idle(self) -> None:
        """Wait until no action is under way."""
        ends = time.monotonic() + DEADLINE_S
        while self.app._acting:
            assert time.monotonic() < ends
            await self.pilot.pause(0.02)

    async def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        await self.pilot.press(*keys)

    async def type(self, words: str) -> None:
        """Put a text where the keys go."""
        focused = self.app.screen.focused
        assert focused is not None
        for char in words:
            await self.pilot.press("space" if char == " " else char)

    async def ask(self, line: str) -> None:
        """Type a text in the line of the pane, instead of what is there."""
        field = self.app.pane.query_one(Line)
        field.value = line
        field.focus()
        await self.pilot.press("enter")

    async def go(self, name: str) -> Pane[Any]:
        """Show a pane by its id."""
        self.app.action_go(name)
        ends = time.monotonic() + DEADLINE_S
        while self.app.pane.id != name or self.app.pane.is_loading:
            assert time.monotonic() < ends
            await self.pilot.pause(0.02)
        return self.app.pane

    async def select(self, words: str) -> None:
        """Select the first row that has these words."""
        at = next(at for at, row in enumerate(self.app.pane.page.rows) if words in row.text)
        rows = self.app.pane.query_one(OptionList)
        rows.focus()
        rows.highlighted = at
        await self.pilot.pause()


def browse(daemon: Daemon, play: Callable[[Session], Awaitable[None]], size: tuple[int, int] = (120, 36)) -> None:
    """Show a browser for as long as `play` lasts."""

    async def run() -> None:
        app = Browser(daemon)
        async with app.run_test(size=size) as pilot:
            user = Session(app, pilot)
            await user.until("to decide")
            await play(user)

    asyncio.run(run())
