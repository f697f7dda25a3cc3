"""`mnemonctl doctor`: check the data directory, the daemon, its stores and agents' programs; `--salvage` a store.

A running daemon verifies its own stores; without one they are read here. Checks change nothing.
"""

from __future__ import annotations

import os
import shlex
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Final

import msgspec

from mnemonctl import daemon, fast, files, keys, rpc, service
from mnemonctl.daemon import Running
from mnemonctl.setup import check as setup_check
from mnemonctl.setup.environment import SetupEnvironment
from mnemond import encryption
from mnemond.api.admin import check_view
from mnemond.api.types_daemon import CheckView, CliRunResult, DoctorResult, ProblemView, SalvageResult, VerifyResult
from mnemond.api.types_sync import SyncStatusResult
from mnemond.cli.admin import DoctorOptions, render_doctor, render_salvage
from mnemond.cli.grammar import Output
from mnemond.config import loading
from mnemond.config.loading import FILE, Sources
from mnemond.config.regular_files import open_regular, read_regular
from mnemond.errors import INVALID_PARAMS, NOT_FOUND, STORAGE, MnemonError
from mnemond.store import registry
from mnemond.store.backups import DAMAGED, BackupDirectory, drafts, examine
from mnemond.store.checksums import reason
from mnemond.store.connection import Connection, SqliteError, check_sqlite_version
from mnemond.store.files import make_directory
from mnemond.store.health import BALLAST_BYTES, BALLAST_FILE, MARGIN_BYTES
from mnemond.store.registry import ActiveName
from mnemond.store.salvage import Salvaged, salvage
from mnemond.store.schema import VERSION
from mnemond.store.verify import verify_closed
from mnemond.wire.listener import lock, open_data_dir
from mnemond.wire.params import plural

PROBLEM_FOUND: Final = 1
"""Exit status if a check found a problem, or a salvage could not read everything."""

DATABASE: Final = "mnemon.db"


class Facts(msgspec.Struct, frozen=True):
    """The data directory. `running` is the daemon that answered, `silent` why none did although there is a socket."""

    directory: Path
    environ: Mapping[str, str]
    running: Running | None
    silent: MnemonError | None


def run(directory: Path, options: DoctorOptions, output: Output, environ: Mapping[str, str]) -> CliRunResult:
    """Check everything, or salvage a store. Raises MnemonError for an invalid name of a store."""
    store = None if options.store is None else registry.check_name(options.store)
    if options.salvage:
        from_environment = environ.get("MNEMON_STORE") or None
        chosen = store or (None if from_environment is None else registry.check_name(from_environment))
        return run_salvage(directory, chosen or _active(directory), output)
    running, checks = None, [_not_there(directory)]
    if directory.is_dir():
        facts = _facts(directory, environ)
        running = facts.running
        checks = [check(facts) for check in CHECKS]
        if running is None:
            checks.append(note("daemon", "none answers: its memory was not compared with the databases"))
        for name in _all_stores(facts) if store is None else [store]:
            checks += _check_store(facts, name, full=options.full)
        read_with = () if options.identity is None else keys.identities(options.identity)
        checks += _check_copies(facts.directory, store, full=options.full, identities=read_with)
    seen = None if running is None else {name: each.last_event_at for name, each in running.hosts.items()}
    agents = setup_check.Agents()
    if environ.get("HOME"):
        agents = setup_check.check_agents(SetupEnvironment.of_user(directory, environ), seen)
    checks += agents.checks
    result = DoctorResult(
        ok=all(each.ok for each in checks),
        problems=sum(max(1, len(each.problems)) for each in checks if not each.ok),
        notes=sum(each.state == "note" for each in checks),
        checks=checks,
        hosts=agents.hosts,
    )
    text = output.json(result) if output.form == "json" else render_doctor(result, output.style)
    return CliRunResult(0 if result.ok else PROBLEM_FOUND, False, text, "")


def _facts(directory: Path, environ: Mapping[str, str]) -> Facts:
    try:
        return Facts(directory, environ, daemon.probe(directory), None)
    except MnemonError as error:
        return Facts(directory, environ, None, error)


def _not_there(directory: Path) -> CheckView:
    nearest = next(path for path in directory.parents if path.exists())
    if not os.access(nearest, os.W_OK):
        what = f"{directory} is not there, and cannot be made in {nearest}"
        return problem("data_dir", what, nearest, "make that writable, or choose another: --data-dir, MNEMON_DATA_DIR")
    return note("data_dir", f"{directory} is not there yet: nothing was ever stored in it")


def _active(directory: Path) -> str:
    return ActiveName(directory, lambda _: None).resolve()[0]


def active_store(facts: Facts) -> CheckView:
    """The file that names the active store is one."""
    try:
        return fine("active", f"the active store is {_active(facts.directory)}")
    except MnemonError as error:
        return problem("active", error.message, facts.directory / "active", error.hint)


def _all_stores(facts: Facts) -> list[str]:
    """Names of the stores that have a file, or that the daemon has open, and of the active one."""
    found = {path.parent.name for path in facts.directory.glob(f"data/*/{DATABASE}")}
    with suppress(MnemonError):
        found.add(_active(facts.directory))
    if facts.running is not None:
        with suppress(MnemonError):
            found |= {each.name for each in rpc.call(facts.directory, "store.list", {}, _Stores).stores}
    return sorted(filter(registry.is_valid_name, found))


def fine(name: str, detail: str) -> CheckView:
    return CheckView(name=name, ok=True, state="ok", detail=detail)


def note(name: str, detail: str) -> CheckView:
    """Return a check that found something to know, which is no problem."""
    return CheckView(name=name, ok=True, state="note", detail=detail)


def problem(name: str, what: str, where: object, next_: str | None, store: str | None = None) -> CheckView:
    """Return a check that found a problem. `next_` is what to do about it."""
    found = ProblemView(what, str(where), next_ or "see: mnemonctl logs")
    return CheckView(name=name, ok=False, state="problem", detail=what, problems=[found], store=store)


# ------------------------------------------------------------------ directory and files

MAX_ENTRIES: Final = 20_000
"""Files looked at: a data directory has some dozens."""

SHOWN: Final = 5
"""Files with the same problem that are named."""


def data_dir(facts: Facts) -> CheckView:
    """The directory belongs to this user alone."""
    status, path = os.lstat(facts.directory), facts.directory
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        return problem("data_dir", "the data directory is a symbolic link", path, "name the real place")
    if status.st_uid != os.geteuid():
        return problem("data_dir", f"it belongs to user {status.st_uid}", path, "choose a directory of your own")
    if mode & 0o077:
        return problem("data_dir", f"others have rights to it: mode {mode:04o}", path, f"chmod 700 {path}")
    return fine("data_dir", f"{path}, mode {mode:04o}")


def writable(facts: Facts) -> CheckView:
    """The daemon can write in the directory, and every store."""
    stores = sorted(facts.directory.glob(f"data/*/{DATABASE}"))
    beside = (facts.directory / name for name in ("data", "log", "backups"))
    places = [facts.directory, *beside, *(each.parent for each in stores), *stores]
    locked = [str(path) for path in places if path.exists() and not os.access(path, os.W_OK)]
    if not locked:
        return fine("writable", f"{len(stores):,} stores, and what is beside them")
    what = "it cannot be written: nothing can be remembered; what is there can be read"
    return problem("writable", what, _some(locked), f"chmod u+w {shlex.quote(locked[0])}; or remount its file system")


def private_files(facts: Facts) -> CheckView:
    """Everything in it belongs to this user alone; settings hold no memory and may be readable for others."""
    foreign: list[str] = []
    open_: list[str] = []
    count = 0
    for path, status in _entries(facts.directory):
        count += 1
        if status.st_uid != os.geteuid() or stat.S_ISLNK(status.st_mode):
            foreign.append(str(path))
        elif stat.S_IMODE(status.st_mode) & (0o022 if path.name == FILE else 0o077):
            open_.append(str(path))
    problems = []
    if foreign:
        problems.append(ProblemView("files are links or belong to another user", _some(foreign), "look at them"))
    if open_:
        problems.append(ProblemView("others have rights to files", _some(open_), "chmod go-rwx on them"))
    if not problems:
        return fine("private_files", f"{count:,} files and directories, all private")
    return CheckView(name="private_files", ok=False, state="problem", detail=problems[0].what, problems=problems)


def _entries(directory: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield all files but the databases, which the checks of a store cover."""
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
                continue  # it was removed meanwhile
            if entry.is_dir(follow_symlinks=False):
                waiting.append(Path(entry.path))


def _some(paths: list[str]) -> str:
    more = f" and {len(paths) - SHOWN:,} more" if len(paths) > SHOWN else ""
    return ", ".join(paths[:SHOWN]) + more


# ------------------------------------------------------------------ daemon and service


def socket(facts: Facts) -> CheckView:
    """The process that holds the lock answers on the socket."""
    path, name = rpc.socket_path(facts.directory), "socket"
    if facts.silent is not None:
        return problem(name, facts.silent.message, path, facts.silent.hint or "mnemonctl daemon restart")
    there = os.path.lexists(path)
    if there and not stat.S_ISSOCK(os.lstat(path).st_mode):
        return problem(name, "the file at the path of the socket is none", path, "remove it")
    if facts.running is not None:
        return fine(name, f"mnemond (pid {facts.running.pid}) answers at {path}")
    try:
        free = files.is_unlocked(facts.directory / "lock")
    except MnemonError as error:
        return problem(name, error.message, facts.directory / "lock", error.hint)
    if not free:
        hint = f"wait a moment if it is starting; else: kill {_lock_holder(facts.directory)}"
        return problem(name, "a process holds the lock, but none listens", facts.directory / "lock", hint)
    if there:
        return note(name, f"{path} was left by a daemon that crashed; the next one replaces it")
    return fine(name, "no daemon runs; it starts when it is needed")


def _lock_holder(directory: Path) -> str:
    try:
        return read_regular(directory / "lock", 20).decode("ascii", "replace")[:20].strip() or "its process"
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
        return problem(name, f"SQLite does not work: {reason(error)}", "this installation", "install mnemond again")
    detail = f"mnemonctl {fast.VERSION}, schema {VERSION}, SQLite {row[0] if row else 'unknown'}"
    running = facts.running
    if running is None:
        return fine(name, detail)
    detail += f", mnemond {running.version}"
    if running.protocol != fast.PROTOCOL:
        what = f"the daemon speaks protocol {running.protocol}, this client {fast.PROTOCOL}"
        return problem(name, what, f"pid {running.pid}", "mnemonctl daemon restart")
    if running.version != fast.VERSION:
        return note(name, f"{detail}: not of one release; mnemonctl daemon restart")
    return fine(name, detail)


def service_files(facts: Facts) -> CheckView:
    """If a service is installed, its files are unchanged and its supervisor runs it."""
    name = "service"
    supervisor = service.platform_supervisor(facts.directory)
    if not supervisor.installed():
        return fine(name, "none is installed; without one commands start the daemon (mnemonctl daemon install)")
    try:
        changed = [f"{file.path} is {state}" for file in supervisor.files() if (state := file.state()) != "same"]
    except MnemonError as error:
        return problem(name, error.message, supervisor.unit, error.hint)
    if changed:
        return note(name, f"{', '.join(changed)}: mnemonctl daemon install writes them anew")
    if (error_ := supervisor.unavailable()) is not None:
        return note(name, f"{supervisor.unit} is installed, but {error_.message}")
    if not supervisor.active():
        return note(name, f"{supervisor.unit} is installed and does not run: mnemonctl daemon start")
    return fine(name, f"{supervisor.unit} of {supervisor.name} runs")


# ------------------------------------------------------------------ settings and disk

LITTLE: Final = 64 << 20
"""Bytes below which little room is noted: the largest write-ahead log of a store."""

PURGE_SIZES: Final = 2
"""A purge writes a store's file anew, beside the old one and the log (docs/decisions/0010)."""


def settings(facts: Facts) -> CheckView:
    """The daemon and every store can be started with their settings."""
    try:
        layers = loading.read(Sources(facts.directory / FILE, facts.environ))
        loading.resolve(layers)
        of_stores = sorted(facts.directory.glob(f"data/*/{FILE}"))
        for path in of_stores:
            loading.resolve(layers, path)
    except MnemonError as error:
        return problem("config", error.message, facts.directory / FILE, error.hint)
    count = sum(path.exists() for path in (facts.directory / FILE, *of_stores))
    return fine("config", f"{count} files, all fine" if count else "no file; the defaults apply")


def disk_space(facts: Facts) -> CheckView:
    """There is room to write, and to write the largest store anew."""
    try:
        status = os.statvfs(facts.directory)
    except OSError as error:
        return problem("disk", f"its room is unknown: {error.strerror}", facts.directory, "look at the disk")
    free = status.f_bavail * status.f_frsize
    largest = max((_size(path) for path in facts.directory.glob(f"data/*/{DATABASE}")), default=0)
    detail = f"{free >> 20:,} MiB free"
    kept = _size(facts.directory / BALLAST_FILE)
    if free + kept < BALLAST_BYTES + MARGIN_BYTES or (status.f_files and not status.f_favail):
        return problem(
            "disk", f"{detail}: the disk is full", facts.directory, "make room; memories are refused without"
        )
    if free < LITTLE:
        return note("disk", f"{detail}: memories still fit, but make room soon")
    if free < PURGE_SIZES * largest:
        return note("disk", f"{detail}; a purge of the largest store ({largest >> 20:,} MiB) needs twice its size")
    return fine("disk", detail)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


CHECKS: Final[tuple[Callable[[Facts], CheckView], ...]] = (
    data_dir, writable, private_files, active_store, socket, versions, service_files, settings, disk_space,
)  # fmt: skip
"""Checks of everything around the stores. None of them raises."""


# ------------------------------------------------------------------ one store


class _Job(msgspec.Struct):
    name: str
    error: str | None = None


class _Jobs(msgspec.Struct):
    jobs: list[_Job]


class _Named(msgspec.Struct):
    name: str


class _Stores(msgspec.Struct):
    stores: list[_Named]


def _check_store(facts: Facts, name: str, *, full: bool) -> list[CheckView]:
    path = _database(facts.directory, name)
    try:
        if facts.running is None:
            if not path.is_file():
                return [_no_store(name, path)]
            findings = verify_closed(path, "full" if full else "fast", time.time_ns() // 1000)
            return [check_view(name, finding) for finding in findings]
        deadline = fast.LONG_DEADLINE_S if full else fast.DEADLINE_S
        verified = rpc.call(facts.directory, "verify", {"store": name, "full": full}, VerifyResult, deadline)
        return [*verified.checks, *([_check_jobs(facts, name), *_check_syncs(facts, name)] if verified.open else [])]
    except MnemonError as error:
        if error.kind is NOT_FOUND and not path.is_file():
            return [_no_store(name, path)]
        return [problem("store", error.message, path, error.hint, store=name)]


def _check_syncs(facts: Facts, name: str) -> list[CheckView]:
    """Look whether the last sync with each directory and remote succeeded; nothing of a store that is not synced.
    Raises MnemonError."""
    found = rpc.call(facts.directory, "sync.status", {"store": name, "compare": False}, SyncStatusResult)
    problems = [
        ProblemView(f"the sync with it failed {plural(it.count, 'time')} in a row: {it.why}", each.label, _AGAIN)
        for each in found.targets
        if (it := each.failed) is not None
    ]
    if problems:
        return [
            CheckView(name="sync", ok=False, state="problem", detail=problems[0].what, problems=problems, store=name)
        ]
    if not found.targets:
        return []
    check = fine("sync", f"the last sync with {len(found.targets):,} of its directories and remotes succeeded")
    return [msgspec.structs.replace(check, store=name)]


_AGAIN: Final = "mnemonctl sync status names it; repeat the sync at a terminal"


def _no_store(name: str, path: Path) -> CheckView:
    """Return the check of a store without a file that no daemon has open."""
    if path.parent.is_dir() and any(path.parent.iterdir()):
        next_ = f"mnemonctl backup restore BACKUP puts an earlier copy there; mnemonctl store remove {name} removes it"
        return problem("store", f'the store "{name}" has no database', path, next_, store=name)
    what = f'there is no store "{name}" yet'
    return note("store", what) if name == registry.DEFAULT else problem("store", what, path, "mnemonctl store list")


def _check_copies(
    directory: Path, store: str | None, *, full: bool, identities: Sequence[encryption.Identity] = ()
) -> list[CheckView]:
    """Check the backups of a store, or of all; what is kept of damaged stores, and left of interrupted copies. With
    `identities` encrypted backups are decrypted as well."""
    checks = []
    if full:
        known = BackupDirectory(_real(directory), keep=1)
        backups = known.all() if store is None else known.of(store)
        wrong = [(each, found) for each in backups if (found := examine(each, identities)) is not None]
        next_ = "do not rely on it; mnemonctl backup makes another one"
        problems = [ProblemView(f"{each.name} ({each.store}): {found}", each.path, next_) for each, found in wrong]
        others = known.no_files(store)
        gone = "it is no backup; look at it, then remove it; mnemonctl backup makes another one"
        problems += [
            ProblemView(f"{path.stem} ({path.parent.name}): {_kind_of(path)}", str(path), gone) for path in others
        ]
        if problems:
            what = f"{len(problems)} of {len(backups) + len(others)} backups are not whole"
            checks.append(CheckView(name="backups", ok=False, state="problem", detail=what, problems=problems))
        else:
            checks.append(fine("backups", f"{len(backups)} backups, all whole"))
    if kept := sorted(directory.glob(f"{DAMAGED}/*/*")):
        where = ", ".join(map(str, kept[:SHOWN]))
        checks.append(
            note("damaged", f"{len(kept)} stores that could not be read are kept; remove them by hand: {where}")
        )
    if left := drafts(directory):
        what = f"{len(left)} incomplete copies; those of no running backup go when the daemon starts again: {left[0]}"
        checks.append(note("leftovers", what))
    return checks


def _kind_of(path: Path) -> str:
    try:
        os.close(open_regular(path, os.O_RDONLY))
    except OSError as error:
        return error.strerror or str(error)
    return "it is a file again"


def _check_jobs(facts: Facts, name: str) -> CheckView:
    jobs = rpc.call(facts.directory, "jobs.list", {"store": name}, _Jobs).jobs
    failed = [f"{job.name}: {job.error}" for job in jobs if job.error is not None]
    if failed:
        return problem("jobs", "; ".join(failed), f"{len(failed)} of {len(jobs)} jobs", "mnemonctl jobs list", name)
    return msgspec.structs.replace(fine("jobs", f"{len(jobs)} jobs, none failed"), store=name)


def _real(directory: Path) -> Path:
    return directory.parent.resolve() / directory.name  # as the daemon does: SQLite follows no link


def _database(directory: Path, store: str) -> Path:
    return _real(directory) / "data" / store / DATABASE


# ------------------------------------------------------------------ salvage

MAX_COPIES: Final = 3
"""Salvaged copies of one store: repeating it must not fill the disk."""

PART_OF_NAME: Final = 50
"""Characters of a store's name that its copy keeps; a name has 64 at most."""


def run_salvage(directory: Path, store: str, output: Output) -> CliRunResult:
    """Copy what can be read of a damaged store into a new store. The daemon's lock is held: none may run meanwhile.

    Raises MnemonError: NOT_FOUND, LOCKED while a daemon runs, STORAGE, INVALID_PARAMS.
    """
    source = _database(directory, store)
    if not source.is_file():
        raise MnemonError(NOT_FOUND, f'there is no store "{store}"', hint="`mnemonctl store list` shows all")
    with ExitStack() as held:
        data_dir = open_data_dir(_real(directory))
        held.callback(data_dir.close)
        held.callback(lock(data_dir).close)
        new = _free_name(directory, store)
        salvaged = _salvage(source, _database(directory, new))
    changed = [table for table in salvaged.tables if table.doubtful or table.left_out or table.gaps or table.mended]
    result = SalvageResult(
        store=new,
        of=store,
        path=str(salvaged.path),
        memories=salvaged.facts.memories,
        retired=salvaged.facts.retired,
        whole=salvaged.is_whole,
        tables=changed,
        recovered=salvaged.recovered,
        mended=salvaged.mended,
        left_out=None if salvaged.left_out is None else str(salvaged.left_out),
        problems=salvaged.problems,
    )
    text = output.json(result) if output.form == "json" else render_salvage(result, output.style)
    return CliRunResult(0 if result.whole else PROBLEM_FOUND, False, text, "")


def _free_name(directory: Path, store: str) -> str:
    base = f"{store[:PART_OF_NAME]}-salvaged"
    for name in (base, *(f"{base}-{number}" for number in range(2, MAX_COPIES + 1))):
        if not _database(directory, name).parent.exists():
            return name
    raise MnemonError(
        INVALID_PARAMS,
        f"{MAX_COPIES} stores were salvaged of {store} already, such as {base}",
        hint=f"look at them, or remove one: mnemonctl store remove {base} --yes",
        outcome="rejected",
    )


def _salvage(source: Path, target: Path) -> Salvaged:
    try:
        make_directory(target.parent)
        return salvage(source, target, time.time_ns() // 1000)
    except (SqliteError, OSError, MnemonError) as error:
        with suppress(OSError):
            target.parent.rmdir()
        if isinstance(error, MnemonError):
            raise
        hint = "look at the disk: space for three copies, permissions"
        raise MnemonError(STORAGE, f"the copy cannot be made: {reason(error)}", hint=hint) from error
