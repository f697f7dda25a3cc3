"""`mnemonctl doctor`: asks the daemon about its stores if one runs, and looks at files itself."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from mnemonctl import daemon, fast, files, rpc
from mnemonctl.commands import setup_environment
from mnemonctl.daemon import Running
from mnemonctl.service.supervisors import Supervisor, of_this_system
from mnemonctl.setup import check
from mnemonctl.setup.check import Agents
from mnemond.api.admin import view
from mnemond.api.types_admin import CheckView, CliRunResult, DoctorResult, ProblemView, VerifyResult
from mnemond.cli.admin import render_doctor
from mnemond.cli.grammar import Output
from mnemond.config import loading
from mnemond.config.loading import FILE, Sources
from mnemond.errors import MnemonError
from mnemond.store import registry
from mnemond.store.connection import Connection, SqliteError, check_sqlite_version
from mnemond.store.registry import ActiveName
from mnemond.store.schema import current_version
from mnemond.store.verify import closed

# What `mnemonctl doctor` looks at around the stores: directory, files, socket, versions, service, settings, disk.
#
# Every check looks, and changes nothing; none of them raises.


MAX_ENTRIES: Final = 20_000
"""Files looked at: a data directory has some dozens."""

MIN_FREE: Final = 64 << 20
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
    waiting, left = [directory], MAX_ENTRIES
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
        layers = loading.read(Sources(facts.directory / FILE, facts.environ))
        loading.resolve(layers)
        own = sorted(facts.directory.glob(f"data/*/{FILE}"))
        for path in own:
            loading.resolve(layers, path)
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
    if free < MIN_FREE or (found.f_files and not found.f_favail):
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


UNSOUND = 1
"""Exit status when there is a problem."""


class Options(msgspec.Struct, frozen=True):
    """What was typed."""

    store: str | None = None
    all: bool = False
    full: bool = False
    salvage: bool = False


class _Job(msgspec.Struct):
    name: str
    error: str | None = None


class _Jobs(msgspec.Struct):
    jobs: list[_Job]


def run(directory: Path, options: Options, output: Output, environ: Mapping[str, str]) -> CliRunResult:
    """Look at everything; exit status 1 when there is a problem. Raises MnemonError for a name that is none."""
    wanted = options.store or environ.get("MNEMON_STORE") or None
    chosen = None if wanted is None else registry.check(wanted)
    if options.salvage:
        from mnemonctl import salvage

        return salvage.run(directory, chosen or ActiveName(directory, lambda _: None).resolve()[0], output)
    facts = facts_of(directory, environ) if directory.is_dir() else None
    checks = _nothing_there(directory) if facts is None else examined(facts, chosen, options)
    running = None if facts is None else facts.running
    seen = None if running is None else {name: each.last_event_at for name, each in running.hosts.items()}
    agents = check.of(setup_environment(directory, environ), seen) if environ.get("HOME") else Agents()
    checks += agents.checks
    result = DoctorResult(
        ok=all(each.ok for each in checks),
        problems=sum(max(1, len(each.problems)) for each in checks if not each.ok),
        notes=sum(each.state == "note" for each in checks),
        checks=checks,
        hosts=agents.hosts,
    )
    text = output.json(result) if output.form == "json" else render_doctor(result, output.style)
    return CliRunResult(0 if result.ok else UNSOUND, False, text, "")


def _nothing_there(directory: Path) -> list[CheckView]:
    return [note("data_dir", f"{directory} is not there yet: nothing was ever stored in it")]


def examined(facts: Facts, store: str | None, options: Options) -> list[CheckView]:
    """Every check, those of the surroundings first."""
    found = [check(facts) for check in CHECKS]
    if facts.running is None:
        found.append(note("daemon", "none answers: what it would have in memory was not compared with the database"))
    for name in _stores(facts.directory, store, everyone=options.all):
        found += _store(facts, name, full=options.full)
    return found


def _stores(directory: Path, store: str | None, *, everyone: bool) -> list[str]:
    if everyone:
        found = (path.parent.name for path in directory.glob(f"data/*/{DATABASE}"))
        return sorted(filter(registry.is_valid, found))
    return [store or ActiveName(directory, lambda _: None).resolve()[0]]


def _store(facts: Facts, name: str, *, full: bool) -> list[CheckView]:
    there = facts.directory.parent.resolve() / facts.directory.name  # as the daemon does: SQLite follows no link
    path = there / "data" / name / DATABASE
    if not path.is_file():
        said = f'there is no store "{name}" yet'
        return [
            note("store", said) if name == registry.DEFAULT else problem("store", said, path, "mnemonctl store list")
        ]
    try:
        return _by_itself(path, name, full=full) if facts.running is None else _asked(facts, name, full=full)
    except MnemonError as error:
        return [problem("store", error.message, path, error.hint, store=name)]


def _by_itself(path: Path, name: str, *, full: bool) -> list[CheckView]:
    found = closed(path, "full" if full else "fast", time.time_ns() // 1000)
    return [view(name, finding) for finding in found]


def _asked(facts: Facts, name: str, *, full: bool) -> list[CheckView]:
    deadline = fast.PATIENT_S if full else fast.DEADLINE_S
    try:
        found = rpc.call(facts.directory, "verify", {"store": name, "full": full}, deadline, VerifyResult)
        return [*found.checks, *([_jobs(facts, name)] if found.open else [])]
    except OSError as error:
        raise rpc.unreachable(facts.directory, error) from None
    except fast.NoAnswer as error:
        raise rpc.silent(facts.directory, error, "verify") from None


def _jobs(facts: Facts, name: str) -> CheckView:
    listed = rpc.call(facts.directory, "jobs.list", {"store": name}, fast.DEADLINE_S, _Jobs).jobs
    failed = [f"{each.name}: {each.error}" for each in listed if each.error is not None]
    if failed:
        return problem("jobs", "; ".join(failed), f"{len(failed)} of {len(listed)} jobs", "mnemonctl jobs list", name)
    return msgspec.structs.replace(fine("jobs", f"{len(listed)} jobs, none failed"), store=name)
