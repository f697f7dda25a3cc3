"""reviews and resolve as methods: what is listed, what is refused, and repeats by op_id."""

from __future__ import annotations

from pathlib import Path

from mnemond.api.reviews import ReviewHandlers
from mnemond.api.types_changes import ResolveParams, ReviewsParams
from mnemond.api.types_memories import RememberParams
from tests.api.factories import CALL, Bench, bench


async def disputed(over: Bench) -> ReviewHandlers:
    for place in ("Berlin", "Munich"):
        await over.remembering.remember(CALL, RememberParams(content=f"The office is in {place}"))
    return ReviewHandlers(over.open_stores, over.identities)


async def test_a_pair_is_listed_with_both_texts_and_its_end(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        handlers = await disputed(over)
        found = await handlers.reviews(CALL, ReviewsParams())
        [it] = found.reviews
        assert (found.total, it.id, it.kind, it.suggestion) == (1, 1, "conflict", "SUPERSEDE")
        assert (it.older.content, it.newer.content) == ("The office is in Berlin", "The office is in Munich")
        assert (it.created_at[:10], it.expires_at[:10]) == ("2026-02-02", "2026-02-16")
        assert (it.older.status, it.resolved_at) == ("active", None)


async def test_a_secret_is_cut_out_of_a_text(tmp_path: Path) -> None:
    async with bench(tmp_path) as over:
        handlers = await disputed(over)
        text = "In Berlin, then in Munich; password=hunter2Xk9qLmT4"
        done = await handlers.resolve(CALL, ResolveParams(id=1, resolution="MERGE", content=text))
        assert done.redacted == ["password"]
        assert "hunter2" not in str(done.content)
