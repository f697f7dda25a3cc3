"""Every command, in the order help shows them."""

from __future__ import annotations

from mnemond.commands import (
    daemon,
    diff,
    embed,
    forget,
    gc,
    get,
    history,
    link,
    log,
    merge,
    pin,
    recall,
    receipt,
    related,
    remember,
    restore,
    search,
    status,
    store,
    supersede,
    undo,
    unlink,
    update,
    version,
)
from mnemond.commands import list as list_command
from mnemond.commands.command import Command

COMMANDS: tuple[Command, ...] = (
    remember.COMMAND,
    diff.COMMAND,
    recall.COMMAND,
    search.COMMAND,
    get.COMMAND,
    list_command.COMMAND,
    update.COMMAND,
    forget.COMMAND,
    restore.COMMAND,
    supersede.COMMAND,
    merge.COMMAND,
    link.COMMAND,
    unlink.COMMAND,
    related.COMMAND,
    pin.COMMAND,
    history.COMMAND,
    undo.COMMAND,
    gc.COMMAND,
    log.COMMAND,
    receipt.COMMAND,
    status.COMMAND,
    embed.COMMAND,
    store.LIST,
    store.CREATE,
    daemon.START,
    daemon.STOP,
    daemon.RESTART,
    daemon.STATUS,
    daemon.RUN,
    version.VERSION,
    version.HELP,
)

BY_NAME: dict[str, Command] = {command.name: command for command in COMMANDS}

GROUPS: dict[str, tuple[Command, ...]] = {
    group: tuple(command for command in COMMANDS if command.name.startswith(f"{group} "))
    for group in ("store", "daemon")
}
"""Commands of two words, by the first."""

FIRST_WORDS: tuple[str, ...] = tuple(dict.fromkeys(command.name.partition(" ")[0] for command in COMMANDS))
