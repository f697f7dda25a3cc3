"""`mnemonctl config …`. Files are read by the client itself: they can be checked when no daemon would start."""

from __future__ import annotations

import json

from mnemond.commands.command import Arguments, Command, Request
from mnemond.commands.layout import Style, lines
from mnemond.commands.options import add_globals
from mnemond.commands.parser import Parser
from mnemond.commands.terminal import one_line
from mnemond.protocol.configuration import ConfigShowResult, SettingView

_COLUMN = 44
"""Cells of a setting and its value where its origin follows."""


def _parser(command: str, *, shows: bool = False) -> Parser:
    parser = Parser(command)
    if shows:
        parser.add_argument("--origin", action="store_true", help="say where each value came from")
    add_globals(parser)
    return parser


def _request(arguments: Arguments) -> Request:
    if not arguments.words:
        return Request("config.show", arguments.options)
    below = arguments.single("config show", "one table or setting, such as diff")
    return Request("config.show", {**arguments.options, "below": below})


def _render(result: ConfigShowResult, style: Style) -> str:
    waiting = ", ".join(map(one_line, result.waiting))
    return lines(
        *(_setting(each) for each in result.settings),
        style.faint(f"# changed since, and not in force yet: {waiting}; mnemonctl daemon restart") if waiting else None,
        None if result.refused is None else f"# cannot be used as it is now: {one_line(result.refused)}",
    )


def _setting(each: SettingView) -> str:
    line = f"{one_line(each.path)} = {_shown(each.value)}"
    return line if not isinstance(each.origin, str) else f"{line:<{_COLUMN}}  # {one_line(each.origin)}"


def _shown(value: object) -> str:
    return "unset" if value is None else one_line(json.dumps(value, ensure_ascii=False))


SHOW = Command(
    name="config show",
    summary="Every setting with the value that counts.",
    words="[TABLE]",
    examples=("mnemonctl config show", "mnemonctl config show diff --origin", "mnemonctl config show --store work"),
    details=(
        "What goes before what: the command line of mnemond, the environment, the store's own config.toml,",
        "config.toml of the data directory, the profile, the default.",
    ),
    parser=_parser("config show", shows=True),
    request=_request,
    render=_render,
)

PATH = Command(
    name="config path",
    summary="Where the settings stand, with --store those of one store.",
    words="",
    examples=("mnemonctl config path", "mnemonctl config path --store work"),
    parser=_parser("config path"),
)

CHECK = Command(
    name="config check",
    summary="Whether the settings could be used; every mistake with its line (exit 2).",
    words="[FILE]",
    examples=("mnemonctl config check", "mnemonctl config check draft.toml"),
    details=("Without FILE: config.toml of the data directory, of every store, and the variables that are set.",),
    parser=_parser("config check"),
)
