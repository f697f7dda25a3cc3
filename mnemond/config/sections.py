"""Types that the tables of config.toml share: durations, shares, names of models."""

from __future__ import annotations

import re
from typing import Annotated, Final

import msgspec
from msgspec import Meta

HOUR_S: Final = 3_600
DAY_S: Final = 86_400
MAX_S: Final = 3_650 * DAY_S
"""Ten years, the longest duration."""

_UNITS: Final = {"s": 1, "m": 60, "h": HOUR_S, "d": DAY_S}
_DURATION: Final = re.compile(r"([0-9]{1,9})([smhd])")

Share = Annotated[float, Meta(ge=0, le=1)]
Days = Annotated[float, Meta(ge=0, le=36_500)]
Duration = Annotated[float, Meta(ge=0, le=MAX_S)] | Annotated[str, Meta(pattern="^[0-9]{1,9}[smhd]$")]
ModelName = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[\w.:/@+-]+$")]
VariableName = Annotated[str, Meta(max_length=200, pattern="^[A-Za-z_][A-Za-z0-9_]*$")]
Dimensions = Annotated[int, Meta(ge=1, le=16_384)]


def seconds(duration: float | str) -> float:
    """Convert a valid duration to seconds: a number, or text like "90s", "15m", "12h", "30d"."""
    if not isinstance(duration, str):
        return duration
    found = _DURATION.fullmatch(duration)
    assert found is not None, "the pattern of the setting is the same"  # noqa: S101
    return float(found[1]) * _UNITS[found[2]]


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of config.toml. A field is a setting, or a table within this one."""
