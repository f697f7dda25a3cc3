"""Where embedders come from, as those who need one see it; `Embedders` is the real one."""

from __future__ import annotations

from typing import Protocol

from mnemond.embed.embedder import Embedder


class Supply(Protocol):
    """For any thread without an event loop; every method may block for seconds."""

    @property
    def wants(self) -> bool:
        """Whether new stores shall have an embedder."""
        ...

    @property
    def lacking(self) -> str | None:
        """Why the embedder of new stores was not to be had when it was last asked for; None when it was."""
        ...

    def preferred(self) -> Embedder | None:
        """The embedder of new stores; None when there shall be none. Raises MnemonError(UNAVAILABLE)."""
        ...

    def named(self, provider: str, model: str | None) -> Embedder:
        """The one a person asks for. Raises MnemonError(CONFIG), MnemonError(UNAVAILABLE)."""
        ...

    def of_record(self, name: str, dimension: int, fingerprint: str) -> Embedder:
        """The one a store was made with; one behind an endpoint is not asked yet. Raises MnemonError(UNAVAILABLE)."""
        ...

    def forget(self) -> None:
        """Have every embedder let go of what it kept of texts. Never blocks, unlike all else; for the event loop."""
        ...
