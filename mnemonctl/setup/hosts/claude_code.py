"""Claude Code: a plugin in a local marketplace, which its own program installs.

The plugin is a directory below the data directory; Claude Code loads it from there. Hooks have `args`, so they run
without a shell.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import msgspec

from mnemonctl import fast
from mnemonctl.setup import entries, host
from mnemonctl.setup.entries import ALIAS, Ours, Wanted, plain, standing
from mnemonctl.setup.files import SKILL, OwnFile, current, digest, read, refused
from mnemonctl.setup.host import (
    HOOK_TIMEOUT_S,
    Settings,
    SetupEnvironment,
    first_of,
    said_by_directory,
    said_by_program,
)
from mnemonctl.setup.json_edit import STRICT, JsonProblem
from mnemond.errors import UNAVAILABLE, MnemonError

EVENTS: Final = ("SessionStart", "UserPromptSubmit", "PostCompact", "SubagentStart", "Stop", "SessionEnd")
MARKETPLACE: Final = "mnemond-local"
PLUGIN: Final = f"{ALIAS}@{MARKETPLACE}"
ABOUT: Final = "Remembers what you and your agents learned, and recalls it when it matters, on this machine alone"


class ClaudeCode:
    """One configuration: $CLAUDE_CONFIG_DIR, else ~/.claude."""

    name = "claude-code"
    title = "Claude Code"

    def __init__(self, place: SetupEnvironment) -> None:
        self._place = place
        self._home = place.config("CLAUDE_CONFIG_DIR", ".claude")
        self._program = place.program("claude")

    def found(self) -> str | None:
        """Its program or its directory."""
        return first_of(said_by_program(self._program), said_by_directory(self._home))

    def settings(self) -> list[Settings]:
        """None by hand."""
        return []

    def registration(self) -> ClaudePlugin:
        """The plugin."""
        return ClaudePlugin(self._place, self._home / "settings.json", self._program)

    def untrusted(self) -> list[str]:
        """Installing the plugin was the approval."""
        return []

    def remarks(self) -> list[str]:
        """Sessions that are open do not know it."""
        return ["Claude Code loads the plugin in new sessions; in an open one type /reload-plugins"]

    def switched_off(self) -> list[str]:
        """`disableAllHooks`, `allowManagedHooksOnly`, the plugin itself; and what would run our hooks twice."""
        path = self._home / "settings.json"
        off = entries.switches(path, STRICT, {("disableAllHooks",): True, ("allowManagedHooksOnly",): True})
        if entries.value(path, STRICT, "enabledPlugins", PLUGIN) is False:
            off.append(f"the plugin is switched off in {path}: claude plugin enable {PLUGIN}")
        return off

    def duplicates(self) -> list[str]:
        """Our hooks in settings, beside the plugin: they would run twice."""
        path = self._home / "settings.json"
        try:
            there = standing(read(path).text or "{}", Wanted(), self._place.ours)
        except (MnemonError, JsonProblem):
            return []
        return [f"{path} runs our hooks as well, besides the plugin: {', '.join(there)}"] if there else []


class ClaudePlugin(msgspec.Struct, frozen=True):
    """The directory, and what `claude plugin` is told about it."""

    place: SetupEnvironment
    settings: Path
    program: str | None

    @property
    def root(self) -> Path:
        """The marketplace."""
        return self.place.directory / "hosts" / "claude-code"

    def files(self) -> list[OwnFile]:
        """The marketplace and the plugin in it. Its version has a part that changes with its content."""
        content = _content(self.place.ours, current(self.place.directory, SKILL))
        version = f"{fast.VERSION}+{digest(json.dumps(content).encode())[:8]}"
        plugin = {**_PLUGIN, "version": version}
        below = {".claude-plugin/plugin.json": _json(plugin), **content}
        market = OwnFile(self.root / ".claude-plugin" / "marketplace.json", _json(_MARKETPLACE))
        return [market, *(OwnFile(self.root / "plugins" / ALIAS / name, text) for name, text in below.items())]

    def is_known(self) -> bool:
        """Whether the plugin is switched on, or off."""
        return entries.value(self.settings, STRICT, "enabledPlugins", PLUGIN) is not None

    def rewritten(self) -> list[Path]:
        """Where plugins are switched on."""
        return [self.settings]

    def commands(self) -> list[list[str]]:
        """Add the marketplace and install the plugin, or bring them up to date."""
        self._check()
        claude = self.program or "claude"
        fresh = [
            [claude, "plugin", "marketplace", "add", str(self.root)],
            [claude, "plugin", "install", PLUGIN, "--scope", "user"],
        ]
        there = self._listed()
        if there is None:
            return fresh
        version = json.loads(self.files()[1].text)["version"]
        if there.get("version") == version:
            return []
        return [[claude, "plugin", "marketplace", "update", MARKETPLACE], [claude, "plugin", "update", PLUGIN]]

    def undo(self) -> list[list[str]]:
        """Uninstall it and forget the marketplace."""
        claude = self.program or "claude"
        installed = self._listed() is not None
        uninstall = [[claude, "plugin", "uninstall", PLUGIN, "--scope", "user"]] if installed else []
        known = entries.value(self.settings, STRICT, "extraKnownMarketplaces", MARKETPLACE) is not None
        return uninstall + ([[claude, "plugin", "marketplace", "remove", MARKETPLACE]] if known else [])

    def _listed(self) -> dict[str, Any] | None:
        """What Claude Code says of the plugin. It is not asked where it never ran: it makes its files whatever it is
        asked, and it has no plugins there. Raises MnemonError."""
        if self.program is None or not self.settings.parent.is_dir():
            return None
        said = host.run([self.program, "plugin", "list", "--json"], self.place.environ)
        try:
            listed = json.loads(said)
        except ValueError:
            raise MnemonError(UNAVAILABLE, "claude plugin list --json wrote something else than JSON") from None
        return next((each for each in listed if each.get("id") == PLUGIN), None)

    def _check(self) -> None:
        """Its program writes the settings: not when they do not parse. Raises MnemonError."""
        text = read(self.settings).text
        try:
            if text is not None:
                plain(text, STRICT)
        except JsonProblem as problem:
            raise refused(self.settings, str(problem)) from None


_PLUGIN: Final = {
    "name": ALIAS,
    "description": ABOUT,
    "author": {"name": "mnemond"},
    "license": "Apache-2.0",
    "keywords": ["memory", "recall"],
}
_MARKETPLACE: Final = {
    "name": MARKETPLACE,
    "description": "The plugin that belongs to the mnemond on this machine",
    "owner": {"name": "mnemond"},
    "plugins": [{"name": ALIAS, "source": f"./plugins/{ALIAS}", "description": ABOUT}],
}


def _content(ours: Ours, skill: str) -> dict[str, str]:
    """Files of the plugin by their names, but the one that holds its version."""
    handler = {"type": "command", "command": str(ours.hook), "args": [], "timeout": HOOK_TIMEOUT_S}
    hooks = {"description": ABOUT, "hooks": {event: [{"hooks": [handler]}] for event in EVENTS}}
    return {
        "hooks/hooks.json": _json(hooks),
        ".mcp.json": _json({"mcpServers": {ALIAS: {"command": str(ours.mcp), "args": []}}}),
        f"skills/{ALIAS}/SKILL.md": skill,
    }


def _json(document: object) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
