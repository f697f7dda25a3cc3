"""`guide.md` and `skill.md` in `prompt/` of the data directory: what a model is told, for every store.

They belong to the user once they are there: one that was changed is kept, and what this release has is written beside
it as `.new`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Final, Literal

import msgspec

from mnemonctl.setup.own_file import OwnFile, digest, unusable

GUIDE: Final = "guide.md"
SKILL: Final = "skill.md"
NAMES: Final = (GUIDE, SKILL)
FOLDER: Final = "prompt"

State = Literal["created", "unchanged", "updated", "kept"]
"""kept: the user changed it, and ours stands beside it as `.new`."""


class PromptFile(msgspec.Struct, frozen=True):
    """What was done about one of them."""

    path: Path
    state: State


def shipped(name: str) -> str:
    """The text of this release. It travels with the daemon, which shows it where the user has none."""
    return (resources.files("mnemond") / "prompts" / name).read_text("utf-8")


def current(directory: Path, name: str) -> str:
    """The user's text if there is one, else ours. Raises MnemonError."""
    path = directory / FOLDER / name
    try:
        return path.read_text("utf-8", "replace")
    except FileNotFoundError:
        return shipped(name)
    except OSError as error:
        raise unusable(path, error) from None


def planned(directory: Path, written: Mapping[str, str]) -> list[PromptFile]:
    """What `install` would do. `written` has, by name, the SHA-256 of what was installed last. Raises MnemonError."""
    return [PromptFile(directory / FOLDER / name, _state(directory, name, written)) for name in NAMES]


def is_waiting(directory: Path, written: Mapping[str, str]) -> bool:
    """Whether `install` would write anything. Raises MnemonError."""
    return any(
        each.state in ("created", "updated") or (each.state == "kept" and not _beside(each).is_there())
        for each in planned(directory, written)
    )


def install(directory: Path, written: dict[str, str]) -> list[PromptFile]:
    """Put both there, without touching what the user wrote, and note it in `written`. Raises MnemonError."""
    done = planned(directory, written)
    for each in done:
        own = OwnFile(each.path, shipped(each.path.name))
        beside = _beside(each)
        if each.state in ("created", "updated"):
            own.write()
        if each.state != "kept":
            beside.remove()
            written[each.path.name] = digest(own.text.encode())
        elif not beside.is_there():
            beside.write()
    return done


def remove(directory: Path, written: Mapping[str, str]) -> list[Path]:
    """Take away those that nobody changed, and every `.new`; the others stay. Raises MnemonError."""
    gone = []
    for each in planned(directory, written):
        _beside(each).remove()
        if each.state in ("unchanged", "updated"):
            OwnFile(each.path, "").remove()
            gone.append(each.path)
    with contextlib.suppress(OSError):
        (directory / FOLDER).rmdir()  # when nothing is left in it
    return gone


def _beside(file: PromptFile) -> OwnFile:
    """Ours, where the user has their own."""
    return OwnFile(file.path.with_name(f"{file.path.name}.new"), shipped(file.path.name))


def _state(directory: Path, name: str, written: Mapping[str, str]) -> State:
    path = directory / FOLDER / name
    if not path.exists():
        return "created"
    found = digest(current(directory, name).encode())
    if found == digest(shipped(name).encode()):
        return "unchanged"
    return "updated" if found == written.get(name) else "kept"
