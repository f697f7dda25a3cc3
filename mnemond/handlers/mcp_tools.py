"""What each tool asks of mnemond's own methods, and how its answer reads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec
import trio
from msgspec import UNSET, UnsetType

from mnemond.errors import MnemonError
from mnemond.handlers import mcp_texts
from mnemond.handlers.afterwards import afterwards
from mnemond.protocol.decode import decode_params
from mnemond.protocol.mcp import arguments
from mnemond.protocol.mcp.result import Json, failed, said
from mnemond.protocol.memories import RecallResult
from mnemond.protocol.types import Params
from mnemond.server.call import Call
from mnemond.server.dispatch import Invoke
from mnemond.text.project_name import named_project

CHANNEL: Final = "mcp"

LONG_TEXT: Final = 4_000
"""Characters of memories of which a text is made on the event loop: making them inert takes up to .9 µs each."""

THREADS: Final = 2
"""Long texts in the making at once. More of them only fight the event loop for the interpreter."""


class _Use(NamedTuple):
    """A tool: what it takes, the method it asks, what that takes, and the text made of its result."""

    arguments: type[Params]
    method: str
    asked: Callable[[Any], dict[str, object]]
    told: Callable[[Any, str], Json]


def _text(render: Callable[..., str], *, fenced: bool = True) -> Callable[[Any, str], Json]:
    """A result as text; `fenced` where memories stand in it."""
    return lambda result, nonce: said(render(result, nonce) if fenced else render(result))


def _recall(given: arguments.RecallArguments) -> dict[str, object]:
    asked = _plain(given)
    if (name := _project(asked)) and name.casefold() not in given.query.casefold():
        asked["query"] = f"{given.query} {name}"
    return asked


def _remember(given: arguments.RememberArguments) -> dict[str, object]:
    asked = {"source": "agent", "channel": CHANNEL, **_plain(given)}
    if name := _project(asked):
        tags = () if isinstance(given.tags, UnsetType) else given.tags
        asked["tags"] = [*tags, name] if name not in tags else list(tags)
    return asked


def _link(given: arguments.LinkArguments) -> dict[str, object]:
    return {"created_by": "host", **_plain(given)}


def _plain(given: Params) -> dict[str, object]:
    fields = msgspec.structs.asdict(given)
    return {name: value for name, value in fields.items() if value is not UNSET}


def _project(asked: dict[str, object]) -> str:
    project = asked.pop("project", "")
    return named_project(project) if isinstance(project, str) else ""


def _status(result: Any, _: str) -> Json:  # noqa: ANN401
    """Structured as well, and the same as text for hosts that do not look at that."""
    view = mcp_texts.status_view(result)
    return {**said(msgspec.json.encode(view).decode()), "structuredContent": view}


USES: Final = {
    "recall": _Use(arguments.RecallArguments, "recall", _recall, _text(mcp_texts.recalled)),
    "remember": _Use(arguments.RememberArguments, "remember", _remember, _text(mcp_texts.remembered)),
    "related": _Use(arguments.RelatedArguments, "related", _plain, _text(mcp_texts.related)),
    "link": _Use(arguments.LinkArguments, "link", _link, _text(mcp_texts.linked, fenced=False)),
    "forget": _Use(arguments.ForgetArguments, "forget", _plain, _text(mcp_texts.forgotten, fenced=False)),
    "update": _Use(arguments.UpdateArguments, "update", _plain, _text(mcp_texts.updated, fenced=False)),
    "status": _Use(arguments.StatusArguments, "status", _plain, _status),
}


class McpTools:
    """tools/call."""

    def __init__(self, invoke: Invoke, nonce: Callable[[], str]) -> None:
        """`nonce` draws what no memory can know."""
        self._invoke = invoke
        self._nonce = nonce
        self._threads = trio.CapacityLimiter(THREADS)

    async def aside(self, render: Callable[[], str]) -> str:
        """A long text, made where it holds nobody up."""
        return await trio.to_thread.run_sync(render, limiter=self._threads)

    def use(self, name: str, given: bytes, call: Call, shaped: Callable[[Json], object]) -> object:
        """What a tool returns to the arguments `given`, an object, `shaped` for its era: now, as a Deferred or as a
        coroutine.

        What is refused is a result too, by the tool's schema (SEP-1303) as by mnemond: hosts show a model no error of
        the protocol.
        """
        use = USES[name]
        try:
            params = msgspec.json.encode(use.asked(decode_params(use.arguments, given)))
        except MnemonError as error:
            return shaped(_refusal(error))

        def done(result: object) -> object:
            if is_long(result):
                return self._told_aside(use, result, shaped)
            return shaped(use.told(result, self._nonce()))

        return afterwards(partial(self._invoke, use.method, params, call), done, lambda error: shaped(_refusal(error)))

    async def _told_aside(self, use: _Use, result: object, shaped: Callable[[Json], object]) -> object:
        return shaped(await trio.to_thread.run_sync(use.told, result, self._nonce(), limiter=self._threads))


def is_long(result: object) -> bool:
    """Whether making a text of it takes milliseconds."""
    match result:
        case RecallResult(results=hits):
            return sum(len(hit.insight.content) for hit in hits) > LONG_TEXT
        case list():
            return sum(len(getattr(each, "content", "")) for each in result) > LONG_TEXT
        case _:
            return False


def _refusal(error: MnemonError) -> Json:
    return failed(mcp_texts.refused(error))
