"""Common parts of handlers: write contexts, submission of writes, lookup of a memory by id, and scopes."""

from __future__ import annotations

import hashlib
import sys
from contextlib import suppress
from datetime import date, timedelta
from pathlib import Path
from typing import Final, Protocol

import msgspec
import trio

from mnemond.api.store_access import OpenStore, R
from mnemond.clock import Clock, monotonic_s
from mnemond.config.hosts import Host, described
from mnemond.errors import AMBIGUOUS, NOT_FOUND, UNAVAILABLE, FieldProblem, MnemonError, invalid, rejected
from mnemond.ids import Ids, nonce
from mnemond.index.snapshot import Snapshot
from mnemond.memory.cues import lacks_vector
from mnemond.memory.draft import op_id_problems
from mnemond.memory.write import WriteContext
from mnemond.model.memory import Insight, Scope, parse_rfc3339
from mnemond.model.outcomes import Outcome
from mnemond.model.query import Span
from mnemond.store.operations import Proposal, Write
from mnemond.store.store import Store
from mnemond.text.dates import only_date
from mnemond.wire.deferred import Deferred
from mnemond.wire.dispatch import Call
from mnemond.wire.params import Params, plural

_json = msgspec.json.Encoder(order="deterministic")

USER: Final = "user"
"""`triggered_by` of a write without a conversation."""

OTHERS: Final = ("host:", "system:")
"""Prefixes of `triggered_by` for tools, and for jobs of the daemon."""


# Decisions that are a person's.


AI_AGENT: Final = "AI_AGENT"
"""Variable that some agents set for the commands they run, besides those of `mnemond/hosts`."""

_TERMINALS: Final = ("/dev/pts/", "/dev/tty", "/dev/console")


PROCESSES = Path("/proc")
"""The directory in which Linux tells of processes."""


def is_person(call: Call) -> bool:
    """Return True for a command line at a terminal, by what the client says and, where the system tells it, what its
    process has: output to a terminal, and no variable of an agent that runs it.

    A program of the same user could open a terminal of its own; against that this is no boundary.
    """
    if not call.at_terminal or not sys.platform.startswith("linux"):
        return call.at_terminal
    process = PROCESSES / str(call.peer_pid)
    try:
        output = (process / "fd" / "1").readlink()
        variables = (process / "environ").read_bytes().split(b"\0")
    except OSError:
        return False
    of_agents = (AI_AGENT, *(name for host in Host for name in described(host).variables))
    marks = tuple(f"{name}=".encode() for name in of_agents)
    return str(output).startswith(_TERMINALS) and not any(each.startswith(marks) for each in variables)


def from_client(call: Call, *, tty: bool) -> Call:
    """Return the call of a client that sends its requests itself, with what it says of its output."""
    return msgspec.structs.replace(call, at_terminal=True) if tty else call


def only_by_person(call: Call, field: str, run: str = "mnemonctl rules enforce ID deny") -> None:
    """Raise MnemonError(INVALID_PARAMS) unless a person at a terminal asks for it: tools, extraction and commands that
    an agent runs have none. `run`: the command for the user."""
    if not is_person(call):
        raise invalid(
            [FieldProblem(field, f"{field} is taken from a person at a terminal only; nothing was written")],
            hint=f"ask the user to run it: {run}",
        )


class Identities:
    """Creates the ids and times of writes."""

    def __init__(self, clock: Clock, ids: Ids) -> None:
        self._clock = clock
        self._ids = ids

    def nonce(self) -> str:
        """Return sixteen unguessable hexadecimal digits."""
        return nonce(self._ids)

    def of(
        self, warm: OpenStore, params: Params, triggered_by: str | None = None, call: Call | None = None
    ) -> WriteContext:
        """Return the context of a client's write, with the `op_id` of `params` if given. `triggered_by` defaults to the
        conversation of `params`. Only a write whose `call` is given, and is a person's, may change what is enforced.

        Raises MnemonError(INVALID_PARAMS) for an invalid `op_id`.
        """
        op_id: str | None = getattr(params, "op_id", None)
        if op_id is not None and (problems := op_id_problems(op_id)):
            raise invalid(problems, hint="nothing was written")
        return WriteContext(
            id=self._ids.new(),
            op_id=op_id or self._ids.new(),
            client_op_id=op_id is not None,
            now_us=self._clock.now_us(),
            store=warm.store.name,
            request_digest=digest(params),
            triggered_by=triggered_by or _conversation(params) or USER,
            by_person=call is not None and is_person(call),
        )

    def now_us(self) -> int:
        """Return the current time in microseconds."""
        return self._clock.now_us()

    def own(self, store: str, triggered_by: str) -> WriteContext:
        """Return the context of a write by the daemon itself, which has no repeats."""
        op_id, now_us = self._ids.new(), self._clock.now_us()
        return WriteContext(
            id=self._ids.new(), op_id=op_id, client_op_id=False, now_us=now_us, store=store, request_digest="",
            triggered_by=triggered_by,
        )  # fmt: skip


def _conversation(params: Params) -> str | None:
    """Return the conversation of a request for the history, or None. An id that looks like another cause gets a prefix,
    so that it cannot impersonate a job."""
    named: object = getattr(params, "conversation_id", None)
    if not isinstance(named, str):
        return None
    return f"conversation:{named}" if named == USER or named.startswith(OTHERS) else named


def digest(params: Params) -> str:
    """Hash the parameters except op_id and store, to distinguish a repeat from another request. Empty without an
    op_id, as such a request cannot be repeated."""
    if getattr(params, "op_id", None) is None:
        return ""
    request = msgspec.structs.replace(params, op_id=None, store=None)
    return hashlib.blake2b(_json.encode(request), digest_size=16).hexdigest()


def submit(warm: OpenStore, write: Write) -> Deferred[Outcome]:
    """Queue a write; the result resolves once it is committed and the index has it.

    Its vectors must be those of `warm.embedder`. Raises MnemonError(BUSY) if the queue is full.
    """
    deferred: Deferred[Outcome] = Deferred()

    def done(result: Outcome | MnemonError) -> None:
        if isinstance(result, MnemonError):
            result.degraded_reason = warm.degraded_reason
            deferred.fail(result)
            return
        if getattr(result, "status", None) == "purged" and warm.on_purged is not None:
            warm.on_purged()  # even if the client has left
        deferred.resolve(result)
        if warm.on_missing_vector is not None and _is_unembedded(result, warm.store):
            warm.on_missing_vector(warm.store.name)

    if warm.embedder is not None and isinstance(write, Proposal):
        write = write._replace(made_by=warm.embedder.fingerprint)
    warm.store.submit(write, done)
    return deferred


def _is_unembedded(result: Outcome, store: Store) -> bool:
    """Return True if the memory of a result has no vector, or none with its cues; or if a purge changed passages."""
    snapshot = store.snapshot
    if getattr(result, "status", None) == "purged" and store.passages.without_vector():
        return True
    if not getattr(result, "embedded", True) and snapshot.embedded < snapshot.live:
        return True
    insight_id = getattr(result, "id", None)
    return isinstance(insight_id, str) and lacks_vector(snapshot, insight_id)


async def submitted(warm: OpenStore, write: Write, kind: type[R]) -> R:
    """Queue a write and return its outcome, a `kind`, once it is committed."""
    outcome = await submit(warm, write)
    assert isinstance(outcome, kind), "a method has outcomes of one kind"  # noqa: S101
    return warm.marked(outcome)


# Long requests.

EVERY_S: Final = 0.2
"""Seconds between two notifications of progress: a request that takes less has none."""


class Progress:
    """Tells a client how far its request is. For any thread; made in the event loop's."""

    def __init__(self, call: Call, total: int, *, shown: bool) -> None:
        """`shown`: the client wants notifications."""
        self._call = call
        self._total = total
        self._shown = shown
        self._loop = trio.lowlevel.current_trio_token()
        self._next = monotonic_s() + EVERY_S

    def note(self, done: int) -> None:
        """Note that so much of the total is done. Raises MnemonError once no client waits for the rest."""
        if monotonic_s() < self._next:
            return
        self._next = monotonic_s() + EVERY_S
        if self._call.gone():
            raise rejected(UNAVAILABLE, "the client has ended")
        if self._shown:
            message = {
                "jsonrpc": "2.0", "method": "progress",
                "params": {"done": min(done, self._total), "total": self._total},
            }  # fmt: skip
            with suppress(trio.RunFinishedError):
                self._loop.run_sync_soon(self._call.notify, msgspec.json.encode(message))


# Reading what was written on another daemon.

SEEN_WITHIN_S: Final = 5.0
"""Seconds in which a daemon has to have an operation that a reading requires: half of what a client waits."""


async def until_seen(warm: OpenStore, seq: int) -> None:
    """Wait until a shared store shows an operation of the log.

    Raises MnemonError: INVALID_PARAMS for a store that is not shared, UNAVAILABLE if it does not within SEEN_WITHIN_S.
    """
    shared = warm.store.shared
    if shared is None:
        raise invalid([FieldProblem("min_seq", f'min_seq is of shared stores; "{warm.store.name}" is none')])
    failure: MnemonError | None = None
    with trio.move_on_after(SEEN_WITHIN_S):
        if shared.cursor.seq >= seq:
            await warm.store.read(lambda _: None)  # behind the change of the index that belongs to it
            return
        try:
            await warm.store.catch_up()
        except MnemonError as error:
            failure = error
    here = shared.cursor.seq
    if here < seq:
        why = "" if failure is None else f": {failure.message}"
        raise rejected(
            UNAVAILABLE,
            f"this daemon is at operation {here:,} of the shared store, {plural(seq - here, 'operation')} behind"
            f" what was required{why}",
            "repeat in a moment, or leave min_seq out",
        )


# Lookup by id.

SHOWN = 5
"""Matches listed for an ambiguous prefix."""


def one_active(snapshot: Snapshot, id_or_prefix: str) -> Insight:
    """Find an active insight by id or prefix.

    Raises MnemonError(NOT_FOUND), or MnemonError(AMBIGUOUS) with the matches.
    """
    found = snapshot.find(id_or_prefix.casefold())
    row = snapshot.row_of(found[0]) if len(found) == 1 else None
    if row is not None:
        return snapshot.insight(row)
    if not found:
        raise MnemonError(
            NOT_FOUND,
            f"no active memory with id {id_or_prefix[:64]!a}",
            hint="see `mnemonctl list`; `mnemonctl list --retired` shows those out of recall,"
            " `mnemonctl restore ID` brings one back",
            outcome="rejected",
        )
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    raise MnemonError(
        AMBIGUOUS,
        f"{id_or_prefix} is the beginning of {len(found)} ids: {', '.join(found[:SHOWN])}{more}",
        hint="write more of the id",
        outcome="rejected",
    )


# Times.

DAY: Final = "2026-02-18"
"""Form of a day."""


def span_of(
    first: str, last: str, since: str | None, until: str | None, problems: list[FieldProblem], now_us: int
) -> Span | None:
    """Return the span between two parameters, None without both or with `problems`, which are added. Phrases such as
    "last week" are understood from `now_us`: the start of the days they mean, as `until` their end."""
    before = len(problems)
    start, end = moment_of(first, since, problems, now_us), moment_of(last, until, problems, now_us, end=True)
    span = Span(start, end)
    if span == Span() or len(problems) > before:
        return None
    if start is not None and end is not None and start >= end:
        problems.append(FieldProblem(last, f"{last} is not after {first}"))
    return span


def moment_of(
    field: str, value: str | None, problems: list[FieldProblem], now_us: int | None = None, *, end: bool = False
) -> int | None:
    """Convert an RFC 3339 timestamp, or a UTC day YYYY-MM-DD (its start, or with `end` its end), to microseconds. With
    `now_us` a phrase that is a date counts as well. The end of the last representable day is its last microsecond."""
    if value is None:
        return None
    try:
        return parse_rfc3339(_timestamp(value, now_us, end=end))
    except ValueError as error:
        phrases = "" if now_us is None else ', yesterday or "last week"'
        problems.append(FieldProblem(field, f"{field}: {error}, nor a day such as {DAY}{phrases}"))
        return None


def _timestamp(value: str, now_us: int | None, *, end: bool) -> str:
    """Return a day, or a phrase for days, as the timestamp of its start or end; any other value as it is."""
    try:
        day = date.fromisoformat(value) if len(value) == len(DAY) else None
    except ValueError:
        day = None
    if day is None and now_us is not None and (named := only_date(value, now_us)) is not None:
        day = date.fromisoformat(named.end if end else named.start)
    if day is None:
        return value
    if end and day == date.max:
        return f"{day.isoformat()}T23:59:59.999999Z"
    return f"{day + timedelta(days=int(end))}T00:00:00Z"


# Scopes.


class Scoped(Protocol):
    """Parameters that carry the three scope ids."""

    @property
    def user_id(self) -> str | None: ...

    @property
    def session_id(self) -> str | None: ...

    @property
    def agent_id(self) -> str | None: ...


def scope_of(params: Scoped, project: str | None = None) -> Scope:
    """Return the scope of a request."""
    return Scope(params.user_id, params.session_id, params.agent_id, project)
