"""The composition root: the one place that builds concrete things and ties them together."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import trio
from structlog.typing import FilteringBoundLogger

from mnemond import config_sources as configuration
from mnemond.clock import SystemClock, monotonic_s
from mnemond.config import Config
from mnemond.config_sources import Loaded
from mnemond.embed.supply import Supply
from mnemond.errors import MnemonError
from mnemond.handlers.agent_hosts import LastSeen
from mnemond.handlers.agent_keeping import AgentKeeping
from mnemond.handlers.agent_memory import AgentMemory
from mnemond.handlers.agent_recall import AgentRecall
from mnemond.handlers.agent_sessions import AgentSessions
from mnemond.handlers.audit import AuditHandlers
from mnemond.handlers.backups import BackupHandlers
from mnemond.handlers.cli import CliHandler
from mnemond.handlers.daemon import DaemonHandlers, Life
from mnemond.handlers.doctor import VerifyHandlers
from mnemond.handlers.door import StoreDoor
from mnemond.handlers.embed_keeper import EmbedKeeper
from mnemond.handlers.embed_methods import EmbedHandlers
from mnemond.handlers.exchange_queue import ExchangeQueue, desks
from mnemond.handlers.extraction import ExtractHandlers
from mnemond.handlers.forgetting import ForgetHandlers
from mnemond.handlers.gc import GcHandlers
from mnemond.handlers.hooks import HookHandler
from mnemond.handlers.jobs import Attending, JobHandlers, tells
from mnemond.handlers.links import LinkHandlers
from mnemond.handlers.mcp import McpHandlers
from mnemond.handlers.missed_starts import may_have_missed
from mnemond.handlers.pins import PinHandlers
from mnemond.handlers.reads import ReadHandlers
from mnemond.handlers.remembering import RememberHandlers
from mnemond.handlers.revising import ReviseHandlers
from mnemond.handlers.search import SearchHandlers
from mnemond.handlers.settings import ConfigHandlers, StoreSettings
from mnemond.handlers.stats import StatsHandlers
from mnemond.handlers.stores import StoreHandlers
from mnemond.handlers.submission import Identities
from mnemond.handlers.subscriptions import SubscriptionHandlers
from mnemond.handlers.succession import SuccessionHandlers
from mnemond.handlers.top import TopHandlers
from mnemond.handlers.undo import UndoHandlers
from mnemond.handlers.uses import Uses
from mnemond.ids import RandomIds
from mnemond.lifecycle.attendant import Means, one_thread
from mnemond.lifecycle.configured import jobs_of, looks_of
from mnemond.lifecycle.extract import Means as Reading
from mnemond.lifecycle.scheduler import Scheduler
from mnemond.logs import trace_of
from mnemond.pipelines.configured import vector_policy
from mnemond.pipelines.embedding import wanted_by
from mnemond.protocol.registry import METHODS
from mnemond.server.call import Call
from mnemond.server.completions import Completions
from mnemond.server.dispatch import Boundary, Dispatcher, Handler
from mnemond.server.feed import Feed
from mnemond.server.latency import Latencies, TimedDispatcher
from mnemond.server.limits import Limits
from mnemond.server.server import Server
from mnemond.service.standing import StoreStanding
from mnemond.store.backups import Shelf
from mnemond.store.invariants.examination import Examiner
from mnemond.store.registry import StoreRegistry
from mnemond.store.safekeeping import Safekeeping

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

    def __init__(
        self, data_dir: Path, config: Config, log: FilteringBoundLogger, supply: Supply, loaded: Loaded | None = None
    ) -> None:
        self._log = log
        self._started_s = monotonic_s()
        clock, ids, loop = SystemClock(), RandomIds(), Completions(trio.lowlevel.current_trio_token())
        self.stores = StoreRegistry(
            data_dir,
            wanted=wanted_by(supply),
            now_us=clock.now_us,
            loop=loop,
            on_defect=self._on_defect,
            warn=self._warn,
            search=vector_policy(config),
        )
        identities = Identities(clock, ids)
        self.feed = Feed(clock.now_us())
        self.uses = Uses(identities, self._boundary)
        self.keeper = EmbedKeeper(supply, identities, config.embedding.batch_size, self._boundary)
        loaded = loaded or configuration.as_given(config, data_dir / configuration.FILE)
        self.settings = StoreSettings(self.stores, loaded)
        self.safekeeping = Safekeeping(self.stores, Shelf(data_dir, config.backup.keep), clock.now_us)
        self.examiner = Examiner()
        self.scheduler = self._scheduling(config, clock, identities)
        self.exchanges = ExchangeQueue(identities, lambda store: self.scheduler.hurry(store, "extract"))
        attending = Attending(self.keeper, self.scheduler, self.feed)
        self.door = StoreDoor(self.stores, supply, self.settings, attending, self.scheduler.used)
        self._agents = self._remembering(data_dir, config, clock, identities)
        life = Life(
            uptime_s=lambda: monotonic_s() - self._started_s,
            connections=lambda: self.server.counters.connections,
            request_stop=self.stop,
            questions=self.scheduler.questions,
            hosts=self._agents.seen.views,
        )
        self._about = DaemonHandlers(data_dir, config, self.stores, self.door, life)
        self._dispatcher = self._dispatching(self._about, supply, clock, identities)
        self.server = Server(self._dispatcher, Limits.of(config.server), HookHandler(self._agents))
        self.feed.tell, self.server.between = self.server.tell, loop.take_up
        self.server.on_drained, self.server.on_gone = self.feed.pump, self.feed.gone

    def _scheduling(self, config: Config, clock: SystemClock, identities: Identities) -> Scheduler:
        """Every job, and what they work with."""
        reading = Reading(desks(lambda: self.door), identities.own, self._boundary)
        jobs = jobs_of(config, lambda name: self.settings.policy(name).lifecycle, self.safekeeping.scheduled, reading)
        return Scheduler(
            (*jobs, *looks_of(config, self.examiner)),
            Means(clock, identities.own, self._boundary, tells(self._log, self.feed), one_thread()),
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
                *self._about_memories(clock, identities),
                EmbedHandlers(self.door, supply, self.keeper, identities),
                StoreHandlers(self.stores, self.door, self.keeper, self.safekeeping),
                BackupHandlers(self.stores, self.door, self.keeper, self.safekeeping),
                ConfigHandlers(self.stores, self.settings),
                JobHandlers(self.door, self.scheduler, clock),
                StatsHandlers(self.door, clock),
                TopHandlers(self.stores, self.scheduler, latencies, lambda: self.server, self._started_s),
                SubscriptionHandlers(self.feed, trio.lowlevel.current_trio_token().run_sync_soon),
                VerifyHandlers(self.stores, self.door, self.examiner, clock),
                CliHandler(self._invoke),
            ),
            problems={
                "remember": remembering.problems,
                "diff": remembering.diff_problems,
                "update": ReviseHandlers.problems,
            },
            foreigners=McpHandlers(self._invoke, identities.nonce).methods(),
            on_defect=self._on_defect,
            latencies=latencies,
        )

    def _about_memories(self, clock: SystemClock, identities: Identities) -> tuple[Group, ...]:
        """What reads and writes memories, links and their history, but for `remember`."""
        return (
            ExtractHandlers(self.door, identities, clock),
            ForgetHandlers(self.door, identities),
            ReviseHandlers(self.door, identities),
            SuccessionHandlers(self.door, identities),
            ReadHandlers(self.door, monotonic_s, clock, identities.nonce, self.uses.note),
            SearchHandlers(self.door, clock),
            LinkHandlers(self.door, identities, clock),
            PinHandlers(self.door, identities),
            AuditHandlers(self.door, clock),
            UndoHandlers(self.door, identities),
            GcHandlers(self.door, identities, clock),
        )

    def _remembering(self, data_dir: Path, config: Config, clock: SystemClock, identities: Identities) -> AgentMemory:
        """What memory does by itself in agents' sessions."""
        within_s = Limits.of(config.server).hook_s
        sessions = AgentSessions(monotonic_s, missed=may_have_missed(data_dir, clock.now_us()))
        self.door.on_forget.append(sessions.forget_texts)
        return AgentMemory(
            settings=config.hooks,
            invoke=self._invoke,
            stores=self.stores,
            recall=AgentRecall(self._invoke, self.door, self.uses, identities.nonce, monotonic_s, within_s),
            keeping=AgentKeeping(self.door, self.stores, self.exchanges, clock),
            sessions=sessions,
            seen=LastSeen(clock.now_us),
            nonce=identities.nonce,
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
        self.server.go_by(Limits.of(config.server))
        self.settings.take_up(loaded or configuration.as_given(config, self.settings.sources.path))
        self.door.go_by()
        self._about.go_by(config)
        self._agents.go_by(config.hooks, Limits.of(config.server).hook_s)

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
