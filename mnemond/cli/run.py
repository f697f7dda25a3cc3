"""`cli.run`: a command line goes in, what the client prints comes out."""

from __future__ import annotations

from functools import partial

import msgspec

from mnemond.api.admin import check_protocol, is_outdated
from mnemond.api.registry import METHODS
from mnemond.api.types_daemon import CliRunParams, CliRunResult
from mnemond.cli import completion, mnemon
from mnemond.cli.grammar import Invocation, failure, output_of, parse, success
from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.model.answers import (
    CompactResult,
    ContextResult,
    DiffResult,
    GcResult,
    GcReview,
    HistoryResult,
    ListResult,
    RecallResult,
)
from mnemond.model.graph import Graph
from mnemond.wire.deferred import in_thread
from mnemond.wire.dispatch import Call, Invoke, handles
from mnemond.wire.params import TypedMethod

LONG_TEXT = 16_000
"""Characters of memories that are laid out on the event loop: wrapping costs up to .2 µs a character."""


class CliHandler:
    """Runs command lines through the same methods that every other caller uses."""

    def __init__(self, invoke: Invoke) -> None:
        self._invoke = invoke

    @handles("cli.run")
    async def run(self, call: Call, params: CliRunParams) -> CliRunResult:
        """Run one command line. A MnemonError becomes its text."""
        if params.argv[:1] == [completion.FLAG]:
            return CliRunResult(0, False, await self._complete(call, params), "")
        seen = msgspec.structs.replace(call, at_terminal=True) if params.tty else call
        outdated = is_outdated(params.client_version)
        try:
            check_protocol(params.protocol)
            if params.program == "mnemon":
                return CliRunResult(0, outdated, await mnemon.run(params, self._invoke, seen), "")
            parsed = parse(params)
            if isinstance(parsed, CliRunResult):
                return msgspec.structs.replace(parsed, outdated=outdated)
        except MnemonError as error:
            return failure(error, output_of(params), outdated=outdated)
        try:
            result = await self._invoke(_method(parsed), parsed.params, seen)
        except MnemonError as error:
            return failure(error, parsed.output, outdated=outdated)
        render = partial(success, parsed.command, result, parsed.output, outdated=outdated)
        return await in_thread(render) if _is_long(result) else render()

    async def _complete(self, call: Call, params: CliRunParams) -> str:
        """Return the candidates for the word under the cursor; without those of a store that cannot be read."""
        shell, *typed = params.argv[1:] or [""]
        words = completion.words_of(shell, typed)
        if words is None:
            return ""
        it = completion.wanted(words)
        source = completion.SOURCES.get(it.kind)
        if source is None:
            return completion.answer(shell, it)
        store = it.store or params.env_store
        request = source.request
        method = METHODS[request.method]
        named = {"store": store} if store and "store" in method.params.__struct_encode_fields__ else {}
        try:
            result = await self._invoke(method, {**request.params, **named}, call)
        except MnemonError:
            return completion.answer(shell, it)
        return completion.answer(shell, it, source.read(result))


def _is_long(result: object) -> bool:
    """Whether laying out a result takes milliseconds."""
    match result:
        case RecallResult(results=hits):
            return sum(len(hit.insight.content) for hit in hits) > LONG_TEXT
        case CompactResult(results=results):
            return sum(len(hit.content) for hit in results) > LONG_TEXT
        case ContextResult(text=text):
            return len(text) > LONG_TEXT
        case ListResult(insights=insights):
            return sum(len(insight.content) for insight in insights) > LONG_TEXT
        case list():
            return sum(len(getattr(each, "content", "")) for each in result) > LONG_TEXT
        case Graph():
            return True
        case DiffResult(matches=matches):
            return sum(len(match.content) for match in matches) > LONG_TEXT
        case GcResult(candidates=found):
            return sum(len(each.content) for each in found) > LONG_TEXT
        case GcReview(review_results=found):
            return sum(len(each.content) for each in found) > LONG_TEXT
        case HistoryResult(operations=operations):
            states = (state for each in operations for state in (each.before_state, each.after_state))
            return sum(len(state.content) for state in states if state is not None) > LONG_TEXT
        case _:
            return False


def _method(invocation: Invocation) -> TypedMethod[..., object]:
    if invocation.method is None:
        name = invocation.command.name
        raise MnemonError(INVALID_PARAMS, f"{name} is carried out by the client", hint=f"Run: mnemonctl {name}")
    return METHODS[invocation.method]
