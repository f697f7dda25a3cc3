"""MCP on the socket: each of its methods, in either era, out of mnemond's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import msgspec

from mnemond.api.types_admin import StoreListResult
from mnemond.errors import METHOD_NOT_FOUND, NOT_FOUND, FieldProblem, MnemonError, invalid
from mnemond.hooks.memory import most_important
from mnemond.mcp import protocol, render
from mnemond.mcp.protocol import (
    MODERN,
    SERVER,
    SUBSCRIPTION,
    SUPPORTED,
    Era,
    Json,
    McpRequest,
    agreed,
    cacheable,
    complete,
)
from mnemond.mcp.render import USES, McpTools
from mnemond.mcp.tools import GUIDE, INSTRUCTIONS, TOOLS, PromptArguments
from mnemond.model.answers import GcResult, GetResult
from mnemond.wire.dispatch import Call, Invoke, Verbatim, handles
from mnemond.wire.jsonrpc import Request
from mnemond.wire.params import nearest, short

CAPABILITIES: Final[Json] = {"tools": {}, "resources": {}, "prompts": {}}
"""Nothing of it changes while the daemon runs, so there is nothing to be notified of."""

REVIEWED: Final = 15
"""Memories of one review."""


class McpHandlers:
    """Every method of MCP that is answered here."""

    def __init__(self, invoke: Invoke, nonce: Callable[[], str]) -> None:
        """`invoke` runs one of mnemond's own methods; `nonce` draws what no memory can know."""
        self._invoke = invoke
        self._nonce = nonce
        self._tools = McpTools(invoke, nonce)

    @handles("initialize")
    async def initialize(self, call: Call, request: Request) -> object:
        """A handshake, which ends with the newest revision that both speak."""
        asked = _of_session(request)
        call.state.mcp = True
        return {
            "protocolVersion": agreed(asked.optional("protocolVersion")),
            "capabilities": CAPABILITIES,
            "serverInfo": SERVER,
            "instructions": INSTRUCTIONS,
        }

    @handles("ping")
    async def ping(self, call: Call, request: Request) -> object:
        """Nothing, as it is defined: clients refuse anything else."""
        return {}

    @handles("server/discover")
    async def discover(self, call: Call, request: Request) -> object:
        """What is spoken here."""
        asked = McpRequest(request.arguments, modern=True)
        body: Json = {"supportedVersions": SUPPORTED, "capabilities": CAPABILITIES, "instructions": INSTRUCTIONS}
        return cacheable(asked.era, body)

    @handles("tools/list")
    async def tools_list(self, call: Call, request: Request) -> object:
        """Every tool, in the same order every time."""
        return cacheable(McpRequest(request.arguments).era, {"tools": list(TOOLS.values())})

    @handles("tools/call")
    async def tools_call(self, call: Call, request: Request) -> object:
        """What a tool returns. Raises MnemonError(INVALID_PARAMS) for no tool of that name, and for arguments that
        are no object."""
        asked = McpRequest(request.arguments)
        name = asked.text("name")
        if name not in USES:
            raise _unknown("tool", name, USES)
        return complete(asked.era, await self._tools.use(name, asked.given(), call))

    @handles("resources/list")
    async def resources_list(self, call: Call, request: Request) -> object:
        """The guide, and the core of every store."""
        asked = McpRequest(request.arguments)
        found = await self._invoke("store.list", b"{}", call)
        assert isinstance(found, StoreListResult)  # noqa: S101
        body: Json = {"resources": protocol.listed(store.name for store in found.stores)}
        return cacheable(asked.era, body, 0, "private")

    @handles("resources/templates/list")
    async def templates_list(self, call: Call, request: Request) -> object:
        """How the addresses of memories and cores are made."""
        return cacheable(McpRequest(request.arguments).era, {"resourceTemplates": protocol.TEMPLATES})

    @handles("resources/read")
    async def resources_read(self, call: Call, request: Request) -> object:
        """What stands at an address. Raises MnemonError(INVALID_PARAMS) for one that leads nowhere."""
        asked = McpRequest(request.arguments)
        uri = asked.text("uri")
        address = protocol.parse_uri(uri)

        try:
            if address.store is not None:
                text = await self._core(address.store, call)
            elif address.memory is None:
                text = GUIDE
            else:
                one = await self._invoke("get", _json(id=address.memory), call)
                assert isinstance(one, GetResult)  # noqa: S101
                text = await self._tools.aside(partial(render.whole, one, self._nonce()))
        except MnemonError as error:  # what is not there is a bad parameter in MCP
            if error.kind is NOT_FOUND:
                raise protocol.missing(uri) from None
            raise
        body: Json = {"contents": [{"uri": uri, "mimeType": protocol.MARKDOWN, "text": text}]}
        return cacheable(asked.era, body, 0, "private")

    @handles("prompts/list")
    async def prompts_list(self, call: Call, request: Request) -> object:
        """Every prompt, in the same order every time."""
        return cacheable(McpRequest(request.arguments).era, {"prompts": list(protocol.PROMPTS.values())})

    @handles("prompts/get")
    async def prompts_get(self, call: Call, request: Request) -> object:
        """A prompt with what it is about. Raises MnemonError(INVALID_PARAMS) for none of that name."""
        asked = McpRequest(request.arguments)
        name = asked.text("name")
        if name not in protocol.PROMPTS:
            raise _unknown("prompt", name, protocol.PROMPTS)
        given = asked.arguments(PromptArguments)
        store = given.store if isinstance(given.store, str) else None
        text = await (self._brief(store, call) if name == "brief" else self._review(store, call))
        return complete(asked.era, protocol.prompt(str(protocol.PROMPTS[name]["description"]), text))

    @handles("subscriptions/listen")
    async def listen(self, call: Call, request: Request) -> object:
        """Agreed to, and nothing follows: no list here ever changes. The stream ends with the connection."""
        McpRequest(request.arguments, modern=True)
        return Verbatim(_acknowledged(request.id))

    @handles("logging/setLevel")
    async def set_level(self, call: Call, request: Request) -> object:
        """Tolerated: no log is sent to clients at any level."""
        return complete(_of_session(request).era, {})

    @handles("notifications/cancelled")
    async def cancelled(self, call: Call, request: Request) -> object:
        """A request that is being worked on is answered no more. The work goes on: a write is whole or nothing."""
        if not request.notification:
            raise _no_method(request.method)
        pending = call.state.pending.get(McpRequest(request.arguments).raw("requestId"))
        if pending is not None:
            pending.withdrawn = True
        return {}

    async def _core(self, store: str | None, call: Call) -> str:
        found = await most_important(self._invoke, store, call)
        return await self._tools.aside(partial(render.core, found, self._nonce()))

    async def _brief(self, store: str | None, call: Call) -> str:
        return protocol.BRIEF + await self._core(store, call)

    async def _review(self, store: str | None, call: Call) -> str:
        found = await self._invoke("gc", _json(store=store, limit=REVIEWED), call)
        assert isinstance(found, GcResult)  # noqa: S101
        return protocol.REVIEW + await self._tools.aside(partial(render.least, found.candidates, self._nonce()))


def _of_session(request: Request) -> McpRequest:
    """Its parameters. Raises MnemonError(METHOD_NOT_FOUND) in the revision that has no sessions, where such methods are
    gone (MCP 2026-07-28, removed methods)."""
    asked = McpRequest(request.arguments)
    if asked.era is Era.MODERN:
        raise _no_method(request.method)
    return asked


def _no_method(name: str) -> MnemonError:
    sentence = f"MCP {MODERN} has no method {short(name)}"
    return MnemonError(METHOD_NOT_FOUND, sentence, hint="server/discover says what is spoken here")


def _json(**fields: object) -> bytes:
    return msgspec.json.encode({name: value for name, value in fields.items() if value is not None})


def _unknown(what: str, name: str, known: Mapping[str, object]) -> MnemonError:
    guess = nearest(name, known)
    hint = f'did you mean "{guess}"?' if guess else f"there are {', '.join(known)}"
    return invalid([FieldProblem("name", f"there is no {what} {short(name)}")], hint=hint)


def _acknowledged(request_id: msgspec.Raw) -> bytes:
    """The first word on a subscription: none of the notifications that were asked for will come."""
    params = {"notifications": {}, "_meta": {SUBSCRIPTION: request_id}}
    return msgspec.json.encode(
        {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params}
    )
