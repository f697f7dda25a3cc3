"""Options that several commands share, and the kinds of values they take. Destinations are names on the wire."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import msgspec

from mnemond.commands.parser import Parser, UsageError

CATEGORIES = "preference, decision, fact, insight, context, general"
"""Those of `mnemond.model.insight`, which a layer this low does not see (a test compares them)."""

STATUSES = "active, superseded, merged, forgotten, pruned, expired"
"""Likewise."""

METADATA = '{"project": "apollo", "build": {"gte": 3}}'
"""An example of what is looked for."""

NOTED = '{"project": "apollo", "build": 7}'
"""An example of what is noted with a memory: values alone, for a comparison is refused there."""

_ON_METADATA = (
    '--metadata takes eq ne in nin gt gte lt lte contains icontains, "*" for anything at all, and AND, OR and NOT with '
    'lists: {"OR": [{"project": "apollo"}, {"ticket": "*"}]}.'
)
_ON_VALIDITY = (
    "Nothing that has ended, has expired or begins later is found unless --as-of or --include-invalid asks for it, and "
    "what was forgotten only by --status forgotten."
)
FILTERS = (_ON_METADATA, _ON_VALIDITY)
"""About the filters, for the end of a help page."""

GLOBAL_VALUES = (
    "--store", "--data-dir", "--user", "--user-id", "--session", "--session-id", "--agent", "--agent-id", "--now",
)  # fmt: skip
"""Options of every command that take a value; the client looks for the command word behind them."""

GLOBAL_FLAGS = (
    "--json", "--text", "--pretty", "-q", "--quiet", "--readonly", "--no-color", "-h", "--help", "--version",
)  # fmt: skip
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


class Metadata(argparse.Action):
    """A JSON object on the command line, or one of its names and values as NAME=VALUE. May be repeated. `const` is the
    example that is shown to whoever gives neither."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Raises UsageError for what is neither."""
        del parser
        before: dict[str, object] = getattr(namespace, self.dest, {})
        setattr(namespace, self.dest, before | _metadata(str(values), str(option_string), self.const or NOTED))


def _metadata(text: str, option: str, example: str) -> dict[str, object]:
    name, equals, value = text.partition("=")
    if equals and name.strip() and not name.lstrip().startswith("{"):
        return {name.strip(): _plain(value.strip())}
    try:
        return msgspec.json.decode(text.encode(), type=dict[str, object])
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError) as error:
        sentence = f"{option} must be a JSON object, such as {example}, or NAME=VALUE"
        raise UsageError(sentence, "as in --metadata project=apollo") from error


def _plain(text: str) -> object:
    """What JSON would write just like that (7, true, null, "7"), else the text itself: 007 and 1.10 are no numbers."""
    try:
        value: object = msgspec.json.decode(text.encode())
        return value if msgspec.json.encode(value) == text.encode() else text
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return text


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
    group.add_argument("--now", metavar="TIME", help="what counts as now where dates are understood, RFC 3339")
    group.add_argument("--data-dir", metavar="DIR", help="the data directory (default: $MNEMON_DATA_DIR, ~/.mnemon)")
    group.add_argument("--readonly", action="store_true", help="write nothing, not even that something was recalled")
    group.add_argument("--no-color", action="store_true", help="no colours (also: a non-empty $NO_COLOR)")
    group.add_argument("-h", "--help", action="store_true", help="show help, with examples")
    group.add_argument("--version", action="store_true", help="show the version")


def add_filters(parser: Parser) -> None:
    """What recall, search and list can be narrowed to."""
    group = parser.add_argument_group("filters")
    group.add_argument("--category", "--cat", metavar="NAME", help=f"only this category: {CATEGORIES}")
    group.add_argument("--source", metavar="NAME", help="only from this source")
    group.add_argument("--channel", metavar="NAME", help="only what came in this way: manual, hook, mcp …")
    group.add_argument("--tags", "--tag", action=Split, metavar="A,B", help="with all of these tags")
    group.add_argument("--any-tags", "--any-tag", action=Split, metavar="A,B", help="with one of these tags")
    group.add_argument("--entity", metavar="NAME", help="that name this; k8s finds Kubernetes")
    group.add_argument("--stated-intent", metavar="NAME", help="extracted as this: preference, event …")
    group.add_argument("--min-importance", type=whole_number, metavar="N", help="of at least this importance, 1…5")
    group.add_argument("--since", metavar="TIME", help="made then or later: 2026-02-18 or RFC 3339")
    group.add_argument("--until", metavar="TIME", help="made before then, or on that day")
    group.add_argument("--event-since", metavar="TIME", help="speaking of then or later")
    group.add_argument("--event-until", metavar="TIME", help="speaking of before then, or of that day")
    group.add_argument(
        "--metadata",
        "--meta",
        action=Metadata,
        const=METADATA,
        metavar="JSON",
        help=f"whose metadata fit: {METADATA} or NAME=VALUE",
    )
    group.add_argument("--status", metavar="NAME", help=f"in this state: {STATUSES}")
    group.add_argument("--as-of", metavar="TIME", help="what was valid then (a day: as it began), left recall or not")
    group.add_argument("--include-invalid", action="store_true", help="also what is not valid (any more)")
    group.add_argument("--all-sessions", action="store_true", help="also memories meant for other sessions")
    group.add_argument("--strict-scope", action="store_true", help="not what is meant for everybody")


def add_op_id(parser: Parser) -> None:
    """The name of a write, which makes repeating it harmless."""
    parser.add_argument("--op-id", metavar="ID", help="name of this write: repeating it with the same id is harmless")
