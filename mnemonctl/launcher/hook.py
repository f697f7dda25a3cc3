"""A host's hook as a process: sends standard input to the daemon and prints its answer.

It fails open: in every case it ends within `DEADLINE_S`, with exit status 0 and nothing on standard output if
something is wrong. This file is copied into the launcher that hosts run, so it imports built-in modules only.
"""

# No `from __future__ import annotations`: it loads a module from the disk.
import _signal  # type: ignore[import-not-found]  # has no stubs; `signal` loads `enum`
import _socket
import posix
import time

DEADLINE_S = 0.25
"""Seconds from the start of the process to its end, whatever the host and the daemon do."""

MIN_S = 0.05
"""Seconds left at least, if a busy machine took long to start the interpreter."""

MAX_MESSAGE = 1 << 20
"""Bytes of a message that the daemon reads."""

BEGINNING = 1 << 14
"""Bytes of a longer message that are sent: enough for the daemon to know the session and the tool. The same as
`mnemond.wire.hook_payload.BEGINNING` (a test compares them)."""

MAX_ANSWER = 1 << 16
"""Bytes of an answer: hosts take 10,000 characters, and as much fits into a pipe before anything reads it."""

START_EVERY_S = 60.0
"""Least seconds between two attempts to start the daemon."""

NOT_RUNNING = (2, 61, 111)
"""ENOENT, and ECONNREFUSED of macOS and Linux; the module `errno` is not always built in."""


def run(directory: bytes, start: tuple[bytes, ...]) -> None:
    """Pass one hook call to the daemon of a data directory; never returns. `start` is what starts a daemon."""
    try:
        _signal.signal(_signal.SIGALRM, leave)
        _signal.pthread_sigmask(_signal.SIG_UNBLOCK, (_signal.SIGALRM,))
        _signal.setitimer(_signal.ITIMER_REAL, max(MIN_S, DEADLINE_S - age()))
        message, whole = read_stdin()
        answer = ask(directory, message, start)
        if answer and answer[:10] != b'{"jsonrpc"':  # an error of a daemon without hooks is not for the host
            posix.write(1, answer)
        while not whole and posix.read(0, 1 << 16):
            pass  # a host whose write fails would show its user an error; it has its answer already
    finally:
        leave()


def age() -> float:
    """Return the seconds since the process was started (Linux: proc(5), stat, field 22); 0 elsewhere."""
    try:
        descriptor = posix.open("/proc/self/stat", posix.O_RDONLY)
        ticks = posix.read(descriptor, 4096).rpartition(b")")[2].split()[19]
        return time.clock_gettime(time.CLOCK_BOOTTIME) - int(ticks) / posix.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, ValueError, IndexError):
        return 0.0


def leave(*_: object) -> None:
    """End the process successfully; also called by the alarm."""
    posix._exit(0)


def read_stdin() -> tuple[bytes, bool]:
    """Read up to the end of standard input, or of a first line that ends an object; return the message and True, or the
    BEGINNING of one that is too long and False."""
    message = b""
    while part := posix.read(0, 1 << 16):
        message += part
        if len(message) > MAX_MESSAGE:
            return message[:BEGINNING], False
        if message[-2:] == b"}\n" and message.count(b"\n") == 1:
            break
    return message, True


def ask(directory: bytes, message: bytes, start: tuple[bytes, ...]) -> bytes:
    """Return the daemon's answer. If none runs, start one for the next call and return b"". Raises OSError."""
    if not message:
        return b""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.connect(directory + b"/sock")
        connection.sendall(message)
        connection.shutdown(_socket.SHUT_WR)
        return receive(connection)
    except OSError as error:
        if error.errno in NOT_RUNNING:  # only `connect` raises these
            start_daemon(directory, start)
        return b""
    finally:
        connection.close()


def receive(connection: _socket.socket) -> bytes:
    """Receive up to the end; return b"" if it is longer than a host takes. Raises OSError."""
    answer = b""
    while part := connection.recv(1 << 16):
        answer += part
        if len(answer) > MAX_ANSWER:
            return b""
    return answer


def start_daemon(directory: bytes, start: tuple[bytes, ...]) -> None:
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
