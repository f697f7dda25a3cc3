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
from mnemonctl.setup import entries, host, own_files
from mnemonctl.setup.entries import ALIAS, EntrySpec, plain
from mnemonctl.setup.files import OwnFile, digest, read_host_file, refused
from mnemonctl.setup.host import HOOK_TIMEOUT_S, Settings, SetupEnvironment, found_directory, found_program
from mnemonctl.setup.json_edit import STRICT, JsonProblem, Pointer, append_item, remove_item
from mnemond.errors import UNAVAILABLE, MnemonError

EVENTS: Final = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostCompact", "SubagentStart", "Stop", "SessionEnd")
MARKETPLACE: Final = "mnemond-local"
PLUGIN: Final = f"{ALIAS}@{MARKETPLACE}"
ABOUT: Final = "Remembers what you and your agents learned, and recalls it when it matters, on this machine alone"


class ClaudeCode:
    """One configuration: $CLAUDE_CONFIG_DIR, else ~/.claude."""

    name = "claude-code"
    title = "Claude Code"

    def __init__(self, environment: SetupEnvironment) -> None:
        self._environment = environment
        self._home = environment.config("CLAUDE_CONFIG_DIR", ".claude")
        self._settings = self._home / "settings.json"
        self._program = environment.program("claude")

    def found(self) -> str | None:
        return found_program(self._program) or found_directory(self._home)

    def settings(self) -> list[Settings]:
        return []

    def registration(self) -> ClaudePlugin:
        return ClaudePlugin(self._environment, self._settings, self._program)

    def untrusted(self) -> list[str]:
        """Installing the plugin is the approval."""
        return []

    def remarks(self) -> list[str]:
        return ["Claude Code loads the plugin in new sessions; in an open one type /reload-plugins"]

    def switched_off(self) -> list[str]:
        """Read `disableAllHooks`, `allowManagedHooksOnly` and the switch of the plugin."""
        switches = {"disableAllHooks": True, "allowManagedHooksOnly": True}
        off = entries.switched_off_by(self._settings, STRICT, switches)
        if entries.value_in(self._settings, STRICT, "enabledPlugins", PLUGIN) is False:
            off.append(f"the plugin is switched off in {self._settings}: claude plugin enable {PLUGIN}")
        return off

    def duplicates(self) -> list[str]:
        """Look for our hooks in the settings, beside the plugin."""
        try:
            found = EntrySpec().find(read_host_file(self._settings).text or "", self._environment.ours)
        except (MnemonError, JsonProblem):
            return []
        return [f"{self._settings} runs our hooks as well, besides the plugin: {', '.join(found)}"] if found else []


class ClaudePlugin(msgspec.Struct, frozen=True):
    """The directory of the marketplace, and commands of `claude plugin`."""

    environment: SetupEnvironment
    settings: Path
    program: str | None

    @property
    def root(self) -> Path:
        return self.environment.directory / "hosts" / "claude-code"

    def files(self) -> list[OwnFile]:
        """Return the marketplace and the plugin in it, whose version has a hash of its content."""
        ours = self.environment.ours
        handler = {"type": "command", "command": str(ours.hook), "args": [], "timeout": HOOK_TIMEOUT_S}
        hooks = {"description": ABOUT, "hooks": {event: [{"hooks": [handler]}] for event in EVENTS}}
        content = {
            "hooks/hooks.json": _json(hooks),
            ".mcp.json": _json({"mcpServers": {ALIAS: {"command": str(ours.mcp), "args": []}}}),
            f"skills/{ALIAS}/SKILL.md": own_files.current(self.environment.directory, own_files.SKILL),
        }
        version = f"{fast.VERSION}+{digest(json.dumps(content).encode())[:8]}"
        market = OwnFile(self.root / ".claude-plugin" / "marketplace.json", _json(_MARKETPLACE))
        plugin = {".claude-plugin/plugin.json": _json({**_PLUGIN, "version": version}), **content}
        return [market, *(OwnFile(self.root / "plugins" / ALIAS / name, text) for name, text in plugin.items())]

    def is_known(self) -> bool:
        """Return True if the plugin is switched on or off."""
        return entries.value_in(self.settings, STRICT, "enabledPlugins", PLUGIN) is not None

    def rewritten(self) -> list[Path]:
        return [self.settings]

    def expected(self, path: Path, text: str | None, *, there: bool) -> str | None:
        """Return the settings with our marketplace and our plugin, or without them."""
        values: dict[Pointer, object] = {
            ("extraKnownMarketplaces", MARKETPLACE): {"source": {"source": "directory", "path": str(self.root)}},
            ("enabledPlugins", PLUGIN): True,
        }
        text = "{}\n" if text is None else text
        for (table, key), value in values.items():
            known = entries.lookup(plain(text, STRICT), str(table), key) is not None
            if there and not known:
                if entries.lookup(plain(text, STRICT), str(table)) is None:
                    text = append_item(text, (), str(table), {})
                text = append_item(text, (table,), str(key), value)
            elif known and not there:
                text = remove_item(text, (table, key))
        return text

    def commands(self, *, ask: bool) -> list[list[str]]:
        """Return the commands that add the marketplace and install the plugin, or update both."""
        text = read_host_file(self.settings).text
        try:
            if text is not None:
                plain(text, STRICT)  # Claude Code writes them: not if they do not parse
        except JsonProblem as problem:
            raise refused(self.settings, str(problem)) from None
        plugin = [self.program or "claude", "plugin"]
        version = self._version(ask=ask)
        if version is None:
            add = [*plugin, "marketplace", "add", str(self.root)]
            return [add, [*plugin, "install", PLUGIN, "--scope", "user"]]
        if version == json.loads(self.files()[1].text)["version"]:
            return []
        return [[*plugin, "marketplace", "update", MARKETPLACE], [*plugin, "update", PLUGIN]]

    def undo(self, *, ask: bool) -> list[list[str]]:
        plugin = [self.program or "claude", "plugin"]
        commands = []
        if self._version(ask=ask) is not None:
            commands.append([*plugin, "uninstall", PLUGIN, "--scope", "user"])
        if entries.value_in(self.settings, STRICT, "extraKnownMarketplaces", MARKETPLACE) is not None:
            commands.append([*plugin, "marketplace", "remove", MARKETPLACE])
        return commands

    def _version(self, *, ask: bool) -> str | None:
        """Return the version of the plugin that Claude Code has, or None. Raises MnemonError.

        Asking it may make and rewrite files of its own, so a preview reads its list of plugins instead. It is not run
        either if it never was before: it has no plugins then.
        """
        if self.program is None or not self.settings.parent.is_dir():
            return None
        if not ask:
            installed = self.settings.parent / "plugins" / "installed_plugins.json"
            found = entries.value_in(installed, STRICT, "plugins", PLUGIN)
            return next((str(each.get("version")) for each in _rows(found)), None)
        output = host.run([self.program, "plugin", "list", "--json"], self.environment.environ)
        try:
            listed = json.loads(output)
        except ValueError:
            raise MnemonError(UNAVAILABLE, "claude plugin list --json wrote something else than JSON") from None
        return next((str(each.get("version")) for each in _rows(listed) if each.get("id") == PLUGIN), None)


def _rows(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


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


def _json(document: object) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
