"""The methods of MCP, in either era, and its tools: each calls methods of mnemond."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
import trio
from msgspec import UNSET

from mnemond.api.projects import Projects
from mnemond.api.registry import METHODS
from mnemond.api.types_changes import HISTORY, ReviewsResult
from mnemond.api.types_entities import ENTITY_SHOW
from mnemond.api.types_jobs import GC
from mnemond.api.types_memories import GET
from mnemond.api.types_relations import RELATIONS_LIST
from mnemond.api.types_stores import STORE_LIST
from mnemond.config.settings import McpSettings
from mnemond.errors import INVALID_PARAMS, METHOD_NOT_FOUND, NOT_FOUND, FieldProblem, MnemonError, invalid
from mnemond.hooks.briefing import Briefs
from mnemond.hooks.prompt_files import PromptFiles
from mnemond.mcp import protocol, render, tools
from mnemond.mcp.arguments import decode_arguments
from mnemond.mcp.protocol import (
    MODERN,
    SERVER,
    SUBSCRIPTION,
    SUPPORTED,
    Era,
    Json,
    McpRequest,
    cacheable,
    complete,
    tool_error,
    tool_result,
)
from mnemond.model.answers import GcResult, ListResult, RecallResult
from mnemond.model.outcomes import RememberResult
from mnemond.wire.deferred import in_thread
from mnemond.wire.dispatch import Call, Invoke, Verbatim, handles
from mnemond.wire.jsonrpc import Request
from mnemond.wire.params import NoParams, Params, nearest, short

CAPABILITIES: Final[Json] = {"tools": {}, "resources": {}, "prompts": {}}
"""None of them changes while the daemon runs, so there are no notifications."""

REVIEWED: Final = 15
"""Memories of one review."""

LONG_TEXT: Final = 4_000
"""Characters of memories that are rendered on the event loop: making them inert takes up to .9 µs each."""

THREADS: Final = 2
"""Long texts rendered at once. More of them only compete with the event loop for the interpreter."""


class McpHandlers:
    """Every method of MCP that is supported."""

    def __init__(
        self,
        settings: McpSettings,
        invoke: Invoke,
        briefs: Briefs,
        prompts: PromptFiles,
        projects: Projects,
        nonce: Callable[[], str],
    ) -> None:
        """`invoke` runs a method of mnemond; `nonce` returns a number that no memory can contain."""
        self._settings = settings
        self._invoke = invoke
        self._briefs = briefs
        self._projects = projects
        self._prompts = prompts
        self._nonce = nonce
        self._threads = trio.CapacityLimiter(THREADS)

    def apply_settings(self, settings: McpSettings) -> None:
        """Use these settings from now on; a client gets another set of tools when it asks for the list again."""
        self._settings = settings

    def _tools(self) -> Mapping[str, tools.Tool]:
        return tools.tools(self._settings.tools)

    @handles("initialize")
    async def initialize(self, call: Call, request: Request) -> object:
        """Begin a session with the revision that the client requests, or the newest that has sessions."""
        version = _session_request(request).optional("protocolVersion")
        call.state.mcp = True
        return {
            "protocolVersion": protocol.negotiate(version),
            "capabilities": CAPABILITIES,
            "serverInfo": SERVER,
            "instructions": self._prompts.guide(),
        }

    @handles("ping")
    async def ping(self, call: Call, request: Request) -> object:
        """Return an empty object: clients refuse anything else."""
        return {}

    @handles("server/discover")
    async def discover(self, call: Call, request: Request) -> object:
        """Return the supported versions and capabilities."""
        era = McpRequest(request.arguments, modern=True).era
        guide = self._prompts.guide()
        body: Json = {"supportedVersions": SUPPORTED, "capabilities": CAPABILITIES, "instructions": guide}
        return cacheable(era, body, 0, "private")  # the user may edit the guide

    @handles("tools/list")
    async def tools_list(self, call: Call, request: Request) -> object:
        """Return the tools in a stable order."""
        return cacheable(McpRequest(request.arguments).era, {"tools": list(self._tools().values())}, MINUTE_MS)

    @handles("tools/call")
    async def tools_call(self, call: Call, request: Request) -> object:
        """Call a tool. Raises MnemonError(INVALID_PARAMS) for an unknown tool, and for arguments that are not an
        object."""
        parsed = McpRequest(request.arguments)
        name = parsed.text("name")
        if name not in self._tools():
            raise _unknown("tool", name, self._tools())
        return complete(parsed.era, await self._use(_TOOL_CALLS[name], parsed.arguments_json(), call))

    async def _use(self, tool: _ToolCall, arguments: bytes, call: Call) -> Json:
        """The result of a tool. An error is a result too, by the schema of the protocol (SEP-1303): hosts do not show a
        model errors of the protocol."""
        try:
            params = tool.params(decode_arguments(tool.arguments, arguments))
            if tool.in_project and call.state.directory:
                params.setdefault("directory", call.state.directory)
            result = await self._invoke(METHODS[tool.method], params, call)
            if isinstance(result, RememberResult):
                result = render.Remembered(result, await self._texts_of(result, call))
        except MnemonError as error:
            return tool_error(render.refused(error))
        if is_long(result):
            return await in_thread(tool.result, result, self._nonce(), limiter=self._threads)
        return tool.result(result, self._nonce())

    async def _texts_of(self, result: RememberResult, call: Call) -> list[tuple[str, str]]:
        """The ids and texts of the memories whose place a new one took, from their history."""
        wording = result.redundancy.retired if result.redundancy else None
        found = []
        for insight_id in filter(None, (result.replaced_id, wording)):
            with contextlib.suppress(MnemonError):  # purged meanwhile: its id says enough
                past = await self._invoke(HISTORY, {"id": insight_id, "store": result.store}, call)
                states = [state for each in past.operations for state in (each.before_state, each.after_state)]
                found += [(insight_id, state.content) for state in states if state is not None][-1:]
        return found

    @handles("resources/list")
    async def resources_list(self, call: Call, request: Request) -> object:
        """Return the guide, and the core of every store."""
        era = McpRequest(request.arguments).era
        found = await self._invoke(STORE_LIST, NoParams(), call)
        body: Json = {"resources": protocol.resources(store.name for store in found.stores)}
        return cacheable(era, body, 0, "private")

    @handles("resources/templates/list")
    async def templates_list(self, call: Call, request: Request) -> object:
        """Return the templates of addresses of memories and cores."""
        return cacheable(McpRequest(request.arguments).era, {"resourceTemplates": protocol.TEMPLATES})

    @handles("resources/read")
    async def resources_read(self, call: Call, request: Request) -> object:
        """Return the text of a resource. Raises MnemonError(INVALID_PARAMS) for an unknown one."""
        parsed = McpRequest(request.arguments)
        uri = parsed.text("uri")
        address = protocol.parse_uri(uri)
        try:
            if address.store is not None:
                text = await self._core(address.store, call)
            elif address.name is not None:
                text = await self._named(address.name, relations=address.relations, call=call)
            elif address.memory is None:
                text = self._prompts.skill() if address.skill else self._prompts.guide()
            else:
                one = await self._invoke(GET, {"id": address.memory}, call)
                text = await self._rendered(render.whole, one)
        except MnemonError as error:  # an unknown resource is an invalid parameter in MCP
            if error.kind in (NOT_FOUND, INVALID_PARAMS):
                raise protocol.no_such_resource(uri) from None
            raise
        body: Json = {"contents": [{"uri": uri, "mimeType": protocol.MARKDOWN, "text": text}]}
        return cacheable(parsed.era, body, 0, "private")

    @handles("prompts/list")
    async def prompts_list(self, call: Call, request: Request) -> object:
        """Return the prompts in a stable order."""
        return cacheable(McpRequest(request.arguments).era, {"prompts": list(protocol.PROMPTS.values())})

    @handles("prompts/get")
    async def prompts_get(self, call: Call, request: Request) -> object:
        """Return a prompt with the memories it is about. Raises MnemonError(INVALID_PARAMS) for an unknown one."""
        parsed = McpRequest(request.arguments)
        name = parsed.text("name")
        if name not in protocol.PROMPTS:
            raise _unknown("prompt", name, protocol.PROMPTS)
        given = parsed.arguments(tools.PromptArguments).store
        store = given if isinstance(given, str) else None
        if name == "brief":
            text = protocol.BRIEF + await self._core(store, call)
        else:
            found = await self._invoke(GC, {"store": store, "limit": REVIEWED}, call)
            assert isinstance(found, GcResult)  # noqa: S101
            text = protocol.REVIEW + await self._rendered(render.least, found.candidates)
        return complete(parsed.era, protocol.prompt(str(protocol.PROMPTS[name]["description"]), text))

    @handles("subscriptions/listen")
    async def listen(self, call: Call, request: Request) -> object:
        """Acknowledge a subscription; nothing follows, as no list changes. It ends with the connection."""
        McpRequest(request.arguments, modern=True)
        params = {"notifications": {}, "_meta": {SUBSCRIPTION: request.id}}
        method = "notifications/subscriptions/acknowledged"
        return Verbatim(msgspec.json.encode({"jsonrpc": "2.0", "method": method, "params": params}))

    @handles("logging/setLevel")
    async def set_level(self, call: Call, request: Request) -> object:
        """Accept any level: no log is sent to clients."""
        return complete(_session_request(request).era, {})

    @handles("notifications/cancelled")
    async def cancelled(self, call: Call, request: Request) -> object:
        """Send no reply to a pending request. Its work goes on: a write is done as a whole or not at all."""
        if not request.notification:
            raise _no_method(request.method)
        pending = call.state.pending.get(McpRequest(request.arguments).raw("requestId"))
        if pending is not None:
            pending.withdrawn = True
        return {}

    async def _named(self, name: str, *, relations: bool, call: Call) -> str:
        """The page of a person or a thing, or its relations alone."""
        if relations:
            found = await self._invoke(RELATIONS_LIST, {"of": name, "history": True}, call)
            return await self._rendered(render.relations, found)
        page = await self._invoke(ENTITY_SHOW, {"name": name}, call)
        return await self._rendered(render.page, page)

    async def _core(self, store: str | None, call: Call) -> str:
        """The memories that matter most where the client works; all of the store if that is unknown."""
        directory = call.state.directory
        project = (await self._projects.of(directory)).id if directory else None
        return await self._rendered(render.core, await self._briefs.core(store, project))

    async def _rendered(self, text_of: Callable[[Any, str], str], result: object) -> str:
        """A long text, rendered in a thread."""
        return await in_thread(text_of, result, self._nonce(), limiter=self._threads)


# ---------------------------------------------------------------- tools: their methods, and the texts of results

CHANNEL: Final = "mcp"


class _ToolCall(msgspec.Struct, frozen=True):
    """`params` makes the parameters of `method` of the tool's arguments, `result` the tool's result of the method's.
    `in_project`: it matters in which project it is called."""

    arguments: type[Params]
    method: str
    params: Callable[[Any], dict[str, object]]
    result: Callable[[Any, str], Json]
    in_project: bool = False


def _given(arguments: Params) -> dict[str, object]:
    fields = msgspec.structs.asdict(arguments)
    return {name: value for name, value in fields.items() if value is not UNSET}


def _recall(arguments: tools.RecallArguments) -> dict[str, object]:
    params = {"sure": True, **_given(arguments)}
    if "project" in params:  # a model always names one, and needs what is known elsewhere
        params["directory"] = params.pop("project")
    return params


def _remember(arguments: tools.RememberArguments) -> dict[str, object]:
    return {"source": "agent", "channel": CHANNEL, **_given(arguments)}


def _link(arguments: tools.LinkArguments) -> dict[str, object]:
    return {"created_by": "host", **_given(arguments)}


def _fenced(text_of: Callable[[Any, str], str]) -> Callable[[Any, str], Json]:
    """For a text that contains memories."""
    return lambda result, nonce: tool_result(text_of(result, nonce))


def _plain(text_of: Callable[[Any], str]) -> Callable[[Any, str], Json]:
    return lambda result, _: tool_result(text_of(result))


def _status(result: Any, _: str) -> Json:  # noqa: ANN401
    """Structured content, and the same as text for hosts that do not read that."""
    view = render.status_view(result)
    return {**tool_result(msgspec.json.encode(view).decode()), "structuredContent": view}


_TOOL_CALLS: Final = {
    "recall": _ToolCall(tools.RecallArguments, "recall", _recall, _fenced(render.recalled), in_project=True),
    "remember": _ToolCall(tools.RememberArguments, "remember", _remember, _fenced(render.remembered), in_project=True),
    "related": _ToolCall(tools.RelatedArguments, "related", _given, _fenced(render.related)),
    "link": _ToolCall(tools.LinkArguments, "link", _link, _plain(render.linked)),
    "forget": _ToolCall(tools.ForgetArguments, "forget", _given, _plain(render.forgotten)),
    "update": _ToolCall(tools.UpdateArguments, "update", _given, _plain(render.updated)),
    "status": _ToolCall(tools.StatusArguments, "status", _given, _status),
    "memory_extract": _ToolCall(tools.ExtractArguments, "extract", _given, _fenced(render.extracted), in_project=True),
    "search": _ToolCall(tools.SearchArguments, "search", _given, _fenced(render.searched), in_project=True),
    "get": _ToolCall(tools.GetArguments, "get", _given, _fenced(render.whole)),
    "list": _ToolCall(tools.ListArguments, "list", _given, _fenced(render.listed), in_project=True),
    "entity": _ToolCall(tools.EntityArguments, "entity.show", _given, _fenced(render.page)),
    "entities": _ToolCall(tools.EntitiesArguments, "entity.list", _given, _fenced(render.entities)),
    "relations": _ToolCall(tools.RelationsArguments, "relations.list", _given, _fenced(render.relations)),
    "reviews": _ToolCall(tools.ReviewsArguments, "reviews", _given, _fenced(render.to_decide)),
    "communities": _ToolCall(tools.CommunitiesArguments, "communities", _given, _fenced(render.grouped)),
    "consolidate": _ToolCall(tools.ConsolidateArguments, "consolidate", _given, _fenced(render.consolidated)),
    "summarize": _ToolCall(tools.SummarizeArguments, "summarize", _given, _fenced(render.summed_up)),
    "resolve": _ToolCall(tools.ResolveArguments, "resolve", _given, _fenced(render.decided)),
    "feedback": _ToolCall(tools.FeedbackArguments, "feedback", _given, _plain(render.judged)),
    "restore": _ToolCall(tools.RestoreArguments, "restore", _given, _plain(render.restored)),
}


def is_long(result: object) -> bool:
    """Return True if rendering it takes milliseconds."""
    match result:
        case RecallResult(results=hits):
            return sum(len(hit.insight.content) for hit in hits) > LONG_TEXT
        case ReviewsResult(reviews=asked):
            return sum(len(each.older.content) + len(each.newer.content) for each in asked) > LONG_TEXT
        case ListResult(insights=insights):
            return sum(len(each.content) for each in insights) > LONG_TEXT
        case list():
            return sum(len(getattr(each, "content", "")) for each in result) > LONG_TEXT
        case _:
            return False


# ---------------------------------------------------------------- requests and errors


def _session_request(request: Request) -> McpRequest:
    """A request of a method that only sessions have. Raises MnemonError(METHOD_NOT_FOUND) in the revision without
    sessions, which removed it (MCP 2026-07-28)."""
    parsed = McpRequest(request.arguments)
    if parsed.era is Era.MODERN:
        raise _no_method(request.method)
    return parsed


def _no_method(name: str) -> MnemonError:
    sentence = f"MCP {MODERN} has no method {short(name)}"
    return MnemonError(METHOD_NOT_FOUND, sentence, hint="call server/discover for the supported versions")


def _unknown(what: str, name: str, known: Mapping[str, object]) -> MnemonError:
    guess = nearest(name, known)
    hint = f'did you mean "{guess}"?' if guess else f"there are {', '.join(known)}"
    return invalid([FieldProblem("name", f"there is no {what} {short(name)}")], hint=hint)


MINUTE_MS: Final = 60_000
"""Time for which a client may cache the list of tools, which goes by the settings."""
