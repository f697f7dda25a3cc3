"""`setup.json` in the data directory: what setup changed outside of it, so that it can be restored exactly."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from mnemonctl.files import unusable
from mnemonctl.setup.alias import Linked
from mnemonctl.setup.entries import Scaffold
from mnemonctl.setup.files import OwnFile
from mnemonctl.setup.shell import Written
from mnemond.errors import CONFIG, MnemonError

NAME: Final = "setup.json"
MAX_BYTES: Final = 1 << 20
"""Size of a record that is read; it has some hundred bytes."""


class FileRecord(msgspec.Struct):
    """One file of a host. `before` and `after` are the SHA-256 of its content; `directories` were made for it.

    `backup` is a copy of what it was before the setup, null if that is not known any more.
    """

    path: str
    before: str | None
    after: str
    backup: str | None = None
    scaffold: Scaffold = msgspec.field(name="made", default_factory=Scaffold)
    directories: list[str] = []


class HostRecord(msgspec.Struct, kw_only=True):
    """One host: files that setup changed; commands that take back what the host's program did, and files it rewrote."""

    files: list[FileRecord] = []
    undo: list[list[str]] = []
    rewritten: list[FileRecord] = []

    def file(self, path: Path) -> FileRecord | None:
        """Return the record of a file that setup changed."""
        return next((each for each in self.files if each.path == str(path)), None)


class Manifest(msgspec.Struct, kw_only=True):
    """Records by the names of hosts, SHA-256 of the prompts as they were installed, files for the user's shell, and the
    link by mnemon's name."""

    version: int = 1
    hosts: dict[str, HostRecord] = {}
    prompts: dict[str, str] = {}
    shell: Written = msgspec.field(default_factory=Written)
    alias: Linked = msgspec.field(default_factory=Linked)


def read(directory: Path) -> Manifest:
    """Return the record in a data directory; an empty one if there is none. Raises MnemonError."""
    path = directory / NAME
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES)
    except FileNotFoundError:
        return Manifest()
    except OSError as error:
        raise unusable(path, error) from None
    try:
        return msgspec.json.decode(content, type=Manifest)
    except msgspec.DecodeError as error:
        hint = "remove it; backups are beside the files"
        raise MnemonError(CONFIG, f"{path} cannot be read: {error}", hint=hint) from None


def write(directory: Path, manifest: Manifest) -> None:
    """Write the record, without empty ones of hosts; remove it if nothing is left. Raises MnemonError."""
    hosts = {name: host for name, host in manifest.hosts.items() if host.files or host.undo or host.rewritten}
    text = msgspec.json.format(msgspec.json.encode(msgspec.structs.replace(manifest, hosts=hosts)), indent=2).decode()
    file = OwnFile(directory / NAME, f"{text}\n")
    if not (hosts or manifest.prompts or manifest.shell.files or manifest.alias.path):
        file.remove()
    elif not file.is_there():
        file.write()
