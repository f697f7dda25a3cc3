"""What the commands that change a memory show alike."""

from __future__ import annotations

from collections.abc import Sequence

from mnemond.commands.layout import plural
from mnemond.commands.terminal import one_line
from mnemond.protocol.remembering import EdgesCreated

DONE_BEFORE = " (done before, with the same op_id)"


def new_links(edges: EdgesCreated) -> str:
    """How many links a memory got, "" for none."""
    count = edges.temporal + edges.entity + edges.causal + edges.semantic
    return f", {plural(count, 'new link')}" if count else ""


def remarks(
    embed_error: str | None, redacted: Sequence[str] = (), warnings: Sequence[str] = ()
) -> tuple[str | None, ...]:
    """Lines below the first: what was taken out, what is doubtful, why there is no vector."""
    return (
        f"  redacted: {one_line(', '.join(redacted))} (--allow-secret keeps it)" if redacted else None,
        *(f"  {one_line(warning)}" for warning in warnings),
        f"  not embedded: {one_line(embed_error)}" if embed_error else None,
    )
