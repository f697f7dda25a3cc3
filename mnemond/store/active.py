"""The `active` file: the name of the store used when none is given."""

from __future__ import annotations

import os
from pathlib import Path

from mnemond.store.names import DEFAULT, is_valid

MAX_BYTES = 256
"""A name has at most 64 characters; the rest is room for a byte-order mark and blank lines."""


class ActiveName:
    """Reads the file again only when it changed."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / "active"
        self._seen: tuple[int, int] | None = None
        self._name: str | None = None

    def resolve(self) -> tuple[str, str]:
        """(store name, where it comes from): "active-file", or "default" when the file is missing or names no store.

        Raises OSError when the file exists but cannot be read.
        """
        try:
            state = os.stat(self._path)
        except FileNotFoundError:
            self._seen, self._name = None, None
            return DEFAULT, "default"
        seen = (state.st_mtime_ns, state.st_size)
        if seen != self._seen:
            with open(self._path, "rb") as file:
                text = file.read(MAX_BYTES).decode("utf-8-sig", "replace").strip()
            self._seen, self._name = seen, text if is_valid(text) else None
        return (self._name, "active-file") if self._name else (DEFAULT, "default")
