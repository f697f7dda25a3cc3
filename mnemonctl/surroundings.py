"""What `mnemonctl doctor` looks at around the stores: directory, files, socket, versions, service, settings, disk.

Every check looks, and changes nothing; none of them raises.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from mnemonctl import daemon, fast, files, rpc
from mnemonctl.daemon import Running
from mnemonctl.service.supervised import of_this_system
from mnemonctl.service.supervisor import Supervisor
from mnemond import config_sources
from mnemond.config_sources import FILE, Sources
from mnemond.errors import MnemonError
from mnemond.protocol.doctor import CheckView, ProblemView
from mnemond.store.connection import Connection, SqliteError, check_sqlite_version
from mnemond.store.migrate import current_version

MOST_ENTRIES: Final = 20_000
"""Files looked at: a data directory has some dozens."""

LEAST_FREE: Final = 64 << 20
"""Bytes: as much as the write-ahead log of a store may have (reliability, section 7)."""

ROOM: Final = 2
"""A purge writes a store's file anew, beside the old one and the log (docs/decisions/0010)."""

DATABASE: Final = "mnemon.db"
SHOWN: Final = 5
"""Files of one kind of fault that are named."""


class Facts(msgspec.Struct, frozen=True):
    """Where to look. `running` is the daemon that answered, `silent` why none did although something is there."""

    directory: Path
    environ: Mapping[str, str]
    running: Running | None
    silent: MnemonError | None


def facts_of(directory: Path, environ: Mapping[str, str]) -> Facts:
    """Ask who answers."""
    try:
        return Facts(directory, environ, daemon.probe(directory), None)
    except MnemonError as error:
        return Facts(directory, environ, None, error)


def fine(name: str, detail: str) -> CheckView:
    """Nothing to say."""
    return CheckView(name=name, ok=True, state="ok", detail=detail)


def note(name: str, detail: str) -> CheckView:
    """Something to know."""
    return CheckView(name=name, ok=True, state="note", detail=detail)


def problem(name: str, what: str, where: object, next_: str | None, store: str | None = None) -> CheckView:
    """Something to mend."""
    found = ProblemView(what, str(where), next_ or "see: mnemonctl logs")
    return CheckView(name=name, ok=False, state="problem", detail=what, problems=[found], store=store)


# ------------------------------------------------------------------ directory and files


def data_dir(facts: Facts) -> CheckView:
    """The directory is this user's alone."""
    found, path = os.lstat(facts.directory), facts.directory
    mode = stat.S_IMODE(found.st_mode)
    if stat.S_ISLNK(found.st_mode):
        return problem("data_dir", "the data directory is a symbolic link", path, "name the real place")
    if found.st_uid != os.geteuid():
        return problem("data_dir", f"it belongs to user {found.st_uid}", path, "choose a directory of your own")
    if mode & 0o077:
        return problem("data_dir", f"others have rights to it: mode {mode:04o}", path, f"chmod 700 {path}")
    return fine("data_dir", f"{path}, mode {mode:04o}")


def private_files(facts: Facts) -> CheckView:
    """Whatever is in it is this user's alone; of settings, which hold no memory, nobody else may write any."""
    foreign: list[str] = []
    open_: list[str] = []
    count = 0
    for path, found in _entries(facts.directory):
        count += 1
        if found.st_uid != os.geteuid() or stat.S_ISLNK(found.st_mode):
            foreign.append(str(path))
        elif stat.S_IMODE(found.st_mode) & (0o022 if path.name == FILE else 0o077):
            open_.append(str(path))
    problems = []
    if foreign:
        problems.append(ProblemView("files are links or belong to somebody else", _some(foreign), "look at them"))
    if open_:
        problems.append(ProblemView("others have rights to files", _some(open_), "chmod go-rwx on them"))
    if not problems:
        return fine("private_files", f"{count:,} files and directories, all private")
    return CheckView(name="private_files", ok=False, state="problem", detail=problems[0].what, problems=problems)


def _entries(directory: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Everything but the databases, which the checks of a store look at."""
    waiting, left = [directory], MOST_ENTRIES
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:
            continue
        for entry in entries:
            left -= 1
            if left < 0:
                return
            if entry.name.startswith(DATABASE) and not entry.name.startswith(f"{DATABASE}.bak"):
                continue
            try:
                yield Path(entry.path), entry.stat(follow_symlinks=False)
            except OSError:
                continue  # gone meanwhile
            if entry.is_dir(follow_symlinks=False):
                waiting.append(Path(entry.path))


def _some(paths: list[str]) -> str:
    more = f" and {len(paths) - SHOWN:,} more" if len(paths) > SHOWN else ""
    return ", ".join(paths[:SHOWN]) + more


# ------------------------------------------------------------------ daemon and service


def socket(facts: Facts) -> CheckView:
    """Who holds the lock listens on the socket; nothing was left lying about."""
    path, name = rpc.socket_path(facts.directory), "socket"
    if facts.silent is not None:
        return problem(name, facts.silent.message, path, facts.silent.hint or "mnemonctl daemon restart")
    there = os.path.lexists(path)
    if there and not stat.S_ISSOCK(os.lstat(path).st_mode):
        return problem(name, "what stands in the socket's place is none", path, "remove it")
    if facts.running is not None:
        return fine(name, f"mnemond (pid {facts.running.pid}) answers at {path}")
    try:
        free = files.is_unlocked(facts.directory / "lock")
    except MnemonError as error:
        return problem(name, error.message, facts.directory / "lock", error.hint)
    if not free:
        hint = f"wait a moment if it is starting; else: kill {_holder(facts.directory)}"
        return problem(name, "a process holds the lock, but nobody listens", facts.directory / "lock", hint)
    if there:
        return note(name, f"{path} was left by a daemon that ended at once; the next one replaces it")
    return fine(name, "no daemon runs; it starts when it is needed")


def _holder(directory: Path) -> str:
    try:
        return (directory / "lock").read_text("ascii", "replace")[:20].strip() or "its process"
    except OSError:
        return "its process"


def versions(facts: Facts) -> CheckView:
    """Client, daemon, protocol, schema and SQLite fit together."""
    name = "versions"
    try:
        check_sqlite_version()
        memory = Connection(Path(":memory:"))
        row = memory.row("SELECT sqlite_version()")
        memory.close()
    except MnemonError as error:
        return problem(name, error.message, "this installation", error.hint)
    except SqliteError as error:
        return problem(name, f"SQLite does not work: {error}", "this installation", "install mnemond again")
    here = f"mnemonctl {fast.VERSION}, schema {current_version()}, SQLite {row[0] if row else 'unknown'}"
    if facts.running is None:
        return fine(name, here)
    said = f"{here}, mnemond {facts.running.version}"
    if facts.running.protocol != fast.PROTOCOL:
        what = f"the daemon speaks protocol {facts.running.protocol}, this client {fast.PROTOCOL}"
        return problem(name, what, f"pid {facts.running.pid}", "mnemonctl daemon restart")
    if facts.running.version != fast.VERSION:
        return note(name, f"{said}: not of one release; mnemonctl daemon restart")
    return fine(name, said)


def service(facts: Facts) -> CheckView:
    """If a service is installed, its files are ours and somebody looks after it."""
    name = "service"
    supervisor = of_this_system(facts.directory)
    if not supervisor.installed():
        return fine(name, "none is installed; without one commands start the daemon (mnemonctl daemon install)")
    try:
        odd = _odd_files(supervisor)
    except MnemonError as error:
        return problem(name, error.message, supervisor.unit, error.hint)
    if odd:
        return note(name, f"{odd}: mnemonctl daemon install writes them anew")
    if (missing := supervisor.missing()) is not None:
        return note(name, f"{supervisor.unit} is installed, but {missing.message}")
    if not supervisor.active():
        return note(name, f"{supervisor.unit} is installed and does not run: mnemonctl daemon start")
    return fine(name, f"{supervisor.unit} of {supervisor.name} runs")


def _odd_files(supervisor: Supervisor) -> str:
    states = {file.path: file.state() for file in supervisor.files()}
    return ", ".join(f"{path} is {state}" for path, state in states.items() if state != "same")


# ------------------------------------------------------------------ settings and room


def settings(facts: Facts) -> CheckView:
    """A daemon could start with them, and so could every store."""
    try:
        layers = config_sources.read(Sources(facts.directory / FILE, facts.environ))
        config_sources.resolve(layers)
        own = sorted(facts.directory.glob(f"data/*/{FILE}"))
        for path in own:
            config_sources.resolve(layers, path)
    except MnemonError as error:
        return problem("config", error.message, facts.directory / FILE, error.hint)
    read = [path for path in (facts.directory / FILE, *own) if path.exists()]
    return fine("config", f"{len(read)} files, all fine" if read else "no file, every default counts")


def room(facts: Facts) -> CheckView:
    """There is room to write, and to write the largest store anew."""
    try:
        found = os.statvfs(facts.directory)
    except OSError as error:
        return problem("disk", f"its room is unknown: {error.strerror}", facts.directory, "look at the disk")
    free = found.f_bavail * found.f_frsize
    largest = max((_size(path) for path in facts.directory.glob(f"data/*/{DATABASE}")), default=0)
    said = f"{free >> 20:,} MiB free"
    if free < LEAST_FREE or (found.f_files and not found.f_favail):
        return problem("disk", f"{said}: nothing may fit any more", facts.directory, "make room; writes fail without")
    if free < ROOM * largest:
        return note("disk", f"{said}; a purge of the largest store ({largest >> 20:,} MiB) needs twice its size")
    return fine("disk", said)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


CHECKS: Final[tuple[Callable[[Facts], CheckView], ...]] = (
    data_dir, private_files, socket, versions, service, settings, room,
)  # fmt: skip
