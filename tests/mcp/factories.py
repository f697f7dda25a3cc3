"""A whole daemon without its socket, asked in either era of MCP."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio
from structlog.testing import CapturingLogger

from mnemond.config.reading import EmbeddingSettings
from mnemond.config.settings import Config
from mnemond.daemon import Daemon
from mnemond.embed.registry import Embedders
from mnemond.mcp.protocol import CAPABILITIES, MODERN, VERSION
from mnemond.wire.deferred import Deferred
from mnemond.wire.dispatch import Call, Reply
from mnemond.wire.jsonrpc import Request, parse

META = {VERSION: MODERN, CAPABILITIES: {}}
Json = dict[str, Any]
CLOSE_S = 30.0


async def answered(reply: Reply | Deferred[Reply]) -> Reply:
    """A reply, now or later."""
    return await reply if isinstance(reply, Deferred) else reply


class Desk:
    """Asks as one connection."""

    def __init__(self, daemon: Daemon, log: CapturingLogger, nursery: trio.Nursery) -> None:
        self.daemon = daemon
        self.log = log
        self.call = Call(connection=1, peer_pid=2, peer_uid=3)
        self._nursery = nursery

    def send(self, method: str, params: object, *, number: int | None) -> Reply | Deferred[Reply]:
        """What is answered to a message, or to a notification where it has no number, now or later."""
        message = {"jsonrpc": "2.0", "method": method, "params": params, **({} if number is None else {"id": number})}
        request = parse(json.dumps(message).encode())
        assert isinstance(request, Request)
        return self.daemon._dispatcher.answer(request, self.call, self._nursery.start_soon)

    async def reply(self, method: str, params: object = None, *, modern: bool = False) -> Json:
        """The whole reply to a request."""
        message: Json = {"jsonrpc": "2.0", "id": 1, "method": method}
        if modern:
            message["params"] = {**(params if isinstance(params, dict) else {}), "_meta": META}
        elif params is not None:
            message["params"] = params
        request = parse(json.dumps(message).encode())
        assert isinstance(request, Request)
        line = await answered(self.daemon._dispatcher.answer(request, self.call, self._nursery.start_soon))
        assert isinstance(line, bytes)
        found: Json = json.loads(line)
        return found

    async def ask(self, method: str, params: object = None, *, modern: bool = False) -> Json:
        """The result of a request."""
        reply = await self.reply(method, params, modern=modern)
        assert "result" in reply, reply
        result: Json = reply["result"]
        return result

    async def error(self, method: str, params: object = None, *, modern: bool = False) -> Json:
        """The error of a request."""
        error: Json = (await self.reply(method, params, modern=modern))["error"]
        return error

    async def use(self, name: str, /, **arguments: object) -> str:
        """The text of a tool that did what it should."""
        result = await self.ask("tools/call", {"name": name, "arguments": arguments})
        assert result["isError"] is False, result
        (content,) = result["content"]
        assert content["type"] == "text"
        return str(content["text"])

    async def fail(self, name: str, /, **arguments: object) -> str:
        """The text of a tool that did not."""
        result = await self.ask("tools/call", {"name": name, "arguments": arguments})
        assert result["isError"] is True, result
        return str(result["content"][0]["text"])


@asynccontextmanager
async def desk(path: Path) -> AsyncIterator[Desk]:
    """A daemon until the end of the block."""
    log = CapturingLogger()
    settings = EmbeddingSettings(provider="none")
    daemon = Daemon(path, Config(embedding=settings), log, Embedders(settings, {}, lambda: 0.0))
    try:
        async with trio.open_nursery() as nursery:
            yield Desk(daemon, log, nursery)
            nursery.cancel_scope.cancel()
    finally:
        with trio.move_on_after(CLOSE_S, shield=True):
            await daemon.close()
