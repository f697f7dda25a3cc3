"""A whole daemon without its socket, told what hooks say."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import trio
from structlog.testing import CapturingLogger

from mnemond.api.registry import METHODS
from mnemond.config.hosts import Host, Moment
from mnemond.config.reading import EmbeddingSettings
from mnemond.config.settings import Config, HookSettings
from mnemond.config.writing import ExtractionSettings
from mnemond.daemon import Daemon
from mnemond.embed.registry import Embedders
from mnemond.model.changes import QueuedExchange
from mnemond.store.exchanges import oldest
from mnemond.wire.hook_payload import HookEvent
from mnemond.wire.hooks import Opening
from tests.api.factories import CALL

CLOSE_S = 30.0
EMBEDDERS = Embedders(EmbeddingSettings(), {}, lambda: 0.0)
"""The built-in one, read once for all tests."""

APOLLO = "/home/ada/apollo"
SQLITE = "Chose SQLite as storage for Apollo because the team lacks Redis experience"
PORT = "The staging server runs on port 8443 behind Caddy"
WHY = "Why did we choose SQLite?"


class Desk:
    """One host in one session, unless an event says otherwise."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon
        self._turn = 0
        self.notice = ""
        """What the person is shown beside the last answer."""

    async def at(self, moment: Moment, **fields: Any) -> str:
        """What is said at a moment."""
        known = {"host": Host.CLAUDE_CODE, "moment": moment, "session": "s", "cwd": APOLLO, "takes_context": True}
        said = await self.daemon._agents.at(HookEvent(**{**known, **fields}), CALL)
        self.notice = said.notice if isinstance(said, Opening) else ""
        text = said.context if isinstance(said, Opening) else said
        assert isinstance(text, str)
        return text

    async def asks(self, prompt: str, **fields: Any) -> str:
        """What a new prompt brings up."""
        self._turn += 1
        return await self.at(Moment.PROMPT, **{"text": prompt, "turn": str(self._turn), **fields})

    async def answered(self, reply: str, **fields: Any) -> None:
        """The agent has answered; nothing is ever said then."""
        done = {"text": reply, "turn": str(self._turn), "takes_context": False, **fields}
        assert await self.at(Moment.ASSISTANT_DONE, **done) == ""

    async def remember(self, content: str, **fields: object) -> str:
        """Its id."""
        return str((await self.does("remember", content=content, no_diff=True, **fields)).id)

    async def does(self, method: str, **params: object) -> Any:
        """The result of a method."""
        return await self.daemon._dispatcher.invoke(METHODS[method], params, CALL)

    async def queued(self, store: str = "default") -> list[QueuedExchange]:
        """What waits in a store, oldest first."""
        warm = await self.daemon.open_stores.open(store)
        return [each.exchange for each in await warm.store.read(lambda connection: oldest(connection, 100))]

    @property
    def path(self) -> Path:
        """The data directory."""
        return self.daemon.stores.path("default").parents[2]

    def stores(self) -> list[str]:
        """Those with a file."""
        return self.daemon.stores.names()


HOOKS, EXTRACTION = HookSettings(), ExtractionSettings()
"""As shipped."""


async def known(over: Desk) -> None:
    """Two memories to ask after."""
    await over.remember(SQLITE, category="decision", importance=4, tags=["apollo"])
    await over.remember(PORT, category="fact")


@asynccontextmanager
async def desk(
    path: Path,
    hooks: HookSettings = HOOKS,
    extraction: ExtractionSettings = EXTRACTION,
    hook_ms: int = 10_000,
) -> AsyncIterator[Desk]:
    """A daemon until the end of the block. Only slow tests have little time for a hook."""
    config = Config(hooks=hooks, extraction=extraction)
    config = msgspec.structs.replace(config, server=msgspec.structs.replace(config.server, hook_deadline_ms=hook_ms))
    daemon = Daemon(path, config, CapturingLogger(), EMBEDDERS)
    try:
        async with trio.open_nursery() as nursery:
            await nursery.start(daemon.uses.run)
            yield Desk(daemon)
            nursery.cancel_scope.cancel()
    finally:
        with trio.move_on_after(CLOSE_S, shield=True):
            await daemon.close()
