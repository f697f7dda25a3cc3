"""`mnemonctl version` and `mnemonctl help`: answered without a daemon."""

from __future__ import annotations

from mnemond.commands.command import Command
from mnemond.commands.options import add_globals
from mnemond.commands.parser import Parser


def _parser(command: str) -> Parser:
    parser = Parser(command)
    add_globals(parser)
    return parser


VERSION = Command(
    name="version",
    summary="Show the version.",
    words="",
    examples=("mnemonctl version", "mnemonctl version --json"),
    parser=_parser("version"),
)
HELP = Command(
    name="help",
    summary="Show help for a command.",
    words="[COMMAND]",
    examples=("mnemonctl help recall", "mnemonctl recall --help"),
    parser=_parser("help"),
)
