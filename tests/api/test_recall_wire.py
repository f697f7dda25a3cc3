"""recall on the wire: what is refused and in which words, and which keys an answer always has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from mnemond.api.types_changes import LinkParams
from mnemond.api.types_memories import RecallParams, RememberParams
from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.model.outcomes import RememberResult
from mnemond.model.query import MODES, PROFILES
from mnemond.wire.params import decode_params
from tests.api.factories import CALL, Bench, ToyEmbedder, bench
from tests.tables import each_row

# ------------------------------------------------------------ what is refused


async def refused(over: Bench, **params: Any) -> MnemonError:
    with pytest.raises(MnemonError) as caught:
        await over.reads.recall(CALL, decode_params(RecallParams, msgspec.json.encode({"query": "x", **params})))
    assert caught.value.kind is INVALID_PARAMS
    assert caught.value.outcome == "rejected"
    return caught.value


async def test_every_bad_field_is_told_at_once_and_none_at_length(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        error = await refused(over, mode="x" * 5000, seed=-1, order="y" * 5000, explain=2, profile="z" * 5000)
        assert {problem.field for problem in error.problems} == {"mode", "seed", "order", "explain", "profile"}
        assert all(len(problem.message) < 200 for problem in error.problems)
        late = await refused(over, intent="i" * 5000, now="n" * 5000, as_of="a" * 5000, budget=5)
        assert {problem.field for problem in late.problems} == {"intent", "now", "as_of", "budget"}
        assert all(len(problem.message) < 300 for problem in late.problems)


# ------------------------------------------------------------ what is answered


async def fill(over: Bench, *texts: str, **fields: Any) -> list[str]:
    made = []
    for text in texts:
        result = await over.remembering.remember(CALL, RememberParams(content=text, no_diff=True, **fields))
        assert isinstance(result, RememberResult)
        made.append(result.id or "")
        over.clock.us += 1_000_000
    return made


async def recalled(over: Bench, query: str = "tea", **params: Any) -> dict[str, Any]:
    """The answer as JSON, read back."""
    asked = decode_params(RecallParams, msgspec.json.encode({"query": query, **params}))
    answer: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(await over.reads.recall(CALL, asked)))
    return answer


HIT = {"insight", "score", "intent", "via", "via_all", "confidence", "signals", "path"}
INSIGHT = {
    "id", "content", "category", "importance", "tags", "entities", "source", "access_count", "effective_importance",
    "created_at", "updated_at", "valid_from", "invalid_at", "project", "project_id", "other_project",
}  # fmt: skip
META = {
    "intent", "intent_source", "anchor_count", "traversed", "mode", "weights", "embedding", "window", "hint", "rerank",
    "took_ms",
}  # fmt: skip
SIGNALS = {"keyword", "entity", "similarity", "graph"}


@each_row("profile", PROFILES)
@each_row("embedders", [(), (ToyEmbedder(),)])
async def test_an_answer_has_every_key_of_the_specification(
    tmp_path: Path, profile: str, embedders: tuple[ToyEmbedder, ...]
) -> None:
    async with bench(tmp_path, *embedders) as over:
        one, other = await fill(over, "tea at four", "cake at five")
        await over.changes.link(CALL, LinkParams(source_id=one, target_id=other, type="causal"))
        for mode in (None, *MODES):
            for query in ("tea last week", "the", "unheard of", "why tea"):
                check_keys(await recalled(over, query, profile=profile, mode=mode))


def check_keys(answer: dict[str, Any]) -> None:
    assert answer.keys() == {"results", "meta"}
    assert answer["meta"].keys() >= META
    assert len(answer["meta"]["weights"]) == 4
    assert isinstance(answer["meta"]["rerank"]["applied"], bool)
    for hit in answer["results"]:
        assert hit.keys() >= HIT
        assert hit["insight"].keys() == INSIGHT
        assert hit["signals"].keys() - {"prior"} == SIGNALS
        assert ("prior" in hit["signals"]) is (
            answer["meta"]["profile"] == "mnemosyne" and answer["meta"]["hint"] != "empty_query"
        )
        assert hit["via"] == (hit["via_all"][0] if len(hit["via_all"]) == 1 else "hybrid")
        assert all(step.keys() == {"from", "edge", "weight"} for step in hit["path"])
        assert hit["explanation"] is None


async def test_an_open_window_ends_with_the_last_day_that_can_be_written(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await fill(over, "tea at four")
        since = await recalled(over, "tea since 2024-03-12")
        before = await recalled(over, "tea before 2024-03-12")
        assert since["meta"]["window"]["until"] == "9999-12-31T00:00:00.000000Z"
        assert before["meta"]["window"]["since"] == "0001-01-01T00:00:00.000000Z"
