"""A host's MCP server as a process of its own: both directions between its streams and the daemon's socket.

The daemon speaks MCP itself, so this only copies bytes, until either side ends. When no daemon runs, one is started
and waited for: a host gives a server some seconds to appear. Copied into a launcher, like `mnemonctl.launcher.hook`.
"""

# No `from __future__ import annotations`: it loads a module from the disk.
import _signal  # type: ignore[import-not-found]  # has no stubs; `signal` loads `enum`
import _socket
import _thread
import posix
import time

START_S = 8.0
"""Seconds to wait for a daemon that is being started: Codex gives up a server after 10."""

PAUSE_S = 0.02
"""Between two attempts to connect meanwhile."""

DRAIN_S = 5
"""Seconds that answers may still take once the host has closed standard input: no process is left behind."""

NOT_RUNNING = (2, 61, 111)
"""ENOENT, and ECONNREFUSED of macOS and Linux; the module `errno` is not always built in."""

CHUNK = 1 << 16


def run(directory: bytes, start: tuple[bytes, ...]) -> None:
    """Copy until the host or the daemon ends; never returns. `start` is the command line that starts a daemon."""
    try:
        connection = connect(directory + b"/sock", start)
    except OSError as error:
        complain(b"cannot reach mnemond at " + directory + b"/sock: " + str(error.strerror or error).encode())
        posix._exit(1)
    _thread.start_new_thread(answers, (connection,))
    requests(connection)
    _signal.signal(_signal.SIGALRM, lambda *_: posix._exit(0))
    _signal.alarm(DRAIN_S)
    while True:
        _signal.pause()


def complain(sentence: bytes) -> None:
    """Say it where hosts keep what a server has to say."""
    try:
        posix.write(2, b"mnemond-mcp: " + sentence + b"\n")
    except OSError:
        return


def connect(path: bytes, start: tuple[bytes, ...]) -> _socket.socket:
    """A connection, to a daemon that is started if none runs. Raises OSError."""
    ends = time.monotonic() + START_S
    started = False
    while True:
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            connection.connect(path)
        except OSError as error:
            connection.close()
            if error.errno not in NOT_RUNNING or time.monotonic() > ends:
                raise
        else:
            return connection
        if not started:
            streams = [(posix.POSIX_SPAWN_OPEN, number, "/dev/null", posix.O_RDWR, 0) for number in range(3)]
            posix.posix_spawn(start[0], start, posix.environ, file_actions=streams, setsid=True)
            started = True
        time.sleep(PAUSE_S)


def requests(connection: _socket.socket) -> None:
    """From the host to the daemon, until the host closes its end."""
    try:
        while part := posix.read(0, CHUNK):
            connection.sendall(part)
        connection.shutdown(_socket.SHUT_WR)
    except OSError:
        return  # the daemon has gone; `answers` sees that too, and ends the process


def answers(connection: _socket.socket) -> None:
    """From the daemon to the host, until either is gone; that is the end of the process."""
    try:
        while part := connection.recv(CHUNK):
            view = memoryview(part)
            while view:
                view = view[posix.write(1, view) :]
    except OSError:
        posix._exit(1)
    posix._exit(0)
