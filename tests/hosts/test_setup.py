"""`mnemonctl setup` with the programs themselves: they take what we give them, and give it back."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from mnemonctl.setup.environment import SetupEnvironment
from mnemonctl.setup.host import all_hosts
from tests.hosts import programs
from tests.setup.homes import PLUGIN, everything, home_at, run

pytestmark = pytest.mark.hosts


@pytest.fixture
def place(tmp_path: Path) -> SetupEnvironment:
    return home_at(tmp_path)


def with_real(place: SetupEnvironment, name: str) -> str:
    """Put the program on the PATH of the test, or skip."""
    (place.home / "bin" / name).symlink_to(os.path.realpath(programs.program(name)))
    place.environ["PATH"] = f"{place.home / 'bin'}:{programs.path()}"  # type: ignore[index]  # a dict, in these tests
    place.environ["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] = "1"  # type: ignore[index]
    return str(place.home / "bin" / name)


def test_claude_code_takes_the_plugin_and_gives_its_settings_back(place: SetupEnvironment) -> None:
    claude = with_real(place, "claude")
    settings = place.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    before = '{\n    "model": "opus",\n    "hooks": {},\n    "permissions": {"allow": ["Bash(ls)"]}\n}'
    settings.write_text(before, "utf-8")
    settings.chmod(0o644)
    untouched = everything(place)
    shown = run(place, target=["claude-code"], dry_run=True)[1]["targets"]["claude-code"]
    assert f'"{PLUGIN}": true' in {each["path"]: each["diff"] for each in shown["files"]}[str(settings)]
    assert everything(place) == untouched
    code, said = run(place, target=["claude-code"])
    assert (code, said["targets"]["claude-code"]["error"]) == (0, None)
    root = str(place.directory / "hosts" / "claude-code")
    checked = subprocess.run(
        [claude, "plugin", "validate", "--strict", "--json", root],
        env=dict(place.environ), capture_output=True, check=False, timeout=120,
    )  # fmt: skip
    assert json.loads(checked.stdout)["success"], checked.stdout
    assert json.loads(settings.read_text("utf-8"))["enabledPlugins"] == {PLUGIN: True}
    assert run(place, target=["claude-code"])[1]["status"] == "unchanged"
    installed = everything(place)
    run(place, target=["claude-code"], eject=True, dry_run=True)
    assert everything(place) == installed
    assert run(place, eject=True, target=["claude-code"])[0] == 0
    assert settings.read_text("utf-8") == before
    assert settings.stat().st_mode & 0o777 == 0o644


def test_codex_takes_the_server_and_reads_the_hooks(place: SetupEnvironment) -> None:
    with_real(place, "codex")
    config = place.home / ".codex" / "config.toml"
    config.parent.mkdir()
    before = '# mine\nmodel = "x"   # keep\nnotify = [\n  "true",  # array\n]\n\n# theirs\n[mcp_servers.github]\n'
    before += 'command = "npx"\n'
    config.write_text(before, "utf-8")
    config.chmod(0o644)
    code, said = run(place, target=["codex"])
    assert (code, said["targets"]["codex"]["error"]) == (0, None)
    trust = all_hosts(place)["codex"].trust()
    assert len(trust) == 7
    assert set(trust.values()) == {"untrusted"}
    assert run(place, target=["codex"])[1]["status"] == "unchanged"
    assert str(place.ours.mcp) in codex(place, "mcp", "get", "mnemond")
    added = "\n[tui]\nnotifications = true\n"
    config.write_text(config.read_text("utf-8") + added, "utf-8")
    assert run(place, eject=True, target=["codex"])[0] == 0
    assert config.read_text("utf-8") == before + added
    assert config.stat().st_mode & 0o777 == 0o644
    assert "mnemond" not in codex(place, "mcp", "list")


def test_what_codex_made_of_our_line_is_taken_out_as_well(place: SetupEnvironment) -> None:
    with_real(place, "codex")
    config = place.home / ".codex" / "config.toml"
    config.parent.mkdir()
    config.write_text('# mine\nmodel = "x"\n', "utf-8")
    assert run(place, target=["codex"])[0] == 0
    codex(place, "mcp", "add", "other", "--", "/bin/true")
    assert "[mcp_servers.mnemond]" in config.read_text("utf-8"), "it writes every server anew"
    config.write_text(f"{config.read_text('utf-8')}\n[mcp_servers.mnemond.env]\nA = '1'\n", "utf-8")
    assert run(place, target=["codex"])[1]["status"] == "unchanged"
    assert run(place, eject=True, target=["codex"])[0] == 0
    listed = codex(place, "mcp", "list")
    assert ("other" in listed, "mnemond" in listed) == (True, False)
    assert "# A = '1'" in config.read_text("utf-8")


def codex(place: SetupEnvironment, *words: str) -> str:
    """What the program prints."""
    program = str(place.home / "bin" / "codex")
    done = subprocess.run([program, *words], env=dict(place.environ), capture_output=True, check=True, timeout=120)
    return done.stdout.decode()


def test_gemini_cli_reads_our_server(place: SetupEnvironment) -> None:
    gemini = with_real(place, "gemini")
    assert run(place, target=["gemini"])[0] == 0
    listed = subprocess.run(
        [gemini, "mcp", "list"], env=dict(place.environ), cwd=place.home, capture_output=True, check=True, timeout=120
    )
    assert str(place.ours.mcp) in (listed.stdout + listed.stderr).decode()
