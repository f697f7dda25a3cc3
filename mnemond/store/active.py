"""The `active` file: the name of the store used when none is given."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from mnemond.store.durable import write
from mnemond.store.names import DEFAULT, check, is_valid

MAX_BYTES = 256
"""A name has at most 64 characters; the rest is room for a byte-order mark and blank lines."""


class ActiveName:
    """Reads the file again only when it changed; says once what is wrong with it."""

    def __init__(self, data_dir: Path, warn: Callable[[str], None]) -> None:
        self._path = data_dir / "active"
        self._warn = warn
        self._seen: tuple[int, int] | None = None
        self._name: str | None = None

    def resolve(self) -> tuple[str, str]:
        """(store name, where it comes from): "active-file", or "default" when there is no file or it names no store."""
        try:
            state = os.stat(self._path)
        except FileNotFoundError:
            self._seen, self._name = None, None
            return DEFAULT, "default"
        seen = (state.st_mtime_ns, state.st_size)
        if seen != self._seen:
            self._seen, self._name = seen, self._read()
        return (self._name, "active-file") if self._name else (DEFAULT, "default")

    def write(self, name: str) -> None:
        """Name another store; the file is replaced as a whole. Raises MnemonError for a name that is none, OSError."""
        write(self._path, f"{check(name)}\n".encode())
        self._seen = None

    def _read(self) -> str | None:
        if not self._path.is_file():
            self._warn(f"{self._path} is not a file; the store {DEFAULT!r} is used")
            return None
        try:
            with open(self._path, "rb") as file:
                name = file.read(MAX_BYTES).decode("utf-8-sig", "replace").strip()
        except OSError as error:
            self._warn(f"{self._path} cannot be read ({error.strerror}); the store {DEFAULT!r} is used")
            return None
        if is_valid(name):
            return name
        self._warn(f"{self._path} does not hold the name of a store; the store {DEFAULT!r} is used")
        return None
