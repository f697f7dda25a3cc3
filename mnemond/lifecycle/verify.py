"""verify: what must always be true of a store is looked at, when it was opened and every hour."""

from __future__ import annotations

from typing import Final

from mnemond.errors import STORAGE, MnemonError
from mnemond.lifecycle.job import HOUR_S, Done, Work
from mnemond.store.invariants.consequences import heed
from mnemond.store.invariants.examination import Examiner

SAID: Final = 3
"""Problems that the failure of a run names."""


class Verify:
    """Every hour; how it ran is not kept over a restart, so that it runs after one. Nothing stored is changed; memory
    that is not what the file says is read anew."""

    name = "verify"
    summary = "rows, files and memory are compared; nothing stored is changed"
    first_s = 0.0
    interval_s = HOUR_S

    def __init__(self, examiner: Examiner) -> None:
        self._examiner = examiner

    async def run(self, work: Work) -> Done:
        """Raises MnemonError(STORAGE) that says what is not as it should be."""
        found = await self._examiner.examine(work.store, "fast", work.identity.now_us, work.threads)
        await heed(work.store, found, "fast")
        problems = [f"{each.check.name}: {problem.what}" for each in found for problem in each.problems]
        if problems:
            more = f" and {len(problems) - SAID} more" if len(problems) > SAID else ""
            raise MnemonError(STORAGE, "; ".join(problems[:SAID]) + more, hint="mnemonctl doctor says more")
        return work.done(0)
