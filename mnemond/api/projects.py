"""Projects of requests: which one a memory is written in, and which one a question is asked from."""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

import trio

from mnemond.api.repositories import project_in
from mnemond.api.store_access import OpenStore
from mnemond.errors import FieldProblem, invalid
from mnemond.index.snapshot import Snapshot
from mnemond.model.memory import project_parts
from mnemond.text.generality import is_general
from mnemond.text.project_name import NONE, Project, named_project, project_from
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
