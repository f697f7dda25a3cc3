"""`config path`, `config check`, `backup -o` and `cues --apply`: what the client does with files."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import msgspec
import pytest

import mnemonctl
from mnemonctl import daemon
from mnemond.api.types_stores import BackupCreateResult
from mnemond.model.answers import Backup
from mnemond.model.outcomes import CuesApplied
from mnemond.wire.params import PROTOCOL, SERVER_VERSION
from tests.mnemonctl.daemons import fake_daemon

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("MNEMON_")]:
        monkeypatch.delenv(name)


def run(directory: Path, *argv: str) -> int:
    return mnemonctl.run([*argv, "--data-dir", str(directory)])


def test_the_path_is_told_whether_or_not_there_is_a_file(tmp_path: Path, capfd: Capture) -> None:
    assert run(tmp_path, "config", "path", "--json") == 0
    assert json.loads(capfd.readouterr().out) == {"path": str(tmp_path / "config.toml"), "exists": False}
    assert run(tmp_path, "config", "path", "--store", "shop", "--text") == 0
    assert capfd.readouterr().out == f"{tmp_path}/data/shop/config.toml\n"
    assert run(tmp_path, "config", "path", "--store", "../shop") == 2
    assert "a store's name starts with" in capfd.readouterr().err
    assert list(tmp_path.iterdir()) == []


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_every_file_is_checked(tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(tmp_path, "config", "check", "--text") == 0
    assert capfd.readouterr().out == "fine: there is no file; the defaults apply\n"
    base = write(tmp_path / "config.toml", "[diff]\nduplicate = 0.7\n")
    own = write(tmp_path / "data" / "shop" / "config.toml", "[diff]\nupdate = 0.6\n")
    write(tmp_path / "data" / "no name" / "config.toml", "nonsense = ")
    assert run(tmp_path, "config", "check", "--json") == 0
    assert json.loads(capfd.readouterr().out) == {"ok": True, "files": [str(base), str(own)]}
    own.write_text("[diff]\nupdate = 0.8\n")
    assert run(tmp_path, "config", "check", "--text") == 2
    assert capfd.readouterr().err.startswith(f"mnemonctl: {own}:2: diff.update (0.8) must be below diff.duplicate")
    assert run(tmp_path, "config", "check", "--store", "home", "--text") == 0
    assert capfd.readouterr().out == f"fine: {base}\n"
    monkeypatch.setenv("MNEMON_DIFF__UPDATE", "0.5")
    assert run(tmp_path, "config", "check", "--text") == 0


def test_one_file_is_checked(tmp_path: Path, capfd: Capture) -> None:
    draft = write(tmp_path / "draft.toml", "[diff]\nupdate = 0.6\n")
    assert run(tmp_path, "config", "check", str(draft), "--text") == 0
    assert capfd.readouterr().out == f"fine: {draft}\n"
    assert run(tmp_path, "config", "check", str(tmp_path / "none.toml"), "--text") == 2
    assert "there is no file" in capfd.readouterr().err
    assert run(tmp_path, "config", "check", "one", "two", "--text") == 2
    assert "config check takes one file (2 were given)" in capfd.readouterr().err


def private(tmp_path: Path) -> Path:
    """An empty data directory."""
    root = tmp_path / "m"
    root.mkdir(mode=0o700)
    return root


class Backed:
    """A daemon that makes backups of nothing."""

    def __init__(self, made: Path) -> None:
        self.made = made
        self.params: list[object] = []

    def __call__(self, message: bytes) -> bytes:
        request = json.loads(message)
        if request["method"] == "hello":
            result: object = {"pid": 1, "version": SERVER_VERSION, "protocol": PROTOCOL}
        else:
            self.params.append((request["method"], request["params"]))
            view = Backup("20260218T093000.000000Z-asked", "shop", "asked", "x", str(self.made), 5, 1, 0, "ab")
            result = BackupCreateResult(backup=view, dropped=[])
        return msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "result": result}) + b"\n"


def test_a_backup_is_copied_privately_and_takes_nobodys_place(tmp_path: Path, capfd: Capture) -> None:
    root = private(tmp_path)
    made, target = write(tmp_path / "made.db", "12345"), tmp_path / "mine.db"
    backed = Backed(made)
    with fake_daemon(root, backed):
        assert run(root, "backup", "--store", "shop", "-o", str(target), "--json") == 0
        assert json.loads(capfd.readouterr().out)["backup"]["path"] == str(target)
        assert (target.read_text(), stat.S_IMODE(target.stat().st_mode)) == ("12345", 0o600)
        assert run(root, "backup", "-o", str(target), "--text") == 5
        assert "it exists already" in capfd.readouterr().err
        assert run(root, "backup", "-o", str(tmp_path / "no" / "such.db"), "--text") == 5
        (tmp_path / "link").symlink_to(root)
        assert run(root, "backup", "-o", str(tmp_path / "link" / "mine.db"), "--text") == 2
        for inside in ("mine.db", "active", "data/shop/mnemon.db-wal", "backups/shop/x.db"):
            assert run(root, "backup", "-o", str(root / inside), "--text") == 2
            assert not (root / inside).exists()
        err = capfd.readouterr().err
        assert "lies in the data directory" in err
        assert "cannot be written: No such file or directory" in err
        assert "the backup itself is there: 20260218T093000.000000Z-asked" in err
    assert backed.params == [("backup.create", {"store": "shop"}), ("backup.create", {})]
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix in {".db", ".part"}) == ["made.db", "mine.db"]


def test_the_store_of_the_environment_is_meant(tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    root = private(tmp_path)
    backed = Backed(write(tmp_path / "made.db", "12345"))
    monkeypatch.setenv("MNEMON_STORE", "home")
    with fake_daemon(root, backed):
        assert run(root, "backup", "-o", str(tmp_path / "one.db")) == 0
        assert run(root, "backup", "-o", str(tmp_path / "two.db"), "--store", "shop") == 0
    assert backed.params == [("backup.create", {"store": "home"}), ("backup.create", {"store": "shop"})]
    assert capfd.readouterr().err == ""


class Applied:
    """A daemon that was given cues."""

    def __init__(self) -> None:
        self.params: list[dict[str, object]] = []

    def __call__(self, message: bytes) -> bytes:
        request = json.loads(message)
        if request["method"] == "hello":
            result: object = {"pid": 1, "version": SERVER_VERSION, "protocol": PROTOCOL}
        else:
            self.params.append(request["params"])
            result = CuesApplied(changed=["a"], unchanged=[], unknown=[], redacted=[], op_id="o", replayed=False)
        return msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "result": result}) + b"\n"


def test_a_file_of_cues_is_read_by_the_client(tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = {"id": "aaaaaaaa", "content": "not sent", "cues": ["which one"]}
    whole = write(tmp_path / "whole.json", json.dumps({"memories": [memory], "left": 0}))
    bare = write(tmp_path / "bare.json", json.dumps([memory]))
    applied = Applied()
    with fake_daemon(tmp_path, applied):
        assert run(tmp_path, "cues", "--apply", str(whole), "--text") == 0
        monkeypatch.setenv("MNEMON_STORE", "home")
        assert run(tmp_path, "cues", "--apply", str(bare), "-q") == 0
    assert capfd.readouterr().out.startswith("Gave cues to 1 memory")
    sent = [{"id": "aaaaaaaa", "cues": ["which one"]}]
    assert applied.params == [{"memories": sent}, {"memories": sent, "store": "home"}]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("{", "is no list of cues"),
        ('{"memories": 5}', "is no list of cues"),
        ("[" + " " * (1 << 20) + "]", "it has more than 1,048,576 bytes"),
        (None, "cannot be read: No such file or directory"),
    ],
)
def test_a_file_that_holds_no_cues(tmp_path: Path, capfd: Capture, content: str | None, sentence: str) -> None:
    file = tmp_path / "cues.json"
    if content is not None:
        write(file, content)
    applied = Applied()
    with fake_daemon(tmp_path, applied):
        assert run(tmp_path, "cues", "--apply", str(file), "--text") == 2
    assert sentence in capfd.readouterr().err
    assert applied.params == []


def test_a_daemon_that_leaves_without_an_answer_is_told_of(
    tmp_path: Path, capfd: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = private(tmp_path)
    monkeypatch.setattr(daemon, "start", lambda *_: None)
    assert run(root, "backup", "-o", str(tmp_path / "one.db"), "--text") == 69
    assert "no daemon is running" in capfd.readouterr().err
    with fake_daemon(root, lambda _: b""):
        assert run(root, "backup", "-o", str(tmp_path / "one.db"), "--text") == 69
    assert "without an answer" in capfd.readouterr().err
