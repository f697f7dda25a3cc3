"""The simple commands of a shell line, as far as a line says them (docs/decisions/0044).

One pass over the line with two expressions, one within double quotes; nothing is expanded. What a variable, an alias, a
function, a script, another language or another machine makes of a line is not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, Literal, NamedTuple

from mnemond.text.resources import regex

MAX_LINE: Final = 131_072
"""Characters of a line that are looked at; here-documents are passed over at once."""

MAX_TOKENS: Final = 6_000
"""Words, spaces and signs of a line that are read, some .5 µs each."""

MAX_COMMANDS: Final = 128
"""Commands of one line that are returned."""

MAX_DEPTH: Final = 32
"""Brackets within brackets; deeper ones only end a command."""

MAX_NESTED: Final = 3
"""Lines within lines: what `sh -c`, `eval` or a shell's here-document has."""

MAX_RUN: Final = 3
"""Commands that one `find` runs."""

# Lines.

_PLAIN: Final = regex(
    r"([^\s'\"\\;&|()<>`$#]+|\$(?![('\"])|#)"  # 1 part of a word
    r"|([^\S\n]+)"  # 2 spaces
    r"|(\n)"  # 3 the end of a line
    r"|\$?'([^']*)(?:'|\Z)"  # 4 quoted
    r"|\$?(\")"  # 5
    r"|\\(.|\n|\Z)"  # 6 escaped
    r"|(<<-?(?!<))"  # 7 a here-document
    r"|([<>]\(|\$\(|`)"  # 8 a command within a word
    r"|(&>>?|<<<|<&|<>|>>|>[&|]?|<)"  # 9 a redirection
    r"|(\()|(\))"  # 10, 11
    r"|([;&|]+)",  # 12 the end of a command
)
_QUOTED: Final = regex(r"([^\"\\`$]+|\$(?!\())|(\")|\\(.|\n|\Z)|(\$\(|`)")
_COMMENT: Final = regex(r"#[^\n]*")
_END_WORD: Final = regex(r"[^\S\n]*(?:'([^'\n]*)'|\"([^\"\n]*)\"|\\?([^\s'\";&|()<>]+))")


class _Read(NamedTuple):
    """A simple command: its words, and the texts that it gets as input."""

    words: list[str]
    fed: list[str]


_NextWord = Literal["word", "file", "input"]


class _Level:
    """A command that is being read; another one may stand within it."""

    __slots__ = ("fed", "is_quoted", "next_is", "opened_by", "word", "words")

    def __init__(self, opened_by: str = "") -> None:
        self.opened_by = opened_by
        self.words: list[str] = []
        self.word: str | None = None
        self.fed: list[str] = []
        self.is_quoted = False
        self.next_is: _NextWord = "word"

    def add(self, text: str) -> None:
        self.word = text if self.word is None else self.word + text

    def end_word(self) -> None:
        if self.word is None:
            return
        if self.next_is != "file":
            (self.words if self.next_is == "word" else self.fed).append(self.word)
        self.word, self.next_is = None, "word"

    def redirect(self, next_is: _NextWord) -> None:
        """The number of a file is no word, nor is what follows."""
        if self.word is not None and self.word.isdecimal():
            self.word = None
        self.end_word()
        self.next_is = next_is

    def take(self) -> Iterator[_Read]:
        self.end_word()
        self.next_is = "word"
        if self.words:
            yield _Read(self.words, self.fed)
            self.words, self.fed = [], []


def _simple(line: str) -> Iterator[_Read]:
    """Yield the simple commands of a line in the order in which they end."""
    at, level, outer = 0, _Level(), list[_Level]()
    waiting: list[tuple[str, list[str]]] = []  # here-documents of this line, and whose input they are
    for _ in range(MAX_TOKENS):
        found = (_QUOTED if level.is_quoted else _PLAIN).match(line, at)
        if found is None:
            break
        kind, at = found.lastindex or 0, found.end()
        opens = ""
        if level.is_quoted:
            if kind == 2:
                level.is_quoted = False
            elif kind == 4:
                opens = found[4]
            else:
                level.add("" if found[3] == "\n" else found[1] or found[3])
        elif kind == 1:
            if level.word is None and found[1] == "#" and (at == 1 or line[at - 2] in " \t\n;&|()"):
                comment = _COMMENT.match(line, at - 1)
                at = at if comment is None else comment.end()
            else:
                level.add(found[1])
        elif kind == 2:
            level.end_word()
        elif kind == 4:
            level.add(found[4])
        elif kind == 5:
            level.is_quoted = True
            level.add("")
        elif kind == 6:
            if found[6] != "\n":
                level.add(found[6])
        elif kind == 7:
            level.redirect("word")
            if (end := _END_WORD.match(line, at)) is not None:
                at = end.end()
                waiting.append((end[1] or end[2] or end[3] or "", level.fed))
        elif kind == 8:
            opens = found[8]
        elif kind == 9:
            level.redirect("input" if found[9] == "<<<" else "file")
        elif kind == 10:
            yield from level.take()
            opens = found[10]
        elif kind == 11:
            yield from level.take()
            level = outer.pop() if outer else level
        else:  # 3, 12
            yield from level.take()
            if kind == 3 and waiting:
                at = _pass_documents(line, at, waiting)
        if opens == "`" and level.opened_by == "`":
            yield from level.take()
            level = outer.pop()
        elif opens and len(outer) < MAX_DEPTH:
            if opens != "(":
                level.add("")
            outer.append(level)
            level = _Level(opens)
        elif opens:
            yield from level.take()
    for each in (level, *reversed(outer)):
        yield from each.take()


def _pass_documents(line: str, at: int, waiting: list[tuple[str, list[str]]]) -> int:
    """Return where the here-documents end that begin here, which their commands are given."""
    for end, fed in waiting:
        begin = at
        while True:
            close = line.find("\n", at)
            row = line[at:] if close < 0 else line[at:close]
            at = len(line) if close < 0 else close + 1
            if close < 0 or row.strip("\t ") == end:
                break
        fed.append(line[begin:at])
    waiting.clear()
    return at


# Commands.


class _Wrapper(NamedTuple):
    """A program that runs another: its options that have a value, and how many words stand before the other."""

    with_value: frozenset[str] = frozenset()
    before: int = 0


def _wrapper(options: str = "", before: int = 0) -> _Wrapper:
    return _Wrapper(frozenset(options.split()), before)


_KEYWORDS: Final = {
    **dict.fromkeys(("then", "do", "else", "elif", "if", "while", "until", "!", "{", "coproc"), _wrapper()),
    "function": _wrapper(before=1),
}
"""Words of the shell's grammar before a command."""

_WRAPPERS: Final = {
    **_KEYWORDS,
    **dict.fromkeys(
        ("command", "nohup", "builtin", "setsid", "unbuffer", "chronic", "caffeinate", "winpty"), _wrapper()
    ),
    "env": _wrapper("-u --unset -C --chdir"),
    "sudo": _wrapper("-u --user -g --group -h --host -p --prompt -C -r --role -t --type -T -U -D --chdir -R"),
    "doas": _wrapper("-u -C"),
    "exec": _wrapper("-a"),
    "time": _wrapper("-o -f --output --format"),
    "nice": _wrapper("-n --adjustment"),
    "ionice": _wrapper("-c -n --class --classdata"),
    "timeout": _wrapper("-s -k --signal --kill-after", before=1),
    "flock": _wrapper("-w --timeout -E", before=1),
    "stdbuf": _wrapper("-i -o -e"),
    "watch": _wrapper("-n --interval"),
    "xargs": _wrapper("-I -n -P -L -d -a -s -E --max-args --max-procs --delimiter --arg-file"),
    "parallel": _wrapper("-j --jobs -I"),
}  # fmt: skip
_SHELLS: Final = frozenset(("bash", "sh", "zsh", "dash", "ksh", "fish"))
_SHELL_VALUES: Final = frozenset(("-o", "+o", "-O", "+O", "--rcfile", "--init-file"))
_OPTIONS: Final = {
    "git": _wrapper("-C -c --git-dir --work-tree --namespace --exec-path"),
    "make": _wrapper("-C -f -j --directory --file"),
    "kubectl": _wrapper("-n --namespace --context --cluster --kubeconfig -s"),
    "helm": _wrapper("-n --namespace --kube-context --kubeconfig"),
    "docker": _wrapper("-H --host -c --context --config -l"),
    "npm": _wrapper("--prefix -C -w --workspace"),
    "pnpm": _wrapper("-C --dir -F --filter"),
    "yarn": _wrapper("--cwd"),
    "cargo": _wrapper("-C --config --color"),
    "gh": _wrapper("-R --repo"),
    "terraform": _wrapper(),
}
"""Programs that take options before what they are to do: `git -C there push` is a `git push` as well."""
_ASSIGNMENT: Final = regex(r"[A-Za-z_]\w*\+?=")
_EXECUTING: Final = frozenset(("-exec", "-execdir", "-ok", "-okdir"))


def commands_of(line: str, nested: int = 0) -> list[str]:
    """Return the simple commands of a shell line as words with one space between them, at most MAX_COMMANDS.

    A program is named without its directory, assignments are left out. A command that another one such as `sudo` runs,
    also in what `sh -c` or `eval` are given, comes before that one; a command with options before what it is to do
    comes with and without them.
    """
    found: dict[str, None] = {}
    for read in list(_simple(line[:MAX_LINE])):  # a here-document comes after its command
        if len(found) >= MAX_COMMANDS:
            break
        found.update(dict.fromkeys(_commands(read, nested)))
    return list(found)[:MAX_COMMANDS]


def _commands(read: _Read, nested: int) -> list[str]:
    at = _begin(read.words, _KEYWORDS)
    if at >= len(read.words):
        return []
    whole = _named(read.words[at:])
    at = _begin(read.words, _WRAPPERS)
    words = read.words[at:]
    if not words:
        return [whole]
    program, rest = words[0].rpartition("/")[2], words[1:]
    plain = _named(words)
    inner: list[str] = []
    if program in _SHELLS:
        inner = _script(rest, read.fed)
    elif program == "eval":
        inner = [" ".join(rest)]
    elif program == "find" and nested == 0:
        runs = (at for at, each in enumerate(rest) if each in _EXECUTING)
        inner = [" ".join(rest[at + 1 :]) for at in islice(runs, MAX_RUN)]
    elif not rest and at and " " in program:  # watch "git push"
        inner = [words[0]]
    found = [each for script in inner for each in commands_of(script, nested + 1)] if nested < MAX_NESTED else []
    options = _OPTIONS.get(program)
    if options is not None and rest and rest[0].startswith("-"):
        found.append(" ".join((program, *rest[_after_options(rest, 0, options.with_value) :])))
    return [*found, plain, whole]


def _named(words: Sequence[str]) -> str:
    return " ".join((words[0].rpartition("/")[2] or words[0], *words[1:]))


def _begin(words: Sequence[str], wrappers: Mapping[str, _Wrapper]) -> int:
    """Return the place of the first word of a command after assignments, and after what runs it."""
    at = 0
    while at < len(words):
        if _ASSIGNMENT.match(words[at]):
            at += 1
            continue
        wrapper = wrappers.get(words[at].rpartition("/")[2])
        if wrapper is None:
            break
        at = _after_options(words, at + 1, wrapper.with_value) + wrapper.before
    return at


def _after_options(words: Sequence[str], at: int, with_value: frozenset[str]) -> int:
    """Return the place of the first word from `at` on that is no option, nor the value of one."""
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        if words[at] == "--":
            return at + 1
        at += 2 if words[at] in with_value else 1
    return at


def _script(rest: Sequence[str], fed: Sequence[str]) -> list[str]:
    """Return what a shell is given to run: the text after `-c`, or its input unless it runs a file."""
    at = 0
    while at < len(rest) and rest[at][:1] in ("-", "+"):
        if re.fullmatch(r"-[a-z]*c", rest[at]):
            at = _after_options(rest, at + 1, _SHELL_VALUES)
            return list(rest[at : at + 1])
        at += 2 if rest[at] in _SHELL_VALUES else 1
    return list(fed) if at == len(rest) else []
