"""Pairs that wait for a decision: asked, decided in each way, taken back, held back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemond.api.requests import one_active
from mnemond.config.settings import Config, config_from
from mnemond.errors import BUSY, INVALID_PARAMS, NOT_FOUND, MnemonError
from mnemond.memory import reviews
from mnemond.memory.questions import pairs
from mnemond.memory.questions.pairs import Allowance
from mnemond.model.memory import Insight, Scope, TextWithCues, contradicted, without_contradictions
from mnemond.model.outcomes import RememberResult, ResolveResult, UndoResult
from mnemond.model.reviews import Review
from mnemond.store import reviews as stored
from tests.memory.audit_world import vector_of_memory
from tests.memory.revision_world import CONFIG, RevisionWorld

BERLIN, MUNICH = "The office is in Berlin", "The office is in Munich"


class World(RevisionWorld):
    """A world with reviews."""

    def say(self, content: str, **fields: Any) -> RememberResult:
        outcome = self.remember(content, **fields)
        assert isinstance(outcome, RememberResult), outcome
        return outcome

    def waiting(self) -> list[Review]:
        found: list[Review] = self.read(lambda it: stored.pending(it, 100))
        assert self.engine.pending_reviews == len(found)
        return found

    def resolve(
        self, resolution: Any, content: str | None = None, *, gated: bool = False, **fields: Any
    ) -> ResolveResult:
        number = fields.pop("review", None) or self.waiting()[0].id
        review = self.read(lambda it: stored.read(it, number))
        text = None
        if review is not None and {review.asked.older, review.asked.newer} <= set(self.active()):
            older, newer = self.insight(review.asked.older), self.insight(review.asked.newer)
            text = reviews.text_of(resolution, older, newer, content)
        text = fields.pop("embedded_text", text)
        wish = reviews.Resolve(
            review=number, resolution=resolution, content=content, embedded_text=text, gated=gated,
            vector=None if text is None else vector_of_memory(text), **fields,
        )  # fmt: skip
        return self._done(reviews.propose_resolve(wish, self._identity(None), one_active, self.rules), ResolveResult)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    yield from built(tmp_path, CONFIG)


def built(tmp_path: Path, config: Config) -> Iterator[World]:
    made = World(tmp_path / "a.db", config)
    yield made
    made.mirrored()
    made.engine.close()


def disputed(world: World, **fields: Any) -> tuple[str, str]:
    older, newer = world.say(BERLIN, **fields).id, world.say(MUNICH, **fields).id
    assert older is not None
    assert newer is not None
    assert len(world.waiting()) == 1
    return older, newer


def test_a_contradiction_is_asked_about_and_both_stay(world: World) -> None:
    older, newer = disputed(world)
    [review] = world.waiting()
    assert (review.asked.kind, review.asked.older, review.asked.newer) == ("conflict", older, newer)
    assert review.asked.suggestion == "SUPERSEDE"
    assert "office" not in review.asked.reason
    assert set(world.active()) == {older, newer}


def test_what_was_said_later_is_the_newer_one(world: World) -> None:
    later = world.say(BERLIN).id
    earlier = world.say(MUNICH, created_at="2024-01-01T00:00:00Z").id
    [review] = world.waiting()
    assert (review.asked.older, review.asked.newer) == (earlier, later)


def test_memories_of_other_readers_are_not_asked_about(world: World) -> None:
    world.say(BERLIN)
    world.say(MUNICH, scope=Scope(user_id="ana"))
    assert world.waiting() == []


def test_the_newer_one_holds(world: World) -> None:
    older, newer = disputed(world)
    done = world.resolve("SUPERSEDE")
    assert (done.action, done.id, done.older_id, done.newer_id) == ("UPDATE", newer, older, newer)
    assert world.active() == [newer]
    assert world.row(older).superseded_by == newer
    assert world.waiting() == []
    assert world.lines()[-1][0] == "resolve"


def test_both_hold_and_neither_is_doubtful_any_more(world: World) -> None:
    _, newer = disputed(world)
    assert contradicted(world.insight(newer))
    done = world.resolve("COEXIST")
    assert (done.action, done.id) == ("NONE", None)
    assert len(world.active()) == 2
    assert not contradicted(world.insight(newer))
    undone = world.undo(done.op_id)
    assert isinstance(undone, UndoResult), undone
    assert contradicted(world.insight(newer))
    assert len(world.waiting()) == 1


def test_a_merge_with_a_text_and_one_without(world: World) -> None:
    older, newer = disputed(world)
    with pytest.raises(MnemonError) as caught:
        world.resolve("MERGE")
    assert caught.value.kind is INVALID_PARAMS
    assert len(world.waiting()) == 1
    done = world.resolve("MERGE", "The office was in Berlin and is in Munich")
    assert (done.action, done.id, done.content) == ("MERGE", older, "The office was in Berlin and is in Munich")
    assert world.row(newer).superseded_by == older
    assert world.insight(older).content == done.content


def test_the_newer_says_the_same(world: World) -> None:
    older, newer = disputed(world)
    done = world.resolve("DUPLICATE")
    assert (done.action, done.id, done.content, done.dropped) == ("DELETE", older, None, [])
    assert world.active() == [older]
    assert (world.insight(older).content, world.insight(older).corroboration_count) == (BERLIN, 1)
    assert world.row(newer).status == "merged"


@pytest.mark.parametrize("resolution", ["SUPERSEDE", "DUPLICATE", "COEXIST"])
def test_every_decision_is_taken_back(world: World, resolution: str) -> None:
    ids = disputed(world)
    before = [world.insight(each).content for each in ids]
    done = world.resolve(resolution)
    undone = world.undo(done.op_id)
    assert isinstance(undone, UndoResult), undone
    assert [world.insight(each).content for each in ids] == before
    assert len(world.waiting()) == 1


def test_a_decided_review_and_one_that_does_not_exist(world: World) -> None:
    disputed(world)
    number = world.waiting()[0].id
    world.resolve("COEXIST")
    for wrong, said in ((number, "was decided as COEXIST by user"), (99, "there is no review 99")):
        with pytest.raises(MnemonError, match=said) as caught:
            world.resolve("SUPERSEDE", review=wrong)
        assert caught.value.kind is NOT_FOUND


def test_a_memory_that_changed_meanwhile(world: World) -> None:
    disputed(world)
    with pytest.raises(MnemonError) as caught:
        world.resolve("DUPLICATE", embedded_text=TextWithCues("something else", ()))
    assert caught.value.kind is BUSY


# ------------------------------------------------------------------ gates, and what else is asked about


def it(content: str, day: int = 1, **fields: Any) -> Insight:
    moment = f"2026-02-{day:02}T00:00:00.000000Z"
    return Insight(f"{content}-{day}", moment, moment, content=content, valid_from=moment, **fields)


@pytest.mark.parametrize(
    ("resolution", "older", "newer", "why"),
    [
        ("SUPERSEDE", it(BERLIN), it(MUNICH, 2), None),
        ("SUPERSEDE", it(BERLIN), it(MUNICH, 1), "neither is newer"),
        ("SUPERSEDE", it(BERLIN, pinned=True), it(MUNICH, 2), "one of them is pinned"),
        ("SUPERSEDE", it(BERLIN), it(MUNICH, 2, scope=Scope("ana")), "they are for different readers"),
        ("SUPERSEDE", it(BERLIN), it("Bob likes tea", 2), "they do not say different things of the same subject"),
        (
            "SUPERSEDE",
            it("Ana ran 5 miles on Tuesday", event_start="2026-02-03T00:00:00.000000Z"),
            it("Ana ran 3 miles on Wednesday", 2, event_start="2026-02-04T00:00:00.000000Z"),
            "they tell of different days",
        ),
        ("SUPERSEDE", it(BERLIN), it(MUNICH, 28), "the new text does not hold yet"),
        ("MERGE", it(BERLIN), it(MUNICH, 2), "they contradict each other"),
        (
            "MERGE",
            it("Redis caches", category="fact"),
            it("Redis stores", 2, category="event"),
            "they are of different",
        ),
        ("MERGE", it("Redis caches sessions"), it("Redis runs on port 6379", 2), None),
        ("DUPLICATE", it("Redis runs on port 6379"), it("redis runs on port 6379.", 2), None),
        ("DUPLICATE", it("Our Redis runs on port 6379"), it("Redis runs on port 6379", 2), None),
        ("DUPLICATE", it("Redis runs"), it("Redis runs on port 6379", 2), "the newer one says something"),
        ("COEXIST", it(BERLIN), it(BERLIN), None),
    ],
)
def test_gates(world: World, resolution: Any, older: Insight, newer: Insight, why: str | None) -> None:
    now_us = 1_771_700_000_000_000
    found = pairs.refusal(resolution, older, newer, world.rules.diff, now_us)
    assert found == why or (found is not None and why is not None and found.startswith(why))


def test_a_machine_is_refused_where_a_person_is_not(world: World) -> None:
    older, _ = disputed(world)
    world.revise(older, pinned=True)
    with pytest.raises(MnemonError, match="is not decided as SUPERSEDE: one of them is pinned"):
        world.resolve("SUPERSEDE", gated=True)
    assert world.resolve("SUPERSEDE").action == "UPDATE"


def test_what_may_be_one_statement_is_asked_about_where_something_answers(tmp_path: Path) -> None:
    texts = (
        "Apollo keeps its sessions in Redis on the staging server",
        "Apollo keeps its sessions in Redis for one day",
    )
    for mode, asked in (("rules", []), ("host", [("merge", "MERGE")])):
        (tmp_path / mode).mkdir()
        config = config_from({"extraction.resolver": mode, "commitment.redundancy.enabled": False})
        for world in built(tmp_path / mode, config):
            assert [world.say(text).action for text in texts] == ["added", "added"]
            assert [(each.asked.kind, each.asked.suggestion) for each in world.waiting()] == asked


def test_an_allowance_grows_with_the_store_up_to_a_bound() -> None:
    assert [Allowance(live).most for live in (0, 60, 100, 400, 10_000)] == [3, 3, 5, 20, 20]
    run = Allowance(0)
    assert run.admits(["a", "b", "c"])
    assert run.admits(["a"])
    assert not run.admits(["d"])


def test_a_common_text_keeps_every_number_and_name() -> None:
    one, other = it("Redis runs on port 6379", entities=("Redis",)), it("Bob restarts it at 5", 2, entities=("Bob",))
    assert pairs.kept_text("Redis runs on port 6379; Bob restarts it at 5", one, other) == []
    assert pairs.kept_text("Redis is restarted", one, other) == ["5", "6379", "Bob"]


def test_notes_of_other_memories_stay() -> None:
    metadata = '{"contradicts":[{"id":"a"},{"id":"b"}],"kind":"x"}'
    assert without_contradictions(metadata, ["a"]) == '{"contradicts":[{"id":"b"}],"kind":"x"}'
    assert without_contradictions(metadata, ["a", "b"]) == '{"kind":"x"}'
    assert without_contradictions("{}", ["a"]) == "{}"


def test_a_decision_that_is_done_again_by_a_second_undo_is_decided(world: World) -> None:
    """Undo asks again, undoing that decides again, as often as one likes; and it may be decided otherwise meanwhile."""
    world.say(BERLIN)
    world.say(MUNICH)
    last = world.resolve("COEXIST").op_id
    for waits in (1, 0, 1, 0, 1):
        undone = world.undo(last)
        assert isinstance(undone, UndoResult)
        last = undone.op_id
        assert len(world.waiting()) == waits
        decided: list[Review] = world.read(lambda it: stored.pending(it, 10, resolved=True))
        assert [it.resolution for it in decided] == ["COEXIST"] * (1 - waits)
    assert [it.resolution for it in world.waiting()] == [None]
    world.resolve("SUPERSEDE")
    decided = world.read(lambda it: stored.pending(it, 10, resolved=True))
    assert [it.resolution for it in decided] == ["SUPERSEDE"]
