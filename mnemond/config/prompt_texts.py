"""Texts for models that a user may edit, in `prompt/` of the data directory, and those of this release.

The daemon passes them on, `mnemonctl setup` installs them.
"""

from __future__ import annotations

import errno
import functools
from importlib import resources
from pathlib import Path
from typing import Final, Literal, get_args

from mnemond.config.regular_files import read_regular

FOLDER: Final = "prompt"

Name = Literal["guide.md", "skill.md"]
NAMES: Final[tuple[Name, ...]] = get_args(Name)

MAX_BYTES: Final = 1 << 16
"""Size of the largest file that is read: 16,000 tokens are more than any host passes on."""


@functools.cache
def shipped(name: str) -> str:
    """Return the text of this release."""
    return (resources.files("mnemond") / "prompts" / name).read_text("utf-8")


def edited(directory: Path, name: str) -> bytes:
    """Return the user's text. Raises OSError if there is none, for what is no file, and for one beyond `MAX_BYTES`."""
    content = read_regular(directory / FOLDER / name, MAX_BYTES)
    if len(content) > MAX_BYTES:
        raise OSError(errno.EFBIG, f"it is larger than {MAX_BYTES:,} bytes")
    return content
