"""Asking, looking without doing, refusing, and what is left behind when something goes wrong."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from mnemonctl import files as mnemonctl_files
from mnemonctl.setup import command
from mnemonctl.setup import files as setup_files
from mnemonctl.setup.environment import SetupEnvironment
from mnemonctl.setup.files import digest
from mnemond.cli.admin import SetupOptions
from mnemond.cli.grammar import Output
from mnemond.config import prompt_texts
from mnemond.errors import BUSY, CONFIG, INVALID_PARAMS, STORAGE, UNAVAILABLE, MnemonError
from tests.setup.homes import JSON, everything, home_at, run, with_program

SETTINGS = '{\n  "theme": "dark"\n}\n'


@pytest.fixture
def place(tmp_path: Path) -> SetupEnvironment:
    """A home with Gemini CLI's settings in it."""
    found = home_at(tmp_path)
    (found.home / ".gemini").mkdir()
    (found.home / ".gemini" / "settings.json").write_text(SETTINGS, "utf-8")
    return found


def settings(place: SetupEnvironment) -> Path:
    return place.home / ".gemini" / "settings.json"


def refused(place: SetupEnvironment, target: str = "gemini") -> dict[str, Any]:
    """The error of a run that changed nothing."""
    before = everything(place)
    code, said = run(place)
    assert code != 0
    assert said["status"] == "failed"
    assert everything(place) == before
    error: dict[str, Any] = said["targets"][target]["error"]
    return error


def test_without_any_program_the_rest_is_installed_and_said(tmp_path: Path) -> None:
    place = home_at(tmp_path)
    code, said = run(place)
    assert (code, said["status"], said["targets"]) == (0, "installed", {})
    assert any(note.startswith("none of the programs that mnemond knows is installed here") for note in said["notes"])
    installed = [path for path in place.home.rglob("*") if "bash-completion" in str(path) and path.is_file()]
    assert len(installed) == 1
    assert run(place)[1]["status"] == "unchanged"
    assert run(place, eject=True)[0] == 0
    assert not installed[0].exists()


# ------------------------------------------------------------------ asking


def test_a_dry_run_shows_the_difference_and_does_nothing(place: SetupEnvironment) -> None:
    before = everything(place)
    done = command.run(place, SetupOptions(dry_run=True), Output(), None)
    assert done.exit_code == 0
    assert f"--- {settings(place)}\n+++ {settings(place)}\n@@ -1,3 +1," in done.stdout
    assert '-  "theme": "dark"\n+  "theme": "dark",\n' in done.stdout
    assert everything(place) == before
    assert not place.directory.exists()
    _, said = run(place, dry_run=True)
    assert said["status"] == "dry run"
    assert said["targets"]["gemini"]["files"][0]["diff"].startswith("--- ")


def test_what_is_asked_shows_the_same_and_no_is_no(place: SetupEnvironment) -> None:
    before, shown = everything(place), []

    def no(text: str) -> bool:
        shown.append(text)
        return False

    done = command.run(place, SetupOptions(), JSON, no)
    assert (done.exit_code, json.loads(done.stdout)["status"]) == (command.CANCELLED, "cancelled")
    assert "@@" in shown[0]
    assert everything(place) == before
    assert command.run(place, SetupOptions(), JSON, lambda _: True).exit_code == 0
    assert "mnemond" in settings(place).read_text("utf-8")
    assert command.run(place, SetupOptions(), JSON, no).exit_code == 0, "nothing to ask about"
    assert command.run(place, SetupOptions(eject=True), JSON, no).exit_code == command.CANCELLED
    assert "mnemond" in settings(place).read_text("utf-8")


def test_where_nobody_can_be_asked_somebody_has_to_say_yes(place: SetupEnvironment) -> None:
    before = everything(place)
    with pytest.raises(MnemonError, match="confirmation needed") as raised:
        command.run(place, SetupOptions(), JSON, None)
    assert (raised.value.kind, everything(place)) == (INVALID_PARAMS, before)


def test_two_at_once_do_not_get_in_each_others_way(place: SetupEnvironment) -> None:
    mnemonctl_files.make_private(place.directory)
    with mnemonctl_files.private_file(place.directory / command.LOCK) as descriptor:
        assert mnemonctl_files.try_lock(descriptor)
        with pytest.raises(MnemonError) as raised:
            run(place)
    assert raised.value.kind is BUSY


def test_nothing_is_made_before_somebody_agreed(place: SetupEnvironment) -> None:
    command.run(place, SetupOptions(), JSON, lambda _: False)
    assert not place.directory.exists()


# ------------------------------------------------------------------ what is left alone


def test_a_file_that_its_owner_protected_is_left_alone(place: SetupEnvironment) -> None:
    settings(place).chmod(0o444)
    assert "it is read-only" in refused(place)["message"]
    settings(place).chmod(0o644)
    settings(place).parent.chmod(0o555)
    try:
        assert "is read-only" in refused(place)["message"]
    finally:
        settings(place).parent.chmod(0o755)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_what_belongs_to_somebody_else_is_left_alone(place: SetupEnvironment) -> None:
    os.chown(settings(place), 65534, 65534)
    assert "it belongs to user 65534" in refused(place)["message"]
    os.chown(settings(place), 0, 0)
    os.chown(settings(place).parent, 65534, 65534)
    assert f"the directory {settings(place).parent} belongs to user 65534" in refused(place)["message"]
    settings(place).unlink()
    assert "belongs to user 65534" in run(place, target=["gemini"])[1]["targets"]["gemini"]["error"]["message"]
    assert not settings(place).exists()


def test_a_file_with_a_second_name_is_left_alone(place: SetupEnvironment) -> None:
    os.link(settings(place), place.home / "dotfile")
    assert "2 names (hard links)" in refused(place)["message"]


def test_what_is_no_file_is_left_alone(place: SetupEnvironment) -> None:
    settings(place).unlink()
    settings(place).mkdir()
    assert "it is not a file" in refused(place)["message"]
    settings(place).rmdir()
    os.mkfifo(settings(place))
    assert "it is not a file" in refused(place)["message"]
    settings(place).unlink()
    settings(place).parent.rmdir()
    settings(place).parent.write_text("", "utf-8")
    code, said = run(place, target=["gemini"])
    assert code == CONFIG.exit
    assert "a directory on its path is a file" in said["targets"]["gemini"]["error"]["message"]


def test_one_that_fails_does_not_keep_others_from_being_done(place: SetupEnvironment) -> None:
    (place.home / ".cursor").mkdir()
    settings(place).write_text("{", "utf-8")
    code, said = run(place)
    assert (code, said["status"]) == (CONFIG.exit, "failed")
    assert said["targets"]["gemini"]["state"] == "failed"
    assert said["targets"]["cursor"]["state"] == "installed"
    text = command.run(place, SetupOptions(yes=True), Output(), None).stdout
    assert f"FAILED    {settings(place)}: line 1" in text


def test_a_file_that_changes_at_the_same_moment_is_not_overwritten(
    place: SetupEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = setup_files.back_up

    def back_up(file: setup_files.HostFile) -> Path | None:
        saved = real(file)
        settings(place).write_text('{"theme": "light"}', "utf-8")
        return saved

    monkeypatch.setattr(setup_files, "back_up", back_up)
    code, said = run(place)
    assert code == BUSY.exit
    assert "changed by another program" in said["targets"]["gemini"]["error"]["message"]
    assert settings(place).read_text("utf-8") == '{"theme": "light"}'
    assert [path.name for path in settings(place).parent.iterdir()] == ["settings.json"]


def test_what_was_not_done_in_fact_is_not_said_to_be_done(
    place: SetupEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(setup_files, "replace_file", lambda *_: None)
    code, said = run(place)
    assert code == STORAGE.exit
    assert "not as it should be" in said["targets"]["gemini"]["error"]["message"]


def test_a_program_that_fails_is_quoted_and_its_settings_are_still_known(place: SetupEnvironment) -> None:
    with_program(place, "claude")
    broken = (
        (place.home / "bin" / "claude").read_text("utf-8").replace('case ["plugin", "install"', 'case ["x", "install"')
    )
    (place.home / "bin" / "claude").write_text(broken, "utf-8")
    (place.home / ".claude").mkdir()
    (place.home / ".claude" / "settings.json").write_text('{"model":"opus"}', "utf-8")
    code, said = run(place)
    error = said["targets"]["claude-code"]["error"]["message"]
    assert code == UNAVAILABLE.exit
    assert "plugin install mnemond@mnemond-local --scope user failed (1): unknown command" in error
    assert said["targets"]["gemini"]["state"] == "installed"
    assert run(place, eject=True)[0] == 0
    assert (place.home / ".claude" / "settings.json").read_text("utf-8") == '{"model":"opus"}'


# ------------------------------------------------------------------ how it is left


def test_link_mode_and_backup_are_as_they_should_be(place: SetupEnvironment) -> None:
    real = place.home / "dotfiles" / "gemini.json"
    real.parent.mkdir()
    settings(place).rename(real)
    settings(place).symlink_to(Path("..") / "dotfiles" / "gemini.json")
    real.chmod(0o640)
    _, said = run(place)
    assert settings(place).is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    backup = Path(said["targets"]["gemini"]["files"][0]["backup"])
    assert backup.parent == real.parent
    assert (backup.read_text("utf-8"), backup.stat().st_mode & 0o777) == (SETTINGS, 0o600)
    run(place, eject=True)
    assert not backup.exists()
    assert (real.read_text("utf-8"), settings(place).is_symlink()) == (SETTINGS, True)


def test_without_its_record_and_backup_our_entries_are_taken_out_all_the_same(place: SetupEnvironment) -> None:
    run(place)
    for path in (place.directory / "setup.json", *settings(place).parent.glob("*.mnemond-bak-*")):
        path.unlink()
    assert run(place, eject=True)[0] == 0
    assert settings(place).read_text("utf-8") == SETTINGS


def test_a_damaged_record_is_said_and_not_guessed(place: SetupEnvironment) -> None:
    run(place)
    (place.directory / "setup.json").write_text("{", "utf-8")
    with pytest.raises(MnemonError, match="cannot be read"):
        run(place, eject=True)


def test_a_record_makes_nothing_ours_that_is_not(place: SetupEnvironment) -> None:
    """A data directory may have come from somebody else, with a record that names other files of this user."""
    run(place)
    letters = place.home / "letters"
    for name in ("kept.json", "other.json", "key", "empty/x"):
        (letters / name).parent.mkdir(parents=True, exist_ok=True)
        (letters / name).write_text(f'{{"name": "{name}"}}', "utf-8")
    (letters / "empty" / "x").unlink()

    def said(name: str, *, before: str | None = None, backup: str | None = None) -> dict[str, Any]:
        known = {each: digest(f'{{"name": "{each}"}}'.encode()) for each in ("kept.json", "other.json", "key")}
        copy = None if backup is None else str(letters / backup)
        return {"path": str(letters / name), "before": known.get(before or ""), "after": known[name], "backup": copy}

    path = place.directory / "setup.json"
    record = json.loads(path.read_text("utf-8"))
    record["hosts"]["gemini"]["files"] += [
        said("kept.json") | {"directories": [str(letters / "empty")]},
        said("other.json", before="key", backup="key"),
    ]
    path.write_text(json.dumps(record), "utf-8")
    before = everything(place)
    code, _ = run(place, eject=True)
    assert code == 0
    assert settings(place).read_text("utf-8") == SETTINGS
    assert {name: was for name, was in everything(place).items() if "letters" in str(name)} == {
        name: was for name, was in before.items() if "letters" in str(name)
    }


def test_a_backup_is_one_of_ours_or_none(place: SetupEnvironment) -> None:
    run(place)
    key = place.home / "key"
    key.write_text("{}", "utf-8")
    path = place.directory / "setup.json"
    record = json.loads(path.read_text("utf-8"))
    record["hosts"]["gemini"]["files"][0] |= {"before": digest(b"{}"), "backup": str(key)}
    path.write_text(json.dumps(record), "utf-8")
    assert run(place, eject=True)[0] == 0
    assert settings(place).read_text("utf-8") == SETTINGS
    assert key.read_text("utf-8") == "{}"


def test_an_upgrade_brings_entries_up_to_date_and_still_gives_the_first_file_back(place: SetupEnvironment) -> None:
    run(place)
    older = settings(place).read_text("utf-8").replace("3000", "9000")
    record = json.loads((place.directory / "setup.json").read_text("utf-8"))
    record["hosts"]["gemini"]["files"][0]["after"] = digest(older.encode())
    (place.directory / "setup.json").write_text(json.dumps(record), "utf-8")
    settings(place).write_text(older, "utf-8")
    assert run(place)[1]["targets"]["gemini"]["state"] == "installed"
    assert "9000" not in settings(place).read_text("utf-8")
    run(place, eject=True)
    assert settings(place).read_text("utf-8") == SETTINGS


def test_another_data_directory_keeps_its_entries(place: SetupEnvironment) -> None:
    other = SetupEnvironment(place.home, place.environ, place.home / "other")
    run(other, target=["cursor"])
    hooks = place.home / ".cursor" / "hooks.json"
    before = hooks.read_text("utf-8")
    run(place, target=["cursor"])  # its server's name is taken
    run(place, target=["cursor"], eject=True)
    assert hooks.read_text("utf-8") == before


# ------------------------------------------------------------------ guide and skill


def test_guide_and_skill_belong_to_the_user_once_they_are_there(place: SetupEnvironment) -> None:
    _, said = run(place)
    guide = place.directory / "prompt" / "guide.md"
    assert guide.read_text("utf-8") == prompt_texts.shipped("guide.md")
    guide.write_text("My own.\n", "utf-8")
    _, said = run(place)
    assert {each["path"]: each["state"] for each in said["own"]}[str(guide)] == "kept"
    assert guide.read_text("utf-8") == "My own.\n"
    assert guide.with_name("guide.md.new").read_text("utf-8") == prompt_texts.shipped("guide.md")
    run(place, eject=True)
    assert [path.name for path in guide.parent.iterdir()] == ["guide.md"]


def test_one_that_nobody_changed_follows_the_release(place: SetupEnvironment, monkeypatch: pytest.MonkeyPatch) -> None:
    run(place)
    real = prompt_texts.shipped
    monkeypatch.setattr(prompt_texts, "shipped", lambda name: real(name) + "\nOf a later release.\n")
    run(place)
    guide = place.directory / "prompt" / "guide.md"
    assert guide.read_text("utf-8").endswith("Of a later release.\n")
    assert not guide.with_name("guide.md.new").exists()


@pytest.mark.parametrize("name", prompt_texts.NAMES)
def test_a_pipe_in_the_place_of_one_is_an_error_and_does_not_hold_setup_up(name: str, place: SetupEnvironment) -> None:
    path = place.directory / "prompt" / name
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    with pytest.raises(MnemonError, match="a named pipe, not a file"):
        run(place, dry_run=True)


def test_they_speak_of_tools_and_commands_that_there_are() -> None:
    from mnemond.cli.help import BY_NAME

    skill = prompt_texts.shipped("skill.md")
    lines = [line.split() for line in skill.splitlines() if line.startswith("mnemonctl ")]
    assert lines
    for _, name, *rest in lines:
        if name != "COMMAND":
            options = {word for word in rest if word.startswith("--")}
            assert options <= set(BY_NAME[name].parser.option_names()), name
    for text in (skill, prompt_texts.shipped("guide.md")):
        assert "never" in text
        assert len(text) < 4500


def test_what_is_sent_to_servers_is_said(place: SetupEnvironment) -> None:
    assert "note: " not in command.run(place, SetupOptions(dry_run=True), Output(), None).stdout
    place.directory.mkdir(mode=0o700)
    config = place.directory / "config.toml"
    config.write_text('[llm]\nprovider = "ollama"\n[extraction]\nengine = "auto"\n')
    said = command.run(place, SetupOptions(dry_run=True), Output(), None).stdout
    assert "note: parts of conversations and memories are sent to http://localhost:11434 (llm.provider," in said
    assert " for extraction.engine, graph.slow_path)\n" in said
    config.write_text("[llm]\nprovider = 3\n")
    assert "note: " not in command.run(place, SetupOptions(dry_run=True), Output(), None).stdout
