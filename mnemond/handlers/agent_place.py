"""Where the memories of a project are: in which store, and under which tag."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from mnemond.hook_settings import Hooks
from mnemond.pipelines.draft import problems_of
from mnemond.text.project_name import Project


class Stores(Protocol):
    """Which stores there are."""

    def resolve(self, name: str | None) -> str:
        """The store that is meant."""
        ...

    def exists(self, name: str) -> bool:
        """Whether it has a file."""
        ...

    async def create(self, name: str) -> bool:
        """Make it."""
        ...


class Place(NamedTuple):
    """The name of a store, and what in it is tagged with a project; `tag` is empty where nothing is. `there`: the store
    exists; nothing is made because somebody asks."""

    store: str
    tag: str
    there: bool


def place_of(project: Project, settings: Hooks, stores: Stores) -> Place:
    """Where the memories of a project are. Raises MnemonError where the store that is used has a name that is none."""
    own = project.store if settings.project == "store" and project.store else None
    store = stores.resolve(own)
    tag = project.name if settings.project == "tag" and not problems_of({"tags": (project.name,)}) else ""
    return Place(store, tag, stores.exists(store))
