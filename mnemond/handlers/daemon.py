"""The methods about the daemon itself, and the state of a store."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from mnemond.config import Config
from mnemond.errors import PROTOCOL_VERSION, MnemonError
from mnemond.handlers.door import OpenStore, StoreDoor
from mnemond.protocol import daemon
from mnemond.protocol.registry import METHODS
from mnemond.protocol.version import PROTOCOL, SERVER_VERSION, release_key
from mnemond.server.call import Call
from mnemond.server.dispatch import Handler
from mnemond.store.exchanges import Backlog
from mnemond.store.files import size_bytes
from mnemond.store.registry import StoreRegistry

TOP_ENTITIES = 10
"""Entities that `status` names."""


class Life(msgspec.Struct, frozen=True):
    """What a daemon can say of its own life: seconds since it started, connections held, how to end it, what jobs ask
    before they go on, by the name of a store, and when agents' programs called last."""

    uptime_s: Callable[[], float]
    connections: Callable[[], int]
    request_stop: Callable[[], None]
    questions: Callable[[str], list[str]] = lambda _: []
    hosts: Callable[[], dict[str, daemon.HostSeen]] = dict


class DaemonHandlers:
    """hello, ping, status, daemon.stop."""

    def __init__(self, data_dir: Path, config: Config, stores: StoreRegistry, door: StoreDoor, life: Life) -> None:
        self._data_dir = data_dir
        self._config = config
        self._stores = stores
        self._door = door
        self._life = life

    def methods(self) -> Mapping[str, Handler]:
        """Each by the name of its method."""
        return {
            "hello": self.hello,
            "ping": self.ping,
            "status": self.status,
            "daemon.stop": self.daemon_stop,
        }

    def go_by(self, config: Config) -> None:
        """Tell of these settings from now on."""
        self._config = config

    def hello(self, call: Call, params: daemon.HelloParams) -> daemon.HelloResult:
        """Who answers. Raises MnemonError(PROTOCOL_VERSION) when the two cannot understand each other."""
        check_protocol(params.protocol)
        return daemon.HelloResult(
            name="mnemond",
            version=SERVER_VERSION,
            protocol=PROTOCOL,
            pid=os.getpid(),
            data_dir=str(self._data_dir),
            capabilities={
                "methods": sorted(METHODS),
                "batches": True,
                "max_in_flight": self._config.server.max_in_flight,
            },
            outdated=is_outdated(params.client_version),
            hosts=self._life.hosts(),
        )

    def ping(self, call: Call, params: daemon.PingParams) -> daemon.PingResult:
        """Answers at once."""
        return daemon.PingResult(ok=True)

    def status(self, call: Call, params: daemon.StatusParams) -> object:
        """A store and its daemon."""
        return self._door.through(params.store, self._status)

    def daemon_stop(self, call: Call, params: daemon.DaemonStopParams) -> daemon.DaemonStopResult:
        """Answer, then leave."""
        self._life.request_stop()
        return daemon.DaemonStopResult(stopping=True, pid=os.getpid())

    async def _status(self, warm: OpenStore) -> daemon.StatusResult:
        snapshot, questions = warm.store.snapshot, self._life.questions(warm.store.name)
        unreadable: str | None = None
        by_status: dict[str, int] | None = None
        oplog_count: int | None = None
        waiting: Backlog | None = None
        try:
            by_status, oplog_count, waiting = await warm.store.counts()
        except MnemonError as error:
            unreadable = error.message
        cap = warm.policy.lifecycle.max_insights
        result = daemon.StatusResult(
            store=warm.store.name,
            total_insights=snapshot.live,
            deleted_insights=None if by_status is None else sum(by_status.values()) - by_status.get("active", 0),
            by_category=snapshot.by_category(),
            by_status=by_status,
            edge_count=sum(snapshot.edge_counts().values()),
            edges_by_type=snapshot.edge_counts(),
            top_entities=[daemon.EntityCount(name, n) for name, n in snapshot.top_entities(TOP_ENTITIES)],
            oplog_count=oplog_count,
            db_path=str(warm.store.path),
            db_size_bytes=size_bytes(warm.store.path),
            embedding=None if warm.embedder is None else warm.embedder.name,
            embedded=snapshot.embedded,
            over_capacity=0 < cap < snapshot.live,
            max_insights=cap,
            pending_jobs=len(questions),
            questions=questions,
            pending_reviews=0,
            pending_exchanges=None if waiting is None else waiting.pending,
            failed_exchanges=None if waiting is None else waiting.failed,
            version=SERVER_VERSION,
            pid=os.getpid(),
            uptime_s=round(self._life.uptime_s(), 3),
            connections=self._life.connections(),
            hosts=self._life.hosts(),
        )
        return warm.marked(result, unreadable or warm.degraded_reason or snapshot.graph_lacking)


def check_protocol(theirs: int | None) -> None:
    """Refuse a caller of another protocol in words. Raises MnemonError(PROTOCOL_VERSION)."""
    if theirs is None or theirs == PROTOCOL:
        return
    newer = "this daemon is older" if theirs > PROTOCOL else "this client is older"
    raise MnemonError(
        PROTOCOL_VERSION,
        f"the client speaks protocol {theirs}, mnemond {SERVER_VERSION} speaks {PROTOCOL}: {newer}",
        hint="`mnemonctl daemon restart` starts the daemon that belongs to the installed client",
    )


def is_outdated(client_version: str | None) -> bool:
    """Whether the caller is a newer release than this daemon."""
    return client_version is not None and release_key(client_version) > release_key(SERVER_VERSION)
