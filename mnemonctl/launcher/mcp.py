"""A host's MCP server as a process of its own: between its streams and the daemon's socket.

The daemon speaks MCP itself, so this only passes lines on. A host keeps its server as long as a session lasts, which
may be days, and does not start it again: so when the daemon goes, to be updated or to make room, this connects anew.
At once if somebody waits for an answer, else when something is asked: a daemon that was stopped stays so until then.
When none runs, one is started and waited for: a host gives a server some seconds to appear.

What was asked and not answered is asked again, once: every tool may be called twice with the same effect (its
`idempotentHint`). A handshake is made again, and its second answer kept from the host. Copied into a launcher, like
`mnemonctl.launcher.hook`.
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

LONGEST = 1 << 21
"""Bytes of a line of the host that are waited for: twice as many as the daemon takes."""

LOST = b',"error":{"code":-32603,"message":"mnemond ended twice while it worked on this; look before you repeat it"}}\n'
"""What is said of a request that was sent `MOST` times."""

CANCELLED = b'"notifications/cancelled"'
"""What is said of a request whose answer nobody waits for any more: none will come."""

AGREED = b'"notifications/subscriptions/acknowledged"'
SUBSCRIPTION = b'"io.modelcontextprotocol/subscriptionId"'
"""What the daemon says when it has agreed to a subscription: no other answer will come."""

MOST = 2
"""Times that a request is sent: what ends two daemons might end every one."""


def run(directory: bytes, start: tuple[bytes, ...]) -> None:
    """Pass on until the host ends; never returns. `start` is the command line that starts a daemon."""
    link = Link(directory + b"/sock", start)
    link.open()
    rest = b""
    while part := read():
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            link.say(line + b"\n")
        if len(rest) > LONGEST:
            complain(b"a message of the host is longer than mnemond reads")
            posix._exit(1)
    link.close(rest)
    _signal.signal(_signal.SIGALRM, lambda *_: posix._exit(0))
    _signal.alarm(DRAIN_S)
    while True:
        _signal.pause()


class Link:
    """The way to the daemon, over as many connections as it takes.

    Requests are sent by whoever holds the lock; answers are read by one thread a connection, which takes the lock only
    when there is nothing more to read: so neither ever waits for the other while the daemon waits for both.
    """

    def __init__(self, path: bytes, start: tuple[bytes, ...]) -> None:
        self.path = path
        self.start = start
        self.lock = _thread.allocate_lock()
        self.connection: _socket.socket | None = None
        self.waiting: dict[bytes, bytes] = {}
        """Requests without an answer, by their ids."""
        self.times: dict[bytes, int] = {}
        """How often each of them was sent."""
        self.hello = b""
        """The line of the handshake."""
        self.second = b""
        """Its id, while a second answer to it is to come."""
        self.over = False

    def open(self) -> None:
        """Connect, and ask again what waits. Ends the process when there is no daemon to be had."""
        try:
            connection = connect(self.path, self.start)
        except OSError as error:
            complain(b"cannot reach mnemond at " + self.path + b": " + str(error.strerror or error).encode())
            posix._exit(1)
        for number in list(self.waiting):
            if self.times.get(number, 0) >= MOST:
                self.forget(number)
                write(b'{"jsonrpc":"2.0","id":' + number + LOST)
        number = member(self.hello, b'"id"')
        if number and number not in self.waiting:
            self.second = number
            send(connection, self.hello)
        again = list(self.waiting)
        _thread.start_new_thread(self.answers, (connection,))
        self.connection = connection
        for number in again:
            self.ask(connection, number)

    def ask(self, connection: _socket.socket, number: bytes) -> None:
        """Send a request that waits."""
        self.times[number] = self.times.get(number, 0) + 1
        send(connection, self.waiting[number])

    def forget(self, number: bytes) -> None:
        """It waits no more."""
        self.waiting.pop(number, None)
        self.times.pop(number, None)

    def say(self, line: bytes) -> None:
        """A line of the host. One that wants no answer is worth no new connection."""
        number, method = member(line, b'"id"'), member(line, b'"method"')
        with self.lock:
            if method == b'"initialize"':
                self.hello = line
            elif method == CANCELLED:
                self.forget(member(line, b'"requestId"', 2))
            if number:
                self.waiting[number] = line
            if self.connection is None:
                if number:
                    self.open()
            elif number:
                self.ask(self.connection, number)
            else:
                send(self.connection, line)

    def close(self, rest: bytes) -> None:
        """The host has nothing more to say than this."""
        if rest:
            self.say(rest)
        with self.lock:
            self.over = True
            if self.connection is None:
                posix._exit(0)
            shut(self.connection)

    def answers(self, connection: _socket.socket) -> None:
        """From the daemon to the host, until the connection is gone. Half a line is none."""
        rest = b""
        while part := receive(connection):
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                self.answer(line + b"\n")
        with self.lock:
            connection.close()
            self.connection = None
            if self.over:
                posix._exit(0)
            if self.waiting:
                self.open()

    def answer(self, line: bytes) -> None:
        """One line of the daemon. What answers nothing that was asked is for the log."""
        number = member(line, b'"id"')
        if number and number == self.second:
            self.second = b""
        elif number == b"null":
            complain(line[:-1])
        else:
            self.forget(number or acknowledged(line))
            write(line)


def acknowledged(line: bytes) -> bytes:
    """The id of a subscription that the daemon has agreed to: it gets no other answer. Empty for any other line."""
    if member(line, b'"method"') != AGREED:
        return b""
    return member(line[line.rfind(b"{") :], SUBSCRIPTION)


def member(line: bytes, name: bytes, level: int = 1) -> bytes:
    """A member of the outermost object, or of those so many levels down, a text or a number, as it is written; empty
    where there is none. `name` has its quotation marks."""
    depth, at, key, end = 0, 0, b"", len(line)
    while at < end:
        char = line[at : at + 1]
        begin, at = at, at + 1
        if char == b'"':
            at = text_end(line, begin)
        elif char in b"{[":
            depth += 1
            key = b""
            continue
        elif char in b"}]":
            depth -= 1
            continue
        elif char in b"-0123456789ntf":
            while at < end and line[at : at + 1] not in b",]} \t\r\n":
                at += 1
        else:
            key = b"" if char == b"," and depth == level else key
            continue
        if depth == level and not key:
            key = line[begin:at]
        elif depth == level and key == name:
            return line[begin:at]
    return b""


def text_end(line: bytes, begin: int) -> int:
    """Where the text that begins there is over; the end of the line where it never is."""
    at = begin
    while (at := line.find(b'"', at + 1)) >= 0:
        slashes = at
        while line[slashes - 1 : slashes] == b"\\":
            slashes -= 1
        if (at - slashes) % 2 == 0:
            return at + 1
    return len(line)


def read() -> bytes:
    """What the host says; empty at its end."""
    try:
        return posix.read(0, CHUNK)
    except OSError:
        return b""


def receive(connection: _socket.socket) -> bytes:
    """What the daemon says; empty at its end."""
    try:
        return connection.recv(CHUNK)
    except OSError:
        return b""


def send(connection: _socket.socket, line: bytes) -> None:
    """To the daemon; when it has gone, whoever reads its answers sees that too."""
    try:
        connection.sendall(line)
    except OSError:
        return


def shut(connection: _socket.socket) -> None:
    """Nothing more will be said."""
    try:
        connection.shutdown(_socket.SHUT_WR)
    except OSError:
        return


def write(line: bytes) -> None:
    """To the host; the end of the process when it has gone."""
    view = memoryview(line)
    try:
        while view:
            view = view[posix.write(1, view) :]
    except OSError:
        posix._exit(1)


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
