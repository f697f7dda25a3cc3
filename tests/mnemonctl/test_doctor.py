"""`mnemonctl doctor` from outside: without a daemon, beside one, and beside what one left behind."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from pathlib import Path
from typing import Any

import apsw
import pytest

from mnemonctl import doctor
from mnemond.cli.admin import DoctorOptions
from mnemond.cli.grammar import Output
from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.store.backups import BackupDirectory
from tests.mnemonctl.daemons import Behaviour, fake_daemon
from tests.store.factories import START_US, engine_at, remember

JSON = Output(form="json")
HELLO = {"name": "mnemond", "version": "0.1.0", "protocol": 1, "pid": 4711, "outdated": False}
CHECK = {"name": "mirror_ids", "ok": True, "state": "ok", "detail": "fine", "problems": [], "store": "default"}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A data directory with one store of three memories that a daemon closed well."""
    root = tmp_path / "m"
    for part in (root, root / "data", root / "data" / "default"):
        part.mkdir(mode=0o700)
    engine = engine_at(root / "data" / "default" / "mnemon.db")
    engine.commit([remember(number) for number in range(3)])
    engine.close()
    (root / "data" / "default" / "mnemon.db").chmod(0o600)
    return root


def look(root: Path, environ: dict[str, str] | None = None, **typed: Any) -> tuple[int, dict[str, Any]]:
    """Exit status, and what was printed with the checks by name."""
    found = doctor.run(root, DoctorOptions(**typed), JSON, environ or {})
    printed = json.loads(found.stdout)
    checks = printed.pop("checks")
    assert printed["ok"] == (found.exit_code == 0) == all(each["ok"] for each in checks)
    return found.exit_code, {each["name"]: each for each in checks}


def states(checks: dict[str, Any]) -> dict[str, str]:
    """Of the checks that have something to say."""
    return {name: each["state"] for name, each in checks.items() if each["state"] in ("problem", "note")}


def everything(root: Path) -> list[tuple[str, int, int]]:
    found = [(str(path), os.lstat(path)) for path in sorted(root.rglob("*"))]
    return [(path, status.st_mtime_ns, status.st_mode) for path, status in found]


def test_without_a_daemon_it_looks_at_files_says_so_and_changes_nothing(directory: Path) -> None:
    before = everything(directory)
    code, checks = look(directory, full=True)
    assert (code, states(checks)) == (0, {"daemon": "note"})
    assert checks["content_hash"]["state"] == "ok"
    assert checks["mirror_ids"]["state"] == "skipped"
    assert everything(directory) == before


def test_a_directory_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    code, checks = look(tmp_path / "none")
    assert (code, states(checks)) == (0, {"data_dir": "note"})
    assert not (tmp_path / "none").exists()


def test_a_damaged_store_is_exit_status_1(directory: Path) -> None:
    db = apsw.Connection(str(directory / "data" / "default" / "mnemon.db"))
    db.execute("UPDATE insights SET content = 'another' WHERE number = 2")
    db.close()
    assert look(directory)[0] == 0, "only the full tier reads texts"
    code, checks = look(directory, full=True)
    assert (code, states(checks)) == (1, {"daemon": "note", "content_hash": "problem"})
    assert checks["content_hash"]["problems"][0]["where"].startswith("00000001-")


def test_what_others_may_read(directory: Path) -> None:
    directory.chmod(0o750)
    for name in ("stray.log", "config.toml"):
        (directory / name).touch()
        (directory / name).chmod(0o644)
    code, checks = look(directory)
    assert (code, states(checks)) == (1, {"data_dir": "problem", "private_files": "problem", "daemon": "note"})
    assert checks["private_files"]["problems"][0]["where"] == str(directory / "stray.log")


def test_a_socket_that_was_left(directory: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(directory / "sock"))
    (directory / "sock").chmod(0o600)
    code, checks = look(directory)
    assert (code, states(checks)) == (0, {"socket": "note", "daemon": "note"})


def test_a_lock_that_somebody_holds_without_listening(directory: Path) -> None:
    (directory / "lock").write_text("4711\n")
    (directory / "lock").chmod(0o600)
    with (directory / "lock").open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        code, checks = look(directory)
    assert (code, states(checks)) == (1, {"socket": "problem", "daemon": "note"})
    assert "kill 4711" in checks["socket"]["problems"][0]["next"]


def test_a_log_that_was_not_taken_in(directory: Path) -> None:
    log = directory / "data" / "default" / "mnemon.db-wal"
    log.write_bytes(b"frames")
    code, checks = look(directory)
    assert (code, states(checks)) == (1, {"store": "problem", "daemon": "note"})
    assert "mnemonctl daemon start" in checks["store"]["problems"][0]["next"]


def test_settings_that_no_daemon_would_start_with(directory: Path) -> None:
    (directory / "config.toml").write_text("[no_such_section]\nx = 1\n")
    code, checks = look(directory)
    assert (code, states(checks)) == (1, {"config": "problem", "daemon": "note"})


@pytest.mark.parametrize(
    ("typed", "environ", "asked"),
    [
        ({"store": "work"}, {"MNEMON_STORE": "play"}, "work"),
        ({"store": "play"}, {}, "play"),
        ({}, {"MNEMON_STORE": "play"}, "default"),
        ({}, {"MNEMON_STORE": ""}, "default"),
    ],
)
def test_which_store(typed: dict[str, str], environ: dict[str, str], asked: str, directory: Path) -> None:
    code, checks = look(directory, environ, **typed)
    if asked == "default":
        assert (code, checks["schema"]["store"]) == (0, "default")
    else:
        assert code == 1
        assert checks["store"]["problems"][0]["what"] == f'there is no store "{asked}" yet'


def test_every_store(directory: Path) -> None:
    work = directory / "data" / "work"
    work.mkdir(mode=0o700)
    (directory / "data" / "default" / "mnemon.db").rename(work / "mnemon.db")
    code, checks = look(directory, all=True)
    assert (code, checks["schema"]["store"]) == (0, "work")


def answering(**answers: object) -> Behaviour:
    """A daemon that answers so, by method."""

    def behave(message: bytes) -> bytes:
        found = answers.get(json.loads(message)["method"], {"code": -32601, "message": "no such method"})
        part = {"error": found} if isinstance(found, dict) and "code" in found else {"result": found}
        return json.dumps({"jsonrpc": "2.0", "id": 1, **part}).encode() + b"\n"

    return behave


@pytest.mark.parametrize(
    ("hello", "state", "said"),
    [
        ({"protocol": 2}, "problem", "the daemon speaks protocol 2"),
        ({"version": "0.0.9"}, "note", "not of one release"),
        ({}, "ok", "mnemond 0.1.0"),
    ],
)
def test_a_daemon_of_another_release(hello: dict[str, object], state: str, said: str, directory: Path) -> None:
    with fake_daemon(directory, answering(hello=HELLO | hello, verify={"code": -32601, "message": "no verify"})):
        (directory / "sock").chmod(0o600)
        code, checks = look(directory)
    assert (code, checks["versions"]["state"]) == (1, state)
    assert said in checks["versions"]["detail"]
    assert checks["store"]["detail"] == "no verify"


def test_a_daemon_that_says_what_nobody_understands(directory: Path) -> None:
    with fake_daemon(directory, lambda message: b"{}\n"):
        (directory / "sock").chmod(0o600)
        code, checks = look(directory)
    assert (code, states(checks)) == (1, {"socket": "problem", "daemon": "note"})


def test_what_is_no_socket(directory: Path) -> None:
    (directory / "sock").write_text("")
    (directory / "sock").chmod(0o600)
    code, checks = look(directory)
    assert (code, states(checks)) == (1, {"socket": "problem", "daemon": "note"})


def test_links(directory: Path, tmp_path: Path) -> None:
    (tmp_path / "m2").symlink_to(directory)
    (directory / "stray").symlink_to(tmp_path)
    code, checks = look(tmp_path / "m2")
    found = {"data_dir": "problem", "private_files": "problem", "store": "problem", "daemon": "note"}
    assert (code, states(checks)) == (1, found), "SQLite follows none either"


def test_links_on_the_way_are_followed_as_the_daemon_does(directory: Path, tmp_path: Path) -> None:
    (tmp_path / "home").symlink_to(directory.parent)
    code, checks = look(tmp_path / "home" / directory.name, full=True)
    assert (code, states(checks)) == (0, {"daemon": "note"})


@pytest.mark.parametrize(
    ("free", "state"), [(1 << 20, "problem"), (43 << 20, "note"), (100 << 20, "note"), (1 << 40, "ok")]
)
def test_room(free: int, state: str, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (directory / "data" / "default" / "mnemon.db").open("r+b") as large:
        large.truncate(80 << 20)
    room = os.statvfs_result((4096, 4096, 1 << 30, free // 4096, free // 4096, 10, 10, 10, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _: room)
    assert doctor.disk_space(doctor.Facts(directory, {}, None, None)).state == state


class Installed:
    """A service, as far as the check asks."""

    name, unit = "systemd", "mnemond"

    def __init__(self, state: str, missing: MnemonError | None, *, active: bool) -> None:
        self._state, self._missing, self._active = state, missing, active
        self.path = Path("mnemond.service")

    def files(self) -> list[Installed]:
        return [self]

    def state(self) -> str:
        if self._state == "unreadable":
            raise MnemonError(INVALID_PARAMS, "cannot be read")
        return self._state

    def installed(self) -> bool:
        return True

    def unavailable(self) -> MnemonError | None:
        return self._missing

    def active(self) -> bool:
        return self._active


@pytest.mark.parametrize(
    ("service", "state", "said"),
    [
        (Installed("same", None, active=True), "ok", "mnemond of systemd runs"),
        (Installed("same", None, active=False), "note", "does not run"),
        (Installed("same", MnemonError(INVALID_PARAMS, "nobody is there"), active=False), "note", "nobody is there"),
        (Installed("edited", None, active=True), "note", "mnemond.service is edited"),
        (Installed("unreadable", None, active=True), "problem", "cannot be read"),
    ],
)
def test_services(service: Installed, state: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mnemonctl.service.platform_supervisor", lambda _: service)
    found = doctor.service_files(doctor.Facts(Path("nowhere"), {}, None, None))
    assert found.state == state
    assert said in found.detail


def test_a_name_that_is_none(directory: Path) -> None:
    with pytest.raises(MnemonError) as refused:
        look(directory, store="../etc")
    assert refused.value.kind is INVALID_PARAMS


@pytest.mark.parametrize("fails", [False, True])
def test_syncs_that_fail_are_a_problem(directory: Path, fails: bool) -> None:
    times = {"since": "2026-11-28T09:00:00Z", "at": "2026-11-28T10:00:00Z"}
    failed = {"label": "/srv/a", "why": "no network", "count": 3, **times}
    target: dict[str, Any] = {
        "label": "/srv/a",
        "synced_at": None,
        "waiting": 0,
        "recipients": 0,
        "looked_at": False,
        "devices": [],
    }
    behave = answering(
        hello=HELLO,
        verify={"store": "default", "open": True, "ok": True, "checks": [CHECK]},
        **{
            "jobs.list": {"jobs": []},
            "sync.status": {
                "store": "default", "device": "0" * 16, "targets": [{**target, "failed": failed if fails else None}]
            },
        },
    )  # fmt: skip
    with fake_daemon(directory, behave):
        (directory / "sock").chmod(0o600)
        _, checks = look(directory, full=True)
    assert checks["sync"]["state"] == ("problem" if fails else "ok")
    if fails:
        assert checks["sync"]["problems"][0]["where"] == "/srv/a"
        assert "failed 3 times in a row: no network" in checks["sync"]["problems"][0]["what"]


def test_a_daemon_is_asked_about_its_store(directory: Path) -> None:
    behave = answering(
        hello=HELLO,
        verify={"store": "default", "open": True, "ok": True, "checks": [CHECK]},
        **{"jobs.list": {"jobs": [{"name": "prune", "error": None}, {"name": "verify", "error": "log: 1 sign"}]}},
        **{"sync.status": {"store": "default", "device": None, "targets": []}},
    )
    with fake_daemon(directory, behave) as daemon:
        (directory / "sock").chmod(0o600)
        code, checks = look(directory, full=True)
    asked = [(json.loads(message)["method"], json.loads(message)["params"]) for message in daemon.messages]
    assert asked[2] == ("verify", {"store": "default", "full": True})
    assert (code, states(checks)) == (1, {"jobs": "problem"})
    assert checks["mirror_ids"]["state"] == "ok"
    assert checks["jobs"]["detail"] == "verify: log: 1 sign"
    assert "pid 4711" in checks["socket"]["detail"]


def test_backups_are_verified_with_their_notes_and_leftovers_and_what_is_kept_aside_are_said(directory: Path) -> None:
    shelf = BackupDirectory(directory, keep=5)
    made, _ = shelf.add("default", directory / "data" / "default" / "mnemon.db", "asked", START_US)
    for each in (directory / "backups", directory / "backups" / "default"):
        each.chmod(0o700)
    code, checks = look(directory)
    assert (code, "backups" in checks) == (0, False)
    code, checks = look(directory, full=True)
    assert (code, checks["backups"]["detail"]) == (0, "1 backups, all whole")
    content = bytearray(made.file.read_bytes())
    content[5_000] ^= 1
    made.file.write_bytes(content)
    code, checks = look(directory, full=True)
    assert (code, checks["backups"]["detail"]) == (1, "1 of 1 backups are not whole")
    assert "its checksum is not the one" in checks["backups"]["problems"][0]["what"]
    code, checks = look(directory, full=True, store="work")
    assert checks["backups"]["detail"] == "0 backups, all whole"
    kept = directory / "damaged" / "default" / "20260202T024000.000000Z"
    kept.mkdir(parents=True, mode=0o700)
    made.file.with_name(f".{made.file.name}.part").touch(0o600)
    code, checks = look(directory)
    assert checks["damaged"]["state"] == checks["leftovers"]["state"] == "note"
    assert str(kept) in checks["damaged"]["detail"]


def test_what_is_in_the_place_of_a_backup_and_no_file_is_named(directory: Path) -> None:
    shelf = BackupDirectory(directory, keep=5)
    made = [
        shelf.add("default", directory / "data" / "default" / "mnemon.db", "asked", START_US + second)[0]
        for second in range(3)
    ]
    for each in (directory / "backups", directory / "backups" / "default"):
        each.chmod(0o700)
    for lost in made[:2]:
        lost.file.unlink()
    os.mkfifo(made[0].path, 0o600)
    made[1].file.mkdir(mode=0o700)
    code, checks = look(directory, full=True)
    assert (code, checks["backups"]["detail"]) == (1, "2 of 3 backups are not whole")
    said = [each["what"] for each in checks["backups"]["problems"]]
    assert said == [
        f"{made[0].name} (default): it is a named pipe, not a file",
        f"{made[1].name} (default): it is a directory, not a file",
    ]
    assert look(directory, full=True, store="work")[1]["backups"]["detail"] == "0 backups, all whole"


def test_every_store_is_checked_unless_one_is_named(directory: Path) -> None:
    for name in ("work", "empty"):
        (directory / "data" / name).mkdir(mode=0o700)
    (directory / "data" / "work" / "mnemon.db").write_bytes(b"no database" * 800)
    (directory / "data" / "work" / "mnemon.db").chmod(0o600)
    code, checks = look(directory)
    assert (code, checks["store"]["store"]) == (1, "work")
    assert "the file is not a database" in checks["store"]["detail"]
    assert look(directory, store="default")[0] == 0
    (directory / "data" / "empty" / "config.toml").write_text("")
    code, checks = look(directory, store="empty")
    assert checks["store"]["detail"] == 'the store "empty" has no database'
    assert "mnemonctl backup restore" in checks["store"]["problems"][0]["next"]


def test_a_store_that_only_the_daemon_still_has_is_checked_too(directory: Path) -> None:
    """Its directory was removed while it was open."""
    behave = answering(
        hello=HELLO,
        verify={"store": "gone", "open": False, "ok": True, "checks": [CHECK]},
        **{"store.list": {"stores": [{"name": "default"}, {"name": "gone"}]}},
    )
    with fake_daemon(directory, behave) as daemon:
        (directory / "sock").chmod(0o600)
        look(directory)
    asked = [json.loads(message)["params"].get("store") for message in daemon.messages]
    assert asked[2:] == ["default", "gone"]
