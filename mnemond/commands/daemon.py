"""`mnemonctl daemon …`: run by the client itself; here only its grammar and its help."""

from __future__ import annotations

from mnemond.commands.command import Command
from mnemond.commands.options import add_globals
from mnemond.commands.parser import Parser


def seconds(text: str) -> float:
    """A positive number of seconds, at most an hour. Raises ValueError, which argparse turns into a usage error."""
    value = float(text)
    if not 0 < value <= 3600:
        raise ValueError(text)
    return value


def _parser(command: str, *, waits: bool = False) -> Parser:
    parser = Parser(command)
    if waits:
        parser.add_argument("--wait", type=seconds, metavar="SECONDS", help="how long it may take to answer; default 2")
    add_globals(parser)
    return parser


def _installing(command: str, verb: str, *, sandbox: bool = False) -> Parser:
    parser = Parser(command)
    parser.add_argument("--dry-run", action="store_true", help=f"show what would be {verb}, and do nothing")
    parser.add_argument("--force", action="store_true", help="also files that somebody changed, or that are not ours")
    if sandbox:
        parser.add_argument("--sandbox", action="store_true", help="see nothing else of the file system as writable")
    add_globals(parser)
    return parser


START = Command(
    name="daemon start",
    summary="Start the daemon, if none runs. Other commands do so by themselves.",
    words="",
    examples=("mnemonctl daemon start", "mnemonctl daemon start --wait 10"),
    details=("They wait as long for its first answer as $MNEMON_START_WAIT says: 10 seconds, unless it is set.",),
    parser=_parser("daemon start", waits=True),
)
STOP = Command(
    name="daemon stop",
    summary="Let the daemon answer what it has received, then leave.",
    words="",
    examples=("mnemonctl daemon stop",),
    parser=_parser("daemon stop"),
)
RESTART = Command(
    name="daemon restart",
    summary="Stop the daemon, if one runs, and start it again.",
    words="",
    examples=("mnemonctl daemon restart",),
    details=("The configuration is checked first: a daemon that could not start again is not stopped.",),
    parser=_parser("daemon restart", waits=True),
)
STATUS = Command(
    name="daemon status",
    summary="Whether a daemon runs (exit 69 if not), its process, version and stores.",
    words="",
    examples=("mnemonctl daemon status", "mnemonctl daemon status --json"),
    parser=_parser("daemon status"),
)
RUN = Command(
    name="daemon run",
    summary="Run the daemon in the foreground; Ctrl-C stops it.",
    words="",
    examples=("mnemonctl daemon run", "mnemonctl daemon run --data-dir /tmp/try-it"),
    parser=_parser("daemon run"),
)
INSTALL = Command(
    name="daemon install",
    summary="Make the daemon a service of systemd or launchd: it starts at login, and again after a crash.",
    words="",
    examples=("mnemonctl daemon install", "mnemonctl daemon install --dry-run", "mnemonctl daemon install --sandbox"),
    details=(
        "It is a service of this user, not of the machine, and each data directory (--data-dir) can have one.",
        "Installing again is harmless, and necessary after mnemond moved to another environment.",
        "--sandbox needs user namespaces, which not every system lets users have.",
    ),
    parser=_installing("daemon install", "written and run", sandbox=True),
)
UNINSTALL = Command(
    name="daemon uninstall",
    summary="Stop the daemon's service and remove it. Memories stay.",
    words="",
    examples=("mnemonctl daemon uninstall", "mnemonctl daemon uninstall --dry-run"),
    parser=_installing("daemon uninstall", "removed"),
)
