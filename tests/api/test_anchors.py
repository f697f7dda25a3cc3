"""What recall begins with, where a question says so or has no words."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemond.api.types_memories import Anchor, RecallParams
from mnemond.errors import MnemonError
from mnemond.model.answers import RecallResult
from mnemond.model.query import ProfileName
from tests.api.factories import CALL, bench
from tests.api.test_filters import ago, remember
from tests.tables import each_row


@each_row(
    ("anchors", "found", "via"),
    [
        (["keyword"], ["Redis was full", "Ana left"], ["keyword", "keyword"]),
        (["entity"], ["Ana left", "Redis was full"], ["entity", "entity"]),
        (["recency"], ["Ana left", "tea at four", "Redis was full"], ["recency"] * 3),
        (["keyword", "entity"], ["Redis was full", "Ana left"], ["hybrid", "hybrid"]),
    ],
)
async def test_what_is_found_is_found_by_the_anchors_that_are_asked_for(
    tmp_path: Path, anchors: list[Anchor], found: list[str], via: list[str]
) -> None:
    async with bench(tmp_path) as over:
        await remember(over, "Redis was full", entities=("Redis",), created_at=ago(3))
        await remember(over, "tea at four", created_at=ago(2))
        await remember(over, "Ana left", entities=("Redis",), importance=5, created_at=ago(1))
        result = await over.reads.recall(CALL, RecallParams(query="was Redis so full?", anchors=anchors))
        assert isinstance(result, RecallResult)
        assert [hit.insight.content for hit in result.results] == found
        assert [hit.via for hit in result.results] == via
        assert all(hit.score > 0.0 for hit in result.results)


@pytest.mark.parametrize("profile", ["mnemond", "mnemon", None])
async def test_no_anchors_at_all_are_refused(tmp_path: Path, profile: ProfileName | None) -> None:
    async with bench(tmp_path) as over:
        with pytest.raises(MnemonError, match="anchors are none: name some of entity, keyword, recency, vector"):
            await over.reads.recall(CALL, RecallParams(query="tea", anchors=[], profile=profile))


async def test_a_question_of_no_words_finds_what_it_names_first(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await remember(over, "Their first album is from 1965", entities=("The Who",), created_at=ago(9))
        await remember(over, "tea at four", created_at=ago(1))
        result = await over.reads.recall(CALL, RecallParams(query="what is it with The Who?"))
        assert isinstance(result, RecallResult)
        told = [(hit.insight.content, hit.via, hit.confidence, hit.signals.entity) for hit in result.results]
        assert told == [
            ("Their first album is from 1965", "hybrid", "medium", 1.0), ("tea at four", "recency", "low", 0.0),
        ]  # fmt: skip
        assert result.meta.hint == "empty_query"
