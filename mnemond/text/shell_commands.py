"""The simple commands of a shell line, as far as a line says them (docs/decisions/0044).

One pass over the line with two expressions, one within double quotes. Nothing is expanded but a program whose name
stands in a variable of the same line. What other variables, an alias, a script, another language or another machine
make of a line is not seen.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from mnemond.text.resources import regex

MAX_LINE: Final = 131_072
"""Characters of a line that are looked at; here-documents are passed over at once."""

MAX_TOKENS: Final = 24_000
"""Words, spaces and signs that are read, some .5 µs each, of a line and of the lines within it together."""

MAX_COMMANDS: Final = 1_000
"""Commands of one line that are returned."""

MAX_DEPTH: Final = 32
"""Brackets within brackets; deeper ones only end a command."""

MAX_NESTED: Final = 6
"""Lines within lines: what `sh -c`, `eval` or a shell's here-document has."""

MAX_RUN: Final = 3
"""Commands that one `find` runs."""

MAX_LETTERS: Final = 10
"""Characters of options of one letter that stand together."""

MAX_VALUE: Final = 200
"""Characters of a variable that is a program and its arguments."""

# Lines.

_PLAIN: Final = regex(
    r"([^\s'\"\\;&|()<>`$#]+|\$(?![('\"])|#)"  # 1 part of a word
    r"|([^\S\n]+)"  # 2 spaces
    r"|(\n)"  # 3 the end of a line
    r"|'([^']*)(?:'|\Z)"  # 4 quoted
    r"|\$?(\")"  # 5
    r"|\\(.|\n|\Z)"  # 6 escaped
    r"|(<<-?(?!<))"  # 7 a here-document
    r"|([<>]\(|\$\(|`)"  # 8 a command within a word
    r"|(&>>?|<<<|<&|<>|>>|>[&|]?|<)"  # 9 a redirection
    r"|(\()|(\))"  # 10, 11
    r"|([;&|]+)"  # 12 the end of a command
    r"|\$'([^'\\]*+(?:\\.[^'\\]*+)*)(?:'|\\?\Z)",  # 13 quoted, with escapes
    re.DOTALL,
)
_QUOTED: Final = regex(r"([^\"\\`$]+|\$(?!\())|(\")|\\(.|\n|\Z)|(\$\(|`)")
_COMMENT: Final = regex(r"#[^\n]*")
_ESCAPED: Final = regex(
    r"\\(?:x([0-9A-Fa-f]{1,2})|([0-7]{1,3})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|(.))", re.DOTALL
)
_SPACES: Final = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
    "e": "\x1b",
    "E": "\x1b",
}
_END_WORD: Final = regex(r"[^\S\n]*(?:'([^'\n]*)'|\"([^\"\n]*)\"|\\?([^\s'\";&|()<>]+))")


class _Read(NamedTuple):
    """A simple command: its words, the texts that it gets as input, and the command whose output it reads."""

    words: list[str]
    fed: list[str]
    before: _Read | None


_NextWord = Literal["word", "file", "input"]


class _Level:
    """A command that is being read; another one may stand within it."""

    __slots__ = ("before", "fed", "is_quoted", "next_is", "opened_by", "parts", "words")

    def __init__(self, opened_by: str = "") -> None:
        self.opened_by = opened_by
        self.words: list[str] = []
        self.parts: list[str] | None = None  # of the word that is being read
        self.fed: list[str] = []
        self.before: _Read | None = None
        self.is_quoted = False
        self.next_is: _NextWord = "word"

    def add(self, text: str) -> None:
        if self.parts is None:
            self.parts = []
        self.parts.append(text)

    def end_word(self) -> None:
        if self.parts is None:
            return
        if self.next_is != "file":
            (self.words if self.next_is == "word" else self.fed).append("".join(self.parts))
        self.parts, self.next_is = None, "word"

    def redirect(self, next_is: _NextWord) -> None:
        """The number of a file is no word, nor is what follows."""
        if self.parts is not None and all(each.isdecimal() for each in self.parts):
            self.parts = None
        self.end_word()
        self.next_is = next_is

    def take(self, *, is_piped: bool = False) -> Iterator[_Read]:
        """Yield the command, if there is one; the next one of this level reads its output if it is piped."""
        self.end_word()
        self.next_is = "word"
        read = _Read(self.words, self.fed, self.before) if self.words else None
        self.before = read if is_piped else None
        if read is not None:
            yield read
            self.words, self.fed = [], []


class _Reader:
    """Reads a line and the lines within it within MAX_TOKENS. `is_whole` is False once something was not read."""

    def __init__(self) -> None:
        self.is_whole = True
        self._left = MAX_TOKENS
        self._values: dict[str, str] = {}

    def commands(self, line: str, nested: int = 0) -> dict[str, None]:
        """Return the commands of a line, at most MAX_COMMANDS."""
        if len(line) > MAX_LINE or nested > MAX_NESTED:
            self.is_whole = False
        found: dict[str, None] = {}
        if nested > MAX_NESTED:
            return found
        for read in list(self._simple(line[:MAX_LINE])):  # a here-document comes after its command
            if len(found) >= MAX_COMMANDS:
                self.is_whole = False
                break
            found.update(dict.fromkeys(self._commands(read, nested)))
        return found

    def _simple(self, line: str) -> Iterator[_Read]:
        """Yield the simple commands of a line in the order in which they end."""
        at, level, outer = 0, _Level(), list[_Level]()
        waiting: list[tuple[str, list[str]]] = []  # here-documents of this line, and whose input they are
        while self._left > 0:
            found = (_QUOTED if level.is_quoted else _PLAIN).match(line, at)
            if found is None:
                break
            self._left -= 1
            kind, at = found.lastindex or 0, found.end()
            opens = ""
            if level.is_quoted:
                if kind == 2:
                    level.is_quoted = False
                elif kind == 4:
                    opens = found[4]
                else:
                    level.add(found[1] or _within_quotes(found[3]))
            elif kind == 1:
                if level.parts is None and found[1] == "#" and (at == 1 or line[at - 2] in " \t\n;&|()"):
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
            elif kind == 13:
                level.add(_ESCAPED.sub(_unescaped, found[13]))
            else:  # 3, 12
                yield from level.take(is_piped=found[12] in _PIPES)
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
                self.is_whole = False  # what is closed from here on is not what it seems
                yield from level.take()
        if at < len(line):
            self.is_whole = False
        for each in (level, *reversed(outer)):
            yield from each.take()

    def _commands(self, read: _Read, nested: int) -> list[str]:
        if self._note_values(read.words):
            return []
        at = _begin(read.words, _KEYWORDS)
        if at >= len(read.words):
            return []
        whole = _named(read.words[at:])
        at = _begin(read.words, _WRAPPERS)
        words = [*self._value(read.words[at]).split(), *read.words[at + 1 :]] if at < len(read.words) else []
        if not words:
            return [whole]
        program, rest = words[0].rpartition("/")[2], words[1:]
        plain = _named(words)
        inner: list[str] = []
        if program in _SHELLS:
            inner = _script(rest, read)
        elif program in ("eval", "trap"):
            given = rest[_after_options(rest, 0, frozenset()) :]
            inner = [" ".join(map(self._value, given if program == "eval" else given[:1]))]
        elif program in _SCRIPTED:
            inner = [text for option, text in pairwise(rest) if _LINE_OPTION.fullmatch(option)]
        elif _LINE_OPTION.fullmatch(program):  # flock FILE -c LINE
            inner = rest[:1]
        elif program == "tmux":
            inner = [" ".join(rest[_after_options(rest, 1, _TMUX_VALUES) :])]
        elif program in ("at", "batch"):
            inner = _input(read)
        elif program in _EXECUTING:
            runs = [at for at, each in enumerate(rest) if each in _EXECUTING[program]]
            self.is_whole = self.is_whole and len(runs) <= MAX_RUN
            inner = [" ".join(rest[at + 1 :]) for at in runs[:MAX_RUN]]
        elif not rest and at and " " in words[0]:  # watch "git push"
            inner = [words[0]]
        found = [each for script in inner[:MAX_RUN] for each in self.commands(self._value(script), nested + 1)]
        options = _OPTIONS.get(program)
        if options is not None and rest and rest[0].startswith("-"):
            found.append(" ".join((program, *rest[_after_options(rest, 0, options.with_value) :])))
        return [*found, plain, whole]

    def _note_values(self, words: Sequence[str]) -> bool:
        """Keep the variables that a command sets; return False if it does anything else."""
        named = words[_after_options(words, 1, frozenset()) :] if words[0] in _DECLARING else words
        for each in named:
            assigned = _ASSIGNMENT.match(each)
            if assigned is None:
                return False
        for each in named:
            name, _, value = each.partition("=")
            if len(value) <= MAX_VALUE:
                self._values[name] = value
        return bool(named)

    def _value(self, word: str) -> str:
        """Return what a variable has, for a word that is one and that the line has set."""
        found = _VARIABLE.fullmatch(word) if word.startswith("$") else None
        return word if found is None else self._values.get(found[1] or found[2], word)


def _within_quotes(escaped: str) -> str:
    """Return what a backslash and this stand for between double quotes, where most of them are two characters."""
    if escaped == "\n":
        return ""
    return escaped if escaped in '$`"\\' else f"\\{escaped}"


def _unescaped(found: re.Match[str]) -> str:
    if found[5] is not None:
        return _SPACES.get(found[5], found[5])
    code = int(found[2], 8) if found[2] else int(found[1] or found[3] or found[4], 16)
    return chr(code) if 0 < code <= sys.maxunicode else ""


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
        (
            "command", "nohup", "builtin", "setsid", "unbuffer", "chronic", "caffeinate", "winpty", "busybox", "npx",
            "bunx", "uvx", "ltrace", "setpriv", "firejail", "dbus-run-session", "torsocks", "proxychains",
            "proxychains4", "valgrind", "entr", "hyperfine", "fakeroot",
        ),
        _wrapper(),
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
    "strace": _wrapper("-e -o -p -s -P -u -E"),
    "chroot": _wrapper(before=1),
    "taskset": _wrapper(before=1),
    "faketime": _wrapper(before=1),
    "xvfb-run": _wrapper("-n -s -e -f -w"),
    "screen": _wrapper("-S -t -c -h -s -T"),
    "chrt": _wrapper(before=1),
    "unshare": _wrapper("-S -G -R -w"),
    "nsenter": _wrapper("-t --target -S -G"),
    "systemd-run": _wrapper("-u --unit -p --property -E --setenv -M --machine -H --host"),
}  # fmt: skip
_SHELLS: Final = frozenset(("bash", "sh", "zsh", "dash", "ksh", "fish"))
_SHELL_LINE: Final = regex(r"-[A-Za-z]{0,9}c[A-Za-z]{0,9}")
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
_SCRIPTED: Final = frozenset(("su", "runuser", "script", "sg", "nix-shell", "pwsh", "powershell"))
"""Programs that run a line which is the value of an option."""
_LINE_OPTION: Final = regex(r"-[A-Za-z]{0,9}c|--command|--run|-[Cc]ommand")
_TMUX_VALUES: Final = _wrapper("-s -t -n -c -e -x -y -F -l -p -N").with_value
_RUNNERS: Final = {
    **dict.fromkeys(("uv", "poetry", "pipenv", "pdm", "hatch", "rye", "pipx", "conda", "mamba", "dotenv"), "run"),
    **dict.fromkeys(("bundle", "mise", "npm", "pnpm", "yarn"), "exec"),
}
"""Programs that run another one after this word."""
_RUNNER_VALUES: Final = _wrapper(
    "--with -p --python --directory --project --extra --group --env-file --spec -n --name -f -w --workspace"
).with_value
_LOOKING: Final = frozenset(("-v", "-V"))
"""Options with which `command` runs nothing."""
_PIPES: Final = frozenset(("|", "|&"))
_SAYING: Final = frozenset(("echo", "printf"))
_PASSING: Final = frozenset(("cat", "tee"))
_DECLARING: Final = frozenset(("export", "readonly", "local", "declare", "typeset"))
_ASSIGNMENT: Final = regex(r"[A-Za-z_]\w*\+?=")
_VARIABLE: Final = regex(r"\$(?:(\w+)|\{(\w+)\})")
_EXECUTING: Final = {
    "find": frozenset(("-exec", "-execdir", "-ok", "-okdir")),
    **dict.fromkeys(("fd", "fdfind"), frozenset(("-x", "--exec", "-X", "--exec-batch"))),
}


class ShellLine(NamedTuple):
    """The simple commands of a line, as words with one space between them; `is_whole`: no limit left any out."""

    commands: tuple[str, ...]
    is_whole: bool


def shell_line(line: str) -> ShellLine:
    """Return the simple commands of a shell line, at most MAX_COMMANDS.

    A program is named without its directory, assignments are left out. A command that another one such as `sudo` runs,
    also in what `sh -c` or `eval` are given, comes before that one; a command with options before what it is to do
    comes with and without them.
    """
    reader = _Reader()
    found = tuple(reader.commands(line))
    return ShellLine(found[:MAX_COMMANDS], reader.is_whole and len(found) <= MAX_COMMANDS)


def _named(words: Sequence[str]) -> str:
    return " ".join((words[0].rpartition("/")[2] or words[0], *words[1:]))


def _begin(words: Sequence[str], wrappers: Mapping[str, _Wrapper]) -> int:
    """Return the place of the first word of a command after assignments, and after what runs it."""
    at = 0
    while at < len(words):
        if _ASSIGNMENT.match(words[at]):
            at += 1
            continue
        program, after = words[at].rpartition("/")[2], words[at + 1 : at + 2]
        if wrappers is _WRAPPERS and after and _RUNNERS.get(program) == after[0]:
            at = _after_options(words, at + 2, _RUNNER_VALUES)
            continue
        wrapper = wrappers.get(program)
        if wrapper is None or (program == "command" and _LOOKING.intersection(after)):
            break
        at = _after_options(words, at + 1, wrapper.with_value) + wrapper.before
    return at


def _after_options(words: Sequence[str], at: int, with_value: frozenset[str]) -> int:
    """Return the place of the first word from `at` on that is no option, nor the value of one."""
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        if words[at] == "--":
            return at + 1
        at += 2 if _needs_next(words[at], with_value) else 1
    return at


def _needs_next(option: str, with_value: frozenset[str]) -> bool:
    """Return True if the value of an option is the next word; letters may stand together, the value after the last."""
    if option in with_value:
        return True
    if option.startswith("--") or len(option) > MAX_LETTERS:
        return False
    with_values = [at for at, each in enumerate(option) if f"-{each}" in with_value]
    return bool(with_values) and with_values[0] == len(option) - 1


def _script(rest: Sequence[str], read: _Read) -> list[str]:
    """Return what a shell is given to run: the text after `-c`, or its input unless it runs a file."""
    at, takes_input = 0, False
    while at < len(rest) and rest[at][:1] in ("-", "+"):
        option, step = rest[at], 2 if _needs_next(rest[at], _SHELL_VALUES) else 1
        at += step
        if _SHELL_LINE.fullmatch(option):
            at = _after_options(rest, at, _SHELL_VALUES)
            return list(rest[at : at + 1])
        takes_input = takes_input or option in ("-s", "-")
    return _input(read) if at >= len(rest) or takes_input or rest[at] == "/dev/stdin" else []


def _input(read: _Read) -> list[str]:
    """Return what a command reads, as far as it is in the line."""
    return [*read.fed, *([] if read.before is None else _output(read.before))]


def _output(read: _Read) -> list[str]:
    """Return what a command writes, as far as it is in the line."""
    program = read.words[0].rpartition("/")[2]
    if program in _SAYING:
        said = " ".join(read.words[_after_options(read.words, 1, frozenset()) :])
        return [said.replace("\\n", "\n")]
    return read.fed if program in _PASSING else []
