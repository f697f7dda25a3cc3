"""The command `mnemonctl`: one command line over the socket and back.

A Python that has just started has a handful of modules loaded; `argparse`, `json` and `socket` cost more time than
the whole round trip. So this file imports built-in modules only, writes its one JSON message by hand and cuts the
reply at known places. Everything unusual (help, `daemon …`, no daemon, errors) is left to `mnemonctl.slow`.
"""

# No `from __future__ import annotations`: it loads a module from the disk.
import _codecs
import _socket
import posix
import sys

VERSION = "0.1.0"
"""This client's release; the same as `mnemond.__version__`, which is not imported here (a test compares them)."""

PROTOCOL = 1
"""The wire protocol spoken; the same as `mnemond.wire.params.PROTOCOL`."""

DEADLINE_S = 30.0
"""Seconds from connecting to the last byte of the answer."""

PATIENT_S = 86_400.0
"""As long, for a command that may embed or copy a whole store; what it began goes on when nobody waits for it."""

LONGEST_REPLY = 1 << 28
"""Bytes of an answer that are taken in: several times the longest a daemon gives."""

MAX_MESSAGE = 1 << 20
"""Bytes of a message the daemon reads, and of standard input that is sent."""

SLOW_WORDS = frozenset({"backup", "config", "daemon", "doctor", "help", "logs", "setup", "top", "version"})
PATIENT_WORDS = frozenset({"embed", "backup"})
SLOW_OPTIONS = frozenset({"-h", "--help", "--version"})

VALUE_OPTIONS = frozenset(
    {"--store", "--data-dir", "--user", "--user-id", "--session", "--session-id", "--agent", "--agent-id", "--now"}
)
"""Options before the command word whose value is the next argument."""

_COLUMNS = (20, 80, 1000)
"""Least, usual and greatest width of a terminal that is told to the daemon."""

_NOBODY_READS = (9, 32)
"""EBADF and EPIPE; the module `errno` is not always built in."""

_HEAD = b'{"jsonrpc":"2.0","id":1,"result":{"exit_code":'
_NOT_OUTDATED = b',"outdated":false,"stdout":"'
_OUTDATED = b',"outdated":true,"stdout":"'
_BETWEEN = b'","stderr":"'
_TAIL = b'"}}'

_ESCAPES: dict[int, str] = {code: f"\\u{code:04x}" for code in range(32)}
_ESCAPES.update({0x22: '\\"', 0x5C: "\\\\"})


class InvalidInputError(Exception):
    """A command line that cannot be sent: a sentence, and what to do next."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class NoAnswer(Exception):  # noqa: N818 - an outcome, named as one
    """The request went out and no whole answer came back: what the daemon did with it is unknown."""


class OutputError(Exception):
    """Standard output takes nothing more: the disk is full, say."""


class UnexpectedReplyError(Exception):
    """An answer in another form than expected, to be read by a real JSON parser."""

    def __init__(self, reply: bytes) -> None:
        super().__init__(reply)
        self.reply = reply


def main() -> None:
    """Run the command line of this process; never returns."""
    try:
        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    except OutputError as lost:
        write(2, f"mnemonctl: the command was carried out, but its answer cannot be written: {lost}\n".encode())
        code = 74  # EX_IOERR of sysexits.h
    posix._exit(code)


def run(argv: list[str], deadline: float | None = None) -> int:
    """Carry out one command line and return the exit status. Without a deadline, the one that suits the command."""
    command = command_of(argv)
    ends = deadline or (PATIENT_S if command in PATIENT_WORDS else DEADLINE_S)
    if command in SLOW_WORDS:
        add_site_packages()
        from mnemonctl import slow

        return slow.run(argv, ends)
    return forward(argv, ends)


def forward(argv: list[str], deadline: float) -> int:
    """Let the daemon carry it out. One that does not run is started."""
    try:
        directory = data_dir(argv)
        request = encode(argv)
    except InvalidInputError as refused:
        add_site_packages()
        from mnemonctl import slow

        return slow.refuse(argv, refused)
    try:
        connection = connect(directory + b"/sock", deadline)
    except OSError as error:
        add_site_packages()
        from mnemonctl import slow

        return slow.reconnect(argv, directory, request, error, deadline)
    return converse(argv, directory, connection, request, deadline)


def converse(argv: list[str], directory: bytes, connection: _socket.socket, request: bytes, deadline: float) -> int:
    """Send the request, print the answer and return its exit status. Nothing is ever sent twice."""
    try:
        code, outdated, out, err = decode(exchange(connection, request, deadline))
    except (NoAnswer, UnexpectedReplyError) as error:
        add_site_packages()
        from mnemonctl import slow

        return slow.explain(argv, directory, error)
    write(1, out)
    write(2, err)
    if outdated:
        add_site_packages()
        from mnemonctl import slow

        slow.replace_outdated(directory)
    return code


def add_site_packages() -> None:
    """Make libraries importable where Python was started with -S, as by `bin/mnemonctl`: run `site` now.

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
    """The first word of the command; "help" for a line without one, and wherever help or the version is asked for.

    Those in SLOW_WORDS need no daemon.
    """
    skip = False
    command = None
    for word in argv:
        if word == "--":
            break
        if word in SLOW_OPTIONS:
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
    """--data-dir, else $MNEMON_DATA_DIR, else ~/.mnemon. Raises Refused when none of them can be told."""
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
    """$MNEMON_DATA_DIR, else ~/.mnemon. Raises Refused: a relative one would be another store in every directory."""
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
    """A path below the home directory. Raises Refused when that is unknown."""
    home = posix.environ.get(b"HOME", b"")
    if not home:
        raise InvalidInputError("the data directory is unknown: $HOME is not set", "Give one with --data-dir DIR.")
    return home + b"/" + path


def wants_stdin(argv: list[str]) -> bool:
    """Whether an argument is a lone "-" (after "--" it is only text)."""
    for word in argv:
        if word == "--":
            return False
        if word == "-":
            return True
    return False


def read_stdin() -> str:
    """All of standard input. Raises Refused for more than a message holds, or for what is not UTF-8."""
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
    """The `cli.run` request for this command line, with its line break. Raises Refused for what cannot be sent."""
    parts = ['{"jsonrpc":"2.0","id":1,"method":"cli.run","params":{"argv":[']
    parts.append(",".join([quote(word, number) for number, word in enumerate(argv, 1)]))
    parts.append(f'],"client_version":"{VERSION}","protocol":{PROTOCOL}')
    if posix.isatty(1):
        parts.append(f',"tty":true,"columns":{columns()},"color":{"true" if color() else "false"}')
    if posix.isatty(2):
        parts.append(',"tty_err":true')
    store = posix.environ.get(b"MNEMON_STORE", b"")
    if store:
        parts.append(',"env_store":' + quote(store.decode("utf-8", "replace")))
    if wants_stdin(argv):
        parts.append(',"stdin":' + quote(read_stdin()))
    parts.append("}}\n")
    message = "".join(parts).encode()
    if len(message) > MAX_MESSAGE:
        raise InvalidInputError(
            f"the command line is longer than {MAX_MESSAGE:,} bytes ({len(message):,} as it would be sent)"
        )
    return message


def quote(text: str, number: int = 0) -> str:
    """`text` as a JSON string. Raises Refused, naming the argument, for bytes that were not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"argument {number} is not UTF-8 (character {error.start + 1:,} of {len(text):,})"
        ) from None
    return '"' + text.translate(_ESCAPES) + '"'


def columns() -> int:
    """Width of the terminal, within what the daemon accepts."""
    least, usual, most = _COLUMNS
    try:
        width = posix.get_terminal_size(1)[0]
    except OSError:
        return usual
    return min(max(width, least), most) if width else usual


def color() -> bool:
    """Colours are wanted unless $NO_COLOR is set to something or the terminal is a dumb one."""
    return not posix.environ.get(b"NO_COLOR") and posix.environ.get(b"TERM", b"dumb") != b"dumb"


# ------------------------------------------------------------------ the socket


def connect(path: bytes, deadline: float) -> _socket.socket:
    """A connection. Raises OSError; with a timeout set, a full backlog is refused at once instead of hanging."""
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    while connection.fileno() <= 2:  # a standard stream was closed: never let the socket take its place
        posix.dup2(posix.open("/dev/null", posix.O_RDWR), connection.detach())
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.settimeout(deadline)
    try:
        connection.connect(path)
    except OSError:
        connection.close()
        raise
    return connection


def exchange(connection: _socket.socket, request: bytes, deadline: float) -> bytes:
    """Send the request and return the reply without its line break. Raises NoAnswer, with the reason."""
    ends = posix.times()[4] + deadline
    try:
        send(connection, request)
        return receive(connection, ends)
    except TimeoutError:
        raise NoAnswer(f"mnemond did not answer within {deadline:g} s") from None
    except OSError as error:
        raise NoAnswer(f"the connection to mnemond broke ({error.strerror})") from None
    finally:
        connection.close()


def send(connection: _socket.socket, request: bytes) -> None:
    """The whole request, then the end. A daemon that turned the connection away closes it before it has read
    everything; what it said first is still there to be received. Raises TimeoutError."""
    try:
        connection.sendall(request)
        connection.shutdown(_socket.SHUT_WR)
    except TimeoutError:
        raise
    except OSError:
        return


def receive(connection: _socket.socket, ends: float) -> bytes:
    """Bytes up to a line break or the end. Raises TimeoutError, NoAnswer."""
    parts: list[bytes] = []
    room = LONGEST_REPLY
    while (left := ends - posix.times()[4]) > 0:
        connection.settimeout(left)
        part = connection.recv(1 << 16)
        if not part:
            break
        parts.append(part)
        room -= len(part)
        if part[-1] == 10:
            return b"".join(parts)[:-1]
        if room < 0:
            raise NoAnswer(f"mnemond's answer is longer than {LONGEST_REPLY} bytes")
    else:
        raise TimeoutError
    if parts:
        return b"".join(parts)
    raise NoAnswer("mnemond closed the connection without an answer")


# ------------------------------------------------------------------ the reply


def decode(reply: bytes) -> tuple[int, bool, bytes, bytes]:
    """(exit code, whether the daemon is older than this client, stdout, stderr). Raises Odd for any other form.

    Inside a JSON string every quote follows a backslash, so the first `","stderr":"` is the end of stdout.
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
    """The UTF-8 text of a JSON string's inside.

    The escapes the daemon writes mean the same in Python, and each other byte stands for itself in Latin-1, so the
    UTF-8 comes back as it was. Raises Odd for the escapes JSON has beyond those: "/" and what is not ASCII.
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


def write(descriptor: int, data: bytes) -> None:
    """Write everything. A reader who has gone away (`| head`) is no error; neither is a closed stream.

    Raises Unwritten when standard output fails otherwise; there is nobody to tell when standard error does.
    """
    view = memoryview(data)
    while view:
        try:
            view = view[posix.write(descriptor, view) :]
        except BlockingIOError:
            posix.set_blocking(descriptor, True)
        except OSError as error:
            if descriptor == 1 and error.errno not in _NOBODY_READS:
                raise OutputError(error.strerror) from None
            return
