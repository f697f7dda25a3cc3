"""What recall begins with, where a question says so or has no words."""

from __future__ import annotations

from pathlib import Path

import pytest

from mnemond.api.types_memories import RecallParams
from mnemond.errors import MnemonError
from mnemond.model.answers import RecallResult
from mnemond.model.query import ProfileName
from tests.api.factories import CALL, bench
from tests.api.test_filters import ago, remember
from tests.tables import each_row


@each_row("profile", ["mnemond", "mnemon", None])
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
