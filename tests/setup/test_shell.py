"""Completion and the manual page in the user's data directory: written, kept up to date, and taken back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mnemonctl.setup import shell
from mnemonctl.setup.environment import SetupEnvironment
from mnemond.cli.completion import SCRIPTS
from tests.setup.homes import everything, home_at, run, with_program


@pytest.fixture
def place(tmp_path: Path) -> SetupEnvironment:
    found = home_at(tmp_path)
    (found.home / ".gemini").mkdir()
    return found


def bash(place: SetupEnvironment) -> Path:
    return place.home / ".local" / "share" / shell.PLACES["bash"]


def test_setup_writes_them_and_eject_leaves_nothing(place: SetupEnvironment) -> None:
    before = everything(place)
    code, said = run(place)
    assert (code, bash(place).read_text("utf-8")) == (0, SCRIPTS["bash"])
    assert (place.home / ".local" / "share" / shell.MANUAL).read_text("utf-8").startswith(".TH MNEMONCTL 1")
    assert {each["path"] for each in said["own"]} >= {str(bash(place))}
    assert not (place.home / ".local" / "share" / shell.PLACES["fish"]).exists(), "fish is not installed"
    assert run(place)[1]["status"] == "unchanged"
    removed = {each["path"] for each in run(place, eject=True)[1]["own"]}
    assert removed >= {str(bash(place)), str(place.home / ".local" / "share" / shell.MANUAL)}
    assert everything(place) == before


def test_each_shell_that_is_installed_gets_its_own(place: SetupEnvironment) -> None:
    for name in ("zsh", "fish"):
        program = place.home / "bin" / name
        program.write_text("#!/bin/sh\n")
        program.chmod(0o700)
    run(place)
    for name, text in SCRIPTS.items():
        assert (place.home / ".local" / "share" / shell.PLACES[name]).read_text("utf-8") == text


def test_one_host_alone_has_nothing_to_do_with_the_shell(place: SetupEnvironment) -> None:
    run(place, target=["gemini"])
    assert not (place.home / ".local").exists()
    run(place)
    run(place, target=["gemini"], eject=True)
    assert bash(place).exists()
    run(place, eject=True)
    assert not (place.home / ".local").exists()


def test_a_file_of_another_author_is_kept(place: SetupEnvironment) -> None:
    bash(place).parent.mkdir(parents=True)
    bash(place).write_text("complete -W mine mnemonctl\n")
    said = run(place)[1]
    assert {"path": str(bash(place)), "state": "kept"}.items() <= next(
        each for each in said["own"] if each["path"] == str(bash(place))
    ).items()
    run(place, eject=True)
    assert bash(place).read_text("utf-8") == "complete -W mine mnemonctl\n"


def test_ours_is_brought_up_to_date_and_a_changed_one_is_kept(
    place: SetupEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setitem(SCRIPTS, "bash", "# of an earlier release\n")
        run(place)
    assert bash(place).read_text("utf-8") == "# of an earlier release\n"
    assert run(place)[1]["status"] == "installed"
    assert bash(place).read_text("utf-8") == SCRIPTS["bash"]
    bash(place).write_text("mine now\n")
    assert run(place)[1]["status"] == "unchanged"
    run(place, eject=True)
    assert bash(place).read_text("utf-8") == "mine now\n"


def test_a_host_that_fails_leaves_the_shell_alone(place: SetupEnvironment) -> None:
    (place.home / ".gemini" / "settings.json").write_text("{")
    assert run(place)[0] != 0
    assert not (place.home / ".local").exists()


def test_a_dry_run_shows_scripts_as_diffs_and_of_the_manual_the_name(place: SetupEnvironment) -> None:
    with_program(place, "codex")
    said = run(place, dry_run=True)[1]
    diffs = {Path(each["path"]).name: each.get("diff") for each in said["own"]}
    assert "+complete -o default -F _mnemonctl mnemonctl\n" in diffs["mnemonctl"]
    assert diffs["mnemonctl.1"] is None
    assert not (place.home / ".local").exists()


def test_a_record_of_an_earlier_release_is_read(place: SetupEnvironment) -> None:
    run(place, target=["gemini"])
    path = place.directory / "setup.json"
    record = json.loads(path.read_text("utf-8"))
    record.pop("shell")
    path.write_text(json.dumps(record), "utf-8")
    assert run(place)[0] == 0
    assert bash(place).exists()
