"""THE registry of methods. Dispatch, documentation and completeness checks all derive from it."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from mnemond.protocol import daemon, memories


class Access(StrEnum):
    """What a method may do."""

    READ = "read"
    WRITE = "write"
    CONTROL = "control"


class Method(msgspec.Struct, frozen=True):
    """One method. `positional` names the parameters that may also be given by position, in order."""

    name: str
    params: type
    result: type
    access: Access
    summary: str
    positional: tuple[str, ...] = ()


_ALL = (
    Method("hello", daemon.HelloParams, daemon.HelloResult, Access.READ, "Versions, process id and capabilities."),
    Method("ping", daemon.PingParams, daemon.PingResult, Access.READ, "Answers at once."),
    Method(
        "remember", memories.RememberParams, memories.RememberResult, Access.WRITE,
        "Store one memory; acknowledged only after it is on disk.", ("content",),
    ),
    Method(
        "recall", memories.RecallParams, memories.RecallResult, Access.READ,
        "Find the memories that answer a question, and say why.", ("query", "limit"),
    ),
    Method("get", memories.GetParams, memories.GetResult, Access.READ, "One memory by its id.", ("id",)),
    Method("list", memories.ListParams, memories.ListResult, Access.READ, "Memories, newest first.", ("limit",)),
    Method(
        "forget", memories.ForgetParams, memories.ForgetResult, Access.WRITE,
        "Take one memory out of recall.", ("id",),
    ),
    Method("status", daemon.StatusParams, daemon.StatusResult, Access.READ, "A store and its daemon.", ("store",)),
    Method("store.list", daemon.StoreListParams, daemon.StoreListResult, Access.READ, "Every store."),
    Method(
        "store.create", daemon.StoreCreateParams, daemon.StoreCreateResult, Access.WRITE,
        "Make a new, empty store.", ("name",),
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
