"""Projects of requests: which one a memory is written in, and which one a question is asked from."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple, Protocol

import trio

from mnemond.api.store_access import OpenStore
from mnemond.config.regular_files import open_regular
from mnemond.errors import FieldProblem, invalid
from mnemond.index.snapshot import Snapshot
from mnemond.model.memory import project_parts
from mnemond.text.generality import is_general
from mnemond.text.project_name import (
    NONE,
    Project,
    is_common,
    named_project,
    project_at,
    project_from,
    project_of,
    project_of_remote,
)
from mnemond.text.resources import regex
from mnemond.text.secrets import kind_in_name
from mnemond.wire.deferred import in_thread

THREADS: Final = 4
"""Directories looked at at once. One in the network may not answer, and holds a thread for as long."""


class InProject(Protocol):
    """Parameters of a request that has to do with a project."""

    @property
    def project(self) -> str | None: ...

    @property
    def directory(self) -> str | None: ...


class Asked(NamedTuple):
    """`here`: the id of the project a request comes from, empty if it is none or unknown. `wanted`: the id of the one
    it names; "" for none, None if it names none."""

    here: str
    wanted: str | None


class Projects:
    """Finds projects. For the event loop's thread."""

    def __init__(self) -> None:
        self._threads = trio.CapacityLimiter(THREADS)

    async def of(self, directory: str) -> Project:
        """Return the project of a directory, given by its absolute path; an empty one if it belongs to none."""
        if not directory.startswith("/") or "\0" in directory:
            return Project()
        return await in_thread(project_in, directory, abandon_on_cancel=True, limiter=self._threads)

    async def written(self, params: InProject, content: str, warm: OpenStore) -> str | None:
        """Return the id of the project that a memory belongs to; None for a general one.

        That is the named one, else that of the directory, unless the text says that it is general. Raises
        MnemonError(INVALID_PARAMS) for a name that is none.
        """
        if params.project is None and (params.directory is None or is_general(content)):
            return None
        asked = await self.asked(params, warm)
        if asked.wanted is None:
            return asked.here or None
        told = (params.project or "").startswith("/") and is_general(content)
        return None if told else asked.wanted or None

    async def asked(self, params: InProject, warm: OpenStore) -> Asked:
        """Return the projects of a request. Raises MnemonError(INVALID_PARAMS) for a name that is none."""
        here = Project()
        snapshot = warm.store.snapshot
        if params.directory and warm.config.hooks.project != "none":
            here = await self._named(params.directory, here, snapshot)
        if params.project is None:
            return Asked(here.id, None)
        if params.project.strip().casefold() == NONE:
            return Asked(here.id, "")
        return Asked(here.id, (await self._named(params.project, here, snapshot)).id)

    async def _named(self, given: str, here: Project, snapshot: Snapshot) -> Project:
        """The project of a directory, an id or a name. A name is that of `here`, or of the only known project that has
        it; else nothing but the name is known."""
        if given.startswith("/"):
            return await self.of(given)
        if project_parts(given)[1]:
            return project_from(given)
        named = project_from(named_project(given))
        if not named.name or kind_in_name(named.name):
            reason = "looks like a secret" if named.name else "is no name"
            raise invalid([FieldProblem("project", f"project {reason}: give the name of a project, or {NONE}")])
        alike = [each for each in (here, *map(project_from, snapshot.projects)) if _is_called(each, named.name)]
        if alike and (alike[0] is here or len({each.key for each in alike}) == 1):
            return alike[0]
        return named


def _is_called(project: Project, name: str) -> bool:
    return bool(project.key) and project.name.casefold() == name.casefold()


# ---------------------------------------------------------------- repositories of git
#
# The project of a directory, read from the nearest repository of git around it.
#
# Its files are only read, and git is never run: it would start what a repository configures. Everything in a repository
# may come from someone else, so reading is bounded: in the number of directories and files, in the size of each, and to
# regular files; a symbolic link, a FIFO or a device in the place of a file is no file.


MAX_PARENTS: Final = 64
"""Directories above a directory that are looked at."""

MAX_POINTER: Final = 4_096
"""Bytes of a file with one path or one reference; PATH_MAX of Linux."""

MAX_CONFIG: Final = 1 << 20
"""Bytes of a configuration: each branch has a section, and some repositories have ten thousand."""

MAX_HOPS: Final = 4
"""Clones of clones on this machine that are followed to the first one."""

MAX_REMOTES: Final = 64

MAX_VALUE: Final = 4_096
"""Characters of a value in a configuration."""

PREFERRED: Final = ("origin", "upstream")
"""Remotes by which a repository is known if it has several; the others follow in the order of their names."""


def project_in(directory: str) -> Project:
    """Return the project of a directory: by the remote URL of its repository, else by its path. An empty one if it
    belongs to none."""
    found = _repository_around(directory)
    if found is None and _is_home(os.path.normpath(directory)):
        return Project()
    project = project_of(directory) if found is None else _project_of(found, directory, MAX_HOPS)
    return project._replace(name="project") if kind_in_name(project.name) else project


def _is_home(path: str) -> bool:
    """Return True for the home of the daemon's user, wherever this system keeps homes."""
    return path == os.path.normpath(os.path.expanduser("~"))


def _project_of(repository: Repository, directory: str, hops: int) -> Project:
    if not repository.common:
        return project_at(repository.root, directory)
    urls = list(_remote_urls(_read(f"{repository.common}/config", MAX_CONFIG) or b""))
    for url in urls:
        project = project_of_remote(url, directory)
        if project.key:
            return project
    for url in urls if hops else ():
        origin = _repository_at(os.path.join(repository.root, _local_path(url)))
        if origin is not None and origin.common != repository.common:
            return _project_of(origin, directory, hops - 1)
    return project_at(repository.root, directory)


class Repository(NamedTuple):
    """`root`: the main working directory, or the repository itself if it is bare; `common`: the directory with its
    configuration, empty if that cannot be found."""

    root: str
    common: str


def _repository_around(directory: str) -> Repository | None:
    """The repository of a directory or of the nearest one above it; none of a home directory, which often has one for
    its hidden files."""
    path = os.path.normpath(directory)
    for _ in range(MAX_PARENTS):
        if not is_common(path) and not _is_home(path) and (found := _repository_in(path)) is not None:
            return found
        parent = os.path.dirname(path)
        if parent == path:
            return None
        path = parent
    return None


def _repository_in(directory: str) -> Repository | None:
    """The repository whose `.git` is in a directory: a directory, or a file of a worktree or a submodule."""
    place = f"{directory}/.git"
    mode = _mode(place)
    if stat.S_ISDIR(mode):
        return Repository(directory, place) if _is_repository(place) else None
    if not stat.S_ISREG(mode):
        return None
    pointer = _line(place)
    if not pointer.startswith(_POINTER):
        return Repository(directory, "")
    own = os.path.normpath(os.path.join(directory, pointer.removeprefix(_POINTER).strip()))
    shared = _line(f"{own}/commondir")
    common = os.path.normpath(os.path.join(own, shared)) if shared else own
    if not _is_repository(common):
        return Repository(directory, "")
    if not shared:
        return Repository(directory, common)  # a submodule
    return Repository(os.path.dirname(common) if os.path.basename(common) == ".git" else common, common)


def _repository_at(path: str) -> Repository | None:
    """The repository at a path, which may be a bare one."""
    if "\0" in path:
        return None
    path = os.path.normpath(path)
    if os.path.basename(path) == ".git" and _is_repository(path):
        return Repository(os.path.dirname(path), path)
    return _repository_in(path) or (Repository(path, path) if _is_repository(path) else None)


_POINTER: Final = "gitdir:"


def _is_repository(path: str) -> bool:
    """Return True if a directory has what git requires of a repository."""
    return stat.S_ISREG(_mode(f"{path}/HEAD")) and all(
        stat.S_ISDIR(_mode(f"{path}/{each}")) for each in ("objects", "refs")
    )


_REMOTE: Final = regex(r'\s*\[\s*remote\s+"((?:[^"\\\n]|\\.){1,200})"\s*\](.*)', re.IGNORECASE)

_SECTION: Final = regex(r"\s*\[")

_URL: Final = regex(r"\s*url\s*=(.*)", re.IGNORECASE)


def _remote_urls(config: bytes) -> Iterator[str]:
    """The URLs from which remotes are fetched, the preferred one first."""
    found: dict[str, str] = {}
    remote = None
    for line in config.decode("utf-8", "replace").replace("\\\n", "").splitlines():
        text = line
        if header := _REMOTE.match(line):
            remote, text = header[1], header[2]
        elif _SECTION.match(line):
            remote = None
        if remote is not None and remote not in found and len(found) < MAX_REMOTES and (value := _URL.match(text)):
            found[remote] = _value(value[1])
    order = {name: place for place, name in enumerate(PREFERRED)}
    for name in sorted(found, key=lambda each: (order.get(each, len(order)), each)):
        if found[name]:
            yield found[name]


def _value(text: str) -> str:
    """A value of a configuration without quotes, escapes and comments (git-config(1), "Syntax"); empty if it is too
    long."""
    text, made, quoted, at = text.strip(), "", False, 0
    if len(text) > MAX_VALUE:
        return ""
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 1
            made += text[at : at + 1]
        elif char == '"':
            quoted = not quoted
        elif char in "#;" and not quoted:
            break
        else:
            made += char
        at += 1
    return made.strip()


def _local_path(url: str) -> str:
    return url.removeprefix("file://")


def _mode(path: str) -> int:
    """The mode of a file, 0 if there is none; of a symbolic link its own."""
    try:
        return os.lstat(path).st_mode
    except (OSError, ValueError):
        return 0


def _line(path: str) -> str:
    """The text of a file with a single line; empty if it is no such file."""
    found = _read(path, MAX_POINTER)
    text = "" if found is None else found.decode("utf-8", "replace").strip()
    return "" if "\n" in text or "\0" in text else text


def _read(path: str, most: int) -> bytes | None:
    """The bytes of a regular file of at most `most` bytes; None for anything else."""
    with _opened(path) as descriptor:
        if descriptor is None or os.fstat(descriptor).st_size > most:
            return None
        try:
            parts, size = [], 0
            while size <= most and (part := os.read(descriptor, most + 1 - size)):
                parts.append(part)
                size += len(part)
        except OSError:
            return None
    return b"".join(parts) if size <= most else None


@contextmanager
def _opened(path: str) -> Iterator[int | None]:
    """Yield a descriptor of a regular file; None for anything else, a symbolic link included."""
    descriptor = None
    try:
        if stat.S_ISREG(os.lstat(path).st_mode):  # before it is opened: opening a device may have an effect
            descriptor = open_regular(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NOCTTY)
    except (OSError, ValueError):
        descriptor = None
    try:
        yield descriptor
    finally:
        if descriptor is not None:
            os.close(descriptor)
