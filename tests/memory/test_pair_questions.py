"""Facts beside what is known already, by the modes of the resolver, and what one run may replace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from mnemond.config.settings import Config
from mnemond.config.writing import ExtractionSettings, LifecycleSettings
from mnemond.memory import extraction
from mnemond.memory.diff import judge, side
from mnemond.memory.questions.pairs import Allowance, acted_on, resolution_of
from mnemond.memory.write import write_rules
from mnemond.model.outcomes import Fate, HostFact
from mnemond.model.reviews import Review
from mnemond.store import edges, reviews
from tests.memory.test_extraction import Desk
from tests.tables import each_row

OLD, NEW = "I live in Lisbon", "I live in Porto now"


@contextmanager
def desk(path: Path, **settings: Any) -> Iterator[Desk]:
    extraction = ExtractionSettings(**settings)
    built = Desk(path / "a.db", Config(lifecycle=LifecycleSettings(max_insights=0), extraction=extraction))
    yield built
    built.engine.close()


def waiting(over: Desk) -> list[Review]:
    found: list[Review] = over.read(lambda it: reviews.pending(it, 100))
    return found


def test_rules_replace_and_ask_nothing(tmp_path: Path) -> None:
    with desk(tmp_path) as over:
        (first,) = over.hear(OLD)
        (second,) = over.hear(NEW)
        assert (second.action, second.resolution, second.previous_id) == ("UPDATE", "SUPERSEDE", first.memory_id)
        assert waiting(over) == []


def test_add_only_replaces_nothing_and_links_the_two(tmp_path: Path) -> None:
    with desk(tmp_path, resolver="add_only") as over:
        (first,) = over.hear(OLD)
        (second,) = over.hear(NEW)
        assert (second.action, second.resolution, second.previous_id) == ("CREATE", "COEXIST", None)
        assert len(over.memories()) == 2
        assert waiting(over) == []
        found = over.read(lambda it: edges.read(it, str(second.memory_id), str(first.memory_id), "semantic"))
        assert found.metadata == '{"sub_type":"related"}'
        (third,) = over.hear(NEW)
        assert (third.action, third.resolution) == ("NONE", "DUPLICATE")


def test_a_caller_that_forbids_replacing_is_asked_later(tmp_path: Path) -> None:
    with desk(tmp_path) as over:
        (first,) = over.hear(OLD)
        (second,) = over.hear(NEW, resolves=False)
        assert (second.action, second.resolution) == ("CREATE", "COEXIST")
        [review] = waiting(over)
        assert (review.asked.older, review.asked.newer) == (first.memory_id, second.memory_id)
        assert review.asked.suggestion == "SUPERSEDE"


def test_thresholds_replace_what_the_rules_keep(tmp_path: Path) -> None:
    texts = (
        "Apollo keeps its sessions in Redis on the staging server",
        "Apollo keeps its sessions in Redis for one day",
    )
    for mode, actions in (("rules", ["CREATE", "CREATE"]), ("threshold", ["CREATE", "UPDATE"])):
        (tmp_path / mode).mkdir()
        with desk(tmp_path / mode, resolver=mode) as over:
            assert [over.hear(f"Remember: {text}.")[0].action for text in texts] == actions


def test_a_run_replaces_no_more_than_its_allowance(tmp_path: Path) -> None:
    with desk(tmp_path) as over:
        run = Allowance(0)
        said = (
            "The API limit is {} requests per second", "Staging listens on port {}", "Backups are kept for {} days",
            "The cache holds {} entries", "A login session lasts {} minutes",
        )  # fmt: skip
        for text in said:
            over.hear(f"Remember: {text.format(100)}.")
        fates = [over.hear(f"Remember: {text.format(200)} now.", allowance=run)[0] for text in said]
        assert [fate.action for fate in fates] == ["UPDATE"] * run.most + ["CREATE"] * (len(said) - run.most)
        assert [fate.resolution for fate in fates[run.most :]] == ["COEXIST"] * 2
        assert [each.asked.newer for each in waiting(over)] == [fate.memory_id for fate in fates[run.most :]]


def verdict(action: Any, suggestion: Any, *, contradicts: bool = False) -> Any:
    found = judge(side("a", "fact", ()), side("b", "fact", ()), None, write_rules(None, Config()).diff)
    return msgspec.structs.replace(found, action=action, suggestion=suggestion, contradicts=contradicts)


@each_row(
    ("action", "suggestion", "contradicts", "resolution", "acted"),
    [
        ("DUPLICATE", "DUPLICATE", False, "DUPLICATE", "DUPLICATE"),
        ("CONFLICT", "CONFLICT", False, "SUPERSEDE", "SUPERSEDE"),
        ("UPDATE", "UPDATE", False, "SUPERSEDE", "SUPERSEDE"),
        ("ADD", "UPDATE", False, "MERGE", "COEXIST"),
        ("ADD", "UPDATE", True, "SUPERSEDE", "COEXIST"),
        ("ADD", "DUPLICATE", False, "DUPLICATE", "COEXIST"),
        ("ADD", "ADD", False, "COEXIST", "COEXIST"),
    ],
)
def test_verdicts(action: str, suggestion: str, contradicts: bool, resolution: str, acted: str) -> None:
    found = verdict(action, suggestion, contradicts=contradicts)
    assert (resolution_of(found), acted_on(found)) == (resolution, acted)


# What a larger model claims about a memory that it was shown.

GUESTS, LIST = "The guest list of the party is kept by Clara", "Clara hands the list of guests over to Ben"


def claim(over: Desk, content: str, replaces: str, **fields: Any) -> Fate:
    """A fact of a model that says which memory it replaces."""
    (fact,) = extraction.host_facts([HostFact(content=content, **fields)], over.context()).facts
    return over.write(msgspec.structs.replace(fact, model="tiny", replaces=replaces))


def test_a_claim_of_a_model_replaces_nothing_and_is_asked_about(tmp_path: Path) -> None:
    with desk(tmp_path) as over:
        old = claim(over, GUESTS, "")
        new = claim(over, LIST, str(old.memory_id))
        assert new.action == "CREATE"
        assert len(over.memories()) == 2
        (review,) = waiting(over)
        assert (review.asked.older, review.asked.newer) == (old.memory_id, new.memory_id)
        assert (review.asked.kind, review.asked.suggestion) == ("conflict", "SUPERSEDE")
        assert review.asked.reason == "the model says that it replaces the older one"


@each_row(
    ("first", "second", "why"),
    [
        (
            {"content": "Ana ran 5 miles on 2026-02-03"},
            {"content": "Ana swims at noon on 2026-02-04"},
            "different days",
        ),
        ({"content": GUESTS, "category": "decision"}, {"content": LIST, "category": "fact"}, "different categories"),
    ],
)
def test_a_claim_that_a_gate_refuses_is_not_asked_about(
    tmp_path: Path, first: dict[str, Any], second: dict[str, Any], why: str
) -> None:
    with desk(tmp_path) as over:
        old = claim(over, replaces="", **first)
        new = claim(over, replaces=str(old.memory_id), **second)
        assert new.reason.endswith(why)
        assert waiting(over) == []
        assert len(over.memories()) == 2


def test_a_claim_about_a_memory_that_is_gone_or_with_add_only_is_none(tmp_path: Path) -> None:
    with desk(tmp_path) as over:
        assert claim(over, LIST, "no such id").action == "CREATE"
        assert waiting(over) == []
    (tmp_path / "only").mkdir()
    with desk(tmp_path / "only", resolver="add_only") as over:
        old = claim(over, GUESTS, "")
        claim(over, LIST, str(old.memory_id))
        assert waiting(over) == []


def test_a_claim_that_the_rules_make_true_is_not_asked_about(tmp_path: Path) -> None:
    with desk(tmp_path) as over:
        (old,) = over.hear("Remember: the office is in Berlin")
        new = claim(over, "The office is in Munich now, no longer in Berlin", str(old.memory_id))
        assert (new.action == "UPDATE") or len(waiting(over)) == 1
