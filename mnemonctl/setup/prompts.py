"""`guide.md` and `skill.md` in `prompt/` of the data directory: texts for models, the same for every store.

They belong to the user once they are there: one that was changed is kept, and this release's is written beside it as
`.new`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Final, Literal

import msgspec

from mnemonctl.files import unusable
from mnemonctl.setup.files import OwnFile, digest

SKILL: Final = "skill.md"
NAMES: Final = ("guide.md", SKILL)
FOLDER: Final = "prompt"

State = Literal["created", "unchanged", "updated", "kept"]
"""kept: the user changed it, and ours is beside it as `.new`."""


class PromptFile(msgspec.Struct, frozen=True):
    """One of them, and what `install` does about it."""

    path: Path
    state: State

    @property
    def new(self) -> OwnFile:
        """Ours, beside a changed one."""
        return OwnFile(self.path.with_name(f"{self.path.name}.new"), shipped(self.path.name))


def shipped(name: str) -> str:
    """Return the text of this release, which the daemon uses if the user has none."""
    return (resources.files("mnemond") / "prompts" / name).read_text("utf-8")


def current(directory: Path, name: str) -> str:
    """Return the user's text if there is one, else ours. Raises MnemonError."""
    path = directory / FOLDER / name
    try:
        return path.read_text("utf-8", "replace")
    except FileNotFoundError:
        return shipped(name)
    except OSError as error:
        raise unusable(path, error) from None


def planned(directory: Path, written: Mapping[str, str]) -> list[PromptFile]:
    """Return what `install` would do. `written`: SHA-256 of what was installed last, by name. Raises MnemonError."""
    return [PromptFile(directory / FOLDER / name, _state(directory, name, written.get(name))) for name in NAMES]


def _state(directory: Path, name: str, written: str | None) -> State:
    if not (directory / FOLDER / name).exists():
        return "created"
    there = digest(current(directory, name).encode())
    if there == digest(shipped(name).encode()):
        return "unchanged"
    return "updated" if there == written else "kept"


def is_pending(directory: Path, written: Mapping[str, str]) -> bool:
    """Return True if `install` would write anything. Raises MnemonError."""
    return any(
        file.state in ("created", "updated") or (file.state == "kept" and not file.new.is_there())
        for file in planned(directory, written)
    )


def install(directory: Path, written: dict[str, str]) -> None:
    """Write both, without touching what the user changed, and note them in `written`. Raises MnemonError."""
    for file in planned(directory, written):
        own = OwnFile(file.path, shipped(file.path.name))
        if file.state in ("created", "updated"):
            own.write()
        if file.state != "kept":
            file.new.remove()
            written[file.path.name] = digest(own.text.encode())
        elif not file.new.is_there():
            file.new.write()


def remove(directory: Path, written: Mapping[str, str]) -> list[Path]:
    """Remove those that the user did not change, and each `.new`; return the former. Raises MnemonError."""
    removed = []
    for file in planned(directory, written):
        file.new.remove()
        if file.state in ("unchanged", "updated"):
            OwnFile(file.path, "").remove()
            removed.append(file.path)
    with contextlib.suppress(OSError):
        (directory / FOLDER).rmdir()  # if it is empty
    return removed
