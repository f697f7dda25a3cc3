"""What keeps an open store from being written, and what is merely wrong with it; kept next to its database as well.

A full disk: room is kept free in the file `ballast`. Lost commits: the file `high-water` has the last acknowledged line
of the log. Damage: known faults are in `known.json`, since a damaged database is not written to.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from mnemond.config.regular_files import open_regular, read_regular
from mnemond.errors import STORAGE, MnemonError, rejected
from mnemond.store import files
from mnemond.store.checksums import is_damage
from mnemond.store.connection import Connection, FullError
from mnemond.store.insights import Unreadable, named_rows

BALLAST_FILE: Final = "ballast"
BALLAST_BYTES: Final = 4 << 20
"""As much as the write-ahead log grows to before it is copied into the database (`engine.CHECKPOINT_FRAMES`), so that
there is room for one such round."""

MARGIN_BYTES: Final = 4 << 20
"""Free bytes beyond its own at which the ballast is made again: without them it would come and go with every write."""

HIGH_WATER_FILE: Final = "high-water"
_DIGITS: Final = 20
"""Bytes of the number, always within one sector: it is written whole or not at all."""

FAULTS_FILE: Final = "known.json"
"""In the directory of a store, 0600; exists only while a fault is known."""

MAX_FAULTS_BYTES: Final = 1 << 16

UNREADABLE: Final = "the file of the store's known faults cannot be read"

FREEING_METHODS: Final = frozenset({"forget", "gc", "jobs"})
"""Methods whose writes remove memories, or tidy up: they are allowed when the disk is full."""

DAMAGE_HINT: Final = (
    "`mnemonctl doctor --salvage` reads what can be read into a copy; `mnemonctl backup list` shows earlier ones:"
    " `mnemonctl backup restore BACKUP --yes` puts one in its place and keeps the damaged file, with --into OTHER it"
    " becomes another store"
)
DISK_FULL: Final = "the disk is full"


class Ballast:
    """Room in a data directory for a full disk: a file of zeros, removed when a store can no longer be written.

    Forgetting needs room as well, for the log. With the file gone there is some, and writes that only add are refused
    until the disk has room for the file again. One per data directory, made when the daemon starts. Thread-safe; the
    methods are blocking.
    """

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / BALLAST_FILE
        self._lock = threading.Lock()

    @property
    def exists(self) -> bool:
        return self._path.exists()

    def is_needed(self) -> bool:
        """Return True if the file exists and the disk has no other room."""
        with self._lock:
            return self.exists and not self._has_room()

    def make(self) -> bool:
        """Make the file, unless it exists; return False if the disk is too full."""
        with self._lock:
            return self.exists or (self._has_room() and self._fill())

    def release(self) -> None:
        """Remove the file; one that cannot be removed stays."""
        with self._lock, contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)

    def _has_room(self) -> bool:
        try:
            found = os.statvfs(self._path.parent)
        except OSError:
            return False
        return found.f_bavail * found.f_frsize >= BALLAST_BYTES + MARGIN_BYTES

    def _fill(self) -> bool:
        """All or nothing: a partial file of an interrupted process is no ballast."""
        draft = self._path.with_name(f".{BALLAST_FILE}.part")
        try:
            draft.unlink(missing_ok=True)
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(descriptor, 0, BALLAST_BYTES)
                else:
                    for _ in range(BALLAST_BYTES >> 16):
                        os.write(descriptor, bytes(1 << 16))
            finally:
                os.close(descriptor)
            os.replace(draft, self._path)
        except OSError:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
            return False
        return True


class HighWater:
    """The number of the last line of a store's log, kept next to the database at `path`.

    A database whose write-ahead log was removed, cut short or rolled back opens without an error, at an earlier state.
    The number, written after each commit and before it is acknowledged, reveals that. It is not flushed: it outlives
    the process at once, and within the half minute until it would be lost in a power cut only a failure of the disk
    itself can lose commits (docs/decisions/0025). Used by one thread at a time; `close` ends it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(HIGH_WATER_FILE)
        self._descriptor: int | None = None
        self._noted: int | None = None

    def read(self) -> int | None:
        """Return the number; None if there is none, or one that no mnemond wrote. Raises OSError."""
        try:
            descriptor = open_regular(self._path, os.O_RDONLY | os.O_NOFOLLOW)
        except FileNotFoundError:
            return None
        try:
            content = os.read(descriptor, _DIGITS + 1)
        finally:
            os.close(descriptor)
        return int(content) if len(content) == _DIGITS and content.isdigit() else None

    def note(self, line: int) -> None:
        """Write the number. Raises OSError."""
        if line == self._noted:
            return
        if self._descriptor is None:
            self._descriptor = open_regular(self._path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW)
            os.ftruncate(self._descriptor, _DIGITS)  # in case another program wrote more
        os.pwrite(self._descriptor, b"%0*d" % (_DIGITS, line), 0)
        self._noted = line

    def close(self) -> None:
        descriptor, self._descriptor, self._noted = self._descriptor, None, None
        if descriptor is not None:
            os.close(descriptor)


def last_line(connection: Connection) -> int:
    """Return the number of the last line of a store's log; 0 before the first. Raises SqliteError."""
    return connection.count("SELECT seq FROM sqlite_sequence WHERE name = 'oplog'")


class KnownFaults(msgspec.Struct, frozen=True, omit_defaults=True):
    """`wrong`: the file is damaged, and is not written until a full verification finds nothing. `behind`: acknowledged
    writes are missing, until the store is restored or the loss is accepted."""

    wrong: str | None = None
    behind: str | None = None


def read_faults(path: Path) -> KnownFaults:
    """Return the known faults of the store whose database is at `path`. Raises OSError."""
    try:
        return msgspec.json.decode(read_regular(path.with_name(FAULTS_FILE), MAX_FAULTS_BYTES), type=KnownFaults)
    except FileNotFoundError:
        return KnownFaults()
    except msgspec.MsgspecError:
        return KnownFaults(wrong=UNREADABLE)


def write_faults(path: Path, known: KnownFaults) -> None:
    """Store them durably. Raises OSError."""
    if known == KnownFaults():
        path.with_name(FAULTS_FILE).unlink(missing_ok=True)
        files.flush_directory(path.parent)
    else:
        files.replace_file(path.with_name(FAULTS_FILE), msgspec.json.encode(known) + b"\n")


def unreadable_reason(rows: Sequence[Unreadable]) -> str | None:
    """Return the sentence that names memories which cannot be decoded, None if there is none."""
    if not rows:
        return None
    number, verb = (f"{len(rows):,} memories", "are") if len(rows) > 1 else ("1 memory", "is")
    return f"{number} cannot be read and {verb} kept out of recall: {named_rows(rows)}; see mnemonctl doctor"


class StoreHealth:
    """State of one open store; changed by the writer's thread, readable from any.

    `fault`: a storage failure that ended the connection. `checkpoint_failure`: the log cannot be copied into the file.
    `wrong`: file or memory does not hold what was written; until a full verification finds nothing. `full`: there is no
    room. `read_only`: why it was opened for reading only. `behind`: acknowledged writes are missing, which does not bar
    new ones. `unnoted`: the files next to the database cannot be written. `unreadable`: rows that cannot be decoded and
    are kept out of recall. `wrong` and `behind` survive a restart.
    """

    def __init__(self, ballast: Ballast | None = None, path: Path | None = None) -> None:
        """`path` of the database, next to which faults are kept."""
        before = KnownFaults()
        if path is not None:
            try:
                before = read_faults(path)
            except OSError:
                before = KnownFaults(wrong=UNREADABLE)
        self._path = path
        self._ballast = ballast
        self.fault: str | None = None
        self.checkpoint_failure: str | None = None
        self.wrong: str | None = before.wrong
        self.full: str | None = DISK_FULL if ballast is not None and not ballast.make() else None
        self.read_only: str | None = None
        self.behind: str | None = before.behind
        self.unnoted: str | None = None
        self.unreadable: tuple[Unreadable, ...] = ()

    @property
    def degraded_reason(self) -> str | None:
        """Why the store is degraded, the gravest reason first; or None."""
        barred = self.wrong or self.fault or self.full
        less = self.behind or self.checkpoint_failure or self.read_only or self.unnoted
        return barred or less or unreadable_reason(self.unreadable)

    def refusal(self, method: str | None) -> MnemonError | None:
        """Return the error for a write of this method, None if it is allowed. Method None: it may only add."""
        if self.read_only is not None:
            return files.read_only_error(self.read_only)
        if self.wrong is not None:
            return rejected(STORAGE, f"{self.wrong}; nothing was written", DAMAGE_HINT)
        if method not in FREEING_METHODS and not self.has_room():
            return rejected(
                STORAGE,
                f"{self.full}; nothing was written",
                "make room on the disk; reading and forgetting (forget, gc, jobs run prune) still work",
            )
        return None

    def has_room(self) -> bool:
        """Return True if the disk is not full, or not any more."""
        if self.full is not None and (self._ballast is None or self._ballast.make()):
            self.full = None  # without ballast the next write finds out
        return self.full is None

    def note_opened(self, read_only: str | None, wrong: str | None, unreadable: tuple[Unreadable, ...] = ()) -> None:
        """The store was opened, perhaps again after a failure; that does not clear known damage."""
        self.unreadable = unreadable
        self.fault = self.checkpoint_failure = None
        self.read_only = read_only
        if wrong is not None:
            self.mark_damaged(wrong)

    def note_failure(self, error: Exception) -> None:
        """Classify a failure: after damage nothing is written, on a full disk only writes that free room.

        The ballast is released before anything else is tried: opening a store needs room as well.
        """
        if is_damage(error):
            self.mark_damaged(files.damage_reason(error))
        elif isinstance(error, FullError):
            self.full = DISK_FULL
            if self._ballast is not None:
                self._ballast.release()

    def note_unwritable(self, error: OSError) -> None:
        """Faults or high-water mark cannot be written."""
        self.unnoted = f"what is known of the store cannot be noted beside it: {error.strerror}"

    def note_loss(self, found: int, noted: int) -> None:
        """The log ends with line `found`, but line `noted` was acknowledged."""
        reason = f"the store went backwards: its log ends with line {found:,}, and line {noted:,} was acknowledged"
        self._set(self.wrong, reason)

    def accept_loss(self) -> None:
        """Go on without the missing writes."""
        self._set(self.wrong, None)

    def mark_damaged(self, reason: str) -> None:
        """The file does not hold what was written to it."""
        self._set(reason, self.behind)

    def mark_sound(self) -> None:
        """A full verification found nothing wrong."""
        self._set(None, self.behind)

    def _set(self, wrong: str | None, behind: str | None) -> None:
        if (wrong, behind) != (self.wrong, self.behind):
            self.wrong, self.behind = wrong, behind
            self.save()

    def save(self) -> None:
        if self._path is None:
            return
        try:
            write_faults(self._path, KnownFaults(self.wrong, self.behind))
            self.unnoted = None
        except OSError as error:
            self.note_unwritable(error)
