"""Projects by their directories: whatever a client says, the name is one that a tag and a store may have."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mnemond.store.registry import is_valid_name
from mnemond.text.project_name import MAX_NAME, Project, named_project, project_of
from tests.tables import each_row


@each_row(
    ("directory", "name"),
    [
        ("/home/ada/apollo", "apollo"),
        ("/home/ada/apollo/", "apollo"),
        ("/home/ada/apollo/src", "apollo"),
        ("/home/ada/apollo/packages/src", "apollo"),
        ("/home/ada/apollo/.claude/worktrees/x", "apollo"),
        ("/home/ada/projects/../apollo/./", "apollo"),
        ("/home/ada/.dotfiles", "dotfiles"),
        ("/home/ada/.config/nvim", "nvim"),
        ("/home/ada/src", "src"),
        ("/srv/shop", "shop"),
        ("/Users/ada/My Project", "My Project"),
        ("/home/ada/项目", "项目"),
        ("/home/ada/a<b>\n\x1b[31mc\u202e", "a<b> [31mc"),
        ("/home/ada", ""),
        ("/Users/ada", ""),
        ("/root", ""),
        ("/tmp", ""),
        ("/", ""),
        ("/../..", ""),
        ("", ""),
        ("apollo", ""),
        ("C:\\apollo", ""),
        ("/home/ada/...", ""),
    ],
)
def test_names(directory: str, name: str) -> None:
    assert project_of(directory).name == name
    assert bool(project_of(directory).store) == bool(name)


@each_row(
    ("given", "name"),
    [
        ("apollo", "apollo"),
        ("team/apollo/", "apollo"),
        ("/home/ada/apollo", "apollo"),
        ("/home/ada/apollo/src", "apollo"),
        ("/home/ada", ""),
        ("/", ""),
        ("x" * 99, "x" * 64),
    ],
)
def test_a_project_is_named_as_its_sessions_name_it(given: str, name: str) -> None:
    assert named_project(given) == name


def test_stores_are_told_apart_by_where_they_lie() -> None:
    here, there = project_of("/home/ada/api"), project_of("/home/bob/api")
    assert here.name == there.name == "api"
    assert here.store.startswith("api-")
    assert here.store != there.store
    assert here.store == project_of("/home/ada/api/src").store
    assert project_of("/home/ada/项目").store.startswith("project-")


@given(
    st.text(max_size=300) | st.lists(st.sampled_from(["..", ".", "~", "a", "-x", "é" * 90, "$(x)", "\0"])).map("/".join)
)
def test_no_directory_makes_a_name_that_is_none(directory: str) -> None:
    for made in (project_of(directory), project_of("/" + directory)):
        assert made == Project() or is_valid_name(made.store)
        assert len(made.name) <= MAX_NAME
        assert made.name == made.name.strip()
        assert "/" not in made.name
        assert made.name.isprintable()
