"""Starting, stopping and looking after the daemon, from outside."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from mnemonctl import fast, files, rpc
from mnemonctl.service import supervisors
from mnemond.api.types_admin import CliRunResult
from mnemond.cli.admin import duration
from mnemond.cli.grammar import Output
from mnemond.cli.output import one_line
from mnemond.errors import (
    BUSY,
    CONFIG,
    DATA_DIR,
    INTERNAL,
    LOCKED,
    STORAGE,
    UNAVAILABLE,
    UNREACHABLE,
    UNSUPPORTED,
    Kind,
    MnemonError,
)
from mnemond.wire.params import plural

# What a daemon that would not start had to say, as an error for people and programs.


MAX_PROBLEMS = 10
"""Problems that are shown; a configuration with more is another file."""

MAX_CHARACTERS = 500
"""Characters of one problem, or of a hint, that are shown."""

_PREFIX = "mnemond: "
"""How the daemon begins the line that says why it leaves; its hint follows, indented."""

_BY_STATUS = {kind.exit: kind for kind in (STORAGE, UNAVAILABLE, LOCKED)}


def of(headline: str, said: str, status: int, directory: Path, hint: str) -> MnemonError:
    """The error for a daemon that wrote `said` and left with `status`; `hint` is for one that gave none of its own.

    Its exit status is the daemon's, when that is one that a user can do something about, else that of UNREACHABLE.
    """
    config = directory / "config.toml"
    sentence, own_hint = _last_sentence(said)
    kind = _kind(status, sentence, config)
    if sentence is None or kind is UNREACHABLE:
        words = last_words(said)
        problems = [f"it left with exit status {status}" + (f"; its last words: {words}" if words else "")]
    else:
        problems = _problems(sentence, config)
    return MnemonError(kind, "\n  ".join([headline, *problems]), hint=own_hint or hint)


def last_words(said: str) -> str:
    """The last line that is not indented (a hint, a trace), harmless and shortened; empty when there is none."""
    lines = [line for line in said.splitlines() if line.strip()]
    told = [line for line in lines if not line[0].isspace()] or lines
    return _shown(told[-1]) if told else ""


def _last_sentence(said: str) -> tuple[str | None, str | None]:
    """Why the daemon left and what it advised; None for what it did not say."""
    lines = said.splitlines()
    starts = [at for at, line in enumerate(lines) if line.startswith(_PREFIX)]
    if not starts:
        return None, None
    following = lines[starts[-1] + 1 : starts[-1] + 2]
    hint = _shown(following[0]) if following and following[0].startswith("  ") else None
    return lines[starts[-1]].removeprefix(_PREFIX), hint


def _problems(sentence: str, config: Path) -> list[str]:
    """The sentence in its parts: complaints about the configuration each begin with the path of its file."""
    first, *others = sentence.split(f"; {config}:")
    parts = [_shown(part) for part in (first, *(f"{config}:{other}" for other in others))]
    more = len(parts) - MAX_PROBLEMS
    return parts if more <= 0 else [*parts[:MAX_PROBLEMS], f"… and {more} more"]


def _kind(status: int, sentence: str | None, config: Path) -> Kind:
    if status == CONFIG.exit and sentence is not None:
        if str(config) in sentence:
            return CONFIG
        return DATA_DIR if str(config.parent) in sentence else UNSUPPORTED
    return _BY_STATUS.get(status, UNREACHABLE)


def _shown(text: str) -> str:
    return one_line(text.strip()[:MAX_CHARACTERS])


START_S = 10.0
"""Seconds a daemon may take until it answers; $MNEMON_START_WAIT or --wait change it. A first start compiles its
modules, which took 3.5 s on two busy cores; one that dies is noticed at once."""

STOP_S = 4.0
"""Seconds a daemon may take to leave: it finishes what it has received within 3."""

PROBE_S = 1.0
"""Seconds to wait for the answer to one `hello`."""

CHECK_S = 15.0
"""Seconds that checking the configuration may take: the start of a Python on a busy machine, and one small file."""

POLL_S = 0.01
"""Pause between two looks at something that is about to happen."""

REPLACE_EVERY_S = 60.0
"""Least time between two restarts of an outdated daemon: two clients must not fight over it."""

_SUPERVISION = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC")
"""Variables by which a service manager speaks to this process; the daemon we start is none of its business."""

T = TypeVar("T")


class Seen(msgspec.Struct, frozen=True):
    """When an agent's program called last, RFC 3339."""

    last_event_at: str


class Running(msgspec.Struct, frozen=True):
    """A daemon that answers. `hosts`: agents' programs that have called it, by name."""

    pid: int
    version: str
    protocol: int
    outdated: bool = False
    hosts: dict[str, Seen] = msgspec.field(default_factory=dict)


class Replaced(msgspec.Struct, frozen=True):
    """Versions of the daemon before and after a restart."""

    before: str
    after: str


class _Leaving(msgspec.Struct):
    pid: int


class _Named(msgspec.Struct):
    name: str


class _Stores(msgspec.Struct):
    stores: list[_Named]
    active: str


class _Uptime(msgspec.Struct):
    uptime_s: float


def start_wait(environ: Mapping[str, str]) -> float:
    """Seconds to wait for a daemon that is being started."""
    try:
        chosen = float(environ.get("MNEMON_START_WAIT", ""))
    except ValueError:
        return START_S
    return chosen if 0 < chosen <= 3600 else START_S


def probe(directory: Path, deadline: float = PROBE_S) -> Running | None:
    """Who answers, or None when nobody listens. Raises MnemonError for a socket that cannot be used or stays silent."""
    hello: dict[str, object] = {"client_version": fast.VERSION}
    try:
        return rpc.call(directory, "hello", hello, deadline, Running)
    except OSError as error:
        if error.errno in rpc.NOT_RUNNING:
            return None
        raise rpc.unreachable(directory, error) from None
    except fast.NoAnswer as error:
        raise MnemonError(UNREACHABLE, f"{error} (socket {rpc.socket_path(directory)})") from None


def _poll(look: Callable[[], T | None], seconds: float) -> T | None:
    """The first thing `look` finds, or None when the time is over."""
    ends = time.monotonic() + seconds
    while (found := look()) is None and time.monotonic() < ends:
        time.sleep(POLL_S)
    return found


# ------------------------------------------------------------------ start


@contextmanager
def starting(directory: Path, seconds: float) -> Iterator[None]:
    """Only one client starts or restarts the daemon at a time. Raises MnemonError when another takes too long."""
    files.make_private(directory)
    with files.private_file(directory / "start.lock") as descriptor:
        if not _poll(lambda: files.try_lock(descriptor) or None, seconds):
            raise MnemonError(BUSY, f"another mnemonctl has been starting mnemond for more than {seconds:g} s")
        yield


def start(directory: Path, wait: float = START_S) -> Running:
    """The running daemon, started if there was none. Raises MnemonError when it does not answer in time."""
    with starting(directory, wait + STOP_S):
        return _running_or_gone(directory) or launch(directory, wait)


def _running_or_gone(directory: Path) -> Running | None:
    """The daemon that answers; None once there is none. One that is just leaving is waited for."""

    def look() -> Running | bool | None:
        return probe(directory) or files.is_unlocked(directory / "lock") or None

    found = _poll(look, STOP_S)
    return found if isinstance(found, Running) else None


def command(directory: Path) -> list[str]:
    """The daemon's command line. -P: a directory called mnemond where the user stands is not the daemon."""
    return [sys.executable, "-P", "-m", "mnemond", "--data-dir", str(directory)]


def launch(directory: Path, wait: float) -> Running:
    """Start the daemon: as the service that it is, else by ourselves. The caller holds the start lock."""
    supervisor = supervisors.of(directory)
    if supervisor is None:
        return spawn(directory, wait)
    supervisor.start()
    if (running := _poll(lambda: _answering(directory), wait)) is None:
        message = f"{supervisor.name} has started {supervisor.unit}, but it did not answer within {wait:g} s"
        raise MnemonError(UNREACHABLE, message, hint="Its log: mnemonctl logs")
    return running


def spawn(directory: Path, wait: float) -> Running:
    """Start a daemon of its own session and wait until it answers. The caller holds the start lock."""
    environ = {name: value for name, value in os.environ.items() if name not in _SUPERVISION}
    with files.log_file(directory) as log:
        logged = os.fstat(log).st_size
        child = subprocess.Popen(  # noqa: S603 - our own interpreter, no shell, no words of the user but the directory
            command(directory), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True, close_fds=True, cwd="/", env=environ,
        )  # fmt: skip
    threading.Thread(target=child.wait, daemon=True).start()  # a client that lives on must not keep a zombie
    return _ready(directory, child, wait, logged)


def _ready(directory: Path, child: subprocess.Popen[bytes], wait: float, logged: int) -> Running:
    def look() -> Running | int | None:
        running = _answering(directory)
        if running is not None:
            return running
        return None if child.returncode == LOCKED.exit else child.returncode

    found = _poll(look, wait)
    if isinstance(found, Running):
        return found
    said, hint = files.logged(directory, logged), f"Its log: {files.log_path(directory)}"
    if isinstance(found, int):
        raise of("the daemon does not start:", said, found, directory, hint)
    if child.returncode == LOCKED.exit:
        message = f"another mnemond holds {directory / 'lock'} but does not answer on {rpc.socket_path(directory)}"
        raise MnemonError(LOCKED, message, hint=hint)
    words = last_words(said)
    message = f"mnemond (pid {child.pid}) did not answer within {wait:g} s"
    raise MnemonError(UNREACHABLE, message + (f"; its last words: {words}" if words else ""), hint=hint)


def _answering(directory: Path) -> Running | None:
    """Like `probe`, but a daemon that is still busy starting is not an error."""
    try:
        return probe(directory)
    except MnemonError as error:
        if error.kind is UNREACHABLE:
            return None
        raise


# ------------------------------------------------------------------ stop, restart


def stop(directory: Path) -> int | None:
    """Ask the daemon to leave and wait until it has. Returns its pid, or None when none ran."""
    try:
        pid = rpc.call(directory, "daemon.stop", {}, STOP_S, _Leaving).pid
    except OSError as error:
        if error.errno in rpc.NOT_RUNNING and files.is_unlocked(directory / "lock"):
            return None
        raise rpc.unreachable(directory, error) from None
    except fast.NoAnswer as error:
        raise MnemonError(UNREACHABLE, f"{error} when it was asked to stop") from None
    if _poll(lambda: files.is_unlocked(directory / "lock") or None, STOP_S) is None:
        message = f"mnemond (pid {pid}) was asked to stop but is still there after {STOP_S:g} s"
        raise MnemonError(
            UNREACHABLE, message, hint=f"Its log: {files.log_path(directory)}; as a last resort: kill {pid}"
        )
    return pid


def check(directory: Path) -> None:
    """Let a daemon that is not going to serve read the configuration. Raises MnemonError when it could not start."""
    line = [*command(directory), "--check-config"]
    try:
        done = subprocess.run(  # noqa: S603 - see `spawn`
            line, stdin=subprocess.DEVNULL, capture_output=True, cwd="/", timeout=CHECK_S, check=False
        )
    except subprocess.TimeoutExpired:
        message = f"mnemond did not check its configuration within {CHECK_S:g} s; nothing was stopped"
        raise MnemonError(UNREACHABLE, message, hint="Try again.") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace")
        headline = "the daemon would not start again; nothing was stopped:"
        raise of(headline, said, done.returncode, directory, "Mend that first.")


def restart(directory: Path, wait: float = START_S) -> Running:
    """Stop the daemon, if one runs, and start it again. One that could not start again is not stopped."""
    with starting(directory, wait + STOP_S):
        check(directory)
        stop(directory)
        return launch(directory, wait)


def replace_outdated(directory: Path) -> Replaced | None:
    """Restart a daemon that is older than this client: once, and not again within a minute. None when it was not done.

    A daemon of the same or a newer release is never touched.
    """
    if not files.claim_stamp(directory / "restart.stamp", REPLACE_EVERY_S):
        return None
    with starting(directory, START_S + STOP_S):
        running = probe(directory)
        if running is None or not running.outdated:
            return None
        check(directory)
        stop(directory)
        return Replaced(running.version, launch(directory, start_wait(os.environ)).version)


# ------------------------------------------------------------------ the commands


def run_daemon(name: str, directory: Path, wait: float, output: Output) -> CliRunResult:
    """`daemon start|stop|restart|status|run`. Raises MnemonError."""
    match name:
        case "daemon start":
            before = probe(directory, wait) if directory.is_dir() else None  # systemd may have to start it first
            running = before or start(directory, wait)
            return _answer(output, _state(running, "runs already" if before else "started"))
        case "daemon restart":
            return _answer(output, _state(restart(directory, wait), "restarted"))
        case "daemon stop":
            pid = stop(directory)
            if (supervisor := supervisors.of(directory)) is not None:
                supervisor.stop()  # with its socket, or the next request would start it again
            done: dict[str, object] = {"status": "not running" if pid is None else "stopped", "pid": pid}
            text = "no daemon was running" if pid is None else f"mnemond stopped (pid {pid})"
            return _answer(output, (done, text))
        case "daemon status":
            return status(directory, output)
        case _:
            raise run(directory)


def _state(running: Running, status: str) -> tuple[dict[str, object], str]:
    facts: dict[str, object] = {"status": status, "pid": running.pid, "version": running.version}
    return facts, f"mnemond {one_line(running.version)} {status} (pid {running.pid})"


def _answer(output: Output, shown: tuple[dict[str, object], str], exit_code: int = 0) -> CliRunResult:
    facts, text = shown
    return CliRunResult(exit_code, False, output.json(facts) if output.form == "json" else f"{text}\n", "")


def status(directory: Path, output: Output) -> CliRunResult:
    """What runs, on standard output; exit status 69 when nothing does."""
    path = rpc.socket_path(directory)
    facts: dict[str, object] = {"running": False, "socket": str(path), "data_dir": str(directory)}
    running = probe(directory)
    if running is None:
        return _answer(output, (facts, f"no daemon is running ({one_line(str(path))})"), UNREACHABLE.exit)
    stores, uptime = _stores(directory)
    facts |= {"running": True, "pid": running.pid, "version": running.version, "protocol": running.protocol}
    facts |= {"uptime_s": uptime, "stores": stores}
    up = "" if uptime is None else f", up {duration(uptime)}"
    text = f"mnemond {one_line(running.version)} runs (pid {running.pid}{up})\n  socket  {one_line(str(path))}\n"
    names = ": " + ", ".join(one_line(name) for name in stores) if stores else ""
    return _answer(output, (facts, f"{text}  stores  {plural(len(stores), 'store')}{names}"))


def _stores(directory: Path) -> tuple[list[str], float | None]:
    """Names of the stores, and how long the daemon has been up. Asking for that must not create a store."""
    try:
        listed = rpc.call(directory, "store.list", {}, fast.DEADLINE_S, _Stores)
        names = [store.name for store in listed.stores]
        if listed.active not in names:
            return names, None
        return names, rpc.call(directory, "status", {"store": listed.active}, fast.DEADLINE_S, _Uptime).uptime_s
    except OSError as error:
        raise rpc.unreachable(directory, error) from None
    except fast.NoAnswer as error:
        raise MnemonError(UNREACHABLE, str(error)) from None


def run(directory: Path) -> MnemonError:
    """Become the daemon, in the foreground. Returns only when that fails."""
    arguments = command(directory)
    try:
        os.execv(arguments[0], arguments)  # noqa: S606 - see `command`
    except OSError as error:
        code = errno.errorcode.get(error.errno or 0, "unknown error")
        return MnemonError(INTERNAL, f"cannot run {arguments[0]}: {error.strerror} ({code})")
