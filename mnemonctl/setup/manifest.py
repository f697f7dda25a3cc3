"""`setup.json` in the data directory: what was changed outside of it, so that it can be taken back exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from mnemonctl.setup.entries import Made
from mnemonctl.setup.own_file import OwnFile, unusable
from mnemond.errors import CONFIG, MnemonError

NAME: Final = "setup.json"
LARGEST: Final = 1 << 20
"""Bytes: a record has some hundred."""


class FileRecord(msgspec.Struct):
    """One file of a host. `before` and `after` are SHA-256 of what stood there; `backup` is a copy of what it was
    without us, null when nobody knows that any more; `directories` were made for it."""

    path: str
    before: str | None
    after: str
    backup: str | None = None
    made: Made = msgspec.field(default_factory=Made)
    directories: list[str] = []


class HostRecord(msgspec.Struct, kw_only=True):
    """What was done for one host: to files by us, and by its own program (`undo` takes that back) with the files that
    this rewrote."""

    files: list[FileRecord] = []
    undo: list[list[str]] = []
    rewritten: list[FileRecord] = []

    def of(self, path: Path) -> FileRecord | None:
        """The record of one file that we changed."""
        return next((each for each in self.files if each.path == str(path)), None)


class Manifest(msgspec.Struct, kw_only=True):
    """What was done, by the names of hosts, and SHA-256 of the prompts as they were installed."""

    version: int = 1
    hosts: dict[str, HostRecord] = {}
    prompts: dict[str, str] = {}


def read(directory: Path) -> Manifest:
    """The record in a data directory; an empty one when there is none. Raises MnemonError for one that is damaged."""
    path = directory / NAME
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST)
    except FileNotFoundError:
        return Manifest()
    except OSError as error:
        raise unusable(path, error) from None
    try:
        return msgspec.json.decode(content, type=Manifest)
    except msgspec.DecodeError as error:
        raise MnemonError(
            CONFIG, f"{path} cannot be read: {error}", hint="remove it; backups stand beside the files"
        ) from None


def write(directory: Path, manifest: Manifest) -> None:
    """Keep the record, without hosts of which nothing is left. Raises MnemonError."""
    kept = {name: host for name, host in manifest.hosts.items() if host.files or host.undo or host.rewritten}
    file = OwnFile(directory / NAME, "")
    if not kept and not manifest.prompts:
        file.remove()
        return
    said = msgspec.json.format(msgspec.json.encode(Manifest(hosts=kept, prompts=manifest.prompts)), indent=2).decode()
    file = OwnFile(directory / NAME, f"{said}\n")
    if not file.is_there():
        file.write()
