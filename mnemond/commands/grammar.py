"""From a command line to a request, or to the text that answers it at once (help, version, usage errors)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mnemond.commands import help as help_text
from mnemond.commands.command import Arguments, Command, Request, typed
from mnemond.commands.layout import Style
from mnemond.commands.options import GLOBAL_FLAGS, GLOBAL_VALUES
from mnemond.commands.output import Output, failure
from mnemond.commands.parser import UsageError, looks_like_option, split_at_dashes
from mnemond.commands.registry import BY_NAME, FIRST_WORDS, GROUPS
from mnemond.commands.terminal import one_line
from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.protocol.daemon import CliRunParams, CliRunResult
from mnemond.protocol.registry import METHODS
from mnemond.protocol.version import PROTOCOL, SERVER_VERSION
from mnemond.protocol.wording import nearest

_HELP = frozenset({"-h", "--help"})


class Invocation(msgspec.Struct, frozen=True):
    """A command line that was understood. `options` holds everything typed; `method` is None when the client itself
    carries the command out (`daemon …`)."""

    command: Command
    method: str | None
    params: dict[str, object]
    options: dict[str, object]
    output: Output


class _Found(msgspec.Struct, frozen=True):
    """The command of a line, and its arguments without the command's own words."""

    command: Command
    rest: list[str]


def parse(run: CliRunParams) -> Invocation | CliRunResult:
    """What the user asked for; help, version and usage errors (exit 2) are answered here."""
    output = output_of(run)
    try:
        return _parse(run, output)
    except UsageError as error:
        return failure(MnemonError(INVALID_PARAMS, error.message, hint=error.hint, outcome="rejected"), output)


def output_of(run: CliRunParams) -> Output:
    """The form of the answer, known even for a line that cannot be parsed: the last of --json and --text decides."""
    head, _ = split_at_dashes(run.argv)
    forms = [word for word in head if word in {"--json", "--text"}]
    text = forms[-1] == "--text" if forms else run.tty
    style = Style(
        columns=run.columns,
        color=run.color and "--no-color" not in head,
        quiet="-q" in head or "--quiet" in head,
    )
    return Output("text" if text else "json", "--pretty" in head, run.tty, style)


def _parse(run: CliRunParams, output: Output) -> Invocation | CliRunResult:
    answer = _answer(run.argv, output)
    if answer is not None:
        return CliRunResult(0, False, answer, "")
    found = _find(run.argv)
    options, words = found.command.parser.split(found.rest)
    given = typed(options)
    if found.command.request is None:
        Arguments(words, {}).nothing(found.command.name)
        return Invocation(found.command, None, {}, given, output)
    request = found.command.request(Arguments(words, given, run.stdin))
    return Invocation(found.command, request.method, _params(request, run.env_store), given, output)


def _params(request: Request, env_store: str | None) -> dict[str, object]:
    """What the method takes of the options every command accepts. --store wins over $MNEMON_STORE, of which an empty
    one counts as unset; without both the daemon decides."""
    taken = {field.name for field in msgspec.structs.fields(METHODS[request.method].params)}
    given = {"store": env_store, **request.params} if env_store else request.params
    return {name: value for name, value in given.items() if name in taken}


# ------------------------------------------------------------------ help and version


def _answer(argv: Sequence[str], output: Output) -> str | None:
    """The text of help or version, or None when the line asks for neither."""
    head, _ = split_at_dashes(argv)
    words = _command_words(head)
    if words[:1] == ["help"]:
        return _help(words[1:], output.style)
    if not _HELP.isdisjoint(head):
        return _help(words, output.style)
    if words[:1] == ["version"] or "--version" in head:
        return version_text(output)
    asks_group = len(words) == 1 and words[0] in GROUPS
    return _help(words, output.style) if asks_group or not words else None


def version_text(output: Output) -> str:
    """`mnemonctl version`."""
    if output.form == "json":
        return output.json({"version": SERVER_VERSION, "protocol": PROTOCOL})
    return f"mnemonctl {SERVER_VERSION} (protocol {PROTOCOL})\n"


def _help(words: Sequence[str], style: Style) -> str:
    if not words:
        return help_text.top(style)
    if words[0] in GROUPS:
        name = " ".join(words[:2])
        return help_text.command(BY_NAME[name], style) if name in BY_NAME else help_text.group(words[0], style)
    return help_text.command(_lookup(words[0]), style)


def _command_words(head: Sequence[str]) -> list[str]:
    """The words of a line that are neither global options nor their values."""
    words: list[str] = []
    skip = False
    for word in head:
        if skip:
            skip = False
        elif word in GLOBAL_VALUES:
            skip = True
        elif not looks_like_option(word):
            words.append(word)
    return words


# ------------------------------------------------------------------ which command


def _find(argv: Sequence[str]) -> _Found:
    at = _next_word(argv, 0)
    first = argv[at]
    if first not in GROUPS:
        return _Found(_lookup(first), [*argv[:at], *argv[at + 1 :]])
    second_at = _next_word(argv, at + 1)
    second = argv[second_at]
    rest = [*argv[:at], *argv[at + 1 : second_at], *argv[second_at + 1 :]]
    return _Found(_lookup_in(first, second), rest)


def _next_word(argv: Sequence[str], start: int) -> int:
    """The index of the next argument that is a word. Raises UsageError when only a command's own options precede it."""
    index = start
    while index < len(argv):
        word = argv[index]
        name = word.partition("=")[0]
        if not looks_like_option(word):
            return index
        if name not in GLOBAL_VALUES and name not in GLOBAL_FLAGS:
            break
        index += 2 if word in GLOBAL_VALUES else 1
    if index >= len(argv):
        raise UsageError("no command was given", "See: mnemonctl --help")
    raise UsageError(
        f"{one_line(argv[index])} stands before the command", "Write the command first: mnemonctl COMMAND [options]"
    )


def _lookup(word: str) -> Command:
    if word in BY_NAME:
        return BY_NAME[word]
    raise _unknown(f"there is no command {_quoted(word)}", nearest(word, FIRST_WORDS))


def _lookup_in(group: str, word: str) -> Command:
    name = f"{group} {word}"
    if name in BY_NAME:
        return BY_NAME[name]
    meant = nearest(word, [command.name.partition(" ")[2] for command in GROUPS[group]])
    raise _unknown(f"{group} has no command {_quoted(word)}", f"{group} {meant}" if meant else None)


def _unknown(message: str, meant: str | None) -> UsageError:
    return UsageError(message, f"Did you mean: mnemonctl {meant}?" if meant else "See: mnemonctl --help")


def _quoted(word: str) -> str:
    return '"' + one_line(word[:60]) + ("…" if len(word) > 60 else "") + '"'
