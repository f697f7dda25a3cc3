"""Texts on their way through an embedder: in threads, batch by batch, with those it refuses set aside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import trio

from mnemond.embed.embedder import Embedder
from mnemond.errors import UNAVAILABLE, MnemonError
from mnemond.handlers.ward import Tally, Ward
from mnemond.pipelines.embedding import Answered, Text, embed_each

T = TypeVar("T")

THREADS: Final = 4
"""Stores embedded in the background at once."""

INLINE_BATCH: Final = 64
"""Texts a batch where embedding takes microseconds; elsewhere a batch is a request (embedding.batch_size)."""


class Batches:
    """What all background embedding has in common. For the event loop's thread."""

    def __init__(self, size: int) -> None:
        """`size`: texts a request to an embedder that is not inline."""
        self._size = size
        self._threads = trio.CapacityLimiter(THREADS)

    async def in_thread(self, work: Callable[..., T], *args: object) -> T:
        """`work(*args)` where it may take long; it must not matter when a stop does not wait for it."""
        return await trio.to_thread.run_sync(work, *args, abandon_on_cancel=True, limiter=self._threads)

    def cut(self, embedder: Embedder, texts: Sequence[Text]) -> list[Sequence[Text]]:
        """The texts in batches of the right size."""
        size = INLINE_BATCH if embedder.inline else self._size
        return [texts[at : at + size] for at in range(0, len(texts), size)]

    async def embedded(self, ward: Ward, embedder: Embedder, texts: Sequence[Text], tally: Tally) -> list[Answered]:
        """The vectors of one batch, without the texts that were refused: those are counted.

        Raises MnemonError(UNAVAILABLE) when the embedder is not to be had.
        """
        answers, refused = await self.in_thread(embed_each, embedder, texts)
        tally.failed += len(refused)
        for insight_id in refused:
            ward.refused(insight_id)
        return answers


def refuses(embedder: Embedder, count: int) -> MnemonError:
    """Why a pass has to be repeated for some texts."""
    return MnemonError(UNAVAILABLE, f"{embedder.name} refuses {count} of the texts", hint="see the log of its server")
