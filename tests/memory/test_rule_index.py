"""The compiled rules of a store: which of them fit a call, in what order, and how long that takes at most."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mnemond.memory.rules import MAX_RULES, RuleIndex, belongs, joined_triggers, revised_triggers
from mnemond.model.memory import Enforcement, Insight, Scope, Trigger, TriggerState
from mnemond.text.triggers import ToolCall, tool_call
from tests.tables import each_row
from tests.timing import cpu_s

AT = "2026-01-01T00:00:00.000000Z"


def rule(
    pattern: str, number: int = 0, enforce: Enforcement = "tell", state: TriggerState = "on", **more: object
) -> Insight:
    made = Insight(f"id-{number}", AT, AT, content=f"Rule {number}", when=(Trigger(pattern, enforce, state),))
    for name, value in more.items():
        made = type(made)(**{**{each: getattr(made, each) for each in made.__struct_fields__}, name: value})
    return made


PUSH = tool_call("Bash", "cd x && git push origin", (), "cd x && git push origin")
EDIT = tool_call("replace", "", ("/a/migrations/1.sql",), "drop the table")


@each_row(
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


def test_rules_that_are_told_take_nothing_from_those_that_are_enforced() -> None:
    line = "\n".join(f"step {number}" for number in range(500)) + "\nquux now"
    told = [rule(f"Bash:*a*b*c*d*{number}*e*f", number) for number in range(4_000)]
    (found,) = RuleIndex([*told, rule("Bash:*quux*", 9_999, "deny")]).matching(tool_call("Bash", line, (), line))
    assert (found.id, found.unread) == ("id-9999", False)


UNREAD = tool_call("Bash", ":\n" * 30_000, (), "", unread=frozenset({"path", "words"}))


@each_row(
    ("pattern", "holds"),
    [
        ("Bash:quux*", True), ("*:quux/**", True), ("words:quux", True), ("Edit:quux*", False), ("Edit", False),
        ("mcp__x:quux", False), ("Read:quux/**", False),
    ],
)  # fmt: skip
def test_what_is_not_read_of_a_call_is_held_by_what_a_person_enforced(pattern: str, holds: bool) -> None:
    found = RuleIndex([rule(pattern, 1, "deny"), rule(pattern, 2)]).matching(UNREAD)
    assert [(each.id, each.unread) for each in found] == ([("id-1", True)] if holds else [])


def test_one_that_fits_comes_before_one_that_may() -> None:
    rules = [rule("words:quux", 1, "deny", importance=5), rule("Bash", 2, "deny")]
    assert [each.id for each in RuleIndex(rules).matching(UNREAD)] == ["id-2", "id-1"]


def test_without_the_name_of_the_tool_all_that_is_enforced_holds() -> None:
    call = tool_call("", "", (), "", unread=frozenset({"tool"}))
    rules = [rule("Bash:quux*", 1, "deny"), rule("Edit:x/**", 2, "ask"), rule("mcp__a", 3, "deny"), rule("Bash", 4)]
    assert [each.id for each in RuleIndex(rules).matching(call)] == ["id-3", "id-1", "id-2"]


def test_enforced_rules_that_cannot_all_be_compared_hold() -> None:
    rules = [rule(f"Bash:*a*{number}", number, "deny") for number in range(900)]
    line = "\n".join(f"step{number}" for number in range(900))
    assert len(RuleIndex(rules).matching(tool_call("Bash", line, (), line))) == 900
    assert RuleIndex(rules).matching(PUSH) == []


@each_row(
    "call",
    [
        tool_call("Edit", "", ["a"] * 51, ""),
        tool_call("Edit", "", ["a/" * 70 + "b"], ""),
        tool_call("Bash", "apply_patch <<E\n*** Begin Patch\n*** Add File: a\n", (), "", unread=frozenset({"command"})),
        tool_call("apply_patch", "", (), "x", unread=frozenset({"words"})),
    ],
)
def test_files_that_are_not_read_are_held(call: ToolCall) -> None:
    assert RuleIndex([rule("Edit:migrations/**", 1, "deny")]).matching(call)[0].unread


HOSTILE: list[Callable[[int], str]] = [
    lambda number: f"Bash:*a*b*c*d*{number}*e*f",
    lambda _: "Bash:*a*b*c*d*e*f*g*",
    lambda _: "Edit:a/**/a/**/a/**/a/**/b",
    lambda number: f"words:the a{number}",
    lambda number: f"mcp__{number}__*",
]


@each_row("pattern", HOSTILE)
def test_hostile_rules_and_calls_are_bounded(pattern: Callable[[int], str]) -> None:
    index = RuleIndex([rule(pattern(number), number) for number in range(MAX_RULES + 1)])
    line = "echo " + "abcdef;" * 2_000
    for call in (tool_call("Bash", line, (), line), tool_call("Edit", "", ["a/" * 64] * 50, "the " * 4_000)):
        assert cpu_s(lambda call=call: index.matching(call)) < 1.0  # type: ignore[misc]
