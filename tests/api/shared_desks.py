"""Two whole daemons without their sockets, which share a store, in one process."""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import trio
from structlog.testing import CapturingLogger

from mnemonctl import rpc
from mnemond.api.registry import METHODS
from mnemond.config.settings import Config
from mnemond.daemon import Daemon
from mnemond.embed.embedder import Supply
from mnemond.store.store import Store
from mnemond.wire.dispatch import Call
from tests.api.factories import CALL, spooled
from tests.hooks.factories import EMBEDDERS, Desk

VARIABLE = "TEAM_DSN"
TEAM = "team"
WITHIN_S = 30.0
TERMINAL = msgspec.structs.replace(CALL, at_terminal=True)

_OWN = re.compile(r'"(nonce|\w*_ms|effective_importance)":("[^"]*"|[\d.]+|null|\{[^}]*\}),?|recalled-data \w+')
"""What differs from one answer to the next, and what each daemon counts for itself (docs/oplog.md)."""

_SCORE = re.compile(r"\d+\.\d{2,}")
"""Scores, in which the age of a memory is counted, and how often a word is in rows that the index has to drop yet."""


def comparable(answer: str) -> str:
    """An answer without what differs from one to the next."""
    return _SCORE.sub("", _OWN.sub("", answer))


class SharedDesk(Desk):
    """A daemon that shares the store TEAM."""

    async def team(self, method: str, **params: object) -> Any:
        """The result of a method, on the shared store unless another one is named."""
        return await self._called(method, params, CALL)

    async def person(self, method: str, **params: object) -> Any:
        """The same for a person at a terminal."""
        return await self._called(method, params, TERMINAL)

    async def _called(self, method: str, params: dict[str, object], call: Call) -> Any:
        if "store" in METHODS[method].params.__struct_fields__:
            params = {"store": TEAM, **params}
        return await self.daemon._dispatcher.invoke(METHODS[method], params, call)

    @property
    def store(self) -> Store:
        """The shared store, open."""
        (store,) = [each for each in self.daemon.stores.open_stores() if each.name == TEAM]
        return store

    @property
    def seq(self) -> int:
        """The last operation that it has."""
        assert self.store.shared is not None
        return self.store.shared.cursor.seq

    async def answer(self, method: str, **params: object) -> str:
        """The answer, as JSON, without what differs each time."""
        found = msgspec.json.encode(await self.team(method, **params), order="deterministic").decode()
        return comparable(found)

    async def export(self, store: str = TEAM) -> str:
        """The text of an export."""
        with rpc.spooled(self.path) as (name, file):
            await self.team("export", store=store, spool=name)
            return file.read().decode()

    async def takes_in(self, text: str) -> Any:
        """Import the text of an export."""
        digest = hashlib.sha256(text.encode()).hexdigest()
        return await self.team("import.run", kind="mnemond", digest=digest, spool=spooled(self.path, text))


@asynccontextmanager
async def daemon_of(path: Path, supply: Supply = EMBEDDERS, config: Config | None = None) -> AsyncIterator[SharedDesk]:
    """A daemon with the shared store, which it follows, until the end of the block."""
    await trio.Path(path).mkdir(mode=0o700, exist_ok=True)
    daemon = Daemon(path, config or Config(), CapturingLogger(), supply)
    over = SharedDesk(daemon)
    try:
        async with trio.open_nursery() as nursery:
            for run in (daemon.uses.run, daemon.scheduler.run, daemon.followers.run, daemon.embedding_worker.run):
                await nursery.start(run)
            await over.team("store.create", name=TEAM, backend="postgresql", dsn_env=VARIABLE)
            await over.team("store.set", name=TEAM)
            await daemon.open_stores.open(TEAM)
            yield over
            nursery.cancel_scope.cancel()
    finally:
        with trio.move_on_after(WITHIN_S, shield=True):
            await daemon.close()


async def caught_up(*desks: SharedDesk) -> None:
    """Wait until each has what all wrote."""
    last = max(each.seq for each in desks)
    with trio.fail_after(WITHIN_S):
        while any(each.seq < last for each in desks):  # noqa: ASYNC110 - other threads
            await trio.sleep(0.005)
    for each in desks:
        await each.store.read(lambda _: None)  # behind what it was applied with


async def assert_answers_alike(desks: Sequence[SharedDesk], questions: Sequence[tuple[str, dict[str, Any]]]) -> None:
    """All give the same answers to questions, and have the same export."""
    for method, params in questions:
        first, *others = [await each.answer(method, **params) for each in desks]
        for other in others:
            assert other == first, (method, params, difference(first, other))
    first, *others = [(await each.export()).partition("\n")[2] for each in desks]  # the first line has the time
    for other in others:
        assert other == first, difference(first, other)


def difference(one: str, other: str) -> tuple[str, str]:
    """The place where two texts begin to differ, of each."""
    at = next(
        (at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), min(len(one), len(other))
    )
    return one[max(0, at - 80) : at + 120], other[max(0, at - 80) : at + 120]
