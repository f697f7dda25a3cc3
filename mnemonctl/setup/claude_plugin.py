"""The part of Claude Code that its own program does: it installs a plugin from a local marketplace.

The plugin is a directory below the data directory; Claude Code loads it from there. Hooks have `args`, so they run
without a shell.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import msgspec

from mnemonctl import fast
from mnemonctl.setup import entries, own_files
from mnemonctl.setup.entries import ALIAS, plain
from mnemonctl.setup.environment import HOOK_TIMEOUT_S, SetupEnvironment, run
from mnemonctl.setup.files import OwnFile, digest, read_host_file, refused
from mnemonctl.setup.json_edit import STRICT, JsonProblem, Pointer, append_item, remove_item
from mnemond.config.hosts import Setup
from mnemond.errors import UNAVAILABLE, MnemonError

ABOUT: Final = "Remembers what you and your agents learned, and recalls it when it matters, on this machine alone"


class ClaudePlugin(msgspec.Struct, frozen=True):
    """The directory of the marketplace, and commands of `claude plugin`."""

    environment: SetupEnvironment
    setup: Setup

    @property
    def settings(self) -> Path:
        return self.environment.config(self.setup.variable, self.setup.folder) / self.setup.files[0].path

    @property
    def program(self) -> str | None:
        return self.environment.program(self.setup.program)

    @property
    def marketplace(self) -> str:
        return self.setup.plugin.partition("@")[2]

    @property
    def root(self) -> Path:
        return self.environment.directory / "hosts" / "claude-code"

    def files(self) -> list[OwnFile]:
        """Return the marketplace and the plugin in it, whose version has a hash of its content."""
        ours = self.environment.ours
        handler = {"type": "command", "command": str(ours.hook), "args": [], "timeout": HOOK_TIMEOUT_S}
        hooks = {"description": ABOUT, "hooks": {event: [{"hooks": [handler]}] for event in self.setup.hooks}}
        content = {
            "hooks/hooks.json": _json(hooks),
            ".mcp.json": _json({"mcpServers": {ALIAS: {"command": str(ours.mcp), "args": []}}}),
            f"skills/{ALIAS}/SKILL.md": own_files.current(self.environment.directory, own_files.SKILL),
        }
        version = f"{fast.VERSION}+{digest(json.dumps(content).encode())[:8]}"
        market = OwnFile(
            self.root / ".claude-plugin" / "marketplace.json", _json({"name": self.marketplace, **_MARKETPLACE})
        )
        plugin = {".claude-plugin/plugin.json": _json({**_PLUGIN, "version": version}), **content}
        return [market, *(OwnFile(self.root / "plugins" / ALIAS / name, text) for name, text in plugin.items())]

    def is_known(self) -> bool:
        """Return True if the plugin is switched on or off."""
        return entries.value_in(self.settings, STRICT, "enabledPlugins", self.setup.plugin) is not None

    def rewritten(self) -> list[Path]:
        return [self.settings]

    def expected(self, path: Path, text: str | None, *, there: bool) -> str | None:
        """Return the settings with our marketplace and our plugin, or without them."""
        values: dict[Pointer, object] = {
            ("extraKnownMarketplaces", self.marketplace): {"source": {"source": "directory", "path": str(self.root)}},
            ("enabledPlugins", self.setup.plugin): True,
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
            return [add, [*plugin, "install", self.setup.plugin, "--scope", "user"]]
        if version == json.loads(self.files()[1].text)["version"]:
            return []
        return [[*plugin, "marketplace", "update", self.marketplace], [*plugin, "update", self.setup.plugin]]

    def undo(self, *, ask: bool) -> list[list[str]]:
        plugin = [self.program or "claude", "plugin"]
        commands = []
        if self._version(ask=ask) is not None:
            commands.append([*plugin, "uninstall", self.setup.plugin, "--scope", "user"])
        if entries.value_in(self.settings, STRICT, "extraKnownMarketplaces", self.marketplace) is not None:
            commands.append([*plugin, "marketplace", "remove", self.marketplace])
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
            found = entries.value_in(installed, STRICT, "plugins", self.setup.plugin)
            return next((str(each.get("version")) for each in _rows(found)), None)
        output = run([self.program, "plugin", "list", "--json"], self.environment.environ)
        try:
            listed = json.loads(output)
        except ValueError:
            raise MnemonError(UNAVAILABLE, "claude plugin list --json wrote something else than JSON") from None
        return next((str(each.get("version")) for each in _rows(listed) if each.get("id") == self.setup.plugin), None)


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
    "description": "The plugin that belongs to the mnemond on this machine",
    "owner": {"name": "mnemond"},
    "plugins": [{"name": ALIAS, "source": f"./plugins/{ALIAS}", "description": ABOUT}],
}


def _json(document: object) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
