"""The error for something in a database that no mnemond wrote."""

from __future__ import annotations

from mnemond.errors import STORAGE, MnemonError


def damaged(what: str, error: Exception) -> MnemonError:
    """`what` cannot be read; `error` says of which kind the damage is."""
    return MnemonError(
        STORAGE,
        f"the store is damaged: {what} cannot be read ({type(error).__name__})",
        hint="keep a copy of the file as it is; then restore a backup",
        outcome="rejected",
    )
