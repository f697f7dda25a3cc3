"""Reviews in the file: opened, decided, reopened by an undo, counted while both memories are active, expired."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mnemond.model.changes import ChangeSet, PurgeInsight, PutInsight, RemoveEdge, RestoreInsight, RetireInsight
from mnemond.model.memory import format_us
from mnemond.model.reviews import BY_EXPIRY, EXPIRES_DAYS, CloseReview, HeldText, OpenReview, Review
from mnemond.store import held_texts, reviews, stored_rows
from mnemond.store.connection import Connection, SqliteError
from tests.outcomes import remembered
from tests.store.bench import DAY_US, LATER, Bench
from tests.store.factories import START_US, insight_id, vector_of

ONE, TWO, THREE, FOUR = (insight_id(number) for number in (1, 2, 3, 4))
ASKED = OpenReview("conflict", ONE, TWO, "SUPERSEDE", 0.7, "the numbers differ")
OTHER = OpenReview("merge", THREE, FOUR, "MERGE", 0.8, "both add something")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "store.db")
    yield made
    made.engine.close()


def listed(bench: Bench, limit: int, *, resolved: bool = False) -> list[Review]:
    found: Any = bench.engine.read(lambda it: reviews.pending(it, limit, resolved=resolved))
    return list(found)


def waiting(bench: Bench) -> list[Review]:
    found: list[Review] = listed(bench, 100)
    assert bench.engine.pending_reviews == len(found)
    return found


def test_a_review_is_opened_once_and_decided_once(bench: Bench) -> None:
    bench.run(reviews=(ASKED,))
    bench.run(reviews=(ASKED, OTHER))
    first, second = waiting(bench)
    assert (first.asked, second.asked, first.created_at) == (ASKED, OTHER, LATER)
    bench.run(reviews=(CloseReview(first.id, "COEXIST", "user"),))
    assert [each.id for each in waiting(bench)] == [second.id]
    [done] = listed(bench, 5, resolved=True)
    assert (done.id, done.resolution, done.by, done.resolved_at) == (first.id, "COEXIST", "user", LATER)
    bench.run(reviews=(ASKED,))  # the pair was decided: it is not asked again
    assert [each.id for each in waiting(bench)] == [second.id]
    assert bench.engine.read(lambda it: reviews.read(it, 99)) is None


def test_it_waits_while_both_memories_are_active(bench: Bench) -> None:
    bench.run(reviews=(ASKED,))
    first = bench.insight(ONE)
    bench.run(RetireInsight(ONE, "forgotten"))
    assert waiting(bench) == []
    bench.run(RestoreInsight(first, vector_of(1)))
    assert len(waiting(bench)) == 1
    bench.run(PurgeInsight(ONE))
    assert waiting(bench) == []
    assert bench.rows("SELECT * FROM pending_reviews") == []


def test_an_undo_reopens_what_the_operation_decided(bench: Bench) -> None:
    bench.run(reviews=(ASKED,))
    [review] = waiting(bench)
    bench.run(PutInsight(bench.insight(TWO)), reviews=(CloseReview(review.id, "COEXIST", "user"),))
    decided = f"op-{bench.operations}"

    def back(op_id: str) -> Any:
        return bench.engine.read(lambda it: reviews.undoing(it, op_id))

    assert (back("another"), waiting(bench)) == ([], [])
    bench.run(PutInsight(bench.insight(TWO)), reviews=tuple(back(decided)), undoes=decided)
    assert waiting(bench) == [review]
    assert back(decided) == []
    assert back(f"op-{bench.operations}") == [CloseReview(review.id, "COEXIST", "user")]


def test_a_decision_that_changed_no_memory_is_in_the_history(bench: Bench) -> None:
    bench.run(reviews=(ASKED,))
    closing = CloseReview(waiting(bench)[0].id, "COEXIST", "user")
    bench.run(RemoveEdge(ONE, TWO, "causal"), reviews=(closing,))  # there is none
    found = bench.rows("SELECT op_id, operation_type FROM memory_operations WHERE memory_id = ''")
    assert found == [(f"op-{bench.operations}", "test")], "a question alone is not: undo would bring nothing back"


def test_it_expires_with_the_safe_answer(bench: Bench) -> None:
    now_us = START_US + 60 * DAY_US
    bench.run(reviews=(ASKED,), now=format_us(now_us))
    bench.run(reviews=(OTHER,), now=format_us(now_us + DAY_US))
    [review, young] = waiting(bench)
    later = now_us + EXPIRES_DAYS * DAY_US + 1
    assert bench.engine.read(lambda it: reviews.count_expired(it, later - 1)) == 0
    assert bench.engine.read(lambda it: reviews.count_expired(it, later)) == 1
    assert bench.engine.rewrite(lambda it: reviews.expire(it, later)) == 1
    assert waiting(bench) == [young]
    ended = bench.engine.read(lambda it: reviews.read(it, review.id))
    assert isinstance(ended, Review)
    assert (ended.resolution, ended.by) == ("COEXIST", BY_EXPIRY)
    much_later = later + (reviews.KEPT_DAYS + 1) * DAY_US
    assert bench.engine.rewrite(lambda it: reviews.expire(it, much_later)) == 1
    assert bench.engine.read(lambda it: reviews.read(it, review.id)) is None


def test_too_many_end_the_oldest(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reviews, "MAX_PENDING", 1)
    bench.run(reviews=(ASKED,))
    bench.run(reviews=(OTHER,))
    assert [each.asked for each in waiting(bench)] == [OTHER]
    assert [each.asked for each in listed(bench, 9, resolved=True)] == [ASKED]
    monkeypatch.setattr(reviews, "MAX_DECIDED", 1)
    third = OpenReview("conflict", ONE, THREE, "SUPERSEDE", 0.7, "why")
    bench.run(reviews=(third,))
    assert [each.asked for each in waiting(bench)] == [third]
    assert [each.asked for each in listed(bench, 9, resolved=True)] == [OTHER]


def test_a_damaged_row_is_left_out_and_found_by_verification(bench: Bench) -> None:
    bench.run(reviews=(ASKED, OTHER))

    def spoil(it: Connection) -> None:
        it.run("UPDATE pending_reviews SET payload = 'no JSON' WHERE id = 1")
        it.run("UPDATE pending_reviews SET resolution = 'no JSON', resolved_at = ? WHERE id = 2", (LATER,))

    bench.engine.rewrite(spoil)
    assert waiting(bench) == []
    assert bench.engine.read(lambda it: reviews.undoing(it, "another")) == []
    assert listed(bench, 9, resolved=True) == []
    found: Any = bench.engine.read(lambda it: [str(each) for each in stored_rows.bad_rows(it) if each])
    assert found == ["pending_reviews 1 (payload)", "pending_reviews 2 (resolution)"]


def test_a_count_that_fails_is_no_failure_of_the_write(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Connection) -> int:
        raise SqliteError("no luck")

    monkeypatch.setattr(reviews, "count_pending", fail)
    done = ChangeSet("op-x", False, "test", LATER, (), remembered(None, "op"), reviews=(ASKED,))
    assert bench.engine.commit([done]) == [remembered(None, "op")]


def test_a_refused_merge_is_kept_for_years_and_an_expired_one_is_not(bench: Bench) -> None:
    bench.run(reviews=(ASKED, OTHER))
    conflict, merge = waiting(bench)
    bench.run(reviews=(CloseReview(conflict.id, "COEXIST", "user"), CloseReview(merge.id, "COEXIST", "user")))
    bench.engine.rewrite(lambda it: reviews.expire(it, START_US + 900 * DAY_US))
    assert bench.engine.read(reviews.asked_pairs) == {(THREE, FOUR): None}
    bench.run(reviews=(ASKED,))
    assert bench.engine.read(reviews.asked_pairs) == {(ONE, TWO): waiting(bench)[0].id, (THREE, FOUR): None}
    bench.run(reviews=(CloseReview(waiting(bench)[0].id, "COEXIST", BY_EXPIRY),))
    bench.engine.rewrite(lambda it: reviews.expire(it, START_US + 900 * DAY_US))
    assert bench.engine.read(reviews.asked_pairs) == {(THREE, FOUR): None}
    bench.run(PurgeInsight(THREE))
    assert bench.engine.read(reviews.asked_pairs) == {}


def test_refused_merges_are_not_kept_without_end(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reviews, "MAX_REFUSED", 1)
    bench.run(reviews=(OTHER, OpenReview("merge", ONE, TWO, "MERGE", 0.9, "alike")))
    bench.run(reviews=tuple(CloseReview(each.id, "COEXIST", "user") for each in waiting(bench)))
    bench.run(reviews=(OpenReview("merge", ONE, THREE, "MERGE", 0.9, "alike"),))
    [waits] = waiting(bench)
    assert bench.engine.read(reviews.asked_pairs) == {(ONE, TWO): None, (ONE, THREE): waits.id}


def test_texts_are_no_pairs(bench: Bench) -> None:
    bench.engine.rewrite(lambda it: held_texts.hold(it, [HeldText("Save to memory: it", LATER)], LATER))
    assert (waiting(bench), bench.engine.held_texts) == ([], 1)
    assert bench.engine.read(lambda it: reviews.read(it, 1)) is None
    assert bench.engine.read(reviews.asked_pairs) == {}
    assert bench.engine.rewrite(lambda it: reviews.expire(it, START_US + 99 * DAY_US)) == 0
    assert bench.engine.held_texts == 1


def test_a_text_that_cannot_be_read_is_found_by_verification(bench: Bench) -> None:
    def spoil(it: Connection) -> None:
        held_texts.hold(it, [HeldText("Save to memory: it", LATER)], LATER)
        it.run("UPDATE pending_reviews SET payload = 'no JSON'")

    bench.engine.rewrite(spoil)
    assert bench.engine.read(lambda it: held_texts.listed(it, 5)) == []
    found: Any = bench.engine.read(lambda it: [str(each) for each in stored_rows.bad_rows(it) if each])
    assert found == ["pending_reviews 1 (payload)"]
