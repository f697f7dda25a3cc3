"""mnemond for Python programs: one method for each of the daemon's, typed, blocking, thin.

    from mnemonctl.client import Client

    with Client() as memory:
        memory.remember(content="Deploys go out on Thursdays", category="decision")
        for hit in memory.recall(query="when do we deploy?").results:
            print(hit.score, hit.insight.content)

Parameters are keywords and named as in docs/protocol.md; results are the Structs of `mnemond.protocol`. What the daemon
refuses is raised as `mnemond.errors.MnemonError`: `kind.rpc` is the code on the wire, `hint` says what to do next.
"""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from mnemonctl import fast
from mnemonctl.kept_connection import KeptConnection
from mnemonctl.live_events import LiveEvents
from mnemonctl.remote import Caller, either, many, one, remote
from mnemond.errors import DATA_DIR, MnemonError
from mnemond.protocol import (
    audit,
    backups,
    configuration,
    context,
    daemon,
    doctor,
    embedding,
    extraction,
    gc,
    jobs,
    links,
    memories,
    pins,
    remembering,
    revising,
    search,
    stats,
    stores,
    undo,
)
from mnemond.protocol.subscriptions import TOPICS, SubscribeParams, Topic
from mnemond.protocol.types import Params


class _Methods:
    """Methods whose names begin with the same word."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller


class StoreMethods(_Methods):
    """`store.…`: the named stores."""

    list = remote("store.list", stores.StoreListParams, one(stores.StoreListResult))
    create = remote("store.create", stores.StoreCreateParams, one(stores.StoreCreateResult))
    set = remote("store.set", stores.StoreSetParams, one(stores.StoreSetResult))
    path = remote("store.path", stores.StorePathParams, one(stores.StorePathResult))
    remove = remote("store.remove", stores.StoreRemoveParams, one(stores.StoreRemoveResult))


class EmbedMethods(_Methods):
    """`embed.…`: vectors and what makes them."""

    status = remote("embed.status", embedding.EmbedStatusParams, one(embedding.EmbedStatusResult))
    run = remote("embed.run", embedding.EmbedRunParams, one(embedding.EmbedRunResult))
    switch = remote("embed.switch", embedding.EmbedSwitchParams, one(embedding.EmbedSwitchResult))
    calibrate = remote("embed.calibrate", embedding.EmbedCalibrateParams, one(embedding.EmbedCalibrateResult))


class JobMethods(_Methods):
    """`jobs.…`: what the daemon does by itself."""

    list = remote("jobs.list", jobs.JobsListParams, one(jobs.JobsListResult))
    run = remote("jobs.run", jobs.JobsRunParams, one(jobs.JobsRunResult))


class BackupMethods(_Methods):
    """`backup.…`: copies of stores."""

    create = remote("backup.create", backups.BackupCreateParams, one(backups.BackupCreateResult))
    list = remote("backup.list", backups.BackupListParams, one(backups.BackupListResult))
    verify = remote("backup.verify", backups.BackupVerifyParams, one(backups.BackupVerifyResult))
    restore = remote("backup.restore", backups.BackupRestoreParams, one(backups.BackupRestoreResult))


class ConfigMethods(_Methods):
    """`config.…`: settings."""

    show = remote("config.show", configuration.ConfigShowParams, one(configuration.ConfigShowResult))


class DaemonMethods(_Methods):
    """`daemon.…`: the daemon itself."""

    stop = remote("daemon.stop", daemon.DaemonStopParams, one(daemon.DaemonStopResult))


class Client:
    """A daemon, over one connection that is made with the first call and kept.

    `data_dir`: where the daemon lives; else $MNEMON_DATA_DIR, else ~/.mnemon. `store`: the store of every call that
    names none; else $MNEMON_STORE, else the active one. `timeout_s`: for each call. With `start` false, a daemon that
    does not run is an error instead of being started. Threads may share a client; their calls go one after the other.
    """

    def __init__(
        self,
        *,
        data_dir: Path | str | None = None,
        store: str | None = None,
        timeout_s: float = fast.DEADLINE_S,
        start: bool = True,
    ) -> None:
        """Connects to nothing yet. Raises MnemonError when it cannot be told where the daemon lives."""
        self._directory, self._timeout_s = _directory(data_dir), timeout_s
        self._connection = KeptConnection(self._directory, timeout_s, start=start)
        self._store = store or os.environ.get("MNEMON_STORE") or None
        self.stores = StoreMethods(self)
        self.embed = EmbedMethods(self)
        self.jobs = JobMethods(self)
        self.backups = BackupMethods(self)
        self.config = ConfigMethods(self)
        self.daemon = DaemonMethods(self)

    hello = remote("hello", daemon.HelloParams, one(daemon.HelloResult))
    ping = remote("ping", daemon.PingParams, one(daemon.PingResult))
    remember = remote("remember", remembering.RememberParams, one(remembering.RememberResult))
    extract = remote(
        "extract", extraction.ExtractParams, either(one(extraction.ExtractResult), one(extraction.ExtractContext))
    )
    diff = remote("diff", remembering.DiffParams, one(remembering.DiffResult))
    recall = remote("recall", memories.QuestionParams, one(memories.RecallResult))
    context = remote("context", context.ContextParams, one(context.ContextResult))
    get = remote("get", memories.GetParams, one(memories.GetResult))
    list = remote("list", memories.ListParams, either(one(memories.ListResult), one(memories.RetiredResult)))
    forget = remote("forget", memories.ForgetParams, one(memories.ForgetResult))
    search = remote("search", search.SearchParams, many(search.SearchHit))
    link = remote("link", links.LinkParams, one(links.LinkResult))
    unlink = remote("unlink", links.UnlinkParams, one(links.UnlinkResult))
    related = remote("related", links.RelatedParams, many(links.RelatedMemory))
    pin = remote("pin", pins.PinParams, one(pins.PinResult))
    update = remote("update", revising.UpdateParams, one(revising.UpdateResult))
    supersede = remote("supersede", revising.SupersedeParams, one(revising.SupersedeResult))
    merge = remote("merge", revising.MergeParams, one(revising.MergeResult))
    restore = remote("restore", revising.RestoreParams, one(revising.RestoreResult))
    history = remote("history", audit.HistoryParams, one(audit.HistoryResult))
    undo = remote("undo", undo.UndoParams, one(undo.UndoResult))
    gc = remote(
        "gc", gc.GcParams, either(either(one(gc.GcKept), one(gc.GcReview)), either(one(gc.GcDone), one(gc.GcResult)))
    )
    log = remote("log", audit.LogParams, many(audit.LogLine))
    receipt = remote("receipt", audit.ReceiptParams, one(audit.ReceiptResult))
    verify = remote("verify", doctor.VerifyParams, one(doctor.VerifyResult))
    status = remote("status", daemon.StatusParams, one(daemon.StatusResult))
    top = remote("top", stats.TopParams, one(stats.TopResult))
    stats = remote("stats", stats.StatsParams, one(stats.StatsResult))

    def events(self, topics: tuple[Topic, ...] = TOPICS, *, since_seq: int | None = None) -> LiveEvents:
        """What happens from now on, or since the event of that number: iterate over it, in a thread of its own if
        there is other work. A daemon that does not run is started, if this client may. Raises MnemonError."""
        self.ping()
        return LiveEvents(self._directory, SubscribeParams(topics=topics, since_seq=since_seq), self._timeout_s)

    @property
    def caller(self) -> Caller:
        """Itself: methods with a word before them hold it, too."""
        return self

    @property
    def store(self) -> str | None:
        """The store of every call that names none; None: the active one."""
        return self._store

    def send(self, method: str, params: Params, *, repeatable: bool) -> msgspec.Raw:
        """One call by the name of its method. Raises MnemonError."""
        return self._connection.call(method, params, repeatable=repeatable)

    def close(self) -> None:
        """Give the connection back. The client can be used again: that makes another."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()


def _directory(chosen: Path | str | None) -> Path:
    if chosen is not None:
        return Path(os.path.abspath(os.path.expanduser(chosen)))
    try:
        return Path(os.fsdecode(fast.default_data_dir()))
    except fast.Refused as refused:
        raise MnemonError(DATA_DIR, refused.message, hint=refused.hint) from None
