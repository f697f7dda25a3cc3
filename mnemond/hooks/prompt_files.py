"""Texts for models that a user may edit: `guide.md` and `skill.md` in `prompt/` of the data directory.

They are read when they are needed, so an edit holds from the next session on. Without a file, and for one that cannot
be read, this release's text is used. The first paragraph of the guide opens a brief; the whole of it is MCP's
instructions.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from mnemond.config.prompt_texts import FOLDER, Name, edited, shipped
from mnemond.wire.hooks import first_units

MAX_GUIDE: Final = 9_000
"""Characters of the guide in MCP's instructions; Claude Code passes on 2,048."""

MAX_OPENING: Final = 1_000
"""Characters of the first paragraph: a brief is for memories."""

_Identity = tuple[int, int, int]


class _Read(NamedTuple):
    identity: _Identity | None
    text: str


class PromptFiles:
    """The texts in force. For the event loop's thread: a file is read once for each edit."""

    def __init__(self, data_dir: Path, warn: Callable[[str], None] = lambda _: None) -> None:
        """`warn` is called with a sentence about a file that cannot be used, once for each edit of it."""
        self._data_dir = data_dir
        self._warn = warn
        self._read: dict[Name, _Read] = {}

    def guide(self) -> str:
        """Return the guide without its title: when to recall, what to remember. At most `MAX_GUIDE` characters."""
        return _without_title(self._text("guide.md"))[:MAX_GUIDE].strip()

    def opening(self) -> str:
        """Return the first paragraph of the guide as one line, with its end; empty if there is none."""
        paragraph = " ".join(self.guide().partition("\n\n")[0].split())
        return f"{first_units(paragraph, MAX_OPENING)}\n" if paragraph else ""

    def skill(self) -> str:
        """Return the skill: how to use tools and commands."""
        return self._text("skill.md")

    def _text(self, name: Name) -> str:
        try:
            found = os.stat(self._data_dir / FOLDER / name)
        except FileNotFoundError:
            return shipped(name)
        except OSError as error:
            return self._unusable(name, None, error.strerror or str(error))
        identity = (found.st_ino, found.st_mtime_ns, found.st_size)
        known = self._read.get(name)
        if known is not None and known.identity == identity:
            return known.text
        try:
            text = edited(self._data_dir, name).decode("utf-8-sig", "replace")
        except OSError as error:
            return self._unusable(name, identity, error.strerror or str(error))
        self._read[name] = _Read(identity, text)
        return text

    def _unusable(self, name: Name, identity: _Identity | None, reason: str) -> str:
        if name not in self._read or self._read[name].identity != identity:
            self._warn(
                f"{self._data_dir / FOLDER / name} cannot be used ({reason}); this release's text is used instead"
            )
        self._read[name] = _Read(identity, shipped(name))
        return self._read[name].text


def _without_title(text: str) -> str:
    text = text.lstrip()
    first, _, rest = text.partition("\n")
    return rest.lstrip() if first.startswith("# ") else text
