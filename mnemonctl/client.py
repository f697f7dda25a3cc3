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
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeAlias, TypeVar
from uuid import uuid4

import msgspec

from mnemonctl import fast, rpc
from mnemonctl.connection import KeptConnection, LiveEvents
from mnemond.api import types_admin, types_changes, types_extract, types_memories
from mnemond.api.registry import METHODS
from mnemond.api.types_admin import TOPICS, SubscribeParams, Topic
from mnemond.errors import DATA_DIR, MnemonError
from mnemond.model import answers, outcomes
from mnemond.wire.params import Access, Params

# A method of the daemon as a method of a Python object, with the types that the protocol declares.


P = ParamSpec("P")
T = TypeVar("T")
U = TypeVar("U")

Reader: TypeAlias = Callable[[msgspec.Raw], T]
"""Makes a result of its JSON. Raises MnemonError for what is no such result: the daemon is of another version."""


class Caller(Protocol):
    """What carries a call out."""

    @property
    def store(self) -> str | None:
        """The store that is meant where a call names none."""

    def send(self, method: str, params: Params, *, repeatable: bool) -> msgspec.Raw:
        """The result as JSON. Raises MnemonError."""
        ...


class Bound(Protocol):
    """What methods are looked up on."""

    @property
    def caller(self) -> Caller:
        """Who carries them out."""


def remote(name: str, params: Callable[P, Params], result: Reader[T]) -> Callable[Concatenate[Bound, P], T]:
    """The method `name` of the daemon; its fields are keywords, as `params` declares them.

    A write is given an `op_id` unless it has one, so that it can be sent again when the daemon went away before it
    answered: it happens once.
    """
    method = METHODS[name]
    fields = frozenset(field.name for field in msgspec.structs.fields(method.params))
    writes, named = method.access is not Access.READ, "op_id" in fields

    def call(self: Bound, /, *args: P.args, **given: P.kwargs) -> T:
        caller = self.caller
        chosen: dict[str, Any] = dict(given)
        if "store" in fields and chosen.get("store") is None:
            chosen["store"] = caller.store
        if writes and named and chosen.get("op_id") is None:
            chosen["op_id"] = str(uuid4())
        message = params(*args, **chosen)
        return result(caller.send(name, message, repeatable=named or not writes))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = method.summary
    return call


def one(shape: Callable[..., T]) -> Reader[T]:
    """A result that is one Struct."""
    decode = msgspec.json.Decoder(shape).decode
    return lambda raw: _read(decode, raw)


def many(shape: Callable[..., T]) -> Reader[list[T]]:
    """A result that is a list of Structs."""
    decode = msgspec.json.Decoder(list[shape]).decode  # type: ignore[valid-type]
    return lambda raw: _read(decode, raw)


def either(first: Reader[T], second: Reader[U]) -> Reader[T | U]:
    """A result of one of two forms; their fields tell which."""

    def read(raw: msgspec.Raw) -> T | U:
        try:
            return first(raw)
        except MnemonError:
            return second(raw)

    return read


def _read(decode: Callable[[msgspec.Raw], Any], raw: msgspec.Raw) -> Any:  # noqa: ANN401 - the readers above say what
    try:
        return decode(raw)
    except msgspec.ValidationError:
        raise rpc.not_understood(bytes(raw)) from None


class _Methods:
    """Methods whose names begin with the same word."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller


class StoreMethods(_Methods):
    """`store.…`: the named stores."""

    list = remote("store.list", types_admin.StoreListParams, one(types_admin.StoreListResult))
    create = remote("store.create", types_admin.StoreCreateParams, one(types_admin.StoreCreateResult))
    set = remote("store.set", types_admin.StoreSetParams, one(types_admin.StoreSetResult))
    path = remote("store.path", types_admin.StorePathParams, one(types_admin.StorePathResult))
    remove = remote("store.remove", types_admin.StoreRemoveParams, one(types_admin.StoreRemoveResult))


class EmbedMethods(_Methods):
    """`embed.…`: vectors and what makes them."""

    status = remote("embed.status", types_extract.EmbedStatusParams, one(types_extract.EmbedStatusResult))
    run = remote("embed.run", types_extract.EmbedRunParams, one(outcomes.EmbedRunResult))
    switch = remote("embed.switch", types_extract.EmbedSwitchParams, one(outcomes.EmbedSwitchResult))
    calibrate = remote("embed.calibrate", types_extract.EmbedCalibrateParams, one(outcomes.EmbedCalibrateResult))


class JobMethods(_Methods):
    """`jobs.…`: what the daemon does by itself."""

    list = remote("jobs.list", types_admin.JobsListParams, one(types_admin.JobsListResult))
    run = remote("jobs.run", types_admin.JobsRunParams, one(types_admin.JobsRunResult))


class BackupMethods(_Methods):
    """`backup.…`: copies of stores."""

    create = remote("backup.create", types_admin.BackupCreateParams, one(types_admin.BackupCreateResult))
    list = remote("backup.list", types_admin.BackupListParams, one(types_admin.BackupListResult))
    verify = remote("backup.verify", types_admin.BackupVerifyParams, one(types_admin.BackupVerifyResult))
    restore = remote("backup.restore", types_admin.BackupRestoreParams, one(types_admin.BackupRestoreResult))


class ConfigMethods(_Methods):
    """`config.…`: settings."""

    show = remote("config.show", types_admin.ConfigShowParams, one(types_admin.ConfigShowResult))


class DaemonMethods(_Methods):
    """`daemon.…`: the daemon itself."""

    stop = remote("daemon.stop", types_admin.DaemonStopParams, one(types_admin.DaemonStopResult))


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

    hello = remote("hello", types_admin.HelloParams, one(types_admin.HelloResult))
    ping = remote("ping", types_admin.PingParams, one(types_admin.PingResult))
    remember = remote("remember", types_memories.RememberParams, one(outcomes.RememberResult))
    extract = remote(
        "extract",
        types_extract.ExtractParams,
        either(one(types_extract.ExtractResult), one(types_extract.ExtractContext)),
    )
    diff = remote("diff", types_memories.DiffParams, one(answers.DiffResult))
    recall = remote("recall", types_memories.QuestionParams, one(answers.RecallResult))
    context = remote("context", types_memories.ContextParams, one(answers.ContextResult))
    get = remote("get", types_memories.GetParams, one(answers.GetResult))
    list = remote("list", types_memories.ListParams, either(one(answers.ListResult), one(answers.RetiredResult)))
    forget = remote("forget", types_memories.ForgetParams, one(outcomes.ForgetResult))
    search = remote("search", types_memories.SearchParams, many(answers.SearchHit))
    link = remote("link", types_changes.LinkParams, one(outcomes.LinkResult))
    unlink = remote("unlink", types_changes.UnlinkParams, one(outcomes.UnlinkResult))
    related = remote("related", types_changes.RelatedParams, many(answers.RelatedMemory))
    pin = remote("pin", types_memories.PinParams, one(outcomes.PinResult))
    update = remote("update", types_changes.UpdateParams, one(outcomes.UpdateResult))
    supersede = remote("supersede", types_changes.SupersedeParams, one(outcomes.SupersedeResult))
    merge = remote("merge", types_changes.MergeParams, one(outcomes.MergeResult))
    restore = remote("restore", types_changes.RestoreParams, one(outcomes.RestoreResult))
    history = remote("history", types_changes.HistoryParams, one(answers.HistoryResult))
    undo = remote("undo", types_changes.UndoParams, one(outcomes.UndoResult))
    gc = remote(
        "gc",
        types_admin.GcParams,
        either(
            either(one(outcomes.GcKept), one(answers.GcReview)),
            either(one(outcomes.GcDone), one(answers.GcResult)),
        ),
    )
    log = remote("log", types_changes.LogParams, many(answers.LogLine))
    receipt = remote("receipt", types_changes.ReceiptParams, one(types_changes.ReceiptResult))
    verify = remote("verify", types_admin.VerifyParams, one(types_admin.VerifyResult))
    status = remote("status", types_admin.StatusParams, one(types_admin.StatusResult))
    top = remote("top", types_admin.TopParams, one(types_admin.TopResult))
    stats = remote("stats", types_admin.StatsParams, one(types_admin.StatsResult))

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
    except fast.InvalidInputError as refused:
        raise MnemonError(DATA_DIR, refused.message, hint=refused.hint) from None
