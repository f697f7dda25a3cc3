"""A question why is answered with the linked causes of its best results, without a traversal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemond.index.snapshot import Snapshot
from mnemond.index.writer import MemoryIndex
from mnemond.model.answers import PathStep
from mnemond.model.changes import RetireInsight
from mnemond.model.query import Filter, Intent
from mnemond.recall.causal_order import MAX_JOINING, with_causes
from tests.examples import examples
from tests.index.worlds import DIMENSION, insight
from tests.recall.recall_world import NOW_US, Link, ask, ids, world
from tests.recall.test_result_order import hit
from tests.tables import each_row

WHY = "why did the deploy fail"


def deploys(*links: Link, others: int = 0) -> Snapshot:
    texts = {"effect": "The deploy failed on Monday", "cause": "Disk of build01 was full", "apart": "Lunch is at noon"}
    texts |= {f"more{n}": f"The deploy number {n} did not fail" for n in range(others)}
    return world([insight(name, text, at=NOW_US) for name, text in texts.items()], links)


CAUSE: Link = ("cause", "effect", "causal", 0.5)


def test_the_cause_of_a_result_stands_before_it_and_names_its_link() -> None:
    found = ask(deploys(CAUSE), WHY)
    assert ids(found) == ["cause", "effect"]
    cause, effect = found.hits
    assert (cause.via, cause.path) == (("causal",), (PathStep("effect", "causal", 0.5),))
    assert cause.signals.graph == 0.5
    assert cause.score == effect.score
    assert cause.confidence in ("low", "medium")
    assert found.meta.mode == "none"


@each_row(
    "link", [("effect", "cause", "causal", 0.5), ("cause", "effect", "entity", 0.5), ("apart", "cause", "causal", 0.5)]
)
def test_effects_other_links_and_causes_of_causes_do_not_join(link: Link) -> None:
    assert ids(ask(deploys(link), WHY)) == ["effect"]


@each_row("intent", ["WHEN", "ENTITY", "GENERAL"])
def test_other_questions_follow_no_link(intent: Intent) -> None:
    assert ids(ask(deploys(CAUSE), WHY, intent=intent)) == ["effect"]


def test_a_given_mode_decides() -> None:
    assert ids(ask(deploys(CAUSE), WHY, mode="none")) == ["effect"]
    assert ids(ask(deploys(CAUSE), WHY, mode="beam")) == ["cause", "effect"]


def test_a_cause_that_may_not_be_seen_does_not_join() -> None:
    rows = [
        insight("effect", "The deploy failed", at=NOW_US),
        insight("cause", "Disk full", at=NOW_US, category="fact"),
    ]
    wanted = Filter(category="general")
    assert ids(ask(world(rows, [CAUSE]), WHY, filter=wanted)) == ["effect"]


def test_a_full_answer_loses_its_last_results_and_never_more_than_half() -> None:
    snapshot = deploys(CAUSE, others=4)
    alone = ids(ask(snapshot, WHY, limit=4, mode="none"))
    assert alone[0] == "effect"
    assert ids(ask(snapshot, WHY, limit=4)) == ["cause", *alone[:3]]
    assert ids(ask(snapshot, WHY, limit=2)) == ["cause", "effect"]
    assert ids(ask(snapshot, WHY, limit=1)) == ["effect"]


def test_a_text_that_is_shown_already_does_not_join_again() -> None:
    rows = [insight("effect", "The deploy failed", at=NOW_US), insight("cause", "the deploy failed", at=NOW_US)]
    assert len(ids(ask(world(rows, [CAUSE]), WHY))) == 1


def test_without_results_nothing_joins() -> None:
    assert with_causes(deploys(CAUSE), [], None, 10) == ()


def test_results_that_were_retired_have_no_causes() -> None:
    index = MemoryIndex.build([(insight(name, name), None) for name in "xy"], [], DIMENSION)
    index.apply([RetireInsight("y", "forgotten")])
    hits = [hit(insight("x", "x"), 0.9), hit(insight("y", "y"), 0.8)]
    assert with_causes(index.snapshot, hits, None, 10) == tuple(hits)


LINKS = st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")), max_size=20)


@given(LINKS, st.integers(0, 6), st.integers(1, 8))
@examples(100)
def test_results_stay_in_their_order_and_within_the_limit(pairs: list[tuple[str, str]], shown: int, limit: int) -> None:
    rows = [insight(name, f"text {name}", at=NOW_US) for name in "abcdef"]
    snapshot = world(rows, [(one, other, "causal", 0.5) for one, other in dict.fromkeys(pairs) if one != other])
    hits = [hit(row, 1.0 - place / 10) for place, row in enumerate(rows[: min(shown, limit)])]
    found = with_causes(snapshot, hits, None, limit)
    names = [each.insight.id for each in found]
    joined = [each.insight.id for each in found if each.via == ("causal",)]
    assert len(names) == len(set(names)) <= limit
    assert len(joined) <= MAX_JOINING
    assert [name for name in names if name not in joined] == [each.insight.id for each in hits][: limit - len(joined)]
    assert not set(joined) & {each.insight.id for each in hits}
