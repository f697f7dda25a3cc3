"""The settings in force: of the daemon, and of each store."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec
import trio

from mnemond.api.types_daemon import ConfigShowParams, ConfigShowResult, SettingView
from mnemond.config import loading
from mnemond.config.loading import FILE, SETTINGS, Configuration, Layers, Loaded, Sources
from mnemond.config.settings import Config
from mnemond.errors import CONFIG, INVALID_PARAMS, MnemonError
from mnemond.store.files import replace_file
from mnemond.store.registry import StoreRegistry
from mnemond.wire.dispatch import Call, handles
from mnemond.wire.params import nearest


class StoreSettings:
    """The settings of every store. What was read outside of stores holds until `apply_settings`; the file of a store is
    read when it is opened."""

    def __init__(self, stores: StoreRegistry, loaded: Loaded) -> None:
        self._stores = stores
        self._loaded = loaded
        self._in_force: dict[str, Configuration] = {}
        stores.on_closed.append(self._closed)

    def apply_settings(self, loaded: Loaded) -> None:
        """Use `loaded` from now on. An open store whose own file is invalid keeps its settings."""
        self._loaded = loaded
        for name in self._in_force:
            with suppress(MnemonError):
                self._in_force[name] = self.read(name)

    @property
    def sources(self) -> Sources:
        """Sources of the settings outside of stores."""
        return self._loaded.sources

    def file_of(self, name: str) -> Path:
        """Return the path of a store's settings; the file may be missing."""
        return self._stores.path(name).with_name(FILE)

    def read(self, name: str, layers: Layers | None = None) -> Configuration:
        """Read the settings of a store (blocking). Raises MnemonError(CONFIG) if its own file is invalid."""
        return loading.resolve(layers or self._loaded.layers, self.file_of(name))

    def _closed(self, name: str) -> None:
        self._in_force.pop(name, None)

    def in_force(self, name: str) -> Configuration:
        """Return the settings of an open store, or read those of a closed one (blocking).

        Raises MnemonError(CONFIG).
        """
        return self._in_force.get(name) or self.read(name)

    def opening(self, name: str) -> None:
        """Read the settings of a store that is being opened (blocking). Raises MnemonError(CONFIG)."""
        self._in_force[name] = self.read(name)

    def write(self, name: str, path: str, value: int) -> None:
        """Set a number in the file of an open store, keeping all else that it says, and read it again (blocking).

        Raises MnemonError(CONFIG) if it is invalid, or if the setting does not come from it; OSError.
        """
        import tomlkit  # used by this alone

        file = self.file_of(name)
        document = tomlkit.parse(file.read_text("utf-8")) if file.exists() else tomlkit.document()
        table, _, setting = path.rpartition(".")
        if table not in document:
            document[table] = tomlkit.table()
        document[table][setting] = value
        replace_file(file, tomlkit.dumps(document).encode())
        self._in_force[name] = found = self.read(name)
        if found.value(path) != value:
            raise MnemonError(
                CONFIG,
                f"{path} is {found.value(path)}, as {found.origin(path)} has it, whatever the file of the store says",
                hint="change it there",
            )

    def config(self, name: str) -> Config:
        """Return `in_force` without the origins."""
        return self.in_force(name).config


class ConfigHandlers:
    """The method config.show."""

    def __init__(self, stores: StoreRegistry, settings: StoreSettings) -> None:
        self._stores = stores
        self._settings = settings

    @handles("config.show", in_task=True)
    async def show(self, call: Call, params: ConfigShowParams) -> ConfigShowResult:
        """Show the settings in force and their origins.

        Raises MnemonError: NOT_FOUND, and CONFIG if the file of the store is invalid.
        """
        name = self._stores.resolve(params.store)
        self._stores.find(name)
        return await trio.to_thread.run_sync(partial(self._show, name, _paths(params.below), params.origin))

    def _show(self, name: str, paths: Sequence[str], with_origin: bool) -> ConfigShowResult:
        found, defaults = self._settings.in_force(name), Config()
        waiting: list[str] = []
        refused: str | None = None
        try:
            now = self._settings.read(name, loading.read(self._settings.sources))
            waiting = loading.differing(found.config, now.config)
        except MnemonError as error:
            refused = error.message
        return ConfigShowResult(
            store=name,
            files=[str(self._settings.sources.path), str(self._settings.file_of(name))],
            settings=[
                SettingView(
                    path,
                    found.value(path),
                    loading.value_of(defaults, path),
                    found.origin(path) if with_origin else msgspec.UNSET,
                )
                for path in paths
            ],
            waiting=waiting,
            refused=refused,
        )


def _paths(table: str | None) -> list[str]:
    """Return the settings of a table, or one by its path; None: all. Raises MnemonError(INVALID_PARAMS)."""
    if table is None:
        return list(SETTINGS)
    found = [path for path in SETTINGS if path == table or path.startswith(f"{table}.")]
    if not found:
        tables = {path.rpartition(".")[0] for path in SETTINGS} - {""}
        near = nearest(table, [*tables, *SETTINGS])
        raise MnemonError(
            INVALID_PARAMS,
            f"there is no setting or table {table[:60]!a}",
            hint=f"did you mean {near}?" if near else "`mnemonctl config show` has all of them",
            outcome="rejected",
        )
    return found
