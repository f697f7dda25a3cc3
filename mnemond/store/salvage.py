"""Copies what can be read of a damaged store into a new one. The damaged file is never written.

Rows of pages with correct checksums are copied. Rows of damaged pages are read as well, without checksum verification:
a memory is kept if its text has the stored hash, other rows if they fit the schema; these are counted as doubtful.
If the pages that name the tables are damaged, the tables are found without them (`first_page`).
Every row is decoded as a reader would: a column that cannot be used gets its default, and its row is named; a row that
cannot be kept goes to `left-out.jsonl` beside the new store; a memory whose row is lost is taken from its history. What
can be made again (metrics, staged vectors, vectors of damaged pages) is left out. The result is verified as
`doctor --full` would, and opened. Blocking; for a process that has no store open.
"""

from __future__ import annotations

import base64
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from mnemond.errors import STORAGE, MnemonError
from mnemond.model.answers import SalvagedTable
from mnemond.model.changes import AddInsight
from mnemond.model.memory import format_us
from mnemond.store import checksums, edges, first_page, history, insights, stored_rows, verified_copy
from mnemond.store.backups import LEFT_OUT_FILE
from mnemond.store.connection import Connection, ConstraintError, SqliteError
from mnemond.store.database import load_index
from mnemond.store.files import flush_directory
from mnemond.store.first_page import PAGE_SIZE
from mnemond.store.insights import UNKNOWN_TIME, content_hash
from mnemond.store.meta import read_embedder
from mnemond.store.schema import APPLICATION_ID, VERSION, create, refuse_development, refuse_other
from mnemond.store.stored_rows import BY_KEY, BY_NUMBER, Undecoded
from mnemond.store.verified_copy import Facts
from mnemond.store.verify import verify_closed
from mnemond.store.verify_checks import AHEAD_US, superseded_in_circles

PAGE: Final = 200
"""Rows read at once; one by one when that fails."""

MAX_QUERIES: Final = 20_000
"""Queries per table: a damaged interior page hides so many numbers that each would have to be tried alone."""

MAX_NAMED: Final = 20
"""Mended rows that a report names; the others are counted."""

Rows = list[tuple[Any, ...]]


class Salvaged(msgspec.Struct, frozen=True):
    """The new store's file, its facts, and a report of each table.

    `recovered`: memories whose rows were lost and that were taken from their history. `mended`: the rows with a column
    that could not be used, in words, at most `MAX_NAMED`. `left_out`: the file with the rows that were left out.
    `problems`: what a full verification of the new store found, in words.
    """

    path: Path
    facts: Facts
    tables: list[SalvagedTable]
    recovered: int = 0
    mended: list[str] = []
    left_out: Path | None = None
    problems: list[str] = []

    @property
    def is_whole(self) -> bool:
        """Return True if everything was read from sound pages and can be used."""
        changed = any(each.doubtful or each.left_out or each.gaps or each.mended for each in self.tables)
        return not (changed or self.recovered or self.problems)


def salvage(source: Path, target: Path, now_us: int) -> Salvaged:
    """Copy the store at `source`, which must not be open, to `target`, in a directory made for it.

    `target` appears whole and verified, or not at all. Raises MnemonError: STORAGE for a file of which nothing can be
    read, UNSUPPORTED for one of another version or program; SqliteError and OSError when the copy cannot be made.
    """
    work = target.with_name(f".{target.name}.work")
    os.mkdir(work, 0o700)
    try:
        copy, draft = work / "copy.db", work / "draft.db"
        for part in ("", "-wal"):
            if (file := source.with_name(source.name + part)).exists():
                shutil.copyfile(file, copy.with_name(copy.name + part))
        _mend_header(source, copy)
        unnamed = _find_tables(source, copy, work)
        aside = _Aside(work / LEFT_OUT_FILE)
        try:
            tables, recovered, mended = _salvage_tables(copy, draft, aside, now_us)
        finally:
            aside.close()
        facts = verified_copy.make(draft, target)
        try:
            problems = _verify(target, now_us)
            left_out = aside.move_to(target.with_name(LEFT_OUT_FILE))
        except BaseException:
            target.unlink(missing_ok=True)
            raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    tables = [msgspec.structs.replace(each, gaps=each.gaps + (each.table in unnamed)) for each in tables]
    return Salvaged(target, facts, tables, recovered, mended, left_out, problems)


def _verify(target: Path, now_us: int) -> list[str]:
    """Open the new store as a reader does, and verify it; what is wrong with it, in words. Raises MnemonError."""
    connection = Connection(target, read_only=True, frozen=True)
    try:
        unreadable: list[insights.Unreadable] = []
        load_index(connection, read_embedder(connection), None, unreadable)
    except (*insights.BAD_ROW, SqliteError) as error:
        raise _unsalvageable(f"the copy cannot be opened ({type(error).__name__})") from error
    finally:
        connection.close()
    found = verify_closed(target, "full", now_us)
    return [
        f"{problem.what} ({problem.where})"
        for each in found
        if each.check.name != "files"  # modes and owner of the directory, which is the caller's
        for problem in each.problems
    ]


class _Aside:
    """The rows that were read and could not be kept."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def add(self, table: str, why: str, named: Mapping[str, Any]) -> None:
        if self._descriptor is None:
            self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        row = {name: _shown(value) for name, value in named.items() if value is not None}
        os.write(self._descriptor, msgspec.json.encode({"table": table, "why": why, "row": row}) + b"\n")

    def close(self) -> None:
        if self._descriptor is not None:
            os.fsync(self._descriptor)
            os.close(self._descriptor)

    def move_to(self, path: Path) -> Path | None:
        if self._descriptor is None:
            return None
        os.replace(self._path, path)
        flush_directory(path.parent)
        return path


def _shown(value: Any) -> object:  # noqa: ANN401 - of any column
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, float):
        return repr(value)  # also what JSON has no number for
    return str(value) if isinstance(value, str) else value


def _salvage_tables(copy: Path, draft: Path, aside: _Aside, now_us: int) -> tuple[list[SalvagedTable], int, list[str]]:
    sound, any_ = _reader(copy, verify=True), _reader(copy, verify=False)
    new = Connection(draft)
    try:
        create(new)
        new.set_pragma("foreign_keys", 0)
        new.run("BEGIN IMMEDIATE")
        of = {name: _Table(name, key, sound, any_, new, aside, now_us) for name, key in _keys(new).items()}
        tables = [each.salvaged() for each in of.values()]
        dangling = _drop_dangling(new)
        latest = format_us(now_us + AHEAD_US)
        recovered = _recover(new, of["insights"], of["memory_operations"], latest, aside)
        _mend_links(new)
        _drop_log_before_gap(new)
        new.run("COMMIT")
        new.checkpoint(truncate=True)
    finally:
        for each in (sound, any_, new):
            each.close()
    mended = [name for each in of.values() for name in each.mended_rows]
    return (
        [
            msgspec.structs.replace(each, kept=each.kept - lost, left_out=each.left_out + lost)
            for each in tables
            for lost in [dangling.get(each.table, 0)]
        ],
        recovered,
        mended[:MAX_NAMED],
    )


Key = str | tuple[str, ...]
"""The column with the numbers of a table's rows, or the columns of its key."""


def _keys(new: Connection) -> dict[str, Key]:
    """Return the tables with what cannot be made again, and how each is ordered."""
    tables = {
        str(name): not without_rowid
        for _, name, kind, _, without_rowid, _ in new.rows("PRAGMA main.table_list")
        if kind == "table" and not name.startswith("sqlite_") and name not in _MADE_ANEW
    }
    every: dict[str, Key] = {**BY_NUMBER, **BY_KEY}
    usual = {name: key for name, key in every.items() if name in tables}
    found: dict[str, Key] = {}
    for name in (*usual, *(each for each in tables if each not in usual)):
        info = new.rows(f"PRAGMA table_info({name})")
        columns = {str(each[1]) for each in info} | ({"rowid"} if tables[name] else set())
        key = usual.get(name)
        if key is None or not columns.issuperset((key,) if isinstance(key, str) else key):
            own = tuple(str(each[1]) for each in sorted(info, key=lambda each: each[5]) if each[5])
            key = "rowid" if tables[name] else own
        found[name] = key
    return found


_MADE_ANEW: Final = frozenset({"metrics", "node_metrics", "staged_vectors"})
"""Tables that the daemon fills again."""


# The first page, without which nothing can be read.

_HEADER: Final = 100
_APPLICATION_ID: Final = 68
_FIXED: Final = {
    0: b"SQLite format 3\0", 16: PAGE_SIZE.to_bytes(2, "big"), 18: bytes((2, 2)), 21: bytes((64, 32, 32)),
    44: (4).to_bytes(4, "big"), 52: bytes(4), 56: (1).to_bytes(4, "big"), 64: bytes(4),
    _APPLICATION_ID: APPLICATION_ID.to_bytes(4, "big"), 72: bytes(20),
}  # fmt: skip
"""Parts of the header that are the same in every store (SQLite file format, 1.3)."""

MAX_MISSING: Final = 8
"""How many times longer than the file a header may say that the file is."""


def _mend_header(source: Path, copy: Path) -> None:
    """Give a damaged first page the header that every store has, and a file that was cut short its length: the missing
    pages are empty then. Of a sound file nothing is changed. Raises MnemonError(UNSUPPORTED) for a store of a
    development version."""
    size = copy.stat().st_size
    if size < _HEADER:
        return
    with open(copy, "r+b", buffering=0) as file:
        header = file.read(_HEADER)
        refuse_development(int.from_bytes(header[_APPLICATION_ID : _APPLICATION_ID + 4], "big"), source)
        usual = bytearray(header)
        for at, value in _FIXED.items():
            usual[at : at + len(value)] = value
        usual[20] = checksums.RESERVED
        file.seek(0)
        file.write(usual)
        if not checksums.is_sound(copy, 1):
            if header[20] == 0 and not _has_checksums(copy):
                usual[20] = 0
            if usual[20] or usual != header:
                usual[28:32] = max(1, size // PAGE_SIZE).to_bytes(4, "big")
                usual[60:64] = VERSION.to_bytes(4, "big")
                usual[92:96] = usual[24:28]
            file.seek(0)
            file.write(usual)
            if usual[20]:
                checksums.accept(copy, 1)
        length = int.from_bytes(usual[28:32], "big") * PAGE_SIZE
        if size < length <= MAX_MISSING * size:
            file.truncate(length)


PAGES_SAMPLED: Final = 16
"""Pages after the first that are looked at for checksums: some of them may be damaged or empty."""


def _has_checksums(copy: Path) -> bool:
    """Return True if one of the first pages has the checksum of its content. An empty page would have it anyway."""
    with open(copy, "rb") as file:
        pages = file.read((1 + PAGES_SAMPLED) * PAGE_SIZE)
    return any(
        checksums.is_sound(copy, number)
        for number in range(2, 2 + PAGES_SAMPLED)
        if any(pages[(number - 1) * PAGE_SIZE : number * PAGE_SIZE])
    )


def _find_tables(source: Path, copy: Path, work: Path) -> list[str]:
    """Rebuild the first page if the tables cannot be read from it; return the tables that no page names then, of which
    some or all rows may be lost. Raises MnemonError if there are no memories."""
    why = "its first page does not name the tables of a store"
    try:
        connection = Connection(copy, read_only=True)
        try:
            refuse_other(connection, source)
            if _tables(connection) >= set(stored_rows.TABLES):
                return []
        finally:
            connection.close()
    except (SqliteError, UnicodeDecodeError) as error:
        why = f"its first page cannot be read: {checksums.reason(error)}"
    unnamed = first_page.rebuild(copy, work)
    if unnamed is None:
        raise _unsalvageable(why)
    return unnamed


def _tables(connection: Connection) -> set[str]:
    return set(connection.column("SELECT name FROM sqlite_schema WHERE type = 'table'"))


def _reader(copy: Path, *, verify: bool) -> Connection:
    connection = Connection(copy, read_only=True)
    if not verify:
        connection.set_pragma("checksum_verification", 0)
    return connection


def _unsalvageable(why: str) -> MnemonError:
    return MnemonError(STORAGE, f"nothing can be salvaged: {why}", hint="`mnemonctl backup list` shows earlier copies")


class _Table:
    def __init__(
        self, name: str, key: Key, sound: Connection, any_: Connection, new: Connection, aside: _Aside, now_us: int
    ) -> None:
        self._name = name
        self._key = key
        self._sound, self._any, self._new = sound, any_, new
        self._aside = aside
        self._columns = [str(row[1]) for row in new.rows(f"PRAGMA table_info({name})")]
        self._columns += ["rowid"] if key == "rowid" else []
        places = ", ".join("?" * len(self._columns))
        self._insert = f"INSERT INTO {name}({', '.join(self._columns)}) VALUES({places})"
        self._latest = format_us(now_us + AHEAD_US)
        self._queries = 0
        self._kept = self._doubtful = self._left_out = self._gaps = self._mended = 0
        self.mended_rows: list[str] = []
        self.lost: dict[str, str | None] = {}
        """Of a table of memories: the ids of rows that were left out, and the hashes of their texts."""
        self.retired: set[str] = set()
        """Ids of those rows that were out of recall."""
        self.doubtful_numbers: set[int] = set()
        """Numbers of the rows that were kept from damaged pages."""

    @property
    def is_whole(self) -> bool:
        """Return True if every row was read and kept as it is."""
        return not (self._gaps or self._left_out or self._mended)

    def salvaged(self) -> SalvagedTable:
        if isinstance(self._key, str):
            self._by_number(self._key)
        else:
            self._by_key(self._key)
        return SalvagedTable(self._name, self._kept, self._doubtful, self._left_out, self._gaps, self._mended)

    def _select(self, connection: Connection, rest: str, values: Sequence[Any]) -> Rows | None:
        """Rows of the table, None if they cannot be read. Only without checksums may a text be no UTF-8."""
        self._queries += 1
        try:
            if connection is self._any:
                return stored_rows.rows_as_bytes(connection, self._name, self._columns, rest, values)
            names = ", ".join(self._columns)
            return connection.rows(f"SELECT {names} FROM {self._name} {rest}", values)  # noqa: S608 - constants
        except (SqliteError, UnicodeDecodeError):
            return None

    def _by_number(self, key: str) -> None:
        low, high = self._bounds(key)
        for start, end in self._unreadable(key, low, high):
            found = self._select(self._any, f"WHERE {key} BETWEEN ? AND ?", (start, end))
            if found is None:
                self._gaps += 1
            else:
                self._keep(found, doubtful=True)

    def _bounds(self, key: str) -> tuple[int, int]:
        """The smallest and the largest number; where they cannot be read, the possible ones."""
        ends = []
        for function, otherwise in (("min", 0), ("max", 1 << 32)):
            row = None
            for connection in (self._sound, self._any):
                try:
                    row = row or connection.row(f"SELECT {function}({key}) FROM {self._name}")  # noqa: S608
                except SqliteError:
                    continue
            ends.append(otherwise if row is None else int(row[0] or 0))
        return ends[0], ends[1]

    def _unreadable(self, key: str, low: int, high: int) -> Iterator[tuple[int, int]]:
        """Keep the rows of sound pages between two numbers; yield ranges whose rows cannot be read."""
        waiting = [(low, high)]
        while waiting:
            start, end = waiting.pop()
            found = self._select(self._sound, f"WHERE {key} BETWEEN ? AND ? LIMIT ?", (start, end, PAGE + 1))
            if found is not None and len(found) <= PAGE:
                self._keep(found, doubtful=False)
            elif start == end and found is None:
                yield start, end
            elif start == end:
                found = self._select(self._sound, f"WHERE {key} = ?", (start,))
                if found is None:
                    yield start, end
                else:
                    self._keep(found, doubtful=False)
            elif self._queries > MAX_QUERIES:
                yield start, end
            else:
                middle = (start + end) // 2
                waiting += [(middle + 1, end), (start, middle)]

    def _by_key(self, key: tuple[str, ...]) -> None:
        """From both ends towards the damage, and through it without checksums."""
        if self._walk(self._sound, key, "ASC", doubtful=False):
            return
        self._walk(self._sound, key, "DESC", doubtful=False)
        if not self._walk(self._any, key, "ASC", doubtful=True):
            self._walk(self._any, key, "DESC", doubtful=True)
            self._gaps += 1

    def _walk(self, connection: Connection, key: tuple[str, ...], order: str, *, doubtful: bool) -> bool:
        """Keep rows in order until one cannot be read; True if the end was reached."""
        names, places = ", ".join(key), ", ".join("?" * len(key))
        at = [self._columns.index(each) for each in key]
        after: tuple[Any, ...] = ()
        ordered, size = ", ".join(f"{each} {order}" for each in key), PAGE
        while True:
            where = f"WHERE ({names}) {'>' if order == 'ASC' else '<'} ({places})" if after else ""
            found = self._select(connection, f"{where} ORDER BY {ordered} LIMIT {size}", after)
            if found is None and size == 1:
                return False
            if found is None:
                size = 1
                continue
            self._keep(found, doubtful=doubtful)
            if len(found) < size:
                return True
            after = tuple(found[-1][place] for place in at)

    def _keep(self, rows: Rows, *, doubtful: bool) -> None:
        for row in rows:
            named = dict(zip(self._columns, row, strict=True))
            if self._name == "insights" and not _matches_hash(named):
                self._leave_out(named, "the text is not the one that was stored")
                continue
            mended = self._mend(named, doubtful=doubtful)
            if mended is None:
                self._leave_out(named, "it cannot be read as it is when it is used")
            elif self._add(mended):
                self._count(named, mended, doubtful=doubtful)
            elif not self._exists(row):
                bare = None if self._name != "insights" else _bare(mended)
                if bare is not None and self._add(bare):
                    self._count(named, bare, doubtful=True)
                else:
                    self._leave_out(named, "it does not fit the schema, or another row has its key")

    def _add(self, named: Mapping[str, Any]) -> bool:
        try:
            self._new.run(self._insert, tuple(named[each] for each in self._columns))
        except ConstraintError:
            return False
        return True

    def _count(self, before: Mapping[str, Any], after: Mapping[str, Any], *, doubtful: bool) -> None:
        self._kept += 1
        self._doubtful += doubtful
        if doubtful and isinstance(self._key, str):
            self.doubtful_numbers.add(after[self._key])
        other = [name for name in self._columns if before[name] != after[name] and name not in _MADE_AGAIN]
        if other:
            self._mended += 1
            self.mended_rows.append(str(stored_rows.row_named(self._name, before, tuple(other))))

    def _leave_out(self, named: Mapping[str, Any], why: str) -> None:
        self._left_out += 1
        self._aside.add(self._name, why, named)
        if self._name == "insights" and isinstance(named["id"], str):
            self.lost[named["id"]] = named["content_hash"]
            if named["deleted_at"] is not None:
                self.retired.add(named["id"])

    def _mend(self, named: Mapping[str, Any], *, doubtful: bool) -> dict[str, Any] | None:
        """The row with defaults for the columns that cannot be used; None if it has none for one of them."""
        found = {name: str(value) if isinstance(value, Undecoded) else value for name, value in named.items()}
        defaults = _DEFAULTS.get(self._name, {})
        if self._name == "meta":
            is_record = stored_rows.is_record(named["key"])
            return None if is_record and (doubtful or stored_rows.unusable_columns("meta", named)) else found
        for column in stored_rows.unusable_columns(self._name, named):
            if column not in defaults:
                return None
            found[column] = defaults[column]
        if self._name == "insights":
            self._mend_memory(found, doubtful=doubtful)
        return found

    def _mend_memory(self, found: dict[str, Any], *, doubtful: bool) -> None:
        """Values that a reader could use, and `doctor` would call impossible; vectors that nothing vouches for."""
        if found["updated_at"] > self._latest:
            found["updated_at"] = UNKNOWN_TIME
        if found["created_at"] == UNKNOWN_TIME:
            found["created_at"] = found["updated_at"]
        if found["updated_at"] == UNKNOWN_TIME and found["created_at"] <= self._latest:
            found["updated_at"] = found["created_at"]
        importance = found["effective_importance"]
        if not (isinstance(importance, float) and 0 <= importance <= MAX_IMPORTANCE):
            found["effective_importance"] = 0.5
        blob, dimension = found["embedding"], found["embedding_dim"]
        fits = (
            isinstance(blob, bytes)
            and found["embedding_model"]
            and len(blob) in (4 * (dimension or 0), 8 * (dimension or 0))
        )
        if doubtful or (blob is not None and not fits):
            found["embedding"] = found["embedding_model"] = found["embedding_dim"] = None

    def _exists(self, row: tuple[Any, ...]) -> bool:
        """Return True if the new file has the row already: tables are walked from both ends."""
        key = (self._key,) if isinstance(self._key, str) else self._key
        if self._name == "insights":
            key = ("id",)
        elif self._name == "edge_rows":
            key = ("source", "target", "kind")
        named = dict(zip(self._columns, row, strict=True))
        where = " AND ".join(f"{each} IS ?" for each in key)
        sql = f"SELECT 1 FROM {self._name} WHERE {where}"  # noqa: S608 - constants
        return self._new.row(sql, [named[each] for each in key]) is not None


MAX_IMPORTANCE: Final = 1e300
"""The largest effective importance that verification accepts (`verify_checks`)."""

_MADE_AGAIN: Final = frozenset({"embedding", "embedding_model", "embedding_dim", "effective_importance"})
"""Columns that the daemon computes again."""

_DEFAULTS: Final[dict[str, dict[str, Any]]] = {
    "insights": insights.DEFAULTS,
    "edge_rows": {"metadata": "{}", "created_at": UNKNOWN_TIME, "last_boosted_at": None, "boost_days": 0.0},
    "memory_operations": {"before_state": None, "after_state": None, "created_at": UNKNOWN_TIME},
    "oplog": {"created_at": UNKNOWN_TIME},
    "recalls": {"created_at": UNKNOWN_TIME},
    "showings": {"created_at": UNKNOWN_TIME},
    "entities": {"created_at": UNKNOWN_TIME},
    "relationships": {"created_at": UNKNOWN_TIME},
    "relationship_evidence": {"created_at": UNKNOWN_TIME},
    "entity_links": {"created_at": UNKNOWN_TIME},
    "passages": {"said_at": UNKNOWN_TIME, "embedding": None, "embedded_by": None},
    "exchanges": {"queued_at": UNKNOWN_TIME, "said_at": UNKNOWN_TIME, "not_before": None},
}  # fmt: skip
"""Values for columns that cannot be used, by table. A row with another such column is left out."""


def _bare(named: Mapping[str, Any]) -> dict[str, Any]:
    """A memory with its text, and defaults for everything that the schema may refuse."""
    active = named["deleted_at"] is None
    return {name: named[name] if name in _ESSENTIAL else None for name in named} | {
        "category": "general", "importance": 3, "tags": "[]", "entities": "[]", "source": "user", "access_count": 0,
        "effective_importance": 0.5, "memory_type": "memory", "boost_days": 0.0, "corroboration_count": 0, "pinned": 0,
        "useful": 0, "misled": 0, "trust": "user", "quarantined": 0, "status": "active" if active else "forgotten",
    }  # fmt: skip


_ESSENTIAL: Final = frozenset({"id", "content", "content_hash", "created_at", "updated_at", "deleted_at"})


def _matches_hash(named: Mapping[str, Any]) -> bool:
    """Return True if the text of a memory has the stored hash. Every mnemond stores one: a row without is of another
    table, whose page has come into this one's place."""
    content, noted = named["content"], named["content_hash"]
    return isinstance(content, str) and noted == content_hash(content)


def _drop_dangling(new: Connection) -> dict[str, int]:
    """Delete rows that refer to lost rows; their number by table."""
    dropped: dict[str, int] = {}
    for column in ("superseded_by", "paired_with"):
        new.run(
            f"UPDATE insights SET {column} = NULL"  # noqa: S608 - constants
            f" WHERE {column} IS NOT NULL AND {column} NOT IN (SELECT id FROM insights)"
        )
    while dangling := new.rows("PRAGMA foreign_key_check"):
        for table, column, parent, key in sorted({_reference(new, *each) for each in dangling}):
            count = new.run(f"DELETE FROM {table} WHERE {column} NOT IN (SELECT {key} FROM {parent})")  # noqa: S608
            dropped[table] = dropped.get(table, 0) + count
    return dropped


def _reference(new: Connection, table: str, row: object, parent: str, number: int) -> tuple[str, str, str, str]:
    (found,) = (each for each in new.rows(f"PRAGMA foreign_key_list({table})") if each[0] == number)
    return table, found[3], parent, found[4]


def _recover(new: Connection, memories: _Table, past: _Table, latest: str, aside: _Aside) -> int:
    """Take memories whose rows are lost from the last state that their history has; return their number. `latest`: a
    time that lies later is impossible.

    Of a row that was left out, the hash of the text is known. Of another, the state must be from a sound page of a
    whole history: else a later row may be missing that changed the memory or retired it, and the state is shown with
    what was left out. What was purged has no state, and what was retired none after it.
    """
    found = 0
    for number, memory_id, text in new.rows(_LAST_STATES):
        insight = history.decode_state(text).insight
        if insight.id != memory_id or insight.status != "active" or memory_id in memories.retired:
            continue
        noted = memories.lost.get(memory_id)
        is_last = past.is_whole and number not in past.doubtful_numbers
        if insight.updated_at > latest:
            insight = msgspec.structs.replace(insight, updated_at=UNKNOWN_TIME)
        row = dict(zip(insights.ROWS.columns, insights.ROWS.values(insight), strict=True))
        if insights.unusable_columns(row):
            continue
        if is_last if noted is None else noted == content_hash(insight.content):
            insights.insert(new, AddInsight(insight, None), None)
            found += 1
        else:
            aside.add("memory_operations", "its memory is lost, and this may not be what it was last", row)
    return found


_LAST_STATES: Final = """
    SELECT o.id, o.memory_id, o.after_state FROM memory_operations AS o
     WHERE o.id = (SELECT max(id) FROM memory_operations WHERE memory_id = o.memory_id)
       AND o.after_state IS NOT NULL AND o.memory_id NOT IN (SELECT id FROM insights)
     ORDER BY o.id
"""


def _mend_links(new: Connection) -> None:
    """Delete edges of memories that left recall, lead every other back, and break circles of successors."""
    dead = "(SELECT number FROM insights WHERE deleted_at IS NOT NULL)"
    new.run(f"DELETE FROM edge_rows WHERE source IN {dead} OR target IN {dead}")  # noqa: S608 - constants
    edges.add_reverses(new)
    for each in superseded_in_circles(new):
        new.run("UPDATE insights SET superseded_by = NULL WHERE id = ?", (each,))


def _drop_log_before_gap(new: Connection) -> None:
    """A log has no gap: delete the lines before the last one."""
    gap = "SELECT max(id) FROM oplog WHERE id - 1 NOT IN (SELECT id FROM oplog) AND id > (SELECT min(id) FROM oplog)"
    new.run("DELETE FROM oplog WHERE id < ?", (new.count(gap),))
