"""A daemon that goes away, comes back, or is slow; a narrow terminal; and keys that hold everywhere."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from benchmarks.daemon_process import DaemonProcess
from mnemonctl.browse.app import DARK, LIGHT
from mnemonctl.browse.calls import Daemon
from mnemonctl.client import Client
from tests.browse.conftest import opened
from tests.browse.screens import Session, browse


@pytest.mark.check_all
def test_a_daemon_that_goes_away_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemonctl.daemon.start", lambda *_: pytest.fail("it was started"))
    running = DaemonProcess(tmp_path)
    running.start()
    with Client(data_dir=tmp_path, start=False) as client:
        client.remember(content="The office opens at nine")

    async def play(user: Session) -> None:
        await user.go("memories")
        await user.until("The office opens")
        running.stop()
        user.app.pane.reload()  # r would start it, if its absence has been noticed
        await user.until("no daemon is running", "r starts it", "The office opens")
        await user.press("d")
        await user.until("out of recall?")
        await user.press("y")
        await user.until("no daemon is running", without="out of recall?")
        await user.until_idle()
        running.start()
        await user.until("the daemon answers again", "The office opens")
        await user.press("d")
        await user.until("out of recall?")
        await user.press("y")
        await user.until("Forgot", "no memory fits")

    try:
        browse(opened(tmp_path), play)
    finally:
        running.stop()


def test_r_starts_a_daemon_that_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = DaemonProcess(tmp_path)
    monkeypatch.setattr("mnemonctl.daemon.start", lambda directory, wait: running.start())

    async def run(user: Session) -> None:
        await user.press("r")
        await user.until("nothing to decide", "the daemon answers again")

    async def play() -> None:
        from mnemonctl.browse.app import Browser

        app = Browser(opened(tmp_path))
        async with app.run_test(size=(100, 30)) as pilot:
            user = Session(app, pilot)
            await user.until("no daemon is running")
            await run(user)
        app.show()  # as a tab does that was activated while the user left

    try:
        asyncio.run(play())
    finally:
        running.stop()


def test_the_screen_goes_on_while_the_daemon_is_silent(tmp_path: Path) -> None:
    with DaemonProcess(tmp_path) as running:
        with Client(data_dir=tmp_path, start=False) as client:
            client.remember(content="The office opens at nine")

        async def play(user: Session) -> None:
            await user.go("memories")
            await user.until("The office opens")
            with running.stopped():
                await user.press("r", "r", "r", "question_mark")
                await user.until("what was decided, or what waits")
                await user.press("escape")
                user.app.action_go("jobs")
                await user.pilot.pause()
                assert user.app.pane.id == "jobs"
            await user.until("jobs of store")

        browse(opened(tmp_path), play)


def test_a_preview_that_comes_when_its_pane_is_being_closed_is_dropped(client: Client, daemon: Daemon) -> None:
    """The browser ended with a traceback where it was left while the daemon was asked for a preview."""
    client.remember(content="The office opens at nine")

    async def play(user: Session) -> None:
        pane = await user.go("memories")
        await user.until("The office opens", "effective importance")
        await pane.query(".preview").remove()
        await pane._load_preview(lambda _: "late").wait()

    browse(daemon, play)


def test_calls_that_were_cancelled_before_their_turn_are_not_made(daemon: Daemon) -> None:
    asked: list[int] = []

    async def run() -> None:
        begun, go_on = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def wait(client: Client) -> None:
            loop.call_soon_threadsafe(begun.set)
            asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result()

        first = asyncio.create_task(daemon.read(wait))
        await begun.wait()
        late = asyncio.create_task(daemon.read(lambda _: asked.append(1)))
        await asyncio.sleep(0)
        late.cancel()
        go_on.set()
        await first
        await daemon.read(lambda _: asked.append(2))
        daemon.close()

    asyncio.run(run())
    assert asked == [2]


@pytest.mark.check_all
def test_a_narrow_terminal_has_list_and_preview_below_each_other(client: Client, daemon: Daemon) -> None:
    client.remember(content="The office opens at nine", tags=("office",))

    async def play(user: Session) -> None:
        await user.go("memories")
        screen = await user.until("1 memory, newest first", "The office opens at nine", "active")
        assert all(len(line) == 60 for line in screen.splitlines())
        row, border = (
            next(at for at, line in enumerate(screen.splitlines()) if it in line) for it in ("office", "────")
        )
        assert row < border
        await user.press("e")
        await user.until("The office opens at nine", "category", "importance", "tags", "Ctrl+S saves")
        await user.press("escape", "d")
        await user.until("out of recall?", "No (n)", "Forget (y)")
        await user.press("escape", "question_mark")
        await user.until("1 … 8")
        await user.press("end")
        await user.until("What a memory says is shown as text")
        await user.pilot.resize_terminal(140, 40)
        await user.until("1 … 8", "What a memory says is shown as text")

    browse(daemon, play, size=(60, 20))


@pytest.mark.check_all
def test_keys(client: Client, daemon: Daemon) -> None:
    async def play(user: Session) -> None:
        for key, name in zip(
            "1234567", ("reviews", "memories", "history", "entities", "timeline", "jobs", "recall"), strict=True
        ):
            while user.app.screen.focused is not user.app.pane.rows:  # some panes give it to their line once shown
                user.app.pane.rows.focus()
                await user.pilot.pause(0.05)
            await user.press(key)
            assert user.app.pane.id == name
        user.app.pane.rows.focus()
        assert user.app.theme == DARK
        await user.press("L")
        assert user.app.theme == LIGHT
        user.app.pane.rows.focus()
        await user.press("q")
        await user.pilot.pause()
        assert user.app._exit

    browse(daemon, play)
