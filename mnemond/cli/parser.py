"""Commands of the command line, and their options, which derive from the parameters of methods."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any

import msgspec
from msgspec import inspect

from mnemond.api.types_memories import Now
from mnemond.cli.output import SHORT_ID, Style, one_line
from mnemond.wire.jsonrpc import repeated_key
from mnemond.wire.params import (
    MAX_EXACT,
    MIN_PREFIX,
    Field,
    Method,
    ScopeParams,
    about,
    bounds,
    fields_of,
    limits,
    plural,
)


class UsageError(Exception):
    """A command line that cannot be run: a sentence, and what to do next."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


# Commands.


class Group(StrEnum):
    """Headings of `mnemonctl --help`, in its order."""

    EVERYDAY = "Everyday"
    REMEMBER = "Remember"
    RECALL = "Recall"
    LOOK = "Look"
    CHANGE = "Change"
    STORES = "Stores"
    AGENTS = "Agents"
    DAEMON = "Daemon"


class Words(msgspec.Struct, frozen=True):
    """The words after the name of a command, as shown in its usage, and the parameters that they give.

    `text`: all words are one text, and "-" is standard input. `what` is the description in errors, if it is not that
    of the parameter. `completes`: the kind of value that a shell completes where `fields` does not say it.
    """

    usage: str = ""
    fields: tuple[str, ...] = ()
    text: bool = False
    optional: bool = False
    what: str = ""
    completes: str = ""


ID = Words("ID", ("id",))

Render = Callable[[Any, Style], str]
"""Makes the text for people out of a method's result."""


def by_type(renders: Mapping[type, Render]) -> Render:
    """Render results of several types."""
    return lambda result, style: renders[type(result)](result, style)


class Request(msgspec.Struct, frozen=True):
    """A method and its parameters by name."""

    method: str
    params: dict[str, object]


class Command(msgspec.Struct, frozen=True, dict=True):
    """One command. Without `method` and `request` the client runs it by itself.

    `summary` is the method's unless given; `details` are paragraphs of the help. `options` declares options that are no
    parameters of the method. `request` makes the request where words and options do not already say it.
    """

    name: str
    group: Group
    examples: tuple[str, ...]
    method: Method | None = None
    summary: str = ""
    words: Words = Words()
    details: tuple[str, ...] = ()
    options: type[msgspec.Struct] | None = None
    request: Callable[[Arguments], Request] | None = None
    render: Render | None = None

    def __post_init__(self) -> None:
        if self.method is not None and not self.summary:
            msgspec.structs.force_setattr(self, "summary", self.method.summary)

    @property
    def is_local(self) -> bool:
        """Return True if the client runs it by itself."""
        return self.method is None and self.request is None

    @cached_property
    def parser(self) -> Parser:
        """Its options, derived on first use."""
        own = [] if self.method is None else options_of(self.method.params)
        own += [] if self.options is None else options_of(self.options, strict=self.is_local)
        elsewhere = {*(option.name for option in GLOBALS), *self.words.fields}
        return Parser(self.name, [each for each in own if each.name not in elsewhere], takes_text=self.words.text)


class Arguments(msgspec.Struct, frozen=True):
    """A parsed command line: its words, the options typed (names on the wire) and standard input, if it was sent."""

    command: Command
    words: list[str]
    options: dict[str, Any]
    stdin: str | None = None

    def request(self) -> Request:
        """Return what words and options say. Raises UsageError for words that do not fit, or a missing parameter."""
        method = self.command.method
        assert method is not None  # noqa: S101  (a command without one makes its request by itself)
        fields = {field.name: field for field in fields_of(method.params)}
        params = {**self.options, **self._parameters(fields)}
        for field in fields.values():
            if field.required and field.name not in params:
                raise UsageError(f"{self.command.name} needs --{field.name}", f"one of {', '.join(field.choices)}")
        return Request(method.name, params)

    def _parameters(self, fields: Mapping[str, Field]) -> dict[str, object]:
        words = self.command.words
        if not words.fields:
            self.nothing()
            return {}
        if words.optional and not self.words:
            return {}
        first = fields[words.fields[0]]
        if first.extra.get("shortened"):
            return dict(zip(words.fields, self.identifiers(len(words.fields)), strict=True))
        what = words.what or str(first.extra.get("cli", first.text))
        return {first.name: self.text(what) if words.text else self.single(what)}

    def text(self, what: str) -> str:
        """All words joined; standard input for a lone "-". Raises UsageError when there is nothing."""
        if self.words == ["-"]:
            return standard_input(self.command.name, self.stdin)
        if not self.words:
            raise self._error(f"needs {what}")
        return " ".join(self.words)

    def single(self, what: str) -> str:
        """The one word a command takes. Raises UsageError for none or several."""
        count = len(self.words)
        if count != 1:
            raise self._error(f"needs {what}" + (f", and only one ({count} were given)" if count else ""))
        return self.words[0]

    def identifiers(self, count: int) -> list[str]:
        """The ids of one or two memories, or their beginnings. Raises UsageError for more, fewer, or one too short."""
        if count == 1:
            return [long_enough(self.single("the id of a memory"))]
        if len(self.words) != count:
            given = "1 was given" if len(self.words) == 1 else f"{len(self.words)} were given"
            raise self._error(f"needs the ids of two memories ({given})")
        return [long_enough(word) for word in self.words]

    def nothing(self) -> None:
        """For a command that takes no words. Raises UsageError for any."""
        count = len(self.words)
        if count:
            given = "1 was given" if count == 1 else f"{count} were given"
            raise UsageError(f"{self.command.name} takes no arguments, only options ({given})")

    def _error(self, sentence: str) -> UsageError:
        name = self.command.name
        return UsageError(f"{name} {sentence}", f"See: mnemonctl {name} --help")


def standard_input(command: str, stdin: str | None) -> str:
    """The text of a "-". Raises UsageError when standard input was not sent."""
    if stdin is None:
        raise UsageError(
            f'"-" means standard input, but none was sent to {command}',
            'To use a dash as the text itself, write "-- -".',
        )
    return stdin.rstrip("\r\n")


def long_enough(word: str) -> str:
    """The id of a memory, or the beginning of one. Raises UsageError for one too short to mean anything."""
    if len(word) < MIN_PREFIX:
        raise UsageError(
            f"the id has {plural(len(word), 'character')}; it needs {MIN_PREFIX}",
            f"give at least {MIN_PREFIX} characters of the id; `mnemonctl list` shows {SHORT_ID}",
        )
    return word


# Options, each derived from a field.


NOTED = '{"project": "apollo", "build": 7}'
"""Example of metadata to note; those to look for have comparisons."""

Read = Callable[[str, str], Any]
"""Makes a value of a word; the second argument is its source, for errors. Raises ValueError or UsageError."""


class Option(msgspec.Struct, frozen=True):
    """An option. `name` is that of the field, `flags` are its spellings, and `off` those that set it to false.

    Without `read` it takes no value. Values of one that `adds` are added to those before. The value of one that is
    `bare` may be left out; `stdin`: "-" is standard input. `completes`: the kind of value that a shell completes.
    """

    name: str
    flags: tuple[str, ...]
    help: str
    off: tuple[str, ...] = ()
    metavar: str = ""
    choices: tuple[str, ...] = ()
    read: Read | None = None
    adds: bool = False
    stdin: bool = False
    bare: bool = False
    completes: str = ""


def options_of(owner: type[msgspec.Struct], *, strict: bool = False) -> list[Option]:
    """Derive the options for the fields of a type. With `strict` they check limits and choices, as no daemon does."""
    return [option for field in fields_of(owner) for option in _options(field, strict=strict)]


def _options(field: Field, *, strict: bool) -> list[Option]:
    extra: dict[str, Any] = dict(field.extra)
    if extra.get("by_client"):
        return []
    long = extra.get("option", "--" + field.name.replace("_", "-"))
    flags = (long, *extra.get("aliases", ()))
    text = field.described(extra.get("cli", ""))
    if any(isinstance(kind, inspect.BoolType) for kind in field.kinds):
        off = () if field.default is False else (f"--no-{long.removeprefix('--')}",)
        return [Option(field.name, flags if field.default is not True else (), text, off)]
    read, metavar, adds = _reader(field)
    option = Option(
        field.name, flags, text + _figures(field), metavar=extra.get("metavar", metavar), choices=field.choices,
        read=_checked(field, read) if strict else read, adds=adds,
        stdin=extra.get("stdin", False), bare=extra.get("bare", False), completes=extra.get("completes", ""),
    )  # fmt: skip
    if "item" not in extra:
        return [option]
    text = f"one of {long}, commas included; may be repeated"
    item = Option(field.name, (extra["item"],), text, metavar="NAME", read=_one, adds=True, completes=option.completes)
    return [option, item]


def _figures(field: Field) -> str:
    """Limits of a number, and the default."""
    numbers = (each for each in field.kinds if isinstance(each, (inspect.IntType, inspect.FloatType)))
    low, high = next(map(limits, numbers), (None, None))
    shown = "" if low is None or high is None or high == MAX_EXACT else f" ({_figure(low)} to {_figure(high)})"
    default = field.default
    return shown + (f"; default {_figure(default)}" if isinstance(default, (str, int, float)) else "")


def _figure(value: str | int | float) -> str:  # noqa: PYI041  (numbers are shown by their type)
    match value:
        case int():
            return f"{value:,}"
        case float():
            return f"{value:g}"
        case _:
            return value


def _reader(field: Field) -> tuple[Read, str, bool]:
    """Return the reader of an option, the name of its value, and whether several values are added."""
    example = str(field.extra.get("example", NOTED))
    if field.extra.get("json"):
        return lambda word, source: read_json(word, source, example), "JSON", False
    for kind in field.kinds:
        match kind:
            case inspect.DictType():
                return lambda word, source: _object(word, source, example), "JSON", True
            case inspect.ListType() | inspect.VarTupleType():
                return _split, "A,B", True
            case inspect.IntType():
                return lambda word, _: word if word in field.choices else whole_number(word), "N", False
            case inspect.FloatType():
                return _decimal, "X", False
            case _:
                pass
    if field.extra.get("shortened"):
        return lambda word, _: long_enough(word), "ID", False
    return lambda word, _: word, "NAME" if field.choices else "TEXT", False


def _checked(field: Field, read: Read) -> Read:
    low, high = limits(field.kind)

    def checked(word: str, source: str) -> object:
        value = read(word, source)
        if isinstance(value, (int, float)) and not ((low is None or value >= low) and (high is None or value <= high)):
            raise ValueError(f"must be {bounds(field.kind)}, not {word[:40]!r}")
        if field.choices and value not in field.choices:
            raise ValueError(f"must be one of {', '.join(field.choices)}, not {word[:40]!r}")
        return value

    return checked


def _split(word: str, source: str) -> list[str]:
    del source
    return [part for each in word.split(",") if (part := each.strip())]


def _one(word: str, source: str) -> list[str]:
    del source
    return [word]


def whole_number(word: str) -> int:
    """A decimal integer. Raises ValueError, with the sentence for the user."""
    digits = word.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 18):
        raise ValueError(f"must be a whole number, not {word[:40]!r}")
    return int(word)


def _decimal(word: str, source: str) -> float:
    del source
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"must be a number, not {word[:40]!r}")
    return value


_MALFORMED = (msgspec.MsgspecError, UnicodeEncodeError, RecursionError)


def read_json(word: str, source: str, example: str) -> object:
    """A JSON value. Raises UsageError, with the source and an example."""
    try:
        value: object = msgspec.json.decode(word.encode())
    except _MALFORMED as error:
        raise UsageError(f"{source} is not JSON: {error}", f"as in {example}") from error
    _refuse_repeated_key(word, source)
    return value


def _refuse_repeated_key(word: str, source: str) -> None:
    if (key := repeated_key(word.encode())) is not None:
        raise UsageError(f"{source} has the key {key[:40]!a} twice in one object", "give each key once")


def _object(word: str, source: str, example: str) -> dict[str, object]:
    """A JSON object, or one of its names and values as NAME=VALUE."""
    name, equals, value = word.partition("=")
    if equals and name.strip() and not name.lstrip().startswith("{"):
        return {name.strip(): _plain(value.strip())}
    try:
        found = msgspec.json.decode(word.encode(), type=dict[str, object])
    except _MALFORMED as error:
        sentence = f"{source} must be a JSON object, such as {example}, or NAME=VALUE"
        raise UsageError(sentence, f"as in {source} project=apollo") from error
    _refuse_repeated_key(word, source)
    return found


def _plain(text: str) -> object:
    """The value of a text that is JSON in its shortest form (7, true, null, "7"), else the text: 007 is no number."""
    try:
        value: object = msgspec.json.decode(text.encode())
        return value if msgspec.json.encode(value) == text.encode() else text
    except _MALFORMED:
        return text


class GlobalOptions(ScopeParams, frozen=True, kw_only=True):
    """Options of every command, before or after its name."""

    json: Annotated[bool, about("one JSON document")] = False
    text: Annotated[bool, about("text for people")] = False
    pretty: Annotated[bool, about("indent the JSON")] = False
    quiet: Annotated[bool, about("only ids, or names and figures where there are none", "-q")] = False
    now: Now = None
    data_dir: Annotated[
        str | None, about("the data directory (default: $MNEMON_DATA_DIR, ~/.mnemon)", metavar="DIR")
    ] = None
    readonly: Annotated[bool, about("write nothing, not even that something was recalled")] = False
    no_color: Annotated[bool, about("no colours (also: a non-empty $NO_COLOR)")] = False
    help: Annotated[bool, about("show help, with examples", "-h")] = False
    version: Annotated[bool, about("show the version")] = False


GLOBALS = tuple(options_of(GlobalOptions))
GLOBAL_VALUES = tuple(flag for option in GLOBALS if option.read for flag in option.flags)
"""Options of every command that take a value; the client looks for the command word behind them."""

GLOBAL_FLAGS = tuple(flag for option in GLOBALS if not option.read for flag in option.flags)
"""Options of every command that take none."""


# Command lines.


MAX_SHOWN = 60
"""Characters of an unknown option that are shown."""

MAX_CLUSTER = 32
"""Characters of a word such as -qn3 that may be several short options; there are not as many."""


class Parser:
    """Parses the options of one command. Parsing leaves no trace in it.

    Everything that is not an option is a word of the command, wherever it is; after "--" everything is.
    """

    def __init__(
        self,
        command: str,
        options: Iterable[Option],
        *,
        takes_text: bool = False,
        shared: Iterable[Option] = GLOBALS,
        program: str = "mnemonctl",
    ) -> None:
        self.command = command
        self.options = tuple(options)
        self._takes_text = takes_text
        self._program = program
        self._by_flag = {flag: each for each in (*self.options, *shared) for flag in (*each.flags, *each.off)}

    def option_names(self) -> list[str]:
        """Every long option."""
        return [flag for flag in self._by_flag if flag.startswith("--")]

    def split(self, argv: Sequence[str], stdin: str | None = None) -> tuple[dict[str, Any], list[str]]:
        """Return the options that were typed, by name on the wire, and the words. Raises UsageError for an unknown
        option or a bad value."""
        head, tail = split_at_dashes(argv)
        options: dict[str, Any] = {}
        words: list[str] = []
        at = 0
        while at < len(head):
            word = head[at]
            at += 1
            found = self._match(word)
            if found is None:
                if looks_like_option(word):
                    raise self.unknown_option(word)
                words.append(word)
                continue
            flag, value = found
            option = self._by_flag[flag]
            if option.read is None:
                if value is not None:
                    if flag.startswith("--"):
                        raise self._error(option, f"takes no value, but {value[:40]!r} was given")
                    at -= 1
                    head[at] = f"-{value}"  # the other letters of a cluster
                options[option.name] = flag not in option.off
                continue
            if value is None and at < len(head) and not self._is_option(head[at]):
                value = head[at]
                at += 1
            if value is None and not option.bare:
                raise self._error(option, "expected one argument")
            self._set(options, option, flag, value or "", stdin)
        return options, words + tail

    def _match(self, word: str) -> tuple[str, str | None] | None:
        """The flag that a word begins with, and the value or the other flags in the same word."""
        if word in self._by_flag:
            return word, None
        flag, equals, value = word.partition("=")
        if equals and flag in self._by_flag:
            return flag, value
        option = self._by_flag.get(word[:2]) if word[1:2] != "-" else None
        if option is not None and (option.read is not None or (len(word) <= MAX_CLUSTER and " " not in word)):
            return word[:2], word[2:]
        return None

    def _is_option(self, word: str) -> bool:
        return looks_like_option(word) or self._match(word) is not None

    def _set(self, options: dict[str, Any], option: Option, flag: str, word: str, stdin: str | None) -> None:
        if option.stdin and word == "-":
            word, flag = standard_input(self.command, stdin), "standard input"
        assert option.read is not None  # noqa: S101  (it takes a value)
        try:
            value = option.read(word, flag)
        except ValueError as error:
            raise self._error(option, str(error)) from None
        if option.adds and option.name in options:
            before = options[option.name]
            value = before | value if isinstance(value, dict) else [*before, *value]
        options[option.name] = value

    def _error(self, option: Option, sentence: str) -> UsageError:
        return UsageError(f"{'/'.join(option.flags)}: {sentence}", f"See: {self._program} {self.command} --help")

    def unknown_option(self, word: str) -> UsageError:
        """The error for an option this command does not have."""
        name = word.partition("=")[0]
        meant = nearest_option(name, self.option_names())
        hint = f"Did you mean {meant}?" if meant else f"See: {self._program} {self.command} --help"
        text = "; what follows -- is text, not options" if self._takes_text and not meant else ""
        return UsageError(f"{self.command} has no option {one_line(name[:MAX_SHOWN])}", hint + text)


def split_at_dashes(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """The arguments before the first "--", and those after it."""
    words = list(argv)
    if "--" not in words:
        return words, []
    at = words.index("--")
    return words[:at], words[at + 1 :]


def looks_like_option(word: str) -> bool:
    """Return True if `word` was meant as an option: not "-", not "-5 °C", not "- buy milk"."""
    return len(word) > 1 and word[0] == "-" and not word[1].isdigit() and " " not in word


# Suggestions for commands and options that do not exist.


MIN_RATIO = 0.75
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
"""Commands by their names in other programs."""

OPTION_SYNONYMS = {"unpin": "pin ID --unpin"}
"""Words that are no command but an option of one, as it is typed."""

GROUP_SYNONYMS = {
    "ls": "list", "new": "create", "add": "create", "make": "create", "delete": "remove", "rm": "remove", "use": "set",
    "switch": "set", "where": "path", "get": "show",
}  # fmt: skip
"""The same for the second word of a command."""


def nearest_command(word: str, known: Iterable[str]) -> str | None:
    """The command that `word` means, with the option that it means of it."""
    return OPTION_SYNONYMS.get(word) or SYNONYMS.get(word) or _nearest(word, known)


def nearest_second_word(word: str, known: Iterable[str]) -> str | None:
    """The second word of a command that `word` means: one of `known`."""
    choices = list(known)
    synonym = GROUP_SYNONYMS.get(word)
    return synonym if synonym in choices else _nearest(word, choices)


def nearest_option(name: str, known: Iterable[str]) -> str | None:
    """The long option that `name`, with its dashes, means. Dashes, which all of them have, are not compared."""
    names = {long.removeprefix("--"): long for long in known if long.startswith("--")}
    found = _nearest(name.lstrip("-"), names) if name.startswith("--") else None
    return names[found] if found else None


def _nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that a misspelt one is: similar enough, or the same letters in another order."""
    choices = list(known)
    swapped = (choice for choice in choices if 1 < len(word) == len(choice) and sorted(word) == sorted(choice))
    similar = difflib.get_close_matches(word[:64], choices, n=1, cutoff=MIN_RATIO)
    return next(swapped, None) or (similar[0] if similar else None)
