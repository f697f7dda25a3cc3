"""The command `mnemonctl`: one command line over the socket and back.

A Python that has just started has a handful of modules loaded; `argparse`, `json` and `socket` cost more time than
the whole round trip. So this file imports built-in modules only, writes its one JSON message by hand and cuts the
reply at known places. Everything unusual (help, `daemon …`, no daemon, errors) is returned as `Unfinished`, for
`mnemonctl.slow`.
"""

# No `from __future__ import annotations`: it loads a module from the disk.
import _codecs
import _socket
import posix
import sys

VERSION = "0.1.0"
"""This client's release; the same as `mnemond.__version__`, which is not imported here (a test compares them)."""

PROTOCOL = 1
"""Version of the wire protocol; the same as `mnemond.wire.params.PROTOCOL`."""

DEADLINE_S = 30.0
"""Seconds from connecting to the last byte of the reply."""

LONG_DEADLINE_S = 86_400.0
"""Deadline of a command that may embed or copy a whole store. The daemon goes on when the client has gone."""

SILENT_S = 5.0
"""Seconds without a byte of a reply with the long deadline after which the daemon is sent a ping."""

PING_S = 5.0
"""Seconds that it may take to answer that."""

MAX_MISSED = 2
"""Pings in a row without an answer after which the daemon is given up: 20 seconds in all."""

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'

MAX_REPLY = 1 << 28
"""Bytes of a reply that are read: several times the longest that a daemon sends."""

MAX_MESSAGE = 1 << 20
"""Bytes of a message that the daemon reads, and of standard input that is sent."""

MAX_DIRECTORY = 4096
"""Bytes of a working directory that the daemon takes: PATH_MAX of Linux."""

COMPLETE = "--complete"
"""First argument of the command lines by which shells complete."""

COMPLETE_S = 1.0
"""Seconds that such a line may take: a person waits at a key."""

ALIAS = "mnemon"
"""The name by which the client takes mnemon's commands; `launcher/mnemonctl` puts it into sys.argv[0]."""

SAME_COMMANDS = frozenset({"setup", "import", "viz"})
"""Commands of mnemon that are run as if they were typed after `mnemonctl`."""

SLOW_COMMANDS = frozenset(
    {"backup", "browse", "completion", "config", "cues", "daemon", "doctor", "export", "help", "import"}
)
SLOW_COMMANDS |= {"logs", "prompts", "setup", "share", "sync", "top", "version", "viz"}
"""Commands that the client runs itself, in part at least; the daemon runs all others."""

LONG_COMMANDS = frozenset({"embed", "backup"})
HELP_OPTIONS = frozenset({"-h", "--help", "--version"})

VALUE_OPTIONS = frozenset(
    {"--store", "--data-dir", "--user", "--user-id", "--session", "--session-id", "--agent", "--agent-id", "--now"}
)
"""Options before the command word whose value is the next argument."""

_MIN_COLUMNS, _DEFAULT_COLUMNS, _MAX_COLUMNS = 20, 80, 1000
"""Width of a terminal, as far as the daemon accepts it."""

_PIPE_CLOSED = 32
"""EPIPE; the module `errno` is not always built in."""

_HEAD = b'{"jsonrpc":"2.0","id":1,"result":{"exit_code":'
_NOT_OUTDATED = b',"outdated":false,"stdout":"'
_OUTDATED = b',"outdated":true,"stdout":"'
_BETWEEN = b'","stderr":"'
_TAIL = b'"}}'

_ESCAPES: dict[int, str] = {code: f"\\u{code:04x}" for code in range(32)}
_ESCAPES.update({0x22: '\\"', 0x5C: "\\\\"})


class InvalidInputError(Exception):
    """A command line that cannot be sent. `hint` is what to do next."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class NoAnswer(Exception):  # noqa: N818 - an outcome, named as one
    """The request was sent and no complete reply came back: what the daemon did is unknown."""


class OutputError(Exception):
    """Standard output cannot be written, for example because the disk is full."""


class Watcher:
    """Is given the lines that come before a reply."""

    def note(self, line: bytes) -> bool:
        """Return True unless it is the reply."""
        return False


class UnexpectedReplyError(Exception):
    """A reply in another form than the fast path reads; it needs a JSON parser."""

    def __init__(self, reply: bytes) -> None:
        super().__init__(reply)
        self.reply = reply


class Unfinished:
    """A command line that the fast path could not finish, and how far it came. `error`: None for a command that the
    client has a part in; InvalidInputError if it cannot be sent; OSError if the connection failed, so that `request`
    was not sent; else what came in place of a reply. `code`: of a command that is done, by a daemon that is older than
    this client."""

    def __init__(
        self, argv: list[str], deadline: float, directory: bytes = b"", request: bytes = b"",
        error: Exception | None = None, code: int | None = None,
    ) -> None:  # fmt: skip
        self.argv = argv
        self.deadline = deadline
        self.directory = directory
        self.request = request
        self.error = error
        self.code = code


def run(argv: list[str], deadline: float | None = None) -> int | Unfinished:
    """Run one command line and return the exit status. `deadline` is in seconds; the default depends on the command."""
    if argv[:1] == [COMPLETE]:
        return complete(argv)
    command = command_of(argv)
    deadline = deadline or (LONG_DEADLINE_S if command in LONG_COMMANDS else DEADLINE_S)
    if is_alias() and command in SAME_COMMANDS:
        sys.argv[0] = "mnemonctl"
        if command == "import" and "--yes" not in argv and "--dry-run" not in argv:
            end = argv.index("--") if "--" in argv else len(argv)
            argv = [*argv[:end], "--yes", *argv[end:]]  # mnemon asks nothing
    if command == "help" or (command in SLOW_COMMANDS and not is_alias()):
        return Unfinished(argv, deadline)
    return forward(argv, deadline)


def is_alias() -> bool:
    """Return True if the client was called by the name of mnemon."""
    return sys.argv[:1] == [ALIAS]


def complete(argv: list[str]) -> int | Unfinished:
    """Print what may stand in the place of the word under the cursor. A daemon that does not run is not started: then
    the declarations of the commands alone answer."""
    try:
        reply = exchange(connect(data_dir(argv) + b"/sock", COMPLETE_S), encode(argv), COMPLETE_S)
        write(1, decode(reply)[2])
    except (InvalidInputError, NoAnswer, UnexpectedReplyError, OSError):
        return Unfinished(argv, COMPLETE_S)
    return 0


def forward(argv: list[str], deadline: float) -> int | Unfinished:
    """Send the command line to the daemon; return the exit status."""
    try:
        directory = data_dir(argv)
        request = encode(argv)
    except InvalidInputError as error:
        return Unfinished(argv, deadline, error=error)
    try:
        connection = connect(directory + b"/sock", deadline)
    except OSError as error:
        return Unfinished(argv, deadline, directory, request, error)
    return finish(argv, directory, connection, request, deadline)


def finish(
    argv: list[str], directory: bytes, connection: _socket.socket, request: bytes, deadline: float
) -> int | Unfinished:
    """Send the request, once; print the output in the reply and return its exit status."""
    try:
        code, outdated, out, err = decode(exchange(connection, request, deadline))
    except (NoAnswer, UnexpectedReplyError) as error:
        return Unfinished(argv, deadline, directory, error=error)
    write(1, out)
    write(2, err)
    return Unfinished(argv, deadline, directory, code=code) if outdated else code


def add_site_packages() -> None:
    """Make libraries importable where Python was started with -S, as by `launcher/mnemonctl`: run `site` now.

    The directory of this package was put before the standard library on `sys.path`. It moves to its usual place there,
    or to the end if `site` does not know it (`pip install --prefix`).
    """
    if not sys.flags.no_site or "site" in sys.modules:
        return
    import site

    packages = __file__.rpartition("/mnemonctl/")[0]
    sys.path[:] = [entry for entry in sys.path if entry != packages]
    site.main()
    if packages not in sys.path:
        site.addsitedir(packages)


# ------------------------------------------------------------------ the command line


def command_of(argv: list[str]) -> str:
    """Return the first word of the command; "help" for a line without one, or with an option for help or version."""
    skip = False
    command = None
    for word in argv:
        if word == "--":
            break
        if word in HELP_OPTIONS:
            return "help"
        if command is not None:
            continue
        if skip:
            skip = False
        elif word in VALUE_OPTIONS:
            skip = True
        elif word[:1] != "-" or word == "-":
            command = word
    return "help" if command is None else command


def data_dir(argv: list[str]) -> bytes:
    """Return --data-dir, else $MNEMON_DATA_DIR, else ~/.mnemon. Raises InvalidInputError."""
    chosen = ""
    for index, word in enumerate(argv):
        if word == "--":
            break
        if word[:11] == "--data-dir=":
            chosen = word[11:]
        elif word == "--data-dir" and index + 1 < len(argv):
            chosen = argv[index + 1]
    if not chosen:
        return default_data_dir()
    path = chosen.encode("utf-8", "surrogateescape")
    return in_home(path[2:] or b".mnemon") if path[:2] == b"~/" else path


def default_data_dir() -> bytes:
    """Return $MNEMON_DATA_DIR, else ~/.mnemon.

    Raises InvalidInputError if it is relative (it would be another one in each directory) or $HOME is not set.
    """
    path = posix.environ.get(b"MNEMON_DATA_DIR", b"")
    if not path or path[:2] == b"~/":
        return in_home(path[2:] or b".mnemon")
    if path[:1] != b"/":
        shown = path[:200].decode("utf-8", "replace")
        raise InvalidInputError(
            f"MNEMON_DATA_DIR is relative ({shown})", "Set it to an absolute path, or to one below ~/."
        )
    return path


def in_home(path: bytes) -> bytes:
    """Return a path below the home directory. Raises InvalidInputError if $HOME is not set."""
    home = posix.environ.get(b"HOME", b"")
    if not home:
        raise InvalidInputError("the data directory is unknown: $HOME is not set", "Give one with --data-dir DIR.")
    return home + b"/" + path


def wants_stdin(argv: list[str]) -> bool:
    """Return True if an argument is "-" (after "--" it is text)."""
    for word in argv:
        if word == "--":
            return False
        if word == "-":
            return True
    return False


def read_stdin() -> str:
    """Read all of standard input. Raises InvalidInputError if it is longer than a message or not UTF-8."""
    parts: list[bytes] = []
    size = 0
    try:
        while part := posix.read(0, 1 << 16):
            parts.append(part)
            size += len(part)
            if size > MAX_MESSAGE:
                raise InvalidInputError(
                    f"standard input is longer than {MAX_MESSAGE:,} bytes ({size:,} bytes were read)"
                )
    except OSError as error:
        raise InvalidInputError(f"standard input cannot be read: {error.strerror}") from None
    try:
        return b"".join(parts).decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"standard input is not UTF-8 (byte {error.start + 1:,} of {size:,})") from None


# ------------------------------------------------------------------ the request


def encode(argv: list[str]) -> bytes:
    """Return the `cli.run` request for this command line, with its line break. Raises InvalidInputError."""
    parts = ['{"jsonrpc":"2.0","id":1,"method":"cli.run","params":{"argv":[']
    parts.append(",".join([quote(word, number) for number, word in enumerate(argv, 1)]))
    parts.append(f'],"client_version":"{VERSION}","protocol":{PROTOCOL}')
    if is_alias():
        parts.append(f',"program":"{ALIAS}"')
    if posix.isatty(1):
        parts.append(f',"tty":true,"columns":{columns()},"color":{"true" if color() else "false"}')
    if posix.isatty(2):
        parts.append(',"tty_err":true')
    store = posix.environ.get(b"MNEMON_STORE", b"")
    if store:
        parts.append(',"env_store":' + quote(store.decode("utf-8", "replace")))
    directory = working_directory()
    if directory:
        parts.append(',"directory":' + quote(directory))
    if wants_stdin(argv) and argv[0] != COMPLETE:
        parts.append(',"stdin":' + quote(read_stdin()))
    parts.append("}}\n")
    message = "".join(parts).encode()
    if len(message) > MAX_MESSAGE:
        raise InvalidInputError(
            f"the command line is longer than {MAX_MESSAGE:,} bytes ({len(message):,} as it would be sent)"
        )
    return message


def working_directory() -> str:
    """Return the working directory, by which the daemon finds the project; "" if it was removed or is not UTF-8."""
    try:
        path = posix.getcwd()
        return path if len(path.encode()) <= MAX_DIRECTORY else ""
    except (OSError, UnicodeEncodeError):
        return ""


def quote(text: str, number: int = 0) -> str:
    """Return `text` as a JSON string. Raises InvalidInputError for argument `number` if it was not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"argument {number} is not UTF-8 (character {error.start + 1:,} of {len(text):,})"
        ) from None
    return '"' + text.translate(_ESCAPES) + '"'


def columns() -> int:
    """Return the width of the terminal, within the limits of the daemon."""
    try:
        width = posix.get_terminal_size(1)[0] or _DEFAULT_COLUMNS
    except OSError:
        return _DEFAULT_COLUMNS
    return min(max(width, _MIN_COLUMNS), _MAX_COLUMNS)


def color() -> bool:
    """Return True unless $NO_COLOR is set (no-color.org) or the terminal is a dumb one."""
    return not posix.environ.get(b"NO_COLOR") and posix.environ.get(b"TERM", b"dumb") != b"dumb"


# ------------------------------------------------------------------ the socket


def connect(path: bytes | str, deadline: float) -> _socket.socket:
    """Connect to the daemon. Raises OSError; with a timeout set, a full backlog raises EAGAIN instead of blocking."""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    while connection.fileno() <= 2:  # a standard stream was closed: the socket must not take its number
        posix.dup2(posix.open("/dev/null", posix.O_RDWR), connection.detach())
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.settimeout(deadline)
    try:
        connection.connect(path)
    except OSError:
        connection.close()
        raise
    return connection


def exchange(
    connection: _socket.socket, request: bytes, deadline: float, watcher: Watcher | None = None
) -> bytes:  # fmt: skip
    """Send the request, close the connection and return the reply without its line break. Raises NoAnswer."""
    ends = posix.times()[4] + deadline
    try:
        connection.settimeout(min(deadline, DEADLINE_S))
        send(connection, request)
        return receive(connection, ends, watched=deadline > DEADLINE_S, watcher=watcher)
    except TimeoutError:
        raise NoAnswer(f"mnemond did not answer within {deadline:g} s") from None
    except OSError as error:
        raise NoAnswer(f"the connection to mnemond broke ({error.strerror})") from None
    finally:
        connection.close()


def send(connection: _socket.socket, request: bytes) -> None:
    """Send the whole request, then end of file. Raises TimeoutError.

    Other errors are ignored: a daemon that rejects a connection closes it before it has read everything, and its
    reply can still be received.
    """
    try:
        connection.sendall(request)
        connection.shutdown(_socket.SHUT_WR)
    except TimeoutError:
        raise
    except OSError:
        return


def receive(
    connection: _socket.socket, ends: float, *, watched: bool = False, watcher: Watcher | None = None
) -> bytes:  # fmt: skip
    """Receive up to a line break or the end. Raises TimeoutError, NoAnswer.

    `watched`: the reply may take hours, so a daemon that is silent is sent a ping now and then; NoAnswer is raised when
    it does not answer `MAX_MISSED` of them in a row.
    """
    parts: list[bytes] = []
    room, missed = MAX_REPLY, 0
    while (left := ends - posix.times()[4]) > 0:
        connection.settimeout(min(left, SILENT_S) if watched else left)
        try:
            part = connection.recv(1 << 16)
        except TimeoutError:
            if not watched:
                raise
            missed = 0 if answers_ping(connection.getpeername()) else missed + 1
            if missed >= MAX_MISSED:
                raise NoAnswer("mnemond has stopped answering, also to a ping") from None
            continue
        if not part:
            break
        parts.append(part)
        room -= len(part)
        if part[-1] == 10:
            reply = b"".join(parts)[:-1]
            if watcher is None:
                return reply
            for line in reply.split(b"\n"):
                if not watcher.note(line):
                    return line
            parts = []
        if room < 0:
            raise NoAnswer(f"mnemond's answer is longer than {MAX_REPLY} bytes")
    else:
        raise TimeoutError
    if parts:
        return b"".join(parts)
    raise NoAnswer("mnemond closed the connection without an answer")


def answers_ping(path: bytes | str) -> bool:
    """Return True if the daemon answers a ping on a connection of its own within `PING_S`."""
    try:
        connection = connect(path, PING_S)
    except OSError:
        return False
    try:
        send(connection, PING)
        return bool(connection.recv(1 << 16))
    except OSError:
        return False
    finally:
        connection.close()


# ------------------------------------------------------------------ the reply


def decode(reply: bytes) -> tuple[int, bool, bytes, bytes]:
    """Return (exit status, True if the daemon is older than this client, stdout, stderr).

    Inside a JSON string every quote follows a backslash, so the first `","stderr":"` is the end of stdout. Raises
    UnexpectedReplyError for any other form.
    """
    if not (reply.startswith(_HEAD) and reply.endswith(_TAIL)):
        raise UnexpectedReplyError(reply)
    digits_end = reply.find(b",", len(_HEAD))
    outdated = reply.startswith(_OUTDATED, digits_end)
    start = digits_end + len(_OUTDATED if outdated else _NOT_OUTDATED)
    middle = reply.find(_BETWEEN, start)
    digits = reply[len(_HEAD) : digits_end]
    if middle < 0 or not (
        digits.isdigit()
        and len(digits) <= 3
        and int(digits) <= 255
        and (outdated or reply.startswith(_NOT_OUTDATED, digits_end))
    ):
        raise UnexpectedReplyError(reply)
    return int(digits), outdated, unquote(reply, start, middle), unquote(reply, middle + len(_BETWEEN), -len(_TAIL))


def unquote(reply: bytes, start: int, end: int) -> bytes:
    """Decode the JSON string in `reply[start:end]`, without its quotes, to UTF-8.

    The escapes that the daemon writes mean the same in Python, and each other byte is itself in Latin-1, so the UTF-8
    comes back unchanged. Raises UnexpectedReplyError for other escapes of JSON: "/" and beyond ASCII.
    """
    text = reply[start:end]
    if b"\\" not in text:
        return text
    escapes = text.replace(b"\\\\", b"")  # what follows an escaped backslash is no escape
    if b"\\/" in escapes or escapes.count(b"\\u00") != escapes.count(b"\\u000") + escapes.count(b"\\u001"):
        raise UnexpectedReplyError(reply)
    try:
        return _codecs.unicode_escape_decode(text)[0].encode("latin-1")
    except UnicodeError:
        raise UnexpectedReplyError(reply) from None


def write_part(data: bytes) -> None:
    """Write a part of the output. Raises OutputError, and BrokenPipeError if its reader has left: no more is wanted."""
    try:
        _write_all(1, data)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(error.strerror) from None


def write(descriptor: int, data: bytes) -> None:
    """Write everything. A closed pipe (`| head`) is no error, and no failure of standard error is.

    Raises OutputError if standard output fails otherwise.
    """
    try:
        _write_all(descriptor, data)
    except OSError as error:
        if descriptor == 1 and error.errno != _PIPE_CLOSED:
            raise OutputError(error.strerror) from None


def _write_all(descriptor: int, data: bytes) -> None:
    """Write everything, also where the descriptor does not wait. Raises OSError."""
    view = memoryview(data)
    while view:
        try:
            view = view[posix.write(descriptor, view) :]
        except BlockingIOError:
            posix.set_blocking(descriptor, True)
