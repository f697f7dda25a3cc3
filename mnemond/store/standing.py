"""How an open store is: what keeps it from being written, and what is merely not well.

For the writer's thread; the sentences may be read from any.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from mnemond.errors import STORAGE, MnemonError
from mnemond.store import known, read_only
from mnemond.store.ballast import Ballast
from mnemond.store.checksums import is_damage
from mnemond.store.connection import FullError
from mnemond.store.damage import damaged_file
from mnemond.store.known import Known

FREEING: Final = frozenset({"forget", "gc", "jobs"})
"""Methods whose writes let memories go, or put in order what is there: they go on when the disk is full."""

LOOK: Final = (
    "`mnemonctl doctor --full` names what is damaged, `mnemonctl doctor --salvage` reads what can be read into a copy;"
    " `mnemonctl backup list` shows copies of earlier"
)
"""What to do about damage."""


FULL: Final = "the disk is full"


class Standing:
    """`fault`: a storage failure that ended the connection. `checkpoint_failure`: the log cannot be copied into the
    file. `wrong`: what the file holds, or memory, is not what was written; until a look at all of it finds nothing.
    `full`: there is no room. `read_only`: why it was opened for reading only. `behind`: a note of what is missing since
    it was open last, which keeps nobody from writing. `unnoted`: what is known of it cannot be noted beside it.

    `wrong` and `behind` are known after a restart as well.
    """

    def __init__(self, ballast: Ballast | None = None, path: Path | None = None) -> None:
        """`path`: of the database, beside which is kept what is known of it."""
        before = Known() if path is None else _known(path)
        self._path = path
        self.fault: str | None = None
        self.checkpoint_failure: str | None = None
        self.wrong: str | None = before.wrong
        self.full: str | None = FULL if ballast is not None and not ballast.make() else None
        self.read_only: str | None = None
        self.behind: str | None = before.behind
        self.unnoted: str | None = None
        self._ballast = ballast

    @property
    def degraded_reason(self) -> str | None:
        """Why the store is not fully well, the gravest first; or None."""
        barred = self.wrong or self.fault or self.full
        return barred or self.behind or self.checkpoint_failure or self.read_only or self.unnoted

    def opened(self, read_only: str | None, wrong: str | None) -> None:
        """It was opened, or opened anew after a failure; that proves nothing about what is known to be wrong."""
        self.fault = self.checkpoint_failure = None
        self.read_only = read_only
        if wrong is not None:
            self.distrust(wrong)

    def distrust(self, reason: str) -> None:
        """What the file holds is not what was written to it."""
        self._know(Known(reason, self.behind))

    def trust(self) -> None:
        """A look at all of the file found nothing wrong."""
        self._know(Known(None, self.behind))

    def fell_behind(self, found: int, noted: int) -> None:
        """Its log ends with line `found`, and line `noted` was acknowledged."""
        reason = f"the store went backwards: its log ends with line {found:,}, and line {noted:,} was acknowledged"
        self._know(Known(self.wrong, reason))

    def accept(self) -> None:
        """Somebody knows what is missing, and goes on without it."""
        self._know(Known(self.wrong, None))

    def _know(self, what: Known) -> None:
        if what == Known(self.wrong, self.behind):
            return
        self.wrong, self.behind = what.wrong, what.behind
        self.keep()

    def keep(self) -> None:
        """Note what is known, for after a restart."""
        if self._path is None:
            return
        try:
            known.write(self._path, Known(self.wrong, self.behind))
            self.unnoted = None
        except OSError as error:
            self.noted_in_vain(error)

    def noted_in_vain(self, error: OSError) -> None:
        """What should be known after a restart cannot be kept."""
        self.unnoted = f"what is known of the store cannot be noted beside it: {error.strerror}"

    def heed(self, error: Exception) -> None:
        """A failure says something about the file, or about the disk: nothing but forgetting is written from here on.

        The ballast goes before anything else is tried: opening a store needs room as well.
        """
        if is_damage(error):
            self.distrust(damaged_file(error))
        elif isinstance(error, FullError):
            self.full = FULL
            if self._ballast is not None:
                self._ballast.release()

    def refusal(self, method: str | None) -> MnemonError | None:
        """Why a write of this method is not begun; None for one that may be. A method of None adds nothing certain."""
        if self.read_only is not None:
            return read_only.refusal(self.read_only)
        if self.wrong is not None:
            return MnemonError(STORAGE, f"{self.wrong}; nothing was written", hint=LOOK, outcome="rejected")
        if method not in FREEING and not self.has_room():
            return MnemonError(
                STORAGE,
                f"{self.full}; nothing was written",
                hint="make room on the disk; reading and forgetting (forget, gc, jobs run prune) still work",
                outcome="rejected",
            )
        return None

    def has_room(self) -> bool:
        """Whether the disk has room again, if it had none."""
        if self.full is not None and (self._ballast is None or self._ballast.make()):
            self.full = None  # without ballast the next write finds out
        return self.full is None


def _known(path: Path) -> Known:
    try:
        return known.read(path)
    except OSError:
        return Known(wrong=known.UNREADABLE)
