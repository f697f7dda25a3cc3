"""Start, stop and restart the daemon of a data directory."""

from __future__ import annotations

import _socket
import os
import re
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from mnemonctl import fast, files, rpc, service
from mnemond.cli.output import one_line
from mnemond.errors import (
    BUSY,
    CONFIG,
    KINDS,
    LOCKED,
    STORAGE,
    UNAVAILABLE,
    UNREACHABLE,
    Kind,
    MnemonError,
)
from mnemond.wire.listener import unwritable

START_S = 10.0
"""Seconds a daemon may take until it answers; $MNEMON_START_WAIT or --wait change it. A first start compiles its
modules, which took 3.5 s on two busy cores; one that dies is noticed at once."""

STOP_S = 4.0
"""Seconds a daemon may take to leave: it finishes within 3 what it has received."""

PROBE_S = 1.0
"""Seconds to wait for the answer to one `hello`."""

CHECK_S = 15.0
"""Seconds that checking the configuration may take: Python starts on a busy machine, and reads one small file."""

POLL_S = 0.01
"""Seconds between two looks at something that is about to happen."""

REPLACE_EVERY_S = 60.0
"""Least seconds between two restarts of an outdated daemon: two clients must not fight over it."""

_SUPERVISION = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC")
"""Variables by which a service manager speaks to this process; they are not for the daemon that it starts."""

T = TypeVar("T")


class HostActivity(msgspec.Struct, frozen=True):
    """Last hook call of an agent's program, RFC 3339."""

    last_event_at: str


class Running(msgspec.Struct, frozen=True):
    """A daemon that answers. `hosts`: agents' programs that have called it, by name."""

    pid: int
    version: str
    protocol: int
    outdated: bool = False
    hosts: dict[str, HostActivity] = msgspec.field(default_factory=dict)


class Replaced(msgspec.Struct, frozen=True):
    """Versions of the daemon before and after a restart."""

    before: str
    after: str


class _Stopping(msgspec.Struct):
    pid: int


def start_wait(environ: Mapping[str, str]) -> float:
    """Return the seconds to wait for a daemon that is being started."""
    try:
        seconds = float(environ.get("MNEMON_START_WAIT", ""))
    except ValueError:
        return START_S
    return seconds if 0 < seconds <= 3600 else START_S


def probe(directory: Path, deadline: float = PROBE_S) -> Running | None:
    """Return the daemon that answers, None if none listens. Raises MnemonError if the socket fails or stays silent."""
    try:
        return rpc.call(directory, "hello", {"client_version": fast.VERSION}, Running, deadline)
    except rpc.NotRunningError:
        return None
    except rpc.NoReplyError as error:
        if files.suspended(directory) is None:
            error.hint = None  # it names a command that would do the same again
        raise


def _probe_starting(directory: Path) -> Running | None:
    """Like `probe`; a daemon that is still busy starting is not an error."""
    try:
        return probe(directory)
    except MnemonError as error:
        if error.kind is UNREACHABLE:
            return None
        raise


def _poll(look: Callable[[], T | None], seconds: float) -> T | None:
    """Return the first value of `look`, None if the time is over."""
    ends = time.monotonic() + seconds
    while (found := look()) is None and time.monotonic() < ends:
        time.sleep(POLL_S)
    return found


# ------------------------------------------------------------------ start


@contextmanager
def starting(directory: Path, seconds: float) -> Iterator[None]:
    """Hold the lock by which one client at a time starts or restarts the daemon. Raises MnemonError: BUSY, DATA_DIR."""
    if directory.is_dir() and (refusal := unwritable(directory)) is not None:
        raise refusal
    files.make_private(directory)
    with files.private_file(directory / "start.lock") as descriptor:
        if not _poll(lambda: files.try_lock(descriptor) or None, seconds):
            raise MnemonError(BUSY, f"another mnemonctl has been starting mnemond for more than {seconds:g} s")
        yield


def start(directory: Path, wait: float = START_S) -> Running:
    """Return the running daemon; start it if there is none. Raises MnemonError if it does not answer in time."""
    with starting(directory, wait + STOP_S):
        found = _poll(lambda: probe(directory) or files.is_unlocked(directory / "lock") or None, STOP_S)
        # True: none holds the lock, not even one that is leaving.
        return found if isinstance(found, Running) else launch(directory, wait)


def launch(directory: Path, wait: float) -> Running:
    """Start the daemon as a service if one is installed, else as a process. The caller holds the start lock."""
    supervisor = service.installed_supervisor(directory)
    if supervisor is None:
        return spawn(directory, wait)
    supervisor.start()
    if (running := _poll(lambda: _probe_starting(directory), wait)) is None:
        message = f"{supervisor.name} has started {supervisor.unit}, but it did not answer within {wait:g} s"
        raise MnemonError(UNREACHABLE, message, hint="Its log: mnemonctl logs")
    return running


def spawn(directory: Path, wait: float) -> Running:
    """Start a daemon in a session of its own and wait until it answers. The caller holds the start lock."""
    environ = {name: value for name, value in os.environ.items() if name not in _SUPERVISION}
    with files.log_file(directory) as log:
        logged = os.fstat(log).st_size
        child = subprocess.Popen(  # noqa: S603 - our own interpreter, no shell, no words of the user but the directory
            service.daemon_command(directory), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            start_new_session=True, close_fds=True, cwd="/", env=environ,
        )  # fmt: skip
    threading.Thread(target=child.wait, daemon=True).start()  # a client that lives on must not keep a zombie

    def look() -> Running | int | None:
        running = _probe_starting(directory)
        if running is not None:
            return running
        return None if child.returncode == LOCKED.exit else child.returncode  # another one may be about to answer

    found = _poll(look, wait)
    if isinstance(found, Running):
        return found
    output, hint = files.logged(directory, logged), f"Its log: {files.log_path(directory)}"
    if isinstance(found, int):
        raise start_failure("the daemon does not start:", output, found, directory, hint)
    if child.returncode == LOCKED.exit:
        message = f"another mnemond holds {directory / 'lock'} but does not answer on {rpc.socket_path(directory)}"
        raise MnemonError(LOCKED, message, hint=hint)
    words = last_words(output)
    message = f"mnemond (pid {child.pid}) did not answer within {wait:g} s"
    raise MnemonError(UNREACHABLE, message + (f"; its last words: {words}" if words else ""), hint=hint)


def connect_to_reader(directory: Path, wait: float) -> _socket.socket:
    """Start a process that reads a data directory which cannot be written, and ends with the connection returned, the
    only one. Raises MnemonError."""
    with (
        tempfile.TemporaryDirectory() as private,
        tempfile.TemporaryFile() as output,
        socket.socket(socket.AF_UNIX) as listening,
    ):
        listening.bind(f"{private}/sock")
        listening.listen()
        connection = fast.connect(f"{private}/sock", wait)
        child = subprocess.Popen(  # noqa: S603 - see `spawn`
            [*service.daemon_command(directory), "--listening", str(listening.fileno())], cwd="/",
            pass_fds=(listening.fileno(),), stdin=subprocess.DEVNULL, stdout=output, stderr=output,
        )  # fmt: skip
        found = _poll(lambda: _probe_starting(Path(private)) or child.poll(), wait)
        if isinstance(found, Running):
            return connection
        connection.close()
        child.kill()
        output.seek(0)
        said = output.read(MAX_SAID).decode("utf-8", "replace")
        raise start_failure("the memories cannot be read:", said, child.wait(), directory, "See: mnemonctl doctor")


# ------------------------------------------------------------------ stop, restart


def stop(directory: Path) -> int | None:
    """Stop the daemon, after a start that is under way, and wait until it has left. Return its pid, None if none ran.
    Raises MnemonError."""
    if not directory.is_dir():
        return None
    with ExitStack() as held:
        if unwritable(directory) is None:  # in a directory that cannot be written no daemon starts
            held.enter_context(starting(directory, START_S + STOP_S))
        return end(directory)


def end(directory: Path) -> int | None:
    """As `stop`, for who holds the start lock. A daemon that does not take the request gets a signal."""

    def ask() -> int | bool | None:
        try:
            return rpc.call(directory, "daemon.stop", {}, _Stopping, STOP_S).pid
        except rpc.NotRunningError:
            return files.is_unlocked(directory / "lock") or None  # None: it has the lock, and does not listen yet

    refusal = MnemonError(
        UNREACHABLE,
        f"a process holds {directory / 'lock'} and does not listen",
        hint=f"Its log: {files.log_path(directory)}",
    )
    try:
        pid = _poll(ask, START_S)
    except MnemonError as error:
        pid, refusal = None, error
    if pid is True:
        return None
    if pid is None and (files.suspended(directory) or (pid := files.terminate(directory)) is None):
        raise refusal
    if _poll(lambda: files.is_unlocked(directory / "lock") or None, STOP_S) is None:
        message = f"mnemond (pid {pid}) was asked to stop but is still there after {STOP_S:g} s"
        hint = f"Its log: {files.log_path(directory)}; as a last resort: kill {pid}"
        raise MnemonError(UNREACHABLE, message, hint=hint)
    return pid


def check(directory: Path) -> None:
    """Check the configuration in a process of the daemon that does not serve. Raises MnemonError if it is refused."""
    line = [*service.daemon_command(directory), "--check-config"]
    try:
        done = subprocess.run(  # noqa: S603 - see `spawn`
            line, stdin=subprocess.DEVNULL, capture_output=True, cwd="/", timeout=CHECK_S, check=False
        )
    except subprocess.TimeoutExpired:
        message = f"mnemond did not check its configuration within {CHECK_S:g} s; nothing was stopped"
        raise MnemonError(UNREACHABLE, message, hint="Try again.") from None
    if done.returncode:
        output = done.stderr.decode("utf-8", "replace")
        headline = "the daemon would not start again; nothing was stopped:"
        raise start_failure(headline, output, done.returncode, directory, "Mend that first.")


def restart(directory: Path, wait: float = START_S) -> Running:
    """Stop the daemon, if one runs, and start it again. One that could not start again is not stopped."""
    with starting(directory, wait + STOP_S):
        check(directory)
        end(directory)
        return launch(directory, wait)


def replace_outdated(directory: Path) -> Replaced | None:
    """Restart a daemon that is older than this client. Return None if it is not, or one was within the last minute."""
    if not files.claim_stamp(directory / "restart.stamp", REPLACE_EVERY_S):
        return None
    with starting(directory, START_S + STOP_S):
        running = probe(directory)
        if running is None or not running.outdated:
            return None
        check(directory)
        end(directory)
        return Replaced(running.version, launch(directory, start_wait(os.environ)).version)


# ------------------------------------------------------------------ why a daemon did not start

MAX_SAID = 65_536
"""Bytes that are read of what a process said that does not start."""

MAX_PROBLEMS = 10
"""Problems of a configuration that are shown."""

MAX_CHARACTERS = 500
"""Characters of one problem, or of a hint, that are shown."""

_PREFIX = "mnemond: "
"""Begins the line in which the daemon gives the reason why it leaves; its hint follows, indented."""

_CODE = re.compile(r" \[([a-z_]{1,40})\]$")
"""Ends that line: the code of the error."""

_BY_CODE = {kind.name: kind for kind in KINDS}
_BY_STATUS = {kind.exit: kind for kind in (STORAGE, UNAVAILABLE, LOCKED, CONFIG)}
"""Kinds of errors of a daemon that gave no code. Status 2 is mostly a bad configuration."""


def start_failure(headline: str, output: str, status: int, directory: Path, hint: str) -> MnemonError:
    """Return the error for a daemon that wrote `output` and left with `status`. `hint` is used if it gave none.

    Its exit status is the daemon's if a user can do something about that, else that of UNREACHABLE.
    """
    config = directory / "config.toml"
    reason, own_hint = _reason_and_hint(output)
    code = None if reason is None else _CODE.search(reason)
    kind = _kind(status, reason, code and code[1])
    if reason is not None and code is not None:
        reason = reason[: code.start()]
    if reason is None or kind is UNREACHABLE:
        words = last_words(output)
        problems = [f"it left with exit status {status}" + (f"; its last words: {words}" if words else "")]
    else:
        problems = _problems(reason, config)
    return MnemonError(kind, "\n  ".join([headline, *problems]), hint=own_hint or hint)


def last_words(output: str) -> str:
    """Return the last line that is not indented (a hint, a trace), escaped and shortened; "" if there is none."""
    lines = [line for line in output.splitlines() if line.strip()]
    candidates = [line for line in lines if not line[0].isspace()] or lines
    return _shown(candidates[-1]) if candidates else ""


def _reason_and_hint(output: str) -> tuple[str | None, str | None]:
    lines = output.splitlines()
    starts = [at for at, line in enumerate(lines) if line.startswith(_PREFIX)]
    if not starts:
        return None, None
    following = lines[starts[-1] + 1 : starts[-1] + 2]
    hint = _shown(following[0]) if following and following[0].startswith("  ") else None
    return lines[starts[-1]].removeprefix(_PREFIX), hint


def _problems(reason: str, config: Path) -> list[str]:
    """Split the reason: each problem of the configuration begins with the path of the file."""
    first, *others = reason.split(f"; {config}:")
    parts = [_shown(part) for part in (first, *(f"{config}:{other}" for other in others))]
    more = len(parts) - MAX_PROBLEMS
    return parts if more <= 0 else [*parts[:MAX_PROBLEMS], f"… and {more} more"]


def _kind(status: int, reason: str | None, code: str | None) -> Kind:
    known = _BY_CODE.get(code or "")
    if known is not None and known.exit == status:
        return known
    return UNREACHABLE if reason is None and status == CONFIG.exit else _BY_STATUS.get(status, UNREACHABLE)


def _shown(text: str) -> str:
    return one_line(text.strip()[:MAX_CHARACTERS])
