"""`cli.run`: a command line goes in, what the client prints comes out."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import msgspec
import trio

from mnemond.api.admin import check_protocol, is_outdated
from mnemond.api.types_admin import CliRunParams, CliRunResult, GcResult, GcReview
from mnemond.api.types_changes import HistoryResult
from mnemond.api.types_memories import CompactResult, ContextResult, DiffResult, ListResult, RecallResult
from mnemond.cli.grammar import Invocation, Output, failure, output_of, parse, success
from mnemond.cli.parser import Command
from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.wire.dispatch import Call, Deferred, Handler, Invoke

LONG_TEXT = 16_000
"""Characters of memories that are laid out on the event loop: wrapping costs up to .2 µs a character."""


class CliHandler:
    """Runs command lines through the same methods that every other caller uses."""

    def __init__(self, invoke: Invoke) -> None:
        self._invoke = invoke

    def methods(self) -> Mapping[str, Handler]:
        """Each by the name of its method."""
        return {
            "cli.run": self.run,
        }

    def run(self, call: Call, params: CliRunParams) -> object:
        """A CliRunResult, a Deferred of one or a coroutine that returns one. A MnemonError becomes its text."""
        outdated = is_outdated(params.client_version)
        try:
            check_protocol(params.protocol)
            parsed = parse(params)
            if isinstance(parsed, CliRunResult):
                return msgspec.structs.replace(parsed, outdated=outdated)
            result = self._invoke(_method(parsed), msgspec.json.encode(parsed.params), call)
        except MnemonError as error:
            return failure(error, output_of(params), outdated=outdated)
        answer = _Answer(parsed.command, parsed.output, outdated)
        if isinstance(result, Deferred):
            return _Later(result, answer)
        if isinstance(result, Coroutine):
            return answer.wait_for(result)
        return answer.in_thread(result) if _is_long(result) else answer.success(result)


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


def _method(invocation: Invocation) -> str:
    if invocation.method is None:
        name = invocation.command.name
        raise MnemonError(INVALID_PARAMS, f"{name} is carried out by the client", hint=f"Run: mnemonctl {name}")
    return invocation.method


class _Answer(msgspec.Struct, frozen=True):
    """How the outcome of one command line is shown."""

    command: Command
    output: Output
    outdated: bool

    def success(self, result: object) -> CliRunResult:
        """The text or JSON of a result."""
        return success(self.command, result, self.output, outdated=self.outdated)

    def failure(self, error: MnemonError) -> CliRunResult:
        """The text or JSON of an error."""
        return failure(error, self.output, outdated=self.outdated)

    async def wait_for(self, result: Coroutine[Any, Any, object]) -> CliRunResult:
        """The answer, once a coroutine has its result."""
        try:
            value = await result
        except MnemonError as error:
            return self.failure(error)
        return await self.in_thread(value) if _is_long(value) else self.success(value)

    async def in_thread(self, result: object) -> CliRunResult:
        """The text of a long result, laid out where it holds nobody up."""
        return await trio.to_thread.run_sync(self.success, result)


class _Later(Deferred[CliRunResult]):
    """The answer to a line whose result comes later. It is made when asked for, so a defect in it reaches the asker
    and not the one who settles the result."""

    __slots__ = ("_answer", "_source")

    def __init__(self, source: Deferred[object], answer: _Answer) -> None:
        super().__init__()
        self._source = source
        self._answer = answer

    @property
    def settled(self) -> bool:
        return self._source.settled

    def result(self) -> CliRunResult:
        try:
            value = self._source.result()
        except MnemonError as error:
            return self._answer.failure(error)
        return self._answer.success(value)

    def subscribe(self, callback: Callable[[], None]) -> None:
        self._source.subscribe(callback)
