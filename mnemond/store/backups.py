"""Backups: verified copies of stores in `backups/STORE/` of the data directory, under names made here.

No path ever comes from a caller: a backup is asked for by the name it was given. Beside each lies a note of what it
holds; a backup without one can still be restored, it only says less about itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final, Literal, get_args

import msgspec

from mnemond.errors import AMBIGUOUS, NOT_FOUND, MnemonError
from mnemond.model.timestamp import format_us
from mnemond.store import durable, names, verified_copy
from mnemond.store.verified_copy import Facts, Pause, go_on

Kind = Literal["asked", "scheduled", "replaced", "removed"]
"""Why a backup was made: somebody asked for it, it was time, or the store was about to be replaced or removed."""

DIRECTORY: Final = "backups"
_SUFFIX: Final = ".db"
PIECE_BYTES: Final = 1 << 16
"""What is looked through at once: a millisecond."""

FEW_IDS: Final = 4
"""Ids up to which looking for each takes less time than for all that have their shape."""

_ID: Final = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NAME: Final = re.compile(rf"(\d{{8}}T\d{{6}}\.\d{{6}}Z)-({'|'.join(get_args(Kind))})")


class _Note(msgspec.Struct, frozen=True):
    """What stands beside a backup."""

    created_at: str
    facts: Facts


class Backup(msgspec.Struct, frozen=True):
    """One backup. `facts` is None when its note is lost; `bytes` is what the file has now."""

    name: str
    store: str
    kind: Kind
    created_at: str
    path: Path
    bytes: int
    facts: Facts | None


class Shelf:
    """The backups of one data directory. Every method is blocking; one at a time for each store."""

    def __init__(self, data_dir: Path, keep: int) -> None:
        """`keep`: backups of a store, of each kind."""
        self._root = data_dir / DIRECTORY
        self._keep = keep

    def directory(self, store: str) -> Path:
        """Where the backups of a store lie."""
        return self._root / names.check(store)

    def add(self, store: str, source: Path, kind: Kind, now_us: int, pause: Pause = go_on) -> tuple[Backup, list[str]]:
        """Copy the database of a store, then let go of the oldest of this kind beyond `keep`; their names.

        Raises MnemonError, SqliteError and OSError, after which there is no new backup and none is gone.
        """
        folder = self.directory(store)
        durable.make_directory(self._root)
        durable.make_directory(folder)
        while (path := folder / _file_name(now_us, kind)).exists():
            now_us += 1
        facts = verified_copy.make(source, path, pause)
        note = _Note(format_us(now_us), facts)
        durable.write(_note_of(path), msgspec.json.format(msgspec.json.encode(note)) + b"\n")
        made = Backup(path.stem, store, kind, note.created_at, path, facts.bytes, facts)
        gone = [each for each in self.of(store) if each.kind == kind][self._keep :]
        for each in gone:
            self.drop(each)
        return made, [each.name for each in gone]

    def drop(self, backup: Backup) -> None:
        """Delete one. Raises OSError."""
        backup.path.unlink(missing_ok=True)
        _note_of(backup.path).unlink(missing_ok=True)

    def all(self) -> list[Backup]:
        """Those of every store, newest first."""
        folders = self._root.iterdir() if self._root.is_dir() else ()
        found = [each for folder in folders if names.is_valid(folder.name) for each in self.of(folder.name)]
        return sorted(found, key=lambda each: (each.name, each.store), reverse=True)

    def of(self, store: str) -> list[Backup]:
        """Those of one store, newest first."""
        folder = self.directory(store)
        if not folder.is_dir():
            return []
        paths = sorted((path for path in folder.iterdir() if path.suffix == _SUFFIX and path.is_file()), reverse=True)
        return [backup for path in paths if (backup := _read(path, store)) is not None]

    def find(self, name: str, store: str | None) -> Backup:
        """The backup of that name, or of which it is the beginning; of one store if that is given.

        Raises MnemonError: NOT_FOUND, AMBIGUOUS.
        """
        known = self.all() if store is None else self.of(store)
        found = [each for each in known if each.name == name] or [each for each in known if each.name.startswith(name)]
        of = "" if store is None else f' of the store "{store}"'
        if not found:
            raise MnemonError(
                NOT_FOUND, f"there is no backup {name[:60]!a}{of}", hint="`mnemonctl backup list` shows them",
                outcome="rejected",
            )  # fmt: skip
        if len(found) > 1:
            which = ", ".join(f"{each.name} ({each.store})" for each in found[:4])
            raise MnemonError(
                AMBIGUOUS, f"{name[:60]!a} means {len(found)} backups: {which}",
                hint="give more of the name, or the store with --store", outcome="rejected",
            )  # fmt: skip
        return found[0]


def holding(path: Path, ids: Collection[str]) -> list[str]:
    """Names of the copies of the database at `path` in which one of these ids can be read, sorted (blocking): those
    beside it, and its backups.

    A copy that cannot be read counts as holding it: nobody can say that it does not.
    """
    beside = (copy for copy in path.parent.glob(f"{path.name}.bak*") if copy.is_file())
    wanted = frozenset(each.encode() for each in ids)
    found = [copy.name for copy in beside if _holds(copy, wanted)]
    return sorted(found) + sorted(
        f"{DIRECTORY}/{path.parent.name}/{copy.name}" for copy in _backups_of(path) if _holds(copy, wanted)
    )


def _backups_of(path: Path) -> Iterator[Path]:
    """Files of the backups of the store whose database is at `path`: DATA_DIR/data/STORE/mnemon.db."""
    folder = path.parent.parent.parent / DIRECTORY / path.parent.name
    return (copy for copy in folder.glob(f"*{_SUFFIX}") if copy.is_file())


def _file_name(now_us: int, kind: Kind) -> str:
    stamp = format_us(now_us).replace("-", "").replace(":", "")
    return f"{stamp}-{kind}{_SUFFIX}"


def _note_of(path: Path) -> Path:
    return path.with_suffix(".json")


def _read(path: Path, store: str) -> Backup | None:
    """What is known of a file; None for one whose name was not made here."""
    parts = _NAME.fullmatch(path.stem)
    if parts is None:
        return None
    stamp = parts[1]
    made = f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]}T{stamp[9:11]}:{stamp[11:13]}:{stamp[13:]}"
    kind = msgspec.convert(parts[2], Kind)
    try:
        facts = msgspec.json.decode(_note_of(path).read_bytes(), type=_Note).facts
    except (OSError, msgspec.MsgspecError):
        facts = None
    return Backup(path.stem, store, kind, made, path, path.stat().st_size, facts)


def _holds(copy: Path, wanted: frozenset[bytes]) -> bool:
    """By pieces, since nobody else runs while one is looked through. Of many ids, those that look like ours are found
    by their shape, or each would be looked for in every piece."""
    shaped = frozenset(filter(_ID.fullmatch, wanted)) if len(wanted) > FEW_IDS else frozenset()
    others = wanted - shaped
    kept = max(map(len, wanted), default=0)
    piece = b""
    try:
        with open(copy, "rb") as file:
            while more := file.read(PIECE_BYTES):
                piece = piece[-kept:] + more
                if not shaped.isdisjoint(_ID.findall(piece)) or any(each in piece for each in others):
                    return True
    except OSError:
        return True
    return False
