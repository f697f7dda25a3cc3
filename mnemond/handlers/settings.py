"""The configuration in force: of the daemon, and of each store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec
import trio

from mnemond import config_sources
from mnemond.config import Config
from mnemond.config_sources import FILE, SETTINGS, Configuration, Layers, Loaded, Sources
from mnemond.errors import INVALID_PARAMS, MnemonError
from mnemond.model.policy import WritePolicy
from mnemond.pipelines.configured import read_policy, write_policy
from mnemond.pipelines.read_policy import ReadPolicy
from mnemond.protocol.configuration import ConfigShowParams, ConfigShowResult, SettingView
from mnemond.protocol.wording import nearest
from mnemond.server.call import Call
from mnemond.server.dispatch import Handler
from mnemond.store.registry import StoreRegistry


class StoreSettings:
    """What every store goes by. What was read outside of stores stays until `take_up`; files of stores are read when a
    store is opened."""

    def __init__(self, stores: StoreRegistry, loaded: Loaded) -> None:
        self._stores = stores
        self._loaded = loaded
        self._in_force: dict[str, Configuration] = {}
        stores.on_closed.append(self._closed)

    def take_up(self, loaded: Loaded) -> None:
        """From now on this is what was read outside of stores. One whose own file cannot be used goes on as it is."""
        self._loaded = loaded
        for name in self._in_force:
            with suppress(MnemonError):
                self._in_force[name] = self.of(name)

    @property
    def sources(self) -> Sources:
        """Where it was read."""
        return self._loaded.sources

    def file_of(self, name: str) -> Path:
        """The settings of a store; there need not be any."""
        return self._stores.path(name).with_name(FILE)

    def of(self, name: str, layers: Layers | None = None) -> Configuration:
        """What a store goes by (blocking). Raises MnemonError(CONFIG) for a file of its own that cannot be used."""
        return config_sources.resolve(layers or self._loaded.layers, self.file_of(name))

    def _closed(self, name: str) -> None:
        self._in_force.pop(name, None)

    def in_force(self, name: str) -> Configuration:
        """What an open store goes by, or a closed one would (blocking). Raises MnemonError(CONFIG)."""
        return self._in_force.get(name) or self.of(name)

    def opening(self, name: str) -> None:
        """A store is being opened: what it goes by is settled (blocking). Raises MnemonError(CONFIG)."""
        self._in_force[name] = self.of(name)

    def policy(self, name: str) -> WritePolicy:
        """What the writes of a store go by. Raises MnemonError(CONFIG)."""
        return write_policy(self.in_force(name).config)

    def reading(self, name: str) -> ReadPolicy:
        """What the questions to a store go by. Raises MnemonError(CONFIG)."""
        return read_policy(self.in_force(name).config)


class ConfigHandlers:
    """config.show."""

    def __init__(self, stores: StoreRegistry, settings: StoreSettings) -> None:
        self._stores = stores
        self._settings = settings

    def methods(self) -> Mapping[str, Handler]:
        """Each by the name of its method."""
        return {
            "config.show": self.show,
        }

    async def show(self, call: Call, params: ConfigShowParams) -> ConfigShowResult:
        """What counts and where it came from. Raises MnemonError: NOT_FOUND, and CONFIG for the file of the store."""
        name = self._stores.resolve(params.store)
        self._stores.find(name)
        return await trio.to_thread.run_sync(partial(self._shown, name, _below(params.below), params.origin))

    def _shown(self, name: str, paths: Sequence[str], with_origin: bool) -> ConfigShowResult:
        found, unset = self._settings.in_force(name), Config()
        waiting: list[str] = []
        refused: str | None = None
        try:
            now = self._settings.of(name, config_sources.read(self._settings.sources))
            waiting = config_sources.differing(found.config, now.config)
        except MnemonError as error:
            refused = error.message
        return ConfigShowResult(
            store=name,
            files=[str(self._settings.sources.path), str(self._settings.file_of(name))],
            settings=[
                SettingView(
                    path,
                    found.value(path),
                    config_sources.value_of(unset, path),
                    found.origin(path) if with_origin else msgspec.UNSET,
                )
                for path in paths
            ],
            waiting=waiting,
            refused=refused,
        )


def _below(table: str | None) -> list[str]:
    """Settings of a table, or one by its path. Raises MnemonError(INVALID_PARAMS) for neither."""
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
