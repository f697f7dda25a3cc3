"""The configuration as programs are told it, and that each store goes by its own."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from mnemond.api.types_daemon import ConfigShowParams, ConfigShowResult, StatusResult
from mnemond.api.types_stores import StoreCreateParams
from mnemond.config.loading import FILE, SETTINGS
from mnemond.errors import CONFIG, INVALID_PARAMS, NOT_FOUND, MnemonError
from mnemond.wire.params import StoreParams
from tests.api.factories import CALL, Bench, bench


async def shown(over: Bench, **params: object) -> ConfigShowResult:
    return await over.configuration.show(CALL, ConfigShowParams(**params))  # type: ignore[arg-type]  # as on the wire


def values(result: ConfigShowResult) -> dict[str, object]:
    return {each.path: each.value for each in result.settings}


def write(over: Bench, store: str, text: str) -> Path:
    path = over.stores.path(store).with_name(FILE)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


async def cap(over: Bench, store: str) -> int:
    result = await over.daemon.status(CALL, StoreParams(store=store))
    assert isinstance(result, StatusResult)
    return result.max_insights


async def test_every_setting_is_told_with_its_origin(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        own = write(over, "default", "\n[lifecycle]\nmax_insights = 7\n")
        result = await shown(over, origin=True)
        assert [each.path for each in result.settings] == list(SETTINGS)
        assert (result.store, result.waiting, result.refused) == ("default", [], None)
        assert result.files == [str(tmp_path / FILE), str(own)]
        by_path = {each.path: each for each in result.settings}
        mine = by_path["lifecycle.max_insights"]
        assert (mine.value, mine.default, mine.origin) == (7, 1000, f"{own}:3")
        assert by_path["diff.update"].origin == "default"
        assert (await shown(over)).settings[0].origin is msgspec.UNSET


async def test_one_table_or_one_setting(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        assert set(values(await shown(over, below="vector.hnsw"))) == {
            "vector.hnsw.m", "vector.hnsw.ef_construction", "vector.hnsw.ef_search",
        }  # fmt: skip
        assert values(await shown(over, below="diff.update")) == {"diff.update": 0.65}
        with pytest.raises(MnemonError, match="no setting or table 'dif'") as unknown:
            await shown(over, below="dif")
        assert (unknown.value.kind, unknown.value.hint) == (INVALID_PARAMS, "did you mean diff?")
        with pytest.raises(MnemonError) as missing:
            await shown(over, store="shop")
        assert missing.value.kind is NOT_FOUND


async def test_each_store_goes_by_its_own_file(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        write(over, "shop", "[lifecycle]\nmax_insights = 7\n")
        for name in ("shop", "home"):
            await over.named.create(CALL, StoreCreateParams(name=name))
        assert (await cap(over, "shop"), await cap(over, "home")) == (7, 1000)
        assert (await over.warm("shop")).config.lifecycle.max_insights == 7


async def test_a_file_that_cannot_be_used_keeps_its_store_closed_and_no_other(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        for name in ("shop", "home"):
            await over.named.create(CALL, StoreCreateParams(name=name))
        path = write(over, "shop", "[diff]\nupdat = 1\n")
        for _ in range(2):
            with pytest.raises(MnemonError, match=r'unknown key "diff\.updat"; did you mean "diff\.update"') as refused:
                await over.warm("shop")
            assert refused.value.kind is CONFIG
            assert f"{path}:2" in refused.value.message
        assert await cap(over, "home") == 1000
        path.unlink()
        assert await cap(over, "shop") == 1000


async def test_an_open_store_keeps_what_it_has_and_says_what_waits(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        own = write(over, "default", "[lifecycle]\nmax_insights = 7\n")
        await over.warm()
        own.write_text("[lifecycle]\nmax_insights = 8\n")
        result = await shown(over, below="lifecycle.max_insights")
        assert (values(result), result.waiting) == ({"lifecycle.max_insights": 7}, ["lifecycle.max_insights"])
        own.write_text("[lifecycle]\nmax_insights = -8\n")
        result = await shown(over, below="lifecycle.max_insights")
        assert values(result) == {"lifecycle.max_insights": 7}
        assert f"{own}:2: lifecycle.max_insights: expected" in str(result.refused)
