"""The rules of a store, compiled so that a call of a tool is compared with few of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

import msgspec

from mnemond.memory.rules import has_rule
from mnemond.model.memory import Enforcement, Insight, Scope, is_same_project
from mnemond.text.triggers import (
    Kind,
    ToolCall,
    Trigger,
    fits_command,
    fits_path,
    has_tool,
    has_words,
    path_pattern,
    read_trigger,
    tool_names,
    words_in,
)

MAX_RULES: Final = 5_000
"""Triggers of a store that are compiled, those of the newest memories."""

MAX_WORK: Final = 20_000
"""Comparisons of a pattern with a word or a directory of one call, some .3 µs each: a call is answered in time whatever
rules an agent was led to store. Those that a person enforced have as much of their own; where that is not enough they
hold the call."""

_COMMAND: Final = 4
"""Work of a pattern and a command: some have eight stars."""

_CHARACTERS: Final = 1_024
"""Characters of a command or a text in which one star, or one word, is as much work as a short comparison."""

_FIRST: Final[dict[Enforcement, int]] = {"deny": 0, "ask": 1, "tell": 2}


class Rule(msgspec.Struct, frozen=True):
    """One trigger of one memory that a call fitted; or, `unread`, that it may fit in a part that is not read."""

    id: str
    text: str
    pattern: str
    enforce: Enforcement
    importance: int
    updated_at: str
    scope: Scope
    unread: bool = False

    @property
    def key(self) -> tuple[str, str]:
        """Identify the rule among those that a session was shown."""
        return self.id, self.pattern


class _Compiled(msgspec.Struct, frozen=True):
    rule: Rule
    trigger: Trigger
    parts: tuple[str, ...]
    """Segments of a path, or words; of a tool how its name begins."""


class RuleIndex:
    """The rules of a store; those that a person enforced are found apart, whatever the others cost."""

    def __init__(self, memories: Sequence[Insight]) -> None:
        self._enforced, self._told = _Table(), _Table()
        for it, pattern, enforce in islice(_newest(memories), MAX_RULES):
            table = self._told if enforce == "tell" else self._enforced
            rule = Rule(it.id, it.content, pattern, enforce, it.importance, it.updated_at, it.scope)
            table.add(rule, read_trigger(pattern))

    def matching(self, call: ToolCall) -> list[Rule]:
        """Return the rules that fit a call, and those that a person enforced and that could fit what is not read of it:
        refusals first, of these the ones that fit, then what matters most, then the newest."""
        enforced, missed = self._enforced.fitting(call)
        found = {each.rule.key: each.rule for each in (*enforced, *self._told.fitting(call)[0])}
        for rule in self._enforced.concerned(call, missed | call.unread):
            found.setdefault(rule.key, msgspec.structs.replace(rule, unread=True))
        newest_first = sorted(found.values(), key=lambda rule: rule.updated_at, reverse=True)
        return sorted(newest_first, key=lambda rule: (_FIRST[rule.enforce], rule.unread, -rule.importance))


class _Table:
    """Triggers by what a call must have to fit them: a program, a directory, a word, a tool."""

    def __init__(self) -> None:
        self._of_programs: dict[str, list[_Compiled]] = {}
        self._of_segments: dict[str, list[_Compiled]] = {}
        self._of_words: dict[str, list[_Compiled]] = {}
        self._of_tools: dict[str, list[_Compiled]] = {}

    def add(self, rule: Rule, trigger: Trigger) -> None:
        """Compile the trigger of a rule."""
        parts: tuple[str, ...] = ()
        match trigger.kind:
            case "command":
                program = trigger.pattern.partition(" ")[0]
                place, key = self._of_programs, program
            case "path":
                parts = path_pattern(trigger.pattern)
                place, key = self._of_segments, _longest(each for each in parts if "*" not in each)
            case "words":
                parts = words_in(trigger.pattern)
                place, key = self._of_words, _longest(each for each in parts if each.isascii())
            case "tool":
                begins = "" if trigger.tool in tool_names().families else trigger.tool.partition("*")[0]
                self._of_tools.setdefault(trigger.tool, []).append(_Compiled(rule, trigger, (begins,)))
                return
        place.setdefault("" if "*" in key else key, []).append(_Compiled(rule, trigger, parts))

    def fitting(self, call: ToolCall) -> tuple[list[_Compiled], frozenset[Kind]]:
        """Return what fits a call, and the kinds of triggers that could not all be compared within MAX_WORK."""
        found = list(self._by_tool(call))
        missed: set[Kind] = set()
        ways: tuple[tuple[Kind, Iterator[_Compiled | None]], ...] = (
            ("command", self._by_program(call)), ("path", self._by_path(call)), ("words", self._by_words(call)),
        )  # fmt: skip
        for kind, fitting in ways:
            for each in fitting:
                if each is None:
                    missed.add(kind)
                else:
                    found.append(each)
        return found, frozenset(missed)

    def concerned(self, call: ToolCall, kinds: frozenset[Kind]) -> Iterator[Rule]:
        """Yield the rules of these kinds that are about the tool of a call, or all if the name of its tool is not
        read."""
        if not kinds:
            return
        for place in (self._of_tools, self._of_programs, self._of_segments, self._of_words):
            for compiled in place.values():
                for each in compiled:
                    is_its = each.trigger.kind in kinds and any(
                        has_tool(each.trigger, name) for name in (call.tool, call.editor)
                    )
                    if is_its or "tool" in kinds:
                        yield each.rule

    def _by_tool(self, call: ToolCall) -> Iterator[_Compiled]:
        for name in dict.fromkeys((call.tool, call.editor)):
            for compiled in self._of_tools.values():
                if name.startswith(compiled[0].parts) and has_tool(compiled[0].trigger, name):
                    yield from compiled

    def _by_program(self, call: ToolCall) -> Iterator[_Compiled | None]:
        """Yield what fits; None, and no more, when MAX_WORK is done."""
        if not self._of_programs:
            return
        left = MAX_WORK
        for command in call.commands:
            work = _COMMAND * (1 + len(command) // _CHARACTERS)
            for key in ("", command.partition(" ")[0]):
                for each in self._of_programs.get(key, ()):
                    if (left := left - work) < 0:
                        yield None
                        return
                    if has_tool(each.trigger, call.tool) and fits_command(each.trigger.pattern, command):
                        yield each

    def _by_path(self, call: ToolCall) -> Iterator[_Compiled | None]:
        if not self._of_segments:
            return
        left = MAX_WORK
        for path in call.paths:
            for key in ("", *dict.fromkeys(path)):
                for each in self._of_segments.get(key, ()):
                    if (left := left - len(path) * each.parts.count("**")) < 0:
                        yield None
                        return
                    if has_tool(each.trigger, call.editor) and fits_path(each.parts, path):
                        yield each

    def _by_words(self, call: ToolCall) -> Iterator[_Compiled | None]:
        if not self._of_words:
            return
        text, left = call.text, MAX_WORK
        words = call.words()
        for key in ("", *words):
            work = 1 if key else 1 + len(text) // _CHARACTERS  # words of scripts without spaces are searched for
            for each in self._of_words.get(key, ()):
                if (left := left - work) < 0:
                    yield None
                    return
                if has_tool(each.trigger, call.tool) and has_words(each.parts, words, text):
                    yield each


def _newest(memories: Sequence[Insight]) -> Iterator[tuple[Insight, str, Enforcement]]:
    """Yield the triggers that are on: those that a person enforced, then those of the newest memories."""
    rules = [(it, each) for it in reversed(memories) if has_rule(it) for each in it.when if each.state == "on"]
    for it, each in sorted(rules, key=lambda rule: _FIRST[rule[1].enforce]):
        yield it, each.pattern, each.enforce


def _longest(parts: Iterable[str]) -> str:
    return max(parts, key=len, default="")


def belongs(rule: Rule, project: str | None) -> bool:
    """Return True for a rule of this project, or of none; None is every project."""
    its = rule.scope.project
    return project is None or its is None or is_same_project(its, project)
