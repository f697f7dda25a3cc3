"""A host's MCP server as a process: passes lines between its standard streams and the daemon's socket.

The daemon speaks MCP itself. A host keeps its server for a session, which may last days, and does not start it again;
so when the daemon goes, to be updated or to free memory, this reconnects: at once if a request is pending, else with
the next request, so that a daemon that was stopped stays stopped until then. If none runs, one is started and waited
for: a host gives a server some seconds to appear.

A daemon that is there and does not answer (stopped by a signal, say) must not make the host wait for ever: when no
reply came for `SILENT_S`, it is sent a ping, and if that is not answered in `PING_S` either, every pending request is
answered with an error. A request that merely takes long is waited for.

A pending request is sent again, once: every tool may be called twice with the same effect (its `idempotentHint`). So is
the handshake, and its second reply is not passed to the host. Copied into a launcher, like `mnemonctl.launcher.hook`.
"""

# No `from __future__ import annotations`: it loads a module from the disk.
import _signal  # type: ignore[import-not-found]  # has no stubs; `signal` loads `enum`
import _socket
import _thread
import posix
import time

START_S = 8.0
"""Seconds to wait for a daemon that is being started: Codex gives up a server after 10."""

RETRY_S = 0.02
"""Seconds between two attempts to connect meanwhile."""

DRAIN_S = 5
"""Seconds that replies may still take after the host has closed standard input: no process is left behind."""

NOT_RUNNING = (2, 61, 111)
"""ENOENT, and ECONNREFUSED of macOS and Linux; the module `errno` is not always built in."""

BACKLOG_FULL = (11, 35)
"""EAGAIN of Linux and macOS: too many connections wait to be accepted."""

SILENT_S = 4.0
"""Seconds without a reply to a pending request after which the daemon is sent a ping."""

PING_S = 3.0
"""Seconds that it may take to answer that, and to take a message."""

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'

WATCH_S = 0.5
"""Seconds between two looks at the pending requests, while there are any."""

CHUNK = 1 << 16

MAX_LINE = 1 << 20
"""Bytes of a line that the daemon takes. A longer one is answered here: the daemon would end the connection."""

EDGE = 1 << 14
"""Bytes of the beginning and of the end of a longer line that are kept, to find its id."""

MAX_SENDS = 2
"""Times that a request is sent: one that ends two daemons may end every one."""

ABANDONED = (
    b',"error":{"code":-32603,"message":"mnemond ended twice while it worked on this; look before you repeat it"}}\n'
)
"""End of the reply to a request that was sent `MAX_SENDS` times."""

UNANSWERED = (
    b',"error":{"code":-32603,"message":"mnemond does not answer: it is stopped or overloaded. A write may be stored or'
    b' not. See: mnemonctl daemon status"}}\n'
)
"""End of the reply to a request that a daemon does not answer that answers no ping either."""

SENTENCE = b"the message is longer than the %s bytes that mnemond takes; nothing was stored. Send less at once" % (
    f"{MAX_LINE:,}".encode()
)

TOO_LONG = b',"error":{"code":1013,"message":"' + SENTENCE + b'"}}\n'
"""End of the reply to a request that is longer than `MAX_LINE`."""

TOO_LONG_CALL = (
    b',"result":{"content":[{"type":"text","text":"' + SENTENCE + b'"}],"isError":true,"resultType":"complete"}}\n'
)
"""The same of a call of a tool: a host shows its model an error of a tool, and none of the protocol."""

MAX_LATE = 1_000
"""Requests answered with that error whose late replies are recognised and dropped."""

CANCELLED = b'"notifications/cancelled"'
"""Method by which the host cancels a request: no reply will come."""

ACKNOWLEDGED = b'"notifications/subscriptions/acknowledged"'
SUBSCRIPTION = b'"io.modelcontextprotocol/subscriptionId"'
"""Method, and member with the id, of the only reply to a request that subscribes."""


def run(directory: bytes, start: tuple[bytes, ...]) -> None:
    """Pass lines on until the host ends; never returns. `start` is the command line that starts a daemon."""
    relay = Relay(directory + b"/sock", start)
    relay.connect()
    _thread.start_new_thread(relay.watch, ())
    rest, is_cut = b"", False
    while part := read_stdin():
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            if is_cut or len(line) > MAX_LINE:
                refuse(line)
            else:
                relay.from_host(line + b"\n")
            is_cut = False
        if is_cut or len(rest) > MAX_LINE:
            rest, is_cut = rest[:EDGE] + rest[-EDGE:], True
    relay.end_of_input(b"" if is_cut else rest)
    _signal.signal(_signal.SIGALRM, lambda *_: posix._exit(0))
    _signal.alarm(DRAIN_S)
    while True:
        _signal.pause()


class Relay:
    """Connects the host to the daemon, over as many connections as it takes.

    Requests are sent while holding the lock. Each connection has a thread that reads replies and takes the lock only
    at the end, so that sending never waits for reading while the daemon waits for both.
    """

    def __init__(self, path: bytes, start: tuple[bytes, ...]) -> None:
        self.path = path
        self.start = start
        self.lock = _thread.allocate_lock()
        self.connection: _socket.socket | None = None
        self.pending: dict[bytes, bytes] = {}
        """Requests without a reply, by their ids."""
        self.sends: dict[bytes, int] = {}
        """Number of times that each of them was sent."""
        self.to_watch = _thread.allocate_lock()
        """Released when a request is sent while no other is pending: the thread that watches waits for that."""
        self.to_watch.acquire()
        self.waiting_since = 0.0
        """Since when no reply came although a request is pending (`time.monotonic`)."""
        self.late: list[bytes] = []
        """Ids of requests that were answered with an error in the place of the daemon."""
        self.handshake = b""
        """Line of the host's `initialize`."""
        self.repeated_handshake = b""
        """Its id, while a second reply to it is expected."""
        self.input_ended = False

    def connect(self) -> None:
        """Connect and send pending requests again. Ends the process if no daemon can be reached."""
        try:
            connection = connect(self.path, self.start)
        except OSError as error:
            complain(b"cannot reach mnemond at " + self.path + b": " + str(error.strerror or error).encode())
            posix._exit(1)
        for number in list(self.pending):
            if self.sends.get(number, 0) >= MAX_SENDS:
                self.settle(number)
                write(b'{"jsonrpc":"2.0","id":' + number + ABANDONED)
        send(connection, directory_notice())
        number = member(self.handshake, b'"id"')
        if number and number not in self.pending:
            self.repeated_handshake = number
            send(connection, self.handshake)
        again = list(self.pending)
        _thread.start_new_thread(self.read_replies, (connection,))
        self.connection = connection
        for number in again:
            self.send_pending(connection, number)

    def send_pending(self, connection: _socket.socket, number: bytes) -> None:
        """Send a pending request and count that."""
        if not self.sends:
            self.waiting_since = time.monotonic()
            if self.to_watch.locked():
                self.to_watch.release()
        self.sends[number] = self.sends.get(number, 0) + 1
        send(connection, self.pending[number])

    def settle(self, number: bytes) -> None:
        """Remove a request that needs no reply any more."""
        self.pending.pop(number, None)
        self.sends.pop(number, None)

    def watch(self) -> None:
        """Answer pending requests in the place of a daemon that is there and answers nothing; never returns."""
        while True:
            time.sleep(WATCH_S)
            with self.lock:
                begun, sent, connected = self.waiting_since, bool(self.sends), self.connection is not None
            if not sent:
                self.to_watch.acquire()
                continue
            if not connected or time.monotonic() - begun < SILENT_S:
                continue
            if answers(self.path):
                self.waiting_since = time.monotonic()  # a request takes long
                continue
            with self.lock:
                if self.waiting_since == begun and self.connection is not None:
                    self.give_up()

    def give_up(self) -> None:
        """Answer every pending request with an error, and drop the daemon's own reply if it comes after all."""
        for number in list(self.pending):
            self.settle(number)
            self.late = [*self.late[-MAX_LATE:], number]
            write(b'{"jsonrpc":"2.0","id":' + number + UNANSWERED)

    def from_host(self, line: bytes) -> None:
        """Pass on a line of the host. Only a request makes a new connection, not a notification."""
        number, method = member(line, b'"id"'), member(line, b'"method"')
        with self.lock:
            if method == b'"initialize"':
                self.handshake = line
            elif method == CANCELLED:
                self.settle(member(line, b'"requestId"', 2))
            if number:
                self.pending[number] = line
            if self.connection is None:
                if number:
                    self.connect()
            elif number:
                self.send_pending(self.connection, number)
            else:
                send(self.connection, line)

    def end_of_input(self, rest: bytes) -> None:
        """Pass on the last line of the host, without a line break, and the end of its input."""
        if rest:
            self.from_host(rest)
        with self.lock:
            self.input_ended = True
            if self.connection is None:
                posix._exit(0)
            shut(self.connection)

    def read_replies(self, connection: _socket.socket) -> None:
        """Pass lines from the daemon to the host until the connection ends; an incomplete line is dropped."""
        rest = b""
        while part := receive(connection):
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                self.from_daemon(line + b"\n")
        with self.lock:
            connection.close()
            self.connection = None
            if self.input_ended:
                posix._exit(0)
            if self.pending:
                self.connect()

    def from_daemon(self, line: bytes) -> None:
        """Pass a line of the daemon to the host; a reply without an id goes to the log."""
        number = member(line, b'"id"')
        self.waiting_since = time.monotonic()
        if number and number == self.repeated_handshake:
            self.repeated_handshake = b""
        elif number in self.late and number not in self.pending:
            self.late.remove(number)
        elif number == b"null":
            complain(line[:-1])
        else:
            self.settle(number or acknowledged(line))
            write(line)


def refuse(line: bytes) -> None:
    """Answer a request that is longer than the daemon takes; `line` may lack what is between its edges."""
    number = member(line[:EDGE], b'"id"') or last_id(line[-EDGE:])
    if not number:
        complain(SENTENCE)  # a notification, which has no reply
    elif member(line[:EDGE], b'"method"') in (b'"tools/call"', b""):
        write(b'{"jsonrpc":"2.0","id":' + number + TOO_LONG_CALL)
    else:
        write(b'{"jsonrpc":"2.0","id":' + number + TOO_LONG)


def directory_notice() -> bytes:
    """Return the notification that tells the daemon the directory of this process, in which the host works: the project
    of memories without one. b"" if it was removed or is not UTF-8."""
    try:
        path = posix.getcwdb().decode()
    except (OSError, UnicodeDecodeError):
        return b""
    quoted = "".join(f"\\u{ord(char):04x}" if char < " " or char in '"\\' else char for char in path)
    return b'{"jsonrpc":"2.0","method":"hello","params":{"directory":"' + quoted.encode() + b'"}}\n'


# ------------------------------------------------------------------ JSON, as far as it is needed


def acknowledged(line: bytes) -> bytes:
    """Return the id of the request that subscribed if this is the daemon's consent, else b""."""
    if member(line, b'"method"') != ACKNOWLEDGED:
        return b""
    return member(line[line.rfind(b"{") :], SUBSCRIPTION)


def member(line: bytes, name: bytes, level: int = 1) -> bytes:
    """Return a string, number or constant in an object at this depth, as it is written; b"" if there is none.

    `name` has its quotation marks. Level 1 is the outermost object.
    """
    depth, at, key, end = 0, 0, b"", len(line)
    while at < end:
        char = line[at : at + 1]
        begin, at = at, at + 1
        if char == b'"':
            at = string_end(line, begin)
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


def last_id(end: bytes) -> bytes:
    """Return the id of a request of which this is the end, if it stands behind everything that is an object or a list;
    else b""."""
    at = end.rfind(b'"id"')
    left = end[at:].rstrip()
    if at < 0 or left.count(b"}") != 1 or left[-1:] != b"}" or b"{" in left or b"]" in left:
        return b""
    return member(b"{" + left, b'"id"')


def string_end(line: bytes, begin: int) -> int:
    """Return the index after the string that begins there; the end of the line if it does not end."""
    at = begin
    while (at := line.find(b'"', at + 1)) >= 0:
        slashes = at
        while line[slashes - 1 : slashes] == b"\\":
            slashes -= 1
        if (at - slashes) % 2 == 0:
            return at + 1
    return len(line)


# ------------------------------------------------------------------ streams and sockets


def read_stdin() -> bytes:
    try:
        return posix.read(0, CHUNK)
    except OSError:
        return b""


def receive(connection: _socket.socket) -> bytes:
    try:
        return connection.recv(CHUNK)
    except OSError:
        return b""


def send(connection: _socket.socket, line: bytes) -> None:
    """Send to the daemon. If it has gone, or does not take the line, the thread that reads its replies sees that."""
    try:
        connection.sendall(line)
    except OSError:
        try:
            connection.shutdown(_socket.SHUT_RDWR)  # what was sent of the line must not be continued by another
        except OSError:
            return


def shut(connection: _socket.socket) -> None:
    try:
        connection.shutdown(_socket.SHUT_WR)
    except OSError:
        return


def write(line: bytes) -> None:
    """Write to the host. Ends the process if the host has gone."""
    view = memoryview(line)
    try:
        while view:
            view = view[posix.write(1, view) :]
    except OSError:
        posix._exit(1)


def complain(sentence: bytes) -> None:
    """Write to standard error, which hosts keep as the log of a server."""
    try:
        posix.write(2, b"mnemond-mcp: " + sentence + b"\n")
    except OSError:
        return


def answers(path: bytes) -> bool:
    """Return True if the daemon answers a ping."""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.settimeout(PING_S)
        connection.connect(path)
        connection.sendall(PING)
        return bool(connection.recv(1))
    except OSError:
        return False
    finally:
        connection.close()


def limit_sending(connection: _socket.socket) -> None:
    """Let sending fail when the daemon takes nothing for `PING_S`; reading may take as long as it takes."""
    seconds = int(PING_S).to_bytes(8, "little") + bytes(8)  # a `struct timeval` of the systems that mnemond runs on
    try:
        connection.setsockopt(_socket.SOL_SOCKET, _socket.SO_SNDTIMEO, seconds)
    except OSError:
        return


def connect(path: bytes, start: tuple[bytes, ...]) -> _socket.socket:
    """Connect to the daemon, which is started if none runs. Raises OSError."""
    ends = time.monotonic() + START_S
    started = False
    while True:
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            limit_sending(connection)
            connection.connect(path)
        except OSError as error:
            connection.close()
            absent = error.errno in NOT_RUNNING
            if not (absent or error.errno in BACKLOG_FULL) or time.monotonic() > ends:
                raise
        else:
            return connection
        if absent and not started:
            streams = [(posix.POSIX_SPAWN_OPEN, number, "/dev/null", posix.O_RDWR, 0) for number in range(3)]
            posix.posix_spawn(start[0], start, posix.environ, file_actions=streams, setsid=True)
            started = True
        time.sleep(RETRY_S)
