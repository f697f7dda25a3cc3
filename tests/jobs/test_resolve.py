"""A model answers reviews: its answers pass the gates, a run is bounded, and what is not decided waits for a person."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from mnemond.api.requests import one_active
from mnemond.config.settings import config_from
from mnemond.embed.embedder import Embedder
from mnemond.errors import INTERNAL, UNAVAILABLE, MnemonError
from mnemond.jobs import resolve
from mnemond.jobs.extract import ExtractionContext
from mnemond.jobs.job import Done
from mnemond.jobs.resolve import ModelDeps, ResolveReviews
from mnemond.llm.reader import Answer
from mnemond.memory.questions import pairs
from mnemond.memory.write import WriteContext, WriteRules, write_rules
from mnemond.model.changes import AddInsight, ChangeSet
from mnemond.model.memory import Insight, format_us
from mnemond.model.reviews import OpenReview, Review, ReviewKind
from mnemond.store import reviews
from tests.api.factories import ToyEmbedder
from tests.jobs.factories import NOW_US, Keeping, kept
from tests.llm.scripted import asking
from tests.outcomes import remembered
from tests.store.factories import EMBEDDER, insight_id

BERLIN, MUNICH = "The office is in Berlin", "The office is in Munich"


class Model:
    """Answers in turn; an error is raised."""

    model = "tiny-1b"

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def ask(self, prompt: str, schema: Mapping[str, Any], *, max_tokens: int) -> Answer:
        await trio.lowlevel.checkpoint()
        self.asked.append(prompt)
        assert schema["additionalProperties"] is False
        answer = self.answers.pop(0)
        if isinstance(answer, MnemonError):
            raise answer
        return Answer(answer, self.model)


class World:
    """A store whose reviews a model answers."""

    def __init__(self, over: Keeping) -> None:
        self.over = over
        self.pairs = 0

    async def pair(self, older: str, newer: str, kind: ReviewKind = "conflict", **fields: Any) -> tuple[str, str]:
        """Two memories, a day apart, and a review about them."""
        ids = insight_id(self.pairs + 1), insight_id(self.pairs + 2)
        self.pairs += 2
        times = [format_us(NOW_US - days * 86_400_000_000) for days in (2, 1)]
        rows = [
            AddInsight(Insight(one, at, at, content=text, valid_from=at, **fields))
            for one, text, at in zip(ids, (older, newer), times, strict=True)
        ]
        asked = OpenReview(kind, *ids, "SUPERSEDE" if kind == "conflict" else "MERGE", 0.7, "why")
        op = f"op-{self.pairs}"
        await self.over.store.write(
            ChangeSet(op, False, "test", times[1], tuple(rows), remembered(None, op), reviews=(asked,))
        )
        return ids

    async def run(self, **fields: Any) -> Done:
        result = await self.over.attendant.run("resolve", **fields)
        assert isinstance(result, Done)
        return result

    def active(self) -> set[str]:
        snapshot = self.over.store.snapshot
        return {insight_id(n) for n in range(1, self.pairs + 1) if snapshot.row_of(insight_id(n)) is not None}

    async def decided(self) -> list[Review]:
        return await self.over.store.read(lambda it: reviews.pending(it, 99, resolved=True))


def rules(mode: str) -> WriteRules:
    return write_rules(None, config_from({"extraction.resolver": mode}))


@asynccontextmanager
async def world(
    path: Path, clock: MockClock, model: Model | None, mode: str = "llm", embedder: Embedder | None = None
) -> AsyncIterator[World]:
    made = 0

    async def desk(_: str) -> ExtractionContext:
        return ExtractionContext(rules(mode), embedder, "no embedder", trio.CapacityLimiter(1), lambda: None)

    def identity(store: str, by: str) -> WriteContext:
        nonlocal made
        made += 1
        return WriteContext(
            id=f"new-{made}", op_id=f"resolve-{made}", client_op_id=False, now_us=NOW_US, store=store,
            request_digest="", triggered_by=by,
        )  # fmt: skip

    async with kept(
        path, clock, ResolveReviews(ModelDeps(desk, identity, one_active, None if model is None else asking(model)))
    ) as over:
        yield World(over)


async def test_nothing_is_asked_by_rules_or_without_a_model(tmp_path: Path, mock_clock: MockClock) -> None:
    for mode, why in (("rules", "extraction.resolver is rules"), ("llm", "no model is configured")):
        (tmp_path / mode).mkdir()
        async with world(tmp_path / mode, mock_clock, None, mode) as over:
            await over.pair(BERLIN, MUNICH)
            assert (await over.run()).detail.startswith(why)
            assert over.over.store.pending_reviews == 1


async def test_a_newer_statement_replaces_an_older_one(tmp_path: Path, mock_clock: MockClock) -> None:
    model = Model({"relation": "newer_replaces_older"})
    async with world(tmp_path, mock_clock, model) as over:
        older, newer = await over.pair(BERLIN, MUNICH)
        assert await over.run(dry_run=True) == Done("done", 1, "reviews would be asked about")
        assert await over.run() == Done("done", 1, "reviews asked about: 1")
        assert model.asked == [f"classify_conflict\n{BERLIN}\n{MUNICH}"]
        assert over.active() == {newer}
        [done] = await over.decided()
        assert (done.asked.older, done.resolution, done.by) == (older, "SUPERSEDE", "system:llm:tiny-1b")
        assert (await over.run()).outcome == "nothing"


@pytest.mark.parametrize(
    ("texts", "kind", "answer"),
    [
        ((BERLIN, MUNICH), "conflict", {"relation": "unrelated"}),
        ((BERLIN, MUNICH), "conflict", {"relation": "same"}),
        ((BERLIN, MUNICH), "conflict", {"relation": "adds_detail"}),
        ((BERLIN, MUNICH), "conflict", {"relation": "delete both"}),
        ((BERLIN, MUNICH), "conflict", ["nonsense"]),
        (("Ana likes tea", "Bob runs the build"), "merge", {"relation": "newer_replaces_older"}),
    ],
)
async def test_an_answer_that_no_gate_admits_changes_nothing(
    tmp_path: Path, mock_clock: MockClock, texts: Sequence[str], kind: ReviewKind, answer: object
) -> None:
    model = Model(answer)
    async with world(tmp_path, mock_clock, model) as over:
        await over.pair(texts[0], texts[1], kind)
        assert (await over.run()).changed == 0
        assert len(over.active()) == 2
        assert over.over.store.pending_reviews == 1
        assert (await over.run()).changed == 0
        assert len(model.asked) == 1  # a person decides


REDIS = ("Redis runs on port 6379", "Redis holds the sessions of Apollo")


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ({"text": "Redis runs on port 6379 and holds the sessions of Apollo"}, "Redis runs on port 6379 and holds the"),
        ({"text": "Redis holds the sessions of Apollo"}, "Redis holds the sessions of Apollo; Redis runs on port 6379"),
        ({"text": ""}, "Redis holds the sessions of Apollo; Redis runs on port 6379"),
        ("no object", "Redis holds the sessions of Apollo; Redis runs on port 6379"),
    ],
)
async def test_a_merge_keeps_every_number_and_name(
    tmp_path: Path, mock_clock: MockClock, text: object, stored: str
) -> None:
    async with world(tmp_path, mock_clock, Model({"relation": "adds_detail"}, text)) as over:
        older, _ = await over.pair(*REDIS, kind="merge", entities=("Redis", "Apollo"))
        assert (await over.run()).changed == 1
        assert over.active() == {older}
        row = over.over.store.snapshot.row_of(older)
        assert row is not None
        assert over.over.store.snapshot.insight(row).content.startswith(stored)


async def test_a_merge_is_embedded(tmp_path: Path, mock_clock: MockClock) -> None:
    model = Model({"relation": "adds_detail"}, {"text": REDIS[0] + "; " + REDIS[1]})
    async with world(tmp_path, mock_clock, model, embedder=ToyEmbedder(EMBEDDER.fingerprint)) as over:
        older, _ = await over.pair(*REDIS, kind="merge")
        assert (await over.run()).changed == 1
        assert over.active() == {older}


async def test_a_memory_that_left_recall_while_the_model_read(
    tmp_path: Path, mock_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolve, "_pair", lambda *_: None)
    async with world(tmp_path, mock_clock, Model()) as over:
        await over.pair(BERLIN, MUNICH)
        assert (await over.run()).changed == 0


async def test_two_that_have_nothing_to_do_with_each_other(tmp_path: Path, mock_clock: MockClock) -> None:
    async with world(tmp_path, mock_clock, Model({"relation": "unrelated"})) as over:
        await over.pair(*REDIS, kind="merge")
        assert (await over.run()).changed == 1
        assert len(over.active()) == 2
        assert over.over.store.pending_reviews == 0


async def test_a_model_that_does_not_answer_leaves_it_to_people(tmp_path: Path, mock_clock: MockClock) -> None:
    away = MnemonError(UNAVAILABLE, "the daily maximum of calls is reached")
    async with world(tmp_path, mock_clock, Model(away, MnemonError(INTERNAL, "a defect"))) as over:
        await over.pair(BERLIN, MUNICH)
        found = await over.run()
        assert found.detail == "left to people: the daily maximum of calls is reached"
        assert over.over.store.pending_reviews == 1
        with pytest.raises(MnemonError, match="a defect"):
            await over.run()


async def test_a_run_that_would_retire_too_many_stops_and_asks(tmp_path: Path, mock_clock: MockClock) -> None:
    answers = [{"relation": "newer_replaces_older"}] * 9
    async with world(tmp_path, mock_clock, Model(*answers)) as over:
        for thing in ("office", "archive", "library", "museum"):
            await over.pair(f"The {thing} is in Berlin", f"The {thing} is in Munich")
        found = await over.run()
        assert (found.outcome, found.changed) == ("stopped", 3)
        assert found.detail.endswith("if that is right: mnemonctl jobs run resolve --yes")
        assert over.over.store.pending_reviews == 1
        assert (await over.run(sure=True)).changed == 1


async def test_a_review_that_is_decided_meanwhile(
    tmp_path: Path, mock_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pairs, "refusal", lambda *_: None)  # it is refused in the writer instead
    async with world(tmp_path, mock_clock, Model({"relation": "newer_replaces_older"})) as over:
        await over.pair(BERLIN, MUNICH, pinned=True)
        assert (await over.run()).changed == 0
        assert len(over.active()) == 2
