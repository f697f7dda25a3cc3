"""`mnemonctl daemon install` and `uninstall`, with a supervisor that a test looks into."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import mnemonctl
from mnemonctl import daemon, daemon_commands, service
from mnemonctl.service import Launchd, Systemd, UnitFile, signed
from mnemond.cli.admin import InstallOptions
from mnemond.cli.grammar import Output
from mnemond.errors import INVALID_PARAMS, UNAVAILABLE, UNREACHABLE, MnemonError
from tests.mnemonctl.daemons import fake_daemon

HELLO = b'{"jsonrpc":"2.0","id":1,"result":{"pid":4711,"version":"0.1.0","protocol":1,"stopping":true}}\n'
Capture = pytest.CaptureFixture[str]


class Recorder:
    """A supervisor that does nothing but remember what it was asked."""

    name = "systemd"
    unit = "mnemond"

    def __init__(self, units: Path) -> None:
        self.asked: list[str] = []
        self.units = units
        self.runs = False
        self.absent: MnemonError | None = None

    def files(self, *, sandbox: bool = False) -> list[UnitFile]:
        names = ["mnemond.socket", "mnemond.service", *(["mnemond.service.d/s.conf"] if sandbox else [])]
        return [signed(self.units / name, f"[Unit]\nDescription={name}\n") for name in names]

    def installed(self) -> bool:
        return (self.units / "mnemond.service").exists()

    def unavailable(self) -> MnemonError | None:
        return self.absent

    def active(self) -> bool:
        return self.runs

    def commands(self) -> list[list[str]]:
        return [["systemctl", "--user", "start", "a b"]]

    def enable(self) -> None:
        self.asked.append("enable")
        self.runs = True

    def start(self) -> None:
        self.asked.append("start")
        self.runs = True

    def stop(self) -> None:
        self.asked.append("stop")
        self.runs = False

    def disable(self) -> None:
        self.asked.append("disable")
        self.runs = False

    def after_removal(self) -> None:
        self.asked.append("after removal")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    found = tmp_path / "home"
    found.mkdir(mode=0o700)
    return found


@pytest.fixture
def recorder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    found = Recorder(tmp_path / "units")
    monkeypatch.setattr(service, "platform_supervisor", lambda _: found)
    monkeypatch.setattr(daemon, "check", lambda _: None)
    monkeypatch.setattr(daemon, "end", lambda _: found.asked.append("stop the other"))
    return found


@pytest.fixture
def served(home: Path) -> Iterator[None]:
    with fake_daemon(home, lambda _: HELLO):
        yield


def act(name: str, home: Path, options: InstallOptions = InstallOptions(), form: str = "text") -> str:  # noqa: B008 - frozen
    output = Output("json") if form == "json" else Output()
    return daemon_commands.run_service(name, home, 2.0, options, output).stdout


def names(recorder: Recorder) -> list[str]:
    return sorted(str(path.relative_to(recorder.units)) for path in recorder.units.rglob("*") if path.is_file())


@pytest.mark.usefixtures("served")
def test_install_writes_starts_and_says_so_and_again_changes_nothing(home: Path, recorder: Recorder) -> None:
    shown = act("install", home)
    assert recorder.asked == ["stop", "stop the other", "enable"]
    assert shown == (
        "mnemond runs as a service of systemd: mnemond (pid 4711)\n"
        f"  {recorder.units}/mnemond.socket (new)\n"
        f"  {recorder.units}/mnemond.service (new)\n"
        "It stops when you log out, unless: loginctl enable-linger\n"
    )
    before = {path: path.stat().st_mtime_ns for path in recorder.units.iterdir()}
    recorder.asked.clear()
    facts = json.loads(act("install", home, form="json"))
    assert (facts["status"], facts["pid"], [file["state"] for file in facts["files"]]) == (
        "installed",
        4711,
        ["same"] * 2,
    )
    assert recorder.asked == ["enable"]
    assert {path: path.stat().st_mtime_ns for path in recorder.units.iterdir()} == before


@pytest.mark.usefixtures("served")
def test_a_file_of_an_earlier_version_is_replaced_and_the_daemon_started_anew(home: Path, recorder: Recorder) -> None:
    act("install", home)
    path = recorder.units / "mnemond.service"
    signed(path, "[Unit]\nDescription=older\n").write()
    recorder.asked.clear()
    assert "mnemond.service (of another version, replaced)" in act("install", home)
    assert "older" not in path.read_text()
    assert recorder.asked == ["stop", "stop the other", "enable"]


@pytest.mark.usefixtures("served")
@pytest.mark.parametrize("text", ["[Unit]\n# my own\n", None])
def test_what_somebody_else_wrote_is_left_alone_unless_forced(home: Path, recorder: Recorder, text: str | None) -> None:
    path = recorder.units / "mnemond.service"
    recorder.files()[1].write()
    path.write_text(text or path.read_text() + "# a word\n")
    before = path.read_text()
    for name in ("install", "uninstall"):
        with pytest.raises(MnemonError) as caught:
            act(name, home)
        assert caught.value.kind is INVALID_PARAMS
        assert str(path) in caught.value.message
        assert (names(recorder), path.read_text(), recorder.asked) == (["mnemond.service"], before, [])
    act("install", home, InstallOptions(force=True))
    assert path.read_text() != before
    act("uninstall", home)
    assert names(recorder) == []


def test_a_dry_run_shows_everything_and_does_nothing(home: Path, recorder: Recorder) -> None:
    recorder.absent = MnemonError(UNAVAILABLE, "nobody is there to ask")
    shown = act("install", home, InstallOptions(dry_run=True, sandbox=True))
    assert f"# {recorder.units}/mnemond.service.d/s.conf: new\n" in shown
    assert shown.endswith("# then:\nsystemctl --user start 'a b'\n")
    facts = json.loads(act("install", home, InstallOptions(dry_run=True), "json"))
    assert facts["files"][0]["text"] == recorder.files()[0].text
    assert (recorder.asked, recorder.units.exists(), list(home.iterdir())) == ([], False, [])


def test_where_nobody_supervises_nothing_is_written(home: Path, recorder: Recorder) -> None:
    recorder.absent = MnemonError(UNAVAILABLE, "no systemd", hint="containers have none")
    with pytest.raises(MnemonError, match="no systemd"):
        act("install", home)
    assert (recorder.asked, recorder.units.exists()) == ([], False)


def test_a_configuration_that_cannot_be_used_is_told_before_anything_is_written(
    home: Path, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> None:
        raise MnemonError(INVALID_PARAMS, "config.toml:1")

    monkeypatch.setattr(daemon, "check", refuse)
    with pytest.raises(MnemonError, match="config"):
        act("install", home)
    assert (recorder.asked, recorder.units.exists()) == ([], False)


def test_a_service_that_does_not_listen_is_no_success(home: Path, recorder: Recorder) -> None:
    with pytest.raises(MnemonError, match="no daemon answers in") as caught:
        act("install", home)
    assert caught.value.kind is UNREACHABLE


@pytest.mark.usefixtures("served")
def test_uninstall_takes_away_what_install_brought(home: Path, recorder: Recorder) -> None:
    act("install", home, InstallOptions(sandbox=True))
    assert "would remove" in act("uninstall", home, InstallOptions(dry_run=True, sandbox=True))
    assert len(names(recorder)) == 3
    recorder.asked.clear()
    shown = act("uninstall", home, InstallOptions(sandbox=True))
    assert recorder.asked == ["disable", "after removal"]
    assert shown.startswith("mnemond is no service of systemd any more; removed:\n")
    assert list(recorder.units.iterdir()) == []
    assert act("uninstall", home) == "there was no service of mnemond\n"
    assert recorder.asked == ["disable", "after removal"]


# ------------------------------------------------------------------ starting and stopping what is a service


@pytest.mark.usefixtures("served")
def test_a_service_is_started_as_one(home: Path, recorder: Recorder) -> None:
    recorder.files()[1].write()
    assert daemon.launch(home, 2.0).pid == 4711
    assert recorder.asked == ["start"]
    daemon_commands.run("daemon stop", home, {"wait": 2.0}, Output())
    assert recorder.asked == ["start", "stop the other", "stop"]


def test_a_service_that_does_not_answer_is_named(home: Path, recorder: Recorder) -> None:
    recorder.files()[1].write()
    with pytest.raises(MnemonError, match="systemd has started mnemond, but it did not answer within"):
        daemon.launch(home, 0.05)


@pytest.mark.parametrize("installed", [False, True])
def test_where_nobody_can_be_asked_the_client_starts_it_itself(
    home: Path, recorder: Recorder, monkeypatch: pytest.MonkeyPatch, installed: bool
) -> None:
    if installed:
        recorder.files()[1].write()
        recorder.absent = MnemonError(UNAVAILABLE, "no systemd")
    monkeypatch.setattr(daemon, "spawn", lambda *_: daemon.Running(7, "0.1.0", 1))
    assert daemon.launch(home, 2.0).pid == 7
    assert recorder.asked == []


# ------------------------------------------------------------------ systemctl


@pytest.fixture
def systemctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs of ours alone, among them a systemctl that notes its arguments and does what `answer` says."""
    programs = tmp_path / "programs"
    programs.mkdir()
    script = programs / "systemctl"
    script.write_text(f'#!/bin/sh\necho "$@" >> {programs}/calls\n. {programs}/answer\n')
    script.chmod(0o755)
    (programs / "answer").write_text("exit 0\n")
    monkeypatch.setenv("PATH", str(programs))
    return programs


def called(systemctl: Path) -> list[str]:
    return (systemctl / "calls").read_text().splitlines()


def test_what_systemctl_is_asked_for(home: Path, tmp_path: Path, systemctl: Path) -> None:
    units = Systemd(tmp_path / ".mnemon", {}, tmp_path)
    assert units.unavailable() is None
    assert units.active()
    units.enable()
    units.start()
    units.stop()
    units.disable()
    units.after_removal()
    both = "mnemond.socket mnemond.service"
    assert called(systemctl) == [
        "--user show --property=Version",
        "--user is-active --quiet mnemond.service",
        "--user daemon-reload", f"--user enable {both}", f"--user reset-failed {both}", f"--user start {both}",
        f"--user reset-failed {both}", f"--user start {both}",
        f"--user stop {both}",
        f"--user disable --now {both}",
        "--user daemon-reload", f"--user reset-failed {both}",
    ]  # fmt: skip


def test_a_start_that_fails_says_where_to_look(tmp_path: Path, systemctl: Path) -> None:
    (systemctl / "answer").write_text('case "$*" in *start*) echo "Job \033[31mfailed." >&2; exit 1;; esac\n')
    with pytest.raises(MnemonError) as caught:
        Systemd(tmp_path / ".mnemon", {}, tmp_path).enable()
    assert caught.value.message.endswith("start mnemond.socket mnemond.service failed: Job \\x1b[31mfailed.")
    assert caught.value.hint == "Its last words: journalctl --user-unit mnemond.service --lines 20"


def test_without_a_manager_the_links_to_the_units_still_go(tmp_path: Path, systemctl: Path) -> None:
    (systemctl / "answer").write_text("echo Failed to connect to bus >&2; exit 1\n")
    units = Systemd(tmp_path / ".mnemon", {}, tmp_path)
    wanted = tmp_path / ".config" / "systemd" / "user" / "default.target.wants"
    wanted.mkdir(parents=True)
    (wanted / "mnemond.service").symlink_to("../mnemond.service")
    (wanted / "other.service").symlink_to("../other.service")
    absent = units.unavailable()
    assert absent is not None
    assert "systemd does not run services of this user here" in absent.message
    assert "Failed to connect to bus" in absent.message
    units.disable()
    units.after_removal()
    assert [path.name for path in wanted.iterdir()] == ["other.service"]


def test_what_launchctl_is_asked_for(tmp_path: Path, systemctl: Path) -> None:
    (systemctl / "systemctl").rename(systemctl / "launchctl")
    domain = f"gui/{os.getuid()}"
    service = f"{domain}/dev.mnemon.mnemond"
    agent = Launchd(tmp_path / ".mnemon", tmp_path)
    assert agent.unavailable() is None
    assert not agent.installed()
    agent.enable()
    (systemctl / "answer").write_text('case "$1" in print) exit 113;; esac\n')
    assert not agent.active()
    agent.enable()
    agent.disable()
    agent.after_removal()
    path = tmp_path / "Library" / "LaunchAgents" / "dev.mnemon.mnemond.plist"
    assert called(systemctl) == [
        f"print {domain}",
        f"enable {service}", f"print {service}", f"kickstart {service}",
        f"print {service}",
        f"enable {service}", f"print {service}", f"bootstrap {domain} {path}", f"kickstart {service}",
        f"bootout {service}",
    ]  # fmt: skip
    absent = agent.unavailable()
    assert absent is not None
    assert "launchd does not run agents of this user here" in absent.message


def test_each_system_has_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for platform, name in (("linux", "systemd"), ("darwin", "launchd")):
        monkeypatch.setattr("sys.platform", platform)
        assert service.platform_supervisor(tmp_path).name == name
        assert service.installed_supervisor(tmp_path) is None  # nothing is installed


def test_a_program_that_is_not_there_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    absent = Systemd(tmp_path / ".mnemon", {}, tmp_path).unavailable()
    assert absent is not None
    assert "systemctl cannot be run" in absent.message
    assert not service.succeeds(["systemctl"])


def test_a_whole_command_line(home: Path, systemctl: Path, monkeypatch: pytest.MonkeyPatch, capfd: Capture) -> None:
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    (systemctl / "answer").write_text("exit 1\n")
    line = ["daemon", "install", "--data-dir", str(home / "x")]
    assert mnemonctl.run(line) == UNAVAILABLE.exit
    assert mnemonctl.run([*line, "--dry-run", "--sandbox", "--text"]) == 0
    assert f"ListenStream={home}/x/sock" in capfd.readouterr().out
    assert mnemonctl.run(["daemon", "uninstall", "--data-dir", str(home / "x")]) == 0
    assert json.loads(capfd.readouterr().out)["status"] == "not installed"
    assert list(home.iterdir()) == []
