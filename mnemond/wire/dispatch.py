"""From a request to its reply: find the handler, decode, encode, and keep every error with its request."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Final, Protocol, Self, TypeAlias, TypeVar

import msgspec

from mnemond import errors
from mnemond.clock import monotonic_s
from mnemond.errors import FieldProblem, MnemonError, Outcome, invalid
from mnemond.wire.deferred import Deferred, Spawn, in_task, run_now
from mnemond.wire.jsonrpc import NO_ID, Request, encode_error, encode_result
from mnemond.wire.params import Access, Method, Params, TypedMethod, decode_params, explain, nearest, short


class PendingRequest(msgspec.Struct):
    """A request of another protocol that is not answered yet. `withdrawn`: the client no longer wants its reply."""

    withdrawn: bool = False


class ConnectionState(msgspec.Struct):
    """The state that earlier requests of a connection established. `directory`: where the client works, as its `hello`
    says. `mcp`: the handshake of MCP up to 2025 was made, after which `ping` is the method of that protocol. `pending`:
    unanswered requests of other protocols by their ids, as JSON."""

    directory: str = ""
    mcp: bool = False
    pending: dict[bytes, PendingRequest] = msgspec.field(default_factory=dict)


def never_gone() -> bool:
    """Return False: for a Call without a socket."""
    return False


def not_sent(_line: bytes) -> bool:
    """Return False: for a Call without a socket."""
    return False


class Call(msgspec.Struct, frozen=True):
    """One connection and the process at its other end. `peer_pid` is 0 if the system does not tell it. `gone` returns
    True if no process can read an answer any more. `notify` sends a line, without its line break, that is not a reply;
    it returns False if the client has too much unread. `at_terminal`: a command line with a terminal for its output."""

    connection: int
    peer_pid: int
    peer_uid: int
    state: ConnectionState = msgspec.field(default_factory=ConnectionState)
    gone: Callable[[], bool] = never_gone
    notify: Callable[[bytes], bool] = not_sent
    at_terminal: bool = False


# ---------------------------------------------------------------- handlers

Result: TypeAlias = Coroutine[Any, Any, Any]
"""The coroutine of a handler: awaits nothing but Deferreds, returns the result, raises MnemonError."""

Handler: TypeAlias = Callable[[Call, Any], Result]
"""Serves one method; given its decoded parameters."""

Foreigner: TypeAlias = Callable[[Call, Request], Result]
"""Serves a method of another protocol and decodes its parameters itself. May return a Verbatim."""

Problems: TypeAlias = Callable[[dict[str, object]], list[FieldProblem]]
"""Returns what else is wrong with the fields that have the right type."""

H = TypeVar("H", bound=Callable[..., Result])
R = TypeVar("R")


class Invoke(Protocol):
    """Calls a method of mnemond from within the daemon; see `Dispatcher.invoke`."""

    def __call__(
        self, method: TypedMethod[..., R], params: Params | Mapping[str, object], call: Call, /
    ) -> Coroutine[Any, Any, R]:
        """Return the result. Raises MnemonError."""
        ...


class Verbatim(msgspec.Struct, frozen=True):
    """A line that is sent as it is: a message that is not a reply."""

    line: bytes


class _Served(msgspec.Struct, frozen=True):
    """The wire method that a function serves, and True if it uses trio."""

    method: str
    in_task: bool


def handles(method: str, *, in_task: bool = False) -> Callable[[H], H]:
    """Register a method of a class as the handler of a wire method, for `handlers_of`.

    With `in_task` it runs in a task of its own and may use all of trio; without, it awaits nothing but Deferreds.
    """

    def mark(handler: H) -> H:
        handler.__dict__["serves"] = _Served(method, in_task)
        return handler

    return mark


def handlers_of(*groups: object) -> dict[str, Callable[..., Result]]:
    """Return the bound handlers of these objects by their wire methods. Raises ValueError if two serve one."""
    found: dict[str, Callable[..., Result]] = {}
    for group in groups:
        for name, attribute in vars(type(group)).items():
            served: _Served | None = getattr(attribute, "serves", None)
            if served is None:
                continue
            if served.method in found:
                raise ValueError(f"two handlers serve {served.method}")
            handler = getattr(group, name)
            found[served.method] = _tasked(handler) if served.in_task else handler
    return found


def _tasked(handler: Callable[..., Result]) -> Callable[..., Result]:
    async def run(call: Call, params: object) -> object:
        return await in_task(handler, call, params)

    return run


# ---------------------------------------------------------------- the dispatcher

OnDefect: TypeAlias = Callable[[str, BaseException], None]
"""Logs a defect, given the name of the method and the exception; must not raise."""

Reply: TypeAlias = bytes | None
"""One line without its newline; None for a notification, which is never answered."""

_CONNECTION = "(connection)"

NO_THREAD: Final = "can't start new thread"
"""The message of the RuntimeError by which `threading` and `_thread` tell that (thread_run in _threadmodule.c)."""


class Dispatcher:
    """The methods of the daemon and the functions that serve them; the two must match exactly."""

    def __init__(
        self, methods: Mapping[str, Method], *, on_defect: OnDefect, latencies: Latencies | None = None
    ) -> None:
        """Know the methods; `serve` says who serves them. `latencies` counts how long requests take."""
        self._methods = methods
        self._handlers: Mapping[str, Handler] = {}
        self._problems: Mapping[str, Problems] = {}
        self._foreigners: Mapping[str, Foreigner] = {}
        self._on_defect = on_defect
        self.latencies = latencies or Latencies(methods)
        self._note = self.latencies.note
        self.defects = 0

    def serve(
        self,
        handlers: Mapping[str, Handler],
        *,
        problems: Mapping[str, Problems] | None = None,
        foreigners: Mapping[str, Foreigner] | None = None,
    ) -> Self:
        """Serve every method from now on; return the dispatcher. Handlers may call it and exist after it.

        `foreigners` serve methods of other protocols. A name that is also a method of mnemond is theirs on a connection
        that made the handshake of that protocol. Raises ValueError naming every method without handler and every
        handler without method.
        """
        unmatched = (self._methods.keys() ^ handlers.keys()) | ((problems or {}).keys() - self._methods.keys())
        if unmatched:
            raise ValueError(f"methods and handlers differ in: {', '.join(sorted(unmatched))}")
        self._handlers, self._problems, self._foreigners = handlers, problems or {}, foreigners or {}
        self.latencies.add_methods(self._foreigners)
        return self

    def invoke(
        self, method: TypedMethod[..., R], params: Params | Mapping[str, object], call: Call, /
    ) -> Coroutine[Any, Any, R]:
        """Call a method as a function. `params` is its Struct, made of values of our own, or values by name that came
        from a client, which are checked like those of a request.

        Raises MnemonError for bad parameters; the rest comes from awaiting the result.
        """
        if not isinstance(params, Params):
            try:
                params = msgspec.convert(params, method.params, from_attributes=True)
            except msgspec.ValidationError:
                params = self._decode(method, msgspec.json.encode(params))  # explains every bad field
        return self._handlers[method.name](call, params)

    def answer(self, request: Request, call: Call, spawn: Spawn) -> Reply | Deferred[Reply]:
        """Return the reply, or a Deferred of it if the request has to wait. Never raises an Exception."""
        begun_s = monotonic_s()
        method = request.method
        foreigner = self._foreigners.get(method)
        if foreigner is None or (method in self._methods and not call.state.mcp):
            reply = run_now(self._reply(request, call), spawn)
        else:
            reply = run_now(self._foreign_reply(request, call, foreigner), spawn)
        if isinstance(reply, Deferred):
            reply.subscribe(partial(self._note, method, begun_s))
        else:
            self._note(method, begun_s)
        return reply

    async def _reply(self, request: Request, call: Call, foreigner: Foreigner | None = None) -> Reply:
        try:
            if foreigner is not None:
                result = await foreigner(call, request)
            else:
                params = self._decode(self._method(request.method), request.arguments)
                result = await self._handlers[request.method](call, params)
            return _encoded(request, result)
        except MnemonError as error:
            return self.refused(request, error)
        except Exception as error:
            return self.defect(request, error)

    async def _foreign_reply(self, request: Request, call: Call, foreigner: Foreigner) -> Reply:
        """The reply; None to a request that is withdrawn meanwhile."""
        if request.notification:
            return await self._reply(request, call, foreigner)
        key, pending, all_pending = bytes(request.id), PendingRequest(), call.state.pending
        all_pending[key] = pending
        reply = await self._reply(request, call, foreigner)
        if all_pending.get(key) is pending:  # a client may use an id twice
            del all_pending[key]
        return None if pending.withdrawn else reply

    def _decode(self, method: Method, raw: msgspec.Raw | bytes | None) -> Params:
        try:
            return decode_params(method.params, raw, method.positional)
        except MnemonError as error:
            more = self._problems.get(method.name)
            if more is None or error.kind is not errors.INVALID_PARAMS:
                raise
            good, problems = explain(method.params, raw, method.positional)
            raise invalid(problems + more(good), hint=error.hint) from None

    def _method(self, name: str) -> Method:
        if (method := self._methods.get(name)) is not None:
            return method
        guess = nearest(name, self._methods)
        hint = f'did you mean "{guess}"?' if guess else f"methods are: {', '.join(self._methods)}"
        raise MnemonError(errors.METHOD_NOT_FOUND, f"there is no method {short(name)}", hint=hint)

    def boundary(self) -> Boundary:
        """Return a context manager for work outside of any request, which logs exceptions."""
        return Boundary(self)

    def refused(self, request: Request, error: MnemonError) -> Reply:
        """Return the reply to a request that failed with a MnemonError."""
        return None if request.notification else encode_error(request.id, error)

    def dropped(self, request: Request, sentence: str) -> Reply:
        """Return the reply to a request that was carried out but whose result cannot be sent."""
        error = MnemonError(errors.TOO_LARGE, sentence, hint="ask for less at once", outcome=self._outcome(request))
        return self.refused(request, error)

    def defect(self, request: Request | None, error: BaseException) -> Reply:
        """Log a defect in full and return the reply, which has no details; None for `request` outside of any. That the
        system starts no thread is none."""
        if request is not None and isinstance(error, RuntimeError) and str(error) == NO_THREAD:
            sentence = "the system starts no further thread for the daemon, for lack of memory or by a limit"
            hint = "repeat in a moment; end other programs, or raise the limit (`ulimit -u`, TasksMax of systemd)"
            return self.refused(request, MnemonError(errors.BUSY, sentence, hint=hint, outcome=self._outcome(request)))
        self.defects += 1
        self._on_defect(_CONNECTION if request is None else request.method, error)
        if request is None:
            return encode_error(NO_ID, MnemonError(errors.INTERNAL, "the connection met a defect in mnemond"))
        sentence = f"{short(request.method)} met a defect in mnemond: {type(error).__name__}"
        hint = "the daemon's log has the traceback; please report it"
        return self.refused(request, MnemonError(errors.INTERNAL, sentence, hint=hint, outcome=self._outcome(request)))

    def _outcome(self, request: Request) -> Outcome | None:
        """What is known of a request whose result is lost: a write may have been done."""
        method = self._methods.get(request.method)
        return None if method is None or method.access is Access.READ else "unknown"


def _encoded(request: Request, result: object) -> Reply:
    if request.notification:
        return None
    return result.line if isinstance(result, Verbatim) else encode_result(request.id, result)


class Boundary:
    """A context manager that logs an exception as a defect, and keeps the error `reply` for the connection.

    Cancellation and the end of the process are not Exceptions and pass through.
    """

    __slots__ = ("_dispatcher", "reply")

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self.reply: Reply = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        self.reply = self._dispatcher.defect(None, error)
        return True


# ---------------------------------------------------------------- latencies

BUCKETS: Final = 72
"""The last one holds everything that took 2³⁵·⁵ µs, nine hours, or longer."""

UNKNOWN: Final = "(unknown)"
"""Counts requests for unknown methods: their names come from clients, and would grow without bound."""


def bucket_of(seconds: float) -> int:
    """Return the bucket of a duration: b holds 2^((b-1)/2) to 2^(b/2) µs, 0 less than one."""
    us = int(seconds * 1e6)
    return min((us * us).bit_length(), BUCKETS - 1)


def quantile_ms(counts: Sequence[int], share: float) -> float | None:
    """Return a quantile in milliseconds: the middle of its bucket, which is off by a fifth at most. None if nothing was
    counted."""
    wanted = share * sum(counts)
    seen = 0
    for bucket, count in enumerate(counts):
        seen += count
        if count and seen >= wanted:
            return float(2.0 ** ((bucket - 0.5) / 2) / 1e3) if bucket else 0.0005
    return None


class Latencies:
    """Counts by method and bucket since the daemon started. Noting a request costs a few tenths of a microsecond and no
    memory."""

    def __init__(self, methods: Iterable[str]) -> None:
        """Count these methods, and all others together."""
        self._counts = {method: [0] * BUCKETS for method in (*methods, UNKNOWN)}
        self._unknown = self._counts[UNKNOWN]

    def add_methods(self, methods: Iterable[str]) -> None:
        """Count these by their own names as well."""
        for method in methods:
            self._counts.setdefault(method, [0] * BUCKETS)

    def note(self, method: str, begun_s: float) -> None:
        """Count a request that began then (`monotonic_s`) and has its reply now."""
        us = int((monotonic_s() - begun_s) * 1e6)
        try:
            self._counts.get(method, self._unknown)[(us * us).bit_length()] += 1  # `bucket_of`, without a call
        except IndexError:
            self._counts.get(method, self._unknown)[-1] += 1

    def counts(self) -> Mapping[str, list[int]]:
        """Return a copy of the counts of each method that had a request."""
        return {method: list(counts) for method, counts in self._counts.items() if any(counts)}
