"""The record of sessions is embedded in the background: what lacks vectors, and all of it anew by another embedder."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mnemond.model.changes import ChangeSet
from mnemond.model.memory import format_us
from mnemond.model.outcomes import Maintained
from mnemond.model.passages import KeepPassage, Passage
from mnemond.text.passages import PIECE, pieces
from tests.api.embedders import Words, kept, until
from tests.api.factories import NOW_US, Bench

LONG = "The cache was stale. " * (3 * PIECE // 20)


async def keep(over: Bench, *texts: str) -> list[Passage]:
    said = [Passage(id=f"passage-{each[:12]}", said_at=format_us(NOW_US), host="codex", prompt=each) for each in texts]
    warm = await over.open_stores.open("default")
    await warm.store.write(
        ChangeSet(
            op_id=f"keep-{texts[0][:9]}", client_op_id=False, method="queue", now=format_us(NOW_US), changes=(),
            outcome=Maintained(op_id="keep"), operation="", passages=tuple(KeepPassage(it, it.id) for it in said),
        )
    )  # fmt: skip
    over.worker.request_backfill("default")
    return said


async def stored(over: Bench) -> dict[str, tuple[str | None, int | None]]:
    warm = await over.open_stores.open("default")
    rows = await warm.store.read(lambda it: it.rows("SELECT prompt, embedded_by, length(embedding) FROM passages"))
    return {prompt[:12]: (by, size) for prompt, by, size in rows}


async def test_passages_without_vectors_get_them(tmp_path: Path) -> None:
    """One of every piece; a text without a known word is not tried again; a store opens with what it has."""
    words = Words()
    async with kept(tmp_path, words) as over:
        one, long, _ = await keep(over, "why is the build red", LONG, "…")
        warm = await over.open_stores.open("default")
        await until(lambda: warm.store.passages.without_vector() == ["passage-…"])
        said = warm.store.passages
        assert np.allclose(said.cosines(words.vector(one.prompt))[said.row_of(one.id)], 1.0, atol=0.005)  # type: ignore[arg-type]
        assert await stored(over) == {
            one.prompt[:12]: (words.fingerprint, 32), long.prompt[:12]: (words.fingerprint, 32 * len(pieces(long))),
            "…": (words.fingerprint, 0),
        }  # fmt: skip
        asked = len(words.asked)
        await keep(over, "another one")
        await until(lambda: warm.store.passages.without_vector() == ["passage-…"])
        assert words.texts[-1] == "another one"
        assert len(words.asked) == asked + 1
    async with kept(tmp_path, words) as over:
        warm = await over.open_stores.open("default")
        assert warm.store.passages.without_vector() == ["passage-…"]
