"""F1, M8, D1, D2: the files of a store, who writes them, and their pages."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from mnemond.store import high_water, known
from mnemond.store.checksums import faulty_pages
from mnemond.store.high_water import HighWater, last_line
from mnemond.store.invariants.check import DAMAGED, Evidence, Problem, Steps, Tally

MOST_LOG_BYTES: Final = 64 << 20
"""Of the write-ahead log at any time (reliability, section 7)."""

MOST_SAID: Final = 10
"""Lines that SQLite may say about damaged pages."""


def modes(evidence: Evidence) -> Steps:
    """Files and directory are this user's alone, with one name each, and the log has not outgrown its bound."""
    path = evidence.path
    yield from _owned(path.parent, 0o700)
    beside = (path.with_name(name) for name in (f"{path.name}-wal", f"{path.name}-shm", high_water.FILE, known.FILE))
    for file in (path, *beside):
        yield from _owned(file, 0o600)
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and (held := log.stat().st_size) > MOST_LOG_BYTES:
        what = f"the write-ahead log has {held >> 20:,} MiB; {MOST_LOG_BYTES >> 20} are the most"
        yield Problem(what, str(log), "mnemonctl jobs run checkpoint; another program may be reading the store")


def _owned(path: Path, mode: int) -> Steps:
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    kind = "directory" if stat.S_ISDIR(found.st_mode) else "file"
    if stat.S_ISLNK(found.st_mode):
        yield Problem("a symbolic link stands in the place of a file", str(path), "put the file itself there")
        return
    if found.st_uid != os.geteuid():
        what = f"the {kind} belongs to user {found.st_uid}, not to user {os.geteuid()}"
        yield Problem(what, str(path), f"find out why; then: chown {os.geteuid()} on it")
    if extra := stat.S_IMODE(found.st_mode) & ~mode:
        what = f"others have rights to the {kind}: mode {stat.S_IMODE(found.st_mode):04o}, {extra:04o} too many"
        yield Problem(what, str(path), f"chmod {mode:o} on it")
    if kind == "file" and found.st_nlink > 1:
        what = f"the file has {found.st_nlink} names; through another one it can be changed or read"
        yield Problem(what, str(path), "find the others (find -samefile) and remove them")


def sole_writer(evidence: Evidence) -> Steps:
    """No other program has committed to the database while it was open here."""
    if evidence.session is not None and evidence.session.others_wrote:
        what = "another program has written to the database while this daemon had it open; memory may be behind"
        yield Problem(what, str(evidence.path), "end that program, then: mnemonctl daemon restart")


ACCEPT: Final = (
    "restore a backup (mnemonctl backup list); or go on with what is there: mnemonctl jobs run full_verify --yes"
)


def went_backwards(evidence: Evidence) -> Steps:
    """The store reaches as far as it ever did, and nothing is known to be damaged. Where a daemon has it open, it has
    compared, and writes on meanwhile."""
    try:
        noted, earlier = HighWater(evidence.path).read(), known.read(evidence.path)
    except OSError as error:
        yield Problem(f"what was noted beside the store cannot be read: {error.strerror}", str(evidence.path), DAMAGED)
        return
    found = last_line(evidence.connection)
    if earlier.behind is not None:
        yield Problem(earlier.behind, str(evidence.path), ACCEPT)
    elif evidence.session is None and noted is not None and found < noted:
        what = f"the log ends with line {found:,}, and line {noted:,} was acknowledged"
        yield Problem(what, str(evidence.path), ACCEPT)
    if evidence.session is None and earlier.wrong is not None:
        yield Problem(earlier.wrong, str(evidence.path), DAMAGED)


def checksums(evidence: Evidence) -> Steps:
    """Every page of the file, in use or not, is as it was written."""
    wrong = Tally()
    for number in faulty_pages(evidence.path):
        if number is None:
            yield None
        else:
            wrong.add(f"page {number:,}")
    yield from wrong.problems("pages of the file are not as they were written", DAMAGED)


def pages(evidence: Evidence) -> Steps:
    """Every page, index and constraint is what SQLite expects."""
    found = evidence.connection.rows(f"PRAGMA integrity_check({MOST_SAID})")
    if found != [("ok",)]:
        yield Problem(f"SQLite finds {len(found):,} faults", "; ".join(str(row[0]) for row in found)[:400], DAMAGED)
