"""The keys that a command line names: recipients, which the daemon may know, and identities, which it never gets."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from mnemond import encryption
from mnemond.config.regular_files import read_regular
from mnemond.errors import INVALID_PARAMS, rejected

STANDARD_INPUT = "-"


def recipients(named: Iterable[str]) -> list[str]:
    """Return the public keys that --encrypt-to names, each by itself or by @FILE. Raises MnemonError for one that is
    none."""
    found: list[str] = []
    for each in named:
        found += encryption.recipients_in(_content(each[1:]), each[1:]) if each.startswith("@") else [each]
    encryption.recipients_of(found)
    return found


def identities(name: str) -> list[encryption.Identity]:
    """Return the secret keys in the file that --identity names; "-" is standard input. Raises MnemonError."""
    if name == STANDARD_INPUT:
        return encryption.identities_in(sys.stdin.buffer.read(encryption.MAX_KEYS + 1), "standard input")
    return encryption.identities_in(_content(name), name)


def _content(name: str) -> bytes:
    try:
        return read_regular(Path(os.path.expanduser(name)), encryption.MAX_KEYS)
    except OSError as error:
        raise rejected(INVALID_PARAMS, f"{name} cannot be read: {error.strerror}", "name a file of keys") from None
