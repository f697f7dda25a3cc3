"""argparse without its habits: it neither prints nor leaves nor guesses abbreviations, and names the nearest option."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

import msgspec

from mnemond.cli.output import SHORT_ID, Style, one_line
from mnemond.wire.params import plural

# What a person most likely meant by a command or an option that does not exist.


CLOSE = 0.75
"""Least similarity (difflib's ratio, 0 to 1) of a suggestion. "forgot" is .83 from "forget"; "force" is .73 from
"source" and was meant to be neither."""

SYNONYMS = {
    "add": "remember", "save": "remember", "put": "remember",
    "find": "recall", "query": "recall", "ask": "recall",
    "show": "get", "cat": "get",
    "ls": "list",
    "delete": "forget", "rm": "forget", "remove": "forget",
    "connect": "link", "disconnect": "unlink", "neighbours": "related", "neighbors": "related",
    "grep": "search",
    "info": "status", "verify": "doctor", "health": "doctor",
    "start": "daemon start", "stop": "daemon stop", "restart": "daemon restart", "run": "daemon run",
}  # fmt: skip
"""What other programs call it."""

OPTION_SYNONYMS = {"unpin": "pin ID --unpin"}
"""What is no command and an option of one, as it is typed."""

GROUP_SYNONYMS = {
    "ls": "list", "new": "create", "add": "create", "make": "create", "delete": "remove", "rm": "remove", "use": "set",
    "switch": "set", "where": "path", "get": "show",
}  # fmt: skip
"""The same for the second word of a command."""


def close(word: str, known: Iterable[str]) -> str | None:
    """The known word that a misspelt one is: similar enough, or the same letters in another order."""
    choices = list(known)
    swapped = (choice for choice in choices if len(word) > 1 and sorted(word) == sorted(choice))
    similar = difflib.get_close_matches(word[:64], choices, n=1, cutoff=CLOSE)
    return next(swapped, None) or (similar[0] if similar else None)


def command(word: str, known: Iterable[str]) -> str | None:
    """The command that `word` means, with the option that it means of it."""
    return OPTION_SYNONYMS.get(word) or SYNONYMS.get(word) or close(word, known)


def second(word: str, known: Iterable[str]) -> str | None:
    """The second word of a command that `word` means: one of `known`."""
    choices = list(known)
    synonym = GROUP_SYNONYMS.get(word)
    return synonym if synonym in choices else close(word, choices)


def option(name: str, known: Iterable[str]) -> str | None:
    """The long option that `name`, with its dashes, means. Dashes, which all of them have, are not compared."""
    names = {long.removeprefix("--"): long for long in known if long.startswith("--")}
    found = close(name.lstrip("-"), names) if name.startswith("--") else None
    return names[found] if found else None


SHOWN = 60
"""Characters of an unknown option that are shown."""

LONGEST_CLUSTER = 32
"""Characters of a word such as -qn3 that may be several short options; there are not as many."""


class UsageError(Exception):
    """A command line that cannot be run: a sentence, and what to do next."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Parser(argparse.ArgumentParser):
    """Parses the options of one command. Built once; parsing leaves no trace in it.

    Only what was typed appears in the result, under its name on the wire. Everything that is not an option is a word
    of the command, wherever it stands; after "--" everything is.
    """

    def __init__(self, command: str, *, takes_text: bool = False) -> None:
        super().__init__(prog=command, add_help=False, allow_abbrev=False, argument_default=argparse.SUPPRESS)
        self.command = command
        self._takes_text = takes_text

    def error(self, message: str) -> NoReturn:
        """Called by argparse for a missing or bad value."""
        raise UsageError(message.removeprefix("argument "), f"See: mnemonctl {self.command} --help")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Never called: there is no option that leaves."""
        raise UsageError(message or f"the parser left with status {status}")

    def option_names(self) -> list[str]:
        """Every long option."""
        return [name for name in self._option_string_actions if name.startswith("--")]

    def split(self, argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
        """(options, words). Raises UsageError for an unknown option or a bad value."""
        head, tail = split_at_dashes(argv)
        for word in head:
            if len(word) > LONGEST_CLUSTER and word.startswith("-") and not word.startswith("--"):
                raise self.unknown_option(word)  # argparse would take it apart letter by letter
        options, rest = self.parse_known_args(head)
        for word in rest:
            if looks_like_option(word):
                raise self.unknown_option(word)
        return options, rest + tail

    def unknown_option(self, word: str) -> UsageError:
        """The error for an option this command does not have."""
        name = word.partition("=")[0]
        meant = option(name, self.option_names())
        hint = f"Did you mean {meant}?" if meant else f"See: mnemonctl {self.command} --help"
        text = "; what follows -- is text, not options" if self._takes_text and not meant else ""
        return UsageError(f"{self.command} has no option {one_line(name[:SHOWN])}", hint + text)


def split_at_dashes(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """The arguments before the first "--", and those after it."""
    words = list(argv)
    if "--" not in words:
        return words, []
    at = words.index("--")
    return words[:at], words[at + 1 :]


def looks_like_option(word: str) -> bool:
    """Whether a person who typed `word` meant an option: not "-", not "-5 °C", not "- buy milk"."""
    return len(word) > 1 and word[0] == "-" and not word[1].isdigit() and " " not in word


# Options that several commands share, and the kinds of values they take. Destinations are names on the wire.


CATEGORIES = "preference, decision, fact, insight, context, general"
"""Those of `mnemond.model.memory`, which a layer this low does not see (a test compares them)."""

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


# What a command is: its names, its options, its request and its text for people.


MIN_PREFIX = 6
"""Characters of an id that are needed to name a memory; the same as in the protocol (a test compares them)."""


class Arguments(msgspec.Struct, frozen=True):
    """A parsed command line: its words, the options typed (names on the wire) and standard input, if it was sent."""

    words: list[str]
    options: dict[str, object]
    stdin: str | None = None

    def text(self, command: str, what: str) -> str:
        """All words joined; standard input for a lone "-". Raises UsageError when there is nothing."""
        if self.words == ["-"]:
            return self._standard_input(command)
        if not self.words:
            raise UsageError(f"{command} needs {what}", f"See: mnemonctl {command} --help")
        return " ".join(self.words)

    def single(self, command: str, what: str) -> str:
        """The one word a command takes. Raises UsageError for none or several."""
        if len(self.words) == 1:
            return self.words[0]
        count = len(self.words)
        message = f"{command} needs {what}" + (f", and only one ({count} were given)" if count else "")
        raise UsageError(message, f"See: mnemonctl {command} --help")

    def identifier(self, command: str) -> str:
        """The id of a memory, or the beginning of one. Raises UsageError for one too short to mean anything."""
        return long_enough(self.single(command, "the id of a memory"))

    def two_identifiers(self, command: str) -> tuple[str, str]:
        """The ids of two memories, or their beginnings. Raises UsageError for more, fewer, or one too short."""
        if len(self.words) != 2:
            given = "1 was given" if len(self.words) == 1 else f"{len(self.words)} were given"
            message = f"{command} needs the ids of two memories ({given})"
            raise UsageError(message, f"See: mnemonctl {command} --help")
        one, other = map(long_enough, self.words)
        return one, other

    def nothing(self, command: str) -> None:
        """For a command that takes no words. Raises UsageError for any."""
        count = len(self.words)
        if count:
            given = "1 was given" if count == 1 else f"{count} were given"
            raise UsageError(f"{command} takes no arguments, only options ({given})")

    def _standard_input(self, command: str) -> str:
        if self.stdin is None:
            raise UsageError(
                f'"-" means standard input, but none was sent to {command}',
                'To use a dash as the text itself, write "-- -".',
            )
        return self.stdin.rstrip("\r\n")


def long_enough(word: str) -> str:
    """The id of a memory, or the beginning of one. Raises UsageError for one too short to mean anything."""
    if len(word) < MIN_PREFIX:
        raise UsageError(
            f"the id has {plural(len(word), 'character')}; it needs {MIN_PREFIX}",
            f"give at least {MIN_PREFIX} characters of the id; `mnemonctl list` shows {SHORT_ID}",
        )
    return word


class Request(msgspec.Struct, frozen=True):
    """A method of the registry and its parameters by name."""

    method: str
    params: dict[str, object]


class Command(msgspec.Struct, frozen=True):
    """One command. `words` is what may follow its name; `request` is None for what the client does by itself;
    `details` are paragraphs of its help.

    `render` makes the text for people, from the method's result; `notes` are lines for standard error.
    """

    name: str
    summary: str
    words: str
    examples: tuple[str, ...]
    parser: Parser
    request: Callable[[Arguments], Request] | None = None
    render: Callable[[Any, Style], str] | None = None
    details: tuple[str, ...] = ()


def typed(options: argparse.Namespace) -> dict[str, object]:
    """What the user typed, by name."""
    return dict(vars(options))
