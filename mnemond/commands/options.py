"""Options that several commands share, and the kinds of values they take. Destinations are names on the wire."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from mnemond.commands.parser import Parser

CATEGORIES = "preference, decision, fact, insight, context, general"
"""Those of `mnemond.model.insight`, which a layer this low does not see (a test compares them)."""

NO_EFFECT = "(no effect yet)"
"""Said of options that are accepted for compatibility."""

GLOBAL_VALUES = (
    "--store", "--data-dir", "--user", "--user-id", "--session", "--session-id", "--agent", "--agent-id", "--now",
)  # fmt: skip
"""Options of every command that take a value; the client looks for the command word behind them."""

GLOBAL_FLAGS = ("--json", "--text", "--pretty", "-q", "--quiet", "--no-color", "-h", "--help", "--version")
"""Options of every command that take none."""


class Split(argparse.Action):
    """Adds the parts of a comma-separated value to a list."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """`--tags a,b` after `--tag c` gives c, a, b."""
        del parser, option_string
        parts = [part.strip() for part in str(values).split(",")]
        before: list[str] = getattr(namespace, self.dest, [])
        setattr(namespace, self.dest, [*before, *(part for part in parts if part)])


def whole_number(text: str) -> int:
    """A decimal integer; anything else is a usage error that shows what was given."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 18):
        raise argparse.ArgumentTypeError(f"must be a whole number, not {text[:40]!r}")
    return int(text)


def add_globals(parser: Parser) -> None:
    """The options every command accepts, before or after its name."""
    group = parser.add_argument_group("global")
    group.add_argument("--store", metavar="NAME", help="which store (default: $MNEMON_STORE, then the active one)")
    group.add_argument("--json", dest="output", action="store_const", const="json", help="one JSON document")
    group.add_argument("--text", dest="output", action="store_const", const="text", help="text for people")
    group.add_argument("--pretty", action="store_true", help="indent the JSON")
    group.add_argument("-q", "--quiet", action="store_true", help="only the essential: ids, contents")
    group.add_argument("--user", "--user-id", dest="user_id", metavar="ID", help="whose memories")
    group.add_argument("--session", "--session-id", dest="session_id", metavar="ID", help="of which session")
    group.add_argument("--agent", "--agent-id", dest="agent_id", metavar="ID", help="of which agent")
    group.add_argument("--now", metavar="TIME", help=f"reference time, RFC 3339 {NO_EFFECT}")
    group.add_argument("--data-dir", metavar="DIR", help="the data directory (default: $MNEMON_DATA_DIR, ~/.mnemon)")
    group.add_argument("--no-color", action="store_true", help="no colours (also: a non-empty $NO_COLOR)")
    group.add_argument("-h", "--help", action="store_true", help="show help, with examples")
    group.add_argument("--version", action="store_true", help="show the version")


def add_filters(parser: Parser) -> None:
    """What recall and list can be narrowed to."""
    parser.add_argument("--category", "--cat", metavar="NAME", help=f"only this category: {CATEGORIES}")
    parser.add_argument("--source", metavar="NAME", help="only from this source")
    parser.add_argument("--all-sessions", action="store_true", help="also memories meant for other sessions")


def add_op_id(parser: Parser) -> None:
    """The name of a write, which makes repeating it harmless."""
    parser.add_argument("--op-id", metavar="ID", help="name of this write: repeating it with the same id is harmless")
