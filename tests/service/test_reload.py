"""A configuration that is read anew: what of it counts at once, what later, and what when it is wrong."""

from __future__ import annotations

from pathlib import Path

import msgspec
from structlog.testing import CapturingLogger

from mnemond.api.types_daemon import HELLO, STATUS
from mnemond.api.types_memories import REMEMBER
from mnemond.config import loading
from mnemond.config.loading import LIVE, is_live
from mnemond.config.reading import EmbeddingSettings
from mnemond.config.settings import Config, LogSettings, ServerSettings
from mnemond.config.writing import DiffSettings, LifecycleSettings
from mnemond.daemon import Daemon
from mnemond.embed.registry import Embedders
from mnemond.errors import CONFIG, MnemonError
from mnemond.service.supervisor import Reload, Supervision
from mnemond.wire.dispatch import Call
from tests.tables import each_row

CALL = Call(connection=1, peer_pid=2, peer_uid=3)


class Told(Supervision):
    """Notes instead of telling."""

    def __init__(self) -> None:
        self.notes: list[str | None] = []

    def reloading(self) -> None:
        self.notes.append("reloading")

    def reloaded(self, note: str | None) -> None:
        self.notes.append(note)


class World:
    """A reload and everything around it."""

    def __init__(self) -> None:
        self.read: Config | MnemonError = Config()
        self.in_force: list[Config] = []
        self.supervision = Told()
        self.log = CapturingLogger()
        self.reload = Reload(Config(), self.load, self.in_force.append, self.supervision, self.log)

    def load(self) -> Config:
        if isinstance(self.read, MnemonError):
            raise self.read
        return self.read


async def test_what_can_be_taken_up_is_and_the_rest_is_named() -> None:
    world = World()
    world.read = Config(
        server=ServerSettings(drain_s=1.0), log=LogSettings(level="debug"), embedding=EmbeddingSettings(provider="none")
    )
    await world.reload.now()
    assert world.in_force == [world.read]
    (call,) = world.log.calls
    assert call.kwargs == {"applied": ["server.drain_s", "log.level"], "needs_restart": ["embedding.provider"]}
    assert world.supervision.notes == ["reloading", "a restart is needed for: embedding.provider"]


async def test_what_waits_for_a_restart_is_named_until_it_is_taken_back() -> None:
    world = World()
    world.read = Config(embedding=EmbeddingSettings(provider="none"))
    await world.reload.now()
    await world.reload.now()
    assert world.log.calls[1].kwargs == {"applied": [], "needs_restart": ["embedding.provider"]}
    world.read = Config()
    await world.reload.now()
    assert world.supervision.notes[-1] is None
    assert world.log.calls[2].kwargs == {"applied": [], "needs_restart": []}


async def test_a_configuration_that_is_wrong_changes_nothing_and_is_explained() -> None:
    world = World()
    world.read = MnemonError(CONFIG, 'config.toml:2: unknown key "x"', hint="mend it")
    await world.reload.now()
    assert world.in_force == []
    (call,) = world.log.calls
    assert (call.method_name, call.kwargs["reason"]) == ("error", 'config.toml:2: unknown key "x"')
    assert world.supervision.notes == ["reloading", 'the old configuration stays: config.toml:2: unknown key "x"']
    world.read = Config(diff=DiffSettings(update=0.5))
    await world.reload.now()
    assert world.supervision.notes[-1] is None
    assert world.log.calls[1].kwargs["applied"] == ["diff.update"]


@each_row("live", LIVE)
def test_every_live_setting_exists(live: str) -> None:
    assert any(path == live or path.startswith(f"{live}.") for path in loading.SETTINGS)


def test_what_something_was_built_with_is_not_live() -> None:
    assert not any(is_live(path) for path in loading.SETTINGS if path.startswith(("embedding.", "vector.")))
    assert not is_live("logs.level")


async def test_the_daemon_goes_by_what_it_took_up(tmp_path: Path) -> None:
    daemon = Daemon(
        tmp_path, Config(), CapturingLogger(), Embedders(EmbeddingSettings(provider="none"), {}, lambda: 0.0)
    )
    await daemon._dispatcher.invoke(REMEMBER, {"content": "tea at four"}, CALL)
    server = ServerSettings(max_connections=7, max_in_flight=3, message_timeout_s=1.5, drain_s=0.5)
    daemon.apply_settings(
        Config(server=server, lifecycle=LifecycleSettings(max_insights=1), diff=DiffSettings(limit=1))
    )
    hello = await daemon._dispatcher.invoke(HELLO, {}, CALL)
    assert hello.capabilities["max_in_flight"] == 3
    status = await daemon._dispatcher.invoke(STATUS, {}, CALL)
    assert status.max_insights == 1
    assert (daemon.server.limits.message_timeout_s, daemon.server.limits.drain_s) == (1.5, 0.5)
    assert daemon.server._allowed == 7
    warm = await daemon.open_stores.open("default")
    assert warm.config.diff.limit == 1
    assert warm.config.lifecycle.max_insights == 1
    (health,) = daemon.store_health()
    assert msgspec.structs.astuple(health) == ("default", 1, None)
    await daemon.close()
