"""What the configuration says of questions is what questions go by, and what they say themselves goes before it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mnemond.api.types_changes import LinkParams
from mnemond.api.types_memories import ContextParams, RecallParams, RememberParams, SearchParams
from mnemond.api.types_stores import StoreCreateParams
from mnemond.api.uses import propose
from mnemond.config.loading import Sources, loaded_from, read, resolve
from mnemond.config.reading import RetrievalSettings
from mnemond.config.settings import Config
from mnemond.errors import MnemonError
from mnemond.model.answers import ContextResult, RecallHit, RecallResult
from mnemond.model.outcomes import RememberResult
from mnemond.recall.profiles import MEMORY_LAYER, MNEMON, MNEMOND, MNEMOSYNE, Profile, default_profile, profile_named
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


def by_text(result: RecallResult) -> Mapping[str, RecallHit]:
    return {hit.insight.content: hit for hit in result.results}


@each_row(
    ("profile", "ranking"),
    [
        ("balanced", MNEMOND),
        ("mnemon", MNEMON),
        ("classic", MNEMON),
        ("mnemosyne", MNEMOSYNE),
        ("mem0", MEMORY_LAYER),
    ],
)
def test_a_profile_of_the_configuration_is_the_ranking_of_that_design(profile: str, ranking: Profile) -> None:
    settings, usual = configured(f"profile={profile}").retrieval, RetrievalSettings()
    assert profile_named(default_profile(settings), settings) == ranking
    assert (settings.limit, settings.rerank_enabled, settings.rerank) == (usual.limit, False, usual.rerank)
    assert (settings.traversal.seed, settings.touch) == ("query", usual.touch)


async def test_so_many_results_as_the_store_says_unless_the_request_does(tmp_path: Path) -> None:
    async with bench(tmp_path, config=set_to(retrieval__limit=3)) as over:
        await fill(over, *TEXTS)
        assert len((await recalled(over)).results) == 3
        assert len((await recalled(over, limit=2)).results) == 2
        found: Any = (await over.search.search(CALL, SearchParams(query="tea"))).results
        assert len(found) == 3
        context = await over.reads.context(CALL, ContextParams(query="tea"))
        assert isinstance(context, ContextResult)
        assert context.shown == 3


async def test_each_store_has_its_own(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await over.named.create(CALL, StoreCreateParams(name="work"))
        (tmp_path / "data" / "work" / "config.toml").write_text("[retrieval]\nlimit = 1\n")
        await fill(over, *TEXTS, store="work")
        await fill(over, *TEXTS)
        assert [len((await recalled(over, store=store)).results) for store in ("work", None)] == [1, 4]


async def test_a_changed_setting_is_taken_up_while_the_store_is_open(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await fill(over, *TEXTS)
        assert len((await recalled(over)).results) == 4
        over.settings.apply_settings(loaded_from(set_to(retrieval__limit=2), NOWHERE))
        over.open_stores.apply_settings()
        assert len((await recalled(over)).results) == 2


async def test_a_second_look_is_had_where_it_is_configured(tmp_path: Path) -> None:
    config = set_to(
        retrieval__rerank_enabled="true", retrieval__rerank__late_weight=1, retrieval__rerank__min_query_tokens=2
    )
    async with bench(tmp_path, config=config) as over:
        await fill(over, *TEXTS)
        result = await recalled(over, "tea party")
        assert result.meta.rerank.applied is True
        assert result.results[0].insight.content == "a tea party"
        assert [hit.score for hit in result.results] == [hit.signals.rerank for hit in result.results]
        assert (await recalled(over, "tea party", rerank=False)).meta.rerank.applied is False
        short = await recalled(over, "tea")
        assert (short.meta.rerank.applied, short.meta.rerank.reason) == (False, "short_query")


async def test_a_rule_lifts_what_it_holds_for(tmp_path: Path) -> None:
    rules = {"retrieval__rerank__rules__important": "true", "retrieval__rerank__late_weight": 0}
    async with bench(tmp_path, config=set_to(**rules)) as over:
        await fill(over, "green tea of the house")
        await fill(over, "green tea of the castle", importance=5)
        found = by_text(await recalled(over, "green tea house castle", rerank=True))
        plain = by_text(await recalled(over, "green tea house castle", rerank=False))
        lifted = {text: found[text].score / plain[text].score for text in found}
        assert lifted == pytest.approx({"green tea of the house": 1.0, "green tea of the castle": 1.05}, abs=1e-4)


async def test_another_ranking_is_had_by_setting_or_by_name(tmp_path: Path) -> None:
    async with bench(tmp_path, config=configured("profile=mnemosyne")) as over:
        await fill(over, *TEXTS)
        walked = await recalled(over)
        assert (walked.meta.profile, walked.meta.mode) == ("mnemosyne", "probabilistic")
        assert 1 <= len(walked.results) <= 5
        assert all(isinstance(hit.signals.prior, float) for hit in walked.results)
        usual = await recalled(over, profile="mnemond")
        assert (usual.meta.profile, usual.meta.mode, len(usual.results)) == ("mnemond", "none", 4)
        assert usual.results[0].signals.prior is msgspec.UNSET


async def test_numbers_of_a_store_are_not_those_of_a_ranking_that_is_named(tmp_path: Path) -> None:
    async with bench(tmp_path, config=set_to(retrieval__traversal__mode="ppr")) as over:
        await fill(over, *TEXTS)
        assert (await recalled(over)).meta.mode == "ppr"
        assert (await recalled(over, mode="none")).meta.mode == "none"
        assert (await recalled(over, profile="mnemon")).meta.mode == "beam"


async def test_what_was_read_often_goes_first_where_the_prior_decides(tmp_path: Path) -> None:
    for weight, first in ((0, "green tea"), (1, "tea at four")):
        (tmp_path / str(weight)).mkdir()
        async with bench(tmp_path / str(weight), config=set_to(retrieval__prior__weight=weight)) as over:
            names = await fill(over, "tea at four", "green tea")
            warm = await over.warm()
            await over.changes.link(CALL, LinkParams(source_id=names[0], target_id=names[1], type="semantic"))
            uses = propose({names[0]: 3}, over.identities.own("default", "system:recall"))
            warm.store.submit(uses, lambda done: None)
            await warm.store.read(lambda connection: None)  # what was handed over before is written then
            result = await recalled(over, touch=False)
            assert result.results[0].insight.content == first


@each_row(
    ("policy", "least", "counted"),
    [("confident", 0.25, 1), ("any", 0, 2), ("any", 0.99, 0), ("never", 0, 0), ("confident", 0.99, 0)],
)
async def test_which_results_count_as_used(tmp_path: Path, policy: str, least: float, counted: int) -> None:
    config = set_to(retrieval__touch__policy=policy, retrieval__touch__min_score=least)
    async with bench(tmp_path, config=config) as over:
        await fill(over, "tea at four", "a long story about the weather, in which tea is named once, at the very end")
        result = await recalled(over, "tea at four")
        assert [hit.confidence for hit in result.results] == ["high", "low"]
        assert len(over.used) == counted


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


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("retrieval.rerank.provider=onnx", "needs retrieval.rerank.directory, an absolute path"),
        ("retrieval.rerank.provider=http", "needs retrieval.rerank.endpoint"),
    ],
)
def test_a_provider_needs_to_know_where(setting: str, sentence: str) -> None:
    with pytest.raises(MnemonError, match=sentence):
        configured(setting)
