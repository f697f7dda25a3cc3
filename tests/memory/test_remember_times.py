"""What was said earlier, or does not hold yet, takes no memory's place; what does not hold now is not known already."""

from __future__ import annotations

from mnemond.model.memory import Scope, contradicted, format_us
from tests.memory.memories import NOW_US, Memories, name
from tests.tables import each_row

OLD, NEW = "The rate limit of the gateway is 200", "The rate limit of the gateway is 300"
YEAR_US = 365 * 86_400_000_000
PAST, FUTURE = format_us(NOW_US - YEAR_US), format_us(NOW_US + YEAR_US)


def test_what_was_said_before_does_not_replace_what_was_said_later() -> None:
    over = Memories()
    over.remember(OLD)
    decided = over.decided(NEW, created_at=PAST)
    assert (decided.outcome.action, list(decided.retired)) == ("added", [])
    assert decided.outcome.reason.endswith("; but it was said later, so both stay")
    assert [each.id for each in decided.outcome.conflicts] == [name(1)]


def test_what_does_not_hold_yet_replaces_nothing() -> None:
    over = Memories()
    over.remember(OLD)
    decided = over.decided(NEW, created_at=FUTURE)
    assert (decided.outcome.action, list(decided.retired)) == ("added", [])
    assert decided.outcome.reason.endswith("; but the new text does not hold yet, so both stay")


@each_row(
    ("values", "reason"),
    [
        ({"valid_from": FUTURE}, "it does not hold yet"),
        ({"invalid_at": PAST}, "it does not hold any more"),
        ({"expires_at": PAST, "invalid_at": FUTURE}, "it does not hold any more"),
    ],
)
@each_row("text", [OLD, NEW])
def test_what_does_not_hold_now_is_neither_known_nor_replaced(values: dict[str, str], reason: str, text: str) -> None:
    over = Memories()
    over.remember(OLD)
    over.change(1, **values)
    decided = over.decided(text)
    assert (decided.outcome.action, list(decided.retired)) == ("added", [])
    assert decided.outcome.reason.endswith(f"; but {reason}, so both stay")


@each_row("ends", [{"invalid_at": PAST}, {"expires_at": PAST}])
@each_row(
    ("old", "text"),
    [
        (OLD, OLD),
        (OLD, NEW),
        (OLD, "The rate limit of the gateway is not 200"),
        ("The office is in Berlin", "The office is in Munich"),
    ],
)
def test_what_does_not_hold_any_more_contradicts_nothing(ends: dict[str, str], old: str, text: str) -> None:
    over = Memories()
    over.remember(old)
    over.change(1, **ends)
    decided = over.decided(text)
    assert (contradicted(decided.added), decided.outcome.conflicts) == ((), [])
    assert not [edge for edge in decided.edges("semantic") if "contradicts" in edge.metadata]


def test_what_is_planned_contradicts_another_value_but_not_the_same() -> None:
    over = Memories()
    over.remember(OLD)
    over.change(1, valid_from=FUTURE)
    again, other = over.decided(OLD), over.decided(NEW)
    assert (contradicted(again.added), again.outcome.conflicts) == ((), [])
    assert (contradicted(other.added), [each.id for each in other.outcome.conflicts]) == ((name(1),), [name(1)])


def test_a_contradicted_memory_that_may_not_be_replaced_is_noted() -> None:
    over = Memories()
    over.remember(OLD)
    over.change(1, pinned=True)
    pinned = over.decided(NEW)
    assert (pinned.outcome.action, contradicted(pinned.added)) == ("added", (name(1),))
    over.change(1, pinned=False)
    assert contradicted(over.decided(NEW, scope=Scope("u1")).added) == (name(1),)
    assert contradicted(over.decided(NEW, created_at=FUTURE).added) == (name(1),)
    assert contradicted(over.decided(NEW, created_at=PAST).added) == (name(1),)


def test_what_is_said_again_of_the_past_is_known() -> None:
    over = Memories()
    over.remember(OLD)
    assert over.decided(OLD, created_at=PAST).outcome.action == "skipped"
