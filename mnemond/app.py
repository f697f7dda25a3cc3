"""The composition root: the one place that builds concrete things and ties them together."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import trio
from structlog.typing import FilteringBoundLogger

from mnemond import config as configuration
from mnemond.clock import SystemClock, monotonic_s
from mnemond.config import Config
from mnemond.embed.embedders import Embedders
from mnemond.embed.outcome import sentence
from mnemond.embed.supply import Supply
from mnemond.errors import MnemonError
from mnemond.handlers.audit import AuditHandlers
from mnemond.handlers.cli import CliHandler
from mnemond.handlers.daemon import DaemonHandlers, Life
from mnemond.handlers.door import StoreDoor
from mnemond.handlers.embed_keeper import EmbedKeeper
from mnemond.handlers.embed_methods import EmbedHandlers
from mnemond.handlers.forgetting import ForgetHandlers
from mnemond.handlers.gc import GcHandlers
from mnemond.handlers.links import LinkHandlers
from mnemond.handlers.pins import PinHandlers
from mnemond.handlers.reads import ReadHandlers
from mnemond.handlers.remembering import RememberHandlers
from mnemond.handlers.revising import ReviseHandlers
from mnemond.handlers.search import SearchHandlers
from mnemond.handlers.submission import Identities
from mnemond.handlers.succession import SuccessionHandlers
from mnemond.handlers.undo import UndoHandlers
from mnemond.handlers.uses import Uses
from mnemond.ids import RandomIds
from mnemond.logs import trace_of
from mnemond.pipelines.configured import vector_policy, write_policy
from mnemond.pipelines.embedding import wanted_by
from mnemond.protocol.registry import METHODS
from mnemond.protocol.version import SERVER_VERSION
from mnemond.server.call import Call
from mnemond.server.data_dir import lock, open_data_dir
from mnemond.server.dispatch import Boundary, Dispatcher, Handler
from mnemond.server.limits import Limits
from mnemond.server.listener import Listener, adopt, bind
from mnemond.server.server import Server
from mnemond.store.connection import check_sqlite_version
from mnemond.store.registry import StoreRegistry

STOP_S = 2.8
"""Seconds from the request to stop to the end of the work it causes, replies and stores together (the promise is 3).
A checkpoint that would take longer is left to the next start, which recovers the write-ahead log anyway."""


class Group(Protocol):
    """Handlers that belong together."""

    def methods(self) -> Mapping[str, Handler]:
        """Each by the name of its method."""
        ...


class Daemon:
    """Everything a running mnemond consists of. Built inside the event loop."""

    def __init__(self, data_dir: Path, config: Config, log: FilteringBoundLogger, supply: Supply) -> None:
        self._log = log
        self._started_s = monotonic_s()
        clock, ids = SystemClock(), RandomIds()
        self.stores = StoreRegistry(
            data_dir,
            wanted=wanted_by(supply),
            now_us=clock.now_us,
            loop=trio.lowlevel.current_trio_token(),
            on_defect=self._on_defect,
            warn=self._warn,
            search=vector_policy(config),
        )
        identities = Identities(clock, ids)
        self.uses = Uses(identities, self._boundary)
        self.keeper = EmbedKeeper(supply, identities, config.embedding.batch_size, self._boundary)
        self.door = StoreDoor(self.stores, supply, write_policy(config), self.keeper)
        life = Life(
            uptime_s=lambda: monotonic_s() - self._started_s,
            connections=lambda: self.server.counters.connections,
            request_stop=self.stop,
        )
        about = DaemonHandlers(data_dir, config, self.stores, self.door, life)
        self._dispatcher = self._dispatching(about, supply, clock, identities)
        self.server = Server(self._dispatcher, _limits(config))

    def _dispatching(
        self, about: DaemonHandlers, supply: Supply, clock: SystemClock, identities: Identities
    ) -> Dispatcher:
        """Every method with what answers it."""
        remembering = RememberHandlers(self.door, identities)
        return Dispatcher(
            METHODS,
            _handlers(
                about,
                remembering,
                ForgetHandlers(self.door, identities),
                ReviseHandlers(self.door, identities),
                SuccessionHandlers(self.door, identities),
                ReadHandlers(self.door, monotonic_s, clock, identities.nonce, self.uses.note),
                SearchHandlers(self.door, clock),
                LinkHandlers(self.door, identities, clock),
                PinHandlers(self.door, identities),
                EmbedHandlers(self.door, supply, self.keeper, identities),
                AuditHandlers(self.door, clock),
                UndoHandlers(self.door, identities),
                GcHandlers(self.door, identities, clock),
                CliHandler(self._invoke),
            ),
            problems={
                "remember": remembering.problems,
                "diff": remembering.diff_problems,
                "update": ReviseHandlers.problems,
            },
            on_defect=self._on_defect,
        )

    def _invoke(self, name: str, params: bytes, call: Call) -> object:
        return self._dispatcher.invoke(name, params, call)

    def _boundary(self) -> Boundary:
        return self._dispatcher.boundary()

    def stop(self) -> None:
        """Answer what was received and leave; what embeds in the background ends at once."""
        self.keeper.end()
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


def _handlers(*groups: Group) -> Mapping[str, Handler]:
    """Every method with what answers it. The dispatcher compares the names with the registry's."""
    return {name: handler for group in groups for name, handler in group.methods().items()}


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


def configured(path: Path) -> tuple[Config, Embedders]:
    """What `config.toml` and the environment ask for. Raises MnemonError(CONFIG)."""
    config = configuration.load(path, os.environ)
    return config, Embedders(config.embedding, os.environ, monotonic_s)


def lacking_embedder(supply: Supply) -> str | None:
    """Why new stores cannot have the embedder they should; may block for seconds."""
    try:
        supply.preferred()
    except MnemonError as error:
        return sentence(error)
    return None


def check_config(data_dir: Path) -> None:
    """Read the configuration as a start would. Raises MnemonError(CONFIG)."""
    configured(data_dir / "config.toml")


def run(data_dir: Path, log: FilteringBoundLogger) -> None:
    """Serve `data_dir` until SIGTERM, SIGINT or daemon.stop.

    Raises MnemonError for a data directory, a lock, a configuration or a model that cannot be used.
    """
    harden_process()
    check_sqlite_version()
    # Links on the way are resolved once, here; SQLite follows none, and the last part must not be one.
    directory = open_data_dir(data_dir.parent.resolve() / data_dir.name)
    held = lock(directory)
    config, embedders = configured(directory.path / "config.toml")
    listener = adopt(os.environ) or bind(directory, held)
    try:
        trio.run(_serve, directory.path, config, log, embedders, listener)
    finally:
        listener.close()
        held.close()
        directory.close()


async def _serve(data_dir: Path, config: Config, log: FilteringBoundLogger, supply: Supply, listener: Listener) -> None:
    daemon = Daemon(data_dir, config, log, supply)
    log.info("ready", version=SERVER_VERSION, pid=os.getpid(), data_dir=str(data_dir), adopted=listener.adopted)
    async with trio.open_nursery() as nursery:
        await nursery.start(_stop_on_signals, daemon)
        await nursery.start(daemon.keeper.run)
        await nursery.start(daemon.uses.run)
        nursery.start_soon(_tell_of_embedder, supply, log)
        nursery.start_soon(daemon.warm_up)
        await daemon.server.serve(listener)
        nursery.cancel_scope.cancel()
    await daemon.close()
    counters = daemon.server.counters
    log.info("stopped", messages=counters.messages, accepted=counters.accepted, abandoned=counters.abandoned)


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
