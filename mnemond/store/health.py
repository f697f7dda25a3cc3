"""Room that is kept free for a full disk: a file of nothing, which goes when a store can no longer be written.

Forgetting needs room as well, for the log. With the file gone there is some, and what only adds is refused until the
disk has room for the file again. One for each data directory, made when the daemon starts. Any thread may use it.
"""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path
from typing import Final

import msgspec

from mnemond.errors import STORAGE, MnemonError
from mnemond.store import files
from mnemond.store.checksums import is_damage
from mnemond.store.connection import Connection, FullError
from mnemond.store.files import damaged_file

BYTES: Final = 4 << 20
"""As much as the write-ahead log grows to before it is copied into the database (`engine.CHECKPOINT_FRAMES`), so that
there is room for one such round (reliability, section 3)."""

MARGIN_BYTES: Final = 4 << 20
"""Free bytes beyond its own at which it is made again: at the brink it would come and go with every write."""

NAME: Final = "ballast"


class Ballast:
    """The file `ballast` of a data directory."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / NAME
        self._lock = threading.Lock()

    @property
    def is_there(self) -> bool:
        """Whether there is something to let go of."""
        return self._path.exists()

    def is_needed(self) -> bool:
        """Whether it is there and the disk has no other room (blocking)."""
        with self._lock:
            return self.is_there and not self._has_room()

    def make(self) -> bool:
        """Take the room, unless it is taken already; False when the disk is too full for that (blocking)."""
        with self._lock:
            return self.is_there or (self._has_room() and self._fill())

    def release(self) -> None:
        """Let the room go (blocking). A file that cannot be removed keeps it."""
        with self._lock, contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)

    def _has_room(self) -> bool:
        try:
            found = os.statvfs(self._path.parent)
        except OSError:
            return False
        return found.f_bavail * found.f_frsize >= BYTES + MARGIN_BYTES

    def _fill(self) -> bool:
        """Whole or not at all: what a process that ended half-way left is no ballast."""
        draft = self._path.with_name(f".{NAME}.part")
        try:
            draft.unlink(missing_ok=True)
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            try:
                _allocate(descriptor)
            finally:
                os.close(descriptor)
            os.replace(draft, self._path)
        except OSError:
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
            return False
        return True


def _allocate(descriptor: int) -> None:
    """Blocks of its own, where the file system can give them without writing; zeros elsewhere. Raises OSError."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, BYTES)
        return
    for _ in range(BYTES >> 16):
        os.write(descriptor, bytes(1 << 16))


# How far a store has come, noted beside its database: the number of the last line of its log.
#
# A database whose write-ahead log was removed, cut short or rolled back opens as if nothing had happened, at an
# earlier state (reliability, section 0, fact 9). What it cannot tell by itself it tells by this number, which is
# written after each commit and before anybody hears of it. It is not flushed: it outlives the process at once, and a
# power cut within half a minute, in which nothing of the kind can happen without the disk's own doing
# (docs/decisions/0025).


HIGH_WATER_FILE: Final = "high-water"
"""In the directory of a store, 0600."""

_DIGITS: Final = 20
"""Each number has as many bytes, in one sector: it is there as a whole, or as it was."""


class HighWater:
    """The note beside the database at `path`. Used by one thread at a time; `close` ends it."""

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(HIGH_WATER_FILE)
        self._descriptor: int | None = None
        self._noted: int | None = None

    def read(self) -> int | None:
        """The number that was noted; None where there is none, or one that no mnemond wrote. Raises OSError."""
        try:
            descriptor = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            content = os.read(descriptor, _DIGITS + 1)
        finally:
            os.close(descriptor)
        return int(content) if len(content) == _DIGITS and content.isdigit() else None

    def note(self, line: int) -> None:
        """From now on it is this number. Raises OSError."""
        if line == self._noted:
            return
        if self._descriptor is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            self._descriptor = os.open(self._path, flags, 0o600)
            os.ftruncate(self._descriptor, _DIGITS)  # of what no mnemond wrote there
        os.pwrite(self._descriptor, b"%0*d" % (_DIGITS, line), 0)
        self._noted = line

    def close(self) -> None:
        """Let go of the file; `note` opens it again."""
        descriptor, self._descriptor, self._noted = self._descriptor, None, None
        if descriptor is not None:
            os.close(descriptor)


def last_line(connection: Connection) -> int:
    """The number of the last line of a store's log; 0 before the first. Raises SqliteError."""
    row = connection.row("SELECT seq FROM sqlite_sequence WHERE name = 'oplog'")
    return 0 if row is None else int(row[0])


# What is known to be wrong with a store, kept beside its database so that it is known after a restart as well.
#
# A database that is damaged is not written to, not even to say so.


KNOWN_FILE: Final = "known.json"
"""In the directory of a store, 0600; there only while something is known."""

UNREADABLE: Final = "what was known to be wrong with the store cannot be read any more"


class KnownFaults(msgspec.Struct, frozen=True, omit_defaults=True):
    """`wrong`: the file is not what was written, and is not written until a look at all of it finds nothing. `behind`:
    what is missing of what was acknowledged, until the store is restored or somebody accepts it."""

    wrong: str | None = None
    behind: str | None = None


def read(path: Path) -> KnownFaults:
    """What is known of the store whose database is at `path`. Raises OSError."""
    try:
        return msgspec.json.decode(path.with_name(KNOWN_FILE).read_bytes(), type=KnownFaults)
    except FileNotFoundError:
        return KnownFaults()
    except msgspec.MsgspecError:
        return KnownFaults(wrong=UNREADABLE)


def write(path: Path, known: KnownFaults) -> None:
    """Keep it, over a power cut as well. Raises OSError."""
    if known == KnownFaults():
        path.with_name(KNOWN_FILE).unlink(missing_ok=True)
        files.flush_directory(path.parent)
    else:
        files.write(path.with_name(KNOWN_FILE), msgspec.json.encode(known) + b"\n")


def forget(path: Path) -> None:
    """The database at `path` is about to become another one. Raises OSError."""
    for file in (KNOWN_FILE, HIGH_WATER_FILE):
        path.with_name(file).unlink(missing_ok=True)


# How an open store is: what keeps it from being written, and what is merely not well.
#
# For the writer's thread; the sentences may be read from any.


FREEING: Final = frozenset({"forget", "gc", "jobs"})
"""Methods whose writes let memories go, or put in order what is there: they go on when the disk is full."""

LOOK: Final = (
    "`mnemonctl doctor --full` names what is damaged, `mnemonctl doctor --salvage` reads what can be read into a copy;"
    " `mnemonctl backup list` shows copies of earlier"
)
"""What to do about damage."""


FULL: Final = "the disk is full"


class Standing:
    """`fault`: a storage failure that ended the connection. `checkpoint_failure`: the log cannot be copied into the
    file. `wrong`: what the file holds, or memory, is not what was written; until a look at all of it finds nothing.
    `full`: there is no room. `read_only`: why it was opened for reading only. `behind`: a note of what is missing since
    it was open last, which keeps nobody from writing. `unnoted`: what is known of it cannot be noted beside it.

    `wrong` and `behind` are known after a restart as well.
    """

    def __init__(self, ballast: Ballast | None = None, path: Path | None = None) -> None:
        """`path`: of the database, beside which is kept what is known of it."""
        before = KnownFaults() if path is None else _known(path)
        self._path = path
        self.fault: str | None = None
        self.checkpoint_failure: str | None = None
        self.wrong: str | None = before.wrong
        self.full: str | None = FULL if ballast is not None and not ballast.make() else None
        self.read_only: str | None = None
        self.behind: str | None = before.behind
        self.unnoted: str | None = None
        self._ballast = ballast

    @property
    def degraded_reason(self) -> str | None:
        """Why the store is not fully well, the gravest first; or None."""
        barred = self.wrong or self.fault or self.full
        return barred or self.behind or self.checkpoint_failure or self.read_only or self.unnoted

    def opened(self, read_only: str | None, wrong: str | None) -> None:
        """It was opened, or opened anew after a failure; that proves nothing about what is known to be wrong."""
        self.fault = self.checkpoint_failure = None
        self.read_only = read_only
        if wrong is not None:
            self.distrust(wrong)

    def distrust(self, reason: str) -> None:
        """What the file holds is not what was written to it."""
        self._know(KnownFaults(reason, self.behind))

    def trust(self) -> None:
        """A look at all of the file found nothing wrong."""
        self._know(KnownFaults(None, self.behind))

    def fell_behind(self, found: int, noted: int) -> None:
        """Its log ends with line `found`, and line `noted` was acknowledged."""
        reason = f"the store went backwards: its log ends with line {found:,}, and line {noted:,} was acknowledged"
        self._know(KnownFaults(self.wrong, reason))

    def accept(self) -> None:
        """Somebody knows what is missing, and goes on without it."""
        self._know(KnownFaults(self.wrong, None))

    def _know(self, what: KnownFaults) -> None:
        if what == KnownFaults(self.wrong, self.behind):
            return
        self.wrong, self.behind = what.wrong, what.behind
        self.keep()

    def keep(self) -> None:
        """Note what is known, for after a restart."""
        if self._path is None:
            return
        try:
            write(self._path, KnownFaults(self.wrong, self.behind))
            self.unnoted = None
        except OSError as error:
            self.noted_in_vain(error)

    def noted_in_vain(self, error: OSError) -> None:
        """What should be known after a restart cannot be kept."""
        self.unnoted = f"what is known of the store cannot be noted beside it: {error.strerror}"

    def heed(self, error: Exception) -> None:
        """A failure says something about the file, or about the disk: nothing but forgetting is written from here on.

        The ballast goes before anything else is tried: opening a store needs room as well.
        """
        if is_damage(error):
            self.distrust(damaged_file(error))
        elif isinstance(error, FullError):
            self.full = FULL
            if self._ballast is not None:
                self._ballast.release()

    def refusal(self, method: str | None) -> MnemonError | None:
        """Why a write of this method is not begun; None for one that may be. A method of None adds nothing certain."""
        if self.read_only is not None:
            return files.refusal(self.read_only)
        if self.wrong is not None:
            return MnemonError(STORAGE, f"{self.wrong}; nothing was written", hint=LOOK, outcome="rejected")
        if method not in FREEING and not self.has_room():
            return MnemonError(
                STORAGE,
                f"{self.full}; nothing was written",
                hint="make room on the disk; reading and forgetting (forget, gc, jobs run prune) still work",
                outcome="rejected",
            )
        return None

    def has_room(self) -> bool:
        """Whether the disk has room again, if it had none."""
        if self.full is not None and (self._ballast is None or self._ballast.make()):
            self.full = None  # without ballast the next write finds out
        return self.full is None


def _known(path: Path) -> KnownFaults:
    try:
        return read(path)
    except OSError:
        return KnownFaults(wrong=UNREADABLE)
