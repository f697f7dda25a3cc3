"""`mnemonctl rules list`, `rules off`, `rules on` and `rules enforce`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mnemond.api import types_rules
from mnemond.api.types_rules import RulesListResult, RuleView
from mnemond.cli.output import Style, lines, note, one_line, repeated, row, short_id, undo_hint
from mnemond.cli.parser import Arguments, Command, Group, Request, UsageError, Words
from mnemond.model.memory import project_parts
from mnemond.model.outcomes import RuleResult
from mnemond.wire.params import ScopedWriteParams

_EFFECT: Final = {"tell": "tells", "ask": "asks", "deny": "denies"}


def _effect(enforce: str) -> str:
    return _EFFECT.get(enforce) or one_line(enforce)


def _list(result: RulesListResult, style: Style) -> str:
    if style.quiet:
        return lines(*dict.fromkeys(one_line(each.id) for each in result.rules))
    if not result.rules:
        return lines("no rules: mnemonctl remember \"Run the tests first\" --when 'Bash:git push*'")
    return lines(
        None if result.on else "All rules are off: mnemonctl rules on",
        *(line for each in result.rules for line in _rule(each, style)),
    )


def _rule(rule: RuleView, style: Style) -> list[str]:
    state = "" if rule.state == "on" else f", {one_line(rule.state)}"
    project = "" if rule.project is None else f" in {one_line(project_parts(rule.project)[0])}"
    counts = f"matched {rule.matched}, shown {rule.shown}, followed {rule.followed}"
    return [
        row(f"{style.strong(short_id(rule.id))}  ", one_line(rule.content), style),
        note(f"{one_line(rule.pattern)} ({_effect(rule.enforce)}{state}){project}: {counts}", style),
    ]


LIST = Command(
    "rules list",
    Group.LOOK,
    ("mnemonctl rules list",),
    method=types_rules.RULES_LIST,
    details=(
        "A rule is a memory with a trigger: a call of a tool before which the agent is told it, once a session.",
        "A call that would change something is held back once, with the rule as the reason; made again, it passes.",
        "A proposed rule was read out of a session: `rules on ID` applies it.",
    ),
    render=_list,
)


def _set(result: RuleResult, style: Style) -> str:
    if result.id is None:
        state = "on, but for those that are off one by one" if result.on else "off: mnemonctl rules on"
        return lines(f"All rules are {state}" if result.changed else "All rules were like that already")
    if style.quiet:
        return lines(one_line(result.id))
    shown = style.strong(short_id(result.id))
    if not result.changed:
        return lines(f"{shown} is like that already; nothing was written{repeated(result)}")
    what = "; ".join(
        f"{one_line(each.pattern)} {_effect(each.enforce)}, {one_line(each.state)}" for each in result.when
    )
    return lines(f"Rule {shown}: {what}{repeated(result)}", undo_hint(result.op_id, style))


def _switch(state: str) -> Callable[[Arguments], Request]:
    def request(arguments: Arguments) -> Request:
        one = {"id": arguments.identifiers(1)[0]} if arguments.words else {}
        return Request(types_rules.RULES_SET.name, {**arguments.options, **one, "state": state})

    return request


_ID: Final = Words("[ID]", completes="memory")

OFF = Command(
    "rules off",
    Group.CHANGE,
    ("mnemonctl rules off", "mnemonctl rules off 1a2b3c4d"),
    summary="Switch all rules off, or one.",
    words=_ID,
    options=ScopedWriteParams,
    request=_switch("off"),
    render=_set,
)

ON = Command(
    "rules on",
    Group.CHANGE,
    ("mnemonctl rules on", "mnemonctl rules on 1a2b3c4d"),
    summary="Switch rules on again, or apply a proposed one.",
    words=_ID,
    options=ScopedWriteParams,
    request=_switch("on"),
    render=_set,
)


def _enforce_request(arguments: Arguments) -> Request:
    if len(arguments.words) != 2 or arguments.words[1] not in _EFFECT:
        raise UsageError("rules enforce needs a rule and tell, ask or deny", "mnemonctl rules enforce 1a2b3c4d deny")
    insight_id, enforce = arguments.words
    return Request(types_rules.RULES_SET.name, {**arguments.options, "id": insight_id, "enforce": enforce})


ENFORCE = Command(
    "rules enforce",
    Group.CHANGE,
    ("mnemonctl rules enforce 1a2b3c4d ask", "mnemonctl rules enforce 1a2b3c4d deny"),
    summary="Let calls of a rule wait for your consent, or refuse them.",
    words=Words("ID tell|ask|deny", completes="memory"),
    details=("Taken from a person at a terminal only, never from an agent.",),
    options=ScopedWriteParams,
    request=_enforce_request,
    render=_set,
)
