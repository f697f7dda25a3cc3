"""A store whose log of operations is shared with other daemons (docs/decisions/0072).

The local file is a cache of the log: it has its lines up to `Cursor.seq`, and every reader uses it. The writer decides
a batch on the newest state, under the log's turn, and what is committed to the log is written.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from typing import Final, Literal, NamedTuple, Protocol

import msgspec

from mnemond.clock import monotonic_s
from mnemond.errors import BUSY, INVALID_PARAMS, STORAGE, UNAVAILABLE, MnemonError, rejected
from mnemond.model.answers import LogStanding, Visibility
from mnemond.model.changes import ChangeSet
from mnemond.store import meta
from mnemond.store.connection import Connection
from mnemond.store.meta import EmbedderRecord
from mnemond.store.operation_log import FACTS, Operation, StoredRows
from mnemond.store.operations import Write

KEY: Final = "shared"
"""Row of `meta` with the Cursor of a shared store."""

LINES_AT_ONCE: Final = 500
"""Lines that are read at once, and after which a transaction of applied lines ends."""

BYTES_AT_ONCE: Final = 16_000_000
"""The same, of lines that are that long together."""

LOGGED_BYTES: Final = 32_000_000
"""Changes of one transaction that become lines, as they are in SQLite: those of about 4,000 memories. If there are
more, for instance by an import, all rows are replaced, and every daemon loads them anew: applying a line takes as long
as loading ten memories, and what a line is made of is in memory."""

LOADING: Final = "loading"
"""`entry` of a cursor while links are not loaded."""

MEMORIES_A_LINE: Final = 10
"""Memories, with their links, that are loaded in the time in which a line is applied: 0.36 against 3.7 ms of CPU time,
measured with 34 links a memory."""

RECOVERY_S: Final = 8.0
"""Seconds for which a connection that was lost in a commit is tried again, to learn if it was committed. As long as a
promoted server needs, and shorter than a client waits."""

RETRY_S: Final = 2.0
"""Seconds after a failed connection in which writes are refused without another try: one can take seconds, and nothing
else can be written meanwhile."""

TURNS_S: Final = 1.0
"""Seconds after a line of another daemon in which this one takes turns: it writes without, and looks whether it was the
only one as it commits, only while others are silent."""

PAUSE_S: Final = 0.2
"""Seconds between two tries to connect during a recovery."""

JOBS_S: Final = 60.0
"""Seconds for which a daemon may run jobs of a shared store without saying so again. If it ends meanwhile, others wait
as long."""

Backend = Literal["postgresql"]


class Cursor(msgspec.Struct, frozen=True):
    """Where a store's log is, and how much of it the local file has. `dsn_env`: the environment variable with the
    connection string; `store`: its name there; `seq` and `entry` of the last line that was applied."""

    backend: Backend
    dsn_env: str
    store: str
    seq: int = 0
    entry: str = ""


class Head(NamedTuple):
    """The end of a log: number and entry of its last line. `tail`: lines up to this number are not kept.
    `embedder`: that of the vectors."""

    seq: int
    entry: str
    tail: int
    embedder: EmbedderRecord | None


class Line(NamedTuple):
    """A line of a log. `entry`: a random name of the batch that it was written with."""

    seq: int
    entry: str
    text: bytes


class LostConnectionError(Exception):
    """The connection to the log failed; what was under way may have been committed or not."""


class HeadMovedError(Exception):
    """Others have written to the log since its head was read: nothing was written, and it has to be decided again."""


class LogError(MnemonError):
    """The log did not take a write; with the outcome "unknown" it may have."""


class Listener(Protocol):
    """Waits for new lines. `fileno`: readable when there may be news."""

    fileno: int

    def take(self) -> int:
        """Return the greatest number that was announced since the last call, 0 for none. Raises
        LostConnectionError."""
        ...

    def close(self) -> None: ...


class Log(Protocol):
    """The log of one store on a server. One thread at a time; every call may raise LostConnectionError. `visibility`:
    who sees the store, as of the last connect."""

    visibility: Visibility | None

    def connect(self) -> None:
        """Connect, if it is not. Raises MnemonError for a server that cannot be used."""
        ...

    def make(self, embedder: EmbedderRecord | None, visibility: Visibility | None = None) -> Head:
        """Connect, make the store if it is new, with that embedder, seen by a team unless `visibility` says otherwise,
        and return its head. Raises MnemonError, also for a store that is there with another visibility."""
        ...

    def show(self, visibility: Visibility) -> None:
        """Let other roles see the store. Raises MnemonError for a role that may not change that."""
        ...

    def head(self) -> Head: ...

    def take_turn(self) -> Head:
        """Wait until no other daemon writes, and return the head as it is then. Raises MnemonError(BUSY)."""
        ...

    def end_turn(self) -> None:
        """Let others write; without effect after `append`."""
        ...

    def is_open(self) -> bool:
        """Return True if there is a connection of which no end is known, and `append` takes turns by itself."""
        ...

    def append(
        self, head: Head, entry: str, operations: Sequence[Operation], rows: Iterator[Operation] | None,
        embedder: EmbedderRecord | None,
    ) -> None:  # fmt: skip
        """Commit operations behind `head`, and end the turn, or take one for the time of the commit. `rows`, if given,
        replace all that the log has, for operations that cannot be applied by others. Raises HeadMovedError, and
        MnemonError(BUSY) if there was no turn."""
        ...

    def holds(self, seq: int, entry: str) -> bool:
        """Return True if that line is in the log."""
        ...

    def lines(self, after: int, limit: int, size: int) -> list[Line]:
        """Return lines in order, from the first behind `after` on, and not more than `size` bytes of them, or one."""
        ...

    def rows(self) -> tuple[Head, Generator[StoredRows]]:
        """Return every row, in parts, each row behind those that it refers to, and the head that they belong to. A part
        of the kind LINKS comes before edges, which come last."""
        ...

    def lease_jobs(self, owner: str, lease_s: float) -> bool:
        """Let a daemon run the jobs of this store for some seconds, from now; False while another one may. Raises
        MnemonError."""
        ...

    def release_jobs(self, owner: str) -> None:
        """Let others run them."""
        ...

    def listener(self) -> Listener:
        """Return a listener with a connection of its own; callable from any thread."""
        ...

    def close(self) -> None: ...


class SharedLog:
    """What an engine needs of a shared log: turns, missing lines, and commits that survive a cut connection.

    For the writer's thread, except `standing`, `note_news`, `note_failure` and `listener`.
    """

    def __init__(self, cursor: Cursor, open_log: Callable[[], Log], new_entry: Callable[[], str]) -> None:
        """`open_log` returns the log without connecting, or raises MnemonError; `new_entry` a random name."""
        self.cursor = cursor
        self._open_log = open_log
        self._opened: Log | None = None
        self._new_entry = new_entry
        self._owner = new_entry()
        """A random name of this daemon, for its jobs."""
        self._noted: Cursor | None = None
        self._head: Head | None = None
        self._last: Head | None = None
        """The head behind the last append."""
        self._has_turn = False
        self._turns_until_s = float("-inf")
        self._lock = threading.Lock()
        self._known = cursor.seq
        self._writing = 0
        self._since_s: float | None = None
        self._retry_at_s = float("-inf")
        self._error: str | None = "not connected yet"
        self.lost_lines: str | None = None
        """A warning: the server does not have lines that were acknowledged."""

    # ------------------------------------------------------------ what is known of the log

    def note_news(self, seq: int) -> bool:
        """A line of this number exists. Returns True if it is not applied here."""
        with self._lock:
            self._known = max(self._known, seq)
            behind = self._known > max(self.cursor.seq, self._writing)  # one's own may be heard of before its end
            if not behind:
                self._since_s = None
            elif self._since_s is None:
                self._since_s = monotonic_s()
        return behind

    def note_failure(self, error: Exception) -> None:
        """There is no connection to the log."""
        if isinstance(error.__cause__, LostConnectionError):
            return  # the error of a request, of which the cause was noted
        with self._lock:
            if self._error is None or self._since_s is None:
                self._since_s = monotonic_s()
            self._error = error.message if isinstance(error, MnemonError) else str(error)

    @property
    def visibility(self) -> Visibility | None:
        """The roles that see the store, as of the last connect."""
        return None if self._opened is None else self._opened.visibility

    @property
    def standing(self) -> LogStanding:
        with self._lock:
            since = 0.0 if self._since_s is None else monotonic_s() - self._since_s
            behind = max(0, self._known - self.cursor.seq)
            return LogStanding(
                self.cursor.backend, self.cursor.store, self.cursor.seq, behind, round(since, 3), self._error is None,
                self._error, self.visibility,
            )  # fmt: skip

    @property
    def degraded_reason(self) -> str | None:
        """Why answers may not show what others wrote, or None."""
        if self.cursor.entry == LOADING:
            return "the links between memories are still being loaded from the shared log: answers do without them"
        now = self.standing
        if not now.connected:
            behind = f", {now.behind:,} known operations behind" if now.behind else ""
            return (
                f"the shared log cannot be reached ({now.error}): answers are as of operation {now.seq:,}{behind};"
                " writes are refused"
            )
        return self.lost_lines

    @property
    def _log(self) -> Log:
        if self._opened is None:
            self._opened = self._open_log()
        return self._opened

    def listener(self) -> Listener:
        """Return a listener; callable from any thread. Raises LostConnectionError, MnemonError."""
        return self._open_log().listener()

    # ------------------------------------------------------------ for the engine

    def take_turn(self) -> Head:
        """Connect if need be, wait for the turn, and return the head. Raises MnemonError if that is not possible: the
        write is refused then."""
        if monotonic_s() < self._retry_at_s:
            raise self._refusal()
        self._noted = None
        self._head = self._reaching(lambda log: log.take_turn())
        self._has_turn = True
        return self._head

    def goes_without_turn(self) -> bool:
        """Return True if the next append may do without a turn: this daemon wrote last, as far as is known, and
        `append` finds out if it did not. It has the head then. Without it a write waits for an answer less."""
        last, here = self._last, self.cursor
        if last is None or self._error is not None or monotonic_s() < self._turns_until_s:
            return False
        if last[:2] != (here.seq, here.entry) or self._known > here.seq or not self._log.is_open():
            return False
        self._noted, self._head, self._has_turn = None, last, False
        return True

    def end_turn(self) -> None:
        """End the turn if it was not ended by an append."""
        held, self._has_turn = self._has_turn and self._head is not None, False
        self._head = None
        if held:
            try:
                self._log.end_turn()
            except (LostConnectionError, MnemonError) as error:
                self.note_failure(error)

    def look(self) -> Head:
        """Return the head, without a turn. Raises MnemonError."""
        return self._reaching(lambda log: log.head())

    def _reaching(self, ask: Callable[[Log], Head]) -> Head:
        """Connect if need be and read the head. A connection may have ended while it was idle, so it is tried twice."""
        try:
            try:
                self._log.connect()
                head = ask(self._log)
            except LostConnectionError:
                self._log.connect()
                head = ask(self._log)
        except LostConnectionError as error:
            self._retry_at_s = monotonic_s() + RETRY_S
            raise self.failed(error) from error
        except MnemonError as error:
            if error.kind is BUSY:  # it answered
                self._error = None
            else:
                self.note_failure(error)
            raise
        self._reached(head)
        return head

    def missing(self, after: int) -> list[Line]:
        """Return the next lines behind one. Raises MnemonError."""
        try:
            self._moved()
            return self._log.lines(after, LINES_AT_ONCE, BYTES_AT_ONCE)
        except LostConnectionError as error:
            raise self.failed(error) from error

    def must_reload(self, head: Head, memories: int) -> bool:
        """Return True if the rows have to be loaded anew: lines that are missing here are not kept any more, or are so
        many that loading a store of so many memories is faster, or the log does not have the last line that was
        applied. Raises MnemonError."""
        here = self.cursor
        if (
            here.entry == LOADING
            or here.seq < head.tail
            or head.seq - here.seq > LINES_AT_ONCE + memories / MEMORIES_A_LINE
        ):
            return True
        if here.seq == 0 or (here.seq, here.entry) == (head.seq, head.entry):
            return False
        try:
            gone = here.seq > head.seq or (here.seq > head.tail and not self._log.holds(here.seq, here.entry))
        except LostConnectionError as error:
            raise self.failed(error) from error
        if gone:
            self.lost_lines = (
                f"the shared log does not have operation {here.seq:,}, which it had acknowledged: everything was loaded"
                f" from it again, as of operation {head.seq:,}"
            )
        return gone

    def rows(self) -> tuple[Head, Generator[StoredRows]]:
        """Return every row, and the head that they belong to. Raises LostConnectionError, and so does the iterator."""
        self._log.connect()
        return self._log.rows()

    def append(
        self,
        connection: Connection,
        operations: Sequence[Operation],
        embedder: EmbedderRecord | None,
        rows: Callable[[], Iterator[Operation]] | None = None,
    ) -> None:
        """Commit what a local transaction did, before that is committed. `rows`: see `Log.append`.

        Raises HeadMovedError: roll back and decide again. Raises LogError: roll back; it was refused, or it is unknown
        whether it was written.
        """
        head = self._head
        if not operations:
            if head is not None:  # not of a write that is local
                self._expect(head)
            return
        assert head is not None, "a turn was taken, or not needed"  # noqa: S101
        entry = self._new_entry()
        self.note(connection, head.seq + len(operations), entry)
        self._writing = head.seq + len(operations)
        try:
            self._append(head, entry, operations, embedder, rows)
        except MnemonError as error:
            self._noted, self._writing = None, 0
            raise LogError(error.kind, error.message, hint=error.hint, outcome=error.outcome) from error
        except HeadMovedError:
            self._noted, self._writing = None, 0
            self._moved()
            raise

    def _expect(self, head: Head) -> None:
        """Raise HeadMovedError if there was no turn, and others wrote: what was decided counts only on the newest
        state, also if it was to write nothing."""
        if self._has_turn:
            return
        try:
            found = self.look()
        except MnemonError as error:
            raise LogError(error.kind, error.message, hint=error.hint, outcome=error.outcome) from error
        if found[:2] != head[:2]:
            self._moved()
            raise HeadMovedError

    def _moved(self) -> None:
        """Others write: take turns for a time."""
        self._turns_until_s = monotonic_s() + TURNS_S

    def _append(
        self,
        head: Head,
        entry: str,
        operations: Sequence[Operation],
        embedder: EmbedderRecord | None,
        rows: Callable[[], Iterator[Operation]] | None,
    ) -> None:
        deadline_s = monotonic_s() + RECOVERY_S
        while True:
            try:
                self._log.append(head, entry, operations, None if rows is None else rows(), embedder)
            except LostConnectionError as error:
                self.note_failure(error)
                found, is_written = self._recovered(deadline_s, error, (head.seq + 1, entry))
            else:
                self._head, self._has_turn = None, False
                seq = head.seq + len(operations)
                self._last = Head(seq, entry, head.tail, embedder)
                return
            # The turn was taken again, so the transaction that was cut has ended.
            if is_written:
                self.end_turn()
                return
            if found[:2] != head[:2]:
                if found.tail > head.seq:
                    raise _unknown("its lines are not kept any more")
                raise HeadMovedError
            head = found

    def _recovered(self, deadline_s: float, first: Exception, line: tuple[int, str]) -> tuple[Head, bool]:
        """Connect again, take the turn, and look for a line. Raises MnemonError after the deadline."""
        pause = threading.Event()
        while True:
            try:
                self._log.connect()
                self._head, self._has_turn = self._log.take_turn(), True
                found = self._log.holds(*line)
            except (LostConnectionError, MnemonError) as error:
                self._head = None
                if monotonic_s() >= deadline_s:
                    self._retry_at_s = monotonic_s() + RETRY_S
                    self.note_failure(error)
                    raise _unknown(str(first)) from error
                pause.wait(PAUSE_S)
            else:
                self._reached(self._head)
                return self._head, found

    def show(self, visibility: Visibility) -> None:
        """Let other roles see the store. Raises MnemonError."""
        self.look()  # connects
        try:
            self._log.show(visibility)
        except LostConnectionError as error:
            raise self.failed(error) from error

    def hold_jobs(self) -> bool:
        """Run jobs that write to the log for JOBS_S from now; return False while another daemon does. Raises
        MnemonError."""
        self.look()  # connects
        try:
            return self._log.lease_jobs(self._owner, JOBS_S)
        except LostConnectionError as error:
            raise self.failed(error) from error

    def leave_jobs(self) -> None:
        """Let another daemon run jobs. Without a connection it may once JOBS_S are over."""
        with suppress(LostConnectionError, MnemonError):
            self._log.release_jobs(self._owner)

    def note(self, connection: Connection, seq: int, entry: str) -> None:
        """Note in the caller's transaction how much of the log the rows have."""
        self._noted = msgspec.structs.replace(self.cursor, seq=seq, entry=entry)
        write_cursor(connection, self._noted)

    def note_loading(self, connection: Connection) -> None:
        """Note in the caller's transaction that the rows are not all there: if it stays so, all are loaded anew."""
        self.note(connection, 0, LOADING)

    def note_committed(self) -> None:
        """A local transaction was committed."""
        if self._noted is not None:
            self.cursor, self._noted = self._noted, None
            self.note_news(self.cursor.seq)

    def reread(self, connection: Connection) -> None:
        """The local file was opened again."""
        self._noted = None
        self.cursor = read_cursor(connection) or self.cursor

    def failed(self, error: Exception) -> MnemonError:
        """Note a failed connection; return the error for a request that needs it."""
        self.note_failure(error)
        return self._refusal()

    def _reached(self, head: Head) -> None:
        with self._lock:
            if self._error is not None:
                self._error, self._since_s = None, None
            self._known = head.seq
        self.note_news(head.seq)

    def _refusal(self) -> MnemonError:
        return rejected(
            UNAVAILABLE,
            f"the shared log of this store cannot be reached: {self._error}; nothing was written",
            f"reads go on; look at the server and at the variable {self.cursor.dsn_env} of the daemon, then repeat",
        )

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()


def contended() -> MnemonError:
    """Return the error of a write for which there was no turn."""
    return rejected(BUSY, "other daemons were writing to this shared store; nothing was written", "repeat in a moment")


def seen_otherwise(store: str, visibility: Visibility) -> MnemonError:
    """Return the error for a store that is there already, with another visibility than it should have."""
    return rejected(
        INVALID_PARAMS,
        f'the shared store "{store}" is there already, with visibility {visibility}',
        f"mnemonctl store set {store} --visibility … changes it; without --visibility it is joined as it is",
    )


def _unknown(why: str) -> LogError:
    return LogError(
        STORAGE,
        f"the connection to the shared log failed while committing: {why}",
        hint="repeat with the same op_id: it is stored at most once",
        outcome="unknown",
    )


def read_cursor(connection: Connection) -> Cursor | None:
    """Return where the log of a shared store is; None for a store that is not shared."""
    return meta.read_record(connection, KEY, Cursor)


def write_cursor(connection: Connection, cursor: Cursor) -> None:
    meta.note(connection, [(KEY, msgspec.json.encode(cursor).decode())])


def begin_sharing(connection: Connection, cursor: Cursor) -> None:
    """Make an empty store a shared one, in the caller's transaction. Raises MnemonError for another store."""
    before = read_cursor(connection)
    if before is not None and (before.backend, before.store) == (cursor.backend, cursor.store):
        write_cursor(connection, msgspec.structs.replace(before, dsn_env=cursor.dsn_env))
        return
    if before is not None or connection.row("SELECT 1 FROM insights LIMIT 1") is not None:
        raise rejected(
            INVALID_PARAMS,
            f"there is a {'local' if before is None else 'shared'} store of this name already, which has memories",
            "give it another name; `mnemonctl export` and `mnemonctl import` take its memories along",
        )
    write_cursor(connection, cursor)


def is_local(write: Write) -> bool:
    """Return True for a write that leaves no row of the log: lines about recalls, counts of this daemon. It needs no
    turn, and is possible without a connection."""
    if not isinstance(write, ChangeSet) or write.client_op_id or write.undoes is not None:
        return False
    logged = (write.changes, write.queue, write.trigger_counts, write.reviews, write.knowledge, write.imported)
    return not any(logged) and not any(key in FACTS for key, _ in write.facts)
