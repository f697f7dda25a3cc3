"""What is said of something in a database that no mnemond wrote."""

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


def damaged_file(error: Exception) -> str:
    """Why a store is not written any more, after a failure that `checksums.is_damage`."""
    return f"the store's file is damaged: {error}"
