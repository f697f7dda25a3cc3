"""remember and diff from parameters to result: every key is there, and no secret gets anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from mnemond.api.remember import RememberHandlers
from mnemond.api.types_memories import DiffParams, RememberParams
from mnemond.embed.embedder import Purpose
from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.model.answers import DiffResult
from mnemond.model.changes import Vector
from mnemond.model.outcomes import RememberResult
from tests.api.factories import CALL, Bench, ToyEmbedder, bench
from tests.tables import each_row

KEYS = {
    "id", "action", "diff_suggestion", "replaced_id", "duplicate_of", "similarity", "matched_id", "reason",
    "edges_created", "semantic_candidates", "causal_candidates", "quality_warnings", "quality_details", "embedded",
    "effective_importance", "auto_pruned", "redundancy", "substance", "trigger_type", "hypothetical_queries",
    "conflicts", "scope", "store", "op_id", "category", "importance", "tags", "entities",
}  # fmt: skip
"""Of spec 8, step 5: always present."""

SECRET = "AKIA" + "PIX6EA6QOM66ZJOJ"


class Listening(ToyEmbedder):
    """Two dimensions: how many words, and how many of them are tea. Notes every text."""

    def __init__(self, *, inline: bool = True) -> None:
        super().__init__(inline=inline)
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str], *, purpose: Purpose = "document") -> list[Vector | None]:
        self.texts += texts
        super().embed(texts, purpose=purpose)
        words = [(len(text.split()), text.count("tea")) for text in texts]
        return [np.array(pair, dtype=np.float32) / np.float32(np.hypot(*pair)) for pair in words]


async def remember(over: Bench, content: str, **more: object) -> RememberResult:
    result = await over.remembering.remember(CALL, RememberParams(content=content, **more))  # type: ignore[arg-type]
    assert isinstance(result, RememberResult)
    return result


async def diff(over: Bench, content: str, **more: object) -> DiffResult:
    result = await over.remembering.diff(CALL, DiffParams(content=content, **more))  # type: ignore[arg-type]
    assert isinstance(result, DiffResult)
    return result


def files_with(path: Path, text: str) -> list[Path]:
    return [file for file in path.rglob("*") if file.is_file() and text.encode() in file.read_bytes()]


def keys_of(result: RememberResult) -> set[str]:
    return set(msgspec.json.decode(msgspec.json.encode(result)))


async def test_every_key_is_there_whatever_becomes_of_it(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        added = await remember(over, "API rate limit is 100 req/s")
        results = {
            "added": added,
            "skipped": await remember(over, "api rate limit is 100 req/s."),
            "replaced": await remember(over, "API rate limit is 200 req/s"),
            "discarded": await remember(over, "ok thanks", channel="hook"),
            "rehearsed": await remember(over, "tea", dry_run=True),
        }
        assert {name: result.action for name, result in results.items()} == {
            "added": "added", "skipped": "skipped", "replaced": "replaced", "discarded": "discarded",
            "rehearsed": "added",
        }  # fmt: skip
        for result in results.values():
            assert keys_of(result) >= KEYS
        assert results["rehearsed"].id is None
        assert results["skipped"].id == results["skipped"].duplicate_of == results["replaced"].replaced_id == added.id
        assert (results["discarded"].id, results["discarded"].effective_importance) == (None, 0.0)
        assert (await over.warm()).store.snapshot.live == 1


async def test_the_reply_says_how_it_is_stored(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        added = await remember(
            over, "Chose Qdrant over Milvus", category="decision", importance=5, tags=("search", f"key {SECRET}"),
            entities=("Qdrant", "Qdrant"),
        )  # fmt: skip
        said = (added.category, added.importance, added.tags, added.entities)
        assert added.id is not None
        stored = (await over.warm()).store.snapshot.insight(0)
        assert said == (stored.category, stored.importance, stored.tags, stored.entities)
        assert said[:2] == ("decision", 5)
        assert added.tags[0] == "search"
        assert SECRET not in str(added)
        assert {"Qdrant", "Milvus"} <= {*added.entities}
        skipped = await remember(over, "chose qdrant over milvus.", tags=("other",))
        assert (skipped.action, skipped.category, skipped.importance) == ("skipped", "decision", 5)
        discarded = await remember(over, "ok thanks", channel="hook", importance=4, tags=("a",))
        assert (discarded.category, discarded.importance, discarded.tags, discarded.entities) == (None, None, (), ())
        rehearsed = await remember(over, "tea at four", category="fact", tags=("t",), dry_run=True)
        assert (rehearsed.id, rehearsed.category, rehearsed.tags) == (None, "fact", ("t",))


async def test_a_dry_run_names_only_a_row_that_there_is(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        first = await remember(over, "API rate limit is 100 req/s")
        replaced = await remember(over, "API rate limit is 200 req/s", dry_run=True)
        assert (replaced.action, replaced.replaced_id, replaced.id) == ("replaced", first.id, None)
        added = await remember(over, "tea at four", dry_run=True)
        assert (added.action, added.id) == ("added", None)
        skipped = await remember(over, "api rate limit is 100 req/s.", dry_run=True)
        assert (skipped.action, skipped.id) == ("skipped", first.id)


async def test_the_causes_near_a_new_memory_are_shown_for_somebody_to_judge(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        first = await remember(over, "Mornings in the harbour")
        result = await remember(over, "We bought coffee because mornings are hard")
        [candidate] = result.causal_candidates
        assert (candidate.id, candidate.content) == (first.id, "Mornings in the harbour")
        assert (candidate.hop, candidate.via_edge, candidate.causal_signal) == (1, "temporal", "because")
        assert (candidate.suggested_sub_type, candidate.suggested_direction) == ("causes", "from_candidate")
        again = await remember(over, "We bought coffee because mornings are hard")
        assert again.causal_candidates == []


@each_row("inline", [True, False])
async def test_no_secret_gets_anywhere(tmp_path: Path, inline: bool) -> None:
    embedder = Listening(inline=inline)
    async with bench(tmp_path, embedder) as over:
        result = await remember(over, f"the key is {SECRET}", tags=[SECRET], entities=[SECRET], op_id="mine")
        assert result.redacted == ["aws_access_key"]
        twice = await remember(over, f"the key is {SECRET}", tags=[SECRET], entities=[SECRET], op_id="mine")
        assert twice.replayed is True
        compared = await diff(over, f"the key is {SECRET} of the team")
        for answer in (result, twice, compared):
            assert SECRET.encode() not in msgspec.json.encode(answer)
    assert embedder.texts
    assert not [text for text in embedder.texts if SECRET in text]
    assert files_with(tmp_path, "the key is")
    assert files_with(tmp_path, SECRET) == []


async def test_a_secret_among_the_names_is_refused_by_what_would_store_it(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        with pytest.raises(MnemonError, match=r"user_id looks like a secret \(aws_access_key\): give it another value"):
            await remember(over, "we drink tea", user_id=SECRET)
        assert (await over.warm()).store.snapshot.live == 0
        assert (await diff(over, "we drink tea", user_id=SECRET)).suggestion == "ADD"  # stores nothing
        assert over.remembering.diff_problems({"user_id": SECRET}) == []
        kept = await remember(over, "we drink tea", user_id=SECRET, allow_secret=True)
        assert kept.scope.user_id == SECRET


async def test_a_secret_that_is_meant_to_be_kept_is_kept(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        result = await remember(over, f"the key is {SECRET}", allow_secret=True)
        assert result.redacted == []
        snapshot = (await over.warm()).store.snapshot
        assert SECRET in snapshot.insight(0).content


async def test_everything_wrong_is_told_at_once_and_nothing_is_written(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        with pytest.raises(MnemonError) as caught:
            await over.remembering.remember(CALL, RememberParams(content="", importance=9))
        assert caught.value.kind is INVALID_PARAMS
        assert [problem.field for problem in caught.value.problems] == ["content", "importance"]
        with pytest.raises(MnemonError):
            await over.remembering.diff(CALL, DiffParams(content=""))
        assert [problem.field for problem in RememberHandlers.problems({"importance": 9})] == ["importance"]


@each_row(
    "metadata",
    [
        {"a": {"b": 1}}, {"a": [[1]]}, {"a": 2**63}, {"a": "x" * 4096}, {"dates": ["2025-03-05"]},
        {"password": ["Tr0ub4dor&3"] * 250},
    ],
)  # fmt: skip
async def test_metadata_that_cannot_be_kept_are_refused_whole(tmp_path: Path, metadata: dict[str, object]) -> None:
    async with bench(tmp_path) as over:
        with pytest.raises(MnemonError) as refused:
            await remember(over, "tea", metadata=metadata)
        assert refused.value.kind is INVALID_PARAMS
        assert [problem.field for problem in refused.value.problems] == ["metadata"]
        assert (await over.warm()).store.snapshot.live == 0


async def test_no_secret_of_the_metadata_is_stored_unless_wanted(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        result = await remember(over, "tea", metadata={"password": "Tr0ub4dor&3", "ticket": 7, SECRET: [SECRET]})
        assert result.redacted == ["aws_access_key", "password"]
        assert files_with(tmp_path, "Tr0ub4dor&3") == files_with(tmp_path, SECRET) == []
        kept = await remember(over, "coffee", metadata={"password": "Tr0ub4dor&3"}, allow_secret=True)
        assert kept.redacted == []
        assert files_with(tmp_path, "Tr0ub4dor&3")
