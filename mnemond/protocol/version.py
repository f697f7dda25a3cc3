"""Versions that meet in a handshake."""

from __future__ import annotations

from mnemond import __version__

PROTOCOL = 1
"""The wire protocol's number. It rises only when an older client would be answered wrongly."""

SERVER_VERSION = __version__


MAX_VERSION = 64
"""Characters of a version."""


def release_key(version: str) -> tuple[int, ...]:
    """Order releases such as "0.10.2" by number; anything after the digits (rc1, .dev3) is ignored, and so is what
    follows MAX_VERSION characters."""
    numbers: list[int] = []
    for part in version[:MAX_VERSION].split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers)
