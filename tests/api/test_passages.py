"""recall finds what was said in sessions; get shows the exchange."""

from __future__ import annotations

from pathlib import Path

from mnemond.api.requests import Identities
from mnemond.api.types_memories import RecallParams
from mnemond.hooks.memory import ExchangeQueue
from mnemond.model.answers import CompactResult, ContextResult, RecallResult
from mnemond.model.changes import QueuedExchange
from mnemond.model.memory import format_us
from tests.api.factories import CALL, NOW_US, Bench, bench

SAID = [
    ("the nightly import died again", "Found it: two rows have the same amendment_seq."),
    ("and the uploads?", "They got 413 from the ingress."),
    ("ok, go on", "Both are mended."),
]
PREFIX = 8


async def tell(over: Bench) -> None:
    queue = ExchangeQueue(Identities(over.clock, over.ids))
    warm = await over.open_stores.open("default")
    for number, (prompt, reply) in enumerate(SAID):
        over.clock.us += 60_000_000
        await queue.keep(
            warm,
            QueuedExchange(
                host="codex", conversation_id="c1", prompt=prompt, reply=reply, at_us=NOW_US + number, key=f"k{number}"
            ),
        )


async def test_recall_returns_a_passage_in_every_form(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        await tell(over)
        question = "why did the import die, the amendment_seq"
        full = await over.reads.recall(CALL, RecallParams(query=question))
        assert isinstance(full, RecallResult)
        hit = full.results[0]
        assert (hit.kind, hit.session) == ("passage", f"session of {format_us(NOW_US)[:10]}, user/assistant")
        assert hit.insight.content == " ".join(SAID[0])
        short = await over.reads.recall(CALL, RecallParams(query=question, compact=True))
        assert isinstance(short, CompactResult)
        assert (short.results[0].kind, short.results[0].id) == ("passage", hit.insight.id)
        text = await over.reads.recall(CALL, RecallParams(query=question, context=True, min_confidence="low"))
        assert isinstance(text, ContextResult)
        assert f"<{hit.session}> {hit.insight.content} <ref:{hit.insight.id[:PREFIX]}>" in text.text
        for without in ({"sessions": False}, {"kind": "memory"}):
            none = await over.reads.recall(CALL, RecallParams(query=question, **without))
            assert isinstance(none, RecallResult)
            assert none.results == []
        assert over.used == []
