"""Looking something up in the settings of a host. What cannot be read says nothing here; `setup` refuses it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from mnemonctl.setup.entries import lookup, plain
from mnemonctl.setup.host_file import read
from mnemonctl.setup.json_text import Dialect, JsonProblem
from mnemond.errors import MnemonError


def value(path: Path, dialect: Dialect, *where: str) -> object:
    """What stands there, or None."""
    try:
        text = read(path).text
        return None if text is None else lookup(plain(text, dialect), *where)
    except (MnemonError, JsonProblem):
        return None


def switches(path: Path, dialect: Dialect, off: Mapping[tuple[str, ...], object]) -> list[str]:
    """Those settings that have the value which switches hooks off, in words."""
    return [
        f"hooks are switched off in {path} ({'.'.join(where)} = {json.dumps(bad)})"
        for where, bad in off.items()
        if value(path, dialect, *where) is bad
    ]
