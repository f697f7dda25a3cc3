"""Questions to a server nobody here wrote: llama.cpp's, with a small language model, on this machine.

`make llm` installs both; `make check-all` does. The model is too small to find
facts: what is tested is the schema, the end of a reply, cancellation and the count.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import trio

from mnemond.llm.budget import SpentError
from mnemond.llm.replies import TruncatedError
from tests.embed.test_real_server import server
from tests.llm.scripted import Bench, Kept

pytestmark = pytest.mark.slow

YES_OR_NO = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["answer"],
    "additionalProperties": False,
}
PATIENCE_S = 300.0


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    running = server(embedding=False)
    yield running.listening_address
    del running


def reader(url: str, kept: Kept | None = None) -> Bench:
    found = Bench(url, kept, timeout_s=PATIENCE_S)
    found.reader._now_s, found.reader._sleep = trio.current_time, trio.sleep
    return found


async def test_the_schema_is_enforced_and_the_tokens_are_counted(url: str) -> None:
    kept = Kept()
    bench = reader(url, kept)
    answer = await bench.reader.ask("Is Lisbon a city? Answer with JSON.", YES_OR_NO, max_tokens=40)
    assert answer.value["answer"] in ("yes", "no")
    assert answer.prompt_tokens > 0
    assert bench.reader.status().tokens_today == answer.prompt_tokens + answer.completion_tokens
    assert reader(url, kept).reader.status().calls_today == 1


async def test_a_reply_that_is_cut_off_is_known_as_such(url: str) -> None:
    long = {"type": "object", "properties": {"text": {"type": "string", "minLength": 500}}, "required": ["text"]}
    with pytest.raises(TruncatedError):
        await reader(url).reader.ask("Tell a long story as JSON.", long, max_tokens=10)


async def test_a_question_can_be_cancelled_and_the_next_is_answered(url: str) -> None:
    bench = reader(url)
    with trio.move_on_after(0.2) as scope:
        await bench.reader.ask("Write a story as JSON.", {"type": "object"}, max_tokens=500)
    assert scope.cancelled_caught
    assert (await bench.reader.ask("Is water wet? Answer with JSON.", YES_OR_NO, max_tokens=40)).value


async def test_a_daily_maximum_ends_the_questions(url: str) -> None:
    bench = Bench(url, timeout_s=PATIENCE_S, max_calls_per_day=1)
    bench.reader._now_s, bench.reader._sleep = trio.current_time, trio.sleep
    assert (await bench.reader.ask("Is water wet? Answer with JSON.", YES_OR_NO, max_tokens=40)).value
    with pytest.raises(SpentError):
        await bench.reader.ask("Is snow cold? Answer with JSON.", YES_OR_NO, max_tokens=40)
    assert len(bench.warnings) == 1
