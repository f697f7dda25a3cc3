"""Regular expressions and word lists of the text rules, compiled and read on first use.

Compiling every expression when its module is imported would take as long as everything else that the daemon does when
it starts. `warm_up` builds what is not built yet, so that no request has to wait for it.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import TypeVar, cast

T = TypeVar("T")

_BUILDERS: list[Callable[[], object]] = []


def on_first_use(build: Callable[[], T]) -> Callable[[], T]:
    """`functools.cache` for a function that reads a word list or builds a table; `warm_up` calls it as well."""
    cached = functools.cache(build)
    _BUILDERS.append(cached)
    return cached


def regex(pattern: str | Callable[[], str], flags: int = 0) -> re.Pattern[str]:
    """A regular expression that is compiled when it is first used.

    `pattern` may be a function that returns the expression, for one that is made from a word list.
    """
    lazy = cast("re.Pattern[str]", _LazyPattern(pattern, flags))
    _BUILDERS.append(lambda: lazy.search)
    return lazy


def warm_up() -> None:
    """Compile every expression and read every list of the modules imported so far. For a thread beside the first
    requests; 0.2 s of CPU time."""
    for build in _BUILDERS:
        build()


_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "split", "pattern", "flags", "groupindex")


class _CompiledPattern:
    """A compiled expression, its methods in slots: as fast as `re.Pattern`, and an instance can turn into one."""

    __slots__ = (*_METHODS, "_flags", "_source")


class _LazyPattern(_CompiledPattern):
    """Compiles its expression at the first use of an attribute, and is a `_CompiledPattern` from then on."""

    __slots__ = ()

    def __init__(self, source: str | Callable[[], str], flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> object:
        source = self._source if isinstance(self._source, str) else self._source()
        compiled = re.compile(source, self._flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        self.__class__ = _CompiledPattern  # type: ignore[assignment]  # its `__getattr__` makes every access slower
        return getattr(compiled, name)
