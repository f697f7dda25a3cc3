"""What a project is called: by the directory an agent works in. A directory is only ever a text here."""

from __future__ import annotations

import hashlib
from typing import Final, NamedTuple

from mnemond.text.prompt_escape import inert
from mnemond.text.resources import regex

LONGEST: Final = 64
"""Characters of a name; as many as a store's may have."""

PARTS_OF_PROJECTS: Final = frozenset((
    "src", "lib", "libs", "app", "apps", "bin", "cmd", "pkg", "packages", "internal", "test", "tests", "doc", "docs",
    "scripts", "build", "dist", "target", "node_modules", "venv",
))  # fmt: skip
"""Directories that are found in projects and hardly ever are one: the project is above them."""

_HOMES: Final = frozenset(("home", "Users"))
_NOBODYS: Final = frozenset((
    ("tmp",), ("private", "tmp"), ("var", "tmp"), ("root",), ("mnt",), ("opt",), ("srv",), ("home",), ("Users",),
))  # fmt: skip
"""Directories that belong to no project."""

_NO_STORE: Final = regex("[^A-Za-z0-9]+")
_HASHED: Final = 8
"""Hexadecimal digits of the directory in a store's name: two projects of one name are two stores."""


class Project(NamedTuple):
    """Its name, as people say it, and that of a store of its own. Both are empty for what is no project."""

    name: str = ""
    store: str = ""


def project_of(directory: str) -> Project:
    """The project that a directory, given by its absolute path, is or lies in.

    A home directory is none, nor is what every system has. What lies in a directory whose name begins with a dot, or in
    one that projects have inside, is part of the project around it.
    """
    parts = _project_parts(_real_parts(directory))
    if not parts:
        return Project()
    name = inert(parts[-1]).lstrip(".").strip()[:LONGEST].strip()
    if not name:
        return Project()
    digits = hashlib.blake2b("/".join(parts).encode("utf-8", "replace"), digest_size=_HASHED // 2).hexdigest()
    plain = _NO_STORE.sub("-", name)[: LONGEST - _HASHED - 1].strip("-")
    return Project(name, f"{plain or 'project'}-{digits}")


def named_project(project: str) -> str:
    """The name of a project that somebody gives by its name or by a directory; empty for a directory that is in none. A
    name may stand behind others, as in "team/apollo"."""
    if project.startswith("/"):
        return project_of(project).name
    return project.rstrip("/").rpartition("/")[2].strip()[:LONGEST].strip()


def _real_parts(directory: str) -> list[str]:
    """The names on the way, where "." and ".." are none; empty for what is no absolute path."""
    parts: list[str] = []
    for part in directory.split("/") if directory.startswith("/") else ():
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return parts


def _project_parts(parts: list[str]) -> list[str]:
    """The way to the project that these lead to, or into; empty where there is none."""
    hidden = next((at for at, part in enumerate(parts) if part.startswith(".")), len(parts))
    if not _is_nobodys(parts[:hidden]):
        parts = parts[:hidden]
    while parts and parts[-1] in PARTS_OF_PROJECTS and not _is_nobodys(parts[:-1]):
        parts = parts[:-1]
    return [] if _is_nobodys(parts) else parts


def _is_nobodys(parts: list[str]) -> bool:
    return not parts or tuple(parts) in _NOBODYS or (len(parts) == len(("home", "name")) and parts[0] in _HOMES)
