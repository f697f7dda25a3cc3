"""`mnemonctl setup`: run by the client itself; here only its grammar and its help."""

from __future__ import annotations

from mnemond.commands.command import Command
from mnemond.commands.options import Split, add_globals
from mnemond.commands.parser import Parser

TARGETS = "claude-code, codex, gemini, cursor, copilot-cli, generic"


def _parser() -> Parser:
    parser = Parser("setup")
    parser.add_argument("--target", action=Split, metavar="NAME", help=f"only this one, may be repeated: {TARGETS}")
    parser.add_argument("--dry-run", action="store_true", help="show every change as a diff, and do nothing")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--eject", action="store_true", help="take everything back")
    parser.add_argument(
        "--global", dest="everywhere", action="store_true", help="for all projects; so it is in any case"
    )
    add_globals(parser)
    return parser


COMMAND = Command(
    name="setup",
    summary="Tell Claude Code, Codex, Gemini CLI, Cursor or Copilot CLI about mnemond, or take that back.",
    words="",
    examples=(
        "mnemonctl setup",
        "mnemonctl setup --dry-run",
        "mnemonctl setup --target codex --yes",
        "mnemonctl setup --target generic",
        "mnemonctl setup --eject",
    ),
    details=(
        "Without --target: every one of them that is found here. It shows what it would change, and asks.",
        "A file that does not parse is left alone, with the line. Entries of others stay as they are, to the byte.",
        "A backup stands beside each file that was changed.",
        "--eject puts back what was there before; where somebody changed a file since, it takes out our entries alone.",
        "generic prints a block for AGENTS.md and an MCP entry for any other program.",
    ),
    parser=_parser(),
)
