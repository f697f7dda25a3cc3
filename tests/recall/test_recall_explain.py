"""Why a result stands where it does: parts that sum up to what ranks, and the comparison with the next one shown."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mnemond.index.snapshot import Snapshot
from mnemond.model.answers import Explanation
from mnemond.model.query import Hit, Recalled
from mnemond.recall.default_profile import FALL
from mnemond.recall.two_stage import PARTS
from tests.examples import examples
from tests.index.worlds import insight
from tests.recall.recall_world import EVERY_WAY, NOW_US, Link, ask, days_ago, ids, world
from tests.tables import each_row

ROUNDED = 1e-4
"""Parts are told to four decimals."""


def why(hit: Hit) -> Explanation:
    assert hit.explanation is not None
    return hit.explanation


def by_score(found: Recalled) -> list[Hit]:
    return sorted(found.hits, key=lambda hit: -hit.score)


def ahead(first: Explanation, second: Explanation | None) -> dict[str, float]:
    """By which parts the first is above the second, worked out from what is told of both."""
    if second is None:
        return {}
    names = dict.fromkeys([*first.parts, *second.parts])
    apart = {name: first.parts.get(name, 0.0) - second.parts.get(name, 0.0) for name in names}
    return {name: by for name, by in apart.items() if by > 0.005 + 2 * ROUNDED}


def claimed(explanation: Explanation) -> dict[str, float]:
    found = (re.fullmatch(r"([a-z]+) \+(\d+\.\d\d)", sentence) for sentence in explanation.above)
    return {match[1]: float(match[2]) for match in found if match is not None}


def check_reasons(found: Recalled) -> None:
    """That each result is compared with the next one that is shown."""
    hits = by_score(found)
    for hit, following in zip(hits, [*hits[1:], None], strict=False):
        reasons = claimed(why(hit))
        assert len(reasons) == len(why(hit).above)
        assert list(reasons.values()) == sorted(reasons.values(), reverse=True)
        wanted = ahead(why(hit), None if following is None else why(following))
        assert wanted.keys() <= reasons.keys()
        told = {name: reasons[name] for name in wanted}
        assert told == pytest.approx(wanted, abs=0.0051 + 2 * ROUNDED)


def check_sums(found: Recalled, profile: str) -> None:
    """That parts sum up to the score, or to what lies between two scores."""
    hits = by_score(found)
    totals = [sum(why(hit).parts.values()) for hit in hits]
    if profile != "mnemond":
        assert [hit.score for hit in hits] == pytest.approx([min(1.0, max(0.0, total)) for total in totals], abs=4e-4)
        return
    for hit, total in zip(hits, totals, strict=True):
        behind = max(0.0, totals[0] - total)
        assert hit.score == pytest.approx(hits[0].score * math.exp(-behind / FALL), rel=1e-3, abs=1e-6)


TEXTS = ("zebra", "zebra zebra crossing", "the zebra of Redis", "okapi", "why a gnu crossing", "斑马 zebra")


def talk(texts: tuple[str, ...] = TEXTS) -> Snapshot:
    rows = [
        insight(
            f"r{number}", text, at=days_ago(9 - number), source=("ann", "assistant")[number % 2],
            conversation_id=("talk", None)[number % 3 == 0], entities=("Redis",) if "Redis" in text else (),
            event_start="2024-03-12T00:00:00Z" if number == 1 else None,
        )
        for number, text in enumerate(texts)
    ]  # fmt: skip
    links: list[Link] = [("r0", "r3", "causal", 1.0), ("r4", "r3", "causal", 0.5), ("r2", "r5", "semantic", 0.5)]
    return world(rows, links, {f"r{number}": 0.9 - 0.15 * number for number in range(len(texts))})


QUESTIONS = ("zebra crossing", "when did ann see a zebra last week", "why is Redis a gnu", "what is the current zebra")


@each_row("question", QUESTIONS)
@each_row(("profile", "mode"), EVERY_WAY)
def test_parts_sum_up_and_reasons_are_about_the_next(profile: str, mode: str, question: str) -> None:
    for limit in (2, 20):
        found = ask(
            talk(), question, profile=profile, mode=mode, now_us=NOW_US, vectors=True, explain=True, seed=1, limit=limit
        )
        assert found.hits
        check_sums(found, profile)
        check_reasons(found)


def test_every_part_has_a_name_that_is_known() -> None:
    seen = set()
    for question in QUESTIONS:
        found = ask(talk(), question, now_us=NOW_US, vectors=True, explain=True, mode="beam")
        seen |= {name for hit in found.hits for name in why(hit).parts}
    assert (
        {"words", "meaning", "window", "date", "links", "speaker", "adjacency", "standing"} <= seen <= {*PARTS, "links"}
    )


@each_row("profile", ["mnemond", "mnemon"])
def test_an_equal_text_that_is_not_shown_is_not_compared_with(profile: str) -> None:
    rows = [insight(name, "zebra crossing", at=at) for at, name in enumerate(("twin", "shown"))]
    rows.append(insight("other", "a zebra among many other animals of the savanna", at=2))
    found = ask(world(rows), "zebra crossing", profile=profile, mode="none", explain=True)
    assert ids(found) == ["shown", "other"]
    first, second = map(why, found.hits)
    assert first.above, "it has words that the next one shown has not"
    assert claimed(first) == pytest.approx(ahead(first, second), abs=0.0052)
    assert second.above == ()


@each_row("profile", ["mnemond", "mnemon"])
def test_the_last_one_shown_is_above_nothing_whatever_was_cut(profile: str) -> None:
    for limit in (1, 2, 6):
        found = ask(talk(), "zebra crossing", profile=profile, explain=True, limit=limit, vectors=True)
        assert by_score(found)[-1].explanation is not None
        assert why(by_score(found)[-1]).above == ()


@each_row("profile", ["mnemond", "mnemon"])
def test_a_second_look_is_no_sum_of_parts_and_nothing_is_said_of_the_next_one(profile: str) -> None:
    found = ask(talk(), "a gnu zebra crossing of ann", profile=profile, mode="none", explain=True, limit=3, rerank=True)
    assert found.meta.rerank.applied
    assert all(why(hit).parts and not why(hit).above for hit in found.hits)


@each_row("profile", ["mnemond", "mnemon"])
def test_another_order_does_not_change_the_reasons(profile: str) -> None:
    plain = ask(talk(), "zebra crossing", profile=profile, explain=True)
    timed = ask(talk(), "zebra crossing", profile=profile, explain=True, order="time")
    assert ids(timed) != ids(plain)
    assert {hit.insight.id: why(hit) for hit in timed.hits} == {hit.insight.id: why(hit) for hit in plain.hits}


@each_row(("profile", "mode"), EVERY_WAY)
def test_nothing_is_explained_unless_it_is_asked_for(profile: str, mode: str) -> None:
    found = ask(talk(), "zebra crossing", profile=profile, mode=mode)
    explained = ask(talk(), "zebra crossing", profile=profile, mode=mode, explain=True)
    assert {hit.explanation for hit in found.hits} == {None}
    assert [(hit.insight.id, hit.score) for hit in explained.hits] == [
        (hit.insight.id, hit.score) for hit in found.hits
    ]


def test_a_row_for_which_nothing_speaks_does_not_take_the_place_of_one() -> None:
    """Beside a row that is found, of next to no likeness, but none of a hasty assistant: it ranks first."""
    rows = [
        insight("beside", "a long remark about the weather and everything else that day", at=1, conversation_id="talk"),
        insight("found", "yes", at=2, conversation_id="talk", source="assistant"),
    ]
    snapshot = world(rows, cosines={"beside": 0.099, "found": 0.101})
    assert ids(ask(snapshot, "zebra", vectors=True)) == ["found"]
    assert ids(ask(snapshot, "zebra", vectors=True, limit=1)) == ["found"]


def test_many_rows_for_which_nothing_speaks_do_not_hide_those_for_which_something_does() -> None:
    """Thirty rows of next to no likeness from the week that is asked about rank above the only evidence there is."""
    recent = [insight(f"new{at}", f"saying{at} made just then", at=days_ago(6) + at) for at in range(30)]
    older = [insight(f"old{at}", f"remark{at} of long ago", at=days_ago(60 + at)) for at in range(12)]
    near = dict.fromkeys([row.id for row in recent], 0.09) | dict.fromkeys([row.id for row in older], 0.11)
    found = ask(world([*recent, *older], cosines=near), "zebra last week", vectors=True, now_us=NOW_US)
    assert ids(found) == [f"old{at}" for at in range(10)]


@given(
    st.lists(st.sampled_from(TEXTS), min_size=1, max_size=6).map(tuple),
    st.sampled_from(QUESTIONS),
    st.sampled_from(EVERY_WAY),
    st.integers(1, 7),
)
@examples(200)
def test_reasons_hold_for_any_texts(texts: tuple[str, ...], question: str, way: tuple[str, str], limit: int) -> None:
    rows = [insight(f"r{number}", text, at=days_ago(number)) for number, text in enumerate(texts)]
    profile, mode = way
    found = ask(world(rows), question, profile=profile, mode=mode, now_us=NOW_US, explain=True, limit=limit, seed=2)
    check_sums(found, profile)
    check_reasons(found)
