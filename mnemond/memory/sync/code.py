"""The code that the devices of one store share, and the lines that are signed with it (docs/sync.md).

The name of a directory says nothing about who wrote the files below it. A signature does: BLAKE2b with a key (RFC 7693,
section 2.9) over the line, of 128 bits.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from typing import Final

from mnemond.memory.sync.groups import RecordError
from mnemond.memory.sync.records import check_version

SECRET_BYTES: Final = 16
"""Bytes of the secret: 128 bits cannot be guessed."""

_DIGITS: Final = 4
"""Characters of a group of a code."""

_PURPOSE: Final = b"mnemond-sync"
_SIGNED: Final = re.compile(rb'\{"mac":"([0-9a-f]{32})",')


class StrangerError(RecordError):
    """A line is signed with another code, or not at all."""


def secret_of(random: str) -> bytes:
    """Return the secret that follows from a text with at least 128 random bits."""
    return hashlib.blake2b(random.encode(), digest_size=SECRET_BYTES, person=_PURPOSE).digest()


def code_of(secret: bytes) -> str:
    """Return a secret as a person types it: seven groups of four letters and digits, with a byte that shows slips."""
    text = base64.b32encode(secret + _check(secret)).decode().rstrip("=")
    return "-".join(text[at : at + _DIGITS] for at in range(0, len(text), _DIGITS))


def secret_from(code: str) -> bytes:
    """Return the secret of a code, whatever its case, spaces and hyphens. Raises ValueError for what is none."""
    text = re.sub(r"[\s-]", "", code).upper()
    try:
        content = base64.b32decode(text + "=" * (-len(text) % 8))
    except (binascii.Error, ValueError):
        raise ValueError("it has characters that no code has, or a part of it is missing") from None
    secret, check = content[:SECRET_BYTES], content[SECRET_BYTES:]
    if len(secret) != SECRET_BYTES or check != _check(secret):
        raise ValueError("a character of it is wrong or missing")
    return secret


def _check(secret: bytes) -> bytes:
    return hashlib.blake2b(secret, digest_size=1).digest()


def signed(line: bytes, secret: bytes) -> bytes:
    """Return the line of a record, an object of JSON, with its signature as the first member."""
    return b'{"mac":"%s",%s' % (_mac(line[1:], secret), line[1:])


def verified(line: bytes, secret: bytes) -> bytes:
    """Return the line of a record without its signature. Raises StrangerError if it is not signed with this secret,
    RecordError if it is no whole line."""
    found = _SIGNED.match(line)
    if found is not None:
        rest = line[found.end() :]
        if hmac.compare_digest(found[1], _mac(rest, secret)):
            return b"{" + rest
    check_version(line)
    raise StrangerError("it is signed with another code")


def _mac(rest: bytes, secret: bytes) -> bytes:
    digest = hashlib.blake2b(rest, key=secret, digest_size=16, person=_PURPOSE)
    return digest.hexdigest().encode()
