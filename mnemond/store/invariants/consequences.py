"""What follows from what a look at an open store found (reliability promise P4): memory that is not what the file says
is read anew, and a file that is not what was written is not written to any more."""

from __future__ import annotations

from collections.abc import Sequence

from mnemond.store.invariants.check import Tier
from mnemond.store.invariants.examination import Finding
from mnemond.store.store import Store


async def heed(store: Store, found: Sequence[Finding], tier: Tier) -> None:
    """Act on the findings of a tier. A full look that finds the file sound lets it be written again.

    Raises MnemonError when the store cannot be read at all.
    """
    if (damage := _said(found, grave=True)) is not None:
        await store.condemn(damage)
    elif (astray := _said(found, grave=False)) is not None:
        await store.reload(f"memory was not what the file says: {astray}")
    elif tier == "full":
        await store.clear()


def _said(found: Sequence[Finding], *, grave: bool) -> str | None:
    """What the first finding of a kind says: about the file, or about memory."""
    for each in found:
        counts = each.check.grave if grave else each.check.needs == "mirror"
        if counts and each.problems:
            return each.problems[0].what
    return None
