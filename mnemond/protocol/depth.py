"""How deeply a message is nested, found out before anything decodes it."""

from __future__ import annotations

MAX_DEPTH = 64
"""Deepest nesting of arrays and objects (spec 13: caps)."""

_BRACKETS_AND_QUOTES = b'[{]}"'
_STEPS = bytes.maketrans(_BRACKETS_AND_QUOTES, bytes((1, 1, 255, 255, 0)))  # as signed bytes: up, down, a quote
_ALL_ELSE = bytes(code for code in range(256) if code not in _BRACKETS_AND_QUOTES)


def too_deep(message: bytes, limit: int = MAX_DEPTH) -> bool:
    """Whether arrays and objects nest more than `limit` levels; linear in the length of the message, some 12 ms for
    1 MiB of the worst. Of what is not JSON only the part before its first fault is judged rightly; decoding ends there.
    """
    if message.count(b"[") + message.count(b"{") <= limit:
        return False
    # Within a run of backslashes the first pair is the first escape, so pairs go first; the quotes that remain after
    # that are the ends of strings.
    bare = message.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in message else message
    return _deepest(bare.translate(_STEPS, _ALL_ELSE)) > limit


def _deepest(steps: bytes) -> int:
    import numpy as np  # 50 ms, which the command line should not pay for the other parts of the protocol

    each = np.frombuffer(steps, dtype=np.int8)
    in_string = np.logical_xor.accumulate(each == 0)
    return int(np.where(in_string, np.int8(0), each).cumsum(dtype=np.int32).max(initial=0))
