"""Projects as values: names and keys, made of a directory or a remote URL. Nothing is looked up here;
`mnemond.api.projects` reads the files of repositories."""

from __future__ import annotations

import hashlib
from typing import Final, NamedTuple

from mnemond.model.memory import KEY_DIGITS, MARK, project_parts
from mnemond.text.prompt_escape import inert
from mnemond.text.resources import regex

MAX_NAME: Final = 64
"""Characters of a name; the maximum of a store's name."""

PARTS_OF_PROJECTS: Final = frozenset((
    "src", "lib", "libs", "app", "apps", "bin", "cmd", "pkg", "packages", "internal", "test", "tests", "doc", "docs",
    "scripts", "build", "dist", "target", "node_modules", "venv",
))  # fmt: skip
"""Directories inside of projects that are hardly ever a project themselves."""

_HOMES: Final = frozenset(("home", "Users"))
_OF_HOMES: Final = frozenset((
    "Desktop", "Documents", "Downloads", "Music", "Pictures", "Public", "Templates", "Videos",
))  # fmt: skip
"""Directories of a home that are none either (xdg-user-dirs)."""
_SYSTEM: Final = frozenset((
    ("tmp",), ("private", "tmp"), ("var", "tmp"), ("root",), ("mnt",), ("opt",), ("srv",), ("home",), ("Users",),
))  # fmt: skip
"""Directories that belong to no project."""

_NO_STORE: Final = regex("[^A-Za-z0-9]+")
_HASHED: Final = KEY_DIGITS[0]
"""Hexadecimal digits of the key in a store's name: two projects of one name are two stores. A path has no more, so that
stores that were named after one are found again."""
_DIGITS: Final = KEY_DIGITS[1]


class Project(NamedTuple):
    """A project by its name and its key, both empty if there is none.

    The key is a hash that tells apart projects of one name; it is empty if only the name is known. `earlier` is the
    store that the directory had before its project was known by more than its path, or empty.
    """

    name: str = ""
    key: str = ""
    earlier: str = ""

    @property
    def id(self) -> str:
        """The text by which memories belong to it, `name#key`, or the name alone; empty if there is no project."""
        return f"{self.name}{MARK}{self.key}" if self.key else self.name

    @property
    def store(self) -> str:
        """The name of a store of its own; empty without a key."""
        if not self.key:
            return ""
        plain = _NO_STORE.sub("-", self.name)[: MAX_NAME - _HASHED - 1].strip("-")
        return f"{plain or 'project'}-{self.key[:_HASHED]}"


NONE: Final = "none"
"""Given as a project: no project, so that a memory is general."""


def project_from(text: str) -> Project:
    """Return the project of an id, or of a name alone."""
    name, key = project_parts(text)
    return Project(name, key) if key else Project(clean_name(text))


def clean_name(name: str) -> str:
    """Return a name as it is shown: on one line, visible, of at most MAX_NAME characters; empty if nothing is left."""
    return inert(name.replace(MARK, " ")[: 4 * MAX_NAME]).lstrip(".").strip()[:MAX_NAME].strip()


def project_of(directory: str) -> Project:
    """The project of a directory, given by its absolute path, or of a directory around it, by its path alone.

    A home directory is none, nor is a directory that every system has. A directory inside of one whose name begins with
    a dot, or of one of `PARTS_OF_PROJECTS`, is part of the project around it.
    """
    parts = _project_parts(_real_parts(directory))
    name = clean_name(parts[-1]) if parts else ""
    return Project(name, _hash("/".join(parts), _HASHED)) if name else Project()


def project_at(root: str, directory: str) -> Project:
    """The project of a repository of which only the path of its root is known."""
    parts = _real_parts(root)
    earlier = project_of(directory).store
    name = clean_name(parts[-1].removesuffix(".git")) if parts else ""
    return Project(name, _hash("/".join(parts), _HASHED), earlier) if name else project_of(directory)


def project_of_remote(url: str, directory: str) -> Project:
    """The project of a repository with this remote URL; an empty one for a path on this machine and for what is no URL.

    The forms for ssh, scp and https of one repository are equal; credentials, ports and the user are not looked at.
    """
    host, path = _address(url)
    segments = _segments(host, path)
    name = clean_name(segments[-1]) if segments else ""
    if not (host and name):
        return Project()
    address = "/".join((_known_as(host), *segments)).casefold()
    return Project(name, _hash(f"remote\0{address}"), project_of(directory).store)


def is_common(directory: str) -> bool:
    """Return True for directories that belong to no project, whatever is in them: homes, and those of every system."""
    return _is_system(_real_parts(directory))


def named_project(project: str) -> str:
    """The name of a project that is given by its name or by a directory; empty for a directory without a project. Only
    the last part of a name like "team/apollo" counts."""
    if project.startswith("/"):
        return project_of(project).name
    return project.rstrip("/").rpartition("/")[2].strip()[:MAX_NAME].strip()


# ---------------------------------------------------------------- remote URLs

_URL: Final = regex(r"([A-Za-z][A-Za-z0-9+.-]{0,31})://([^/?#]*)(/[^?#]*)?")
_SCP: Final = regex(r"(?:[^@/:\s]{1,255}@)?(\[[0-9A-Fa-f:.]{2,64}\]|[^@/:\s]{2,255}):(?!:)([^\s]+)")
"""The short form of ssh, `user@host:path`. A host of one letter is a drive; `helper::address` is of another program."""
_PERCENT: Final = regex("%([2-7][0-9A-Fa-f])")

_AZURE: Final = "dev.azure.com"
_HOSTS: Final = {
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
    "ssh.dev.azure.com": _AZURE,
    "vs-ssh.visualstudio.com": _AZURE,
}
"""Hosts of ssh that are another one for https (the documentation of each, "SSH over the HTTPS port" and alike)."""

_VISUAL_STUDIO: Final = ".visualstudio.com"
"""Hosts of Azure DevOps with the organisation before it, instead of in the path."""

MAX_URL: Final = 2_048
"""Characters of a URL that is looked at."""


def _address(url: str) -> tuple[str, str]:
    """The host and the path of a remote URL, both empty if it has none."""
    url = url.strip()[: MAX_URL + 1]
    if len(url) > MAX_URL:
        return "", ""
    if found := _URL.fullmatch(url.partition("#")[0].partition("?")[0]):
        scheme, authority, path = found[1].lower(), found[2], found[3] or ""
        host = authority.rpartition("@")[2]
        host = host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]
        return ("", "") if scheme == "file" else (_host(host), path)
    found = _SCP.fullmatch(url)
    return ("", "") if found is None or "://" in url else (_host(found[1]), found[2])


def _host(name: str) -> str:
    return name.lower().rstrip(".").removeprefix("www.")


def _known_as(host: str) -> str:
    found = _HOSTS.get(host, host)
    return _AZURE if found.endswith(_VISUAL_STUDIO) else found


def _segments(host: str, path: str) -> list[str]:
    """The parts of a path that name the repository, without what only one of its forms has."""
    plain = _PERCENT.sub(lambda it: chr(int(it[1], 16)), path)
    parts = [part for part in plain.split("/") if part not in ("", ".", "..")]
    if parts:
        parts[-1] = parts[-1].removesuffix(".git")
    if host.endswith(_VISUAL_STUDIO) and host not in _HOSTS:
        parts = [host.removesuffix(_VISUAL_STUDIO), *(part for part in parts if part != "DefaultCollection")]
    if _known_as(host) == _AZURE:
        return [part for at, part in enumerate(parts) if part != "_git" and (at or part != "v3")]
    if len(parts) > 2 and parts[0] == "scm":  # Bitbucket Server, by https alone
        return parts[1:]
    return parts


def _hash(text: str, digits: int = _DIGITS) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=digits // 2).hexdigest()


# ---------------------------------------------------------------- paths


def _real_parts(directory: str) -> list[str]:
    """The names of a path, with "." and ".." resolved; empty if it is not absolute."""
    parts: list[str] = []
    for part in directory.split("/") if directory.startswith("/") else ():
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return parts


def _project_parts(parts: list[str]) -> list[str]:
    """The path of the project that is or contains these; empty if there is none."""
    hidden = next((at for at, part in enumerate(parts) if part.startswith(".")), len(parts))
    if not _is_system(parts[:hidden]):
        parts = parts[:hidden]
    while parts and parts[-1] in PARTS_OF_PROJECTS and not _is_system(parts[:-1]):
        parts = parts[:-1]
    return [] if _is_system(parts) else parts


def _is_system(parts: list[str]) -> bool:
    if not parts or tuple(parts) in _SYSTEM:
        return True
    home = ("home", "name") if parts[0] in _HOMES else ("root",) if parts[0] == "root" else ()
    return bool(home) and (len(parts) == len(home) or (len(parts) == len(home) + 1 and parts[-1] in _OF_HOMES))
