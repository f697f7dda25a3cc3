"""Rules: memories with triggers, that say to which calls of tools they belong (docs/decisions/0044)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Final

import msgspec

from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.memory.history import Find, active_row
from mnemond.memory.write import WriteContext
from mnemond.model.changes import ChangeSet, PutInsight
from mnemond.model.memory import MAX_TRIGGERS, Enforcement, Insight, Scope, Trigger, TriggerState, is_same_project
from mnemond.model.outcomes import RuleResult
from mnemond.store.meta import RULES_OFF_KEY, are_rules_off
from mnemond.store.operations import Proposal, View
from mnemond.text.triggers import (
    Kind,
    ToolCall,
    fits_command,
    fits_path,
    has_tool,
    has_words,
    normal_trigger,
    path_pattern,
    read_trigger,
    tool_names,
    words_in,
)
from mnemond.text.triggers import Trigger as CallPattern

# Lists of triggers.


def given_triggers(
    texts: Iterable[str], enforce: Enforcement = "tell", state: TriggerState = "on"
) -> tuple[Trigger, ...]:
    """Return valid texts as triggers, each once."""
    return tuple(Trigger(each, enforce, state) for each in dict.fromkeys(map(normal_trigger, texts)))


def joined_triggers(first: Sequence[Trigger], more: Iterable[Trigger]) -> tuple[Trigger, ...]:
    """Return `first` and those of `more` with another pattern, at most `MAX_TRIGGERS`, those that are enforced in any
    case; one that was proposed is on when it is given."""
    found = {each.pattern: each for each in first}
    for each in more:
        known = found.setdefault(each.pattern, each)
        state = "on" if known.state == "proposed" and each.state == "on" else known.state
        enforce = each.enforce if known.enforce == "tell" else known.enforce
        found[each.pattern] = Trigger(each.pattern, enforce, state)
    if len(found) > MAX_TRIGGERS:
        return tuple(sorted(found.values(), key=lambda each: each.enforce == "tell")[:MAX_TRIGGERS])
    return tuple(found.values())


def revised_triggers(old: Sequence[Trigger], texts: Iterable[str]) -> tuple[Trigger, ...]:
    """Return the triggers of a memory whose triggers are given anew: those it had keep what a person set, and those
    that a person enforced stay, given or not."""
    known = {each.pattern: each for each in old}
    enforced = [each for each in old if each.enforce != "tell"]
    given = [known.get(each.pattern, each) for each in given_triggers(texts)]
    return joined_triggers(enforced, (msgspec.structs.replace(each, state=_given(each.state)) for each in given))


def _given(state: TriggerState) -> TriggerState:
    return "on" if state == "proposed" else state


# What a person sets.


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """A memory whose triggers get another state, another enforcement, or both."""

    id: str
    state: TriggerState | None = None
    enforce: Enforcement | None = None
    scope: Scope = Scope()


def propose_setting(setting: Setting, identity: WriteContext, find: Find) -> Proposal:
    """Propose to set the triggers of one memory. Refused for a memory without any."""
    return identity.proposal("rules.set", partial(_decide, setting, identity, find))


def _decide(setting: Setting, identity: WriteContext, find: Find, view: View) -> ChangeSet:
    old = active_row(view, find, setting.id, setting.scope).insight
    if not old.when:
        raise MnemonError(
            INVALID_PARAMS,
            f"memory {old.id} has no trigger, so it is no rule",
            hint=f"mnemonctl update {old.id[:8]} --when 'Bash:git push*'",
            outcome="rejected",
        )
    new = msgspec.structs.replace(old, when=tuple(_set(each, setting) for each in old.when))
    changed = new.when != old.when
    if changed:
        new = msgspec.structs.replace(new, updated_at=identity.now)
    return identity.change_set(
        method="rules.set",
        changes=(PutInsight(new),) if changed else (),
        outcome=RuleResult(id=old.id, when=new.when, changed=changed, op_id=identity.op_id, replayed=False),
        operation="rule" if changed else "",
        detail=" ".join(str(each) for each in (setting.state, setting.enforce) if each),
        subject=old.id,
    )


def _set(trigger: Trigger, setting: Setting) -> Trigger:
    return msgspec.structs.replace(
        trigger, state=setting.state or trigger.state, enforce=setting.enforce or trigger.enforce
    )


def propose_switch(identity: WriteContext, *, on: bool) -> Proposal:
    """Propose to switch all rules of a store on or off; the switch of each rule stays."""
    return identity.proposal("rules.set", partial(_decide_switch, identity, on=on))


def _decide_switch(identity: WriteContext, view: View, *, on: bool) -> ChangeSet:
    changed = are_rules_off(view.connection) == on
    change_set = identity.change_set(
        method="rules.set",
        changes=(),
        outcome=RuleResult(id=None, when=(), changed=changed, on=on, op_id=identity.op_id, replayed=False),
        operation="rules-on" if on else "rules-off",
    )
    return msgspec.structs.replace(change_set, facts=((RULES_OFF_KEY, "0" if on else "1"),))


def has_rule(it: Insight) -> bool:
    """Return True if a memory is a rule that may be applied: not of unknown origin, with a trigger that is on."""
    return not it.quarantined and any(each.state == "on" for each in it.when)


# ---------------------------------------------------------------- compiled rules
#
# The rules of a store, compiled so that a call of a tool is compared with few of them.


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
    trigger: CallPattern
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

    def add(self, rule: Rule, trigger: CallPattern) -> None:
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
