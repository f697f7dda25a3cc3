"""Memories of projects: which one they belong to, where they are found, and how they are labelled."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mnemond.api.types_memories import (
    ContextParams,
    DiffParams,
    ListParams,
    RecallParams,
    RememberParams,
    SearchParams,
)
from mnemond.config.settings import Config
from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.model.answers import CompactResult, ContextResult, ListResult, RecallResult
from mnemond.model.outcomes import RememberResult
from tests.api.factories import CALL, Bench, bench
from tests.api.test_repositories import fake, repository
from tests.tables import each_row

RULE = "Do not use the library requests for HTTP"
OTHER = "Use the library requests for HTTP calls"
TEA = "The user drinks tea at four"


class World:
    """A store, and the directories of two projects: acme is a repository with a remote, beta has only a path."""

    def __init__(self, over: Bench, path: Path) -> None:
        self.over = over
        self.acme = str(repository(path / "checkout", remote="git@github.com:team/acme.git"))
        self.clone = str(repository(path / "clone", remote="https://x:y@github.com/team/acme"))
        self.beta = str(path / "beta")
        (path / "beta").mkdir()

    async def remember(self, content: str, **given: Any) -> RememberResult:
        found = await self.over.remembering.remember(CALL, RememberParams(content=content, **given))
        assert isinstance(found, RememberResult)
        return found

    async def recall(self, query: str, **given: Any) -> list[tuple[str, str | None]]:
        """The contents found, each with its label."""
        found = await self.over.reads.recall(CALL, RecallParams(query=query, **given))
        assert isinstance(found, RecallResult)
        return [(it.content, it.project if it.other_project else None) for it in (h.insight for h in found.results)]

    async def list(self, **given: Any) -> list[str]:
        found = await self.over.reads.list(CALL, ListParams(**given))
        assert isinstance(found, ListResult)
        return [it.content for it in found.insights]


@asynccontextmanager
async def world(path: Path, config: Config | None = None) -> AsyncIterator[World]:
    (path / "data").mkdir(mode=0o700)
    async with bench(path / "data", config=config) as over:
        yield World(over, path)


@each_row(
    ("content", "given", "expected"),
    [
        ("Sign commits in all my projects", {"directory": "acme"}, None),
        ("Sign commits in all my projects", {"project": "acme"}, None),
        ("Sign commits in all my projects", {"directory": "acme", "project": "Acme"}, "acme"),
        (RULE, {"directory": "acme", "project": "NONE"}, None),
        (RULE, {"directory": "/"}, None),
        (RULE, {"directory": "acme", "project": "zenith"}, "zenith"),
        (RULE, {"directory": "acme", "project": "team/acme"}, "acme"),
        (RULE, {"project": "beta"}, "beta"),
        (RULE, {}, None),
    ],
)
async def test_which_project_it_is(content: str, given: dict[str, str], expected: str | None, tmp_path: Path) -> None:
    async with world(tmp_path) as at:
        places = {"acme": at.acme, "beta": at.beta}
        given = {name: places.get(value, value) for name, value in given.items()}
        project = (await at.remember(content, **given)).scope.project
        assert (project and project.partition("#")[0]) == expected


async def test_a_name_means_the_project_that_has_it(tmp_path: Path) -> None:
    async with world(tmp_path) as at:
        known = (await at.remember(RULE, directory=at.acme)).scope.project
        assert (await at.remember(TEA, project="acme")).scope.project == known
        assert (await at.remember("Deploy on Tuesdays", project=str(known))).scope.project == known
        other = str(fake(tmp_path / "other", '[remote "origin"]\nurl = https://example.com/a/acme\n'))
        assert (await at.remember("Deploy on Mondays", directory=other)).scope.project not in (None, known)
        assert (await at.remember("Deploy never", project="acme")).scope.project == "acme"  # there are two
        assert len(await at.list(project="acme")) == 5


@each_row("project", ["/home/ada/..", " ", "...", "ghp_x7Kq2mW9vB4nT1rZ8cL5yD0hG3jF6sPaQe1u"])
async def test_what_is_no_name_is_refused_or_no_project(project: str, tmp_path: Path) -> None:
    async with world(tmp_path) as at:
        if project.startswith("/"):
            assert (await at.remember(RULE, project=project)).scope.project is None
            return
        with pytest.raises(MnemonError) as caught:
            await at.remember(RULE, project=project)
        assert caught.value.kind is INVALID_PARAMS
        assert project not in caught.value.message or not project.strip()


async def test_recall_finds_other_projects_labelled_and_after_its_own(tmp_path: Path) -> None:
    async with world(tmp_path) as at:
        await at.remember(RULE, directory=at.acme)
        await at.remember(OTHER, directory=at.beta)
        question = "which library for HTTP"
        assert await at.recall(question, directory=at.clone) == [(RULE, None), (OTHER, "beta")]
        assert await at.recall(question, directory=at.beta) == [(OTHER, None), (RULE, "acme")]
        assert {label for _, label in await at.recall(question)} == {"acme", "beta"}
        assert await at.recall(question, directory=at.acme, project="acme") == [(RULE, None)]
        assert await at.recall(question, directory=at.acme, project="beta") == [(OTHER, "beta")]
        assert await at.recall(question, project="none") == []
        found = await at.over.search.search(CALL, SearchParams(query="requests", directory=at.acme))
        views = [hit.insight for hit in found.results]
        assert {it.content: it.other_project for it in views} == {RULE: False, OTHER: True}
        only = await at.over.search.search(CALL, SearchParams(query="requests", project="acme"))
        assert [hit.insight.content for hit in only.results] == [RULE]
        context = await at.over.reads.context(CALL, ContextParams(query=question, directory=at.acme))
        assert isinstance(context, ContextResult)
        assert " project:beta> Use the library" in context.text
        assert "project:acme" not in context.text
        compact = await at.over.reads.recall(CALL, RecallParams(query=question, directory=at.acme, compact=True))
        assert isinstance(compact, CompactResult)
        assert [hit.project for hit in compact.results if hit.other_project] == ["beta"]


async def test_a_project_replaces_nothing_of_another_and_nothing_general(tmp_path: Path) -> None:
    async with world(tmp_path) as at:
        old, new = "The API runs on port 8080", "The API runs on port 9090"
        await at.remember(old, directory=at.beta)
        assert (await at.remember(new, directory=at.acme)).action == "added"
        assert (await at.remember(new, directory=at.clone)).action == "skipped"
        assert (await at.remember(old, project="none")).action == "added"
        assert (await at.remember(old, project="zenith")).action == "skipped"  # it is known in general
        assert (await at.remember(new, project="zenith")).action == "added"
        assert (await at.remember(new, project="none")).action == "replaced"
        assert (await at.remember(new, directory=at.beta)).action == "skipped"
        assert sorted(await at.list()) == [old, new, new, new]
        diff = await at.over.remembering.diff(CALL, DiffParams(content=new, directory="/"))
        assert [match.content for match in diff.matches] == [new]


async def test_what_is_clearly_better_stays_above_its_own_project(tmp_path: Path) -> None:
    async with world(tmp_path) as at:
        await at.remember("The staging database runs PostgreSQL 16 on host stage-db-3", directory=at.beta)
        await at.remember("Staging has no backups", directory=at.acme)
        best, *_ = await at.recall("which host runs the staging database PostgreSQL", directory=at.acme)
        assert best == ("The staging database runs PostgreSQL 16 on host stage-db-3", "beta")
