"""Every command, in the order help shows them."""

from __future__ import annotations

from mnemond.cli import admin, embed, history, links, maintenance, recall, remember, revise, stores
from mnemond.cli import recall as list_command
from mnemond.cli.parser import Command, Parser, add_globals

# `mnemonctl version` and `mnemonctl help`: answered without a daemon.


def _parser(command: str) -> Parser:
    parser = Parser(command)
    add_globals(parser)
    return parser


VERSION = Command(
    name="version",
    summary="Show the version.",
    words="",
    examples=("mnemonctl version", "mnemonctl version --json"),
    parser=_parser("version"),
)
HELP = Command(
    name="help",
    summary="Show help for a command.",
    words="[COMMAND]",
    examples=("mnemonctl help recall", "mnemonctl recall --help"),
    parser=_parser("help"),
)


COMMANDS: tuple[Command, ...] = (
    remember.COMMAND,
    remember.DIFF_COMMAND,
    remember.EXTRACT_COMMAND,
    recall.COMMAND,
    recall.SEARCH_COMMAND,
    recall.GET_COMMAND,
    list_command.LIST_COMMAND,
    revise.UPDATE_COMMAND,
    revise.FORGET_COMMAND,
    revise.RESTORE_COMMAND,
    revise.SUPERSEDE_COMMAND,
    revise.MERGE_COMMAND,
    links.LINK_COMMAND,
    links.UNLINK_COMMAND,
    recall.RELATED_COMMAND,
    revise.PIN_COMMAND,
    history.COMMAND,
    history.UNDO_COMMAND,
    maintenance.COMMAND,
    history.LOG_COMMAND,
    history.RECEIPT_COMMAND,
    admin.STATUS_COMMAND,
    admin.STATS_COMMAND,
    admin.TOP_COMMAND,
    admin.DOCTOR_COMMAND,
    admin.SETUP_COMMAND,
    embed.COMMAND,
    stores.LIST,
    stores.CREATE,
    stores.SET,
    stores.STORE_PATH,
    stores.REMOVE,
    stores.COMMAND,
    maintenance.LIST,
    maintenance.RUN,
    stores.SHOW,
    stores.CONFIG_PATH,
    stores.CHECK,
    admin.START,
    admin.STOP,
    admin.RESTART,
    admin.STATUS,
    admin.RUN,
    admin.INSTALL,
    admin.UNINSTALL,
    admin.LOGS_COMMAND,
    VERSION,
    HELP,
)

BY_NAME: dict[str, Command] = {command.name: command for command in COMMANDS}

GROUPS: dict[str, tuple[Command, ...]] = {
    group: tuple(command for command in COMMANDS if command.name.startswith(f"{group} "))
    for group in ("store", "jobs", "config", "daemon")
}
"""Commands of two words, by the first."""

FIRST_WORDS: tuple[str, ...] = tuple(dict.fromkeys(command.name.partition(" ")[0] for command in COMMANDS))
