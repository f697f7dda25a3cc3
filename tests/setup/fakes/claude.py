"""Stands for Claude Code 2.1.330: what its `plugin` commands say, and how they write settings anew."""

import json
import os
import sys
from typing import Any, NoReturn

HOME = os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(os.environ["HOME"], ".claude")
SETTINGS = os.path.join(HOME, "settings.json")
INSTALLED = os.path.join(HOME, "plugins", "installed_plugins.json")
FIRST = ("permissions", "model", "hooks")


def load(path: str) -> Any:
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return {}


def save(path: str, document: dict[str, Any]) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    ordered = {key: document[key] for key in FIRST if key in document} | document
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(ordered, indent=2, ensure_ascii=False) + "\n")


def refuse(sentence: str) -> NoReturn:
    sys.stderr.write(sentence + "\n")
    sys.exit(1)


def folder_of(settings: Any, plugin: str) -> str:
    name, market = plugin.split("@")
    known = settings.get("extraKnownMarketplaces", {}).get(market)
    if known is None:
        refuse(f'Plugin "{name}" not found in marketplace "{market}"')
    root = known["source"]["path"]
    listed = load(os.path.join(root, ".claude-plugin", "marketplace.json"))["plugins"]
    return os.path.join(root, str(next(each["source"] for each in listed if each["name"] == name)))


def note(settings: Any, plugin: str) -> None:
    folder = folder_of(settings, plugin)
    version = load(os.path.join(folder, ".claude-plugin", "plugin.json"))["version"]
    save(INSTALLED, {"version": 2, "plugins": {**plugins(), plugin: [{"scope": "user", "version": version}]}})


def plugins() -> dict[str, Any]:
    found: dict[str, Any] = load(INSTALLED).get("plugins", {})
    return found


def main(words: list[str]) -> None:
    settings = load(SETTINGS)
    match words:
        case ["plugin", "list", "--json"]:
            enabled = settings.get("enabledPlugins", {})
            rows = [
                {"id": name, "version": each["version"], "scope": "user", "enabled": enabled.get(name, False)}
                for name, installed in plugins().items()
                for each in installed
            ]
            print(json.dumps(rows, indent=2))
        case ["plugin", "marketplace", "add", path]:
            market = load(os.path.join(path, ".claude-plugin", "marketplace.json"))["name"]
            source = {"source": {"source": "directory", "path": path}}
            settings.setdefault("extraKnownMarketplaces", {})[market] = source
            save(SETTINGS, settings)
        case ["plugin", "install", plugin, "--scope", "user"]:
            note(settings, plugin)
            settings.setdefault("enabledPlugins", {})[plugin] = True
            save(SETTINGS, settings)
        case ["plugin", "marketplace", "update", _]:
            pass
        case ["plugin", "update", plugin]:
            note(settings, plugin)
        case ["plugin", "uninstall", plugin, "--scope", "user"]:
            installed = plugins()
            if installed.pop(plugin, None) is None:
                refuse(f'Failed to uninstall plugin "{plugin}": not found in installed plugins')
            save(INSTALLED, {"version": 2, "plugins": installed})
            settings.get("enabledPlugins", {}).pop(plugin, None)
            save(SETTINGS, settings)
        case ["plugin", "marketplace", "remove", market]:
            if settings.get("extraKnownMarketplaces", {}).pop(market, None) is None:
                refuse(f"Failed to remove marketplace: Marketplace '{market}' not found")
            save(SETTINGS, settings)
        case _:
            refuse(f"unknown command: {words}")


if __name__ == "__main__":
    main(sys.argv[1:])
