"""Every invariant, and which of them are looked at when.

Some of the reliability notes have another form here: I2 and I3 compare rows with the mirror, because vectors stand in
the rows of their memories; I6 looks at the postings in memory, because there is no full-text table; M7 counts the
mirror again instead of keeping a digest, so that writes do no work for it; M8 asks SQLite whether somebody else wrote.
"""

from __future__ import annotations

from typing import Final

from mnemond.store.invariants import files, links, mirror, rows, schema, words
from mnemond.store.invariants.check import Check, Tier

CHECKS: Final = (
    Check("F1", "files", "tick", "the store's files are private, and its log is short", files.modes),
    Check("M7", "mirror_totals", "tick", "what memory keeps count of adds up", mirror.totals, "mirror"),
    Check("M8", "sole_writer", "tick", "no other program has written", files.sole_writer, "session"),
    Check("I1", "schema", "fast", "version, tables and durability are as they should be", schema.schema),
    Check("I2", "counts", "fast", "memory has as many memories, vectors and links", mirror.counts, "mirror"),
    Check("I3", "vectors_there", "fast", "a memory has a vector in both or in none", mirror.vectors_there, "mirror"),
    Check("I5", "ranges", "fast", "importance and times are possible ones", rows.ranges),
    Check("I8", "log", "fast", "the log has no gap", rows.log),
    Check("I8", "high_water", "fast", "it reaches as far as it ever did", files.went_backwards),
    Check("I9", "vector_shapes", "fast", "vectors are as long as they should be", rows.vector_shapes),
    Check("M1", "unit_vectors", "fast", "vectors in memory have length 1", mirror.unit_vectors, "mirror"),
    Check("M2", "mirror_ids", "fast", "memory has every live row and no other", mirror.ids, "mirror"),
    Check("M3", "mirror_importance", "fast", "effective importance is the stored one", mirror.importances, "mirror"),
    Check("M6", "some_vectors", "fast", "one vector in a hundred is the stored one", mirror.some_vectors, "mirror"),
    Check("I4", "link_ends", "full", "links have two live ends, and lead back where they should", links.ends),
    Check("I4", "references", "full", "whatever refers to a row finds it", schema.references),
    Check("I6", "words", "full", "memories are found by their words", words.postings, "mirror"),
    Check("I7", "content_hash", "full", "texts are the ones that were stored", rows.hashes, grave=True),
    Check("M4", "mirror_links", "full", "links in memory are the stored ones", links.mirrored, "mirror"),
    Check("M5", "mirror_vectors", "full", "vectors in memory are the stored ones", mirror.vectors, "mirror"),
    Check("D1", "checksums", "full", "every page is as it was written", files.checksums, grave=True),
    Check("D2", "pages", "full", "SQLite finds every page sound", files.pages, grave=True),
)  # fmt: skip

_REACH: Final[dict[Tier, int]] = {"tick": 0, "fast": 1, "full": 2}
_COVERED: Final = {"some_vectors": "mirror_vectors"}
"""What need not be looked at where the other one is."""


def of_tier(tier: Tier) -> tuple[Check, ...]:
    """The checks of a tier and of those that take less."""
    found = [check for check in CHECKS if _REACH[check.tier] <= _REACH[tier]]
    names = {check.name for check in found}
    return tuple(check for check in found if _COVERED.get(check.name) not in names)
