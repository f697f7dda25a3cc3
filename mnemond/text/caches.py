"""Registry of every cache that holds texts, words or names of memories.

A purge removes a memory for good, so nothing of its text may stay in the process. Every cache over text registers here
when it is made, and `clear_all` empties them all. Callable from any thread.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_CLEAR: list[Callable[[], object]] = []


def register(clear: Callable[[], object]) -> None:
    """Let `clear_all` call `clear`, which empties one cache; it may be called from any thread and must not raise."""
    _CLEAR.append(clear)


def text_cache(maxsize: int) -> Callable[[Callable[..., T]], functools._lru_cache_wrapper[T]]:
    """`functools.lru_cache` for a function of text, registered here. `maxsize` in entries."""

    def decorate(function: Callable[..., T]) -> functools._lru_cache_wrapper[T]:
        cached = functools.lru_cache(maxsize=maxsize)(function)
        register(cached.cache_clear)
        return cached

    return decorate


def clear_all() -> None:
    """Empty every registered cache."""
    for clear in _CLEAR:
        clear()
