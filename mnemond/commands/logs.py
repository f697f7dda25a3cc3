"""`mnemonctl logs`: run by the client itself; here only its grammar and its help."""

from __future__ import annotations

from typing import Final

from mnemond.commands.command import Command
from mnemond.commands.options import add_globals
from mnemond.commands.parser import Parser
from mnemond.log_settings import LEVELS

USUAL_LINES: Final = 50
"""Lines that are shown unless another number is asked for: a screen or two."""

MOST_LINES: Final = 1_000_000


def _lines(text: str) -> int:
    """A number of lines. Raises ValueError, which argparse turns into a usage error."""
    value = int(text)
    if not 0 <= value <= MOST_LINES:
        raise ValueError(text)
    return value


def _parser() -> Parser:
    parser = Parser("logs")
    parser.add_argument("-f", "--follow", action="store_true", help="go on with what comes; Ctrl-C ends it")
    parser.add_argument("-n", "--lines", type=_lines, metavar="N", help=f"the last N lines; default {USUAL_LINES}")
    parser.add_argument("--level", choices=list(LEVELS), help="only what is at least as important")
    add_globals(parser)
    return parser


COMMAND = Command(
    name="logs",
    summary="What the daemon wrote down of its own doings. No memory's text is in it.",
    words="",
    examples=("mnemonctl logs", "mnemonctl logs -f", "mnemonctl logs -n 200 --level warning"),
    details=(
        "It works while no daemon runs.",
        "The log of a service of systemd is in the journal; otherwise it is log/mnemond.log in the data directory.",
    ),
    parser=_parser(),
)
