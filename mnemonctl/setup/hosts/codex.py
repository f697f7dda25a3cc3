"""OpenAI Codex CLI: `hooks.json` beside its `config.toml`, and an MCP server that its own program adds.

Not `config.toml`: a mistake in a hook there keeps Codex from starting, one in `hooks.json` is a warning. Its root takes
`description` and `hooks` only.
"""

from __future__ import annotations

import json
import shlex
import tomllib
from pathlib import Path
from typing import Any, Final

import msgspec

from mnemonctl.setup import host
from mnemonctl.setup.entries import ALIAS, EntrySpec, lookup
from mnemonctl.setup.files import OwnFile, read_host_file, refused
from mnemonctl.setup.host import HOOK_TIMEOUT_S, Settings, SetupEnvironment, found_directory, found_program
from mnemond.errors import MnemonError

EVENTS: Final = ("SessionStart", "UserPromptSubmit", "PostCompact", "SubagentStart", "Stop", "SessionEnd")


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
        return [Settings(self._home / "hooks.json", EntrySpec(dict.fromkeys(EVENTS, handler)))]

    def registration(self) -> CodexServer:
        """Return the MCP server: in the sandbox of Codex it is the only way from the model to the daemon."""
        return CodexServer(self._config, self._program or "codex", self._environment)

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
            off = lookup(_toml(self._config), "features", "hooks") is False
        except MnemonError as error:
            return [error.message]
        return [f"hooks are switched off in {self._config} ([features] hooks = false)"] if off else []

    def duplicates(self) -> list[str]:
        """Look for our hooks in `config.toml` as well: Codex runs those of both files."""
        try:
            text = self._config.read_text("utf-8", "replace") if self._config.exists() else ""
        except OSError:
            return []
        return [f"{self._config} names our hook as well"] if str(self._environment.ours.hook) in text else []


class CodexServer(msgspec.Struct, frozen=True):
    """`codex mcp add`; `config.toml` is read here and never written."""

    config: Path
    program: str
    environment: SetupEnvironment

    def files(self) -> list[OwnFile]:
        return []

    def is_known(self) -> bool:
        return self.environment.ours.is_server(self._server())

    def rewritten(self) -> list[Path]:
        return [self.config]

    def commands(self) -> list[list[str]]:
        server = self._server()
        if server is None:
            return [[self.program, "mcp", "add", ALIAS, "--", str(self.environment.ours.mcp)]]
        if not self.is_known():
            raise refused(self.config, f'there is another MCP server called "{ALIAS}"')
        return []

    def undo(self) -> list[list[str]]:
        return [[self.program, "mcp", "remove", ALIAS]] if self.is_known() else []

    def _server(self) -> object:
        return lookup(_toml(self.config), "mcp_servers", ALIAS)


def _toml(path: Path) -> dict[str, Any]:
    text = read_host_file(path).text
    try:
        return tomllib.loads(text or "")
    except tomllib.TOMLDecodeError as error:
        raise refused(path, str(error)) from None
