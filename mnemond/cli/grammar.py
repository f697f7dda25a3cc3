"""From a command line to a request, or to an immediate answer (help, version, usage errors), and to its output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from mnemond.api.registry import METHODS
from mnemond.api.types_daemon import CliRunParams, CliRunResult, Program
from mnemond.cli import completion
from mnemond.cli import help as help_text
from mnemond.cli.help import BY_NAME, COMMANDS, FIRST_WORDS, PREFIXES
from mnemond.cli.output import UNLIMITED, Style, escape_json, neutralise, one_line
from mnemond.cli.parser import (
    GLOBAL_FLAGS,
    GLOBAL_VALUES,
    MAX_SHOWN,
    Arguments,
    Command,
    Request,
    UsageError,
    looks_like_option,
    nearest_command,
    nearest_option,
    nearest_second_word,
    split_at_dashes,
)
from mnemond.errors import INVALID_PARAMS, STORAGE, MnemonError
from mnemond.wire.jsonrpc import clean
from mnemond.wire.params import PROTOCOL, SERVER_VERSION, Access

# Output.


Form = Literal["text", "json"]


class Output(msgspec.Struct, frozen=True):
    """The form of results and of errors. `tty` and `tty_err`: a terminal shows them, so that JSON is escaped, too.
    Errors of the `program` mnemon read and count as that program's: "Error: …", and exit status 1 for each."""

    form: Form = "text"
    pretty: bool = False
    tty: bool = False
    style: Style = Style()
    error_form: Form = "text"
    tty_err: bool = False
    program: Program = "mnemonctl"

    def json(self, value: object) -> str:
        """One JSON document and a line break."""
        encoded = msgspec.json.encode(value)
        document = (msgspec.json.format(encoded, indent=2) if self.pretty else encoded).decode()
        return (escape_json(document) if self.tty else document) + "\n"


def success(command: Command, result: object, output: Output, *, outdated: bool = False) -> CliRunResult:
    """The output of a command for the result of its method; a degraded store is mentioned on standard error."""
    if output.form == "json" or command.render is None:
        return CliRunResult(0, outdated, output.json(result), "")
    return CliRunResult(0, outdated, command.render(result, output.style), _notes(result))


def _notes(result: object) -> str:
    if getattr(result, "degraded", msgspec.UNSET) is not True:
        return ""
    reason = getattr(result, "degraded_reason", msgspec.UNSET)
    return neutralise(f"mnemonctl: the store is degraded: {reason or 'no reason given'}") + "\n"


def failure(error: MnemonError, output: Output, *, outdated: bool = False) -> CliRunResult:
    """The output for an error, on standard error: sentences and a hint, or one JSON object."""
    if output.error_form == "json":
        shown_on = msgspec.structs.replace(output, tty=output.tty_err)
        return CliRunResult(error.kind.exit, outdated, "", shown_on.json({"error": _error_object(error)}))
    sentences = [problem.message for problem in error.problems] or [error.message]
    name, status = ("Error", 1) if output.program == "mnemon" else (output.program, error.kind.exit)
    text = "".join(f"{name}: {sentence}\n" for sentence in sentences)
    hint = f"  {error.hint}\n" if error.hint else ""
    return CliRunResult(status, outdated, "", neutralise(text + hint))


def _error_object(error: MnemonError) -> dict[str, object]:
    details = {
        "hint": error.hint and clean(error.hint),
        "retryable": error.kind.retryable,
        "outcome": error.outcome,
        "problems": [{"field": clean(problem.field), "message": clean(problem.message)} for problem in error.problems],
    }
    return {"code": error.kind.name, "message": clean(error.message), "details": details}


_HELP = frozenset({"-h", "--help"})
_SHORT = {"-V": "--version", "-v": "--version", "-?": "--help", "-s": "--store", "-j": "--json"}
"""Global options by their names in other programs."""


class Invocation(msgspec.Struct, frozen=True):
    """A command line that was understood. `options` and `words` hold everything typed. `method` is None if the client
    runs the command by itself (`daemon …`, `config check`)."""

    command: Command
    method: str | None
    params: dict[str, object]
    options: dict[str, object]
    output: Output
    words: list[str] = []


def parse(run: CliRunParams) -> Invocation | CliRunResult:
    """Parse a command line; help, version and usage errors (exit 2) are answered here."""
    output = output_of(run)
    try:
        return _parse(run, output)
    except UsageError as error:
        return failure(MnemonError(INVALID_PARAMS, error.message, hint=error.hint, outcome="rejected"), output)


def output_of(run: CliRunParams) -> Output:
    """The form of the output, also for a line that cannot be parsed: the last of --json and --text decides, then
    --quiet, which is for text; else results and errors are text on a terminal, each on its own stream. mnemon has one
    form: indented JSON and errors as text."""
    if run.program == "mnemon":
        return Output(
            form="json", pretty=True, tty=run.tty, style=Style(columns=run.columns, color=run.color),
            tty_err=run.tty_err, program=run.program,
        )  # fmt: skip
    head, _ = split_at_dashes(run.argv)
    forms = [word for word in head if word in {"--json", "--text"}]
    quiet = "--quiet" in head or any(word.startswith("-q") for word in head)  # "-qn3" is "-q -n 3"
    chosen = (forms[-1] == "--text") if forms else True if quiet else None
    style = Style(
        columns=run.columns if run.tty else UNLIMITED, color=run.color and "--no-color" not in head, quiet=quiet
    )
    return Output(
        form=_form(chosen, run.tty),
        pretty="--pretty" in head,
        tty=run.tty,
        style=style,
        error_form=_form(chosen, run.tty_err),
        tty_err=run.tty_err,
    )


def _form(chosen: bool | None, terminal: bool) -> Form:
    return "text" if (terminal if chosen is None else chosen) else "json"


def _parse(run: CliRunParams, output: Output) -> Invocation | CliRunResult:
    answer = _answer(run.argv, output, msgspec.structs.replace(output.style, columns=run.columns))
    if answer is not None:
        return CliRunResult(0, False, answer, "")
    command, rest = _find(run.argv)
    options, words = command.parser.split(rest, run.stdin)
    arguments = Arguments(command, words, options, run.stdin)
    if command.is_local:
        if not command.words.usage:
            arguments.nothing()
        return Invocation(command, None, {}, options, output, words)
    readonly = options.pop("readonly", False) is True
    request = arguments.request() if command.request is None else command.request(arguments)
    if readonly:
        request = reading(request)
    return Invocation(command, request.method, _params(request, run), options, output, words)


def _params(request: Request, run: CliRunParams) -> dict[str, object]:
    """The parameters without options that the method does not take, and where it was typed. --store wins over
    $MNEMON_STORE, of which an empty one counts as unset; without both the daemon decides."""
    taken = METHODS[request.method].params.__struct_encode_fields__
    by_client = {name: value for name, value in (("store", run.env_store), ("directory", run.directory)) if value}
    return {name: value for name, value in {**by_client, **request.params}.items() if name in taken}


def reading(request: Request) -> Request:
    """The same request without side effects. Raises MnemonError(STORAGE) for a method that writes."""
    method = METHODS[request.method]
    if method.access is not Access.READ:
        raise MnemonError(
            STORAGE,
            f"{request.method} may write, and --readonly was given; nothing was written",
            hint="repeat it without --readonly",
            outcome="rejected",
        )
    takes_touch = "touch" in method.params.__struct_encode_fields__
    return Request(request.method, {**request.params, "touch": False}) if takes_touch else request


# Help and version.


def _answer(argv: Sequence[str], output: Output, page: Style) -> str | None:
    """The text of help or version, or None if the line requests neither. Help is laid out for `page`: it is for people,
    and has lines of a sensible length even without a terminal."""
    head, _ = split_at_dashes(argv)
    words = _command_words(head)
    if words[:1] == ["help"]:
        return _help(words[1:], page)
    if not _HELP.isdisjoint(head):
        return _help(words, page)
    if words[:1] == ["version"] or "--version" in head:
        return version_text(output)
    if words[:1] == [help_text.COMPLETION.name]:
        return _script(words[1:])
    if words and not (len(words) == 1 and words[0] in PREFIXES):
        return None
    _only_global_options(head)
    return _help(words, page)


def version_text(output: Output) -> str:
    """`mnemonctl version`."""
    if output.form == "json":
        return output.json({"version": SERVER_VERSION, "protocol": PROTOCOL})
    return f"mnemonctl {SERVER_VERSION} (protocol {PROTOCOL})\n"


def _help(words: Sequence[str], style: Style) -> str:
    if not words:
        return help_text.top(style)
    if words[0] in PREFIXES:
        name = " ".join(words[:2])
        return help_text.command(BY_NAME[name], style) if name in BY_NAME else help_text.prefix(words[0], style)
    return help_text.command(_lookup(words[0]), style)


def _script(words: Sequence[str]) -> str:
    if len(words) != 1 or words[0] not in completion.SCRIPTS:
        raise UsageError(f"completion needs the name of a shell: {', '.join(completion.SCRIPTS)}", _SCRIPT_HINT)
    return completion.SCRIPTS[words[0]]


_SCRIPT_HINT = "See: mnemonctl completion --help"


def _only_global_options(head: Sequence[str]) -> None:
    """For a line without a command. Raises UsageError for an option that no command has, or not every command."""
    skip = False
    for word in head:
        name = word.partition("=")[0]
        if skip or not looks_like_option(word):
            skip = False
        elif name not in GLOBAL_VALUES and name not in GLOBAL_FLAGS:
            raise _misplaced(name)
        else:
            skip = word in GLOBAL_VALUES


def _misplaced(name: str) -> UsageError:
    """The error for an option before the command that is not one of every command."""
    shown = one_line(name[:MAX_SHOWN])
    if any(name in command.parser.option_names() for command in COMMANDS):
        return UsageError(f"{shown} has to follow the command", "Write the command first: mnemonctl COMMAND [options]")
    meant = _SHORT.get(name) or nearest_option(name, [*GLOBAL_VALUES, *GLOBAL_FLAGS])
    hint = f"Did you mean {meant}?" if meant else "See: mnemonctl --help"
    return UsageError(f"there is no option {shown}", hint)


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


# The command.


def _find(argv: Sequence[str]) -> tuple[Command, list[str]]:
    """The command of a line, and the arguments without its name."""
    at = _next_word(argv, 0)
    first = argv[at]
    if first not in PREFIXES:
        return _lookup(first), [*argv[:at], *argv[at + 1 :]]
    second_at = _next_word(argv, at + 1)
    second = argv[second_at]
    rest = [*argv[:at], *argv[at + 1 : second_at], *argv[second_at + 1 :]]
    return _lookup_in(first, second), rest


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
    raise _misplaced(argv[index].partition("=")[0])


def _lookup(word: str) -> Command:
    if word in BY_NAME:
        return BY_NAME[word]
    raise _unknown(f"there is no command {_quoted(word)}", nearest_command(word, FIRST_WORDS))


def _lookup_in(group: str, word: str) -> Command:
    name = f"{group} {word}"
    if name in BY_NAME:
        return BY_NAME[name]
    known = [command.name.partition(" ")[2] for command in PREFIXES[group]]
    meant = nearest_second_word(word, known)
    message = f"{group} has no command {_quoted(word)}"
    if meant is None:
        raise UsageError(message, f"It has: {', '.join(known)}. See: mnemonctl {group} --help")
    raise _unknown(message, f"{group} {meant}")


def _unknown(message: str, meant: str | None) -> UsageError:
    return UsageError(message, f"Did you mean: mnemonctl {meant}?" if meant else "See: mnemonctl --help")


def _quoted(word: str) -> str:
    return '"' + one_line(word[:60]) + ("…" if len(word) > 60 else "") + '"'
