"""A recording of a whole workload, and what a store that is opened after a power cut must hold.

Nothing that was acknowledged is lost, nothing is there by half, the file is whole, and what recall sees is what the
rows say: the state of every image must be that of the last acknowledgement or of a commit since, up to the one that
was being written.
"""

from __future__ import annotations

import hashlib
import marshal
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from mnemond.errors import MnemonError
from mnemond.index.writer import MemoryIndex
from mnemond.model.outcomes import RememberResult
from mnemond.store import database
from mnemond.store.connection import Connection, SqliteError, Value
from mnemond.store.engine import Engine
from tests.faults.every_change import Step
from tests.faults.power_cut import Disk, Image
from tests.faults.recording_vfs import NAME, TAPE
from tests.faults.remembering import remembering
from tests.store.factories import open_at, vector_of
from tests.store.mirror import Portrait, portrait

FILE = "a.db"
JUDGED_AGAIN_EVERY = 20
"""Of so many images one is opened although its pages are known."""
USED_EVERY = 10
"""Of so many images that were opened one is written to as well."""
TORN = 3
"""Images of a moment that are torn by chance."""
DIFFERENT = 3
"""About so many images of a moment differ from each other and from those of other moments."""
MAKING_EVERY = 8
"""Of so many moments in which a store is being made one is looked at in a turn: each is made anew, which takes long."""


WITHOUT_REFERENCES = 2
"""Version of marshal's format in which equal values always have equal bytes."""


class Committed(NamedTuple):
    """A transaction is over: this is the state of the database."""

    state: bytes


class Acknowledged(NamedTuple):
    """Somebody was told that this is the state of the database; what recall sees."""

    state: bytes
    seen: Portrait


def state_of(connection: Connection) -> bytes:
    """A digest of every row of every table, and of the schema."""
    schema = connection.rows("SELECT type, name, sql FROM sqlite_schema ORDER BY name")
    tables = [name for kind, name, _ in schema if kind == "table"]
    rows = connection.rows(";".join(f"SELECT '{name}'; SELECT * FROM \"{name}\"" for name in tables))
    whole = marshal.dumps((schema, connection.pragma("user_version"), rows), WITHOUT_REFERENCES)
    return hashlib.blake2b(whole, digest_size=16).digest()


class _Watched(Connection):
    """Notes the state after each transaction."""

    def run(self, sql: str, values: Sequence[Value] = ()) -> int:
        found = super().run(sql, values)
        if not self.in_transaction:
            TAPE.note(Committed(state_of(self)))
        return found


def record(path: Path, steps: Sequence[Step]) -> list[object]:
    """The tape of `steps` on a new store at `path`, closed and opened again half-way."""

    def opened() -> database.Opened:
        return open_at(path, NAME)

    TAPE.take()
    engine = Engine(opened(), opened, _unforeseen)
    TAPE.note(Committed(state_of(engine._healthy())))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database, "Connection", _Watched)
        engine.close()
        engine = Engine(opened(), opened, _unforeseen)
        for number, step in enumerate(steps):
            if number == len(steps) // 2:
                engine.close()
                engine = Engine(opened(), opened, _unforeseen)
            step(engine)
            TAPE.note(Acknowledged(state_of(engine._healthy()), portrait(engine.index.snapshot)))
        engine.close()
    return TAPE.take()


def _unforeseen(where: str, error: BaseException) -> None:
    raise AssertionError(f"{where}: {error!r}")


class Moment(NamedTuple):
    """A place on the tape: what a cut there may leave, and the states that may be found, the oldest first."""

    place: int
    disk: Disk
    states: Sequence[bytes]


def moments(tape: Sequence[object]) -> Iterator[Moment]:
    """One for each operation of the file system."""
    states = [entry.state for entry in tape if isinstance(entry, Committed)]
    disk, committed, told = Disk(), 0, 0
    for place, entry in enumerate(tape):
        if isinstance(entry, Committed):
            committed += 1
        elif isinstance(entry, Acknowledged):
            told = states.index(entry.state, told)
        else:
            disk.follow(entry)  # type: ignore[arg-type]  # everything else on a tape is an operation
            yield Moment(place, disk, states[told : committed + 1])


class Aftermath:
    """Opens images in `home` and judges them."""

    def __init__(self, home: Path, tape: Sequence[object], *, indexes_once: bool) -> None:
        """`indexes_once`: the index of a state that was found before is not built again."""
        self._path = home / FILE
        self._indexes: dict[bytes, MemoryIndex] | None = {} if indexes_once else None
        self._judged: dict[int, bytes] = {}
        self._state: bytes | None = None
        self._seen = _seen(tape)
        self.found: Counter[str] = Counter()

    def judge(self, moment: Moment, image: Image) -> None:
        """AssertionError, naming the place on the tape, for an image that breaks a promise.

        SQLite recovers every image. Where that gives the very pages of an image that was judged, only whether they may
        be found here is asked; all the same, one in some of these is opened as if it were the first.
        """
        self._lay(image)
        self.found["images"] += 1
        pages = None if self._indexes is None else self._pages()
        if pages is not None and pages in self._judged and self.found["images"] % JUDGED_AGAIN_EVERY:
            self._expect(moment, self._judged[pages])
            return
        self.found["opened"] += 1
        try:
            opened = self._open()
        except (MnemonError, SqliteError) as error:
            raise AssertionError(f"cut at {moment.place}: the store cannot be opened: {error!r}") from error
        try:
            state = self._look(moment, opened)
        finally:
            opened.connection.set_pragma("synchronous", 0)  # closing writes to a file that is overwritten at once
            opened.connection.close()
        if pages is not None:
            assert self._judged.setdefault(pages, state) == state, "the same pages hold different things"
        if self.found["opened"] % USED_EVERY == 0:
            self._use()

    def _lay(self, image: Image) -> None:
        for suffix in ("", "-wal", "-journal", "-shm"):
            file = self._path.with_name(FILE + suffix)
            file.unlink(missing_ok=True)  # writing over what is there may wait for the disk
            if (data := image.get(file.name)) is not None:
                file.write_bytes(data)

    def _pages(self) -> int | None:
        """A digest of the database as SQLite reads it after recovery; None for a store that is just being made."""
        try:
            connection = Connection(self._path, read_only=True)
        except SqliteError:
            return None
        try:
            pages = connection._db.serialize("main")
        except SqliteError:
            return None
        finally:
            connection.close()
        return hash(pages) if pages else None

    def _open(self) -> database.Opened:
        if self._indexes is None:
            return open_at(self._path)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(database, "load_index", self._index_of)
            return open_at(self._path)

    def _index_of(self, connection: Connection, *further: object, **options: bool) -> MemoryIndex:
        assert self._indexes is not None
        state = self._state = state_of(connection)
        if state not in self._indexes:
            index = self._indexes[state] = load_index(connection, *further, **options)  # type: ignore[arg-type]  # passed through
            seen = self._seen.get(state)
            assert seen is None or portrait(index.snapshot) == seen, "recall differs from the rows"
        return self._indexes[state]

    def _look(self, moment: Moment, opened: database.Opened) -> bytes:
        """The state that was found."""
        connection, cut = opened.connection, f"cut at {moment.place}"
        whole = connection.rows("PRAGMA integrity_check; PRAGMA foreign_key_check")
        assert whole == [("ok",)], f"{cut}: {whole}"
        state = self._state or state_of(connection)
        self._expect(moment, state)
        seen = self._seen[state]
        if seen is not None and self._indexes is None:
            assert portrait(opened.index.snapshot) == seen, f"{cut}: recall differs from the rows"
        return state

    def _expect(self, moment: Moment, state: bytes) -> None:
        """A cut at this moment may leave this state."""
        if state not in moment.states:
            known = "an earlier state: an acknowledged write is lost" if state in self._seen else "half a transaction"
            raise AssertionError(f"cut at {moment.place}: the file holds {known}")
        self.found["newest" if state == moment.states[-1] else "older"] += 1

    def _use(self) -> None:
        """It can be written to, and what is written is there."""
        opened = open_at(self._path)
        engine = Engine(opened, lambda: open_at(self._path), _unforeseen)
        result = engine.commit([remembering(9999, "Power is back", vector_of(9999))])[0]
        assert isinstance(result, RememberResult), result
        engine.close()
        self.found["used"] += 1


load_index = database.load_index


def _seen(tape: Sequence[object]) -> dict[bytes, Portrait | None]:
    """What recall sees in each state; None where nobody was told of it."""
    found: dict[bytes, Portrait | None] = {}
    for entry in tape:
        if isinstance(entry, Committed):
            found.setdefault(entry.state, None)
        elif isinstance(entry, Acknowledged):
            found[entry.state] = entry.seen
    return found


def survive(home: Path, tape: Sequence[object], images: int, seed: int, *, indexes_once: bool) -> Counter[str]:
    """Judge at least so many different images, spread over all moments of the tape. AssertionError."""
    aftermath = Aftermath(home, tape, indexes_once=indexes_once)
    made = next(place for place, entry in enumerate(tape) if isinstance(entry, Committed))
    chance, known, turn = random.Random(seed), set[int](), 0
    share = images / (DIFFERENT * (len(tape) - made))
    while aftermath.found["images"] < images:
        for moment in moments(tape):
            if moment.place < made and (moment.place + turn) % MAKING_EVERY:
                continue
            for image in moment.disk.images(chance, TORN):
                if chance.random() >= share:
                    continue
                fingerprint = hash((moment.states[0], *sorted(image.items())))
                if fingerprint not in known:
                    known.add(fingerprint)
                    aftermath.judge(moment, image)
        turn += 1
    return aftermath.found
