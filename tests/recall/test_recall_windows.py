"""Questions about a time: what the window is, who leaves everything else out, and what happens when that is nothing."""

from __future__ import annotations

import pytest

from mnemond.index.snapshot import Snapshot
from mnemond.model.answers import WindowView
from mnemond.model.memory import Scope, format_us, parse_rfc3339
from mnemond.model.query import Filter, Window
from tests.index.worlds import insight
from tests.recall.recall_world import DAY_US, NOW_US, Link, ask, ids, world
from tests.tables import each_row


def day(date: str) -> int:
    return parse_rfc3339(f"{date}T00:00:00Z")


MADE = {
    "older": "2024-02-14",
    "march": "2024-03-02",
    "monday": "2024-03-11",
    "sunday": "2024-03-17",
    "now": "2024-03-19",
}
NEVER = "9999-12-31T00:00:00.000000Z"
"""How the end of a window is shown that has none."""

LAST_WEEK = Window(day("2024-03-11"), day("2024-03-18"), hard=True)


def shown(window: Window) -> WindowView:
    return WindowView(format_us(window.start_us), format_us(window.end_us), window.hard)


def deploys(*spoken: tuple[str, str], links: tuple[Link, ...] = ()) -> Snapshot:
    """A deploy on each of these days at noon; `spoken`: some more of today, which speak of a day."""
    rows = [insight(name, f"we deploy the thing {name}", at=day(date) + DAY_US // 2) for name, date in MADE.items()]
    for name, date in spoken:
        event = f"{date}T00:00:00Z"
        rows.append(
            insight(name, f"we deploy the thing {name}", at=day("2024-03-20"), event_start=event, event_end=event)
        )
    return world(rows, links)


@each_row(
    ("question", "found"),
    [
        ("what did we deploy last week", {"monday", "sunday"}),
        ("what did we deploy in March 2024", {"march", "monday", "sunday", "now"}),
        ("what did we deploy yesterday", {"now"}),
        ("what did we deploy on 2024-03-02", {"march"}),
        ("deploy between February and March 2, 2024", {"older", "march"}),
        ("我们上周 deploy 了什么", {"monday", "sunday"}),
    ],
)
def test_as_published_nothing_else_is_looked_at(question: str, found: set[str]) -> None:
    hard = ask(deploys(), question, profile="mnemon", now_us=NOW_US)
    assert set(ids(hard)) == found
    assert hard.meta.window is not None
    assert hard.meta.window.hard
    soft = ask(deploys(), question, now_us=NOW_US)
    assert soft.meta.window == WindowView(hard.meta.window.since, hard.meta.window.until, hard=False)
    assert set(ids(soft)) == set(MADE)
    assert set(ids(soft)[: len(found)]) == found, "what is from then comes first"


def test_the_window_is_told() -> None:
    found = ask(deploys(), "what did we deploy last week", profile="mnemon", now_us=NOW_US)
    assert found.meta.window == shown(LAST_WEEK)
    assert ask(deploys(), "what did we deploy", profile="mnemon", now_us=NOW_US).meta.window is None


def test_now_decides_what_last_week_is() -> None:
    question = "what did we deploy last week"
    later = ask(deploys(), question, profile="mnemon", now_us=NOW_US + 7 * DAY_US)
    assert later.meta.window == shown(Window(LAST_WEEK.start_us + 7 * DAY_US, LAST_WEEK.end_us + 7 * DAY_US, hard=True))
    assert ids(later) == ["now"]
    timeless = ask(deploys(), question, profile="mnemon")
    assert timeless.meta.window is None
    assert set(ids(timeless)) == set(MADE)


def test_both_ends_of_a_window_are_exact() -> None:
    edges = {"before": -1, "first": 0, "last": 7 * DAY_US - 1, "after": 7 * DAY_US}
    rows = [insight(name, f"deploy {name}", at=LAST_WEEK.start_us + offset) for name, offset in edges.items()]
    found = ask(world(rows), "deploy last week", profile="mnemon", now_us=NOW_US)
    assert set(ids(found)) == {"first", "last"}


def test_what_only_speaks_of_the_time_is_from_it_as_well() -> None:
    snapshot = deploys(("spoken", "2024-03-12"), ("elsewhere", "2023-03-12"))
    hard = ask(snapshot, "what did we deploy last week", profile="mnemon", now_us=NOW_US)
    assert set(ids(hard)) == {"monday", "sunday", "spoken"}
    soft = ask(snapshot, "what did we deploy last week", now_us=NOW_US, explain=True)
    assert set(ids(soft)[:3]) == {"monday", "sunday", "spoken"}
    parts = {hit.insight.id: hit.explanation.parts for hit in soft.hits if hit.explanation is not None}
    assert {name for name, made_of in parts.items() if "window" in made_of} == {"monday", "sunday", "spoken"}


def test_made_then_and_spoken_of_then_counts_twice() -> None:
    day_of = "2024-03-12T00:00:00Z"
    rows = [
        insight("made", "deploy one", at=day("2024-03-12")),
        insight("both", "deploy two", at=day("2024-03-12"), event_start=day_of, event_end=day_of),
    ]
    found = ask(world(rows), "deploy last week", now_us=NOW_US, explain=True)
    parts = {hit.insight.id: hit.explanation.parts["window"] for hit in found.hits if hit.explanation is not None}
    assert ids(found) == ["both", "made"]
    assert parts["both"] == pytest.approx(2 * parts["made"])


@each_row("question", ["what did we deploy in January 2020", "deploy two years ago"])
def test_a_window_with_nothing_in_it_is_said_to_be_none(question: str) -> None:
    found = ask(deploys(), question, profile="mnemon", now_us=NOW_US)
    assert set(ids(found)) == set(MADE)
    assert found.meta.window is not None
    assert not found.meta.window.hard


def test_a_window_with_nothing_that_may_be_seen_is_empty_too() -> None:
    rows = [
        insight("secret", "deploy secrets", at=day("2024-03-12"), scope=Scope(session_id="s1")),
        insight("open", "deploy it", at=day("2024-02-12")),
    ]
    found = ask(world(rows), "deploy last week", profile="mnemon", now_us=NOW_US, filter=Filter(now_us=NOW_US))
    assert ids(found) == ["open"]
    assert found.meta.window is not None
    assert not found.meta.window.hard
    inside = Filter(scope=Scope(session_id="s1"))
    assert ids(ask(world(rows), "deploy last week", profile="mnemon", now_us=NOW_US, filter=inside)) == ["secret"]


def test_vague_times_leave_nothing_out() -> None:
    for question, end in (("deploy around March 2024", format_us(day("2024-04-01"))), ("deploy since March 11", NEVER)):
        found = ask(deploys(), question, profile="mnemon", now_us=NOW_US)
        assert set(ids(found)) == set(MADE)
        assert found.meta.window is not None
        assert (found.meta.window.until, found.meta.window.hard) == (end, False)


def test_a_hard_window_narrows_the_filter_of_the_reader() -> None:
    rows = [
        insight("ours", "deploy ours", at=day("2024-03-12"), category="fact"),
        insight("theirs", "deploy theirs", at=day("2024-03-12")),
        insight("early", "deploy early", at=day("2024-02-12"), category="fact"),
    ]
    found = ask(world(rows), "deploy last week", profile="mnemon", now_us=NOW_US, filter=Filter(category="fact"))
    assert ids(found) == ["ours"]


def test_the_newest_of_the_window_are_anchors_however_many_came_after() -> None:
    later = [insight(f"later{number}", f"other{number}", at=NOW_US + number) for number in range(30)]
    rows = [insight("then", "no word of it", at=day("2024-03-12")), *later]
    found = ask(world(rows), "deploy last week", profile="mnemon", now_us=NOW_US + 100)
    assert ids(found) == ["then"]
    assert found.hits[0].via == ("recency",)


def test_no_link_leads_out_of_a_hard_window() -> None:
    links: tuple[Link, ...] = (("monday", "older", "causal", 1.0), ("older", "sunday", "causal", 1.0))
    found = ask(deploys(links=links), "what did we deploy last week", profile="mnemon", mode="beam", now_us=NOW_US)
    assert set(ids(found)) == {"monday", "sunday"}
    assert all(hit.path == () for hit in found.hits)


def test_a_time_alone_is_a_question() -> None:
    found = ask(deploys(), "last week?", profile="mnemon", now_us=NOW_US)
    assert set(ids(found)) == {"monday", "sunday"}
    assert found.meta.hint == "sparse_results"
