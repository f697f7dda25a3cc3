"""mnemond for Python programs: one method for each of the daemon's, typed, blocking, thin.

    from mnemonctl.client import Client

    with Client() as memory:
        memory.remember(content="Deploys go out on Thursdays", category="decision")
        for hit in memory.recall(query="when do we deploy?").results:
            print(hit.score, hit.insight.content)

Parameters are keywords and named as in docs/protocol.md; results are the Structs that it names, of `mnemond.model` and
`mnemond.api`. Errors are raised as `mnemond.errors.MnemonError`: `kind.rpc` is the code on the wire, `hint` says what
to do next.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType, UnionType
from typing import IO, Any, Concatenate, ParamSpec, Protocol, Self, TypeVar, get_args
from uuid import uuid4

import msgspec

from mnemonctl import fast, rpc
from mnemonctl.connection import KeptConnection, LiveEvents
from mnemond.api import (
    types_changes,
    types_core,
    types_daemon,
    types_entities,
    types_extract,
    types_interchange,
    types_jobs,
    types_knowledge,
    types_memories,
    types_relations,
    types_rules,
    types_sessions,
    types_stores,
    types_sync,
    types_viz,
)
from mnemond.api.types_jobs import TOPICS, SubscribeParams, Topic
from mnemond.errors import DATA_DIR, MnemonError
from mnemond.model import answers
from mnemond.wire.params import Access, Params, TypedMethod, method

# A method of the daemon as a method of a Python object, with the types that the protocol declares.


P = ParamSpec("P")
T = TypeVar("T")


class Caller(Protocol):
    """The part of a client that sends calls."""

    @property
    def store(self) -> str | None:
        """The store of calls that name none."""

    def send(self, method: str, params: Params, *, repeatable: bool) -> msgspec.Raw:
        """The result as JSON. Raises MnemonError."""


class Bound(Protocol):
    """An object with methods of the daemon."""

    @property
    def caller(self) -> Caller:
        """The client that sends their calls."""


def remote(declared: TypedMethod[P, T]) -> Callable[Concatenate[Bound, P], T]:
    """Make a method of the daemon a method of an object; its parameters are keywords.

    A write is given an `op_id` unless it has one, so that it can be sent again when the daemon went away before it
    answered: it happens once.
    """
    fields = frozenset(declared.params.__struct_encode_fields__)
    writes, named = declared.access is not Access.READ, "op_id" in fields
    results = get_args(declared.result) if isinstance(declared.result, UnionType) else (declared.result,)
    decoders = [msgspec.json.Decoder(each) for each in results]

    def call(self: Bound, /, *args: P.args, **given: P.kwargs) -> T:
        caller = self.caller
        chosen: dict[str, Any] = dict(given)
        if "store" in fields and chosen.get("store") is None:
            chosen["store"] = caller.store
        if writes and named and chosen.get("op_id") is None:
            chosen["op_id"] = str(uuid4())
        message = declared.params(*args, **chosen)
        raw = caller.send(declared.name, message, repeatable=named or not writes)
        for decoder in decoders:
            try:
                result: T = decoder.decode(raw)
            except msgspec.ValidationError:
                continue  # of another form, if it has several
            return result
        raise rpc.not_understood(bytes(raw))

    call.__name__ = call.__qualname__ = declared.name
    call.__doc__ = declared.summary
    return call


class _Methods:
    """Methods whose names begin with the same word."""

    def __init__(self, caller: Caller) -> None:
        self.caller = caller


class StoreMethods(_Methods):
    """`store.…`: the named stores."""

    list = remote(types_stores.STORE_LIST)
    create = remote(types_stores.STORE_CREATE)
    set = remote(types_stores.STORE_SET)
    path = remote(types_stores.STORE_PATH)
    remove = remote(types_stores.STORE_REMOVE)


class EmbedMethods(_Methods):
    """`embed.…`: vectors and their embedder."""

    status = remote(types_extract.EMBED_STATUS)
    run = remote(types_extract.EMBED_RUN)
    switch = remote(types_extract.EMBED_SWITCH)
    calibrate = remote(types_extract.EMBED_CALIBRATE)


class JobMethods(_Methods):
    """`jobs.…`: background jobs."""

    list = remote(types_jobs.JOBS_LIST)
    run = remote(types_jobs.JOBS_RUN)


class SessionMethods(_Methods):
    """`session.…`: sessions of agents."""

    pause = remote(types_sessions.SESSION_PAUSE)


class HookMethods(_Methods):
    """`hook.…`: what agents are told unasked."""

    preview = remote(types_sessions.HOOK_PREVIEW)


class ImportMethods(_Methods):
    """`import.…`: memories from lines."""

    run = remote(types_interchange.IMPORT)
    accept = remote(types_interchange.IMPORT_ACCEPT)


class SyncMethods(_Methods):
    """`sync.…`: files of records to and from other devices."""

    open = remote(types_sync.SYNC_OPEN)
    unite = remote(types_sync.SYNC_UNITE)
    finish = remote(types_sync.SYNC_FINISH)
    failed = remote(types_sync.SYNC_FAILED)
    status = remote(types_sync.SYNC_STATUS)


class CuesMethods(_Methods):
    """`cues.…`: cues of memories that were stored without any."""

    missing = remote(types_changes.CUES_MISSING)
    apply = remote(types_changes.CUES_APPLY)


class RelationMethods(_Methods):
    """`relations.…`: relations between people and things."""

    list = remote(types_relations.RELATIONS_LIST)
    add = remote(types_relations.RELATIONS_ADD)
    close = remote(types_relations.RELATIONS_CLOSE)


class CoreMethods(_Methods):
    """`core.…`: what is known of the user in summary."""

    show = remote(types_core.CORE_SHOW)
    update = remote(types_core.CORE_UPDATE)
    history = remote(types_core.CORE_HISTORY)
    diff = remote(types_core.CORE_DIFF)
    set = remote(types_core.CORE_SET)


class EntityMethods(_Methods):
    """`entity.…`: people and things by their names."""

    list = remote(types_entities.ENTITY_LIST)
    show = remote(types_entities.ENTITY_SHOW)
    merge = remote(types_entities.ENTITY_MERGE)
    split = remote(types_entities.ENTITY_SPLIT)
    not_same = remote(types_entities.ENTITY_NOT_SAME)
    alias = remote(types_entities.ENTITY_ALIAS)


class RuleMethods(_Methods):
    """`rules.…`: memories that are shown before calls of tools."""

    list = remote(types_rules.RULES_LIST)
    set = remote(types_rules.RULES_SET)


class BackupMethods(_Methods):
    """`backup.…`: copies of stores."""

    create = remote(types_stores.BACKUP_CREATE)
    list = remote(types_stores.BACKUP_LIST)
    verify = remote(types_stores.BACKUP_VERIFY)
    restore = remote(types_stores.BACKUP_RESTORE)


class ConfigMethods(_Methods):
    """`config.…`: settings."""

    show = remote(types_daemon.CONFIG_SHOW)


class DaemonMethods(_Methods):
    """`daemon.…`: the daemon itself."""

    stop = remote(types_daemon.DAEMON_STOP)


RECALL = method(
    "recall", types_memories.QuestionParams, answers.RecallResult, Access.READ, types_memories.RECALL.summary
)
"""recall with one form of result; `context` is a method of its own, and `compact` saves only bytes."""


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
        """Connect to nothing yet. Raises MnemonError if the data directory cannot be determined."""
        self._directory, self._timeout_s = _directory(data_dir), timeout_s
        self._connection = KeptConnection(self._directory, timeout_s, start=start)
        self._store = store or os.environ.get("MNEMON_STORE") or None
        self.stores = StoreMethods(self)
        self.embed = EmbedMethods(self)
        self.jobs = JobMethods(self)
        self.session = SessionMethods(self)
        self.hook = HookMethods(self)
        self.rules = RuleMethods(self)
        self.relations = RelationMethods(self)
        self.core = CoreMethods(self)
        self.entity = EntityMethods(self)
        self.backups = BackupMethods(self)
        self.cues = CuesMethods(self)
        self.imports = ImportMethods(self)
        self.sync = SyncMethods(self)
        self.config = ConfigMethods(self)
        self.daemon = DaemonMethods(self)

    hello = remote(types_daemon.HELLO)
    ping = remote(types_daemon.PING)
    remember = remote(types_memories.REMEMBER)
    extract = remote(types_extract.EXTRACT)
    diff = remote(types_memories.DIFF)
    recall = remote(RECALL)
    context = remote(types_memories.CONTEXT)
    search = remote(types_memories.SEARCH)
    get = remote(types_memories.GET)
    list = remote(types_memories.LIST)
    related = remote(types_changes.RELATED)
    forget = remote(types_memories.FORGET)
    pin = remote(types_memories.PIN)
    update = remote(types_changes.UPDATE)
    supersede = remote(types_changes.SUPERSEDE)
    merge = remote(types_changes.MERGE)
    reviews = remote(types_changes.REVIEWS)
    consolidate = remote(types_knowledge.CONSOLIDATE)
    communities = remote(types_knowledge.COMMUNITIES)
    viz = remote(types_viz.VIZ)
    summarize = remote(types_knowledge.SUMMARIZE)
    timeline = remote(types_relations.TIMELINE)
    export = remote(types_interchange.EXPORT)
    resolve = remote(types_changes.RESOLVE)
    restore = remote(types_changes.RESTORE)
    link = remote(types_changes.LINK)
    unlink = remote(types_changes.UNLINK)
    history = remote(types_changes.HISTORY)
    undo = remote(types_changes.UNDO)
    feedback = remote(types_sessions.FEEDBACK)
    today = remote(types_sessions.TODAY)
    log = remote(types_changes.LOG)
    receipt = remote(types_changes.RECEIPT)
    gc = remote(types_jobs.GC)
    verify = remote(types_daemon.VERIFY)
    status = remote(types_daemon.STATUS)
    stats = remote(types_daemon.STATS)
    top = remote(types_daemon.TOP)

    def events(self, topics: tuple[Topic, ...] = TOPICS, *, since_seq: int | None = None) -> LiveEvents:
        """Return an iterator over events from now on, or since the one of that number. It blocks: use a thread of its
        own if there is other work. A daemon that does not run is started, if this client may. Raises MnemonError."""
        self.ping()
        return LiveEvents(self._directory, SubscribeParams(topics=topics, since_seq=since_seq), self._timeout_s)

    def spooled(self, parts: Iterable[bytes] = ()) -> AbstractContextManager[tuple[str, IO[bytes]]]:
        """Make a file of these parts for one call, which takes its name as `spool`: to be read by the daemon, or empty,
        and then read here: `with memory.spooled() as (name, file): memory.export(spool=name); file.read()`."""
        return rpc.spooled(self._directory, parts)

    @property
    def caller(self) -> Caller:
        """Itself."""
        return self

    @property
    def store(self) -> str | None:
        """The store of every call that names none; None: the active one."""
        return self._store

    def send(self, method: str, params: Params, *, repeatable: bool) -> msgspec.Raw:
        """Send one call by the name of its method. Raises MnemonError."""
        return self._connection.call(method, params, repeatable=repeatable)

    def close(self) -> None:
        """Close the connection. The client can be used again: the next call makes another."""
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
