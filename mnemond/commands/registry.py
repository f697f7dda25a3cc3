"""Every command, in the order help shows them."""

from __future__ import annotations

from mnemond.commands import (
    backup,
    config,
    daemon,
    diff,
    doctor,
    embed,
    extract,
    forget,
    gc,
    get,
    history,
    jobs,
    link,
    log,
    logs,
    merge,
    pin,
    recall,
    receipt,
    related,
    remember,
    restore,
    search,
    setup,
    stats,
    status,
    store,
    supersede,
    top,
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
    extract.COMMAND,
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
    stats.COMMAND,
    top.COMMAND,
    doctor.COMMAND,
    setup.COMMAND,
    embed.COMMAND,
    store.LIST,
    store.CREATE,
    store.SET,
    store.PATH,
    store.REMOVE,
    backup.COMMAND,
    jobs.LIST,
    jobs.RUN,
    config.SHOW,
    config.PATH,
    config.CHECK,
    daemon.START,
    daemon.STOP,
    daemon.RESTART,
    daemon.STATUS,
    daemon.RUN,
    daemon.INSTALL,
    daemon.UNINSTALL,
    logs.COMMAND,
    version.VERSION,
    version.HELP,
)

BY_NAME: dict[str, Command] = {command.name: command for command in COMMANDS}

GROUPS: dict[str, tuple[Command, ...]] = {
    group: tuple(command for command in COMMANDS if command.name.startswith(f"{group} "))
    for group in ("store", "jobs", "config", "daemon")
}
"""Commands of two words, by the first."""

FIRST_WORDS: tuple[str, ...] = tuple(dict.fromkeys(command.name.partition(" ")[0] for command in COMMANDS))
