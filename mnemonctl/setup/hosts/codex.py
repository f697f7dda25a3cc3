"""OpenAI Codex CLI: `hooks.json`, and a line for the MCP server in `config.toml` beside it.

Hooks are not in `config.toml`: a mistake in a hook there keeps Codex from starting, one in `hooks.json` is a warning.
Its root takes `description` and `hooks` only. `codex mcp add` is not used: it lays every server out anew, without the
comments in it, and makes the file 0600.
"""

from __future__ import annotations

import json
import shlex
from typing import Final

import msgspec

from mnemonctl.setup import host
from mnemonctl.setup.entries import EntrySpec, lookup
from mnemonctl.setup.files import SettingsProblem, read_host_file, refused
from mnemonctl.setup.host import HOOK_TIMEOUT_S, Settings, SetupEnvironment, found_directory, found_program
from mnemonctl.setup.toml_entries import TomlServer, parse_toml
from mnemond.errors import MnemonError

EVENTS: Final = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostCompact", "SubagentStart", "Stop", "SessionEnd")


class _Hook(msgspec.Struct):
    event: str = msgspec.field(name="eventName")
    trust: str = msgspec.field(name="trustStatus")
    command: str | None = None


class _Hooks(msgspec.Struct):
    hooks: list[_Hook] = []


class _HooksList(msgspec.Struct):
    """Result of `hooks/list`."""

    data: list[_Hooks]


class Codex:
    """One configuration: $CODEX_HOME, else ~/.codex."""

    name = "codex"
    title = "Codex"

    def __init__(self, environment: SetupEnvironment) -> None:
        self._environment = environment
        self._home = environment.config("CODEX_HOME", ".codex")
        self._config = self._home / "config.toml"
        self._program = environment.program("codex")

    def found(self) -> str | None:
        return found_program(self._program) or found_directory(self._home)

    def settings(self) -> list[Settings]:
        command = shlex.quote(str(self._environment.ours.hook))
        handler: dict[str, object] = {"type": "command", "command": command, "timeout": HOOK_TIMEOUT_S}
        server = TomlServer(str(self._environment.ours.mcp))  # the only way out of the sandbox for the model
        return [
            Settings(self._home / "hooks.json", EntrySpec(dict.fromkeys(EVENTS, handler))),
            Settings(self._config, server),
        ]

    def registration(self) -> None:
        return None

    def remarks(self) -> list[str]:
        waiting = len(self.untrusted())
        return [f"Codex runs no hook that you have not approved: type /hooks in it ({waiting} wait)"] if waiting else []

    def untrusted(self) -> list[str]:
        return [event for event, state in self.trust().items() if state not in ("trusted", "managed")]

    def trust(self) -> dict[str, str]:
        """Return the trust of our hooks by event: trusted, untrusted, modified; {} if Codex does not answer."""
        if self._program is None:
            return {}
        requests: list[dict[str, object]] = [  # JSON-RPC without its version
            {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "mnemonctl", "version": "1"}}},
            {"method": "initialized"},
            {"id": 2, "method": "hooks/list", "params": {"cwds": [str(self._home)]}},
        ]
        lines = b"".join(json.dumps(each).encode() + b"\n" for each in requests)
        try:
            answer = host.converse([self._program, "app-server"], self._environment.environ, lines, 2)
            listed = msgspec.convert(answer.get("result"), _HooksList)
        except (MnemonError, msgspec.ValidationError):
            return {}
        ours = self._environment.ours
        hooks = [hook for each in listed.data for hook in each.hooks if ours.is_handler({"command": hook.command})]
        return {hook.event: hook.trust for hook in hooks}

    def switched_off(self) -> list[str]:
        """Read `[features] hooks`."""
        try:
            off = lookup(parse_toml(read_host_file(self._config).text or ""), "features", "hooks") is False
        except MnemonError as error:
            return [error.message]
        except SettingsProblem as problem:
            return [refused(self._config, str(problem)).message]
        return [f"hooks are switched off in {self._config} ([features] hooks = false)"] if off else []

    def duplicates(self) -> list[str]:
        """Look for our hooks in `config.toml` as well: Codex runs those of both files."""
        try:
            text = self._config.read_text("utf-8", "replace") if self._config.exists() else ""
        except OSError:
            return []
        return [f"{self._config} names our hook as well"] if str(self._environment.ours.hook) in text else []
