"""Projects of directories: real repositories of git, and files that only look like one."""

from __future__ import annotations

import os
import struct
import subprocess
import zlib
from pathlib import Path

import pytest

from mnemond.api import git_objects, repositories
from mnemond.api.git_objects import Objects, applied
from mnemond.api.projects import Projects
from mnemond.api.repositories import project_in
from mnemond.model.memory import is_same_project, project_parts
from mnemond.text.project_name import Project, project_from, project_of, project_of_remote

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
    return project_in(str(path), {})


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


@pytest.mark.parametrize("url", SAME)
def test_forms_of_one_remote_are_one_project(url: str) -> None:
    assert project_of_remote(url, "/w").key == project_of_remote(REMOTE, "/w").key
    assert "ghp" not in project_of_remote(url, "/w").id


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/team/other.git", "https://github.com/other/acme.git", "https://gitlab.com/team/acme.git",
        "https://github.com/team/acme/acme",
    ],
)  # fmt: skip
def test_other_remotes_are_others(url: str) -> None:
    assert project_of_remote(url, "/w").key != project_of_remote(REMOTE, "/w").key


@pytest.mark.parametrize(
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


def test_the_remote_names_the_project(tmp_path: Path) -> None:
    one = repository(tmp_path / "checkout", remote="git@github.com:team/acme.git")
    (one / "src" / "deep").mkdir(parents=True)
    assert of(one).name == "acme"
    assert of(one / "src" / "deep") == of(one)._replace(earlier=of(one / "src" / "deep").earlier)
    other = repository(tmp_path / "again", remote="https://ada:secret@github.com/team/acme")
    assert of(other).key == of(one).key
    assert "secret" not in str(of(other))


def test_a_worktree_is_of_the_same_project(tmp_path: Path) -> None:
    for name, remote in (("with", REMOTE), ("without", None)):
        one = repository(tmp_path / name, remote=remote)
        tree = tmp_path / f"{name}-tree"
        git(one, "worktree", "add", "-q", "-b", "topic", str(tree))
        assert of(tree).id == of(one).id
        assert of(tree).name == of(one).name == ("acme" if remote else "without")


def test_a_worktree_of_a_repository_without_a_commit(tmp_path: Path) -> None:
    one = repository(tmp_path / "one", commits=0)
    assert of(one).id == project_of(str(one)).id


def test_a_clone_is_of_the_same_project(tmp_path: Path) -> None:
    one = repository(tmp_path / "one", commits=3)
    git(tmp_path, "clone", "-q", str(one), "two")
    git(tmp_path, "clone", "-q", f"file://{tmp_path / 'two'}", "three")
    git(tmp_path, "clone", "-q", "--bare", str(one), "bare.git")
    git(tmp_path, "clone", "-q", str(tmp_path / "bare.git"), "four")
    assert {of(tmp_path / name).key for name in ("one", "two", "three", "four")} == {of(one).key}
    git(one, "remote", "add", "origin", REMOTE)
    assert of(tmp_path / "three").key == project_of_remote(REMOTE, "/").key == of(one).key


@pytest.mark.parametrize("packed", ["no", "packed", "deltas"])
def test_the_first_commit_is_found_in_loose_objects_and_packs(packed: str, tmp_path: Path) -> None:
    one = repository(tmp_path / "one", commits=0)
    for number in range(12):
        git(one, "commit", "-q", "--allow-empty", "-m", f"{number}\n\n{'the same long words again and again ' * 40}")
    if packed != "no":
        more = ("--depth=20", "--window=50", "-f") if packed == "deltas" else ()
        git(one, "repack", "-q", "-a", "-d", *more)
        git(one, "pack-refs", "--all")
    git(one, "checkout", "-q", "--detach", "HEAD~3")
    first = git(one, "rev-list", "--max-parents=0", "HEAD")
    roots: dict[str, str] = {}
    assert repositories._first_commit(f"{one}/.git", roots) == first
    assert roots == {git(one, "rev-parse", "main"): first}
    git(one, "checkout", "-q", "main")
    git(one, "commit", "-q", "--allow-empty", "-m", "newer")
    assert repositories._first_commit(f"{one}/.git", roots) == first
    assert Objects("/nowhere").first_commit("a" * 40, {"a" * 40: "b" * 40}) == "b" * 40


def test_a_history_that_is_cut_off_or_too_long_has_no_first_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = repository(tmp_path / "one", commits=5)
    git(tmp_path, "clone", "-q", "--depth=2", f"file://{one}", "shallow")
    assert repositories._first_commit(f"{tmp_path}/shallow/.git", {}) == ""
    assert of(tmp_path / "shallow").key == of(one).key
    monkeypatch.setattr(git_objects, "MAX_COMMITS", 3)
    assert of(one).key == project_of(str(one)).key


def test_a_submodule_is_a_project_of_its_own(tmp_path: Path) -> None:
    part, whole = repository(tmp_path / "part"), repository(tmp_path / "whole", remote=REMOTE)
    git(whole, "submodule", "add", "-q", str(part), "part")
    assert of(whole / "part").key == of(part).key != of(whole).key


def test_a_shared_clone_finds_the_objects_of_the_other(tmp_path: Path) -> None:
    one = repository(tmp_path / "one", commits=2)
    git(tmp_path, "clone", "-q", "--shared", str(one), "two")
    git(tmp_path / "two", "remote", "remove", "origin")
    assert of(tmp_path / "two").key == of(one).key


@pytest.mark.parametrize(
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
    for name in ("config", "packed-refs", "refs/heads/main"):
        place = fifo / ".git" / name
        place.unlink(missing_ok=True)
        place.parent.mkdir(exist_ok=True, parents=True)
        os.mkfifo(place)
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


def test_large_files_are_not_read(tmp_path: Path) -> None:
    large = fake(tmp_path / "large", ORIGIN)
    with open(large / ".git" / "config", "ab") as file:
        file.truncate(1 << 40)
    assert of(large).name == "large"
    pointer = tmp_path / "pointer"
    pointer.mkdir()
    (pointer / ".git").write_text("gitdir: " + "x" * 5_000, "utf-8")
    assert of(pointer).name == "pointer"


@pytest.mark.parametrize(
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
    monkeypatch.setattr(repositories, "is_common", lambda path: path == str(tmp_path))
    fake(tmp_path, ORIGIN)
    (tmp_path / "notes").mkdir()
    assert of(tmp_path / "notes").name == "notes"


def test_references_end_somewhere(tmp_path: Path) -> None:
    place = fake(tmp_path / "place")
    refs = place / ".git" / "refs" / "heads"
    refs.mkdir()
    for name, text in (("main", "ref: refs/heads/main"), ("master", "ref: ../../etc/passwd"), ("trunk", "f" * 39)):
        (refs / name).write_text(text, "utf-8")
    (place / ".git" / "packed-refs").write_bytes(b"# pack-refs with: peeled\nzz refs/heads/main\n")
    assert repositories._first_commit(f"{place}/.git", {}) == ""


def test_damaged_objects_are_missing_ones(tmp_path: Path) -> None:
    place = fake(tmp_path / "place")
    refs, objects = place / ".git" / "refs" / "heads", place / ".git" / "objects"
    refs.mkdir()
    (refs / "main").write_text("a" * 40, "utf-8")
    (objects / "aa").mkdir()
    for content in (
        b"no zlib",
        zlib.compress(b"blob 3\0abc"),
        zlib.compress(b"commit 9\0parent x"),
        zlib.compress(b""),
    ):
        (objects / "aa" / ("a" * 38)).write_bytes(content)
        assert repositories._first_commit(f"{place}/.git", {}) == ""
    (objects / "aa" / ("a" * 38)).write_bytes(zlib.compress(b"commit 9\0tree " + b"1" * 40 + b"\nparent zz\n"))
    assert repositories._first_commit(f"{place}/.git", {}) == "a" * 40  # "parent zz" is none
    bomb = zlib.compress(b"commit 9\0tree " + b"1" * 40 + b"\nparent " + b"a" * 40 + b"\n" + b"x" * (64 << 20))
    (objects / "aa" / ("a" * 38)).write_bytes(bomb)
    assert repositories._first_commit(f"{place}/.git", {}) == ""  # its own parent, for ever


@pytest.mark.parametrize("damage", [b"", b"\xfftOc\0\0\0\2", b"\xfftOc\0\0\0\2" + b"\xff" * 3000, os.urandom(4096)])
def test_damaged_indices_and_packs(damage: bytes, tmp_path: Path) -> None:
    one = repository(tmp_path / "one", commits=4)
    git(one, "repack", "-q", "-a", "-d")
    (index,) = (one / ".git" / "objects" / "pack").glob("*.idx")
    whole = index.read_bytes()
    index.chmod(0o600)
    index.write_bytes(damage)
    assert repositories._first_commit(f"{one}/.git", {}) == ""
    index.write_bytes(whole)
    pack = index.with_suffix(".pack")
    pack.chmod(0o600)
    pack.write_bytes(damage)
    assert repositories._first_commit(f"{one}/.git", {}) == ""


def packed(repository: Path, name: str, offset: int, pack: bytes, far: int = 0) -> None:
    """Give a repository one pack with this content, and an index that has one object, at `offset`, or `far` away."""
    first = int(name[:2], 16)
    counts = [int(number >= first) for number in range(256)]
    index = b"\xfftOc\0\0\0\2" + struct.pack(">256I", *counts) + bytes.fromhex(name) + bytes(4)
    index += struct.pack(">IQ", offset, far) + bytes(40)
    place = repository / ".git/objects/pack"
    place.mkdir(parents=True)
    (place / "pack-a.idx").write_bytes(index)
    (place / "pack-a.pack").write_bytes(pack)
    (repository / ".git/HEAD").write_text(f"{name}\n")


def test_an_object_that_is_a_difference_to_itself_is_missing(tmp_path: Path) -> None:
    name, root = "ab" * 20, fake(tmp_path / "mine")
    delta = bytes([0x75]) + bytes.fromhex(name) + zlib.compress(b"\5\5\5hello")
    packed(root, name, 12, b"PACK" + bytes(8) + delta)
    assert repositories._first_commit(f"{root}/.git", {}) == ""


@pytest.mark.parametrize("far", [2**64 - 1, 2**63 - 1, 2**63 - 60, 1 << 40])
def test_an_object_beyond_the_end_of_every_file_is_missing(far: int, tmp_path: Path) -> None:
    root = fake(tmp_path / "mine")
    packed(root, "ab" * 20, 1 << 31, b"PACK", far)
    assert repositories._first_commit(f"{root}/.git", {}) == ""


def test_differences() -> None:
    assert applied(b"hello world", b"\x0b\x05" + b"\x91\x06\x05", 99) == b"world"
    assert applied(b"hello world", b"\x0b\x05" + b"\x03abc" + b"\x90\x05", 99) == b"abchello"
    assert applied(b"hello world", b"\x0b\x05" + b"\x90\x05" * 9, 7) == b"hellohe"
    for damaged in (b"\x0b\x05\x00", b"\x0b\x05\x91\x06\x50"):
        assert applied(b"hello world", damaged, 99) is None
    assert applied(b"hello", b"\xff" * 40, 99) in (b"", None)


def test_ids_are_texts() -> None:
    project = project_of_remote(REMOTE, "/w")
    assert project_from(project.id)._replace(earlier=project.earlier) == project
    assert project_parts(project.id)[0] == "acme"
    assert project_from("acme#nothing") == Project("acme nothing")
    assert project_from("acme") == Project("acme")
    assert is_same_project(project.id, "Acme")
    assert is_same_project("acme", project.id)
    assert is_same_project(project.id, f"renamed#{project.key}")
    assert not is_same_project(project.id, f"acme#{'0' * 16}")
    assert not is_same_project(project.id, "other")
    assert project.store == f"acme-{project.key[:8]}"
    assert Project("acme").store == ""


async def test_what_is_no_directory_has_no_project() -> None:
    assert await Projects().of("apollo") == Project()
    assert await Projects().of("/a\0b") == Project()


def test_a_home_is_no_project_wherever_homes_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = repository(tmp_path / "data" / "ada", remote=REMOTE)
    (home / "notes").mkdir()
    monkeypatch.setenv("HOME", f"{home}/")
    assert project_in(str(home), {}) == Project()
    assert project_in(f"{home}/.", {}) == Project()
    assert project_in(str(home / "notes"), {}).name == "notes"
