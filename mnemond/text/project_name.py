"""Names of projects, from the directories in which agents work. A directory is a text here: none is looked up."""

from __future__ import annotations

import hashlib
from typing import Final, NamedTuple

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
_SYSTEM: Final = frozenset((
    ("tmp",), ("private", "tmp"), ("var", "tmp"), ("root",), ("mnt",), ("opt",), ("srv",), ("home",), ("Users",),
))  # fmt: skip
"""Directories that belong to no project."""

_NO_STORE: Final = regex("[^A-Za-z0-9]+")
_HASHED: Final = 8
"""Hexadecimal digits of the directory in a store's name: two projects of one name are two stores."""


class Project(NamedTuple):
    """Its name, and the name of a store of its own. Both are empty if there is no project."""

    name: str = ""
    store: str = ""


def project_of(directory: str) -> Project:
    """The project of a directory, given by its absolute path, or of a directory around it.

    A home directory is none, nor is a directory that every system has. A directory inside of one whose name begins with
    a dot, or of one of `PARTS_OF_PROJECTS`, is part of the project around it.
    """
    parts = _project_parts(_real_parts(directory))
    if not parts:
        return Project()
    name = inert(parts[-1]).lstrip(".").strip()[:MAX_NAME].strip()
    if not name:
        return Project()
    digits = hashlib.blake2b("/".join(parts).encode("utf-8", "replace"), digest_size=_HASHED // 2).hexdigest()
    plain = _NO_STORE.sub("-", name)[: MAX_NAME - _HASHED - 1].strip("-")
    return Project(name, f"{plain or 'project'}-{digits}")


def named_project(project: str) -> str:
    """The name of a project that is given by its name or by a directory; empty for a directory without a project. Only
    the last part of a name like "team/apollo" counts."""
    if project.startswith("/"):
        return project_of(project).name
    return project.rstrip("/").rpartition("/")[2].strip()[:MAX_NAME].strip()


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
    return not parts or tuple(parts) in _SYSTEM or (len(parts) == len(("home", "name")) and parts[0] in _HOMES)
