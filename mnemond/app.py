"""The composition root: the one place that builds concrete things and ties them together."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Mapping
from pathlib import Path

import trio
from structlog.typing import FilteringBoundLogger

from mnemond import config as configuration
from mnemond.clock import SystemClock, monotonic_s
from mnemond.config import Config
from mnemond.embed.embedder import Embedder
from mnemond.embed.registry import DEFAULT, create
from mnemond.errors import MnemonError
from mnemond.handlers.cli import CliHandler
from mnemond.handlers.daemon import DaemonHandlers, Life
from mnemond.handlers.door import StoreDoor
from mnemond.handlers.reads import ReadHandlers
from mnemond.handlers.writes import WriteHandlers
from mnemond.ids import RandomIds
from mnemond.logs import trace_of
from mnemond.protocol.registry import METHODS
from mnemond.protocol.version import SERVER_VERSION
from mnemond.server.call import Call
from mnemond.server.data_dir import lock, open_data_dir
from mnemond.server.dispatch import Dispatcher, Handler
from mnemond.server.limits import Limits
from mnemond.server.listener import Listener, adopt, bind
from mnemond.server.server import Server
from mnemond.store.connection import check_sqlite_version
from mnemond.store.meta import EmbedderRecord
from mnemond.store.registry import StoreRegistry

STOP_S = 2.8
"""Seconds from the request to stop to the end of the work it causes, replies and stores together (the promise is 3).
A checkpoint that would take longer is left to the next start, which recovers the write-ahead log anyway."""


class Daemon:
    """Everything a running mnemond consists of. Built inside the event loop."""

    def __init__(
        self,
        data_dir: Path,
        config: Config,
        log: FilteringBoundLogger,
        embedder: Embedder | None,
        lacking: str | None = None,
    ) -> None:
        self._log = log
        self._started_s = monotonic_s()
        clock, ids = SystemClock(), RandomIds()
        self.stores = StoreRegistry(
            data_dir,
            wanted=None
            if embedder is None
            else EmbedderRecord(embedder.name, embedder.dimension, embedder.fingerprint),
            now_us=clock.now_us,
            loop=trio.lowlevel.current_trio_token(),
            on_defect=self._on_defect,
            warn=self._warn,
        )
        self.door = StoreDoor(self.stores, embedder, lacking)
        life = Life(
            uptime_s=lambda: monotonic_s() - self._started_s,
            connections=lambda: self.server.counters.connections,
            request_stop=self._stop,
        )
        writes = WriteHandlers(self.door, clock, ids)
        about = DaemonHandlers(data_dir, config, self.stores, self.door, life)
        dispatcher = Dispatcher(
            METHODS,
            _handlers(about, writes, ReadHandlers(self.door, monotonic_s), CliHandler(self._invoke)),
            problems={"remember": writes.remember_problems},
            on_defect=self._on_defect,
        )
        self._dispatcher = dispatcher
        self.server = Server(dispatcher, _limits(config))

    def _invoke(self, name: str, params: bytes, call: Call) -> object:
        return self._dispatcher.invoke(name, params, call)

    def _stop(self) -> None:
        self.server.request_stop()

    def _warn(self, sentence: str) -> None:
        self._log.warning("warning", reason=sentence)

    def _on_defect(self, where: str, error: BaseException) -> None:
        self._log.error("defect", where=where, trace=trace_of(error))

    async def warm_up(self) -> None:
        """Open the store that most requests mean, if there is one, so that the first of them need not wait."""
        name, _ = self.stores.active()
        if self.stores.exists(name):
            with self._dispatcher.boundary():  # whoever asks for this store will hear what is wrong with it
                try:
                    await self.door.open(name)
                except MnemonError as error:
                    self._log.error("store not opened", store=name, reason=error.message)

    async def close(self) -> None:
        """Checkpoint and close every store, within what the stop has left of STOP_S."""
        with trio.CancelScope(
            shield=True, deadline=min(self.server.stop_requested_at, trio.current_time()) + STOP_S
        ) as scope:
            for failure in await self.stores.close():
                self._log.error("store not closed cleanly", reason=failure.message)
        if scope.cancelled_caught:
            self._log.warning("stores left to the next start", seconds=STOP_S)


def _handlers(
    about: DaemonHandlers, writes: WriteHandlers, reads: ReadHandlers, cli: CliHandler
) -> Mapping[str, Handler]:
    return {
        "hello": about.hello,
        "ping": about.ping,
        "status": about.status,
        "store.list": about.store_list,
        "store.create": about.store_create,
        "daemon.stop": about.daemon_stop,
        "remember": writes.remember,
        "forget": writes.forget,
        "recall": reads.recall,
        "get": reads.get,
        "list": reads.list,
        "cli.run": cli.run,
    }


def _limits(config: Config) -> Limits:
    server = config.server
    return Limits(
        connections=server.max_connections,
        message_bytes=server.max_message_bytes,
        in_flight=server.max_in_flight,
        first_byte_s=server.first_byte_timeout_s,
        whole_message_s=server.message_timeout_s,
        write_stall_s=server.write_timeout_s,
        drain_s=server.drain_s,
    )


def harden_process() -> None:
    """Nothing this process creates is readable by others, and it leaves no core file with memories in it."""
    os.umask(0o077)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def preferred_embedder(config: Config) -> tuple[Embedder | None, str | None]:
    """The embedder of new stores, or why the configured one is not to be had: stores go on without vectors then."""
    if config.embedding.provider == "none":
        return None, None
    try:
        return create(config.embedding.model or DEFAULT), None
    except MnemonError as error:
        return None, f"{error.message} ({error.hint})"


def check_config(data_dir: Path) -> None:
    """Read the configuration as a start would. Raises MnemonError(CONFIG)."""
    configuration.load(data_dir / "config.toml")


def run(data_dir: Path, log: FilteringBoundLogger) -> None:
    """Serve `data_dir` until SIGTERM, SIGINT or daemon.stop.

    Raises MnemonError for a data directory, a lock, a configuration or a model that cannot be used.
    """
    harden_process()
    check_sqlite_version()
    # Links on the way are resolved once, here; SQLite follows none, and the last part must not be one.
    directory = open_data_dir(data_dir.parent.resolve() / data_dir.name)
    held = lock(directory)
    config = configuration.load(directory.path / "config.toml")
    listener = adopt(os.environ) or bind(directory, held)
    try:
        trio.run(_serve, directory.path, config, log, listener)
    finally:
        listener.close()
        held.close()
        directory.close()


async def _serve(data_dir: Path, config: Config, log: FilteringBoundLogger, listener: Listener) -> None:
    embedder, lacking = preferred_embedder(config)
    if lacking is not None:
        log.warning("no embedder", reason=lacking)
    daemon = Daemon(data_dir, config, log, embedder, lacking)
    log.info("ready", version=SERVER_VERSION, pid=os.getpid(), data_dir=str(data_dir), adopted=listener.adopted)
    async with trio.open_nursery() as nursery:
        await nursery.start(_stop_on_signals, daemon.server)
        nursery.start_soon(daemon.warm_up)
        await daemon.server.serve(listener)
        nursery.cancel_scope.cancel()
    await daemon.close()
    counters = daemon.server.counters
    log.info("stopped", messages=counters.messages, accepted=counters.accepted, abandoned=counters.abandoned)


async def _stop_on_signals(server: Server, *, task_status: trio.TaskStatus[None]) -> None:
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        async for _ in signals:
            server.request_stop()
