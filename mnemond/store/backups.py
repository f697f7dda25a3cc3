"""The copies of a store's file that lie beside it: what was purged from the store may still be in them."""

from __future__ import annotations

import mmap
from pathlib import Path


def holding(path: Path, text: str) -> list[str]:
    """Names of the copies of the database at `path` in which `text` can be read, sorted (blocking).

    A copy that cannot be read counts as holding it: nobody can say that it does not.
    """
    copies = sorted(path.parent.glob(f"{path.name}.bak*"))
    return [copy.name for copy in copies if copy.is_file() and _holds(copy, text.encode())]


def _holds(copy: Path, wanted: bytes) -> bool:
    try:
        with open(copy, "rb") as file:
            if not file.seek(0, 2):
                return False
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                return content.find(wanted) >= 0
    except OSError:
        return True
