"""Finds the caches that the modules of the daemon hold.

`python -m tests.text.cache_walk` prints those that no purge empties, in a process of its own: a cache differs from a
constant by being empty when its module was imported.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import mnemond
from mnemond.text import caches

NOT_IMPORTED = ("__main__", "models.rebuild", "usearch_graph")
"""Endings of the names of programs, and of what needs an extra."""

CONTAINERS = (dict, list, set, deque, WeakKeyDictionary, WeakValueDictionary)


def unregistered(module: str, names: Mapping[str, Any]) -> Iterator[str]:
    """The dotted names of the caches among `names`, of a module or a class, that `caches.clear_all` does not empty."""
    for name, value in names.items():
        if inspect.isclass(value):
            if value.__module__ == module:
                yield from (f"{value.__name__}.{each}" for each in unregistered(module, vars(value)))
        elif name.startswith(("__", "_field_defaults", "_unhashable_values_")):
            continue  # of the language
        elif hasattr(value, "cache_info") and value.__module__.startswith("mnemond.") and value.__module__ != module:
            continue  # imported
        elif is_cache(value) and not any(getattr(clear, "__self__", None) is value for clear in caches._CLEAR):
            yield name


def is_cache(value: Any) -> bool:
    """True for a cached function of anything but numbers and types, an empty container, and an object of ours that can
    be cleared."""
    if hasattr(value, "cache_info"):
        function: Callable[..., object] = value.__wrapped__
        return inspect.isclass(function) or any(map(_may_hold_text, inspect.signature(function).parameters.values()))
    if isinstance(value, CONTAINERS):
        return not value
    is_ours = type(value).__module__.partition(".")[0] in ("mnemond", "tests")
    return is_ours and any(callable(getattr(value, name, None)) for name in ("clear", "clear_cache"))


def _may_hold_text(parameter: inspect.Parameter) -> bool:
    kind = str(parameter.annotation)
    return parameter.name != "self" and kind not in ("int", "float", "bool") and not kind.startswith("type[")


def walk() -> Iterator[str]:
    """The dotted names of every unregistered cache, as (module).(name)."""
    for module in pkgutil.walk_packages(mnemond.__path__, "mnemond."):
        if not module.name.endswith(NOT_IMPORTED):
            found = unregistered(module.name, vars(importlib.import_module(module.name)))
            yield from (f"{module.name}.{name}" for name in found)


if __name__ == "__main__":
    print("\n".join(walk()))
