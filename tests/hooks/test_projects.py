"""What is told in the sessions of a project: what belongs to it, and what holds in all."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from mnemond.config.hosts import Moment
from mnemond.config.settings import HookSettings
from mnemond.text.project_name import project_of
from tests.api.test_repositories import REMOTE, git, repository
from tests.hooks.factories import Desk, desk

RULE = "Don't use requests in this repo, use httpx for all HTTP calls"
ABOUT_IT = "Should I use requests or httpx for the HTTP calls?"
LOW = HookSettings(min_probability=0.1)


def made(path: Path) -> Path:
    """A data directory beside the projects."""
    (path / "memory").mkdir(mode=0o700)
    return path / "memory"


async def begins(over: Desk, cwd: str) -> str:
    """The brief of a new session."""
    return await over.at(Moment.SESSION_START, session=cwd, cwd=cwd, source="startup")


async def told(over: Desk, cwd: str) -> tuple[bool, bool]:
    """True for each if the rule is in the brief, and what a prompt about it brings up in another session."""
    brief = await begins(over, cwd)
    return "httpx" in brief, "httpx" in await over.asks(ABOUT_IT, session=f"{cwd} again", cwd=cwd)


@pytest.mark.parametrize("hooks", [HookSettings(), LOW])
async def test_a_rule_is_told_in_its_project_alone(hooks: HookSettings, tmp_path: Path) -> None:
    acme = repository(tmp_path / "acme", remote=REMOTE)
    git(acme, "worktree", "add", "-q", "-b", "topic", str(tmp_path / "tree"))
    git(tmp_path, "clone", "-q", str(acme), "clone")
    beta = repository(tmp_path / "beta", remote="https://github.com/team/beta")
    (tmp_path / "elsewhere").mkdir()
    (acme / "src").mkdir()
    async with desk(made(tmp_path), hooks) as over:
        await over.remember(RULE, category="preference", importance=5, directory=str(acme))
        for place in (acme, acme / "src", tmp_path / "tree", tmp_path / "clone"):
            assert await told(over, str(place)) == (True, True), place
        for place in (beta, tmp_path / "elsewhere", Path("/root"), Path("/")):
            assert await told(over, str(place)) == (False, False), place
        assert await told(over, "") == (False, False)


async def test_what_is_general_is_told_everywhere(tmp_path: Path) -> None:
    async with desk(tmp_path) as over:
        await over.remember("User wants httpx instead of requests in all projects", importance=5, directory="/srv/acme")
        await over.remember("Short answers, please", importance=5, directory="/srv/acme", project="none")
        for place in ("/srv/acme", "/srv/beta", "/root"):
            brief = await begins(over, place)
            assert "httpx" in brief
            assert "Short answers" in brief


async def test_what_is_kept_of_a_session_belongs_to_its_project(tmp_path: Path) -> None:
    async with desk(tmp_path) as over, trio.open_nursery() as nursery:
        await nursery.start(over.daemon.scheduler.run)
        for prompt in (
            "I prefer tabs over spaces in this repo.", "I prefer pytest over unittest in all my projects.",
        ):  # fmt: skip
            await over.asks(prompt, cwd="/srv/acme")
            await over.answered("Noted.", cwd="/srv/acme")
        await over.does("jobs.run", name="extract")
        found = await over.does("list")
        assert {("pytest" in it.content): it.project for it in found.insights} == {True: None, False: "acme"}
        assert all(it.tags == () for it in found.insights)
        nursery.cancel_scope.cancel()


async def test_a_store_named_after_a_path_is_found_again(tmp_path: Path) -> None:
    acme = repository(tmp_path / "acme", remote=REMOTE)
    earlier = project_of(str(acme)).store
    async with desk(made(tmp_path), HookSettings(project="store")) as over:
        await over.does("store.create", name=earlier)
        await over.remember("Acme releases on Tuesdays", store=earlier, importance=5)
        assert "on Tuesdays" in await begins(over, str(acme))
        other = repository(tmp_path / "beta", remote="https://github.com/team/beta")
        await over.asks("We use Postgres.", cwd=str(other), session="b")
        await over.answered("Noted.", cwd=str(other), session="b")
        assert [name.partition("-")[0] for name in over.stores()] == ["acme", "beta"]


async def test_projects_that_are_not_distinguished(tmp_path: Path) -> None:
    async with desk(tmp_path, HookSettings(project="none")) as over:
        await over.remember("Acme releases on Tuesdays", importance=5, project="acme")
        assert "on Tuesdays" in await begins(over, "/srv/beta")
