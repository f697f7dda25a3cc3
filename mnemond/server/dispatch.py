"""From a request to its reply: finds the handler, decodes, encodes, and lets no surprise through."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from types import CoroutineType, TracebackType
from typing import Any, Self, TypeAlias

import msgspec

from mnemond import errors
from mnemond.errors import FieldProblem, MnemonError, Outcome, invalid
from mnemond.protocol.decode import decode_params, explain
from mnemond.protocol.envelope import NO_ID, Request, encode_error, encode_result
from mnemond.protocol.registry import Access, Method
from mnemond.protocol.types import Params
from mnemond.protocol.wording import nearest, short
from mnemond.server.call import Awaited, Call
from mnemond.server.deferred import Deferred

Handler: TypeAlias = Callable[[Call, Any], object]
"""Returns the result, a Deferred of it, or a coroutine that returns it; raises MnemonError."""

Foreigner: TypeAlias = Callable[[Call, Request], object]
"""Answers a method of another protocol, which reads its parameters itself: as a Handler, or with a Verbatim."""

Invoke: TypeAlias = Callable[[str, bytes, Call], object]
"""Runs a method with its parameters as JSON: returns the result, a Deferred of it or a coroutine that returns it."""

OnDefect: TypeAlias = Callable[[str, BaseException], None]
"""Told the method's name and what escaped; must not raise."""

Problems: TypeAlias = Callable[[dict[str, object]], list[FieldProblem]]
"""What else is wrong with the fields that have the right type."""

Spawn: TypeAlias = Callable[[Callable[[], Coroutine[Any, Any, None]]], None]
"""Runs an async function in a task that outlives the caller."""

Reply: TypeAlias = bytes | None
"""One line without its newline; None for a notification, which is never answered."""

_CONNECTION = "(connection)"
_LATER = (CoroutineType, Deferred)


class Verbatim(msgspec.Struct, frozen=True):
    """A line that is sent as it is: a message that is no reply."""

    line: bytes


class Dispatcher:
    """The methods of the daemon and the functions that serve them; the two must match exactly."""

    def __init__(
        self,
        methods: Mapping[str, Method],
        handlers: Mapping[str, Handler],
        *,
        problems: Mapping[str, Problems] | None = None,
        foreigners: Mapping[str, Foreigner] | None = None,
        on_defect: OnDefect,
    ) -> None:
        """`foreigners` answer methods of other protocols. Where one is called like a method of ours, it is meant by who
        has shaken hands as in that protocol.

        Raises ValueError naming every method without handler and every handler without method.
        """
        self._foreigners = foreigners or {}
        self._methods = methods
        self._handlers = handlers
        self._problems = problems or {}
        self._on_defect = on_defect
        self.defects = 0
        astray = (methods.keys() ^ handlers.keys()) | (self._problems.keys() - methods.keys())
        if astray:
            raise ValueError(f"methods and handlers differ in: {', '.join(sorted(astray))}")

    def invoke(self, name: str, params: Params | msgspec.Raw | bytes | None, call: Call) -> object:
        """What the handler returns. `params` is the Struct, or JSON still to be decoded.

        Raises MnemonError for an unknown method, bad parameters and whatever the handler refuses.
        """
        method = self._methods.get(name)
        if method is None:
            raise self._unknown(name)
        if not isinstance(params, Params):
            params = self._decode(method, params)
        return self._handlers[name](call, params)

    def answer(self, request: Request, call: Call, spawn: Spawn) -> Reply | Deferred[Reply]:
        """The reply, now or later. Never raises an Exception."""
        with Boundary(self, request) as boundary:
            method = request.method
            if (method in self._methods and not call.spoken.mcp) or method not in self._foreigners:
                result = self.invoke(method, request.arguments, call)
            else:
                result = self._foreigners[method](call, request)
                if isinstance(result, Verbatim):
                    return None if request.notification else result.line
                if isinstance(result, _LATER):
                    return self._unless_withdrawn(request, call, self._eventually(request, result, spawn))
            if isinstance(result, _LATER):
                return self._eventually(request, result, spawn)
            if not request.notification:
                return encode_result(request.id, result)
        return boundary.reply

    def _eventually(
        self, request: Request, result: Coroutine[Any, Any, object] | Deferred[object], spawn: Spawn
    ) -> Deferred[Reply]:
        return self._later(request, result) if isinstance(result, Deferred) else self._spawned(request, result, spawn)

    def _unless_withdrawn(self, request: Request, call: Call, reply: Deferred[Reply]) -> Deferred[Reply]:
        """The same reply, but none to a request that is withdrawn meanwhile."""
        if request.notification:
            return reply
        number, awaited, unanswered = bytes(request.id), Awaited(), call.spoken.unanswered
        unanswered[number] = awaited

        def forget() -> None:
            if unanswered.get(number) is awaited:  # a client may give a number twice
                del unanswered[number]

        reply.subscribe(forget)
        return reply.map(lambda line: None if awaited.withdrawn else line)

    def _spawned(self, request: Request, coroutine: Coroutine[Any, Any, object], spawn: Spawn) -> Deferred[Reply]:
        reply: Deferred[Reply] = Deferred()

        async def run() -> None:
            with Boundary(self, request) as boundary:
                result = await coroutine
                boundary.reply = None if request.notification else encode_result(request.id, result)
            reply.resolve(boundary.reply)

        spawn(run)
        return reply

    def _later(self, request: Request, result: Deferred[object]) -> Deferred[Reply]:
        reply: Deferred[Reply] = Deferred()

        def settle() -> None:
            with Boundary(self, request) as boundary:
                value = result.result()
                boundary.reply = None if request.notification else encode_result(request.id, value)
            reply.resolve(boundary.reply)

        result.subscribe(settle)
        return reply

    def _decode(self, method: Method, raw: msgspec.Raw | bytes | None) -> Params:
        try:
            return decode_params(method.params, raw, method.positional)
        except MnemonError as error:
            more = self._problems.get(method.name)
            if more is None or error.kind is not errors.INVALID_PARAMS:
                raise
            good, problems = explain(method.params, raw, method.positional)
            raise invalid(problems + more(good), hint=error.hint) from None

    def _unknown(self, name: str) -> MnemonError:
        guess = nearest(name, self._methods)
        hint = f'did you mean "{guess}"?' if guess else f"methods are: {', '.join(self._methods)}"
        return MnemonError(errors.METHOD_NOT_FOUND, f"there is no method {short(name)}", hint=hint)

    def note(self, name: str, begun_s: float) -> None:
        """Something that is no method of its own has its reply, and began then (`monotonic_s`). Nobody counts here."""

    def boundary(self) -> Boundary:
        """A place where defects outside any request end: its `reply` is set when one did."""
        return Boundary(self, None)

    def refused(self, request: Request, error: MnemonError) -> Reply:
        """The reply to a request that failed for a reason the caller should know."""
        return None if request.notification else encode_error(request.id, error)

    def dropped(self, request: Request, sentence: str) -> Reply:
        """The reply to a request that was carried out but whose result cannot be sent."""
        error = MnemonError(errors.TOO_LARGE, sentence, hint="ask for less at once", outcome=self._outcome(request))
        return self.refused(request, error)

    def _outcome(self, request: Request) -> Outcome | None:
        """What the caller knows of a request whose result is lost."""
        reading = self._methods[request.method].access is Access.READ if request.method in self._methods else True
        return None if reading else "unknown"

    def defect(self, request: Request | None, error: BaseException) -> Reply:
        """The reply to a request that met a defect: logged in full, told without details."""
        self.defects += 1
        self._on_defect(_CONNECTION if request is None else request.method, error)
        if request is None:
            return encode_error(NO_ID, MnemonError(errors.INTERNAL, "the connection met a defect in mnemond"))
        sentence = f"{short(request.method)} met a defect in mnemond: {type(error).__name__}"
        hint = "the daemon's log has the traceback; please report it"
        return self.refused(request, MnemonError(errors.INTERNAL, sentence, hint=hint, outcome=self._outcome(request)))


class Boundary:
    """Where every surprise of a request ends: what leaves the block as an exception becomes `reply`.

    A context manager, so that replies made at once, in a task and after a Deferred share this one place. Cancellation
    and the end of the process are no Exceptions and pass through.
    """

    __slots__ = ("_dispatcher", "_request", "reply")

    def __init__(self, dispatcher: Dispatcher, request: Request | None) -> None:
        self._dispatcher = dispatcher
        self._request = request
        self.reply: Reply = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, MnemonError) and self._request is not None:
            self.reply = self._dispatcher.refused(self._request, error)
        elif isinstance(error, Exception):
            self.reply = self._dispatcher.defect(self._request, error)
        else:
            return False
        return True
