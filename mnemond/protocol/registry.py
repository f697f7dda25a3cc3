"""THE registry of methods. Dispatch, documentation and completeness checks all derive from it."""

from __future__ import annotations

from enum import StrEnum
from types import UnionType

import msgspec

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
    subscriptions,
    undo,
)


class Access(StrEnum):
    """What a method may do."""

    READ = "read"
    WRITE = "write"
    CONTROL = "control"


class Method(msgspec.Struct, frozen=True):
    """One method. `positional` names the parameters that may also be given by position, in order."""

    name: str
    params: type
    result: type | UnionType
    access: Access
    summary: str
    positional: tuple[str, ...] = ()


_ALL = (
    Method("hello", daemon.HelloParams, daemon.HelloResult, Access.READ, "Versions, process id and capabilities."),
    Method("ping", daemon.PingParams, daemon.PingResult, Access.READ, "Answers at once."),
    Method(
        "remember", remembering.RememberParams, remembering.RememberResult, Access.WRITE,
        "Store one memory; acknowledged only after it is on disk.", ("content",),
    ),
    Method(
        "diff", remembering.DiffParams, remembering.DiffResult, Access.READ,
        "Say what remember would do with a text, and beside which memories.", ("content",),
    ),
    Method(
        "extract", extraction.ExtractParams, extraction.ExtractResult | extraction.ExtractContext, Access.WRITE,
        "Remember what of a conversation is worth it, fact by fact.", ("messages",),
    ),
    Method(
        "recall", memories.RecallParams,
        memories.RecallResult | context.CompactResult | context.ContextResult, Access.READ,
        "Find the memories that answer a question, and say why.", ("query", "limit"),
    ),
    Method(
        "context", context.ContextParams, context.ContextResult, Access.READ,
        "What answers a question, as text for a prompt.", ("query", "budget"),
    ),
    Method("get", memories.GetParams, memories.GetResult, Access.READ, "One memory by its id.", ("id",)),
    Method(
        "list", memories.ListParams, memories.ListResult | memories.RetiredResult, Access.READ,
        "Memories, newest first, or those that left recall.", ("limit",),
    ),
    Method(
        "forget", memories.ForgetParams, memories.ForgetResult, Access.WRITE,
        "Take one memory out of recall.", ("id",),
    ),
    Method(
        "search", search.SearchParams, list[search.SearchHit], Access.READ,
        "Find memories by their words alone.", ("query", "limit"),
    ),
    Method(
        "link", links.LinkParams, links.LinkResult, Access.WRITE,
        "Say that two memories belong together, and how.", ("source_id", "target_id", "type"),
    ),
    Method(
        "unlink", links.UnlinkParams, links.UnlinkResult, Access.WRITE,
        "Remove what links two memories.", ("source_id", "target_id", "type"),
    ),
    Method(
        "related", links.RelatedParams, list[links.RelatedMemory], Access.READ,
        "The memories around one, nearest first.", ("id",),
    ),
    Method(
        "pin", pins.PinParams, pins.PinResult, Access.WRITE,
        "Keep one memory from being pruned or replaced, or no longer.", ("id",),
    ),
    Method(
        "update", revising.UpdateParams, revising.UpdateResult, Access.WRITE,
        "Give one memory another text or other fields.", ("id",),
    ),
    Method(
        "supersede", revising.SupersedeParams, revising.SupersedeResult, Access.WRITE,
        "Let one memory take the place of another.", ("old_id", "new_id"),
    ),
    Method(
        "merge", revising.MergeParams, revising.MergeResult, Access.WRITE,
        "Make one memory of two.", ("id", "other_id"),
    ),
    Method(
        "restore", revising.RestoreParams, revising.RestoreResult, Access.WRITE,
        "Bring a retired memory back into recall.", ("id",),
    ),
    Method(
        "history", audit.HistoryParams, audit.HistoryResult, Access.READ,
        "What became of one memory, and which operations did it.", ("id",),
    ),
    Method(
        "undo", undo.UndoParams, undo.UndoResult, Access.WRITE,
        "Take one whole operation back, as a new operation.", ("operation",),
    ),
    Method(
        "gc", gc.GcParams, gc.GcResult | gc.GcKept | gc.GcReview | gc.GcDone, Access.WRITE,
        "What matters least: list it, keep it, let go of it.",
    ),
    Method("log", audit.LogParams, list[audit.LogLine], Access.READ, "What was done lately, newest first.", ("limit",)),
    Method(
        "receipt", audit.ReceiptParams, audit.ReceiptResult, Access.READ,
        "Evidence of what was done, without what it was about.", ("limit",),
    ),
    Method(
        "embed.status", embedding.EmbedStatusParams, embedding.EmbedStatusResult, Access.READ,
        "How many memories have a vector, of which model, and whether it answers.", ("store",),
    ),
    Method(
        "embed.run", embedding.EmbedRunParams, embedding.EmbedRunResult, Access.WRITE,
        "Make the vectors that are missing, or all anew; answers when that is done.",
    ),
    Method(
        "embed.switch", embedding.EmbedSwitchParams, embedding.EmbedSwitchResult, Access.WRITE,
        "Change the embedder of a store, in the background.", ("provider", "model"),
    ),
    Method(
        "embed.calibrate", embedding.EmbedCalibrateParams, embedding.EmbedCalibrateResult, Access.WRITE,
        "Measure on the store what a cosine means to its embedder.",
    ),
    Method("jobs.list", jobs.JobsListParams, jobs.JobsListResult, Access.READ, "Background jobs, and how they ran."),
    Method(
        "jobs.run", jobs.JobsRunParams, jobs.JobsRunResult, Access.WRITE,
        "Run one background job now, or say what it would come to.", ("name",),
    ),
    Method(
        "verify", doctor.VerifyParams, doctor.VerifyResult, Access.READ,
        "Whether what must always be true of a store is true; changes nothing.",
    ),
    Method("status", daemon.StatusParams, daemon.StatusResult, Access.READ, "A store and its daemon.", ("store",)),
    Method("stats", stats.StatsParams, stats.StatsResult, Access.READ, "A store in figures.", ("store",)),
    Method("top", stats.TopParams, stats.TopResult, Access.READ, "What the daemon does, watched for a moment."),
    Method("store.list", stores.StoreListParams, stores.StoreListResult, Access.READ, "Every store."),
    Method(
        "store.create", stores.StoreCreateParams, stores.StoreCreateResult, Access.WRITE,
        "Make a new, empty store.", ("name",),
    ),
    Method(
        "store.set", stores.StoreSetParams, stores.StoreSetResult, Access.WRITE,
        "Choose the store that is used when none is named.", ("name",),
    ),
    Method(
        "store.path", stores.StorePathParams, stores.StorePathResult, Access.READ, "Where a store lies.", ("store",),
    ),
    Method(
        "store.remove", stores.StoreRemoveParams, stores.StoreRemoveResult, Access.WRITE,
        "Delete a store, after a last backup of it.", ("name",),
    ),
    Method(
        "backup.create", backups.BackupCreateParams, backups.BackupCreateResult, Access.WRITE,
        "Copy a store while it serves.", ("store",),
    ),
    Method("backup.list", backups.BackupListParams, backups.BackupListResult, Access.READ, "Every backup.", ("store",)),
    Method(
        "backup.verify", backups.BackupVerifyParams, backups.BackupVerifyResult, Access.READ,
        "Read every page of a backup.", ("backup",),
    ),
    Method(
        "backup.restore", backups.BackupRestoreParams, backups.BackupRestoreResult, Access.WRITE,
        "Make a store what a backup holds.", ("backup",),
    ),
    Method(
        "config.show", configuration.ConfigShowParams, configuration.ConfigShowResult, Access.READ,
        "Every setting, and where its value came from.", ("store",),
    ),
    Method(
        "subscribe", subscriptions.SubscribeParams, subscriptions.SubscribeResult, Access.READ,
        "Be told on this connection what happens.",
    ),
    Method(
        "unsubscribe", subscriptions.UnsubscribeParams, subscriptions.UnsubscribeResult, Access.READ,
        "Be told no longer.", ("subscription",),
    ),
    Method(
        "daemon.stop", daemon.DaemonStopParams, daemon.DaemonStopResult, Access.CONTROL,
        "Answer everything received, then leave.",
    ),
    Method(
        "cli.run", daemon.CliRunParams, daemon.CliRunResult, Access.WRITE,
        "Run one mnemonctl command line and return what it prints.", ("argv",),
    ),
)  # fmt: skip

METHODS: dict[str, Method] = {method.name: method for method in _ALL}
