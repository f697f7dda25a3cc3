"""The link `mnemon` to this client, in ~/.local/bin: `setup --mnemon-alias` makes it (docs/decisions/0063).

A program of that name which is there stays the one that runs: setup refuses to make a link in its place, and to make
one that comes before or after it in $PATH.
"""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path
from typing import Final, Literal

import msgspec

from mnemonctl import fast
from mnemonctl.files import unusable
from mnemonctl.setup.environment import SetupEnvironment
from mnemonctl.setup.files import make_directories, remove_empty
from mnemond.errors import CONFIG, UNAVAILABLE, MnemonError, rejected

PLACE: Final = f".local/bin/{fast.ALIAS}"
"""Below the home directory: where the XDG Base Directory Specification has programs of a user."""

State = Literal["created", "changed", "unchanged"]


class Linked(msgspec.Struct):
    """The link that setup made, its target, and the directories that were made for it. `path` is None without one."""

    path: str | None = None
    target: str = ""
    directories: list[str] = []


class Link(msgspec.Struct, frozen=True):
    """The link as it should be, and what `install` does about it."""

    path: Path
    target: Path
    state: State


def planned(environment: SetupEnvironment, linked: Linked, *, wanted: bool) -> Link | None:
    """Return what `install` would do; None if there is no link and none is `wanted`. A link that setup made is brought
    up to date in any case; one that was removed since is made again only if it is wanted.

    Raises MnemonError if it is wanted and another program has the name.
    """
    path = environment.home / PLACE
    is_ours = linked.path == str(path) and _target(path) == linked.target
    if not (wanted or is_ours):
        return None
    target = program(environment)
    if is_ours or _target(path) == str(target):
        return Link(path, target, "unchanged" if _target(path) == str(target) else "changed")
    other = str(path) if os.path.lexists(path) else environment.program(fast.ALIAS)
    if other is not None:
        message = f"another program is called {fast.ALIAS}: {other}; nothing was done"
        raise rejected(CONFIG, message, "remove that one first, or run setup without --mnemon-alias")
    return Link(path, target, "created")


def program(environment: SetupEnvironment) -> Path:
    """Return the path of `mnemonctl`: that of this environment, else the one in $PATH. Raises MnemonError."""
    own = Path(sysconfig.get_path("scripts")) / "mnemonctl"
    if own.is_file():
        return own
    found = environment.program("mnemonctl")
    if found is None:
        raise MnemonError(UNAVAILABLE, "mnemonctl was not found in $PATH, so no link to it can be made")
    return Path(found)


def _target(path: Path) -> str | None:
    try:
        return os.readlink(path)
    except OSError:  # nothing there, or no link
        return None


def notes(environment: SetupEnvironment, link: Link | None) -> list[str]:
    """Return a sentence for the user if the link would not be found."""
    directories = environment.environ.get("PATH", "").split(os.pathsep)
    if link is None or str(link.path.parent) in directories:
        return []
    return [f"{link.path.parent} is not in $PATH, so {fast.ALIAS} runs by its whole path alone"]


def install(environment: SetupEnvironment, linked: Linked, *, wanted: bool) -> None:
    """Make the link, or bring it up to date, and note it in `linked`. Raises MnemonError."""
    link = planned(environment, linked, wanted=wanted)
    if link is None or link.state == "unchanged":
        return
    linked.directories += map(str, make_directories(link.path.parent))
    try:
        if link.state == "created":
            os.symlink(link.target, link.path)
        else:
            beside = link.path.with_name(f".{link.path.name}.new")
            beside.unlink(missing_ok=True)
            os.symlink(link.target, beside)
            os.replace(beside, link.path)
    except OSError as error:
        raise unusable(link.path, error) from None
    linked.path, linked.target = str(link.path), str(link.target)


def removable(linked: Linked) -> list[Path]:
    """Return the link, if setup made it and nothing changed it since."""
    return [] if linked.path is None or _target(Path(linked.path)) != linked.target else [Path(linked.path)]


def remove(linked: Linked) -> list[Path]:
    """Remove the link, and the directories that were made for it and are empty; return the link. Raises MnemonError."""
    paths = removable(linked)
    for path in paths:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise unusable(path, error) from None
    remove_empty(map(Path, linked.directories))
    linked.path, linked.target = None, ""
    linked.directories.clear()
    return paths
