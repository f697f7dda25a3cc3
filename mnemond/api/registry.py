"""THE registry of methods. Dispatch, documentation and completeness checks all derive from it."""

from __future__ import annotations

from mnemond.api import types_admin as admin
from mnemond.api import types_changes as changes
from mnemond.api import types_extract as extract
from mnemond.api import types_memories as memories
from mnemond.wire import params
from mnemond.wire.params import Access, Method

_ALL = (
    Method("hello", admin.HelloParams, admin.HelloResult, Access.READ, "Versions, process id and capabilities."),
    Method("ping", admin.PingParams, admin.PingResult, Access.READ, "Answers at once."),
    Method(
        "remember", memories.RememberParams, memories.RememberResult, Access.WRITE,
        "Store one memory; acknowledged only after it is on disk.", ("content",),
    ),
    Method(
        "diff", memories.DiffParams, memories.DiffResult, Access.READ,
        "Say what remember would do with a text, and beside which memories.", ("content",),
    ),
    Method(
        "extract", extract.ExtractParams, extract.ExtractResult | extract.ExtractContext, Access.WRITE,
        "Remember what of a conversation is worth it, fact by fact.", ("messages",),
    ),
    Method(
        "recall", memories.RecallParams,
        memories.RecallResult | memories.CompactResult | memories.ContextResult, Access.READ,
        "Find the memories that answer a question, and say why.", ("query", "limit"),
    ),
    Method(
        "context", memories.ContextParams, memories.ContextResult, Access.READ,
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
        "search", memories.SearchParams, list[memories.SearchHit], Access.READ,
        "Find memories by their words alone.", ("query", "limit"),
    ),
    Method(
        "link", changes.LinkParams, changes.LinkResult, Access.WRITE,
        "Say that two memories belong together, and how.", ("source_id", "target_id", "type"),
    ),
    Method(
        "unlink", changes.UnlinkParams, changes.UnlinkResult, Access.WRITE,
        "Remove what links two memories.", ("source_id", "target_id", "type"),
    ),
    Method(
        "related", changes.RelatedParams, list[changes.RelatedMemory], Access.READ,
        "The memories around one, nearest first.", ("id",),
    ),
    Method(
        "pin", memories.PinParams, memories.PinResult, Access.WRITE,
        "Keep one memory from being pruned or replaced, or no longer.", ("id",),
    ),
    Method(
        "update", changes.UpdateParams, changes.UpdateResult, Access.WRITE,
        "Give one memory another text or other fields.", ("id",),
    ),
    Method(
        "supersede", changes.SupersedeParams, changes.SupersedeResult, Access.WRITE,
        "Let one memory take the place of another.", ("old_id", "new_id"),
    ),
    Method(
        "merge", changes.MergeParams, changes.MergeResult, Access.WRITE,
        "Make one memory of two.", ("id", "other_id"),
    ),
    Method(
        "restore", changes.RestoreParams, changes.RestoreResult, Access.WRITE,
        "Bring a retired memory back into recall.", ("id",),
    ),
    Method(
        "history", changes.HistoryParams, changes.HistoryResult, Access.READ,
        "What became of one memory, and which operations did it.", ("id",),
    ),
    Method(
        "undo", changes.UndoParams, changes.UndoResult, Access.WRITE,
        "Take one whole operation back, as a new operation.", ("operation",),
    ),
    Method(
        "gc", admin.GcParams, admin.GcResult | admin.GcKept | admin.GcReview | admin.GcDone, Access.WRITE,
        "What matters least: list it, keep it, let go of it.",
    ),
    Method(
        "log", changes.LogParams, list[changes.LogLine], Access.READ, "What was done lately, newest first.", ("limit",),
    ),
    Method(
        "receipt", changes.ReceiptParams, changes.ReceiptResult, Access.READ,
        "Evidence of what was done, without what it was about.", ("limit",),
    ),
    Method(
        "embed.status", extract.EmbedStatusParams, extract.EmbedStatusResult, Access.READ,
        "How many memories have a vector, of which model, and whether it answers.", ("store",),
    ),
    Method(
        "embed.run", extract.EmbedRunParams, extract.EmbedRunResult, Access.WRITE,
        "Make the vectors that are missing, or all anew; answers when that is done.",
    ),
    Method(
        "embed.switch", extract.EmbedSwitchParams, extract.EmbedSwitchResult, Access.WRITE,
        "Change the embedder of a store, in the background.", ("provider", "model"),
    ),
    Method(
        "embed.calibrate", extract.EmbedCalibrateParams, extract.EmbedCalibrateResult, Access.WRITE,
        "Measure on the store what a cosine means to its embedder.",
    ),
    Method("jobs.list", admin.JobsListParams, admin.JobsListResult, Access.READ, "Background jobs, and how they ran."),
    Method(
        "jobs.run", admin.JobsRunParams, admin.JobsRunResult, Access.WRITE,
        "Run one background job now, or say what it would come to.", ("name",),
    ),
    Method(
        "verify", admin.VerifyParams, admin.VerifyResult, Access.READ,
        "Whether what must always be true of a store is true; changes nothing.",
    ),
    Method("status", admin.StatusParams, admin.StatusResult, Access.READ, "A store and its daemon.", ("store",)),
    Method("stats", admin.StatsParams, admin.StatsResult, Access.READ, "A store in figures.", ("store",)),
    Method("top", admin.TopParams, admin.TopResult, Access.READ, "What the daemon does, watched for a moment."),
    Method("store.list", admin.StoreListParams, admin.StoreListResult, Access.READ, "Every store."),
    Method(
        "store.create", admin.StoreCreateParams, admin.StoreCreateResult, Access.WRITE,
        "Make a new, empty store.", ("name",),
    ),
    Method(
        "store.set", admin.StoreSetParams, admin.StoreSetResult, Access.WRITE,
        "Choose the store that is used when none is named.", ("name",),
    ),
    Method(
        "store.path", admin.StorePathParams, admin.StorePathResult, Access.READ, "Where a store lies.", ("store",),
    ),
    Method(
        "store.remove", admin.StoreRemoveParams, admin.StoreRemoveResult, Access.WRITE,
        "Delete a store, after a last backup of it.", ("name",),
    ),
    Method(
        "backup.create", admin.BackupCreateParams, admin.BackupCreateResult, Access.WRITE,
        "Copy a store while it serves.", ("store",),
    ),
    Method("backup.list", admin.BackupListParams, admin.BackupListResult, Access.READ, "Every backup.", ("store",)),
    Method(
        "backup.verify", admin.BackupVerifyParams, admin.BackupVerifyResult, Access.READ,
        "Read every page of a backup.", ("backup",),
    ),
    Method(
        "backup.restore", admin.BackupRestoreParams, admin.BackupRestoreResult, Access.WRITE,
        "Make a store what a backup holds.", ("backup",),
    ),
    Method(
        "config.show", admin.ConfigShowParams, admin.ConfigShowResult, Access.READ,
        "Every setting, and where its value came from.", ("store",),
    ),
    Method(
        "subscribe", params.SubscribeParams, params.SubscribeResult, Access.READ,
        "Be told on this connection what happens.",
    ),
    Method(
        "unsubscribe", params.UnsubscribeParams, params.UnsubscribeResult, Access.READ,
        "Be told no longer.", ("subscription",),
    ),
    Method(
        "daemon.stop", admin.DaemonStopParams, admin.DaemonStopResult, Access.CONTROL,
        "Answer everything received, then leave.",
    ),
    Method(
        "cli.run", admin.CliRunParams, admin.CliRunResult, Access.WRITE,
        "Run one mnemonctl command line and return what it prints.", ("argv",),
    ),
)  # fmt: skip

METHODS: dict[str, Method] = {method.name: method for method in _ALL}
