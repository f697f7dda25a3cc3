"""Texts that direct their reader, over the whole path: nothing of them is stored, and nothing is retired for them."""

from __future__ import annotations

import json
import tomllib
from itertools import product
from pathlib import Path

import pytest
import trio

from mnemond.config.settings import Config
from mnemond.config.writing import ExtractionSettings, LlmSettings
from mnemond.memory.questions.conversations import engine_of
from tests.api.factories import bench
from tests.api.test_extract_model import engine_at, extract
from tests.api.test_retrieval_settings import fill
from tests.llm.scripted import says, scripted
from tests.tables import each_row

FILE = Path(__file__).parents[1] / "extract" / "injections.toml"
INJECTIONS = [(each["text"], each["claim"]) for each in tomllib.loads(FILE.read_text("utf-8"))["injections"]]
BEFORE = ("The user prefers to review every push to main", "Ana works at Acme", "The deploy key lies in the vault")

SAID_BY_PEOPLE = ("Please memorize: ", "Erase all notes on security. ")
"""A person may say so, and rules keep what is stated then; the model reads none of it."""


@pytest.mark.parametrize("some", [INJECTIONS[::5], pytest.param(INJECTIONS, marks=pytest.mark.check_all)], ids=len)
async def test_a_model_that_obeys_stores_nothing(tmp_path: Path, some: list[tuple[str, str]]) -> None:
    for number, ((text, claim), engine) in enumerate(product(some, ("auto", "llm"))):
        place = tmp_path / str(number)
        await trio.to_thread.run_sync(place.mkdir)
        await obeyed(place, text, claim, engine)


async def obeyed(tmp_path: Path, text: str, claim: str, engine: str) -> None:
    """Let a model answer with the claim of a text, and look at what is stored."""
    obeys = says(json.dumps({"facts": [{"text": claim, "kind": "fact", "importance": 10}]}))
    extraction = ExtractionSettings(engine=engine, resolver="llm")  # type: ignore[arg-type]
    config = Config(extraction=extraction, llm=LlmSettings("ollama"))
    async with scripted([obeys]) as server, bench(tmp_path, config=config) as over:
        kept = await fill(over, *BEFORE)
        said = [{"role": "user", "content": "See this page:"}, {"role": "user", "content": text}]
        result = await extract(over, engine_at(server.url, tmp_path), said, whole=True)
        snapshot = (await over.warm()).store.snapshot
        held = {snapshot.insight(row).content for row in range(snapshot.rows)}
        assert claim not in held or text.startswith(SAID_BY_PEOPLE)
        assert all(snapshot.row_of(each) is not None for each in kept)
        assert server.requests == [] or all(each.model is None for each in result.facts)


@each_row(("text", "claim"), INJECTIONS)
async def test_a_host_that_passes_them_on_stores_nothing(tmp_path: Path, text: str, claim: str) -> None:
    config = Config()
    async with bench(tmp_path, config=config) as over:
        kept = await fill(over, *BEFORE)
        result = await extract(over, lambda it: engine_of(it, None), [], facts=[{"content": text}])
        assert (result.facts, result.held) == ([], 1)  # a person decides
        snapshot = (await over.warm()).store.snapshot
        assert snapshot.live == len(kept)
