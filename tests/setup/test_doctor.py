"""What `mnemonctl doctor` says of agents' programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mnemonctl import doctor
from mnemonctl.setup import check
from mnemonctl.setup.environment import SetupEnvironment
from mnemond.cli.admin import DoctorOptions
from tests.setup.homes import JSON, everything, home_at, run, with_program


@pytest.fixture
def place(tmp_path: Path) -> SetupEnvironment:
    return home_at(tmp_path)


def look(place: SetupEnvironment) -> tuple[dict[str, Any], dict[str, Any]]:
    """(hosts, checks about them) by name; and nothing was changed by looking."""
    before = everything(place)
    printed = json.loads(doctor.run(place.directory, DoctorOptions(), JSON, place.environ).stdout)
    assert everything(place) == before
    return {each["host"]: each for each in printed["hosts"]}, {each["name"]: each for each in printed["checks"]}


def test_a_program_that_was_not_set_up_is_no_problem(place: SetupEnvironment) -> None:
    (place.home / ".gemini").mkdir()
    (place.home / ".gemini" / "settings.json").write_text("{", "utf-8")
    (place.home / ".cursor").mkdir()
    hosts, checks = look(place)
    assert list(hosts) == ["gemini", "cursor"]
    assert not hosts["cursor"]["installed"]
    assert hosts["cursor"]["unmodified"] is None
    assert [checks[name]["state"] for name in ("gemini", "cursor")] == ["ok", "ok"]
    assert "launchers" not in checks


def test_what_is_as_it_was_left_is_fine(place: SetupEnvironment) -> None:
    for name in ("claude", "codex"):
        with_program(place, name)
    (place.home / ".cursor").mkdir()
    run(place)
    (place.home / ".codex" / "trusted-by-test").write_text("", "utf-8")
    hosts, checks = look(place)
    assert list(hosts) == ["claude-code", "codex", "cursor"]
    for name, host in hosts.items():
        assert (host["installed"], host["unmodified"], host["last_seen"]) == (True, True, None)
        assert (host["untrusted"], host["switched_off"], host["duplicates"]) == ([], [], [])
        assert checks[name]["state"] == "ok"
    assert checks["launchers"]["state"] == "ok"


def test_hooks_that_codex_does_not_trust_are_a_problem(place: SetupEnvironment) -> None:
    with_program(place, "codex")
    run(place)
    hosts, checks = look(place)
    assert "userPromptSubmit" in hosts["codex"]["untrusted"]
    assert checks["codex"]["problems"][0]["next"] == "approve them in it: /hooks"


def test_an_entry_that_somebody_changed_is_a_problem(place: SetupEnvironment) -> None:
    (place.home / ".cursor").mkdir()
    run(place)
    path = place.home / ".cursor" / "hooks.json"
    path.write_text(path.read_text("utf-8").replace('"timeout": 3', '"timeout": 300', 1), "utf-8")
    hosts, checks = look(place)
    assert hosts["cursor"]["unmodified"] is False
    assert checks["cursor"]["problems"] == [
        {
            "what": "our entries are not as they were set up",
            "where": str(path),
            "next": "mnemonctl setup --target cursor",
        }
    ]
    path.write_text("{", "utf-8")
    assert "line 1" in look(place)[1]["cursor"]["detail"]


def test_what_switches_hooks_off_is_named(place: SetupEnvironment) -> None:
    with_program(place, "claude")
    (place.home / ".gemini").mkdir()
    (place.home / ".copilot").mkdir()
    run(place)
    claude = place.home / ".claude" / "settings.json"
    document = json.loads(claude.read_text("utf-8"))
    document |= {"disableAllHooks": True, "allowManagedHooksOnly": True}
    claude.write_text(json.dumps(document), "utf-8")
    gemini = place.home / ".gemini" / "settings.json"
    document = json.loads(gemini.read_text("utf-8")) | {"hooksConfig": {"enabled": False, "disabled": ["mnemond"]}}
    gemini.write_text(json.dumps(document), "utf-8")
    (place.home / ".copilot" / "settings.json").write_text('{"disableAllHooks": true} // mine', "utf-8")
    hosts, checks = look(place)
    assert [each.rpartition("(")[2] for each in hosts["claude-code"]["switched_off"]] == [
        "disableAllHooks = true)", "allowManagedHooksOnly = true)",
    ]  # fmt: skip
    assert len(hosts["gemini"]["switched_off"]) == 2
    assert len(hosts["copilot-cli"]["switched_off"]) == 1
    assert [checks[name]["state"] for name in hosts] == ["note"] * 3


def test_hooks_that_would_run_twice_are_a_problem(place: SetupEnvironment) -> None:
    with_program(place, "claude")
    run(place)
    claude = place.home / ".claude" / "settings.json"
    document = json.loads(claude.read_text("utf-8"))
    handler = {"type": "command", "command": str(place.ours.hook)}
    claude.write_text(json.dumps({**document, "hooks": {"Stop": [{"hooks": [handler]}]}}), "utf-8")
    hosts, checks = look(place)
    assert "/hooks/Stop/0/hooks/0" in hosts["claude-code"]["duplicates"][0]
    assert checks["claude-code"]["state"] == "problem"


def test_a_plugin_that_was_switched_off_or_lost_is_named(place: SetupEnvironment) -> None:
    with_program(place, "claude")
    run(place)
    claude = place.home / ".claude" / "settings.json"
    claude.write_text(claude.read_text("utf-8").replace("true", "false"), "utf-8")
    assert "claude plugin enable" in look(place)[1]["claude-code"]["detail"]
    (place.directory / "setup.json").unlink()
    assert look(place)[0]["claude-code"]["installed"], "its settings still name the plugin"
    (place.home / ".claude" / "plugins" / "installed_plugins.json").unlink()
    assert "plugin marketplace add" in look(place)[1]["claude-code"]["problems"][0]["next"]


@pytest.mark.parametrize(
    ("spoil", "state"),
    [
        (lambda path: path.unlink(), "problem"),
        (lambda path: path.chmod(0o600), "problem"),
        (lambda path: path.write_text("#!/gone/python -IS\n", "utf-8"), "problem"),
        (lambda path: path.write_text(f"{path.read_text('utf-8')}# older\n", "utf-8"), "note"),
    ],
)
def test_a_program_that_does_not_run_is_a_problem(place: SetupEnvironment, spoil: Any, state: str) -> None:
    (place.home / ".cursor").mkdir()
    run(place)
    spoil(place.directory / "bin" / "mnemond-hook")
    assert look(place)[1]["launchers"]["state"] == state
    run(place)
    assert look(place)[1]["launchers"]["state"] == "ok"


def test_a_damaged_record_is_a_problem(place: SetupEnvironment) -> None:
    place.directory.mkdir(mode=0o700)
    (place.directory / "setup.json").write_text("{", "utf-8")
    assert look(place)[1]["setup"]["state"] == "problem"


def test_when_each_called_last_is_told(place: SetupEnvironment) -> None:
    for name in ("claude", "codex"):
        with_program(place, name)
    (place.home / ".cursor").mkdir()
    run(place)
    (place.home / ".codex" / "trusted-by-test").write_text("", "utf-8")
    seen = {"codex": "2026-11-22T10:00:00.123456Z", "cline": "2026-11-22T10:00:01.000000Z"}
    found = check.check_agents(place, seen)
    assert {each.host: each.last_seen for each in found.hosts} == {
        "claude-code": None, "codex": "2026-11-22T10:00:00.123456Z", "cursor": None,
    }  # fmt: skip
    details = {each.name: each.detail for each in found.checks}
    assert details["codex"].endswith("; last called at 2026-11-22T10:00:00Z")
    assert details["claude-code"].endswith("; no hook of it has called since the daemon started")
    assert "called" not in {each.name: each.detail for each in check.check_agents(place).checks}["codex"]
