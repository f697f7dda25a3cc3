"""A file that is wholly ours: it is written as a whole, and taken away again only while it is as it was written."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shlex
import stat
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import Final, Literal

import msgspec

from mnemonctl import fast
from mnemonctl.launcher import hook, mcp
from mnemond.errors import BUSY, CONFIG, DATA_DIR, MnemonError


class OwnFile(msgspec.Struct, frozen=True):
    """What is to stand at `path`, in directories that are made for it (0700)."""

    path: Path
    text: str
    mode: int = 0o600

    def is_there(self) -> bool:
        """Whether it stands there already, byte for byte and with this mode. Raises MnemonError."""
        try:
            return self.path.read_bytes() == self.text.encode() and self.path.stat().st_mode & 0o777 == self.mode
        except FileNotFoundError:
            return False
        except OSError as error:
            raise unusable(self.path, error) from None

    def write(self) -> None:
        """Put it there, as a whole or not at all. Raises MnemonError."""
        try:
            make_directories(self.path.parent)
        except OSError as error:
            raise unusable(self.path.parent, error) from None
        replace(self.path, self.text.encode(), self.mode)

    def remove(self) -> None:
        """Take it away. Raises MnemonError."""
        try:
            self.path.unlink(missing_ok=True)
        except OSError as error:
            raise unusable(self.path, error) from None


def make_directories(path: Path) -> None:
    """Make a directory and those above it that are not there, all of them 0700: `Path.mkdir` gives its mode to the last
    one only. Raises OSError."""
    for each in (*reversed(path.parents), path):
        if not each.is_dir():
            each.mkdir(mode=0o700, exist_ok=True)


def replace(path: Path, content: bytes, mode: int) -> None:
    """Put `content` in the place of a file, as a whole and on the disk, or not at all. Raises MnemonError."""
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".mnemond", dir=path.parent)
        draft = Path(name)
        try:
            with open(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fchmod(descriptor, mode)
                os.fsync(descriptor)
            draft.replace(path)
        except OSError:
            draft.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise unusable(path, error) from None
    with contextlib.suppress(OSError):  # some file systems sync no directories; the file itself is on the disk
        directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def digest(content: bytes) -> str:
    """SHA-256, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def unusable(path: Path, error: OSError) -> MnemonError:
    """The error for a path that the system refuses."""
    return MnemonError(DATA_DIR, f"{path} cannot be used: {error.strerror}", hint="look at it and at its directory")


# A file that belongs to a host and its user: read with care, changed only as a whole, and never behind their back.


LARGEST: Final = 1 << 20
"""Bytes of settings that are looked at; a person writes some thousand."""

BOM: Final = b"\xef\xbb\xbf"
NEW_MODE: Final = 0o600
"""Of a file that was not there; one that was keeps its own."""

BACKUP: Final = "mnemond-bak"
WRITE_BITS: Final = 0o222


class HostFile(msgspec.Struct, frozen=True):
    """What stood in a file when it was read. `place` is where a chain of links ends; `content` is None for no file."""

    path: Path
    place: Path
    content: bytes | None
    mode: int = NEW_MODE
    identity: tuple[int, int, int] = (0, 0, 0)

    @property
    def text(self) -> str | None:
        """Without a byte order mark, line breaks as they are. Raises MnemonError for what is not UTF-8."""
        if self.content is None:
            return None
        try:
            return self.content.removeprefix(BOM).decode()
        except UnicodeDecodeError as error:
            line = self.content.count(b"\n", 0, error.start) + 1
            raise refused(self.path, f"line {line}: it is not UTF-8") from None

    def bytes_of(self, text: str) -> bytes:
        """The file with another text: a byte order mark stays."""
        return (BOM if self.content is not None and self.content.startswith(BOM) else b"") + text.encode()


def read(path: Path) -> HostFile:
    """The file as it is now. Raises MnemonError for one that cannot be read, or is none."""
    place = Path(os.path.realpath(path))
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return HostFile(path, place, None)
    except NotADirectoryError:
        raise refused(path, "a directory on its path is a file") from None
    except OSError as error:
        raise unusable(path, error) from None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise refused(path, "it is not a file")
        with open(descriptor, "rb", closefd=False) as file:
            content = file.read(LARGEST + 1)
    finally:
        os.close(descriptor)
    if len(content) > LARGEST:
        raise refused(path, f"it is larger than {LARGEST:,} bytes")
    return HostFile(path, place, content, stat.S_IMODE(found.st_mode), _identity(found))


def check_writable(file: HostFile) -> None:
    """Raises MnemonError for a file that its owner protected, or that is not this user's alone to change."""
    try:
        found = os.stat(file.place)
    except FileNotFoundError:
        return _check_directory(file)
    except OSError as error:
        raise unusable(file.path, error) from None
    if found.st_uid != os.geteuid():
        raise refused(file.path, f"it belongs to user {found.st_uid}")
    if not stat.S_IMODE(found.st_mode) & WRITE_BITS or not os.access(file.place, os.W_OK):
        raise refused(file.path, "it is read-only")
    if found.st_nlink > 1:
        raise refused(file.path, f"it has {found.st_nlink} names (hard links), and only one of them would change")
    return _check_directory(file)


def _check_directory(file: HostFile) -> None:
    there = next(path for path in file.place.parents if path.exists())
    if not there.is_dir():
        raise refused(file.path, f"{there} is a file")
    found = there.stat()
    if found.st_uid != os.geteuid():  # root in the home of somebody else: what it leaves there they could not change
        raise refused(file.path, f"the directory {there} belongs to user {found.st_uid}")
    if not stat.S_IMODE(found.st_mode) & WRITE_BITS or not os.access(there, os.W_OK):
        raise refused(file.path, f"the directory {there} is read-only")


def write(file: HostFile, content: bytes) -> list[Path]:
    """Put `content` in its place, if it is still as it was read; the directories that were made for it.

    Raises MnemonError: BUSY when somebody changed it meanwhile.
    """
    check_writable(file)
    made = [path for path in file.place.parents if not path.exists()]
    try:
        make_directories(file.place.parent)
    except OSError as error:
        raise unusable(file.place.parent, error) from None
    unchanged(file)
    replace(file.place, content, file.mode)
    return made


def unchanged(file: HostFile) -> None:
    """Raises MnemonError(BUSY) when the file is not as it was read any more."""
    now = read(file.path)
    if (now.content, now.identity, now.place) != (file.content, file.identity, file.place):
        message = f"{file.path} was changed by somebody else at this moment; nothing was written to it"
        raise MnemonError(BUSY, message, hint="run it again")


def backup(file: HostFile) -> Path | None:
    """A copy beside it that only this user can read; None for a file that was not there. Raises MnemonError."""
    if file.content is None:
        return None
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    for number in range(100):
        extra = f"-{number}" if number else ""
        path = file.place.with_name(f"{file.place.name}.{BACKUP}-{stamp}{extra}")
        if not os.path.lexists(path):
            replace(path, file.content, 0o600)
            return path
    raise MnemonError(DATA_DIR, f"there are a hundred backups of {file.path} of this second", hint="look at them")


def is_backup(path: Path, file: HostFile) -> bool:
    """Whether a path is that of a copy as `backup` makes them of this file."""
    return path.parent == file.place.parent and path.name.startswith(f"{file.place.name}.{BACKUP}-")


def remove_host_file(file: HostFile) -> None:
    """Take away a file that we made. Raises MnemonError."""
    unchanged(file)
    try:
        file.place.unlink(missing_ok=True)
    except OSError as error:
        raise unusable(file.path, error) from None


def remove_empty(directories: Iterable[Path]) -> None:
    """Take away those of these directories that have nothing in them any more, the innermost first."""
    with contextlib.suppress(OSError):
        for directory in sorted(directories, key=lambda each: len(each.parts), reverse=True):
            if directory.is_dir() and not os.listdir(directory):
                directory.rmdir()


def fingerprint(file: HostFile) -> str | None:
    """SHA-256 of its content."""
    return None if file.content is None else digest(file.content)


def refused(path: Path, why: str) -> MnemonError:
    """The error for a file that is left alone."""
    return MnemonError(CONFIG, f"{path}: {why}; it was left as it is", hint="mend that, then run it again")


def _identity(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_ino, found.st_mtime_ns, found.st_size


# The two small programs that hosts run, `bin/mnemond-hook` and `bin/mnemond-mcp` in the data directory.
#
# A host's settings name their paths and nothing else, so an upgrade changes the programs and never the settings:
# Codex forgets that a hook was trusted when its command changes. They run without the site packages and without a
# shell, by the interpreter that this environment was made from, which is still there when the environment has gone.


Kind = Literal["hook", "mcp"]

MODE = 0o700
"""Nobody else has a use for them."""

LONGEST_SHEBANG = 120
"""Bytes of a first line that every kernel reads: Linux took 127 until 5.1."""

_MODULES: dict[Kind, ModuleType] = {"hook": hook, "mcp": mcp}
_ISOLATED = "-IS"
_START = "import sys; sys.path.insert(0, sys.argv.pop(1)); from mnemonctl.fast import main; main()"


def path(directory: Path, kind: Kind) -> Path:
    """Where the program for a data directory stands."""
    return directory / "bin" / f"mnemond-{kind}"


def files(directory: Path) -> list[OwnFile]:
    """Both programs."""
    return [OwnFile(path(directory, kind), text(directory, kind), MODE) for kind in _MODULES]


def text(directory: Path, kind: Kind) -> str:
    """The program: an interpreter, the module, and what it is called with."""
    source = Path(str(_MODULES[kind].__file__)).read_text("utf-8")
    called = f"run({os.fsencode(directory)!r}, {tuple(map(os.fsencode, start_command(directory)))!r})"
    return f"{first_lines(interpreter())}{source}\n\n{called}\n"


def interpreter() -> str:
    """The absolute path of the interpreter that this environment was made from."""
    base: str = getattr(sys, "_base_executable", "") or sys.executable
    return os.path.realpath(base)


def first_lines(program: str) -> str:
    """What makes a Python file run by `program`: a shebang, or where that has no room for its path, a shell's exec in
    what Python takes for a string."""
    line = f"#!{program} {_ISOLATED}\n"
    if len(os.fsencode(line)) <= LONGEST_SHEBANG and not any(char.isspace() for char in program):
        return line
    return f"#!/bin/sh\n'''exec' {shlex.quote(program)} {_ISOLATED} \"$0\" \"$@\"\n' '''\n"


def start_command(directory: Path) -> Sequence[str]:
    """What starts a daemon: this environment's own client, as `bin/mnemonctl` runs it."""
    packages = str(Path(fast.__file__).parents[1])
    return (sys.executable, "-EPS", "-c", _START, packages, "daemon", "start", "--data-dir", str(directory))


# `guide.md` and `skill.md` in `prompt/` of the data directory: what a model is told, for every store.
#
# They belong to the user once they are there: one that was changed is kept, and what this release has is written
# beside it as `.new`.


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


def remove_prompt_files(directory: Path, written: Mapping[str, str]) -> list[Path]:
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
