"""The line about a language model: what is sent where, and what was used."""

from __future__ import annotations

import msgspec

from mnemond.cli.admin import STATS, STATUS, render_top
from mnemond.cli.output import Style
from mnemond.cli.recall import GET
from mnemond.llm.reader import ReaderStatus
from tests.cli import results
from tests.cli.stats_results import STATS as STATS_RESULT
from tests.cli.test_top_text import TOP

READER = ReaderStatus(
    provider="openai", sent="http://localhost:8080", model="qwen", calls_today=12, max_calls=500, tokens_today=3_400,
    max_tokens=0, answered=11, failed=1, waiting="llm.max_calls_per_day is reached (500)",
)  # fmt: skip
LINE = (
    "qwen at http://localhost:8080 gets parts of conversations and memories; today 12 of 500 calls, 3,400 tokens;"
    " 1 of 12 failed; llm.max_calls_per_day is reached (500)"
)


def test_it_is_in_status_stats_and_top() -> None:
    assert STATUS.render is not None
    assert STATS.render is not None
    style = Style()
    for text in (
        STATUS.render(msgspec.structs.replace(results.STATUS, llm=READER), style),
        STATS.render(msgspec.structs.replace(STATS_RESULT, llm=READER), style),
        render_top(msgspec.structs.replace(TOP, llm=READER), style),
    ):
        assert LINE in text


def test_what_came_of_its_answers_is_in_status_and_stats() -> None:
    gates = {"read": 2, "names": 3, "left to the rules": 1}
    line = "  gates       2 memories read by the model: names 3, left to the rules 1\n"
    for command, result in ((STATUS, results.STATUS), (STATS, STATS_RESULT)):
        assert command.render is not None
        assert line in command.render(msgspec.structs.replace(result, gates=gates), Style())


def test_get_says_what_a_model_was_asked_about_a_memory() -> None:
    assert GET.render is not None
    insight = msgspec.structs.replace(
        results.GOT.insight, metadata={"ticket": 7, "model_gates": {"model": "tiny", "told": {"cues": "none\x1b"}}}
    )
    text = GET.render(msgspec.structs.replace(results.GOT, insight=insight), Style())
    assert "  model                 read by tiny: cues: none" in text
    assert '{"ticket":7}' in text
    assert "\x1b" not in text
    bare = msgspec.structs.replace(insight, metadata={"model_gates": {}})
    assert "metadata" not in GET.render(msgspec.structs.replace(results.GOT, insight=bare), Style())
