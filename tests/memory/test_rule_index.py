"""The compiled rules of a store: which of them fit a call, in what order, and how long that takes at most."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from mnemond.memory.rule_index import MAX_RULES, RuleIndex, belongs
from mnemond.memory.rules import joined_triggers, revised_triggers
from mnemond.model.memory import Enforcement, Insight, Scope, Trigger, TriggerState
from mnemond.text.triggers import tool_call

AT = "2026-01-01T00:00:00.000000Z"


def rule(
    pattern: str, number: int = 0, enforce: Enforcement = "tell", state: TriggerState = "on", **more: object
) -> Insight:
    made = Insight(f"id-{number}", f"Rule {number}", AT, AT, when=(Trigger(pattern, enforce, state),))
    for name, value in more.items():
        made = type(made)(**{**{each: getattr(made, each) for each in made.__struct_fields__}, name: value})
    return made


PUSH = tool_call("Bash", "cd x && git push origin", (), "cd x && git push origin")
EDIT = tool_call("replace", "", ("/a/migrations/1.sql",), "drop the table")


@pytest.mark.parametrize(
    ("pattern", "push", "edit"),
    [
        ("Bash:git push*", True, False),
        ("Bash:*push*", True, False),
        ("Edit:migrations/**", False, True),
        ("Edit:*.sql", False, True),
        ("Write:migrations/**", False, False),
        ("Bash", True, False),
        ("Edit", False, True),
        ("rep*", False, True),
        ("words:drop table", False, True),
        ("words:drop 表", False, False),
        ("replace:*.sql", False, True),
    ],
)
def test_which_calls_it_fits(pattern: str, push: bool, edit: bool) -> None:
    index = RuleIndex([rule(pattern)])
    assert [bool(index.matching(call)) for call in (PUSH, EDIT)] == [push, edit]


def test_words_of_scripts_without_spaces() -> None:
    call = tool_call("Write", "", (), "请删除这个表格")
    assert RuleIndex([rule("words:删除 表格")]).matching(call)


def test_refusals_come_first_then_importance_then_the_newest() -> None:
    rules = [
        rule("Bash:git push*", 1), rule("Bash:git*", 2, importance=5), rule("Bash", 3, "deny"),
        rule("Bash:git push*", 4, updated_at="2026-02-01T00:00:00.000000Z"),
    ]  # fmt: skip
    assert [each.id for each in RuleIndex(rules).matching(PUSH)] == ["id-3", "id-2", "id-4", "id-1"]


@pytest.mark.parametrize("state", ["off", "proposed"])
def test_a_rule_that_is_not_on_fits_nothing(state: TriggerState) -> None:
    assert RuleIndex([rule("Bash", state=state)]).matching(PUSH) == []
    assert RuleIndex([rule("Bash", quarantined=True)]).matching(PUSH) == []


def test_a_rule_belongs_to_its_project() -> None:
    (found,) = RuleIndex([rule("Bash", scope=Scope(project="apollo|1"))]).matching(PUSH)
    assert [belongs(found, each) for each in (None, "apollo|1", "other|2", "")] == [True, True, False, False]
    (found,) = RuleIndex([rule("Bash")]).matching(PUSH)
    assert belongs(found, "other")


def test_what_a_person_enforced_stays_when_triggers_are_given_anew() -> None:
    old = (Trigger("Bash:a", "deny"), Trigger("Bash:b"), Trigger("Bash:c", state="off"))
    assert revised_triggers(old, ["Bash:c", "Bash:d"]) == (
        Trigger("Bash:a", "deny"), Trigger("Bash:c", state="off"), Trigger("Bash:d"),
    )  # fmt: skip
    assert joined_triggers([Trigger("Bash:a", state="proposed")], [Trigger("Bash:a")]) == (Trigger("Bash:a"),)
    assert joined_triggers([Trigger("Bash:a")], [Trigger("Bash:a", "ask")]) == (Trigger("Bash:a", "ask"),)


HOSTILE: list[Callable[[int], str]] = [
    lambda number: f"Bash:*a*b*c*d*{number}*e*f",
    lambda _: "Bash:*a*b*c*d*e*f*g*",
    lambda _: "Edit:a/**/a/**/a/**/a/**/b",
    lambda number: f"words:the a{number}",
    lambda number: f"mcp__{number}__*",
]


@pytest.mark.parametrize("pattern", HOSTILE)
def test_hostile_rules_and_calls_are_bounded(pattern: Callable[[int], str]) -> None:
    index = RuleIndex([rule(pattern(number), number) for number in range(MAX_RULES + 1)])
    line = "echo " + "abcdef;" * 2_000
    begun = time.process_time()
    for call in (tool_call("Bash", line, (), line), tool_call("Edit", "", ["a/" * 64] * 50, "the " * 4_000)):
        index.matching(call)
    assert time.process_time() - begun < 0.5
