"""Whether a store may be taken away from those who use it."""

from __future__ import annotations

from mnemond.errors import BUSY, MnemonError
from mnemond.handlers.embed_keeper import EmbedKeeper


def refuse_busy(keeper: EmbedKeeper, name: str) -> None:
    """Raises MnemonError(BUSY) while memories of a store are embedded because somebody asked for it. What is written
    and read just now is no reason: it is finished before the store is closed."""
    if keeper.is_asked(name):
        raise MnemonError(
            BUSY,
            f'memories of the store "{name}" are being embedded',
            hint="`mnemonctl embed --status` says how far it is; repeat when it is done",
            outcome="rejected",
        )
