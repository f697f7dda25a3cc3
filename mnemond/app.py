"""The composition root: the one place that builds concrete things and ties them together."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import trio
from structlog.typing import FilteringBoundLogger

from mnemond import config_sources as configuration
from mnemond.clock import SystemClock, monotonic_s
from mnemond.config import Config
from mnemond.config_sources import Loaded, Sources
from mnemond.embed.embedders import Embedders
from mnemond.embed.outcome import sentence
from mnemond.embed.supply import Supply
from mnemond.errors import MnemonError
from mnemond.handlers.audit import AuditHandlers
from mnemond.handlers.backups import BackupHandlers
from mnemond.handlers.cli import CliHandler
from mnemond.handlers.daemon import DaemonHandlers, Life
from mnemond.handlers.doctor import VerifyHandlers
from mnemond.handlers.door import StoreDoor
from mnemond.handlers.embed_keeper import EmbedKeeper
from mnemond.handlers.embed_methods import EmbedHandlers
from mnemond.handlers.forgetting import ForgetHandlers
from mnemond.handlers.gc import GcHandlers
from mnemond.handlers.jobs import Attending, JobHandlers, tells
from mnemond.handlers.links import LinkHandlers
from mnemond.handlers.pins import PinHandlers
from mnemond.handlers.reads import ReadHandlers
from mnemond.handlers.remembering import RememberHandlers
from mnemond.handlers.revising import ReviseHandlers
from mnemond.handlers.search import SearchHandlers
from mnemond.handlers.settings import ConfigHandlers, StoreSettings
from mnemond.handlers.stats import StatsHandlers
from mnemond.handlers.stores import StoreHandlers
from mnemond.handlers.submission import Identities
from mnemond.handlers.succession import SuccessionHandlers
from mnemond.handlers.top import TopHandlers
from mnemond.handlers.undo import UndoHandlers
from mnemond.handlers.uses import Uses
from mnemond.ids import RandomIds
from mnemond.lifecycle.attendant import Means, one_thread
from mnemond.lifecycle.configured import jobs_of
from mnemond.lifecycle.scheduler import Scheduler
from mnemond.lifecycle.verify import Verify
from mnemond.logs import Logs, trace_of
from mnemond.pipelines.configured import vector_policy
from mnemond.pipelines.embedding import wanted_by
from mnemond.protocol.registry import METHODS
from mnemond.protocol.version import SERVER_VERSION
from mnemond.server.call import Call
from mnemond.server.data_dir import lock, open_data_dir
from mnemond.server.dispatch import Boundary, Dispatcher, Handler
from mnemond.server.latency import Latencies, TimedDispatcher
from mnemond.server.limits import Limits
from mnemond.server.listener import Listener, adopt, bind
from mnemond.server.server import Server
from mnemond.service import launchd, log_destination, watchdog
from mnemond.service.log_file import LogFile
from mnemond.service.notify import Notifier
from mnemond.service.reload import Reload
from mnemond.service.standing import StoreStanding
from mnemond.service.supervision import Supervision
from mnemond.store import legacy
from mnemond.store.backups import Shelf
from mnemond.store.connection import check_sqlite_version
from mnemond.store.invariants.examination import Examiner
from mnemond.store.registry import StoreRegistry
from mnemond.store.safekeeping import Safekeeping, sweep

STOP_S = 2.8
"""Seconds from the request to stop to the end of the work it causes, replies and stores together (the promise is 3).
A checkpoint that would take longer is left to the next start, which recovers the write-ahead log anyway."""


class Said(NamedTuple):
    """What the command line says of the configuration: another file, and settings such as "diff.update=0.7"."""

    config: Path | None = None
    settings: tuple[str, ...] = ()


SAID_NOTHING: Final = Said()


class Group(Protocol):
    """Handlers that belong together."""

    def methods(self) -> Mapping[str, Handler]:
        """Each by the name of its method."""
        ...


class Daemon:
    """Everything a running mnemond consists of. Built inside the event loop."""

    def __init__(
        self, data_dir: Path, config: Config, log: FilteringBoundLogger, supply: Supply, loaded: Loaded | None = None
    ) -> None:
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
        self.settings = StoreSettings(
            self.stores, loaded or configuration.as_given(config, data_dir / configuration.FILE)
        )
        self.safekeeping = Safekeeping(self.stores, Shelf(data_dir, config.backup.keep), clock.now_us)
        self.examiner = Examiner()
        self.scheduler = self._scheduling(config, clock, identities)
        attending = Attending(self.keeper, self.scheduler)
        self.door = StoreDoor(self.stores, supply, self.settings, attending, self.scheduler.used)
        life = Life(
            uptime_s=lambda: monotonic_s() - self._started_s,
            connections=lambda: self.server.counters.connections,
            request_stop=self.stop,
            questions=self.scheduler.questions,
        )
        self._about = DaemonHandlers(data_dir, config, self.stores, self.door, life)
        self._dispatcher = self._dispatching(self._about, supply, clock, identities)
        self.server = Server(self._dispatcher, _limits(config))

    def _scheduling(self, config: Config, clock: SystemClock, identities: Identities) -> Scheduler:
        """Every job, and what they work with."""
        jobs = jobs_of(config, lambda name: self.settings.policy(name).lifecycle, self.safekeeping.scheduled)
        return Scheduler(
            (*jobs, Verify(self.examiner)), Means(clock, identities.own, self._boundary, tells(self._log), one_thread())
        )

    def _dispatching(
        self, about: DaemonHandlers, supply: Supply, clock: SystemClock, identities: Identities
    ) -> Dispatcher:
        """Every method with what answers it."""
        remembering, latencies = RememberHandlers(self.door, identities), Latencies(METHODS)
        return TimedDispatcher(
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
                StoreHandlers(self.stores, self.door, self.keeper, self.safekeeping),
                BackupHandlers(self.stores, self.door, self.keeper, self.safekeeping),
                ConfigHandlers(self.stores, self.settings),
                JobHandlers(self.door, self.scheduler, clock),
                StatsHandlers(self.door, clock),
                TopHandlers(self.stores, self.scheduler, latencies, lambda: self.server, self._started_s),
                VerifyHandlers(self.stores, self.door, self.examiner, clock),
                CliHandler(self._invoke),
            ),
            problems={
                "remember": remembering.problems,
                "diff": remembering.diff_problems,
                "update": ReviseHandlers.problems,
            },
            on_defect=self._on_defect,
            latencies=latencies,
        )

    def _invoke(self, name: str, params: bytes, call: Call) -> object:
        return self._dispatcher.invoke(name, params, call)

    def _boundary(self) -> Boundary:
        return self._dispatcher.boundary()

    def stop(self) -> None:
        """Answer what was received and leave; what embeds or tidies up in the background ends at once."""
        self.keeper.end()
        self.scheduler.end()
        self.server.request_stop()

    def go_by(self, config: Config, loaded: Loaded | None = None) -> None:
        """Take up the settings that `live_settings.LIVE` lists; what is under way is not disturbed."""
        self.server.go_by(_limits(config))
        self.settings.take_up(loaded or configuration.as_given(config, self.settings.sources.path))
        self.door.go_by()
        self._about.go_by(config)

    def standing(self) -> list[StoreStanding]:
        """Every open store."""
        stores = self.stores.open_stores()
        return [StoreStanding(each.name, each.snapshot.live, each.degraded_reason) for each in stores]

    async def writers_answer(self) -> None:
        """Returns once the writer of every open store has answered, if only that it cannot write."""
        for store in self.stores.open_stores():
            with contextlib.suppress(MnemonError):
                await store.read(lambda _: None)

    async def stop_requested(self) -> None:
        """Returns when the daemon begins to stop."""
        await self.server.stop_requested()

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
    check_sqlite_version()
    # Links on the way are resolved once, here; SQLite follows none, and the last part must not be one.
    directory = open_data_dir(data_dir.parent.resolve() / data_dir.name)
    with contextlib.ExitStack() as held:
        held.callback(directory.close)
        instance = lock(directory)
        held.callback(instance.close)
        loaded, embedders = configured(_sources(directory.path, said))
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
