"""Sessions in the browser: what was told, kept and left out, and a key to keep, correct or forget."""

from __future__ import annotations

import msgspec
import pytest

from mnemonctl.browse.calls import Daemon
from mnemonctl.client import Client
from mnemond.interchange.sessions import SessionExchange
from mnemond.model.answers import ListResult
from tests.browse.screens import Session, browse

LATER = "2999-01-01T00:00:00Z"
"""An import takes the time of now for one that is yet to come."""


def session(client: Client, prompt: str = "Always use tabs in Makefiles. Why is it slow?") -> None:
    """A session of which one sentence is kept and one is left out."""
    said = SessionExchange("s-1", "/home/ada/shop", LATER, prompt, "Since May.")
    with client.spooled([msgspec.json.encode(said) + b"\n"]) as (name, _):
        client.imports.run(kind="codex-sessions", digest="0" * 64, spool=name)
    client.jobs.run(name="extract")


@pytest.mark.check_all
def test_what_was_left_out_is_kept_and_what_was_kept_is_forgotten(client: Client, daemon: Daemon) -> None:
    session(client)

    async def play(user: Session) -> None:
        await user.go("today")
        await user.until("told 0 memories", "kept 1 exchange, 1 memory", "shop, codex", "kept", "Makefiles", "left out")
        await user.select("Why is it slow?")
        await user.press("k")
        await user.until("Keep this as a memory", "Why is it slow?")
        await user.press("ctrl+s")
        await user.until("z takes it back", without="Keep this as a memory")
        await user.select("Makefiles")
        await user.press("c")
        await user.until("category:")
        await user.press("escape")
        await user.until("kept 1 exchange", without="category:")
        await user.press("k")
        await user.until("was judged useful 1 time", "1 marked useful")
        await user.press("d")
        await user.until("out of recall?")
        await user.press("y")
        await user.until("kept 1 exchange, 0 memories", without="out of recall?")

    browse(daemon, play)
    found = client.list()
    assert isinstance(found, ListResult)
    (left,) = found.insights
    assert (left.content, left.project) == ("Why is it slow?", "shop")


@pytest.mark.check_all
def test_a_time_is_asked_for(client: Client, daemon: Daemon) -> None:
    async def play(user: Session) -> None:
        await user.go("today")
        await user.until("no session was told a memory then")
        await user.press("slash", *"soon", "enter")
        await user.until("since:")

    browse(daemon, play)
