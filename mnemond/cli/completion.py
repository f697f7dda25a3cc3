"""Completion in bash, zsh and fish, and the manual page, from the declarations of the commands.

The scripts of the shells hold no commands. They run `mnemonctl --complete SHELL …` at each key, and the daemon answers
from the declarations and from its stores, so that they fit every version. Without a daemon the client answers from the
declarations alone, and starts none.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec

from mnemond.api.types_changes import ReviewsResult
from mnemond.api.types_stores import StoreListResult
from mnemond.cli.help import COMMANDS, EXIT_CODES, FIRST_WORDS, PREFIXES
from mnemond.cli.output import SHORT_ID, one_line, shorten
from mnemond.cli.parser import GLOBALS, Command, Group, Option, Request, looks_like_option
from mnemond.model.answers import ListResult, LogLine
from mnemond.wire.params import SERVER_VERSION, fields_of

SHELLS: Final = ("bash", "zsh", "fish")

FLAG: Final = "--complete"
"""First argument of a command line that requests candidates. The shell follows, then the words up to the cursor, or for
bash the line up to the cursor."""

LATEST: Final = 200
"""Memories, newest first, whose ids, tags and names are candidates, and operations."""

MAX_CANDIDATES: Final = 100
"""Candidates of one answer; of more a shell shows none before it has a yes."""

ABOUT: Final = 60
"""Cells of the description of a candidate."""


class Candidate(msgspec.Struct, frozen=True):
    """What may stand in the place of the word under the cursor, and a description."""

    value: str
    about: str = ""


class Wanted(msgspec.Struct, frozen=True):
    """What fits the word under the cursor. `kept`: its beginning that stays (`--store=`), before `word`.

    `kind`: the key in SOURCES of further candidates, "" for none, from `store`.
    """

    word: str
    kept: str = ""
    candidates: tuple[Candidate, ...] = ()
    kind: str = ""
    store: str | None = None


# ---------------------------------------------------------------- the word under the cursor


def wanted(words: Sequence[str]) -> Wanted:
    """Return what may stand in the place of the last of `words`, which follow the name of the program."""
    *before, word = words or [""]
    if "--" in before:
        return Wanted(word)
    command, typed, option = _read(before)
    store = _store(before)
    options = [*(command.parser.options if command else ()), *GLOBALS]
    flag, equals, value = word.partition("=")
    if equals and (named := _option(options, flag)) is not None:
        return _value(named, value, store, kept=f"{flag}=")
    if option is not None:
        return _value(option, word, store)
    if looks_like_option(word) or word == "-":
        return Wanted(word, candidates=_flags(options, before))
    if command is None:
        return Wanted(word, candidates=tuple(_commands(typed)))
    return _word(command, typed, word, store)


def _read(before: Sequence[str]) -> tuple[Command | None, list[str], Option | None]:
    """Return the command of a line, its words (without a whole command: those of its name), and the option whose value
    comes next."""
    command: Command | None = None
    typed: list[str] = []
    option: Option | None = None
    for word in before:
        if option is not None:
            option = None
        elif looks_like_option(word):
            known = [*(command.parser.options if command else ()), *GLOBALS]
            found = _option(known, word)
            option = found if found is not None and found.read is not None and not found.bare else None
        else:
            typed.append(word)
            if command is None and (command := _BY_NAME.get(" ".join(typed))) is not None:
                typed = []
    return command, typed, option


_BY_NAME: Final = {command.name: command for command in COMMANDS}


def _store(before: Sequence[str]) -> str | None:
    """Return the value of --store."""
    for at, word in enumerate(before):
        if word.startswith("--store="):
            return word.partition("=")[2]
        if word == "--store" and at + 1 < len(before):
            return before[at + 1]
    return None


def _option(options: Iterable[Option], flag: str) -> Option | None:
    return next((option for option in options if flag in option.flags), None)


def _flags(options: Iterable[Option], before: Sequence[str]) -> tuple[Candidate, ...]:
    """Return the long options that were not typed yet, or may be repeated."""
    return tuple(
        Candidate(flag, option.help)
        for option in options
        for flag in (*option.flags, *option.off)
        if flag.startswith("--") and (option.adds or flag not in before)
    )


def _commands(typed: Sequence[str]) -> Iterable[Candidate]:
    """Return the first words of commands, or the second words behind `typed`."""
    if not typed:
        summaries = {command.name: command.summary for command in COMMANDS}
        for name in FIRST_WORDS:
            seconds = (command.name.partition(" ")[2] for command in PREFIXES.get(name, ()))
            yield Candidate(name, summaries.get(name) or ", ".join(seconds))
    elif len(typed) == 1:
        for command in PREFIXES.get(typed[0], ()):
            yield Candidate(command.name.partition(" ")[2], command.summary)


def _value(option: Option, word: str, store: str | None, kept: str = "") -> Wanted:
    """Return the values of an option; behind commas those of the last one."""
    if option.adds and "," in word:
        head, _, word = word.rpartition(",")
        kept += f"{head},"
    return Wanted(word, kept, tuple(map(Candidate, option.choices)), option.completes, store)


_LITERAL = re.compile(r"[a-z]+(?:\|[a-z]+)+$")
"""A word of a usage that is one of several: `tell|ask|deny`."""


def _word(command: Command, typed: Sequence[str], word: str, store: str | None) -> Wanted:
    """Return what may be the next word of a command."""
    usage = command.words.usage.strip("[]").split()
    place = len(typed)
    if place < len(usage) and _LITERAL.match(usage[place]):
        return Wanted(word, candidates=tuple(map(Candidate, usage[place].split("|"))))
    fields = command.words.fields
    if fields and command.method is not None:
        extras = {field.name: field.extra for field in fields_of(command.method.params)}
        repeated = command.words.text and len(fields) == 1
        name = fields[0] if repeated else fields[place] if place < len(fields) else ""
        kind = str(extras.get(name, {}).get("completes", "")) or (command.words.completes if name else "")
    else:
        kind = command.words.completes if place == 0 else ""
    if kind == "command":
        return Wanted(word, candidates=tuple(_commands(())))
    return Wanted(word, kind=kind, store=store)


# ---------------------------------------------------------------- values that a store has


class Source(msgspec.Struct, frozen=True):
    """Where candidates of one kind come from: a request, and how they are read out of its result."""

    request: Request
    read: Callable[..., Iterable[Candidate]]


def _memories(result: ListResult) -> Iterable[Candidate]:
    return (Candidate(each.id[:SHORT_ID], each.content) for each in result.insights)


def _tags(result: ListResult) -> Iterable[Candidate]:
    return (Candidate(tag) for each in result.insights for tag in each.tags)


def _entities(result: ListResult) -> Iterable[Candidate]:
    return (Candidate(name) for each in result.insights for name in each.entities)


def _stores(result: StoreListResult) -> Iterable[Candidate]:
    return (Candidate(each.name, "active" if each.active else "") for each in result.stores)


def _operations(result: Sequence[LogLine]) -> Iterable[Candidate]:
    return (
        Candidate(each.op_id[:SHORT_ID], " ".join(filter(None, (each.created_at[:16], each.operation, each.words))))
        for each in result
        if each.op_id
    )


def _reviews(result: ReviewsResult) -> Iterable[Candidate]:
    return (Candidate(str(each.id), f"{each.suggestion}: {each.newer.content}") for each in result.reviews)


_LATEST: Final = Request("list", {"limit": LATEST})

SOURCES: Final = {
    "memory": Source(_LATEST, _memories),
    "tag": Source(_LATEST, _tags),
    "entity": Source(_LATEST, _entities),
    "store": Source(Request("store.list", {}), _stores),
    "operation": Source(Request("log", {"limit": LATEST, "recalls": False}), _operations),
    "review": Source(Request("reviews", {"limit": LATEST}), _reviews),
}


# ---------------------------------------------------------------- the answer


def words_of(shell: str, typed: Sequence[str]) -> list[str] | None:
    """Return the words behind the program's name, the last one under the cursor; None for a line that is not to be
    completed, as within quotation marks."""
    if shell != "bash":
        return list(typed)
    line = typed[0] if typed else ""
    try:
        words = shlex.split(line)
    except ValueError:
        return None
    if not line or (line[-1].isspace() and not line.endswith("\\ ")):
        words.append("")
    names = [at for at, word in enumerate(words) if word.rpartition("/")[2] == "mnemonctl"]
    return words[names[0] + 1 :] if names else None


def answer(shell: str, it: Wanted, found: Iterable[Candidate] = ()) -> str:
    """Return the candidates for a shell, one a line; behind a tab a description, except for bash."""
    folded = it.word.casefold()
    known = {
        each.value: each for each in (*it.candidates, *found)
        if each.value.casefold().startswith(folded) and each.value.isprintable()
    }  # fmt: skip
    fitting = [*known.values()][:MAX_CANDIDATES]
    if shell == "bash":
        return "".join(f"{_in_bash(it, each.value)}\n" for each in fitting)
    return "".join(f"{it.kept}{each.value}\t{shorten(each.about, ABOUT)}".rstrip("\t") + "\n" for each in fitting)


_BREAKS: Final = re.compile(r".*[=:]", re.DOTALL)
_SPECIAL: Final = re.compile(r"([^\w@%+,./=:-])")


def _in_bash(it: Wanted, value: str) -> str:
    """Return what bash puts behind the last "=" or ":" of the word, where it begins a new one. A backslash precedes
    each character that the shell would interpret: a tag may be `$(…)`."""
    whole = it.kept + value
    done = _BREAKS.match(it.kept + it.word)
    return _SPECIAL.sub(r"\\\1", whole[done.end() if done else 0 :])


# ---------------------------------------------------------------- scripts

_BASH = """\
# Completion of mnemonctl for bash. Load it by: eval "$(mnemonctl completion bash)"
_mnemonctl() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("$line")
  done < <(mnemonctl --complete bash "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
}
complete -o default -F _mnemonctl mnemonctl
"""

_ZSH = """\
#compdef mnemonctl
# Completion of mnemonctl for zsh. Load it by: eval "$(mnemonctl completion zsh)"
_mnemonctl() {
  local -a lines values shown
  lines=("${(@f)$(mnemonctl --complete zsh "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -z ${lines[1]} ]]; then
    _files
    return
  fi
  values=("${(@)lines%%$'\\t'*}")
  shown=("${(@)lines/$'\\t'/  }")
  compadd -M 'm:{a-zA-Z}={A-Za-z}' -l -d shown -a values
}
if [[ ${funcstack[1]} == _mnemonctl ]]; then
  _mnemonctl "$@"
else
  compdef _mnemonctl mnemonctl
fi
"""

_FISH = """\
# Completion of mnemonctl for fish. Load it by: mnemonctl completion fish | source
function __mnemonctl_complete
    set -l typed (commandline -opc)
    set -l word (commandline -ct)
    set -l found (mnemonctl --complete fish $typed[2..] "$word" 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\\n' $found
    else
        __fish_complete_path "$word"
    end
end
complete -c mnemonctl -f -a '(__mnemonctl_complete)'
"""

SCRIPTS: Final = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


# ---------------------------------------------------------------- the manual page


def manual() -> str:
    """Return the manual page mnemonctl(1), in the macros of man(7)."""
    groups = [line for group in Group for line in _group(group)]
    codes = [line for code, meaning in EXIT_CODES for line in (".TP", f".B {_roff(code)}", _roff(meaning))]
    return "\n".join(
        [
            f'.TH MNEMONCTL 1 "" "mnemonctl {SERVER_VERSION}" "User Commands"',
            ".SH NAME",
            r"mnemonctl \- remember and recall, through the mnemond daemon",
            ".SH SYNOPSIS",
            ".B mnemonctl",
            r"\fICOMMAND\fR [\fIoptions\fR]",
            ".SH DESCRIPTION",
            "Output is text on a terminal and JSON elsewhere; so are errors. The first command that needs the daemon",
            "starts it.",
            *groups,
            ".SH OPTIONS OF EVERY COMMAND",
            *(line for option in GLOBALS for line in _option_lines(option)),
            ".SH EXIT STATUS",
            *codes,
            ".SH FILES",
            ".TP",
            r".I ~/.mnemon",
            "Stores, backups, configuration, socket and log. --data-dir and $MNEMON_DATA_DIR name another directory.",
            "",
        ]
    )


def _group(group: Group) -> list[str]:
    members = [command for command in COMMANDS if command.group is group]
    return [f'.SH "{group.upper()}"', *(line for command in members for line in _command_lines(command))]


def _command_lines(command: Command) -> list[str]:
    usage = f"{command.name} {command.words.usage}".rstrip()
    lines = [f".SS {_roff(usage)}", _roff(command.summary)]
    for text in command.details:
        lines += [".PP", _roff(text)]
    lines += [line for option in command.parser.options for line in _option_lines(option)]
    lines += [".PP", ".nf", *(_roff(f"  {example}") for example in command.examples), ".fi"]
    return lines


def _option_lines(option: Option) -> list[str]:
    flags = ", ".join((*option.flags, *option.off))
    return [".TP", f".B {_roff(f'{flags} {option.metavar}'.rstrip())}", _roff(option.help)]


def _roff(text: str) -> str:
    """Return a line that troff shows as it is."""
    plain = one_line(text).replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{plain}" if plain.startswith((".", "'")) else plain
