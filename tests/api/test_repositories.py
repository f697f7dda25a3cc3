"""Projects of directories: real repositories of git, and files that only look like one."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from mnemond.api import projects
from mnemond.api.projects import project_in
from mnemond.text.project_name import Project, project_of, project_of_remote
from tests.tables import each_row

REMOTE = "https://github.com/team/acme.git"


def git(where: Path, *arguments: str) -> str:
    """Run git without the configuration of whoever runs the tests."""
    environ = {
        "PATH": os.environ["PATH"], "HOME": str(where), "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
        "GIT_AUTHOR_DATE": "2026-02-18T09:00:00Z", "GIT_COMMITTER_DATE": "2026-02-18T09:00:00Z",
    }  # fmt: skip
    done = subprocess.run(
        ["git", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", *arguments],
        cwd=where, env=environ, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout.strip()


def repository(path: Path, *, remote: str | None = None, commits: int = 1) -> Path:
    path.mkdir(parents=True)
    git(path, "init", "-q")
    for number in range(commits):
        git(path, "commit", "-q", "--allow-empty", "-m", f"{path.name} {number}")
    if remote is not None:
        git(path, "remote", "add", "origin", remote)
    return path


def of(path: Path) -> Project:
    return project_in(str(path))


SAME = (
    "https://github.com/team/acme.git",
    "https://github.com/team/acme",
    "https://github.com/team/acme/",
    "https://ada:ghp_0123456789abcdefghijABCDEFGHIJ012345@github.com/team/acme.git",
    "https://GitHub.com:443/Team/Acme.git",
    "http://www.github.com/team/acme.git?token=x#y",
    "ssh://git@github.com/team/acme.git",
    "ssh://git@github.com:22/team/acme",
    "ssh://git@ssh.github.com:443/team/acme.git",
    "git@github.com:team/acme.git",
    "git@github.com:/team/acme.git",
    "github.com:team/acme",
    "git://github.com/team/acme.git",
    "git+ssh://git@github.com/team/acme.git",
    "https://github.com/team/%61cme.git",
)


@each_row("url", SAME)
def test_forms_of_one_remote_are_one_project(url: str) -> None:
    assert project_of_remote(url, "/w").key == project_of_remote(REMOTE, "/w").key
    assert "ghp" not in project_of_remote(url, "/w").id


@each_row(
    ("one", "other"),
    [
        ("git@ssh.dev.azure.com:v3/org/team/acme", "https://org@dev.azure.com/org/team/_git/acme"),
        ("https://org.visualstudio.com/DefaultCollection/team/_git/acme", "https://dev.azure.com/org/team/_git/acme"),
        ("ssh://git@bit.example.com:7999/proj/acme.git", "https://bit.example.com/scm/proj/acme.git"),
        ("git@git.sr.ht:~ada/acme", "https://git.sr.ht/~ada/acme"),
        ("ssh://git@[2001:db8::1]:22/team/acme", "https://[2001:db8::1]/team/acme.git"),
        ("git@[2001:db8::1]:team/acme", "https://[2001:db8::1]/team/acme.git"),
    ],
)
def test_hosts_with_other_paths_by_ssh(one: str, other: str) -> None:
    assert project_of_remote(one, "/w").key == project_of_remote(other, "/w").key != ""


@each_row(
    "url",
    [
        "",
        "/srv/acme.git",
        "../acme",
        "file:///srv/acme.git",
        "C:\\acme",
        "helper::https://a/b",
        "https://a",
        "x" * 9999,
    ],
)
def test_what_is_no_address_is_no_remote(url: str) -> None:
    assert project_of_remote(url, "/w") == Project()


def test_a_worktree_is_of_the_same_project(tmp_path: Path) -> None:
    for name, remote in (("with", REMOTE), ("without", None)):
        one = repository(tmp_path / name, remote=remote)
        tree = tmp_path / f"{name}-tree"
        git(one, "worktree", "add", "-q", "-b", "topic", str(tree))
        assert of(tree).id == of(one).id
        assert of(tree).name == of(one).name == ("acme" if remote else "without")


def test_a_submodule_is_a_project_of_its_own(tmp_path: Path) -> None:
    part, whole = repository(tmp_path / "part"), repository(tmp_path / "whole", remote=REMOTE)
    git(whole, "submodule", "add", "-q", str(part), "part")
    assert of(whole / "part").key == of(part).key != of(whole).key


@each_row(
    ("config", "name"),
    [
        ('[remote "origin"]\n\turl = https://h.example/t/a.git\n', "a"),
        ('[REMOTE "origin"] URL=https://h.example/t/a.git # comment\n', "a"),
        ('[remote "origin"]\nurl = "https://h.example/t/\\\\\na.git" ; comment\n', "a"),
        ('[remote "fork"]\nurl=https://h.example/me/b\n[remote "upstream"]\nurl=https://h.example/t/a\n', "a"),
        ('[remote "z"]\nurl=https://h.example/t/z\n[remote "b"]\nurl=/nowhere\n[remote "c"]\nurl=h.example:t/c\n', "c"),
        ('[remote "origin"]\nurl=https://h.example/t/a\nurl=https://h.example/t/second\n', "a"),
        ('[remote "origin"]\npushurl=https://h.example/t/x\n[branch "main"]\nurl=https://h.example/t/y\n', "place"),
        ('[remote "origin"]\nurl=' + "https://h.example/t/" + "a" * 5000 + "\n", "place"),
        ('\x00\xff[[[remote "origin', "place"),
    ],
)  # fmt: skip
def test_configurations(config: str, name: str, tmp_path: Path) -> None:
    place = fake(tmp_path / "place", config)
    assert of(place).name == name


def fake(path: Path, config: str = "") -> Path:
    """What git takes for a repository."""
    for each in ("objects", "refs"):
        (path / ".git" / each).mkdir(parents=True)
    (path / ".git" / "HEAD").write_text("ref: refs/heads/main\n", "utf-8")
    (path / ".git" / "config").write_bytes(config.encode("utf-8", "surrogateescape"))
    return path


ORIGIN = f'[remote "origin"]\nurl = {REMOTE}\n'


def test_files_that_are_none_are_not_read(tmp_path: Path) -> None:
    fifo = fake(tmp_path / "fifo")
    (fifo / ".git" / "config").unlink()
    os.mkfifo(fifo / ".git" / "config")
    assert of(fifo).id == project_of(str(fifo)).id
    link = fake(tmp_path / "link")
    (link / ".git" / "config").unlink()
    (tmp_path / "elsewhere").write_text(ORIGIN, "utf-8")
    (link / ".git" / "config").symlink_to(tmp_path / "elsewhere")
    assert of(link).name == "link"
    loop = tmp_path / "loop"
    loop.mkdir()
    (loop / ".git").symlink_to(loop / ".git")
    assert of(loop).name == "loop"
    head = fake(tmp_path / "head", ORIGIN)
    (head / ".git" / "HEAD").unlink()
    (head / ".git" / "HEAD").symlink_to("/dev/zero")
    assert of(head).name == "head"
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / ".git")
    assert of(tmp_path / "pipe").name == "pipe"


@each_row(
    "pointer",
    ["", "nothing", "gitdir:", "gitdir: /nowhere", "gitdir: .", "gitdir: a\0b", "gitdir: a\nb", "gitdir: .git"],
)
def test_a_pointer_that_leads_nowhere_is_the_project_of_its_directory(pointer: str, tmp_path: Path) -> None:
    outer = fake(tmp_path / "outer", ORIGIN)
    (outer / "inner").mkdir()
    (outer / "inner" / ".git").write_text(pointer, "utf-8")
    assert of(outer / "inner").name == "inner"


def test_remotes_on_this_machine_end_somewhere(tmp_path: Path) -> None:
    names = [f"r{number}" for number in range(8)]
    for name, following in zip(names, [*names[1:], names[0]], strict=True):
        fake(tmp_path / name, f'[remote "origin"]\nurl = {tmp_path / following}\n')
    assert of(tmp_path / "r0").name == "r4"
    fake(tmp_path / "self", '[remote "origin"]\nurl = .\n')
    assert of(tmp_path / "self").name == "self"
    fake(tmp_path / "zero", '[remote "origin"]\nurl = a\0b\n')
    assert of(tmp_path / "zero").name == "zero"


def test_only_so_many_directories_are_looked_at(tmp_path: Path) -> None:
    fake(tmp_path / "far", ORIGIN)
    near = tmp_path.joinpath("far", *["d"] * 63)
    assert of(near).name == "acme"
    assert of(near / "d").name == "d"


def test_the_repository_of_a_home_is_no_project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(projects, "is_common", lambda path: path == str(tmp_path))
    fake(tmp_path, ORIGIN)
    (tmp_path / "notes").mkdir()
    assert of(tmp_path / "notes").name == "notes"


def test_a_home_is_no_project_wherever_homes_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = repository(tmp_path / "data" / "ada", remote=REMOTE)
    (home / "notes").mkdir()
    monkeypatch.setenv("HOME", f"{home}/")
    assert project_in(str(home)) == Project()
    assert project_in(f"{home}/.") == Project()
    assert project_in(str(home / "notes")).name == "notes"
