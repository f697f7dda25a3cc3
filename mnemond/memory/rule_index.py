"""The rules of a store, compiled so that a call of a tool is compared with few of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from mnemond.memory.rules import has_rule
from mnemond.model.memory import Enforcement, Insight, Scope, is_same_project
from mnemond.text.triggers import (
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
rules an agent was led to store. Those that a person enforced are compared first."""

_COMMAND: Final = 4
"""Work of a pattern and a command: some have eight stars."""

_CHARACTERS: Final = 1_024
"""Characters of a command or a text in which one star, or one word, is as much work as a short comparison."""

_FIRST: Final[dict[Enforcement, int]] = {"deny": 0, "ask": 1, "tell": 2}


class Rule(msgspec.Struct, frozen=True):
    """One trigger of one memory that a call fitted."""

    id: str
    text: str
    pattern: str
    enforce: Enforcement
    importance: int
    updated_at: str
    scope: Scope

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
    """Triggers by what a call must have to fit them: a program, a directory, a word, a tool."""

    def __init__(self, memories: Sequence[Insight]) -> None:
        self._of_programs: dict[str, list[_Compiled]] = {}
        self._of_segments: dict[str, list[_Compiled]] = {}
        self._of_words: dict[str, list[_Compiled]] = {}
        self._of_tools: dict[str, list[_Compiled]] = {}
        for number, (it, pattern, enforce) in enumerate(_newest(memories)):
            if number == MAX_RULES:
                break
            self._add(it, pattern, enforce)

    def _add(self, it: Insight, pattern: str, enforce: Enforcement) -> None:
        trigger = read_trigger(pattern)
        parts: tuple[str, ...] = ()
        rule = Rule(it.id, it.content, pattern, enforce, it.importance, it.updated_at, it.scope)
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

    def matching(self, call: ToolCall) -> list[Rule]:
        """Return the rules that fit a call, refusals first, then what matters most, then the newest."""
        found = {each.rule.key: each.rule for each in self._fitting(call)}
        newest_first = sorted(found.values(), key=lambda rule: rule.updated_at, reverse=True)
        return sorted(newest_first, key=lambda rule: (_FIRST[rule.enforce], -rule.importance))

    def _fitting(self, call: ToolCall) -> Iterator[_Compiled]:
        for name in dict.fromkeys((call.tool, call.editor)):
            for compiled in self._of_tools.values():
                if name.startswith(compiled[0].parts) and has_tool(compiled[0].trigger, name):
                    yield from compiled
        left = MAX_WORK
        for command in call.commands:
            work = _COMMAND * (1 + len(command) // _CHARACTERS)
            for key in ("", command.partition(" ")[0]):
                for each in self._of_programs.get(key, ()):
                    if (left := left - work) < 0:
                        return
                    if has_tool(each.trigger, call.tool) and fits_command(each.trigger.pattern, command):
                        yield each
        if self._of_segments:
            yield from self._of_paths(call)
        if self._of_words:
            yield from self._by_words(call)

    def _of_paths(self, call: ToolCall) -> Iterator[_Compiled]:
        left = MAX_WORK
        for path in call.paths:
            for key in ("", *dict.fromkeys(path)):
                for each in self._of_segments.get(key, ()):
                    if (left := left - len(path) * each.parts.count("**")) < 0:
                        return
                    if has_tool(each.trigger, call.editor) and fits_path(each.parts, path):
                        yield each

    def _by_words(self, call: ToolCall) -> Iterator[_Compiled]:
        text, left = call.text, MAX_WORK
        words = call.words()
        for key in ("", *words):
            work = 1 if key else 1 + len(text) // _CHARACTERS  # words of scripts without spaces are searched for
            for each in self._of_words.get(key, ()):
                if (left := left - work) < 0:
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
