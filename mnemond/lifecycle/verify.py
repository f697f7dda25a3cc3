"""verify and full_verify: what must always be true of a store is looked at: much of it each hour, all each week."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mnemond.errors import STORAGE, MnemonError
from mnemond.lifecycle.job import DAY_S, HOUR_S, Done, Work
from mnemond.store.invariants.check import Tier
from mnemond.store.invariants.consequences import heed
from mnemond.store.invariants.examination import Examiner, Finding

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
        _refuse(await _looked(self._examiner, work, "fast"))
        return work.done(0)


class FullVerify:
    """As often as it is configured: every page, text, word, link and vector. A file that is found to be sound may be
    written again. Somebody who says `--yes` goes on without what is known to be missing."""

    name = "full_verify"
    summary = "all of the store is looked at, every page of its file too; nothing stored is changed"
    first_s = DAY_S

    def __init__(self, interval_s: float, examiner: Examiner) -> None:
        self.interval_s = interval_s
        self.first_s = min(self.first_s, interval_s)
        self._examiner = examiner

    async def run(self, work: Work) -> Done:
        """Raises MnemonError(STORAGE) that says what is not as it should be."""
        if work.sure and not work.dry_run:
            await work.store.accept()
        found = await _looked(self._examiner, work, "full")
        _refuse(found)
        done = work.done(0, f"{len(found)} checks")
        return done if work.store.read_only is not None else await work.note(done)


async def _looked(examiner: Examiner, work: Work, tier: Tier) -> list[Finding]:
    found = await examiner.examine(work.store, tier, work.identity.now_us, work.threads)
    await heed(work.store, found, tier)
    return found


def _refuse(found: Sequence[Finding]) -> None:
    problems = [f"{each.check.name}: {problem.what}" for each in found for problem in each.problems]
    if problems:
        more = f" and {len(problems) - SAID} more" if len(problems) > SAID else ""
        raise MnemonError(STORAGE, "; ".join(problems[:SAID]) + more, hint="mnemonctl doctor says more")
