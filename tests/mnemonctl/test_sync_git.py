"""The working copy of a git remote: empty remotes, pushes in between, and what a repository must not do."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from mnemonctl import sync
from mnemonctl.sync import FOLDER, _Git, is_remote
from mnemond.errors import BUSY, MnemonError
from tests.tables import each_row

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")


@pytest.fixture
def remote(tmp_path: Path) -> str:
    path = tmp_path / "remote.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(path)], check=True)
    return str(path)


def copy(remote: str, tmp_path: Path, name: str) -> _Git:
    found = _Git(remote, tmp_path / name)
    found.prepare()
    return found


def write(git: _Git, device: str, text: str = "line\n") -> None:
    path = git.path / FOLDER / "default" / device
    path.mkdir(parents=True, exist_ok=True)
    (path / "00000001.jsonl").write_text(text)


def files(git: _Git) -> list[str]:
    return sorted(each.parent.name for each in (git.path / FOLDER).rglob("*.jsonl"))


def test_devices_push_to_an_empty_remote_and_past_each_other(remote: str, tmp_path: Path) -> None:
    one, other = copy(remote, tmp_path, "one"), copy(remote, tmp_path, "other")
    one.publish()  # nothing to say
    write(one, "a" * 16)
    write(other, "b" * 16)
    one.publish()
    other.publish()  # one pushed in between
    again = copy(remote, tmp_path, "one")
    assert files(again) == ["a" * 16, "b" * 16]
    write(again, "a" * 16, "two\n")
    again.publish()
    assert files(copy(remote, tmp_path, "third")) == ["a" * 16, "b" * 16]


def test_what_was_not_pushed_is_gone_and_will_be_written_again(remote: str, tmp_path: Path) -> None:
    one = copy(remote, tmp_path, "one")
    write(one, "a" * 16)
    one.publish()
    write(one, "c" * 16)
    assert files(copy(remote, tmp_path, "one")) == ["a" * 16]


def test_links_in_a_repository_are_files(remote: str, tmp_path: Path) -> None:
    evil = copy(remote, tmp_path, "evil")
    secret = tmp_path / "secret"
    secret.write_text("key")
    folder = evil.path / FOLDER / "default" / ("e" * 16)
    folder.mkdir(parents=True)
    os.symlink(secret, folder / "00000001.jsonl")
    settings = ["-c", "user.name=x", "-c", "user.email=x@x"]
    subprocess.run(["git", "-C", str(evil.path), "add", "-A"], check=True)
    subprocess.run(["git", "-C", str(evil.path), *settings, "commit", "-qm", "x"], check=True)
    subprocess.run(["git", "-C", str(evil.path), "push", "-q", remote, "HEAD:main"], check=True)
    there = copy(remote, tmp_path, "victim").path / FOLDER / "default" / ("e" * 16) / "00000001.jsonl"
    assert not there.is_symlink()
    assert there.read_text() == str(secret)


@pytest.mark.parametrize("form", ["{}", "file://{}"])
def test_nothing_of_a_repository_in_a_shared_folder_is_run(form: str, remote: str, tmp_path: Path) -> None:
    proof = tmp_path / "was-run"
    for hook in ("pre-receive", "update", "post-receive", "post-update", "reference-transaction", "proc-receive"):
        path = Path(remote, "hooks", hook)
        path.write_text(f"#!/bin/sh\necho {hook} >> {proof}\n")
        path.chmod(0o700)
    other = tmp_path / "other.git"
    subprocess.run(["git", "init", "--quiet", "--bare", str(other)], check=True)
    Path(remote, "objects", "info", "alternates").write_text(f"{other}/objects\n")
    for setting in ("core.alternateRefsCommand", "core.fsmonitor", "gc.recentObjectsHook"):
        subprocess.run(["git", "-C", remote, "config", setting, f"echo {setting} >> {proof}; true"], check=True)
    one = copy(form.format(remote), tmp_path, "one")
    write(one, "a" * 16)
    one.publish()
    assert not proof.exists(), proof.read_text()
    assert files(copy(form.format(remote), tmp_path, "two")) == ["a" * 16]


@each_row("named", ["ext::sh -c touch% /tmp/never", "--upload-pack=touch /tmp/never.git", "/none.git"])
def test_a_remote_that_is_none_is_refused(named: str, tmp_path: Path) -> None:
    with pytest.raises(MnemonError, match="cannot be synced with"):
        copy(named, tmp_path, "one")
    assert not Path("/tmp/never").exists()
    assert not Path("/tmp/never.git").exists()


@each_row(
    ("named", "shown"),
    [("https://me:s3cret@host/m.git", "https://…@host/m.git"), ("https://s3cret@host/m.git", "https://…@host/m.git"),
     ("http://a@b:s3cret@host/m", "http://…@host/m"), ("ssh://git:s3cret@host/m", "ssh://…@host/m"),
     ("ssh://git@host/m", "ssh://git@host/m"), ("git@host:me/m.git", "git@host:me/m.git"), ("/srv/a@b", "/srv/a@b")],
)  # fmt: skip
def test_a_password_of_an_address_is_neither_stored_nor_shown(named: str, shown: str) -> None:
    assert sync._shown(named) == shown
    assert str(sync._refused(named, f"fatal: {named} is not there")).count(shown) == 2
    assert "s3cret" not in str(sync._refused(named, f"fatal: '{named}' is not there"))


def test_two_syncs_do_not_share_a_working_copy(remote: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second one, of a timer, used to remove the working copy of the first while that wrote into it."""
    data, found = tmp_path / "data", []
    data.mkdir(mode=0o700)
    (data / "sync" / "of-another-remote").mkdir(parents=True)

    def first(path: Path, *_: object) -> None:
        (path / "x").write_text("text")
        with pytest.raises(MnemonError, match="another sync with a git remote runs") as caught:
            sync._through_git(sync._Named(remote, {}, "other"), data, 1.0)
        found.append(caught.value.kind)
        assert (path / "x").read_text() == "text"

    monkeypatch.setattr(sync, "_through_directory", first)
    sync._through_git(sync._Named(remote, {}, "default"), data, 1.0)
    assert found == [BUSY]
    assert not (data / "sync").exists(), "no text stays, nor that of a sync that was killed"


def test_git_that_hangs_ends(remote: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = tmp_path / "git"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o700)
    monkeypatch.setattr(sync, "GIT_DEADLINE_S", 0.1)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(MnemonError, match="`git init` took more than"):
        copy(remote, tmp_path, "one")


def test_no_git_is_said(remote: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MnemonError, match="no program `git`"):
        copy(remote, tmp_path, "one")


@each_row(
    ("named", "is_one"),
    [("git@example.com:me/m.git", True), ("ssh://host/m", True), ("https://host/m.git", True), ("/srv/m.git", True),
     ("~/Sync/memory", False), ("memory", False), ("/srv/a@b/c", False)],
)  # fmt: skip
def test_what_is_a_remote(named: str, is_one: bool) -> None:
    assert is_remote(named) is is_one


@each_row(
    ("said", "reason"),
    [("ssh: connect to host x port 22: Connection refused\nfatal: Could not read\n\nPlease make sure\nit exists.\n",
      "ssh: connect to host x port 22: Connection refused"),
     ("Warning: known hosts\nme@x: Permission denied (key).\nfatal: Could not", "me@x: Permission denied (key)."),
     ("To /srv/x\n ! [rejected] main\nerror: failed to push some refs\nhint: x", "error: failed to push some refs"),
     ("something else\nat the end\n", "at the end"), ("", "it failed"), ("fatal: " + "x" * 999, "fatal: " + "x" * 293)],
)  # fmt: skip
def test_the_line_of_git_that_says_why(said: str, reason: str) -> None:
    assert sync._reason(said.encode()) == reason
