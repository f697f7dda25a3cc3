"""A host's hook as a process of its own: standard input to the daemon, its answer to standard output.

It fails open: whatever goes wrong, it ends within `DEADLINE_S` with exit status 0 and nothing on standard output. This
file is copied into the launcher that hosts run, so it imports built-in modules only, and nothing of ours.
"""

# No `from __future__ import annotations`: it loads a module from the disk.
import _signal  # type: ignore[import-not-found]  # has no stubs; `signal` loads `enum`
import _socket
import posix
import time

DEADLINE_S = 0.25
"""Seconds from the start of the process to its end, whatever the host and the daemon do."""

MIN_S = 0.05
"""Seconds that are tried in any case, where a busy machine took long to start the interpreter."""

LARGEST = 1 << 20
"""Bytes of a message that the daemon reads; what is longer is not sent."""

LONGEST = 1 << 16
"""Bytes of an answer: hosts take 10,000 characters, and as much fits into a pipe that nobody reads."""

START_EVERY_S = 60.0
"""Least time between two attempts to start the daemon."""

NOT_RUNNING = (2, 61, 111)
"""ENOENT, and ECONNREFUSED of macOS and Linux; the module `errno` is not always built in."""


def run(directory: bytes, start: tuple[bytes, ...]) -> None:
    """Ask the daemon of a data directory; never returns. `start` is the command line that starts one."""
    try:
        _signal.signal(_signal.SIGALRM, leave)
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, (_signal.SIGALRM,))
        _signal.setitimer(_signal.ITIMER_REAL, max(MIN_S, DEADLINE_S - age()))
        answer = ask(directory, read(), start)
        if answer and answer[:10] != b'{"jsonrpc"':  # an error of a daemon that knows no hooks is not for the host
            posix.write(1, answer)
    finally:
        leave()


def age() -> float:
    """Seconds since the process was started, as Linux tells (proc(5), stat, field 22); 0 elsewhere."""
    try:
        descriptor = posix.open("/proc/self/stat", posix.O_RDONLY)
        ticks = posix.read(descriptor, 4096).rpartition(b")")[2].split()[19]
        return time.clock_gettime(time.CLOCK_BOOTTIME) - int(ticks) / posix.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, ValueError, IndexError):
        return 0.0


def leave(*_: object) -> None:
    """End at once, successfully. Also called by the alarm, wherever the process is."""
    posix._exit(0)


def read() -> bytes:
    """The host's message: up to the end of standard input, or of a first line that ends an object.

    Empty for one that is longer than the daemon reads.
    """
    message = b""
    while part := posix.read(0, LONGEST):
        message += part
        if len(message) > LARGEST:
            return b""
        if message[-2:] == b"}\n" and message.count(b"\n") == 1:
            break
    return message


def ask(directory: bytes, message: bytes, start: tuple[bytes, ...]) -> bytes:
    """The daemon's answer. When none runs, let one be started, for the next time, and return nothing.

    Raises OSError.
    """
    if not message:
        return b""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.connect(directory + b"/sock")
        connection.sendall(message)
        connection.shutdown(_socket.SHUT_WR)
        return receive(connection)
    except OSError as error:
        if error.errno in NOT_RUNNING:  # only connecting says so
            let_start(directory, start)
        return b""
    finally:
        connection.close()


def receive(connection: _socket.socket) -> bytes:
    """Everything up to the end; empty for more than a host takes. Raises OSError."""
    answer = b""
    while part := connection.recv(LONGEST):
        answer += part
        if len(answer) > LONGEST:
            return b""
    return answer


def let_start(directory: bytes, start: tuple[bytes, ...]) -> None:
    """Start the daemon in the background, at most once a minute. Raises OSError."""
    stamp = directory + b"/hook-start.stamp"
    try:
        if abs(time.time() - posix.stat(stamp).st_mtime) < START_EVERY_S:
            return
        posix.utime(stamp)
    except FileNotFoundError:
        posix.close(posix.open(stamp, posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL, 0o600))
    streams = [(posix.POSIX_SPAWN_OPEN, number, "/dev/null", posix.O_RDWR, 0) for number in range(3)]
    posix.posix_spawn(start[0], start, posix.environ, file_actions=streams, setsid=True)
