"""The files of a service: valid, hardened, shipped, and right for where they are installed."""

from __future__ import annotations

import json
import os
import plistlib
import shutil
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from mnemonctl.service import (
    SANDBOX,
    TEMPLATE,
    Launchd,
    Systemd,
    UnitFile,
    daemon_command,
    quoted,
    signed,
    template,
    unit_name,
    with_values,
)
from mnemond.errors import DATA_DIR, MnemonError
from tests.tables import each_row

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ("mnemond.socket", "mnemond.service", SANDBOX, TEMPLATE)

ACCEPTABLE = {False: 65, True: 25}
"""Tenths of systemd's exposure level without and with the sandbox, a little above what it says: 6.4, "medium", and 2.3,
"OK". It counts capabilities that a user's process does not have, and that only the sandbox can take away by name."""

analyze = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")


def analysed(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    runtime = home / "run"
    runtime.mkdir(mode=0o700, exist_ok=True)
    return subprocess.run(
        ["systemd-analyze", "--user", *arguments],
        env={"HOME": str(home), "XDG_RUNTIME_DIR": str(runtime), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def written(home: Path, *, sandbox: bool, data_dir: str = ".mnemon") -> list[Path]:
    """The units of a data directory, as an installation writes them."""
    files = Systemd(home / data_dir, {}, home).files(sandbox=sandbox)
    for file in files:
        file.write()
    return [file.path for file in files]


# ------------------------------------------------------------------ what systemd says of them


@analyze
@pytest.mark.parametrize("sandbox", [False, True])
@pytest.mark.parametrize("data_dir", [".mnemon", 'a "strange" $HOME 100%'])
def test_systemd_accepts_what_is_installed_and_thinks_it_safe(tmp_path: Path, sandbox: bool, data_dir: str) -> None:
    socket, service, *_ = written(tmp_path, sandbox=sandbox, data_dir=data_dir)
    verified = analysed(tmp_path, "--man=no", "verify", str(service), str(socket))
    assert (verified.returncode, verified.stderr) == (0, "")
    rated = analysed(
        tmp_path, "security", "--offline=yes", "--json=short", f"--threshold={ACCEPTABLE[sandbox]}", str(service)
    )
    assert rated.returncode == 0, rated.stdout[-2000:]
    assert {row["json_field"] for row in json.loads(rated.stdout)} >= {"NoNewPrivileges", "UMask"}


@analyze
def test_systemd_accepts_what_is_shipped(tmp_path: Path) -> None:
    program = tmp_path / ".local" / "bin" / "mnemond"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    for name in ("mnemond.socket", "mnemond.service"):
        (tmp_path / name).write_text(template(name))
    done = analysed(tmp_path, "--man=no", "verify", str(tmp_path / "mnemond.service"), str(tmp_path / "mnemond.socket"))
    assert (done.returncode, done.stderr) == (0, "")


@analyze
def test_a_mistake_would_be_noticed(tmp_path: Path) -> None:
    _, service, *_ = written(tmp_path, sandbox=False)
    service.write_text(service.read_text().replace("Restart=on-failure", "Restart=whenever"))
    assert "Failed to parse" in analysed(tmp_path, "--man=no", "verify", str(service)).stderr
    rated = analysed(tmp_path, "security", "--offline=yes", "--threshold=10", str(service))
    assert rated.returncode != 0


# ------------------------------------------------------------------ what stands in them


def test_a_unit_names_this_program_and_this_data_directory(tmp_path: Path) -> None:
    socket, service = Systemd(tmp_path / "my data", {}, tmp_path).files()
    name = unit_name(tmp_path / "my data", tmp_path)
    assert f"\nListenStream={tmp_path}/my data/sock\n" in socket.text
    assert f'\nExecStart={sys.executable} -P -m mnemond --data-dir "{tmp_path}/my data"\n' in service.text
    assert f"\nRequires={name}.socket\nAfter={name}.socket\n" in service.text
    assert socket.path == tmp_path / ".config" / "systemd" / "user" / f"{name}.socket"


def test_the_program_is_the_one_that_the_client_starts() -> None:
    unit = Systemd(Path("/x"), {}, Path("/home/ada")).files()[1]
    assert f"\nExecStart={' '.join(daemon_command(Path('/x')))}\n" in unit.text


def test_each_data_directory_has_a_unit_of_its_own() -> None:
    home = Path("/home/ada")
    names = [unit_name(path, home) for path in (home / ".mnemon", home / "work", Path("/srv/.mnemon"))]
    assert names[0] == "mnemond"
    assert len(set(names)) == 3


def test_a_directory_for_configuration_that_the_user_named_is_used(tmp_path: Path) -> None:
    for named, units in (
        ("/etc/ada", Path("/etc/ada")),
        ("relative", tmp_path / ".config"),
        ("", tmp_path / ".config"),
    ):
        (socket, _) = Systemd(tmp_path, {"XDG_CONFIG_HOME": named}, tmp_path).files()
        assert socket.path.parent == units / "systemd" / "user"


@each_row("name", ["line\nbreak", "bell\a", "blank at the end "])
def test_a_path_that_no_unit_can_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(MnemonError) as caught:
        Systemd(tmp_path / name, {}, tmp_path).files()
    assert caught.value.kind is DATA_DIR


@each_row(
    ("word", "expected"),
    [
        ("/usr/bin/python3.11", "/usr/bin/python3.11"),
        ("a b", '"a b"'),
        ('say "x"', r'"say \"x\""'),
        ("back\\slash", r'"back\\slash"'),
        ("100%", "100%%"),
        ("größe", "größe"),
    ],
)
def test_words_are_quoted_as_systemd_reads_them(word: str, expected: str) -> None:
    assert quoted(word) == expected


def test_a_setting_that_the_unit_does_not_have_once_is_a_mistake() -> None:
    assert with_values("\nA=1\nB=2\n", {"B": "3"}) == "\nA=1\nB=3\n"
    for text in ("\nA=1\n", "\nB=1\nB=2\n"):
        with pytest.raises(ValueError, match=r"B occurs [02] times in the unit"):
            with_values(text, {"B": "3"})


@each_row(("directory", "private"), [("/tmp/x", "no"), ("/var/tmp/x", "no"), ("/home/ada/x", "yes")])
def test_a_sandbox_does_not_hide_the_data_directory(directory: str, private: str) -> None:
    drop_in = Systemd(Path(directory), {}, Path("/home/ada")).files(sandbox=True)[-1]
    assert f"\nReadWritePaths={directory}\n" in drop_in.text
    assert f"\nPrivateTmp={private}\n" in drop_in.text


def test_the_agent_of_launchd_has_its_socket_and_its_program(tmp_path: Path) -> None:
    (file,) = Launchd(tmp_path / ".mnemon", tmp_path).files()
    agent = plistlib.loads(file.text.encode())
    assert file.path == tmp_path / "Library" / "LaunchAgents" / "dev.mnemon.mnemond.plist"
    assert agent["ProgramArguments"] == [sys.executable, "-P", "-m", "mnemond", "--data-dir", str(tmp_path / ".mnemon")]
    assert agent["Sockets"]["rpc"] == {"SockPathName": str(tmp_path / ".mnemon" / "sock"), "SockPathMode": 0o600}
    assert agent["KeepAlive"] == {"SuccessfulExit": False}
    assert agent["Umask"] == 0o077
    assert (agent["Label"], set(agent)) == ("dev.mnemon.mnemond", set(plistlib.loads(template(TEMPLATE).encode())))
    file.write()
    assert file.state() == "same"


# ------------------------------------------------------------------ how they travel


def test_every_file_travels_with_the_package() -> None:
    included = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert included["force-include"] == {"systemd": "mnemonctl/units"}
    assert sorted(path.name for path in (ROOT / "systemd").iterdir()) == sorted(SHIPPED)


def test_an_installed_package_has_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "units").mkdir()
    (tmp_path / "units" / "mnemond.socket").write_text("[Socket]\n")
    monkeypatch.setattr("importlib.resources.files", lambda _: tmp_path)
    assert template("mnemond.socket") == "[Socket]\n"


# ------------------------------------------------------------------ whose they are


def test_a_file_of_ours_is_known_and_so_is_a_change_in_it(tmp_path: Path) -> None:
    file = signed(tmp_path / "new" / "a.service", "[Unit]\nDescription=a\n")
    assert file.state() == "missing"
    usual = os.umask(0o077)
    try:
        file.write()
    finally:
        os.umask(usual)
    assert file.state() == "same"
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o644
    assert signed(file.path, "[Unit]\nDescription=b\n").state() == "older"
    file.path.write_text(file.text + "# a word of my own\n")
    assert file.state() == "edited"
    file.path.write_text("[Unit]\nDescription=a\n")
    assert file.state() == "foreign"
    file.write()
    assert file.state() == "same"
    file.remove()
    file.remove()
    assert file.state() == "missing"


@each_row("make", [Path.mkdir, lambda path: path.symlink_to("/dev/null")])
def test_what_is_no_file_is_not_ours(tmp_path: Path, make: object) -> None:
    file = signed(tmp_path / "a.service", "[Unit]\n")
    assert callable(make)
    make(file.path)
    assert file.state() == "foreign"


def test_a_file_is_there_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    file = signed(tmp_path / "a.service", "[Unit]\n")
    file.path.mkdir()
    with pytest.raises(MnemonError, match=r"a\.service cannot be used"):
        file.write()
    with pytest.raises(MnemonError, match=r"a\.service cannot be used"):
        file.remove()
    assert [path.name for path in tmp_path.iterdir()] == ["a.service"]


def test_a_directory_made_for_one_file_goes_with_it(tmp_path: Path) -> None:
    file = UnitFile(tmp_path / "a.service.d" / "b.conf", "[Service]\n")
    file.write()
    other = file.path.with_name("mine.conf")
    other.touch()
    file.remove()
    assert other.exists()
    other.unlink()
    file.write()
    file.remove()
    assert list(tmp_path.iterdir()) == []
