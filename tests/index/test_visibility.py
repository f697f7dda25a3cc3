"""What a reader may see: every rule of a filter by example, and the columns against one memory at a time."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mnemond.index.filters import during
from mnemond.index.snapshot import Snapshot
from mnemond.index.writer import MemoryIndex
from mnemond.model.changes import AddInsight
from mnemond.model.memory import STATUSES, Insight, Scope, format_us
from mnemond.model.query import AllOf, AnyOf, Compare, Condition, Filter, NoneOf, Span
from mnemond.recall.archive import admits
from tests.examples import examples
from tests.index.worlds import DIMENSION, built, insight
from tests.tables import each_row


def seen(wanted: Filter, *insights: Insight) -> str:
    """Ids of the rows that are seen, in order; the same however the rows came in, and for one of them at a time."""
    snapshot = built(*insights).snapshot
    found = "".join(_ids(snapshot, wanted))
    assert found == "".join(_ids(_appended(*insights), wanted))
    assert found == "".join(it.id for it in insights if admits(wanted, it))
    return found


def _ids(snapshot: Snapshot, wanted: Filter) -> list[str]:
    mask = snapshot.visible(wanted)
    rows = range(snapshot.rows) if mask is None else np.flatnonzero(mask).tolist()
    return [snapshot.insight(row).id for row in rows]


def _appended(*insights: Insight) -> Snapshot:
    index = MemoryIndex(DIMENSION)
    for each in insights:
        index.stage([AddInsight(each)])
    return index.publish()


T = [format_us(second * 1_000_000) for second in range(10)]


def at(second: float) -> int:
    return round(second * 1_000_000)


@each_row(
    ("field", "value", "fields", "found"),
    [
        ("category", "fact", [{"category": "fact"}, {}], "a"),
        ("source", "bob", [{"source": "bob"}, {}], "a"),
        ("channel", "hook", [{"channel": "hook"}, {}], "a"),
        ("channel", "mcp", [{"channel": "hook"}, {}], ""),
        ("stated_intent", "preference", [{"intent": "preference"}, {"intent": "event"}, {}], "a"),
        ("min_importance", 4, [{"importance": 3}, {"importance": 4}, {"importance": 5}], "bc"),
        ("tags_all", ("Infra", "db"), [{"tags": ("infra", "DB")}, {"tags": ("infra",)}, {}], "a"),
        ("tags_any", ("INFRA", "db"), [{"tags": ("infra", "x")}, {"tags": ("db",)}, {"tags": ("dbs",)}], "ab"),
        ("tags_any", ("nobody",), [{"tags": ("infra",)}], ""),
        ("entity", "k8s", [{"entities": ("Kubernetes",)}, {"entities": ("K8S", "x")}, {"entities": ("Redis",)}], "ab"),
        ("entity", "nothing", [{"entities": ("Redis",)}], ""),
        ("created", Span(at(1), at(2)), [{}, {}, {}], "b"),
        ("created", Span(since_us=at(1)), [{}, {}, {}], "bc"),
        ("created", Span(until_us=at(1)), [{}, {}, {}], "a"),
        ("status", "active", [{}, {"status": "superseded"}], "a"),
        ("status", "superseded", [{}, {"status": "superseded"}, {"status": "forgotten"}], "b"),
        ("status", "forgotten", [{}, {"status": "superseded"}, {"status": "forgotten"}], "c"),
    ],
)
def test_what_a_row_must_be(field: str, value: Any, fields: list[dict[str, Any]], found: str) -> None:
    rows = [
        insight(name, at=at(second), **each) for second, (name, each) in enumerate(zip("abc", fields, strict=False))
    ]
    assert seen(Filter(**{field: value}), *rows) == found


@each_row(
    ("window", "found"),
    [
        (Span(at(1), at(2)), "a"),
        (Span(at(3), at(4)), "ab"),
        (Span(at(3.5), at(4)), "a"),
        (Span(at(5), at(9)), ""),
        (Span(since_us=at(4)), "ac"),
        (Span(until_us=at(3)), "a"),
        (Span(until_us=at(1)), ""),
        (Span(), "abc"),
    ],
)
def test_an_event_overlaps_its_window(window: Span, found: str) -> None:
    rows = [
        insight("a", event_start=T[1], event_end=T[4]),
        insight("b", event_start=T[3]),
        insight("c", event_end=T[9]),
        insight("d", at=at(3)),
    ]
    assert seen(Filter(event=window), *rows) == found


def test_a_window_is_met_by_the_event_or_by_the_time_a_memory_was_made() -> None:
    rows = [
        insight("a", at=at(5)),
        insight("b", at=at(9), event_start=T[5], event_end=T[5]),
        insight("c", at=at(5), event_start=T[1], event_end=T[1]),
        insight("d", at=at(9)),
        insight("e", at=at(1), event_start=T[8], event_end=T[9]),
    ]
    assert seen(Filter(window=Span(at(5), at(6))), *rows) == "abc"
    snapshot = built(*rows).snapshot
    assert during(snapshot.parts, Span(at(5), at(6))).tolist() == [True, True, True, False, False]


@each_row(
    ("wanted", "found"),
    [
        (Filter(), "abcdef"),
        (Filter(now_us=at(0)), "ade"),
        (Filter(now_us=at(2)), "abcde"),
        (Filter(now_us=at(3)), "abce"),
        (Filter(now_us=at(4)), "abc"),
        (Filter(now_us=at(6)), "abcf"),
        (Filter(now_us=at(0), clock_us=at(6)), "abdef"),
        (Filter(now_us=at(6), clock_us=at(0)), "abcf"),
        (Filter(as_of_us=at(0)), "ade"),
        (Filter(as_of_us=at(2)), "abcde"),
        (Filter(as_of_us=at(9)), "abcf"),
        (Filter(as_of_us=at(2), include_invalid=True), "abcde"),
        (Filter(as_of_us=at(9), include_invalid=True), "abcdef"),
        (Filter(now_us=at(9), include_invalid=True), "abcdef"),
        (Filter(now_us=at(9), status="active"), "abcf"),
        (Filter(known_at_us=at(5)), "abcde"),
        (Filter(known_at_us=at(6)), "abcdef"),
        (Filter(known_at_us=at(0), as_of_us=at(9)), "ac"),
        (Filter(known_at_us=at(6), as_of_us=at(3)), "abce"),
        (Filter(known_at_us=at(5), as_of_us=at(1)), "abde"),
    ],
)
def test_what_is_valid(wanted: Filter, found: str) -> None:
    """a always, b and f from when they were made on, at 1 and at 6, c from 2 on, d until 3, e until 4."""
    rows = [
        insight("a"),
        insight("b", at=at(1)),
        insight("c", valid_from=T[2]),
        insight("d", invalid_at=T[3]),
        insight("e", expires_at=T[4], invalid_at=T[9]),
        insight("f", at=at(6)),
    ]
    assert seen(wanted, *rows) == found


@each_row(
    ("wanted", "found"),
    [
        (Filter(), "a"),
        (Filter(now_us=at(9)), "a"),
        (Filter(as_of_us=at(2)), "abcd"),
        (Filter(as_of_us=at(5)), "ac"),
        (Filter(as_of_us=at(9)), "a"),
        (Filter(include_invalid=True), "abcd"),
        (Filter(status="superseded", now_us=at(9)), "b"),
        (Filter(status="forgotten"), "e"),
        (Filter(status="forgotten", as_of_us=at(2)), "e"),
        (Filter(status="forgotten", as_of_us=at(9)), ""),
        (Filter(known_at_us=at(2)), "abcd"),
        (Filter(known_at_us=at(7)), "abd"),
        (Filter(known_at_us=at(9)), "a"),
        (Filter(known_at_us=at(5), as_of_us=at(5)), "abc"),
        (Filter(known_at_us=at(5), as_of_us=at(2)), "abcd"),
        (Filter(known_at_us=at(5), status="active"), "a"),
    ],
)
def test_what_was_retired_is_seen_by_those_who_ask_for_the_past(wanted: Filter, found: str) -> None:
    """b until it was superseded at 4, c until it was pruned at 7, d until it expired at 3, e was forgotten at 8."""
    rows = [
        insight("a"),
        msgspec.structs.replace(insight("b"), status="superseded", invalid_at=T[4], updated_at=T[8]),
        msgspec.structs.replace(insight("c"), status="pruned", updated_at=T[7]),
        msgspec.structs.replace(insight("d"), status="expired", expires_at=T[3], updated_at=T[8]),
        msgspec.structs.replace(insight("e"), status="forgotten", updated_at=T[8]),
    ]
    assert seen(wanted, *rows) == found


@each_row("wanted", [Filter(), Filter(include_invalid=True), Filter(as_of_us=at(5)), Filter(all_sessions=True)])
def test_quarantine_has_no_way_out(wanted: Filter) -> None:
    assert seen(wanted, insight("a"), insight("b", quarantined=True)) == "a"


@each_row(
    ("scope", "common", "strict"),
    [
        (Scope(), "abd", "abd"),
        (Scope("u1"), "abd", "b"),
        (Scope("u2"), "ad", ""),
        (Scope("u1", "s1"), "abcd", "c"),
        (Scope(session_id="s1"), "abcd", "c"),
        (Scope(session_id="s2"), "abd", ""),
        (Scope(agent_id="a1"), "abd", "d"),
    ],
)
def test_a_strict_scope_admits_its_own_alone(scope: Scope, common: str, strict: str) -> None:
    rows = [
        insight("a"),
        insight("b", scope=Scope("u1")),
        insight("c", scope=Scope("u1", "s1")),
        insight("d", scope=Scope(agent_id="a1")),
    ]
    assert seen(Filter(scope=scope), *rows) == common
    assert seen(Filter(scope=scope, strict_scope=True), *rows) == strict


def test_metadata_that_are_no_object_are_nothing() -> None:
    rows = [insight("a", metadata="[1]"), insight("b", metadata="{"), insight("c", metadata='{"x":1}')]
    assert seen(Filter(metadata=Compare("x", "*")), *rows) == "c"
    assert seen(Filter(metadata=NoneOf((Compare("x", "*"),))), *rows) == "ab"


def test_what_concerns_no_row_costs_nothing() -> None:
    rows = [insight("a", valid_from=T[0]), insight("b", at=at(5), scope=Scope("u1"))]
    snapshot = built(*rows).snapshot
    for wanted in (
        Filter(),
        Filter(now_us=at(5)),
        Filter(now_us=at(2), clock_us=at(5)),
        Filter(as_of_us=at(5)),
        Filter(include_invalid=True),
        Filter(status="active", now_us=at(5)),
    ):
        assert snapshot.visible(wanted) is None
    assert snapshot.visible(Filter(now_us=at(2))) is not None
    assert snapshot.visible(Filter(as_of_us=at(2))) is not None


# ------------------------------------------------------------ any rows, any filter

TIMES = st.one_of(st.none(), st.integers(0, 4).map(lambda second: T[second]))
MOMENTS = st.one_of(st.none(), st.integers(0, 4).map(at))
SCOPES = st.builds(
    Scope,
    user_id=st.sampled_from([None, "u1"]),
    session_id=st.sampled_from([None, None, "s1", "s2"]),
    agent_id=st.sampled_from([None, "a1"]),
)
TAGS = st.lists(st.sampled_from(["x", "X", "y"]), max_size=2, unique=True).map(tuple)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "category": st.sampled_from(["fact", "general"]),
    "source": st.sampled_from(["user", "bob"]),
    "channel": st.sampled_from(["manual", "hook"]),
    "intent": st.sampled_from([None, "event"]),
    "importance": st.integers(1, 5),
    "tags": TAGS,
    "entities": st.lists(st.sampled_from(["Redis", "redis", "Bob"]), max_size=2).map(tuple),
    "scope": SCOPES,
    "status": st.sampled_from(["active", "active", *STATUSES]),
    "updated_at": st.sampled_from(T[:5]),
    "valid_from": TIMES,
    "invalid_at": TIMES,
    "expires_at": TIMES,
    "event_start": TIMES,
    "event_end": TIMES,
    "quarantined": st.sampled_from([False, False, False, True]),
    "metadata": st.sampled_from(["{}", '{"n":1,"s":"ab"}', '{"n":2}']),
}
COMPARISONS = st.builds(
    Compare,
    key=st.sampled_from(["n", "s", "z"]),
    operator=st.sampled_from(["eq", "ne", "gt", "lte", "contains", "*"]),
    value=st.sampled_from([1, 2, "a", None]),
)
CONDITIONS: st.SearchStrategy[Condition] = st.recursive(
    COMPARISONS,
    lambda parts: st.one_of(
        *(st.builds(kind, st.lists(parts, max_size=2).map(tuple)) for kind in (AllOf, AnyOf, NoneOf))
    ),
    max_leaves=4,
)
SPANS = st.one_of(st.none(), st.builds(Span, MOMENTS, MOMENTS))
WANTED: dict[str, st.SearchStrategy[Any]] = {
    "category": st.sampled_from(["fact", "nothing"]),
    "source": st.sampled_from(["user", "nobody"]),
    "scope": SCOPES,
    "all_sessions": st.just(True),
    "strict_scope": st.just(True),
    "channel": st.sampled_from(["hook", "nothing"]),
    "stated_intent": st.just("event"),
    "tags_all": TAGS,
    "tags_any": TAGS,
    "entity": st.sampled_from(["REDIS", "Bob", "nobody"]),
    "min_importance": st.integers(1, 5),
    "created": SPANS,
    "event": SPANS,
    "window": SPANS,
    "status": st.sampled_from(STATUSES),
    "metadata": CONDITIONS,
    "now_us": MOMENTS,
    "clock_us": MOMENTS,
    "as_of_us": MOMENTS,
    "include_invalid": st.booleans(),
}


@st.composite
def rows(draw: st.DrawFn) -> list[Insight]:
    found = []
    for name in range(draw(st.integers(0, 6))):
        fields = {field: draw(FIELDS[field]) for field in draw(st.sets(st.sampled_from(sorted(FIELDS)), max_size=5))}
        found.append(msgspec.structs.replace(insight(str(name), at=at(draw(st.integers(0, 4)))), **fields))
    return found


@st.composite
def filters(draw: st.DrawFn) -> Filter:
    chosen = draw(st.sets(st.sampled_from(sorted(WANTED)), max_size=4))
    return Filter(**{field: draw(WANTED[field]) for field in sorted(chosen)})


@given(rows(), filters())
@examples(400)
def test_the_columns_say_what_each_memory_says(insights: list[Insight], wanted: Filter) -> None:
    seen(wanted, *insights)


ACME, BETA, NAMED = "acme#0123456789abcdef", "beta#fedcba9876543210", "acme"


@each_row(
    ("project", "strict", "expected"),
    [
        (None, False, ["general", "acme", "renamed", "named", "beta"]),
        (ACME, False, ["general", "acme", "renamed", "named"]),
        (ACME, True, ["acme", "renamed", "named"]),
        ("ACME", False, ["general", "acme", "named"]),
        (BETA, False, ["general", "beta"]),
        ("other", False, ["general"]),
        ("other", True, []),
        ("", False, ["general"]),
        ("", True, ["general"]),
    ],
)
def test_memories_of_a_project_and_of_none(project: str | None, strict: bool, expected: list[str]) -> None:
    rows = [
        insight("general"),
        insight("acme", scope=Scope(project=ACME)),
        insight("renamed", scope=Scope(project=f"zenith{ACME[4:]}")),
        insight("named", scope=Scope(project=NAMED)),
        insight("beta", scope=Scope(project=BETA)),
    ]
    snapshot = MemoryIndex.build([(it, None) for it in rows], [], 0).snapshot
    wanted = Filter(scope=Scope(project=project), strict_project=strict)
    mask = snapshot.visible(wanted)
    assert [it.id for row, it in enumerate(rows) if mask is None or mask[row]] == expected
    assert [it.id for it in rows if admits(wanted, it)] == expected
    assert [it.id for it in rows if admits(msgspec.structs.replace(wanted, strict_scope=strict), it)] == expected


def test_a_memory_is_compared_with_those_of_its_project_and_general_ones() -> None:
    rows = [insight("general"), *(insight(name, scope=Scope(project=name)) for name in ("acme", "beta"))]
    snapshot = MemoryIndex.build([(it, None) for it in rows], [], 0).snapshot
    for project, expected in (("acme", [1, 1, 0]), (None, [1, 0, 0])):
        mask = snapshot.comparable(Scope(project=project))
        assert mask is not None
        assert mask.tolist() == expected
