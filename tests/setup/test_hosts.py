"""Each host: what stands in its files, and what its own program is told."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from mnemonctl.setup import plan, record
from mnemonctl.setup.environment import HOOK_TIMEOUT_S, SetupEnvironment
from mnemonctl.setup.host import all_hosts
from mnemond.errors import CONFIG, INVALID_PARAMS, MnemonError
from tests.setup.homes import PLUGIN, everything, home_at, run, with_program

CLAUDE_SETTINGS = '{\n    "model": "opus",\n    "hooks": {},\n    "permissions": {"allow": ["Bash(ls)"]}\n}'
CODEX_CONFIG = '# mine\nmodel = "x"   # keep\n'


@pytest.fixture
def place(tmp_path: Path) -> SetupEnvironment:
    return home_at(tmp_path)


def put(place: SetupEnvironment, name: str, text: str) -> Path:
    path = place.home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


def read(place: SetupEnvironment, name: str) -> Any:
    return json.loads((place.home / name).read_text("utf-8"))


def hook(place: SetupEnvironment) -> str:
    return str(place.directory / "bin" / "mnemond-hook")


def mcp(place: SetupEnvironment) -> str:
    return str(place.directory / "bin" / "mnemond-mcp")


# ------------------------------------------------------------------ Claude Code


def test_claude_code_installs_our_plugin_and_gives_its_settings_back(place: SetupEnvironment) -> None:
    with_program(place, "claude")
    settings = put(place, ".claude/settings.json", CLAUDE_SETTINGS)
    code, said = run(place)
    claude = said["targets"]["claude-code"]
    assert (code, claude["state"], claude["error"]) == (0, "installed", None)
    assert [each["state"] for each in claude["commands"]] == ["ran", "ran"]
    assert read(place, ".claude/settings.json")["enabledPlugins"] == {PLUGIN: True}
    plugin = place.directory / "hosts" / "claude-code" / "plugins" / "mnemond"
    hooks = json.loads((plugin / "hooks" / "hooks.json").read_text("utf-8"))["hooks"]
    handler = {"type": "command", "command": hook(place), "args": [], "timeout": HOOK_TIMEOUT_S}
    assert hooks["UserPromptSubmit"] == [{"hooks": [handler]}]
    assert json.loads((plugin / ".mcp.json").read_text("utf-8")) == {
        "mcpServers": {"mnemond": {"command": mcp(place), "args": []}}
    }
    assert (plugin / "skills" / "mnemond" / "SKILL.md").read_text("utf-8").startswith("---\nname: mnemond\n")
    installed = everything(place)
    assert run(place)[1]["status"] == "unchanged"
    assert everything(place) == installed
    assert run(place, eject=True)[0] == 0
    assert settings.read_text("utf-8") == CLAUDE_SETTINGS
    assert not (place.directory / "hosts").exists()
    assert [path.name for path in settings.parent.iterdir() if "bak" in path.name] == []


def test_a_dry_run_does_not_have_claude_code_make_its_files(place: SetupEnvironment) -> None:
    with_program(place, "claude")
    program = place.home / "bin" / "claude"
    ours = program.with_name("claude-itself")
    program.rename(ours)
    program.write_text(f'#!/bin/sh\n: > {place.home}/.claude.json\nexec {ours} "$@"\n', "utf-8")
    program.chmod(0o755)
    assert run(place, dry_run=True)[1]["targets"]["claude-code"]["state"] == "planned"
    assert everything(place) == {}
    assert run(place)[1]["targets"]["claude-code"]["state"] == "installed"
    assert (place.home / ".claude.json").exists()
    assert run(place)[1]["targets"]["claude-code"]["state"] == "unchanged"


def watched(place: SetupEnvironment, name: str, more: str = ":") -> Path:
    """Wrap a fake of a program so that it notes each call; `more` is run after it."""
    with_program(place, name)
    program, log = place.home / "bin" / name, place.home / "bin" / f"{name}.log"
    itself = program.with_name(f"{name}-itself")
    program.rename(itself)
    program.write_text(f'#!/bin/sh\necho "$@" >> {log}\n{itself} "$@"\nstatus=$?\n{more}\nexit $status\n', "utf-8")
    program.chmod(0o755)
    log.touch()
    return log


def test_a_dry_run_starts_no_program_and_shows_the_difference_of_every_file(place: SetupEnvironment) -> None:
    logs = [watched(place, name) for name in ("claude", "codex")]
    settings = put(place, ".claude/settings.json", CLAUDE_SETTINGS)
    put(place, ".codex/config.toml", CODEX_CONFIG)
    (place.home / ".gemini").mkdir()
    before = everything(place)

    def differences(said: dict[str, Any]) -> dict[str, str]:
        files = [*said["own"], *(file for each in said["targets"].values() for file in each["files"])]
        without = {
            Path(file["path"]).name for file in files if not file["diff"] and file["state"] not in ("unchanged", "kept")
        }
        assert without <= {"mnemonctl.1"}, "a manual page of a thousand lines"
        return {file["path"]: file["diff"] for file in files}

    shown = differences(run(place, dry_run=True)[1])
    assert f'+mcp_servers.mnemond.command = "{mcp(place)}"\n' in shown[str(place.home / ".codex" / "config.toml")]
    assert f'+        "{PLUGIN}": true\n' in shown[str(settings)]
    assert {hook(place), str(place.directory / "prompt" / "guide.md")} < set(shown)
    assert any(path.endswith("SKILL.md") for path in shown)
    assert (everything(place), [log.read_text("utf-8") for log in logs]) == (before, ["", ""])
    run(place)
    assert any(log.read_text("utf-8") for log in logs)
    installed = everything(place)
    for log in logs:
        log.write_text("", "utf-8")
    assert run(place, dry_run=True)[1]["targets"]["claude-code"]["state"] == "unchanged"
    shown = differences(run(place, dry_run=True, eject=True)[1])
    assert f'-mcp_servers.mnemond.command = "{mcp(place)}"\n' in shown[str(place.home / ".codex" / "config.toml")]
    assert f'-    "{PLUGIN}": true\n' in shown[str(settings)]
    assert {hook(place), str(place.directory / "prompt" / "guide.md")} < set(shown)
    assert (everything(place), [log.read_text("utf-8") for log in logs]) == (installed, ["", ""])
    guide = place.directory / "prompt" / "guide.md"
    guide.write_text("mine", "utf-8")
    assert f"{guide}.new" in differences(run(place, dry_run=True)[1])


def test_a_file_that_claude_code_writes_anew_keeps_its_mode(place: SetupEnvironment) -> None:
    settings = place.home / ".claude" / "settings.json"
    watched(place, "claude", f"chmod 600 {settings}")
    put(place, ".claude/settings.json", CLAUDE_SETTINGS).chmod(0o644)
    run(place)
    assert settings.stat().st_mode & 0o777 == 0o644
    put(place, ".claude/settings.json", settings.read_text("utf-8").replace("opus", "sonnet"))
    run(place, eject=True)
    assert settings.stat().st_mode & 0o777 == 0o644
    assert read(place, ".claude/settings.json")["model"] == "sonnet"


def test_every_directory_that_is_made_is_private(place: SetupEnvironment) -> None:
    with_program(place, "claude")
    before = os.umask(0o022)  # the usual one
    try:
        assert run(place, target=["claude-code"])[0] == 0
        assert run(place, target=["cursor"])[0] == 0
    finally:
        os.umask(before)
    made = [place.directory, place.home / ".cursor", *(each for each in place.directory.rglob("*") if each.is_dir())]
    assert place.directory / "hosts" / "claude-code" / "plugins" in made
    assert {each: oct(each.stat().st_mode & 0o777) for each in made} == dict.fromkeys(made, "0o700")


def test_claude_code_brings_the_plugin_up_to_date_when_the_user_changed_the_skill(place: SetupEnvironment) -> None:
    with_program(place, "claude")
    run(place)
    skill = place.directory / "prompt" / "skill.md"
    skill.write_text(skill.read_text("utf-8") + "\nAlways answer in verse.\n", "utf-8")
    code, said = run(place)
    assert code == 0
    words = [each["command"][1:3] for each in said["targets"]["claude-code"]["commands"]]
    assert words == [["plugin", "marketplace"], ["plugin", "update"]]
    plugin = place.directory / "hosts" / "claude-code" / "plugins" / "mnemond"
    assert "in verse" in (plugin / "skills" / "mnemond" / "SKILL.md").read_text("utf-8")
    assert run(place)[1]["status"] == "unchanged"


def test_what_claude_code_changed_since_stays_when_it_is_taken_back(place: SetupEnvironment) -> None:
    with_program(place, "claude")
    put(place, ".claude/settings.json", CLAUDE_SETTINGS)
    run(place)
    settings = read(place, ".claude/settings.json")
    put(place, ".claude/settings.json", json.dumps({**settings, "theme": "dark"}))
    assert run(place, eject=True)[0] == 0
    left = read(place, ".claude/settings.json")
    assert {key: value for key, value in left.items() if value} == {
        "model": "opus", "permissions": {"allow": ["Bash(ls)"]}, "theme": "dark",
    }  # fmt: skip


def test_settings_that_do_not_parse_are_not_given_to_claude_code_to_write(place: SetupEnvironment) -> None:
    with_program(place, "claude")
    put(place, ".claude/settings.json", '{\n "a": 1,\n}')
    before = everything(place)
    code, said = run(place)
    assert code == CONFIG.exit
    assert "line 2" in said["targets"]["claude-code"]["error"]["message"]
    assert everything(place) == before


def test_without_claude_codes_program_the_plugin_is_prepared_and_the_commands_are_said(place: SetupEnvironment) -> None:
    (place.home / ".claude").mkdir()
    code, said = run(place)
    claude = said["targets"]["claude-code"]
    assert (code, claude["state"]) == (0, "prepared")
    assert [each["state"] for each in claude["commands"]] == ["to run", "to run"]
    assert claude["commands"][1]["command"] == ["claude", "plugin", "install", PLUGIN, "--scope", "user"]
    assert (place.directory / "hosts" / "claude-code" / ".claude-plugin" / "marketplace.json").exists()
    assert run(place)[1]["status"] == "unchanged"


def test_a_directory_of_its_own_is_honoured(place: SetupEnvironment, tmp_path: Path) -> None:
    with_program(place, "claude")
    with_program(place, "codex")
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"):
        place.environ[name] = str(tmp_path / name)  # type: ignore[index]  # a dict, in these tests
        (tmp_path / name).mkdir()
    place.environ["XDG_DATA_HOME"] = str(tmp_path / "DATA")  # type: ignore[index]
    assert run(place)[0] == 0
    assert (tmp_path / "DATA" / "man" / "man1" / "mnemonctl.1").exists()
    assert (tmp_path / "CLAUDE_CONFIG_DIR" / "settings.json").exists()
    assert (tmp_path / "CODEX_HOME" / "hooks.json").exists()
    assert "mnemond" in (tmp_path / "CODEX_HOME" / "config.toml").read_text("utf-8")
    assert (tmp_path / "COPILOT_HOME" / "hooks" / "mnemond.json").exists()
    assert everything(place) == {}
    assert run(place, eject=True)[0] == 0
    left = {str(path.relative_to(tmp_path)) for path in tmp_path.glob("C*/**/*") if path.is_file()}
    assert left == {"CLAUDE_CONFIG_DIR/plugins/installed_plugins.json"}, "the host's own"
    assert not (tmp_path / "DATA").exists()


# ------------------------------------------------------------------ Codex


def test_codex_gets_a_line_for_the_server_and_hooks_wait_for_the_user(place: SetupEnvironment) -> None:
    with_program(place, "codex")
    config = put(place, ".codex/config.toml", CODEX_CONFIG)
    config.chmod(0o644)
    code, said = run(place)
    codex = said["targets"]["codex"]
    assert (code, codex["state"]) == (0, "installed")
    assert config.read_text("utf-8") == f'{CODEX_CONFIG}mcp_servers.mnemond.command = "{mcp(place)}"\n'
    assert config.stat().st_mode & 0o777 == 0o644
    hooks = read(place, ".codex/hooks.json")
    assert list(hooks) == ["hooks"], "its root takes nothing else"
    assert hooks["hooks"]["Stop"] == [
        {"hooks": [{"type": "command", "command": hook(place), "timeout": HOOK_TIMEOUT_S}]}
    ]
    assert "/hooks" in codex["next"][0]
    assert all_hosts(place)["codex"].trust() == dict.fromkeys(
        ["sessionStart", "userPromptSubmit", "preToolUse", "postCompact", "subagentStart", "stop", "sessionEnd"],
        "untrusted",
    )
    put(place, ".codex/trusted-by-test", "")
    assert all_hosts(place)["codex"].remarks() == []
    (place.home / ".codex" / "trusted-by-test").unlink()
    assert run(place)[1]["status"] == "unchanged"
    assert run(place, eject=True)[0] == 0
    assert config.read_text("utf-8") == CODEX_CONFIG
    assert config.stat().st_mode & 0o777 == 0o644
    assert not (place.home / ".codex" / "hooks.json").exists()
    assert [path.name for path in config.parent.iterdir() if "bak" in path.name] == []


@pytest.mark.parametrize("line", ["# my own\n", 'approval_policy = "never"\n', "[tui]\nnotifications = true\n"])
def test_a_line_that_was_added_to_the_config_of_codex_since_is_still_there(place: SetupEnvironment, line: str) -> None:
    with_program(place, "codex")
    config = put(place, ".codex/config.toml", CODEX_CONFIG)
    run(place)
    config.write_text(config.read_text("utf-8") + line, "utf-8")
    assert run(place)[1]["status"] == "unchanged"
    assert run(place, eject=True)[0] == 0
    assert config.read_text("utf-8") == CODEX_CONFIG + line


def test_a_config_of_codex_that_was_not_there_is_gone_again(place: SetupEnvironment) -> None:
    with_program(place, "codex")
    run(place)
    assert (place.home / ".codex" / "config.toml").exists()
    run(place, eject=True)
    assert not (place.home / ".codex" / "config.toml").exists()


@pytest.mark.parametrize(
    ("config", "words"),
    [("model = \n", "line 1"), ('[mcp_servers.mnemond]\ncommand = "/other"\n', "another MCP server")],
)
def test_a_config_of_codex_that_does_not_fit_is_left_alone(place: SetupEnvironment, config: str, words: str) -> None:
    with_program(place, "codex")
    put(place, ".codex/config.toml", config)
    before = everything(place)
    code, said = run(place)
    assert (code, everything(place)) == (CONFIG.exit, before)
    assert words in said["targets"]["codex"]["error"]["message"]


def test_codex_runs_a_path_with_blanks_as_one_word(tmp_path: Path) -> None:
    place = home_at(tmp_path / "a home's")
    (place.home / ".codex").mkdir()
    run(place)
    command = read(place, ".codex/hooks.json")["hooks"]["Stop"][0]["hooks"][0]["command"]
    assert command.startswith("'")
    assert run(place)[1]["status"] == "unchanged"
    assert run(place, eject=True)[1]["status"] == "removed"
    assert not (place.home / ".codex" / "hooks.json").exists()


# ------------------------------------------------------------------ the others


def test_gemini_counts_milliseconds(place: SetupEnvironment) -> None:
    (place.home / ".gemini").mkdir()
    run(place)
    settings = read(place, ".gemini/settings.json")
    handler = {"name": "mnemond", "type": "command", "command": hook(place), "timeout": HOOK_TIMEOUT_S * 1000}
    assert settings["hooks"]["BeforeAgent"] == [{"hooks": [handler]}]
    assert settings["mcpServers"] == {"mnemond": {"command": mcp(place), "args": []}}


def test_cursor_has_version_1_and_a_file_for_servers(place: SetupEnvironment) -> None:
    (place.home / ".cursor").mkdir()
    run(place)
    hooks = read(place, ".cursor/hooks.json")
    assert hooks["version"] == 1
    assert hooks["hooks"]["beforeSubmitPrompt"] == [{"command": hook(place), "timeout": HOOK_TIMEOUT_S}]
    assert read(place, ".cursor/mcp.json") == {"mcpServers": {"mnemond": {"command": mcp(place), "args": []}}}


def test_copilot_has_a_file_of_our_own_whose_events_name_themselves(place: SetupEnvironment) -> None:
    (place.home / ".copilot").mkdir()
    run(place)
    hooks = read(place, ".copilot/hooks/mnemond.json")
    assert hooks["hooks"]["SessionStart"] == [{"type": "command", "bash": hook(place), "timeoutSec": HOOK_TIMEOUT_S}]
    assert all(event[0].isupper() for event in hooks["hooks"])
    assert read(place, ".copilot/mcp-config.json")["mcpServers"]["mnemond"]["tools"] == ["*"]


def test_for_any_other_program_there_is_text_to_paste(place: SetupEnvironment) -> None:
    code, said = run(place, target=["generic"])
    assert (code, said["targets"]) == (0, {})
    assert mcp(place) in said["text"]
    assert "recall" in said["text"]
    assert (place.directory / "bin" / "mnemond-hook").exists()


# ------------------------------------------------------------------ who is meant


def test_without_a_target_those_that_are_here_are_meant(place: SetupEnvironment) -> None:
    with_program(place, "codex")
    (place.home / ".cursor").mkdir()
    _, said = run(place)
    assert list(said["targets"]) == ["codex", "cursor"]
    assert said["targets"]["codex"]["found"] == f"{place.home / 'bin' / 'codex'} is installed"
    assert said["targets"]["cursor"]["found"] == f"{place.home / '.cursor'} is there"


def test_where_none_is_here_one_can_be_named(place: SetupEnvironment) -> None:
    assert run(place)[1]["targets"] == {}
    assert run(place, target=["cursor"])[0] == 0
    with pytest.raises(MnemonError, match="no target") as raised:
        run(place, target=["emacs"])
    assert raised.value.kind is INVALID_PARAMS


def test_what_was_set_up_can_be_taken_back_when_the_program_has_gone(place: SetupEnvironment) -> None:
    run(place, target=["cursor"])
    assert list(record.read(place.directory).hosts) == ["cursor"]
    assert [host.name for host in plan.select(place, [], eject=True).hosts] == ["cursor"]
    run(place, eject=True)
    assert everything(place) == {}
    assert record.read(place.directory).hosts == {}
    assert os.listdir(place.directory) == ["setup.lock"]
