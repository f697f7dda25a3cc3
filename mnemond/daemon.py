"""The daemon: the one place that builds its parts and connects them, and the process around it."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
import trio
from structlog.typing import FilteringBoundLogger

from mnemond import logs as logs_module
from mnemond.api import spool
from mnemond.api.admin import DaemonHandlers, ProcessState, StatsHandlers, TopHandlers, VerifyHandlers
from mnemond.api.changes import ChangeHandlers
from mnemond.api.core import CoreHandlers
from mnemond.api.cues import CuesHandlers
from mnemond.api.embed import EmbedHandlers
from mnemond.api.embed_worker import EmbeddingWorker
from mnemond.api.entities import EntityHandlers
from mnemond.api.events import Feed, SubscriptionHandlers
from mnemond.api.extract import ExtractHandlers
from mnemond.api.history import HistoryHandlers
from mnemond.api.imports import ImportHandlers
from mnemond.api.interchange import ExportHandlers
from mnemond.api.knowledge import KnowledgeHandlers
from mnemond.api.maintenance import GcHandlers, JobHandlers, StoreListeners, job_reporter
from mnemond.api.projects import Projects
from mnemond.api.recall import ReadHandlers, SearchHandlers
from mnemond.api.registry import METHODS
from mnemond.api.relations import RelationHandlers
from mnemond.api.remember import RememberHandlers
from mnemond.api.requests import Identities, one_active
from mnemond.api.reviews import ReviewHandlers
from mnemond.api.rules import CompiledRules, RuleHandlers
from mnemond.api.sessions import SessionHandlers
from mnemond.api.settings import ConfigHandlers, StoreSettings
from mnemond.api.store_access import OpenStores
from mnemond.api.stores import BackupHandlers, StoreHandlers
from mnemond.api.sync import SyncHandlers
from mnemond.api.uses import Uses
from mnemond.api.viz import VizHandlers
from mnemond.cli.run import CliHandler
from mnemond.clock import SystemClock, monotonic_s
from mnemond.config import loading as configuration
from mnemond.config.loading import Loaded, Sources
from mnemond.config.regular_files import read_regular
from mnemond.config.settings import Config
from mnemond.config.writing import CoreSummarySettings, LlmSettings
from mnemond.embed.embedder import Supply, sentence
from mnemond.embed.registry import WEIGHTS, Embedders
from mnemond.embed.reranking import Rerankers, check_endpoint
from mnemond.errors import CONFIG, MnemonError
from mnemond.hooks.briefing import Briefs
from mnemond.hooks.memory import AgentMemory, ExchangeQueue, extraction_contexts
from mnemond.hooks.prompt_files import PromptFiles
from mnemond.hooks.sessions import FILE as SESSIONS_FILE
from mnemond.hooks.sessions import (
    NO_SESSIONS,
    AgentSessions,
    LastSeen,
    may_have_missed,
    read_sessions,
)
from mnemond.ids import RandomIds
from mnemond.interchange import sqlite_files
from mnemond.jobs.catalogue import jobs_of, looks_of
from mnemond.jobs.catch_up import Followers
from mnemond.jobs.core_summary import CoreDeps
from mnemond.jobs.extract import ExtractDeps
from mnemond.jobs.link_received import NAME as LINK_RECEIVED
from mnemond.jobs.resolve import ModelDeps
from mnemond.jobs.scheduler import JobContext, Scheduler, one_thread
from mnemond.llm.budget import FILE as USAGE_FILE
from mnemond.llm.budget import MAX_USAGE, Budget
from mnemond.llm.client import ModelReader, target_of
from mnemond.llm.prompts import Prompts, read_prompts
from mnemond.llm.reader import ReaderStatus
from mnemond.logs import LogFile, Logs, trace_of
from mnemond.mcp.handlers import McpHandlers
from mnemond.memory.embedding import wanted_by
from mnemond.memory.questions.asking import Model
from mnemond.memory.questions.conversations import engine_of
from mnemond.model.memory import format_us
from mnemond.service import supervisor
from mnemond.service.supervisor import Notifier, Reload, StoreHealth, Supervision
from mnemond.store import connection, gc_tuning
from mnemond.store.backups import BackupDirectory, BackupService, remove_leftovers
from mnemond.store.connection import check_sqlite_version
from mnemond.store.files import replace_file
from mnemond.store.registry import StoreRegistry
from mnemond.store.verify import Examiner
from mnemond.text import resources
from mnemond.wire.deferred import Completions
from mnemond.wire.dispatch import Dispatcher, handlers_of
from mnemond.wire.limits import Limits, raise_descriptor_limit
from mnemond.wire.listener import Listener, adopt, bind, lock, open_data_dir, unwritable
from mnemond.wire.params import SERVER_VERSION
from mnemond.wire.server import Server

STOP_S = 2.8
"""Seconds that a stop may take for replies and stores together (3 for the whole process). A checkpoint that would take
longer is left to the next start, which recovers the write-ahead log anyway."""

WARM_UP_AFTER_S = 1.0
"""Seconds after which the expressions of text rules are compiled that no request has used. Earlier the thread would
compete for the interpreter with the first request, which compiles the few that it uses."""


class Daemon:
    """The parts of a running mnemond. Built inside the event loop."""

    def __init__(
        self,
        data_dir: Path,
        config: Config,
        log: FilteringBoundLogger,
        supply: Supply,
        loaded: Loaded | None = None,
        *,
        read_only: bool = False,
    ) -> None:
        self._log = log
        self._started_s = monotonic_s()
        self._dispatcher = Dispatcher(METHODS, on_defect=self._on_defect)
        clock, ids, loop = SystemClock(), RandomIds(), Completions(trio.lowlevel.current_trio_token())
        self.stores = StoreRegistry(
            data_dir,
            choose_embedder=wanted_by(supply),
            now_us=clock.now_us,
            loop=loop,
            on_defect=self._on_defect,
            warn=self._warn,
            search=config.vector,
            environment=os.environ if loaded is None else loaded.sources.environment,
            most=self._allowed_stores,
            read_only=read_only,
        )
        identities = Identities(clock, ids)
        self.projects = Projects()
        self.feed = Feed(clock.now_us())
        self.uses = Uses(identities, self._dispatcher.boundary)
        self.embedding_worker = EmbeddingWorker(
            supply, identities, config.embedding.batch_size, self._dispatcher.boundary
        )
        loaded = loaded or configuration.loaded_from(config, data_dir / configuration.FILE)
        self.settings = StoreSettings(self.stores, loaded)
        self.reader = self._build_reader(data_dir, config.llm, loaded.sources.environment, clock)
        self._model = None if self.reader is None else self._build_model(data_dir, config.llm, self.reader)
        self._engine = partial(engine_of, model=self._model)
        self._rerankers = Rerankers(loaded.sources.environment, monotonic_s)
        backups = BackupDirectory(data_dir, config.backup.keep, config.backup.encrypt_to or ())
        self.safekeeping = BackupService(self.stores, backups, clock.now_us)
        self.examiner = Examiner()
        self._core = self._build_core(config.core_summary, identities)
        self.scheduler = self._build_scheduler(config, clock, identities)
        self.followers = Followers(self._dispatcher.boundary)
        self.exchanges = ExchangeQueue(identities, self._exchange_kept)
        attending = StoreListeners(
            self.embedding_worker, self.scheduler, self.feed, self.followers, self._reload_embedder, self.uses
        )
        self.open_stores = OpenStores(self.stores, supply, self.settings, attending, self.scheduler.used)
        self.stores.on_exclusive.append(self.scheduler.forget)
        self.scheduler.open_store = self.open_stores.open_for_job
        self._briefs = Briefs(self.open_stores, clock)
        self._prompts = PromptFiles(data_dir, self._warn)
        self._compiled_rules = CompiledRules()
        self._agents = self._build_agent_memory(data_dir, config, clock, identities)
        life = ProcessState(
            now_us=clock.now_us,
            uptime_s=lambda: monotonic_s() - self._started_s,
            connections=lambda: self.server.counters.connections,
            request_stop=self.stop,
            questions=self.scheduler.questions,
            hosts=self._agents.seen.views,
            reader=self._reader_status,
        )
        self._daemon_handlers = DaemonHandlers(data_dir, config, self.stores, self.open_stores, life)
        self._mcp = McpHandlers(
            config.mcp, self._dispatcher.invoke, self._briefs, self._prompts, self.projects, identities.nonce
        )
        self._serve(data_dir, supply, clock, identities)
        self.server = Server(self._dispatcher, Limits.of(config.server), self._agents.at)
        self.feed.send, self.server.between_requests = self.server.send_event, loop.run_pending
        self.server.on_takes_events, self.server.on_closed = self.feed.pump, self.feed.unsubscribe_all

    def _allowed_stores(self) -> int:
        return self.server.limits.allowed_stores()

    def _build_reader(
        self, data_dir: Path, settings: LlmSettings, environment: Mapping[str, str], clock: SystemClock
    ) -> ModelReader | None:
        """Return the configured language model; None without one. What it used today is read from its file."""
        target = target_of(settings, environment)
        if target is None:
            return None
        path = data_dir / USAGE_FILE
        try:
            saved = read_regular(path, MAX_USAGE)
        except OSError:  # nothing was used yet; one that cannot be written stops calls
            saved = b""
        budget = Budget(settings, lambda: format_us(clock.now_us())[:10], saved, partial(replace_file, path))
        return ModelReader(settings, target, budget, self._warn)

    def _build_model(self, data_dir: Path, settings: LlmSettings, reader: ModelReader) -> Model:
        """Return the model for threads, with the prompts in force; an error in the user's file is logged once."""
        logged: set[str] = set()

        def prompts() -> Prompts:
            found = read_prompts(data_dir, settings.prompt_profile)
            for each in found.errors:
                if each not in logged:
                    logged.add(each)
                    self._warn(f"{each}; this release's prompts are used instead")
            return found

        return Model(reader, prompts, settings.prompt_profile, lambda: reader.status().half_used())

    def _reader_status(self) -> ReaderStatus | None:
        return None if self.reader is None else self.reader.status()

    def _build_scheduler(self, config: Config, clock: SystemClock, identities: Identities) -> Scheduler:
        contexts = extraction_contexts(lambda: self.open_stores)
        extraction = ExtractDeps(contexts, identities.own, self._dispatcher.boundary, self._engine)
        asking = ModelDeps(contexts, identities.own, one_active, self._model)
        jobs = jobs_of(config, self.settings.config, self.safekeeping.scheduled, extraction, asking, self._core)
        return Scheduler(
            (*jobs, *looks_of(config, self.examiner)),
            JobContext(
                clock, identities.own, self._dispatcher.boundary, job_reporter(self._log, self.feed), one_thread()
            ),
        )

    def _build_core(self, settings: CoreSummarySettings, identities: Identities) -> CoreDeps:
        if sentence := settings.warning():
            self._warn(sentence)
        return CoreDeps(self.settings.config, identities.own, self._model)

    async def _read_exchanges(self, store: str) -> None:
        await self.scheduler.of(store).run("extract")

    def _exchange_kept(self, store: str) -> None:
        self.scheduler.hurry(store, "extract")

    def _serve(self, data_dir: Path, supply: Supply, clock: SystemClock, identities: Identities) -> None:
        """Give every method its handler."""
        remembering = RememberHandlers(self.open_stores, identities, self.projects)
        is_partial = self._agents.sessions.is_partial
        imports = ImportHandlers(
            data_dir, self.open_stores, identities, self.settings, self.projects, self._read_exchanges,
            self._exchange_kept, is_partial,
        )  # fmt: skip
        received = partial(self.scheduler.hurry, job=LINK_RECEIVED)
        syncs = SyncHandlers(data_dir, self.stores, self.open_stores, identities, received, is_partial)
        self._dispatcher.serve(
            handlers_of(
                self._daemon_handlers,
                remembering,
                ExtractHandlers(self.open_stores, identities, clock, self.projects, self._engine),
                ChangeHandlers(self.open_stores, identities, clock),
                CuesHandlers(self.open_stores, identities, clock),
                ReviewHandlers(self.open_stores, identities),
                CoreHandlers(self.open_stores, identities, self._core),
                KnowledgeHandlers(self.open_stores, identities, self._measure),
                VizHandlers(self.open_stores, clock, self.projects),
                ReadHandlers(
                    self.open_stores,
                    monotonic_s,
                    clock,
                    identities.nonce,
                    self.uses.note,
                    self.projects,
                    self._rerankers,
                ),
                SearchHandlers(self.open_stores, monotonic_s, clock, self.projects),
                RelationHandlers(self.open_stores, identities, clock),
                EntityHandlers(self.open_stores, identities, clock),
                RuleHandlers(self.open_stores, identities),
                HistoryHandlers(self.open_stores, identities, clock),
                SessionHandlers(self.open_stores, identities),
                ExportHandlers(data_dir, self.open_stores, identities, self.projects),
                imports,
                syncs,
                self._agents,
                GcHandlers(self.open_stores, identities, clock),
                EmbedHandlers(self.open_stores, supply, self.embedding_worker, identities),
                StoreHandlers(self.stores, self.open_stores, self.embedding_worker, self.safekeeping),
                BackupHandlers(self.stores, self.open_stores, self.embedding_worker, self.safekeeping, data_dir),
                ConfigHandlers(self.stores, self.settings),
                JobHandlers(self.open_stores, self.scheduler, clock),
                StatsHandlers(self.open_stores, clock, self._reader_status),
                TopHandlers(
                    self.stores,
                    self.scheduler,
                    self._dispatcher.latencies,
                    lambda: self.server,
                    self._started_s,
                    self._reader_status,
                ),
                SubscriptionHandlers(self.feed, trio.lowlevel.current_trio_token().run_sync_soon),
                VerifyHandlers(self.stores, self.open_stores, self.examiner, clock),
                CliHandler(self._dispatcher.invoke),
            ),
            problems={
                "remember": remembering.problems,
                "diff": remembering.diff_problems,
                "update": ChangeHandlers.problems,
            },
            foreigners=handlers_of(self._mcp),
        )

    def _build_agent_memory(
        self, data_dir: Path, config: Config, clock: SystemClock, identities: Identities
    ) -> AgentMemory:
        sessions = AgentSessions(monotonic_s, missed=may_have_missed(data_dir, clock.now_us()))
        sessions.load(read_sessions(data_dir))
        self.open_stores.on_clear_caches.append(sessions.forget_texts)
        return AgentMemory(
            settings=config.hooks,
            within_s=Limits.of(config.server).hook_s,
            invoke=self._dispatcher.invoke,
            open_stores=self.open_stores,
            briefs=self._briefs,
            prompts=self._prompts,
            stores=self.stores,
            projects=self.projects,
            queue=self.exchanges,
            uses=self.uses,
            compiled_rules=self._compiled_rules,
            sessions=sessions,
            seen=LastSeen(clock.now_us),
            clock=clock,
            stopwatch=monotonic_s,
            nonce=identities.nonce,
            save=partial(self._save_sessions, data_dir),
        )

    def _save_sessions(self, data_dir: Path, saved: bytes) -> None:
        """If it cannot be saved, a session that is resumed after a restart is shown some memories again."""
        if saved != NO_SESSIONS:
            try:
                replace_file(data_dir / SESSIONS_FILE, saved)
            except OSError as error:
                self._warn(f"what agents' sessions were shown was not saved: {error}")

    async def _reload_embedder(self, store: str) -> None:
        await self.open_stores.reload_embedder(store)

    async def _measure(self, store: str) -> object:
        return await self.scheduler.of(store).run("graph_metrics")

    def stop(self) -> None:
        """Answer what was received and end; background embedding and jobs end at once."""
        self.embedding_worker.end()
        self.scheduler.end()
        self.server.request_stop()

    def apply_settings(self, config: Config, loaded: Loaded | None = None) -> None:
        """Apply the settings that `loading.LIVE` lists; requests under way are not affected."""
        self.server.apply_settings(Limits.of(config.server))
        self.settings.apply_settings(loaded or configuration.loaded_from(config, self.settings.sources.path))
        self.open_stores.apply_settings()
        self._daemon_handlers.apply_settings(config)
        self._agents.apply_settings(config.hooks, Limits.of(config.server).hook_s)
        self._mcp.apply_settings(config.mcp)

    def store_health(self) -> list[StoreHealth]:
        """Return the health of every open store."""
        stores = self.stores.open_stores()
        return [StoreHealth(each.name, each.snapshot.live, each.degraded_reason) for each in stores]

    async def writers_answer(self) -> None:
        """Return once the writer of every open store has answered, be it with an error."""
        for store in self.stores.open_stores():
            with contextlib.suppress(MnemonError):
                await store.read(lambda _: None)

    async def stop_requested(self) -> None:
        """Return when the daemon begins to stop."""
        await self.server.stop_requested()

    def _warn(self, sentence: str) -> None:
        self._log.warning("warning", reason=sentence)

    def _on_defect(self, where: str, error: BaseException) -> None:
        self._log.error("defect", where=where, trace=trace_of(error))

    async def warm_up(self) -> None:
        """Open the active store, if it exists, so that the first request need not wait."""
        try:
            name, _ = self.stores.active()
        except MnemonError as error:  # each request that names no store reports it
            self._log.error("no active store", reason=error.message)
            return
        if self.stores.exists(name):
            with self._dispatcher.boundary():  # each request to this store reports the error
                try:
                    await self.open_stores.open(name)
                except MnemonError as error:
                    self._log.error("store not opened", store=name, reason=error.message)

    async def close(self) -> None:
        """Checkpoint and close every store, within what is left of STOP_S."""
        self._agents.save()
        with trio.CancelScope(
            shield=True, deadline=min(self.server.stop_requested_at, trio.current_time()) + STOP_S
        ) as scope:
            try:
                for name in await self.safekeeping.save_lost():
                    self._log.warning("backed up a store whose file is gone", store=name)
            except MnemonError as error:
                self._log.error("a store whose file is gone was not backed up", reason=error.message)
            for failure in await self.stores.close():
                self._log.error("store not closed cleanly", reason=failure.message)
        if scope.cancelled_caught:
            self._log.warning("stores left to the next start", seconds=STOP_S)


# ---------------------------------------------------------------- the process that serves one data directory


class CliOverrides(msgspec.Struct, frozen=True):
    """Configuration given on the command line: another file, and settings such as "diff.update=0.7"."""

    config: Path | None = None
    settings: tuple[str, ...] = ()


NO_OVERRIDES: Final = CliOverrides()


def check_config(data_dir: Path, overrides: CliOverrides = NO_OVERRIDES) -> None:
    """Read the configuration as a start would. Raises MnemonError(CONFIG)."""
    load_configuration(_sources(data_dir, overrides), data_dir)


def run(data_dir: Path, logs: Logs, overrides: CliOverrides = NO_OVERRIDES, listening: int | None = None) -> None:
    """Serve `data_dir` until SIGTERM, SIGINT or daemon.stop. With `listening`, the descriptor of a socket, read what is
    in a directory that cannot be written, until no client is left.

    Raises MnemonError for a data directory, a lock, a configuration or a model that cannot be used.
    """
    harden_process()
    gc_tuning.freeze_after_long_gc()
    check_sqlite_version()
    # Links in the path are resolved once, here; SQLite follows none, and the last part must not be one.
    directory = open_data_dir(data_dir.parent.resolve() / data_dir.name)
    with contextlib.ExitStack() as held:
        held.callback(directory.close)
        refusal = unwritable(directory.path)
        if listening is not None:
            if refusal is None:
                raise MnemonError(CONFIG, f"{directory.path} can be written: --listening is for one that cannot")
            loaded, embedders = load_configuration(_sources(directory.path, overrides), directory.path)
            connection.forbid_raw_open(directory.path)
            listener = Listener(socket.socket(fileno=listening))
            trio.run(_Process(directory.path, loaded, embedders, listener, logs, None, read_only=True).serve)
            return
        if refusal is not None:
            raise refusal
        instance = lock(directory)
        held.callback(instance.close)
        loaded, embedders = load_configuration(_sources(directory.path, overrides), directory.path)
        connection.forbid_raw_open(directory.path)
        _recover(directory.path, logs.logger)
        listener = adopt(os.environ) or _listener_of_launchd() or bind(directory, instance)
        held.callback(listener.close)
        log_file = logs_module.open_log(logs, directory.path, loaded.config.log, os.environ)
        trio.run(_Process(directory.path, loaded, embedders, listener, logs, log_file).serve)


def harden_process() -> None:
    """Make files private, and write no core file, which would contain memories. Raise the limit of open files."""
    os.umask(0o077)
    raise_descriptor_limit()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def load_configuration(sources: Sources, data_dir: Path) -> tuple[Loaded, Embedders]:
    """Read the configuration, and check its sections about servers. Raises MnemonError(CONFIG).

    `data_dir` keeps the weights of embedders that come with another package.
    """
    loaded = configuration.loaded(sources)
    target_of(loaded.config.llm, os.environ)
    check_endpoint(loaded.config.retrieval.rerank, os.environ)
    return loaded, Embedders(loaded.config.embedding, os.environ, monotonic_s, data_dir / WEIGHTS)


def _sources(data_dir: Path, overrides: CliOverrides) -> Sources:
    return Sources(overrides.config or data_dir / configuration.FILE, os.environ, overrides.settings)


def _recover(data_dir: Path, log: FilteringBoundLogger) -> None:
    """Finish what an earlier process left half done, and move a store of mnemon. Raises MnemonError."""
    remove_leftovers(data_dir)
    if sqlite_files.move_stores(
        data_dir, SystemClock().now_us(), lambda sentence: log.warning("warning", reason=sentence)
    ):
        log.info("moved a store of mnemon's", to=str(data_dir / "data" / "default"))


def _listener_of_launchd() -> Listener | None:
    passed = supervisor.passed_socket(os.environ)
    return None if passed is None else Listener(passed)


class _Process:
    """The daemon with its log, its service manager and its signals."""

    def __init__(
        self,
        data_dir: Path,
        loaded: Loaded,
        supply: Supply,
        listener: Listener,
        logs: Logs,
        log_file: LogFile | None,
        *,
        read_only: bool = False,
    ) -> None:
        """With `read_only` no store is written, and the process ends with its last client."""
        self._read_only = read_only
        self._data_dir = data_dir
        self._loaded = loaded
        self._supply = supply
        self._listener = listener
        self._logs = logs
        self._log_file = log_file
        self._notifier = Notifier.of(os.environ)
        self._ping_every_s = supervisor.watchdog_interval_s(os.environ)

    async def serve(self) -> None:
        """Serve until a stop is requested."""
        log = self._logs.logger
        config = self._loaded.config
        daemon = Daemon(self._data_dir, config, log, self._supply, self._loaded, read_only=self._read_only)
        adopted = self._listener.adopted
        log.info("ready", version=SERVER_VERSION, pid=os.getpid(), data_dir=str(self._data_dir), adopted=adopted)
        supervision = Supervision(self._notifier, self._ping_every_s, daemon, log)
        reload = Reload(config, self._load, lambda config: self._apply_settings(daemon, config), supervision, log)
        async with trio.open_nursery() as nursery:
            await nursery.start(_stop_on_signals, daemon)
            await nursery.start(reload.on_hangup, daemon.stop)
            await nursery.start(daemon.stores.run)
            await nursery.start(daemon.embedding_worker.run)
            await nursery.start(daemon.uses.run)
            await nursery.start(daemon.scheduler.run)
            await nursery.start(daemon.followers.run)
            nursery.start_soon(_log_lacking_embedder, self._supply, log)
            nursery.start_soon(supervision.run)
            nursery.start_soon(_warm_up_texts)
            if self._read_only:
                nursery.start_soon(_stop_when_alone, daemon)
            else:
                nursery.start_soon(spool.run, self._data_dir, SystemClock().now_us)
            await daemon.server.serve(self._listener)
            nursery.cancel_scope.cancel()
        await daemon.close()
        counters = daemon.server.counters
        log.info("stopped", messages=counters.messages, accepted=counters.accepted, abandoned=counters.abandoned)
        self._notifier.close()

    def _load(self) -> Config:
        self._loaded, _ = load_configuration(self._loaded.sources, self._data_dir)
        return self._loaded.config

    def _apply_settings(self, daemon: Daemon, config: Config) -> None:
        daemon.apply_settings(config, self._loaded)
        self._logs.configure(config.log.level)
        if self._log_file is not None:
            self._log_file.set_limits(config.log.max_bytes, config.log.older_files)


async def _log_lacking_embedder(supply: Supply, log: FilteringBoundLogger) -> None:
    """Log that new stores would lack an embedder. A start does not wait for it: it is over in milliseconds, and a
    server that hangs takes seconds."""
    lacking = await trio.to_thread.run_sync(lacking_embedder, supply, abandon_on_cancel=True)
    if lacking is not None:
        log.warning("no embedder", reason=lacking)


def lacking_embedder(supply: Supply) -> str | None:
    """Return why new stores cannot have the configured embedder, or None; may block for seconds."""
    try:
        supply.preferred()
    except MnemonError as error:
        return sentence(error)
    return None


async def _warm_up_texts() -> None:
    await trio.sleep(WARM_UP_AFTER_S)
    await trio.to_thread.run_sync(resources.warm_up, abandon_on_cancel=True)


async def _stop_when_alone(daemon: Daemon) -> None:
    await daemon.server.emptied()
    daemon.stop()


async def _stop_on_signals(daemon: Daemon, *, task_status: trio.TaskStatus[None]) -> None:
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        async for _ in signals:
            daemon.stop()
