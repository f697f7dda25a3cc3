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
from mnemonctl.setup.entries import ALIAS, Wanted, lookup
from mnemonctl.setup.files import OwnFile, read, refused
from mnemonctl.setup.host import (
    HOOK_TIMEOUT_S,
    Settings,
    SetupEnvironment,
    first_of,
    said_by_directory,
    said_by_program,
)
from mnemond.errors import MnemonError

EVENTS: Final = ("SessionStart", "UserPromptSubmit", "PostCompact", "SubagentStart", "Stop", "SessionEnd")


class _Hook(msgspec.Struct):
    event: str = msgspec.field(name="eventName")
    trust: str = msgspec.field(name="trustStatus")
    command: str | None = None


class _Hooks(msgspec.Struct):
    hooks: list[_Hook] = []


class _Listed(msgspec.Struct):
    """What `hooks/list` answers, as far as it matters here."""

    data: list[_Hooks]


class Codex:
    """One configuration: $CODEX_HOME, else ~/.codex."""

    name = "codex"
    title = "Codex"

    def __init__(self, place: SetupEnvironment) -> None:
        self._place = place
        self._home = place.config("CODEX_HOME", ".codex")
        self._program = place.program("codex")

    def found(self) -> str | None:
        """Its program or its directory."""
        return first_of(said_by_program(self._program), said_by_directory(self._home))

    def settings(self) -> list[Settings]:
        """The hooks."""
        handler: dict[str, object] = {"type": "command", "command": shlex.quote(str(self._place.ours.hook))}
        hooks = {event: {**handler, "timeout": HOOK_TIMEOUT_S} for event in EVENTS}
        return [Settings(self._home / "hooks.json", Wanted(hooks))]

    def registration(self) -> CodexServer:
        """The MCP server: in its sandbox it is the only way from the model to the daemon."""
        return CodexServer(self._home / "config.toml", self._program or "codex", self._place)

    def remarks(self) -> list[str]:
        """Hooks have to be trusted by hand."""
        waiting = len(self.untrusted())
        return [f"Codex runs no hook that you have not approved: type /hooks in it ({waiting} wait)"] if waiting else []

    def untrusted(self) -> list[str]:
        """Events whose hook waits for approval."""
        return [event for event, state in self.trust().items() if state not in ("trusted", "managed")]

    def trust(self) -> dict[str, str]:
        """What Codex says of each of our hooks, by event: trusted, untrusted, modified. Empty when it cannot be asked;
        it is never told."""
        if self._program is None:
            return {}
        try:
            answer = host.converse([self._program, "app-server"], self._place.environ, _questions(self._home), 2)
            said = msgspec.convert(answer.get("result"), _Listed)
        except (MnemonError, msgspec.ValidationError):
            return {}
        ours = self._place.ours
        hooks = [hook for each in said.data for hook in each.hooks if ours.handler({"command": hook.command})]
        return {hook.event: hook.trust for hook in hooks}

    def switched_off(self) -> list[str]:
        """`[features] hooks = false`."""
        try:
            document = _toml(self._home / "config.toml")
        except MnemonError as error:
            return [error.message]
        off = lookup(document, "features", "hooks") is False
        return [f"hooks are switched off in {self._home / 'config.toml'} ([features] hooks = false)"] if off else []

    def duplicates(self) -> list[str]:
        """Our hooks in `config.toml` as well: Codex runs those of both files."""
        path = self._home / "config.toml"
        try:
            there = path.read_text("utf-8", "replace") if path.exists() else ""
        except OSError:
            return []
        return [f"{path} names our hook as well"] if str(self._place.ours.hook) in there else []


class CodexServer(msgspec.Struct, frozen=True):
    """`codex mcp add`; `config.toml` is read here and never written."""

    config: Path
    program: str
    place: SetupEnvironment

    def files(self) -> list[OwnFile]:
        """None: it runs our launcher."""
        return []

    def is_known(self) -> bool:
        """Whether its server is ours."""
        return self.place.ours.server(self._server())

    def rewritten(self) -> list[Path]:
        """Where it keeps servers."""
        return [self.config]

    def commands(self) -> list[list[str]]:
        """Add the server. Raises MnemonError for a file that does not parse, and another server of our name."""
        there = self._server()
        if there is None:
            return [[self.program, "mcp", "add", ALIAS, "--", str(self.place.ours.mcp)]]
        if not self.place.ours.server(there):
            raise refused(self.config, f'there is another MCP server called "{ALIAS}"')
        return []

    def undo(self) -> list[list[str]]:
        """Remove it, if it is ours."""
        return [[self.program, "mcp", "remove", ALIAS]] if self.place.ours.server(self._server()) else []

    def _server(self) -> object:
        return lookup(_toml(self.config), "mcp_servers", ALIAS)


def _toml(path: Path) -> dict[str, Any]:
    text = read(path).text
    try:
        return tomllib.loads(text or "")
    except tomllib.TOMLDecodeError as error:
        raise refused(path, str(error)) from None


def _questions(cwd: Path) -> bytes:
    """JSON-RPC without its version, one message a line."""
    asked: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "mnemonctl", "version": "1"}}},
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [str(cwd)]}},
    ]
    return b"".join(json.dumps(each).encode() + b"\n" for each in asked)
