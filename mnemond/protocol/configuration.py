"""Parameters and results of the methods about the configuration."""

from __future__ import annotations

from typing import Annotated

import msgspec

from mnemond.protocol.types import Params, Result, StoreName


class ConfigShowParams(Params, frozen=True, kw_only=True):
    """As it is for which store; the active one unless named. `below`: only this table or setting, such as "diff".

    `origin`: say where each value came from.
    """

    store: StoreName | None = None
    below: Annotated[str, msgspec.Meta(min_length=1, max_length=200)] | None = None
    origin: bool = False


class SettingView(msgspec.Struct, frozen=True):
    """One setting. `origin`, if it was asked for: default, profile NAME, FILE:LINE, $VARIABLE, --set or --profile."""

    path: str
    value: object
    default: object
    origin: str | msgspec.UnsetType = msgspec.UNSET


class ConfigShowResult(Result, frozen=True, kw_only=True):
    """The settings a store goes by.

    `files` are those that may say something, in the order in which the later goes before the earlier. `waiting` are
    settings of which the files say something else by now, and `refused` why they cannot be used as they are.
    """

    store: str
    files: list[str]
    settings: list[SettingView]
    waiting: list[str]
    refused: str | None
