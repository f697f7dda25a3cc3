"""One process that serves one data directory, from its start to its end."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from pathlib import Path
from typing import Final, NamedTuple

import trio
from structlog.typing import FilteringBoundLogger

from mnemond import config_sources as configuration
from mnemond.app import Daemon
from mnemond.clock import SystemClock, monotonic_s
from mnemond.config import Config
from mnemond.config_sources import Loaded, Sources
from mnemond.embed.embedders import Embedders
from mnemond.embed.outcome import sentence
from mnemond.embed.supply import Supply
from mnemond.errors import MnemonError
from mnemond.logs import Logs
from mnemond.protocol.version import SERVER_VERSION
from mnemond.server.data_dir import lock, open_data_dir
from mnemond.server.listener import Listener, adopt, bind
from mnemond.service import launchd, log_destination, watchdog
from mnemond.service.log_file import LogFile
from mnemond.service.notify import Notifier
from mnemond.service.reload import Reload
from mnemond.service.supervision import Supervision
from mnemond.store import lasting, legacy, raw_open
from mnemond.store.connection import check_sqlite_version
from mnemond.store.safekeeping import sweep


class Said(NamedTuple):
    """What the command line says of the configuration: another file, and settings such as "diff.update=0.7"."""

    config: Path | None = None
    settings: tuple[str, ...] = ()


SAID_NOTHING: Final = Said()


def harden_process() -> None:
    """Nothing this process creates is readable by others, and it leaves no core file with memories in it."""
    os.umask(0o077)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def configured(sources: Sources) -> tuple[Loaded, Embedders]:
    """What files, environment and command line ask for. Raises MnemonError(CONFIG)."""
    loaded = configuration.loaded(sources)
    return loaded, Embedders(loaded.config.embedding, os.environ, monotonic_s)


def _sources(data_dir: Path, said: Said) -> Sources:
    return Sources(said.config or data_dir / configuration.FILE, os.environ, said.settings)


def lacking_embedder(supply: Supply) -> str | None:
    """Why new stores cannot have the embedder they should; may block for seconds."""
    try:
        supply.preferred()
    except MnemonError as error:
        return sentence(error)
    return None


def check_config(data_dir: Path, said: Said = SAID_NOTHING) -> None:
    """Read the configuration as a start would. Raises MnemonError(CONFIG)."""
    configured(_sources(data_dir, said))


def run(data_dir: Path, logs: Logs, said: Said = SAID_NOTHING) -> None:
    """Serve `data_dir` until SIGTERM, SIGINT or daemon.stop.

    Raises MnemonError for a data directory, a lock, a configuration or a model that cannot be used.
    """
    harden_process()
    lasting.keep_short()
    check_sqlite_version()
    # Links on the way are resolved once, here; SQLite follows none, and the last part must not be one.
    directory = open_data_dir(data_dir.parent.resolve() / data_dir.name)
    with contextlib.ExitStack() as held:
        held.callback(directory.close)
        instance = lock(directory)
        held.callback(instance.close)
        loaded, embedders = configured(_sources(directory.path, said))
        raw_open.forbid(directory.path)
        _tidy(directory.path, logs.logger)
        listener = adopt(os.environ) or _of_launchd() or bind(directory, instance)
        held.callback(listener.close)
        log_file = log_destination.settle(logs, directory.path, loaded.config.log, os.environ)
        trio.run(_Life(directory.path, loaded, embedders, listener, logs, log_file).serve)


def _tidy(data_dir: Path, log: FilteringBoundLogger) -> None:
    """Finish what an earlier process left half-done, and take over a store of mnemon's. Raises MnemonError."""
    sweep(data_dir)
    if legacy.move(data_dir, SystemClock().now_us(), lambda sentence: log.warning("warning", reason=sentence)):
        log.info("moved a store of mnemon's", to=str(data_dir / "data" / "default"))


def _of_launchd() -> Listener | None:
    passed = launchd.passed_socket(os.environ)
    return None if passed is None else Listener(passed)


class _Life:
    """From the first request to the last: the daemon, and what surrounds it."""

    def __init__(
        self,
        data_dir: Path,
        loaded: Loaded,
        supply: Supply,
        listener: Listener,
        logs: Logs,
        log_file: LogFile | None,
    ) -> None:
        self._data_dir = data_dir
        self._loaded = loaded
        self._supply = supply
        self._listener = listener
        self._logs = logs
        self._log_file = log_file
        self._notifier = Notifier.of(os.environ)
        self._feed_every_s = watchdog.interval_s(os.environ)

    async def serve(self) -> None:
        """Until somebody asks for the end."""
        log = self._logs.logger
        config = self._loaded.config
        daemon = Daemon(self._data_dir, config, log, self._supply, self._loaded)
        adopted = self._listener.adopted
        log.info("ready", version=SERVER_VERSION, pid=os.getpid(), data_dir=str(self._data_dir), adopted=adopted)
        supervision = Supervision(self._notifier, self._feed_every_s, daemon, log)
        reload = Reload(config, self._load, lambda config: self._go_by(daemon, config), supervision, log)
        async with trio.open_nursery() as nursery:
            await nursery.start(_stop_on_signals, daemon)
            await nursery.start(reload.on_hangup, daemon.stop)
            await nursery.start(daemon.keeper.run)
            await nursery.start(daemon.uses.run)
            await nursery.start(daemon.scheduler.run)
            nursery.start_soon(_tell_of_embedder, self._supply, log)
            nursery.start_soon(supervision.run)
            await daemon.server.serve(self._listener)
            nursery.cancel_scope.cancel()
        await daemon.close()
        counters = daemon.server.counters
        log.info("stopped", messages=counters.messages, accepted=counters.accepted, abandoned=counters.abandoned)
        self._notifier.close()

    def _load(self) -> Config:
        self._loaded, _ = configured(self._loaded.sources)
        return self._loaded.config

    def _go_by(self, daemon: Daemon, config: Config) -> None:
        daemon.go_by(config, self._loaded)
        self._logs.configure(config.log.level)
        if self._log_file is not None:
            self._log_file.limit(config.log.max_bytes, config.log.older_files)


async def _tell_of_embedder(supply: Supply, log: FilteringBoundLogger) -> None:
    """Say in the log that new stores would lack an embedder. Nobody waits for it: a start is over in milliseconds, and
    a server that hangs takes seconds."""
    lacking = await trio.to_thread.run_sync(lacking_embedder, supply, abandon_on_cancel=True)
    if lacking is not None:
        log.warning("no embedder", reason=lacking)


async def _stop_on_signals(daemon: Daemon, *, task_status: trio.TaskStatus[None]) -> None:
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        async for _ in signals:
            daemon.stop()
