"""What the configuration says of questions is what questions go by, and what they say themselves goes before it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mnemond.api.types_memories import RecallParams, RememberParams
from mnemond.config.loading import Sources, read, resolve
from mnemond.config.settings import Config
from mnemond.errors import MnemonError
from mnemond.model.answers import RecallResult
from mnemond.model.outcomes import RememberResult
from tests.api.factories import CALL, Bench, bench
from tests.embed.servers import Answer, Request, as_json, serving
from tests.tables import each_row

NOWHERE = Path("/nonexistent/config.toml")
TEXTS = ("tea at four", "green tea", "tea for two and cake", "a tea party")


def configured(*settings: str) -> Config:
    return resolve(read(Sources(NOWHERE, {}, settings))).config


def set_to(**settings: object) -> Config:
    """`retrieval__limit=3` is retrieval.limit."""
    return configured(*(f"{name.replace('__', '.')}={value}" for name, value in settings.items()))


async def fill(over: Bench, *texts: str, **fields: Any) -> list[str]:
    made = []
    for text in texts:
        result = await over.remembering.remember(CALL, RememberParams(content=text, no_diff=True, **fields))
        assert isinstance(result, RememberResult)
        made.append(result.id or "")
        over.clock.us += 1_000_000
    return made


async def recalled(over: Bench, query: str = "tea", **params: Any) -> RecallResult:
    result = await over.reads.recall(CALL, RecallParams(query=query, **params))
    assert isinstance(result, RecallResult)
    return result


async def test_a_seed_may_be_drawn_anew_each_time(tmp_path: Path) -> None:
    random = set_to(retrieval__traversal__mode="probabilistic", retrieval__traversal__seed="random")
    async with bench(tmp_path, config=random) as over:
        await fill(over, *TEXTS)
        seeds = [(await recalled(over)).meta.seed for _ in range(3)]
        assert len({*seeds}) == 3
        assert all(seed is not None and 0 <= seed < 2**53 for seed in seeds)
        assert (await recalled(over, seed=7)).meta.seed == 7
    (tmp_path / "other").mkdir()
    async with bench(tmp_path / "other") as over:
        await fill(over, *TEXTS)
        seeds = [(await recalled(over, mode="probabilistic")).meta.seed for _ in range(2)]
        assert seeds[0] == seeds[1]
        assert (await recalled(over, mode="probabilistic", seed="random")).meta.seed != seeds[0]


async def test_a_model_behind_a_server_reranks_and_its_failure_leaves_the_first_order(tmp_path: Path) -> None:
    broken = False

    def rule(request: Request) -> Answer:
        if broken:
            return as_json({}, 500)
        scored = enumerate(0.9 if "cake" in text else 0.1 for text in request.json["documents"])
        return as_json({"results": [{"index": number, "relevance_score": score} for number, score in scored]})

    with serving(rule) as server:
        config = set_to(
            retrieval__rerank__provider="http", retrieval__rerank__endpoint=server.url,
            retrieval__rerank__late_weight=1,
        )  # fmt: skip
        async with bench(tmp_path, config=config) as over:
            await fill(over, *TEXTS)
            found = await recalled(over, "a green tea party", rerank=True)
            assert found.results[0].insight.content == "tea for two and cake"
            assert (found.meta.rerank.applied, [hit.signals.rerank for hit in found.results][:2]) == (True, [0.9, 0.1])
            assert (await recalled(over, "tea", rerank=True)).results[0].insight.content == "tea for two and cake"
            assert (await recalled(over, "the", rerank=True)).meta.rerank.reason == "short_query"
            assert not (await recalled(over, "a green tea party")).meta.rerank.applied
            assert len(server.requests) == 2
            broken = True
            found = await recalled(over, "a green tea party", rerank=True)
            assert found.results[0].insight.content != "tea for two and cake"
            assert found.meta.rerank.reason == f"the reranking server at {server.url} failed (status 500)"


@each_row(
    ("setting", "sentence"),
    [
        ("retrieval.rerank.provider=onnx", "needs retrieval.rerank.directory, an absolute path"),
        ("retrieval.rerank.provider=http", "needs retrieval.rerank.endpoint"),
    ],
)
def test_a_provider_needs_to_know_where(setting: str, sentence: str) -> None:
    with pytest.raises(MnemonError, match=sentence):
        configured(setting)
