"""Regular expressions and word lists of the text rules, compiled and read on first use.

Compiling every expression when its module is imported would take as long as everything else that the daemon does when
it starts. `warm_up` builds what is not built yet, so that no request has to wait for it.

Lists are TOML files in `mnemond/text/data`. A string of several lines is a list there: of words, or of names that
commas separate.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, cast

import msgspec

T = TypeVar("T")

_DIRECTORY = __file__.rpartition("/")[0] + "/data"

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


def read(name: str, kind: type[T]) -> T:
    """The data file `name`.toml as a value of type `kind`."""
    with open(f"{_DIRECTORY}/{name}.toml", "rb") as file:
        return msgspec.convert(_with_lists(tomllib.load(file)), kind)


def _with_lists(value: Any) -> Any:  # noqa: ANN401 - any value of TOML
    if isinstance(value, dict):
        return {key: _with_lists(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_with_lists(each) for each in value]
    if isinstance(value, str) and "\n" in value:
        return list(filter(None, map(str.strip, value.split(",")))) if "," in value else value.split()
    return value


def fill(pattern: str, parts: Mapping[str, str]) -> str:
    """`pattern` with every `{name}` replaced by the part of that name; quantifiers like `{1,3}` stay."""
    return re.sub(r"\{([a-z_]+)\}", lambda found: parts[found[1]], pattern)


def filled(pattern: str, parts: Callable[[], Mapping[str, str]], flags: int = 0) -> re.Pattern[str]:
    """The regular expression of a `pattern` with the parts of a data file, compiled when it is first used."""
    return regex(lambda: fill(pattern, parts()), flags)


def one_of(words: Iterable[str]) -> str:
    """The words as alternatives of an expression, longest first, so that none hides another that starts with it.

    Words of one first character are a group, so that at each place those of all others are passed at once.
    """
    groups: dict[str, list[str]] = {}
    for word in sorted(words, key=len, reverse=True):
        groups.setdefault(word[:1], []).append(re.escape(word[1:]).replace(r"\ ", r"\s+"))
    return "|".join(f"{re.escape(first)}(?:{'|'.join(rests)})" for first, rests in groups.items())


def words_of(*lines: str) -> frozenset[str]:
    """The words of some lines, which white space separates."""
    return frozenset(word for line in lines for word in line.split())


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
