"""What says that it holds in all projects, and what only sounds like it."""

from __future__ import annotations

from mnemond.text.generality import is_general
from tests.tables import each_row


@each_row(
    "text",
    [
        "User prefers tabs in all projects",
        "In every project, run the linter before a commit",
        "I use pytest across all my repositories.",
        "Sign commits in all of our repos",
        "User wants short answers, regardless of the project",
        "Never force-push, no matter which repo",
        "This holds everywhere: no emojis in code",
        "In general, prefer composition over inheritance",
        "Keep lines short. Generally, 100 characters",
        "User wants conventional commits, not just in this project",
        "As a general rule the user wants tests first",
        "In allen meinen Projekten nutze ich Tabs",
        "Tests zuerst, in jedem Projekt",
        "Das gilt überall: keine Emojis",
        "Grundsätzlich: erst Tests, dann Code",
        "Commits werden projektübergreifend signiert",
        "Englische Commits, unabhängig vom Projekt",
        "我在所有项目里都用制表符",
        "每个项目都要先写测试",
        "无论哪个项目，提交信息用英文",
        "Dans tous mes projets j'utilise des tabulations",
        "En todos mis proyectos uso tabuladores",
    ],
)
def test_it_is_general(text: str) -> None:
    assert is_general(text)


@each_row(
    "text",
    [
        "Don't use requests in this repo",
        "Use httpx in this project, never requests",
        "All tests of this project run in parallel",
        "User prefers tabs",
        "The project has all its settings in one file",
        "Log in every module",
        "We use tabs, but not in all projects",
        "Generally the build takes ten minutes",
        "Packages are installed globally",
        "The general manager of the project is Ana",
        "In diesem Projekt nutzen wir Tabs",
        "Das gilt nicht in allen Projekten",
        "这个项目用制表符",
        "并非所有项目都用制表符",
        "",
    ],
)
def test_it_is_not(text: str) -> None:
    assert not is_general(text)


@each_row("part", ["in all ", "in all of my ", "not ", "in every project", "所有", "regardless of the "])
def test_a_hostile_text_takes_no_time(part: str) -> None:
    is_general(part * 20_000)
